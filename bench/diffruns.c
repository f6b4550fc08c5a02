/* diffruns - a run for fxtdiff to compare: a trace of samples in a program of many functions.
 *
 *   diffruns [--seed N] [--samples N] [--functions N] [--stacks N] [--regressed PERMILLE]
 *            [--period NS] > RUN.fxt
 *   diffruns --symbols [--functions N] > kallsyms
 *
 * Every seed samples the same program: the same tree of stacks, from which it draws others.  The
 * functions are those of a kernel, whose names a text of the form of /proc/kallsyms gives, so that
 * no object files are needed.  --regressed puts more samples into function 3.  */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fxt.h>
#include "cmd/cli/cli.h"

#define TEXT_START    UINT64_C(0xffffffff81000000)
#define FUNCTION_SIZE 64u
#define DEPTH         16u
#define REGRESSED     3u /* this function */

enum {
    KEY_SEED = 1,
    KEY_SAMPLES,
    KEY_FUNCTIONS,
    KEY_STACKS,
    KEY_REGRESSED,
    KEY_PERIOD,
    KEY_SYMBOLS
};

static const struct cli_option options[] = {
    { KEY_SEED, 0, "seed", "N", "what is drawn (default 1)" },
    { KEY_SAMPLES, 0, "samples", "N", "default 1000000" },
    { KEY_FUNCTIONS, 0, "functions", "N", "default 50000" },
    { KEY_STACKS, 0, "stacks", "N", "distinct ones of the program (default 200000)" },
    { KEY_REGRESSED, 0, "regressed", "PERMILLE",
      "so many samples of a thousand are of function 3 (default 0)" },
    { KEY_PERIOD, 0, "period", "NS", "between samples (default 1000000); 0: do not say" },
    { KEY_SYMBOLS, 0, "symbols", NULL, "write names of the functions instead" },
    { 0 },
};

static const struct cli_command command = {
    .name = "diffruns",
    .usage = "[OPTION]...",
    .summary = "Write a run for fxtdiff.",
    .options = options,
};

struct node {
    uint32_t parent, function, depth;
};

static struct wanted {
    uint64_t seed, samples, functions, stacks, regressed, period_ns;
    bool symbols;
} wanted = { 1, 1000000, 50000, 200000, 0, 1000000, false };

static struct node *nodes; /* from 1 */
static struct cli_output output;
static struct fxt_writer *writer;
static uint64_t state;

