/* fxt2pprof: FXT traces to pprof, folded stacks or a table of the hottest functions.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/fxt2pprof/convert.h"

enum {
    OPTION_OUTPUT = 1,
    OPTION_FORMAT,
    OPTION_SAMPLE_TYPE,
    OPTION_AT,
    OPTION_EVERY,
    OPTION_AGES,
    OPTION_HEAP_TYPES,
    OPTION_ROOT,
    OPTION_ROWS,
    OPTION_QUIET,
};

/* Those of <fxt/profile_formats.h>, then the table: fill_formats().  */
#define FORMATS_MAX 16
static const char *formats[FORMATS_MAX + 1];

/* In the order of their enums.  */
static const char *const heap_types[] = { "pprof", "fuchsia", NULL };
static const char *const roots[] = { "process", "thread", "none", NULL };

static const char *const times[] = { "end", "peak", "process-peak", NULL };
static const struct cli_option option_table[] = {
    { OPTION_OUTPUT, 'o', "output", "FILE",
      "write to FILE; - is standard output, the default.  If standard output is a terminal, the "
      "default for binary and JSON formats is INPUT with the format's suffix (INPUT.pb.gz for "
      "pprof)",
      CLI_FILE },
    { OPTION_FORMAT, 'f', "format", "FORMAT",
      "pprof (default), folded (for flamegraph.pl), top (a table), speedscope (speedscope.app), "
      "firefox (profiler.firefox.com) or perfetto (ui.perfetto.dev)",
      .choices = formats },
    { OPTION_SAMPLE_TYPE, 0, "sample-type", "TYPE",
      "sample type that folded and top print, and pprof shows first: alloc_space, ...", CLI_HINT,
      cli_sample_types },
    { OPTION_AT, 0, "at", "WHEN",
      "heap: the blocks in use at a point in time: +1.5s (from the start), an absolute time, peak, "
      "process-peak (each process at its own peak) or end (default)",
      CLI_HINT, times },
    { OPTION_EVERY, 0, "every", "DURATION", "heap: write a profile per interval of this length" },
    { OPTION_AGES, 0, "ages", NULL,
      "heap: add the age of blocks as a label, for pprof -tagfocus=age=1s:" },
    { OPTION_HEAP_TYPES, 0, "heap-types", "TYPES",
      "pprof (default), or fuchsia: the six sample types of its memory sampler",
      .choices = heap_types },
    { OPTION_ROOT, 0, "root", "ROOT", "root of folded stacks: process (default), thread or none",
      .choices = roots },
    { OPTION_ROWS, 'n', "rows", "N", "rows of top (default 20; 0: all)" },
    { OPTION_QUIET, 'q', "quiet", NULL, "no summary" },
    { 0 },
};

static const struct cli_option *const groups[] = { CLI_PROFILES_GROUPS, NULL };

static const char *const examples[] = {
    "Convert a trace and open the profile",
    "fxt2pprof trace.fxt -o trace.pb.gz && go tool pprof -http=: trace.pb.gz",
    "Draw a flame graph",
    "fxt2pprof --format folded trace.fxt | flamegraph.pl > trace.svg",
    "Print the hottest functions",
    "fxt2pprof --format top trace.fxt",
    "View threads and times in a browser",
    "fxt2pprof --format firefox trace.fxt -o trace.json",
    "Print the blocks in use when the heap was largest",
    "fxt2pprof --profile heap --at peak --format top trace.fxt",
    NULL,
};

static int run(char **argv);

static const struct cli_command command = {
    .name = "fxt2pprof",
    .usage = "[OPTION]... INPUT...",
    .summary =
        "Convert traces in the Fuchsia trace format to pprof profiles or folded stacks, symbolized "
        "by build ID.  Several inputs are added into one profile; - is standard input.",
    .options = option_table,
    .groups = groups,
    .libraries = sym_libraries,
    .examples = examples,
    .first = CLI_TRACE,
    .rest = CLI_TRACE,
    .run = run,
};

/* The table of options is complete when there are names in it.  */
static void fill_formats(void)
{
    const struct profile_format *format;
    size_t count = 0;

    for (; count < FORMATS_MAX && (format = profile_format_at(count)); count++)
        formats[count] = format->name;
    if (count < FORMATS_MAX)
        formats[count] = "top";
}

static void apply(struct settings *settings, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case OPTION_OUTPUT:
        settings->output = value;
        break;
    case OPTION_FORMAT:
        settings->format = profile_format_at((size_t)parser->choice);
        break;
    case OPTION_SAMPLE_TYPE:
        settings->sample_type = value;
        break;
    case OPTION_AT:
        take_at(settings, value);
        break;
    case OPTION_EVERY:
        take_every(settings, value);
        break;
    case OPTION_AGES:
        settings->ages = true;
        settings->heap_only = true;
        settings->at_option = "--ages";
        break;
    case OPTION_HEAP_TYPES:
        settings->heap_types = (enum profile_heap_types)parser->choice;
        settings->heap_only = true;
        break;
    case OPTION_ROOT:
        settings->root = (enum profile_root)parser->choice;
        break;
    case OPTION_ROWS:
        settings->rows = (size_t)cli_number("--rows", value, 0, UINT32_MAX);
        break;
    case OPTION_QUIET:
        settings->quiet = true;
        break;
    case CLI_OPERAND:
        cli_texts_add(&settings->inputs, value);
        break;
    default:
        (void)cli_profiles_take(&settings->profiles, key, parser);
        break;
    }
}

