/* history_options.c - the options of commands that find change points.  */
#include "cmd/history/history.h"

enum {
    KEY_JSON = HISTORY_OPTION_KEYS,
    KEY_HTML,
    KEY_ORDER,
    KEY_REPOSITORY,
    KEY_RECENT,
    KEY_LEVEL,
    KEY_FLOOR,
    KEY_MIN_REL,
    KEY_MIN_SHARE,
    KEY_METRIC,
    KEY_ROWS,
    KEY_TITLE
};

static const char *const metrics[] = { "both", "self", "total", NULL }; /* as enum compare_metric */

const struct cli_option history_options[] = {
    { KEY_JSON, 0, "json", NULL, "print one JSON object (schemas/fxthistory.schema.json)" },
    { KEY_HTML, 0, "html", "FILE", "write a page with a plot of each function", CLI_FILE },
    { KEY_ORDER, 0, "order", "ORDER",
      "order commits as git rev-list does (git), by name, or as given; auto, the default, is git "
      "if a repository has them all, else name",
      .choices = history_orders },
    { KEY_REPOSITORY, 0, "repository", "DIR", "the git work tree to ask (default: this folder)",
      CLI_FOLDER },
    { KEY_RECENT, 0, "recent", "N",
      "exit with status 1 if a cost began to grow in the last N commits" },
    { KEY_LEVEL, 0, "level", "PART",
      "accept false changes in this part of histories without a change (default 5%)" },
    { KEY_FLOOR, 0, "floor", "SHARE",
      "do not test functions that never reach this share (default 0.5%)" },
    { KEY_MIN_REL, 0, "min-rel", "PART", "ignore smaller relative changes (default 2%)" },
    { KEY_MIN_SHARE, 0, "min-share", "POINTS", "ignore smaller changes in share (default 0.1pp)" },
    { KEY_METRIC, 0, "metric", "METRIC",
      "test self cost (default), total cost (with callees), or both", .choices = metrics },
    { KEY_ROWS, 0, "rows", "N", "print N changed functions (default 20; 0: all)" },
    { KEY_TITLE, 0, "title", "TEXT", "title of the page (default: the first input)" },
    { 0 },
};

void history_request_init(struct history_request *request)
{
    *request = (struct history_request){ .repository = ".", .rows = 20 };
    compare_history_options_init(&request->options);
}

bool history_option(struct history_request *request, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case KEY_JSON:
        request->json = true;
        return true;
    case KEY_HTML:
        request->html = value;
        return true;
    case KEY_ORDER:
        request->order = (enum history_order)parser->choice;
        return true;
    case KEY_REPOSITORY:
        request->repository = value;
        return true;
    case KEY_RECENT:
        request->recent = (size_t)cli_number("--recent", value, 1, COMPARE_HISTORY_MAX_COMMITS);
        return true;
    case KEY_LEVEL:
        request->options.level = cli_part("--level", value, 0.5);
        if (!(request->options.level >= 1e-4))
            cli_usage_error("--level: the least is 0.01%%");
        return true;
    case KEY_FLOOR:
        request->options.floor = cli_part("--floor", value, 1);
        return true;
    case KEY_MIN_REL:
        request->options.min_rel = cli_part("--min-rel", value, 100);
        return true;
    case KEY_MIN_SHARE:
        request->options.min_share = cli_part("--min-share", value, 1);
        return true;
    case KEY_METRIC:
        request->options.metric = (enum compare_metric)parser->choice;
        return true;
    case KEY_ROWS:
        request->rows = (size_t)cli_number("--rows", value, 0, UINT32_MAX);
        return true;
    case KEY_TITLE:
        request->title = value;
        return true;
    default:
        return false;
    }
}

void history_check(struct history_request *request, const struct cli_texts *operands)
{
    if (request->html)
        cli_output_check(request->html, operands);
    if (!request->title)
        request->title = operands->items[0];
}
