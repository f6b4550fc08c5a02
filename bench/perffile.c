/* perffile - a file as `perf record -F 1000 -g` leaves it, of a program of many stacks.
 *
 *   perffile [--size BYTES] [--stacks N] [--seed N] OBJECT >perf.data
 *
 * OBJECT is an ELF file of 64 bits, whose code the samples are said to have run, so that programs
 * that read the file find names for them.  Stacks have 21 frames; their callers are those of a
 * tree.  Samples of 4 CPUs, each with a thread of its own that has a quarter of the stacks, come in
 * rounds, as perf writes them.  */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

#define LOADED_AT UINT64_C(0x555555554000)
#define PAGE      UINT64_C(0x1000)
#define DEPTH     21u
#define PLACES    4000u /* of the object's code */
#define PERIOD_NS UINT64_C(1000000)
#define ROUND     4096u /* samples */
#define CPUS      4u
#define PID       1000u
#define RECORD    (8 + 7 * 8 + 8 * (size_t)DEPTH) /* of a sample: with one marker */

enum { KEY_SIZE = 1, KEY_STACKS, KEY_SEED };

static const struct cli_option options[] = {
    { KEY_SIZE, 0, "size", "BYTES", "of the file (default 200000000)" },
    { KEY_STACKS, 0, "stacks", "N", "distinct ones (default 100000)" },
    { KEY_SEED, 0, "seed", "N", "what is drawn (default 1)" },
    { 0 },
};

static const struct cli_command command = {
    .name = "perffile",
    .usage = "[OPTION]... OBJECT",
    .summary = "Write a perf.data file.",
    .options = options,
    .first = CLI_FILE,
};

static struct {
    uint64_t size, stacks, seed;
    const char *object;
} wanted = { 200000000, 100000, 1, NULL };

/* Of the object: the first segment with code.  */
static Elf64_Phdr code;
static uint64_t places[PLACES];
static struct cli_output output;

static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void put(const void *bytes, size_t size)
{
    (void)cli_output_write(&output, bytes, size); /* output keeps the failure */
}

/* ---- The object ---- */

static void find_code(void)
{
    int fd = wanted.object ? open(wanted.object, O_RDONLY | O_CLOEXEC) : -1;
    uint64_t state = wanted.seed;
    Elf64_Ehdr header;
    bool found = false;

    if (fd < 0 || pread(fd, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.e_ident, ELFMAG "\2\1", 6) != 0)
        cli_usage_error("%s is not an ELF file of 64 bits", wanted.object);
    for (unsigned i = 0; i < header.e_phnum && !found; i++)
        found = pread(fd, &code, sizeof code, (off_t)(header.e_phoff + i * sizeof code)) ==
                    sizeof code &&
                code.p_type == PT_LOAD && (code.p_flags & PF_X) && code.p_filesz > 64;
    (void)close(fd);
    if (!found)
        cli_usage_error("%s has no code", wanted.object);
    for (size_t i = 0; i < PLACES; i++)
        places[i] = LOADED_AT + code.p_vaddr + draw(&state) % (code.p_filesz - 1) + 1;
}

/* ---- Records ---- */

#define SAMPLE_TYPE                                                                               \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | \
     PERF_SAMPLE_CALLCHAIN)

static void put_header(uint64_t data_size)
{
    const struct {
        char magic[8];
        uint64_t size, attribute_size, attributes[2], data[2], types[2], features[4];
    } header = { { 'P', 'E', 'R', 'F', 'I', 'L', 'E', '2' },
                 104,
                 sizeof(struct perf_event_attr) + 16,
                 { 104, sizeof(struct perf_event_attr) + 16 },
                 { 104 + sizeof(struct perf_event_attr) + 16, data_size },
                 { 0, 0 },
                 { 0 } };
    const struct perf_event_attr attribute = { .type = PERF_TYPE_SOFTWARE,
                                               .size = sizeof attribute,
                                               .config = PERF_COUNT_SW_CPU_CLOCK,
                                               .sample_freq = 1000,
                                               .sample_type = SAMPLE_TYPE,
                                               .freq = 1,
                                               .mmap = 1,
                                               .comm = 1,
                                               .task = 1,
                                               .mmap2 = 1,
                                               .sample_id_all = 1 };
    const uint64_t ids[2] = { 0, 0 };

    put(&header, sizeof header);
    put(&attribute, sizeof attribute);
    put(ids, sizeof ids);
}

/* What ends records other than samples, with the members of SAMPLE_TYPE.  */
struct identification {
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, reserved;
};

static size_t padding_of(const char *name)
{
    return 8 - strlen(name) % 8; /* with the end of the text */
}

static size_t named_size(size_t start_size, const char *name)
{
    return sizeof(struct perf_event_header) + start_size + strlen(name) + padding_of(name) +
           sizeof(struct identification);
}

