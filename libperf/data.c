/* data.c - open a file, its records one after the other, and what is said of them.  */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text.h"
#include "libperf/perf_internal.h"

#define DEFAULT_ORDER_BYTES ((size_t)32 << 20)
#define FILE_HEADER_BYTES   104u
#define PIPE_HEADER_BYTES   16u
#define MAX_KIND            127u /* numbers of records beyond it are damage */

/* ---- Statuses ---- */

enum perf_data_status perf_fail(struct perf_data_error *error, enum perf_data_status status,
                                int system_errno, const char *message)
{
    if (error) {
        error->status = status;
        error->system_errno = system_errno;
        (void)snprintf(error->message, sizeof error->message, "%s%s%s", message,
                       system_errno ? ": " : "", system_errno ? strerror(system_errno) : "");
    }
    return status;
}

enum perf_data_status perf_no_memory(struct perf_data_error *error)
{
    return perf_fail(error, PERF_DATA_NO_MEMORY, 0, "out of memory");
}

void perf_note(struct perf_data *data, uint64_t *count, uint64_t offset)
{
    struct perf_data_notices *notices = &data->notices;
    bool is_first = !notices->cut && !notices->bad_records && !notices->bad_bytes &&
                    !notices->bad_sections && !notices->bad_blocks;

    /* Sections are read before the records, but are stored after them.  */
    if (is_first || offset < notices->first_offset)
        notices->first_offset = offset;
    ++*count;
}

static void note_cut(struct perf_data *data, uint64_t offset)
{
    uint64_t ignored = 0;

    perf_note(data, &ignored, offset);
    data->notices.cut = true;
}

/* The first failure of reading or of memory, as a status.  */
static enum perf_data_status failure_of(const struct perf_data *data, struct perf_data_error *error)
{
    if (data->out_of_memory || data->window.failure == ENOMEM)
        return perf_no_memory(error);
    if (data->window.failure)
        return perf_fail(error, PERF_DATA_IO, data->window.failure, "reading");
    return PERF_DATA_OK;
}

/* ---- The header ---- */

bool perf_data_is(const void *start, size_t length)
{
    return length >= PERF_DATA_SNIFF_BYTES &&
           (memcmp(start, "PERFILE2", 8) == 0 || memcmp(start, "2ELIFREP", 8) == 0 ||
            memcmp(start, "PERFFILE", 8) == 0);
}

bool perf_data_is_pipe(const void *start, size_t length)
{
    static const uint8_t sizes[2][8] = { { PIPE_HEADER_BYTES }, { [7] = PIPE_HEADER_BYTES } };
    const uint8_t *bytes = start;

    return length >= PERF_DATA_FORM_BYTES && perf_data_is(start, length) &&
           memcmp(bytes + 8, sizes[bytes[0] == '2'], 8) == 0;
}

/* The ids of an event's samples.  Sections may overlap: together they may have so many ids.  */
#define MAX_IDS (1u << 22)

static void read_ids(struct perf_data *data, uint64_t offset, uint64_t size)
{
    size_t event = data->events.count - 1;
    uint8_t ids[512];

    while (size >= 8 && !data->out_of_memory) {
        size_t part = size < sizeof ids ? (size_t)size & ~(size_t)7 : sizeof ids;

        data->ids_read += part / 8;
        if (data->ids_read > MAX_IDS || offset > INT64_MAX - part ||
            !perf_window_read(&data->window, offset, ids, part)) {
            perf_note(data, &data->notices.bad_sections, offset);
            return;
        }
        for (size_t i = 0; i < part; i += 8)
            (void)perf_events_add_id(data, perf_load_u64(ids + i, data->swap), event);
        offset += part;
        size -= part;
    }
}

/* The events of the form of files: attributes of one size, each followed by the place of its
 * ids.  */
