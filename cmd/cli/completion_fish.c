/* completion_fish.c - completion for fish, 3.4 or newer: lines of "complete".  */
#include <string.h>

#include "cmd/cli/cli_internal.h"

static void print_text(const char *text)
{
    cli_print_quoted(text, "\\", "\\'");
}

/* Alike in the completions of all programs.  */
static const char functions[] =
    "# Whether the cursor is at a PLACE of a program's COMMAND ('' is the program itself):\n"
    "# options, the first operand, the rest of them, or, where operands are a command line, that.\n"
    "function __fxt_at # PROGRAM COMMAND PLACE\n"
    "    set -l commands __fxt_{$argv[1]}_commands\n"
    "    set -l takes __fxt_{$argv[1]}_takes\n"
    "    set -l stops __fxt_{$argv[1]}_stops\n"
    "    set -l words (commandline -opc)[2..]\n"
    "    set -l command ''\n"
    "    if contains -- \"$words[1]\" $$commands\n"
    "        set command $words[1]\n"
    "        set -e words[1]\n"
    "    end\n"
    "    test \"$command\" = \"$argv[2]\"; or return 1\n"
    "    set -l operands 0\n"
    "    set -l waiting\n"
    "    set -l ended\n"
    "    for word in $words\n"
    "        if test -n \"$waiting\"\n"
    "            set waiting\n"
    "        else if test -z \"$ended\"; and test \"$word\" = --\n"
    "            set ended 1\n"
    "        else if test -n \"$ended\"; or not string match -q -- '-?*' $word\n"
    "            set operands (math $operands + 1)\n"
    "            contains -- \"$command\" $$stops; and break\n"
    "        else if string match -q -- '--*' $word; and contains -- \"$command $word\" $$takes\n"
    "            set waiting 1\n"
    "        else if contains -- \"$command -\"(string sub -s -1 -- $word) $$takes\n"
    "            set waiting 1\n"
    "        end\n"
    "    end\n"
    "    if test -n \"$waiting\" # fish asks for the option's own values\n"
    "        test $argv[3] = options\n"
    "        return\n"
    "    end\n"
    "    if contains -- \"$command\" $$stops\n"
    "        test $operands -gt 0 -o -n \"$ended\"; and test $argv[3] = command; and return 0\n"
    "        test $operands -eq 0 -a -z \"$ended\"; and contains $argv[3] options command\n"
    "        return\n"
    "    end\n"
    "    switch $argv[3]\n"
    "        case options\n"
    "            return 0\n"
    "        case first\n"
    "            test $operands -eq 0\n"
    "        case rest\n"
    "            test $operands -gt 0\n"
    "        case '*'\n"
    "            return 1\n"
    "    end\n"
    "end\n"
    "\n"
    "function __fxt_typed\n"
    "    commandline -ct | string replace -r -- '^--[^=]*=' ''\n"
    "end\n"
    "\n"
    "# Files whose names match, and folders; all files where none matches.\n"
    "function __fxt_files # REGEX\n"
    "    set -l files (complete -C \"__fxt_unknown \"(__fxt_typed))\n"
    "    set -l good (string match -e -r -- $argv[1] $files)\n"
    "    if test (count $good) -gt 0\n"
    "        printf '%s\\n' $good (string match -- '*/' $files)\n"
    "    else if test (count $files) -gt 0\n"
    "        printf '%s\\n' $files\n"
    "    end\n"
    "end\n"
    "\n"
    "# What fxtdiff compares; of a store also its captures, STORE#ID.\n"
    "function __fxt_runs\n"
    "    set -l store (__fxt_typed | string replace -r -- '#.*' '')\n"
    "    if string match -q -- '*.fxtq#*' (__fxt_typed); and test -f \"$store\"\n"
    "        fxtq --format=tsv --no-header $store 'SELECT id FROM capture' 2>/dev/null |\n"
    "            string replace -r -- '^' \"$store#\"\n"
    "    else\n"
    "        __fxt_files '\\.(?:fxtq|fxt(?:\\..*)?|pb|pb\\.gz|folded)$'\n"
    "    end\n"
    "end\n"
    "\n"
    "# What the store among the words has of a kind; not that of --diff.\n"
    "function __fxt_values # KIND\n"
    "    set -l words (commandline -po)[2..]\n"
    "    set -l before (__fxt_typed | string replace -r -- '[^,]*$' '')\n"
    "    set -l store\n"
    "    set -l last\n"
    "    for word in $words\n"
    "        set -l file (string replace -r -- '^~/' \"$HOME/\" $word)\n"
    "        test \"$last\" != --diff; and test -f \"$file\"; and test -r \"$file\"\n"
    "        and test \"$(head -c 15 -- $file 2>/dev/null)\" = 'SQLite format 3'\n"
    "        and set store $file\n"
    "        set last $word\n"
    "    end\n"
    "    set -q store[1]; or return\n"
    "    set -l sql\n"
    "    switch $argv[1]\n"
    "        case capture\n"
    "            set sql '" CLI_SQL_CAPTURES "'\n"
    "        case pid\n"
    "            set sql '" CLI_SQL_PIDS "'\n"
    "        case tid\n"
    "            set sql '" CLI_SQL_TIDS "'\n"
    "        case comm\n"
    "            set sql '" CLI_SQL_COMMS "'\n"
    "        case cpu\n"
    "            set sql '" CLI_SQL_CPUS "'\n"
    "    end\n"
    "    for line in (fxtq --format=tsv --no-header --timeout=1 -- $store $sql 2>/dev/null)\n"
    "        printf '%s\\n' \"$before$line\"\n"
    "    end\n"
    "end\n"
    "\n"
    "# The last of a list with commas between.\n"
    "function __fxt_list # WORD...\n"
    "    set -l before (__fxt_typed | string replace -r -- '[^,]*$' '')\n"
    "    printf '%s\\n' $before$argv\n"
    "end\n"
    "\n"
    "# The command line of another program, behind --.\n"
    "function __fxt_command # COMMAND, with the options that take an argument behind it\n"
    "    set -l words (commandline -opc)[3..]\n"
    "    set -l waiting\n"
    "    while set -q words[1]\n"
    "        if test -n \"$waiting\"\n"
    "            set waiting\n"
    "        else if test \"$words[1]\" = --\n"
    "            set -e words[1]\n"
    "            break\n"
    "        else if not string match -q -- '-*' $words[1]\n"
    "            break\n"
    "        else if contains -- $words[1] $argv\n"
    "            set waiting 1\n"
    "        end\n"
    "        set -e words[1]\n"
    "    end\n"
    "    set -l line \"$(string join ' ' -- (string escape -- $words) \"$(commandline -ct)\")\"\n"
    "    string match -q -- '-*' \"$line\"; or complete \"--do-complete=$line\"\n"
    "end\n"
    "\n";

