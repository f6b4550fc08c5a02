/* insn_perf_data - a perf.data file as `perf record -e intel_pt//u` writes it, with the packets of
 * a simulated processor.
 *
 *   insn_perf_data [cpu] [pipe] [pieces] [lossy|snapshot] [noswitch] TRACE >perf.data
 *
 * TRACE is of "sampler-capture insn --simulate" and has one process, which runs no code that is
 * in no file.  Each thread has a buffer of its own; with "cpu", where TRACE is of --mode cpu,
 * there is one buffer of a CPU, and records of context switches.  With "pipe", the file has the
 * form of pipes; with "pieces", the packets come in pieces of 4,000 bytes; with "lossy", each
 * third of these pieces is missing, and a record says so; with "snapshot", too, and the pieces
 * are snapshots, which the kernel says to have overwritten others.  With "noswitch", no record
 * says which threads run.  */
#include <elf.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fxt.h>

#define PMU_TYPE 8
#define EVENT_ID 77
#define WHOLE    (1U << 20)
#define PIECE    4000 /* bytes of packets in one small piece: packets go over its end */
#define ANY      UINT32_MAX

enum {
    TSC = 1 << 10,
    MTC = 1 << 9,
    CYC = 1 << 1,
    NO_RETURN_COMPRESSION = 1 << 11,
    BRANCH = 1 << 13,
    MTC_FREQ_SHIFT = 14,
    MTC_FREQ_BITS = 0xf << MTC_FREQ_SHIFT,
};

#define SAMPLE_TYPE \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct bytes {
    uint8_t *items;
    size_t size, room;
};

struct module {
    uint16_t id;
    char path[512];
};

static struct {
    bool by_cpu, pipe, pieces, lossy, snapshot, no_switches;
    struct bytes records; /* what comes before and beside the packets, in the order of time */
    struct bytes aux;     /* with pieces of packets */
    struct bytes index;   /* where these are in aux */
    uint32_t pid, tid;    /* that runs on the CPU */
    uint32_t tids[64];
    struct bytes buffers[64]; /* of threads; [0]: also of the CPU */
    size_t tid_count;
    struct module modules[64];
    size_t module_count;
    uint64_t time_zero, last_ns;
} state;

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "insn_perf_data: %s\n", what);
    exit(2);
}

static void put(struct bytes *out, const void *bytes, size_t size)
{
    if (out->size + size > out->room) {
        out->room = 2 * (out->size + size) + 4096;
        out->items = realloc(out->items, out->room);
        if (!out->items)
            die("out of memory");
    }
    if (size > 0)
        memcpy(out->items + out->size, bytes, size);
    out->size += size;
}

static void put_u32(struct bytes *out, uint32_t value)
{
    put(out, &value, sizeof value);
}

static void put_u64(struct bytes *out, uint64_t value)
{
    put(out, &value, sizeof value);
}

static void put_text(struct bytes *out, const char *text)
{
    static const char zeros[8];

    put(out, text, strlen(text) + 1);
    put(out, zeros, -(strlen(text) + 1) & 7);
}

static size_t begin(struct bytes *out, uint32_t type, unsigned misc)
{
    const struct perf_event_header header = { .type = type, .misc = (uint16_t)misc };

    put(out, &header, sizeof header);
    return out->size - sizeof header;
}

static void end(struct bytes *out, size_t start)
{
    uint16_t size = (uint16_t)(out->size - start);

    memcpy(out->items + start + offsetof(struct perf_event_header, size), &size, sizeof size);
}

static void end_with_id(size_t start, uint32_t tid, uint64_t time_ns)
{
    state.last_ns = time_ns > state.last_ns ? time_ns : state.last_ns;
    put_u32(&state.records, state.pid);
    put_u32(&state.records, tid);
    put_u64(&state.records, time_ns);
    put_u32(&state.records, 0); /* CPU */
    put_u32(&state.records, 0);
    put_u64(&state.records, EVENT_ID);
    end(&state.records, start);
}

