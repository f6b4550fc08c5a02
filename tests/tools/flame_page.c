/* flame_page - the page of "fxtq flamegraph" from plain lines, so that the page can be tested
 * alone.
 *
 *   flame_page [--diff] TITLE TYPE/UNIT... < ROWS > PAGE
 *
 * A line is COLUMN, LEVEL, FUNCTION, MODULE and SELF, separated by tabs, and perhaps the function's
 * place; a line "COLUMN" begins a walk.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/flame/page.h"

static struct flame_page_type take_type(char *text)
{
    char *slash = strchr(text, '/');

    if (!slash)
        exit(2);
    *slash = '\0';
    return (struct flame_page_type){ text, slash + 1 };
}

static void read_rows(struct flame_page *page)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, stdin) > 0) {
        char *rest = line;
        const char *column = strsep(&rest, "\t\n"), *level = strsep(&rest, "\t\n");
        const char *function, *module, *self;

        if (!rest || !*level) {
            flame_page_begin(page, strtoul(column, NULL, 10));
            continue;
        }
        function = strsep(&rest, "\t");
        module = strsep(&rest, "\t");
        self = strsep(&rest, "\t\n");
        if (!self ||
            !flame_page_row(page, strtoul(level, NULL, 10), function, module, strtod(self, NULL)))
            exit(3);
        if (rest && *rest)
            flame_page_place(page, function, module, strsep(&rest, "\n"));
    }
    free(line);
}

int main(int argc, char **argv)
{
    struct flame_page_head head = { .diff = argc > 1 && strcmp(argv[1], "--diff") == 0 };
    struct flame_page_type types[8];
    struct cli_output output;
    struct flame_page *page;

    argv += 1 + head.diff;
    head.title = *argv++;
    head.types = types;
    while (*argv && head.type_count < 8)
        types[head.type_count++] = take_type(*argv++);
    page = flame_page_open(head.type_count * (head.diff ? 2 : 1));
    read_rows(page);
    if (head.diff)
        flame_page_match(page);
    if (cli_output_open(&output, "-") != CLI_OK || flame_page_write(page, &head, &output) != 0)
        return 4;
    flame_page_close(page);
    return (int)cli_output_commit(&output);
}
