#include "cmd/fxtq/filters.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/profile_options.h"

/* ---- Options ---- */

enum {
    KEY_TYPE = 20000, /* behind all of cmd/cli */
    KEY_FOCUS,
    KEY_IGNORE,
    KEY_HIDE,
    KEY_SHOW_FROM,
    KEY_TIME,
    KEY_PID,
    KEY_TID,
    KEY_COMM,
    KEY_CPU,
    KEY_CAPTURE,
};

const struct cli_option filters_options[] = {
    { KEY_TYPE, 0, "sample-type", "TYPE",
      "sample type, as in table sample_type: cpu, alloc_space, inuse_space, ... (default: cpu, "
      "else inuse_space, else the first in the store)",
      CLI_HINT, cli_sample_types },
    { KEY_FOCUS, 0, "focus", "REGEX", "only stacks with a matching frame" },
    { KEY_IGNORE, 0, "ignore", "REGEX", "only stacks without a matching frame" },
    { KEY_HIDE, 0, "hide", "REGEX", "remove matching functions from stacks" },
    { KEY_SHOW_FROM, 0, "show-from", "REGEX",
      "start stacks at the outermost match; omit stacks without one" },
    { KEY_TIME, 0, "time", "FROM,TO",
      "only FROM <= time < TO: +1.5s counts from the start of the capture, a bare number is "
      "absolute; either end may be omitted" },
    { KEY_PID, 'p', "pid", "PID", "only this process; several: 1,2 or repeat the option", CLI_PID },
    { KEY_TID, 't', "tid", "TID", "only this thread", CLI_TID },
    { KEY_COMM, 0, "comm", "NAME",
      "only threads of this name; for data without threads, processes of this name", CLI_COMM },
    { KEY_CPU, 0, "cpu", "CPU", "only this CPU", CLI_CPU },
    { KEY_CAPTURE, 0, "capture", "ID", "only capture ID of the store (default: all)", CLI_CAPTURE },
    { 0 },
};

/* "1,2", each a number.  Returns the whole list.  */
static const char *add_numbers(struct base_text *list, const char *option, const char *value)
{
    while (true) {
        size_t length = strcspn(value, ",");
        char item[32];

        (void)snprintf(item, sizeof item, "%.*s", (int)(length < 31 ? length : 31), value);
        text_addf(list, "%s%" PRIu64, list->length ? "," : "",
                  cli_number(option, item, 0, UINT32_MAX));
        if (value[length] == '\0')
            return list->bytes;
        value += length + 1;
    }
}

static const char *add_names(struct base_text *list, const char *value)
{
    text_adds(list, list->bytes ? "," : "");
    text_adds(list, value);
    return list->bytes;
}

static void take_time(struct filters *filters, const char *value)
{
    struct cli_select select = { .kinds = 0 };

    cli_select_time(&select, "--time", value);
    filters->from = select.from;
    filters->limit = select.limit;
    filters->filter.has_from = select.from.given;
    filters->filter.has_limit = select.limit.given;
    cli_select_release(&select);
}

void filters_check_pattern(const char *name, const char *pattern)
{
    regex_t regex;
    char reason[128];
    int code = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);

    if (code == REG_ESPACE)
        cli_out_of_memory();
    if (code != 0) {
        (void)regerror(code, &regex, reason, sizeof reason);
        cli_usage_error("%s'%s' is not a regular expression: %s", name, pattern, reason);
    }
    regfree(&regex);
}

static const char *check_option(const char *name, const char *pattern)
{
    filters_check_pattern(name, pattern);
    return pattern;
}

bool filters_take(struct filters *filters, int key, const char *value)
{
    struct store_filter *filter = &filters->filter;

    switch (key) {
    case KEY_TYPE:
        filter->sample_type = value;
        return true;
    case KEY_FOCUS:
        filter->focus = check_option("--focus: ", value);
        return true;
    case KEY_IGNORE:
        filter->ignore = check_option("--ignore: ", value);
        return true;
    case KEY_HIDE:
        filter->hide = check_option("--hide: ", value);
        return true;
    case KEY_SHOW_FROM:
        filter->show_from = check_option("--show-from: ", value);
        return true;
    case KEY_TIME:
        take_time(filters, value);
        return true;
    case KEY_PID:
        filter->pids = add_numbers(&filters->pids, "--pid", value);
        return true;
    case KEY_TID:
        filter->tids = add_numbers(&filters->tids, "--tid", value);
        return true;
    case KEY_COMM:
        filter->comms = add_names(&filters->comms, value);
        return true;
    case KEY_CPU:
        filter->cpus = add_numbers(&filters->cpus, "--cpu", value);
        return true;
    case KEY_CAPTURE:
        filter->capture = (int64_t)cli_number("--capture", value, 1, INT64_MAX);
        return true;
    default:
        return false;
    }
}

