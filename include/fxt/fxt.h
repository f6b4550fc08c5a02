/* fxt.h - read and write the Fuchsia trace format (FXT).
 *
 * This header is the manual of libfxt.  docs/formats/fxt.md describes the format itself; "section
 * N" below refers to a section of that document.
 *
 * The reader and the writer share one structure.  A struct fxt_reader turns bytes into struct
 * fxt_record, one at a time, and resolves every string, thread and time.  A struct fxt_writer turns
 * struct fxt_record into bytes.  A struct fxt_input passes the bytes to the reader and decompresses
 * them.
 *
 *     struct fxt_input *input = NULL;
 *     struct fxt_reader *reader = NULL;
 *     const struct fxt_record *record;
 *     struct fxt_error error;
 *     enum fxt_status status = fxt_input_open_fd(fd, &input, &error);
 *     if (status == FXT_OK)
 *         status = fxt_reader_open(input, NULL, &reader, &error);
 *     while (status == FXT_OK && (status = fxt_reader_next(reader, &record, &error)) == FXT_OK)
 *         visit(record);
 *     if (status != FXT_END)
 *         complain(error.message);
 *     if (reader)
 *         report(fxt_reader_damage(reader));
 *     fxt_reader_close(reader);
 *     fxt_input_close(input);
 *
 * Damage is not an error.  The reader reads a trace to its end even if it has a broken record, a
 * truncated tail or an unresolved reference.  struct fxt_damage counts the damage of each kind and
 * records the offset of the first.
 *
 * Heap captures carry messages of fuchsia.memory.sampler in their large blobs.  The library reads
 * and writes those too; they have a header of their own, fidl_sampler.h.
 *
 * Memory use is O(distinct strings, threads and providers + the largest record), never O(length of
 * the trace), and is bounded by the options of fxt_reader_open().  The library does not print or
 * exit and keeps no global state.  A handle must be used by one thread at a time; different handles
 * are independent.  */
#ifndef FXT_H
#define FXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FXT_API __attribute__((visibility("default")))

/* ---- Status and errors ---- */

/* Values are part of the interface and are never reused.  */
enum fxt_status {
    FXT_OK = 0,        /* success */
    FXT_END = 1,       /* no more records; not an error, *error is not written */
    FXT_FATAL = 2,     /* reading cannot continue: see fxt_reader_next() */
    FXT_NO_MEMORY = 3, /* an allocation failed */
    FXT_IO = 4,        /* writing failed; error->system_errno has the cause */
    FXT_INVALID = 5,   /* an argument violates the contract or does not fit; nothing was done */
};

/* An error, described for people.  The caller owns the struct, which needs no clean-up; a function
 * that takes one accepts NULL.  It is written on every status other than FXT_OK and FXT_END, and on
 * no other.  */
struct fxt_error {
    enum fxt_status status;
    int system_errno;  /* errno of the failing read or write; 0 if the bytes are at fault */
    uint64_t offset;   /* uncompressed bytes from the start of the trace */
    char message[200]; /* a phrase: no newline, no final dot */
};

/* The version of the library as "MAJOR.MINOR.PATCH".  */
FXT_API const char *fxt_version(void);

/* ---- Input ---- */

struct fxt_input;

/* Fill up to size bytes.  Returns the number of bytes stored (at least 1), 0 at the end, or -1 with
 * errno set.  Short reads are allowed.  The caller of the callback retries on EINTR.  */
typedef ptrdiff_t (*fxt_read_fn)(void *context, void *buffer, size_t size);

enum fxt_compression {
    FXT_PLAIN = 0,
    FXT_GZIP = 1,
    FXT_ZSTD = 2,
};

/* The state of a growing input.  */
enum fxt_wait {
    FXT_WAIT_END = 0,   /* the input is complete: a record that is incomplete now is damage */
    FXT_WAIT_MORE = 1,  /* read on: there are new bytes, or an end or error to report */
    FXT_WAIT_LEAVE = 2, /* stop reading; the input continues to grow, so an incomplete record is not
                         * damage */
};

/* Called before every read of a growing input.  raw_bytes is the number of bytes read so far,
 * before decompression.  The function should block until it has an answer.  If the following read
 * returns 0 bytes, or fails with EINTR, it is called again with the same number.  */
typedef enum fxt_wait (*fxt_wait_fn)(void *context, uint64_t raw_bytes);

/* The source of an input's bytes.  */
struct fxt_input_options {
    size_t size;      /* sizeof(struct fxt_input_options) */
    fxt_read_fn read; /* NULL: read from fd */
    void *context;    /* passed to read */
    int fd;
    /* Not NULL: the input grows while it is read, so a read of 0 bytes does not end it; only wait
     * does.  This works with compressed input too: flushed data can be read.  */
    fxt_wait_fn wait;
    void *wait_context;
    /* Treat the input as a stream whatever its first bytes are, so that fxt_input_read() returns
     * its bytes unchanged.  A reader with trust_start sets this itself.  A growing input is always
     * a stream.  */
    bool as_stream;
};

