/* protocol.h - what the capture tells the library that it puts into the processes it captures.
 *
 * The messages themselves are those of fuchsia.memory.sampler (docs/formats/memory-sampler.md), one
 * a packet of a SOCK_SEQPACKET socket, one connection a process.  They have no field for what a
 * process could not send, so that is counted in a file in memory which all map.  Its size is sealed
 * (memfd_create(2)): no process can cut it under the others.  The messages know modules by build ID
 * alone, so a second file takes their names: a line for each,
 *
 *   BUILD-ID PATH
 *
 * in hexadecimal, appended by whoever loads it.
 *
 * A process connects through the gate, a SOCK_SEQPACKET socket that it inherits: it makes a pair
 * of sockets and sends one of them.  That works for any user and root folder.  The file of losses
 * is inherited, too; names that a process cannot append to their file go through the gate.
 * Programs that have closed these descriptors connect to the sockets in the folder, which only the
 * capture's user can enter.
 *
 * Processes may outlive the capture, and anyone may make a folder of its name after it.  So a
 * process trusts only a folder, and files in it, that belong to its own user or root and to which
 * nobody else has access, a server of these users, and a file of losses that has the key from its
 * environment.  */
#ifndef HEAP_PROTOCOL_H
#define HEAP_PROTOCOL_H

#include "sampler-capture/heap/program.h"

#include <stdatomic.h>
#include <stdint.h>

/* The environment of a captured process.  */
#define HEAP_ENV_FOLDER   "FXT_HEAP_FOLDER"   /* holds the files below; absent: no capture */
#define HEAP_ENV_INTERVAL "FXT_HEAP_INTERVAL" /* mean bytes between samples, decimal */
#define HEAP_ENV_UNWIND   "FXT_HEAP_UNWIND"   /* "cfi" or "fp" */
#define HEAP_ENV_SEED     "FXT_HEAP_SEED"    /* decimal; for tests: the samples come out the same */
#define HEAP_ENV_FILTERS  "FXT_HEAP_FILTERS" /* decimal: seccomp filters that the capture has */
#define HEAP_ENV_KEY      "FXT_HEAP_KEY"     /* 32 hexadecimal digits, in the file of losses */
#define HEAP_ENV_GATE     "FXT_HEAP_GATE"    /* DESCRIPTOR:INODE in decimal */
#define HEAP_ENV_LOSSES   "FXT_HEAP_LOSSES"  /* likewise, of the file of losses */
#define HEAP_ENV_MMAP     "FXT_HEAP_MMAP"    /* "1": calls of mmap(2) and the like are told */
#define HEAP_ENV_PREFIX   "FXT_HEAP_"        /* of all that the capture sets */
/* Where the library is; for a capture tool that is not beside it.  */
#define HEAP_ENV_SHIM "FXT_HEAP_SHIM"

/* Longest path of the folder, so that the names of sockets fit into theirs (unix(7)).  */
#define HEAP_MAX_FOLDER 84

#define HEAP_SOCKET_NAME "socket"
#define HEAP_LOSSES_NAME "losses" /* a socket: whoever connects is sent the file, with one byte */
#define HEAP_NAMES_NAME  "names"

/* What is sent through the gate: one of these bytes, and what it is about.  */
#define HEAP_GATE_CONNECTION 'c'   /* with one end of a pair of sockets, which is a connection */
#define HEAP_GATE_LOSSES     'l'   /* likewise; the file of losses is sent there with one byte */
#define HEAP_GATE_NAMES      'n'   /* and lines for the file of names */
#define HEAP_GATE_MAX_NAMES  16384 /* bytes of them in one packet */

#define HEAP_DEFAULT_INTERVAL 131072 /* as Fuchsia's */
#define HEAP_MIN_INTERVAL     1
#define HEAP_MAX_INTERVAL     (UINT64_C(1) << 40)
#define HEAP_MAX_FRAMES       512   /* of a stack */
#define HEAP_MAX_PACKET       32000 /* bytes our library sends at once */

