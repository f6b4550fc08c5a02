/* insn_check - compares what libinsn decodes with the instructions that were stepped.
 *
 *   insn_check TRACE STEPS [THREADS [PIECE-BYTES]]
 *
 * TRACE and STEPS are of one "sampler-capture insn --simulate --steps STEPS".  The blocks of each
 * thread must be its instructions, from the first to the last; where packets were lost, they must
 * be found again further on.  And libipt's block decoder alone must find the same steps, with the
 * same times.  Prints NAME=NUMBER lines; status 1 when something differs.
 *
 *   stepped    instructions in STEPS
 *   equal      of them, those that were decoded in their place
 *   lost       passed over, where packets were lost or could not be decoded
 *   overflows, gaps, gap_bytes, bytes, streams  */
#include <fxt/fxt.h>
#include <fxt/insn.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/step_digest.h"

#define MAX_THREADS   256
#define MAX_PROCESSES 64
#define MAX_MODULES   1024

/* One thread's steps, in order.  */
struct truth {
    uint64_t tid;
    uint64_t *ips;
    size_t count, room, at;
    bool searching; /* after a loss */
};

struct process {
    uint64_t koid;
    struct insn_space *space;
};

struct stream {
    uint64_t process, thread;
    struct insn_stream *stream;
    struct insn_stream *plain; /* the same, with libipt's block decoder alone */
    struct step_digest digest, plain_digest;
    struct process *of;
    struct truth *truth;
    uint64_t offset;        /* of the next packets */
    struct insn_step *held; /* after a loss: all blocks up to the next one, since loops repeat */
    size_t held_count, held_room;
};

struct module {
    uint64_t process;
    uint16_t id;
    char path[512];
};

static struct {
    struct insn_code *code;
    struct truth truths[MAX_THREADS];
    struct process processes[MAX_PROCESSES];
    struct stream streams[MAX_THREADS];
    struct module modules[MAX_MODULES];
    size_t truth_count, process_count, stream_count, module_count;
    unsigned threads;
    uint32_t piece_bytes;
    uint64_t equal, lost, stepped, differences;
    struct insn_totals totals;
} state;

static void die(const char *what)
{
    (void)fprintf(stderr, "insn_check: %s\n", what);
    exit(2);
}

static struct truth *truth_of(uint64_t tid)
{
    for (size_t i = 0; i < state.truth_count; i++)
        if (state.truths[i].tid == tid)
            return &state.truths[i];
    if (state.truth_count == MAX_THREADS)
        die("too many threads");
    state.truths[state.truth_count].tid = tid;
    return &state.truths[state.truth_count++];
}

static void read_truth(const char *path)
{
    FILE *file = fopen(path, "rbe");
    uint8_t entry[16];

    if (!file)
        die(path);
    while (fread(entry, sizeof entry, 1, file) == 1) {
        struct truth *truth = truth_of(fxt_load_u64(entry));

        if (truth->count == truth->room) {
            truth->room = truth->room ? 2 * truth->room : 4096;
            truth->ips = realloc(truth->ips, truth->room * sizeof *truth->ips);
            if (!truth->ips)
                die("out of memory");
        }
        truth->ips[truth->count++] = fxt_load_u64(entry + 8);
        state.stepped++;
    }
    (void)fclose(file);
}

/* ---- Comparing ---- */

static bool block_is_at(const struct truth *truth, size_t at, const struct insn_step *block)
{
    return block->count <= truth->count - at && truth->ips[at] == block->ip &&
           truth->ips[at + block->count - 1] == block->last_ip;
}

static void differ(struct stream *stream, const struct insn_step *block)
{
    struct truth *truth = stream->truth;

    if (state.differences++ < 5)
        (void)fprintf(stderr,
                      "thread %" PRIu64 ", instruction %zu: %" PRIx64 "..%" PRIx64
                      " (%u), not %" PRIx64 "\n",
                      truth->tid, truth->at, block->ip, block->last_ip, block->count,
                      truth->at < truth->count ? truth->ips[truth->at] : 0);
}

static void take_block(struct stream *stream, const struct insn_step *block)
{
    struct truth *truth = stream->truth;

    if (block_is_at(truth, truth->at, block)) {
        truth->at += block->count;
        state.equal += block->count;
    } else {
        differ(stream, block);
    }
}

