/* decode.c - the contents of records.  perf_event_open(2) has their layouts.  */
#include <linux/perf_event.h>

#include "libperf/perf_internal.h"

enum {
    MISC_BUILD_ID = 1 << 14, /* MMAP2 has a build ID in place of device and inode */
    MISC_OUT = 1 << 13,      /* SWITCH; COMM: an exec; MMAP: of data */
    MISC_PREEMPT = 1 << 14,
    KSYMBOL_UNREGISTER = 1,
    SAMPLE_WEIGHT_STRUCT = 1 << 24,
    BRANCH_HW_INDEX = 1 << 17,
    BRANCH_COUNTERS = 1 << 19,
    READ_LOST = 1 << 4,
};

uint64_t perf_data_word(const struct perf_data *data, struct perf_data_words words, size_t index)
{
    return perf_load_u64(words.bytes + 8 * index, data->swap);
}

static struct perf_data_words take_words(struct perf_cursor *cursor, uint64_t count)
{
    const uint8_t *bytes = count <= cursor->left / 8 ? perf_take(cursor, 8 * count) : NULL;

    if (!bytes) {
        cursor->failed = true;
        return (struct perf_data_words){ .bytes = NULL };
    }
    return (struct perf_data_words){ bytes, (size_t)count };
}

static struct perf_cursor body_of(const struct perf_data *data, const uint8_t *bytes, size_t size)
{
    return (struct perf_cursor){ .at = bytes + PERF_HEADER_BYTES,
                                 .left = size - PERF_HEADER_BYTES,
                                 .swap = data->swap };
}

/* ---- Which event a record is of ---- */

static size_t bits(uint64_t value)
{
    return (size_t)__builtin_popcountll(value);
}

/* All events of a file agree on where the id is.  */
static bool id_of_sample(const struct perf_data *data, const uint8_t *bytes, size_t size,
                         uint64_t *id)
{
    size_t at = data->events.items[0].id_at;

    if (at == 0 || at + 8 > size)
        return false;
    *id = perf_load_u64(bytes + at, data->swap);
    return true;
}

/* Other records have it at their end.  */
static bool id_of_other(const struct perf_data *data, const uint8_t *bytes, size_t size,
                        uint64_t *id)
{
    const struct perf_data_event *first = &data->events.items[0];
    size_t back = 8;

    if (!first->sample_id_all)
        return false;
    if (!(first->sample_type & PERF_SAMPLE_IDENTIFIER)) {
        if (!(first->sample_type & PERF_SAMPLE_ID))
            return false;
        back += 8 * bits(first->sample_type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
    }
    if (back > size - PERF_HEADER_BYTES)
        return false;
    *id = perf_load_u64(bytes + size - back, data->swap);
    return true;
}

/* False: of an event that the file does not have.  Id 0 is what perf itself writes.  */
static bool event_of(const struct perf_data *data, const uint8_t *bytes, size_t size, uint32_t kind,
                     uint32_t *event)
{
    uint64_t id = 0;
    bool has_id;

    *event = 0;
    if (data->events.count <= 1)
        return data->events.count == 1;
    has_id = kind == PERF_DATA_SAMPLE ? id_of_sample(data, bytes, size, &id)
                                      : id_of_other(data, bytes, size, &id);
    if (!has_id || id == 0)
        return true;
    return perf_events_find(data, id, event);
}

/* ---- Words of samples and of other records ---- */

static void read_thread_and_time(uint64_t type, struct perf_cursor *cursor,
                                 struct perf_data_record *record)
{
    if (type & PERF_SAMPLE_TID) {
        record->pid = perf_take_u32(cursor);
        record->tid = perf_take_u32(cursor);
    }
    if (type & PERF_SAMPLE_TIME) {
        record->time_ns = perf_take_u64(cursor);
        record->has_time = record->time_ns != 0 && record->time_ns != UINT64_MAX;
        if (!record->has_time)
            record->time_ns = 0; /* all ones are no time either */
    }
}

/* ---- Identification at the end of records that are no samples ---- */

#define ID_WORDS                                                                   \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
     PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static void read_identification(const struct perf_data_event *event, struct perf_cursor *cursor,
                                struct perf_data_record *record)
{
    uint64_t type = event->sample_type;

    read_thread_and_time(type, cursor, record);
    if (type & PERF_SAMPLE_ID)
        (void)perf_take_u64(cursor);
    if (type & PERF_SAMPLE_STREAM_ID)
        (void)perf_take_u64(cursor);
    if (type & PERF_SAMPLE_CPU)
        record->cpu = perf_take_u32(cursor);
}

/* Cut it off the contents.  */
static void cut_identification(const struct perf_data_event *event, struct perf_cursor *cursor,
                               struct perf_data_record *record)
{
    size_t size = 8 * bits(event->sample_type & ID_WORDS);
    struct perf_cursor end = *cursor;

    if (!event->sample_id_all || size > cursor->left)
        return;
    cursor->left -= size;
    end.at += cursor->left;
    end.left = size;
    read_identification(event, &end, record);
}

bool perf_decode_time(const struct perf_data *data, const uint8_t *bytes, size_t size,
                      uint64_t *time_ns)
{
    uint32_t kind = perf_load_u32(bytes, data->swap), event;
    size_t at;

    if (kind >= PERF_DATA_FIRST_OF_PERF || !event_of(data, bytes, size, kind, &event))
        return false;
    if (kind != PERF_DATA_SAMPLE) {
        struct perf_data_record record = { .kind = kind };
        struct perf_cursor cursor = body_of(data, bytes, size);

        cut_identification(&data->events.items[event], &cursor, &record);
        *time_ns = record.time_ns;
        return record.has_time;
    }
    at = data->events.items[event].time_at;
    if (at == 0 || at + 8 > size)
        return false;
    *time_ns = perf_load_u64(bytes + at, data->swap);
    return *time_ns != 0 && *time_ns != UINT64_MAX;
}

/* ---- Samples ---- */

/* The values of counters, which nothing here needs.  */
static void skip_read(uint64_t format, struct perf_cursor *cursor)
{
    uint64_t count = 1, each = 1;

    if (format & PERF_FORMAT_GROUP)
        count = perf_take_u64(cursor);
    each += bits(format & (PERF_FORMAT_ID | READ_LOST));
    if (count > cursor->left / 8) {
        cursor->failed = true;
        return;
    }
    (void)take_words(cursor, count * each + bits(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                           PERF_FORMAT_TOTAL_TIME_RUNNING)));
}

