/* fxtdump: show every record of FXT traces, and what is wrong with them.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/trace.h"
#include "cmd/fxtdump/dump.h"

enum { OPTION_JSON = 1, OPTION_STATS, OPTION_STRICT, OPTION_FORCE };

static const struct cli_option option_table[] = {
    { OPTION_JSON, 'j', "json", NULL, "one JSON object a line; keys: docs/fxtdump.md" },
    { OPTION_STATS, 's', "stats", NULL, "no records: counts, times and damage" },
    { OPTION_STRICT, 0, "strict", NULL, "exit with 3 for notices too, not for damage alone" },
    { OPTION_FORCE, 0, "force", NULL, "take the input for FXT whatever it begins with" },
    { 0 },
};

static const char *const examples[] = {
    "All records, for reading",
    "fxtdump trace.fxt | less",
    "Which kinds of records there are, and whether anything is damaged",
    "fxtdump --stats trace.fxt.gz",
    "The names of all events, most frequent first",
    "fxtdump --json trace.fxt | jq -r 'select(.type==\"event\").name' | sort | uniq -c | sort -rn",
    NULL,
};

static const struct cli_command command = {
    .name = "fxtdump",
    .usage = "[OPTION]... FILE...",
    .summary = "Show the records of traces in the Fuchsia trace format, plain, gzip or zstd; - is\n"
               "standard input.  Damage is passed over, reported, and gives exit status 3.",
    .options = option_table,
    .examples = examples,
};

struct settings {
    bool json;
    bool stats;
    bool strict;
    bool force;
    struct cli_texts files;
};

static void parse(struct settings *settings, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        switch (key) {
        case OPTION_JSON:
            settings->json = true;
            break;
        case OPTION_STATS:
            settings->stats = true;
            break;
        case OPTION_STRICT:
            settings->strict = true;
            break;
        case OPTION_FORCE:
            settings->force = true;
            break;
        default:
            cli_texts_add(&settings->files, parser.value);
            break;
        }
    }
    if (settings->files.count == 0)
        cli_usage_error("no trace given");
}

static void show(const struct settings *settings, struct cli_output *output,
                 struct dump_stats *stats, const struct fxt_record *record)
{
    if (settings->stats)
        dump_stats_add(stats, record);
    else if (settings->json)
        dump_json(output, record);
    else
        dump_text(output, record);
}

static enum cli_exit dump_file(const struct settings *settings, const char *path,
                               struct cli_output *output)
{
    struct fxt_reader_options options = { .size = sizeof options, .trust_start = settings->force };
    struct dump_stats stats = { .has_time = false };
    const struct fxt_record *record;
    struct cli_trace trace;
    enum cli_exit status = cli_trace_open(&trace, path, &options);

    while (status == CLI_OK && output->failed == 0 && cli_trace_next(&trace, &record))
        show(settings, output, &stats, record);
    if (status == CLI_OK && settings->stats)
        (settings->json ? dump_stats_json : dump_stats_text)(
            output, &stats, fxt_reader_offset(trace.reader), fxt_reader_damage(trace.reader));
    (void)cli_output_flush(output); /* records before complaints about them */
    free(stats.providers.items);
    return cli_worse(status, cli_trace_close(&trace, settings->strict));
}

int main(int argc, char **argv)
{
    struct settings settings = { .json = false };
    enum cli_exit status = CLI_OK;
    struct cli_output output;

    (void)argc;
    parse(&settings, argv + 1);
    if (cli_output_open(&output, "-") != CLI_OK)
        return CLI_ENVIRONMENT;
    for (size_t i = 0; i < settings.files.count && output.failed == 0; i++)
        status = cli_worse(status, dump_file(&settings, settings.files.items[i], &output));
    free(settings.files.items);
    if (output.failed == EPIPE) {
        cli_output_abort(&output);
        return CLI_OK; /* the reader has seen enough */
    }
    return (int)cli_worse(status, cli_output_commit(&output));
}
