/* perf_internal.h - the parts of a perf.data file.  Private to libperf.
 *
 *   data.c     open, next record, notices
 *   window.c   bytes of the file, a window at a time
 *   attributes.c attributes: events and the ids of their samples
 *   facts.c    features: what the file says of the machine
 *   known_files.c    functions of files that were mapped
 *   expand.c   compressed records
 *   order.c    records that wait for their order, and the blocks that they are in
 *   decode.c   the contents of records
 *   auxtrace.c traces that hardware wrote
 *   kinds.c    names of kinds and events
 */
#ifndef PERF_INTERNAL_H
#define PERF_INTERNAL_H

#include "base/arena.h"
#include "base/index.h"
#include "libperf/cursor.h"
#include "libperf/perf_data.h"

#define PERF_HEADER_BYTES 8u /* of a record: type, misc, size */
#define PERF_MAX_RECORD   65536u

#define PERF_AUXTRACE_BYTES 48u /* a record AUXTRACE, without the bytes after it */

/* ---- Bytes of the file (window.c) ---- */

/* Records are not copied: those that wait for their order keep the block that they are in.  */
#define PERF_BLOCK_BYTES ((size_t)256 << 10)

struct perf_block {
    struct perf_block *next;
    size_t users; /* what fills it, and records that wait or are still borrowed */
    uint8_t bytes[PERF_BLOCK_BYTES];
};

struct perf_blocks {
    struct perf_block *free;
    size_t given;
};

struct perf_window {
    int fd;
    bool can_seek;
    struct perf_blocks *blocks;
    struct perf_block *block; /* NULL before the first bytes */
    uint8_t *buffer;          /* its bytes */
    size_t start, limit;      /* what is there: [start, limit) of buffer */
    uint64_t offset;          /* of start, in the file */
    uint64_t end;             /* nothing is read from here on */
    bool ended;
    int failure; /* errno of the first failure */
};

/* ---- Events (attributes.c) ---- */

struct perf_id {
    uint64_t id;
    uint32_t event;
};

struct perf_events {
    struct perf_data_event *items;
    size_t count, capacity;
    struct perf_id *ids;
    size_t id_count, id_capacity;
    struct base_index id_index;
};

/* ---- Compressed records (expand.c) ---- */

struct perf_expansion {
    void *stream; /* ZSTD_DStream; NULL before the first */
    uint8_t *bytes;
    size_t start, limit, capacity;
    uint64_t offset; /* of the record whose contents came last */
};

/* ---- Records that wait (order.c) ---- */

struct perf_waiting {
    uint64_t time_ns;
    uint64_t offset;
    const uint8_t *bytes;
    struct perf_block *block;
    uint32_t size;
};

/* Items [next, limit) of an order, which are in order.  */
struct perf_run {
    uint64_t time_ns; /* of the next one */
    size_t next, limit;
};

struct perf_order {
    struct perf_blocks *blocks;
    struct perf_waiting *items;
    size_t count, capacity;
    struct perf_run *runs; /* while records go on, a heap with the earliest record's first */
    size_t run_count, run_capacity;
    size_t waiting;   /* items that did not go on */
    bool is_open;     /* the last run can be added to */
    bool is_draining; /* records go on now: left of them, up to limit_ns */
    uint64_t limit_ns;
    size_t left;
    struct perf_block *filled; /* with copies; NULL before the first */
    size_t used;               /* bytes of it */
    size_t bytes, limit;       /* of records that wait */
    uint64_t round_ns;         /* the latest time of the rounds that are over */
    uint64_t latest_ns;        /* of all records that were added */
    uint64_t told_ns;          /* of the last that went on */
    bool has_round;
};

/* ---- The file ---- */

struct perf_data {
    struct perf_blocks blocks;
    struct perf_window window;
    bool swap; /* the file has the other byte order */
    struct perf_events events;
    struct perf_data_facts facts;
    struct perf_data_build_id *build_ids;
    size_t build_id_count, build_id_capacity;
    struct perf_data_file *files;
    size_t file_count, file_capacity;
    struct base_index file_index; /* by path */
    struct base_arena arena;      /* texts, symbols */
    struct perf_expansion expansion;
    struct perf_order order;
    struct perf_data_record record;
    struct perf_data_notices notices;
    struct perf_waiting last; /* what was delivered last, and is still borrowed */
    bool has_last;
    uint64_t to_skip;  /* bytes to pass over before the next record */
    uint64_t ids_read; /* of all attributes */
    bool ended;
    bool out_of_memory;
};

enum perf_data_status perf_fail(struct perf_data_error *error, enum perf_data_status status,
                                int system_errno, const char *message);
enum perf_data_status perf_no_memory(struct perf_data_error *error);
/* Bytes that follow a record of the file and are not in its size.  */
uint64_t perf_bytes_after(const struct perf_data *data, uint32_t kind, const uint8_t *bytes,
                          size_t size);