const char *filters_given_name(const struct filters *filters, unsigned bits)
{
    const struct store_filter *filter = &filters->filter;
    const struct {
        bool given;
        unsigned bit;
        const char *name;
    } given[] = {
        { filter->focus != NULL, STORE_FILTER_STACK, "--focus" },
        { filter->ignore != NULL, STORE_FILTER_STACK, "--ignore" },
        { filter->hide != NULL, STORE_FILTER_SHAPE, "--hide" },
        { filter->show_from != NULL, STORE_FILTER_SHAPE, "--show-from" },
        { filter->has_from || filter->has_limit, STORE_FILTER_TIME, "--time" },
        { filter->pids != NULL, STORE_FILTER_PROCESS, "--pid" },
        { filter->tids != NULL, STORE_FILTER_THREAD, "--tid" },
        { filter->comms != NULL, STORE_FILTER_COMM, "--comm" },
        { filter->cpus != NULL, STORE_FILTER_CPU, "--cpu" },
    };

    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].given && (given[i].bit & bits))
            return given[i].name;
    return NULL;
}

void filters_release(struct filters *filters)
{
    free(filters->pids.bytes);
    free(filters->tids.bytes);
    free(filters->comms.bytes);
    free(filters->cpus.bytes);
}

/* ---- Times ---- */

static int64_t resolve(const struct cli_time *time, int64_t start_ts)
{
    int64_t ts;

    if (!time->relative)
        return time->ns;
    if (!__builtin_add_overflow(start_ts, time->ns, &ts))
        return ts;
    return time->ns < 0 ? INT64_MIN : INT64_MAX;
}

enum cli_exit filters_resolve(struct filters *filters, struct store *store)
{
    struct store_filter *filter = &filters->filter;
    struct store_span span;
    struct store_error error;

    if (store_span(store, filter->capture, &span, &error) != STORE_OK)
        return fxtq_complain(NULL, &error);
    if (filter->capture && span.captures == 0)
        cli_usage_error("--capture: there is no capture %" PRId64, filter->capture);
    if ((filter->has_from || filter->has_limit) && span.captures > 0 && span.timed == 0)
        cli_usage_error("--time: %s have no time", span.profiles == span.captures
                                                       ? "samples of profiles"
                                                       : "the records of the trace");
    if ((filters->from.relative || filters->limit.relative) && span.timed > 1)
        cli_usage_error("--time: the store has %" PRIu64
                        " captures with times; select one with --capture ID",
                        span.timed);
    filters->start_ts = span.start_ts;
    filter->from_ts = resolve(&filters->from, span.start_ts);
    filter->limit_ts = resolve(&filters->limit, span.start_ts);
    return CLI_OK;
}

/* ---- Sample types ---- */

static bool add_type(void *context, const struct store_sample_type *type)
{
    struct base_text *names = context;

    if (type->there)
        text_addf(names, "%s%s/%s", names->length ? ", " : "", type->type, type->unit);
    return true;
}

enum cli_exit filters_check_type(const struct filters *filters, struct store *store,
                                 const char *path)
{
    const char *type = filters->filter.sample_type;
    struct base_text names = { .bytes = NULL };
    enum store_status status = STORE_OK;
    struct store_error error;
    bool known = true;

    if (type)
        status = store_sample_type_is_known(store, type, &known, &error);
    if (status == STORE_OK && !known)
        status = store_sample_types_each(store, 0, add_type, &names, &error);
    if (status == STORE_OK && !known)
        cli_usage_error("--sample-type: there are no samples of type '%s' in %s%s%s", type, path,
                        names.length ? ", only " : "", names.length ? names.bytes : "");
    free(names.bytes);
    return status == STORE_OK ? CLI_OK : fxtq_complain(path, &error);
}

const char *filters_why_empty(const struct filters *filters, struct store *store)
{
    unsigned found = 0;

    if (store_filter_given(&filters->filter))
        return "nothing matches the filters";
    (void)store_has(store, filters->filter.capture, STORE_HAS_DURATIONS, &found,
                    NULL); /* nothing more to say */
    return found ? "no samples, but durations (fxtq report slices)" : "no samples";
}
