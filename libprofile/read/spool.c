/* spool.c - entries in memory, the older ones in a temporary file.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "libprofile/read/spool.h"

void spool_open(struct spool *spool, const char *directory, size_t most)
{
    *spool = (struct spool){ .directory = directory, .most = most, .fd = -1 };
}

void spool_release(struct spool *spool)
{
    if (spool->fd >= 0)
        (void)close(spool->fd);
    spool->fd = -1;
    free(spool->bytes);
    spool->bytes = NULL;
}

static enum profile_status open_file(struct spool *spool, struct profile_error *error)
{
    spool->fd = base_temporary_file(spool->directory);
    return spool->fd >= 0 ? PROFILE_OK : profile_fail_temporary(error, errno, spool->directory);
}

/* Move what is in memory to the file.  */
static enum profile_status write_out(struct spool *spool, struct profile_error *error)
{
    enum profile_status status = spool->fd < 0 ? open_file(spool, error) : PROFILE_OK;
    size_t done = 0;

    while (done < spool->used && status == PROFILE_OK) {
        ssize_t written = write(spool->fd, spool->bytes + done, spool->used - done);

        if (written > 0)
            done += (size_t)written;
        else if (written == 0 || errno != EINTR)
            status = profile_fail_temporary(error, written < 0 ? errno : ENOSPC, spool->directory);
    }
    spool->file_left += done;
    spool->used = 0;
    return status;
}

enum profile_status spool_add(struct spool *spool, const void *bytes, size_t length,
                              struct profile_error *error)
{
    uint32_t head = (uint32_t)length;
    size_t size = sizeof head + length;

    if (spool->used > 0 &&
        size > spool->most - (spool->used < spool->most ? spool->used : spool->most)) {
        enum profile_status status = write_out(spool, error);

        if (status != PROFILE_OK)
            return status;
    }
    if (!base_make_room(&spool->bytes, &spool->capacity, spool->used + size, 1))
        return profile_no_memory(error);
    memcpy(spool->bytes + spool->used, &head, sizeof head);
    if (length > 0)
        memcpy(spool->bytes + spool->used + sizeof head, bytes, length);
    spool->used += size;
    spool->count++;
    return PROFILE_OK;
}

/* At least size bytes at start, read from the file; there are so many.  */
static enum profile_status fill(struct spool *spool, size_t size, struct profile_error *error)
{
    size_t there = spool->used - spool->start;

    if (there >= size)
        return PROFILE_OK;
    if (size > spool->capacity) {
        if (!base_make_room(&spool->bytes, &spool->capacity, size, 1))
            return profile_no_memory(error);
    }
    memmove(spool->bytes, spool->bytes + spool->start, there);
    spool->start = 0;
    spool->used = there;
    while (spool->used < size) {
        ssize_t got = read(spool->fd, spool->bytes + spool->used, spool->capacity - spool->used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return profile_fail_temporary(error, got < 0 ? errno : EIO, spool->directory);
        spool->used += (size_t)got;
        spool->file_left -= (uint64_t)got;
    }
    return PROFILE_OK;
}

static enum profile_status start_reading(struct spool *spool, struct profile_error *error)
{
    enum profile_status status;

    spool->reading = true;
    if (spool->fd < 0)
        return PROFILE_OK;
    status = write_out(spool, error);
    if (status == PROFILE_OK && lseek(spool->fd, 0, SEEK_SET) < 0)
        status = profile_fail_temporary(error, errno, spool->directory);
    return status;
}

enum profile_status spool_next(struct spool *spool, const uint8_t **out, size_t *length,
                               struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    uint32_t head = 0;

    *out = NULL;
    *length = 0;
    if (!spool->reading)
        status = start_reading(spool, error);
    if (status != PROFILE_OK || (spool->start == spool->used && spool->file_left == 0))
        return status;
    status = fill(spool, sizeof head, error);
    if (status != PROFILE_OK)
        return status;
    memcpy(&head, spool->bytes + spool->start, sizeof head);
    status = fill(spool, sizeof head + head, error);
    if (status != PROFILE_OK)
        return status;
    *out = spool->bytes + spool->start + sizeof head;
    *length = head;
    spool->start += sizeof head + head;
    return PROFILE_OK;
}
