/* cuts.h - the modules in which stacks end early, for messages.  */
#ifndef CLI_CUTS_H
#define CLI_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/profile.h>

struct cli_cut {
    const char *module;  /* borrowed; NULL: code of no file */
    uint64_t stacks;     /* that end early in it */
    bool has_file;       /* the file of the module was found and read */
    const char *problem; /* if it was: why rows of its unwind tables are missing, or "" */
};

/* The worst modules, the worst first.  All zero is empty.  */
struct cli_cuts {
    struct cli_cut worst[3];
    size_t count;
    uint64_t others; /* how many more modules there are */
};

/* Add a module; each may be added only once.  One without stacks is ignored.  */
void cli_cuts_add(struct cli_cuts *cuts, const struct cli_cut *cut);

void cli_cuts_add_profile(struct cli_cuts *cuts, const struct profile_cut *cut);

/* What helps offline if the file of a module is missing.  */
#define CLI_CUTS_REMEDY "--symbols PATH adds files"

/* In cut_notes.c: print a note for each of the worst modules, which begins with prefix, and one for
 * the others.  remedy helps if a file was not found: a phrase, or "".  */
void cli_cuts_print(const struct cli_cuts *cuts, const char *prefix, const char *remedy);

#endif /* CLI_CUTS_H */
