/* perf_data.h - perf.data files, as `perf record` writes them: events, facts about the machine, and
 * records in the order of time.
 *
 *     perf_data_open(fd, NULL, &data, &error);
 *     while ((status = perf_data_next(data, &record, &error)) == PERF_DATA_OK)
 *         if (record->kind == PERF_DATA_SAMPLE)
 *             use(record->time_ns, record->pid, &record->sample);
 *     if (perf_data_describe(perf_data_notices_of(data), text, sizeof text))
 *         complain(text);
 *     perf_data_close(data);
 *
 * Both forms are read: that of files, and that of `perf record -o -`, which comes through a pipe.
 * So are both byte orders, attributes of all lengths, and compressed records (`perf record -z`).
 * The formats are those of the kernel's tools/perf/Documentation/perf.data-file-format.txt and of
 * perf_event_open(2).
 *
 * Input is hostile.  Damage is counted in struct perf_data_notices and is never a status; what is
 * readable is delivered.  Memory does not grow with the length of the file: records wait for their
 * order in at most options.order_bytes.
 *
 * The library does not print or exit.  A handle must be used by one thread at a time.  */
#ifndef PERF_DATA_H
#define PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_data_status {
    PERF_DATA_OK = 0,
    PERF_DATA_END = 1,       /* no more records */
    PERF_DATA_NO_MEMORY = 2, /* an allocation failed */
    PERF_DATA_IO = 3,        /* reading failed; see error->system_errno */
    PERF_DATA_FOREIGN = 4,   /* not a perf.data file */
    /* The form of files, but fd cannot seek: copy it to a file first.  */
    PERF_DATA_NEEDS_FILE = 5,
    PERF_DATA_MALFORMED = 6, /* no event can be read, so no record has a meaning */
};

/* An error, described for people.  The caller owns it; functions that take one accept NULL.  */
struct perf_data_error {
    enum perf_data_status status;
    int system_errno;
    char message[160]; /* a phrase: no newline, no final dot */
};

/* Bytes at the start of a file that suffice to recognize it.  */
#define PERF_DATA_SNIFF_BYTES 8u
/* Whether a file with these first bytes is a perf.data file.  */
bool perf_data_is(const void *start, size_t length);

/* Bytes at the start that tell the two forms apart, and whether it is that of pipes.  */
#define PERF_DATA_FORM_BYTES 16u
bool perf_data_is_pipe(const void *start, size_t length);

/* ---- Opening ---- */

struct perf_data_options {
    size_t size; /* sizeof(struct perf_data_options) */
    /* Records wait for their order in at most so many bytes; 0: 32 MiB.  When there are more, the
     * older half goes on.  What comes later than it should is delivered late and counted.  */
    size_t order_bytes;
};

struct perf_data;

/* Read the header, and in the form of files the attributes and features.  fd is read from its start
 * (pipes: from where it is); the caller keeps it open until perf_data_close().  Returns
 * PERF_DATA_OK or any other status but PERF_DATA_END.  */
enum perf_data_status perf_data_open(int fd, const struct perf_data_options *options,
                                     struct perf_data **out, struct perf_data_error *error);
void perf_data_close(struct perf_data *data); /* accepts NULL */

/* ---- Events ---- */

/* What an event of the attributes counts, and what its samples consist of: the members of struct
 * perf_event_attr, in host byte order.  */
struct perf_data_event {
    char *name;           /* "cycles:u"; from the file, else made from type and config; owned */
    uint32_t type;        /* PERF_TYPE_HARDWARE, ... */
    uint64_t config;      /* PERF_COUNT_HW_CPU_CYCLES, ... */
    uint64_t period;      /* events between samples, or samples a second: is_frequency */
    bool is_frequency;    /* samples say how many events passed, if sample_type has PERIOD */
    bool sample_id_all;   /* records other than samples end in identification, too */
    bool has_switches;    /* asks for context switch records */
    bool excludes_kernel; /* and hypervisor or user, which nothing here needs */
    uint64_t sample_type; /* PERF_SAMPLE_IP | ... */
    uint64_t read_format;
    uint64_t branch_type;    /* PERF_SAMPLE_BRANCH_... */
    uint64_t user_registers; /* mask, by the numbers of the machine */
    uint64_t intr_registers;
    uint32_t stack_bytes; /* user stack copied at most */
    /* Where samples have their id and time, in bytes from the start of the record; 0: they have
     * none.  */
    uint32_t id_at, time_at;
};