/* ---- Tables ---- */

static const char *word_of(const struct cli_command *command)
{
    return cli_is_program(command) ? "" : cli_command_word(command);
}

/* The options that take an argument, behind the command's name.  */
static void print_takes(const struct cli_command *command)
{
    const struct cli_option *option;

    for (size_t i = 0; (option = cli_any_option(command, i)) != NULL; i++) {
        if (!cli_option_takes_word(option))
            continue;
        if (option->name)
            printf(" \\\n    '%s --%s'", word_of(command), option->name);
        if (cli_option_has_letter(command, option))
            printf(" \\\n    '%s -%c'", word_of(command), option->letter);
    }
}

static void print_tables(const struct cli_command *program)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s", cli_identifier(program));
    printf("set -g __fxt_%s_commands", name);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        printf(" %s", cli_command_word(program->commands[i]));
    printf("\nset -g __fxt_%s_stops", name);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        if (cli_takes_command_line(program->commands[i]))
            printf(" %s", cli_command_word(program->commands[i]));
    printf("\nset -g __fxt_%s_takes", name);
    print_takes(program);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        print_takes(program->commands[i]);
    printf("\n\n");
}

/* ---- Lines ---- */

/* "complete -c fxtq -n '__fxt_at fxtq report options'" */
static void print_start(const struct cli_command *program, const struct cli_command *command,
                        const char *place)
{
    printf("complete -c %s -n '__fxt_at %s %s %s'", program->name, cli_identifier(program),
           cli_is_program(command) ? "\"\"" : cli_command_word(command), place);
}

