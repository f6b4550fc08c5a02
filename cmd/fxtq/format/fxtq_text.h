/* fxtq_text.h - texts that grow (base/text.h), for a program that ends when memory is short.  */
#ifndef FXTQ_TEXT_H
#define FXTQ_TEXT_H

#include "base/text.h"

/* As base_text_add() and its siblings; without memory the program ends.  */
void text_add(struct base_text *text, const char *bytes, size_t length);
void text_adds(struct base_text *text, const char *string);
void text_addf(struct base_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As it may be shown to people (base/visible.h).  */
void text_add_visible(struct base_text *text, const char *bytes, size_t length);

#endif /* FXTQ_TEXT_H */