static bool held_is_at(const struct stream *stream, size_t at)
{
    for (size_t i = 0; i < stream->held_count; i++) {
        if (!block_is_at(stream->truth, at, &stream->held[i]))
            return false;
        at += stream->held[i].count;
    }
    return true;
}

/* Where the last blocks of a thread are if they are its last instructions; else where it is.  */
static size_t place_of_last(const struct stream *stream)
{
    const struct truth *truth = stream->truth;
    size_t count = 0;

    for (size_t i = 0; i < stream->held_count; i++)
        count += stream->held[i].count;
    if (count > truth->count - truth->at || !held_is_at(stream, truth->count - count))
        return truth->at;
    return truth->count - count;
}

/* Find the place of the blocks that came after a loss; the last ones of a thread, which may be like
 * others before them, are looked for at its end.  */
static void search(struct stream *stream, bool is_last)
{
    struct truth *truth = stream->truth;
    size_t at = truth->at;

    if (!truth->searching)
        return;
    truth->searching = stream->held_count == 0 && is_last;
    if (stream->held_count == 0)
        return;
    if (is_last)
        at = place_of_last(stream);
    while (at < truth->count && !held_is_at(stream, at))
        at++;
    if (at == truth->count) {
        differ(stream, &stream->held[0]);
    } else {
        state.lost += at - truth->at;
        truth->at = at;
        for (size_t i = 0; i < stream->held_count; i++)
            take_block(stream, &stream->held[i]);
    }
    stream->held_count = 0;
}

static void hold(struct stream *stream, const struct insn_step *block)
{
    if (stream->held_count == stream->held_room) {
        stream->held_room = stream->held_room ? 2 * stream->held_room : 64;
        stream->held = realloc(stream->held, stream->held_room * sizeof *stream->held);
        if (!stream->held)
            die("out of memory");
    }
    stream->held[stream->held_count++] = *block;
}

static enum insn_status take_plain(void *context, const struct insn_step *steps, size_t count)
{
    struct stream *stream = context;

    step_digest_add(&stream->plain_digest, steps, count);
    return INSN_OK;
}

static enum insn_status take_steps(void *context, const struct insn_step *steps, size_t count)
{
    struct stream *stream = context;

    step_digest_add(&stream->digest, steps, count);
    for (size_t i = 0; i < count; i++) {
        const struct insn_step *step = &steps[i];

        if (step->kind == INSN_STEP_OVERFLOW || step->kind == INSN_STEP_GAP) {
            search(stream, false);
            stream->truth->searching = true;
        }
        if (step->kind != INSN_STEP_BLOCK)
            continue;
        if (stream->truth->searching)
            hold(stream, step);
        else
            take_block(stream, step);
    }
    return INSN_OK;
}

/* ---- Reading the trace ---- */

static struct process *process_of(uint64_t koid)
{
    struct process *process;

    for (size_t i = 0; i < state.process_count; i++)
        if (state.processes[i].koid == koid)
            return &state.processes[i];
    if (state.process_count == MAX_PROCESSES)
        die("too many processes");
    process = &state.processes[state.process_count++];
    process->koid = koid;
    if (insn_space_open(state.code, &process->space, NULL) != INSN_OK)
        die("no space");
    return process;
}

static void finish(struct stream *stream)
{
    const struct insn_totals *totals;

    if (!stream->stream)
        return;
    if (insn_stream_finish(stream->stream, NULL) != INSN_OK ||
        insn_stream_finish(stream->plain, NULL) != INSN_OK)
        die("finish failed");
    if (!step_digest_is_equal(&stream->digest, &stream->plain_digest)) {
        state.differences++;
        (void)fprintf(stderr, "thread %" PRIu64 ": libipt's block decoder finds something else\n",
                      stream->thread);
    }
    search(stream, true);
    totals = insn_stream_totals(stream->stream);
    state.totals.bytes += totals->bytes;
    state.totals.overflows += totals->overflows;
    for (size_t i = 0; i < INSN_GAP_REASONS; i++) {
        state.totals.gaps[0] += totals->gaps[i];
        state.totals.gap_bytes[0] += totals->gap_bytes[i];
    }
    insn_stream_close(stream->stream);
    insn_stream_close(stream->plain);
    stream->stream = stream->plain = NULL;
    free(stream->held);
    stream->held = NULL;
}

