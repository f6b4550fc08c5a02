#include "sampler-capture/trace/trace_options.h"

#include "sampler-capture/capture_output.h"
#include "sampler-capture/trace/trace_command.h"

#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_provider.h>

#define DEFAULT_BUFFER (UINT64_C(4) << 20)
#define DEFAULT_WAIT   UINT64_C(60000000000)

enum key {
    KEY_OUTPUT = 1,
    KEY_CATEGORIES,
    KEY_MODE,
    KEY_BUFFER_SIZE,
    KEY_PROVIDER,
    KEY_DURATION,
    KEY_TRIGGER,
    KEY_WAIT,
    KEY_BACKGROUND,
    KEY_COMPRESS,
    KEY_PRINT_STATS,
    KEY_STATS_JSON,
    KEY_QUIET,
};

static const char *const modes[] = { "oneshot", "circular", "streaming", NULL };

static const struct cli_option option_table[] = {
    { KEY_OUTPUT, 'o', "output", "OUT.fxt", "write the trace to OUT.fxt; - is standard output",
      CLI_FILE },
    { KEY_CATEGORIES, 'c', "categories", "LIST",
      "record these categories, separated by commas; x* matches all that begin with x (default: "
      "all)" },
    { KEY_MODE, 'm', "mode", "MODE",
      "oneshot (the default) ends when a buffer is full, circular keeps the latest events, "
      "streaming writes continuously",
      .choices = modes },
    { KEY_BUFFER_SIZE, 'b', "buffer-size", "SIZE",
      "buffer size per provider, such as 16M (default 4M)" },
    { KEY_PROVIDER, 0, "provider", "NAME:SIZE:CATEGORIES",
      "buffer size and categories for providers of this name, which record these besides LIST; may "
      "be repeated" },
    { KEY_DURATION, 'd', "duration", "TIME", "end after this time: 10 (seconds), 1.5s, 300ms, 2m" },
    { KEY_TRIGGER, 0, "trigger", "ALERT:stop",
      "end the session when a provider sends this alert; may be repeated" },
    { KEY_WAIT, 0, "stop-timeout", "TIME",
      "wait at most TIME for providers to stop (default 60 seconds)" },
    { KEY_BACKGROUND, 0, "background", NULL, "record until 'sampler-capture stop'" },
    { KEY_COMPRESS, 0, "compress", NULL, "compress with zstd" },
    { KEY_PRINT_STATS, 0, "print-stats", NULL, "print what each provider wrote and lost" },
    { KEY_STATS_JSON, 0, "stats-json", "FILE", "write the same as JSON; - is standard output",
      CLI_FILE },
    { KEY_QUIET, 'q', "quiet", NULL, "print no summary, only losses" },
    { 0, 0, NULL, NULL, NULL },
};

static const char *const examples[] = {
    "Record the events of a program",
    "sampler-capture trace -o out.fxt -- ./program input",
    "Record two categories of running programs for ten seconds",
    "sampler-capture trace -c net,'db:*' -d 10 -m streaming -o out.fxt",
    "Keep the events before a program sends the alert 'slow'",
    "sampler-capture trace -m circular --trigger slow:stop -o slow.fxt",
    "List the programs that can be recorded",
    "sampler-capture trace providers",
    NULL,
};

static const char *word(size_t i, const char **brief)
{
    static const char *const words[] = { "providers", "categories", NULL };
    static const char *const briefs[] = { "list running providers",
                                          "list the categories of running providers", NULL };

    *brief = briefs[i];
    return words[i];
}

