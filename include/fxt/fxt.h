/* fxt.h - read and write the Fuchsia trace format (FXT).
 *
 * This header is the manual of libfxt.  The format itself is described in docs/formats/fxt.md;
 * "section N" below means a section of that document.
 *
 * Two halves meet in one structure.  A struct fxt_reader turns bytes into struct fxt_record, one at
 * a time, with every string, thread and time resolved.  A struct fxt_writer turns struct fxt_record
 * into bytes.  Between bytes and reader stands a struct fxt_input, which undoes compression.
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
 * Damage is not an error.  A trace with a broken record, a cut tail or a reference to nothing is
 * read to its end; what was wrong is counted in struct fxt_damage with the offset of the first of
 * each kind.
 *
 * Heap captures carry messages of fuchsia.memory.sampler in their large blobs; the library reads
 * and writes those too, by a header of its own, fidl_sampler.h.
 *
 * Memory: O(distinct strings, threads and providers + the largest record), never O(length of the
 * trace), and bounded by the options of fxt_reader_open().  Nothing here prints, exits, or keeps
 * global state; one handle belongs to one thread at a time, different handles are independent.  */
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

/* Values are part of the interface and never reused.  */
enum fxt_status {
    FXT_OK = 0,        /* done */
    FXT_END = 1,       /* no more records; not an error, *error is not written */
    FXT_FATAL = 2,     /* reading cannot go on: see fxt_reader_next() */
    FXT_NO_MEMORY = 3, /* an allocation failed */
    FXT_IO = 4,        /* writing failed; error->system_errno says why */
    FXT_INVALID = 5,   /* an argument breaks the contract or does not fit; nothing was done */
};

/* What went wrong, for people.  Belongs to the caller, needs no clean-up, may be NULL wherever it
 * is asked for.  It is written on every status other than FXT_OK and FXT_END, and on no other.  */
struct fxt_error {
    enum fxt_status status;
    int system_errno;  /* errno of the failing read or write; 0 when the bytes are at fault */
    uint64_t offset;   /* uncompressed bytes from the start of the trace */
    char message[200]; /* a phrase: no newline, no final dot */
};

/* The version of the library as "MAJOR.MINOR.PATCH".  */
FXT_API const char *fxt_version(void);

/* ---- Input ---- */

struct fxt_input;

/* Fill up to size bytes.  Returns how many were stored (at least 1), 0 at the end, or -1 with errno
 * set.  Short reads are welcome; EINTR is retried by the caller.  */
typedef ptrdiff_t (*fxt_read_fn)(void *context, void *buffer, size_t size);

enum fxt_compression {
    FXT_PLAIN = 0,
    FXT_GZIP = 1,
    FXT_ZSTD = 2,
};

/* What a growing input has for its reader.  */
enum fxt_wait {
    FXT_WAIT_END = 0,   /* it is over: what is incomplete now is damage */
    FXT_WAIT_MORE = 1,  /* read: there is something, or an end or error to be told of */
    FXT_WAIT_LEAVE = 2, /* it goes on without us: what is incomplete now is not damage */
};

/* Asked before every read of a growing input, with the bytes read so far, compressed as they are.
 * It waits until it can say something.  When the read then gives 0 bytes, or EINTR, it is asked
 * again with the same number.  */
typedef enum fxt_wait (*fxt_wait_fn)(void *context, uint64_t raw_bytes);

/* Where bytes come from.  */
struct fxt_input_options {
    size_t size;      /* sizeof(struct fxt_input_options) */
    fxt_read_fn read; /* NULL: read from fd */
    void *context;    /* of read */
    int fd;
    /* Not NULL: the input grows while it is read, and a read of 0 bytes is not its end; wait is.
     * Works with compression too: what is flushed can be read.  */
    fxt_wait_fn wait;
    void *wait_context;
    /* A stream whatever it looks like, so that fxt_input_read() gives its own bytes; a reader with
     * trust_start sees to it itself.  A growing input is always a stream.  */
    bool as_stream;
};

