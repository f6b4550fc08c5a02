/* builder.c - runs in, a set out.  */
#include "cmd/fxtdiff/builder.h"

#include <stdlib.h>
#include <string.h>

#include <fxt/compare_set.h>
#include "base/visible.h"

struct diff_builder *diff_builder_open(const struct diff_reading *reading)
{
    struct diff_builder *builder = cli_allocate(1, sizeof *builder);

    builder->reading = reading;
    builder->ignore_templates = reading->ignore_templates;
    builder->kind = -1;
    builder->set.arena = diff_arena_open();
    builder->keys.arena = builder->strings.arena = builder->set.arena;
    return builder;
}

void diff_builder_close(struct diff_builder *builder)
{
    if (!builder)
        return;
    for (size_t i = 0; i < builder->set.run_count; i++) {
        free(builder->raws[i].callsites);
        free(builder->raws[i].values);
        free(builder->set.runs[i].costs);
        free(builder->set.runs[i].stacks);
    }
    free(builder->raws);
    free(builder->set.runs);
    free(builder->set.functions);
    free(builder->set.nodes);
    free(builder->key);
    free(builder->kernel_symbols);
    diff_texts_release(&builder->keys);
    diff_texts_release(&builder->strings);
    profile_close(builder->profile);
    diff_arena_close(builder->set.arena);
    free(builder);
}

/* ---- Texts ---- */

/* Room for a text of that length in builder->key.  */
static char *scratch(struct diff_builder *builder, size_t length)
{
    builder->key = diff_grow(builder->key, &builder->key_capacity, length + 1, 1);
    return builder->key;
}

/* What must not be shown as it is (base/visible.h), and U+FFFE and U+FFFF, which are in no XML,
 * become '?'.  */
static size_t clean(char *text, size_t length)
{
    size_t size;

    for (size_t i = 0; i < length; i += size)
        if (!base_shown_as_is(text + i, length - i, &size) ||
            (base_code_point(text + i, size) & ~1u) == 0xfffe)
            memset(text + i, '?', size);
    return length;
}

const char *diff_copy(struct diff_builder *builder, const char *bytes, size_t length)
{
    char *text = scratch(builder, length);
    uint32_t id;

    if (length > 0)
        memcpy(text, bytes, length);
    id = diff_texts_add(&builder->strings, text, clean(text, length));
    return builder->strings.items[id].bytes;
}

/* ---- Functions ---- */

uint32_t diff_find_function(struct diff_builder *builder, const char *name, size_t length)
{
    char *key = scratch(builder, length);
    size_t key_length = clean(key, compare_name_key(name, length, builder->ignore_templates, key));
    uint32_t id = diff_texts_add(&builder->keys, key, key_length);
    struct diff_set *set = &builder->set;

    if (id < set->function_count)
        return id;
    set->functions = diff_grow(set->functions, &builder->function_capacity, id + (size_t)1,
                               sizeof *set->functions);
    set->functions[id] = (struct diff_function){ .name = builder->keys.items[id].bytes };
    set->function_count = id + (size_t)1;
    return id;
}

static const char *copy_text(struct diff_builder *builder, const char *text)
{
    return text && *text ? diff_copy(builder, text, strlen(text)) : "";
}

static void widen_lines(struct diff_place *to, const struct diff_place *from)
{
    if (from->start_line > 0 && (to->start_line == 0 || from->start_line < to->start_line))
        to->start_line = from->start_line;
    if (from->first_line > 0 && (to->first_line == 0 || from->first_line < to->first_line))
        to->first_line = from->first_line;
    if (from->last_line > to->last_line)
        to->last_line = from->last_line;
}

void diff_widen_place(struct diff_builder *builder, uint32_t function, enum diff_side side,
                      const struct diff_place *place)
{
    struct diff_place *to = &builder->set.functions[function].places[side];

    if (!to->name) {
        to->name = copy_text(builder, place->name);
        to->file = copy_text(builder, place->file);
        to->module = copy_text(builder, place->module);
    } else if (!*to->file && place->file && *place->file) {
        to->file = copy_text(builder, place->file);
    }
    /* Lines of another file are those of another function of that name.  */
    if (place->file && strcmp(to->file, place->file) == 0)
        widen_lines(to, place);
}

