/* report.h - questions with a name: fxtq report NAME STORE.
 *
 * A report is one SQL query.  Its rows are what --json prints; on a terminal they are the same with
 * units.  --sql prints a query of the same rows for any SQLite: plain SQL where plain SQL can say
 * it, else with the functions of libfxtsql.so.  */
#ifndef FXTQ_REPORT_H
#define FXTQ_REPORT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>

#include <fxt/store_content.h>
#include "cmd/cli/cli.h"
#include "cmd/fxtq/filters.h"
#include "cmd/fxtq/text.h"

/* What a column holds, and so how it is printed.  */
enum report_kind {
    REPORT_TEXT,     /* cut in the middle where the terminal is narrow */
    REPORT_FUNCTION, /* with --by function and line a short name (profile.h); else a text */
    REPORT_LABEL,    /* never cut */
    REPORT_COUNT,    /* 1,234 */
    REPORT_NS,       /* 1.50s */
    REPORT_BYTES,    /* 4.00 MiB */
    REPORT_VALUE,    /* of the sample type: one of the three above */
    REPORT_PERCENT,  /* 12.50% */
    REPORT_TIME,     /* +1.500s since the capture's start */
    REPORT_NUMBER,   /* a pid, a line, a CPU, an offset: no commas */
    REPORT_DEPTH,    /* in JSON only, else it indents the next text */
    REPORT_HIDDEN,   /* in JSON only */
};

struct report_column {
    const char *name; /* "self_percent" is "self%" where it is not JSON */
    enum report_kind kind;
    unsigned rank; /* struct format_column: the highest goes first where the terminal is narrow */
};

/* What was asked.  */
struct request {
    sqlite3 *db;
    const char *function; /* of callers and callees */
    const char *by;
    const char *wanted_type; /* as it was asked for: "cpu", "cpu/nanoseconds"; NULL: it was not */
    struct store_sample_type type; /* id 0: of reports that have none, or an empty store */
    bool counts;                   /* nothing but counts is known of it */
    const char *untold; /* what filters ask for and no sample of it tells, "CPU"; or NULL */
    struct filters filters;
    uint64_t rows; /* 0: all */
    double least;  /* percent that a line of a tree must have */
    size_t bins;   /* of the timeline */
    bool plain;    /* make SQL that needs none of our functions, if there is such */
};

/* A filter that nothing could pass, since what the report is made of does not tell it.  */
struct report_refusal {
    unsigned filters; /* FILTER_... */
    const char *by;   /* only then; NULL: always */
    /* Where a store has what is the first of these (STORE_HAS_...), and none of the second; both 0:
     * in all stores.  */
    unsigned has, has_none_of;
    const char *why; /* "allocations have no thread" */
};

struct report {
    const char *name;
    const char *summary;
    const char *const *by; /* what --by takes, the default first; NULL: nothing */
    /* Every report takes every filter, but for these, which end with filters 0; NULL: none.  What
     * samples of a type do not tell is for the table functions to say.  */
    const struct report_refusal *refusals;
    bool has_type; /* --sample-type */
    bool is_tree;  /* --min; the first row is the root */
    bool has_bins; /* --bins */
    bool takes_function;
    uint64_t rows; /* default of --rows */
    /* Append the query.  Returns its columns, which end with name NULL.  */
    const struct report_column *(*write)(const struct request *request, struct base_text *sql);
    /* What the report is about and the store has nothing of, "no CPU samples"; NULL: it has.  */
    const char *(*lacks)(const struct request *request);
    /* How rows are shown on a terminal or as text; NULL: as a table.  *shown: how many lines.  */
    enum cli_exit (*show)(const struct request *request, sqlite3_stmt *rows,
                          struct cli_output *output, size_t columns, uint64_t *shown);
};

extern const struct report report_top, report_tree, report_callers, report_callees, report_heap,
    report_threads, report_cpu, report_slices, report_timeline, report_damage;

/* What each report shows, its --by and its filters, for 'fxtq help reports'; from malloc().
 * (report.c)  */
char *report_topic(void);

/* ---- Pieces of SQL (sql.c) ---- */

/* " WHERE type = ... AND focus = ...": the arguments of our table functions.  */
void request_add_arguments(const struct request *request, struct base_text *sql);

/* " AND ..." for samples s of threads th of processes p, where wanted has the bits of what they
 * know; time is that of the expression ts.  */
void request_add_conditions(const struct request *request, struct base_text *sql, unsigned wanted,
                            const char *ts);

/* " LIMIT n" unless all rows are wanted.  */
void request_add_limit(const struct request *request, struct base_text *sql);

/* Whether a filter needs samples one by one; whether one needs our functions.  */
bool request_needs_samples(const struct request *request);
bool request_needs_functions(const struct request *request);

/* "NULL, 'walk'": --hide and --show-from as arguments of leaf().  */
void request_add_shape(const struct request *request, struct base_text *sql);

/* The query of a common table expression: samples of the sample type one by one, as callsite_id,
 * owner (threads: thread.id, else process.id), n, value.  */
void request_add_samples(const struct request *request, struct base_text *sql, bool threads);

/* Whether what is looked at has any of content (STORE_HAS_...).  True when that cannot be read,
 * which shows again when the report runs.  */
bool request_has(const struct request *request, unsigned content);

/* ---- Numbers for people (print.c) ---- */

void print_duration(struct base_text *text, double ns);
void print_bytes(struct base_text *text, double bytes);

#endif /* FXTQ_REPORT_H */