/* Note damage at offset; count is the member of the notices that counts it.  */
void perf_note(struct perf_data *data, uint64_t *count, uint64_t offset);

/* window.c */
void perf_window_open(struct perf_window *window, int fd, struct perf_blocks *blocks);
void perf_window_release(struct perf_window *window);
/* How many bytes there are at perf_window_bytes(): at least size, which is at most
 * PERF_BLOCK_BYTES, or all.  */
size_t perf_window_need(struct perf_window *window, size_t size);
static inline const uint8_t *perf_window_bytes(const struct perf_window *window)
{
    return window->buffer + window->start;
}
void perf_window_take(struct perf_window *window, size_t size);
/* Pass over bytes; false when there are fewer: *size are missing.  */
bool perf_window_skip(struct perf_window *window, uint64_t *size);
/* Go on from offset up to end; the file can seek.  */
void perf_window_seek(struct perf_window *window, uint64_t offset, uint64_t end);
/* Read exactly size bytes at offset of a file that can seek.  */
bool perf_window_read(struct perf_window *window, uint64_t offset, void *bytes, size_t size);
/* The same, with less if the file ends.  Returns how many bytes there are.  */
size_t perf_window_peek(struct perf_window *window, uint64_t offset, void *bytes, size_t size);

/* attributes.c */
/* Add the event of an attribute; size is what there is of it.  False, with nothing added, when it
 * cannot be read or when memory is short (out_of_memory).  */
bool perf_events_add(struct perf_data *data, const uint8_t *attribute, size_t size);
bool perf_events_add_id(struct perf_data *data, uint64_t id, size_t event);
bool perf_events_name(struct perf_data *data, size_t event, const char *name, size_t length);
/* The event of an id; false when there is none.  */
bool perf_events_find(const struct perf_data *data, uint64_t id, uint32_t *event);
void perf_events_release(struct perf_events *events);

/* facts.c */
/* False: the contents of a feature do not fit into it.  */
bool perf_facts_feature(struct perf_data *data, uint32_t feature, struct perf_cursor cursor);
/* The feature sections after the data of the form of files.  */
void perf_facts_sections(struct perf_data *data, const uint64_t features[4], uint64_t offset);
/* The entry of a build ID: what a record of type 67 has, its header included.  */
bool perf_facts_build_id(struct perf_data *data, struct perf_cursor cursor, uint16_t misc);

/* known_files.c */
/* The features FILE and FILE2.  False: they cannot be read from somewhere on.  */
bool perf_files_read(struct perf_data *data, struct perf_cursor *cursor);
bool perf_files_read_messages(struct perf_data *data, struct perf_cursor *cursor);
void perf_files_release(struct perf_data *data);

/* expand.c */
/* Add records to those not read yet: they come before those of the file.  */
bool perf_expansion_add(struct perf_data *data, const uint8_t *bytes, size_t size, uint64_t offset);
/* Decompress the contents of a record and add them to those not read yet.  */
void perf_expand(struct perf_data *data, const uint8_t *bytes, size_t size, uint64_t offset);
void perf_expansion_release(struct perf_expansion *expansion);

/* order.c */
/* A block with one user; NULL: no memory.  */
struct perf_block *perf_block_take(struct perf_blocks *blocks);
/* One user less.  Accepts NULL.  */
void perf_block_drop(struct perf_blocks *blocks, struct perf_block *block);
void perf_blocks_release(struct perf_blocks *blocks);
/* Keep a record: block is the one that its bytes are in; NULL: keep a copy.  False when memory is
 * short.  */
bool perf_order_add(struct perf_order *order, uint64_t time_ns, uint64_t offset,
                    const uint8_t *bytes, size_t size, struct perf_block *block);
/* A round is over.  */
void perf_order_round(struct perf_order *order);
/* Whether too much waits.  */
bool perf_order_is_full(const struct perf_order *order);
/* The older half goes on.  */
void perf_order_half(struct perf_order *order);
/* There will be no more.  */
void perf_order_finish(struct perf_order *order);
/* The next one that goes on; false: the rest waits.  Its bytes are valid until given back.  */
bool perf_order_next(struct perf_order *order, struct perf_waiting *out);
void perf_order_give_back(struct perf_order *order, const struct perf_waiting *waiting);
void perf_order_release(struct perf_order *order);

/* decode.c */
/* The time of a record, if it has one.  */
bool perf_decode_time(const struct perf_data *data, const uint8_t *bytes, size_t size,
                      uint64_t *time_ns);
/* Fill data->record.  False when it is of an event that is not there.  */
bool perf_decode(struct perf_data *data, const uint8_t *bytes, size_t size, uint64_t offset);

/* kinds.c */
/* Write the name of an event that the file does not name.  */
void perf_event_default_name(const struct perf_data_event *event, char *text, size_t size);

#endif /* PERF_INTERNAL_H */
