/* Command lines.  What is wrong with one ends the program, so each runs in a child.  */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- A child, and what it says ---- */

static struct {
    int status; /* exit status; -1 if it did not end by itself */
    char out[4096];
    char err[4096];
} child;

static void read_back(FILE *file, char *text, size_t size)
{
    size_t length;

    rewind(file);
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    (void)fclose(file);
}

static void run(void (*function)(const void *), const void *argument)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int status;
    pid_t pid;

    ck_assert(out && err);
    (void)fflush(NULL);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (dup2(fileno(out), STDOUT_FILENO) < 0 || dup2(fileno(err), STDERR_FILENO) < 0)
            _exit(99);
        function(argument);
        exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    child.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_back(out, child.out, sizeof child.out);
    read_back(err, child.err, sizeof child.err);
}

/* ---- Options ---- */

static const struct cli_option options[] = {
    { 1, 'v', "verbose", NULL, "say more" },
    { 2, 'o', "output", "FILE",
      "write to FILE instead of standard output; - is standard output too", CLI_FILE },
    { 3, 0, "size", "BYTES", "a long name alone" },
    { 4, 'x', NULL, NULL, "a letter alone" },
    { 5, 0, "a-name-that-is-too-long-for-the-column", NULL, "help on the next line" },
    { 0 },
};

/* Rows that several commands have.  */
static const char *const colours[] = { "red", "green", NULL };
static const char *const sizes[] = { "small", NULL };
static const struct cli_option shared[] = {
    { 6, 'v', "values", NULL, "a letter that is taken" },
    { 7, 'c', "colour", "COLOUR", "red or green", .choices = colours },
    { 8, 0, "about", "SIZE", "small, or any number", CLI_HINT, sizes },
    { 0 },
};
static const struct cli_option more[] = { { 9, 0, "last", NULL, "the last one" }, { 0 } };
static const struct cli_option *const groups[] = { shared, more, NULL };

static const char *const examples[] = { "Do it", "tool --verbose file", NULL };

static const char *libraries(void)
{
    return "libnothing 1.0";
}

static const struct cli_command command = {
    .name = "tool",
    .usage = "[OPTION]... FILE...",
    .summary = "Do something.",
    .options = options,
    .groups = groups,
    .examples = examples,
    .libraries = libraries,
};

struct line {
    const char *name;
    const char *words[8];
    bool stop_at_operand;
    int status;
    const char *out; /* keys, "=" value where there is one; "|" and the rest behind the end */
    const char *err;
};

#define TRY "Try 'tool --help'.\n"