/* In the order of the file.  The form of pipes has them as records, so that there are more of them
 * after perf_data_next(); pointers are valid until its next call.  */
size_t perf_data_event_count(const struct perf_data *data);
const struct perf_data_event *perf_data_event(const struct perf_data *data, size_t event);

/* ---- Facts about the machine ---- */

/* Members that the file does not have are NULL or 0.  In the form of pipes they become known while
 * records are read.  Borrowed from data.  */
struct perf_data_facts {
    const char *host, *kernel, *perf_version, *arch, *cpu, *cpuid;
    const char *command;        /* the arguments of perf, with blanks between them */
    uint64_t first_ns, last_ns; /* of samples; 0 unknown */
    /* CLOCK_DATA: wall-clock time wall_ns was clock_ns on the clock of the records.  */
    bool has_clock;
    uint64_t wall_ns, clock_ns;
    bool is_big_endian;
    bool is_pipe; /* the form of pipes */
    bool is_compressed;
};

const struct perf_data_facts *perf_data_facts(const struct perf_data *data);

/* The build ID of a file that was mapped: from the feature section or a record of type 67.  */
struct perf_data_build_id {
    uint32_t pid; /* UINT32_MAX: the kernel; 0: of any process */
    bool is_kernel;
    const char *name; /* its path, "[kernel.kallsyms]", "[vdso]" */
    uint8_t bytes[20];
    uint8_t length;
};

size_t perf_data_build_id_count(const struct perf_data *data);
const struct perf_data_build_id *perf_data_build_id(const struct perf_data *data, size_t index);

/* ---- Functions ---- */

enum perf_data_file_type {
    PERF_DATA_FILE_KERNEL = 0,
    PERF_DATA_FILE_MODULE = 1, /* of the kernel */
    PERF_DATA_FILE_ELF = 2,
    PERF_DATA_FILE_DEX = 3,
    /* Others have no addresses but those that they are mapped at.  */
};

struct perf_data_symbol {
    uint64_t vaddr;
    uint32_t length;  /* bytes, at least 1 */
    const char *name; /* as the file has it, mangled; not empty */
};

/* A file that was mapped, with those of its functions that the recorder knew: simpleperf's features
 * FILE and FILE2.  */
struct perf_data_file {
    const char *path;
    uint32_t type;       /* enum perf_data_file_type, or another number */
    uint64_t min_vaddr;  /* of its first code */
    uint64_t min_offset; /* of that code in the file, or in memory (MODULE) */
    bool has_min_offset;
    const struct perf_data_symbol *symbols; /* by vaddr */
    size_t symbol_count;
};

/* The file of a path; NULL: the recorder names none of its functions.  Borrowed from data.  */
const struct perf_data_file *perf_data_find_file(const struct perf_data *data, const char *path);
/* The vaddr of what is mapped at an address from an offset of the file on.  */
uint64_t perf_data_file_vaddr(const struct perf_data_file *file, uint64_t start,
                              uint64_t file_offset);

/* ---- Records ---- */

