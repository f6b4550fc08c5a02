/* byte_source.h - a window over an input, for the readers of other tools' profiles.  */
#ifndef PROFILE_READ_BYTE_SOURCE_H
#define PROFILE_READ_BYTE_SOURCE_H

#include <fxt/profile_files.h>
#include "libprofile/profile_internal.h"

struct source {
    struct fxt_input *input;
    uint8_t *buffer;
    size_t start, limit, capacity; /* what is there: [start, limit) of buffer */
    uint64_t offset;               /* uncompressed bytes before start */
    size_t searched;               /* bytes behind start that hold no line end */
    bool ended;                    /* nothing comes behind limit */
    bool corrupt;                  /* it ended in compressed data that cannot be unpacked */
    enum profile_status status;    /* of the first failure: PROFILE_IO, PROFILE_NO_MEMORY */
    struct profile_error *error;
    void (*seen)(void *context, const void *bytes, size_t length); /* may be NULL */
    void *seen_context;
};

void source_open(struct source *source, struct fxt_input *input,
                 const struct profile_read_options *options, struct profile_error *error);
void source_release(struct source *source);

static inline const uint8_t *source_bytes(const struct source *source)
{
    return source->buffer + source->start;
}

/* How many bytes stand at source_bytes(): at least size, or all there are.  0 after a failure.  */
size_t source_need(struct source *source, size_t size);
void source_take(struct source *source, size_t size); /* of those that stand there */
/* Pass over size bytes that may not be there yet; false when there are fewer.  */
bool source_skip(struct source *source, uint64_t size);

/* The next line, taken: its length without the line end, borrowed at *line until the next call.
 * Lines over most bytes are passed over: *line is then NULL.  False at the end, after a failure,
 * and at a line whose end is missing because compressed data are cut or corrupt.  */
bool source_line(struct source *source, size_t most, const char **line, size_t *length);

/* Bounds that the caller chose, or those that are given to who chose none.  */
struct profile_read_options read_options(const struct profile_read_options *options);

/* The tables of a profile need more than most bytes: PROFILE_LIMIT, with a message.  */
enum profile_status fail_tables(struct profile_error *error, size_t most);

/* Remember where the first damage lies.  */
void note_damage(struct profile_read_notices *notices, uint64_t offset);

/* Reading ends before the file does: cut, corrupt or stopped of notices, and where.  */
void note_early_end(struct profile_read_notices *notices, bool *kind, uint64_t offset);
/* The same if the compressed data of source are cut or corrupt.  */
void note_packed_end(struct profile_read_notices *notices, const struct source *source);

#endif /* PROFILE_READ_BYTE_SOURCE_H */
