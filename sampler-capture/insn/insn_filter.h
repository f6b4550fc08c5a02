/* insn_filter.h - the code to be traced: functions and ranges of files.
 *
 * As given on a command line:
 *
 *     FUNCTION[@FILE]     a symbol of FILE, as nm(1) prints it
 *     START-END[@FILE]    addresses [START, END) in FILE, in hexadecimal with 0x, as objdump(1)
 *                         prints them
 *
 * Without a file, it is the program that is run.  */
#ifndef INSN_FILTER_H
#define INSN_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_MAX_RANGES 64

struct filter_range {
    char *file;          /* owned; an absolute path without symbolic links */
    uint64_t start, end; /* vaddrs */
    uint64_t file_offset;
};

struct filter {
    struct filter_range ranges[FILTER_MAX_RANGES];
    size_t count; /* 0: everything is traced */
};

/* Add what text means; program is the first word of the command.  False, with a phrase in message:
 * a file cannot be read, there is no such function, or there are too many ranges.  */
bool filter_add(struct filter *filter, const char *text, const char *program, char *message,
                size_t size);

/* Whether the code at vaddr of a file is traced.  *start and *end are set to the vaddrs around it
 * for which the answer is the same.  */
bool filter_has(const struct filter *filter, const char *file, uint64_t vaddr, uint64_t *start,
                uint64_t *end);

void filter_release(struct filter *filter);

#endif /* INSN_FILTER_H */
