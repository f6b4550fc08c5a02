/* facts.c - features: what a file says of the machine, of its events and of the files that were
 * mapped.  */
#include <stdlib.h>

#include "base/grow.h"
#include "libperf/perf_internal.h"

#define MAX_SECTION ((uint64_t)64 << 20)
#define FEATURES    256u

enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_CPUDESC = 8,
    FEATURE_CPUID = 9,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_SAMPLE_TIME = 21,
    FEATURE_COMPRESSED = 27,
    FEATURE_CLOCK_DATA = 29,
    FEATURE_FILE = 128, /* simpleperf's own features begin here */
    FEATURE_META_INFO = 129,
    FEATURE_FILE2 = 132,
    FEATURE_INIT_MAP = 134, /* what was mapped when recording began */
};

/* A text with its length before it; it may end earlier, with a NUL.  NULL when it does not fit.  */
static const char *take_string(struct perf_cursor *cursor, size_t *length)
{
    uint32_t size = perf_take_u32(cursor);
    const char *text = (const char *)perf_take(cursor, size);

    *length = text ? strnlen(text, size) : 0;
    return text;
}

static const char *kept(struct perf_data *data, const char *text, size_t length)
{
    const char *copy = base_arena_text(&data->arena, text, length);

    if (!copy)
        data->out_of_memory = true;
    return copy;
}

static void read_string(struct perf_data *data, struct perf_cursor *cursor, const char **out)
{
    size_t length;
    const char *text = take_string(cursor, &length);

    if (text)
        *out = kept(data, text, length);
}

/* The arguments of perf, as one text.  */
static void read_command(struct perf_data *data, struct perf_cursor *cursor)
{
    uint32_t count = perf_take_u32(cursor);
    char *text = malloc(cursor->left + 1);
    size_t used = 0;

    if (!text) {
        data->out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < count && !cursor->failed; i++) {
        size_t length;
        const char *word = take_string(cursor, &length);

        if (!word)
            break;
        if (used > 0)
            text[used++] = ' ';
        memcpy(text + used, word, length); /* each has 4 bytes of length before it: there is room */
        used += length;
    }
    if (!cursor->failed)
        data->facts.command = kept(data, text, used);
    free(text);
}

/* Names of events, in the order of the attributes; in the form of pipes also their ids.  */
static void read_event_names(struct perf_data *data, struct perf_cursor *cursor)
{
    uint32_t count = perf_take_u32(cursor);
    uint32_t attribute_size = perf_take_u32(cursor);

    for (uint32_t i = 0; i < count && !cursor->failed; i++) {
        size_t length;
        const char *name;
        uint32_t ids;

        (void)perf_take(cursor, attribute_size);
        ids = perf_take_u32(cursor);
        name = take_string(cursor, &length);
        (void)perf_take(cursor, (uint64_t)ids * 8);
        if (!cursor->failed && i < data->events.count && length > 0)
            (void)perf_events_name(data, i, name, length);
    }
}

static void read_clock(struct perf_data *data, struct perf_cursor *cursor)
{
    (void)perf_take_u32(cursor); /* version */
    (void)perf_take_u32(cursor); /* clock */
    data->facts.wall_ns = perf_take_u64(cursor);
    data->facts.clock_ns = perf_take_u64(cursor);
    data->facts.has_clock = !cursor->failed;
}

/* ",2,45" */
static bool read_type(const char *text, uint64_t *type, uint64_t *config)
{
    char *end;

    if (*text != ',')
        return false;
    *type = strtoull(text + 1, &end, 10);
    if (end == text + 1 || *end != ',')
        return false;
    text = end + 1;
    *config = strtoull(text, &end, 10);
    return end != text;
}

/* Name the events of simpleperf: a line is "sched:sched_switch,2,45", with type and config.  */
static void read_event_types(struct perf_data *data, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n"), name = strcspn(text, ",\n");
        uint64_t type, config;

        if (name > 0 && read_type(text + name, &type, &config))
            for (size_t i = 0; i < data->events.count; i++)
                if (data->events.items[i].type == type && data->events.items[i].config == config)
                    (void)perf_events_name(data, i, text, name);
        text += length + (text[length] == '\n');
    }
}

/* Texts in pairs, key and value.  */
static void read_meta_info(struct perf_data *data, struct perf_cursor *cursor)
{
    while (cursor->left > 0 && !cursor->failed) {
        const char *texts[2];

        for (unsigned i = 0; i < 2; i++) {
            texts[i] = (const char *)cursor->at;
            (void)perf_take(cursor, (uint64_t)strnlen(texts[i], cursor->left) + 1);
        }
        if (!cursor->failed && strcmp(texts[0], "event_type_info") == 0)
            read_event_types(data, texts[1]);
    }
}