uint32_t diff_add_function(struct diff_builder *builder, enum diff_side side,
                           const struct diff_place *place)
{
    uint32_t function = diff_find_function(builder, place->name, strlen(place->name));

    diff_widen_place(builder, function, side, place);
    return function;
}

/* ---- Runs ---- */

struct diff_run *diff_begin_run(struct diff_builder *builder, enum diff_side side,
                                const char *label)
{
    struct diff_set *set = &builder->set;
    const char *scratch = builder->reading->scratch;
    size_t count = set->run_count + 1;

    if (scratch && strncmp(label, scratch, strlen(scratch)) == 0 && label[strlen(scratch)] == '/')
        label += strlen(scratch) + 1;
    set->runs = diff_grow(set->runs, &builder->run_capacity, count, sizeof *set->runs);
    builder->raws = diff_grow(builder->raws, &builder->raw_capacity, count, sizeof *builder->raws);
    builder->raws[set->run_count] = (struct diff_raw){ .count = 0 };
    set->runs[set->run_count] = (struct diff_run){
        .label = diff_copy(builder, label, strlen(label)),
        .side = side,
    };
    builder->cost_capacity = 0;
    set->side_runs[side]++;
    return &set->runs[set->run_count++];
}

void diff_add_cost(struct diff_builder *builder, uint32_t function, double self, double total)
{
    struct diff_run *run = &builder->set.runs[builder->set.run_count - 1];

    run->costs = diff_grow(run->costs, &builder->cost_capacity, run->cost_count + 1,
                           sizeof *run->costs);
    run->costs[run->cost_count++] = (struct diff_cost){ function, self, total };
}

void diff_add_stack(struct diff_builder *builder, profile_id callsite, double value)
{
    struct diff_raw *raw = &builder->raws[builder->set.run_count - 1];

    raw->callsites = diff_grow(raw->callsites, &raw->callsite_capacity, raw->count + 1,
                               sizeof *raw->callsites);
    raw->values = diff_grow(raw->values, &raw->value_capacity, raw->count + 1, sizeof *raw->values);
    raw->callsites[raw->count] = callsite;
    raw->values[raw->count++] = value;
}

bool diff_set_type(struct diff_builder *builder, const char *type, const char *unit)
{
    const char *label = builder->set.runs[builder->set.run_count - 1].label;
    struct diff_type *known = &builder->set.type;

    if (!known->type) {
        known->type = copy_text(builder, type);
        known->unit = copy_text(builder, unit);
        builder->type_label = label;
        return true;
    }
    if (strcmp(known->type, type) == 0 && strcmp(known->unit, unit) == 0)
        return true;
    cli_error("%s has %s/%s, %s has %s/%s: what is compared must be the same; --sample-type says "
              "what",
              builder->type_label, known->type, known->unit, label, type, unit);
    return false;
}

void diff_assume_type(struct diff_builder *builder)
{
    builder->set.runs[builder->set.run_count - 1].type_assumed = true;
}

/* ---- The set ---- */

static int by_function(const void *a, const void *b)
{
    const struct diff_cost *left = a, *right = b;

    return (left->function > right->function) - (left->function < right->function);
}

/* Costs that were given as such: what was renamed is one function now.  */
static void settle_costs(struct diff_run *run, const uint32_t *to)
{
    size_t count = 0;

    for (size_t i = 0; i < run->cost_count; i++)
        run->costs[i].function = to[run->costs[i].function];
    if (run->cost_count > 0)
        qsort(run->costs, run->cost_count, sizeof *run->costs, by_function);
    for (size_t i = 0; i < run->cost_count; i++) {
        struct diff_cost *last = count > 0 ? &run->costs[count - 1] : NULL;

        if (last && last->function == run->costs[i].function) {
            last->self += run->costs[i].self;
            last->total += run->costs[i].total;
        } else {
            run->costs[count++] = run->costs[i];
        }
    }
    run->cost_count = count;
}

/* The runs of the base first.  */
static void order_runs(struct diff_set *set)
{
    struct diff_run *ordered = cli_allocate(set->run_count, sizeof *ordered);
    size_t count = 0;

    for (int side = 0; side < DIFF_SIDES; side++)
        for (size_t i = 0; i < set->run_count; i++)
            if (set->runs[i].side == (enum diff_side)side)
                ordered[count++] = set->runs[i];
    free(set->runs);
    set->runs = ordered;
}

