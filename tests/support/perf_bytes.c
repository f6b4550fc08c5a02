#include "tests/support/perf_bytes.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

static void put(struct perf_bytes *out, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_u32(struct perf_bytes *out, uint32_t value)
{
    put(out, &value, sizeof value);
}

static void put_u64(struct perf_bytes *out, uint64_t value)
{
    put(out, &value, sizeof value);
}

static void put_text(struct perf_bytes *out, const char *text)
{
    static const char zeros[8];
    size_t size = strlen(text) + 1;

    put(out, text, size);
    put(out, zeros, -size & 7);
}

static size_t begin(struct perf_bytes *out, uint32_t type, unsigned misc)
{
    struct perf_event_header header = { .type = type, .misc = (uint16_t)misc };
    size_t start = out->size;

    put(out, &header, sizeof header);
    return start;
}

static void end(struct perf_bytes *out, size_t start)
{
    uint16_t size = (uint16_t)(out->size - start);

    memcpy(out->bytes + start + offsetof(struct perf_event_header, size), &size, sizeof size);
}

/* What sample_id_all appends.  */
static void end_with_id(struct perf_bytes *out, size_t start, uint32_t pid, uint32_t tid,
                        uint64_t time_ns)
{
    put_u32(out, pid);
    put_u32(out, tid);
    put_u64(out, time_ns);
    end(out, start);
}

void perf_bytes_stack_sample(struct perf_bytes *out, const struct perf_bytes_stack *sample)
{
    size_t start = begin(out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

    put_u32(out, sample->pid);
    put_u32(out, sample->tid);
    put_u64(out, sample->time_ns);
    put_u64(out, sample->chain_count);
    put(out, sample->chain, sample->chain_count * sizeof *sample->chain);
    put_u64(out, sample->abi);
    if (sample->abi)
        put(out, sample->registers, sample->register_count * sizeof *sample->registers);
    put_u64(out, sample->room);
    if (sample->room) {
        put(out, sample->stack, sample->room);
        put_u64(out, sample->filled);
    }
    end(out, start);
}

void perf_bytes_sample(struct perf_bytes *out, uint32_t pid, uint32_t tid, uint64_t time_ns,
                       const uint64_t *callchain, size_t count)
{
    size_t start = begin(out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

    put_u32(out, pid);
    put_u32(out, tid);
    put_u64(out, time_ns);
    put_u64(out, count);
    put(out, callchain, count * sizeof *callchain);
    end(out, start);
}

void perf_bytes_map(struct perf_bytes *out, struct perf_bytes_map map)
{
    static const uint8_t size_and_padding[4] = { 20 };
    size_t start = begin(out, PERF_RECORD_MMAP2, map.build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);

    put_u32(out, map.pid);
    put_u32(out, map.tid);
    put_u64(out, map.start);
    put_u64(out, map.length);
    put_u64(out, map.file_offset);
    if (map.build_id) {
        put(out, size_and_padding, sizeof size_and_padding);
        put(out, map.build_id, 20);
    } else {
        put_u32(out, map.device ? (uint32_t)(map.device >> 32) : 8);
        put_u32(out, map.device ? (uint32_t)map.device : 1);
        put_u64(out, map.inode);
        put_u64(out, 0);
    }
    put_u32(out, PROT_READ | PROT_EXEC);
    put_u32(out, MAP_PRIVATE);
    put_text(out, map.name);
    end_with_id(out, start, map.pid, map.tid, map.time_ns);
}

void perf_bytes_name(struct perf_bytes *out, uint32_t pid, uint32_t tid, uint64_t time_ns,
                     const char *name, bool exec)
{
    size_t start = begin(out, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);

    put_u32(out, pid);
    put_u32(out, tid);
    put_text(out, name);
    end_with_id(out, start, pid, tid, time_ns);
}

static void put_task(struct perf_bytes *out, uint32_t type, const uint32_t ids[4], uint64_t time_ns)
{
    size_t start = begin(out, type, 0);

    for (int i = 0; i < 4; i++)
        put_u32(out, ids[i]);
    put_u64(out, time_ns);
    end_with_id(out, start, ids[1], ids[3], time_ns);
}

void perf_bytes_fork(struct perf_bytes *out, uint32_t pid, uint32_t parent_pid, uint32_t tid,
                     uint32_t parent_tid, uint64_t time_ns)
{
    put_task(out, PERF_RECORD_FORK, (uint32_t[]){ pid, parent_pid, tid, parent_tid }, time_ns);
}

void perf_bytes_exit(struct perf_bytes *out, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    put_task(out, PERF_RECORD_EXIT, (uint32_t[]){ pid, 1, tid, 1 }, time_ns);
}

void perf_bytes_lost(struct perf_bytes *out, uint64_t lost, uint64_t time_ns)
{
    size_t start = begin(out, PERF_RECORD_LOST, 0);

    put_u64(out, 77); /* id of the event */
    put_u64(out, lost);
    end_with_id(out, start, 0, 0, time_ns);
}

void perf_bytes_throttle(struct perf_bytes *out, uint64_t time_ns)
{
    size_t start = begin(out, PERF_RECORD_THROTTLE, 0);

    put_u64(out, time_ns);
    put_u64(out, 77);
    put_u64(out, 77);
    end_with_id(out, start, 0, 0, time_ns);
}
