/* insn_ptlist - files as Fuchsia's insntrace writes them, with the packets of a simulated
 * processor.
 *
 *   insn_ptlist PREFIX CPU TRACE [CPU TRACE]...
 *
 * Each TRACE is of "sampler-capture insn --simulate --mode cpu", and of one process.  The packets
 * of all that name the same CPU come one after the other.  Each process has an address space, which
 * is in the status of each PSB packet, as a processor writes it.  */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fxt.h>

#define MAX_CPUS 8

static FILE *ktrace, *map, *ids, *cpus[MAX_CPUS];
static uint64_t spaces;

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "insn_ptlist: %s\n", what);
    exit(2);
}

static FILE *create(const char *format, ...)
{
    char path[1024];
    va_list arguments;
    FILE *file;

    va_start(arguments, format);
    (void)vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    file = fopen(path, "wbe");
    if (!file)
        die(path);
    return file;
}

/* ---- Records of the kernel ---- */

static void put_record(uint32_t event, uint32_t group, uint32_t a, uint32_t b, uint32_t c,
                       uint32_t d)
{
    const uint32_t words[] = { group << 20 | event << 8 | 32 >> 3, 0, 0, 0, a, b, c, d };

    (void)fwrite(words, sizeof words, 1, ktrace);
}

static void put_name(uint32_t koid, const char *name)
{
    struct {
        uint32_t tag, id, argument;
        char text[36];
    } record = { 1 << 20 | 0x022 << 8 | 48 >> 3, koid, 0, "" };

    (void)snprintf(record.text, sizeof record.text, "%s", name);
    (void)fwrite(&record, sizeof record, 1, ktrace);
}

static void begin_ktrace(void)
{
    put_record(0x000, 1, 0x20000, 0, 0, 0);
    put_record(0x001, 1, 1000000, 0, 0, 0); /* ticks per ms */
    put_record(0x200, 0x80, 10, 0, 0x1000, 0);
    put_record(0x201, 0x80, 0, 0, 0, 0); /* an unknown processor: the simulated one */
}

/* ---- Packets ---- */

/* The size of a packet of the status of a PSB packet; 0: none of those that are written.  */
static size_t status_size(const uint8_t *packet)
{
    static const uint8_t ip_sizes[] = { 1, 3, 5, 7, 7, 0, 9, 0 };

    if (packet[0] == 0x19)
        return 8;
    if (packet[0] == 0x99)
        return 2;
    if ((packet[0] & 0x1f) == 0x1d)
        return ip_sizes[packet[0] >> 5];
    return packet[0] != 0x02 ? 0 : packet[1] == 0x73 ? 7 : packet[1] == 0x03 ? 4 : 0;
}

static void put_packets(FILE *out, const uint8_t *bytes, size_t size, uint64_t cr3)
{
    static const uint8_t psb[] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                   2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
    uint8_t pip[8] = { 0x02, 0x43 };
    const uint8_t *end = bytes + size, *found;

    for (unsigned i = 0; i < 6; i++)
        pip[2 + i] = (uint8_t)(cr3 >> 5 << 1 >> 8 * i);
    while ((found = memmem(bytes, (size_t)(end - bytes), psb, sizeof psb)) != NULL) {
        found += sizeof psb;
        while (found + 9 < end && status_size(found) > 0)
            found += status_size(found);
        (void)fwrite(bytes, (size_t)(found - bytes), 1, out);
        (void)fwrite(pip, sizeof pip, 1, out);
        bytes = found;
    }
    (void)fwrite(bytes, (size_t)(end - bytes), 1, out);
}

/* ---- Traces ---- */

struct module {
    uint16_t id;
    char path[512], build_id[80];
};

static void take_module(const struct fxt_record *record, struct module *module)
{
    struct fxt_bytes id = record->value.module.build_id;

    module->id = record->value.module.id;
    (void)snprintf(module->path, sizeof module->path, "%.*s", (int)record->name.length,
                   record->name.bytes);
    for (size_t i = 0; i < id.length && 2 * i + 3 < sizeof module->build_id; i++)
        (void)snprintf(module->build_id + 2 * i, 3, "%02x", id.bytes[i]);
    (void)fprintf(ids, "%s %s\n", module->build_id, module->path);
}

