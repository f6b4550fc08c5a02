#include "tests/support/symbolize_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[256];

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

const char *build_folder(void)
{
    const char *base = getenv("WORK");

    if (!base)
        base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/symbolizeXXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder))
        give_up(folder);
    char *cache = build_path(".cache"); /* not the user's */
    if (setenv("XDG_CACHE_HOME", cache, 1) != 0)
        give_up(cache);
    free(cache);
    return folder;
}

void build_remove(void)
{
    build_run("chmod -R u+rwx . && rm -rf \"$PWD\"");
}

char *build_path(const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", folder, name) < 0)
        give_up(name);
    return path;
}

void build_write(const char *name, const char *text)
{
    char *path = build_path(name);
    FILE *file = fopen(path, "w");

    if (!file || fputs(text, file) == EOF || fclose(file) != 0)
        give_up(path);
    free(path);
}

void build_run(const char *command)
{
    char *whole;

    if (asprintf(&whole, "cd '%s' && CC=${CC:-cc} && %s", folder, command) < 0)
        give_up(command);
    if (system(whole) != 0)
        give_up(command);
    free(whole);
}

uint64_t build_symbol(const char *name, const char *symbol)
{
    char *command, line[64] = "";

    if (asprintf(&command, "nm '%s/%s' | awk '$3 == \"%s\" { print $1 }'", folder, name, symbol) <
        0)
        give_up(name);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        give_up(command);
    uint64_t vaddr = fgets(line, sizeof line, pipe) ? strtoull(line, NULL, 16) : 0;
    (void)pclose(pipe);
    free(command);
    return vaddr;
}

bool built_keep(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct built_answer *answer = (struct built_answer *)context + index;

    answer->calls++;
    answer->count = count;
    for (size_t i = 0; i < count && i < BUILT_FRAMES_MAX; i++)
        answer->frames[i] = frames[i];
    return true;
}
