/* help_command.c - fxtq help TOPIC: what no command's --help has a place for.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtq/format/fxtq_text.h"
#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/query_command.h"

static const char sql_text[] =
    "SQL functions that fxtq adds to SQLite (docs/sql.md describes them in full):\n\n"
    "  folded(callsite)              the stack as text: main;decode;memcpy\n"
    "  leaf(callsite)                the name of the innermost function\n"
    "  leaf(callsite, hide, show_from, per)\n"
    "                                the same after filters; NULL if nothing is left\n"
    "  depth(callsite)               number of frames above it; 0 for a root\n"
    "  in_stack(callsite, pattern)   1 if a function, its file or its module matches\n"
    "  regexp(pattern, text)         also: text REGEXP pattern\n"
    "  demangle(text)                the readable form of a C++ or Rust name\n"
    "  hex(number)                   0x...: the 64 bits of an address or id\n"
    "  extract_arg(arg_set_id, key)  the value of an argument\n"
    "  percentile(x, p)              an aggregate; p from 0 to 100\n\n"
    "Tables, for FROM:\n\n"
    "  call_top                      functions, with self and total\n"
    "  call_tree                     the call tree, depth first\n"
    "  flamegraph                    level, value, label, self\n"
    "  callers(pattern)              the tree of callers of matching functions\n"
    "  callees(pattern)              the tree of callees of matching functions\n"
    "  callsite_counts               samples by innermost call site\n"
    "  ancestors(id)                 the slices around a slice, innermost first\n"
    "  descendants(id)               the slices below a slice, in the order of time\n"
    "  slice_at(ts, utid)            slices of a thread at a time, outermost first\n"
    "  intervals_intersect(a, b, by) when rows of two tables last at the same time\n\n"
    "Filter those of call sites with WHERE ('fxtq help filters'):\n\n"
    "  SELECT name, self FROM call_top WHERE focus = 'decode' AND pid = 1512\n"
    "  ORDER BY self DESC LIMIT 10\n\n"
    "Single samples are in cpu_sample, allocations in heap_event and durations in\n"
    "slice.  'fxtq schema' describes every table and column.\n\n"
    "  SELECT leaf(callsite_id), count(*) FROM cpu_sample GROUP BY 1 ORDER BY 2 DESC\n";

static const char filters_text[] =
    "Options of reports, flame graphs and exports, and the columns for the same\n"
    "filters in WHERE: of call_top, call_tree, flamegraph, callers and callees:\n\n"
    "  --sample-type  type               cpu, alloc_space, inuse_space, ...\n"
    "  --by           per                function, file, line, module;\n"
    "                                    call_top: also thread, process\n"
    "  --focus        focus              stacks with a matching frame\n"
    "  --ignore       ignore             stacks without a matching frame\n"
    "  --hide         hide               removes matching functions from stacks\n"
    "  --show-from    show_from          starts stacks at the outermost match\n"
    "  --time         from_ts, limit_ts  +1s,+2s counts from the capture's start;\n"
    "                                    the columns are nanoseconds of its clock\n"
    "  --pid, --tid   pid, tid           a number, or several: '100,200'\n"
    "  --comm         comm               names of threads; for data without threads,\n"
    "                                    names of processes\n"
    "  --cpu          cpu                like pid\n"
    "  --capture      capture            capture.id; default: all captures\n\n"
    "Patterns are POSIX extended regular expressions.  They match anywhere in the\n"
    "text and are case-sensitive: '^memcpy$', 'decode|encode'.  --hide is applied\n"
    "before --show-from; --focus and --ignore match whole stacks, as in pprof.\n\n"
    "Every report takes every filter.  For slices, patterns match their names.  With\n"
    "--cpu, a report covers the samples and the threads of that CPU, the waits of\n"
    "threads that ran on it before, and the slices of threads while they ran on it.\n"
    "If the samples or events of a store lack the property of a filter (allocations\n"
    "have no thread, profiles have no time), the filter is an error ('fxtq help\n"
    "reports').\n";

static const char formats_text[] =
    "Formats of rows (--format, and .format in the shell):\n\n"
    "  box       lines around the cells; the default on a terminal\n"
    "  table     the same in ASCII\n"
    "  csv       RFC 4180, quoted as by sqlite3; --csv-safe prevents formulas\n"
    "  tsv       separated by tabs; tab, newline and backslash as \\t, \\n, \\\\;\n"
    "            the default if the output is not a terminal\n"
    "  json      one array of objects per result\n"
    "  jsonl     one object per line\n"
    "  markdown  a table\n"
    "  html      a <table>\n\n"
    "Blobs are X'...'; in JSON they are strings of hexadecimal digits.  --null=TEXT\n"
    "sets the text for NULL.  Reports have --json (one object per line) and\n"
    "--markdown.\n";

static const char shell_text[] =
    "'fxtq STORE' on a terminal starts a shell.  A statement ends with a semicolon\n"
    "and may span several lines.\n\n"
    "  Tab           completes tables, columns, functions and keywords; after a\n"
    "                command, formats and files\n"
    "  Up, Control-R previous input, including earlier sessions\n"
    "                (~/.local/state/fxtq/history)\n"
    "  Control-C     interrupts a statement, or discards the current input\n"
    "  Control-D     leaves the shell\n"
    "  .help         lists the commands: .tables, .schema, .format, .read, ...;\n"
    "                they also work in SQL files and on the command line\n\n"
    "Output longer than the terminal is shown by $FXTQ_PAGER, $PAGER or less.\n"
    "The store is open read-only; with --write, statements can change it.\n";

static const struct {
    const char *name, *summary, *text;
} topics[] = {
    { "sql", "the SQL functions and tables that fxtq adds", sql_text },
    { "filters", "filters of reports and table functions", filters_text },
    { "reports", "each report with its --by values and filters", NULL },
    { "formats", "output formats of rows", formats_text },
    { "shell", "keys and commands of the shell", shell_text },
};

#define TOPICS (sizeof topics / sizeof *topics)

static const char *topic_word(size_t i, const char **brief)
{
    const struct cli_command *command;

    if (i < TOPICS) {
        *brief = topics[i].summary;
        return topics[i].name;
    }
    command = fxtq_program.commands[i - TOPICS];
    if (!command)
        return NULL;
    *brief = command->brief;
    return cli_command_word(command);
}

static const char *const examples[] = {
    "List the functions that fxtq adds to SQLite",
    "fxtq help sql",
    "List the options of a command",
    "fxtq help import",
    NULL,
};

static int run(char **argv);

const struct cli_command fxtq_help = {
    .name = "fxtq help",
    .usage = "[TOPIC|COMMAND]",
    .summary = "Print help on a topic or a command; without either, list the topics.",
    .examples = examples,
    .word = topic_word,
    .word_title = "Topics and commands",
    .run = run,
    .brief = "describe SQL functions, filters, reports, formats, the shell",
};

static void print_topic(size_t i)
{
    char *text = topics[i].text ? NULL : fxtq_report_topic();

    (void)fputs(text ? text : topics[i].text, stdout);
    free(text);
}

static void list_topics(void)
{
    for (size_t i = 0; i < TOPICS; i++)
        printf("%-8s %s\n", topics[i].name, topics[i].summary);
    printf("\nEach command has a --help; 'fxtq schema' describes the tables.\n");
}

/* Print the --help of a command, which ends the program, if there is one of that name.  */
static void help_command(const char *name)
{
    static char option[] = "--help";
    char *arguments[] = { option, NULL };

    for (const struct cli_command *const *command = fxtq_program.commands; *command; command++)
        if (strcmp(cli_command_word(*command), name) == 0)
            exit((*command)->run(arguments));
}

static _Noreturn void complain(const char *topic)
{
    struct base_text names = { .bytes = NULL };

    for (size_t i = 0; i < TOPICS; i++)
        text_addf(&names, "%s%s", i ? ", " : "", topics[i].name);
    cli_usage_error("unknown topic '%s'; topics are %s and all commands", topic, names.bytes);
}

static int run(char **argv)
{
    struct cli_parser parser;
    const char *topic = NULL;
    size_t i = 0;

    cli_start(&parser, &fxtq_help, argv);
    while (cli_next(&parser) != CLI_END) {
        if (topic)
            cli_usage_error("more than one topic given");
        topic = parser.value;
    }
    while (topic && i < TOPICS && strcmp(topics[i].name, topic) != 0)
        i++;
    if (topic && i == TOPICS) {
        help_command(topic);
        complain(topic);
    }
    if (topic)
        print_topic(i);
    else
        list_topics();
    return cli_flush_stdout();
}