static void read_attributes(struct perf_data *data, uint64_t each, uint64_t offset, uint64_t size)
{
    uint8_t bytes[512];

    if (each < 80 || each > sizeof bytes) {
        perf_note(data, &data->notices.bad_sections, offset);
        return;
    }
    for (uint64_t at = 0; each <= size - at && !data->out_of_memory; at += each) {
        const uint8_t *ids = bytes + each - 16;

        if (offset > UINT64_MAX - at ||
            !perf_window_read(&data->window, offset + at, bytes, (size_t)each) ||
            !perf_events_add(data, bytes, (size_t)each - 16)) {
            perf_note(data, &data->notices.bad_sections, offset);
            return;
        }
        read_ids(data, perf_load_u64(ids, data->swap), perf_load_u64(ids + 8, data->swap));
    }
}

/* Big-endian machines wrote the bits of features as words of 64 bits, older perf of 32.  */
static void read_feature_bits(const struct perf_data *data, const uint8_t *bytes,
                              uint64_t features[4])
{
    enum { HOSTNAME = 3 };

    for (size_t i = 0; i < 4; i++)
        features[i] = perf_load_u64(bytes + 8 * i, data->swap);
    if (!data->swap || features[0] >> HOSTNAME & 1)
        return;
    for (size_t i = 0; i < 4; i++)
        features[i] = perf_load_u32(bytes + 8 * i, true) |
                      (uint64_t)perf_load_u32(bytes + 8 * i + 4, true) << 32;
}

/* Where the records end.  Without a size they go on to the end of the file; a size that no file has
 * is that of a file that is cut.  */
static uint64_t end_of_data(uint64_t offset, uint64_t size)
{
    if (size == 0)
        return UINT64_MAX;
    return size < UINT64_MAX - offset ? offset + size : UINT64_MAX - 1;
}

static enum perf_data_status open_file(struct perf_data *data, struct perf_data_error *error)
{
    const uint8_t *header;
    uint64_t words[9], features[4], data_offset, data_size;
    enum perf_data_status status;

    if (!data->window.can_seek)
        return perf_fail(error, PERF_DATA_NEEDS_FILE, 0,
                         "a perf.data file in the form of files cannot be read from a pipe");
    if (perf_window_need(&data->window, FILE_HEADER_BYTES) < FILE_HEADER_BYTES) {
        status = failure_of(data, error);
        return status ? status : perf_fail(error, PERF_DATA_MALFORMED, 0, "the header is cut");
    }
    header = perf_window_bytes(&data->window);
    for (size_t i = 0; i < 9; i++)
        words[i] = perf_load_u64(header + 8 * i, data->swap);
    read_feature_bits(data, header + 72, features);
    data_offset = words[5];
    data_size = words[6];
    read_attributes(data, words[2], words[3], words[4]);
    if (data->events.count > 0 && data_size > 0 && data_offset <= UINT64_MAX - data_size)
        perf_facts_sections(data, features, data_offset + data_size);
    /* perf writes the size last.  */
    data->notices.unfinished = data_size == 0;
    perf_window_seek(&data->window, data_offset, end_of_data(data_offset, data_size));
    if (data->events.count == 0 && !data->out_of_memory && !data->window.failure)
        return perf_fail(error, PERF_DATA_MALFORMED, 0, "no event can be read");
    return failure_of(data, error);
}

static enum perf_data_status read_header(struct perf_data *data, struct perf_data_error *error)
{
    uint32_t one = 1;
    bool is_big_host = *(const uint8_t *)&one == 0;
    const uint8_t *start;
    size_t there = perf_window_need(&data->window, PIPE_HEADER_BYTES);
    enum perf_data_status status = there < PIPE_HEADER_BYTES ? failure_of(data, error)
                                                             : PERF_DATA_OK;