/* Bytes of a tracepoint, which fill whole words together with their length.  */
static void read_raw(struct perf_cursor *cursor, struct perf_data_sample *sample)
{
    uint32_t size = perf_take_u32(cursor);

    sample->raw = perf_take(cursor, size);
    if (sample->raw)
        sample->raw_size = size;
}

static void read_branches(const struct perf_data_event *event, struct perf_cursor *cursor,
                          struct perf_data_sample *sample)
{
    uint64_t count = perf_take_u64(cursor);

    if (event->branch_type & BRANCH_HW_INDEX)
        (void)perf_take_u64(cursor);
    if (count > cursor->left / 24) {
        cursor->failed = true;
        return;
    }
    sample->branches = take_words(cursor, 3 * count);
    if (event->branch_type & BRANCH_COUNTERS)
        (void)take_words(cursor, count);
}

static struct perf_data_registers read_registers(uint64_t mask, struct perf_cursor *cursor)
{
    struct perf_data_registers registers = { .abi = perf_take_u64(cursor), .mask = mask };

    if (registers.abi != 0)
        registers.values = take_words(cursor, bits(mask));
    return registers;
}

static void read_stack(struct perf_cursor *cursor, struct perf_data_sample *sample)
{
    uint64_t size = perf_take_u64(cursor), filled;

    if (size == 0)
        return;
    sample->stack = perf_take(cursor, size);
    filled = perf_take_u64(cursor);
    if (sample->stack)
        sample->stack_size = (size_t)(filled < size ? filled : size);
}

/* The members before the call chain.  */
static void read_front(const struct perf_data_event *event, struct perf_cursor *cursor,
                       struct perf_data_record *record)
{
    struct perf_data_sample *sample = &record->sample;
    uint64_t type = event->sample_type;

    if (type & PERF_SAMPLE_IDENTIFIER)
        (void)perf_take_u64(cursor);
    if (type & PERF_SAMPLE_IP)
        sample->ip = perf_take_u64(cursor);
    read_thread_and_time(type, cursor, record);
    if (type & PERF_SAMPLE_ADDR)
        sample->address = perf_take_u64(cursor);
    if (type & PERF_SAMPLE_ID)
        (void)perf_take_u64(cursor);
    if (type & PERF_SAMPLE_STREAM_ID)
        (void)perf_take_u64(cursor);
    if (type & PERF_SAMPLE_CPU) {
        record->cpu = perf_take_u32(cursor);
        (void)perf_take_u32(cursor);
    }
    sample->period = type & PERF_SAMPLE_PERIOD ? perf_take_u64(cursor)
                     : event->is_frequency     ? 1
                                               : event->period;
}

