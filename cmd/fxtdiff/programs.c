/* programs.c - what fxtdiff run runs.  */
#include "cmd/fxtdiff/programs.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/text_file.h"

enum { LIST_BYTES = 1 << 20, NAME_BYTES = 100, MAX_PROGRAMS = 1000 };

/* A line that is being read, for messages.  */
struct line {
    const char *file;
    size_t number;
    char *text;
};

static enum cli_exit refuse(const struct line *line, const char *what)
{
    cli_error("%s:%zu: %s; a line is NAME: COMMAND, as in 'parse: {}/bench parse input'",
              line->file, line->number, what);
    return CLI_USAGE;
}

/* The command with what is in each {}; none: NULL.  */
static char *fill_in(const char *command, const char *build)
{
    char *text = cli_join("", ""), *before;
    bool any = false;
    const char *hole;

    for (; (hole = strstr(command, "{}")) != NULL; command = hole + 2) {
        char *part = cli_checked(strndup(command, (size_t)(hole - command)));

        any = true;
        if (asprintf(&before, "%s%s%s", text, part, build) < 0)
            cli_out_of_memory();
        free(part);
        free(text);
        text = before;
    }
    before = text;
    text = cli_join(before, command);
    free(before);
    if (any)
        return text;
    free(text);
    return NULL;
}

/* A name becomes that of a folder.  */
static bool is_name(const char *name)
{
    return *name && *name != '.' && strlen(name) <= NAME_BYTES && !strpbrk(name, "/. \t");
}

static bool is_known(const struct diff_program *programs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(programs[i].name, name) == 0)
            return true;
    return false;
}

static enum cli_exit read_line(const struct line *line, const char *const builds[COMPARE_SIDES],
                               struct diff_program **programs, size_t *count)
{
    char *name = line->text + strspn(line->text, " \t"), *colon = strchr(name, ':');
    struct diff_program *program;

    if (*name == '\0' || *name == '#')
        return CLI_OK;
    if (!colon)
        return refuse(line, "no colon after the name");
    *colon = '\0';
    if (!is_name(name))
        return refuse(line, "a name has no dots, slashes or blanks, and at most 100 bytes");
    if (is_known(*programs, *count, name))
        return refuse(line, "the name is used twice");
    if (*count == MAX_PROGRAMS)
        return refuse(line, "more than 1,000 benchmarks");
    program = &(*programs)[*count];
    for (int side = 0; side < COMPARE_SIDES; side++) {
        program->commands[side] = fill_in(colon + 1 + strspn(colon + 1, " \t"), builds[side]);
    }
    if (!program->commands[COMPARE_BASE])
        return refuse(line, "the command has no {}, so both builds would run the same");
    program->name = cli_join(name, "");
    (*count)++;
    return CLI_OK;
}

static enum cli_exit read_list(struct diff_text_file *file, const char *const builds[COMPARE_SIDES],
                               struct diff_program **out, size_t *count)
{
    struct line line = { .file = file->name };
    enum cli_exit status = CLI_OK;
    char *next = file->bytes, *end = file->bytes + file->length;

    *end = '\0'; /* there is room for a byte more */
    while (next < end && status == CLI_OK) {
        line.text = next;
        line.number++;
        next += strcspn(next, "\n");
        if (memchr(line.text, '\0', (size_t)(next - line.text)) || (next < end && *next == '\0'))
            return refuse(&line, "a NUL byte");
        *next++ = '\0';
        status = read_line(&line, builds, out, count);
    }
    if (status == CLI_OK && *count == 0) {
        cli_error("%s: no benchmarks; a line is NAME: COMMAND", file->name);
        status = CLI_USAGE;
    }
    return status;
}

enum cli_exit diff_programs_read(const char *list, const char *const builds[COMPARE_SIDES],
                                 struct diff_program **out, size_t *count)
{
    struct diff_text_file file;
    enum cli_exit status;

    *out = cli_allocate(list ? MAX_PROGRAMS + 1 : 1, sizeof **out);
    *count = 0;
    if (!list) {
        for (int side = 0; side < COMPARE_SIDES; side++)
            (*out)->commands[side] = cli_join(builds[side], "");
        *count = 1;
        return CLI_OK;
    }
    status = diff_text_open(&file, list, LIST_BYTES);
    if (status != CLI_OK)
        return status;
    if (file.length > LIST_BYTES) {
        cli_error("%s: longer than %d bytes", file.name, (int)LIST_BYTES);
        status = CLI_USAGE;
    } else {
        status = read_list(&file, builds, out, count);
    }
    diff_text_close(&file);
    return status;
}

void diff_programs_free(struct diff_program *programs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int side = 0; side < COMPARE_SIDES; side++)
            free(programs[i].commands[side]);
        free(programs[i].name);
    }
    free(programs);
}
