/* text.h - a text buffer that grows.  */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero is empty.  bytes ends with a NUL after the first addition; release with
 * base_text_release() or free(text.bytes).  When memory is short, or the limit would be exceeded,
 * failed is set, the text stays as it is and later additions do nothing, so that one check at the
 * end suffices.  */
struct base_text {
    char *bytes;
    size_t length;
    size_t capacity;
    size_t limit; /* length may not exceed this; 0: no limit */
    bool failed;
};

void base_text_add(struct base_text *text, const char *bytes, size_t length);
void base_text_adds(struct base_text *text, const char *string);
void base_text_addf(struct base_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void base_text_addv(struct base_text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
/* The same where each addition is checked: returns false if it failed, and leaves failed unset.  */
bool base_text_append(struct base_text *text, const char *bytes, size_t length);
/* Empty it, keep its memory and forget a failure.  */
void base_text_clear(struct base_text *text);
void base_text_release(struct base_text *text);

#endif /* BASE_TEXT_H */
