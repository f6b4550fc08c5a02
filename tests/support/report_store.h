/* report_store.h - a store that has a capture for each report, and reports as text.  */
#ifndef TESTS_REPORT_STORE_H
#define TESTS_REPORT_STORE_H

#include <fxt/store_report.h>

/* Captures by id.  */
enum {
    CAPTURE_CPU = 1,  /* four CPU samples of 10 ns: two threads, two CPUs, three call sites */
    CAPTURE_HEAP,     /* two allocations, one of which was released */
    CAPTURE_TIMELINE, /* slices, context switches, a wait, damage, losses */
    CAPTURE_PROFILE,  /* a profile of delays, without threads */
    CAPTURE_EMPTY,
    CAPTURE_BARE,     /* a CPU sample without a CPU and a weight */
    CAPTURE_ALLOCATED /* a profile of allocations, with threads */
};

/* In memory, with the SQL functions.  The running test fails if it cannot be made.  */
struct store *new_report_store(void);

/* The cells of all rows, "a|b;c|d;".  NULL cells are "-".  out has room for size bytes.  Returns
 * STORE_OK, or the failure; has no assertions inside.  */
enum store_status report_rows_text(struct store *store, const struct store_report_request *request,
                                   char *out, size_t size, struct store_error *error);

#endif /* TESTS_REPORT_STORE_H */