const struct cli_command trace_command = {
    .name = "sampler-capture trace",
    .usage = "[OPTION]... -o OUT.fxt [-- COMMAND [ARGUMENT]...]",
    .summary =
        "Record the trace events of programs built with libfxttrace: of COMMAND and its child "
        "processes, and of all your running programs.\n\nWith COMMAND, the exit status is that of "
        "COMMAND, 128 + N if signal N ended it, 127 if COMMAND is not found, 126 if it cannot be "
        "executed, and 125 if nothing can be recorded.  The status is 4 if the trace could not be "
        "completed, and 2 if the command line is wrong.",
    .options = option_table,
    .examples = examples,
    .stop_at_operand = true,
    .word = word,
    .word_title = "Lists",
    .first = CLI_COMMAND,
    .rest = CLI_COMMAND,
    .run = trace_main,
    .brief = "record the trace events of programs",
};

static void add_list(struct recording_options *options, struct cli_texts *texts, const char *option,
                     const char *list)
{
    char *copy = cli_join(list, ""), *rest = copy, *item;
    size_t before = texts->count;

    while ((item = strsep(&rest, ",")) != NULL) {
        if (item[0] == '\0')
            continue;
        if (strlen(item) > FIDL_MAX_CATEGORY)
            cli_usage_error("%s: '%s' is longer than the 100 bytes of a category", option, item);
        cli_texts_add(texts, cli_join(item, ""));
        cli_texts_add(&options->requested, texts->items[texts->count - 1]);
    }
    if (texts->count == before)
        cli_usage_error("%s: '%s' names no category; * is all of them", option, list);
    free(copy);
}

/* NAME:SIZE:CATEGORIES; the last two may be empty or missing.  */
static void add_spec(struct recording_options *options, const char *text)
{
    char *copy = cli_join(text, ""), *rest = copy;
    struct trace_spec *specs = cli_allocate(options->spec_count + 1, sizeof *specs);
    struct trace_spec *spec = &specs[options->spec_count];
    const char *size, *categories;

    if (options->spec_count > 0)
        memcpy(specs, options->specs, options->spec_count * sizeof *specs);
    free(options->specs);
    options->specs = specs;
    options->spec_count++;
    *spec = (struct trace_spec){ .name = cli_join(strsep(&rest, ":"), "") };
    size = rest ? strsep(&rest, ":") : "";
    categories = rest ? rest : ""; /* with the colons of their names */
    if (spec->name[0] == '\0')
        cli_usage_error("--provider: '%s' does not begin with a name", text);
    for (size_t i = 0; i + 1 < options->spec_count; i++)
        if (strcmp(specs[i].name, spec->name) == 0)
            cli_usage_error("--provider: %s is there twice; give its size and its categories "
                            "together",
                            spec->name);
    if (size[0] != '\0')
        spec->buffer_bytes = cli_size("--provider", size, TRACE_MIN_BYTES, TRACE_MAX_BYTES);
    if (categories[0] != '\0')
        add_list(options, &spec->categories, "--provider", categories);
    free(copy);
}

/* "slow:stop" to "slow".  */
static void add_trigger(struct recording_options *options, const char *text)
{
    const char *colon = strrchr(text, ':');
    char *name;

    if (!colon || strcmp(colon, ":stop") != 0 || colon == text || colon - text > 14)
        cli_usage_error("--trigger: '%s' is not ALERT:stop, with an ALERT of 1 to 14 bytes", text);
    name = cli_join(text, "");
    name[strlen(name) - strlen(":stop")] = '\0';
    cli_texts_add(&options->triggers, name);
}

