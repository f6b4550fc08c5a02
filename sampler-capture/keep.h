/* keep.h - copies of the modules of a capture, by build ID, for a conversion when the files are
 * gone or on another machine (--keep-modules).
 *
 * A module becomes FOLDER/.build-id/xx/yyyy.debug, the layout that all symbolizers know.  A thread
 * copies, so that a capture does not wait for the disk; each file appears whole, under its name, or
 * not at all.  A build ID that is there already is not copied again.  */
#ifndef CAPTURE_KEEP_H
#define CAPTURE_KEEP_H

#include "sampler-capture/elf_image.h"

#include <stdbool.h>
#include <stdint.h>

#define KEEP_MAX_BYTES (UINT64_C(4) << 30) /* of all files of a capture */

/* A row of a command's options.  */
#define KEEP_OPTION(key)                                                                        \
    {                                                                                           \
        (key), 0, "keep-modules", "DIR",                                                        \
            "copy the sampled programs and libraries into DIR, by build ID, for --symbols DIR " \
            "later or on another machine",                                                      \
            CLI_FOLDER                                                                          \
    }

struct keeper;

struct keep_result {
    uint64_t kept;       /* modules copied */
    uint64_t kept_bytes; /* of them */
    uint64_t there;      /* modules that were there */
    uint64_t unnamed;    /* modules without a build ID */
    uint64_t gone;       /* modules whose file could not be opened, or was another one by then */
    uint64_t left_out;   /* modules beyond KEEP_MAX_BYTES */
    uint64_t failed;     /* modules that could not be written */
    int error;           /* why the first of them could not: errno */
};

/* Keep modules in folder, which is made if need be.  NULL with errno.  */
struct keeper *keeper_open(const char *folder);

/* Keep the file; the descriptor is duplicated.  Waits only where many files wait already.  */
void keeper_take(struct keeper *keeper, int fd, const struct elf_image *image);

/* A module of which there is no file.  */
void keeper_miss(struct keeper *keeper);

/* Wait until all is written.  */
struct keep_result keeper_finish(struct keeper *keeper);

/* Print what became of them; only what went wrong if quiet.  */
void keep_summarize(const struct keep_result *result, const char *folder, bool quiet);

void keeper_close(struct keeper *keeper); /* accepts NULL */

#endif /* CAPTURE_KEEP_H */
