#include "sampler-capture/perf_record.h"

#include <string.h>

#define HEADER_SIZE    sizeof(struct perf_event_header)
#define SAMPLE_ID_SIZE 16 /* pid, tid, time: what sample_id_all appends */

/* Absent from the header files of older systems.  */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* The fields of one record, front to back.  After a read past the end all values are 0 and failed
 * stays set.  */
struct cursor {
    const uint8_t *next;
    size_t left;
    bool failed;
};

static const uint8_t *take(struct cursor *cursor, size_t size)
{
    const uint8_t *bytes = cursor->next;

    if (size > cursor->left) {
        cursor->failed = true;
        return NULL;
    }
    cursor->next += size;
    cursor->left -= size;
    return bytes;
}

static uint32_t take_u32(struct cursor *cursor)
{
    uint32_t value = 0;
    const uint8_t *bytes = take(cursor, sizeof value);

    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t take_u64(struct cursor *cursor)
{
    uint64_t value = 0;
    const uint8_t *bytes = take(cursor, sizeof value);

    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return value;
}

/* A NUL-terminated text; what follows its padding is the caller's.  */
static const char *take_text(struct cursor *cursor)
{
    const char *text = (const char *)cursor->next;

    if (!memchr(cursor->next, '\0', cursor->left)) {
        cursor->failed = true;
        return "";
    }
    return text;
}

/* PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER.  The room for the stack is as large as was
 * asked for; how much of it was filled follows it.  */
static void parse_registers(struct cursor *cursor, struct perf_record *out)
{
    uint64_t room, filled;

    out->value.sample.abi = take_u64(cursor);
    if (out->value.sample.abi != PERF_SAMPLE_REGS_ABI_NONE) {
        size_t count = (size_t)__builtin_popcountll(PERF_USER_REGISTERS);

        out->value.sample.registers = take(cursor, 8 * count);
    }
    room = take_u64(cursor);
    if (room == 0 || cursor->failed)
        return;
    out->value.sample.stack = room <= cursor->left ? take(cursor, (size_t)room) : NULL;
    filled = take_u64(cursor);
    cursor->failed |= !out->value.sample.stack || filled > room;
    out->value.sample.stack_size = (size_t)filled;
    out->value.sample.stack_room = (size_t)room;
}

static void parse_sample(struct cursor *cursor, struct perf_record *out)
{
    uint64_t count;

    out->kind = PERF_KIND_SAMPLE;
    out->pid = take_u32(cursor);
    out->tid = take_u32(cursor);
    out->time_ns = take_u64(cursor);
    count = take_u64(cursor);
    if (count > cursor->left / 8) {
        cursor->failed = true;
        return;
    }
    out->value.sample.words = take(cursor, (size_t)count * 8);
    out->value.sample.count = (size_t)count;
    if (cursor->left > 0)
        parse_registers(cursor, out);
}

static void parse_build_id(struct cursor *cursor, struct perf_map *map)
{
    const uint8_t *bytes = take(cursor, 4 + PERF_BUILD_ID_SIZE);

    if (!bytes)
        return;
    map->build_id_size = bytes[0] < PERF_BUILD_ID_SIZE ? bytes[0] : PERF_BUILD_ID_SIZE;
    memcpy(map->build_id, bytes + 4, PERF_BUILD_ID_SIZE);
}

static void parse_map(struct cursor *cursor, uint16_t misc, struct perf_record *out)
{
    struct perf_map *map = &out->value.map;

    out->kind = PERF_KIND_MAP;
    out->pid = take_u32(cursor);
    out->tid = take_u32(cursor);
    map->start = take_u64(cursor);
    map->length = take_u64(cursor);
    map->file_offset = take_u64(cursor);
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        parse_build_id(cursor, map);
    } else {
        map->device = (uint64_t)take_u32(cursor) << 32;
        map->device |= take_u32(cursor);
        map->inode = take_u64(cursor);
        map->inode_generation = take_u64(cursor);
    }
    map->protection = take_u32(cursor);
    take_u32(cursor); /* flags: MAP_SHARED, ... */
    map->name = take_text(cursor);
}