/* The numbers of the file.  Others than these are delivered too, with what they have in common.  */
enum perf_data_kind {
    PERF_DATA_MMAP = 1,
    PERF_DATA_LOST = 2,
    PERF_DATA_COMM = 3,
    PERF_DATA_EXIT = 4,
    PERF_DATA_THROTTLE = 5,
    PERF_DATA_UNTHROTTLE = 6,
    PERF_DATA_FORK = 7,
    PERF_DATA_READ = 8,
    PERF_DATA_SAMPLE = 9,
    PERF_DATA_MMAP2 = 10,
    PERF_DATA_AUX = 11,
    PERF_DATA_ITRACE_START = 12,
    PERF_DATA_LOST_SAMPLES = 13,
    PERF_DATA_SWITCH = 14,
    PERF_DATA_SWITCH_CPU_WIDE = 15,
    PERF_DATA_NAMESPACES = 16,
    PERF_DATA_KSYMBOL = 17,
    PERF_DATA_CALLCHAIN_DEFERRED = 22,
    PERF_DATA_FIRST_OF_PERF = 64, /* from here on perf's own */
    PERF_DATA_ATTR = 64,
    PERF_DATA_TRACING_DATA = 66,
    PERF_DATA_BUILD_ID = 67,
    PERF_DATA_FINISHED_ROUND = 68,
    PERF_DATA_ID_INDEX = 69,
    PERF_DATA_AUXTRACE_INFO = 70,
    PERF_DATA_AUXTRACE = 71,
    PERF_DATA_AUXTRACE_ERROR = 72,
    PERF_DATA_EVENT_UPDATE = 78,
    PERF_DATA_FEATURE = 80,
    PERF_DATA_COMPRESSED = 81,
    PERF_DATA_COMPRESSED2 = 83,
    /* All kinds of simpleperf's own, which begin at 32768: symbols, callchains that were joined.
     * They are delivered without their contents.  */
    PERF_DATA_SIMPLEPERF = 127,
};

/* "SAMPLE", "MMAP2", ... as perf names them; NULL: no kind that is known.  */
const char *perf_data_kind_name(uint32_t kind);

/* Numbers of 64 bits as the file has them; read them with perf_data_word().  */
struct perf_data_words {
    const uint8_t *bytes;
    size_t count;
};

struct perf_data_registers {
    uint64_t abi;  /* 0: none; 1: of 32 bits; 2: of 64 bits */
    uint64_t mask; /* which ones there are, lowest bit first */
    struct perf_data_words values;
};

/* Members that the event's sample_type does not have are 0.  */
struct perf_data_sample {
    uint64_t ip;
    uint64_t address;
    uint64_t period;              /* events that it stands for; the event's if it has none itself */
    struct perf_data_words chain; /* leaf first, with context markers (PERF_CONTEXT_USER, ...) */
    const uint8_t *raw;           /* of tracepoints */
    size_t raw_size;
    struct perf_data_words branches; /* three words each: from, to, flags; latest first */
    struct perf_data_registers user, intr;
    const uint8_t *stack; /* of user code, from the stack pointer on */
    size_t stack_size;    /* bytes that could be read */
    uint64_t weight, data_source, transaction, physical, cgroup;
};

struct perf_data_mapping {
    uint64_t start, length, file_offset;
    bool is_data; /* not executable (PERF_RECORD_MISC_MMAP_DATA, or its protection) */
    uint8_t build_id[20];
    uint8_t build_id_length; /* 0: it has device and inode in place of it */
    uint64_t device, inode;
    const char *name; /* path, "[vdso]", "//anon", ... */
};

/* A run of bytes that hardware wrote: of a buffer of a CPU, or of a thread.  */
struct perf_data_auxtrace {
    uint64_t offset;      /* of its bytes in the file */
    uint64_t length;      /* of them, zeros at the end included */
    uint64_t ring_offset; /* how many the buffer had before; snapshots: a place in the buffer */
    uint32_t index;       /* of the buffer */
    uint32_t tid;         /* UINT32_MAX: any */
    uint32_t cpu;         /* UINT32_MAX: any */
};

struct perf_data_record {
    uint32_t kind; /* enum perf_data_kind, or another number */
    uint16_t misc;
    uint64_t offset; /* where it begins in the file; of compressed ones, where that record begins */
    uint32_t event;  /* index; of records that say nothing of it, 0 */
    bool has_time;
    uint64_t time_ns;     /* on the clock of perf's -k; usually CLOCK_MONOTONIC_RAW-like */
    uint32_t pid, tid;    /* UINT32_MAX: unknown or none */
    uint32_t cpu;         /* UINT32_MAX: unknown */
    const uint8_t *bytes; /* the whole record, borrowed until the next call */
    size_t size;
    /* Whether the members below, by kind, are there; what cannot be read is counted.  */
    union {
        struct perf_data_sample sample;
        struct perf_data_mapping mapping; /* MMAP, MMAP2 */
        struct {
            const char *name;
            bool is_exec;
        } comm;
        struct {
            uint32_t parent_pid, parent_tid;
        } task;        /* FORK, EXIT */
        uint64_t lost; /* LOST, LOST_SAMPLES: how many */
        struct {
            bool is_out;                   /* the thread leaves the CPU */
            bool is_preempted;             /* while it could run */
            uint32_t other_pid, other_tid; /* CPU_WIDE: who comes or was there */
        } context_switch;
        struct {
            uint64_t address;
            uint32_t length;
            bool is_gone;
            const char *name;
        } ksymbol;
        struct {
            uint64_t cookie;
            struct perf_data_words chain;
        } deferred;
        struct perf_data_auxtrace auxtrace;
        struct {
            uint64_t offset, length; /* in the buffer that the hardware writes to */
            bool is_truncated;       /* more is lost: the buffer was full */
        } aux;
    };
};

