/* baseline.c - runs to and from text (baseline.h).  */
#include "cmd/fxtdiff/baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/builder.h"
#include "cmd/fxtdiff/print.h"
#include "cmd/fxtdiff/text_file.h"

static const char magic[] = "fxt-baseline ";

#define MILLION 1e6
/* A function that is not in the file counts as one that cost nothing.  With more than this share it
 * would be blamed for what it always cost (docs/comparison.md: a finding needs 0.3 points).  */
#define MOST_LEFT_OUT 0.002
/* What is hardly ever seen is not worth a line.  */
#define LEAST_SHARE 0.0001

bool diff_is_baseline(const unsigned char *start, size_t length)
{
    return length >= sizeof magic - 1 && memcmp(start, magic, sizeof magic - 1) == 0;
}

/* ---- Reading ---- */

/* A function's line.  Its vectors have as many numbers as there are runs.  */
struct baseline_function {
    struct diff_place place;
    double *self, *total; /* millionths */
};

struct baseline {
    struct diff_text_file file;
    struct diff_arena *arena;
    const char *type, *unit;
    struct diff_environment environment;
    size_t build_capacity;
    double *costs, *samples;
    size_t cost_count, sample_count;
    struct baseline_function *functions;
    size_t function_count, function_capacity;
    double left_out;
    const char *last_name; /* functions are sorted, so that none comes twice */
};

static const char *keep(struct baseline *baseline, const char *text)
{
    return diff_arena_copy(baseline->arena, text, strlen(text));
}

/* Numbers up to the end of text, each at most most; NULL after a message.  */
static double *parse_vector(struct baseline *baseline, const char *what, const char *text,
                            double most, size_t *count)
{
    double *numbers = NULL;
    size_t capacity = 0;

    for (*count = 0; *text; text += strspn(text, " ")) {
        numbers = diff_grow(numbers, &capacity, *count + 1, sizeof *numbers);
        if (!diff_take_number(text, &numbers[*count], &text) || (*text && *text != ' ') ||
            numbers[*count] > most) {
            (void)diff_text_wrong(&baseline->file, "%s: not a number up to %.0f", what, most);
            free(numbers);
            return NULL;
        }
        ++*count;
    }
    if (*count > 0 && *count <= COMPARE_MAX_RUNS)
        return numbers;
    (void)diff_text_wrong(&baseline->file, "%s of %zu runs", what, *count);
    free(numbers);
    return NULL;
}

static enum cli_exit parse_header_vector(struct baseline *baseline, const char *what, char *text,
                                         double **out, size_t *count)
{
    if (*out)
        return diff_text_wrong(&baseline->file, "a second \"%s\"", what);
    *out = parse_vector(baseline, what, text, 1e18, count);
    if (!*out)
        return CLI_USAGE;
    for (size_t i = 0; i < *count; i++)
        if (!((*out)[i] > 0))
            return diff_text_wrong(&baseline->file, "a run without %s", what);
    return CLI_OK;
}

/* A vector of a function: as long as those of the runs, which stand before.  */
static double *parse_shares(struct baseline *baseline, const char *what, const char *text)
{
    size_t count;
    double *numbers = parse_vector(baseline, what, text, MILLION, &count);
    double *kept = NULL;

    if (numbers && count != baseline->cost_count)
        (void)diff_text_wrong(&baseline->file,
                              "%zu numbers for %zu runs: was something merged by hand?", count,
                              baseline->cost_count);
    else if (numbers)
        kept = memcpy(diff_arena_take(baseline->arena, count * sizeof *kept), numbers,
                      count * sizeof *kept);
    free(numbers);
    return kept;
}

/* The part before the next tab; NULL without one.  */
static char *take_part(char **text)
{
    char *part = *text;
    char *tab = strchr(part, '\t');

    if (!tab)
        return NULL;
    *tab = '\0';
    *text = tab + 1;
    return part;
}