static void parse_name(struct cursor *cursor, uint16_t misc, struct perf_record *out)
{
    out->kind = PERF_KIND_NAME;
    out->pid = take_u32(cursor);
    out->tid = take_u32(cursor);
    out->value.name.text = take_text(cursor);
    out->value.name.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void parse_task(struct cursor *cursor, enum perf_record_kind kind, struct perf_record *out)
{
    out->kind = kind;
    out->pid = take_u32(cursor);
    out->value.fork.parent_pid = take_u32(cursor);
    out->tid = take_u32(cursor);
    out->value.fork.parent_tid = take_u32(cursor);
}

static void parse_lost(struct cursor *cursor, bool with_id, struct perf_record *out)
{
    out->kind = PERF_KIND_LOST;
    if (with_id)
        take_u64(cursor);
    out->value.lost = take_u64(cursor);
}

/* Every record but a sample ends in pid, tid and time of its making.  */
static bool cut_sample_id(struct cursor *cursor, uint64_t *time_ns)
{
    if (cursor->left < SAMPLE_ID_SIZE)
        return false;
    cursor->left -= SAMPLE_ID_SIZE;
    memcpy(time_ns, cursor->next + cursor->left + 8, sizeof *time_ns);
    return true;
}

bool perf_record_parse(const uint8_t *bytes, size_t size, struct perf_record *out)
{
    struct perf_event_header header;
    struct cursor cursor;

    memset(out, 0, sizeof *out);
    if (size < HEADER_SIZE)
        return false;
    memcpy(&header, bytes, HEADER_SIZE);
    cursor = (struct cursor){ .next = bytes + HEADER_SIZE, .left = size - HEADER_SIZE };
    if (header.type != PERF_RECORD_SAMPLE && !cut_sample_id(&cursor, &out->time_ns))
        return false;

    switch (header.type) {
    case PERF_RECORD_SAMPLE:
        parse_sample(&cursor, out);
        break;
    case PERF_RECORD_MMAP2:
        parse_map(&cursor, header.misc, out);
        break;
    case PERF_RECORD_COMM:
        parse_name(&cursor, header.misc, out);
        break;
    case PERF_RECORD_FORK:
        parse_task(&cursor, PERF_KIND_FORK, out);
        break;
    case PERF_RECORD_EXIT:
        parse_task(&cursor, PERF_KIND_EXIT, out);
        break;
    case PERF_RECORD_LOST:
        parse_lost(&cursor, true, out);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        parse_lost(&cursor, false, out);
        break;
    case PERF_RECORD_THROTTLE:
        out->kind = PERF_KIND_THROTTLE;
        break;
    default:
        break;
    }
    return !cursor.failed;
}

/* ---- Writing ---- */

/* Room for one record, front to back.  */
struct builder {
    uint8_t *bytes;
    size_t size, used;
    bool failed;
};

static void add_bytes(struct builder *builder, const void *bytes, size_t size)
{
    if (size > builder->size - builder->used) {
        builder->failed = true;
        return;
    }
    memcpy(builder->bytes + builder->used, bytes, size);
    builder->used += size;
}

static void add_u32(struct builder *builder, uint32_t value)
{
    add_bytes(builder, &value, sizeof value);
}

static void add_u64(struct builder *builder, uint64_t value)
{
    add_bytes(builder, &value, sizeof value);
}

/* With its NUL, and up to a whole word.  */
static void add_text(struct builder *builder, const char *text)
{
    static const uint8_t zeros[8];
    size_t size = strlen(text) + 1;

    add_bytes(builder, text, size);
    add_bytes(builder, zeros, (8 - size % 8) % 8);
}

static void add_map(struct builder *builder, const struct perf_map *map)
{
    add_u64(builder, map->start);
    add_u64(builder, map->length);
    add_u64(builder, map->file_offset);
    add_u32(builder, (uint32_t)(map->device >> 32));
    add_u32(builder, (uint32_t)map->device);
    add_u64(builder, map->inode);
    add_u64(builder, map->inode_generation);
    add_u32(builder, map->protection);
    add_u32(builder, 0);
    add_text(builder, map->name);
}

static uint32_t add_body(struct builder *builder, const struct perf_record *record)
{
    switch (record->kind) {
    case PERF_KIND_MAP:
        add_u32(builder, record->pid);
        add_u32(builder, record->tid);
        add_map(builder, &record->value.map);
        return PERF_RECORD_MMAP2;
    case PERF_KIND_NAME:
        add_u32(builder, record->pid);
        add_u32(builder, record->tid);
        add_text(builder, record->value.name.text);
        return PERF_RECORD_COMM;
    case PERF_KIND_FORK:
        add_u32(builder, record->pid);
        add_u32(builder, record->value.fork.parent_pid);
        add_u32(builder, record->tid);
        add_u32(builder, record->value.fork.parent_tid);
        add_u64(builder, record->time_ns);
        return PERF_RECORD_FORK;
    default:
        builder->failed = true;
        return 0;
    }
}

bool perf_record_encode(const struct perf_record *record, uint8_t *bytes, size_t size, size_t *used)
{
    struct builder builder = { .bytes = bytes, .size = size, .used = HEADER_SIZE };
    struct perf_event_header header = { .type = 0 };

    if (size < HEADER_SIZE)
        return false;
    header.type = add_body(&builder, record);
    add_u32(&builder, record->pid);
    add_u32(&builder, record->tid);
    add_u64(&builder, record->time_ns);
    if (builder.failed || builder.used > PERF_RECORD_MAX_SIZE)
        return false;
    header.size = (uint16_t)builder.used;
    if (record->kind == PERF_KIND_NAME && record->value.name.exec)
        header.misc = PERF_RECORD_MISC_COMM_EXEC;
    memcpy(bytes, &header, HEADER_SIZE);
    *used = builder.used;
    return true;
}

/* ---- Stacks ---- */

/* Where design and format meet.  x86-64: entry 0 is the interrupted instruction, the others are
 * return addresses, which is what the kernel gives.  arm64: Zircon writes entry 1 as lr - 4, and
 * readers look entries 0 and 1 of such blobs up as they are; so entry 1 gets its 4 taken away here,
 * and entry 0, which is the interrupted instruction itself, stays.  */
uint64_t perf_record_frame(uint64_t pc, size_t position, bool is_exact)
{
#if defined(__aarch64__)
    if (position == 1)
        return is_exact ? pc : pc - 4;
#endif
    return pc + (is_exact && position > 0);
}

size_t perf_record_frames(const uint8_t *words, size_t count, bool kernel, uint8_t *frames,
                          size_t max)
{
    bool wanted = false, is_first = false;
    size_t kept = 0;

    for (size_t i = 0; i < count && kept < max; i++) {
        uint64_t pc;
        memcpy(&pc, words + 8 * i, sizeof pc);
        if (pc >= PERF_CONTEXT_MAX) { /* markers lie in the last 4095 values */
            wanted = pc == PERF_CONTEXT_USER || (kernel && pc == PERF_CONTEXT_KERNEL);
            is_first = true;
            continue;
        }
        if (!wanted)
            continue;
        if (pc == 0) /* the end, to Zircon's walk; perf leaves it in */
            break;
        pc = perf_record_frame(pc, kept, is_first);
        is_first = false;
        for (size_t byte = 0; byte < 8; byte++)
            frames[8 * kept + byte] = (uint8_t)(pc >> (8 * byte));
        kept++;
    }
    return kept;
}
