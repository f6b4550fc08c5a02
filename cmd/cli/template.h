/* template.h - HTML pages from templates whose @WORDS@ are replaced.  */
#ifndef CLI_TEMPLATE_H
#define CLI_TEMPLATE_H

#include "cmd/cli/cli.h"

/* Write the template; put writes the text in place of each @WORD@.  The template has no other "@".
 * @HEAD@, which may come first, is the opening of every page (page/head.html) up to the end of its
 * style; its words are TITLE and STYLE.  Failures stay in output->failed.  */
typedef void (*cli_template_fn)(void *context, const char *word, size_t length,
                                struct cli_output *output);
void cli_template_write(struct cli_output *output, const char *page, cli_template_fn put,
                        void *context);

/* Whether word is that one.  */
bool cli_template_is(const char *word, size_t length, const char *wanted);

/* A text as it stands between tags: no tag begins in it, and what base/visible.h refuses is
 * escaped.  */
void cli_template_text(struct cli_output *output, const char *text);

#endif /* CLI_TEMPLATE_H */
