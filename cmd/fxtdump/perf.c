/* Records of perf.data files, in the order of time: as lines for people, as JSON, and counted.  */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/visible.h"
#include "cmd/cli/cli_input.h"
#include "cmd/cli/cli_json.h"
#include "cmd/cli/select.h"
#include "cmd/fxtdump/dump.h"
#include "libperf/perf_data.h"

struct perf_dump {
    const struct dump_perf_options *options;
    struct dump_form form;
    struct cli_select select;
    const char *path; /* for messages */
    struct perf_data *data;
    uint64_t kinds[128];
    uint64_t *events; /* samples of each */
    size_t event_count, event_capacity;
    uint64_t total, lost;
    bool has_time;
    uint64_t first_ns, last_ns;
};

/* ---- For people ---- */

static void put_text(struct cli_output *output, const char *label, const char *text)
{
    struct base_text visible = { .bytes = NULL };

    base_text_add_visible(&visible, text, strlen(text));
    dump_put(output, label);
    dump_put(output, visible.bytes ? visible.bytes : "");
    base_text_release(&visible);
}

static void put_chain(const struct perf_dump *dump, struct perf_data_words chain)
{
    for (size_t i = 0; i < chain.count; i++)
        dump_print(dump->form.output, " 0x%" PRIx64, perf_data_word(dump->data, chain, i));
}

static void put_sample(const struct perf_dump *dump, const struct perf_data_record *record)
{
    struct cli_output *output = dump->form.output;
    const struct perf_data_sample *sample = &record->sample;

    put_text(output, " event=", perf_data_event(dump->data, record->event)->name);
    dump_print(output, " period=%" PRIu64 " ip=0x%" PRIx64, sample->period, sample->ip);
    if (sample->address)
        dump_print(output, " address=0x%" PRIx64, sample->address);
    if (sample->raw_size)
        dump_print(output, " raw=%zu bytes", sample->raw_size);
    if (sample->branches.count)
        dump_print(output, " branches=%zu", sample->branches.count / 3);
    if (sample->user.abi)
        dump_print(output, " registers=%zu", sample->user.values.count);
    if (sample->stack_size)
        dump_print(output, " stack=%zu bytes", sample->stack_size);
    if (sample->chain.count)
        dump_put(output, " chain");
    put_chain(dump, sample->chain);
}

static void put_mapping(struct cli_output *output, const struct perf_data_mapping *mapping)
{
    dump_print(output, " start=0x%" PRIx64 " length=0x%" PRIx64 " offset=0x%" PRIx64 "%s",
               mapping->start, mapping->length, mapping->file_offset,
               mapping->is_data ? " data" : "");
    if (mapping->build_id_length)
        dump_put(output, " build_id=");
    for (size_t i = 0; i < mapping->build_id_length; i++)
        dump_print(output, "%02x", mapping->build_id[i]);
    put_text(output, " name=", mapping->name);
}

static void put_switch(struct cli_output *output, const struct perf_data_record *record)
{
    dump_put(output, record->context_switch.is_out ? " out" : " in");
    if (record->context_switch.is_preempted)
        dump_put(output, " preempted");
    if (record->kind == PERF_DATA_SWITCH_CPU_WIDE)
        dump_print(output, " other=%" PRId32 "/%" PRId32, (int32_t)record->context_switch.other_pid,
                   (int32_t)record->context_switch.other_tid);
}

