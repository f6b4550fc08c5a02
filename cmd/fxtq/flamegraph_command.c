/* fxtq flamegraph: the stacks of a store, or of two, as a page.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/flame/page.h"
#include "cmd/fxtq/filters.h"
#include "cmd/fxtq/store_source.h"

enum key { KEY_OUTPUT = 1, KEY_DIFF, KEY_TITLE, KEY_CACHE, KEY_MEMORY };

static const struct cli_option options[] = {
    { KEY_OUTPUT, 'o', "output", "FILE", "write the page to FILE; - is standard output", CLI_FILE },
    { KEY_DIFF, 0, "diff", "STORE", "compare with this store, trace or STORE#CAPTURE", CLI_STORE },
    { KEY_TITLE, 0, "title", "TEXT", "title of the page (default: the captured command)" },
    { KEY_CACHE, 0, "cache", NULL, "keep the imported traces as TRACE.fxtq" },
    { KEY_MEMORY, 0, "memory", "SIZE", SOURCE_MEMORY_HELP },
    { 0 },
};

static const struct cli_option *const groups[] = { filters_options, NULL };

static const char *const examples[] = {
    "View a profile in a browser",
    "fxtq flamegraph run.fxtq -o run.html",
    "Show half a second of one thread",
    "fxtq flamegraph --tid 1514 --time +1s,+1.5s run.fxtq -o half.html",
    "Show the changes since yesterday's build",
    "fxtq flamegraph --diff monday.fxtq tuesday.fxtq -o diff.html",
    NULL,
};

static int run(char **argv);

const struct cli_command fxtq_flamegraph = {
    .name = "fxtq flamegraph",
    .usage = "[OPTION]... STORE|TRACE -o FILE.html",
    .summary =
        "Write a flame graph as one HTML page, which opens in any browser without a network.",
    .options = options,
    .groups = groups,
    .examples = examples,
    .first = CLI_STORE,
    .run = run,
    .brief = "write a flame graph as one HTML page",
};

struct settings {
    const char *path, *output, *diff, *title;
    int64_t diff_capture; /* of diff; 0: all */
    bool cache;
    struct filters filters;
    bool input_is_damaged; /* then that may be why it lacks samples */
};

#define MOST_TYPES 32u

/* That a page shows.  */
struct types {
    struct store_sample_type items[MOST_TYPES];
    size_t count;
    bool no_memory; /* for one more */
};

static void parse(struct settings *settings, char **argv)
{
    const char *inputs[2];
    struct cli_parser parser;
    int key;

    cli_start(&parser, &fxtq_flamegraph, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (filters_take(&settings->filters, key, parser.value))
            continue;
        if (key == KEY_OUTPUT)
            settings->output = parser.value;
        else if (key == KEY_DIFF)
            settings->diff = parser.value;
        else if (key == KEY_TITLE)
            settings->title = parser.value;
        else if (key == KEY_CACHE)
            settings->cache = true;
        else if (key == KEY_MEMORY)
            source_take_memory(parser.value);
        else if (settings->path)
            cli_usage_error("more than one store: '%s'; to compare two, use --diff STORE",
                            parser.value);
        else
            settings->path = parser.value;
    }
    if (!settings->path)
        cli_usage_error("no store given");
    if (!settings->output)
        cli_usage_error("no output file given; use -o FILE.html");
    inputs[0] = settings->path;
    inputs[1] = settings->diff;
    cli_output_check(settings->output,
                     &(struct cli_texts){ .items = inputs, .count = settings->diff ? 2 : 1 });
}

/* What holds for the other store: its own capture.  */
static struct settings settings_of_diff(const struct settings *settings)
{
    struct settings other = *settings;

    other.filters.filter.capture = settings->diff_capture;
    return other;
}

static enum cli_exit complain(const char *path, const struct store_error *error)
{
    enum cli_exit status = fxtq_complain(path, error);

    return error->status == STORE_INVALID ? CLI_USAGE : status; /* a pattern */
}

/* ---- Sample types ---- */

/* Whether it is what --sample-type asks for.  */
static bool is_wanted(const struct settings *settings, const struct store_sample_type *type)
{
    return settings->filters.filter.sample_type &&
           store_sample_type_is(settings->filters.filter.sample_type, type->type, type->unit);
}

static bool take_type(void *context, const struct store_sample_type *type)
{
    struct types *types = context;

    if (!type->there)
        return true;
    types->no_memory = !store_sample_type_copy(&types->items[types->count], type);
    types->count += !types->no_memory;
    return !types->no_memory && types->count < MOST_TYPES;
}

