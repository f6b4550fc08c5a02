/* compare.h - detect regressions: statistics over the runs of two builds, numbers only.
 *
 * libcompare has three headers, each based on the one before:
 *
 *   <fxt/compare.h>         statistics: input are rows of numbers, output is which of them changed
 *   <fxt/compare_set.h>     input: functions and stacks with their costs in each run
 *   <fxt/compare_report.h>  reports: verdict, budgets, suppressions, environments
 *
 * docs/comparison.md explains the method with its formulas and sources; "section N" refers to a
 * section of that document.
 *
 * The run is the unit of replication: samples within a run share its luck (frequency, page
 * placement, neighbours) and are not independent.  All tests therefore use whole runs.
 *
 *     struct compare_input input = { .base_runs = 5, .new_runs = 5, .cost = ..., ... };
 *     struct compare_result *comparison;
 *
 *     compare_runs(&input, NULL, &comparison, &error);
 *     if (comparison->verdict == COMPARE_FAIL)
 *         for (i = 0; i < comparison->function_count; i++)
 *             print(&comparison->functions[i]);
 *     compare_result_free(comparison);
 *
 * All results are deterministic: resampling uses a generator with a fixed seed, sums have a fixed
 * order.  */
#ifndef FXT_COMPARE_H
#define FXT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COMPARE_API __attribute__((visibility("default")))

/* ---- Status and errors ---- */

/* Values are part of the interface and are never reused.  */
enum compare_status {
    COMPARE_OK = 0,
    COMPARE_NO_MEMORY = 1, /* an allocation failed */
    COMPARE_INVALID = 2,   /* an argument violates the contract; the message names it */
    COMPARE_UNLIKE = 3,    /* the runs measure different things, so they cannot be compared */
    COMPARE_MALFORMED = 4, /* a baseline, budget or suppression file has a wrong line */
    COMPARE_LIMIT = 5,     /* more than a file or an id can hold */
};

/* The caller owns the struct; a function that takes one accepts NULL.  It is written on every
 * status but COMPARE_OK.  */
struct compare_error {
    enum compare_status status;
    char message[1000]; /* a phrase: no newline, no final dot */
};

/* ---- Input ---- */

enum {
    /* If a side has fewer runs, a gate cannot fail: with 4 and 4 runs the smallest two-sided p of
     * an exact permutation test is 2/70.  */
    COMPARE_MIN_RUNS = 4,
    COMPARE_MAX_RUNS = 1000, /* of both sides together */
};

/* Which functions cost something together; "moved" depends on such sums (section 3.5).  */
enum compare_sum {
    COMPARE_SUM_CALLERS = 0, /* the direct callers of the function, without itself */
    COMPARE_SUM_CALLEES = 1, /* the function and those that it calls directly */
    COMPARE_SUM_GROUP = 2,   /* the functions of its group */
    /* The own costs, without callees, of the function, its direct callers and direct callees.  */
    COMPARE_SUM_NEIGHBOURS = 3,
};

/* Runs are numbered 0..base_runs - 1, then base_runs..base_runs + new_runs - 1.  A row has one
 * number for each run, in that order.  All numbers must be finite and not negative.  */
struct compare_input {
    size_t base_runs; /* at least 1 */
    size_t new_runs;  /* at least 1 */

    const double *cost;    /* a row: total cost of each run (CPU nanoseconds, bytes), above 0 */
    const double *samples; /* a row: number of samples of that estimate, above 0 */

