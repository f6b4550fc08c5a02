/* The main loop (section 3.1): window, record boundaries, damage.  */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libfxt/fxt_internal.h"

#define FIRST_WINDOW_BYTES  (size_t)(256 * 1024)
#define SMALLEST_MAX_RECORD 32768u /* any record with a 12-bit size */
#define DEFAULT_MAX_RECORD  (UINT64_C(64) << 20)
#define DEFAULT_MAX_TABLE   (UINT64_C(256) << 20)

enum fxt_status fxt_reader_open(struct fxt_input *input, const struct fxt_reader_options *options,
                                struct fxt_reader **out, struct fxt_error *error)
{
    uint64_t max_record_bytes = DEFAULT_MAX_RECORD;
    uint64_t max_table_bytes = DEFAULT_MAX_TABLE;
    struct fxt_reader *reader;

    if (options && options->size != sizeof *options)
        return fxt_fail(error, FXT_INVALID, 0, 0, "reader options of another version");
    if (options && options->max_record_bytes)
        max_record_bytes = options->max_record_bytes;
    if (options && options->max_table_bytes)
        max_table_bytes = options->max_table_bytes;
    if (max_record_bytes < SMALLEST_MAX_RECORD)
        return fxt_fail(error, FXT_INVALID, 0, 0, "max_record_bytes is below 32,768");

    reader = calloc(1, sizeof *reader);
    if (reader)
        reader->window = malloc(FIRST_WINDOW_BYTES);
    if (!reader || !reader->window) {
        free(reader);
        return fxt_fail(error, FXT_NO_MEMORY, 0, 0, "out of memory");
    }
    reader->input = input;
    if (options && options->trust_start)
        fxt_input_trust(input);
    reader->capacity = FIRST_WINDOW_BYTES;
    reader->max_record_bytes = max_record_bytes;
    if (options) {
        reader->trust_start = options->trust_start;
        reader->skipped = options->skipped;
        reader->skipped_context = options->skipped_context;
    }
    reader->noticed_offset = UINT64_MAX;
    fxt_contexts_init(&reader->contexts, max_table_bytes);
    *out = reader;
    return FXT_OK;
}

void fxt_reader_close(struct fxt_reader *reader)
{
    if (!reader)
        return;
    fxt_contexts_release(&reader->contexts);
    free(reader->window);
    free(reader);
}

const struct fxt_damage *fxt_reader_damage(const struct fxt_reader *reader)
{
    return &reader->damage;
}

uint64_t fxt_reader_offset(const struct fxt_reader *reader)
{
    return reader->offset;
}

/* Empty as soon as the record is gone: after the end, and where a call ended elsewhere than behind
 * a record.  */
struct fxt_bytes fxt_reader_bytes(const struct fxt_reader *reader)
{
    uint64_t size = reader->record.size;

    if (reader->status != FXT_OK || !reader->started)
        return (struct fxt_bytes){ .length = 0 };
    return (struct fxt_bytes){ reader->window + reader->begin - size, size };
}

void fxt_tell_skipped(const struct fxt_reader *reader, enum fxt_damage_kind kind, uint64_t size)
{
    size_t there = reader->end - reader->begin;
    uint64_t wanted = kind == FXT_DAMAGE_SIZE_ZERO ? 8 : size;
    struct fxt_skipped skipped = {
        .kind = kind,
        .offset = reader->offset,
        .size = size,
        .bytes = { reader->window + reader->begin, there < wanted ? there : wanted },
    };

    if (kind == FXT_DAMAGE_OVERSIZED_RECORD) /* the window is past it */
        skipped.bytes.length = 0;
    reader->skipped(reader->skipped_context, &skipped);
}

static void consume(struct fxt_reader *reader, size_t bytes)
{
    reader->begin += bytes;
    reader->offset += bytes;
}