static const struct line lines[] = {
    { "nothing", { NULL }, false, 0, "|", "" },
    { "operands", { "a", "b" }, false, 0, "-1=a -1=b |", "" },
    { "a letter", { "-v" }, false, 0, "1 |", "" },
    { "a name", { "--verbose" }, false, 0, "1 |", "" },
    { "a group of letters", { "-vxv" }, false, 0, "1 4 1 |", "" },
    { "a group that ends with a value", { "-vxofile" }, false, 0, "1 4 2=file |", "" },
    { "a group whose value is the next word",
      { "-vo", "file", "a" },
      false,
      0,
      "1 2=file -1=a |",
      "" },
    { "a letter and its value", { "-o", "file" }, false, 0, "2=file |", "" },
    { "a value that looks like an option", { "-o", "-v" }, false, 0, "2=-v |", "" },
    { "an empty value", { "-o", "" }, false, 0, "2= |", "" },
    { "a name and its value", { "--output", "file" }, false, 0, "2=file |", "" },
    { "a name = its value", { "--output=file" }, false, 0, "2=file |", "" },
    { "a value with =", { "--output=a=b" }, false, 0, "2=a=b |", "" },
    { "a name = nothing", { "--output=", "a" }, false, 0, "2= -1=a |", "" },
    { "options behind operands", { "a", "-v", "b" }, false, 0, "-1=a 1 -1=b |", "" },
    { "- is an operand", { "-", "-v" }, false, 0, "-1=- 1 |", "" },
    { "a comment is an operand", { "-- SELECT", "-v" }, false, 0, "-1=-- SELECT 1 |", "" },
    { "an empty operand", { "" }, false, 0, "-1= |", "" },
    { "-- ends the options",
      { "-v", "--", "-v", "--", "a" },
      false,
      0,
      "1 -1=-v -1=-- -1=a |",
      "" },
    { "-- as a value", { "-o", "--", "-v" }, false, 0, "2=-- 1 |", "" },
    { "the first operand ends all", { "-v", "a", "-v" }, true, 0, "1 |a -v", "" },
    { "-- before a command", { "-v", "--", "-x", "b" }, true, 0, "1 |-x b", "" },
    { "-- and nothing", { "-v", "--" }, true, 0, "1 |", "" },
    { "options of a group", { "--last", "--about=7", "a" }, false, 0, "9 8=7 -1=a |", "" },
    { "a letter is the first row's", { "-v", "--values" }, false, 0, "1 6 |", "" },
    { "a choice", { "--colour", "green", "-cred" }, false, 0, "7=green#1 7=red#0 |", "" },
    { "no such choice",
      { "-c", "blue" },
      false,
      2,
      "",
      "tool: --colour: 'blue' is not one of red, green\n" TRY },
    { "no shell",
      { "--completion=csh" },
      false,
      2,
      "",
      "tool: --completion: 'csh' is not one of bash, zsh, fish\n" TRY },
    { "completion for what",
      { "--completion" },
      false,
      2,
      "",
      "tool: --completion needs a value: --completion=SHELL\n" TRY },
    { "unknown letter", { "-q" }, false, 2, "", "tool: unknown option -q\n" TRY },
    { "unknown letter in a group", { "-vq" }, false, 2, "1 ", "tool: unknown option -q\n" TRY },
    { "unknown name", { "--quiet" }, false, 2, "", "tool: unknown option --quiet\n" TRY },
    { "unknown name with a value",
      { "--quiet=1" },
      false,
      2,
      "",
      "tool: unknown option --quiet\n" TRY },
    { "part of a name",
      { "--verb" },
      false,
      2,
      "",
      "tool: unknown option --verb: is it --verbose?\n" TRY },
    { "a letter missing",
      { "--outpt=f" },
      false,
      2,
      "",
      "tool: unknown option --outpt: is it --output?\n" TRY },
    { "a letter too many",
      { "--sizes" },
      false,
      2,
      "",
      "tool: unknown option --sizes: is it --size?\n" TRY },
    { "another letter",
      { "--color" },
      false,
      2,
      "",
      "tool: unknown option --color: is it --colour?\n" TRY },
    { "letters swapped",
      { "--verbsoe" },
      false,
      2,
      "",
      "tool: unknown option --verbsoe: is it --verbose?\n" TRY },
    { "too little to tell", { "--ve" }, false, 2, "", "tool: unknown option --ve\n" TRY },
    { "more than a name",
      { "--verbosely" },
      false,
      2,
      "",
      "tool: unknown option --verbosely\n" TRY },
    { "help with a value", { "--help=me" }, false, 2, "", "tool: unknown option --help\n" TRY },
    { "a value too many", { "--verbose=1" }, false, 2, "", "tool: --verbose takes no value\n" TRY },
    { "a name without its value",
      { "--output" },
      false,
      2,
      "",
      "tool: --output needs a value: --output=FILE\n" TRY },
    { "a letter without its value",
      { "-vo" },
      false,
      2,
      "1 ",
      "tool: -o needs a value: -o FILE\n" TRY },
    { "control bytes in a name",
      { "--a\033[2J\302\2331m" },
      false,
      2,
      "",
      "tool: unknown option --a\\x1b[2J\\x9b1m\n" TRY },
};

static void parse(const void *argument)
{
    const struct line *line = argument;
    struct cli_command own = command;
    struct cli_parser parser;
    char *words[9];
    int key;

    for (size_t i = 0; i < 8; i++)
        words[i] = line->words[i] ? strdup(line->words[i]) : NULL;
    words[8] = NULL;
    own.stop_at_operand = line->stop_at_operand;
    cli_start(&parser, &own, words);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == 7)
            printf("7=%s#%zu ", parser.value, parser.choice);
        else
            printf("%d%s%s ", key, parser.value ? "=" : "", parser.value ? parser.value : "");
    }
    printf("|");
    for (char **rest = parser.argv; *rest; rest++)
        printf("%s%s", rest == parser.argv ? "" : " ", *rest);
    for (size_t i = 0; i < 8; i++)
        free(words[i]);
}