/* The members after the user stack.  */
static void read_rest(const struct perf_data_event *event, struct perf_cursor *cursor,
                      struct perf_data_sample *sample)
{
    uint64_t type = event->sample_type;

    if (type & (PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT))
        sample->weight = perf_take_u64(cursor);
    if (type & PERF_SAMPLE_DATA_SRC)
        sample->data_source = perf_take_u64(cursor);
    if (type & PERF_SAMPLE_TRANSACTION)
        sample->transaction = perf_take_u64(cursor);
    if (type & PERF_SAMPLE_REGS_INTR)
        sample->intr = read_registers(event->intr_registers, cursor);
    if (type & PERF_SAMPLE_PHYS_ADDR)
        sample->physical = perf_take_u64(cursor);
    if (type & PERF_SAMPLE_CGROUP)
        sample->cgroup = perf_take_u64(cursor);
}

static void read_sample(const struct perf_data_event *event, struct perf_cursor *cursor,
                        struct perf_data_record *record)
{
    struct perf_data_sample *sample = &record->sample;
    uint64_t type = event->sample_type;

    read_front(event, cursor, record);
    if (type & PERF_SAMPLE_READ)
        skip_read(event->read_format, cursor);
    if (type & PERF_SAMPLE_CALLCHAIN)
        sample->chain = take_words(cursor, perf_take_u64(cursor));
    if (type & PERF_SAMPLE_RAW)
        read_raw(cursor, sample);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        read_branches(event, cursor, sample);
    if (type & PERF_SAMPLE_REGS_USER)
        sample->user = read_registers(event->user_registers, cursor);
    if (type & PERF_SAMPLE_STACK_USER)
        read_stack(cursor, sample);
    read_rest(event, cursor, sample);
}

/* ---- Others ---- */

/* Which file an MMAP2 is of, and whether it is code.  */
static void read_identity(struct perf_cursor *cursor, uint16_t misc,
                          struct perf_data_mapping *mapping)
{
    enum { EXECUTABLE = 4, MOST_PROTECTION = 0xffff };
    const uint8_t *identity = perf_take(cursor, 24);

    if (identity && misc & MISC_BUILD_ID) {
        mapping->build_id_length = identity[0] <= 20 ? identity[0] : 20;
        memcpy(mapping->build_id, identity + 4, sizeof mapping->build_id);
    } else if (identity) {
        mapping->device = (uint64_t)perf_load_u32(identity, cursor->swap) << 32 |
                          perf_load_u32(identity + 4, cursor->swap);
        mapping->inode = perf_load_u64(identity + 8, cursor->swap);
    }
    /* Linux 3.12 to 3.15 wrote no protection: there the name begins here.  */
    if (cursor->left >= 4 && perf_load_u32(cursor->at, cursor->swap) > MOST_PROTECTION)
        return;
    mapping->is_data = !(perf_take_u32(cursor) & EXECUTABLE);
    (void)perf_take_u32(cursor); /* flags */
}

static void read_mapping(struct perf_cursor *cursor, struct perf_data_record *record,
                         bool is_second)
{
    struct perf_data_mapping *mapping = &record->mapping;

    record->pid = perf_take_u32(cursor);
    record->tid = perf_take_u32(cursor);
    mapping->start = perf_take_u64(cursor);
    mapping->length = perf_take_u64(cursor);
    mapping->file_offset = perf_take_u64(cursor);
    mapping->is_data = record->misc & MISC_OUT;
    if (is_second)
        read_identity(cursor, record->misc, mapping);
    mapping->name = perf_take_text(cursor);
}

static void read_task(struct perf_cursor *cursor, struct perf_data_record *record)
{
    record->pid = perf_take_u32(cursor);
    record->task.parent_pid = perf_take_u32(cursor);
    record->tid = perf_take_u32(cursor);
    record->task.parent_tid = perf_take_u32(cursor);
}

static void read_comm(struct perf_cursor *cursor, struct perf_data_record *record)
{
    record->pid = perf_take_u32(cursor);
    record->tid = perf_take_u32(cursor);
    record->comm.is_exec = record->misc & MISC_OUT;
    record->comm.name = perf_take_text(cursor);
}

static void read_switch(struct perf_cursor *cursor, struct perf_data_record *record)
{
    record->context_switch.is_out = record->misc & MISC_OUT;
    record->context_switch.is_preempted = record->misc & MISC_PREEMPT;
    record->context_switch.other_pid = record->context_switch.other_tid = UINT32_MAX;
    if (record->kind == PERF_DATA_SWITCH_CPU_WIDE) {
        record->context_switch.other_pid = perf_take_u32(cursor);
        record->context_switch.other_tid = perf_take_u32(cursor);
    }
}

