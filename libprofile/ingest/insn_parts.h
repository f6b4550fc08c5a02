/* insn_parts.h - instruction traces inside an ingest.  Private to libprofile/ingest.
 *
 *   insn_ingest.c packets of threads to slices and charges of stacks
 *   insn_code.c  which code and which function is at an address of a process
 */
#ifndef PROFILE_INGEST_INSN_PARTS_H
#define PROFILE_INGEST_INSN_PARTS_H

#include <fxt/insn.h>
#include "libprofile/ingest/insn_ingest.h"

/* ---- Code (insn_code.c) ---- */

struct insn_place {
    uint64_t address;
    struct insn_function function;
    profile_id module; /* 0: in none */
    uint64_t vaddr;    /* of address, or where it is not known the address itself */
    profile_id name;   /* of the function; 0 unknown */
    bool known;
};

#define INSN_PLACES 4096

/* A mapping that waits for the first packets of its process.  */
struct insn_mapping {
    uint64_t start, limit, vaddr;
    profile_id module;
};

struct insn_process {
    struct ingest_insn *insn;
    uint32_t id;              /* entity id */
    struct insn_space *space; /* NULL before the first packets */
    struct insn_mapping *mappings;
    size_t count, capacity;
    struct insn_place *places; /* INSN_PLACES, by address; forgotten when a mapping comes */
};

/* Take a mapping.  Streams of the process must be flushed before.  */
enum profile_status insn_add_mapping(struct ingest_insn *insn, uint32_t process,
                                     const struct insn_mapping *mapping,
                                     struct profile_error *error);

/* The process, with a space that has all mappings up to now.  */
enum profile_status insn_prepare(struct ingest_insn *insn, uint32_t process,
                                 struct insn_process **out, struct profile_error *error);

/* Bytes of code that are at address from now on.  */
enum profile_status insn_add_code(struct ingest_insn *insn, uint32_t process, uint64_t address,
                                  struct fxt_bytes bytes, struct profile_error *error);

/* What is at an address.  Borrowed until the next call.  NULL: memory is short.  */
const struct insn_place *insn_place_of(struct insn_process *process, uint64_t address);

void insn_code_release(struct ingest_insn *insn);

/* ---- Streams (insn_ingest.c) ---- */

/* The packets of one thread.  */
struct insn_thread {
    struct profile_ingest *ingest;
    struct insn_process *process;
    uint32_t thread_id;
    uint32_t process_id;
    uint32_t number; /* of the stream, from 1 */
    struct insn_stream *stream;
    struct insn_stacks *stacks;
    uint64_t time_shift, time_mult, time_zero;
    uint64_t offset; /* of the next packets in all packets of the thread */
    profile_id category;
    struct profile_error error; /* of a receiver */
};

/* A section of code that a module has.  */
struct insn_section {
    profile_id module;
    uint64_t vaddr, size;
    uint32_t section;
};

/* What was done with one stack of one thread.  */
struct insn_sum {
    uint32_t thread_id;
    profile_id callsite;
    struct insn_charge charge;
};

struct ingest_insn {
    struct profile_ingest *ingest;
    struct insn_code *code;          /* NULL before the first packets */
    struct insn_process **processes; /* [entity id - 1], NULL: none */
    size_t process_count, process_capacity;
    struct insn_section *sections;
    size_t section_count, section_capacity;
    struct base_index section_index;
    struct insn_thread **threads;
    size_t thread_count, thread_capacity;
    struct base_index thread_index; /* by entity id */
    struct insn_sum *sums;
    size_t sum_count, sum_capacity;
    struct base_index sum_index;
};

enum profile_status insn_failed(const struct insn_error *failure, struct profile_error *error);

#endif /* PROFILE_INGEST_INSN_PARTS_H */