/* Read from a file descriptor or from a callback.  The descriptor may be a file, a pipe or a socket
 * and is read from its current position.  The caller keeps ownership of the descriptor, which must
 * outlive the input.  Nothing is read before the first call of fxt_input_read() or
 * fxt_reader_next().  Returns FXT_OK, FXT_INVALID or FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_input_open(const struct fxt_input_options *options,
                                       struct fxt_input **out, struct fxt_error *error);

/* Like fxt_input_open(), without further options.  Both return FXT_OK or FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_input_open_fd(int fd, struct fxt_input **out, struct fxt_error *error);
FXT_API enum fxt_status fxt_input_open_callback(fxt_read_fn read, void *context,
                                                struct fxt_input **out, struct fxt_error *error);

/* Store up to size uncompressed bytes in buffer and their number in *length; size must be at least
 * 1.  The compression is detected from the first bytes: gzip (any number of members), zstd (any
 * number of frames, also skippable ones; windows up to 128 MiB) or none.  If a compressed stream
 * ends early, the function returns the bytes it held, then FXT_END, and fxt_input_is_cut() is true.
 * If the data are corrupt, it returns the bytes before the corruption.
 *
 * Returns FXT_OK with *length >= 1, FXT_END, FXT_FATAL (a read failed, or the compressed data are
 * corrupt or need a larger window) or FXT_NO_MEMORY.  After any status but FXT_OK, every further
 * call returns the same status.  */
FXT_API enum fxt_status fxt_input_read(struct fxt_input *input, void *buffer, size_t size,
                                       size_t *length, struct fxt_error *error);

/* ---- Regions, trace-engine buffers, recorded messages ----
 *
 * Not every trace is a stream of records.  The other formats are detected from their first bytes
 * and are read as an equivalent archive: a magic record, then for each part a provider record and
 * the part's records.  Offsets are offsets in that archive; fxt_input_locate() maps them back to
 * the parts.
 *
 * A region is the buffer of one CPU of the kernel sampler (docs/formats/zx-sampler.md section 3):
 * large blobs of format 0 with empty strings, no arguments and inline koids, up to a zero word or
 * the end of the region.  An input is detected as a region if its first six words form such a
 * record: type 15, a size of 7 to 70 words, every other bit of words 0 and 1 zero, and in word 5
 * the length that the size leaves for program counters.  A stream may contain such records, but no
 * stream begins with one: the profiler, captures and archives write a magic record or a provider
 * record first.  A region becomes provider cpu + 1, named "cpu-N".  Zero words at its end are
 * unused space and are not a notice.  Zero words in the middle, as between regions that were
 * concatenated, are counted and skipped.  Other large records are delivered.  Any other record, and
 * a record that the end of the region truncates, ends the region and is damage.  If fewer than 560
 * bytes, the size of the longest record, are unused, a provider event reports that the region may
 * have been full.  No such event is added if the size of the region is not a multiple of 4096.
 *
 * A trace-engine buffer is written by a provider of Fuchsia's trace system
 * (docs/formats/trace-provider.md sections 3 and 5).  It begins with a header of 128 bytes.  Its
 * records are delivered in this order: durable, older, newer.  The records of a provider that was
 * killed are found by walking from record to record.  Placeholders, which are blob records of type
 * data without a name that fill their size, are skipped.  The buffer becomes provider 1; a provider
 * event represents the records that it dropped.  A header that contradicts itself is rejected.  If
 * the buffer comes from a pipe or is compressed, and its newer half comes first, up to 64 MiB are
 * held in memory.
 *
 * Recorded messages are messages of fuchsia.memory.sampler one after another, as the server on a
 * device received them (docs/formats/memory-sampler.md sections 1 to 3).  An input is detected as
 * such if it begins with the header of a message: wire format 2, magic 1, an ordinal of that
 * protocol.  Each message, of up to 65,536 bytes, becomes a large blob of format 1, without time
 * and process, with the category and name that heap captures use.  Bytes that are not a message are
 * skipped, up to the next bytes that look like one, and are damage.  These records have no place in
 * the input, so fxt_input_locate() returns false for them.
 *
 * struct fxt_part describes the damage in these formats (FXT_DAMAGE_CORRUPT_REGION).  */

enum fxt_format {
    FXT_FORMAT_STREAM = 0, /* records one after another, or an unknown format */
    FXT_FORMAT_REGION = 1,
    FXT_FORMAT_ENGINE_BUFFER = 2,
    FXT_FORMAT_MESSAGES = 3,
};

