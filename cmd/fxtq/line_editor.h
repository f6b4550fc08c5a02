/* line_editor.h - lines that a user types, with editing, history and completion if libedit is
 * there.  */
#ifndef FXTQ_LINE_EDITOR_H
#define FXTQ_LINE_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

/* "libedit" or "no libedit", for --version.  */
const char *lines_library(void);

/* words gives what text, at the end of line, may become, one after the other from index 0, and NULL
 * at the end.  Strings are borrowed for the call.  */
typedef const char *(*lines_words)(const char *text, size_t index, const char *line);

/* Behind file_command, as in ".read ", files are completed.  */
void lines_start(lines_words words, const char *file_command);
void lines_end(void); /* keeps the history for the next time */

/* The next line without its end, from malloc(); NULL at the end of input, and after SIGINT
 * (interrupt_seen()).  */
char *lines_read(const char *prompt);

/* A whole statement, which may have several lines.  */
void lines_remember(const char *statement);

#endif /* FXTQ_LINE_EDITOR_H */
