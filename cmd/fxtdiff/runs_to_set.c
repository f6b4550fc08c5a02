/* runs_to_set.c - runs in, a set out: libcompare's builder, and the names of what was sampled.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/fxtdiff.h"

enum cli_exit diff_verdict_exit(enum compare_verdict verdict)
{
    switch (verdict) {
    case COMPARE_PASS:
        return CLI_OK;
    case COMPARE_FAIL:
        return CLI_DIFFERENT;
    case COMPARE_INCONCLUSIVE:
        break;
    }
    return CLI_INCONCLUSIVE;
}

/* git bisect skips a commit at 125, ends at 128 and more, and takes all other numbers above 0 for a
 * regression.  */
int diff_exit_status(const struct diff_settings *settings, enum cli_exit status)
{
    if (!settings->bisect || status == CLI_OK || status == CLI_DIFFERENT)
        return (int)status;
    return status == CLI_USAGE ? 128 : 125;
}

void diff_runs_open(struct diff_runs *runs, const struct diff_reading *reading)
{
    struct compare_builder_options options = { .size = sizeof options,
                                               .ignore_templates = reading->ignore_templates };

    *runs = (struct diff_runs){ .reading = reading, .kind = -1 };
    if (compare_builder_open(&options, &runs->builder, NULL) != COMPARE_OK)
        cli_out_of_memory();
    runs->profile = compare_builder_profile(runs->builder);
}

void diff_runs_close(struct diff_runs *runs)
{
    compare_builder_close(runs->builder);
    free(runs->kernel_symbols);
}

struct compare_run *diff_begin_run(struct diff_runs *runs, enum compare_side side,
                                   const char *label)
{
    const char *scratch = runs->reading->scratch;
    size_t length = scratch ? strlen(scratch) : 0;

    if (scratch && strncmp(label, scratch, length) == 0 && label[length] == '/')
        label += length + 1;
    return compare_builder_begin_run(runs->builder, side, label);
}

bool diff_set_type(struct diff_runs *runs, const char *type, const char *unit)
{
    struct compare_error error;

    if (compare_builder_set_type(runs->builder, type, unit, &error) == COMPARE_OK)
        return true;
    (void)runs_fail_type(&error);
    return false;
}

/* ---- Names ---- */

/* What a module's file, as far as it was found, says of its compiler; NULL: nothing.  */
static const char *compiler_of(struct diff_runs *runs, struct sym_session *session, profile_id id)
{
    const struct profile_stacks *stacks = profile_stacks_of(runs->profile);
    struct profile_module module = profile_stacks_get_module(stacks, id);
    const char *path = profile_stacks_text(stacks, module.name, NULL);
    struct sym_module_key key = { .build_id = module.build_id,
                                  .build_id_length = module.build_id_length,
                                  .path = path[0] == '/' ? path : NULL };
    const struct sym_report *report;
    struct sym_module *found;
    char text[400];

    if (!key.path && key.build_id_length == 0)
        return NULL;
    if (sym_session_module(session, &key, &found, NULL) != SYM_OK)
        return NULL;
    report = sym_module_report(found);
    path = *report->code_path ? report->code_path : report->debug_path;
    if (!*path || sym_compiler(path, text, sizeof text, NULL) != SYM_OK || !*text)
        return NULL;
    return compare_builder_text(runs->builder, text, strlen(text));
}

/* The compiler of each run: of the module with most of its samples.  */
static void take_compilers(struct diff_runs *runs, struct sym_session *session)
{
    size_t count = compare_builder_run_count(runs->builder);
    const char *known = NULL;
    profile_id last = 0;

    for (size_t i = 0; i < count; i++) {
        struct compare_run *run = compare_builder_run(runs->builder, i);
        profile_id module = compare_builder_heaviest_module(runs->builder, i);

        if (!module || run->environment.compiler)
            continue;
        if (module != last)
            known = compiler_of(runs, session, module);
        last = module;
        run->environment.compiler = known;
    }
}

static bool symbolize(struct diff_runs *runs)
{
    struct cli_symbols symbols = runs->reading->profiles.symbols;
    struct sym_session *session;
    struct profile_error error;
    enum profile_status status;

    if (symbols.no_symbolize || runs->kind < 0)
        return true;
    symbols.bounds = true;
    if (cli_symbols_open(&symbols, &session) != CLI_OK)
        return false;
    if (runs->kernel_symbols) /* without them kernel frames have no names: no failure */
        (void)sym_session_kallsyms(session, runs->kernel_symbols, runs->kernel_symbols_size, NULL);
    status = profile_symbolize(runs->profile, session, &error);
    if (status == PROFILE_OK)
        take_compilers(runs, session);
    cli_symbols_close(&symbols); /* the options are the reading's */
    if (status != PROFILE_OK)
        cli_error("%s", error.message);
    return status == PROFILE_OK;
}

const struct compare_set *diff_runs_finish(struct diff_runs *runs)
{
    const struct compare_set *set;
    struct compare_error error;

    if (!symbolize(runs))
        return NULL;
    if (compare_builder_finish(runs->builder, &set, &error) == COMPARE_OK)
        return set;
    cli_error("%s", error.message);
    return NULL;
}