static void print_choices(const struct cli_option *option)
{
    printf(option->value == CLI_LIST ? " -x -a '(__fxt_list " : " -x -a '");
    cli_print_choices(option);
    printf(option->value == CLI_LIST ? ")'" : "'");
}

static void print_option(const struct cli_command *program, const struct cli_command *command,
                         const struct cli_option *option)
{
    print_start(program, command, "options");
    if (cli_option_has_letter(command, option) || option == &cli_common_options[0])
        printf(" -s %c", option->letter);
    if (option->name)
        printf(" -l %s", option->name);
    if (option->choices)
        print_choices(option);
    else if (option->value == CLI_FILE && !option->optional)
        printf(" -r -F");
    else if (cli_completer(CLI_FISH, option->value) && !option->optional)
        printf(" -x -k -a '%s'", cli_completer(CLI_FISH, option->value));
    else if (cli_option_takes_word(option))
        printf(" -x");
    printf(" -d '");
    print_text(cli_phrase(option->help));
    printf("'\n");
}

static void print_word(const struct cli_command *program, const struct cli_command *command,
                       const char *place, const char *word, const char *brief)
{
    print_start(program, command, place);
    printf(" -k -a %s -d '", word);
    print_text(cli_phrase(brief));
    printf("'\n");
}

static void print_operand(const struct cli_command *program, const struct cli_command *command,
                          bool first)
{
    const char *place = first ? "first" : "rest", *name, *brief;
    enum cli_value value = first ? command->first : command->rest;

    if (value == CLI_FILE) {
        print_start(program, command, place);
        printf(" -F\n");
    } else if (cli_completer(CLI_FISH, value)) {
        print_start(program, command, place);
        printf(" -k -a '%s'\n", cli_completer(CLI_FISH, value));
    }
    for (size_t i = 0;
         (first || value == CLI_WORD) && command->word && (name = command->word(i, &brief)) != NULL;
         i++)
        print_word(program, command, place, name, brief);
    for (size_t i = 0; first && command->commands && command->commands[i]; i++)
        print_word(program, command, place, cli_command_word(command->commands[i]),
                   command->commands[i]->brief);
}

/* All that follows the options is another program's.  */
static void print_command_line(const struct cli_command *program, const struct cli_command *command)
{
    const struct cli_option *option;

    print_start(program, command, "command");
    printf(" -x -a '(__fxt_command");
    for (size_t i = 0; (option = cli_any_option(command, i)) != NULL; i++) {
        if (cli_option_takes_word(option) && option->name)
            printf(" --%s", option->name);
        if (cli_option_takes_word(option) && cli_option_has_letter(command, option))
            printf(" -%c", option->letter);
    }
    printf(")'\n");
}

static void print_command(const struct cli_command *program, const struct cli_command *command)
{
    const struct cli_option *option;

    for (size_t i = 0; (option = cli_any_option(command, i)) != NULL; i++)
        print_option(program, command, option);
    if (cli_takes_command_line(command)) {
        print_command_line(program, command);
    } else {
        print_operand(program, command, true);
        print_operand(program, command, false);
    }
    (void)putchar('\n');
}

void cli_complete_fish(const struct cli_command *program)
{
    printf("# fish completion for %s; what '%s --completion=fish' prints.\n\n", program->name,
           program->name);
    (void)fputs(functions, stdout);
    print_tables(program);
    printf("complete -c %s -f\n\n", program->name);
    print_command(program, program);
    for (size_t i = 0; program->commands && program->commands[i]; i++)
        print_command(program, program->commands[i]);
}
