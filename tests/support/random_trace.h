/* random_trace.h - small traces of random events and scheduling records, some of them flawed, among
 * the records that change what they mean.  */
#ifndef TESTS_RANDOM_TRACE_H
#define TESTS_RANDOM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANDOM_TRACE_WORDS 32768u

struct random_trace {
    uint64_t state;
    uint64_t words[RANDOM_TRACE_WORDS];
    size_t used; /* words */
};

/* count records behind a magic record.  The same seed gives the same records with and without
 * apart: then a magic record stands between any two, and no two events follow each other.
 * With sizes, also sizes and types are flawed, which may lose what follows.  */
void random_trace_make(struct random_trace *trace, uint64_t seed, unsigned count, bool apart,
                       bool sizes);

#endif /* TESTS_RANDOM_TRACE_H */
