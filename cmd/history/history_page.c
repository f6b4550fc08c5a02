/* history_page.c - the history as one HTML file that needs nothing else: the JSON object, and a
 * script that draws it.  Names stand in the object alone, and the script puts them into the page as
 * text.  */
#include <string.h>

#include "cmd/cli/cli_json.h"
#include "cmd/cli/template.h"
#include "cmd/history/history.h"

/* The files of cmd/history/page, built in.  */
extern const char page_history_html[], page_history_css[], page_history_js[];

static void fill(void *context, const char *word, size_t length, struct cli_output *output)
{
    const struct history_view *view = context;
    struct json json = { .output = output, .html = true };

    if (cli_template_is(word, length, "TITLE"))
        cli_template_text(output, view->title);
    else if (cli_template_is(word, length, "STYLE"))
        (void)cli_output_write(output, page_history_css, strlen(page_history_css));
    else if (cli_template_is(word, length, "SCRIPT"))
        (void)cli_output_write(output, page_history_js, strlen(page_history_js));
    else
        history_put_json(view, &json);
}

void history_write_page(const struct history_view *view, struct cli_output *output)
{
    struct history_view copy = *view;

    cli_template_write(output, page_history_html, fill, &copy);
}
