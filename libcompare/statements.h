/* statements.h - small files, line by line: budgets, suppressions, baselines.  */
#ifndef COMPARE_STATEMENTS_H
#define COMPARE_STATEMENTS_H

#include <fxt/compare_set.h>

#include "libcompare/compare_internal.h"

struct statements {
    const char *name; /* borrowed, for messages */
    char *bytes;      /* a copy; lines are cut at their ends with NUL */
    size_t length, at;
    size_t line;                 /* number of the line that was read last */
    struct compare_error *error; /* borrowed; may be NULL */
};

/* Copy length bytes.  Returns COMPARE_OK, COMPARE_NO_MEMORY, or COMPARE_MALFORMED if there are more
 * than most bytes, or something else than UTF-8 without control characters.  error is borrowed, for
 * statements_wrong().  */
enum compare_status statements_open(struct statements *file, const char *name, const void *bytes,
                                    size_t length, size_t most, struct compare_error *error);
void statements_close(struct statements *file);

/* The next line, without blanks at its end; NULL after the last.  It may be changed, and is valid
 * as long as the file.  */
char *statements_line(struct statements *file);

/* The next line that is neither empty nor a comment ('#' first), from its first character that is
 * not blank.  */
char *statements_next(struct statements *file);

/* Fill the error with "NAME:LINE: message".  Returns COMPARE_MALFORMED.  */
enum compare_status statements_wrong(const struct statements *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Take the word at *text, which ends at a blank; "" at the end.  *text moves to what follows the
 * blanks after it.  */
char *statements_word(char **text);
/* The same from the end.  */
char *statements_last_word(char *text);

/* Read a number of digits, with or without a fraction, whatever the locale; *rest becomes what
 * follows it.  Returns false if there is none, or if it is too large to mean anything.  */
bool statements_number(const char *text, double *number, const char **rest);

/* Whether a function has a name of the pattern, whole or without its parameters.  In a pattern '*'
 * stands for any characters and '?' for one; all others, brackets too, stand for themselves.
 * *failed is set when memory is short.  */
bool statements_match(const char *pattern, const struct compare_function *function, bool *failed);

#endif /* COMPARE_STATEMENTS_H */