START_TEST(parses_a_command_line)
{
    run(parse, &lines[_i]);
    ck_assert_msg(child.status == lines[_i].status, "%s: status %d", lines[_i].name, child.status);
    ck_assert_msg(strcmp(child.out, lines[_i].out) == 0, "%s: %s", lines[_i].name, child.out);
    ck_assert_msg(strcmp(child.err, lines[_i].err) == 0, "%s: %s", lines[_i].name, child.err);
}
END_TEST

static const char help[] =
    "Usage: tool [OPTION]... FILE...\n"
    "\n"
    "Do something.\n"
    "\n"
    "Options:\n"
    "  -v, --verbose             say more\n"
    "  -o, --output=FILE         write to FILE instead of standard output; - is\n"
    "                            standard output too\n"
    "      --size=BYTES          a long name alone\n"
    "  -x                        a letter alone\n"
    "      --a-name-that-is-too-long-for-the-column\n"
    "                            help on the next line\n"
    "      --values              a letter that is taken\n"
    "  -c, --colour=COLOUR       red or green\n"
    "      --about=SIZE          small, or any number\n"
    "      --last                the last one\n"
    "      --completion=SHELL    print the completion script for bash, zsh or fish\n"
    "  -h, --help                show this help\n"
    "      --version             show the version\n"
    "\n"
    "Examples:\n"
    "  Do it\n"
    "      tool --verbose file\n";

static const char version[] = "tool (FXT toolchain) " FXT_TOOLCHAIN_VERSION "\n"
                              "with libnothing 1.0\n";

/* Wherever they stand before the end of the options.  */
static const struct line answers[] = {
    { "--help", { "--help" }, false, 0, help, "" },
    { "-h", { "a", "-h" }, false, 0, help, "" },
    { "in a group", { "-vh" }, false, 0, help, "" },
    { "--version", { "-v", "--version" }, false, 0, version, "" },
};

