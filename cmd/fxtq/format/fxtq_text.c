#include "cmd/fxtq/format/fxtq_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "cmd/cli/cli.h"

static void check(const struct base_text *text)
{
    if (text->failed)
        cli_out_of_memory();
}

void text_add(struct base_text *text, const char *bytes, size_t length)
{
    base_text_add(text, bytes, length);
    check(text);
}

void text_adds(struct base_text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_addf(struct base_text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    base_text_addv(text, format, arguments);
    va_end(arguments);
    check(text);
}

void text_add_visible(struct base_text *text, const char *bytes, size_t length)
{
    base_text_add_visible(text, bytes, length);
    check(text);
}