/* Read from a file descriptor - a file, a pipe or a socket, from where it stands - or from a
 * callback.  The descriptor stays the caller's and must outlive the input.  Nothing is read before
 * the first fxt_input_read() or fxt_reader_next().  Returns FXT_OK, FXT_INVALID or
 * FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_input_open(const struct fxt_input_options *options,
                                       struct fxt_input **out, struct fxt_error *error);

/* The same with no other option.  Return FXT_OK or FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_input_open_fd(int fd, struct fxt_input **out, struct fxt_error *error);
FXT_API enum fxt_status fxt_input_open_callback(fxt_read_fn read, void *context,
                                                struct fxt_input **out, struct fxt_error *error);

/* Store up to size uncompressed bytes in buffer and their number in *length; size is at least 1.
 * The compression is told by the first bytes: gzip (any number of members), zstd (any number of
 * frames, skippable ones too; windows up to 128 MiB) or none.  A compressed stream that stops early
 * gives what it held, then FXT_END with fxt_input_is_cut() true; corrupt data give what comes
 * before them.
 *
 * Returns FXT_OK with *length >= 1, FXT_END, FXT_FATAL (a read failed, or the compressed data are
 * corrupt or take a larger window) or FXT_NO_MEMORY.  After anything but FXT_OK every further call
 * returns the same.  */
FXT_API enum fxt_status fxt_input_read(struct fxt_input *input, void *buffer, size_t size,
                                       size_t *length, struct fxt_error *error);

/* ---- Regions, trace-engine buffers, recorded messages ----
 *
 * Not every trace is a stream of records.  What else there is is told by its first bytes, and read
 * as the archive that it amounts to: a magic record, a provider record a part, the part's records.
 * Offsets are those in that archive; fxt_input_locate() leads back.
 *
 * A region is a CPU's buffer of the kernel sampler (docs/formats/zx-sampler.md section 3): large
 * blobs of format 0 with empty strings, no arguments and inline koids, up to a zero word or the
 * region's end.  The bytes are taken for one when the first six words are such a record's: type 15,
 * 7 to 70 words, every other bit of words 0 and 1 zero, and in word 5 the length that the size
 * leaves for program counters.  A stream may contain such records, but none begins with one: the
 * profiler, captures and archives write a magic or a provider record before it.  It becomes
 * provider cpu + 1, named "cpu-N".  Zero words at its end are unused room, no notice; in its midst
 * they are counted and passed over, as between regions that somebody joined.  Other large records
 * are passed on.  Anything else, and a record that its end cuts off, ends the region: damage.  When
 * fewer than 560 bytes, the longest record, are unused, a provider event says that the region may
 * have been full; its size being a multiple of 4096, or nobody rounded it.
 *
 * A trace-engine buffer is what a provider of Fuchsia's trace system writes to
 * (docs/formats/trace-provider.md sections 3 and 5), 128 bytes of header first.  Its records come
 * durable, older, newer; what a killed provider wrote is found by walking from record to record.
 * Placeholders, blob records of type data without a name that fill their size, are passed over.
 * It becomes provider 1; a provider event stands for records that it dropped.  A header that
 * contradicts itself is refused.  From a pipe, or compressed, up to 64 MiB are held in memory where
 * the newer half stands first.
 *
 * Recorded messages are those of fuchsia.memory.sampler one after another, as a device's server
 * got them (docs/formats/memory-sampler.md sections 1 to 3).  The bytes are taken for such when
 * they begin with the header of one: wire format 2, magic 1, an ordinal of that protocol.  Each of
 * up to 65,536 bytes becomes a large blob of format 1, without time and process, with the category
 * and name that heap captures have.  What is no message is passed over, up to what looks like the
 * next: damage.  These records stand nowhere: fxt_input_locate() knows no place of theirs.
 *
 * Damage in them (FXT_DAMAGE_CORRUPT_REGION) is described by struct fxt_part.  */