START_TEST(answers_on_standard_output)
{
    const char *answer;

    run(parse, &answers[_i]);
    ck_assert_int_eq(child.status, 0);
    /* Behind the keys that came before.  */
    answer = strpbrk(child.out, "Ut");
    ck_assert_ptr_nonnull(answer);
    ck_assert_str_eq(answer, answers[_i].out);
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* ---- Programs and their commands ---- */

static int run_tool(char **argv)
{
    printf("tool %s\n", argv[0] ? argv[0] : "");
    return 7;
}

static int run_mend(char **argv)
{
    printf("mend %s\n", argv[0] ? argv[0] : "");
    return 8;
}

static const char *colour_word(size_t i, const char **brief)
{
    *brief = "a colour\nof paint";
    return colours[i];
}

static const struct cli_command mend = {
    .name = "tool mend",
    .usage = "COLOUR",
    .summary =
        "Mend a thing.\n\nIt does not hold as long as a new one would, and one has to wait until "
        "it is dry.",
    .word = colour_word,
    .word_title = "Colours",
    .run = run_mend,
    .brief = "mend a thing",
};

static const struct cli_command *const commands[] = { &mend, NULL };

/* argv: its own word, or what follows it.  */
struct call {
    const char *name;
    const char *words[4];
    bool works_alone; /* the program has something to do without a command */
    int status;
    const char *out, *err;
};

static const struct call calls[] = {
    { "a command", { "tool", "mend", "red" }, false, 8, "mend red\n", "" },
    { "a command without a word", { "tool", "mend" }, true, 8, "mend \n", "" },
    { "no command", { "tool", "other" }, true, 7, "tool other\n", "" },
    { "nothing at all", { "tool" }, true, 7, "tool \n", "" },
    { "not even a name", { NULL }, true, 7, "tool \n", "" },
    { "one is needed",
      { "tool" },
      false,
      2,
      "",
      "tool: no command given; the commands are: mend\n" TRY },
    { "another is needed",
      { "tool", "men" },
      false,
      2,
      "",
      "tool: unknown command 'men'; the commands are: mend\n" TRY },
    { "an option of the program",
      { "tool", "--new" },
      false,
      2,
      "",
      "tool: unknown option --new\n" TRY },
    { "its help",
      { "tool", "--help" },
      false,
      0,
      "Usage: tool COMMAND\n\nDo things.\n\nCommands (each has a --help):\n  mend  mend a "
      "thing\n\nOptions:\n      --completion=SHELL    print the completion script for bash, zsh or "
      "fish\n  -h, --help                show this help\n      --version             show the "
      "version\n",
      "" },
};

static void call_program(const void *argument)
{
    const struct call *call = argument;
    struct cli_command program = { .name = "tool",
                                   .usage = "COMMAND",
                                   .summary = "Do things.",
                                   .stop_at_operand = true,
                                   .run = call->works_alone ? run_tool : NULL,
                                   .commands = commands };
    char *words[5] = { NULL };

    for (size_t i = 0; i < 4 && call->words[i]; i++)
        words[i] = strdup(call->words[i]);
    exit(cli_main(&program, words));
}

START_TEST(finds_the_command_that_is_meant)
{
    run(call_program, &calls[_i]);
    ck_assert_msg(child.status == calls[_i].status, "%s: %d", calls[_i].name, child.status);
    ck_assert_str_eq(child.out, calls[_i].out);
    ck_assert_str_eq(child.err, calls[_i].err);
}
END_TEST

static void ask_mend(const void *argument)
{
    static char word[] = "--help";
    char *words[] = { word, NULL };
    struct cli_parser parser;

    (void)argument;
    cli_start(&parser, &mend, words);
    (void)cli_next(&parser);
}

START_TEST(lists_words_in_help)
{
    run(ask_mend, NULL);
    ck_assert_int_eq(child.status, 0);
    ck_assert_str_eq(
        child.out, "Usage: tool mend COLOUR\n\nMend a thing.\n\n"
                   "It does not hold as long as a new one would, and one has to wait until it is\n"
                   "dry.\n\n"
                   "Colours:\n  red    a colour of paint\n  green  a colour of paint\n\n"
                   "Options:\n"
                   "  -h, --help                show this help\n"
                   "      --version             show the version\n");
}
END_TEST

/* ---- Values ---- */

struct value {
    const char *text;
    uint64_t minimum, maximum;
    const char *said; /* the number, or the message */
    bool size;
};

#define NO_NUMBER(text) "tool: --size: '" text "' is not a number\n" TRY
#define NO_SIZE(text)   "tool: --size: '" text "' is not a size such as 512k or 4M\n" TRY

static const struct value values[] = {
    { "0", 0, 10, "0", false },
    { "10", 0, 10, "10", false },
    { "0010", 0, 10, "10", false },
    { "18446744073709551615", 0, UINT64_MAX, "18446744073709551615", false },
    { "11", 0, 10, "tool: --size: 11 is not between 0 and 10\n" TRY, false },
    { "1", 2, 12345, "tool: --size: 1 is not between 2 and 12,345\n" TRY, false },
    { "18446744073709551616", 0, UINT64_MAX,
      "tool: --size: 18446744073709551616 is not between 0 and 18,446,744,073,709,551,615\n" TRY,
      false },
    { "", 0, 10, NO_NUMBER(""), false },
    { "-1", 0, 10, NO_NUMBER("-1"), false },
    { "+1", 0, 10, NO_NUMBER("+1"), false },
    { " 1", 0, 10, NO_NUMBER(" 1"), false },
    { "1 ", 0, 10, NO_NUMBER("1 "), false },
    { "0x1", 0, 10, NO_NUMBER("0x1"), false },
    { "1k", 0, 10, NO_NUMBER("1k"), false },
    { "512", 0, 1024, "512", true },
    { "1k", 0, 1024, "1024", true },
    { "1K", 0, 1024, "1024", true },
    { "1kB", 0, 1024, "1024", true },
    { "1KiB", 0, 1024, "1024", true },
    { "3m", 0, UINT64_MAX, "3145728", true },
    { "4G", 0, UINT64_MAX, "4294967296", true },
    { "17179869183G", 0, UINT64_MAX, "18446744072635809792", true },
    { "17179869184G", 0, UINT64_MAX, "tool: --size: 17179869184G is too large\n" TRY, true },
    { "18446744073709551616", 0, UINT64_MAX,
      "tool: --size: 18446744073709551616 is too large\n" TRY, true },
    { "2k", 0, 1024, "tool: --size: 2k is not between 0 and 1,024 bytes\n" TRY, true },
    { "1T", 0, UINT64_MAX, NO_SIZE("1T"), true },
    { "1ki", 0, UINT64_MAX, NO_SIZE("1ki"), true },
    { "1kk", 0, UINT64_MAX, NO_SIZE("1kk"), true },
    { "1 k", 0, UINT64_MAX, NO_SIZE("1 k"), true },
    { "1.5k", 0, UINT64_MAX, NO_SIZE("1.5k"), true },
    { "k", 0, UINT64_MAX, NO_SIZE("k"), true },
    { "-1k", 0, UINT64_MAX, NO_SIZE("-1k"), true },
};

static void start_tool(void)
{
    static char *none[] = { NULL };
    struct cli_parser parser;

    cli_start(&parser, &command, none);
}

static void take_value(const void *argument)
{
    const struct value *value = argument;

    start_tool();
    printf("%" PRIu64, (value->size ? cli_size : cli_number)("--size", value->text, value->minimum,
                                                             value->maximum));
}

START_TEST(takes_numbers_and_sizes)
{
    bool wrong = strncmp(values[_i].said, "tool: ", 6) == 0;

    run(take_value, &values[_i]);
    ck_assert_msg(child.status == (wrong ? CLI_USAGE : CLI_OK), "'%s': status %d", values[_i].text,
                  child.status);
    ck_assert_str_eq(wrong ? child.err : child.out, values[_i].said);
    ck_assert_str_eq(wrong ? child.out : child.err, "");
}
END_TEST

static void take_choice(const void *argument)
{
    static const char *const names[] = { "cpu", "heap", "span", NULL };

    start_tool();
    printf("%zu", cli_choice("--profile", argument, names));
}

START_TEST(takes_one_of_some_names)
{
    run(take_choice, "span");
    ck_assert_int_eq(child.status, 0);
    ck_assert_str_eq(child.out, "2");
    run(take_choice, "spa");
    ck_assert_int_eq(child.status, 2);
    ck_assert_str_eq(child.err, "tool: --profile: 'spa' is not one of cpu, heap, span\n" TRY);
}
END_TEST

/* ---- Lists, statuses, numbers for people ---- */

START_TEST(keeps_what_is_added_to_a_list)
{
    struct cli_numbers numbers = { NULL, 0 };
    struct cli_texts texts = { NULL, 0 };

    for (uint64_t i = 0; i < 1000; i++) {
        cli_numbers_add(&numbers, i);
        cli_texts_add(&texts, i % 2 ? "odd" : "even");
    }
    ck_assert_uint_eq(numbers.count, 1000);
    ck_assert_uint_eq(texts.count, 1000);
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert_uint_eq(numbers.items[i], i);
        ck_assert_str_eq(texts.items[i], i % 2 ? "odd" : "even");
    }
    free(numbers.items);
    free(texts.items);
}
END_TEST

