/* window.c - bytes of the file, a window at a time.  */
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "libperf/perf_internal.h"

void perf_window_open(struct perf_window *window, int fd, struct perf_blocks *blocks)
{
    *window = (struct perf_window){ .fd = fd, .blocks = blocks, .end = UINT64_MAX };
    window->can_seek = lseek(fd, 0, SEEK_CUR) >= 0;
}

void perf_window_release(struct perf_window *window)
{
    perf_block_drop(window->blocks, window->block);
    window->block = NULL;
    window->buffer = NULL;
}

static ssize_t read_some(const struct perf_window *window, uint64_t offset, void *bytes,
                         size_t size)
{
    ssize_t count;

    if (window->can_seek && offset > INT64_MAX - size)
        return 0;
    do
        count = window->can_seek ? pread(window->fd, bytes, size, (off_t)offset)
                                 : read(window->fd, bytes, size);
    while (count < 0 && errno == EINTR);
    return count;
}

/* Read more bytes to the end of the buffer, which has room.  */
static void read_more(struct perf_window *window)
{
    size_t there = window->limit - window->start;
    size_t room = PERF_BLOCK_BYTES - window->limit;
    uint64_t at = window->offset + there;
    ssize_t count;

    if (room > window->end - at)
        room = (size_t)(window->end - at);
    count = room > 0 ? read_some(window, at, window->buffer + window->limit, room) : 0;
    if (count > 0) {
        window->limit += (size_t)count;
        return;
    }
    window->ended = true;
    if (count < 0)
        window->failure = errno;
}

/* Room for size bytes from start on.  Where records of the block wait, what is there goes on in
 * another one.  */
static bool make_room(struct perf_window *window, size_t size)
{
    size_t there = window->limit - window->start;
    struct perf_block *block = window->block;

    if (block && block->users > 1) {
        if (size <= PERF_BLOCK_BYTES - window->start && window->limit < PERF_BLOCK_BYTES)
            return true;
        block = NULL;
    }
    if (!block)
        block = perf_block_take(window->blocks);
    if (!block) {
        window->failure = ENOMEM;
        window->ended = true;
        return false;
    }
    if (there > 0)
        memmove(block->bytes, window->buffer + window->start, there);
    if (block != window->block)
        perf_block_drop(window->blocks, window->block);
    window->block = block;
    window->buffer = block->bytes;
    window->start = 0;
    window->limit = there;
    return true;
}

size_t perf_window_need(struct perf_window *window, size_t size)
{
    if (window->limit - window->start < size && !window->ended)
        (void)make_room(window, size);
    while (window->limit - window->start < size && !window->ended)
        read_more(window);
    return window->limit - window->start;
}

void perf_window_take(struct perf_window *window, size_t size)
{
    window->start += size;
    window->offset += size;
}

bool perf_window_skip(struct perf_window *window, uint64_t *size)
{
    while (*size > 0) {
        size_t there = perf_window_need(window, 1);

        if (there == 0)
            return false;
        if (there > *size)
            there = (size_t)*size;
        perf_window_take(window, there);
        *size -= there;
        if (window->can_seek && *size > PERF_BLOCK_BYTES) {
            if (*size > window->end - window->offset)
                return false;
            perf_window_seek(window, window->offset + *size - 1, window->end);
            *size = 1;
        }
    }
    return true;
}

void perf_window_seek(struct perf_window *window, uint64_t offset, uint64_t end)
{
    window->start = window->limit; /* what is before it may wait */
    window->offset = offset;
    window->end = end < offset ? offset : end;
    window->ended = false;
}

size_t perf_window_peek(struct perf_window *window, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t count = read_some(window, offset + done, (uint8_t *)bytes + done, size - done);

        if (count < 0)
            window->failure = errno;
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    return done;
}

bool perf_window_read(struct perf_window *window, uint64_t offset, void *bytes, size_t size)
{
    return perf_window_peek(window, offset, bytes, size) == size;
}
