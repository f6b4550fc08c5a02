/* buffer.h - a trace-engine buffer (docs/formats/trace-provider.md section 3) that can be read at
 * every instant, also when the program is killed in the middle of an instruction.
 *
 * Each rolling half is a grid of chunks.  A chunk belongs to one writer; it always is a row of
 * whole records that ends where the chunk ends, because its unused rest is a placeholder: a blob
 * record without a name.  A record is written behind the placeholder's header, then the header of a
 * smaller placeholder after it, then, last, its own header in place of the placeholder's.
 *
 * Writers never wait.  A writer announces itself (busy), looks at which halves are closed, writes,
 * and is no longer busy.  Who closes a half says so, issues a barrier on all threads, and then
 * knows: a writer that is not busy will see it.  In a circular buffer a half is opened again chunk
 * by chunk, as chunks are claimed: until then a chunk keeps its old records.  By the word that it
 * begins with they are of an earlier turn, and readers pass over them.  A chunk whose writer has
 * been busy all the time is left alone until the half comes around again.  */
#ifndef TRACE_BUFFER_H
#define TRACE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfxt/trace_format.h"
#include "libtrace/shared.h"

/* A large record of 256 KiB, with its header.  */
#define TRACE_LARGE_WORDS 32768u
/* Durable records begin on no boundary but stay in cells of this many words, or begin one.  */
#define TRACE_CELL_WORDS 512u

/* One at a time writes with it; its place in the buffer.  Other threads look at it.  */
struct trace_writer {
    /* What changes with each record.  */
    uint64_t busy; /* shared: a record is being written */
    uint64_t wrap; /* shared: of the half that its chunk is in */
    uint64_t next; /* shared: where the next record goes, a word of the buffer */
    uint64_t end;  /* the word after its chunk; 0: it has none */
    /* What others look at when they claim chunks: not on the same cache line.  */
    uint64_t first __attribute__((aligned(64))); /* shared: its chunks, [first, limit), of both */
    uint64_t limit;                              /* shared: halves together */
    uint64_t taken;  /* shared: which thread has it, or 0; for the pool */
    uint64_t fenced; /* shared: its announcements are barriers themselves */
    uint32_t number; /* from 1 */
} __attribute__((aligned(128)));

/* Writers are numbered and live in slabs, which are never freed.  */
#define TRACE_SLAB_WRITERS 64u
#define TRACE_SLABS        1024u

struct trace_chunk {
    uint64_t owner; /* shared: the wrap it was claimed in last, and the writer's number */
    uint64_t first; /* shared: the first chunk of the row that was claimed with it */
};

struct trace_buffer {
    uint64_t *words; /* the buffer; not ours */
    size_t size;
    enum trace_mode mode;
    bool has_membarrier; /* until it fails: then announcements are barriers */
    uint32_t chunk_words;
    uint32_t chunks;           /* in a half */
    uint64_t half_words[2];    /* where the halves begin */
    uint64_t durable_first;    /* words: where durable records begin, ... */
    uint64_t durable_words;    /* how many there are, ... */
    uint64_t durable_used;     /* shared: and how many are used; the caller locks */
    struct trace_chunk *table; /* owned by the caller; 2 * chunks */
    uint64_t first_wrap;       /* of this recording; even */
    uint64_t resume;           /* the state before it was stopped */

    /* Who claims a chunk changes it; what each record looks at is on other cache lines.  */
    uint64_t state __attribute__((aligned(64)));  /* shared: claimed chunks, wraps, filled halves */
    uint64_t closed __attribute__((aligned(64))); /* shared: wraps up to here cannot be written */
    uint64_t fenced;        /* shared: and all threads know up to here, or are seen to be busy */
    uint64_t filled_end[2]; /* shared: of a streaming half that is filled: wrap, chunks */
    struct trace_writer *slabs[TRACE_SLABS];
    uint64_t writer_count;   /* shared: numbers up to here exist */
    void (*wake)(void *own); /* a half is filled; may be NULL.  Async-signal-safe */
    void *wake_own;
};

/* ---- State words ---- */

#define TRACE_CHUNK_BITS 24
#define TRACE_CLOSED     UINT64_C(0xffffff) /* in place of a number of chunks */
#define TRACE_FULL       UINT64_C(0xfffffe) /* oneshot: recording has ended */
#define TRACE_WRAP_MASK  ((UINT64_C(1) << 38) - 1)

static inline uint64_t trace_state_word(uint64_t wrap, uint64_t chunk, uint64_t filled)
{
    return chunk | wrap << TRACE_CHUNK_BITS | filled << 62;
}

static inline uint64_t trace_state_chunk(uint64_t state)
{
    return state & TRACE_CLOSED;
}

static inline uint64_t trace_state_wrap(uint64_t state)
{
    return state >> TRACE_CHUNK_BITS & TRACE_WRAP_MASK;
}