/* "FILE START FIRST LAST".  */
static bool parse_place(struct baseline *baseline, char *text, struct diff_place *place)
{
    uint32_t *const numbers[] = { &place->last_line, &place->first_line, &place->start_line };

    for (size_t i = 0; i < 3; i++) {
        const char *word = diff_take_last_word(text), *rest;
        double number;

        if (!diff_take_number(word, &number, &rest) || *rest || number > UINT32_MAX)
            return false;
        *numbers[i] = (uint32_t)number;
    }
    place->file = keep(baseline, text);
    return true;
}

static enum cli_exit parse_function(struct baseline *baseline, char *text)
{
    struct baseline_function function = { .self = NULL };
    char *name = take_part(&text);
    char *place = name ? take_part(&text) : NULL;
    char *module = place ? take_part(&text) : NULL;
    char *self = module ? take_part(&text) : NULL;

    if (!baseline->costs || !baseline->samples || baseline->cost_count != baseline->sample_count)
        return diff_text_wrong(&baseline->file,
                               "functions before equally many numbers of \"cost\" and \"samples\"");
    if (!self || !*name)
        return diff_text_wrong(&baseline->file, "a function has five parts with tabs between them");
    if (baseline->last_name && strcmp(baseline->last_name, name) >= 0)
        return diff_text_wrong(&baseline->file, "functions are not sorted by name, each once: %s",
                               name);
    baseline->last_name = function.place.name = keep(baseline, name);
    function.place.module = keep(baseline, module);
    if (!parse_place(baseline, place, &function.place))
        return diff_text_wrong(&baseline->file, "a place is \"FILE START FIRST LAST\", for lines");
    function.self = parse_shares(baseline, "own cost", self);
    function.total = function.self ? parse_shares(baseline, "cost with callees", text) : NULL;
    if (!function.total)
        return CLI_USAGE;
    baseline->functions = diff_grow(baseline->functions, &baseline->function_capacity,
                                    baseline->function_count + 1, sizeof *baseline->functions);
    baseline->functions[baseline->function_count++] = function;
    return CLI_OK;
}

static enum cli_exit parse_type(struct baseline *baseline, char *text)
{
    const char *type = diff_take_word(&text);

    if (baseline->type)
        return diff_text_wrong(&baseline->file, "a second \"type\"");
    if (!*type || !*text || strchr(text, ' '))
        return diff_text_wrong(&baseline->file, "a type has a name and a unit");
    baseline->type = keep(baseline, type);
    baseline->unit = keep(baseline, text);
    return CLI_OK;
}

static void add_build(struct baseline *baseline, const char *text)
{
    struct diff_environment *environment = &baseline->environment;

    environment->builds = diff_grow(environment->builds, &baseline->build_capacity,
                                    environment->build_count + 1, sizeof *environment->builds);
    environment->builds[environment->build_count++] = keep(baseline, text);
}

static enum cli_exit parse_period(struct baseline *baseline, const char *text)
{
    const char *rest;
    double number;

    if (!diff_take_number(text, &number, &rest) || *rest)
        return diff_text_wrong(&baseline->file, "not a period in nanoseconds: %s", text);
    baseline->environment.period_ns = (uint64_t)number;
    return CLI_OK;
}

static enum cli_exit parse_left_out(struct baseline *baseline, const char *text)
{
    const char *rest;

    if (!diff_take_number(text, &baseline->left_out, &rest) || *rest || baseline->left_out > 1)
        return diff_text_wrong(&baseline->file, "not a share up to 1: %s", text);
    return CLI_OK;
}

static enum cli_exit parse_line(struct baseline *baseline, char *line)
{
    struct diff_environment *environment = &baseline->environment;
    const struct {
        const char *key;
        const char **value;
    } texts[] = {
        { "cpu_model", &environment->cpu_model }, { "kernel", &environment->kernel },
        { "arch", &environment->arch },           { "compiler", &environment->compiler },
        { "command", &environment->command },
    };
    char *text = line;
    const char *key = diff_take_word(&text);