static uint64_t number(const struct fxt_record *record, const char *name)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);

    return arg && (arg->type == FXT_ARG_UINT64 || arg->type == FXT_ARG_POINTER) ? arg->value.uint64
                                                                                : 0;
}

static struct stream *stream_of(const struct fxt_record *record)
{
    struct insn_stream_options options = { .size = sizeof options,
                                           .threads = state.threads,
                                           .piece_bytes = state.piece_bytes };
    struct stream *stream;

    for (size_t i = 0; i < state.stream_count; i++)
        if (state.streams[i].process == record->thread.process &&
            state.streams[i].thread == record->thread.thread)
            return &state.streams[i];
    if (state.stream_count == MAX_THREADS)
        die("too many threads");
    stream = &state.streams[state.stream_count++];
    stream->process = record->thread.process;
    stream->thread = record->thread.thread;
    stream->of = process_of(stream->process);
    stream->truth = truth_of(stream->thread & 0xffffffff);
    /* The thread had another program before.  */
    for (size_t i = 0; i + 1 < state.stream_count; i++)
        if (state.streams[i].truth == stream->truth)
            finish(&state.streams[i]);
    options.config.mtc_freq = (uint8_t)number(record, "mtc_freq");
    options.config.nom_freq = (uint8_t)number(record, "nom_freq");
    options.config.cpuid_0x15_eax = (uint32_t)number(record, "cpuid_0x15_eax");
    options.config.cpuid_0x15_ebx = (uint32_t)number(record, "cpuid_0x15_ebx");
    if (number(record, "cut") || number(record, "offset")) /* its first packets are missing */
        stream->truth->searching = true;
    if (insn_stream_open(&options, stream->of->space, take_steps, stream, &stream->stream, NULL) !=
        INSN_OK)
        die("no stream");
    options.is_plain = true;
    if (insn_stream_open(&options, stream->of->space, take_plain, stream, &stream->plain, NULL) !=
        INSN_OK)
        die("no stream");
    return stream;
}

static void flush(const struct process *process)
{
    for (size_t i = 0; i < state.stream_count; i++)
        if (state.streams[i].of == process && state.streams[i].stream &&
            (insn_stream_flush(state.streams[i].stream, NULL) != INSN_OK ||
             insn_stream_flush(state.streams[i].plain, NULL) != INSN_OK))
            die("flush failed");
}

static void take_code(const struct fxt_record *record)
{
    struct process *process = process_of(record->thread.process);
    struct fxt_bytes payload = record->value.large_blob.payload;
    uint32_t section;

    flush(process);
    if (insn_code_add(state.code, payload.bytes, payload.length, &section, NULL) != INSN_OK ||
        insn_space_map(process->space, number(record, "address"), section, 0, payload.length,
                       NULL) != INSN_OK)
        die("code that cannot be mapped");
}

static void take_module(const struct fxt_record *record)
{
    struct module *module;

    if (state.module_count == MAX_MODULES)
        die("too many modules");
    module = &state.modules[state.module_count++];
    module->process = record->thread.process;
    module->id = record->value.module.id;
    (void)snprintf(module->path, sizeof module->path, "%.*s", (int)record->name.length,
                   record->name.bytes);
}

/* The bytes of the file at vaddr, by its program headers.  */
static void map_file(struct process *process, const char *path, const struct fxt_record *record)
{
    FILE *file = fopen(path, "rbe");
    uint64_t vaddr = record->value.mapping.vaddr, length = record->value.mapping.length;
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint8_t *bytes = malloc(length);
    uint32_t section;

    if (file && bytes && fread(&header, sizeof header, 1, file) == 1) {
        for (unsigned i = 0; i < header.e_phnum; i++) {
            if (fseek(file, (long)(header.e_phoff + i * sizeof segment), SEEK_SET) != 0 ||
                fread(&segment, sizeof segment, 1, file) != 1)
                break;
            if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
                vaddr / 4096 != segment.p_vaddr / 4096)
                continue;
            if (fseek(file, (long)(segment.p_offset + vaddr - segment.p_vaddr), SEEK_SET) == 0) {
                size_t size = fread(bytes, 1, length, file);

                if (size > 0 &&
                    (insn_code_add(state.code, bytes, size, &section, NULL) != INSN_OK ||
                     insn_space_map(process->space, record->value.mapping.start, section, 0, size,
                                    NULL) != INSN_OK))
                    die("a module that cannot be mapped");
            }
        }
    }
    if (file)
        (void)fclose(file);
    free(bytes);
}

