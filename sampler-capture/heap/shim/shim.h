/* shim.h - inside libfxtheap.so, the library that a capture preloads into programs.
 *
 * It must never be felt: no malloc, no stdio, no lock on the way of an allocation that is not
 * sampled.  Whoever samples blocks signals meanwhile, so no handler runs in between, keeps errno,
 * and waits for the server for a bounded time.  What a forked child must not share with its parent
 * - connection, locks, the set of live blocks - lies in memory that the kernel wipes in the child
 * (MADV_WIPEONFORK), however the child was made.  */
#ifndef SHIM_SHIM_H
#define SHIM_SHIM_H

#include "sampler-capture/heap/protocol.h"
#include "sampler-capture/heap/shim/poisson.h"
#include "sampler-capture/heap/shim/shim_cfi.h"
#include "sampler-capture/heap/shim/shim_live.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- A thread ---- */

struct shim_thread {
    uint64_t left;  /* bytes until the next sample; what is larger than an allocation is not due */
    uint64_t epoch; /* struct shim_process.epoch when the generator was seeded; 0 never */
    struct poisson poisson;
    uint32_t decisions; /* calls of shim_decide() */
    /* Of the hook of operator new that is running, if there is one: its frame, and where it returns
     * to.  An exception leaves them behind.  */
    uintptr_t outer_frame, outer_return;
    bool inside; /* allocations are the shim's own */
};

extern __thread struct shim_thread shim_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Count an allocation of size bytes; whether it is to be recorded.  */
bool shim_decide(uint64_t size);

static inline bool shim_due(uint64_t size)
{
    if (__builtin_expect(shim_thread.left > size, 1)) {
        shim_thread.left -= size;
        return false;
    }
    return shim_decide(size);
}

/* Begin to sample: settings are there.  */
void shim_begin(void);

/* Record that the real allocator gave address.  */
void shim_record_allocation(const void *address, uint64_t size);

/* Record that address is about to be given back, if it is a sampled block.  */
void shim_record_free(const void *address);

/* The same where it may come to nothing: the block, for one of the next two; NULL: it is none.  */
struct shim_live_block *shim_suspend(const void *address);
/* It was given back.  */
void shim_forget(struct shim_live_block *block);
/* It was not: it is in use again, by the stack that allocated it.  */
void shim_restore(struct shim_live_block *block);

/* Whether calls that change the address map are recorded now.  */
bool shim_records_mappings(void);
/* The next ticket (protocol.h).  */
uint64_t shim_ticket(void);
/* Tell such a call of the function at entry: kind, before, addresses and sizes are set.  */
void shim_record_mapping(struct heap_mapping *call, uintptr_t entry);

/* ---- The process ---- */

struct shim_lock {
    atomic_uint state; /* 0 free, 1 taken, 2 taken and others wait */
};

void shim_lock(struct shim_lock *lock);
bool shim_trylock(struct shim_lock *lock);
void shim_unlock(struct shim_lock *lock);

#define SHIM_SCRATCHES 8

#define SHIM_MAX_OWN 64 /* frames of the shim, and between its hooks */

/* The callers of the shim.  As everywhere in heap stacks each is a return address: one less lies in
 * the call.  */
struct shim_stack {
    const uint64_t *frames; /* in words; innermost first */
    size_t count;           /* at most HEAP_MAX_FRAMES */
    bool is_unknown;        /* some are in an object that the list of modules may lack */
    uint64_t words[SHIM_MAX_OWN + HEAP_MAX_FRAMES];
};

/* What one recording needs; not on the stack, which may be a small one.  */
struct shim_scratch {
    atomic_bool taken;
    struct shim_stack stack;
    uint8_t message[HEAP_MAX_FRAMES * 8 + 256];
};

/* Zero in a child.  */
struct shim_process {
    _Atomic uint64_t epoch; /* 0 at first; then a number that no forebear had */
    _Atomic bool connected;
    _Atomic bool ended;         /* there is no server any more: nothing is sampled */
    _Atomic uint32_t recording; /* threads that do system calls of ours */
    struct shim_lock begin_lock;
    struct shim_lock live_lock;
    struct shim_lock module_lock;
    struct shim_live_set live;

    int fd;    /* of the connection */
    pid_t pid; /* which connected */
    uint64_t fd_device, fd_inode;
    _Atomic bool impatient;      /* the server let us wait for nothing */
    struct heap_losses *losses;  /* NULL: there is nobody to count for */
    _Atomic size_t modules_told; /* how many of the modules it was told of */

