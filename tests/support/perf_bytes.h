/* perf_bytes.h - records as the kernel writes them into a ring, made by hand.
 *
 * The layout is that of the events of sampler-capture: sample_type TID | TIME | CALLCHAIN with
 * sample_id_all.  Each function appends one record.  */
#ifndef TESTS_PERF_BYTES_H
#define TESTS_PERF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_bytes {
    uint8_t bytes[65536];
    size_t size;
};

/* A sample with registers and a copy of the stack.  */
struct perf_bytes_stack {
    uint32_t pid, tid;
    uint64_t time_ns;
    const uint64_t *chain;
    size_t chain_count;
    uint64_t abi; /* 0: no registers */
    const uint64_t *registers;
    size_t register_count;
    const uint64_t *stack;
    size_t room;     /* bytes */
    uint64_t filled; /* of them, as the sample says */
};
void perf_bytes_stack_sample(struct perf_bytes *out, const struct perf_bytes_stack *sample);

void perf_bytes_sample(struct perf_bytes *out, uint32_t pid, uint32_t tid, uint64_t time_ns,
                       const uint64_t *callchain, size_t count);

struct perf_bytes_map {
    uint32_t pid, tid;
    uint64_t time_ns, start, length, file_offset;
    const char *name;
    const char *build_id;   /* as text of PERF_BUILD_ID_SIZE bytes, or NULL: then inode */
    uint64_t inode, device; /* major << 32 | minor; 0: some other one */
};
void perf_bytes_map(struct perf_bytes *out, struct perf_bytes_map map);

void perf_bytes_name(struct perf_bytes *out, uint32_t pid, uint32_t tid, uint64_t time_ns,
                     const char *name, bool exec);
void perf_bytes_fork(struct perf_bytes *out, uint32_t pid, uint32_t parent_pid, uint32_t tid,
                     uint32_t parent_tid, uint64_t time_ns);
void perf_bytes_exit(struct perf_bytes *out, uint32_t pid, uint32_t tid, uint64_t time_ns);
void perf_bytes_lost(struct perf_bytes *out, uint64_t lost, uint64_t time_ns);
void perf_bytes_throttle(struct perf_bytes *out, uint64_t time_ns);

#endif /* TESTS_PERF_BYTES_H */
