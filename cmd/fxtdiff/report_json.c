/* report_json.c - the report as one JSON object (schemas/fxtdiff.schema.json).
 *
 * The version counts up when a key changes its meaning or goes; new keys may come without.  */
#include "cmd/fxtdiff/finding_values.h"
#include "cmd/fxtdiff/outputs.h"
#include "cmd/fxtdiff/print.h"
#include "cmd/history/set_json.h"

#define SCHEMA_VERSION 2

static void put_texts(struct json *json, const char *key, const char *const *texts, size_t count)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        json_text(json, NULL, texts[i]);
    json_close(json, ']');
}

static const char *lower_verdict(enum compare_verdict verdict)
{
    static const char *const names[] = {
        [COMPARE_PASS] = "pass", [COMPARE_FAIL] = "fail", [COMPARE_INCONCLUSIVE] = "inconclusive"
    };

    return names[verdict];
}

/* ---- What was compared ---- */

static void put_run(struct json *json, const struct compare_set *set, const struct compare_run *run)
{
    const struct compare_environment *environment = &run->environment;

    json_open(json, NULL, '{');
    set_json_text(json, "label", set, run->label);
    json_text(json, "side", run->side == COMPARE_BASE ? "base" : "new");
    json_double_or_null(json, "cost", run->cost);
    json_double_or_null(json, "samples", run->samples);
    json_open(json, "environment", '{');
    set_json_text_or_null(json, "cpu_model", set, environment->cpu_model);
    set_json_text_or_null(json, "kernel", set, environment->kernel);
    set_json_text_or_null(json, "arch", set, environment->arch);
    set_json_text_or_null(json, "compiler", set, environment->compiler);
    set_json_text_or_null(json, "command", set, environment->command);
    if (environment->period_ns > 0)
        json_unsigned(json, "period_ns", environment->period_ns);
    else
        json_null(json, "period_ns");
    json_open(json, "builds", '[');
    for (size_t i = 0; i < environment->build_count; i++)
        set_json_text(json, NULL, set, environment->builds[i]);
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, '}');
}

static void put_options(struct json *json, const struct compare_options *options)
{
    static const char *const metrics[] = { "both", "self", "total" };

    json_open(json, "options", '{');
    json_double(json, "q", options->q);
    json_double(json, "floor", options->floor);
    json_double(json, "min_share", options->min_share);
    json_double(json, "min_rel", options->min_rel);
    json_double(json, "min_total", options->min_total);
    json_double(json, "need_share", options->need_share);
    json_double(json, "need_change", options->need_change);
    json_text(json, "metric", metrics[options->metric]);
    json_bool(json, "same_build", options->same_build);
    json_close(json, '}');
}

/* ---- What came out ---- */

static void put_count_or_null(struct json *json, const char *key, double count)
{
    if (count > 0)
        json_unsigned(json, key, (uint64_t)count);
    else
        json_null(json, key);
}

static void put_total(struct json *json, const struct compare_result *comparison)
{
    const struct compare_total_change *total = &comparison->total;

    json_open(json, "total", '{');
    json_double(json, "base", total->base);
    json_double(json, "new", total->new_cost);
    json_double(json, "shift", total->shift);
    json_double(json, "relative", total->relative);
    json_double(json, "low", total->low);
    json_double(json, "high", total->high);
    json_double(json, "p", total->p);
    json_double(json, "q", total->q);
    json_bool(json, "exact", total->exact);
    json_double_or_null(json, "noise", total->noise);
    json_double_or_null(json, "detectable", total->detectable);
    put_count_or_null(json, "runs_wanted", (double)total->runs_wanted);
    json_bool(json, "blind", comparison->total_is_blind);
    json_close(json, '}');
}

/* With what shares that grew were compared.  */
static void put_reference(struct json *json, const struct compare_result *comparison)
{
    static const char *const kinds[] = { [COMPARE_REFERENCE_NONE] = "shares",
                                         [COMPARE_REFERENCE_FUNCTIONS] = "functions",
                                         [COMPARE_REFERENCE_TOTAL] = "total" };

    json_open(json, "reference", '{');
    json_text(json, "by", kinds[comparison->reference]);
    json_double(json, "scale", comparison->scale);
    json_close(json, '}');
}

static void put_change(struct json *json, const char *key, const struct compare_change *change,
                       const double interval[2])
{
    json_open(json, key, '{');
    json_double(json, "base_share", change->base_share);
    json_double(json, "new_share", change->new_share);
    json_double_or_null(json, "low", interval[0]);
    json_double_or_null(json, "high", interval[1]);
    json_double(json, "base_cost", change->base_cost);
    json_double(json, "new_cost", change->new_cost);
    json_double_or_null(json, "relative", change->relative);
    json_bool(json, "tested", change->tested);
    json_double(json, "dispersion", change->dispersion);
    json_double(json, "p", change->p);
    json_double(json, "q", change->q);
    json_text_or_null(json, "flag", compare_flag_name(change->flag));
    json_close(json, '}');
}

