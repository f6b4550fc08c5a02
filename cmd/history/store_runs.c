/* store_runs.c - captures of a store as runs.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include <fxt/store_content.h>
#include "cmd/history/old_store.h"
#include "cmd/history/refusals.h"

/* A store being read.  */
struct job {
    struct store_runs *runs;
    struct store *store;
    const char *label;
    bool failed; /* a message was printed */
    size_t seen; /* captures */
    enum cli_exit status;
    struct store_stacks loaded;

    struct compare_run *run; /* the capture being read */
    bool counts;             /* its cost is a number of samples */
};

static bool fail(struct job *job, enum cli_exit status, const char *message)
{
    if (!job->failed)
        cli_error("%s: %s", job->label, message);
    job->failed = true;
    job->status = status;
    return false;
}

/* What the library refused.  */
static bool check(struct job *job, enum store_status status, const struct store_error *error)
{
    if (status == STORE_OK)
        return true;
    return fail(job, status == STORE_CORRUPT ? CLI_DAMAGED : CLI_ENVIRONMENT, error->message);
}

/* ---- Captures ---- */

/* The type that was requested, or that of the runs before, or the default type.  type->type is NULL
 * if there are no samples, which the report says.  */
static bool choose_type(struct job *job, int64_t capture, struct store_sample_type *type)
{
    const char *asked = job->runs->sample_type;
    const char *wanted = asked ? asked : compare_builder_type(job->runs->builder).type;
    bool has_values = false, unweighed;
    struct compare_error refusal;
    struct store_error error;

    if (!check(job, store_sample_type_choose(job->store, wanted, capture, type, &error), &error))
        return false;
    if (!type->there) {
        store_sample_type_release(type);
        return !asked || fail(job, CLI_USAGE, "has no such sample type");
    }
    if (!type->counted_id &&
        !check(job, store_sample_type_has_values(job->store, type, capture, &has_values, &error),
               &error))
        return false;
    job->counts = !has_values;
    unweighed = !has_values && !type->counted_id;
    job->runs->kind = type->kind == STORE_SAMPLES_CPU || strcmp(type->type, "cpu") == 0
                          ? PROFILE_CPU
                          : PROFILE_HEAP;
    if (compare_builder_set_type(job->runs->builder, unweighed ? "samples" : type->type,
                                 unweighed ? "count" : type->unit, &refusal) == COMPARE_OK)
        return true;
    job->failed = true;
    job->status = runs_fail_type(&refusal);
    return false;
}

static bool add_cost(void *context, const struct store_cost *cost)
{
    struct job *job = context;
    double value = job->counts ? cost->samples : cost->value;
    profile_id callsite = 0; /* the empty stack */

    if (cost->callsite_id < 0 || (uint64_t)cost->callsite_id > job->loaded.callsite_count)
        return fail(job, CLI_DAMAGED, "the store is corrupt: a row refers to what is not there");
    if (cost->callsite_id > 0)
        callsite = job->loaded.callsites[cost->callsite_id - 1];
    job->run->samples += cost->samples;
    job->run->cost += value;
    if (value > 0)
        compare_builder_add_stack(job->runs->builder, callsite, value);
    return true;
}

static const char *copy_or_null(struct job *job, const char *text)
{
    return text ? compare_builder_text(job->runs->builder, text, strlen(text)) : NULL;
}

static bool take_capture(void *context, const struct store_capture *capture)
{
    struct job *job = context;
    struct store_sample_type type = { .type = NULL };
    struct compare_environment *environment;
    struct store_error error;
    char number[32];
    char *label;

    job->seen++;
    if (job->runs->only_labelled && !capture->commit) {
        job->runs->left_out++;
        return true;
    }
    (void)snprintf(number, sizeof number, "#%lld", (long long)capture->id);
    label = cli_join(job->label, number);
    job->run = compare_builder_begin_run(job->runs->builder, job->runs->side, label);
    free(label);
    environment = &job->run->environment;
    environment->command = copy_or_null(job, capture->command);
    environment->arch = copy_or_null(job, capture->arch);
    environment->period_ns = (uint64_t)capture->period_ns;
    environment->kernel = copy_or_null(job, capture->kernel);
    environment->cpu_model = copy_or_null(job, capture->cpu_model);
    environment->commit = copy_or_null(job, capture->commit);
    if (choose_type(job, capture->id, &type) && type.type)
        (void)check(job, store_costs_each(job->store, capture->id, &type, add_cost, job, &error),
                    &error);
    store_sample_type_release(&type);
    return !job->failed;
}

/* ---- The store ---- */

static void tell_left_out(struct job *job, int64_t capture)
{
    size_t count = job->runs->left_out;

    if (job->failed || count == 0)
        return;
    if (count == job->seen)
        (void)fail(job, CLI_USAGE,
                   capture ? "the capture has no label 'commit'; " STORE_RUNS_REMEDY
                           : "no capture has a label 'commit'; " STORE_RUNS_REMEDY);
    else
        cli_warning("%s: left out %s without a label 'commit'; " STORE_RUNS_REMEDY, job->label,
                    cli_counted(count, "capture", "captures"));
}

enum cli_exit store_runs_read(struct store_runs *runs, const char *path, const char *label,
                              int64_t capture)
{
    struct store_options options = { .size = sizeof options, .mode = STORE_READ };
    struct profile_stacks *stacks = profile_stacks_of(compare_builder_profile(runs->builder));
    struct job job = { .runs = runs, .label = label, .status = CLI_OK };
    struct store_error error;
    struct store *store = NULL;

    runs->left_out = 0;
    runs->lacks_symbols = false;
    if (store_open(path, &options, &store, &error) != STORE_OK) {
        cli_error("%s: %s", label, error.message);
        compare_builder_add_unreadable(runs->builder);
        return error.status == STORE_CORRUPT || error.status == STORE_NOT_STORE ? CLI_DAMAGED
                                                                                : CLI_ENVIRONMENT;
    }
    old_store_note(store, label);
    job.store = store;
    if (check(&job, store_load_stacks(store, stacks, true, &job.loaded, &error), &error) &&
        check(&job, store_captures_each(store, capture, take_capture, &job, &error), &error) &&
        !job.failed && job.seen == 0)
        (void)fail(&job, CLI_USAGE,
                   capture ? "the store has no such capture" : "the store has no captures");
    tell_left_out(&job, capture);
    if (job.status == CLI_DAMAGED)
        compare_builder_add_unreadable(runs->builder);
    store_stacks_release(&job.loaded);
    (void)store_lacks_symbols(store, &runs->lacks_symbols, NULL); /* false if that fails */
    store_close(store);
    return job.status;
}