static void take_mapping(const struct fxt_record *record)
{
    struct process *process = process_of(record->thread.process);

    flush(process);
    for (size_t i = 0; i < state.module_count; i++)
        if (state.modules[i].process == record->thread.process &&
            state.modules[i].id == record->value.mapping.module_id &&
            state.modules[i].path[0] == '/')
            map_file(process, state.modules[i].path, record);
}

static bool is_named(const struct fxt_record *record, const char *name)
{
    return record->category.length == 9 && memcmp(record->category.bytes, "insntrace", 9) == 0 &&
           record->name.length == strlen(name) &&
           memcmp(record->name.bytes, name, record->name.length) == 0;
}

static void take_packets(const struct fxt_record *record)
{
    struct fxt_bytes payload = record->value.large_blob.payload;
    struct stream *stream = stream_of(record);

    if ((number(record, "cut") || number(record, "offset") != stream->offset) &&
        (insn_stream_break(stream->stream, NULL) != INSN_OK ||
         insn_stream_break(stream->plain, NULL) != INSN_OK))
        die("break failed");
    stream->offset = number(record, "offset") + payload.length;
    if (insn_stream_feed(stream->stream, payload.bytes, payload.length, NULL) != INSN_OK ||
        insn_stream_feed(stream->plain, payload.bytes, payload.length, NULL) != INSN_OK)
        die("feed failed");
}

static void take(const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_MODULE:
        take_module(record);
        break;
    case FXT_RECORD_MAPPING:
        take_mapping(record);
        break;
    case FXT_RECORD_LARGE_BLOB:
        if (is_named(record, "code"))
            take_code(record);
        else if (is_named(record, "pt"))
            take_packets(record);
        break;
    default:
        break;
    }
}

static void read_trace(const char *path)
{
    const struct fxt_input_options options = { .size = sizeof options };
    const struct fxt_record *record;
    struct fxt_reader *reader = NULL;
    struct fxt_input *input = NULL;
    struct fxt_input_options file = options;
    FILE *opened = fopen(path, "rbe");

    if (!opened)
        die(path);
    file.fd = fileno(opened);
    if (fxt_input_open(&file, &input, NULL) != FXT_OK ||
        fxt_reader_open(input, NULL, &reader, NULL) != FXT_OK)
        die(path);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK)
        take(record);
    fxt_reader_close(reader);
    fxt_input_close(input);
    (void)fclose(opened);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 5)
        die("insn_check TRACE STEPS [THREADS [PIECE-BYTES]]");
    state.threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    state.piece_bytes = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    if (insn_code_open(&state.code, NULL) != INSN_OK)
        die("no memory for code");
    read_truth(argv[2]);
    read_trace(argv[1]);
    for (size_t i = 0; i < state.stream_count; i++)
        finish(&state.streams[i]);
    for (size_t i = 0; i < state.truth_count; i++) {
        struct truth *truth = &state.truths[i];

        if (truth->searching)
            state.lost += truth->count - truth->at;
        else if (truth->at < truth->count)
            state.differences++;
        free(truth->ips);
    }
    for (size_t i = 0; i < state.process_count; i++)
        insn_space_close(state.processes[i].space);
    insn_code_close(state.code);
    (void)printf("stepped=%" PRIu64 "\nequal=%" PRIu64 "\nlost=%" PRIu64 "\noverflows=%" PRIu64
                 "\ngaps=%" PRIu64 "\ngap_bytes=%" PRIu64 "\nbytes=%" PRIu64 "\nstreams=%zu\n",
                 state.stepped, state.equal, state.lost, state.totals.overflows,
                 state.totals.gaps[0], state.totals.gap_bytes[0], state.totals.bytes,
                 state.stream_count);
    return state.differences > 0;
}