/* ---- Tasks ---- */

static void put_comm(uint32_t tid, uint64_t time_ns)
{
    size_t start = begin(&state.records, PERF_RECORD_COMM,
                         tid == state.pid ? PERF_RECORD_MISC_COMM_EXEC : 0);

    put_u32(&state.records, state.pid);
    put_u32(&state.records, tid);
    put_text(&state.records, "program");
    end_with_id(start, tid, time_ns);
}

static void put_fork(uint32_t tid, uint64_t time_ns)
{
    size_t start = begin(&state.records, PERF_RECORD_FORK, 0);

    put_u32(&state.records, state.pid);
    put_u32(&state.records, state.pid);
    put_u32(&state.records, tid);
    put_u32(&state.records, state.pid);
    put_u64(&state.records, time_ns);
    end_with_id(start, state.pid, time_ns);
}

static void put_start(uint64_t time_ns)
{
    size_t start;

    if (state.no_switches)
        return;
    start = begin(&state.records, PERF_RECORD_ITRACE_START, 0);

    put_u32(&state.records, state.pid);
    put_u32(&state.records, state.pid);
    end_with_id(start, state.pid, time_ns);
}

static size_t thread_number(uint32_t tid, uint64_t time_ns)
{
    for (size_t i = 0; i < state.tid_count; i++)
        if (state.tids[i] == tid)
            return i;
    if (state.tid_count == sizeof state.tids / sizeof *state.tids)
        die("too many threads");
    if (state.tid_count > 0) {
        put_fork(tid, time_ns);
        put_comm(tid, time_ns);
    }
    state.tids[state.tid_count] = tid;
    return state.tid_count++;
}

static void put_switch(uint32_t tid, uint64_t time_ns, bool is_out)
{
    size_t start;

    if (state.no_switches)
        return;
    start = begin(&state.records, PERF_RECORD_SWITCH, is_out ? PERF_RECORD_MISC_SWITCH_OUT : 0);

    end_with_id(start, tid, time_ns);
}

/* ---- Code ---- */

static uint64_t file_offset(const char *path, uint64_t vaddr)
{
    FILE *file = fopen(path, "rbe");
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint64_t offset = vaddr;

    if (!file || fread(&header, sizeof header, 1, file) != 1)
        die(path);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (fseek(file, (long)(header.e_phoff + i * sizeof segment), SEEK_SET) != 0 ||
            fread(&segment, sizeof segment, 1, file) != 1)
            die(path);
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) &&
            vaddr / 4096 == segment.p_vaddr / 4096)
            offset = (segment.p_offset & ~(uint64_t)4095) + vaddr % 4096;
    }
    (void)fclose(file);
    return offset & ~(uint64_t)4095;
}

static void take_module(const struct fxt_record *record)
{
    struct module *module = &state.modules[state.module_count++];

    if (state.module_count == sizeof state.modules / sizeof *state.modules)
        die("too many modules");
    module->id = record->value.module.id;
    (void)snprintf(module->path, sizeof module->path, "%.*s", (int)record->name.length,
                   record->name.bytes);
}

static void take_mapping(const struct fxt_record *record)
{
    for (size_t i = 0; i < state.module_count; i++) {
        const char *path = state.modules[i].path;
        size_t start;

        if (state.modules[i].id != record->value.mapping.module_id || path[0] != '/')
            continue;
        start = begin(&state.records, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
        put_u32(&state.records, state.pid);
        put_u32(&state.records, state.pid);
        put_u64(&state.records, record->value.mapping.start);
        put_u64(&state.records, (record->value.mapping.length + 4095) & ~(uint64_t)4095);
        put_u64(&state.records, file_offset(path, record->value.mapping.vaddr));
        put_u32(&state.records, 8);
        put_u32(&state.records, 1);
        put_u64(&state.records, 0);
        put_u64(&state.records, 0);
        put_u32(&state.records, 5);
        put_u32(&state.records, 2);
        put_text(&state.records, path);
        end_with_id(start, state.pid, record->value.mapping.start ? state.time_zero : 0);
    }
}

/* ---- Packets ---- */

static uint64_t number(const struct fxt_record *record, const char *name)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);

    return arg && arg->type == FXT_ARG_UINT64 ? arg->value.uint64 : 0;
}