/* A region of a group.  As in fxt_input_options, if read is NULL, fd is read.  */
struct fxt_region {
    fxt_read_fn read;
    void *context;
    int fd;
    uint32_t cpu;     /* below 0xfffeffff */
    const char *name; /* for fxt_part.name; may be NULL */
};

/* Read the regions of one session as one trace, in the given order.  Each may be compressed in any
 * way or not at all.  They are read as regions whatever their first bytes are: one without a record
 * is empty or damaged.  A region is read to its end, or until it fails, before the next is begun,
 * so a callback may open and close its source.  regions and names are borrowed and must outlive the
 * input.  Returns FXT_OK, FXT_INVALID (no region, more than 65,536, or an invalid cpu) or
 * FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_input_open_regions(const struct fxt_region *regions, size_t count,
                                               struct fxt_input **out, struct fxt_error *error);

/* Detect the format from the first bytes; the function reads as many as it needs.  Returns FXT_OK
 * or a status of fxt_input_read().  An empty input is a stream.  */
FXT_API enum fxt_status fxt_input_format(struct fxt_input *input, enum fxt_format *format,
                                         struct fxt_error *error);

/* A part of the input.  Parts are numbered from 0 to count - 1; a stream has one.  The numbers
 * cover the bytes read so far.  */
struct fxt_part {
    const char *name; /* as given; NULL if the part has no name */
    enum fxt_format format;
    enum fxt_compression compression;
    uint32_t cpu;             /* regions */
    uint64_t dropped_records; /* engine buffers: the count in the header */
    uint64_t damage_count;    /* places after which records could not be read */
    uint64_t lost_bytes;      /* uncompressed bytes there that belong to no record */
    /* The first of these places: a description of the damage, and the offset in the part's
     * uncompressed bytes.  system_errno is not 0 if a read failed.  The status is FXT_OK if there
     * is no damage.  */
    struct fxt_error damage;
};
FXT_API size_t fxt_input_part_count(const struct fxt_input *input);
FXT_API const struct fxt_part *fxt_input_part(const struct fxt_input *input, size_t part);

/* Find the part, and the offset in its uncompressed bytes, that hold the byte at an offset of the
 * trace.  The byte must have been read already.  Returns false if it is in no part, as for records
 * that were inserted to mark the beginning of parts.  */
FXT_API bool fxt_input_locate(const struct fxt_input *input, uint64_t offset, size_t *part,
                              uint64_t *part_offset);

/* The compression of the input; with several parts, of the part read last.  FXT_PLAIN before the
 * first read.  */
FXT_API enum fxt_compression fxt_input_compression(const struct fxt_input *input);

/* Whether a compressed stream ended before its own end mark.  */
FXT_API bool fxt_input_is_cut(const struct fxt_input *input);

/* Whether reading ended because wait returned FXT_WAIT_LEAVE.  */
FXT_API bool fxt_input_was_left(const struct fxt_input *input);

/* Bytes taken from the descriptor or callback so far, before decompression, for a progress
 * display.  */
FXT_API uint64_t fxt_input_raw_bytes(const struct fxt_input *input);

/* Accepts NULL.  */
FXT_API void fxt_input_close(struct fxt_input *input);

/* ---- Values inside records ---- */

/* A string as bytes: UTF-8 according to the format, any bytes in practice, without a final NUL
 * (section 1.2).
 *
 * Reading: if index is not 0, bytes are resolved from the provider's table.  Writing: an index
 * other than 0 writes that table reference; index 0 writes the bytes inline, or the empty reference
 * if length is 0.  */
struct fxt_string {
    const char *bytes; /* never NULL in a record that the reader returned */
    uint32_t length;   /* bytes */
    uint16_t index;    /* 1..32767 in the provider's string table; 0 inline or empty */
    bool missing;      /* index was never registered: length is 0; print it as "<string INDEX>" */
};

/* A thread by its kernel object ids (section 1.3).  Producers use process 0, thread 0 for
 * "unknown".  Writing: an index other than 0 writes that reference; index 0 writes the two ids
 * inline.  */
struct fxt_thread {
    uint64_t process; /* koid */
    uint64_t thread;  /* koid */
    uint8_t index;    /* 1..255 in the provider's thread table; 0 inline */
    bool missing;     /* index was never registered: both ids are 0 */
};

/* Raw bytes inside a record.  */
struct fxt_bytes {
    const uint8_t *bytes;
    uint64_t length;
};

/* Little-endian 64-bit words inside a record; read them with fxt_word().  */
struct fxt_words {
    const uint8_t *bytes;
    size_t count; /* words, not bytes */
};