/* A record that has a text behind its numbers.  */
static void put_named(uint32_t kind, uint16_t misc, const void *start, size_t start_size,
                      const char *name, uint32_t tid)
{
    static const char zeros[8];
    const struct identification end = { PID, tid, 1, 0, 0 };
    const struct perf_event_header header = { kind, misc, (uint16_t)named_size(start_size, name) };

    put(&header, sizeof header);
    put(start, start_size);
    put(name, strlen(name));
    put(zeros, padding_of(name));
    put(&end, sizeof end);
}

struct map {
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
};

static const char *thread_name(uint32_t thread)
{
    return thread == 0 ? "program" : "worker";
}

static uint64_t tasks_size(void)
{
    uint64_t size = named_size(sizeof(struct map), wanted.object);

    for (uint32_t i = 0; i < CPUS; i++)
        size += named_size(2 * sizeof(uint32_t), thread_name(i));
    return size;
}

static void put_tasks(void)
{
    enum { COMM_EXEC = 1 << 13, READ_EXECUTE = 5, PRIVATE = 2 };
    uint64_t page = code.p_offset & ~(PAGE - 1);
    const struct map map = { PID,
                             PID,
                             LOADED_AT + code.p_vaddr - (code.p_offset - page),
                             (code.p_filesz + (code.p_offset - page) + PAGE - 1) & ~(PAGE - 1),
                             page,
                             8,
                             1,
                             1,
                             0,
                             READ_EXECUTE,
                             PRIVATE };

    for (uint32_t i = 0; i < CPUS; i++) {
        const uint32_t ids[2] = { PID, PID + i };

        put_named(PERF_RECORD_COMM, i == 0 ? COMM_EXEC : 0, ids, sizeof ids, thread_name(i),
                  PID + i);
    }
    put_named(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &map, sizeof map, wanted.object, PID);
}

/* The caller of a stack at a depth is shared with the stacks that agree in the upper bits.  */
static uint64_t place_of(uint64_t stack, unsigned level)
{
    unsigned below = DEPTH - 1 - level;
    uint64_t state = (stack >> (below < 60 ? below : 60)) * 64 + level;

    return places[draw(&state) % PLACES];
}

static void put_sample(uint64_t number, uint64_t *state)
{
    uint32_t cpu = (uint32_t)(number % ROUND / (ROUND / CPUS));
    uint64_t words[RECORD / 8], stack = draw(state) % wanted.stacks / CPUS * CPUS + cpu;
    uint64_t round = number / ROUND, within = number % (ROUND / CPUS);
    const struct perf_event_header header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, RECORD };
    size_t at = 0;

    memcpy(&words[at++], &header, sizeof header);
    words[at++] = place_of(stack, DEPTH - 1);
    words[at++] = PID | (uint64_t)(PID + cpu) << 32;
    words[at++] = 1000000000 + (round * (ROUND / CPUS) + within) * PERIOD_NS + UINT64_C(1000) * cpu;
    words[at++] = cpu;
    words[at++] = PERIOD_NS;
    words[at++] = DEPTH + 1;
    words[at++] = PERF_CONTEXT_USER;
    for (unsigned level = DEPTH; level-- > 0;)
        words[at++] = place_of(stack, level);
    put(words, sizeof words);
}

static void put_samples(uint64_t samples)
{
    enum { FINISHED_ROUND = 68 };
    const struct perf_event_header round = { FINISHED_ROUND, 0, sizeof round };
    uint64_t state = wanted.seed;

    for (uint64_t i = 0; i < samples; i++) {
        put_sample(i, &state);
        if ((i + 1) % ROUND == 0)
            put(&round, sizeof round);
    }
}

/* ---- The command line ---- */

static void parse(char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == KEY_SIZE)
            wanted.size = cli_number("--size", parser.value, 1, UINT64_C(1) << 40);
        else if (key == KEY_STACKS)
            wanted.stacks = cli_number("--stacks", parser.value, 1, UINT64_C(1) << 20);
        else if (key == KEY_SEED)
            wanted.seed = cli_number("--seed", parser.value, 0, UINT64_MAX);
        else
            wanted.object = parser.value;
    }
    if (!wanted.object)
        cli_usage_error("no object given");
}

int main(int argc, char **argv)
{
    uint64_t samples, data_size;
    enum cli_exit status;

    (void)argc;
    parse(argv);
    find_code();
    samples = wanted.size / RECORD + 1;
    data_size = tasks_size() + samples * RECORD +
                samples / ROUND * sizeof(struct perf_event_header);
    status = cli_output_open(&output, NULL);
    if (status == CLI_OK) {
        put_header(data_size);
        put_tasks();
        put_samples(samples);
    }
    return (int)cli_worse(status, cli_output_commit(&output));
}