bool perf_facts_build_id(struct perf_data *data, struct perf_cursor cursor, uint16_t misc)
{
    enum { HAS_SIZE = 1 << 15, IS_KERNEL = 1, MODE = 7 };
    struct perf_data_build_id *items = base_grow(data->build_ids, &data->build_id_capacity,
                                                 data->build_id_count + 1, sizeof *items);
    struct perf_data_build_id item = { .is_kernel = (misc & MODE) == IS_KERNEL };
    const uint8_t *bytes;
    const char *name;

    if (!items) {
        data->out_of_memory = true;
        return true;
    }
    data->build_ids = items;
    item.pid = perf_take_u32(&cursor);
    bytes = perf_take(&cursor, 24);
    name = perf_take_text(&cursor);
    if (cursor.failed)
        return false;
    item.length = misc & HAS_SIZE && bytes[20] <= sizeof item.bytes ? bytes[20] : 20;
    /* Without a size, one of 16 bytes is filled up with zeros.  */
    if (!(misc & HAS_SIZE) && memcmp(bytes + 16, "\0\0\0", 4) == 0)
        item.length = 16;
    memcpy(item.bytes, bytes, sizeof item.bytes);
    item.name = kept(data, name, strlen(name));
    if (item.name)
        items[data->build_id_count++] = item;
    return true;
}

static void read_build_ids(struct perf_data *data, struct perf_cursor *cursor)
{
    while (cursor->left > 0 && !cursor->failed) {
        uint16_t misc, size;
        struct perf_cursor entry = { .swap = data->swap };
        const uint8_t *header = perf_take(cursor, PERF_HEADER_BYTES);

        if (!header)
            return;
        misc = perf_load_u16(header + 4, data->swap);
        size = perf_load_u16(header + 6, data->swap);
        entry.left = size >= PERF_HEADER_BYTES ? size - PERF_HEADER_BYTES : 0;
        entry.at = perf_take(cursor, entry.left);
        if (!entry.at || !perf_facts_build_id(data, entry, misc))
            cursor->failed = true;
    }
}

bool perf_facts_feature(struct perf_data *data, uint32_t feature, struct perf_cursor cursor)
{
    struct perf_data_facts *facts = &data->facts;

    switch (feature) {
    case FEATURE_BUILD_ID:
        read_build_ids(data, &cursor);
        break;
    case FEATURE_HOSTNAME:
        read_string(data, &cursor, &facts->host);
        break;
    case FEATURE_OSRELEASE:
        read_string(data, &cursor, &facts->kernel);
        break;
    case FEATURE_VERSION:
        read_string(data, &cursor, &facts->perf_version);
        break;
    case FEATURE_ARCH:
        read_string(data, &cursor, &facts->arch);
        break;
    case FEATURE_CPUDESC:
        read_string(data, &cursor, &facts->cpu);
        break;
    case FEATURE_CPUID:
        read_string(data, &cursor, &facts->cpuid);
        break;
    case FEATURE_CMDLINE:
        read_command(data, &cursor);
        break;
    case FEATURE_EVENT_DESC:
        read_event_names(data, &cursor);
        break;
    case FEATURE_CLOCK_DATA:
        read_clock(data, &cursor);
        break;
    case FEATURE_META_INFO:
        read_meta_info(data, &cursor);
        break;
    case FEATURE_FILE:
        return perf_files_read(data, &cursor);
    case FEATURE_FILE2:
        return perf_files_read_messages(data, &cursor);
    case FEATURE_COMPRESSED:
        facts->is_compressed = true;
        break;
    case FEATURE_SAMPLE_TIME:
        facts->first_ns = perf_take_u64(&cursor);
        facts->last_ns = perf_take_u64(&cursor);
        break;
    default:
        return true;
    }
    return !cursor.failed;
}

static bool is_read(uint32_t feature)
{
    return feature == FEATURE_SAMPLE_TIME || feature == FEATURE_COMPRESSED ||
           feature == FEATURE_CLOCK_DATA || feature == FEATURE_META_INFO ||
           feature == FEATURE_FILE || feature == FEATURE_FILE2 || feature == FEATURE_INIT_MAP ||
           (feature >= FEATURE_BUILD_ID && feature <= FEATURE_EVENT_DESC);
}

static void read_section(struct perf_data *data, uint32_t feature, uint64_t offset, uint64_t size)
{
    struct perf_cursor cursor = { .left = (size_t)size, .swap = data->swap };
    uint8_t *bytes = NULL;

    if (size <= MAX_SECTION) {
        bytes = malloc(size ? (size_t)size : 1);
        data->out_of_memory |= !bytes;
    }
    cursor.at = bytes;
    if (!bytes || !perf_window_read(&data->window, offset, bytes, (size_t)size) ||
        (feature == FEATURE_INIT_MAP
             ? !perf_expansion_add(data, bytes, (size_t)size, offset) && !data->out_of_memory
             : !perf_facts_feature(data, feature, cursor)))
        perf_note(data, &data->notices.bad_sections, offset);
    free(bytes);
}

void perf_facts_sections(struct perf_data *data, const uint64_t features[4], uint64_t offset)
{
    for (uint32_t feature = 0; feature < FEATURES; feature++) {
        uint8_t place[16];

        if (!(features[feature / 64] >> feature % 64 & 1))
            continue;
        if (!perf_window_read(&data->window, offset, place, sizeof place)) {
            perf_note(data, &data->notices.bad_sections, offset);
            return;
        }
        offset += sizeof place;
        /* perf leaves a section empty where it could not find out what belongs there.  */
        if (is_read(feature) && perf_load_u64(place + 8, data->swap) > 0)
            read_section(data, feature, perf_load_u64(place, data->swap),
                         perf_load_u64(place + 8, data->swap));
    }
}