static void put_contents(const struct perf_dump *dump, const struct perf_data_record *record)
{
    struct cli_output *output = dump->form.output;

    if (record->cpu != UINT32_MAX)
        dump_print(output, " cpu=%" PRIu32, record->cpu);
    switch (record->kind) {
    case PERF_DATA_SAMPLE:
        put_sample(dump, record);
        break;
    case PERF_DATA_MMAP:
    case PERF_DATA_MMAP2:
        put_mapping(output, &record->mapping);
        break;
    case PERF_DATA_COMM:
        put_text(output, " name=", record->comm.name);
        dump_put(output, record->comm.is_exec ? " exec" : "");
        break;
    case PERF_DATA_FORK:
    case PERF_DATA_EXIT:
        dump_print(output, " parent=%" PRId32 "/%" PRId32, (int32_t)record->task.parent_pid,
                   (int32_t)record->task.parent_tid);
        break;
    case PERF_DATA_LOST:
    case PERF_DATA_LOST_SAMPLES:
        dump_print(output, " count=%" PRIu64, record->lost);
        break;
    case PERF_DATA_SWITCH:
    case PERF_DATA_SWITCH_CPU_WIDE:
        put_switch(output, record);
        break;
    case PERF_DATA_KSYMBOL:
        dump_print(output, " address=0x%" PRIx64 " length=%" PRIu32 "%s", record->ksymbol.address,
                   record->ksymbol.length, record->ksymbol.is_gone ? " gone" : "");
        put_text(output, " name=", record->ksymbol.name);
        break;
    case PERF_DATA_CALLCHAIN_DEFERRED:
        dump_print(output, " cookie=%" PRIu64 " chain", record->deferred.cookie);
        put_chain(dump, record->deferred.chain);
        break;
    case PERF_DATA_AUXTRACE:
        dump_print(output, " bytes=%" PRIu64, record->auxtrace.length);
        break;
    default:
        break;
    }
}

/* "SAMPLE", or "type-99".  */
static const char *kind_name(uint32_t kind, char text[24])
{
    const char *name = perf_data_kind_name(kind);

    if (name)
        return name;
    (void)snprintf(text, 24, "type-%" PRIu32, kind);
    return text;
}

static void show_text(const struct perf_dump *dump, const struct perf_data_record *record)
{
    char time[32] = "-", thread[48] = "-", number[24];

    if (record->has_time)
        (void)snprintf(time, sizeof time, "%" PRIu64, record->time_ns);
    if (record->pid != UINT32_MAX || record->tid != UINT32_MAX)
        (void)snprintf(thread, sizeof thread, "%" PRId32 "/%" PRId32, (int32_t)record->pid,
                       (int32_t)record->tid);
    dump_head(&dump->form, record->offset, time, thread, kind_name(record->kind, number));
    put_contents(dump, record);
    dump_put(dump->form.output, "\n");
    if (dump->options->hex)
        dump_hex(&dump->form, record->offset, record->bytes, record->size);
}

/* ---- JSON ---- */

static void json_chain(struct json *json, const struct perf_dump *dump,
                       struct perf_data_words chain)
{
    json_open(json, "chain", '[');
    for (size_t i = 0; i < chain.count; i++)
        json_address(json, NULL, perf_data_word(dump->data, chain, i));
    json_close(json, ']');
}

static void json_sample(struct json *json, const struct perf_dump *dump,
                        const struct perf_data_record *record)
{
    const struct perf_data_sample *sample = &record->sample;

    json_text(json, "event", perf_data_event(dump->data, record->event)->name);
    json_unsigned(json, "period", sample->period);
    json_address(json, "ip", sample->ip);
    if (sample->address)
        json_address(json, "address", sample->address);
    if (sample->raw_size)
        json_hex(json, "raw", sample->raw, sample->raw_size);
    if (sample->branches.count)
        json_unsigned(json, "branches", sample->branches.count / 3);
    if (sample->user.abi)
        json_unsigned(json, "registers", sample->user.values.count);
    if (sample->stack_size)
        json_unsigned(json, "stack_bytes", sample->stack_size);
    json_chain(json, dump, sample->chain);
}

static void json_mapping(struct json *json, const struct perf_data_mapping *mapping)
{
    json_address(json, "start", mapping->start);
    json_address(json, "length", mapping->length);
    json_address(json, "file_offset", mapping->file_offset);
    json_bool(json, "data", mapping->is_data);
    if (mapping->build_id_length)
        json_hex(json, "build_id", mapping->build_id, mapping->build_id_length);
    json_text(json, "name", mapping->name);
}

