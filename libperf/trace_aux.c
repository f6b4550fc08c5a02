/* trace_aux.c - packets of Intel PT: of buffers of CPUs or threads to records of threads.
 *
 * A buffer's bytes come in pieces, which may be in the file before or after the records of the same
 * time.  So all places of pieces are found first where the file can be read again (otherwise the
 * bytes are kept in a temporary file as they come), and packets are passed on up to the time of
 * each record that changes what they mean: a context switch, an exec, code that replaces other
 * code.  Libinsn divides them; they are not decoded here.  */
#include "libperf/trace_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"

#include <fxt/insn.h>

#define FEED_BYTES ((size_t)64 << 10)
#define BLOB_BYTES ((size_t)256 << 10)
#define MOST_CPUS  65536U
#define PADDING    8U /* zeros at the end of a piece are fewer */
#define UNKNOWN    0U /* the first owner */

struct aux_owner {
    uint32_t pid, tid; /* 0: no record has named them yet */
    uint64_t koid;     /* of the thread when it became an owner */
    bool is_cut;       /* packets before the next ones are missing */
};

struct aux_buffer {
    struct trace_aux *aux;
    uint32_t cpu, tid;                 /* of a CPU, or else of a thread */
    struct perf_data_auxtrace *pieces; /* owned; in the order of the file */
    size_t count, capacity;
    size_t piece;  /* that is read now */
    uint64_t done; /* bytes of it */
    struct insn_splitter *splitter;
    uint64_t owner; /* index, or INSN_NO_THREAD */
};

struct trace_aux {
    struct perf_trace *trace;
    struct perf_data_intel_pt facts;
    struct insn_config config;
    struct aux_buffer **buffers; /* owned */
    size_t count, capacity;
    struct aux_owner *owners;
    size_t owner_count, owner_capacity;
    uint64_t found; /* offset of the last place that was found ahead */
    int spool;      /* bytes of a file that cannot be read again; -1: none */
    uint64_t spooled;
    uint8_t *bytes; /* FEED_BYTES */
};

static bool no_memory(struct perf_trace *trace)
{
    trace->failure = ENOMEM;
    return false;
}

/* ---- Pieces ---- */

/* The buffer of a CPU, or of a thread, made if it is new.  NULL: no memory.  */
static struct aux_buffer *buffer_of(struct trace_aux *aux, uint32_t cpu, uint32_t tid)
{
    struct aux_buffer *buffer;

    for (size_t i = 0; i < aux->count; i++) {
        buffer = aux->buffers[i];
        if (buffer->cpu == cpu && (cpu != UINT32_MAX || buffer->tid == tid))
            return buffer;
    }
    if (!base_make_room(&aux->buffers, &aux->capacity, aux->count + 1, sizeof(void *)))
        return NULL;
    buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    *buffer = (struct aux_buffer){ .aux = aux, .cpu = cpu, .tid = tid, .owner = UNKNOWN };
    aux->buffers[aux->count++] = buffer;
    return buffer;
}

static bool add_piece(struct trace_aux *aux, const struct perf_data_auxtrace *place)
{
    struct aux_buffer *buffer;

    if (place->cpu != UINT32_MAX && place->cpu >= MOST_CPUS) {
        aux->trace->counts.far_bytes += place->length;
        return true;
    }
    buffer = buffer_of(aux, place->cpu, place->tid);
    if (!buffer || !base_make_room(&buffer->pieces, &buffer->capacity, buffer->count + 1,
                                   sizeof *buffer->pieces))
        return no_memory(aux->trace);
    buffer->pieces[buffer->count++] = *place;
    return true;
}

static bool take_found(void *context, const struct perf_data_auxtrace *place)
{
    struct trace_aux *aux = context;

    aux->found = place->offset;
    return add_piece(aux, place);
}

static bool fail_spool(struct perf_trace *trace, int failure)
{
    trace->failure = trace->counts.spool_failure = failure;
    return false;
}

/* Keep the bytes of a file that is read once.  */
static bool spool(struct trace_aux *aux, struct perf_data_auxtrace *place)
{
    struct perf_trace *trace = aux->trace;
    uint64_t left = place->length;
    size_t got = 1;
    int failure = 0;

    if (aux->spool < 0)
        aux->spool = base_temporary_file(base_temporary_dir(NULL));
    if (aux->spool < 0)
        return fail_spool(trace, errno);
    place->offset = aux->spooled;
    while (failure == 0 && left > 0 && got > 0) {
        got = perf_data_auxtrace_next(trace->data, aux->bytes,
                                      left < FEED_BYTES ? (size_t)left : FEED_BYTES);
        failure = base_write_all(aux->spool, aux->bytes, got);
        aux->spooled += got;
        left -= got;
    }
    place->length -= left;
    return failure == 0 || fail_spool(trace, failure);
}

