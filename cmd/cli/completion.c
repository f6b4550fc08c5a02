/* completion.c - what the completions for all shells are made of.  */
#include <string.h>

#include "cmd/cli/cli_internal.h"

enum { PHRASE_BYTES = 72 };

const struct cli_option *cli_any_option(const struct cli_command *command, size_t i)
{
    size_t count = 0;

    while (cli_command_option(command, count))
        count++;
    if (i < count)
        return cli_command_option(command, i);
    i -= count;
    if (cli_is_program(command)) {
        if (i == 0)
            return &cli_program_options[0];
        i--;
    }
    return i < 2 ? &cli_common_options[i] : NULL;
}

const char *cli_completer(enum cli_shell shell, enum cli_value value)
{
    static const char *const completers[][CLI_SHELLS] = {
        [CLI_FILE] = { "_fxt_files", "_files", NULL }, /* fish: -F */
        [CLI_FOLDER] = { "_fxt_folders", "_files -/",
                         "(__fish_complete_directories (__fxt_typed))" },
        [CLI_TRACE] = { "_fxt_traces", "_fxt_traces", "(__fxt_files \"\\.fxt(?:\\..*)?\\$\")" },
        [CLI_STORE] = { "_fxt_stores", "_fxt_stores", "(__fxt_files \"\\.fxt(?:q|\\..*)?\\$\")" },
        [CLI_RUN] = { "_fxt_runs", "_fxt_runs", "(__fxt_runs)" },
        [CLI_PROCESS] = { "_fxt_processes", "_pids", "(__fish_complete_pids)" },
        [CLI_COMMAND] = { "_fxt_command \"${#words[@]}\"", "_cmdstring",
                          "(__fish_complete_command)" },
        [CLI_CAPTURE] = { "_fxt_values capture", "_fxt_values capture", "(__fxt_values capture)" },
        [CLI_PID] = { "_fxt_values pid", "_fxt_values pid", "(__fxt_values pid)" },
        [CLI_TID] = { "_fxt_values tid", "_fxt_values tid", "(__fxt_values tid)" },
        [CLI_COMM] = { "_fxt_values comm", "_fxt_values comm", "(__fxt_values comm)" },
        [CLI_CPU] = { "_fxt_values cpu", "_fxt_values cpu", "(__fxt_values cpu)" },
    };

    return completers[value][shell];
}

bool cli_takes_command_line(const struct cli_command *command)
{
    return command->stop_at_operand && !command->commands;
}

void cli_print_choices(const struct cli_option *option)
{
    for (size_t i = 0; option->choices[i]; i++)
        printf("%s%s", i ? " " : "", option->choices[i]);
}

const char *cli_identifier(const struct cli_command *command)
{
    static char name[64];

    (void)snprintf(name, sizeof name, "%s", command->name);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '-')
            *c = '_';
    return name;
}

/* Where the first phrase ends: "cpu or heap; default: cpu" has two.  */
static size_t phrase_length(const char *help)
{
    size_t length = strcspn(help, ";");
    const char *stop = strstr(help, ". ");

    if (stop && (size_t)(stop - help) < length)
        length = (size_t)(stop - help);
    if (length < PHRASE_BYTES)
        return length;
    for (length = PHRASE_BYTES; length > 0 && help[length] != ' '; length--)
        continue;
    return length;
}

const char *cli_phrase(const char *help)
{
    static char phrase[PHRASE_BYTES + 8];
    size_t length = phrase_length(help);
    bool cut = help[length] == ' ';

    (void)snprintf(phrase, sizeof phrase, "%.*s%s", (int)length, help, cut ? " ..." : "");
    for (char *c = phrase; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return phrase;
}

void cli_print_quoted(const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (strchr(special, *text))
            (void)putchar('\\');
        if (*text == '\'')
            (void)fputs(quote, stdout);
        else
            (void)putchar(*text);
    }
}