static void json_switch(struct json *json, const struct perf_data_record *record)
{
    json_bool(json, "out", record->context_switch.is_out);
    json_bool(json, "preempted", record->context_switch.is_preempted);
    if (record->kind == PERF_DATA_SWITCH_CPU_WIDE) {
        json_number(json, "other_pid", (int32_t)record->context_switch.other_pid);
        json_number(json, "other_tid", (int32_t)record->context_switch.other_tid);
    }
}

static void json_contents(struct json *json, const struct perf_dump *dump,
                          const struct perf_data_record *record)
{
    switch (record->kind) {
    case PERF_DATA_SAMPLE:
        json_sample(json, dump, record);
        break;
    case PERF_DATA_MMAP:
    case PERF_DATA_MMAP2:
        json_mapping(json, &record->mapping);
        break;
    case PERF_DATA_COMM:
        json_text(json, "name", record->comm.name);
        json_bool(json, "exec", record->comm.is_exec);
        break;
    case PERF_DATA_FORK:
    case PERF_DATA_EXIT:
        json_number(json, "parent_pid", (int32_t)record->task.parent_pid);
        json_number(json, "parent_tid", (int32_t)record->task.parent_tid);
        break;
    case PERF_DATA_LOST:
    case PERF_DATA_LOST_SAMPLES:
        json_unsigned(json, "count", record->lost);
        break;
    case PERF_DATA_SWITCH:
    case PERF_DATA_SWITCH_CPU_WIDE:
        json_switch(json, record);
        break;
    case PERF_DATA_KSYMBOL:
        json_address(json, "address", record->ksymbol.address);
        json_unsigned(json, "length", record->ksymbol.length);
        json_bool(json, "gone", record->ksymbol.is_gone);
        json_text(json, "name", record->ksymbol.name);
        break;
    case PERF_DATA_CALLCHAIN_DEFERRED:
        json_unsigned(json, "cookie", record->deferred.cookie);
        json_chain(json, dump, record->deferred.chain);
        break;
    case PERF_DATA_AUXTRACE:
        json_unsigned(json, "bytes", record->auxtrace.length);
        break;
    default:
        break;
    }
}

static void show_json(const struct perf_dump *dump, const struct perf_data_record *record)
{
    struct json json = { .output = dump->form.output };
    char number[24];

    json_open(&json, NULL, '{');
    json_unsigned(&json, "offset", record->offset);
    json_unsigned(&json, "size", record->size);
    json_text(&json, "type", kind_name(record->kind, number));
    if (record->has_time)
        json_unsigned(&json, "ts_ns", record->time_ns);
    if (record->pid != UINT32_MAX)
        json_unsigned(&json, "pid", record->pid);
    if (record->tid != UINT32_MAX)
        json_unsigned(&json, "tid", record->tid);
    if (record->cpu != UINT32_MAX)
        json_unsigned(&json, "cpu", record->cpu);
    json_contents(&json, dump, record);
    if (dump->options->hex)
        json_hex(&json, "bytes", record->bytes, record->size);
    json_close(&json, '}');
    json_end_line(&json);
}

/* ---- --stats ---- */

static void count(struct perf_dump *dump, const struct perf_data_record *record)
{
    size_t events = perf_data_event_count(dump->data);

    dump->total++;
    dump->kinds[record->kind < 128 ? record->kind : 0]++;
    if (record->has_time) {
        if (!dump->has_time || record->time_ns < dump->first_ns)
            dump->first_ns = record->time_ns;
        if (!dump->has_time || record->time_ns > dump->last_ns)
            dump->last_ns = record->time_ns;
        dump->has_time = true;
    }
    if (record->kind == PERF_DATA_LOST || record->kind == PERF_DATA_LOST_SAMPLES)
        dump->lost += record->lost;
    if (record->kind != PERF_DATA_SAMPLE)
        return;
    dump->events = cli_grow(dump->events, &dump->event_capacity, events, sizeof *dump->events);
    for (; dump->event_count < events; dump->event_count++)
        dump->events[dump->event_count] = 0;
    dump->events[record->event]++;
}

/* What the file says of the machine and of perf, as far as it does.  */
struct fact {
    const char *key, *label, *text;
};

enum { FACTS = 7 };

