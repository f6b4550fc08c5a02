/* store_source.h - the store that an operand means: a store, or a trace that becomes one.  */
#ifndef FXTQ_STORE_SOURCE_H
#define FXTQ_STORE_SOURCE_H

#include "cmd/fxtq/fxtq.h"

struct source {
    struct store *store; /* NULL: there is none, and a message said why */
};

/* Open the store at path, with the SQL functions.  A trace is imported into memory and gets the
 * names that this machine has for it; with cache into PATH.fxtq, which is used instead until the
 * trace's file changes (trace_cache.h).  The status may be CLI_DAMAGED although there is a store:
 * what was readable is in it.  */
enum cli_exit source_open(struct source *source, const char *path, bool write, bool cache);

/* The option --memory, for the traces that are opened from now on.  */
#define SOURCE_MEMORY_HELP \
    "memory for the rows of a trace without a store (default 1G); more go to a file in $TMPDIR"
void source_take_memory(const char *value);

/* Where the operand is STORE#CAPTURE, the path of the store, and *capture becomes that of the
 * operand; it ends the program with CLI_USAGE if --capture asked for another.  Otherwise, the
 * operand as it is.  */
const char *source_take_capture(const char *operand, int64_t *capture);

/* The same for several traces, in one store in memory; or for one store, or one trace.  */
enum cli_exit source_open_all(struct source *source, const struct cli_texts *paths);

/* Let SQL, functions and reports read the columns of the store, if it has them.  */
enum cli_exit source_use_columns(struct source *source, const char *path);

/* After the last row: where columns were damaged, say so.  */
void source_note_damage(const struct source *source, const char *path);

/* If the store at path has addresses and no name at all, print the command that looks names up.  */
void source_hint_names(const struct source *source, const char *path);
/* The same for a store that is known to lack names.  */
void source_hint_symbolize(const char *path);

void source_close(struct source *source);

#endif /* FXTQ_STORE_SOURCE_H */