static void take_mapping(const struct fxt_record *record, const struct module *module)
{
    static unsigned sequence;
    uint64_t start = record->value.mapping.start, koid = record->thread.process;

    sequence++;
    (void)fprintf(map,
                  "[00007.301] 01105.01119> @trace_load: %" PRIu64 ":%ua 0x%" PRIx64 " 0x%" PRIx64
                  " 0x%" PRIx64 "\n",
                  koid, sequence, start - record->value.mapping.vaddr, start,
                  start + record->value.mapping.length);
    (void)fprintf(map, "[00007.301] 01105.01119> @trace_load: %" PRIu64 ":%ub %s\n", koid, sequence,
                  module->build_id);
    (void)fprintf(map, "[00007.302] 01105.01119> @trace_load: %" PRIu64 ":%uc %s %s\n", koid,
                  sequence, "<application>", "");
}

static void read_trace(unsigned cpu, const char *path)
{
    const struct fxt_record *record;
    struct fxt_reader *reader = NULL;
    struct fxt_input *input = NULL;
    struct module modules[16];
    size_t module_count = 0, size = 0;
    uint8_t *bytes = NULL;
    uint64_t koid = 0, cr3 = 0x200000 + 0x1000 * spaces++;
    FILE *file = fopen(path, "rbe");

    if (!file || fxt_input_open_fd(fileno(file), &input, NULL) != FXT_OK ||
        fxt_reader_open(input, NULL, &reader, NULL) != FXT_OK)
        die(path);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        struct fxt_bytes payload = record->value.large_blob.payload;

        if (record->kind == FXT_RECORD_MODULE && module_count < 16)
            take_module(record, &modules[module_count++]);
        for (size_t i = 0; record->kind == FXT_RECORD_MAPPING && i < module_count; i++)
            if (modules[i].id == record->value.mapping.module_id && modules[i].path[0] == '/')
                take_mapping(record, &modules[i]);
        if (record->kind != FXT_RECORD_LARGE_BLOB || record->name.length != 2)
            continue;
        koid = record->thread.process;
        bytes = realloc(bytes, size + payload.length);
        if (!bytes)
            die("out of memory");
        memcpy(bytes + size, payload.bytes, payload.length);
        size += payload.length;
    }
    put_name((uint32_t)koid, "program");
    put_record(0x203, 0x80, (uint32_t)koid, 0, (uint32_t)cr3, 0);
    put_packets(cpus[cpu], bytes, size, cr3);
    free(bytes);
    fxt_reader_close(reader);
    fxt_input_close(input);
    (void)fclose(file);
}

int main(int argc, char **argv)
{
    FILE *list, *cpuid;

    if (argc < 4 || argc % 2 != 0)
        die("insn_ptlist PREFIX CPU TRACE [CPU TRACE]...");
    list = create("%s.ptlist", argv[1]);
    cpuid = create("%s.cpuid", argv[1]);
    ktrace = create("%s.ktrace", argv[1]);
    map = create("%s.map", argv[1]);
    ids = create("%s.ids", argv[1]);
    (void)fputs("Vendor: Intel\nmtc_freq: 3\n", cpuid);
    (void)fputs("# buffers\n", list);
    begin_ktrace();
    for (int i = 2; i < argc; i += 2) {
        unsigned long cpu = strtoul(argv[i], NULL, 10);

        if (cpu >= MAX_CPUS)
            die(argv[i]);
        if (!cpus[cpu]) {
            const char *slash = strrchr(argv[1], '/');

            cpus[cpu] = create("%s.cpu%lu.pt", argv[1], cpu);
            /* The path on the machine that was traced.  */
            (void)fprintf(list, "%lu /tmp/nosuch/%s.cpu%lu.pt\n", cpu, slash ? slash + 1 : argv[1],
                          cpu);
        }
        read_trace((unsigned)cpu, argv[i + 1]);
    }
    for (size_t i = 0; i < MAX_CPUS; i++)
        if (cpus[i])
            (void)fclose(cpus[i]);
    (void)fclose(list);
    (void)fclose(cpuid);
    (void)fclose(ktrace);
    (void)fclose(map);
    (void)fclose(ids);
    return 0;
}
