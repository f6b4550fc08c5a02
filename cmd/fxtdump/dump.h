/* dump.h - the ways fxtdump shows a trace.  */
#ifndef DUMP_H
#define DUMP_H

#include <fxt/fxt.h>
#include "base/map.h"
#include "cmd/cli/cli.h"

/* ---- Records, and what is none (dump_json.c, dump_text.c) ---- */

/* Where lines for people go, and how.  */
struct dump_form {
    struct cli_output *output;
    bool colour;
};

/* One record as one JSON object, keys as docs/fxtdump.md lists them.  bytes, which may be NULL, are
 * those of the record: --hex.  packets are those that end in a blob of Perfetto's.  */
void dump_json(struct cli_output *output, const struct fxt_record *record,
               const struct fxt_bytes *bytes, const struct fxt_packets *packets);

/* One record as one line for people, and its bytes below it.  */
void dump_text(const struct dump_form *form, const struct fxt_record *record,
               const struct fxt_bytes *bytes, const struct fxt_packets *packets);

/* Bytes in no record, where they stand.  Of zero words only the size is looked at.  */
void dump_skipped_json(struct cli_output *output, const struct fxt_skipped *skipped);
void dump_skipped_text(const struct dump_form *form, const struct fxt_skipped *skipped);

/* ---- Summaries (dump_json.c, dump_stats.c) ---- */

/* What --stats adds up.  */
struct dump_stats {
    uint64_t records[FXT_RECORD_KINDS];
    struct cli_numbers providers; /* ids, in the order in which they came */
    struct base_map known;        /* the same, to find one among them */
    uint32_t last_provider;
    bool has_time;
    int64_t first_ns;
    int64_t last_ns;
};

void dump_stats_add(struct dump_stats *stats, const struct fxt_record *record);
/* Records of one provider, at least one.  */
void dump_stats_add_tally(struct dump_stats *stats, uint32_t provider,
                          const struct fxt_tally *tally);
void dump_stats_release(struct dump_stats *stats);

/* path is NULL where there is one trace only.  bytes is the length of the trace.  */
void dump_stats_json(struct cli_output *output, const char *path, const struct dump_stats *stats,
                     uint64_t bytes, const struct fxt_damage *damage);
void dump_stats_text(struct cli_output *output, const char *path, const struct dump_stats *stats,
                     uint64_t bytes, const struct fxt_damage *damage);

/* --verify: damage alone.  As text nothing at all for a trace without any.  */
void dump_damage_json(struct cli_output *output, const char *path, uint64_t bytes,
                      const struct fxt_damage *damage);
void dump_damage_text(struct cli_output *output, const char *path, uint64_t bytes,
                      const struct fxt_damage *damage);

/* ---- perf.data (perf.c) ---- */

struct dump_perf_options {
    bool json, stats, verify, hex;
    bool several; /* it is not the only file: totals say which one they are of */
    bool has_offset;
    uint64_t offset;
    const struct cli_select *select; /* --pid, --tid and --time */
};

/* Show its records in the order of time, and say what is damaged.  */
enum cli_exit dump_perf(const char *path, const struct dump_perf_options *options,
                        const struct dump_form *form);

/* ---- Shared by dump_text.c, dump_stats.c and perf.c ---- */

/* What every line for people begins with.  */
void dump_head(const struct dump_form *form, uint64_t offset, const char *time, const char *thread,
               const char *kind);
/* Bytes below a line.  */
void dump_hex(const struct dump_form *form, uint64_t offset, const uint8_t *bytes, uint64_t length);

void dump_put(struct cli_output *output, const char *text);
/* At most 255 bytes.  */
void dump_print(struct cli_output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The thread of a raw stack.  */
struct dump_thread_state {
    const char *machine;
    uint64_t pc, sp;
};

/* False: its registers are those of no known machine.  */
bool dump_thread_state_read(const struct fxt_stack_sample *sample, struct dump_thread_state *out);

/* Names both forms share; NULL where there is none.  */
const char *dump_state_name(unsigned state);
const char *dump_scope_name(uint64_t scope);

#endif /* DUMP_H */
