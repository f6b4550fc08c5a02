/* ptlist.h - the files of Fuchsia's insntrace as a trace: PREFIX.ptlist, the packets of each CPU
 * that it lists, and what lies beside it.
 *
 *   PREFIX.ptlist   lines "CPU PATH"; a path that is not there is looked for beside the list
 *   PREFIX.ktrace   records of the kernel: processes and their address spaces, the processor
 *   PREFIX.cpuid    the line "mtc_freq: N"
 *   PREFIX.map      what ld.so logged: where the modules of each process are
 *   PREFIX.ids      lines "BUILD-ID PATH": where the files of modules are; may be missing
 *
 * The result is the bytes of an FXT stream in the layout of docs/insntrace.md, with one thread for
 * each CPU that a process ran on: packets say which address space is in use, not which thread.
 *
 * Input is hostile.  What cannot be used is counted.  The packets are read in pieces; memory
 * follows the size of the other files, which is bounded.  */
#ifndef PTLIST_H
#define PTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a path has the name of a list.  */
bool ptlist_is(const char *path);

struct ptlist;

/* Read everything but the packets.  False: message has the reason, with the path.  */
bool ptlist_open(const char *path, struct ptlist **out, char *message, size_t size);
void ptlist_close(struct ptlist *list); /* accepts NULL */

/* Fill up to size bytes.  Returns how many there are, at least 1; 0 at the end; or -1 with errno.
 * Its type is that of fxt_read_fn, with the list as context.  */
ptrdiff_t ptlist_read(void *list, void *buffer, size_t size);

struct ptlist_counts {
    uint64_t missing_files; /* that cannot be read to their end, or are not there */
    char *first_missing;    /* path of the first of them; NULL: none, or no memory */
    int missing_errno;      /* of the first */
    uint64_t bad_lines;     /* of text files */
    uint64_t bad_records;   /* of the kernel: the rest of them cannot be read */
    uint64_t kernel_bytes;  /* of packets in the kernel's own address space: left out */
    uint64_t unknown_bytes; /* of packets in address spaces of no known process: left out */
};

const struct ptlist_counts *ptlist_counts(const struct ptlist *list);

#endif /* PTLIST_H */