static inline uint64_t fxt_load_u64(const uint8_t *bytes)
{
    uint64_t value;

    __builtin_memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* Word i of words.  The caller must ensure that i < words.count.  */
static inline uint64_t fxt_word(struct fxt_words words, size_t i)
{
    return fxt_load_u64(words.bytes + 8 * i);
}

/* A NUL-terminated text as an inline string, for writing.  At most 31,999 bytes are written
 * (section 5 rule 8).  */
FXT_API struct fxt_string fxt_inline(const char *text);

/* Argument types; the values are those of the format (section 2.6).  */
enum fxt_arg_type {
    FXT_ARG_NULL = 0,
    FXT_ARG_INT32 = 1,
    FXT_ARG_UINT32 = 2,
    FXT_ARG_INT64 = 3,
    FXT_ARG_UINT64 = 4,
    FXT_ARG_DOUBLE = 5,
    FXT_ARG_STRING = 6,
    FXT_ARG_POINTER = 7,
    FXT_ARG_KOID = 8,
    FXT_ARG_BOOL = 9,
    FXT_ARG_BLOB = 10,
    FXT_ARG_UNKNOWN = 11, /* types 11..15 of the format: name kept, value skipped */
};

#define FXT_MAX_ARGS 15 /* the count is a 4-bit field */

struct fxt_arg {
    enum fxt_arg_type type;
    struct fxt_string name;
    union {
        int32_t int32;
        uint32_t uint32;
        int64_t int64;
        uint64_t uint64; /* also FXT_ARG_POINTER and FXT_ARG_KOID */
        double number;   /* FXT_ARG_DOUBLE */
        bool boolean;
        struct fxt_string string;
        struct fxt_bytes blob; /* at most 2^32 - 1 bytes */
        unsigned unknown_type; /* FXT_ARG_UNKNOWN: 11..15 */
    } value;
};

/* ---- Records ---- */

/* The kind of a record: type and subtype of the format in one number.  fxt_record_kind_name()
 * returns the names.  */
enum fxt_record_kind {
    FXT_RECORD_UNKNOWN = 0, /* a type or subtype the format does not assign: kept whole and
                             * counted */
    FXT_RECORD_MAGIC = 1,
    FXT_RECORD_PROVIDER_INFO = 2,
    FXT_RECORD_PROVIDER_SECTION = 3,
    FXT_RECORD_PROVIDER_EVENT = 4,
    FXT_RECORD_INIT = 5,
    FXT_RECORD_STRING = 6,
    FXT_RECORD_THREAD = 7,
    FXT_RECORD_EVENT = 8,
    FXT_RECORD_BLOB = 9,
    FXT_RECORD_USERSPACE_OBJECT = 10,
    FXT_RECORD_KERNEL_OBJECT = 11,
    FXT_RECORD_CONTEXT_SWITCH = 12,
    FXT_RECORD_LEGACY_CONTEXT_SWITCH = 13,
    FXT_RECORD_THREAD_WAKEUP = 14,
    FXT_RECORD_LOG = 15,
    FXT_RECORD_MODULE = 16,    /* profiler, subtype 0 */
    FXT_RECORD_MAPPING = 17,   /* profiler, subtype 1 */
    FXT_RECORD_BACKTRACE = 18, /* profiler, subtype 2 */
    FXT_RECORD_LARGE_BLOB = 19,
    FXT_RECORD_KINDS = 20,
};

/* Event types; the values are those of the format (section 2.5).  */
enum fxt_event_type {
    FXT_EVENT_INSTANT = 0,
    FXT_EVENT_COUNTER = 1,
    FXT_EVENT_DURATION_BEGIN = 2,
    FXT_EVENT_DURATION_END = 3,
    FXT_EVENT_DURATION_COMPLETE = 4,
    FXT_EVENT_ASYNC_BEGIN = 5,
    FXT_EVENT_ASYNC_INSTANT = 6,
    FXT_EVENT_ASYNC_END = 7,
    FXT_EVENT_FLOW_BEGIN = 8,
    FXT_EVENT_FLOW_STEP = 9,
    FXT_EVENT_FLOW_END = 10,
    /* 11..15 are unassigned: the common part is kept, and value.event.rest holds the words after
     * it.  */
};

enum fxt_scope {
    FXT_SCOPE_THREAD = 0,
    FXT_SCOPE_PROCESS = 1,
    FXT_SCOPE_GLOBAL = 2,
};

/* The kernel object types that matter to readers; others occur (section 2.10).  */
enum fxt_object_type {
    FXT_OBJECT_PROCESS = 1,
    FXT_OBJECT_THREAD = 2,
};

/* The provider that wrote a record.  Records before the first provider record belong to a provider
 * without a name that has id 0.  */
struct fxt_provider {
    uint32_t id;
    bool initialized; /* it, or the default context before it, had an initialization record */
    uint64_t ticks_per_second; /* 1,000,000,000 until an initialization record sets it */
    uint64_t base_ticks;  /* the tick that is time 0; 0 without a 4-word initialization record */
    int64_t base_time_ns; /* Unix time of base_ticks; 0 if unknown */
    struct fxt_string name;
};

/* One record.  Members that do not apply to its kind are 0 or empty.  Everything it points to is
 * borrowed.  When reading, it is valid until the next call on the reader; when writing, the caller
 * must keep it until fxt_writer_record() returns.  */
struct fxt_record {
    enum fxt_record_kind kind;
    bool has_time;   /* the kind has a timestamp: ticks and ts_ns are set.  False for a module or
                      * mapping with timestamp 0, which was there before.  Ignored on writing */
    bool has_thread; /* the kind names a thread: thread is set.  Ignored on writing */

    uint64_t offset; /* of the record's header, in uncompressed bytes */
    uint64_t size;   /* bytes, header included; a multiple of 8.  Ignored on writing */
    const struct fxt_provider *provider; /* never NULL when read; ignored on writing */

    uint64_t ticks; /* as written */
    /* ns(ticks - base_ticks) by the provider's clock; negative before the base.  Ignored on
     * writing.  */
    int64_t ts_ns;

    struct fxt_thread thread;
    struct fxt_string category; /* event, large blob */
    /* Event, blob, objects, module, large blob, provider info; a string record's text.  */
    struct fxt_string name;
    const struct fxt_arg *args; /* event, objects, scheduling, large blob of format 0 */
    size_t arg_count;           /* at most FXT_MAX_ARGS */

    union {
        struct {
            uint32_t number; /* 0x16547846; anything else is counted as wrong magic */
        } magic;
        struct {
            uint32_t id;
            unsigned event; /* 0 a buffer filled up and records were lost; 1..15 unassigned */
        } provider;
        struct {
            uint64_t ticks_per_second; /* 0 is counted and changes nothing */
            uint64_t base_ticks;
            int64_t base_time_ns;
            bool extended; /* the 4-word form, which has the two members above (section 2.2) */
        } init;
        struct {
            uint16_t index; /* string: 0..32767, thread: 0..255; index 0 registers nothing */
        } table;
        struct {
            unsigned type;      /* enum fxt_event_type or 11..15 */
            bool has_scope;     /* instant: the scope word is present */
            uint64_t id;        /* counter, async, flow */
            uint64_t scope;     /* instant: enum fxt_scope or any other number; 0 if absent */
            uint64_t end_ticks; /* duration complete, as written */
            int64_t end_ns;     /* duration complete; an end before ts_ns is counted and raised */
            struct fxt_words rest; /* event types 11..15: the words after the arguments */
        } event;
        struct {
            unsigned type; /* 1 data, 2 last branch records, 3 Perfetto proto; others occur */
            struct fxt_bytes payload;
        } blob;
        struct {
            unsigned type;    /* kernel object: enum fxt_object_type and others */
            uint64_t koid;    /* kernel object */
            uint64_t pointer; /* userspace object; its process is record.thread.process */
        } object;
        struct {
            unsigned cpu;
            /* 0 new, 1 running, 2 suspended, 3 blocked, 4 dying, 5 dead; others occur.  */
            unsigned outgoing_state;
            uint64_t outgoing_tid; /* koid; context switches */
            uint64_t incoming_tid; /* koid; context switches, and the woken thread of a wakeup */
            /* Legacy context switch only.  Reading: their .thread members are the two koids above.
             * Writing: those two koids are ignored.  */
            struct fxt_thread outgoing;
            struct fxt_thread incoming;
            unsigned outgoing_priority;
            unsigned incoming_priority;
        } sched;
        struct {
            struct fxt_string message; /* always inline */
        } log;
        struct {
            uint16_t id;
            struct fxt_bytes build_id; /* record.name is the module's name */
        } module;
        struct {
            uint16_t module_id;
            unsigned flags;  /* 3 bits; do not filter by them: producers disagree (section 2.13) */
            uint64_t start;  /* process address of the first byte */
            uint64_t length; /* bytes; start + length may exceed 2^64 in a hostile trace */
            uint64_t vaddr;  /* ELF virtual address of start; like start, of any alignment */
        } mapping;
        struct {
            struct fxt_words frames; /* program counters, leaf first */
        } backtrace;
        struct {
            unsigned format; /* 0 with time, thread and arguments; 1 without */
            struct fxt_bytes payload;
        } large_blob;
        struct {
            unsigned type;    /* record type, 0..15 */
            unsigned subtype; /* of metadata, trace info, scheduling, profiler, large; else 0 */
            struct fxt_words words; /* the whole record, header included; written unchanged */
        } unknown;
    } value;
};

/* ---- Perfetto's packets in blobs ---- */

enum { FXT_BLOB_DATA = 1, FXT_BLOB_LAST_BRANCH = 2, FXT_BLOB_PERFETTO = 3 };

#define FXT_PACKET_KINDS 256u

/* Contents of the payloads of blobs of type 3 (docs/formats/fxt.md section 2.7): packets in
 * Perfetto's own format, which this library counts but does not decode.  The struct must be zeroed
 * before the first blob.  */
struct fxt_packets {
    uint64_t count; /* complete packets */
    /* Number of packets by the field number of their content; [0] counts all other fields.  */
    uint64_t kinds[FXT_PACKET_KINDS];
    bool damaged; /* the bytes are not packets; all bytes after the damage are ignored */

    /* State of the parser.  Not for callers.  */
    bool in_packet;
    unsigned state, kind, shift;
    uint64_t number, field, skip, left;
};

/* Add the payload of the next blob.  Payloads must be added in file order whatever the blob's name
 * is: a packet may continue in the next blob.  */
FXT_API void fxt_packets_add(struct fxt_packets *packets, struct fxt_bytes payload);

/* "ftrace_events", "track_event", ...; "other" for unknown numbers.  */
FXT_API const char *fxt_packet_kind_name(unsigned kind);

/* "event", "large_blob", ...: the names used in JSON output; "unknown" if out of range.  */
FXT_API const char *fxt_record_kind_name(enum fxt_record_kind kind);

/* "instant", "duration_begin", ...; "unknown" for 11 and above.  */
FXT_API const char *fxt_event_type_name(unsigned type);

/* "int32", "string", ...; "unknown" for FXT_ARG_UNKNOWN and if out of range.  */
FXT_API const char *fxt_arg_type_name(enum fxt_arg_type type);

/* Returns the first argument with that name, or NULL.  */
FXT_API const struct fxt_arg *fxt_record_arg(const struct fxt_record *record, const char *name);

/* Whether the record is a stack as the Zircon kernel sampler writes it: a large blob of format 0
 * with empty category and name, no arguments, and a payload of at least one word that consists of
 * whole words (section 4.1).  If so, *pcs is set to its program counters, leaf first; pcs may be
 * NULL.  */
FXT_API bool fxt_record_sampler_stack(const struct fxt_record *record, struct fxt_words *pcs);

/* Raw stacks of Fuchsia's CPU profiler: registers, and pieces of the thread's memory.  */

#define FXT_STACK_PIECES 16 /* Fuchsia writes up to 3 */

/* Bytes of the memory of a process.  */
struct fxt_stack_piece {
    uint64_t address;
    struct fxt_bytes bytes;
};

struct fxt_stack_sample {
    struct fxt_bytes registers; /* zx_thread_state_general_regs_t; empty: there are none */
    struct fxt_stack_piece pieces[FXT_STACK_PIECES];
    size_t piece_count;
    bool is_damaged; /* the payload is shorter than its sizes, or has more pieces */
};

/* Whether the record is a large blob cpu_profiler/stack_sample of format 0.  */
FXT_API bool fxt_record_is_stack_sample(const struct fxt_record *record);

/* Read the payload of such a blob: the size of the registers, the registers, and for each piece its
 * address, its size and its bytes, all numbers little-endian.  Of a damaged payload, *out has what
 * precedes the damage, and the existing bytes of a piece that is cut.  It borrows from payload.  */
FXT_API void fxt_stack_sample_read(struct fxt_bytes payload, struct fxt_stack_sample *out);

/* ---- Reader ---- */

/* Kinds of damage that do not end a trace.  The first group and the last kind are losses, that is,
 * bytes that could not be decoded: fxt_damage_is_loss() is true and tools exit with status 3.  The
 * other kinds are notices: tools print them, but the exit status stays 0.  If a record is dropped,
 * only the drop is counted.  */
enum fxt_damage_kind {
    FXT_DAMAGE_STRAY_BYTES = 0,      /* 1 to 7 bytes after the last whole word */
    FXT_DAMAGE_TRUNCATED_TAIL = 1,   /* the last record, or the compressed stream, is cut */
    FXT_DAMAGE_SIZE_ZERO = 2,        /* a nonzero header with size 0: reading ends */
    FXT_DAMAGE_BAD_RECORD = 3,       /* contents that contradict the record's size; record
                                      * dropped */
    FXT_DAMAGE_OVERSIZED_RECORD = 4, /* larger than max_record_bytes; skipped without reading it */
    FXT_DAMAGE_CORRUPT_INPUT = 5,    /* compressed data that cannot be decompressed */

    FXT_DAMAGE_ZERO_WORDS = 6,        /* zero words in place of a header, as in unused regions */
    FXT_DAMAGE_UNKNOWN_RECORD = 7,    /* (sub)type not assigned; delivered as FXT_RECORD_UNKNOWN */
    FXT_DAMAGE_UNRESOLVED_STRING = 8, /* reference to a string that was never registered */
    FXT_DAMAGE_UNRESOLVED_THREAD = 9, /* reference to a thread that was never registered */
    FXT_DAMAGE_TIME_OVERFLOW = 10,    /* time outside +-2^63 ns; the record was dropped */
    FXT_DAMAGE_PROVIDER_LOSS = 11,    /* a provider reported lost records (provider event 0) */
    FXT_DAMAGE_WRONG_COUNT = 12,      /* a backtrace's count contradicts its size; the size was
                                       * used */
    FXT_DAMAGE_NO_MAGIC = 13,         /* the trace does not begin with the magic record */
    FXT_DAMAGE_WRONG_MAGIC = 14,      /* a magic record with another number */
    FXT_DAMAGE_ZERO_TICKS = 15,       /* initialization with 0 ticks per second; the old rate is
                                       * kept */
    FXT_DAMAGE_END_BEFORE_START = 16, /* duration complete with end < start; treated as empty */
    FXT_DAMAGE_INDEX_ZERO = 17,       /* string or thread record for index 0; registers nothing */
    FXT_DAMAGE_TABLE_FULL = 18, /* max_table_bytes reached; string, thread or provider not kept */
    /* A region or trace-engine buffer has records that could not be read (a loss).  fxt_part has
     * the details.  bytes is 0, because the lost bytes are not part of the trace.  */
    FXT_DAMAGE_CORRUPT_REGION = 19,
    FXT_DAMAGE_KINDS = 20,
};

struct fxt_damage {
    struct {
        uint64_t count;        /* number of occurrences */
        uint64_t first_offset; /* of the first occurrence, in uncompressed bytes; meaningless if
                                * count is 0 */
        uint64_t bytes;        /* input bytes that no delivered record covers; many kinds drop
                                * none */
    } kinds[FXT_DAMAGE_KINDS];
};

/* "stray_bytes", "truncated_tail", ...: the names used in JSON output.  */
FXT_API const char *fxt_damage_kind_name(enum fxt_damage_kind kind);

/* A phrase for people: "cut off tail", "zero words", ...  */
FXT_API const char *fxt_damage_kind_phrase(enum fxt_damage_kind kind);

/* Whether the kind means that bytes could not be decoded.  */
FXT_API bool fxt_damage_is_loss(enum fxt_damage_kind kind);

/* The sum of the counts of all kinds that are losses or, if notices is true, of all kinds.  */
FXT_API uint64_t fxt_damage_total(const struct fxt_damage *damage, bool notices);

/* A range of the trace that no delivered record covers.  */
struct fxt_skipped {
    enum fxt_damage_kind kind; /* the reason: zero words, a bad record, a truncated tail, ... */
    uint64_t offset;           /* of its first byte */
    uint64_t size;             /* bytes */
    /* All bytes of the range, borrowed for the call.  Empty for a record larger than
     * max_record_bytes, which is never in memory whole.  For FXT_DAMAGE_SIZE_ZERO, size is 0
     * because reading ends there, and bytes holds the header.  */
    struct fxt_bytes bytes;
};

/* Called by fxt_reader_next(), in file order, before the record after the range is delivered.
 * Consecutive zero words may be reported one by one.  The function must not use the reader.  */
typedef void (*fxt_skipped_fn)(void *context, const struct fxt_skipped *skipped);

struct fxt_reader_options {
    size_t size; /* sizeof(struct fxt_reader_options) */
    /* Larger records are skipped and counted.  At least 32,768; 0 means 64 MiB.  */
    uint64_t max_record_bytes;
    /* Strings, threads and providers of all providers together; 0 means 256 MiB.  */
    uint64_t max_table_bytes;
    /* Read the bytes as FXT whatever the input begins with: neither the magic record nor a
     * plausible first record is required, and no other format is detected.  */
    bool trust_start;
    fxt_skipped_fn skipped; /* may be NULL */
    void *skipped_context;  /* passed to skipped */
};

struct fxt_reader;

/* Open a reader on an input that is positioned at the start of a trace.  The input is borrowed and
 * must outlive the reader.  options may be NULL.  Nothing is read yet.  Returns FXT_OK, FXT_INVALID
 * or FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_reader_open(struct fxt_input *input,
                                        const struct fxt_reader_options *options,
                                        struct fxt_reader **out, struct fxt_error *error);

/* Read the next record, in file order.  *out and all memory it points to are valid until the next
 * call on the reader.  After any status but FXT_OK, every further call returns the same status.
 *
 * - FXT_OK: *out is a record.
 * - FXT_END: the trace has ended, truncated or not; see fxt_reader_damage().
 * - FXT_FATAL: nothing after this point can be read; everything before it was delivered.  If a read
 *   failed, error->system_errno is not 0.  Otherwise the bytes are at fault: a record of size 0,
 *   corrupt compression (both are also counted as damage), or a start that is not FXT at all.  In
 *   the last case the message names the format that was found: big-endian FXT, symbolizer markup,
 *   ELF, ...
 * - FXT_NO_MEMORY: an allocation failed.  */
FXT_API enum fxt_status fxt_reader_next(struct fxt_reader *reader, const struct fxt_record **out,
                                        struct fxt_error *error);

/* The bytes of the record that fxt_reader_next() delivered last, including the header.  There are
 * record.size of them, and they are valid as long as the record.  Empty if the last call delivered
 * no record.  */
FXT_API struct fxt_bytes fxt_reader_bytes(const struct fxt_reader *reader);

/* Counts of records that were not delivered.  The struct must start with all 0.  */
struct fxt_tally {
    uint64_t records[FXT_RECORD_KINDS];
    bool has_time; /* at least one of them had a time; only then are the next two set */
    int64_t first_ns;
    int64_t last_ns;
};

/* Count records without delivering them, for statistics and verification.  This is twice as fast as
 * fxt_reader_next().  The function adds to *tally the records that come next, as long as they are
 * already in memory, have a time, belong to the provider of the last delivered record, and have no
 * damage of any kind.  Returns the number of records it counted.  0 means nothing about the trace:
 * continue with fxt_reader_next().  Only fxt_reader_next() reads input, delivers records and counts
 * damage, so the loop
 *
 *     while (fxt_reader_next(reader, &record, &error) == FXT_OK) {
 *         count(record);
 *         fxt_reader_tally(reader, &tally);
 *     }
 *
 * finds the same damage as a loop without fxt_reader_tally().  */
FXT_API size_t fxt_reader_tally(struct fxt_reader *reader, struct fxt_tally *tally);

/* The damage found so far.  Valid as long as the reader.  */
FXT_API const struct fxt_damage *fxt_reader_damage(const struct fxt_reader *reader);

/* Uncompressed bytes consumed so far: the end of the record delivered last, or of the range skipped
 * after it.  At FXT_END this is the length of the trace.  It equals the sum of the sizes of all
 * delivered records and the bytes of all damage.  */
FXT_API uint64_t fxt_reader_offset(const struct fxt_reader *reader);

/* Accepts NULL.  Does not close the input.  */
FXT_API void fxt_reader_close(struct fxt_reader *reader);

/* floor(ticks * 10^9 / ticks_per_second), exactly (section 1.6).  Returns false if ticks_per_second
 * is 0 or the result exceeds INT64_MAX; *ns is then unchanged.  */
FXT_API bool fxt_ticks_to_ns(uint64_t ticks, uint64_t ticks_per_second, int64_t *ns);

/* ---- Writer ---- */

/* Take all size bytes.  Returns 0, or an errno value; after an error the writer stays failed.  */
typedef int (*fxt_write_fn)(void *context, const void *bytes, size_t size);

struct fxt_writer;

/* Open a writer that passes whole records to write, one call for each record.  Returns FXT_OK or
 * FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_writer_open(fxt_write_fn write, void *context, struct fxt_writer **out,
                                        struct fxt_error *error);

/* Write one record.  Every kind can be written.  The writer produces the encoding that section 5
 * requires.  The caller must follow the rules of that section on the content of a trace (order,
 * table indexes, UTF-8, names, times).  The writer keeps no tables, so the target of an index must
 * have been written before.
 *
 * A record that was read and is passed on comes out unchanged, including bytes that are not UTF-8,
 * but in the writer's encoding:
 *
 * - An inline empty string becomes the empty reference.
 * - Text over 31,999 bytes is cut there, before a whole character.
 * - Padding and reserved bits become 0.
 * - Words after the last field are left out, and so are values of arguments of unknown type.
 * - Userspace objects and modules use the documented form of an inline thread.
 * - Records of unknown kind are kept to the last bit.
 * - More than 255 frames do not fit the count of a backtrace.  They are all written, with a count
 *   of 255; the size gives their true number, and this reader uses the size.  New traces should
 *   have at most 255 frames, because other readers may use the count.
 *
 * The text of string, provider info, log and module records is always written as bytes, whatever
 * its index is.
 *
 * Returns FXT_OK; FXT_INVALID if a field does not fit (a name of 256 bytes in a module record, 16
 * arguments, a record of 4096 words that is not a large one, ...) or FXT_NO_MEMORY, in which case
 * nothing was written and the writer is still usable; FXT_IO, after which every call returns
 * FXT_IO.  */
FXT_API enum fxt_status fxt_writer_record(struct fxt_writer *writer,
                                          const struct fxt_record *record, struct fxt_error *error);

/* Bytes written so far.  */
FXT_API uint64_t fxt_writer_bytes(const struct fxt_writer *writer);

/* Accepts NULL.  Nothing is buffered, so nothing can fail.  */
FXT_API void fxt_writer_close(struct fxt_writer *writer);

#ifdef __cplusplus
}
#endif

#endif /* FXT_H */
