/* fxtcat symbolize-fidl: names of FIDL methods in the events of Zircon's IPC.
 *
 * As "ffx trace symbolize" does it, in one pass: an event of category kernel:ipc with an ordinal
 * gets the name of the method, and the flow of a two-way call that has a beginning and an end for
 * each message becomes one flow of four steps.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtcat/fidl_names.h"
#include "cmd/fxtcat/fxtcat.h"

#define MOST_FLOWS (size_t)(1 << 20)
#define TWO_WAY    31 /* the bit of a flow's id that its message has an answer */

enum { OPTION_IR = 1 };

static const struct cli_option option_table[] = {
    { OPTION_IR, 0, "ir", "PATH", "a file of FIDL IR, or a folder of files *.json; may be repeated",
      CLI_FILE },
    { 0 },
};

static const struct cli_option *const groups[] = { job_output_options, cli_strict_options,
                                                   cli_bounds_options, NULL };

static const char *const examples[] = {
    "Name the FIDL methods in a trace of Fuchsia",
    "fxtcat symbolize-fidl --ir out/default/fidling/gen -o named.fxt trace.fxt",
    NULL,
};

static int run(char **argv);

const struct cli_command symbolize_fidl_command = {
    .name = "fxtcat symbolize-fidl",
    .usage = "--ir PATH [OPTION]... FILE",
    .summary = "Copy a trace, and name the FIDL methods in its events of category kernel:ipc.  An "
               "event with an ordinal gets the name of the method as its name, and the name with "
               "its protocol as the argument method.  The flow of a two-way call becomes one flow "
               "from the request to the response.",
    .options = option_table,
    .groups = groups,
    .examples = examples,
    .first = CLI_TRACE,
    .run = run,
    .brief = "name the FIDL methods in events of kernel:ipc",
};

/* What the next event of a flow is, in the order of a call.  */
enum call_state {
    WRITE_REQUEST,
    READ_REQUEST,
    WRITE_RESPONSE,
    READ_RESPONSE,
    AS_IT_IS, /* the kernel has made steps of it */
};

struct naming {
    struct job job;
    struct fxt_writer *writer;
    struct cli_texts ir;
    struct fidl_names names;
    struct base_map flows;   /* id to enum call_state */
    uint64_t named, unknown; /* events with an ordinal */
    uint64_t without_room;   /* named ones that have no room for the argument */
    uint64_t untold_flows;   /* events of flows beyond MOST_FLOWS */
    uint64_t steps;          /* events of flows that became steps */
};

/* ---- Flows ---- */

static enum call_state first_state(enum fxt_event_type type)
{
    return type == FXT_EVENT_FLOW_BEGIN ? WRITE_REQUEST : READ_RESPONSE;
}

static uint64_t *state_of(struct naming *naming, uint64_t flow, enum fxt_event_type type)
{
    uint64_t *state = base_map_find(&naming->flows, flow);

    if (state)
        return state;
    if (naming->flows.count == MOST_FLOWS ||
        !base_map_set(&naming->flows, flow, first_state(type))) {
        naming->untold_flows++;
        return NULL;
    }
    return base_map_find(&naming->flows, flow);
}

/* Whether the event is to become a step.  */
static bool advance(struct naming *naming, const struct fxt_record *record)
{
    enum fxt_event_type type = record->value.event.type;
    uint64_t flow = record->value.event.id, *state, before;

    if ((type != FXT_EVENT_FLOW_BEGIN && type != FXT_EVENT_FLOW_STEP &&
         type != FXT_EVENT_FLOW_END) ||
        !(flow >> TWO_WAY & 1))
        return false;
    state = state_of(naming, flow, type);
    if (!state)
        return false;
    before = *state;
    if (type == FXT_EVENT_FLOW_STEP || before == AS_IT_IS) {
        *state = AS_IT_IS;
        return false;
    }
    *state = (before + 1) % AS_IT_IS;
    return before == READ_REQUEST || before == WRITE_RESPONSE;
}

/* ---- Events ---- */

static const struct fidl_method *method_of(struct naming *naming, const struct fxt_record *record)
{
    const struct fxt_arg *ordinal = fxt_record_arg(record, "ordinal");
    const struct fidl_method *method;

    if (!ordinal || ordinal->type != FXT_ARG_UINT64)
        return NULL;
    method = fidl_names_find(&naming->names, ordinal->value.uint64);
    naming->named += method != NULL;
    naming->unknown += method == NULL;
    return method;
}

