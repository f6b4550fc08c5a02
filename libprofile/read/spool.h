/* spool.h - encoded samples that wait for the tables: in memory, then in a file without a name.  */
#ifndef PROFILE_READ_SPOOL_H
#define PROFILE_READ_SPOOL_H

#include "libprofile/profile_internal.h"

struct spool {
    const char *directory; /* borrowed */
    size_t most;           /* bytes in memory */
    uint8_t *bytes;        /* entries: length as uint32_t, then that many bytes */
    size_t start, used, capacity;
    int fd;             /* -1: no file yet */
    bool reading;       /* bytes [start, used) are what was read from the file */
    uint64_t count;     /* entries added */
    uint64_t file_left; /* bytes of the file still to be read */
};

void spool_open(struct spool *spool, const char *directory, size_t most);
/* length fits uint32_t.  */
enum profile_status spool_add(struct spool *spool, const void *bytes, size_t length,
                              struct profile_error *error);
/* The entries in the order in which they came, borrowed until the next call; *out is NULL behind
 * the last.  Nothing is added any more.  */
enum profile_status spool_next(struct spool *spool, const uint8_t **out, size_t *length,
                               struct profile_error *error);
void spool_release(struct spool *spool);

#endif /* PROFILE_READ_SPOOL_H */
