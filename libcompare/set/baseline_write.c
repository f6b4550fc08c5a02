/* baseline_write.c - runs to a baseline.  */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <fxt/compare_set.h>
#include "base/arena.h"
#include "base/number.h"
#include "base/text.h"
#include "libcompare/compare_internal.h"
#include "libcompare/set/baseline.h"

/* A function that is not in the file counts as one that cost nothing.  With more than this share it
 * would be blamed for what it always cost (docs/comparison.md: a finding needs 0.3 points).  */
#define MOST_LEFT_OUT 0.002
/* What is hardly ever seen is not worth a line.  */
#define LEAST_SHARE 0.0001

/* ---- Functions ---- */

/* A function and what it cost in each run of the side.  */
struct entry {
    uint32_t function;
    double share; /* pooled, with callees: how much it matters */
    size_t bytes; /* of its line */
    const char *line;
};

struct baseline_writer {
    const struct compare_set *set;
    enum compare_side side;
    struct base_arena arena;
    double *self, *total; /* of each function, run by run: shares */
    size_t runs;
    struct entry *entries;
    size_t count;
    struct base_text line; /* scratch */
};

static void add_run(struct baseline_writer *writer, const struct compare_run *run, size_t index)
{
    for (size_t k = 0; k < run->cost_count; k++) {
        const struct compare_cost *cost = &run->costs[k];
        size_t at = cost->function * writer->runs + index;

        writer->self[at] = cost->self / run->cost;
        writer->total[at] = cost->total / run->cost;
        writer->entries[cost->function].share += cost->total / run->cost / (double)writer->runs;
    }
}

static bool gather(struct baseline_writer *writer)
{
    const struct compare_set *set = writer->set;
    size_t cells, index = 0;

    writer->runs = set->side_runs[writer->side];
    writer->count = set->function_count;
    if (__builtin_mul_overflow(set->function_count, writer->runs, &cells))
        return false;
    writer->self = compare_array(cells, sizeof *writer->self);
    writer->total = compare_array(cells, sizeof *writer->total);
    writer->entries = compare_array(set->function_count, sizeof *writer->entries);
    if (!writer->self || !writer->total || !writer->entries)
        return false;
    for (size_t f = 0; f < set->function_count; f++)
        writer->entries[f].function = (uint32_t)f;
    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].side == writer->side)
            add_run(writer, &set->runs[i], index++);
    return true;
}

/* Largest first; by name where they are equal.  */
static int by_share(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    if (left->share != right->share)
        return left->share > right->share ? -1 : 1;
    return (left->function > right->function) - (left->function < right->function);
}

static int by_line(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;

    return strcmp(left->line, right->line);
}

/* Bytes as strcmp() has them sort names as a reader compares them, for a tab is less than whatever
 * a name is made of.  */
static bool make_line(struct baseline_writer *writer, struct entry *entry)
{
    const struct compare_function *function = &writer->set->functions[entry->function];
    const struct compare_place *place = &function->places[writer->side];
    struct base_text *line = &writer->line;
    const double *vectors[] = { writer->self + entry->function * writer->runs,
                                writer->total + entry->function * writer->runs };

    base_text_clear(line);
    base_text_addf(line, "function %s\t%s %u %u %u\t%s", place->name, place->file,
                   place->start_line, place->first_line, place->last_line, place->module);
    for (size_t v = 0; v < 2; v++)
        for (size_t r = 0; r < writer->runs; r++) {
            double share = vectors[v][r] < 1 ? vectors[v][r] : 1;

            base_text_addf(line, "%c%.0f", r == 0 ? '\t' : ' ', share * BASELINE_SCALE);
        }
    if (line->failed)
        return false;
    entry->line = base_arena_text(&writer->arena, line->bytes, line->length);
    entry->bytes = line->length + 1;
    if (place->is_root)
        entry->bytes += strlen("root \n") + strlen(place->name);
    return entry->line != NULL;
}

/* As many functions as fit into size bytes, in the order of their names.  *left_out becomes the
 * share of the largest one that was left out.  Returns false when memory is short.  */
static bool choose(struct baseline_writer *writer, size_t size, double *left_out)
{
    size_t used = 0, kept = 0;

    compare_sort(writer->entries, writer->count, sizeof *writer->entries, by_share);
    for (; kept < writer->count; kept++) {
        struct entry *entry = &writer->entries[kept];

        *left_out = entry->share;
        if (entry->share < LEAST_SHARE ||
            !writer->set->functions[entry->function].places[writer->side].name)
            break;
        if (!make_line(writer, entry))
            return false;
        if (used + entry->bytes > size)
            break;
        used += entry->bytes;
    }
    if (kept == writer->count)
        *left_out = 0;
    writer->count = kept;
    compare_sort(writer->entries, kept, sizeof *writer->entries, by_line);
    return true;
}

/* ---- The head ---- */

/* What all runs of the side have; the first's where they differ, which the caller may judge.  */
static const struct compare_environment *environment_of(const struct baseline_writer *writer)
{
    for (size_t i = 0; i < writer->set->run_count; i++)
        if (writer->set->runs[i].side == writer->side)
            return &writer->set->runs[i].environment;
    return NULL;
}

static void add_environment(struct base_text *head, const struct compare_environment *environment)
{
    const struct {
        const char *key, *value;
    } texts[] = {
        { "cpu_model", environment->cpu_model }, { "kernel", environment->kernel },
        { "arch", environment->arch },           { "compiler", environment->compiler },
        { "command", environment->command },
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value && *texts[i].value)
            base_text_addf(head, "%s %s\n", texts[i].key, texts[i].value);
    if (environment->period_ns)
        base_text_addf(head, "period_ns %" PRIu64 "\n", environment->period_ns);
    for (size_t i = 0; i < environment->build_count; i++)
        base_text_addf(head, "build %s\n", environment->builds[i]);
}

