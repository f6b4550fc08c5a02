// The same in C++: values are plain, and a duration ends with its scope however that is left.
//
//   c++ -std=c++17 -o pipeline pipeline.cc $(pkg-config --cflags --libs fxt-trace)
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <fxt/trace.h>

namespace {

enum class Kind { plain, odd };

double average(const std::vector<int> &numbers, const std::string &name)
{
    TRACE_DURATION("pipeline", "average", "name", name, "count", numbers.size());
    if (numbers.empty())
        throw std::invalid_argument(name);
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
           static_cast<double>(numbers.size());
}

void stage(int i)
{
    std::string name = "stage " + std::to_string(i);
    std::vector<int> numbers(static_cast<size_t>(i), i);

    TRACE_INSTANT("pipeline", "stage", TRACE_SCOPE_THREAD, "name", name, "kind",
                  i % 2 ? Kind::odd : Kind::plain, "first", i == 0);
    try {
        double result = average(numbers, name);
        TRACE_COUNTER("pipeline", "average", 0, "value", result);
    } catch (const std::invalid_argument &error) {
        TRACE_INSTANT("pipeline", "failed", TRACE_SCOPE_THREAD, "what", error.what());
    }
}

} // namespace

int main()
{
    trace_provider_create_with_name("pipeline");
    for (int i = 0; i < 10; i++)
        stage(i);
    std::puts("averaged");
}
