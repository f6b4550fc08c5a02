/* program.h - whether the sampler can be preloaded into the program in a file.
 *
 * Used by the capture, of the command, and by the preloaded library, of all that a captured process
 * executes.  There it may run in a child of vfork(2) and on a small stack: nothing is allocated,
 * and only system calls are made.  */
#ifndef HEAP_PROGRAM_H
#define HEAP_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum program_kind {
    PROGRAM_FINE,       /* or a file that is not understood, which is left to the kernel */
    PROGRAM_STATIC,     /* has no loader */
    PROGRAM_LOADER,     /* its loader is another one than ours: of another C library or version */
    PROGRAM_MACHINE,    /* of another architecture */
    PROGRAM_PRIVILEGED, /* gets rights when it starts */
    PROGRAM_SANITIZED,  /* its sanitizer wants to be the first library */
    /* Of no file, but of how it is started.  */
    PROGRAM_BARE,   /* its environment does not name the library */
    PROGRAM_APART,  /* the library cannot be read there: another root folder or user */
    PROGRAM_HIDDEN, /* in a folder that cannot be known before it is started */
    PROGRAM_KINDS,
};

#define PROGRAM_INTERPRETER 256 /* of a script the kernel reads no more */

struct program {
    enum program_kind kind;
    char detail[128]; /* the path of the loader, or the sanitizer's library; cut to fit */
    char interpreter[PROGRAM_INTERPRETER]; /* of a script, which is what kind tells of; or "" */
};

/* The file of a loader; all zero: not known.  */
struct program_loader {
    unsigned long long device, inode;
};

/* Of the program that runs.  */
void program_own_loader(struct program_loader *loader);

/* How it is started.  */
struct program_start {
    int folder_fd; /* of the folder in which it is started, for relative names; or AT_FDCWD */
    bool
        resets_ids; /* the effective ids become the real ones before: posix_spawnattr_setflags(3) */
    const struct program_loader *own;
};

/* Look at the program that execve(2) would run from the file: if it is a script, its interpreter.
 * The descriptor may be one of O_PATH.  */
void program_read(struct program *program, int fd, const struct program_start *start);

/* The same of a path, a relative one from name_fd.  PROGRAM_FINE if it cannot be read.  */
void program_read_at(struct program *program, int name_fd, const char *path,
                     const struct program_start *start);

/* Whether the library, by its name or path, ends a program in which another one was loaded before
 * it.  length is that of the path.  */
bool program_wants_to_be_first(const char *library, size_t length);

/* Find name as execvp(3) does in the folder, which path may be relative to.  False if there is no
 * such program, or its path does not fit.  */
bool program_find(int folder_fd, const char *name, char *path, size_t size);

#endif /* HEAP_PROGRAM_H */