/* Room behind the unread bytes: by moving them to the front, or in a larger window.  */
static bool make_room(struct fxt_reader *reader, size_t needed)
{
    size_t capacity = reader->capacity;
    uint8_t *window;

    if (reader->begin > 0) {
        memmove(reader->window, reader->window + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    if (reader->end < capacity)
        return true;
    assert(capacity > 0 && capacity < needed);
    capacity = capacity <= needed / 2 ? 2 * capacity : needed; /* follows what is really there */
    window = realloc(reader->window, capacity);
    if (!window)
        return false;
    reader->window = window;
    reader->capacity = capacity;
    return true;
}

static enum fxt_status read_on(struct fxt_reader *reader, size_t needed)
{
    while (reader->end - reader->begin < needed) {
        size_t length;

        if (reader->input_status != FXT_OK)
            return FXT_END;
        if ((reader->capacity - reader->begin < needed || reader->end == reader->capacity) &&
            !make_room(reader, needed))
            return FXT_NO_MEMORY;
        reader->input_status = fxt_input_read(reader->input, reader->window + reader->end,
                                              reader->capacity - reader->end, &length,
                                              &reader->input_error);
        if (reader->input_status == FXT_NO_MEMORY)
            return FXT_NO_MEMORY;
        if (reader->input_status == FXT_OK)
            reader->end += length;
    }
    return FXT_OK;
}

/* Read on until needed bytes are in the window or the input ends.  FXT_OK, FXT_END (fewer are
 * there) or FXT_NO_MEMORY.  A failed input ends like any other here; finish() tells.  */
static inline enum fxt_status fill(struct fxt_reader *reader, size_t needed)
{
    return reader->end - reader->begin >= needed ? FXT_OK : read_on(reader, needed);
}

/* End here, for good.  */
static enum fxt_status stop(struct fxt_reader *reader, enum fxt_status status)
{
    reader->status = status;
    if (status == FXT_NO_MEMORY)
        (void)fxt_fail(&reader->error, status, 0, reader->offset, "out of memory");
    return status;
}

/* The input is over; left bytes belong to a record that is not all there (or to none).  */
static enum fxt_status finish(struct fxt_reader *reader, uint64_t left)
{
    bool cut = fxt_input_is_cut(reader->input);
    struct fxt_damage *damage = &reader->damage;

    damage->kinds[FXT_DAMAGE_CORRUPT_REGION].count = fxt_input_damage(
        reader->input, &damage->kinds[FXT_DAMAGE_CORRUPT_REGION].first_offset);
    if (fxt_input_was_left(reader->input)) { /* the rest of the record is still to be written */
        reader->begin = reader->end;
        return stop(reader, FXT_END);
    }
    if (left > 0 && left < 8 && !cut)
        fxt_count_damage(reader, FXT_DAMAGE_STRAY_BYTES, left);
    else if (left > 0 || cut)
        fxt_count_damage(reader, FXT_DAMAGE_TRUNCATED_TAIL, left);
    reader->offset += left;
    reader->begin = reader->end;
    if (reader->input_status == FXT_FATAL) {
        if (reader->input_error.system_errno == 0 &&
            fxt_input_part(reader->input, 0)->format == FXT_FORMAT_STREAM)
            fxt_count_damage(reader, FXT_DAMAGE_CORRUPT_INPUT, 0);
        reader->error = reader->input_error;
        return stop(reader, FXT_FATAL);
    }
    return stop(reader, FXT_END);
}

static enum fxt_status refuse(struct fxt_reader *reader, const char *why)
{
    (void)fxt_fail(&reader->error, FXT_FATAL, 0, reader->offset, "not an FXT trace: %s", why);
    return stop(reader, FXT_FATAL);
}

/* The input is over behind the first left bytes of a record.  A read that failed says more than
 * that the record is not whole.  */
static enum fxt_status end_inside(struct fxt_reader *reader, uint64_t left)
{
    if (reader->no_magic && reader->input_status != FXT_FATAL)
        return refuse(reader, "no magic number, and the first record does not fit");
    return finish(reader, left);
}

/* Pass over a record that is larger than max_record_bytes without keeping it.  */
static enum fxt_status skip_oversized(struct fxt_reader *reader, uint64_t size)
{
    uint64_t left = size;
    uint64_t start = reader->offset;

    while (left > 0) {
        size_t there = reader->end - reader->begin;
        size_t step = there < left ? there : (size_t)left;
        enum fxt_status status;

        consume(reader, step);
        left -= step;
        if (left == 0)
            break;
        status = fill(reader, 1);
        if (status == FXT_NO_MEMORY)
            return stop(reader, status);
        if (status == FXT_END) {
            reader->offset = start;
            return end_inside(reader, size - left);
        }
    }
    reader->offset = start;
    fxt_count_damage(reader, FXT_DAMAGE_OVERSIZED_RECORD, size);
    reader->offset = start + size;
    return FXT_OK;
}

/* Before the first record: is this FXT at all?  */
static enum fxt_status examine_start(struct fxt_reader *reader)
{
    static const uint8_t magic[] = { 0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00 };
    const uint8_t *bytes;
    enum fxt_status status = fill(reader, 16);
    size_t there = reader->end - reader->begin;

    if (status == FXT_NO_MEMORY)
        return stop(reader, status);
    reader->started = true;
    bytes = reader->window + reader->begin;
    if (there >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0)
        return FXT_OK;
    if (!reader->trust_start && fxt_examine_start(bytes, there, &reader->error) != FXT_OK)
        return stop(reader, FXT_FATAL);
    if (there < sizeof magic && memcmp(bytes, magic, there) == 0)
        return FXT_OK; /* empty, or a cut magic */
    reader->no_magic = !reader->trust_start;
    fxt_count_damage(reader, FXT_DAMAGE_NO_MAGIC, 0);
    return FXT_OK;
}

/* Count a record that is dropped, and nothing else of it.  */
static void drop(struct fxt_reader *reader, enum fxt_damage_kind kind, size_t size)
{
    if (reader->noticed_offset == reader->offset)
        reader->damage = reader->unnoticed;
    fxt_count_damage(reader, kind, size);
}

/* Count what was wrong with a record that is passed over or delivered as unknown.  */
static enum fxt_status judge(struct fxt_reader *reader, enum fxt_decoded decoded, size_t size)
{
    switch (decoded) {
    case FXT_DECODED_BAD:
        if (reader->no_magic)
            return refuse(reader, "no magic number, and the first record makes no sense");
        drop(reader, FXT_DAMAGE_BAD_RECORD, size);
        break;
    case FXT_DECODED_OVERFLOW:
        if (reader->no_magic)
            return refuse(reader, "no magic number, and the first record's time is out of range");
        drop(reader, FXT_DAMAGE_TIME_OVERFLOW, size);
        break;
    case FXT_DECODED_UNKNOWN:
        if (reader->no_magic)
            return refuse(reader, "no magic number, and the first record is of no known type");
        fxt_count_damage(reader, FXT_DAMAGE_UNKNOWN_RECORD, 0);
        break;
    case FXT_DECODED_NO_MEMORY:
        return stop(reader, FXT_NO_MEMORY);
    case FXT_DECODED:
        break;
    }
    return FXT_OK;
}

/* Pass by a record of size bytes of which came what decoded says: deliver it or drop it.  */
static inline enum fxt_status settle(struct fxt_reader *reader, enum fxt_decoded decoded,
                                     size_t size, bool *delivered)
{
    if (decoded == FXT_DECODED) {
        reader->no_magic = false; /* the first record made sense: so be it */
    } else {
        enum fxt_status status = judge(reader, decoded, size);

        if (status != FXT_OK)
            return status;
    }
    consume(reader, size);
    *delivered = decoded == FXT_DECODED || decoded == FXT_DECODED_UNKNOWN;
    return FXT_OK;
}

static inline uint64_t record_size(uint64_t header)
{
    return 8 * (fxt_bits(header, 0, 3) == 15 ? fxt_bits(header, 4, 35) : fxt_bits(header, 4, 15));
}

static enum fxt_status stop_at_size_zero(struct fxt_reader *reader)
{
    if (reader->no_magic)
        return refuse(reader, "no magic number, and the first record has size 0");
    fxt_count_damage(reader, FXT_DAMAGE_SIZE_ZERO, 0);
    (void)fxt_fail(&reader->error, FXT_FATAL, 0, reader->offset,
                   "record of size 0 at offset %llu; nothing after it can be read",
                   (unsigned long long)reader->offset);
    return stop(reader, FXT_FATAL);
}

/* One header: deliver its record (*delivered), or pass over what stands there.  */
static enum fxt_status step(struct fxt_reader *reader, bool *delivered)
{
    enum fxt_status status = fill(reader, 8);
    uint64_t header, size;

    if (status != FXT_OK)
        return status == FXT_END ? finish(reader, reader->end - reader->begin)
                                 : stop(reader, status);
    header = fxt_load_u64(reader->window + reader->begin);
    if (header == 0) {
        fxt_count_damage(reader, FXT_DAMAGE_ZERO_WORDS, 8);
        consume(reader, 8);
        return FXT_OK;
    }
    size = record_size(header);
    if (size == 0)
        return stop_at_size_zero(reader);
    if (size > reader->max_record_bytes)
        return skip_oversized(reader, size);
    status = fill(reader, (size_t)size);
    if (status != FXT_OK)
        return status == FXT_END ? end_inside(reader, reader->end - reader->begin)
                                 : stop(reader, status);
    return settle(reader, fxt_decode(reader, reader->window + reader->begin, (size_t)size),
                  (size_t)size, delivered);
}

/* Whatever comes next, up to the next record that is delivered.  */
static enum fxt_status next(struct fxt_reader *reader, const struct fxt_record **out,
                            struct fxt_error *error)
{
    enum fxt_status status = reader->status;
    bool delivered = false;

    if (status == FXT_OK && !reader->started)
        status = examine_start(reader);
    while (status == FXT_OK && !delivered)
        status = step(reader, &delivered);
    if (status == FXT_OK)
        *out = &reader->record;
    else if (status != FXT_END && error)
        *error = reader->error;
    return status;
}

/* The length in words of the event that comes next, behind another one and whole in the window;
 * else 0.  */
static inline size_t event_words(const struct fxt_reader *reader, uint64_t *header)
{
    size_t there = (reader->end - reader->begin) / 8;
    size_t words;

    if (reader->record.kind != FXT_RECORD_EVENT || there == 0)
        return 0;
    *header = fxt_load_u64(reader->window + reader->begin);
    words = (size_t)fxt_bits(*header, 4, 15);
    return fxt_bits(*header, 0, 3) == FXT_TYPE_EVENT && words <= there ? words : 0;
}

/* Events come in long runs, and then there is little to do around their decoding.  */
enum fxt_status fxt_reader_next(struct fxt_reader *reader, const struct fxt_record **out,
                                struct fxt_error *error)
{
    struct fxt_record *record = &reader->record;
    enum fxt_decoded decoded;
    uint64_t header;
    size_t words;
    bool delivered;

    if (reader->status != FXT_OK || (words = event_words(reader, &header)) == 0)
        return next(reader, out, error);
    record->offset = reader->offset;
    record->size = 8 * words;
    record->provider = &reader->contexts.current->provider;
    decoded = fxt_decode_event(reader, header, reader->window + reader->begin + 8, words - 1);
    if (decoded == FXT_DECODED) {
        consume(reader, 8 * words);
        *out = record;
        return FXT_OK;
    }
    (void)settle(reader, decoded, 8 * words, &delivered); /* dropped: on to the next */
    return next(reader, out, error);
}
