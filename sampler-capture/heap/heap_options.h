/* heap_options.h - the command line of "sampler-capture heap".  */
#ifndef HEAP_OPTIONS_H
#define HEAP_OPTIONS_H

#include "cmd/cli/cli.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_options {
    const char *output; /* "-" is standard output */
    uint64_t interval_bytes;
    bool frame_pointers;
    bool mappings; /* are recorded, too */
    bool compress;
    bool quiet;           /* only what is not in the trace is told */
    const char *kept;     /* folder for copies of the modules; NULL: none */
    char *const *command; /* at least one word, NULL at the end */
};

/* The option table and the help.  */
extern const struct cli_command heap_command;

/* Read the command line; ends the program when it is wrong or asks for help.  */
void heap_options_parse(struct heap_options *options, char **argv);

#endif /* HEAP_OPTIONS_H */
