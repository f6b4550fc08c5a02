/* options.c - the options that several commands share.  */
#include "cmd/fxtdiff/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtdiff/commands.h"

enum {
    OPTION_PROFILE = DIFF_OPTION_FIRST,
    OPTION_SAMPLE_TYPE,
    OPTION_MODULES,
    OPTION_SYMBOLS,
    OPTION_DEBUGINFOD,
    OPTION_NO_SYMBOLIZE,
    OPTION_NO_INLINES,
    OPTION_NO_CACHE,
    OPTION_PID,
    OPTION_TID,
    OPTION_ARCH,
    OPTION_STRICT,
    OPTION_FORCE,
    OPTION_IGNORE_TEMPLATES,
    OPTION_JOBS,
    OPTION_Q = 200,
    OPTION_FLOOR,
    OPTION_MIN_SHARE,
    OPTION_MIN_REL,
    OPTION_MIN_TOTAL,
    OPTION_METRIC,
    OPTION_ROWS,
    OPTION_QUIET,
    OPTION_OUTPUTS = 1000,
    OPTION_POLICIES = 2000,
};

const struct cli_option diff_reading_options[] = {
    { OPTION_PROFILE, 0, "profile", "KIND",
      "of traces: cpu, heap, heap-free, span or offcpu; default: the\nfirst of them that the trace "
      "has" },
    { OPTION_SAMPLE_TYPE, 0, "sample-type", "TYPE",
      "what is compared: cpu, samples, alloc_space, ...; default:\nnanoseconds or bytes, if the "
      "input has any" },
    { OPTION_MODULES, 0, "modules", "FILE",
      "what addresses of raw regions mean: modules-PID.markup;\n"
      "those beside the regions in a folder are found anyhow" },
    { OPTION_SYMBOLS, 's', "symbols", "PATH",
      "look for names in PATH first: a file, a .build-id tree, or a\n"
      "folder of debug files; may be given more than once" },
    { OPTION_DEBUGINFOD, 0, "debuginfod", NULL,
      "ask the servers in DEBUGINFOD_URLS for what is not here" },
    { OPTION_NO_SYMBOLIZE, 0, "no-symbolize", NULL, "leave addresses without names" },
    { OPTION_NO_INLINES, 0, "no-inlines", NULL, "name the real function only" },
    { OPTION_NO_CACHE, 0, "no-cache", NULL,
      "neither read nor write the symbol cache\n($XDG_CACHE_HOME/fxt/symbols)" },
    { OPTION_PID, 'p', "pid", "PID", "only this process; may be given more than once" },
    { OPTION_TID, 't', "tid", "TID", "only this thread; may be given more than once" },
    { OPTION_ARCH, 0, "arch", "ARCH",
      "x86_64 or arm64: where raw kernel samples came from, if the\ntrace does not say" },
    { OPTION_STRICT, 0, "strict", NULL, "exit with 3 for notices too, not for damage alone" },
    { OPTION_FORCE, 0, "force", NULL, "take the input for FXT whatever it begins with" },
    { OPTION_IGNORE_TEMPLATES, 0, "ignore-templates", NULL,
      "sort<int> and sort<long> are one function" },
    { OPTION_JOBS, 'j', "jobs", "N", "read N traces at once (default: one a CPU, at most 8)" },
    { 0 },
};

static const struct cli_option compare_options[] = {
    { OPTION_Q, 0, "q", "Q", "false discovery rate over functions (default 0.05)" },
    { OPTION_FLOOR, 0, "floor", "SHARE", "functions below are not tested (default 0.5%)" },
    { OPTION_MIN_SHARE, 0, "min-share", "POINTS",
      "a smaller change of share is no finding (default 0.3pp)" },
    { OPTION_MIN_REL, 0, "min-rel", "PART",
      "nor is a smaller relative change of cost (default 5%)" },
    { OPTION_MIN_TOTAL, 0, "min-total", "PART", "the same for the total (default 5%)" },
    { OPTION_METRIC, 0, "metric", "METRIC",
      "which costs of functions count: self, total (with callees),\nor both (default)" },
    { OPTION_ROWS, 0, "rows", "N",
      "rows of the table, if there are no more findings (default\n20, 0: all functions)" },
    { OPTION_QUIET, 'q', "quiet", NULL, "print nothing: the exit status tells" },
    { 0 },
};

/* ---- Values ---- */

double diff_part(const char *option, const char *text, double limit)
{
    char *end;
    double number = strtod(text, &end);
    bool percent = strcmp(end, "%") == 0 || strcmp(end, "pp") == 0;

    if (end == text || (*end && !percent) || !isfinite(number) || number < 0 ||
        strpbrk(text, "xXpP\t\n ") == text)
        cli_usage_error("%s: '%s' is not a part like 5%%, 0.3pp or 0.05", option, text);
    if (percent)
        number /= 100;
    if (number > limit)
        cli_usage_error("%s: %s is more than %g%%", option, text, 100 * limit);
    return number;
}

static bool reading_filter(struct diff_reading *reading, int key, const char *value)
{
    static const char *const arches[] = { "x86_64", "arm64", NULL };

    switch (key) {
    case OPTION_PID:
        cli_numbers_add(&reading->pids, cli_number("--pid", value, 0, UINT32_MAX));
        return true;
    case OPTION_TID:
        cli_numbers_add(&reading->tids, cli_number("--tid", value, 0, UINT32_MAX));
        return true;
    case OPTION_ARCH:
        reading->arm64 = cli_choice("--arch", value, arches) == 1;
        return true;
    case OPTION_STRICT:
        reading->strict = true;
        return true;
    case OPTION_FORCE:
        reading->force = true;
        return true;
    case OPTION_IGNORE_TEMPLATES:
        reading->ignore_templates = true;
        return true;
    default:
        return false;
    }
}

