/* convert.h - between the files of fxt2pprof.  */
#ifndef CONVERT_H
#define CONVERT_H

#include <fxt/profile_formats.h>
#include "cmd/cli/cli.h"
#include "cmd/cli/profile_options.h"
#include "cmd/cli/select.h"

struct settings {
    struct cli_texts inputs;
    const char *output;                  /* NULL: not said */
    char *beside_input;                  /* the name that output has by default at a terminal */
    const struct profile_format *format; /* NULL: the table of the hottest functions */
    struct cli_profiles profiles;
    enum profile_root root;
    const char *sample_type; /* NULL: the kind's main one */
    enum profile_heap_types heap_types;
    enum profile_heap_at at; /* of heap profiles */
    struct cli_time at_time; /* of PROFILE_HEAP_AT_TIME */
    bool heap_only;          /* an option was given that only heap profiles have */
    const char *at_option;   /* --at or --every as it was given, which need times; or NULL */
    bool ages;
    uint64_t every_ns; /* 0: one profile */
    size_t rows;       /* of the table */
    bool quiet;
};

/* What came of the inputs together.  */
struct totals {
    uint64_t records;
    uint64_t damage; /* places that were not understood */
    bool has_start;  /* of the trace read last: its first time */
    int64_t start_ns;
    struct profile_notices notices;
};

/* Read every input into profile (read_inputs.c).  Messages are printed; the worst status is
 * returned.  */
enum cli_exit read_inputs(const struct settings *settings, struct profile *profile,
                          struct totals *totals);

/* --at: "peak", "process-peak", "end" or a time (heap_kinds.c).  */
void take_at(struct settings *settings, const char *value);
/* --every: a duration.  */
void take_every(struct settings *settings, const char *value);
/* The options fit each other, or the program ends with CLI_USAGE.  */
void check_heap_options(const struct settings *settings);
/* Tell the profile.  CLI_OK, or a message.  */
enum cli_exit configure_heap(const struct settings *settings, struct profile *profile);
/* The path of partial profile index of count: "heap.partial-0001.pb.gz" beside "heap.pb.gz", which
 * is the last one's.  suffix is that of the format.  The caller frees it.  */
char *partial_path(const char *path, const char *suffix, size_t index, size_t count);
/* What there is to say of a heap profile, for the summary.  */
void print_heap(const struct settings *settings, const struct profile *profile,
                const struct totals *totals);

/* Print what was converted, what was lost and which modules lack symbols (summary.c).  kind is what
 * was written.  */
void print_summary(const struct settings *settings, struct profile *profile, enum profile_kind kind,
                   const struct totals *totals);

#endif /* CONVERT_H */
