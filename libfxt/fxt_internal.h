/* fxt_internal.h - between the files of libfxt's reader only.  */
#ifndef FXT_INTERNAL_H
#define FXT_INTERNAL_H

#include <fxt/fxt.h>

/* ---- Errors ---- */

/* Fill *error (which may be NULL) and return status.  */
enum fxt_status fxt_fail(struct fxt_error *error, enum fxt_status status, int system_errno,
                         uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- Input ---- */

/* The bytes are a stream, whatever they look like; before the first read.  */
void fxt_input_trust(struct fxt_input *input);

/* How often records of a region or engine buffer could not be read, and where in the trace it
 * happened first.  */
uint64_t fxt_input_damage(const struct fxt_input *input, uint64_t *offset);

/* ---- Words ---- */

/* Bits first..last of word, both included, as the format's tables give them.  */
static inline uint64_t fxt_bits(uint64_t word, unsigned first, unsigned last)
{
    return (word >> first) & (UINT64_MAX >> (63 - (last - first)));
}

/* The unread words of one record or one argument.  Nothing reads past it.  */
struct fxt_cursor {
    const uint8_t *next;
    size_t words;
};

static inline bool fxt_take_word(struct fxt_cursor *cursor, uint64_t *word)
{
    if (cursor->words == 0)
        return false;
    *word = fxt_load_u64(cursor->next);
    cursor->next += 8;
    cursor->words--;
    return true;
}

/* length bytes and their padding.  length is compared before it is rounded up, which could
 * wrap.  */
static inline bool fxt_take_bytes(struct fxt_cursor *cursor, uint64_t length, const uint8_t **bytes)
{
    size_t words;

    if (length > cursor->words * 8)
        return false;
    words = ((size_t)length + 7) / 8;
    *bytes = cursor->next;
    cursor->next += words * 8;
    cursor->words -= words;
    return true;
}

/* ---- Providers and their tables (context.c) ---- */

/* Ready to be copied into a record.  */
struct fxt_string_slot {
    struct fxt_string string; /* bytes: owned by the slot; NULL: not registered */
    uint32_t capacity;        /* bytes */
    uint16_t next_listed;     /* index of the next slot in use, or 0 */
    bool is_listed;
};

/* A provider's clock, prepared for fxt_clock_ns(): ns = floor(ticks * multiplier / divisor).  */
struct fxt_clock {
    uint64_t base_ticks;
    /* Since the base: what is later takes the slow way; so does what is before the base, since the
     * subtraction that wraps gives more than this.  */
    uint64_t max_ticks;
    uint64_t multiplier;
    uint64_t divisor;
    uint64_t reciprocal; /* floor((2^64 - 1) / divisor) */
};

/* Indexes without a gap: all from 1 to these are registered.  Others may be too.  */
struct fxt_known {
    unsigned highest_string;
    unsigned highest_thread;
};

/* What one provider registered (section 1.5).  Tables grow with the largest index in use.  */
struct fxt_context {
    struct fxt_provider provider;
    struct fxt_clock clock;          /* says what provider says */
    struct fxt_string_slot *strings; /* string_count of them, or NULL; index 0 is empty text */
    size_t string_count;
    uint16_t first_listed;      /* index of a slot in use, or 0: what a reset has to look at */
    struct fxt_thread *threads; /* 256 of them, or NULL; .index 0: not registered */
    struct fxt_known known;     /* registered here */
    bool incomplete; /* something it registered was not kept: the fallback could be wrong */
    char name[256];
};

/* All contexts of a trace, by provider id, and the one from before the first provider record.  */
struct fxt_contexts {
    struct fxt_context *current;
    struct fxt_context initial;   /* the fallback of all others */
    struct fxt_context overflow;  /* stands for a provider that max_bytes left no room for */
    struct fxt_context **buckets; /* open addressing; bucket_count is a power of two or 0 */
    size_t bucket_count;
    size_t used;
    struct fxt_known known; /* by the current one or its fallback */
    bool overflowed;        /* some provider was not kept */
    uint64_t bytes;         /* taken by all tables */
    uint64_t max_bytes;
};

enum fxt_table_result {
    FXT_TABLE_OK,
    FXT_TABLE_FULL, /* max_bytes is reached; nothing changed */
    FXT_TABLE_NO_MEMORY,
};

void fxt_contexts_init(struct fxt_contexts *contexts, uint64_t max_bytes);
void fxt_contexts_release(struct fxt_contexts *contexts);

/* Make the provider current, creating it if it is new.  reset: forget what it registered.  On
 * FXT_TABLE_FULL the overflow context, which keeps nothing, is current.  */
enum fxt_table_result fxt_contexts_switch(struct fxt_contexts *contexts, uint32_t id, bool reset);

/* The rest acts on the current context.  */
void fxt_contexts_set_name(struct fxt_contexts *contexts, const uint8_t *bytes, size_t length);
enum fxt_table_result fxt_contexts_set_string(struct fxt_contexts *contexts, unsigned index,
                                              const uint8_t *bytes, uint32_t length);
enum fxt_table_result fxt_contexts_set_thread(struct fxt_contexts *contexts, unsigned index,
                                              uint64_t process, uint64_t thread);

/* Where the current context's own tables have nothing, or NULL.  */
static inline const struct fxt_context *fxt_contexts_fallback(const struct fxt_contexts *contexts)
{
    return contexts->current->incomplete ? NULL : &contexts->initial;
}

/* The entry of the current context or of the fallback, or NULL.  */
static inline const struct fxt_string *fxt_contexts_string(const struct fxt_contexts *contexts,
                                                           unsigned index)
{
    const struct fxt_context *context = contexts->current;

    if (index < context->string_count && context->strings[index].string.bytes)
        return &context->strings[index].string;
    context = fxt_contexts_fallback(contexts);
    if (context && index < context->string_count && context->strings[index].string.bytes)
        return &context->strings[index].string;
    return NULL;
}

static inline const struct fxt_thread *fxt_contexts_thread(const struct fxt_contexts *contexts,
                                                           unsigned index)
{
    const struct fxt_context *context = contexts->current;

    if (context->threads && context->threads[index].index)
        return &context->threads[index];
    context = fxt_contexts_fallback(contexts);
    if (context && context->threads && context->threads[index].index)
        return &context->threads[index];
    return NULL;
}

/* ---- Time (time.c) ---- */

/* The provider's time of ticks, by the definition; false when it does not fit 64 bits.  */
bool fxt_provider_time(const struct fxt_provider *provider, uint64_t ticks, int64_t *ns);

/* Prepare for the provider's rate and base.  */
void fxt_clock_set(struct fxt_clock *clock, const struct fxt_provider *provider);

/* q = floor(value / divisor), *rest what is left.  The estimate is at most 1 too low: the
 * reciprocal falls short of 2^64 / divisor by at most 1, which makes value / 2^64 < 1 of q.  */
static inline uint64_t fxt_clock_divide(const struct fxt_clock *clock, uint64_t value,
                                        uint64_t *rest)
{
    uint64_t q = (uint64_t)((unsigned __int128)value * clock->reciprocal >> 64);
    uint64_t r = value - q * clock->divisor;
    bool low = r >= clock->divisor;

    *rest = low ? r - clock->divisor : r;
    return q + low;
}

/* As fxt_provider_time(), for the same provider, without a division: ticks = q * divisor + r, so
 * ns = q * multiplier + floor(r * multiplier / divisor), where nothing exceeds 64 bits.  */
static inline bool fxt_clock_ns(const struct fxt_clock *clock, const struct fxt_provider *provider,
                                uint64_t ticks, int64_t *ns)
{
    uint64_t since = ticks - clock->base_ticks;
    uint64_t whole, rest;

    if (since > clock->max_ticks)
        return fxt_provider_time(provider, ticks, ns);
    if (clock->divisor == 1) {
        *ns = (int64_t)(since * clock->multiplier);
        return true;
    }
    whole = fxt_clock_divide(clock, since, &rest) * clock->multiplier;
    *ns = (int64_t)(whole + fxt_clock_divide(clock, rest * clock->multiplier, &rest));
    return true;
}

/* ---- Reader ---- */

struct fxt_reader {
    struct fxt_input *input;
    uint64_t max_record_bytes;
    bool trust_start;
    fxt_skipped_fn skipped;
    void *skipped_context;

    /* The window: bytes begin..end are read and not yet consumed; begin stays a multiple of 8.  */
    uint8_t *window;
    size_t capacity;
    size_t begin;
    size_t end;
    uint64_t offset;              /* of window[begin] in the trace */
    enum fxt_status input_status; /* FXT_OK until the input ended or failed */
    struct fxt_error input_error;

    bool started; /* the start of the trace was examined */
    bool no_magic;
    enum fxt_status status; /* not FXT_OK: every further call returns it */
    struct fxt_error error;
    struct fxt_damage damage;
    /* What damage was before the first notice of the record at noticed_offset.  */
    struct fxt_damage unnoticed;
    uint64_t noticed_offset; /* UINT64_MAX: of none */
    struct fxt_contexts contexts;

    struct fxt_record record;
    struct fxt_arg args[FXT_MAX_ARGS];
};

/* Tell the caller of size bytes at the reader's place that no record covers (reader.c).  */
void fxt_tell_skipped(const struct fxt_reader *reader, enum fxt_damage_kind kind, uint64_t size);

static inline void fxt_count_damage(struct fxt_reader *reader, enum fxt_damage_kind kind,
                                    uint64_t bytes)
{
    if (reader->damage.kinds[kind].count++ == 0)
        reader->damage.kinds[kind].first_offset = reader->offset;
    reader->damage.kinds[kind].bytes += bytes;
    if (reader->skipped && (bytes > 0 || kind == FXT_DAMAGE_SIZE_ZERO))
        fxt_tell_skipped(reader, kind, bytes);
}

/* Count something odd in the record being decoded, which is forgotten if the record turns out to be
 * one that is dropped: notices are about what is delivered (fields.c).  */
void fxt_notice(struct fxt_reader *reader, enum fxt_damage_kind kind);

/* Record types (section 2).  */
#define FXT_TYPE_EVENT      4u
#define FXT_TYPE_SCHEDULING 8u

/* What came of the bytes of one record.  */
enum fxt_decoded {
    FXT_DECODED = 0,
    FXT_DECODED_BAD,      /* contents contradict the size */
    FXT_DECODED_OVERFLOW, /* a time does not fit */
    FXT_DECODED_UNKNOWN,  /* type or subtype not assigned */
    FXT_DECODED_NO_MEMORY,
};

/* Fill reader->record from the record's bytes (decode_record.c).  */
enum fxt_decoded fxt_decode(struct fxt_reader *reader, const uint8_t *bytes, size_t size);

/* The same for an event that stands behind another event in reader->record.  words of it follow the
 * header (decode_event.c).  */
enum fxt_decoded fxt_decode_event(struct fxt_reader *reader, uint64_t header, const uint8_t *bytes,
                                  size_t words);

/* One family each.  header is word 0, cursor stands behind it, record->kind is
 * FXT_RECORD_UNKNOWN.  */
enum fxt_decoded fxt_decode_metadata(struct fxt_reader *reader, uint64_t header,
                                     struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_init(struct fxt_reader *reader, uint64_t header,
                                 struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_string(struct fxt_reader *reader, uint64_t header,
                                   struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_thread(struct fxt_reader *reader, uint64_t header,
                                   struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_blob(struct fxt_reader *reader, uint64_t header,
                                 struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_large(struct fxt_reader *reader, uint64_t header,
                                  struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_userspace_object(struct fxt_reader *reader, uint64_t header,
                                             struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_kernel_object(struct fxt_reader *reader, uint64_t header,
                                          struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_sched(struct fxt_reader *reader, uint64_t header,
                                  struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_log(struct fxt_reader *reader, uint64_t header,
                                struct fxt_cursor *cursor);
enum fxt_decoded fxt_decode_profiler(struct fxt_reader *reader, uint64_t header,
                                     struct fxt_cursor *cursor);

/* Look at the first bytes of a trace (first_bytes.c): FXT_OK, or FXT_FATAL with a message that
 * names what they are instead.  */
enum fxt_status fxt_examine_start(const uint8_t *bytes, size_t length, struct fxt_error *error);

#endif /* FXT_INTERNAL_H */