    if (status)
        return status;
    if (there < PERF_DATA_SNIFF_BYTES || !perf_data_is(perf_window_bytes(&data->window), there))
        return perf_fail(error, PERF_DATA_FOREIGN, 0, "not a perf.data file");
    if (there < PIPE_HEADER_BYTES)
        return perf_fail(error, PERF_DATA_MALFORMED, 0, "the header is cut");
    start = perf_window_bytes(&data->window);
    /* The first version's magic is a text; its first number is small.  */
    data->facts.is_big_endian = memcmp(start, "PERFFILE", 8) == 0 ? start[8] == 0 : start[0] == '2';
    data->swap = data->facts.is_big_endian != is_big_host;
    data->facts.is_pipe = perf_data_is_pipe(start, PIPE_HEADER_BYTES);
    if (!data->facts.is_pipe)
        return open_file(data, error);
    perf_window_take(&data->window, PIPE_HEADER_BYTES);
    return PERF_DATA_OK;
}

enum perf_data_status perf_data_open(int fd, const struct perf_data_options *options,
                                     struct perf_data **out, struct perf_data_error *error)
{
    struct perf_data *data = calloc(1, sizeof *data);
    enum perf_data_status status;

    *out = NULL;
    if (!data)
        return perf_no_memory(error);
    perf_window_open(&data->window, fd, &data->blocks);
    data->order.blocks = &data->blocks;
    data->order.limit = options && options->order_bytes ? options->order_bytes
                                                        : DEFAULT_ORDER_BYTES;
    status = read_header(data, error);
    if (status) {
        perf_data_close(data);
        return status;
    }
    *out = data;
    return PERF_DATA_OK;
}

void perf_data_close(struct perf_data *data)
{
    if (!data)
        return;
    if (data->has_last)
        perf_order_give_back(&data->order, &data->last);
    perf_order_release(&data->order);
    perf_window_release(&data->window);
    perf_blocks_release(&data->blocks);
    perf_events_release(&data->events);
    perf_expansion_release(&data->expansion);
    perf_files_release(data);
    base_arena_release(&data->arena);
    free(data->build_ids);
    free(data);
}

/* ---- Records in the order of the file ---- */

/* Whether a record may begin with these bytes.  */
static bool is_header(const struct perf_data *data, const uint8_t *bytes)
{
    uint32_t kind = perf_load_u32(bytes, data->swap);
    uint16_t size = perf_load_u16(bytes + 6, data->swap);

    return kind > 0 && kind <= MAX_KIND && size >= PERF_HEADER_BYTES;
}

/* Whether records seem to begin at byte at of what is there: three headers in a row, or as many as
 * there are to the end.  */
static bool is_start(const struct perf_data *data, const uint8_t *bytes, size_t there, size_t at)
{
    for (unsigned found = 0; found < 3; found++) {
        if (at == there)
            return found > 0;
        if (there - at < PERF_HEADER_BYTES || !is_header(data, bytes + at) ||
            perf_data_kind_name(perf_load_u32(bytes + at, data->swap)) == NULL)
            return false;
        at += perf_load_u16(bytes + at + 6, data->swap);
        if (at > there)
            return found > 0;
    }
    return true;
}

/* Pass over bytes that are no record, up to where records seem to begin again.  */
static void pass_damage(struct perf_data *data)
{
    struct perf_window *window = &data->window;
    uint64_t before = window->offset, ignored = 0;
    size_t there, at = 8;

    perf_note(data, &ignored, before);
    for (;;) {
        there = perf_window_need(window, 4 * (size_t)PERF_MAX_RECORD);
        while (at + PERF_HEADER_BYTES <= there &&
               !is_start(data, perf_window_bytes(window), there, at))
            at += 8;
        if (at + PERF_HEADER_BYTES <= there || window->ended)
            break;
        perf_window_take(window, at);
        at = 0;
    }
    if (at + PERF_HEADER_BYTES > there)
        at = there;
    perf_window_take(window, at);
    data->notices.bad_bytes += window->offset - before;
}

