/* attributes.c - attributes: which events there are, and the ids that samples name them by.
 *
 * An attribute is a struct perf_event_attr of any length: a file has that of the perf that wrote
 * it.  What it is too short for is 0.  */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "libperf/perf_internal.h"

#define MIN_ATTRIBUTE 64u /* PERF_ATTR_SIZE_VER0 */
#define MAX_EVENTS    65536u

/* Places in struct perf_event_attr.  */
enum {
    AT_TYPE = 0,
    AT_CONFIG = 8,
    AT_PERIOD = 16,
    AT_SAMPLE_TYPE = 24,
    AT_READ_FORMAT = 32,
    AT_FLAGS = 40,
    AT_BRANCH_TYPE = 72,
    AT_USER_REGISTERS = 80,
    AT_STACK_BYTES = 88,
    AT_INTR_REGISTERS = 96,
};

/* Bits of the flags, by their order in struct perf_event_attr.  */
enum {
    FLAG_EXCLUDE_KERNEL = 5,
    FLAG_FREQUENCY = 10,
    FLAG_SAMPLE_ID_ALL = 18,
    FLAG_CONTEXT_SWITCH = 26,
};

static uint64_t u64_at(const uint8_t *attribute, size_t size, size_t at, bool swap)
{
    return at + 8 <= size ? perf_load_u64(attribute + at, swap) : 0;
}

static uint8_t reversed(uint8_t byte)
{
    uint8_t out = 0;

    for (unsigned i = 0; i < 8; i++)
        out = (uint8_t)(out << 1 | (byte >> i & 1));
    return out;
}

/* Bit fields begin at the lowest bit of the first byte, on big-endian machines at the highest.  */
static uint64_t flags_of(const uint8_t *attribute, bool is_big_endian)
{
    uint64_t flags = 0;

    for (unsigned i = 0; i < 8; i++) {
        uint8_t byte = attribute[AT_FLAGS + i];

        flags |= (uint64_t)(is_big_endian ? reversed(byte) : byte) << 8 * i;
    }
    return flags;
}

/* The first members of a sample are words, in this order.  Returns where one of them is; 0: it has
 * none.  */
static uint32_t place_of(uint64_t sample_type, uint64_t member)
{
    static const uint64_t members[] = { PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
                                        PERF_SAMPLE_TIME,       PERF_SAMPLE_ADDR, PERF_SAMPLE_ID };
    uint32_t at = PERF_HEADER_BYTES;

    if (!(sample_type & member))
        return 0;
    for (size_t i = 0; members[i] != member; i++)
        at += sample_type & members[i] ? 8 : 0;
    return at;
}

static struct perf_data_event read_attribute(const struct perf_data *data, const uint8_t *from,
                                             size_t size)
{
    uint64_t flags = flags_of(from, data->facts.is_big_endian);
    bool swap = data->swap;
    uint64_t type = perf_load_u64(from + AT_SAMPLE_TYPE, swap);

    return (struct perf_data_event){
        .type = perf_load_u32(from + AT_TYPE, swap),
        .config = perf_load_u64(from + AT_CONFIG, swap),
        .period = perf_load_u64(from + AT_PERIOD, swap),
        .is_frequency = flags >> FLAG_FREQUENCY & 1,
        .sample_id_all = flags >> FLAG_SAMPLE_ID_ALL & 1,
        .has_switches = flags >> FLAG_CONTEXT_SWITCH & 1,
        .excludes_kernel = flags >> FLAG_EXCLUDE_KERNEL & 1,
        .sample_type = type,
        .read_format = perf_load_u64(from + AT_READ_FORMAT, swap),
        .branch_type = u64_at(from, size, AT_BRANCH_TYPE, swap),
        .user_registers = u64_at(from, size, AT_USER_REGISTERS, swap),
        .intr_registers = u64_at(from, size, AT_INTR_REGISTERS, swap),
        .stack_bytes = AT_STACK_BYTES + 4 <= size ? perf_load_u32(from + AT_STACK_BYTES, swap) : 0,
        .id_at = place_of(type,
                          type & PERF_SAMPLE_IDENTIFIER ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID),
        .time_at = place_of(type, PERF_SAMPLE_TIME),
    };
}

bool perf_events_name(struct perf_data *data, size_t event, const char *name, size_t length)
{
    char *copy = strndup(name, length);

    if (!copy) {
        data->out_of_memory = true;
        return false;
    }
    free(data->events.items[event].name);
    data->events.items[event].name = copy;
    return true;
}

bool perf_events_add(struct perf_data *data, const uint8_t *attribute, size_t size)
{
    struct perf_events *events = &data->events;
    struct perf_data_event *items;
    char name[64];

    if (size < MIN_ATTRIBUTE || events->count == MAX_EVENTS)
        return false;
    items = base_grow(events->items, &events->capacity, events->count + 1, sizeof *items);
    if (!items) {
        data->out_of_memory = true;
        return false;
    }
    events->items = items;
    items[events->count] = read_attribute(data, attribute, size);
    perf_event_default_name(&items[events->count], name, sizeof name);
    events->count++;
    if (perf_events_name(data, events->count - 1, name, strlen(name)))
        return true;
    events->count--;
    return false;
}

bool perf_events_find(const struct perf_data *data, uint64_t id, uint32_t *event)
{
    const struct perf_events *events = &data->events;
    uint64_t hash = base_hash(id, 0);
    size_t probe;

    for (uint32_t at = base_index_first(&events->id_index, hash, &probe); at;
         at = base_index_next(&events->id_index, hash, &probe))
        if (events->ids[at - 1].id == id) {
            *event = events->ids[at - 1].event;
            return true;
        }
    return false;
}

bool perf_events_add_id(struct perf_data *data, uint64_t id, size_t event)
{
    struct perf_events *events = &data->events;
    struct perf_id *ids;
    uint32_t known;

    if (perf_events_find(data, id, &known) || events->id_count == UINT32_MAX - 1)
        return true;
    ids = base_grow(events->ids, &events->id_capacity, events->id_count + 1, sizeof *ids);
    if (ids)
        events->ids = ids;
    if (!ids || !base_index_reserve(&events->id_index)) {
        data->out_of_memory = true;
        return false;
    }
    ids[events->id_count++] = (struct perf_id){ id, (uint32_t)event };
    base_index_add(&events->id_index, base_hash(id, 0), (uint32_t)events->id_count);
    return true;
}

void perf_events_release(struct perf_events *events)
{
    for (size_t i = 0; i < events->count; i++)
        free(events->items[i].name);
    free(events->items);
    free(events->ids);
    base_index_release(&events->id_index);
    *events = (struct perf_events){ .items = NULL };
}
