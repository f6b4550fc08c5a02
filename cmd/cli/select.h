/* select.h - which records of a trace are wanted: the options --type, --provider, --pid, --tid and
 * --time, the same in every program that has them.
 *
 *     static struct cli_select select;          all zero: everything is wanted
 *     if (cli_select_take(&select, key, &parser))
 *     ...
 *     cli_select_start(&select);                before each trace
 *     if (cli_select_record(&select, record))   every record, in file order
 *         show(record);
 *     cli_select_release(&select);  */
#ifndef CLI_SELECT_H
#define CLI_SELECT_H

#include <fxt/fxt.h>
#include "base/map.h"
#include "cmd/cli/cli.h"

/* A point in time as users give it.  */
struct cli_time {
    bool given;
    bool relative; /* to the first timestamp of the trace; else a time of the trace's own clock */
    int64_t ns;
};

/* "+1.5s" is relative, "1.5s", "-3ms" and "1500000000" are absolute.  Units: ns (also without any),
 * us, ms, s, min, h.  Ends the program with CLI_USAGE for anything else, and for what is finer than
 * a nanosecond or out of range.  */
struct cli_time cli_time(const char *option, const char *text);

/* "STORE#12" is "STORE", for free(), and capture 12.  NULL: the operand has no such end.  */
char *cli_split_capture(const char *operand, int64_t *capture);

struct cli_select {
    uint32_t kinds; /* bits 1 << enum fxt_record_kind; 0: all */
    struct cli_numbers providers, pids, tids;
    struct cli_time from, limit; /* [from, limit) */

    /* What was learned from the trace so far.  */
    bool has_first;
    int64_t first_ns;        /* of the first record that has a time */
    struct base_map threads; /* koids of threads of wanted processes */
};

/* The names of fxt_record_kind_name(), NULL at the end.  */
extern const char *const cli_record_kinds[];

/* A group of options (cli.h).  */
extern const struct cli_option cli_select_options[];

/* Take the option that the parser stands at.  False: key is none of them.  */
bool cli_select_take(struct cli_select *select, int key, const struct cli_parser *parser);

/* "event,log": names of fxt_record_kind_name().  Adds to what was there.  */
void cli_select_type(struct cli_select *select, const char *option, const char *text);
/* "FROM,TO" of cli_time(); one of them may be missing.  */
void cli_select_time(struct cli_select *select, const char *option, const char *text);

/* Whether any of the options was given.  */
bool cli_select_any(const struct cli_select *select);

/* Forget what was learned from the trace before.  */
void cli_select_start(struct cli_select *select);

/* Whether the record is wanted: in every respect that was asked for.  Records without a time, a
 * process or a thread do not match where one is asked for.  Must see all records in file order:
 * +TIME counts from the first timestamp, and scheduling records name threads alone, whose process
 * other records tell (those that come first; at most a million threads are remembered).  */
bool cli_select_record(struct cli_select *select, const struct fxt_record *record);

/* The same, respect by respect; cli_select_learn() must have seen the record before.  */
void cli_select_learn(struct cli_select *select, const struct fxt_record *record);
bool cli_select_has_kind(const struct cli_select *select, enum fxt_record_kind kind);
bool cli_select_has_provider(const struct cli_select *select, const struct fxt_record *record);
bool cli_select_has_task(const struct cli_select *select, const struct fxt_record *record);
bool cli_select_has_time(const struct cli_select *select, const struct fxt_record *record);

/* Free what it owns.  */
void cli_select_release(struct cli_select *select);

#endif /* CLI_SELECT_H */