static void put_place(struct json *json, const char *key, const struct compare_set *set,
                      const struct compare_place *place)
{
    if (!place->name) {
        json_null(json, key);
        return;
    }
    json_open(json, key, '{');
    set_json_text(json, "name", set, place->name);
    set_json_text_or_null(json, "file", set, place->file);
    json_unsigned(json, "start_line", place->start_line);
    json_unsigned(json, "first_line", place->first_line);
    json_unsigned(json, "last_line", place->last_line);
    set_json_text_or_null(json, "module", set, place->module);
    json_close(json, '}');
}

static void put_values(struct json *json, const struct compare_report *report,
                       const struct compare_row *row)
{
    static const char *const keys[] = { "base", "new" };
    struct diff_values values;

    diff_values_open(&values, report, row);
    json_open(json, "values", '{');
    json_text(json, "of", values.family);
    json_double(json, "scale", values.scale);
    for (int side = 0; side < COMPARE_SIDES; side++) {
        json_open(json, keys[side], '[');
        for (size_t i = 0; i < values.count[side] && i < DIFF_VALUES_RUNS; i++)
            json_double(json, NULL, values.side[side][i]);
        json_close(json, ']');
    }
    json_close(json, '}');
    diff_values_close(&values);
}

static void put_row(struct json *json, const struct compare_report *report, size_t index)
{
    const struct compare_row *row = &report->rows[index];
    static const char *const states[] = { "both", "new", "gone", "renamed" };

    json_open(json, NULL, '{');
    set_json_text(json, "name", report->set, row->names->name);
    json_text(json, "state", states[row->state]);
    json_text_or_null(json, "flag", compare_flag_name(row->flag));
    json_bool(json, "by_callees", row->by_callees);
    json_text_or_null(json, "suppressed", row->suppressed);
    put_change(json, "self", &row->self, row->self_interval);
    put_change(json, "total", &row->total, row->total_interval);
    if (index < DIFF_VALUES_FINDINGS && diff_is_finding(row))
        put_values(json, report, row);
    else
        json_null(json, "values");
    put_place(json, "base", report->set, &row->names->places[COMPARE_BASE]);
    put_place(json, "new", report->set, &row->names->places[COMPARE_NEW]);
    json_close(json, '}');
}

static void put_rule(struct json *json, const struct compare_rule *rule)
{
    static const char *const outcomes[] = { "kept", "exceeded", "unknown" };

    json_open(json, NULL, '{');
    json_text(json, "rule", rule->text);
    json_text(json, "result", rule->result);
    json_text(json, "place", rule->place);
    json_text(json, "outcome", outcomes[rule->outcome]);
    json_close(json, '}');
}

static void put_comparison(struct json *json, const struct compare_report *report)
{
    if (!report->comparison) {
        json_null(json, "total");
        json_null(json, "reference");
        json_null(json, "tests");
        json_null(json, "runs_needed");
        json_null(json, "samples_needed");
    } else {
        put_total(json, report->comparison);
        put_reference(json, report->comparison);
        json_unsigned(json, "tests", report->comparison->test_count);
        put_count_or_null(json, "runs_needed", (double)report->comparison->runs_needed);
        put_count_or_null(json, "samples_needed", report->comparison->samples_needed);
    }
    json_open(json, "functions", '[');
    for (size_t i = 0; i < report->row_count; i++)
        put_row(json, report, i);
    json_close(json, ']');
    json_open(json, "budgets", '[');
    for (size_t i = 0; i < report->rule_count; i++)
        put_rule(json, &report->rules[i]);
    json_close(json, ']');
}

static void put_series(struct json *json, const struct compare_series *series)
{
    if (series->looks == 0) {
        json_null(json, "series");
        return;
    }
    json_open(json, "series", '{');
    json_unsigned(json, "looks", series->looks);
    json_unsigned(json, "most_runs", series->most);
    json_double(json, "q", series->q);
    json_text(json, "stopped", compare_stop_name(series->stop));
    json_close(json, '}');
}

static void put_benchmark(const struct compare_report *report, struct cli_output *output)
{
    struct json json = { .output = output };

    json_open(&json, NULL, '{');
    json_text(&json, "schema", "fxtdiff");
    json_unsigned(&json, "version", SCHEMA_VERSION);
    json_text_or_null(&json, "benchmark", report->benchmark);
    json_text(&json, "verdict", lower_verdict(report->verdict));
    put_texts(&json, "reasons", report->reasons, report->reason_count);
    put_texts(&json, "notes", report->notes, report->note_count);
    json_text_or_null(&json, "power", report->power);
    json_text(&json, "sample_type", report->set->type.type);
    json_text(&json, "unit", report->set->type.unit);
    json_bool(&json, "damaged", report->set->damaged);
    put_options(&json, &report->options);
    put_series(&json, &report->series);
    json_open(&json, "runs", '[');
    for (size_t i = 0; i < report->set->run_count; i++)
        put_run(&json, report->set, &report->set->runs[i]);
    json_close(&json, ']');
    put_comparison(&json, report);
    json_close(&json, '}');
    json_end_line(&json);
}

/* One object, on a line of its own, for each benchmark.  */
static void put_report(const struct compare_report *report, const struct diff_settings *settings,
                       struct cli_output *output)
{
    (void)settings;
    for (; report; report = report->next)
        put_benchmark(report, output);
}

enum cli_exit diff_write_json(const struct compare_report *report,
                              const struct diff_settings *settings, const char *path)
{
    return diff_write_whole(report, settings, path, put_report);
}
