/* dump.h - the ways fxtdump shows a trace.  */
#ifndef DUMP_H
#define DUMP_H

#include "cmd/cli/cli.h"
#include "libfxt/fxt.h"

/* One record as one JSON object, keys as docs/fxtdump.md lists them (json.c).  */
void dump_json(struct cli_output *output, const struct fxt_record *record);

/* One record as one line for people (text.c).  */
void dump_text(struct cli_output *output, const struct fxt_record *record);

/* What --stats adds up.  */
struct dump_stats {
    uint64_t records[FXT_RECORD_KINDS];
    struct cli_numbers providers; /* ids, in the order in which they came */
    uint32_t last_provider;
    bool has_time;
    int64_t first_ns;
    int64_t last_ns;
};

void dump_stats_add(struct dump_stats *stats, const struct fxt_record *record);
void dump_stats_json(struct cli_output *output, const struct dump_stats *stats, uint64_t bytes,
                     const struct fxt_damage *damage);
void dump_stats_text(struct cli_output *output, const struct dump_stats *stats, uint64_t bytes,
                     const struct fxt_damage *damage);

/* Names both forms share; NULL where there is none.  */
const char *dump_state_name(unsigned state);
const char *dump_scope_name(uint64_t scope);

#endif /* DUMP_H */