/* The next record that is whole in what was decompressed; NULL: there is none.  */
static const uint8_t *next_expanded(struct perf_data *data, size_t *size)
{
    struct perf_expansion *expansion = &data->expansion;
    size_t there = expansion->limit - expansion->start;
    const uint8_t *bytes;

    if (there < PERF_HEADER_BYTES)
        return NULL;
    bytes = expansion->bytes + expansion->start;
    if (!is_header(data, bytes)) {
        perf_note(data, &data->notices.bad_blocks, expansion->offset);
        expansion->start = expansion->limit;
        return NULL;
    }
    *size = perf_load_u16(bytes + 6, data->swap);
    if (*size > there)
        return NULL;
    expansion->start += *size;
    return bytes;
}

/* Where bytes are missing: those that were passed over may be behind the end of the file.  */
static uint64_t missing_from(const struct perf_window *window)
{
    struct stat file;
    bool is_behind = fstat(window->fd, &file) == 0 && S_ISREG(file.st_mode) &&
                     (uint64_t)file.st_size < window->offset;

    return is_behind ? (uint64_t)file.st_size : window->offset;
}

/* No record is read any more: what is missing?  is_short: bytes after the last record.  */
static void note_end(struct perf_data *data, bool is_short)
{
    const struct perf_window *window = &data->window;
    const struct perf_expansion *expansion = &data->expansion;
    uint64_t left = window->limit - window->start, to_end = window->end - window->offset;
    bool is_sized = window->can_seek && window->end != UINT64_MAX;

    if (window->failure || data->out_of_memory)
        return; /* which is a status */
    /* The header says where the records end: the last one goes on after it.  */
    if (is_sized && (is_short ? data->to_skip > to_end : left > 0 && left == to_end))
        perf_note(data, &data->notices.bad_records, window->offset);
    else if (is_short || left > 0 || (is_sized && to_end > 0))
        note_cut(data, missing_from(window));
    else if (expansion->limit > expansion->start)
        perf_note(data, &data->notices.bad_blocks, expansion->offset);
}

/* Records of simpleperf's own: their sizes have 32 bits, the upper half before the lower one.
 * False: it is another record.  */
static bool is_simpleperf(const struct perf_data *data, const uint8_t *bytes, uint64_t *size)
{
    enum { FIRST = 32768, LIMIT = 32768 + 256 };
    uint32_t kind = perf_load_u32(bytes, data->swap);

    *size = (uint64_t)perf_load_u16(bytes + 4, data->swap) << 16 |
            perf_load_u16(bytes + 6, data->swap);
    return kind >= FIRST && kind < LIMIT && *size >= PERF_HEADER_BYTES;
}

/* The next record of the file itself, taken; NULL at the end or after a failure.  */
static const uint8_t *next_plain(struct perf_data *data, size_t *size)
{
    struct perf_window *window = &data->window;

    for (;;) {
        size_t there = perf_window_need(window, PERF_HEADER_BYTES);
        const uint8_t *bytes = perf_window_bytes(window);

        uint64_t whole;

        if (there < PERF_HEADER_BYTES)
            return NULL;
        if (is_simpleperf(data, bytes, &whole)) {
            *size = PERF_HEADER_BYTES;
            data->to_skip = whole - PERF_HEADER_BYTES;
            perf_window_take(window, PERF_HEADER_BYTES);
            return bytes;
        }
        if (!is_header(data, bytes)) {
            pass_damage(data);
            continue;
        }
        *size = perf_load_u16(bytes + 6, data->swap);
        if (perf_window_need(window, *size) < *size)
            return NULL;
        bytes = perf_window_bytes(window);
        perf_window_take(window, *size);
        return bytes;
    }
}

/* ---- Records of perf itself ---- */

static void take_attribute(struct perf_data *data, struct perf_cursor cursor, uint64_t offset)
{
    uint32_t size = cursor.left >= 8 ? perf_load_u32(cursor.at + 4, cursor.swap) : 0;
    const uint8_t *attribute = perf_take(&cursor, size);

    if (!attribute || !perf_events_add(data, attribute, size)) {
        if (!data->out_of_memory)
            perf_note(data, &data->notices.bad_records, offset);
        return;
    }
    while (cursor.left >= 8 && !data->out_of_memory)
        (void)perf_events_add_id(data, perf_take_u64(&cursor), data->events.count - 1);
}

