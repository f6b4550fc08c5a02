/* findings.h - a report as a list of messages, for tools that show one at a place in the source:
 * JUnit, SARIF, GitHub's annotations.  */
#ifndef FXTDIFF_FINDINGS_H
#define FXTDIFF_FINDINGS_H

#include "base/arena.h"
#include "cmd/fxtdiff/fxtdiff.h"

enum diff_finding_kind {
    DIFF_FINDING_INCONCLUSIVE = 0, /* why there is no verdict */
    DIFF_FINDING_TOTAL = 1,
    DIFF_FINDING_FUNCTION = 2,
    DIFF_FINDING_MOVED = 3,
    DIFF_FINDING_BUDGET = 4,
    DIFF_FINDING_KINDS = 5,
};

enum diff_finding_level { DIFF_NOTE, DIFF_WARNING, DIFF_ERROR };

struct diff_finding {
    enum diff_finding_kind kind;
    enum diff_finding_level level;
    const char *name;       /* of the function, the budget, or "total" */
    const char *message;    /* one line */
    const char *file;       /* as it is written to others; "" unknown */
    uint32_t line;          /* 0 unknown */
    const char *suppressed; /* the reason not to mind, or NULL */
    uint32_t row;           /* index of the report's rows or rules, for those kinds */
};

struct diff_findings {
    struct diff_finding *items; /* the worst first, as in the report */
    size_t count;
    size_t errors;
    struct base_arena arena; /* of texts that the report does not have */
};

/* The report must live longer.  */
struct diff_findings diff_find(const struct compare_report *report);
void diff_findings_release(struct diff_findings *findings);

/* What each kind is called: "function-regressed"; and what it means, a sentence.  */
const char *diff_finding_id(enum diff_finding_kind kind);
const char *diff_finding_help(enum diff_finding_kind kind);
/* More sentences: how it is decided, and what to do.  */
const char *diff_finding_remedy(enum diff_finding_kind kind);

#endif /* FXTDIFF_FINDINGS_H */