static void parse(struct settings *settings, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        apply(settings, key, &parser);
    if (settings->inputs.count == 0)
        cli_usage_error("no trace given");
    if (!settings->output && settings->format && settings->format->for_programs &&
        isatty(STDOUT_FILENO)) {
        if (strcmp(settings->inputs.items[0], "-") == 0)
            cli_usage_error("a %s profile is not written to a terminal; use -o FILE",
                            settings->format->name);
        settings->beside_input = cli_join(settings->inputs.items[0], settings->format->suffix);
        settings->output = settings->beside_input;
    }
    cli_output_check(settings->output, &settings->inputs);
    check_heap_options(settings);
}

static const char *article_of(const char *name)
{
    return strchr("aeiou", name[0]) ? "an" : "a";
}

static enum profile_kind choose_kind(const struct settings *settings, const struct profile *profile)
{
    int chosen = settings->profiles.kind;

    if (chosen < 0 && settings->heap_only)
        return PROFILE_HEAP;
    for (int kind = 0; kind < PROFILE_KINDS; kind++) {
        const char *name = profile_kind_name((enum profile_kind)kind);

        if (profile_sample_count(profile, (enum profile_kind)kind) == 0)
            continue;
        if (chosen < 0)
            chosen = kind;
        else if (settings->profiles.kind < 0)
            cli_note("the input also has %s %s profile; use --profile %s", article_of(name), name,
                     name);
    }
    return chosen < 0 ? PROFILE_CPU : (enum profile_kind)chosen;
}

static enum cli_exit symbolize(struct cli_symbols *symbols, struct profile *profile)
{
    struct sym_session *session;
    struct profile_error error;
    enum profile_status status;
    enum cli_exit exit_status;

    if (symbols->no_symbolize)
        return CLI_OK;
    exit_status = cli_symbols_open(symbols, &session);
    if (exit_status != CLI_OK)
        return exit_status;
    status = profile_symbolize(profile, session, &error);
    cli_symbols_close(symbols);
    if (status == PROFILE_OK)
        return CLI_OK;
    cli_error("%s", error.message);
    return CLI_ENVIRONMENT;
}

/* The place of --sample-type among the kind's types; -1 without it, -2 if there is none such.  */
static int find_sample_type(const struct settings *settings, const struct profile *profile,
                            enum profile_kind kind)
{
    struct profile_sample_type types[PROFILE_MAX_TYPES];
    size_t count = profile_sample_types(profile, kind, types);

    if (!settings->sample_type)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (strcmp(types[i].type, settings->sample_type) == 0)
            return (int)i;
    cli_error("--sample-type: the %s profile of this input has no '%s', but:",
              profile_kind_name(kind), settings->sample_type);
    for (size_t i = 0; i < count; i++)
        cli_note("  %s", types[i].type);
    return -2;
}

static enum profile_status write_format(const struct settings *settings,
                                        const struct profile *profile, enum profile_kind kind,
                                        int sample_type, struct cli_output *output,
                                        struct profile_error *error)
{
    const struct profile_writer_options options = { .size = sizeof options,
                                                    .root = settings->root };
    struct profile_top_options top = { .size = sizeof top,
                                       .rows = settings->rows,
                                       .sample_type = (size_t)sample_type + 1 };

    if (settings->format) {
        if (!settings->format->for_programs)
            cli_output_visible(output);
        return profile_write_format(profile, kind, (size_t)sample_type + 1, settings->format,
                                    &options, cli_output_write, output, error);
    }
    if (output->fd == STDOUT_FILENO) {
        top.columns = cli_columns(stdout);
        top.colour = cli_colour(stdout);
    }
    return profile_write_top(profile, kind, &top, cli_output_write, output, error);
}

static enum cli_exit write_file(const struct settings *settings, const struct profile *profile,
                                enum profile_kind kind, int sample_type, const char *path)
{
    struct profile_error error;
    struct cli_output output;
    enum profile_status status;

    if (cli_output_open(&output, path) != CLI_OK)
        return CLI_ENVIRONMENT;
    status = write_format(settings, profile, kind, sample_type, &output, &error);
    if (status != PROFILE_OK) {
        cli_error("%s: %s", output.path, error.message);
        cli_output_abort(&output);
        return status == PROFILE_INVALID ? CLI_USAGE : CLI_ENVIRONMENT;
    }
    return cli_output_commit(&output);
}