/* Returns how many bytes there are; 0 also after a failure of the temporary file.  */
static size_t read_bytes(const struct trace_aux *aux, uint64_t offset, size_t size)
{
    int failure;

    if (aux->spool < 0)
        return perf_data_auxtrace_read(aux->trace->data, offset, aux->bytes, size);
    failure = base_read_at(aux->spool, aux->bytes, size, offset);
    return failure == 0 || fail_spool(aux->trace, failure) ? size : 0;
}

/* ---- Times ---- */

static uint64_t ticks_at(const struct trace_aux *aux, uint64_t time_ns)
{
    uint64_t since = time_ns - aux->facts.time_zero; /* which may be negative, as it is here */
    unsigned shift = (unsigned)aux->facts.time_shift;

    if (since > INT64_MAX)
        return 0;
    return (since / aux->facts.time_mult << shift) +
           ((since % aux->facts.time_mult) << shift) / aux->facts.time_mult;
}

static uint64_t time_at(const struct trace_aux *aux, uint64_t ticks)
{
    uint64_t low = ticks & ((UINT64_C(1) << aux->facts.time_shift) - 1);

    return trace_time(aux->facts.time_zero +
                      (ticks >> aux->facts.time_shift) * aux->facts.time_mult +
                      (low * aux->facts.time_mult >> aux->facts.time_shift));
}

/* ---- Records ---- */

/* Of packets: these, and two more where they are known or true.  */
enum { ARGUMENTS = 11, MOST_ARGUMENTS = ARGUMENTS + 2 };

static bool put_blob(const struct aux_buffer *buffer, struct trace_thread *thread, bool is_cut,
                     uint64_t ticks, struct fxt_bytes bytes)
{
    const struct trace_aux *aux = buffer->aux;
    struct perf_trace *trace = aux->trace;
    struct fxt_arg args[MOST_ARGUMENTS] = {
        trace_number("mtc_freq", aux->config.mtc_freq),
        trace_number("nom_freq", aux->config.nom_freq),
        trace_number("cpuid_0x15_eax", aux->config.cpuid_0x15_eax),
        trace_number("cpuid_0x15_ebx", aux->config.cpuid_0x15_ebx),
        trace_number("family", aux->config.family),
        trace_number("model", aux->config.model),
        trace_number("stepping", aux->config.stepping),
        trace_number("time_shift", aux->facts.time_shift),
        trace_number("time_mult", aux->facts.time_mult),
        trace_number("time_zero", aux->facts.time_zero),
        trace_number("offset", thread->packet_bytes),
    };
    size_t count = ARGUMENTS;
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = time_at(aux, ticks),
        .thread = { .process = trace->processes[thread->process - 1].koid, .thread = thread->koid },
        .category = fxt_inline("insntrace"),
        .name = fxt_inline("pt"),
        .args = args,
    };

    if (buffer->cpu != UINT32_MAX)
        args[count++] = trace_number("cpu", buffer->cpu);
    if (is_cut)
        args[count++] = trace_number("cut", 1);
    blob.arg_count = count;
    blob.value.large_blob.payload = bytes;
    trace->counts.packet_bytes += bytes.length;
    thread->packet_bytes += bytes.length;
    return trace_to_tool(trace) && trace_put(trace, &blob);
}

static enum insn_status take_part(void *context, uint64_t number, uint64_t ticks,
                                  const uint8_t *bytes, size_t size)
{
    struct aux_buffer *buffer = context;
    struct trace_aux *aux = buffer->aux;
    struct aux_owner *owner = &aux->owners[number];
    struct trace_thread *thread;

    if (number == UNKNOWN) {
        aux->trace->counts.unowned_bytes += size;
        return INSN_OK;
    }
    if (!trace_introduce(aux->trace))
        return INSN_STOPPED;
    thread = trace_write_tasks(aux->trace, owner->pid, owner->tid, false);
    for (size_t done = 0; thread && done < size;) {
        size_t part = size - done < BLOB_BYTES ? size - done : BLOB_BYTES;
        const struct fxt_bytes piece = { .bytes = bytes + done, .length = part };

        if (!put_blob(buffer, thread, owner->is_cut, ticks, piece))
            return INSN_STOPPED;
        owner->is_cut = false;
        done += part;
    }
    return thread ? INSN_OK : INSN_STOPPED;
}

