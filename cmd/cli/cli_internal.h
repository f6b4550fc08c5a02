/* cli_internal.h - between the files of cmd/cli only.  */
#ifndef CLI_INTERNAL_H
#define CLI_INTERNAL_H

#include "cmd/cli/cli.h"

/* The program's name in messages; set by cli_start().  */
extern const char *cli_name;

/* Whether an output of so many bytes is over the bound of cli_bounds.h.  */
bool cli_bounds_exceeded(uint64_t written);
/* Where a message says that memory or room in a file is short, say so if it is by a bound.  */
void cli_bounds_explain(const char *message);

/* Answer the option of that name, with "=VALUE" or without, if every command has it, and end the
 * program (cli_help.c).  */
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

/* What lists the values that a store has, each with what to say of it or without, for completion
 * to ask fxtq.  No quotes stand in them, and no names that a terminal or a list would take for
 * something else: neither control characters nor commas nor backslashes.  They read no more of
 * large tables than a moment takes.  */
#define CLI_SQL_ODD(name) name " GLOB char(42, 91, 1, 45, 31, 127, 45, 159, 93, 42)"
#define CLI_SQL_NAMED(table, id)                                               \
    "SELECT " id ", max(iif(" CLI_SQL_ODD("name") ", NULL, name)) FROM " table \
                                                  " GROUP BY 1 ORDER BY 1 LIMIT 1000"
#define CLI_SQL_CAPTURES CLI_SQL_NAMED("capture", "id")
#define CLI_SQL_PIDS     CLI_SQL_NAMED("process", "pid")
#define CLI_SQL_TIDS     CLI_SQL_NAMED("thread", "tid")
#define CLI_SQL_COMMS                                                                   \
    "SELECT name FROM (SELECT name FROM thread UNION SELECT name FROM process) WHERE "  \
    "length(name) > 0 AND instr(name, char(44)) = 0 AND instr(name, char(92)) = 0 AND " \
    "NOT " CLI_SQL_ODD("name") " ORDER BY 1 LIMIT 1000"
#define CLI_SQL_ENDS(table)                                                                   \
    "SELECT * FROM (SELECT cpu FROM " table " LIMIT 100000) UNION SELECT * FROM (SELECT cpu " \
    "FROM " table " ORDER BY id DESC LIMIT 100000)"
#define CLI_SQL_CPUS                                                       \
    "SELECT cpu FROM (" CLI_SQL_ENDS("cpu_sample") " UNION " CLI_SQL_ENDS( \
        "sched_slice") ") WHERE cpu IS NOT NULL ORDER BY 1"

/* The function or command by which a shell completes values of a kind; NULL: there is none.  */
enum cli_shell { CLI_BASH, CLI_ZSH, CLI_FISH, CLI_SHELLS };
const char *cli_completer(enum cli_shell shell, enum cli_value value);

/* Whether the operands of a command are the command line of another program.  */
bool cli_takes_command_line(const struct cli_command *command);

/* Print the choices of an option with spaces between.  */
void cli_print_choices(const struct cli_option *option);

/* "sampler_capture_cpu": a name that shells take.  In a static buffer.  */
const char *cli_identifier(const struct cli_command *command);

/* The first phrase of a help text as one line, for menus.  In a static buffer.  */
const char *cli_phrase(const char *help);

/* Print text that stands between single quotes, with a backslash before what is special, and quote
 * for a single quote.  */
void cli_print_quoted(const char *text, const char *special, const char *quote);

#endif /* CLI_INTERNAL_H */
