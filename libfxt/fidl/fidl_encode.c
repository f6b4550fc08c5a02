/* Encoding: objects are written one behind the other in the order of the format, and envelopes get
 * their sizes once their contents are there.  */
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "base/utf8.h"
#include "libfxt/fidl/wire.h"

/* A client sends at most that much of a name, leaving room for a NUL (section 1).  */
#define NAME_LENGTH (FIDL_MAX_NAME - 1)

struct sheet {
    uint8_t *bytes;
    size_t capacity;
    size_t used;
    bool full; /* something did not fit; nothing is written any more */
};

static struct sheet sheet_on(uint8_t *buffer, size_t capacity)
{
    return (struct sheet){
        .bytes = buffer,
        .capacity = capacity < FIDL_MAX_MESSAGE ? capacity : FIDL_MAX_MESSAGE,
    };
}

static enum fidl_status finish(const struct sheet *sheet, size_t *length)
{
    if (sheet->full)
        return FIDL_NO_ROOM;
    *length = sheet->used;
    return FIDL_OK;
}

/* Zeroed room for an object and its padding; returns where it is.  */
static size_t reserve(struct sheet *sheet, size_t size)
{
    size_t at = sheet->used;

    if (sheet->full || size > sheet->capacity - at || (-size & 7) > sheet->capacity - at - size) {
        sheet->full = true;
        return 0;
    }
    size += -size & 7;
    memset(sheet->bytes + at, 0, size);
    sheet->used += size;
    return at;
}

static void put_number(struct sheet *sheet, uint64_t number)
{
    size_t at = reserve(sheet, 8);

    if (!sheet->full)
        fidl_store(sheet->bytes + at, number, 8);
}

/* The header of a table or vector that is there.  */
static void put_count(struct sheet *sheet, uint64_t count)
{
    put_number(sheet, count);
    put_number(sheet, FIDL_PRESENT);
}

static void put_bytes(struct sheet *sheet, const uint8_t *bytes, size_t length)
{
    size_t at = reserve(sheet, length);

    if (!sheet->full && length)
        memcpy(sheet->bytes + at, bytes, length);
}

/* Say in the envelope at that position what was written since start.  */
static void close_envelope(struct sheet *sheet, size_t envelope, size_t start)
{
    if (!sheet->full)
        fidl_store(sheet->bytes + envelope, sheet->used - start, 4);
}

/* A table member that is a number.  */
static void put_number_member(struct sheet *sheet, size_t envelope, uint64_t number)
{
    size_t start = sheet->used;

    put_number(sheet, number);
    close_envelope(sheet, envelope, start);
}

static void put_header(struct sheet *sheet, enum fidl_generation generation, uint64_t ordinal)
{
    size_t at = reserve(sheet, FIDL_HEADER_SIZE);

    if (sheet->full)
        return;
    sheet->bytes[at + 4] = FIDL_WIRE_V2;
    sheet->bytes[at + 6] = generation == FIDL_GENERATION_2 ? FIDL_FLEXIBLE : 0;
    sheet->bytes[at + 7] = FIDL_MAGIC;
    fidl_store(sheet->bytes + at + 8, ordinal, 8);
}

/* ---- RecordAllocation and RecordDeallocation ---- */

/* What follows the header of a StackTrace table.  */
static void put_stack(struct sheet *sheet, const uint64_t *stack, size_t count)
{
    size_t envelope = reserve(sheet, FIDL_ENVELOPE_SIZE);
    size_t start = sheet->used;
    size_t at;

    put_count(sheet, count);
    if (count > FIDL_MAX_MESSAGE / 8)
        sheet->full = true;
    at = reserve(sheet, sheet->full ? 0 : 8 * count);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (count && !sheet->full)
        memcpy(sheet->bytes + at, stack, 8 * count);
#else
    for (size_t i = 0; i < count && !sheet->full; i++)
        fidl_store(sheet->bytes + at + 8 * i, stack[i], 8);
#endif
    close_envelope(sheet, envelope, start);
}

/* The payload of the first generation; size is NULL for a deallocation.  */
static void put_struct(struct sheet *sheet, uint64_t address, const uint64_t *stack, size_t count,
                       const uint64_t *size)
{
    put_number(sheet, address);
    put_count(sheet, 1); /* the stack's table */
    if (size)
        put_number(sheet, *size);
    put_stack(sheet, stack, count);
}

static void put_table(struct sheet *sheet, uint64_t address, const uint64_t *stack, size_t count,
                      const uint64_t *size)
{
    size_t members = size ? 3 : 2;
    size_t envelopes;
    size_t start;

    put_count(sheet, members);
    envelopes = reserve(sheet, members * FIDL_ENVELOPE_SIZE);
    put_number_member(sheet, envelopes, address);
    start = sheet->used;
    put_count(sheet, 1); /* the stack's table */
    put_stack(sheet, stack, count);
    close_envelope(sheet, envelopes + FIDL_ENVELOPE_SIZE, start);
    if (size)
        put_number_member(sheet, envelopes + 2 * (size_t)FIDL_ENVELOPE_SIZE, *size);
}

static enum fidl_status encode_record(enum fidl_generation generation, uint64_t ordinal,
                                      uint64_t address, const uint64_t *stack, size_t count,
                                      const uint64_t *size, struct sheet sheet, size_t *length)
{
    put_header(&sheet, generation, ordinal);
    if (generation == FIDL_GENERATION_1)
        put_struct(&sheet, address, stack, count, size);
    else
        put_table(&sheet, address, stack, count, size);
    return finish(&sheet, length);
}