/* A call that changed the address map, in words: a packet of its own among the messages.  It looks
 * like a flexible method of theirs, which servers that do not know it skip.  Threads tell their
 * calls in any order, so tickets, numbers that the process counts up, say which call came later:
 * one is taken before the system call, one after it.  */
struct heap_mapping {
    uint64_t header;  /* HEAP_MAPPING_HEADER */
    uint64_t ordinal; /* HEAP_MAPPING_ORDINAL */
    uint64_t kind;    /* enum heap_mapping_kind */
    uint64_t before, after;
    uint64_t address, size;         /* bytes */
    uint64_t old_address, old_size; /* HEAP_MOVED: what is no more; otherwise 0 */
    uint64_t frame_count;
    uint64_t
        frames[]; /* return addresses, innermost first; the first lies in the function called */
};

#define HEAP_MAPPING_HEADER  UINT64_C(0x0180000200000000)
#define HEAP_MAPPING_ORDINAL UINT64_C(0x4658544d4d415031)
#define HEAP_MAPPING_WORDS   10 /* before the frames */

enum heap_mapping_kind {
    HEAP_MAPPED = 1,   /* anonymous memory, in place of what was there */
    HEAP_RESERVED = 2, /* addresses without access: no memory so far */
    HEAP_UNMAPPED = 3, /* nothing, or a file */
    HEAP_MOVED = 4,    /* mremap(2) */
    HEAP_OPENED = 5,   /* mprotect(2) gives access: what was reserved is memory from here on */
};

/* What one connection lost.  Whoever connects takes a free one first, and says which by the name of
 * its socket; when the connection has ended, the server frees it.  */
struct heap_losses {
    _Atomic uint32_t serial; /* of who has it, as in the name; 0: free */
    uint32_t unused;
    _Atomic uint64_t allocations; /* messages that the server left no room for */
    _Atomic uint64_t frees;
    _Atomic uint64_t infos;
    _Atomic uint64_t waits;     /* times that a thread waited for the server */
    _Atomic uint64_t no_memory; /* allocations that the process had no memory to remember */
    _Atomic uint64_t forgotten; /* blocks whose release cannot be told: see closed below */
    /* Bytes that the process had resident at most, told when it ends by itself; 0: not told.  */
    _Atomic uint64_t resident;
};

#define HEAP_LOSS_SLOTS 4094 /* connections at one time; those beyond share one */

/* The name is an abstract one (unix(7)), so that no file is needed: a zero, the folder, a slash,
 * and in hexadecimal digits serial << 32 | index of the slot.  A process id would not do: in a PID
 * namespace a process knows itself by another number than the server does.  */
#define HEAP_NAME_DIGITS 16

/* The file of losses.  */
struct heap_loss_file {
    uint64_t key[2];        /* as in the environment, the first 16 digits first */
    _Atomic uint32_t taken; /* how often one of slots was; where to look for the next free one */
    /* How often a program closed the descriptor of its connection.  It gets another connection,
     * which is another process to the server: the blocks that were in use are forgotten.  */
    _Atomic uint32_t closed;
    /* Processes that are not sampled, or no longer.  */
    _Atomic uint32_t confined;    /* since they confined themselves by seccomp(2) */
    _Atomic uint32_t unconnected; /* since they could not connect */
    _Atomic uint32_t unseen;      /* since they have an allocator of their own linked in */
    _Atomic uint32_t foreign;     /* since their C library is another one */
    _Atomic uint32_t over;        /* not 0: the capture has ended */
    uint32_t unused[1];
    /* How often captured processes started programs of each kind, which are not captured.  */
    _Atomic uint32_t started[PROGRAM_KINDS];
    struct heap_losses others; /* of whoever has no slot, and all that was forgotten */
    struct heap_losses slots[HEAP_LOSS_SLOTS];
};

#endif /* HEAP_PROTOCOL_H */
