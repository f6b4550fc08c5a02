#include "cmd/cli/template.h"

#include <string.h>

#include "base/visible.h"

extern const char page_head_html[];

static void put(struct cli_output *output, const char *text)
{
    (void)cli_output_write(output, text, strlen(text));
}

bool cli_template_is(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(word, wanted, length) == 0;
}

void cli_template_text(struct cli_output *output, const char *text)
{
    size_t length = strlen(text), size;

    for (size_t i = 0; i < length; i += size) {
        char visible[BASE_ESCAPE_BYTES];

        if (!base_shown_as_is(text + i, length - i, &size))
            (void)cli_output_write(output, visible, base_escape(visible, text + i, size));
        else if (text[i] == '<')
            put(output, "&lt;");
        else if (text[i] == '&')
            put(output, "&amp;");
        else
            (void)cli_output_write(output, text + i, size);
    }
}

/* Write a template without @HEAD@.  */
static void write_part(struct cli_output *output, const char *part, cli_template_fn fill,
                       void *context)
{
    const char *at = part;

    for (const char *mark; (mark = strchr(at, '@')); at = strchr(mark + 1, '@') + 1) {
        (void)cli_output_write(output, at, (size_t)(mark - at));
        fill(context, mark + 1, (size_t)(strchr(mark + 1, '@') - mark - 1), output);
    }
    put(output, at);
}

void cli_template_write(struct cli_output *output, const char *page, cli_template_fn fill,
                        void *context)
{
    static const char head[] = "@HEAD@";
    const char *mark = strstr(page, head);

    if (mark) {
        (void)cli_output_write(output, page, (size_t)(mark - page));
        write_part(output, page_head_html, fill, context);
        page = mark + sizeof head - 1;
    }
    write_part(output, page, fill, context);
}
