/* reports.h - what the files of libstore/reports share.
 *
 *   reports.c         the list, checks, the query's rows
 *   report_filters.c  filters as SQL, samples one by one
 *   report_stacks.c   top, tree, callers, callees
 *   report_heap.c     heap
 *   report_sched.c    threads, cpu
 *   report_events.c   slices, timeline, damage
 *
 * A report is a row of a table.  Its file has the query; the rest reads only the row.  */
#ifndef STORE_REPORTS_REPORTS_H
#define STORE_REPORTS_REPORTS_H

#include <fxt/store_report.h>
#include "base/text.h"
#include "libstore/store_internal.h"

struct report_query;

/* ---- Descriptions ---- */

/* Beside STORE_HAS_...: of the query.  */
enum {
    REPORT_HAS_TYPE = 1 << 16,          /* a sample type, so there are samples with stacks */
    REPORT_HAS_HEAP_PROFILES = 1 << 17, /* an imported profile of allocations */
    REPORT_COUNTS_SAMPLES = 1 << 18,    /* its sample type counts CPU samples */
};

/* Stores that have none of `unless`, and any of `has` (0: whatever they have), lack the data of the
 * report.  */
struct report_lack {
    unsigned unless, has;
    struct store_report_lack lack;
};

/* What rows stand for.  */
struct report_by {
    const struct store_report_column *columns; /* end with name NULL */
    void (*write)(const struct report_query *query, struct base_text *sql);
    const struct report_lack *lacks; /* the first that applies counts; end with what NULL */
    const char *expression;          /* SQL of what rows stand for, if write() asks for it */
    bool is_thread;                  /* samples without a thread do not count */
    bool is_function;                /* functions, not files or modules */
    bool has_lines;                  /* lines of functions */
    bool has_cpus;                   /* CPUs, not threads or processes */
};

struct report {
    struct store_report_about about;
    const struct report_by *by; /* in the order of about.by */
    bool needs_type;            /* samples of the sample type are counted */
};

extern const struct report report_top, report_tree, report_callers, report_callees, report_heap,
    report_threads, report_cpu, report_slices, report_timeline, report_damage;

/* ---- One query ---- */

struct report_query {
    struct store *store;
    const struct report *report;
    const struct report_by *by;
    const char *by_word; /* NULL: it has no choice */
    struct store_report_request request;
    struct store_filter filter;
    struct store_span span;
    struct store_report_bins bins;
    struct store_sample_type type; /* type NULL: none is needed, or the store is empty */
    bool counts;                   /* only counts of it are known */
    const char *missing; /* a property that filters need and no sample has, "CPU"; or NULL */
    bool plain;          /* write SQL that needs none of our functions, if there is such */
};

/* The bits of wanted that the store, or the query, has.  */
enum store_status report_has(const struct report_query *query, unsigned wanted, unsigned *found,
                             struct store_error *error);

/* Whether the sample type counts CPU samples, like the column "samples".  */
bool report_counts_samples(const struct report_query *query);

/* The end of the time that is looked at.  */
int64_t report_limit_ts(const struct report_query *query);

/* ---- Pieces of SQL (report_filters.c) ---- */

/* 'text', with quotes doubled.  */
void report_add_literal(struct base_text *sql, const char *text, size_t length);
void report_add_string(struct base_text *sql, const char *text);

/* " WHERE type = ... AND focus = ...": the arguments of our table functions.  per may be NULL.  */
void report_add_arguments(const struct report_query *query, const char *per, struct base_text *sql);

/* " AND ..." for samples s of threads th of processes p, for those filters (STORE_FILTER_...) whose
 * property they have; their time is the expression ts.  */
void report_add_conditions(const struct report_query *query, struct base_text *sql,
                           unsigned filters, const char *ts);

/* " AND expression IN (1, 2)", or ('a', 'b') where items are names; nothing if list is NULL.  */
void report_add_in(struct base_text *sql, const char *expression, const char *list, bool names);

/* " LIMIT n" unless all rows are wanted.  */
void report_add_limit(const struct report_query *query, struct base_text *sql);

/* The comment that plain SQL begins with if it needs the SQL functions.  */
void report_add_needs(const struct report_query *query, struct base_text *sql, bool needs);

/* Whether a filter needs samples one by one; whether one needs our functions.  */
bool report_needs_samples(const struct report_query *query);
bool report_needs_functions(const struct report_query *query);

/* " AND s.sample_type_id = 1": the CPU samples s of the sample type; nothing if it counts all of
 * them.  */
void report_add_type(const struct report_query *query, struct base_text *sql);

/* "NULL, 'walk'": hide and show_from as arguments of leaf().  */
void report_add_shape(const struct report_query *query, struct base_text *sql);

/* The query of a common table expression: samples of the sample type one by one, as callsite_id,
 * owner (threads: thread.id, else process.id), n, value.  */
void report_add_samples(const struct report_query *query, struct base_text *sql, bool threads);

#endif /* STORE_REPORTS_REPORTS_H */