/* ---- Owners ---- */

/* The number of a thread as it is now: after an exec it is another one.  INSN_NO_THREAD: none, or
 * no memory.  */
static uint64_t owner_of(struct trace_aux *aux, uint32_t pid, uint32_t tid)
{
    const struct trace_thread *thread;

    if (tid == 0 || tid == UINT32_MAX)
        return INSN_NO_THREAD;
    thread = trace_thread_of(aux->trace, pid, tid);
    for (size_t i = aux->owner_count; thread && i-- > 0;)
        if (aux->owners[i].koid == thread->koid && aux->owners[i].pid == pid)
            return i;
    if (!thread || !base_make_room(&aux->owners, &aux->owner_capacity, aux->owner_count + 1,
                                   sizeof *aux->owners)) {
        (void)no_memory(aux->trace);
        return INSN_NO_THREAD;
    }
    aux->owners[aux->owner_count] =
        (struct aux_owner){ .pid = pid, .tid = tid, .koid = thread->koid };
    return aux->owner_count++;
}

static bool fine(const struct trace_aux *aux, enum insn_status status)
{
    if (status == INSN_OK)
        return true;
    return aux->trace->failure != 0 ? false : no_memory(aux->trace);
}

static bool open_splitter(struct aux_buffer *buffer)
{
    struct trace_aux *aux = buffer->aux;

    insn_splitter_close(buffer->splitter);
    buffer->splitter = NULL;
    return fine(aux,
                insn_splitter_open(&aux->config, take_part, buffer, &buffer->splitter, NULL)) &&
           fine(aux, insn_splitter_switch(buffer->splitter, 0, buffer->owner, NULL));
}

/* The processor, which is known when packets are first needed: "GenuineIntel,6,85,4".  */
static void configure(struct trace_aux *aux)
{
    const char *cpuid = perf_data_facts(aux->trace->data)->cpuid;
    unsigned family = 0, model = 0, stepping = 0;

    if (cpuid && sscanf(cpuid, "GenuineIntel,%u,%u,%u", &family, &model, &stepping) == 3 &&
        family <= UINT16_MAX && model <= UINT8_MAX && stepping <= UINT8_MAX) {
        aux->config.family = (uint16_t)family;
        aux->config.model = (uint8_t)model;
        aux->config.stepping = (uint8_t)stepping;
    }
    aux->config.mtc_freq = aux->facts.mtc_freq;
    aux->config.nom_freq = aux->facts.max_nonturbo_ratio;
    aux->config.cpuid_0x15_eax = aux->facts.tsc_denominator;
    aux->config.cpuid_0x15_ebx = aux->facts.tsc_numerator;
}

/* Before its first packets.  The buffer of a thread has one owner, which waits for the record of
 * its creation; a thread without one is the first of its process.  */
static bool prepare(struct aux_buffer *buffer, bool is_last)
{
    struct trace_aux *aux = buffer->aux;
    uint32_t pid;

    if (!buffer->splitter) {
        configure(aux);
        if (!open_splitter(buffer))
            return false;
    }
    if (buffer->cpu != UINT32_MAX || buffer->owner != UNKNOWN)
        return true;
    pid = trace_pid_of(aux->trace, buffer->tid);
    if (pid == UINT32_MAX && !is_last)
        return true;
    buffer->owner = owner_of(aux, pid == UINT32_MAX ? buffer->tid : pid, buffer->tid);
    return aux->trace->failure == 0 &&
           fine(aux, insn_splitter_switch(buffer->splitter, 0, buffer->owner, NULL));
}

/* ---- Passing on ---- */

/* Whether a piece goes on where the one before ended, without the zeros at its end; snapshots do
 * not.  */
static bool follows(const struct trace_aux *aux, const struct perf_data_auxtrace *before,
                    const struct perf_data_auxtrace *piece)
{
    uint64_t end = before->ring_offset + before->length;

    return !aux->facts.is_snapshot && piece->ring_offset <= end &&
           end - piece->ring_offset < PADDING && end - piece->ring_offset <= before->length;
}

/* The bytes of a piece, without zeros that may stand inside a packet.  */
static uint64_t length_of(const struct aux_buffer *buffer)
{
    const struct perf_data_auxtrace *piece = &buffer->pieces[buffer->piece];

    if (buffer->piece + 1 < buffer->count && follows(buffer->aux, piece, piece + 1))
        return piece[1].ring_offset - piece->ring_offset;
    return piece->length;
}

