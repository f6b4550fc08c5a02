/* text.h - text that grows.  */
#ifndef FXTQ_TEXT_H
#define FXTQ_TEXT_H

#include <stddef.h>

/* All zero: empty.  bytes ends with NUL once anything was added; free() it.  */
struct text {
    char *bytes;
    size_t length;
    size_t capacity;
};

/* Memory or the end of the program (cli_allocate()).  */
void text_add(struct text *text, const char *bytes, size_t length);
void text_adds(struct text *text, const char *string);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As an SQL string literal: in quotes, those inside doubled.  */
void text_add_literal(struct text *text, const char *string);

/* Control characters as "\n", "\x1b"; what is no UTF-8 as U+FFFD: it must not drive a terminal, and
 * a row stays one line.  */
void text_add_visible(struct text *text, const char *bytes, size_t length);

#endif /* FXTQ_TEXT_H */