static void take(struct recording_options *options, enum key key, const struct cli_parser *parser)
{
    options->for_session |= key != KEY_DURATION;
    switch (key) {
    case KEY_OUTPUT:
        options->output = parser->value;
        break;
    case KEY_CATEGORIES:
        add_list(options, &options->categories, "--categories", parser->value);
        break;
    case KEY_MODE:
        options->mode = (enum trace_mode)parser->choice;
        break;
    case KEY_BUFFER_SIZE:
        options->buffer_bytes = cli_size("--buffer-size", parser->value, TRACE_MIN_BYTES,
                                         TRACE_MAX_BYTES);
        break;
    case KEY_PROVIDER:
        add_spec(options, parser->value);
        break;
    case KEY_DURATION:
        options->duration_ns = cli_duration("-d", parser->value);
        break;
    case KEY_TRIGGER:
        add_trigger(options, parser->value);
        break;
    case KEY_WAIT:
        options->wait_ns = cli_duration("--stop-timeout", parser->value);
        break;
    case KEY_BACKGROUND:
        options->background = true;
        break;
    case KEY_COMPRESS:
        options->compress = true;
        break;
    case KEY_PRINT_STATS:
        options->print_stats = true;
        break;
    case KEY_STATS_JSON:
        options->stats_json = parser->value;
        break;
    case KEY_QUIET:
        options->quiet = true;
        break;
    }
}

/* A provider gets both lists in one message.  */
static void check_categories(const struct recording_options *options, const struct trace_spec *spec)
{
    static uint8_t bytes[FIDL_MAX_MESSAGE];
    const struct fidl_provider_message message = { .method = FIDL_PROVIDER_INITIALIZE, .mode = 1 };
    const struct cli_texts *more = spec ? &spec->categories : &(const struct cli_texts){ 0 };
    size_t count = options->categories.count + more->count, length;
    const char **items = cli_allocate(count + 1, sizeof *items);

    for (size_t i = 0; i < count; i++)
        items[i] = i < options->categories.count ? options->categories.items[i]
                                                 : more->items[i - options->categories.count];
    switch (fidl_provider_encode(&message, items, count, bytes, sizeof bytes, &length)) {
    case FIDL_OK:
        break;
    case FIDL_BAD_UTF8:
        cli_usage_error("the name of a category is not UTF-8");
    default:
        cli_usage_error("the names of %zu categories take more than 64 KiB: use patterns such as "
                        "net*",
                        count);
    }
    free(items);
}

static void check(struct recording_options *options)
{
    if (options->action != TRACE_RECORD) {
        if (options->command[0])
            cli_usage_error("unexpected operand '%s'", options->command[0]);
        if (options->for_session)
            cli_usage_error("providers and categories accept no option but --duration, the time to "
                            "wait for answers");
        return;
    }
    output_check_operand(options->output);
    if (options->background && strcmp(options->output, "-") == 0)
        cli_usage_error("a background session has no standard output; use -o OUT.fxt");
    if (options->stats_json && strcmp(options->stats_json, "-") == 0 &&
        (options->background || strcmp(options->output, "-") == 0))
        cli_usage_error(options->background
                            ? "a background session has no standard output; use --stats-json FILE"
                            : "standard output is used for the trace; use --stats-json FILE");
    check_categories(options, NULL);
    for (size_t i = 0; i < options->spec_count; i++)
        check_categories(options, &options->specs[i]);
    if (options->background && (options->command[0] || options->duration_ns))
        cli_usage_error("--background records until 'sampler-capture stop': no COMMAND and no "
                        "--duration");
}

/* Options; then operands are left.  */
static void parse(struct recording_options *options, struct cli_parser *parser, char **argv)
{
    int key;

    cli_start(parser, &trace_command, argv);
    while ((key = cli_next(parser)) > CLI_END)
        take(options, (enum key)key, parser);
    options->command = parser->argv;
}

void trace_options_parse(struct recording_options *options, char **argv)
{
    struct cli_parser parser;
    const char *brief;

    *options = (struct recording_options){ .buffer_bytes = DEFAULT_BUFFER,
                                           .wait_ns = DEFAULT_WAIT };
    parse(options, &parser, argv);
    for (size_t i = 0; word(i, &brief) && options->command[0] && !parser.only_operands; i++) {
        if (strcmp(options->command[0], word(i, &brief)) != 0)
            continue;
        options->action = i == 0 ? TRACE_LIST_PROVIDERS : TRACE_LIST_CATEGORIES;
        parse(options, &parser, options->command + 1);
        break;
    }
    check(options);
}