enum fxt_format {
    FXT_FORMAT_STREAM = 0, /* records one after another, or nothing that is known */
    FXT_FORMAT_REGION = 1,
    FXT_FORMAT_ENGINE_BUFFER = 2,
    FXT_FORMAT_MESSAGES = 3,
};

/* A region of a group.  As in fxt_input_options, read NULL means fd.  */
struct fxt_region {
    fxt_read_fn read;
    void *context;
    int fd;
    uint32_t cpu;     /* below 0xfffeffff */
    const char *name; /* for fxt_part.name; may be NULL */
};

/* The regions of one session as one trace, in the order given, each compressed in any way or not.
 * They are regions whatever they look like: what has no record is empty or damaged.  A region is
 * read to its end, or to its failure, before the next is begun, so a callback may open and close
 * what it reads.  regions and names are borrowed and must outlive the input.  Returns FXT_OK,
 * FXT_INVALID (none, more than 65,536, a wrong cpu) or FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_input_open_regions(const struct fxt_region *regions, size_t count,
                                               struct fxt_input **out, struct fxt_error *error);

/* Tell the format by the first bytes, reading as many as it takes.  Returns FXT_OK, or what
 * fxt_input_read() would; an empty input is a stream.  */
FXT_API enum fxt_status fxt_input_format(struct fxt_input *input, enum fxt_format *format,
                                         struct fxt_error *error);

/* What the input is made of: parts 0 to count - 1; a stream has one.  Numbers are as far as reading
 * has come.  */
struct fxt_part {
    const char *name; /* as given; NULL for what has no name */
    enum fxt_format format;
    enum fxt_compression compression;
    uint32_t cpu;             /* regions */
    uint64_t dropped_records; /* engine buffers: as the header says */
    uint64_t damage_count;    /* places behind which records could not be read */
    uint64_t lost_bytes;      /* uncompressed bytes there that are in no record */
    /* The first of these places: what was wrong, and the offset in the part's uncompressed bytes.
     * system_errno is not 0 when a read failed.  FXT_OK if there was none.  */
    struct fxt_error damage;
};
FXT_API size_t fxt_input_part_count(const struct fxt_input *input);
FXT_API const struct fxt_part *fxt_input_part(const struct fxt_input *input, size_t part);

/* Where the byte at an offset of the trace stands, if it was read already: which part, and at what
 * offset in its uncompressed bytes.  False if in no part: records that were made up to say where
 * parts begin.  */
FXT_API bool fxt_input_locate(const struct fxt_input *input, uint64_t offset, size_t *part,
                              uint64_t *part_offset);

/* How the input is compressed, of several parts the one read last; FXT_PLAIN before the first
 * read.  */
FXT_API enum fxt_compression fxt_input_compression(const struct fxt_input *input);

/* Whether a compressed stream ended before its own end mark.  */
FXT_API bool fxt_input_is_cut(const struct fxt_input *input);

/* Whether reading ended because FXT_WAIT_LEAVE was said.  */
FXT_API bool fxt_input_was_left(const struct fxt_input *input);

/* Bytes taken from the descriptor or callback so far, compressed as they are: what a progress
 * display wants.  */
FXT_API uint64_t fxt_input_raw_bytes(const struct fxt_input *input);

/* Accepts NULL.  */
FXT_API void fxt_input_close(struct fxt_input *input);

/* ---- Values inside records ---- */

/* A string, as bytes: UTF-8 by the format, anything in practice, without a final NUL (section 1.2).
 *
 * Reading: bytes are resolved from the provider's table where index is not 0.
 * Writing: index not 0 writes that table reference; index 0 writes the bytes inline, or the empty
 * reference for length 0.  */
