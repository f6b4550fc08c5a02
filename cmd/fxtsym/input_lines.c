/* Lines from a file, a pipe or a terminal: many at once when they are there, one when somebody
 * waits for its answer.  */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtsym/fxtsym.h"

void lines_open(struct lines *lines, int fd)
{
    *lines = (struct lines){ .fd = fd };
    lines->buffer = cli_allocate(1, LINE_BYTES_MAX);
}

void lines_close(struct lines *lines)
{
    free(lines->buffer);
    *lines = (struct lines){ .fd = -1 };
}

/* Moves what is left to the front.  */
static void release(struct lines *lines)
{
    if (lines->start == 0)
        return;
    memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
    lines->searched -= lines->start;
    lines->end -= lines->start;
    lines->start = 0;
}

static bool readable_now(int fd)
{
    struct pollfd state = { .fd = fd, .events = POLLIN };

    return poll(&state, 1, 0) > 0;
}

static void read_more(struct lines *lines)
{
    ssize_t got;

    do
        got = read(lines->fd, lines->buffer + lines->end, LINE_BYTES_MAX - lines->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        lines->failed = errno;
    if (got <= 0)
        lines->ended = true;
    else
        lines->end += (size_t)got;
}

static enum line_kind take(struct lines *lines, size_t limit, enum line_kind kind,
                           const char **line, size_t *length)
{
    *line = lines->buffer + lines->start;
    *length = limit - lines->start;
    lines->start = lines->searched = limit;
    return kind;
}

const char *lines_waiting(const struct lines *lines, size_t *length)
{
    const char *start = lines->buffer + lines->start;
    const char *end = memrchr(start, '\n', lines->end - lines->start);

    *length = end ? (size_t)(end - start) + 1 : 0;
    return start;
}

void lines_skip(struct lines *lines, size_t length)
{
    lines->start += length;
    lines->searched = lines->start;
}

enum line_kind lines_next(struct lines *lines, bool wait, const char **line, size_t *length)
{
    for (;;) {
        const char *end = memchr(lines->buffer + lines->searched, '\n',
                                 lines->end - lines->searched);

        if (end)
            return take(lines, (size_t)(end - lines->buffer) + 1, LINE_WHOLE, line, length);
        lines->searched = lines->end;
        if (lines->ended && lines->start == lines->end)
            return LINE_END;
        if (lines->ended)
            return take(lines, lines->end, LINE_WHOLE, line, length);
        if (wait || !lines->held)
            release(lines);
        if (lines->start == 0 && lines->end == LINE_BYTES_MAX)
            return take(lines, lines->end, LINE_PART, line, length);
        if (lines->end == LINE_BYTES_MAX || (!wait && !readable_now(lines->fd)))
            return LINE_NONE;
        read_more(lines);
    }
}