static void put_info(struct bytes *out, const struct fxt_record *packets)
{
    const uint64_t words[] = { PMU_TYPE,
                               number(packets, "time_shift"),
                               number(packets, "time_mult"),
                               number(packets, "time_zero"),
                               1, /* these can be used */
                               TSC,
                               NO_RETURN_COMPRESSION,
                               state.by_cpu ? 2 : 0, /* there are records of context switches */
                               state.snapshot,
                               state.by_cpu,
                               MTC,
                               MTC_FREQ_BITS,
                               number(packets, "cpuid_0x15_ebx"),
                               number(packets, "cpuid_0x15_eax"),
                               CYC,
                               number(packets, "nom_freq"),
                               0 };
    size_t start = begin(out, 70, 0);

    put_u32(out, 1);
    put_u32(out, 0);
    put(out, words, sizeof words);
    end(out, start);
}

/* The time of the first TSC packet, which is in the status of the first PSB packet.  */
static uint64_t first_ticks(const uint8_t *bytes, size_t size)
{
    uint64_t ticks = 0;

    if (size < 24 || bytes[16] != 0x19)
        die("packets without a time");
    memcpy(&ticks, bytes + 17, 7);
    return ticks;
}

static void put_piece(size_t buffer, uint64_t offset, size_t size)
{
    const uint8_t *bytes = state.buffers[buffer].items + offset;
    size_t start = begin(&state.aux, 71, 0);
    static const uint8_t padding[8];
    size_t padded = (size + 7) & ~(size_t)7;

    put_u64(&state.index, start);
    put_u64(&state.aux, padded);
    put_u64(&state.aux, offset);
    put_u64(&state.aux, 1); /* reference: a time stamp of about then, whose upper byte counts */
    put_u32(&state.aux, (uint32_t)buffer);
    put_u32(&state.aux, state.by_cpu ? ANY : state.tids[buffer]);
    put_u32(&state.aux, state.by_cpu ? 0 : ANY);
    put_u32(&state.aux, 0);
    end(&state.aux, start);
    put(&state.aux, bytes, size);
    if (offset == 0 && first_ticks(bytes, size) == 0)
        state.aux.items[state.aux.size - size + 17] = 1; /* perf takes time 0 for none */
    put(&state.aux, padding, padded - size);
}

static void put_aux(uint64_t offset, size_t size, uint64_t flags)
{
    size_t start = begin(&state.records, PERF_RECORD_AUX, 0);

    put_u64(&state.records, offset);
    put_u64(&state.records, size);
    put_u64(&state.records, flags);
    end_with_id(start, state.pid, state.last_ns);
}