struct fxt_string {
    const char *bytes; /* never NULL in a record that was read */
    uint32_t length;   /* bytes */
    uint16_t index;    /* 1..32767 in the provider's string table; 0 inline or empty */
    bool missing;      /* nothing registered index: length is 0; show it as "<string INDEX>" */
};

/* A thread by its kernel object ids (section 1.3).  Process 0 thread 0 means "unknown" to
 * producers.  Writing: index not 0 writes that reference, index 0 writes the two ids inline.  */
struct fxt_thread {
    uint64_t process; /* koid */
    uint64_t thread;  /* koid */
    uint8_t index;    /* 1..255 in the provider's thread table; 0 inline */
    bool missing;     /* nothing registered index: both ids are 0 */
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

/* Word i of words; i < words.count is the caller's duty.  */
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

/* What a record is: type and subtype of the format in one word.  fxt_record_kind_name() gives the
 * names.  */
enum fxt_record_kind {
    FXT_RECORD_UNKNOWN = 0, /* a type or subtype the format does not assign: kept whole, counted */
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
    /* 11..15 are unassigned: the common part is kept, value.event.rest holds what follows it.  */
};

enum fxt_scope {
    FXT_SCOPE_THREAD = 0,
    FXT_SCOPE_PROCESS = 1,
    FXT_SCOPE_GLOBAL = 2,
};

/* Kernel object types that matter to readers; others occur (section 2.10).  */
enum fxt_object_type {
    FXT_OBJECT_PROCESS = 1,
    FXT_OBJECT_THREAD = 2,
};

/* The provider that wrote a record.  Records before the first provider record belong to a nameless
 * one with id 0.  */
struct fxt_provider {
    uint32_t id;
    bool initialized; /* it, or the default context before it, had an initialization record */
    uint64_t ticks_per_second; /* 1,000,000,000 until an initialization record says otherwise */
    uint64_t base_ticks;  /* the tick that is time 0; 0 without a 4-word initialization record */
    int64_t base_time_ns; /* Unix time of base_ticks; 0 when unknown */
    struct fxt_string name;
};

/* One record.  Members that the kind does not have are 0 or empty.  Everything it points to is
 * borrowed: from the reader until its next call, or, for writing, from the caller until
 * fxt_writer_record() returns.  */
struct fxt_record {
    enum fxt_record_kind kind;
    bool has_time;   /* the kind has a timestamp: ticks and ts_ns are set.  Not of a module or
                      * mapping stamped 0, which was there before.  Ignored on writing */
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
            bool has_scope;     /* instant: the scope word is there */
            uint64_t id;        /* counter, async, flow */
            uint64_t scope;     /* instant: enum fxt_scope or any other number; 0 when absent */
            uint64_t end_ticks; /* duration complete, as written */
            int64_t end_ns;     /* duration complete; an end before ts_ns is counted and raised */
            struct fxt_words rest; /* event types 11..15: what follows the arguments */
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
            /* Legacy context switch only.  Reading: their .thread are the two koids above, which
             * are ignored on writing.  */
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
            struct fxt_words words; /* the whole record, header included; written as it is */
        } unknown;
    } value;
};

/* ---- Perfetto's packets in blobs ---- */

enum { FXT_BLOB_DATA = 1, FXT_BLOB_LAST_BRANCH = 2, FXT_BLOB_PERFETTO = 3 };

#define FXT_PACKET_KINDS 256u

/* What the payloads of blobs of type 3 hold (docs/formats/fxt.md section 2.7): packets of
 * Perfetto's own format, which this library counts and does not read.  Zeroed before the first
 * blob.  */
struct fxt_packets {
    uint64_t count; /* packets that have ended */
    /* Of them, by the number of the field that holds what the packet is of; [0]: any other.  */
    uint64_t kinds[FXT_PACKET_KINDS];
    bool damaged; /* the bytes are no packets: nothing after that is looked at */

    /* Where it is.  Not for callers.  */
    bool in_packet;
    unsigned state, kind, shift;
    uint64_t number, field, skip, left;
};