static void add_vector(struct base_text *head, const struct baseline_writer *writer,
                       const char *key, size_t offset)
{
    const struct compare_set *set = writer->set;
    char number[32];

    base_text_addf(head, "%s", key);
    for (size_t i = 0; i < set->run_count; i++) {
        double value;

        if (set->runs[i].side != writer->side)
            continue;
        memcpy(&value, (const char *)&set->runs[i] + offset, sizeof value);
        (void)snprintf(number, sizeof number, value < 1e6 ? "%.3f" : "%.0f", value);
        if (strchr(number, '.')) {
            size_t length = strlen(number);

            while (number[length - 1] == '0')
                number[--length] = '\0';
            if (number[length - 1] == '.')
                number[length - 1] = '\0';
        }
        base_text_addf(head, " %s", number);
    }
    base_text_addf(head, "\n");
}

/* Lines that are comments.  */
static void keep_comments(struct base_text *head, const char *old, size_t length)
{
    while (length > 0) {
        const char *end = memchr(old, '\n', length);
        size_t size = end ? (size_t)(end - old) : length;
        size_t kept = size;

        while (kept > 0 && strchr(" \t\r", old[kept - 1]))
            kept--;
        if (kept > 0 && *old == '#') {
            base_text_add(head, old, kept);
            base_text_add(head, "\n", 1);
        }
        size += end != NULL;
        old += size;
        length -= size;
    }
}

static bool is_root(const struct baseline_writer *writer, const struct entry *entry)
{
    return writer->set->functions[entry->function].places[writer->side].is_root;
}

static bool has_roots(const struct baseline_writer *writer)
{
    for (size_t i = 0; i < writer->count; i++)
        if (is_root(writer, &writer->entries[i]))
            return true;
    return false;
}

static void make_head(struct base_text *head, const struct baseline_writer *writer, const char *old,
                      size_t length)
{
    const struct compare_environment *environment = environment_of(writer);

    base_text_adds(head, BASELINE_MAGIC);
    base_text_addf(head, "%s\n", has_roots(writer) ? BASELINE_VERSION : "1");
    if (old)
        keep_comments(head, old, length);
    base_text_addf(head, "type %s %s\n", writer->set->type.type, writer->set->type.unit);
    if (environment)
        add_environment(head, environment);
    add_vector(head, writer, "cost", offsetof(struct compare_run, cost));
    add_vector(head, writer, "samples", offsetof(struct compare_run, samples));
}

/* ---- The file ---- */

/* Room for "left_out" and its number.  */
#define RESERVED 32

static enum compare_status too_many_runs(const struct baseline_writer *writer, double left_out,
                                         struct compare_error *error)
{
    char number[BASE_GROUPED_BYTES];

    return compare_fail(error, COMPARE_LIMIT,
                        "%zu runs do not fit into %s bytes without leaving out functions of "
                        "%.1f%%; take fewer runs",
                        writer->runs, base_grouped(COMPARE_BASELINE_BYTES, number), 100 * left_out);
}

/* text has the head.  */
static enum compare_status write_text(struct baseline_writer *writer, struct base_text *text,
                                      struct compare_error *error)
{
    double left_out = 1;

    if (!text->failed && text->length + RESERVED < COMPARE_BASELINE_BYTES &&
        !choose(writer, COMPARE_BASELINE_BYTES - text->length - RESERVED, &left_out))
        return compare_no_memory(error);
    if (!text->failed && left_out > MOST_LEFT_OUT)
        return too_many_runs(writer, left_out, error);
    if (left_out > 0)
        base_text_addf(text, "left_out %.6f\n", left_out);
    for (size_t i = 0; i < writer->count; i++)
        if (is_root(writer, &writer->entries[i]))
            base_text_addf(
                text, "root %s\n",
                writer->set->functions[writer->entries[i].function].places[writer->side].name);
    for (size_t i = 0; i < writer->count; i++)
        base_text_addf(text, "%s\n", writer->entries[i].line);
    return text->failed ? compare_no_memory(error) : COMPARE_OK;
}

static enum compare_status check_runs(const struct compare_set *set, enum compare_side side,
                                      struct compare_error *error)
{
    if (set->side_runs[side] == 0)
        return compare_fail(error, COMPARE_INVALID, "no runs");
    for (size_t i = 0; i < set->run_count; i++)
        if (set->runs[i].side == side && (!(set->runs[i].cost > 0) || !(set->runs[i].samples > 0)))
            return compare_fail(error, COMPARE_INVALID, "%s: no samples", set->runs[i].label);
    return COMPARE_OK;
}

enum compare_status compare_write_baseline(const struct compare_set *set, enum compare_side side,
                                           const void *old, size_t length, char **out,
                                           size_t *out_length, struct compare_error *error)
{
    struct baseline_writer writer = { .set = set, .side = side };
    struct base_text text = { .bytes = NULL };
    enum compare_status status = check_runs(set, side, error);

    if (status == COMPARE_OK && !gather(&writer))
        status = compare_no_memory(error);
    if (status == COMPARE_OK) {
        make_head(&text, &writer, old, length);
        status = write_text(&writer, &text, error);
    }
    base_text_release(&writer.line);
    free(writer.self);
    free(writer.total);
    free(writer.entries);
    base_arena_release(&writer.arena);
    if (status == COMPARE_OK) {
        *out = text.bytes;
        *out_length = text.length;
    } else {
        base_text_release(&text);
    }
    return status;
}
