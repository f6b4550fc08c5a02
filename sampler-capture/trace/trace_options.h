/* trace_options.h - the command line of "sampler-capture trace".  */
#ifndef TRACE_OPTIONS_H
#define TRACE_OPTIONS_H

#include "cmd/cli/cli.h"
#include "libfxt/trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --provider NAME:SIZE:CATEGORIES.  */
struct trace_spec {
    char *name;                  /* owned */
    uint64_t buffer_bytes;       /* 0: as the others */
    struct cli_texts categories; /* of this provider besides those of all */
};

struct recording_options {
    const char *output;
    char **command;              /* [0] NULL: none */
    struct cli_texts categories; /* none: all */
    struct cli_texts requested;  /* the same, and those of specs */
    bool for_session;            /* an option is there that a list has no use for */
    enum trace_mode mode;
    uint64_t buffer_bytes;
    struct trace_spec *specs; /* owned */
    size_t spec_count;
    uint64_t duration_ns;      /* 0: none */
    uint64_t wait_ns;          /* for providers to stop */
    struct cli_texts triggers; /* alerts that end the session */
    bool background, compress, quiet, print_stats;
    const char *stats_json;
    enum { TRACE_RECORD, TRACE_LIST_PROVIDERS, TRACE_LIST_CATEGORIES } action;
};

extern const struct cli_command trace_command;

/* Ends the program when the command line is wrong.  */
void trace_options_parse(struct recording_options *options, char **argv);

#endif /* TRACE_OPTIONS_H */