/* The payload of the next blob, in file order whatever its name: packets go on from one to the
 * next.  */
FXT_API void fxt_packets_add(struct fxt_packets *packets, struct fxt_bytes payload);

/* "ftrace_events", "track_event", ...; "other" for numbers that are not known.  */
FXT_API const char *fxt_packet_kind_name(unsigned kind);

/* "event", "large_blob", ...: the names used in JSON output; "unknown" for anything out of
 * range.  */
FXT_API const char *fxt_record_kind_name(enum fxt_record_kind kind);

/* "instant", "duration_begin", ...; "unknown" for 11 and above.  */
FXT_API const char *fxt_event_type_name(unsigned type);

/* "int32", "string", ...; "unknown" for FXT_ARG_UNKNOWN and anything out of range.  */
FXT_API const char *fxt_arg_type_name(enum fxt_arg_type type);

/* The argument of that name, or NULL.  Of several with one name, the first.  */
FXT_API const struct fxt_arg *fxt_record_arg(const struct fxt_record *record, const char *name);

/* Whether the record is a stack as the Zircon kernel sampler writes it: a large blob of format 0
 * with empty category and name, no arguments, and a payload of whole words, at least one
 * (section 4.1).  If so, *pcs (may be NULL) are its program counters, leaf first.  */
FXT_API bool fxt_record_sampler_stack(const struct fxt_record *record, struct fxt_words *pcs);

/* ---- Reader ---- */

/* What can be wrong with a trace without ending it.  The first group and the last kind are bytes
 * that were not understood (fxt_damage_is_loss() is true: tools exit with 3); the rest are notices:
 * shown, but the status stays 0.  Of a record that is dropped, that alone is counted.  */
enum fxt_damage_kind {
    FXT_DAMAGE_STRAY_BYTES = 0,      /* 1 to 7 bytes after the last whole word */
    FXT_DAMAGE_TRUNCATED_TAIL = 1,   /* the last record, or the compressed stream, is cut */
    FXT_DAMAGE_SIZE_ZERO = 2,        /* a header that is not 0, of size 0: the end of reading */
    FXT_DAMAGE_BAD_RECORD = 3,       /* contents that contradict the record's size; dropped */
    FXT_DAMAGE_OVERSIZED_RECORD = 4, /* larger than max_record_bytes; skipped unread */
    FXT_DAMAGE_CORRUPT_INPUT = 5,    /* compressed data that does not unpack */

    FXT_DAMAGE_ZERO_WORDS = 6,        /* zero words where a header was due, as in unused regions */
    FXT_DAMAGE_UNKNOWN_RECORD = 7,    /* (sub)type not assigned; delivered as FXT_RECORD_UNKNOWN */
    FXT_DAMAGE_UNRESOLVED_STRING = 8, /* reference to a string that nothing registered */
    FXT_DAMAGE_UNRESOLVED_THREAD = 9, /* reference to a thread that nothing registered */
    FXT_DAMAGE_TIME_OVERFLOW = 10,    /* time outside +-2^63 ns; the record was dropped */
    FXT_DAMAGE_PROVIDER_LOSS = 11,    /* a provider said that it lost records (provider event 0) */
    FXT_DAMAGE_WRONG_COUNT = 12,      /* a backtrace's count contradicts its size, which was used */
    FXT_DAMAGE_NO_MAGIC = 13,         /* the trace does not begin with the magic record */
    FXT_DAMAGE_WRONG_MAGIC = 14,      /* a magic record with another number */
    FXT_DAMAGE_ZERO_TICKS = 15,       /* initialization with 0 ticks per second; the old stays */
    FXT_DAMAGE_END_BEFORE_START = 16, /* duration complete with end < start; taken as empty */
    FXT_DAMAGE_INDEX_ZERO = 17,       /* string or thread record for index 0; registers nothing */
    FXT_DAMAGE_TABLE_FULL = 18, /* max_table_bytes reached; string, thread or provider not kept */
    /* A region or trace-engine buffer with records that could not be read (a loss): fxt_part tells
     * more.  bytes is 0, for those that are lost do not come into the trace.  */
    FXT_DAMAGE_CORRUPT_REGION = 19,
    FXT_DAMAGE_KINDS = 20,
};