static void read_ksymbol(struct perf_cursor *cursor, struct perf_data_record *record)
{
    uint32_t type_and_flags;

    record->ksymbol.address = perf_take_u64(cursor);
    record->ksymbol.length = perf_take_u32(cursor);
    type_and_flags = perf_take_u32(cursor);
    record->ksymbol.is_gone = (cursor->swap ? type_and_flags : type_and_flags >> 16) &
                              KSYMBOL_UNREGISTER;
    record->ksymbol.name = perf_take_text(cursor);
}

static void read_deferred(struct perf_cursor *cursor, struct perf_data_record *record)
{
    record->deferred.cookie = perf_take_u64(cursor);
    record->deferred.chain = take_words(cursor, perf_take_u64(cursor));
}

static void read_aux(struct perf_cursor *cursor, struct perf_data_record *record)
{
    record->aux.offset = perf_take_u64(cursor);
    record->aux.length = perf_take_u64(cursor);
    record->aux.is_truncated = perf_take_u64(cursor) & PERF_AUX_FLAG_TRUNCATED;
}

static void read_thread(struct perf_cursor *cursor, struct perf_data_record *record)
{
    record->pid = perf_take_u32(cursor);
    record->tid = perf_take_u32(cursor);
}

static void read_auxtrace(struct perf_cursor *cursor, struct perf_data_record *record)
{
    record->auxtrace.length = perf_take_u64(cursor);
    record->auxtrace.offset = record->offset + record->size;
    record->auxtrace.ring_offset = perf_take_u64(cursor);
    (void)perf_take_u64(cursor); /* reference */
    record->auxtrace.index = perf_take_u32(cursor);
    record->tid = record->auxtrace.tid = perf_take_u32(cursor);
    record->auxtrace.cpu = perf_take_u32(cursor);
}

/* The members of the kinds that are no samples.  */
static void read_other(struct perf_cursor *cursor, struct perf_data_record *record)
{
    switch (record->kind) {
    case PERF_DATA_MMAP:
        read_mapping(cursor, record, false);
        break;
    case PERF_DATA_MMAP2:
        read_mapping(cursor, record, true);
        break;
    case PERF_DATA_COMM:
        read_comm(cursor, record);
        break;
    case PERF_DATA_FORK:
    case PERF_DATA_EXIT:
        read_task(cursor, record);
        break;
    case PERF_DATA_LOST:
        (void)perf_take_u64(cursor); /* id */
        record->lost = perf_take_u64(cursor);
        break;
    case PERF_DATA_LOST_SAMPLES:
        record->lost = perf_take_u64(cursor);
        break;
    case PERF_DATA_SWITCH:
    case PERF_DATA_SWITCH_CPU_WIDE:
        read_switch(cursor, record);
        break;
    case PERF_DATA_KSYMBOL:
        read_ksymbol(cursor, record);
        break;
    case PERF_DATA_CALLCHAIN_DEFERRED:
        read_deferred(cursor, record);
        break;
    case PERF_DATA_AUX:
        read_aux(cursor, record);
        break;
    case PERF_DATA_ITRACE_START:
    case PERF_DATA_NAMESPACES:
    case PERF_DATA_READ:
        read_thread(cursor, record);
        break;
    case PERF_DATA_AUXTRACE:
        read_auxtrace(cursor, record);
        break;
    default:
        break;
    }
}

bool perf_decode(struct perf_data *data, const uint8_t *bytes, size_t size, uint64_t offset)
{
    struct perf_cursor cursor = body_of(data, bytes, size);
    struct perf_data_record *record = &data->record;

    *record = (struct perf_data_record){ .kind = perf_load_u32(bytes, data->swap),
                                         .misc = perf_load_u16(bytes + 4, data->swap),
                                         .offset = offset,
                                         .pid = UINT32_MAX,
                                         .tid = UINT32_MAX,
                                         .cpu = UINT32_MAX,
                                         .bytes = bytes,
                                         .size = size };
    if (record->kind > PERF_DATA_SIMPLEPERF)
        record->kind = PERF_DATA_SIMPLEPERF;
    if (record->kind < PERF_DATA_FIRST_OF_PERF) {
        const struct perf_data_event *event;

        if (!event_of(data, bytes, size, record->kind, &record->event)) {
            data->notices.strange_ids++;
            return false;
        }
        event = &data->events.items[record->event];
        if (record->kind == PERF_DATA_SAMPLE)
            read_sample(event, &cursor, record);
        else
            cut_identification(event, &cursor, record);
    }
    read_other(&cursor, record);
    if (!cursor.failed)
        return true;
    perf_note(data, &data->notices.bad_records, offset);
    return false;
}