static void facts_of(const struct perf_dump *dump, struct fact facts[FACTS])
{
    const struct perf_data_facts *from = perf_data_facts(dump->data);

    facts[0] = (struct fact){ "host", "host", from->host };
    facts[1] = (struct fact){ "kernel", "kernel", from->kernel };
    facts[2] = (struct fact){ "arch", "machine", from->arch };
    facts[3] = (struct fact){ "cpu", "CPU", from->cpu };
    facts[4] = (struct fact){ "cpuid", "CPUID", from->cpuid };
    facts[5] = (struct fact){ "perf_version", "perf", from->perf_version };
    facts[6] = (struct fact){ "command", "command", from->command };
}

static void facts_text(const struct perf_dump *dump)
{
    struct fact facts[FACTS];

    facts_of(dump, facts);
    for (size_t i = 0; i < FACTS; i++) {
        if (!facts[i].text || !*facts[i].text)
            continue;
        dump_print(dump->form.output, "%15s", facts[i].label);
        put_text(dump->form.output, "  ", facts[i].text);
        dump_put(dump->form.output, "\n");
    }
    if (perf_data_build_id_count(dump->data) > 0)
        dump_print(dump->form.output, "%15zu  files with a build ID\n",
                   perf_data_build_id_count(dump->data));
}