    size_t function_count;
    /* function_count rows, one after another: the cost of the function alone, and the cost with its
     * callees.  The latter must be at least the former; if it exceeds the cost of the run, it is
     * reduced to that.  */
    const double *self;
    const double *total;
    /* The group of each function, for "moved": functions of one source file have the same number,
     * which is below function_count or COMPARE_NO_GROUP.  NULL: unknown.  */
    const uint32_t *group;
    /* Fill in a row with what functions cost together, with their callees, except for
     * COMPARE_SUM_NEIGHBOURS: the cost of all stacks that contain any of them, each stack counted
     * once.  Returns false if there are none.  NULL: unknown.  */
    bool (*sum)(void *context, enum compare_sum which, size_t function, double *row);
    /* Fill in a row with what the function costs with its callees, without the stacks in which it
     * calls, directly or not, one of the functions for which moved is set (function_count of them).
     * Returns false if it never calls one.  NULL: unknown.  */
    bool (*rest)(void *context, size_t function, const bool *moved, double *row);
    void *context;
};

#define COMPARE_NO_GROUP UINT32_MAX

/* Which costs of a function count in a report.  */
enum compare_metric {
    COMPARE_METRIC_BOTH = 0,
    COMPARE_METRIC_SELF = 1,  /* the cost of the function alone */
    COMPARE_METRIC_TOTAL = 2, /* with its callees */
};

/* Tests of other comparisons in the same report: of other benchmarks of one change.  Both rank
 * their tests together, so that the false discovery rate is that of the whole report.  Begin with
 * zeros; see compare_others_add().  */
struct compare_others {
    struct compare_other {
        double p; /* over its weight */
        bool grew;
        bool of_total; /* else of a function */
    } * tests;
    size_t count, capacity;
};

struct compare_options {
    size_t size; /* sizeof(struct compare_options) */
    double q;    /* false discovery rate over functions, and level of the total's test: 0.05 */
    /* Functions whose share is smaller, both of all samples and in the mean of both sides, are not
     * tested: 0.005.  */
    double floor;
    double min_share; /* a smaller change of share is ignored: 0.003 (0.3 points) */
    double min_rel;   /* a smaller relative change of cost is ignored: 0.05 */
    double min_total; /* the same for the total: 0.05 */
    /* PASS requires that a function of the share need_share, 0.05 (floor, if that is larger), would
     * have been found with 80 % probability if its cost had grown by need_change, 0.25, whatever
     * min_share and min_rel ignore, and that a total would have been that grew by as much
     * (min_total, if that is larger).  If need_share is 0, nothing is required of functions.  */
    double need_share;
    double need_change;
    /* Of reports; compare_runs() ignores them.  */
    enum compare_metric metric;
    bool same_build; /* both sides may be runs of one build, of which the input or options differ */
    const struct compare_others *others; /* borrowed during compare_runs() only; NULL: none */
};

/* Set the defaults, which are the values above.  */
COMPARE_API void compare_options_init(struct compare_options *options);

/* ---- Results ---- */

enum compare_verdict {
    COMPARE_PASS = 0,
    COMPARE_FAIL = 1,
    COMPARE_INCONCLUSIVE = 2,
};

enum compare_reason {
    COMPARE_REASON_NONE = 0,            /* pass */
    COMPARE_REASON_TOTAL = 1,           /* fail: the total regressed */
    COMPARE_REASON_FUNCTIONS = 2,       /* fail: functions regressed, the total not significantly */
    COMPARE_REASON_TOO_FEW_RUNS = 3,    /* inconclusive: fewer than COMPARE_MIN_RUNS */
    COMPARE_REASON_TOO_NOISY = 4,       /* inconclusive: a total of need_change goes undetected */
    COMPARE_REASON_NOTHING_TO_TEST = 5, /* inconclusive: no function reaches the floor */
    COMPARE_REASON_BLIND = 6, /* inconclusive: a function of need_share that grows by need_change */
    /* inconclusive: functions grew beside the others, or the others decreased; the total is too
     * noisy to show which */
    COMPARE_REASON_UNDECIDED = 7,
};

/* With what growth of shares is compared (section 3.4).  */
enum compare_reference_kind {
    COMPARE_REFERENCE_NONE = 0,      /* with the shares of the base */
    COMPARE_REFERENCE_FUNCTIONS = 1, /* with the functions whose cost may be unchanged */
    COMPARE_REFERENCE_TOTAL = 2,     /* with the total: the cost of a function must grow */
};