static void put_named(struct naming *naming, const struct fxt_record *record,
                      const struct fidl_method *method)
{
    struct fxt_arg args[FXT_MAX_ARGS];
    struct fxt_record named = *record;
    char whole[2 * 256 + 2];

    (void)snprintf(whole, sizeof whole, "%s%s%s", method->protocol, method->protocol[0] ? "." : "",
                   method->name);
    named.name = fxt_inline(method->name);
    if (record->arg_count < FXT_MAX_ARGS) {
        memcpy(args, record->args, record->arg_count * sizeof *args);
        args[record->arg_count] = (struct fxt_arg){ .name = fxt_inline("method"),
                                                    .type = FXT_ARG_STRING };
        args[record->arg_count].value.string = fxt_inline(whole);
        named.args = args;
        named.arg_count++;
    } else {
        naming->without_room++;
    }
    job_put(&naming->job, naming->writer, &named);
}

static void visit(void *context, const struct fxt_record *record)
{
    struct naming *naming = context;
    const struct fidl_method *method;
    struct fxt_record changed;
    bool step;

    if (record->kind != FXT_RECORD_EVENT || !is_text(&record->category, "kernel:ipc")) {
        job_put_as_read(&naming->job, naming->writer, record);
        return;
    }
    changed = *record;
    method = method_of(naming, record);
    step = advance(naming, record);
    if (step)
        changed.value.event.type = FXT_EVENT_FLOW_STEP;
    naming->steps += step;
    if (method)
        put_named(naming, &changed, method);
    else if (step)
        job_put(&naming->job, naming->writer, &changed);
    else
        job_put_as_read(&naming->job, naming->writer, record);
}

/* ---- The command ---- */

static void parse(struct naming *naming, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &symbolize_fidl_command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == OPTION_IR)
            cli_texts_add(&naming->ir, parser.value);
        else
            job_take(&naming->job, key, &parser);
    }
    job_find(&naming->job, 1);
    if (naming->ir.count == 0)
        cli_usage_error("no FIDL IR given; use --ir PATH");
}

static void read_names(struct naming *naming)
{
    struct fidl_names *names = &naming->names;

    for (size_t i = 0; i < naming->ir.count; i++)
        naming->job.status = cli_worse(naming->job.status,
                                       fidl_names_read(names, naming->ir.items[i]));
    if (naming->job.status == CLI_ENVIRONMENT)
        return; /* nothing is written */
    if (names->files == 0)
        cli_warning("no file *.json in the folders of --ir: nothing will be named");
    else if (names->count == 0)
        cli_warning("no method in %s of FIDL IR: nothing will be named; give --ir the *.fidl.json "
                    "files of fidlc",
                    cli_counted(names->files, "file", "files"));
    if (names->conflicts)
        cli_warning(
            "%s the ordinal of a method with another name: the name that was read first is "
            "used",
            cli_counted(names->conflicts, "method of FIDL IR has", "methods of FIDL IR have"));
}

static void summarize(const struct naming *naming, const char *path)
{
    cli_note("%s: %s named, %s an unknown ordinal; %s joined", path,
             cli_counted(naming->named, "event", "events"),
             cli_counted(naming->unknown, "event has", "events have"),
             cli_counted(naming->steps, "flow event", "flow events"));
    if (naming->names.left_out)
        cli_note("left out: %s of FIDL IR without a valid name or ordinal",
                 cli_counted(naming->names.left_out, "method", "methods"));
    if (naming->without_room)
        cli_note("%s no room for the argument method",
                 cli_counted(naming->without_room, "event has", "events have"));
    if (naming->untold_flows)
        cli_warning("more than %s flows, or out of memory: %s of further flows not joined",
                    cli_grouped(MOST_FLOWS),
                    cli_counted(naming->untold_flows, "event was", "events were"));
}

static void copy(struct naming *naming)
{
    const struct cli_trace_files *files = naming->job.traces.items;
    struct fxt_error error;

    if (fxt_writer_open(cli_output_write, &naming->job.output, &naming->writer, &error) != FXT_OK) {
        cli_error("%s", error.message);
        job_fail(&naming->job, CLI_ENVIRONMENT);
        return;
    }
    (void)job_read(&naming->job, files, NULL, visit, naming);
    if (naming->job.records > 0)
        summarize(naming, files->label);
    fxt_writer_close(naming->writer);
}

static int run(char **argv)
{
    struct naming naming = { .job = { .status = CLI_OK } };

    parse(&naming, argv);
    if (job_open(&naming.job)) {
        read_names(&naming);
        if (naming.job.status == CLI_ENVIRONMENT)
            job_fail(&naming.job, CLI_ENVIRONMENT);
        else
            copy(&naming);
    }
    fidl_names_release(&naming.names);
    base_map_release(&naming.flows);
    free(naming.ir.items);
    return (int)job_close(&naming.job);
}