/* The next record, borrowed until the next call, in the order of time as far as perf says it:
 * records of one round and the round before (FINISHED_ROUND) are sorted, those without a time are
 * delivered at once.  Records that only bring the library facts or events are delivered too.
 * Returns PERF_DATA_OK, PERF_DATA_END, PERF_DATA_NO_MEMORY or PERF_DATA_IO.  */
enum perf_data_status perf_data_next(struct perf_data *data, const struct perf_data_record **out,
                                     struct perf_data_error *error);

/* A word of the last record.  */
uint64_t perf_data_word(const struct perf_data *data, struct perf_data_words words, size_t index);

/* ---- Traces that hardware wrote ---- */

/* What a decoder of Intel PT is told.  */
struct perf_data_intel_pt {
    uint32_t pmu_type; /* type of its events */
    bool has_clock;    /* time stamps can be converted to the clock of the records: */
    uint64_t time_shift, time_mult, time_zero; /* below 64; without a clock: 0, 1, 0 */
    bool is_snapshot;
    uint8_t mtc_freq, max_nonturbo_ratio;
    uint32_t tsc_numerator, tsc_denominator; /* ticks of the TSC for ticks of the crystal */
};

/* Read a record AUXTRACE_INFO, the last one that was delivered.  False: of other hardware.  */
bool perf_data_intel_pt(const struct perf_data *data, const struct perf_data_record *record,
                        struct perf_data_intel_pt *out);

/* Whether the functions that take offsets can be used; else, those that take what is next.  */
bool perf_data_can_seek(const struct perf_data *data);

/* Find all records AUXTRACE after a record, for example those that come later than records of a
 * later time.  False: take returned false, or memory is short.  */
bool perf_data_find_auxtrace(struct perf_data *data, const struct perf_data_record *from,
                             bool (*take)(void *context, const struct perf_data_auxtrace *place),
                             void *context);

/* Read bytes at an offset of the file, or the next ones of the record AUXTRACE that was delivered
 * last.  Both return how many there are; 0: no more.  */
size_t perf_data_auxtrace_read(struct perf_data *data, uint64_t offset, void *bytes, size_t size);
size_t perf_data_auxtrace_next(struct perf_data *data, void *bytes, size_t size);

/* ---- Notices ---- */

struct perf_data_notices {
    bool unfinished;       /* the writer never came to the size of the data: it was killed, or still
                            * runs.  There are no sections, and records go on to the end */
    bool cut;              /* the file ends inside a record or section */
    uint64_t bad_records;  /* whose contents do not fit into them, or which go on after the end of
                            * all records: only what they have in common is delivered, or nothing */
    uint64_t bad_bytes;    /* passed over until records could be read again */
    uint64_t bad_sections; /* attributes, ids and features that cannot be read */
    uint64_t bad_blocks;   /* compressed records of which something cannot be decompressed, or is no
                            * record */
    uint64_t first_offset; /* of the first of these from cut on, in the order of the file */
    uint64_t strange_ids;  /* records of an event that the file does not have: left out */
    uint64_t late;         /* delivered after records of a later time.  Not damage */
};

const struct perf_data_notices *perf_data_notices_of(const struct perf_data *data);
/* Write what is damaged as a phrase; false, and an empty text, if nothing is.  */
bool perf_data_describe(const struct perf_data_notices *notices, char *text, size_t size);

#endif /* PERF_DATA_H */