enum fidl_status fidl_encode_allocation(enum fidl_generation generation, uint64_t address,
                                        const uint64_t *stack, size_t stack_count, uint64_t size,
                                        uint8_t *buffer, size_t capacity, size_t *length)
{
    return encode_record(generation, FIDL_ORDINAL_RECORD_ALLOCATION, address, stack, stack_count,
                         &size, sheet_on(buffer, capacity), length);
}

enum fidl_status fidl_encode_deallocation(enum fidl_generation generation, uint64_t address,
                                          const uint64_t *stack, size_t stack_count,
                                          uint8_t *buffer, size_t capacity, size_t *length)
{
    return encode_record(generation, FIDL_ORDINAL_RECORD_DEALLOCATION, address, stack, stack_count,
                         NULL, sheet_on(buffer, capacity), length);
}

/* ---- SetProcessInfo ---- */

/* The name as it is sent: whole characters, '?' for what is none.  Returns its length.  */
static size_t clean_name(const char *name, uint8_t clean[NAME_LENGTH])
{
    const uint8_t *text = (const uint8_t *)name;
    size_t used = 0;

    while (*text) {
        size_t left = 1; /* no further than the NUL */
        size_t step;
        while (left < 4 && text[left])
            left++;
        step = base_utf8_character(text, left);
        if (used + (step ? step : 1) > NAME_LENGTH)
            break;
        if (step)
            memcpy(clean + used, text, step);
        else
            clean[used] = '?';
        used += step ? step : 1;
        text += step ? step : 1;
    }
    return used;
}

static void put_name(struct sheet *sheet, size_t envelope, const char *name)
{
    uint8_t clean[NAME_LENGTH];
    size_t length = clean_name(name, clean);
    size_t start = sheet->used;

    put_count(sheet, length);
    put_bytes(sheet, clean, length);
    close_envelope(sheet, envelope, start);
}

/* What follows the header of an ExecutableSegment table.  */
static void put_segment(struct sheet *sheet, const struct fidl_segment *segment, size_t members)
{
    size_t envelopes = reserve(sheet, members * FIDL_ENVELOPE_SIZE);

    if (segment->has_start_address)
        put_number_member(sheet, envelopes, segment->start_address);
    if (segment->has_size)
        put_number_member(sheet, envelopes + FIDL_ENVELOPE_SIZE, segment->size);
    if (segment->has_relative_address)
        put_number_member(sheet, envelopes + 2 * (size_t)FIDL_ENVELOPE_SIZE,
                          segment->relative_address);
}

/* The highest ordinal that is there.  */
static size_t segment_members(const struct fidl_segment *segment)
{
    if (segment->has_relative_address)
        return 3;
    if (segment->has_size)
        return 2;
    return segment->has_start_address ? 1 : 0;
}

static size_t module_members(const struct fidl_module_source *module)
{
    if (module->segments)
        return 2;
    return module->build_id ? 1 : 0;
}

static void put_segments(struct sheet *sheet, const struct fidl_segment *segments, size_t count)
{
    put_count(sheet, count);
    for (size_t i = 0; i < count && !sheet->full; i++)
        put_count(sheet, segment_members(&segments[i]));
    for (size_t i = 0; i < count && !sheet->full; i++)
        put_segment(sheet, &segments[i], segment_members(&segments[i]));
}

/* What follows the header of a ModuleMap table.  */
static void put_module(struct sheet *sheet, const struct fidl_module_source *module)
{
    size_t envelopes = reserve(sheet, module_members(module) * FIDL_ENVELOPE_SIZE);
    size_t start = sheet->used;

    if (module->build_id) {
        put_count(sheet, module->build_id_length);
        put_bytes(sheet, module->build_id, module->build_id_length);
        close_envelope(sheet, envelopes, start);
    }
    start = sheet->used;
    if (module->segments) {
        put_segments(sheet, module->segments, module->segment_count);
        close_envelope(sheet, envelopes + FIDL_ENVELOPE_SIZE, start);
    }
}

static void put_modules(struct sheet *sheet, size_t envelope,
                        const struct fidl_module_source *modules, size_t count)
{
    size_t start = sheet->used;

    put_count(sheet, count);
    for (size_t i = 0; i < count && !sheet->full; i++)
        put_count(sheet, module_members(&modules[i]));
    for (size_t i = 0; i < count && !sheet->full; i++)
        put_module(sheet, &modules[i]);
    close_envelope(sheet, envelope, start);
}

enum fidl_status fidl_encode_process_info(enum fidl_generation generation, const char *name,
                                          const struct fidl_module_source *modules,
                                          size_t module_count, uint8_t *buffer, size_t capacity,
                                          size_t *length)
{
    struct sheet sheet = sheet_on(buffer, capacity);
    size_t members = modules ? 2 : name ? 1 : 0;
    size_t envelopes;

    for (size_t i = 0; modules && i < module_count; i++)
        if (modules[i].build_id && modules[i].build_id_length > FIDL_MAX_BUILD_ID)
            return FIDL_OVER_BOUND;
    put_header(&sheet, generation, FIDL_ORDINAL_SET_PROCESS_INFO);
    put_count(&sheet, members);
    envelopes = reserve(&sheet, members * FIDL_ENVELOPE_SIZE);
    if (name)
        put_name(&sheet, envelopes, name);
    if (modules)
        put_modules(&sheet, envelopes + FIDL_ENVELOPE_SIZE, modules, module_count);
    return finish(&sheet, length);
}
