/* target.h - whether a command can be captured, and how it is told to be.  */
#ifndef HEAP_TARGET_H
#define HEAP_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target_settings {
    const char *folder; /* where the socket is */
    const char *gate;   /* as server_peer() and server_key() tell */
    const char *losses; /* likewise */
    const char *key;
    uint64_t interval_bytes;
    bool frame_pointers;
    bool mappings; /* are recorded, too */
};

#define TARGET_MESSAGE_SIZE ((size_t)2 * PATH_MAX)

/* Whether the library can be preloaded into the program that execvp(3) would run as name.  False
 * with a sentence in message when it cannot be: statically linked, set-user-ID, of another
 * architecture or C library.  A program that is not found or not understood is left to execvp(3),
 * and true.  */
bool target_check(const char *name, char message[TARGET_MESSAGE_SIZE]);

/* The path of the library to preload.  False with a sentence in message when there is none.  */
bool target_find_shim(char path[PATH_MAX], char message[TARGET_MESSAGE_SIZE]);

/* Change the environment, which the command will get, so that the library is preloaded and finds
 * us.  False with errno.  */
bool target_prepare(const char *shim, const struct target_settings *settings);

#endif /* HEAP_TARGET_H */
