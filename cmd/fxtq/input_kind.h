/* input_kind.h - the kind of a file, by its first bytes, without losing them: they may come from a
 * pipe.  */
#ifndef FXTQ_INPUT_KIND_H
#define FXTQ_INPUT_KIND_H

#include <stddef.h>

#include <fxt/fxt.h>
#include <fxt/store.h>
#include "cmd/cli/cli.h"

struct start {
    const char *path; /* borrowed */
    int fd;           /* -1: not open */
    bool is_stdin;
    bool can_reopen; /* whoever opens it again gets its first bytes */
    bool is_profile;
    enum store_profile_format format; /* of a profile */
    const char *foreign;              /* what it is, if that is known and not read; NULL */

    /* Bytes as they stand in the file, compressed or not, which were read to tell.  */
    unsigned char *bytes;
    size_t length, next;
};

/* Open path ("-" is standard input) and tell what it is.  False: it cannot be opened, or is no file
 * to read from; whoever opens it next will say so.  */
bool start_open(struct start *start, const char *path);

/* The whole file from its first byte on: an fxt_read_fn, whose context is the start.  */
ptrdiff_t start_read(void *start, void *buffer, size_t size);

void start_close(struct start *start);

/* Whether a file is a store.  The file stays open, for the part that reads it and because SQLite
 * may have it open (cmd/cli/cli_input.h).  */
bool start_is_store(const char *path);

#endif /* FXTQ_INPUT_KIND_H */
