/* convert.h - between the files of fxt2pprof.  */
#ifndef CONVERT_H
#define CONVERT_H

#include "cmd/cli/cli.h"
#include "libprofile/profile.h"

enum format { FORMAT_PPROF = 0, FORMAT_FOLDED = 1, FORMAT_TOP = 2 };

struct settings {
    struct cli_texts inputs;
    const char *output; /* NULL: not said */
    char *beside_input; /* the name that output has by default at a terminal */
    enum format format;
    int kind; /* enum profile_kind; -1: the first that the trace has */
    enum profile_root root;
    struct cli_texts modules;
    struct cli_texts symbols;
    bool debuginfod;
    struct cli_numbers pids;
    struct cli_numbers tids;
    size_t rows; /* of FORMAT_TOP */
    bool symbolize;
    bool inlines;
    bool cache; /* of symbols */
    bool arm64;
    bool strict;
    bool force;
    bool quiet;
};

/* What came of the inputs together.  */
struct totals {
    uint64_t records;
    uint64_t damage; /* places that were not understood */
    struct profile_notices notices;
};

/* Read every input into profile (read.c).  Messages are printed; the worst status is returned.  */
enum cli_exit read_inputs(const struct settings *settings, struct profile *profile,
                          struct totals *totals);

/* Print what was converted, what was lost and which modules lack symbols (summary.c).  kind is what
 * was written.  */
void print_summary(const struct settings *settings, struct profile *profile, enum profile_kind kind,
                   const struct totals *totals);

#endif /* CONVERT_H */
