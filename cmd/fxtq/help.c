/* help.c - fxtq help TOPIC: what no command's --help has a place for.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtq/fxtq.h"
#include "cmd/fxtq/query.h"
#include "cmd/fxtq/report/report.h"
#include "cmd/fxtq/text.h"

static const char sql_text[] =
    "SQL functions, beside SQLite's own (docs/sql.md has them in full):\n\n"
    "  folded(callsite)              the stack as text: main;decode;memcpy\n"
    "  leaf(callsite)                the name of the innermost function\n"
    "  leaf(callsite, hide, show_from, per)\n"
    "                                that of what these filters leave; NULL: nothing\n"
    "  depth(callsite)               frames above it\n"
    "  in_stack(callsite, pattern)   1 if a function, its file or its module matches\n"
    "  regexp(pattern, text)         also: text REGEXP pattern\n"
    "  demangle(text)                a readable C++ or Rust name\n"
    "  hex(number)                   0x...: the 64 bits of an address or id\n"
    "  extract_arg(arg_set_id, key)  the value of an argument\n"
    "  percentile(x, p)              an aggregate; p from 0 to 100\n\n"
    "Tables, for FROM:\n\n"
    "  call_top                      functions, with self and total\n"
    "  call_tree                     stacks as a tree, depth first\n"
    "  flamegraph                    level, value, label, self\n"
    "  callers(pattern)              the tree turned round\n"
    "  callees(pattern)              the tree below what matches\n"
    "  callsite_counts               samples by the call site they ended in\n\n"
    "Filters of these tables stand in WHERE ('fxtq help filters'):\n\n"
    "  SELECT name, self FROM call_top WHERE focus = 'decode' AND pid = 1512\n"
    "  ORDER BY self DESC LIMIT 10\n\n"
    "Samples one by one are in cpu_sample, allocations in heap_event, durations in\n"
    "slice: 'fxtq schema' says what every table and column means.\n\n"
    "  SELECT leaf(callsite_id), count(*) FROM cpu_sample GROUP BY 1 ORDER BY 2 DESC\n";

static const char filters_text[] =
    "Options of reports, flame graphs and exports; and what they are called in WHERE\n"
    "behind call_top, call_tree, flamegraph, callers, callees:\n\n"
    "  --sample-type  type               cpu, alloc_space, inuse_space, ...\n"
    "  --by           per                function, file, line, module;\n"
    "                                    of call_top also thread, process\n"
    "  --focus        focus              stacks that hold a match\n"
    "  --ignore       ignore             stacks that hold none\n"
    "  --hide         hide               takes matching functions out of stacks\n"
    "  --show-from    show_from          lets stacks begin at the outermost match\n"
    "  --time         from_ts, limit_ts  +1s,+2s counts from the capture's start;\n"
    "                                    the columns are nanoseconds of its clock\n"
    "  --pid, --tid   pid, tid           a number, or several: '100,200'\n"
    "  --comm         comm               names of threads; of what has no thread,\n"
    "                                    processes\n"
    "  --cpu          cpu                like pid\n"
    "  --capture      capture            capture.id; all by default\n\n"
    "Patterns are POSIX extended regular expressions, searched for anywhere in the\n"
    "text, with case: '^memcpy$', 'decode|encode'.  hide comes before show_from, and\n"
    "focus and ignore look at whole stacks, as in pprof.\n\n"
    "Every report takes every filter; of slices, patterns are those of their names.\n"
    "On a CPU are its samples, what ran there, the waits of threads that had left it,\n"
    "and slices whose thread ran there meanwhile.  What samples or events do not tell\n"
    "(allocations no thread, profiles no time) is an error ('fxtq help reports').\n";

static const char formats_text[] =
    "Formats of rows (--format, and .format in the shell):\n\n"
    "  box       lines around the cells; the default on a terminal\n"
    "  table     the same in ASCII\n"
    "  csv       RFC 4180, quoted as sqlite3 does; --csv-safe: no text is a formula\n"
    "  tsv       tabs between; tab, newline and backslash as \\t, \\n, \\\\;\n"
    "            the default where there is no terminal\n"
    "  json      an array of objects a result\n"
    "  jsonl     an object a line\n"
    "  markdown  a table\n"
    "  html      a <table>\n\n"
    "Blobs are X'...', in JSON strings of hexadecimal digits.  --null TEXT stands for\n"
    "NULL.  Reports have --json (an object a line) and --markdown.\n";

static const char shell_text[] =
    "fxtq STORE on a terminal is a shell.  A statement ends with a semicolon and may\n"
    "have several lines.\n\n"
    "  Tab           completes tables, columns, functions, keywords; behind\n"
    "                commands formats and files\n"
    "  Up, Control-R what was typed before, also last time\n"
    "                (~/.local/state/fxtq/history)\n"
    "  Control-C     stops a statement, or forgets what is typed\n"
    "  Control-D     leaves\n"
    "  .help         lists the commands: .tables, .schema, .format, .read, ...;\n"
    "                they are known in files and on the command line, too\n\n"
    "What is longer than the terminal goes through $FXTQ_PAGER, $PAGER or less.\n"
    "The store is open for reading; with --write, statements can change it.\n";

static const struct {
    const char *name, *summary, *text;
} topics[] = {
    { "sql", "the SQL functions and tables that fxtq adds", sql_text },
    { "filters", "how reports and table functions are filtered", filters_text },
    { "reports", "each report, what its rows stand for, its filters", NULL },
    { "formats", "how rows are printed", formats_text },
    { "shell", "what keys and commands do", shell_text },
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
    "What there is beside SQLite's own functions",
    "fxtq help sql",
    "The options of a command",
    "fxtq help import",
    NULL,
};

static int run(char **argv);

const struct cli_command fxtq_help = {
    .name = "fxtq help",
    .usage = "[TOPIC|COMMAND]",
    .summary = "Explain a topic or a command; without one, list the topics.",
    .examples = examples,
    .word = topic_word,
    .word_title = "Topics and commands",
    .run = run,
    .brief = "explain SQL functions, filters, reports, formats, the shell",
};

static void print_topic(size_t i)
{
    char *text = topics[i].text ? NULL : report_topic();

    (void)fputs(text ? text : topics[i].text, stdout);
    free(text);
}

static void list_topics(void)
{
    for (size_t i = 0; i < TOPICS; i++)
        printf("%-8s %s\n", topics[i].name, topics[i].summary);
    printf("\nEach command explains itself with --help; 'fxtq schema' explains the tables.\n");
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
    cli_usage_error("there is no topic '%s'. There are: %s, and all commands", topic, names.bytes);
}

static int run(char **argv)
{
    struct cli_parser parser;
    const char *topic = NULL;
    size_t i = 0;

    cli_start(&parser, &fxtq_help, argv);
    while (cli_next(&parser) != CLI_END) {
        if (topic)
            cli_usage_error("one topic at a time");
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
