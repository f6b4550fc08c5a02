/* cli_trace.h - reading traces as the programs do: find out which files of the command line make
 * one, open it, loop, and say in the end what was wrong with it.
 *
 *     struct cli_traces traces;
 *     enum cli_exit status = CLI_OK;
 *     cli_traces_find(&traces, &operands, &options);
 *     for (size_t i = 0; i < traces.count; i++) {
 *         const struct fxt_record *record;
 *         struct cli_trace trace;
 *         status = cli_worse(status, cli_trace_open_files(&trace, &traces.items[i], &options));
 *         while (cli_trace_next(&trace, &record))
 *             visit(record);
 *         status = cli_worse(status, cli_trace_close(&trace, strict));
 *     }
 *     cli_traces_release(&traces);
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include <fxt/fxt.h>
#include "cmd/cli/cli.h"
#include "cmd/cli/region_modules.h"
#include "cmd/cli/symbol_options.h"

/* ---- Options ---- */

/* What the options below said.  */
struct cli_reading {
    struct cli_texts modules; /* --modules: borrowed texts, owned list */
    bool arm64;               /* --arch */
    bool strict, force;
};

/* Groups of options (cli.h), and what takes them.  */
extern const struct cli_option cli_modules_options[]; /* --modules */
extern const struct cli_option cli_arch_options[];    /* --arch */
extern const struct cli_option cli_strict_options[];  /* --strict, --force */

/* Take the option that the parser stands at, one of these or --no-limit (cli_bounds.h).  False: key
 * is none of them.  */
bool cli_reading_take(struct cli_reading *reading, int key, const struct cli_parser *parser);

/* ---- Settings of the reading functions ---- */

struct cli_trace_options {
    const struct fxt_reader_options *reader; /* may be NULL */
    /* Wait at the end of the file for more, until SIGINT or SIGTERM, or until the file is renamed,
     * deleted or cut, which is said.  Half a record is damage then, but not after a signal.  The
     * second signal of a kind kills.  For one trace; a directory cannot be followed.  */
    bool follow;
    /* Following: called before it waits, so that what was read can be seen.  May be NULL.  */
    void (*idle)(void *context);
    void *idle_context;
    /* Files of symbolizer markup that say what the addresses of regions mean (region_modules.h),
     * beside those that lie in a directory with them.  May be NULL; borrowed.  */
    const struct cli_texts *modules;
    /* Not NULL: the bytes of the trace's only file come from here, and it is not opened.  */
    fxt_read_fn read;
    void *read_context;
    /* Where the objects of perf.data files are found; NULL: where they were, and in the usual
     * places.  Borrowed.  */
    const struct cli_symbols *symbols;
};

/* ---- Which files make a trace ---- */

/* The files of one trace: one of any kind, or the regions of a session (fxt.h).  */
struct cli_trace_files {
    char *label;  /* for messages: the path, the directory, or "PATH and 3 more" */
    char **paths; /* "-" is standard input */
    size_t count;
    bool regions; /* cpus holds as many numbers */
    uint32_t *cpus;
    char **modules; /* of regions: files of markup, which are read first */
    size_t module_count;
};

struct cli_traces {
    struct cli_trace_files *items;
    size_t count;
};

/* Sort operands into traces.  A directory stands for the files in it (not hidden ones, nor
 * directories), in the order of their names, numbers by value.  Region files that follow each other
 * make one trace together, with those of the same name but for numbers that hold nothing or are
 * damaged from the first byte on.  Their CPUs are the numbers in their names - behind "cpu", or
 * else the last - if all have one and no two the same; else they are counted from 0.  Anything else
 * is a trace by itself, also what cannot be opened: cli_trace_open_files() will say so.  Files
 * called modules-PID.markup belong to the regions beside them, or, when named, to all.  Following,
 * or with trust_start, there are no regions.  options may be NULL.  */
void cli_traces_find(struct cli_traces *traces, const struct cli_texts *operands,
                     const struct cli_trace_options *options);
void cli_traces_release(struct cli_traces *traces);

/* ---- Reading one ---- */

struct cli_region_file;
struct cli_perf;
struct ptlist;

struct cli_trace {
    const char *path; /* for messages: "standard input", or the label of the files */
    const struct cli_trace_files *files; /* NULL after cli_trace_open() */
    int fd;                              /* -1 for regions */
    const char *opened;                  /* the path that fd is of; borrowed */
    struct fxt_input *input;
    struct fxt_reader *reader;
    enum fxt_status status; /* how reading ended */
    struct fxt_error error;
    struct cli_progress progress;
    uint64_t records;       /* delivered or counted */
    uint64_t next_progress; /* how many there are when progress is shown again */
    bool shows_damage;      /* the caller shows it: reports only tell what stopped the reading */
    bool from_modules;      /* the record delivered last came from a file of markup */

    /* For the functions below only.  */
    struct cli_region_file *region_files;
    struct fxt_region *regions;
    struct cli_follow *follow;
    struct cli_perf *perf;      /* NULL: the file is no perf.data */
    struct ptlist *ptlist;      /* NULL: the file is no list of packets */
    struct cli_modules modules; /* being read */
    bool modules_open;
    size_t next_modules; /* in files->modules */
    enum cli_exit modules_status;
};

/* CLI_OK, or CLI_ENVIRONMENT with a message.  files is borrowed until the close; options may be
 * NULL.  */
enum cli_exit cli_trace_open_files(struct cli_trace *trace, const struct cli_trace_files *files,
                                   const struct cli_trace_options *options);

/* One path that is no directory; "-" is stdin.  options may be NULL.  */
enum cli_exit cli_trace_open(struct cli_trace *trace, const char *path,
                             const struct fxt_reader_options *options);

/* The next record, or false at the end, whatever ended it.  */
bool cli_trace_next(struct cli_trace *trace, const struct fxt_record **record);

/* fxt_reader_tally() between two calls of cli_trace_next().  */
size_t cli_trace_tally(struct cli_trace *trace, struct fxt_tally *tally);

/* Where the byte at an offset of the trace stands: NULL for the trace's only file, whose own
 * uncompressed bytes the trace is; or a path, and the offset in that file's uncompressed bytes in
 * *file_offset.  "" if it stands nowhere: a record that says whose the following records are.  */
const char *cli_trace_locate(const struct cli_trace *trace, uint64_t offset, uint64_t *file_offset);

/* Say on stderr what was wrong: one sentence for damage, one for notices, and one for each damaged
 * file of several.  CLI_OK; CLI_DAMAGED for bytes that were not understood, with strict for any
 * notice too; CLI_ENVIRONMENT when reading failed.  */
enum cli_exit cli_trace_report(const struct cli_trace *trace, bool strict);

/* After the last record: the input is no trace, or too little of one for a record, and
 * cli_trace_close() says so.  */
bool cli_trace_is_none(const struct cli_trace *trace);

/* Report and close.  Also for a trace that could not be opened.  */
enum cli_exit cli_trace_close(struct cli_trace *trace, bool strict);

#endif /* CLI_TRACE_H */