/* Level 1 (section 2): the runs' total cost.  */
struct compare_total_change {
    double base;     /* median of the base runs */
    double new_cost; /* median of the new runs */
    double shift;    /* Hodges-Lehmann: median of all differences new - base */
    double relative; /* shift / base; 0.02: the cost is 2 % higher */
    double low;      /* 95 % interval of relative, bootstrapped over runs; */
    double high;     /* low = high = relative with one run a side */
    double p;        /* two-sided permutation test of ranks; 1 with one run a side */
    double q;        /* p, or Benjamini-Hochberg over this total and options.others */
    bool exact;      /* all rearrangements were evaluated, not a sample of them */
    /* Standard deviation from run to run, relative to base: of each side by the median distance of
     * two of its runs, so that an odd run does not count, and of both as their difference has it;
     * at least what counting samples makes of it.  */
    double noise;
    /* Standard error of the logarithm of new_cost / base, from the noise of each side relative to
     * its own cost; infinite with one run a side.  */
    double ratio_error;
    /* The smallest relative change for which a test with these runs has p <= q with 80 %
     * probability; infinite with one run a side, and if ranks of so few runs have no such p.  */
    double detectable;
    /* Number of runs on each side with which a change of min_total would be detected with 80 %
     * probability; 0: more than COMPARE_MAX_RUNS / 2, or the noise is unknown.  */
    size_t runs_wanted;
};

enum compare_flag {
    COMPARE_UNCHANGED = 0, /* not tested, or no change detected */
    COMPARE_REGRESSED = 1, /* detected */
    COMPARE_IMPROVED = 2,  /* detected */
    COMPARE_MOVED = 3,     /* regressed, but not the total of its file or its callers: no failure */
};

/* Level 2 (section 3): one function's own cost, or its cost with callees.  */
struct compare_change {
    bool tested;       /* its share reaches the floor, and a side has two runs */
    double base_share; /* of all samples of the base runs, 0..1 */
    double new_share;
    double base_cost; /* mean of the base runs */
    double new_cost;
    double relative;   /* (new - base) / base in cost; infinite if base is 0 */
    double dispersion; /* variance between runs over that of samples alone, shrunk; at least 1 */
    double p;          /* two-sided; 1 if not tested */
    double weight;     /* of the test among all, by its share; 1 on average, 0 if not tested */
    double q;          /* Benjamini-Hochberg of p / weight over both families, growth and decrease
                        * apart */
    enum compare_flag flag;
};

struct compare_function_change {
    struct compare_change self;
    struct compare_change total;
};

struct compare_result {
    enum compare_verdict verdict;
    enum compare_reason reason;
    struct compare_total_change total;
    struct compare_function_change *functions; /* in the order of the input */
    size_t function_count;
    size_t test_count;      /* functions and families tested */
    size_t all_test_count;  /* the same, with options.others */
    double mean_weight;     /* of all tests, before weights were made 1 on average */
    size_t regressed_count; /* functions with a flag REGRESSED in either family */
    size_t moved_count;
    size_t improved_count;
    /* Dispersion as a function of size (section 3.2): 1 + trend * samples * share * (1 - share). */
    double trend;
    double degrees_of_freedom; /* of the functions' tests */
    /* The most that shares of functions grew by although their costs did not (section 3.4); at
     * least 1.  A share that grew must have done so beyond it.  */
    double scale;
    enum compare_reference_kind reference; /* where scale is from */
    /* Functions that would have regressed beside the others, but so many that the others may have
     * decreased instead, and neither their cost nor the total shows which.  */
    size_t undecided_count;
    double t_95;            /* half width of their 95 % intervals in standard errors */
    double mean_samples[2]; /* of a run of each side */
    size_t runs[2];
    double total_level; /* of the total's test: q, shared with those of options.others */
    struct compare_options options; /* of the comparison; without others */
    /* A change of min_total would not have been detected with 80 % probability: if the verdict is
     * PASS, it rests on the functions, whose shares do not have the noise of runs.  */
    bool total_is_blind;
    /* Why the verdict is not PASS even if nothing regressed: TOO_NOISY, NOTHING_TO_TEST, UNDECIDED,
     * BLIND, or NONE.  */
    enum compare_reason not_pass;
    /* If it is TOO_NOISY or BLIND: with which there could be a PASS.  Either is enough; 0: it would
     * not be, whatever the number.  */
    size_t runs_needed;    /* on each side, with as many samples a run */
    double samples_needed; /* in each run, with as many runs */
};

