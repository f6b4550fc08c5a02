/* store_report.h - reports: questions to a store that have a name, such as "top" or "heap".
 *
 *     struct store_report_request request = { .size = sizeof request, .name = "top", .rows = 10 };
 *     const struct store_report_cell *cells;
 *     struct store_report *report;
 *     enum store_status status = store_report_open(store, &request, &report, NULL, &error);
 *
 *     if (status == STORE_OK) {
 *         while ((status = store_report_next(report, &cells, &error)) == STORE_OK)
 *             print(store_report_columns(report, &count), cells);
 *         store_report_close(report);
 *     }
 *
 * A report is one query; store_report_sql() returns its text.  The connection must have the SQL
 * functions (store_add_functions()).  The store is not trusted.  A store answers one report at a
 * time.  */
#ifndef STORE_REPORT_H
#define STORE_REPORT_H

#include <fxt/store_content.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The reports ---- */

/* Filters that a report does not accept, because its rows do not have the property.  */
struct store_report_refusal {
    unsigned filters; /* STORE_FILTER_...; 0 ends a list */
    const char *by;   /* with this choice only; NULL: always */
    /* In stores that have any of the first (STORE_HAS_...) and none of the second; both 0: in every
     * store.  */
    unsigned has, has_none_of;
    const char *why; /* "allocations have no thread" */
};

struct store_report_about {
    const char *name;
    const char *summary;   /* a phrase */
    const char *const *by; /* what rows can stand for, the default first, then NULL; NULL: one
                            * thing only */
    const struct store_report_refusal *refusals; /* NULL: none */
    const char *nothing; /* what it means if there are no rows; NULL: that no data were found */
    uint64_t rows;       /* a limit for people: the next rows are rarely of interest; 0: none */
    bool has_type;       /* the filter may have a sample_type */
    bool has_function;   /* needs request.function */
    bool has_bins;       /* request.bins applies; the columns are lane, bin, ts, samples */
    bool is_tree;        /* request.least_percent applies; the first row is the root */
    bool has_names;      /* names of functions: symbols make them better */
};

/* The index-th report; NULL after the last one.  */
STORE_API const struct store_report_about *store_report_at(size_t index);

/* The report with this name; NULL: there is none.  */
STORE_API const struct store_report_about *store_report_find(const char *name);

/* ---- Asking ---- */

/* All pointers are borrowed until store_report_close().  */
struct store_report_request {
    size_t size;                       /* sizeof(struct store_report_request) */
    const char *name;                  /* of the report */
    const char *by;                    /* NULL: the first of about->by */
    const char *function;              /* a pattern, as in struct store_filter */
    const struct store_filter *filter; /* NULL: everything */
    uint64_t rows;                     /* at most so many; 0: all */
    double least_percent;              /* leave out parts of trees that cost less */
    size_t bins;                       /* intervals of equal length, at most 1,000,000; 0: 80 */
};

struct store_report;

/* Whether any store could answer the request.  Returns STORE_OK, or STORE_INVALID: there is no such
 * report, it lacks or has no use for a member of the request, or it refuses a filter.  *refused,
 * unless NULL, is then the filters of the refusal, or 0.  */
STORE_API enum store_status store_report_check(const struct store_report_request *request,
                                               unsigned *refused, struct store_error *error);

/* Ask the store.  The caller closes *out.  Returns STORE_OK; STORE_INVALID, as above, also if
 * nothing in this store could pass a filter; STORE_NO_MEMORY, STORE_IO, STORE_BUSY, STORE_CORRUPT
 * or STORE_STOPPED.  */
STORE_API enum store_status store_report_open(struct store *store,
                                              const struct store_report_request *request,
                                              struct store_report **out, unsigned *refused,
                                              struct store_error *error);

/* The query that has the rows of the request, for any SQLite: plain SQL where that is possible,
 * else a comment at its beginning states that it needs libfxtsql.so.  It ends with a semicolon and
 * the end of a line.  *out is for free().  Statuses as above.  */
STORE_API enum store_status store_report_sql(struct store *store,
                                             const struct store_report_request *request, char **out,
                                             unsigned *refused, struct store_error *error);

/* ---- Rows ---- */

/* The meaning of a column's values.  */
enum store_report_kind {
    STORE_REPORT_TEXT,
    STORE_REPORT_FUNCTION, /* the name of a function, which may be shown shorter */
    STORE_REPORT_LABEL,    /* one of a few words */
    STORE_REPORT_COUNT,
    STORE_REPORT_NS,
    STORE_REPORT_BYTES,
    STORE_REPORT_PERCENT,
    STORE_REPORT_TIME,   /* in ns, of the capture's clock */
    STORE_REPORT_NUMBER, /* a pid, a line, a CPU, an offset */
    STORE_REPORT_DEPTH,  /* in a tree, 0 for the root */
    STORE_REPORT_HIDDEN, /* for programs */
    STORE_REPORT_VALUE,  /* used inside the library: one of COUNT, NS and BYTES */
};

struct store_report_column {
    const char *name;
    enum store_report_kind kind;
    unsigned rank; /* where there is little room, columns with the highest rank should be left out
                    * first; 0: never */
};

enum store_report_type {
    STORE_REPORT_NULL,
    STORE_REPORT_INTEGER,
    STORE_REPORT_REAL,
    STORE_REPORT_STRING,
};

struct store_report_cell {
    enum store_report_type type;
    int64_t integer;
    double real;
    const char *text; /* NUL-terminated; "" unless it is a string */
    size_t length;
};

STORE_API const struct store_report_column *store_report_columns(const struct store_report *report,
                                                                 size_t *count);

/* Get the next row: a cell for each column, valid until the next call.  Returns STORE_OK;
 * STORE_END; STORE_INVALID: the SQL functions rejected a pattern; or another status of
 * store_report_open().  */
STORE_API enum store_status store_report_next(struct store_report *report,
                                              const struct store_report_cell **cells,
                                              struct store_error *error);

/* If about->has_bins: bin i is the interval [from_ts + i * bin_ns, from_ts + (i + 1) * bin_ns).  */
struct store_report_bins {
    int64_t start_ts; /* of the selected captures */
    int64_t from_ts;
    int64_t bin_ns; /* at least 1 */
    size_t count;
};
STORE_API const struct store_report_bins *store_report_bins(const struct store_report *report);

/* The sample type that the rows are of, valid until the report is closed: the one that was asked
 * for, else the default.  Its type is NULL if the report is not of samples, or there are none.  */
struct store_sample_type;
STORE_API const struct store_sample_type *store_report_type(const struct store_report *report);

/* The data that a report needs and the store does not have.  */
struct store_report_lack {
    const char *what;       /* "no CPU samples"; NULL: nothing is missing */
    const char *instead;    /* the name of a report on what there is; NULL: none */
    const char *instead_by; /* its by; NULL: any */
};
STORE_API enum store_status store_report_lacks(struct store_report *report,
                                               struct store_report_lack *out,
                                               struct store_error *error);

STORE_API void store_report_close(struct store_report *report); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif /* STORE_REPORT_H */
