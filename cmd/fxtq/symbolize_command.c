/* fxtq symbolize and fxtq coverage: names for the frames of a store, and how many have them.  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cli/cli_json.h"
#include "cmd/cli/symbol_options.h"
#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/store_source.h"
#include "cmd/history/old_store.h"

enum key { KEY_REQUIRE = 1, KEY_JSON, KEY_QUIET, KEY_CACHE, KEY_NO_LIMIT };

#define OPTION_REQUIRE                                                                             \
    {                                                                                              \
        KEY_REQUIRE, 0, "require-symbols", "PERCENT",                                              \
            "exit with status 6 if fewer than PERCENT of the sampled frames have a function: 95, " \
            "99.9"                                                                                 \
    }

static const struct cli_option symbolize_options[] = {
    OPTION_REQUIRE,
    { KEY_QUIET, 'q', "quiet", NULL, "no summary" },
    { KEY_NO_LIMIT, 0, "no-limit", NULL,
      "lift the limit on the memory that the symbols of a module may take (384 MiB plus 64 times "
      "the "
      "size of its files)" },
    { 0 },
};

static const struct cli_option *const symbolize_groups[] = { cli_symbols_options, NULL };

static const char *const symbolize_examples[] = {
    "Use the debug information of this machine",
    "fxtq symbolize run.fxtq",
    "Use a directory of debug files, and debuginfod servers",
    "fxtq symbolize --symbols ./symbols --debuginfod run.fxtq",
    NULL,
};

static int symbolize(char **argv);

const struct cli_command fxtq_symbolize = {
    .name = "fxtq symbolize",
    .usage = "[OPTION]... STORE",
    .summary = "Look up symbols for the frames of a store.  Existing names are only replaced by "
               "better ones.",
    .options = symbolize_options,
    .groups = symbolize_groups,
    .examples = symbolize_examples,
    .first = CLI_STORE,
    .run = symbolize,
    .brief = "look up symbols for the frames of a store",
};

static const struct cli_option coverage_options[] = {
    OPTION_REQUIRE,
    { KEY_JSON, 0, "json", NULL, "print one JSON object per module" },
    { KEY_CACHE, 0, "cache", NULL, "keep the imported trace as TRACE.fxtq" },
    { 0 },
};

static const char *const coverage_examples[] = {
    "Find modules without symbols, weighted by samples",
    "fxtq coverage run.fxtq",
    "Fail a pipeline if symbols are missing",
    "fxtq coverage --require-symbols 95 run.fxtq",
    NULL,
};

static int coverage(char **argv);

const struct cli_command fxtq_coverage = {
    .name = "fxtq coverage",
    .usage = "[OPTION]... STORE|TRACE",
    .summary = "Print the share of sampled frames that have a function and a line, by module.",
    .options = coverage_options,
    .examples = coverage_examples,
    .first = CLI_STORE,
    .run = coverage,
    .brief = "print the share of frames with symbols, by module",
};

struct settings {
    struct cli_symbols symbols;
    const char *path;
    double required; /* percent; negative: nothing is required */
    bool json, quiet, cache;
};

static double parse_percent(const char *text)
{
    char *end;
    double percent = strtod(text, &end);

    if (end == text || *end || !(percent >= 0 && percent <= 100))
        cli_usage_error("--require-symbols: '%s' is not a percentage from 0 to 100", text);
    return percent;
}

static void take_option(struct settings *settings, int key, const struct cli_parser *parser)
{
    switch (key) {
    case KEY_REQUIRE:
        settings->required = parse_percent(parser->value);
        break;
    case KEY_JSON:
        settings->json = true;
        break;
    case KEY_QUIET:
        settings->quiet = true;
        old_store_be_quiet();
        break;
    case KEY_CACHE:
        settings->cache = true;
        break;
    case KEY_NO_LIMIT:
        settings->symbols.no_limit = true;
        break;
    case CLI_OPERAND:
        if (settings->path)
            cli_usage_error("more than one store: '%s'", parser->value);
        settings->path = parser->value;
        break;
    default:
        (void)cli_symbols_take(&settings->symbols, key, parser);
        break;
    }
}

static void parse(struct settings *settings, const struct cli_command *command, char **argv)
{
    struct cli_parser parser;
    int key;

    settings->required = -1;
    settings->symbols.bounds = true;
    cli_start(&parser, command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        take_option(settings, key, &parser);
    if (!settings->path)
        cli_usage_error("no store given");
}

/* ---- Coverage ---- */

struct sums {
    uint64_t frames, named, lined;
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 100;
}

static void print_row(const struct store_coverage *row, uint64_t frames)
{
    printf("%7.2f %%  %7.2f %%  %7.2f %%  %s", percent(row->frames, frames),
           percent(row->named, row->frames), percent(row->lined, row->frames),
           row->module_id == 0 ? "[anon]"
           : *row->name        ? base_name(row->name)
                               : "[no name]");
    if (*row->build_id)
        printf("  %s", row->build_id);
    (void)putchar('\n');
}

static void print_json(const struct store_coverage *row, struct json *json)
{
    json_open(json, NULL, '{');
    json_text(json, "module", row->name);
    if (*row->build_id)
        json_text(json, "build_id", row->build_id);
    json_unsigned(json, "frames", row->frames);
    json_unsigned(json, "named", row->named);
    json_unsigned(json, "lined", row->lined);
    if (*row->fallback)
        json_text(json, "fallback", row->fallback);
    if (*row->unread)
        json_text(json, "unread", row->unread);
    json_close(json, '}');
    json_end_line(json);
}

static struct sums add_up(const struct store_coverage *rows, size_t count)
{
    struct sums sums = { .frames = 0 };

    for (size_t i = 0; i < count; i++) {
        sums.frames += rows[i].frames;
        sums.named += rows[i].named;
        sums.lined += rows[i].lined;
    }
    return sums;
}

/* Below the table: damage of the debug information, whether names are missing or not.  */
static void print_damage(const struct store_coverage *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (*rows[i].fallback)
            printf("%s: %s\n", base_name(rows[i].name), rows[i].fallback);
        if (*rows[i].unread)
            printf("%s: %s\n", base_name(rows[i].name), rows[i].unread);
    }
}

