/* baseline_read.c - runs from a baseline.  */
#include <stdio.h>
#include <string.h>

#include "libcompare/set/baseline.h"
#include "libcompare/set/builder.h"
#include "libcompare/statements.h"

bool compare_is_baseline(const void *start, size_t length)
{
    return length >= strlen(BASELINE_MAGIC) &&
           memcmp(start, BASELINE_MAGIC, strlen(BASELINE_MAGIC)) == 0;
}

/* A line of a function.  */
struct line {
    struct compare_place place;
    size_t shares; /* index of its vectors: one share of each run, then one with callees */
};

struct vector {
    double *items;
    size_t count, capacity;
};

/* Texts are in the file.  */
struct baseline {
    struct statements file;
    const char *type, *unit;
    struct compare_environment environment;
    size_t build_capacity;
    struct vector costs, samples; /* of each run */
    struct vector shares;         /* of all functions, in millionths */
    struct line *lines;
    size_t line_count, line_capacity;
    double left_out;
    const char *last_name; /* functions are sorted, so that none comes twice */
    unsigned version;
    struct root { /* sorted likewise */
        const char *name;
        size_t line; /* its number */
    } * roots;
    size_t root_count, root_capacity;
};

static enum compare_status no_memory(const struct baseline *baseline)
{
    return compare_no_memory(baseline->file.error);
}

/* Add the numbers up to the end of text, each at most most, to a vector.  */
static enum compare_status parse_vector(struct baseline *baseline, const char *what,
                                        const char *text, double most, struct vector *out)
{
    size_t before = out->count, count;

    for (; *text; text += strspn(text, " ")) {
        double number;

        if (!statements_number(text, &number, &text) || (*text && *text != ' ') || number > most)
            return statements_wrong(&baseline->file, "%s: not a number up to %.0f", what, most);
        if (!base_make_room(&out->items, &out->capacity, out->count + 1, sizeof *out->items))
            return no_memory(baseline);
        out->items[out->count++] = number;
    }
    count = out->count - before;
    if (count == 0 || count > COMPARE_MAX_RUNS)
        return statements_wrong(&baseline->file, "%s of %zu runs", what, count);
    return COMPARE_OK;
}

static enum compare_status parse_header_vector(struct baseline *baseline, const char *what,
                                               const char *text, struct vector *out)
{
    enum compare_status status;

    if (out->count > 0)
        return statements_wrong(&baseline->file, "a second \"%s\"", what);
    status = parse_vector(baseline, what, text, 1e18, out);
    for (size_t i = 0; i < out->count && status == COMPARE_OK; i++)
        if (!(out->items[i] > 0))
            status = statements_wrong(&baseline->file, "a run without %s", what);
    return status;
}