struct fxt_damage {
    struct {
        uint64_t count;        /* how often */
        uint64_t first_offset; /* of the first, in uncompressed bytes; meaningless if count is 0 */
        uint64_t bytes;        /* of input that no delivered record covers; many kinds drop none */
    } kinds[FXT_DAMAGE_KINDS];
};

/* "stray_bytes", "truncated_tail", ...: the names used in JSON output.  */
FXT_API const char *fxt_damage_kind_name(enum fxt_damage_kind kind);

/* A phrase for people: "cut off tail", "zero words", ...  */
FXT_API const char *fxt_damage_kind_phrase(enum fxt_damage_kind kind);

/* Whether the kind stands for bytes that were not understood.  */
FXT_API bool fxt_damage_is_loss(enum fxt_damage_kind kind);

/* How many of the kinds that are losses (or, with notices, of all kinds) were counted, added up. */
FXT_API uint64_t fxt_damage_total(const struct fxt_damage *damage, bool notices);

/* A stretch of the trace that no delivered record covers.  */
struct fxt_skipped {
    enum fxt_damage_kind kind; /* why: zero words, a bad record, a cut tail, ... */
    uint64_t offset;           /* of its first byte */
    uint64_t size;             /* bytes */
    /* All of them, borrowed for the call; none of a record over max_record_bytes, which is never in
     * memory whole.  For FXT_DAMAGE_SIZE_ZERO, where size is 0 because reading ends there: the
     * header that says so.  */
    struct fxt_bytes bytes;
};

/* Called from fxt_reader_next(), in file order, before the record behind the stretch is delivered;
 * zero words that follow each other may come one by one.  It must not use the reader.  */
typedef void (*fxt_skipped_fn)(void *context, const struct fxt_skipped *skipped);

struct fxt_reader_options {
    size_t size; /* sizeof(struct fxt_reader_options) */
    /* Larger records are skipped and counted.  At least 32,768; 0 means 64 MiB.  */
    uint64_t max_record_bytes;
    /* Strings, threads and providers of all providers together; 0 means 256 MiB.  */
    uint64_t max_table_bytes;
    /* Take the bytes for FXT whatever stands first: neither magic nor a sane record is asked for,
     * and no other format is recognised.  */
    bool trust_start;
    fxt_skipped_fn skipped; /* may be NULL */
    void *skipped_context;  /* handed to skipped */
};

struct fxt_reader;

/* A reader on an input that stands at the start of a trace.  The input is borrowed and must outlive
 * the reader.  options may be NULL.  Nothing is read yet.  Returns FXT_OK, FXT_INVALID or
 * FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_reader_open(struct fxt_input *input,
                                        const struct fxt_reader_options *options,
                                        struct fxt_reader **out, struct fxt_error *error);

/* The next record, in file order.  *out and all it points to live until the next call on the
 * reader.  After anything but FXT_OK every further call returns the same.
 *
 * FXT_OK: *out is a record.
 * FXT_END: the trace is over, cut off or not (fxt_reader_damage() tells).
 * FXT_FATAL: nothing behind this point can be read; everything before it was delivered.
 *     error->system_errno is not 0 when a read failed.  Otherwise the bytes are at fault: a record
 *     of size 0, corrupt compression (both also counted as damage), or a start that is not FXT at
 *     all - big-endian FXT, symbolizer markup, ELF, ... -, which the message names.
 * FXT_NO_MEMORY: an allocation failed.  */
FXT_API enum fxt_status fxt_reader_next(struct fxt_reader *reader, const struct fxt_record **out,
                                        struct fxt_error *error);