static enum cli_exit print_coverage(const struct settings *settings,
                                    const struct store_coverage *rows, size_t count)
{
    struct sums sums = add_up(rows, count);
    struct cli_output output;
    struct json json = { .output = &output };

    if (!settings->json) {
        printf(" frames     function       line   module\n");
        for (size_t i = 0; i < count; i++)
            print_row(&rows[i], sums.frames);
        printf("%7.2f %%  %7.2f %%  %7.2f %%  all\n", 100.0, percent(sums.named, sums.frames),
               percent(sums.lined, sums.frames));
        print_damage(rows, count);
        return (enum cli_exit)cli_flush_stdout();
    }
    if (cli_output_open(&output, "-") != CLI_OK)
        return CLI_ENVIRONMENT;
    for (size_t i = 0; i < count; i++)
        print_json(&rows[i], &json);
    return cli_output_commit(&output);
}

static enum cli_exit check_required(const struct settings *settings, const struct sums *sums)
{
    if (settings->required < 0 || percent(sums->named, sums->frames) >= settings->required)
        return CLI_OK;
    cli_error("%s: %.2f %% of the sampled frames have a function, less than the required %g %%",
              settings->path, floor(percent(sums->named, sums->frames) * 100) / 100,
              settings->required);
    return CLI_POLICY;
}

/* What is there, printed or not, held against what is required.  */
static enum cli_exit cover(const struct settings *settings, struct store *store, bool print)
{
    struct store_coverage *rows = NULL;
    struct store_error error;
    enum cli_exit status = CLI_OK;
    struct sums sums;
    size_t count = 0;

    if (store_coverage(store, &rows, &count, &error) != STORE_OK)
        return fxtq_complain(settings->path, &error);
    sums = add_up(rows, count);
    if (print)
        status = print_coverage(settings, rows, count);
    else if (!settings->quiet)
        cli_note("symbols: %.1f %% of the sampled frames have a function, %.1f %% a line",
                 percent(sums.named, sums.frames), percent(sums.lined, sums.frames));
    store_coverage_release(rows, count);
    return cli_worse(status, check_required(settings, &sums));
}

static int coverage(char **argv)
{
    struct settings settings = { .path = NULL };
    struct source source;
    enum cli_exit status;

    parse(&settings, &fxtq_coverage, argv);
    status = source_open(&source, settings.path, false, settings.cache);
    if (source.store)
        status = cli_worse(status, cover(&settings, source.store, true));
    source_close(&source);
    return (int)status;
}

/* ---- Symbols ---- */

/* A module that is not served in full: how much was found, why not more, and what would help.  */
static bool tell_module(void *context, const struct store_module_symbols *module)
{
    const struct settings *settings = context;
    const struct sym_report *report = module->report;
    const char *name = *module->name ? base_name(module->name) : module->build_id;

    if (settings->quiet)
        return true;
    if (module->improved)
        cli_note("%s: %s of %s %s better names", name, cli_grouped(module->improved),
                 cli_counted(module->frames, "frame", "frames"),
                 module->improved == 1 ? "has" : "have");
    if (report->fallback[0])
        cli_note("%s: %s", name, report->fallback);
    if (report->unread[0])
        cli_note("%s: %s", name, report->unread);
    if (*report->problem && module->full < module->frames)
        cli_note("%s: %s%s%s", name, report->problem, *report->remedy ? "; " : "", report->remedy);
    return true;
}

static int symbolize(char **argv)
{
    struct store_options store_options = { .size = sizeof store_options, .mode = STORE_APPEND };
    struct settings settings = { .path = NULL };
    struct sym_session *session;
    struct store *store = NULL;
    struct store_error error;
    enum cli_exit status;

    parse(&settings, &fxtq_symbolize, argv);
    status = cli_symbols_check(&settings.symbols);
    if (status == CLI_OK && store_open(settings.path, &store_options, &store, &error) != STORE_OK)
        status = fxtq_complain(settings.path, &error);
    if (status == CLI_OK)
        status = cli_symbols_open(&settings.symbols, &session);
    if (status == CLI_OK &&
        store_symbolize(store, session, tell_module, &settings, &error) != STORE_OK)
        status = fxtq_complain(settings.path, &error);
    if (status == CLI_OK)
        status = cover(&settings, store, false);
    cli_symbols_release(&settings.symbols);
    store_close(store);
    return (int)status;
}