static int choose_kind(const char *value)
{
    const char *names[PROFILE_KINDS + 1];

    for (int kind = 0; kind < PROFILE_KINDS; kind++)
        names[kind] = profile_kind_name((enum profile_kind)kind);
    names[PROFILE_KINDS] = NULL;
    return (int)cli_choice("--profile", value, names);
}

bool diff_reading_option(struct diff_reading *reading, int key, const char *value)
{
    switch (key) {
    case OPTION_PROFILE:
        reading->profile = choose_kind(value);
        return true;
    case OPTION_SAMPLE_TYPE:
        reading->sample_type = value;
        return true;
    case OPTION_MODULES:
        cli_texts_add(&reading->modules, value);
        return true;
    case OPTION_SYMBOLS:
        cli_texts_add(&reading->symbols, value);
        return true;
    case OPTION_DEBUGINFOD:
        reading->debuginfod = true;
        return true;
    case OPTION_NO_SYMBOLIZE:
        reading->no_symbolize = true;
        return true;
    case OPTION_NO_INLINES:
        reading->no_inlines = true;
        return true;
    case OPTION_NO_CACHE:
        reading->no_cache = true;
        return true;
    case OPTION_JOBS:
        reading->jobs = (unsigned)cli_number("--jobs", value, 1, 64);
        return true;
    default:
        return reading_filter(reading, key, value);
    }
}

static bool compare_option(struct diff_settings *settings, int key, const char *value)
{
    static const char *const metrics[] = { "both", "self", "total", NULL };

    switch (key) {
    case OPTION_Q:
        settings->compare.q = diff_part("--q", value, 0.5);
        return true;
    case OPTION_FLOOR:
        settings->compare.floor = diff_part("--floor", value, 1);
        return true;
    case OPTION_MIN_SHARE:
        settings->compare.min_share = diff_part("--min-share", value, 1);
        return true;
    case OPTION_MIN_REL:
        settings->compare.min_rel = diff_part("--min-rel", value, 100);
        return true;
    case OPTION_MIN_TOTAL:
        settings->compare.min_total = diff_part("--min-total", value, 100);
        return true;
    case OPTION_METRIC:
        settings->metric = (enum diff_metric)cli_choice("--metric", value, metrics);
        return true;
    case OPTION_ROWS:
        settings->rows = (size_t)cli_number("--rows", value, 0, UINT32_MAX);
        return true;
    case OPTION_QUIET:
        settings->quiet = true;
        return true;
    default:
        return false;
    }
}

/* ---- Tables ---- */

static size_t count_outputs(void)
{
    size_t count = 0;

    while (diff_outputs[count].option)
        count++;
    return count;
}

static size_t count_policies(void)
{
    size_t count = 0;

    while (diff_policies[count].option)
        count++;
    return count;
}

struct cli_option *diff_join_options(const struct cli_option *const *tables, size_t count)
{
    struct cli_option *joined;
    size_t total = 0;

    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; tables[t] && tables[t][i].key; i++)
            total++;
    joined = cli_allocate(total + 1, sizeof *joined);
    total = 0;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; tables[t] && tables[t][i].key; i++)
            joined[total++] = tables[t][i];
    return joined;
}

struct cli_option *diff_all_options(const struct cli_option *own)
{
    size_t outputs = count_outputs(), policies = count_policies();
    struct cli_option *tail = cli_allocate(outputs + policies + 1, sizeof *tail), *all;
    const struct cli_option *const tables[4] = { own, compare_options, tail, diff_reading_options };

    for (size_t i = 0; i < outputs; i++)
        tail[i] = (struct cli_option){ .key = OPTION_OUTPUTS + (int)i,
                                       .name = diff_outputs[i].option,
                                       .argument = diff_outputs[i].argument,
                                       .help = diff_outputs[i].help };
    for (size_t i = 0; i < policies; i++)
        tail[outputs + i] = (struct cli_option){ .key = OPTION_POLICIES + (int)i,
                                                 .name = diff_policies[i].option,
                                                 .argument = diff_policies[i].argument,
                                                 .help = diff_policies[i].help };
    all = diff_join_options(tables, 4);
    free(tail);
    return all;
}

void diff_settings_init(struct diff_settings *settings)
{
    *settings = (struct diff_settings){ .reading = { .profile = -1 }, .rows = 20 };
    profile_compare_defaults(&settings->compare);
    settings->outputs = cli_allocate(count_outputs(), sizeof *settings->outputs);
    settings->policies = cli_allocate(count_policies(), sizeof *settings->policies);
}

void diff_settings_release(struct diff_settings *settings)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        free(settings->inputs[side].items);
    free(settings->reading.modules.items);
    free(settings->reading.symbols.items);
    free(settings->reading.pids.items);
    free(settings->reading.tids.items);
    free(settings->outputs);
    free(settings->policies);
}

bool diff_option(struct diff_settings *settings, int key, const char *value)
{
    if (key >= OPTION_POLICIES)
        settings->policies[key - OPTION_POLICIES] = value ? value : "";
    else if (key >= OPTION_OUTPUTS)
        settings->outputs[key - OPTION_OUTPUTS] = value ? value : "";
    else
        return compare_option(settings, key, value) ||
               diff_reading_option(&settings->reading, key, value);
    return true;
}

enum cli_exit diff_check_symbol_paths(const struct diff_reading *reading)
{
    for (size_t i = 0; i < reading->symbols.count; i++) {
        if (access(reading->symbols.items[i], R_OK) == 0)
            continue;
        cli_error("--symbols: %s: %s", reading->symbols.items[i], strerror(errno));
        return CLI_ENVIRONMENT;
    }
    return CLI_OK;
}
