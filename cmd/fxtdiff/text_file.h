/* text_file.h - small files, line by line: budgets, suppressions, baselines.  */
#ifndef FXTDIFF_TEXT_FILE_H
#define FXTDIFF_TEXT_FILE_H

#include "cmd/fxtdiff/fxtdiff.h"

/* A file that is read whole: these are small.  */
struct diff_text_file {
    const char *path; /* borrowed, for messages */
    char *bytes;      /* lines are cut at their ends with NUL */
    size_t length, at;
    size_t line; /* number of the line that was read last */
};

/* CLI_OK; CLI_ENVIRONMENT or, for a file of more than most bytes or with NUL bytes, CLI_USAGE after
 * a message.  "-" is stdin.  */
enum cli_exit diff_text_open(struct diff_text_file *file, const char *path, size_t most);

/* The next line, without blanks at its end; NULL behind the last.  It may be changed and lives as
 * long as the file.  */
char *diff_text_line(struct diff_text_file *file);

/* The next one that is neither empty nor a comment ('#' first), from its first character that is no
 * blank.  */
char *diff_text_statement(struct diff_text_file *file);

/* "FILE:LINE: message", as an error.  Returns CLI_USAGE.  */
enum cli_exit diff_text_wrong(const struct diff_text_file *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void diff_text_close(struct diff_text_file *file);

/* Take the word at *text, which ends at a blank; "" at the end.  *text moves behind it and the
 * blanks that follow.  */
char *diff_take_word(char **text);
/* Likewise from the end.  */
char *diff_take_last_word(char *text);

/* Whether a name is of a pattern, in which '*' stands for any characters and '?' for one; all other
 * characters, brackets too, for themselves.  */
bool diff_match_pattern(const char *pattern, const char *name);

/* Whether a function has a name of the pattern: whole, or without its parameters.  */
bool diff_match_function(const char *pattern, const struct diff_function *function);

/* A number of digits with or without a fraction, whatever the locale; the rest of the text goes to
 * *rest.  False when there is none, or one that is too large to mean anything.  */
bool diff_take_number(const char *text, double *number, const char **rest);

#endif /* FXTDIFF_TEXT_FILE_H */
