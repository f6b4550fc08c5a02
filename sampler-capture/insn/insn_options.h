/* insn_options.h - the command line of "sampler-capture insn".  */
#ifndef INSN_OPTIONS_H
#define INSN_OPTIONS_H

#include "cmd/cli/cli.h"
#include "sampler-capture/insn/controller.h"

#include <fxt/insn.h>

#include <stdbool.h>
#include <stdint.h>

struct insn_options {
    const char *output; /* "-" is standard output */
    const char *steps;  /* a file for each instruction; NULL: none */
    bool simulate;
    enum insn_mode mode;
    uint64_t buffer_size; /* bytes; a power of two */
    bool is_circular;
    bool snapshot; /* SIGUSR2 writes what circular buffers have */
    struct cli_texts filters;
    enum insn_timing timing;
    bool real_clock; /* else each instruction takes a nanosecond */
    bool no_return_compression;
    uint64_t overflow_every; /* instructions, on average; 0: never */
    uint64_t seed;
    bool compress;
    bool quiet;
    char *const *command; /* at least one word, NULL at the end */
};

/* The option table and the help.  */
extern const struct cli_command insn_command;

/* Read the command line; ends the program when it is wrong or asks for help.  */
void insn_options_parse(struct insn_options *options, char **argv);

#endif /* INSN_OPTIONS_H */
