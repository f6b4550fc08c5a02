/* text_file.c - small files that are read whole.  */
#include "cmd/fxtdiff/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli_input.h"

/* 0 or errno.  */
static int read_all(struct diff_text_file *file, int fd, size_t most)
{
    file->bytes = cli_allocate(most + 1, 1);
    while (file->length <= most) {
        ssize_t got = read(fd, file->bytes + file->length, most + 1 - file->length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : 0;
        file->length += (size_t)got;
    }
    return 0;
}

enum cli_exit diff_text_open(struct diff_text_file *file, const char *path, size_t most)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : cli_input_open(path);
    int failed = errno;

    *file = (struct diff_text_file){ .name = is_stdin ? "standard input" : path };
    if (fd >= 0)
        failed = read_all(file, fd, most);
    if (fd >= 0 && !is_stdin)
        cli_input_close(path, fd);
    if (fd >= 0 && failed == 0)
        return CLI_OK;
    cli_error("%s: %s", file->name, strerror(failed));
    diff_text_close(file);
    return CLI_ENVIRONMENT;
}

void diff_text_close(struct diff_text_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
}