/* A vector of a function: as long as those of the runs, which stand before.  */
static enum compare_status parse_shares(struct baseline *baseline, const char *what,
                                        const char *text)
{
    size_t before = baseline->shares.count;
    enum compare_status status = parse_vector(baseline, what, text, BASELINE_SCALE,
                                              &baseline->shares);
    size_t count = baseline->shares.count - before;

    if (status == COMPARE_OK && count != baseline->costs.count)
        return statements_wrong(&baseline->file,
                                "%zu numbers for %zu runs: was something merged by hand?", count,
                                baseline->costs.count);
    return status;
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
static bool parse_place(char *text, struct compare_place *place)
{
    uint32_t *const numbers[] = { &place->last_line, &place->first_line, &place->start_line };

    for (size_t i = 0; i < 3; i++) {
        const char *word = statements_last_word(text), *rest;
        double number;

        if (!statements_number(word, &number, &rest) || *rest || number > UINT32_MAX)
            return false;
        *numbers[i] = (uint32_t)number;
    }
    place->file = text;
    return true;
}

static enum compare_status parse_function(struct baseline *baseline, char *text)
{
    struct line line = { .shares = baseline->shares.count };
    char *name = take_part(&text);
    char *place = name ? take_part(&text) : NULL;
    char *module = place ? take_part(&text) : NULL;
    char *self = module ? take_part(&text) : NULL;
    enum compare_status status;

    if (baseline->costs.count == 0 || baseline->costs.count != baseline->samples.count)
        return statements_wrong(
            &baseline->file, "functions before equally many numbers of \"cost\" and \"samples\"");
    if (!self || !*name)
        return statements_wrong(&baseline->file,
                                "a function has five parts with tabs between them");
    if (baseline->last_name && strcmp(baseline->last_name, name) >= 0)
        return statements_wrong(&baseline->file, "functions are not sorted by name, each once: %s",
                                name);
    baseline->last_name = line.place.name = name;
    line.place.module = module;
    if (!parse_place(place, &line.place))
        return statements_wrong(&baseline->file, "a place is \"FILE START FIRST LAST\", for lines");
    status = parse_shares(baseline, "own cost", self);
    if (status == COMPARE_OK)
        status = parse_shares(baseline, "cost with callees", text);
    if (status != COMPARE_OK)
        return status;
    if (!base_make_room(&baseline->lines, &baseline->line_capacity, baseline->line_count + 1,
                        sizeof *baseline->lines))
        return no_memory(baseline);
    baseline->lines[baseline->line_count++] = line;
    return COMPARE_OK;
}

static enum compare_status parse_root(struct baseline *baseline, const char *name)
{
    if (!*name)
        return statements_wrong(&baseline->file, "a root without a name");
    if (baseline->root_count > 0 &&
        strcmp(baseline->roots[baseline->root_count - 1].name, name) >= 0)
        return statements_wrong(&baseline->file, "roots are not sorted by name, each once: %s",
                                name);
    if (!base_make_room(&baseline->roots, &baseline->root_capacity, baseline->root_count + 1,
                        sizeof *baseline->roots))
        return no_memory(baseline);
    baseline->roots[baseline->root_count++] = (struct root){ name, baseline->file.line };
    return COMPARE_OK;
}

/* Both are sorted.  */
static enum compare_status mark_roots(struct baseline *baseline)
{
    size_t at = 0;

    for (size_t i = 0; i < baseline->root_count; i++) {
        const struct root *root = &baseline->roots[i];
        struct compare_place *place;

        while (at < baseline->line_count && strcmp(baseline->lines[at].place.name, root->name) < 0)
            at++;
        place = at < baseline->line_count ? &baseline->lines[at].place : NULL;
        baseline->file.line = root->line;
        if (!place || strcmp(place->name, root->name) != 0)
            return statements_wrong(&baseline->file, "no function has the name of the root: %s",
                                    root->name);
        if (*place->file)
            return statements_wrong(&baseline->file, "the root is a function of a file: %s",
                                    root->name);
        place->is_root = true;
    }
    return COMPARE_OK;
}

static enum compare_status parse_type(struct baseline *baseline, char *text)
{
    const char *type = statements_word(&text);

    if (baseline->type)
        return statements_wrong(&baseline->file, "a second \"type\"");
    if (!*type || !*text || strpbrk(text, " \t"))
        return statements_wrong(&baseline->file, "a type has a name and a unit");
    baseline->type = type;
    baseline->unit = text;
    return COMPARE_OK;
}

static enum compare_status add_build(struct baseline *baseline, const char *text)
{
    struct compare_environment *environment = &baseline->environment;

    if (!base_make_room(&environment->builds, &baseline->build_capacity,
                        environment->build_count + 1, sizeof *environment->builds))
        return no_memory(baseline);
    environment->builds[environment->build_count++] = text;
    return COMPARE_OK;
}

static enum compare_status parse_period(struct baseline *baseline, const char *text)
{
    const char *rest;
    double number;

    if (!statements_number(text, &number, &rest) || *rest)
        return statements_wrong(&baseline->file, "not a period in nanoseconds: %s", text);
    baseline->environment.period_ns = (uint64_t)number;
    return COMPARE_OK;
}

static enum compare_status parse_left_out(struct baseline *baseline, const char *text)
{
    const char *rest;

    if (!statements_number(text, &baseline->left_out, &rest) || *rest || baseline->left_out > 1)
        return statements_wrong(&baseline->file, "not a share up to 1: %s", text);
    return COMPARE_OK;
}

/* Where the text of an environment's key goes; NULL: it is no such key.  */
static const char **environment_text(struct compare_environment *environment, const char *key)
{
    const struct {
        const char *key;
        const char **value;
    } texts[] = {
        { "cpu_model", &environment->cpu_model }, { "kernel", &environment->kernel },
        { "arch", &environment->arch },           { "compiler", &environment->compiler },
        { "command", &environment->command },
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            return texts[i].value;
    return NULL;
}

static enum compare_status parse_line(struct baseline *baseline, char *line)
{
    char *text = line;
    const char *key = statements_word(&text);
    const char **value = environment_text(&baseline->environment, key);

    if (strcmp(key, "function") == 0)
        return parse_function(baseline, text);
    if (baseline->version > 1 && strcmp(key, "root") == 0)
        return parse_root(baseline, text);
    if (strcmp(key, "type") == 0)
        return parse_type(baseline, text);
    if (strcmp(key, "cost") == 0)
        return parse_header_vector(baseline, key, text, &baseline->costs);
    if (strcmp(key, "samples") == 0)
        return parse_header_vector(baseline, key, text, &baseline->samples);
    if (strcmp(key, "period_ns") == 0)
        return parse_period(baseline, text);
    if (strcmp(key, "build") == 0)
        return add_build(baseline, text);
    if (strcmp(key, "left_out") == 0)
        return parse_left_out(baseline, text);
    if (!value)
        return statements_wrong(&baseline->file, "what is \"%s\"?", key);
    *value = text;
    return COMPARE_OK;
}

static enum compare_status parse_all(struct baseline *baseline)
{
    char *line = statements_line(&baseline->file);
    enum compare_status status = COMPARE_OK;

    if (!line || !compare_is_baseline(line, strlen(line)))
        return statements_wrong(&baseline->file, "not a baseline: it does not begin with \"%s1\"",
                                BASELINE_MAGIC);
    line += strlen(BASELINE_MAGIC);
    baseline->version = strcmp(line, BASELINE_VERSION) == 0 ? 2 : 1;
    if (baseline->version == 1 && strcmp(line, "1") != 0)
        return statements_wrong(&baseline->file, "a baseline of version %s, which is newer", line);
    while (status == COMPARE_OK && (line = statements_next(&baseline->file)) != NULL) {
        if (strncmp(line, "<<<<<<<", 7) == 0 || strncmp(line, "=======", 7) == 0 ||
            strncmp(line, ">>>>>>>", 7) == 0)
            return statements_wrong(&baseline->file, "a merge conflict");
        status = parse_line(baseline, line);
    }
    if (status == COMPARE_OK && !baseline->type)
        status = statements_wrong(&baseline->file, "no \"type\"");
    if (status == COMPARE_OK && baseline->line_count == 0)
        status = statements_wrong(&baseline->file, "no functions");
    return status == COMPARE_OK ? mark_roots(baseline) : status;
}

/* ---- Into the builder ---- */

static const char *copy_text(struct compare_builder *builder, const char *text)
{
    return text ? compare_builder_text(builder, text, strlen(text)) : NULL;
}

/* What lives as long as the builder.  */
static struct compare_environment copy_environment(struct compare_builder *builder,
                                                   const struct compare_environment *from)
{
    struct compare_environment to = {
        .cpu_model = copy_text(builder, from->cpu_model),
        .kernel = copy_text(builder, from->kernel),
        .arch = copy_text(builder, from->arch),
        .compiler = copy_text(builder, from->compiler),
        .command = copy_text(builder, from->command),
        .period_ns = from->period_ns,
    };

    to.builds = base_arena_array(&builder->arena, from->build_count + 1, sizeof *to.builds);
    if (!to.builds)
        (void)builder_no_memory(builder);
    for (; to.builds && to.build_count < from->build_count; to.build_count++)
        to.builds[to.build_count] = copy_text(builder, from->builds[to.build_count]);
    return to;
}

static void add_costs(struct compare_builder *builder, enum compare_side side,
                      const struct baseline *baseline, size_t run)
{
    for (size_t i = 0; i < baseline->line_count; i++) {
        const struct line *line = &baseline->lines[i];
        const double *shares = baseline->shares.items;
        double self = shares[line->shares + run];
        double total = shares[line->shares + baseline->costs.count + run];
        double cost = baseline->costs.items[run];
        uint32_t function = compare_builder_add_function(builder, side, &line->place);

        if (self > 0 || total > 0)
            compare_builder_add_cost(builder, function, self / BASELINE_SCALE * cost,
                                     total / BASELINE_SCALE * cost);
    }
}

/* A run of the builder for each column.  */
static enum compare_status add_runs(struct compare_builder *builder, enum compare_side side,
                                    const struct baseline *baseline, const char *name)
{
    struct compare_environment environment = copy_environment(builder, &baseline->environment);
    enum compare_status status = COMPARE_OK;
    char label[600];

    for (size_t r = 0; r < baseline->costs.count && status == COMPARE_OK; r++) {
        struct compare_run *run;

        (void)snprintf(label, sizeof label, "%s run %zu", name, r + 1);
        run = compare_builder_begin_run(builder, side, label);
        run->cost = baseline->costs.items[r];
        run->samples = baseline->samples.items[r];
        run->environment = environment;
        run->left_out = baseline->left_out;
        status = compare_builder_set_type(builder, baseline->type, baseline->unit,
                                          baseline->file.error);
        if (status == COMPARE_OK)
            add_costs(builder, side, baseline, r);
    }
    return status;
}

enum compare_status compare_read_baseline(struct compare_builder *builder, enum compare_side side,
                                          const char *name, const void *bytes, size_t length,
                                          struct compare_error *error)
{
    struct baseline baseline = { .type = NULL };
    enum compare_status status = statements_open(&baseline.file, name, bytes, length,
                                                 COMPARE_BASELINE_BYTES, error);

    if (status == COMPARE_OK)
        status = parse_all(&baseline);
    if (status == COMPARE_OK)
        status = add_runs(builder, side, &baseline, name);
    statements_close(&baseline.file);
    free(baseline.costs.items);
    free(baseline.samples.items);
    free(baseline.shares.items);
    free(baseline.lines);
    free(baseline.roots);
    free((void *)baseline.environment.builds);
    return status;
}