/* splitmix64.  */
static uint64_t random_word(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t below(uint64_t limit)
{
    return (uint32_t)((random_word() >> 32) * limit >> 32);
}

static void put(struct fxt_record record)
{
    struct fxt_error error;

    if (fxt_writer_record(writer, &record, &error) == FXT_OK)
        return;
    cli_error("%s", error.message);
    exit(CLI_ENVIRONMENT);
}

/* Each function is the leaf of some stack; the first ones of many.  */
static void make_tree(void)
{
    state = 7;
    nodes = cli_allocate(wanted.stacks + 1, sizeof *nodes);
    for (uint32_t i = 1; i <= wanted.stacks; i++) {
        uint32_t parent = i > 1 ? 1 + below(i - 1) : 0;

        if (nodes[parent].depth >= DEPTH)
            parent = nodes[parent].parent;
        nodes[i].parent = parent;
        nodes[i].depth = nodes[parent].depth + 1;
        nodes[i].function = i <= wanted.functions ? i - 1
                                                  : below(1 + (uint64_t)below(wanted.functions));
    }
}

static void put_start(void)
{
    static const uint8_t build_id[20] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    struct fxt_arg args[] = {
        { .type = FXT_ARG_UINT64,
          .name = fxt_inline("period_ns"),
          .value.uint64 = wanted.period_ns },
        { .type = FXT_ARG_UINT64, .name = fxt_inline("max_frames"), .value.uint64 = DEPTH + 1 },
    };

    put((struct fxt_record){ .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 });
    put((struct fxt_record){ .kind = FXT_RECORD_INIT, .value.init.ticks_per_second = 1000000000 });
    if (wanted.period_ns > 0)
        put((struct fxt_record){
            .kind = FXT_RECORD_EVENT,
            .category = fxt_inline("fxt.capture"),
            .name = fxt_inline("session"),
            .args = args,
            .arg_count = 2,
            .value.event = { .type = FXT_EVENT_INSTANT,
                             .has_scope = true,
                             .scope = FXT_SCOPE_GLOBAL },
        });
    put((struct fxt_record){
        .kind = FXT_RECORD_MODULE,
        .name = fxt_inline("[kernel]"),
        .value.module = { .id = 0, .build_id = { build_id, sizeof build_id } } });
    put((struct fxt_record){ .kind = FXT_RECORD_MAPPING,
                             .value.mapping = { .module_id = 0,
                                                .flags = 5,
                                                .start = TEXT_START,
                                                .length = wanted.functions * FUNCTION_SIZE,
                                                .vaddr = TEXT_START } });
}

/* Stacks near the root are drawn more often.  */
static uint32_t draw_stack(void)
{
    uint32_t stack = 1 + below(1 + (uint64_t)below(wanted.stacks));

    if (below(1000) < wanted.regressed) /* of so many in a thousand samples */
        stack = 1 + REGRESSED;
    return stack;
}

static void put_samples(void)
{
    uint8_t pcs[8 * DEPTH];

    state = wanted.seed * UINT64_C(0x2545f4914f6cdd1d);
    for (uint64_t i = 0; i < wanted.samples; i++) {
        size_t length = 0;

        for (uint32_t at = draw_stack(); at; at = nodes[at].parent) {
            uint64_t address = TEXT_START + (uint64_t)nodes[at].function * FUNCTION_SIZE +
                               (uint64_t)(at % 3) * 16 + (length ? 1 : 0);

            memcpy(pcs + length, &address, 8); /* little-endian machines only, as all benchmarks */
            length += 8;
        }
        put((struct fxt_record){ .kind = FXT_RECORD_LARGE_BLOB,
                                 .ticks = i * 1000000,
                                 .thread = { .process = 100, .thread = 100 },
                                 .value.large_blob.payload = { pcs, length } });
    }
}

static void put_symbols(void)
{
    for (uint64_t i = 0; i <= wanted.functions; i++)
        printf("%016" PRIx64 " T function_number_%" PRIu64 "\n", TEXT_START + i * FUNCTION_SIZE, i);
}

static void take(int key, const char *value)
{
    switch (key) {
    case KEY_SEED:
        wanted.seed = cli_number("--seed", value, 0, UINT32_MAX);
        break;
    case KEY_SAMPLES:
        wanted.samples = cli_number("--samples", value, 1, UINT32_MAX);
        break;
    case KEY_FUNCTIONS:
        wanted.functions = cli_number("--functions", value, REGRESSED + 1, 1000000);
        break;
    case KEY_STACKS:
        wanted.stacks = cli_number("--stacks", value, REGRESSED + 1, 100000000);
        break;
    case KEY_REGRESSED:
        wanted.regressed = cli_number("--regressed", value, 0, 1000);
        break;
    case KEY_PERIOD:
        wanted.period_ns = cli_number("--period", value, 0, 1000000000);
        break;
    case KEY_SYMBOLS:
        wanted.symbols = true;
        break;
    default:
        cli_usage_error("no operands");
    }
}

int main(int argc, char **argv)
{
    struct cli_parser parser;
    struct fxt_error error;
    enum cli_exit status;
    int key;

    (void)argc;
    cli_start(&parser, &command, argv + 1);
    while ((key = cli_next(&parser)) != CLI_END)
        take(key, parser.value);
    if (wanted.symbols) {
        put_symbols();
        return fflush(stdout) == 0 ? CLI_OK : CLI_ENVIRONMENT;
    }
    make_tree();
    status = cli_output_open(&output, "-");
    if (status != CLI_OK)
        return (int)status;
    if (fxt_writer_open(cli_output_write, &output, &writer, &error) != FXT_OK) {
        cli_error("%s", error.message);
        return CLI_ENVIRONMENT;
    }
    put_start();
    put_samples();
    fxt_writer_close(writer);
    free(nodes);
    return (int)cli_output_commit(&output);
}