/* Small pieces in the form of pipes end in zeros that are not of the buffer.  */
static void put_buffer(size_t buffer)
{
    bool is_whole = !state.pieces && !state.lossy && !state.snapshot;
    size_t most = is_whole     ? WHOLE
                  : state.pipe ? PIECE - 2
                               : PIECE,
           size = state.buffers[buffer].size;

    for (size_t at = 0, number = 0; at < size; at += most, number++) {
        bool missing = (state.lossy || state.snapshot) && number % 3 == 1 && size - at > most;

        if (!missing)
            put_piece(buffer, at, size - at < most ? size - at : most);
        else if (state.lossy)
            put_aux(at, 0, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
        if (state.snapshot)
            put_aux(at, most, PERF_AUX_FLAG_OVERWRITE);
    }
}

static void take_packets(const struct fxt_record *record)
{
    struct fxt_bytes packets = record->value.large_blob.payload;
    uint32_t tid = (uint32_t)record->thread.thread;
    uint64_t now_ns = record->ticks;
    size_t buffer;

    if (state.by_cpu && tid != state.tid) {
        now_ns = state.time_zero + first_ticks(packets.bytes, packets.length);
        if (state.tid)
            put_switch(state.tid, now_ns, true);
    }
    buffer = thread_number(tid, now_ns);
    if (state.by_cpu && tid != state.tid)
        put_switch(tid, now_ns, false);
    state.tid = tid;
    put(&state.buffers[state.by_cpu ? 0 : buffer], packets.bytes, packets.length);
}

/* ---- The file ---- */

static bool is_named(const struct fxt_record *record, const char *name)
{
    return record->category.length == 9 && memcmp(record->category.bytes, "insntrace", 9) == 0 &&
           record->name.length == strlen(name) &&
           memcmp(record->name.bytes, name, record->name.length) == 0;
}

static void introduce(const struct fxt_record *packets)
{
    state.pid = (uint32_t)packets->thread.process;
    state.time_zero = number(packets, "time_zero");
    put_comm(state.pid, state.time_zero);
    put_start(state.time_zero);
    (void)thread_number(state.pid, 0);
}

static struct fxt_reader *open_trace(const char *path, FILE **file)
{
    struct fxt_reader *reader = NULL;
    struct fxt_input *input = NULL;

    *file = fopen(path, "rbe");
    if (!*file || fxt_input_open_fd(fileno(*file), &input, NULL) != FXT_OK ||
        fxt_reader_open(input, NULL, &reader, NULL) != FXT_OK)
        die(path);
    return reader;
}

/* The first packets say what the decoder is told.  */
static struct perf_event_attr attribute;
static struct bytes info;

static void read_first(const char *path)
{
    const struct fxt_record *record;
    FILE *file;
    struct fxt_reader *reader = open_trace(path, &file);

    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        if (record->kind != FXT_RECORD_LARGE_BLOB || !is_named(record, "pt"))
            continue;
        introduce(record);
        put_info(&info, record);
        attribute.config = TSC | MTC | CYC | BRANCH | number(record, "mtc_freq") << MTC_FREQ_SHIFT;
        break;
    }
    fxt_reader_close(reader);
    (void)fclose(file);
}

static void read_trace(const char *path)
{
    const struct fxt_record *record;
    FILE *file;
    struct fxt_reader *reader = open_trace(path, &file);

    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        if (record->kind == FXT_RECORD_MODULE)
            take_module(record);
        else if (record->kind == FXT_RECORD_MAPPING)
            take_mapping(record);
        else if (record->kind == FXT_RECORD_LARGE_BLOB && is_named(record, "pt"))
            take_packets(record);
        else if (record->kind == FXT_RECORD_LARGE_BLOB && is_named(record, "code"))
            (void)fputs("insn_perf_data: code that is in no file\n", stderr);
    }
    fxt_reader_close(reader);
    (void)fclose(file);
}

/* And release them.  */
static void write_out(struct bytes *bytes)
{
    if (bytes->size > 0 && fwrite(bytes->items, bytes->size, 1, stdout) != 1)
        die("standard output");
    free(bytes->items);
    *bytes = (struct bytes){ .items = NULL };
}

static void put_section(struct bytes *places, struct bytes *sections, uint64_t at,
                        struct bytes *section)
{
    put_u64(places, at + sections->size);
    put_u64(places, section->size);
    put(sections, section->items, section->size);
    free(section->items);
}

static struct bytes text_section(const char *text)
{
    struct bytes section = { .items = NULL };
    char padded[64] = "";

    (void)snprintf(padded, sizeof padded, "%s", text);
    put_u32(&section, sizeof padded);
    put(&section, padded, sizeof padded);
    return section;
}

