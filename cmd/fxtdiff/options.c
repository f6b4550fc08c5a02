/* options.c - the options that several commands share.  */
#include "cmd/fxtdiff/options.h"

#include <stdlib.h>

#include "cmd/fxtdiff/commands.h"
#include "cmd/history/old_store.h"

enum {
    OPTION_SAMPLE_TYPE = 100,
    OPTION_IGNORE_TEMPLATES,
    OPTION_JOBS,
    OPTION_Q,
    OPTION_FLOOR,
    OPTION_MIN_SHARE,
    OPTION_MIN_REL,
    OPTION_MIN_TOTAL,
    OPTION_NEED_SHARE,
    OPTION_NEED_CHANGE,
    OPTION_METRIC,
    OPTION_SAME_BUILD,
    OPTION_ROWS,
    OPTION_BISECT,
    OPTION_QUIET,
};

static const struct cli_option reading_options[] = {
    { OPTION_SAMPLE_TYPE, 0, "sample-type", "TYPE",
      "compare this sample type: cpu, samples, alloc_space, ... (default: one in nanoseconds or "
      "bytes, if the inputs have one)",
      CLI_HINT, cli_sample_types },
    { OPTION_IGNORE_TEMPLATES, 0, "ignore-templates", NULL,
      "treat sort<int> and sort<long> as one function" },
    { OPTION_JOBS, 'j', "jobs", "N",
      "read N inputs in parallel (default: one per CPU, at most 8)" },
    { 0 },
};

static const char *const metrics[] = { "both", "self", "total", NULL }; /* as enum compare_metric */

static const struct cli_option compare_options[] = {
    { OPTION_Q, 0, "q", "Q", "accept this false discovery rate over functions (default 0.05)" },
    { OPTION_FLOOR, 0, "floor", "SHARE",
      "do not test functions below this share of the total (default 0.5%)" },
    { OPTION_MIN_SHARE, 0, "min-share", "POINTS",
      "ignore changes in share smaller than this (default 0.3pp)" },
    { OPTION_MIN_REL, 0, "min-rel", "PART",
      "ignore relative changes in cost smaller than this (default 5%)" },
    { OPTION_MIN_TOTAL, 0, "min-total", "PART",
      "ignore relative changes in the total smaller than this (default 5%)" },
    { OPTION_NEED_SHARE, 0, "need-share", "SHARE",
      "PASS requires that a regression of a function of this share would have been detected "
      "(default 5%; 0: of the total only)" },
    { OPTION_NEED_CHANGE, 0, "need-change", "PART",
      "size of the regression, of that function or the total, that must have been detectable "
      "(default 25%)" },
    { OPTION_METRIC, 0, "metric", "METRIC",
      "compare self cost, total cost (with callees), or both (default)", .choices = metrics },
    { OPTION_SAME_BUILD, 0, "same-build", NULL,
      "compare runs of one build whose input or options differ; without it, a regression between "
      "runs of one build is inconclusive" },
    { OPTION_BISECT, 0, "bisect", NULL,
      "exit as git bisect run expects: 125, which skips a commit, unless the verdict is PASS (0) "
      "or FAIL (1)" },
    { OPTION_ROWS, 0, "rows", "N",
      "rows of the table, extended to all findings (default 20; 0: all functions)" },
    { OPTION_QUIET, 'q', "quiet", NULL, "print nothing; only set the exit status" },
    { 0 },
};

const struct cli_option *const diff_groups[] = {
    compare_options, diff_output_options, diff_policy_options,
    reading_options, CLI_PROFILES_GROUPS, NULL,
};

const struct cli_option *const diff_reading_groups[] = { reading_options, CLI_PROFILES_GROUPS,
                                                         NULL };

bool diff_reading_option(struct diff_reading *reading, int key, const struct cli_parser *parser)
{
    switch (key) {
    case OPTION_SAMPLE_TYPE:
        reading->sample_type = parser->value;
        return true;
    case OPTION_IGNORE_TEMPLATES:
        reading->ignore_templates = true;
        return true;
    case OPTION_JOBS:
        reading->jobs = (unsigned)cli_number("--jobs", parser->value, 1, 64);
        return true;
    default:
        return cli_profiles_take(&reading->profiles, key, parser);
    }
}

static bool compare_option(struct diff_settings *settings, int key, const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case OPTION_Q:
        settings->compare.q = cli_part("--q", value, 0.5);
        return true;
    case OPTION_FLOOR:
        settings->compare.floor = cli_part("--floor", value, 1);
        return true;
    case OPTION_MIN_SHARE:
        settings->compare.min_share = cli_part("--min-share", value, 1);
        return true;
    case OPTION_MIN_REL:
        settings->compare.min_rel = cli_part("--min-rel", value, 100);
        return true;
    case OPTION_MIN_TOTAL:
        settings->compare.min_total = cli_part("--min-total", value, 100);
        return true;
    case OPTION_NEED_SHARE:
        settings->compare.need_share = cli_part("--need-share", value, 0.99);
        return true;
    case OPTION_NEED_CHANGE:
        settings->compare.need_change = cli_part("--need-change", value, 100);
        return true;
    case OPTION_METRIC:
        settings->compare.metric = (enum compare_metric)parser->choice;
        return true;
    case OPTION_SAME_BUILD:
        settings->compare.same_build = true;
        return true;
    case OPTION_BISECT:
        settings->bisect = true;
        return true;
    case OPTION_ROWS:
        settings->rows = (size_t)cli_number("--rows", value, 0, UINT32_MAX);
        return true;
    case OPTION_QUIET:
        settings->quiet = true;
        old_store_be_quiet();
        return true;
    default:
        return false;
    }
}

bool diff_option(struct diff_settings *settings, int key, const struct cli_parser *parser)
{
    const char **given;

    if (compare_option(settings, key, parser) ||
        diff_reading_option(&settings->reading, key, parser))
        return true;
    if (key < DIFF_OUTPUT_KEYS)
        return false;
    given = key < DIFF_POLICY_KEYS ? &settings->outputs[key - DIFF_OUTPUT_KEYS]
                                   : &settings->policies[key - DIFF_POLICY_KEYS];
    *given = parser->value ? parser->value : "-";
    return true;
}

/* ---- Settings ---- */

void diff_settings_init(struct diff_settings *settings)
{
    size_t outputs = 0, policies = 0;

    while (diff_outputs[outputs].write)
        outputs++;
    while (diff_policies[policies])
        policies++;
    *settings = (struct diff_settings){ .reading = { .profiles = { .kind = -1 } }, .rows = 20 };
    compare_options_init(&settings->compare);
    settings->outputs = cli_allocate(outputs, sizeof *settings->outputs);
    settings->policies = cli_allocate(policies, sizeof *settings->policies);
}

static void diff_benchmark_release(struct diff_benchmark *benchmark)
{
    for (int side = 0; side < COMPARE_SIDES; side++) {
        for (size_t i = 0; i < benchmark->inputs[side].count; i++)
            free((char *)benchmark->inputs[side].items[i]);
        free(benchmark->inputs[side].items);
    }
    free(benchmark->name);
}

void diff_settings_release(struct diff_settings *settings)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        free(settings->inputs[side].items);
    for (size_t i = 0; i < settings->benchmark_count; i++)
        diff_benchmark_release(&settings->benchmarks[i]);
    free(settings->benchmarks);
    cli_profiles_release(&settings->reading.profiles);
    free(settings->outputs);
    free(settings->policies);
}