/* Compare the runs.  options may be NULL.  The caller owns the result and must release it with
 * compare_result_free().  Returns COMPARE_OK, COMPARE_INVALID (an argument violates the contract
 * above; the message names it) or COMPARE_NO_MEMORY.  */
COMPARE_API enum compare_status compare_runs(const struct compare_input *input,
                                             const struct compare_options *options,
                                             struct compare_result **out,
                                             struct compare_error *error);
COMPARE_API void compare_result_free(struct compare_result *comparison); /* accepts NULL */

/* Add the tests of a comparison, which was made without options.others.  The caller must release
 * *others, also on failure.  Returns COMPARE_OK or COMPARE_NO_MEMORY.  */
COMPARE_API enum compare_status compare_others_add(struct compare_others *others,
                                                   const struct compare_result *comparison,
                                                   struct compare_error *error);
COMPARE_API void compare_others_release(struct compare_others *others);

/* Return the smallest relative growth of the own cost of a function with the given share of the
 * base, above 0 and below 1, that these runs would have flagged with 80 % probability: with the
 * test, min_rel, min_share and the noise of the total (section 5).  Infinite if no growth would
 * have been, as with one run a side or a share below the floor.  */
COMPARE_API double compare_result_detectable(const struct compare_result *comparison, double share);

/* The same for the total, with min_total.  */
COMPARE_API double compare_result_detectable_total(const struct compare_result *comparison);

/* Compute the 95 % limits of the observed change of share, new - base, with the dispersion of
 * change.  The function must have change->tested.  Infinite in both directions with one run a
 * side.  */
COMPARE_API void compare_result_interval(const struct compare_result *comparison,
                                         const struct compare_change *change, double *low,
                                         double *high);

/* ---- Looks: comparing while runs are added (section 5) ---- */

/* Runs are added to both sides until a comparison decides, at most `most` a side.  Looks at 5, 8,
 * 12, 18, 27 and 40 runs a side, for most = 40, share q, so that all looks together fail no more
 * often than one comparison does:
 *
 *     while (!decided && (runs = compare_next_look(runs, most)) != 0) {
 *         options.q = compare_look_level(q, looks++, most, false);
 *         verdict = verdict of compare_runs(of so many runs, &options);
 *         options.q = COMPARE_SUSPICION;
 *         suspicion = verdict of compare_runs(of the same runs, &options);
 *         decided = compare_look_decides(verdict, suspicion);
 *     }  */
enum { COMPARE_FIRST_LOOK = 5 };
#define COMPARE_SUSPICION 0.5

/* Return the number of runs a side at the look after the one with the given number; 0 before the
 * first look as the argument, and as the result after the last one.  */
COMPARE_API size_t compare_next_look(size_t runs, size_t most);

/* Return the part of q that a look may use, if as many were done before.  last: no other look
 * follows, whatever was planned, so it uses all of q that is left.  0 if there is nothing left.  */
COMPARE_API double compare_look_level(double q, size_t done, size_t most, bool last);

/* Return whether a look decides: the gate fails at the look's own level; or it passes, and also
 * passes at the level COMPARE_SUSPICION.  A function that looks as if it regressed is not passed
 * before more runs showed that it did not.  */
COMPARE_API bool compare_look_decides(enum compare_verdict verdict, enum compare_verdict suspicion);

#ifdef __cplusplus
}
#endif

#endif /* FXT_COMPARE_H */