static void forget_raws(struct diff_builder *builder)
{
    for (size_t i = 0; i < builder->set.run_count; i++) {
        free(builder->raws[i].callsites);
        free(builder->raws[i].values);
        builder->raws[i] = (struct diff_raw){ .count = 0 };
    }
    profile_close(builder->profile);
    builder->profile = NULL;
}

/* The module in whose code most of a run's cost was; 0: none.  */
static profile_id heaviest_module(struct diff_builder *builder, const struct diff_raw *raw)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    profile_id count = profile_stacks_module_count(stacks), best = 0;
    double *costs = cli_allocate((size_t)count + 1, sizeof *costs);

    for (size_t i = 0; i < raw->count; i++) {
        profile_id frame = profile_stacks_get_callsite(stacks, raw->callsites[i]).frame;
        profile_id module = frame ? profile_stacks_get_frame(stacks, frame).module : 0;

        costs[module] += raw->values[i];
        if (module && costs[module] > (best ? costs[best] : 0))
            best = module;
    }
    free(costs);
    return best;
}

/* What a module's file, as far as it was found, says of its compiler; NULL: nothing.  */
static const char *compiler_of(struct diff_builder *builder, struct sym_session *session,
                               profile_id id)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    struct profile_module module = profile_stacks_get_module(stacks, id);
    const char *path = profile_stacks_text(stacks, module.name, NULL);
    struct sym_module_key key = { .build_id = module.build_id,
                                  .build_id_length = module.build_id_length,
                                  .path = path[0] == '/' ? path : NULL };
    const struct sym_report *report;
    struct sym_module *found;
    char text[400];

    if (!key.path && key.build_id_length == 0)
        return NULL;
    if (sym_session_module(session, &key, &found, NULL) != SYM_OK)
        return NULL;
    report = sym_module_report(found);
    path = *report->code_path ? report->code_path : report->debug_path;
    if (!*path || sym_compiler(path, text, sizeof text, NULL) != SYM_OK)
        return NULL;
    return copy_text(builder, text);
}

/* The compiler of each run: of the module with most of its samples.  */
static void take_compilers(struct diff_builder *builder, struct sym_session *session)
{
    const char *known = NULL;
    profile_id last = 0;

    for (size_t i = 0; i < builder->set.run_count; i++) {
        profile_id module = builder->raws[i].count ? heaviest_module(builder, &builder->raws[i])
                                                   : 0;

        if (!module || builder->set.runs[i].environment.compiler)
            continue;
        if (module != last)
            known = compiler_of(builder, session, module);
        last = module;
        builder->set.runs[i].environment.compiler = known;
    }
}

static bool symbolize(struct diff_builder *builder)
{
    struct cli_symbols symbols = builder->reading->profiles.symbols;
    struct sym_session *session;
    struct profile_error error;
    enum profile_status status;

    if (symbols.no_symbolize || builder->kind < 0)
        return true;
    if (cli_symbols_open(&symbols, &session) != CLI_OK)
        return false;
    if (builder->kernel_symbols) /* without them kernel frames have no names: no failure */
        (void)sym_session_kallsyms(session, builder->kernel_symbols, builder->kernel_symbols_size,
                                   NULL);
    status = profile_symbolize(builder->profile, session, &error);
    if (status == PROFILE_OK)
        take_compilers(builder, session);
    cli_symbols_close(&symbols); /* the options are the reading's */
    if (status != PROFILE_OK)
        cli_error("%s", error.message);
    return status == PROFILE_OK;
}

struct diff_set *diff_builder_finish(struct diff_builder *builder)
{
    struct diff_set *set = &builder->set;
    struct diff_frames frames = { .used = NULL };
    uint32_t *to;

    if (!set->type.type)
        set->type = (struct diff_type){ "samples", "count" };
    if (builder->profile && !symbolize(builder))
        return NULL;
    if (builder->profile)
        diff_name_frames(builder, &frames);
    to = cli_allocate(set->function_count, sizeof *to);
    diff_match_renamed(builder, &frames, to);
    for (size_t i = 0; i < set->run_count; i++)
        settle_costs(&set->runs[i], to);
    if (builder->profile)
        diff_build_stacks(builder, &frames, to);
    diff_frames_release(&frames);
    free(to);
    forget_raws(builder);
    order_runs(set);
    return set;
}