START_TEST(knows_the_worse_of_two_statuses)
{
    static const enum cli_exit by_rank[] = { CLI_OK,     CLI_DIFFERENT, CLI_INCONCLUSIVE,
                                             CLI_POLICY, CLI_DAMAGED,   CLI_ENVIRONMENT,
                                             CLI_USAGE };

    for (int a = 0; a < ROWS(by_rank); a++) {
        for (int b = 0; b < ROWS(by_rank); b++)
            ck_assert_int_eq(cli_worse(by_rank[a], by_rank[b]), by_rank[a > b ? a : b]);
    }
}
END_TEST

START_TEST(groups_digits_by_thousands)
{
    ck_assert_str_eq(cli_grouped(0), "0");
    ck_assert_str_eq(cli_grouped(999), "999");
    ck_assert_str_eq(cli_grouped(1000), "1,000");
    ck_assert_str_eq(cli_grouped(1234567), "1,234,567");
    ck_assert_str_eq(cli_grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_options");
    TCase *tcase = tcase_create("options");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, parses_a_command_line, 0, ROWS(lines));
    tcase_add_loop_test(tcase, answers_on_standard_output, 0, ROWS(answers));
    tcase_add_loop_test(tcase, finds_the_command_that_is_meant, 0, ROWS(calls));
    tcase_add_test(tcase, lists_words_in_help);
    tcase_add_loop_test(tcase, takes_numbers_and_sizes, 0, ROWS(values));
    tcase_add_test(tcase, takes_one_of_some_names);
    tcase_add_test(tcase, keeps_what_is_added_to_a_list);
    tcase_add_test(tcase, knows_the_worse_of_two_statuses);
    tcase_add_test(tcase, groups_digits_by_thousands);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