    if (strcmp(key, "function") == 0)
        return parse_function(baseline, text);
    if (strcmp(key, "type") == 0)
        return parse_type(baseline, text);
    if (strcmp(key, "cost") == 0)
        return parse_header_vector(baseline, key, text, &baseline->costs, &baseline->cost_count);
    if (strcmp(key, "samples") == 0)
        return parse_header_vector(baseline, key, text, &baseline->samples,
                                   &baseline->sample_count);
    if (strcmp(key, "period_ns") == 0)
        return parse_period(baseline, text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0) {
            *texts[i].value = keep(baseline, text);
            return CLI_OK;
        }
    if (strcmp(key, "build") == 0)
        add_build(baseline, text);
    else if (strcmp(key, "left_out") == 0)
        return parse_left_out(baseline, text);
    else
        return diff_text_wrong(&baseline->file, "what is \"%s\"?", key);
    return CLI_OK;
}

static enum cli_exit parse_all(struct baseline *baseline)
{
    char *line = diff_text_line(&baseline->file);
    enum cli_exit status = CLI_OK;

    if (!line || !diff_is_baseline((const unsigned char *)line, strlen(line)))
        return diff_text_wrong(&baseline->file, "not a baseline: it does not begin with \"%s1\"",
                               magic);
    if (strcmp(line + sizeof magic - 1, "1") != 0)
        return diff_text_wrong(&baseline->file, "a baseline of version %s, which is newer",
                               line + sizeof magic - 1);
    while (status == CLI_OK && (line = diff_text_statement(&baseline->file)) != NULL) {
        if (strncmp(line, "<<<<<<<", 7) == 0 || strncmp(line, "=======", 7) == 0 ||
            strncmp(line, ">>>>>>>", 7) == 0)
            return diff_text_wrong(&baseline->file, "a merge conflict");
        status = parse_line(baseline, line);
    }
    if (status == CLI_OK && !baseline->type)
        status = diff_text_wrong(&baseline->file, "no \"type\"");
    if (status == CLI_OK && baseline->function_count == 0)
        status = diff_text_wrong(&baseline->file, "no functions");
    return status;
}

static const char *copy_text(struct diff_builder *builder, const char *text)
{
    return text ? diff_copy(builder, text, strlen(text)) : NULL;
}

/* What lives as long as the set.  */
static struct diff_environment copy_environment(struct diff_builder *builder,
                                                const struct diff_environment *from)
{
    struct diff_environment to = {
        .cpu_model = copy_text(builder, from->cpu_model),
        .kernel = copy_text(builder, from->kernel),
        .arch = copy_text(builder, from->arch),
        .compiler = copy_text(builder, from->compiler),
        .command = copy_text(builder, from->command),
        .period_ns = from->period_ns,
        .build_count = from->build_count,
    };

    to.builds = diff_arena_take(builder->set.arena, (to.build_count + 1) * sizeof *to.builds);
    for (size_t i = 0; i < to.build_count; i++)
        to.builds[i] = copy_text(builder, from->builds[i]);
    return to;
}

/* A run of the builder for each column.  */
static enum cli_exit add_runs(struct diff_builder *builder, enum diff_side side,
                              const struct baseline *baseline, const char *label)
{
    struct diff_environment environment = copy_environment(builder, &baseline->environment);
    char text[600];

    for (size_t r = 0; r < baseline->cost_count; r++) {
        struct diff_run *run;

        (void)snprintf(text, sizeof text, "%s run %zu", label, r + 1);
        run = diff_begin_run(builder, side, text);
        run->cost = baseline->costs[r];
        run->samples = baseline->samples[r];
        run->environment = environment;
        run->left_out = baseline->left_out;
        if (!diff_set_type(builder, baseline->type, baseline->unit))
            return CLI_USAGE;
        for (size_t f = 0; f < baseline->function_count; f++) {
            const struct baseline_function *function = &baseline->functions[f];
            uint32_t id = diff_add_function(builder, side, &function->place);

            if (function->self[r] > 0 || function->total[r] > 0)
                diff_add_cost(builder, id, function->self[r] / MILLION * run->cost,
                              function->total[r] / MILLION * run->cost);
        }
    }
    return CLI_OK;
}

