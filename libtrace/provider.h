/* provider.h - what the parts of a provider share: descriptors, the address of a manager, the
 * recorder without one.  */
#ifndef TRACE_PROVIDER_H
#define TRACE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* ---- Addresses (address.c) ---- */

struct trace_address {
    char folder[108];
    char socket[108]; /* a path that a sockaddr_un holds; "": tracing is switched off */
};

/* From the environment (trace_engine.h).  */
void trace_address_find(struct trace_address *address);

/* Connected, to a process of this user or of root; -1 otherwise.  */
int trace_address_connect(const struct trace_address *address);

/* ---- Without a manager (recorder.c) ---- */

/* Record into the file that $FXT_TRACE_FILE names.  False: there is none, or it cannot be made.  */
bool trace_recorder_begin(void);
bool trace_recorder_is_wanted(void);
void trace_recorder_end(void);
void trace_recorder_forget(void);

#endif /* TRACE_PROVIDER_H */