/* A name for the event of an id.  */
static void take_update(struct perf_data *data, struct perf_cursor cursor)
{
    enum { NAME = 2 };
    uint64_t what = perf_take_u64(&cursor);
    uint64_t id = perf_take_u64(&cursor);
    const char *name = perf_take_text(&cursor);
    uint32_t event;

    if (what == NAME && name && *name && perf_events_find(data, id, &event))
        (void)perf_events_name(data, event, name, strlen(name));
}

uint64_t perf_bytes_after(const struct perf_data *data, uint32_t kind, const uint8_t *bytes,
                          size_t size)
{
    if (kind == PERF_DATA_AUXTRACE && size >= 16)
        return perf_load_u64(bytes + 8, data->swap);
    if (kind == PERF_DATA_TRACING_DATA && size >= 12 &&
        size <= 16) /* simpleperf's has them in it */
        return ((uint64_t)perf_load_u32(bytes + 8, data->swap) + 7) & ~UINT64_C(7);
    return 0;
}

/* What perf says to itself.  Compressed records are used up: false.  */
static bool take_own(struct perf_data *data, uint32_t kind, const uint8_t *bytes, size_t size,
                     uint64_t offset)
{
    struct perf_cursor cursor = { .at = bytes + PERF_HEADER_BYTES,
                                  .left = size - PERF_HEADER_BYTES,
                                  .swap = data->swap };
    uint64_t length;

    switch (kind) {
    case PERF_DATA_ATTR:
        take_attribute(data, cursor, offset);
        break;
    case PERF_DATA_EVENT_UPDATE:
        take_update(data, cursor);
        break;
    case PERF_DATA_FEATURE:
        length = perf_take_u64(&cursor);
        if (cursor.failed || (length < 256 && !perf_facts_feature(data, (uint32_t)length, cursor)))
            perf_note(data, &data->notices.bad_records, offset);
        break;
    case PERF_DATA_BUILD_ID:
        if (!perf_facts_build_id(data, cursor, perf_load_u16(bytes + 4, data->swap)))
            perf_note(data, &data->notices.bad_records, offset);
        break;
    case PERF_DATA_FINISHED_ROUND:
        perf_order_round(&data->order);
        break;
    case PERF_DATA_COMPRESSED:
        perf_expand(data, cursor.at, cursor.left, offset);
        return false;
    case PERF_DATA_COMPRESSED2:
        length = perf_take_u64(&cursor);
        if (length <= cursor.left && !cursor.failed)
            perf_expand(data, cursor.at, (size_t)length, offset);
        else
            perf_note(data, &data->notices.bad_blocks, offset);
        return false;
    default:
        break;
    }
    return true;
}

/* ---- Records in the order of time ---- */

/* A record of perf's own, or one without a time, is reported at once.  True: it is in
 * data->record.  */
static bool tell_now(struct perf_data *data, const uint8_t *bytes, size_t size, uint64_t offset,
                     bool is_expanded)
{
    uint32_t kind = perf_load_u32(bytes, data->swap);

    if (is_expanded && (kind == PERF_DATA_COMPRESSED || kind == PERF_DATA_COMPRESSED2)) {
        perf_note(data, &data->notices.bad_blocks, offset);
        return false;
    }
    if (!is_expanded && kind <= MAX_KIND)
        data->to_skip = perf_bytes_after(data, kind, bytes, size);
    if (kind >= PERF_DATA_FIRST_OF_PERF && !take_own(data, kind, bytes, size, offset))
        return false;
    return perf_decode(data, bytes, size, offset);
}

