/* protocol.h - what the capture tells the library that it puts into the processes it captures.
 *
 * The messages themselves are those of fuchsia.memory.sampler (docs/formats/memory-sampler.md), one
 * a packet of a SOCK_SEQPACKET socket, one connection a process.  They have no field for what a
 * process could not send, so that is counted in a file which both sides map; and they know modules
 * by build ID alone, so a second file takes their names: a line for each,
 *
 *   BUILD-ID PATH
 *
 * in hexadecimal, appended by whoever loads it.  */
#ifndef HEAP_PROTOCOL_H
#define HEAP_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

/* The environment of a captured process.  */
#define HEAP_ENV_FOLDER   "FXT_HEAP_FOLDER"   /* holds the files below; absent: no capture */
#define HEAP_ENV_INTERVAL "FXT_HEAP_INTERVAL" /* mean bytes between samples, decimal */
#define HEAP_ENV_UNWIND   "FXT_HEAP_UNWIND"   /* "cfi" or "fp" */
#define HEAP_ENV_SEED     "FXT_HEAP_SEED"    /* decimal; for tests: the samples come out the same */
#define HEAP_ENV_FILTERS  "FXT_HEAP_FILTERS" /* decimal: seccomp filters that the capture has */
/* Where the library is; for a capture tool that is not beside it.  */
#define HEAP_ENV_SHIM "FXT_HEAP_SHIM"

#define HEAP_SOCKET_NAME "socket"
#define HEAP_LOSSES_NAME "losses"
#define HEAP_NAMES_NAME  "names"

#define HEAP_DEFAULT_INTERVAL 131072 /* as Fuchsia's */
#define HEAP_MIN_INTERVAL     1
#define HEAP_MAX_INTERVAL     (UINT64_C(1) << 40)
#define HEAP_MAX_FRAMES       512   /* of a stack */
#define HEAP_MAX_PACKET       32000 /* bytes our library sends at once */

/* What one connection lost.  Whoever connects takes a free one first; when the connection has
 * ended, the server frees it.  */
struct heap_losses {
    _Atomic uint32_t pid; /* 0: free */
    uint32_t unused;
    _Atomic uint64_t allocations; /* messages that could not be sent or not be kept */
    _Atomic uint64_t frees;
    _Atomic uint64_t infos;
    _Atomic uint64_t waits; /* times that a thread waited for the server */
    uint64_t reserved[3];
};

#define HEAP_LOSS_SLOTS 4094 /* connections at one time; those beyond share one */

/* The file HEAP_LOSSES_NAME.  */
struct heap_loss_file {
    _Atomic uint32_t taken; /* how often one of slots was; where to look for the next free one */
    /* Processes that are not sampled, or no longer.  */
    _Atomic uint32_t confined;    /* since they confined themselves by seccomp(2) */
    _Atomic uint32_t unconnected; /* since they could not connect */
    _Atomic uint32_t unseen;      /* since they have an allocator of their own linked in */
    uint32_t unused[12];
    struct heap_losses others;
    struct heap_losses slots[HEAP_LOSS_SLOTS];
};

#endif /* HEAP_PROTOCOL_H */
