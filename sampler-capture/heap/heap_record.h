/* heap_record.h - what a heap capture writes.
 *
 * Provider 0xffff0000, "sampler-capture": the session, processes, modules and mappings with names,
 * losses, and each message as it came, in a large blob of category "memory" and name
 * "fuchsia.memory.sampler".  The messages know modules by build ID alone; records of modules and
 * mappings say the same once more with the names of files, so that their symbols are found.  */
#ifndef HEAP_RECORD_H
#define HEAP_RECORD_H

#include <fxt/fidl_sampler.h>
#include "sampler-capture/heap/protocol.h"
#include "sampler-capture/host.h"
#include "sampler-capture/processes.h"
#include "sampler-capture/record_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct recorder {
    struct stream *stream;       /* borrowed */
    struct module_table modules; /* files seen in any process */
    int names_fd;                /* of the file of names (protocol.h), borrowed; -1: none */
    /* Called before that is read: what is on its way there has to arrive.  False when the trace
     * cannot go on.  */
    bool (*fetch_names)(void *context);
    void *fetch_context;
    off_t names_read; /* of its bytes */
    uint64_t interval_bytes;
    uint64_t processes;
    uint64_t allocations; /* messages written */
    uint64_t frees;
    uint64_t infos;
    uint64_t mappings; /* blocks of memory that programs mapped themselves */
};

/* These return false when the trace cannot go on: stream_errno() says why, or, where that is 0,
 * memory is out.  */

bool recorder_begin(struct recorder *recorder, const struct trace_session *session,
                    bool frame_pointers);

/* A process, which has its koid and pid and no name yet.  */
bool recorder_process(struct recorder *recorder, struct process *process);

/* A message of a process: bytes and what they say.  */
bool recorder_message(struct recorder *recorder, struct process *process, uint64_t ticks,
                      const uint8_t *bytes, size_t length, const struct fidl_message *message);

/* Anonymous memory that a process maps itself is a block of its own: it is there (allocation), or
 * no more.  Written as a message of the sampler whose interval is one byte, since each is
 * recorded.  */
bool recorder_mapping(struct recorder *recorder, const struct process *process, uint64_t ticks,
                      bool is_release, uint64_t address, uint64_t size, const uint64_t *frames,
                      size_t count);

/* What was lost of a process, from its start on.  */
struct record_loss {
    uint64_t allocations; /* messages */
    uint64_t frees;
    uint64_t infos;
    uint64_t rejected;  /* packets that were no messages */
    uint64_t no_memory; /* allocations that it had no memory to remember */
    uint64_t forgotten; /* blocks whose release it cannot tell, as it closed its connection */
};
bool recorder_loss(struct recorder *recorder, uint64_t koid, uint64_t ticks,
                   const struct record_loss *loss);

/* Bytes that a process had resident at most so far: counter memory/resident, whose argument is
 * peak_bytes.  */
bool recorder_resident(struct recorder *recorder, uint64_t koid, uint64_t ticks, uint64_t bytes);

void recorder_release(struct recorder *recorder);

#endif /* HEAP_RECORD_H */