/* What is wanted and has no sample left has a place, too; so has CPU time where nothing is.  */
static enum cli_exit add_empty(const struct settings *settings, struct store *store,
                               const char *path, struct types *types)
{
    const char *wanted = settings->filters.filter.sample_type;
    bool enough = !wanted && types->count > 0;
    struct store_sample_type *type;
    struct store_error error;

    for (size_t i = 0; i < types->count && wanted && !enough; i++)
        enough = is_wanted(settings, &types->items[i]);
    if (enough)
        return CLI_OK;
    if (types->count == MOST_TYPES)
        store_sample_type_release(&types->items[--types->count]);
    type = &types->items[types->count];
    if (store_sample_type_choose(store, wanted ? wanted : "cpu", settings->filters.filter.capture,
                                 type, &error) != STORE_OK)
        return fxtq_complain(path, &error);
    types->count += type->type != NULL;
    return CLI_OK;
}

static enum cli_exit find_types(const struct settings *settings, struct store *store,
                                const char *path, struct types *types)
{
    struct store_error error;
    enum store_status status = store_sample_types_each(store, settings->filters.filter.capture,
                                                       take_type, types, &error);

    if (types->no_memory)
        cli_out_of_memory();
    return status == STORE_OK ? add_empty(settings, store, path, types)
                              : fxtq_complain(path, &error);
}

static void release_types(struct types *types)
{
    for (size_t i = 0; i < types->count; i++)
        store_sample_type_release(&types->items[i]);
    types->count = 0;
}

/* Types of a that b has too, in the order of a.  */
static void keep_common(struct types *a, const struct types *b)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->count; i++) {
        bool common = false;

        for (size_t j = 0; j < b->count; j++)
            common |= strcmp(a->items[i].type, b->items[j].type) == 0 &&
                      strcmp(a->items[i].unit, b->items[j].unit) == 0;
        if (common)
            a->items[kept++] = a->items[i];
        else
            store_sample_type_release(&a->items[i]);
    }
    a->count = kept;
}

/* The type that is shown first.  */
static size_t choose_type(const struct settings *settings, const struct types *types)
{
    for (size_t i = 0; i < types->count; i++)
        if (is_wanted(settings, &types->items[i]))
            return i;
    return 0;
}

/* Leave out the types that tell no thread, CPU or time where filters ask for one, but for the one
 * that is wanted, and unless none is left: these say why.  */
static enum cli_exit keep_filtered(const struct settings *settings, struct store *store,
                                   struct types *types)
{
    const struct store_filter *filter = &settings->filters.filter;
    enum store_status status = STORE_OK;
    struct store_error error;
    size_t kept = 0;

    for (size_t i = 0; i < types->count; i++) {
        struct store_sample_type *type = &types->items[i];
        const char *missing = NULL;

        if (status == STORE_OK && !is_wanted(settings, type) && (kept > 0 || i + 1 < types->count))
            status = store_sample_type_missing(store, type, filter->capture,
                                               store_filter_given(filter), &missing, &error);
        if (missing)
            store_sample_type_release(type);
        else
            types->items[kept++] = *type;
    }
    types->count = kept;
    return status == STORE_OK ? CLI_OK : fxtq_complain(settings->path, &error);
}

/* ---- Rows ---- */

static bool take_call(void *page, const struct store_call *call)
{
    return flame_page_row(page, call->depth, call->function, call->module, call->self);
}

static enum cli_exit take_calls(const struct settings *settings, struct store *store,
                                const char *path, const char *type, struct flame_page *page,
                                size_t column)
{
    struct filters filters = settings->filters;
    enum cli_exit resolved = filters_resolve(&filters, store);
    struct store_error error;

    if (resolved != CLI_OK)
        return resolved;
    filters.filter.sample_type = type;
    flame_page_begin(page, column);
    return store_calls_each(store, &filters.filter, take_call, page, &error) == STORE_OK
               ? CLI_OK
               : complain(path, &error);
}

static bool take_definition(void *page, const struct store_definition *definition)
{
    struct base_text place = { .bytes = NULL };

    text_adds(&place, definition->file);
    if (definition->line > 0)
        text_addf(&place, ":%lld", (long long)definition->line);
    flame_page_place(page, definition->function, definition->module, place.bytes);
    base_text_release(&place);
    return true;
}

/* All types of a store, into every stride-th column from first on.  */
static enum cli_exit take_store(const struct settings *settings, struct store *store,
                                const char *path, const struct types *types,
                                struct flame_page *page, size_t first, size_t stride)
{
    enum cli_exit status = CLI_OK;
    struct store_error error;

    for (size_t i = 0; i < types->count && status == CLI_OK; i++) {
        char *start = cli_join(types->items[i].type, "/");
        char *type = cli_join(start, types->items[i].unit);

        status = take_calls(settings, store, path, type, page, i * stride + first);
        free(start);
        free(type);
    }
    if (status == CLI_OK &&
        store_definitions_each(store, take_definition, page, &error) != STORE_OK)
        status = complain(path, &error);
    return status;
}

/* ---- The page ---- */

/* The command of the first capture, else the name of its file.  */
static bool take_title(void *title, const struct store_capture *capture)
{
    const char *name = capture->command ? capture->command : capture->name;

    *(char **)title = cli_join(name ? name : "", "");
    return false;
}