enum cli_exit diff_read_baseline(struct diff_builder *builder, enum diff_side side,
                                 const char *path, const char *label)
{
    struct baseline baseline = { .arena = diff_arena_open() };
    enum cli_exit status = diff_text_open(&baseline.file, path, DIFF_BASELINE_BYTES);

    if (status == CLI_OK) {
        baseline.file.path = label;
        status = parse_all(&baseline);
        if (status == CLI_OK)
            status = add_runs(builder, side, &baseline, label);
        diff_text_close(&baseline.file);
    }
    free(baseline.costs);
    free(baseline.samples);
    free(baseline.functions);
    free((void *)baseline.environment.builds);
    diff_arena_close(baseline.arena);
    return status;
}

/* ---- Writing ---- */

/* A function and what it cost in each run of the side.  */
struct entry {
    uint32_t function;
    double share; /* pooled, with callees: how much it matters */
    size_t bytes; /* of its line */
    const char *line;
};

struct baseline_writer {
    const struct diff_set *set;
    enum diff_side side;
    struct diff_arena *arena;
    double *self, *total; /* of each function, run by run: shares */
    size_t runs;
    struct entry *entries;
    size_t count;
};

static void gather(struct baseline_writer *writer)
{
    const struct diff_set *set = writer->set;
    size_t run_index = 0;

    writer->runs = set->side_runs[writer->side];
    writer->self = cli_allocate(set->function_count * writer->runs + 1, sizeof *writer->self);
    writer->total = cli_allocate(set->function_count * writer->runs + 1, sizeof *writer->total);
    writer->entries = cli_allocate(set->function_count + 1, sizeof *writer->entries);
    for (size_t f = 0; f < set->function_count; f++)
        writer->entries[f].function = (uint32_t)f;
    for (size_t i = 0; i < set->run_count; i++) {
        const struct diff_run *run = &set->runs[i];

        if (run->side != writer->side)
            continue;
        for (size_t k = 0; k < run->cost_count && run->cost > 0; k++) {
            const struct diff_cost *cost = &run->costs[k];
            size_t at = cost->function * writer->runs + run_index;

            writer->self[at] = cost->self / run->cost;
            writer->total[at] = cost->total / run->cost;
            writer->entries[cost->function].share += cost->total / run->cost / (double)writer->runs;
        }
        run_index++;
    }
    writer->count = set->function_count;
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
static void make_line(struct baseline_writer *writer, struct entry *entry)
{
    const struct diff_function *function = &writer->set->functions[entry->function];
    const struct diff_place *place = &function->places[writer->side];
    size_t capacity = strlen(place->name) + strlen(place->file) + strlen(place->module) + 64 +
                      2 * writer->runs * 9;
    char *line = diff_arena_take(writer->arena, capacity);
    size_t length = 0;
    const double *vectors[] = { writer->self + entry->function * writer->runs,
                                writer->total + entry->function * writer->runs };

    length += (size_t)snprintf(line, capacity, "function %s\t%s %u %u %u\t%s", place->name,
                               place->file, place->start_line, place->first_line, place->last_line,
                               place->module);
    for (size_t v = 0; v < 2; v++)
        for (size_t r = 0; r < writer->runs; r++) {
            double share = vectors[v][r] < 1 ? vectors[v][r] : 1;

            length += (size_t)snprintf(line + length, capacity - length, "%c%.0f",
                                       r == 0 ? '\t' : ' ', share * MILLION);
        }
    entry->line = line;
    entry->bytes = length + 1;
}

/* As many functions as fit into size bytes, in the order of their names.  Returns the share of the
 * largest one that was left out.  */
static double choose(struct baseline_writer *writer, size_t size)
{
    size_t used = 0, kept = 0;
    double left_out = 0;

    if (writer->count > 0)
        qsort(writer->entries, writer->count, sizeof *writer->entries, by_share);
    for (; kept < writer->count; kept++) {
        struct entry *entry = &writer->entries[kept];

        left_out = entry->share;
        if (entry->share < LEAST_SHARE ||
            !writer->set->functions[entry->function].places[writer->side].name)
            break;
        make_line(writer, entry);
        if (used + entry->bytes > size)
            break;
        used += entry->bytes;
    }
    if (kept == writer->count)
        left_out = 0;
    writer->count = kept;
    if (kept > 0)
        qsort(writer->entries, kept, sizeof *writer->entries, by_line);
    return left_out;
}

/* ---- The head ---- */

struct text {
    char *bytes;
    size_t length, capacity;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    char *part = NULL;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(&part, format, arguments);
    va_end(arguments);
    if (length < 0) {
        cli_error("out of memory");
        exit(CLI_ENVIRONMENT);
    }
    text->bytes = diff_grow(text->bytes, &text->capacity, text->length + (size_t)length + 1, 1);
    memcpy(text->bytes + text->length, part, (size_t)length + 1);
    text->length += (size_t)length;
    free(part);
}

/* What all runs of the side have; the first's where they differ, which diff_read() warns of.  */
static const struct diff_environment *environment_of(const struct baseline_writer *writer)
{
    for (size_t i = 0; i < writer->set->run_count; i++)
        if (writer->set->runs[i].side == writer->side)
            return &writer->set->runs[i].environment;
    return NULL;
}

static void add_environment(struct text *head, const struct diff_environment *environment)
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
            add(head, "%s %s\n", texts[i].key, texts[i].value);
    if (environment->period_ns)
        add(head, "period_ns %" PRIu64 "\n", environment->period_ns);
    for (size_t i = 0; i < environment->build_count; i++)
        add(head, "build %s\n", environment->builds[i]);
}

