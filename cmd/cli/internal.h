/* internal.h - between the files of cmd/cli only.  */
#ifndef CLI_INTERNAL_H
#define CLI_INTERNAL_H

#include "cmd/cli/cli.h"

/* The program's name in messages; set by cli_start().  */
extern const char *cli_name;

_Noreturn void cli_out_of_memory(void);

/* Answer the option of that name, with "=VALUE" or without, if every command has it, and end the
 * program (help.c).  */
void cli_answer(struct cli_parser *parser, const char *option);

/* The rows that every command has, and a program (no command of one) has; they end with key 0.  */
extern const struct cli_option cli_common_options[], cli_program_options[];

/* Whether the command is a program, not a command of one.  */
bool cli_is_program(const struct cli_command *command);

/* Completion of the program's command line for a shell, to stdout (completion_*.c).  */
void cli_complete_bash(const struct cli_command *program);
void cli_complete_zsh(const struct cli_command *program);
void cli_complete_fish(const struct cli_command *program);

/* ---- Between the files of completion ---- */

/* Row i of the command's tables and of what every command has; NULL behind the last one.  */
const struct cli_option *cli_any_option(const struct cli_command *command, size_t i);

/* "sampler_capture_cpu": a name that shells take.  In a static buffer.  */
const char *cli_identifier(const struct cli_command *command);

/* The first phrase of a help text as one line, for menus.  In a static buffer.  */
const char *cli_phrase(const char *help);

/* Print text that stands between single quotes, with a backslash before what is special, and quote
 * for a single quote.  */
void cli_print_quoted(const char *text, const char *special, const char *quote);

#endif /* CLI_INTERNAL_H */
