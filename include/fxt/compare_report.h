/* compare_report.h - a comparison in words: a verdict with its reasons, findings in the order of
 * their weight, and the rules that change the verdict.
 *
 *     compare_report_open(set, NULL, &report, &error);
 *     compare_apply_budgets(report, "budgets.txt", bytes, length, &error);
 *     compare_report_judge(report, &error);
 *     printf("%s: %s\n", compare_verdict_name(report->verdict), report->reasons[0]);
 *     compare_report_close(report);  */
#ifndef FXT_COMPARE_REPORT_H
#define FXT_COMPARE_REPORT_H

#include <fxt/compare_set.h>

#ifdef __cplusplus
extern "C" {
#endif

enum compare_state {
    COMPARE_STATE_BOTH = 0,    /* both sides have it, or a side lacks it by chance */
    COMPARE_STATE_NEW = 1,     /* no run of the base has it, though its share is large enough */
    COMPARE_STATE_GONE = 2,    /* no new run has it, likewise */
    COMPARE_STATE_RENAMED = 3, /* another name, the same place */
};

/* A function in a report.  */
struct compare_row {
    uint32_t function; /* of the set */
    enum compare_state state;
    const struct compare_function *names;
    struct compare_change self;
    struct compare_change total;
    double self_interval[2];  /* 95 % limits of the change of share, new - base; 0.01 is a point */
    double total_interval[2]; /* equal to each other if the runs do not say */
    enum compare_flag flag;   /* the worse one of both families, or that of options.metric */
    /* It regressed, but not by itself: at least half of its growth is that of other rows that
     * regressed, which it calls.  Set by compare_report_judge().  */
    bool by_callees;
    /* Why a regressed row does not fail the gate; NULL: it does.  A caller may set it between
     * compare_report_open() and compare_report_judge(); the text is borrowed.  */
    const char *suppressed;
};

/* A budget, and how it ended.  */
struct compare_rule {
    const char *text;   /* as written: "function parse_* self < 5%" */
    const char *result; /* "parse_header: 6.20%" */
    const char *place;  /* "budgets.txt:3" */
    const char *file;   /* the source file of the function; "" unknown */
    uint32_t line;      /* 0 unknown */
    enum compare_outcome {
        COMPARE_RULE_KEPT = 0,
        COMPARE_RULE_BROKEN = 1,
        COMPARE_RULE_UNKNOWN = 2, /* these runs cannot say */
    } outcome;
};

enum compare_stop {
    COMPARE_STOP_DECIDED = 0, /* this look decides */
    COMPARE_STOP_MOST = 1,    /* as many runs as planned */
    COMPARE_STOP_TIME = 2,    /* the time limit */
    COMPARE_STOP_FUTILE = 3,  /* the runs that are left would not change the verdict */
};

/* How a series of looks (<fxt/compare.h>) came to an end.  */
struct compare_series {
    size_t looks; /* so many comparisons, this one included; 0: it is no series */
    size_t most;  /* at most so many runs a side were planned */
    double q;     /* of all looks together; options.q is the part of this one */
    enum compare_stop stop;
};

struct compare_report_memory; /* of the library */

/* Everything in it belongs to the report, except the set.  */
struct compare_report {
    const struct compare_set *set;
    /* For callers with several benchmarks: the name of this one, and the report on the next one.
     * Both are NULL at first, and the library does not follow them.  */
    const char *benchmark;
    struct compare_report *next;
    struct compare_options options;

    /* From here on, as compare_report_judge() leaves it.  */
    enum compare_verdict verdict;
    const char **reasons; /* phrases: why the verdict is what it is, most important first */
    size_t reason_count;
    const char **notes; /* phrases of less weight: environments differ, suppressions expired */
    size_t note_count;
    const char *power; /* one line: what these runs could have found */

    /* NULL if there is nothing to compare with: only one side has runs, or problem says why the
     * runs cannot be compared.  */
    struct compare_result *comparison;
    const char *problem;          /* a phrase; NULL: none */
    const char *total_suppressed; /* why a regressed total does not fail the gate; NULL: it does */
    /* Set by a caller between compare_report_open() and compare_report_judge(), which adds a note
     * about it.  */
    struct compare_series series;
    struct compare_rule *rules; /* in the order of adding */
    size_t rule_count;

    /* Every function.  Findings come first: regressed, moved, improved; then the largest change. */
    struct compare_row *rows;
    size_t row_count;
    size_t regressed_count; /* without moved and suppressed ones, and without callers */
    size_t caller_count;    /* rows with by_callees, without suppressed ones */
    size_t moved_count;
    size_t improved_count;
    size_t suppressed_count;
    size_t new_count, gone_count, renamed_count;

    struct compare_report_memory *memory;
};

/* Compare the runs of a set, which is borrowed until compare_report_close().  options may be NULL.
 * There is no verdict before compare_report_judge().
 *
 * Returns COMPARE_OK, COMPARE_UNLIKE (the runs have different periods or types, or a run was given
 * twice; the message names both), COMPARE_LIMIT (more than COMPARE_MAX_RUNS runs), COMPARE_INVALID
 * (an option) or COMPARE_NO_MEMORY.  Runs that can be read but not compared, as empty ones, are no
 * failure: the verdict is then INCONCLUSIVE.  */
COMPARE_API enum compare_status compare_report_open(const struct compare_set *set,
                                                    const struct compare_options *options,
                                                    struct compare_report **out,
                                                    struct compare_error *error);

/* Decide, count and sort, with all that was applied.  Returns COMPARE_OK or COMPARE_NO_MEMORY, also
 * if memory was short when something was applied.  Call it once.  */
COMPARE_API enum compare_status compare_report_judge(struct compare_report *report,
                                                     struct compare_error *error);
COMPARE_API void compare_report_close(struct compare_report *report); /* accepts NULL */

/* Fill in what the comparison of a row's own cost, or of its cost with callees, compares: its share
 * of the cost of each run of the set, 0 to 1, in the order of runs.  Shares of the new runs are
 * divided by comparison->scale if the row's share grew.  Returns by what they were divided, else 1.
 * metric is COMPARE_METRIC_SELF or COMPARE_METRIC_TOTAL; the report must have a comparison.  */
COMPARE_API double compare_row_shares(const struct compare_report *report,
                                      const struct compare_row *row, enum compare_metric metric,
                                      double *shares);

/* Add a note, which is copied.  */
COMPARE_API void compare_report_add_note(struct compare_report *report, const char *text);

/* Whether the total regressed, suppressed or not.  The report must have a comparison.  */
COMPARE_API bool compare_total_regressed(const struct compare_report *report);

/* ---- Rules that change a verdict ---- */

enum { COMPARE_RULES_BYTES = 1 << 20 }; /* larger files of budgets and suppressions are refused */

/* Hold the new runs (those of the base if there are no others) against limits.  Each budget becomes
 * a rule.  A line is one of:
 *
 *     # a comment
 *     function parse_* self < 5%
 *     function operator new(unsigned long) total < 120ms
 *     total < 2.5s
 *     cpu < 2.5s
 *     heap inuse <= 64MiB
 *
 * In a pattern '*' stands for any characters and '?' for one.  A limit applies to the median of the
 * runs, of a pattern to all its functions together.  A budget on something that these runs do not
 * measure is UNKNOWN, and the verdict is then not PASS.
 *
 * name is for messages.  If report is NULL, the lines are only checked.  Returns COMPARE_OK,
 * COMPARE_MALFORMED ("NAME:LINE: ...") or COMPARE_NO_MEMORY.  */
COMPARE_API enum compare_status compare_apply_budgets(struct compare_report *report,
                                                      const char *name, const void *bytes,
                                                      size_t length, struct compare_error *error);

/* Suppress findings that are known, each for a reason and until a date.  A line is one of:
 *
 *     # a comment
 *     function parse_* until 2026-12-31: rewritten in the next release
 *     total until 2026-12-31: the new allocator, ticket 1234
 *
 * today is a date; suppressions that ended before it become notes.  name and a report of NULL as
 * above.  Returns COMPARE_OK, COMPARE_MALFORMED ("NAME:LINE: ..."), COMPARE_INVALID (today is no
 * date) or COMPARE_NO_MEMORY.  */
COMPARE_API enum compare_status compare_apply_suppressions(struct compare_report *report,
                                                           const char *name, const void *bytes,
                                                           size_t length, const char *today,
                                                           struct compare_error *error);

/* Whether text is a day of the calendar as "2026-12-31".  */
COMPARE_API bool compare_is_date(const char *text);

/* Whether both sides were measured on the same CPU, kernel and architecture, with the same compiler
 * and period.  Returns COMPARE_OK; COMPARE_UNLIKE if they were not, or if one of this is unknown on
 * one side only; or COMPARE_NO_MEMORY.  A difference that is known is a note of every report.  */
COMPARE_API enum compare_status compare_require_environment(struct compare_report *report,
                                                            struct compare_error *error);

/* ---- Words ---- */

enum { COMPARE_NUMBER_BYTES = 32 };

/* Each writes to text and returns it.  */
/* A cost in a unit: "1.250 s", "12.00 MiB", "3,400".  */
COMPARE_API const char *compare_amount(const char *unit, double value,
                                       char text[COMPARE_NUMBER_BYTES]);
/* A relative growth: "5.1 %", "120 %", "a factor of 1,500".  */
COMPARE_API const char *compare_growth(double value, char text[COMPARE_NUMBER_BYTES]);
/* What runs vary by, relative to their cost: "3.1 %", "more than their cost".  */
COMPARE_API const char *compare_variation(double noise, char text[COMPARE_NUMBER_BYTES]);
/* "<0.001", "0.042".  */
COMPARE_API const char *compare_probability(double value, char text[COMPARE_NUMBER_BYTES]);

COMPARE_API const char *compare_verdict_name(enum compare_verdict verdict); /* "PASS", ... */
COMPARE_API const char *compare_state_name(enum compare_state state); /* "", "NEW", "GONE", ... */
COMPARE_API const char *compare_flag_name(enum compare_flag flag);    /* "", "regressed", ... */
COMPARE_API const char *compare_stop_name(enum compare_stop stop);    /* "decided", ... */

#ifdef __cplusplus
}
#endif

#endif /* FXT_COMPARE_REPORT_H */
