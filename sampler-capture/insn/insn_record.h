/* insn_record.h - what an instruction trace is in a file: names, address maps, code that is in no
 * file, and packets.
 *
 * Packets are large blobs of category "insntrace", name "pt", of the thread that they are of; their
 * arguments are what a decoder needs (docs/insntrace.md).  Code that no file has under its build
 * ID - the vdso, compiled at run time, changed - is in blobs named "code", a page each, which come
 * before the packets that need them.  */
#ifndef INSN_RECORD_H
#define INSN_RECORD_H

#include "base/numbering.h"
#include "sampler-capture/processes.h"
#include "sampler-capture/record_stream.h"

#include <fxt/insn.h>

#define CODE_PAGE 4096

/* A page of code as it was when it ran last.  */
struct code_page {
    uint64_t process; /* koid */
    uint64_t address;
    size_t size;   /* bytes that can be read; CODE_PAGE mostly */
    bool in_trace; /* as a blob; else it is in its file */
    uint8_t bytes[CODE_PAGE];
};

struct insn_recorder {
    struct stream *stream; /* borrowed */
    struct process_table processes;
    struct insn_config config;
    uint64_t base_ns; /* CLOCK_MONOTONIC of tick 0 of the caller; its ticks are nanoseconds */
    /* From the TSC of packets to nanoseconds of CLOCK_MONOTONIC (docs/insntrace.md).  */
    uint64_t time_shift, time_mult, time_zero;

    struct code_page **pages;    /* owned */
    struct base_pairs page_keys; /* item i is of pages[i]: its process and address */
    size_t page_capacity;

    uint64_t *written;        /* owned; item i: bytes of packets of the thread owners.items[i] */
    struct base_pairs owners; /* process and thread */
    size_t owner_capacity;

    uint64_t packet_bytes;
    uint64_t blobs_of_code;
};

/* Names of a thread and its process, and mappings, as far as the trace does not have them.  False
 * when the trace cannot go on, or there is no memory.  */
bool insn_recorder_describe(struct insn_recorder *recorder, struct thread *thread);

/* Read the process's mappings anew.  */
bool insn_recorder_read_maps(struct insn_recorder *recorder, struct thread *thread, uint64_t ticks);

/* The page at address as it is known; NULL: not yet.  */
struct code_page *insn_recorder_find(const struct insn_recorder *recorder, uint64_t process,
                                     uint64_t address);

/* Code at address, a multiple of CODE_PAGE, is about to run: read the page, and put it into the
 * trace if its file does not have it, or if it changed.  NULL when the trace cannot go on.  */
struct code_page *insn_recorder_page(struct insn_recorder *recorder, struct thread *thread,
                                     uint64_t address, uint64_t ticks);

/* Whose packets they are: koids.  */
struct insn_owner {
    uint64_t process, thread;
};

#define INSN_NO_CPU UINT32_MAX

struct insn_packets {
    const uint8_t *bytes;
    size_t size;
    uint32_t cpu; /* that wrote them; INSN_NO_CPU: several, or unknown */
    bool is_cut;  /* packets before these are missing, and these begin with a PSB packet */
};

/* Packets of a thread that was described.  */
bool insn_recorder_packets(struct insn_recorder *recorder, const struct insn_owner *owner,
                           const struct insn_packets *packets, uint64_t ticks);

void insn_recorder_release(struct insn_recorder *recorder);

#endif /* INSN_RECORD_H */
