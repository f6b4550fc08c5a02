/* emit_trace.h - records from traces into one new trace, so that each says there what it said
 * before.
 *
 * Strings, threads and clocks belong to a provider (docs/formats/fxt.md section 1.5), and what a
 * provider lacks is taken from what stands before the first provider record.  So a record is
 * written behind all that it needs: a record that makes its provider the current one, its clock,
 * and the strings and threads it refers to, as they were when it was read.  The record itself is
 * copied as it is, byte for byte.
 *
 * Memory: 5 KiB a provider, at most EMIT_MAX_PROVIDERS of them.  */
#ifndef EMIT_TRACE_H
#define EMIT_TRACE_H

#include "base/map.h"
#include "cmd/fxtcat/fxtcat.h"

#define EMIT_MAX_PROVIDERS 65536u

enum emit_tables {
    /* Records of tables and clocks are written when a record first needs them; those that none
     * needs are left out.  Provider ids stay.  */
    EMIT_AS_NEEDED,
    /* They are written where they stand.  Every input's providers get ids of their own, also the
     * nameless one from before the first provider record, which is named after the file.  */
    EMIT_IN_PLACE,
};

struct emit {
    struct job *job;
    enum emit_tables tables;
    struct fxt_writer *writer;
    struct emit_provider *providers; /* of the present input */
    size_t count, capacity;
    struct base_map by_id; /* id in the present input to index in providers */
    struct base_map taken; /* ids in the output */
    uint32_t next_id;      /* those from 1 below it are taken */
    size_t present;        /* index of the provider that is current in the output, or SIZE_MAX */
    size_t source;         /* index of the provider that is current in the input, or SIZE_MAX */
    bool in_default;       /* no provider record was read yet */
    char name[256];        /* of the present input */
};

/* Start with a magic record.  CLI_OK, or CLI_ENVIRONMENT after a message.  */
enum cli_exit emit_open(struct emit *emit, struct job *job, enum emit_tables tables);

/* The records of another input follow.  */
void emit_start(struct emit *emit, const char *path);

/* One record of the input, right after it was read.  wanted: it is to be in the output; records of
 * tables, clocks and providers must be given all the same.  A failure ends in the job.  */
void emit_record(struct emit *emit, const struct fxt_record *record, bool wanted);

void emit_close(struct emit *emit);

#endif /* EMIT_TRACE_H */
