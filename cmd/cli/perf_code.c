#include "cmd/cli/perf_code.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cli/cli.h"
#include "libperf/jit_files.h"

static void keep_first(char **first, const char *path)
{
    if (*first)
        return;
    *first = strdup(path);
    if (!*first)
        cli_out_of_memory();
}

/* The map, if it is a file that may be believed; -1: none.  */
static int open_map(struct cli_perf_code *code, const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;

    if (fd < 0)
        return -1;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
        if (about.st_uid == geteuid() || about.st_uid == 0)
            return fd;
        keep_first(&code->foreign, path);
        code->foreigners++;
    }
    (void)close(fd);
    return -1;
}

static int find_map(struct cli_perf_code *code, bool is_local, uint32_t pid, char *path,
                    size_t size)
{
    int folder = strcmp(code->path, "-") == 0 ? -1 : (int)(base_name(code->path) - code->path);
    int fd = -1;

    if (folder >= 0 &&
        snprintf(path, size, "%.*sperf-%" PRIu32 ".map", folder, code->path, pid) < (int)size)
        fd = open_map(code, path);
    if (fd < 0 && is_local) {
        (void)snprintf(path, size, "/tmp/perf-%" PRIu32 ".map", pid);
        fd = open_map(code, path);
    }
    return fd;
}

const char *cli_perf_code_names(struct cli_perf_code *code, bool is_local, uint32_t pid,
                                const uint64_t *addresses, size_t count, size_t *size)
{
    const struct jit_addresses seen = { addresses, count };
    char path[4096];
    int fd = find_map(code, is_local, pid, path, sizeof path);

    if (fd < 0)
        return NULL;
    base_text_clear(&code->lines);
    if (!jit_read_map(fd, &seen, &code->lines))
        cli_out_of_memory();
    (void)close(fd);
    *size = code->lines.length;
    if (*size == 0)
        return NULL;
    keep_first(&code->first, path);
    code->files++;
    return code->lines.bytes;
}

static void add_others(char *text, size_t size, size_t files)
{
    text[0] = '\0';
    if (files > 1)
        (void)snprintf(text, size, " and %zu more", files - 1);
}

void cli_perf_code_report(const struct cli_perf_code *code, const char *label)
{
    char others[40];

    add_others(others, sizeof others, code->files);
    if (code->first)
        cli_note("%s: code made at run time has names from %s%s", label, code->first, others);
    add_others(others, sizeof others, code->foreigners);
    if (code->foreign)
        cli_note("%s: not read, because it belongs to another user: %s%s", label, code->foreign,
                 others);
}

void cli_perf_code_release(struct cli_perf_code *code)
{
    base_text_release(&code->lines);
    free(code->first);
    free(code->foreign);
}