/* Architecture, kind of processor, and where the pieces are.  */
static void write_features(uint64_t at, uint64_t aux_at)
{
    struct bytes places = { .items = NULL }, sections = { .items = NULL }, index = places;
    struct bytes arch = text_section("x86_64"), cpuid = text_section("GenuineIntel,6,85,4");
    uint64_t start = at + 3 * (uint64_t)16;

    put_u64(&index, state.index.size / 8);
    for (size_t i = 0; i < state.index.size; i += 8) {
        uint64_t place;

        memcpy(&place, state.index.items + i, sizeof place);
        put_u64(&index, aux_at + place);
        put_u64(&index, 48);
    }
    put_section(&places, &sections, start, &arch);
    put_section(&places, &sections, start, &cpuid);
    put_section(&places, &sections, start, &index);
    write_out(&places);
    write_out(&sections);
}

static void write_file(void)
{
    const uint64_t id = EVENT_ID, ids_at = 104, attributes_at = 112;
    const uint64_t data_at = attributes_at + sizeof attribute + 16;
    const uint64_t aux_at = data_at + info.size;
    const uint64_t data_size = info.size + state.aux.size + state.records.size;
    const uint64_t header[] = { 104,
                                sizeof attribute + 16,
                                attributes_at,
                                sizeof attribute + 16,
                                data_at,
                                data_size,
                                0,
                                0,
                                (UINT64_C(1) << 6) | (UINT64_C(1) << 9) | (UINT64_C(1) << 18),
                                0,
                                0,
                                0 };
    struct bytes out = { .items = NULL };

    put(&out, "PERFILE2", 8);
    put(&out, header, sizeof header);
    put_u64(&out, id);
    put(&out, &attribute, sizeof attribute);
    put_u64(&out, ids_at);
    put_u64(&out, sizeof id);
    write_out(&out);
    write_out(&info);
    write_out(&state.aux);
    write_out(&state.records);
    write_features(data_at + data_size, aux_at);
}

/* Packets come after the records about tasks: a reader of pipes cannot look ahead.  */
static void write_pipe(void)
{
    struct bytes out = { .items = NULL };
    size_t start;

    put(&out, "PERFILE2", 8);
    put_u64(&out, 16);
    start = begin(&out, 64, 0);
    put(&out, &attribute, sizeof attribute);
    put_u64(&out, EVENT_ID);
    end(&out, start);
    write_out(&out);
    write_out(&info);
    write_out(&state.aux);
    write_out(&state.records);
}

int main(int argc, char **argv)
{
    int i = 1;

    for (; i + 1 < argc; i++) {
        state.by_cpu |= strcmp(argv[i], "cpu") == 0;
        state.pipe |= strcmp(argv[i], "pipe") == 0;
        state.pieces |= strcmp(argv[i], "pieces") == 0;
        state.lossy |= strcmp(argv[i], "lossy") == 0;
        state.snapshot |= strcmp(argv[i], "snapshot") == 0;
        state.no_switches |= strcmp(argv[i], "noswitch") == 0;
    }
    if (i + 1 != argc)
        die("insn_perf_data [cpu] [pipe] [pieces] [lossy|snapshot] [noswitch] TRACE");
    attribute = (struct perf_event_attr){ .type = PMU_TYPE,
                                          .size = sizeof attribute,
                                          .sample_period = 1,
                                          .sample_type = SAMPLE_TYPE,
                                          .exclude_kernel = 1,
                                          .exclude_hv = 1,
                                          .sample_id_all = 1,
                                          .mmap = 1,
                                          .mmap2 = 1,
                                          .comm = 1,
                                          .comm_exec = 1,
                                          .task = 1,
                                          .context_switch = 1 };
    read_first(argv[i]);
    read_trace(argv[i]);
    for (size_t buffer = 0; buffer < state.tid_count; buffer++)
        put_buffer(buffer);
    if (state.pipe)
        write_pipe();
    else
        write_file();
    return fflush(stdout) == 0 ? 0 : 2;
}
