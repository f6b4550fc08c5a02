/* provider.h - what the parts of a provider share: descriptors, the address of a manager, the
 * recorder without one.  */
#ifndef TRACE_PROVIDER_H
#define TRACE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "libfxt/trace_format.h"

/* ---- Descriptors (descriptor.c) ---- */

/* A program may close descriptors that are not its own, and get the number again: before each use
 * the descriptor is looked at.  */
struct trace_fd {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

#define TRACE_NO_FD \
    {               \
        -1, 0, 0    \
    }

/* Take a descriptor over, moved to a high number.  A failed one is none.  */
void trace_fd_take(struct trace_fd *out, int fd);
bool trace_fd_is_open(const struct trace_fd *fd);
void trace_fd_close(struct trace_fd *fd);

/* What wakes a thread in poll(2): a pipe, since an eventfd cannot be told from any other.  */
struct trace_wake {
    struct trace_fd in;  /* to be polled; POLLHUP once the program has closed the other one */
    struct trace_fd out; /* also open for reading, so that no write raises SIGPIPE */
};

#define TRACE_NO_WAKE            \
    {                            \
        TRACE_NO_FD, TRACE_NO_FD \
    }

/* False, and none, where there are no descriptors.  With too few, or without /proc, it is an
 * eventfd.  */
bool trace_wake_make(struct trace_wake *wake);
bool trace_wake_is_open(const struct trace_wake *wake);
/* Async-signal-safe; nothing where it is not open.  */
void trace_wake_ring(const struct trace_wake *wake);
void trace_wake_read(const struct trace_wake *wake); /* what was rung */
void trace_wake_close(struct trace_wake *wake);

/* ---- Addresses (address.c) ---- */

struct trace_address {
    char folder[108];
    char socket[108]; /* a path that a sockaddr_un holds; "": tracing is switched off */
    char bell[120];   /* a FIFO that each manager opens and closes when it can be connected to */
    bool trusted;     /* named by the environment */
};

/* From the environment (trace_engine.h), which the program may change later.  */
void trace_address_find(struct trace_address *address);

/* Which manager listens there: its socket.  */
struct trace_manager {
    dev_t device;
    ino_t inode; /* 0: none */
    struct timespec made;
};
void trace_address_look(const struct trace_address *address, struct trace_manager *manager);

/* Connected, to a process of this user or of root; -1 otherwise.  *busy: there is one, to be tried
 * again: too many are waiting for it.  */
int trace_address_connect(const struct trace_address *address, bool *busy);

/* The bell, to be polled for POLLHUP: a manager came since.  -1: no manager has ever made one.  */
int trace_address_listen(const struct trace_address *address);

/* ---- Without a manager (recorder.c) ---- */

/* Read the environment, once: the program may change it later.  Whether $FXT_TRACE_FILE names a
 * file to record into.  */
bool trace_recorder_is_wanted(void);
/* Record into it.  False: it cannot be made.  */
bool trace_recorder_begin(void);
void trace_recorder_end(void);
/* In the child of a fork; inside: its thread is in the midst of a record.  */
void trace_recorder_forget(bool inside);

/* Let go of memory that was written to: unmapped, or, inside, replaced by memory of our own.  */
void trace_memory_forget(void *memory, size_t size, bool inside);

#endif /* TRACE_PROVIDER_H */