/* The bytes of the record that fxt_reader_next() delivered last, header included: record.size of
 * them, living as long as it does.  Empty when the last call delivered none.  */
FXT_API struct fxt_bytes fxt_reader_bytes(const struct fxt_reader *reader);

/* Records that were counted instead of delivered.  Start with all 0.  */
struct fxt_tally {
    uint64_t records[FXT_RECORD_KINDS];
    bool has_time; /* some of them had a time: */
    int64_t first_ns;
    int64_t last_ns;
};

/* Count records instead of looking at them, for statistics and for checking, at twice the speed of
 * fxt_reader_next().  Adds to *tally what stands next, as far as it is there already and nothing
 * about it is worth telling: the records have a time, are the last delivered record's provider's,
 * and are free of damage of any kind.  Returns how many it passed; 0 says nothing about the trace:
 * go on with fxt_reader_next(), which alone reads, delivers and counts damage, so that
 *
 *     while (fxt_reader_next(reader, &record, &error) == FXT_OK) {
 *         count(record);
 *         fxt_reader_tally(reader, &tally);
 *     }
 *
 * finds the same damage as a loop without it.  */
FXT_API size_t fxt_reader_tally(struct fxt_reader *reader, struct fxt_tally *tally);

/* What was wrong up to here.  Lives as long as the reader.  */
FXT_API const struct fxt_damage *fxt_reader_damage(const struct fxt_reader *reader);

/* Uncompressed bytes consumed so far: the end of the record delivered last, or of what was skipped
 * after it.  At FXT_END: the length of the trace.  The sizes of all delivered records and the bytes
 * of all damage add up to it.  */
FXT_API uint64_t fxt_reader_offset(const struct fxt_reader *reader);

/* Accepts NULL.  Does not close the input.  */
FXT_API void fxt_reader_close(struct fxt_reader *reader);

/* floor(ticks * 10^9 / ticks_per_second), exactly (section 1.6).  False when ticks_per_second is 0
 * or the result exceeds INT64_MAX; then *ns is untouched.  */
FXT_API bool fxt_ticks_to_ns(uint64_t ticks, uint64_t ticks_per_second, int64_t *ns);

/* ---- Writer ---- */

/* Take all size bytes.  Returns 0, or an errno value, after which the writer stays failed.  */
typedef int (*fxt_write_fn)(void *context, const void *bytes, size_t size);

struct fxt_writer;

/* A writer that hands whole records to write, one call a record.  Returns FXT_OK or
 * FXT_NO_MEMORY.  */
FXT_API enum fxt_status fxt_writer_open(fxt_write_fn write, void *context, struct fxt_writer **out,
                                        struct fxt_error *error);

/* Write one record.  Every kind can be written.  The writer sees to the form that section 5 asks
 * for; its rules about what a trace should say (order, table indexes, UTF-8, names, times) are the
 * caller's: the writer keeps no tables, so what an index refers to must have been written before.
 *
 * Read a record and pass it on, and the same record comes out, bytes that are not UTF-8 included,
 * but in the writer's form: inline empty strings become the empty reference; text over 31,999 bytes
 * is cut there, before a whole character; padding and reserved bits become 0; words behind the last
 * field are left out, as are values of arguments of unknown type; userspace objects and modules
 * take the documented form of an inline thread.  Records of unknown kind are kept to the last bit.
 * More than 255 frames, which the count of a backtrace cannot say, are all written, with a count of
 * 255: the size says how many there are, and is what this reader goes by.  New traces should keep
 * to 255, for not every reader does.
 *
 * The text of string, provider info, log and module records is always written as bytes, whatever
 * its index.
 *
 * Returns FXT_OK; FXT_INVALID when a field does not fit (a name of 256 bytes in a module record, 16
 * arguments, a record of 4096 words that is not a large one, ...) or FXT_NO_MEMORY, with nothing
 * written and the writer still usable; FXT_IO, and from then on always.  */
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