/* The packets before a gap belong to one part, those after it to another.  */
static bool begin_anew(struct aux_buffer *buffer)
{
    struct trace_aux *aux = buffer->aux;

    if (!fine(aux, insn_splitter_finish(buffer->splitter, NULL)))
        return false;
    for (size_t i = 0; i < aux->owner_count; i++)
        aux->owners[i].is_cut = true;
    return open_splitter(buffer);
}

/* The next bytes of a buffer.  *any: there were some.  */
static bool feed(struct aux_buffer *buffer, bool *any)
{
    struct trace_aux *aux = buffer->aux;

    *any = false;
    while (buffer->piece < buffer->count) {
        const struct perf_data_auxtrace *piece = &buffer->pieces[buffer->piece];
        uint64_t left = length_of(buffer) - buffer->done;
        size_t size = left < FEED_BYTES ? (size_t)left : FEED_BYTES;

        if (buffer->done == 0 && buffer->piece > 0 && !follows(aux, piece - 1, piece) &&
            !begin_anew(buffer))
            return false;
        size = size > 0 ? read_bytes(aux, piece->offset + buffer->done, size) : 0;
        if (aux->trace->counts.spool_failure)
            return false;
        buffer->done += size;
        if (size == 0 || size == left) { /* also of a file that is cut */
            buffer->piece++;
            buffer->done = 0;
        }
        if (size == 0)
            continue;
        *any = true;
        return fine(aux, insn_splitter_feed(buffer->splitter, aux->bytes, size, NULL));
    }
    return true;
}

/* Pass on the packets of a buffer up to ticks, or some of them.  */
static bool pass_on(struct aux_buffer *buffer, uint64_t ticks, bool is_last)
{
    struct trace_aux *aux = buffer->aux;
    size_t before = aux->trace->used;
    bool any = true, reached = false;

    if (!prepare(buffer, is_last))
        return false;
    if (buffer->cpu == UINT32_MAX && buffer->owner == UNKNOWN)
        return true;
    while (any) {
        if (!fine(aux, insn_splitter_advance(buffer->splitter, ticks, &reached, NULL)))
            return false;
        if (aux->trace->used > before)
            return true;
        if (reached && !is_last)
            break;
        if (!feed(buffer, &any))
            return false;
    }
    return fine(aux, is_last ? insn_splitter_finish(buffer->splitter, NULL)
                             : insn_splitter_switch(buffer->splitter, ticks, buffer->owner, NULL));
}

/* Whether packets before a record mean something else than those after it.  */
static bool changes_meaning(const struct perf_trace *trace, const struct perf_data_record *record)
{
    switch (record->kind) {
    case PERF_DATA_SWITCH:
    case PERF_DATA_SWITCH_CPU_WIDE:
    case PERF_DATA_ITRACE_START:
        return record->cpu != UINT32_MAX;
    case PERF_DATA_COMM:
        return record->comm.is_exec;
    case PERF_DATA_FORK:
        return record->pid != record->task.parent_pid;
    case PERF_DATA_MMAP:
    case PERF_DATA_MMAP2:
        return trace_replaces_code(trace, record);
    default:
        return false;
    }
}

static bool is_of_cpu(const struct perf_data_record *record)
{
    return record->kind == PERF_DATA_SWITCH || record->kind == PERF_DATA_SWITCH_CPU_WIDE ||
           record->kind == PERF_DATA_ITRACE_START;
}

bool trace_aux_before(struct perf_trace *trace, const struct perf_data_record *record,
                      bool *is_done)
{
    struct trace_aux *aux = trace->aux;
    size_t before = trace->used;

    *is_done = true;
    if (!aux ||
        (record && (!record->has_time || !aux->facts.has_clock || !changes_meaning(trace, record))))
        return true;
    for (size_t i = 0; i < aux->count; i++) {
        struct aux_buffer *buffer = aux->buffers[i];

        if (record && is_of_cpu(record) && buffer->cpu != record->cpu)
            continue;
        if (!pass_on(buffer, record ? ticks_at(aux, record->time_ns) : UINT64_MAX, !record))
            return false;
        if (trace->used > before) {
            *is_done = false; /* when these bytes are read */
            return true;
        }
    }
    return true;
}

/* ---- Records that say whose packets they are ---- */

