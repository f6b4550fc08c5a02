/* perf_trace.h - a perf.data file as a trace: the bytes of an FXT stream in the layout of a
 * capture.
 *
 *     perf_trace_open(fd, &options, &trace, &error);
 *     while ((got = perf_trace_read(trace, buffer, sizeof buffer)) > 0)
 *         use(buffer, got);
 *     perf_data_describe(perf_data_notices_of(perf_trace_data(trace)), text, sizeof text);
 *     perf_trace_close(trace);
 *
 * So whatever reads traces reads perf.data files, with the same results, and a perf.data file that
 * was converted can be cut and merged.  docs/perf-data.md lists what is taken and what is not.
 *
 * Memory follows the number of processes, threads and mappings, not the length of the file.  */
#ifndef PERF_TRACE_H
#define PERF_TRACE_H

#include <stddef.h>

#include "libperf/perf_data.h"

/* An object that was mapped.  */
struct perf_trace_object {
    const char *name; /* path, "[vdso]", ... */
    const uint8_t *build_id;
    size_t build_id_length; /* 0: unknown */
};

/* Where user code is mapped, for addresses in [start, limit).  */
struct perf_trace_place {
    uint64_t start, limit;
    uint32_t number; /* of the object, from 1; 0: code of no file */
    struct perf_trace_object object;
    uint64_t file_offset; /* of the address that was asked for */
};

/* Registers of user code and a copy of its stack.  Borrowed for the call.  */
struct perf_trace_copy {
    const char *arch; /* as uname -m has it; NULL: not known */
    uint64_t mask;    /* sample_regs_user */
    const uint64_t *registers;
    size_t register_count;
    const uint8_t *stack; /* from the stack pointer on, in the byte order of the file */
    size_t stack_size;
    bool is_big_endian;
    /* The mapping of the sample's process around an address; false: none is known.  Strings are
     * borrowed until perf_trace_close().  */
    bool (*find)(const void *finder, uint64_t address, struct perf_trace_place *out);
    const void *finder;
};

struct perf_trace_options {
    size_t size; /* sizeof(struct perf_trace_options) */
    /* Find the vaddr of the first byte of a mapping: of size bytes of an object's file from
     * file_offset on; false if the object is not found: the offset is taken for the vaddr then, and
     * counted.  NULL: no object is found.  */
    bool (*find_vaddr)(void *context, const struct perf_trace_object *object, uint64_t file_offset,
                       uint64_t size, uint64_t *vaddr);
    /* Find the callers of interrupted user code from its registers and a copy of its stack.  Fills
     * in at most capacity addresses: the program counter, then return addresses; those that are
     * exact (behind a signal) have 1 added.  Returns how many; 0: it cannot be done, and the sample
     * has what its callchain has.  *is_whole: the last one has no caller.  NULL: no copy is
     * used.  */
    size_t (*unwind)(void *context, const struct perf_trace_copy *copy, uint64_t *addresses,
                     size_t capacity, bool *is_whole);
    /* The symbols of a kernel, lines as in /proc/kallsyms, and their size; NULL: not known.  Owned
     * by the caller until perf_trace_close().  May be NULL.  */
    const char *(*kernel_symbols)(void *context, const uint8_t *build_id, size_t build_id_length,
                                  size_t *size);
    /* The names of code that a process made while it ran, for which the file has samples at these
     * addresses, in ascending order: lines "START SIZE NAME" with hexadecimal numbers, and their
     * size; NULL: not known.  Borrowed until the next call.  May be NULL.  */
    const char *(*code_names)(void *context, uint32_t pid, const uint64_t *addresses, size_t count,
                              size_t *size);
    /* A readable name for one that a compiler mangled, from malloc(); NULL: the name is as it
     * should be.  May be NULL.  */
    char *(*demangle)(const char *name);
    void *context;
};

struct perf_trace;

/* fd is as for perf_data_open(), and so are the statuses.  */
enum perf_data_status perf_trace_open(int fd, const struct perf_trace_options *options,
                                      struct perf_trace **out, struct perf_data_error *error);
void perf_trace_close(struct perf_trace *trace); /* accepts NULL */

/* Fill up to size bytes.  Returns how many there are, at least 1; 0 at the end; or -1 with errno.
 * Its type is that of fxt_read_fn, with the trace as context.  */
ptrdiff_t perf_trace_read(void *trace, void *buffer, size_t size);

/* The file as it is read, for facts and damage.  */
const struct perf_data *perf_trace_data(const struct perf_trace *trace);

/* What was not taken over.  */
struct perf_trace_counts {
    uint64_t samples;          /* taken over */
    uint64_t empty_samples;    /* without any address: they have no stack */
    uint64_t stacks_left;      /* copies of stacks that were not unwound */
    uint64_t branches_left;    /* branch stacks of samples that are no call stacks */
    uint64_t data_left;        /* samples with the address, or the weight, of an access to memory */
    uint64_t continued_stacks; /* that ended early, and go on with perf's callchain */
    uint64_t waiting_stacks;   /* whose deferred callchain did not come, or too late */
    uint64_t unplaced_modules; /* whose object was not found: offsets stand for vaddrs */
    uint64_t mappings_left;    /* beyond 65,536 of a process */
    uint64_t names_left;       /* mappings that have functions beyond 4,194,304 of all processes */
    uint64_t unseen_addresses; /* in programs that make code, beyond 1,000,000: not named */
    uint64_t bad_times;        /* records of a time that no trace can have: left out */
    uint64_t packet_bytes;     /* of Intel PT, taken over */
    uint64_t unowned_bytes;    /* of packets whose thread is not known: left out */
    uint64_t far_bytes;        /* of packets of CPUs from 65,536 on: left out */
    bool has_no_packet_clock;  /* so that no switch says whose packets are whose */
    int spool_failure;         /* errno of the temporary file for packets of an input that is read
                                * once; 0: none */
    uint64_t truncated;        /* how often packets were lost because a buffer was full */
    uint64_t kinds[128];       /* records that nothing uses, by kind; [0]: unknown kinds */
};

const struct perf_trace_counts *perf_trace_counts(const struct perf_trace *trace);

/* Write what is not used as a phrase, "3 AUX, 12 CGROUP records"; false, and an empty text, if
 * everything is.  */
bool perf_trace_describe_unused(const struct perf_trace *trace, char *text, size_t size);

#endif /* PERF_TRACE_H */