static void add_vector(struct text *head, const struct baseline_writer *writer, const char *key,
                       size_t offset)
{
    const struct diff_set *set = writer->set;
    char number[32];

    add(head, "%s", key);
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
        add(head, " %s", number);
    }
    add(head, "\n");
}

static void make_head(struct text *head, const struct baseline_writer *writer, const char *comments)
{
    const struct diff_environment *environment = environment_of(writer);

    add(head, "%s1\n%s", magic, comments);
    add(head, "type %s %s\n", writer->set->type.type, writer->set->type.unit);
    if (environment)
        add_environment(head, environment);
    add_vector(head, writer, "cost", offsetof(struct diff_run, cost));
    add_vector(head, writer, "samples", offsetof(struct diff_run, samples));
}

static enum cli_exit write_file(struct baseline_writer *writer, const struct text *head,
                                double left_out, const char *path)
{
    struct cli_output output;
    enum cli_exit status = cli_output_open(&output, path);

    if (status != CLI_OK)
        return status;
    diff_print(&output, "%s", head->bytes);
    if (left_out > 0)
        diff_print(&output, "left_out %.6f\n", left_out);
    for (size_t i = 0; i < writer->count; i++)
        diff_print(&output, "%s\n", writer->entries[i].line);
    return cli_output_commit(&output);
}

enum cli_exit diff_write_baseline(const struct diff_set *set, enum diff_side side,
                                  const char *comments, const char *path)
{
    struct baseline_writer writer = { .set = set, .side = side, .arena = diff_arena_open() };
    struct text head = { .bytes = NULL };
    const size_t reserved = 32; /* for left_out */
    enum cli_exit status = CLI_USAGE;
    double left_out = 1;

    gather(&writer);
    make_head(&head, &writer, comments);
    if (head.length + reserved < DIFF_BASELINE_BYTES)
        left_out = choose(&writer, DIFF_BASELINE_BYTES - head.length - reserved);
    if (left_out <= MOST_LEFT_OUT)
        status = write_file(&writer, &head, left_out, path);
    else
        cli_error("%s: %zu runs do not fit into %s bytes without leaving out functions of %.1f%%; "
                  "take fewer runs",
                  path, writer.runs, cli_grouped(DIFF_BASELINE_BYTES), 100 * left_out);
    free(head.bytes);
    free(writer.self);
    free(writer.total);
    free(writer.entries);
    diff_arena_close(writer.arena);
    return status;
}