static bool set_owner(struct aux_buffer *buffer, uint64_t ticks, uint64_t owner)
{
    buffer->owner = owner;
    return fine(buffer->aux, insn_splitter_switch(buffer->splitter, ticks, owner, NULL));
}

static bool take_switch(struct trace_aux *aux, const struct perf_data_record *record)
{
    struct aux_buffer *buffer;
    uint32_t pid = record->pid, tid = record->tid;

    if (record->cpu >= MOST_CPUS || !record->has_time || !aux->facts.has_clock)
        return true;
    if (record->kind != PERF_DATA_ITRACE_START && record->context_switch.is_out) {
        bool is_known = record->kind == PERF_DATA_SWITCH_CPU_WIDE;

        pid = is_known ? record->context_switch.other_pid : 0;
        tid = is_known ? record->context_switch.other_tid : 0;
    }
    buffer = buffer_of(aux, record->cpu, 0);
    if (!buffer)
        return no_memory(aux->trace);
    if (!prepare(buffer, false))
        return false;
    return set_owner(buffer, ticks_at(aux, record->time_ns), owner_of(aux, pid, tid)) &&
           aux->trace->failure == 0;
}

bool trace_aux_exec(struct perf_trace *trace, const struct perf_data_record *record)
{
    struct trace_aux *aux = trace->aux;

    if (!aux || !record->has_time || !aux->facts.has_clock)
        return true;
    for (size_t i = 0; i < aux->count; i++) {
        struct aux_buffer *buffer = aux->buffers[i];

        if (buffer->owner == INSN_NO_THREAD || aux->owners[buffer->owner].pid != record->pid)
            continue;
        if (!set_owner(buffer, ticks_at(aux, record->time_ns),
                       owner_of(aux, record->pid, record->tid)) ||
            trace->failure != 0)
            return false;
    }
    return true;
}

static bool take_info(struct perf_trace *trace, const struct perf_data_record *record)
{
    struct trace_aux *aux;
    struct perf_data_intel_pt facts;

    if (trace->aux || !perf_data_intel_pt(trace->data, record, &facts)) {
        trace->counts.kinds[record->kind]++;
        return true;
    }
    aux = calloc(1, sizeof *aux);
    if (!aux)
        return no_memory(trace);
    trace->aux = aux;
    *aux = (struct trace_aux){
        .trace = trace, .facts = facts, .spool = -1, .bytes = malloc(FEED_BYTES)
    };
    trace->pmu_type = facts.pmu_type;
    trace->counts.has_no_packet_clock = !facts.has_clock;
    if (!aux->bytes || !base_make_room(&aux->owners, &aux->owner_capacity, 1, sizeof *aux->owners))
        return no_memory(trace);
    aux->owners[aux->owner_count++] = (struct aux_owner){ .tid = 0 };
    if (!perf_data_find_auxtrace(trace->data, record, take_found, aux))
        return no_memory(trace);
    return true;
}

static bool take_bytes(struct perf_trace *trace, const struct perf_data_record *record)
{
    struct perf_data_auxtrace place = record->auxtrace;

    if (!trace->aux) {
        trace->counts.kinds[record->kind]++;
        return true;
    }
    if (perf_data_can_seek(trace->data) && place.offset <= trace->aux->found)
        return true;
    return (perf_data_can_seek(trace->data) || spool(trace->aux, &place)) &&
           add_piece(trace->aux, &place);
}

bool trace_aux_take(struct perf_trace *trace, const struct perf_data_record *record)
{
    switch (record->kind) {
    case PERF_DATA_AUXTRACE_INFO:
        return take_info(trace, record);
    case PERF_DATA_AUXTRACE:
        return take_bytes(trace, record);
    case PERF_DATA_AUX:
        trace->counts.truncated += trace->aux && record->aux.is_truncated;
        trace->counts.kinds[record->kind] += !trace->aux;
        return true;
    default:
        trace->counts.kinds[record->kind] += !trace->aux && record->kind == PERF_DATA_ITRACE_START;
        return !trace->aux || take_switch(trace->aux, record);
    }
}

void trace_aux_release(struct perf_trace *trace)
{
    struct trace_aux *aux = trace->aux;

    if (!aux)
        return;
    for (size_t i = 0; i < aux->count; i++) {
        insn_splitter_close(aux->buffers[i]->splitter);
        free(aux->buffers[i]->pieces);
        free(aux->buffers[i]);
    }
    if (aux->spool >= 0)
        (void)close(aux->spool);
    free(aux->buffers);
    free(aux->owners);
    free(aux->bytes);
    free(aux);
}