/* Read one record: it waits, or it is in data->record (true).  */
static bool read_record(struct perf_data *data)
{
    size_t size;
    const uint8_t *bytes = next_expanded(data, &size);
    bool is_expanded = bytes != NULL, is_short = false;
    uint64_t time_ns, offset;

    if (!bytes) {
        is_short = !perf_window_skip(&data->window, &data->to_skip);
        bytes = is_short ? NULL : next_plain(data, &size);
    }
    if (!bytes) {
        note_end(data, is_short);
        data->ended = true;
        perf_order_finish(&data->order);
        return false;
    }
    offset = is_expanded ? data->expansion.offset : data->window.offset - size;
    if (!perf_decode_time(data, bytes, size, &time_ns))
        return tell_now(data, bytes, size, offset, is_expanded);
    if (!perf_order_add(&data->order, time_ns, offset, bytes, size,
                        is_expanded ? NULL : data->window.block))
        data->out_of_memory = true;
    if (perf_order_is_full(&data->order))
        perf_order_half(&data->order);
    return false;
}

/* The next record that goes on now; *is_told: it is in data->record.  False: all others wait.  */
static bool take_waiting(struct perf_data *data, bool *is_told)
{
    struct perf_order *order = &data->order;

    if (data->has_last)
        perf_order_give_back(order, &data->last);
    data->has_last = perf_order_next(order, &data->last);
    if (!data->has_last)
        return false;
    if (data->last.time_ns < order->told_ns)
        data->notices.late++;
    else
        order->told_ns = data->last.time_ns;
    *is_told = perf_decode(data, data->last.bytes, data->last.size, data->last.offset);
    return true;
}

enum perf_data_status perf_data_next(struct perf_data *data, const struct perf_data_record **out,
                                     struct perf_data_error *error)
{
    bool is_told = false;

    *out = &data->record;
    while (!is_told) {
        enum perf_data_status status = failure_of(data, error);

        if (status)
            return status;
        if (take_waiting(data, &is_told))
            continue;
        if (data->ended)
            return PERF_DATA_END;
        is_told = read_record(data);
    }
    return PERF_DATA_OK;
}

/* ---- What is known ---- */

size_t perf_data_event_count(const struct perf_data *data)
{
    return data->events.count;
}

const struct perf_data_event *perf_data_event(const struct perf_data *data, size_t event)
{
    return &data->events.items[event];
}

const struct perf_data_facts *perf_data_facts(const struct perf_data *data)
{
    return &data->facts;
}

size_t perf_data_build_id_count(const struct perf_data *data)
{
    return data->build_id_count;
}

const struct perf_data_build_id *perf_data_build_id(const struct perf_data *data, size_t index)
{
    return &data->build_ids[index];
}

const struct perf_data_notices *perf_data_notices_of(const struct perf_data *data)
{
    return &data->notices;
}

bool perf_data_describe(const struct perf_data_notices *notices, char *text, size_t size)
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } parts[] = {
        { notices->bad_bytes, "byte that is no record", "bytes that are no records" },
        { notices->bad_records, "record that cannot be read", "records that cannot be read" },
        { notices->bad_blocks, "compressed record whose contents cannot all be read",
          "compressed records whose contents cannot all be read" },
        { notices->bad_sections, "section that cannot be read", "sections that cannot be read" },
        { notices->strange_ids, "record of an event that is not in the file",
          "records of events that are not in the file" },
    };
    bool has_place = notices->cut || notices->bad_bytes || notices->bad_records ||
                     notices->bad_blocks || notices->bad_sections;
    struct base_text out = { .bytes = NULL };

    if (notices->unfinished)
        base_text_adds(&out, "the recording was not finished");
    if (notices->cut)
        base_text_addf(&out, "%sthe file is cut", out.length > 0 ? ", " : "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count > 0)
            base_text_addf(&out, "%s%" PRIu64 " %s", out.length > 0 ? ", " : "", parts[i].count,
                           parts[i].count == 1 ? parts[i].one : parts[i].many);
    if (has_place)
        base_text_addf(&out, ", first at byte %" PRIu64, notices->first_offset);
    if (size > 0)
        (void)snprintf(text, size, "%s", out.bytes ? out.bytes : "");
    base_text_release(&out);
    return notices->unfinished || has_place || notices->strange_ids;
}