    _Atomic uint64_t tickets; /* given out */
    _Atomic uint32_t threads; /* seeded so far */
    struct shim_scratch scratches[SHIM_SCRATCHES];
    uint8_t info[HEAP_MAX_PACKET]; /* a SetProcessInfo being made; under module_lock */
};

/* A descriptor that the program was started with; it may have closed it since.  */
struct shim_inherited {
    int fd; /* 0: there is none */
    uint64_t inode;
};

struct shim_settings {
    bool idle;    /* nobody captures this program */
    bool foreign; /* its C library is not the one that the shim was built for */
    bool frame_pointers;
    bool mappings; /* are recorded */
    bool seeded;
    uint64_t seed;
    uint64_t interval;
    uint64_t own_filters; /* of seccomp(2), that the capture has itself */
    char folder[HEAP_MAX_FOLDER + 1];
    uint64_t key[2];
    struct shim_inherited gate, inherited_losses;
    struct heap_loss_file *losses; /* NULL: no capture */
};

extern struct shim_process *shim_process
    __attribute__((visibility("hidden"))); /* NULL: no capture */
extern struct shim_settings shim_settings __attribute__((visibility("hidden")));

/* ---- Parts ---- */

/* Whether it is code of the shim.  */
bool shim_is_own(uint64_t pc);
/* Find the callers.  */
void shim_unwind(struct shim_stack *stack);

/* Learn what is loaded.  */
void shim_modules_read(void);
/* Sets is_unknown if the list of modules may lack the object.  */
void shim_modules_visit(struct cfi_walk *walk, const struct dl_find_object *object, uint64_t mark);
/* Whether the list has all objects of these frames.  */
bool shim_modules_know(const uint64_t *frames, size_t count);
/* Tell the server of modules that a stack is in and that it does not know yet.  */
void shim_modules_check(const struct shim_stack *stack);
/* Take module_lock, or give up after a while.  */
bool shim_modules_lock(void);
/* Tell all of them, with the name of the process; under module_lock.  */
void shim_modules_tell(void);

/* The process has confined itself: system calls of ours could end it.  Inherited by children.  */
extern _Atomic bool shim_confined __attribute__((visibility("hidden")));
/* Whether the program was started confined.  */
bool shim_is_confined(void);

/* A number of /proc/self/status, such as "\nVmHWM:".  unread if the file cannot be read, absent if
 * there is no such line.  */
uint64_t shim_status_number(const char *line, uint64_t unread, uint64_t absent);

/* Connect to the server.  False: there is none.  */
bool shim_connect(void);

/* Map the file of losses; NULL: there is no capture, or it is not to be trusted.  */
struct heap_loss_file *shim_map_losses(void);

/* Open a file of the capture's folder.  -1: it is not there, or the folder or the file are not to
 * be trusted.  */
int shim_open_in_folder(const char *name, int flags);

/* Whether the capture has ended.  */
bool shim_is_over(void);

/* The gate, if the program has not closed it; -1.  */
int shim_gate(void);

/* The descriptor of the file of losses, likewise.  */
int shim_inherited_losses(void);

/* Append lines to the file of names.  */
struct shim_names {
    char kind; /* HEAP_GATE_NAMES */
    char bytes[HEAP_GATE_MAX_NAMES];
    size_t used;
};
void shim_send_names(const struct shim_names *names);

/* In a forked child: close the connection of the parent, which ends with the parent.  */
void shim_leave_parent(void);

/* Whether the descriptor is still the connection.  */
bool shim_is_open(void);

enum shim_sent {
    SHIM_SENT,
    SHIM_DROPPED, /* the server is too slow */
    SHIM_CLOSED,  /* the program has closed our descriptor */
    SHIM_AWAY,    /* a child that shares its parent's memory has, of its own descriptors */
    SHIM_GONE,    /* there is no server any more */
};

/* Send one message; waits at most SHIM_PATIENCE_MS for room.  */
#define SHIM_PATIENCE_MS 200
enum shim_sent shim_send(const uint8_t *message, size_t length);

/* Where the process counts what it loses.  */
struct heap_losses *shim_losses(void);
void shim_count(_Atomic uint64_t *counter);

#endif /* SHIM_SHIM_H */