static inline uint64_t trace_state_filled(uint64_t state)
{
    return state >> 62;
}

/* ---- Making one ---- */

/* The sizes of durable and rolling buffers, as every provider splits them.  */
void trace_buffer_split(uint64_t total, enum trace_mode mode, uint64_t *durable, uint64_t *rolling);

/* Words of a chunk that suit the size, and chunks a half then has.  */
uint32_t trace_buffer_chunk_words(uint64_t total, enum trace_mode mode);
uint32_t trace_buffer_chunks(uint64_t total, enum trace_mode mode, uint32_t chunk_words);

/* Use memory of size bytes (a multiple of 4096 up to TRACE_MAX_BYTES) and a table for
 * 2 * trace_buffer_chunks().  No writer may be busy.  It is stopped, and to be cleared.  */
void trace_buffer_init(struct trace_buffer *buffer, void *memory, size_t size, enum trace_mode mode,
                       uint32_t chunk_words, struct trace_chunk *table);

/* Forget all records, or all but durable ones.  Of a stopped buffer.  */
void trace_buffer_clear(struct trace_buffer *buffer, bool durable);

/* Let writers in.  */
void trace_buffer_start(struct trace_buffer *buffer);

/* Keep writers out; wait for those that are inside; then write all ends into the header.  The
 * second is false when one did not finish in time: the memory is still being written to.  */
void trace_buffer_close(struct trace_buffer *buffer);
bool trace_buffer_wait(struct trace_buffer *buffer);
void trace_buffer_finish(struct trace_buffer *buffer);

/* ---- Writing ---- */

uint64_t *trace_buffer_claim(struct trace_buffer *buffer, struct trace_writer *writer,
                             uint64_t words);

/* Of a busy writer: whether its chunk, which is not closed, has that much room.  */
static inline bool trace_writer_has_room(const struct trace_buffer *buffer,
                                         const struct trace_writer *writer, uint64_t words)
{
    return __builtin_expect(shared_own(&writer->wrap) > shared_load(&buffer->closed) &&
                                shared_own(&writer->next) + words <= writer->end,
                            1);
}

static inline uint64_t *trace_writer_place(const struct trace_buffer *buffer,
                                           const struct trace_writer *writer)
{
    return buffer->words + shared_own(&writer->next);
}

/* Room for a record, then trace_writer_commit(); NULL: it is dropped, and counted.  The writer is
 * not busy.  */
static inline uint64_t *trace_writer_begin(struct trace_buffer *buffer, struct trace_writer *writer,
                                           uint64_t words)
{
    bool has_membarrier = __atomic_load_n(&buffer->has_membarrier, __ATOMIC_RELAXED);

    if (__builtin_expect(!has_membarrier, 0))
        shared_store(&writer->fenced, 1);
    shared_announce(&writer->busy, 1, has_membarrier);
    if (trace_writer_has_room(buffer, writer, words))
        return trace_writer_place(buffer, writer);
    return trace_buffer_claim(buffer, writer, words);
}

/* The same where the chunk has room; false: it has not, or is closed; the writer is not busy.  */
static inline bool trace_writer_try(struct trace_buffer *buffer, struct trace_writer *writer,
                                    uint64_t words)
{
    if (__builtin_expect(!__atomic_load_n(&buffer->has_membarrier, __ATOMIC_RELAXED), 0))
        return false;
    shared_announce(&writer->busy, 1, true);
    if (trace_writer_has_room(buffer, writer, words))
        return true;
    shared_store(&writer->busy, 0);
    return false;
}

/* Words 1 to words - 1 are written: now the header.  */
static inline void trace_writer_commit(const struct trace_buffer *buffer,
                                       struct trace_writer *writer, uint64_t words, uint64_t header)
{
    uint64_t *record = trace_writer_place(buffer, writer);
    uint64_t next = shared_own(&writer->next) + words;

    if (next < writer->end)
        shared_store(&record[words], trace_filler(writer->end - next));
    shared_store(&record[0], header);
    shared_store(&writer->next, next);
    shared_store(&writer->busy, 0);
}

/* The record is not written after all.  */
static inline void trace_writer_cancel(struct trace_writer *writer)
{
    shared_store(&writer->busy, 0);
}

/* A record for the durable buffer; the caller locks.  False when it is full.  */
bool trace_buffer_put_durable(struct trace_buffer *buffer, const uint64_t *record, uint64_t words);

/* ---- Streaming ---- */

/* A half that is filled and whose writers have left; false: none.  */
struct trace_filled {
    uint32_t wrapped_count;
    uint64_t durable_end; /* bytes */
};
bool trace_buffer_take_filled(struct trace_buffer *buffer, struct trace_filled *filled);

/* The receiver has it: it can be filled again.  False when it was not given out.  */
bool trace_buffer_saved(struct trace_buffer *buffer, uint32_t wrapped_count);

#endif /* TRACE_BUFFER_H */
