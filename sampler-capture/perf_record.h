/* perf_record.h - what the kernel writes into a ring, as numbers.
 *
 * The layout of a record depends on the attributes of the events (cpu/perf_events.c): sample_type
 * is TID | TIME | CALLCHAIN, and of some also REGS_USER | STACK_USER, most of which have no user
 * part in their callchain; sample_id_all is set for all.  perf_event_open(2) describes the
 * records.  */
#ifndef CAPTURE_PERF_RECORD_H
#define CAPTURE_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_BUILD_ID_SIZE 20 /* the kernel keeps no longer ones */

/* The registers of samples that have any (sample_regs_user): all that callers are found by.  0: not
 * on this machine.  */
#if defined __x86_64__
#define PERF_USER_REGISTERS UINT64_C(0xff0fff) /* ds, es, fs and gs are refused */
#elif defined __aarch64__
#define PERF_USER_REGISTERS UINT64_C(0x1ffffffff)
#elif defined __riscv && __riscv_xlen == 64
#define PERF_USER_REGISTERS UINT64_C(0xffffffff)
#else
#define PERF_USER_REGISTERS UINT64_C(0)
#endif

enum perf_record_kind {
    PERF_KIND_OTHER, /* nothing that a capture needs */
    PERF_KIND_SAMPLE,
    PERF_KIND_MAP,
    PERF_KIND_NAME,
    PERF_KIND_FORK,
    PERF_KIND_EXIT,
    PERF_KIND_LOST,
    PERF_KIND_THROTTLE,
};

/* An executable mapping: PERF_RECORD_MMAP2.  */
struct perf_map {
    uint64_t start;
    uint64_t length;
    uint64_t file_offset; /* pgoff, in bytes */
    /* Which file: its build ID if build_id_size is not 0, else device and inode.  */
    uint8_t build_id[PERF_BUILD_ID_SIZE];
    size_t build_id_size;
    uint64_t device; /* major << 32 | minor */
    uint64_t inode;
    uint64_t inode_generation;
    uint32_t protection; /* PROT_READ, ... */
    const char *name;    /* path, "//anon", "[vdso]", ...; borrowed from the record */
};

struct perf_record {
    enum perf_record_kind kind;
    uint32_t pid;
    uint32_t tid;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    union {
        struct {
            const uint8_t *words; /* callchain with its context markers, native byte order */
            size_t count;
            /* If the event asks for them (sample_regs_user, sample_stack_user).  */
            uint64_t abi;             /* PERF_SAMPLE_REGS_ABI_NONE: no registers, no stack */
            const uint8_t *registers; /* PERF_USER_REGISTERS, as words in native byte order */
            const uint8_t *stack;     /* from the stack pointer on */
            size_t stack_size;        /* bytes that could be read */
            size_t stack_room;        /* that were asked for */
        } sample;
        struct perf_map map;
        struct {
            const char *text; /* borrowed from the record */
            bool exec;        /* an exec set it */
        } name;
        struct {
            uint32_t parent_pid;
            uint32_t parent_tid;
        } fork;
        uint64_t lost; /* records */
    } value;
};

/* Read one record of size bytes.  False when its fields do not fit into it.  *out borrows from
 * bytes.  */
bool perf_record_parse(const uint8_t *bytes, size_t size, struct perf_record *out);

/* Write a map, name or fork record as the kernel would, at most size bytes; *used is its size.  For
 * what a capture finds in /proc and puts in order with what the kernel says.  False when it does
 * not fit.  */
bool perf_record_encode(const struct perf_record *record, uint8_t *bytes, size_t size,
                        size_t *used);

#define PERF_RECORD_MAX_SIZE 65528 /* its size has 16 bits and is whole words */

/* The program counter at a position of a stack as it is written: the innermost as it is, the others
 * so that readers, which look for a call before each, find the right place.  is_exact: the program
 * counter was interrupted there, and is no return address.  */
uint64_t perf_record_frame(uint64_t pc, size_t position, bool is_exact);

/* Copy a callchain, at most max program counters, leaf first, to frames as little-endian words
 * (room for max): its user part, and with kernel what comes before that.  The first of each part is
 * exact: the kernel interrupted the user's code there.  A zero ends the stack, as it does in
 * Zircon's walk (docs/formats/zx-sampler.md section 2).  Returns their number.  */
size_t perf_record_frames(const uint8_t *words, size_t count, bool kernel, uint8_t *frames,
                          size_t max);

#endif /* CAPTURE_PERF_RECORD_H */
