// busy.cpp - a program that spends its CPU time in three functions, 70, 20 and 10 percent, on four threads.
//
// `make demo` and tests/cli/test_truth.sh capture it.  Each thread asks its own CPU clock what every function has used so
// far and runs the one that is furthest behind its share, in pieces of uneven length so that no sampling clock can run in
// step with them.  At the end the program prints what each function really got, in nanoseconds.
//
//     busy [CPU_MILLISECONDS_PER_THREAD]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace {

constexpr int thread_count = 4;
constexpr int work_count = 3;
constexpr double shares[work_count] = { 0.70, 0.20, 0.10 };

std::int64_t thread_cpu_ns()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// One round of a generator: inlined into whatever uses it.
inline std::uint64_t scramble(std::uint64_t state)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ (state << 17);
}

// A table that fits the first-level cache.
struct table {
    std::vector<std::uint32_t> cells = std::vector<std::uint32_t>(2048);

    inline std::uint32_t &at(std::uint64_t key) { return cells[scramble(key) & 2047]; }
};

// GCC 12 leaves the frame out of a leaf function that touches no stack, whatever -mno-omit-leaf-frame-pointer says, and
// its caller would be missing from the stacks.  This touches it.
inline std::uint64_t through_stack(std::uint64_t value)
{
    volatile std::uint64_t kept = value;
    return kept;
}

[[gnu::noinline]] std::uint64_t decode_blocks(table &data, std::uint64_t state, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        state = scramble(state + std::uint64_t(i));
        data.at(state) += std::uint32_t(state);
    }
    return through_stack(state);
}

[[gnu::noinline]] std::uint64_t index_rows(table &data, std::uint64_t state, int rounds)
{
    for (int i = 0; i < rounds; i++)
        state += data.at(state ^ std::uint64_t(i)) * UINT64_C(0x9e3779b97f4a7c15);
    return through_stack(state);
}

[[gnu::noinline]] std::uint64_t flush_log(table &data, std::uint64_t state, int rounds)
{
    for (int i = 0; i < rounds; i++)
        state = (state >> 3 | state << 61) + data.at(std::uint64_t(i));
    return through_stack(state);
}

struct worker {
    std::int64_t used_ns[work_count] = {};
    double best_ns[work_count] = {}; // the fastest piece's time per round; 0 before the first
    std::uint64_t state = 0;

    // What a piece counts for: the time it took.  A hypervisor that takes the CPU away for a while lets the clock run on
    // while nothing executes and nothing can be sampled; a piece that took far longer than it must counts as a good one.
    std::int64_t counted_ns(int work, int rounds, std::int64_t took_ns)
    {
        double each_ns = double(took_ns) / rounds;
        if (best_ns[work] == 0 || each_ns < best_ns[work])
            best_ns[work] = each_ns;
        return each_ns > 3 * best_ns[work] ? std::int64_t(best_ns[work] * rounds) : took_ns;
    }

    int furthest_behind() const
    {
        double worst = 0;
        int chosen = 0;
        for (int i = 0; i < work_count; i++) {
            double ahead = double(used_ns[i]) / shares[i];
            if (i == 0 || ahead < worst) {
                worst = ahead;
                chosen = i;
            }
        }
        return chosen;
    }

    void run(int work, table &data, int rounds)
    {
        if (work == 0)
            state = decode_blocks(data, state + 1, rounds);
        else if (work == 1)
            state = index_rows(data, state + 1, rounds);
        else
            state = flush_log(data, state + 1, rounds);
    }

    [[gnu::noinline]] void serve(std::int64_t budget_ns)
    {
        table data;
        std::int64_t served_ns = 0;
        std::int64_t now = thread_cpu_ns();
        for (int warm = 0; served_ns < budget_ns; warm++) {
            // A few short pieces of each first, for best_ns alone.
            int work = warm < 9 ? warm % work_count : furthest_behind();
            int rounds = warm < 9 ? 10000 : 100000 + int(scramble(state + std::uint64_t(now)) % 100000);
            run(work, data, rounds);
            std::int64_t then = now;
            now = thread_cpu_ns();
            std::int64_t counted = counted_ns(work, rounds, now - then);
            if (warm < 9)
                continue;
            used_ns[work] += counted;
            served_ns += counted;
        }
    }
};

} // namespace

int main(int argc, char **argv)
{
    std::int64_t budget_ns = (argc > 1 ? std::atoll(argv[1]) : 1000) * 1000000;
    std::vector<worker> workers(thread_count);
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; i++) {
        workers[std::size_t(i)].state = std::uint64_t(i) + 1;
        threads.emplace_back(&worker::serve, &workers[std::size_t(i)], budget_ns);
    }
    for (std::thread &thread : threads)
        thread.join();

    const char *names[work_count] = { "decode_blocks", "index_rows", "flush_log" };
    std::uint64_t state = 0;
    for (int i = 0; i < work_count; i++) {
        std::int64_t total = 0;
        for (const worker &one : workers)
            total += one.used_ns[i];
        std::printf("%s %lld\n", names[i], static_cast<long long>(total));
    }
    for (const worker &one : workers)
        state ^= one.state;
    return state == 0; // never: keeps the work alive
}