static const char *suffix_of(const struct settings *settings)
{
    return settings->format ? settings->format->suffix : "";
}

static enum cli_exit write_partials(const struct settings *settings, struct profile *profile,
                                    enum profile_kind kind, int sample_type)
{
    size_t count = profile_heap_partials(profile);
    enum cli_exit status = CLI_OK;

    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        char *path = partial_path(settings->output, suffix_of(settings), i, count);
        struct profile_error error;

        if (profile_heap_show_partial(profile, i, &error) != PROFILE_OK) {
            cli_error("%s: %s", path, error.message);
            status = CLI_ENVIRONMENT;
        }
        if (status == CLI_OK)
            status = write_file(settings, profile, kind, sample_type, path);
        free(path);
    }
    return status;
}

static enum cli_exit write_output(const struct settings *settings, struct profile *profile,
                                  enum profile_kind kind)
{
    int sample_type = find_sample_type(settings, profile, kind);

    if (sample_type == -2)
        return CLI_USAGE;
    if (profile_heap_partials(profile) > 0)
        return write_partials(settings, profile, kind, sample_type);
    return write_file(settings, profile, kind, sample_type, settings->output);
}

/* What a kind is made of, for messages.  */
static const char *samples_of(enum profile_kind kind)
{
    static const char *const names[PROFILE_KINDS] = {
        [PROFILE_CPU] = "samples",        [PROFILE_HEAP] = "allocations",
        [PROFILE_HEAP_FREE] = "releases", [PROFILE_INSN] = "instructions",
        [PROFILE_SPAN] = "durations",     [PROFILE_OFF_CPU] = "waits between context switches",
    };

    return names[kind];
}

static void print_written(const struct settings *settings, const struct profile *profile)
{
    size_t count = profile_heap_partials(profile);
    char *first;

    cli_note("  wrote %s", settings->output);
    if (count < 2)
        return;
    first = partial_path(settings->output, suffix_of(settings), 0, count);
    cli_note("  and %zu partial profile%s before it: %s%s", count - 1, count > 2 ? "s" : "", first,
             count > 2 ? ", ..." : "");
    free(first);
}

static enum cli_exit convert(struct settings *settings, struct profile *profile)
{
    struct totals totals;
    enum profile_kind kind;
    enum cli_exit status, written;
    struct sym_session *session;

    /* Instruction traces are decoded with the code of the modules.  */
    settings->profiles.symbols.bounds = true;
    status = cli_symbols_open(&settings->profiles.symbols, &session);
    if (status != CLI_OK)
        return status;
    cli_bounds_begin(&settings->inputs);
    status = read_inputs(settings, profile, &totals);
    if (totals.records == 0 && status != CLI_OK)
        return status; /* nothing was readable, and a message has said why */
    kind = choose_kind(settings, profile);
    if (status == CLI_ENVIRONMENT &&
        (settings->every_ns || profile_sample_count(profile, kind) == 0))
        return status; /* it is not known what is in there */
    if (totals.records > 0 && profile_sample_count(profile, kind) == 0)
        cli_warning("no %s in %s%s: the profile is empty", samples_of(kind),
                    status == CLI_DAMAGED ? "what could be read of the input" : "the input",
                    settings->profiles.pids.count + settings->profiles.tids.count
                        ? " for these filters"
                        : "");
    profile_cover(profile, kind);
    status = cli_worse(status, symbolize(&settings->profiles.symbols, profile));
    written = write_output(settings, profile, kind);
    if (written == CLI_OK && !settings->quiet) {
        print_summary(settings, profile, kind, &totals);
        if (settings->output && strcmp(settings->output, "-") != 0)
            print_written(settings, profile);
    }
    return cli_worse(status, written);
}

static int run(char **argv)
{
    struct settings settings = { .format = profile_format_named("pprof"),
                                 .profiles = { .kind = -1 },
                                 .rows = 20 };
    struct profile *profile;
    struct profile_error error;
    enum cli_exit status = CLI_OK;

    parse(&settings, argv);
    if (profile_open(&profile, &error) != PROFILE_OK) {
        cli_error("%s", error.message);
        return CLI_ENVIRONMENT;
    }
    if (settings.profiles.kind >= 0 && settings.profiles.kind < PROFILE_SPAN)
        profile_omit_spans(profile);
    if (settings.format && settings.format->timed &&
        profile_keep_times(profile, NULL, &error) != PROFILE_OK) {
        cli_error("%s", error.message);
        status = CLI_ENVIRONMENT;
    }
    status = cli_worse(status, cli_symbols_check(&settings.profiles.symbols));
    status = cli_worse(status, configure_heap(&settings, profile));
    if (status == CLI_OK)
        status = convert(&settings, profile);
    profile_close(profile);
    free(settings.beside_input);
    free(settings.inputs.items);
    cli_profiles_release(&settings.profiles);
    return (int)status;
}

int main(int argc, char **argv)
{
    (void)argc;
    fill_formats();
    return cli_main(&command, argv);
}
