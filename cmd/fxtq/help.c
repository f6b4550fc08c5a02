/* help.c - fxtq help TOPIC: what no command's --help has a place for.  */
#include <stdio.h>
#include <string.h>

#include "cmd/fxtq/fxtq.h"

static const char sql_text[] =
    "SQL functions, beside SQLite's own (docs/sql.md has them in full):\n\n"
    "  folded(callsite)             the stack as text: main;decode;memcpy\n"
    "  leaf(callsite)               the name of the innermost function\n"
    "  depth(callsite)              frames above it\n"
    "  in_stack(callsite, pattern)  1 if a function, its file or its module matches\n"
    "  regexp(pattern, text)        also: text REGEXP pattern\n"
    "  demangle(text)               a readable C++ or Rust name\n"
    "  hex(number)                  0x...: the 64 bits of an address or id\n"
    "  extract_arg(arg_set_id, key) the value of an argument\n"
    "  percentile(x, p)             an aggregate; p from 0 to 100\n\n"
    "Tables, for FROM:\n\n"
    "  call_top                     functions, with self and total\n"
    "  call_tree                    stacks as a tree, depth first\n"
    "  flamegraph                   level, value, label, self\n"
    "  callers(pattern)             the tree turned round\n"
    "  callees(pattern)             the tree below what matches\n"
    "  callsite_counts              samples by the call site they ended in\n\n"
    "'fxtq help filters' tells how they are filtered.\n";

static const char filters_text[] =
    "Filters of table functions, as WHERE name = value, and the options of reports,\n"
    "flame graphs and exports:\n\n"
    "  type               --sample-type  cpu, alloc_space, inuse_space, free_space\n"
    "  per                --by           function, file, line, module; call_top: also\n"
    "                                    thread, process\n"
    "  focus, ignore      --focus        stacks that match; --ignore: that do not\n"
    "  hide               --hide         takes matching functions out of stacks\n"
    "  show_from          --show-from    lets stacks begin at the outermost match\n"
    "  from_ts, limit_ts  --time         nanoseconds; --time +1s,+2s counts from the\n"
    "                                    start\n"
    "  pid, tid, cpu      --pid ...      a number, or several: '100,200'\n"
    "  comm               --comm         names of threads\n"
    "  capture            --capture      capture.id; all by default\n\n"
    "Patterns are POSIX extended regular expressions, searched for anywhere in the\n"
    "text.\n";

static const char formats_text[] =
    "Formats of rows (--format):\n\n"
    "  box       lines around the cells; on a terminal\n"
    "  table     the same in ASCII\n"
    "  csv       RFC 4180, quoted as sqlite3 does\n"
    "  tsv       tabs between; tab, newline and backslash as \\t, \\n, \\\\; where there\n"
    "            is no terminal\n"
    "  json      an array of objects a result\n"
    "  jsonl     an object a line\n"
    "  markdown  a table\n"
    "  html      a <table>\n\n"
    "Blobs are X'...', in JSON strings of hexadecimal digits.  --null TEXT stands for\n"
    "NULL.\n";

static const struct {
    const char *name, *summary, *text;
} topics[] = {
    { "sql", "the SQL functions and tables that fxtq adds", sql_text },
    { "filters", "how table functions and reports are filtered", filters_text },
    { "formats", "how rows are printed", formats_text },
};

#define TOPICS (sizeof topics / sizeof *topics)

static const char *topic_word(size_t i, const char **brief)
{
    if (i >= TOPICS)
        return NULL;
    *brief = topics[i].summary;
    return topics[i].name;
}

static const char *const examples[] = {
    "What there is beside SQLite's own functions",
    "fxtq help sql",
    NULL,
};

static int run(char **argv);

const struct cli_command fxtq_help = {
    .name = "fxtq help",
    .usage = "[TOPIC]",
    .summary = "Explain a topic; without one, list them.",
    .examples = examples,
    .word = topic_word,
    .word_title = "Topics",
    .run = run,
    .brief = "explain SQL functions, filters or formats",
};

static int run(char **argv)
{
    struct cli_parser parser;
    const char *topic = NULL;
    size_t i = 0;

    cli_start(&parser, &fxtq_help, argv);
    while (cli_next(&parser) != CLI_END)
        topic = parser.value;
    while (topic && i < TOPICS && strcmp(topics[i].name, topic) != 0)
        i++;
    if (i == TOPICS)
        cli_usage_error("there is no topic '%s'. There are: sql, filters, formats", topic);
    if (topic)
        (void)fputs(topics[i].text, stdout);
    for (i = 0; !topic && i < TOPICS; i++)
        printf("%-8s %s\n", topics[i].name, topics[i].summary);
    if (!topic)
        printf("\nEach command explains itself with --help; 'fxtq schema' explains the tables.\n");
    if (fflush(stdout) == 0)
        return CLI_OK;
    cli_error("cannot write to standard output");
    return CLI_ENVIRONMENT;
}