static enum cli_exit write_page(const struct settings *settings, const struct types *types,
                                size_t chosen, struct flame_page *page, const char *title)
{
    struct flame_page_type named[MOST_TYPES];
    struct flame_page_head head = { .title = title,
                                    .types = named,
                                    .type_count = types->count,
                                    .chosen = chosen,
                                    .diff = settings->diff != NULL };
    struct cli_output output;

    for (size_t i = 0; i < types->count; i++)
        named[i] = (struct flame_page_type){ types->items[i].type, types->items[i].unit };
    if (cli_output_open(&output, settings->output) != CLI_OK)
        return CLI_ENVIRONMENT;
    (void)flame_page_write(page, &head, &output); /* output keeps the failure */
    return cli_output_commit(&output);
}

static enum cli_exit make_page(const struct settings *settings, struct store *store,
                               struct store *before, const struct types *types, size_t chosen)
{
    size_t stride = before ? 2 : 1;
    struct flame_page *page = flame_page_open(types->count * stride);
    char *title = NULL;
    struct settings other = settings_of_diff(settings);
    enum cli_exit status = CLI_OK;
    struct store_error error;

    if (settings->title)
        title = cli_join(settings->title, "");
    else if (store_captures_each(store, settings->filters.filter.capture, take_title, &title,
                                 &error) != STORE_OK)
        status = complain(settings->path, &error);
    if (status == CLI_OK && before)
        status = take_store(&other, before, settings->diff, types, page, 0, stride);
    if (status == CLI_OK)
        status = take_store(settings, store, settings->path, types, page, stride - 1, stride);
    if (before)
        flame_page_match(page);
    if (status == CLI_OK)
        status = write_page(settings, types, chosen, page, title ? title : settings->path);
    if (status == CLI_OK && strcmp(settings->output, "-") != 0)
        cli_note("%s: %s%s%s", settings->output,
                 cli_counted(flame_page_nodes(page) - 1, "call site", "call sites"),
                 flame_page_nodes(page) > 1 ? "" : ": ",
                 flame_page_nodes(page) > 1 ? "" : filters_why_empty(&settings->filters, store));
    free(title);
    flame_page_close(page);
    return status;
}

static enum cli_exit draw(const struct settings *settings, struct store *store,
                          struct store *before)
{
    struct types types = { .count = 0 }, others = { .count = 0 };
    struct filters filters = settings->filters; /* each store has its own times */
    struct settings other = settings_of_diff(settings);
    enum cli_exit status = filters_resolve(&filters, store);

    if (status == CLI_OK)
        status = filters_check_type(&filters, store, settings->path);
    if (status == CLI_OK && before)
        status = filters_check_type(&other.filters, before, settings->diff);
    if (status == CLI_OK)
        status = find_types(settings, store, settings->path, &types);
    if (status == CLI_OK)
        status = keep_filtered(settings, store, &types);
    if (status == CLI_OK && before) {
        status = find_types(&other, before, settings->diff, &others);
        keep_common(&types, &others);
    }
    if (status == CLI_OK && types.count == 0) {
        cli_error("%s: no samples%s", settings->path,
                  before ? " of a type that the other has too" : "");
        status = settings->input_is_damaged ? CLI_DAMAGED : CLI_USAGE;
    }
    if (status == CLI_OK)
        status = make_page(settings, store, before, &types, choose_type(settings, &types));
    release_types(&types);
    release_types(&others);
    return status;
}

/* Of one store, or of two.  */
static enum cli_exit draw_sources(const struct settings *settings, struct source *source,
                                  struct source *before)
{
    enum cli_exit status = source_use_columns(source, settings->path);

    if (status == CLI_OK && before->store)
        status = source_use_columns(before, settings->diff);
    if (status == CLI_OK)
        status = draw(settings, source->store, before->store);
    source_note_damage(source, settings->path);
    if (before->store)
        source_note_damage(before, settings->diff);
    return status;
}

static int run(char **argv)
{
    struct settings settings = { .filters = FILTERS_NONE };
    struct source source = { .store = NULL }, before = { .store = NULL };
    enum cli_exit status;

    parse(&settings, argv);
    settings.diff_capture = settings.filters.filter.capture;
    settings.path = source_take_capture(settings.path, &settings.filters.filter.capture);
    if (settings.diff)
        settings.diff = source_take_capture(settings.diff, &settings.diff_capture);
    status = source_open(&source, settings.path, false, settings.cache);
    if (source.store && settings.diff)
        status = cli_worse(status, source_open(&before, settings.diff, false, settings.cache));
    settings.input_is_damaged = status == CLI_DAMAGED;
    if (source.store && (!settings.diff || before.store))
        status = cli_worse(status, draw_sources(&settings, &source, &before));
    if (status == CLI_OK)
        source_hint_names(&source, settings.path);
    source_close(&source);
    source_close(&before);
    filters_release(&settings.filters);
    return (int)status;
}