static void facts_json(struct json *json, const struct perf_dump *dump)
{
    struct fact facts[FACTS];

    facts_of(dump, facts);
    for (size_t i = 0; i < FACTS; i++)
        if (facts[i].text)
            json_text(json, facts[i].key, facts[i].text);
    json_open(json, "build_ids", '[');
    for (size_t i = 0; i < perf_data_build_id_count(dump->data); i++) {
        const struct perf_data_build_id *id = perf_data_build_id(dump->data, i);

        json_open(json, NULL, '{');
        json_text(json, "name", id->name);
        json_hex(json, "build_id", id->bytes, id->length);
        json_bool(json, "kernel", id->is_kernel);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void stats_text(const struct perf_dump *dump)
{
    struct cli_output *output = dump->form.output;
    char number[24];

    if (dump->options->several) {
        put_text(output, "", dump->path);
        dump_put(output, ":\n");
    }
    for (uint32_t kind = 0; kind < 128; kind++)
        if (dump->kinds[kind])
            dump_print(output, "%15s  %s\n", cli_grouped(dump->kinds[kind]),
                       kind_name(kind, number));
    for (size_t i = 0; i < dump->event_count; i++) {
        dump_print(output, "%15s", cli_grouped(dump->events[i]));
        put_text(output, "  samples of ", perf_data_event(dump->data, i)->name);
        dump_put(output, "\n");
    }
    dump_print(output, "%15s  records\n", cli_grouped(dump->total));
    if (dump->lost)
        dump_print(output, "%15s  lost\n", cli_grouped(dump->lost));
    if (dump->has_time)
        dump_print(output, "%15s  ns, from %" PRIu64 " to %" PRIu64 "\n",
                   cli_grouped(dump->last_ns - dump->first_ns), dump->first_ns, dump->last_ns);
    facts_text(dump);
}

static void stats_json(const struct perf_dump *dump)
{
    struct json json = { .output = dump->form.output };
    char number[24];

    json_open(&json, NULL, '{');
    if (dump->options->several)
        json_text(&json, "path", dump->path);
    json_open(&json, "records", '{');
    for (uint32_t kind = 0; kind < 128; kind++)
        if (dump->kinds[kind])
            json_unsigned(&json, kind_name(kind, number), dump->kinds[kind]);
    json_close(&json, '}');
    json_open(&json, "events", '[');
    for (size_t i = 0; i < dump->event_count; i++) {
        json_open(&json, NULL, '{');
        json_text(&json, "name", perf_data_event(dump->data, i)->name);
        json_unsigned(&json, "samples", dump->events[i]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_unsigned(&json, "lost", dump->lost);
    if (dump->has_time) {
        json_unsigned(&json, "first_ns", dump->first_ns);
        json_unsigned(&json, "last_ns", dump->last_ns);
    }
    facts_json(&json, dump);
    json_close(&json, '}');
    json_end_line(&json);
}

/* ---- One file ---- */

/* Whether --pid, --tid, --time and --offset let the record through.  */
static bool is_wanted(struct perf_dump *dump, const struct perf_data_record *record)
{
    const struct fxt_provider provider = { .id = 0 };
    const struct fxt_record like = {
        .kind = FXT_RECORD_EVENT,
        .provider = &provider,
        .has_time = record->has_time && record->time_ns <= INT64_MAX,
        .ts_ns = (int64_t)record->time_ns,
        .has_thread = record->pid != UINT32_MAX,
        .thread = { .process = record->pid, .thread = record->tid },
    };

    if (dump->options->has_offset && record->offset + record->size <= dump->options->offset)
        return false;
    return cli_select_record(&dump->select, &like);
}

static void take(struct perf_dump *dump, const struct perf_data_record *record)
{
    if (!is_wanted(dump, record) || dump->options->verify)
        return;
    if (dump->options->stats)
        count(dump, record);
    else if (dump->options->json)
        show_json(dump, record);
    else
        show_text(dump, record);
}

/* The descriptor to read: of the file, standard input or a copy of it; -1 with a message.  The form
 * of files has its tables at the end: what comes through a pipe is copied first.  */
static int open_input(const char *path, const char *label)
{
    char start[PERF_DATA_FORM_BYTES];
    size_t known = cli_input_peek(path, start, sizeof start);
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : cli_input_open(path);
    int copy;

    if (fd < 0)
        cli_error("%s: %s", label, strerror(errno));
    if (fd < 0 || lseek(fd, 0, SEEK_CUR) >= 0 || perf_data_is_pipe(start, known))
        return fd;
    copy = cli_input_copy_fd(label, fd);
    (void)close(fd);
    return copy;
}

static enum cli_exit finish(const struct perf_dump *dump, enum perf_data_status status,
                            const struct perf_data_error *error)
{
    char damage[400];
    bool is_damaged = perf_data_describe(perf_data_notices_of(dump->data), damage, sizeof damage);

    if (dump->options->stats)
        (dump->options->json ? stats_json : stats_text)(dump);
    (void)cli_output_flush(dump->form.output); /* records before complaints about them */
    if (is_damaged)
        cli_error("%s: damaged: %s", dump->path, damage);
    if (status != PERF_DATA_END && dump->form.output->failed == 0)
        cli_error("%s: %s", dump->path, error->message);
    return cli_worse(is_damaged ? CLI_DAMAGED : CLI_OK,
                     status == PERF_DATA_END || dump->form.output->failed ? CLI_OK
                                                                          : CLI_ENVIRONMENT);
}

static enum cli_exit dump_records(struct perf_dump *dump)
{
    const struct perf_data_record *record;
    struct perf_data_error error;
    enum perf_data_status status = PERF_DATA_OK;

    while (dump->form.output->failed == 0 &&
           (status = perf_data_next(dump->data, &record, &error)) == PERF_DATA_OK)
        take(dump, record);
    return finish(dump, status, &error);
}

enum cli_exit dump_perf(const char *path, const struct dump_perf_options *options,
                        const struct dump_form *form)
{
    struct perf_dump dump = { .options = options,
                              .form = *form,
                              .select = *options->select,
                              .path = strcmp(path, "-") == 0 ? "standard input" : path };
    struct perf_data_error error;
    enum cli_exit status = CLI_ENVIRONMENT;
    int fd = open_input(path, dump.path);

    if (fd < 0)
        return CLI_ENVIRONMENT;
    if (perf_data_open(fd, NULL, &dump.data, &error) == PERF_DATA_OK) {
        status = dump_records(&dump);
    } else {
        cli_error("%s: %s", dump.path, error.message);
        if (error.status == PERF_DATA_MALFORMED)
            status = CLI_DAMAGED;
    }
    perf_data_close(dump.data);
    cli_select_start(&dump.select);
    free(dump.events);
    (void)close(fd);
    return status;
}
