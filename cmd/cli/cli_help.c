/* cli_help.c - what every command answers: --help, --version, --completion.  */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli_internal.h"

enum {
    COLUMNS = 80,
    HELP_COLUMN = 28, /* of options' help */
};

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

const struct cli_option cli_common_options[] = {
    { 1, 'h', "help", NULL, "show this help" },
    { 2, 0, "version", NULL, "show the version" },
    { 0 },
};

const struct cli_option cli_program_options[] = {
    { 1, 0, "completion", "SHELL", "print the completion script for bash, zsh or fish",
      .choices = shells },
    { 0 },
};

bool cli_is_program(const struct cli_command *command)
{
    return !strchr(command->name, ' ');
}

const char *cli_command_word(const struct cli_command *command)
{
    const char *space = strrchr(command->name, ' ');

    return space ? space + 1 : command->name;
}

/* ---- Text in columns ---- */

/* Columns of the first length bytes, which are UTF-8.  */
static size_t width_of(const char *text, size_t length)
{
    size_t width = 0;

    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Print words, from column on, in lines that begin at indent; a line feed is a blank.  */
static void print_paragraph(const char *text, size_t length, size_t column, size_t indent)
{
    const char *end = text + length;
    size_t gap = 0;

    while (text < end) {
        size_t word = 0;

        while (text + word < end && text[word] != ' ' && text[word] != '\n')
            word++;
        if (column > indent && column + gap + width_of(text, word) >= COLUMNS) {
            printf("\n%*s", (int)indent, "");
            column = indent;
            gap = 0;
        }
        printf("%*s%.*s", (int)gap, "", (int)word, text);
        column += gap + width_of(text, word);
        for (text += word, gap = 0; text < end && (*text == ' ' || *text == '\n'); text++)
            gap++;
    }
    (void)putchar('\n');
}

static void print_paragraphs(const char *text)
{
    for (const char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        print_paragraph(text, (size_t)(end - text), 0, 0);
        (void)putchar('\n');
    }
    print_paragraph(text, strlen(text), 0, 0);
}

/* "-o, --output=FILE" and its help.  */
static void print_option(const struct cli_command *command, const struct cli_option *option)
{
    char left[80];
    int length = cli_option_has_letter(command, option)
                     ? snprintf(left, sizeof left, "  -%c%s", option->letter,
                                option->name ? ", " : "")
                     : snprintf(left, sizeof left, "      ");

    if (length < 0)
        return;
    (void)snprintf(left + length, sizeof left - (size_t)length, "%s%s%s%s%s%s",
                   option->name ? "--" : "", option->name ? option->name : "",
                   option->optional ? "[" : "", option->argument ? (option->name ? "=" : " ") : "",
                   option->argument ? option->argument : "", option->optional ? "]" : "");
    printf("%-*s", HELP_COLUMN, left);
    if (strlen(left) >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    print_paragraph(option->help, strlen(option->help), HELP_COLUMN, HELP_COLUMN);
}

/* ---- Help ---- */

/* Names and what they stand for, below each other.  */
static void print_words(const char *title,
                        const char *(*word)(const struct cli_command *command, size_t i,
                                            const char **brief),
                        const struct cli_command *command)
{
    const char *name, *brief;
    size_t width = 0;

    printf("\n%s:\n", title);
    for (size_t i = 0; (name = word(command, i, &brief)) != NULL; i++)
        width = strlen(name) > width ? strlen(name) : width;
    for (size_t i = 0; (name = word(command, i, &brief)) != NULL; i++) {
        printf("  %-*s  ", (int)width, name);
        print_paragraph(brief, strlen(brief), width + 4, width + 4);
    }
}

static const char *own_word(const struct cli_command *command, size_t i, const char **brief)
{
    return command->word(i, brief);
}

static const char *command_name(const struct cli_command *command, size_t i, const char **brief)
{
    if (!command->commands[i])
        return NULL;
    *brief = command->commands[i]->brief;
    return cli_command_word(command->commands[i]);
}

static void print_options(const struct cli_command *command)
{
    struct cli_command common = { .options = cli_common_options };
    const struct cli_option *option;

    printf("\nOptions:\n");
    for (size_t i = 0; (option = cli_command_option(command, i)) != NULL; i++)
        print_option(command, option);
    if (cli_is_program(command))
        print_option(&common, &cli_program_options[0]);
    print_option(&common, &cli_common_options[0]);
    print_option(&common, &cli_common_options[1]);
}

/* A command line may have several lines.  */
static void print_example(const char *what, const char *line)
{
    printf("  %s\n", what);
    for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        printf("      %.*s\n", (int)(end - line), line);
    printf("      %s\n", line);
}

static _Noreturn void print_help(const struct cli_command *command)
{
    printf("Usage: %s%s%s\n\n", command->name, *command->usage ? " " : "", command->usage);
    print_paragraphs(command->summary);
    if (command->commands)
        print_words("Commands (each has a --help)", command_name, command);
    if (command->word_title)
        print_words(command->word_title, own_word, command);
    print_options(command);
    if (command->examples && command->examples[0])
        printf("\nExamples:\n");
    for (const char *const *example = command->examples; example && *example; example += 2)
        print_example(example[0], example[1]);
    exit(cli_flush_stdout());
}

static _Noreturn void print_version(const struct cli_command *command)
{
    printf("%s (FXT toolchain) %s\n", command->name, FXT_TOOLCHAIN_VERSION);
    if (command->libraries)
        printf("with %s\n", command->libraries());
    exit(cli_flush_stdout());
}

static _Noreturn void print_completion(const struct cli_command *command, const char *shell)
{
    static void (*const printers[])(const struct cli_command *program) = {
        cli_complete_bash,
        cli_complete_zsh,
        cli_complete_fish,
    };

    if (!shell)
        cli_usage_error("--completion needs a value: --completion=SHELL");
    printers[cli_choice("--completion", shell, shells)](command);
    exit(cli_flush_stdout());
}

void cli_answer(struct cli_parser *parser, const char *option)
{
    static const char completion[] = "completion";
    size_t length = sizeof completion - 1;

    if (strcmp(option, "help") == 0)
        print_help(parser->command);
    if (strcmp(option, "version") == 0)
        print_version(parser->command);
    if (!cli_is_program(parser->command) || strncmp(option, completion, length) != 0)
        return;
    if (option[length] == '=')
        print_completion(parser->command, option + length + 1);
    if (option[length] == '\0')
        print_completion(parser->command, *parser->argv);
}

/* ---- Programs ---- */

/* "cut, merge, recover" in a static buffer.  */
static const char *list_commands(const struct cli_command *program)
{
    static char list[400];
    size_t used = 0;

    for (size_t i = 0; program->commands[i]; i++) {
        int length = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                              cli_command_word(program->commands[i]));

        if (length > 0 && used + (size_t)length < sizeof list)
            used += (size_t)length;
    }
    return list;
}

/* A program may be started without standard descriptors (2>&-).  The first files it opened would
 * take their place, and messages would end in a trace.  What stands there instead fails as a closed
 * one does, and is closed for commands that are run.  */
static void hold_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", mode | O_CLOEXEC); /* takes the lowest free one: fd */
    }
}

int cli_main(const struct cli_command *program, char **argv)
{
    struct cli_parser parser;

    hold_standard_descriptors();
    argv += argv[0] != NULL; /* the program's name, which a caller may leave out */
    for (size_t i = 0; program->commands && argv[0] && program->commands[i]; i++)
        if (strcmp(argv[0], cli_command_word(program->commands[i])) == 0)
            return program->commands[i]->run(argv + 1);
    if (program->run)
        return program->run(argv);
    cli_start(&parser, program, argv);
    (void)cli_next(&parser); /* answers --help and --version, refuses other options */
    if (!parser.argv[0])
        cli_usage_error("no command given; the commands are: %s", list_commands(program));
    cli_usage_error("unknown command '%s'; the commands are: %s", parser.argv[0],
                    list_commands(program));
}
