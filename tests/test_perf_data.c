/* perf.data files byte by byte, in both byte orders and both forms: what is read is what was
 * written, in the order of time; damage is counted and the rest is delivered.  */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zstd.h>

#include "libperf/perf_data.h"
#include "tests/support/allocation.h"
#include "tests/support/sanitizer.h"

#define SAMPLE_TYPE                                                                 \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

/* ---- Writing files ---- */

struct form {
    bool big; /* byte order */
    bool pipe;
    bool compressed;
};

struct file {
    struct form form;
    uint8_t bytes[1 << 16];
    size_t size;
    size_t record; /* where the last one begins */
    size_t data;   /* where records begin */
};

static void put(struct file *file, uint64_t value, size_t size)
{
    ck_assert_uint_le(size, sizeof file->bytes - file->size);
    for (size_t i = 0; i < size; i++)
        file->bytes[file->size + (file->form.big ? size - 1 - i : i)] = (uint8_t)(value >> 8 * i);
    file->size += size;
}

static void put_bytes(struct file *file, const void *bytes, size_t size)
{
    ck_assert_uint_le(size, sizeof file->bytes - file->size);
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

static void put_text(struct file *file, const char *text)
{
    put_bytes(file, text, strlen(text) + 1);
    while (file->size % 8 != 0)
        put(file, 0, 1);
}

static void put_at(struct file *file, size_t at, uint64_t value, size_t size)
{
    size_t end = file->size;

    file->size = at;
    put(file, value, size);
    file->size = end;
}

static void begin_record(struct file *file, uint32_t kind, uint16_t misc)
{
    file->record = file->size;
    put(file, kind, 4);
    put(file, misc, 2);
    put(file, 0, 2);
}

static void end_record(struct file *file)
{
    put_at(file, file->record + 6, file->size - file->record, 2);
}

/* What ends records other than samples, with the members of SAMPLE_TYPE.  */
static void put_identification(struct file *file, uint64_t time_ns, uint64_t id)
{
    put(file, 7, 4); /* pid */
    put(file, 8, 4); /* tid */
    put(file, time_ns, 8);
    put(file, 1, 4); /* CPU */
    put(file, 0, 4);
    put(file, id, 8);
    end_record(file);
}

static void put_attribute(struct file *file, uint32_t type, uint64_t config, uint64_t sample_type)
{
    uint8_t flags[8] = { 0 };
    /* sample_id_all, bit 18: of the third byte the third, on big-endian machines from the top.  */
    flags[2] = file->form.big ? 0x20 : 0x04;
    put(file, type, 4);
    put(file, 112, 4);
    put(file, config, 8);
    put(file, 1000003, 8); /* period */
    put(file, sample_type, 8);
    put(file, 0, 8); /* read_format */
    put_bytes(file, flags, sizeof flags);
    put(file, 0, 8);
    put(file, 0, 8);
    put(file, 0, 8);
    put(file, 0, 8);     /* branch_sample_type */
    put(file, 0x181, 8); /* sample_regs_user: three */
    put(file, 16, 4);    /* sample_stack_user */
    put(file, 0, 4);
    put(file, 0x3, 8); /* sample_regs_intr */
    put(file, 0, 8);
}

/* Two events with the ids 11 and 12.  */
static void begin_file(struct file *file, struct form form, uint64_t sample_type)
{
    file->form = form;
    file->size = 0;
    put_bytes(file, form.big ? "2ELIFREP" : "PERFILE2", 8);
    if (form.pipe) {
        put(file, 16, 8);
        for (uint64_t event = 0; event < 2; event++) {
            begin_record(file, PERF_DATA_ATTR, 0);
            put_attribute(file, PERF_TYPE_SOFTWARE, event, sample_type);
            put(file, 11 + event, 8);
            end_record(file);
        }
        file->data = file->size;
        return;
    }
    put(file, 104, 8);
    put(file, 128, 8); /* of an attribute and the place of its ids */
    put(file, 104 + 16, 8);
    put(file, 256, 8);
    put(file, 104 + 16 + 256, 8);
    for (unsigned i = 0; i < 7; i++)
        put(file, 0, 8); /* the size of the data, event types, features */
    put(file, 11, 8);
    put(file, 12, 8);
    for (uint64_t event = 0; event < 2; event++) {
        put_attribute(file, PERF_TYPE_SOFTWARE, event, sample_type);
        put(file, 104 + 8 * event, 8);
        put(file, 8, 8);
    }
    file->data = file->size;
}

/* Records from file->data on become compressed ones of a few bytes each.  */
static void compress(struct file *file)
{
    static uint8_t packed[1 << 16];
    size_t size = ZSTD_compress(packed, sizeof packed, file->bytes + file->data,
                                file->size - file->data, 1);

    ck_assert(!ZSTD_isError(size));
    file->size = file->data;
    for (size_t at = 0; at < size; at += 50) {
        begin_record(file, PERF_DATA_COMPRESSED, 0);
        put_bytes(file, packed + at, size - at < 50 ? size - at : 50);
        end_record(file);
    }
}

static void put_string(struct file *file, const char *text)
{
    put(file, 16, 4);
    for (size_t i = 0; i < 16; i++)
        put(file, i < strlen(text) ? (uint8_t)text[i] : 0, 1);
}

/* The contents of a feature.  */
static void put_feature(struct file *file, unsigned feature)
{
    size_t before;

    switch (feature) {
    case 2:
        before = file->record;
        begin_record(file, 0, 1 << 15 | 2);
        put(file, UINT32_MAX, 4);
        put_bytes(file, "0123456789abcdef\0\0\0\0\x10\0\0\0", 24);
        put_bytes(file, "/bin/app", 9);
        put(file, 0, 3);
        end_record(file);
        file->record = before;
        break;
    case 3:
        put_string(file, "machine");
        break;
    case 11:
        put(file, 2, 4);
        put_string(file, "perf");
        put_string(file, "record");
        break;
    case 12:
        put(file, 2, 4);
        put(file, 8, 4);
        for (unsigned event = 0; event < 2; event++) {
            put(file, 0, 8);
            put(file, 1, 4);
            put_string(file, event ? "second:u" : "first:u");
            put(file, 11 + event, 8);
        }
        break;
    default:
        ck_abort();
    }
}

static void end_file(struct file *file)
{
    static const unsigned features[] = { 2, 3, 11, 12 };
    enum { COUNT = sizeof features / sizeof *features };
    uint64_t bits = 0;
    size_t places;

    if (file->form.compressed)
        compress(file);
    if (file->form.pipe) {
        for (unsigned i = 0; i < COUNT; i++) {
            begin_record(file, PERF_DATA_FEATURE, 0);
            put(file, features[i], 8);
            put_feature(file, features[i]);
            end_record(file);
        }
        return;
    }
    put_at(file, 48, file->size - file->data, 8);
    places = file->size;
    for (unsigned i = 0; i < 2 * COUNT; i++)
        put(file, 0, 8);
    for (size_t i = 0; i < COUNT; i++) {
        size_t start = file->size;

        bits |= UINT64_C(1) << features[i];
        put_feature(file, features[i]);
        put_at(file, places + 16 * i, start, 8);
        put_at(file, places + 16 * i + 8, file->size - start, 8);
    }
    put_at(file, 72, bits, 8);
}

static void put_sample(struct file *file, uint64_t id, uint64_t time_ns, uint64_t ip)
{
    begin_record(file, PERF_DATA_SAMPLE, 2);
    put(file, id, 8);
    put(file, ip, 8);
    put(file, 7, 4);
    put(file, 8, 4);
    put(file, time_ns, 8);
    put(file, 1, 4);
    put(file, 0, 4);
    put(file, 500, 8);
    put(file, 3, 8);
    put(file, UINT64_C(0xfffffffffffffe00), 8); /* PERF_CONTEXT_USER */
    put(file, ip, 8);
    put(file, 0x4000, 8);
    end_record(file);
}

static void put_round(struct file *file)
{
    begin_record(file, PERF_DATA_FINISHED_ROUND, 0);
    end_record(file);
}

/* Records of a thread that has not written them itself.  */
static void put_threads(struct file *file)
{
    begin_record(file, PERF_DATA_ITRACE_START, 0);
    put(file, 20, 4);
    put(file, 21, 4);
    put_identification(file, 165, 11);
    begin_record(file, PERF_DATA_NAMESPACES, 0);
    put(file, 22, 4);
    put(file, 23, 4);
    put(file, 1, 8); /* link */
    put(file, 4, 8);
    put(file, 0xf0000001, 8);
    put_identification(file, 166, 11);
    begin_record(file, PERF_DATA_READ, 0);
    put(file, 24, 4);
    put(file, 25, 4);
    put(file, 1000, 8);
    put_identification(file, 167, 11);
}

/* One record of each kind that has contents.  */
static void put_every_kind(struct file *file)
{
    begin_record(file, PERF_DATA_MMAP2, 1 << 14);
    put(file, 7, 4);
    put(file, 7, 4);
    put(file, 0x400000, 8);
    put(file, 0x1000, 8);
    put(file, 0x2000, 8);
    put(file, file->form.big ? 0x04000000 : 4, 4); /* bytes: a size, three of nothing */
    put_bytes(file, "abcdefghijklmnopqrst", 20);
    put(file, 5, 4); /* protection */
    put(file, 2, 4);
    put_text(file, "/bin/app");
    put_identification(file, 100, 11);
    begin_record(file, PERF_DATA_MMAP, 1 << 13);
    put(file, 7, 4);
    put(file, 7, 4);
    put(file, 0x500000, 8);
    put(file, 0x3000, 8);
    put(file, 0, 8);
    put_text(file, "//anon");
    put_identification(file, 110, 11);
    begin_record(file, PERF_DATA_COMM, 1 << 13);
    put(file, 7, 4);
    put(file, 8, 4);
    put_text(file, "worker");
    put_identification(file, 120, 11);
    begin_record(file, PERF_DATA_FORK, 0);
    put(file, 9, 4);
    put(file, 7, 4);
    put(file, 10, 4);
    put(file, 8, 4);
    put(file, 130, 8);
    put_identification(file, 130, 11);
    begin_record(file, PERF_DATA_LOST, 0);
    put(file, 11, 8);
    put(file, 42, 8);
    put_identification(file, 140, 11);
    begin_record(file, PERF_DATA_SWITCH_CPU_WIDE, 1 << 13 | 1 << 14);
    put(file, 3, 4);
    put(file, 4, 4);
    put_identification(file, 150, 11);
    begin_record(file, PERF_DATA_KSYMBOL, 0);
    put(file, UINT64_C(0xffffffffc0000000), 8);
    put(file, 64, 4);
    put(file, 1, 2);
    put(file, 1, 2);
    put_text(file, "bpf_prog_1");
    put_identification(file, 160, 11);
    begin_record(file, PERF_DATA_EXIT, 0);
    put(file, 9, 4);
    put(file, 7, 4);
    put(file, 10, 4);
    put(file, 8, 4);
    put(file, 161, 8);
    put_identification(file, 161, 11);
    begin_record(file, PERF_DATA_LOST_SAMPLES, 0);
    put(file, 43, 8);
    put_identification(file, 162, 11);
    begin_record(file, PERF_DATA_SWITCH, 0);
    put_identification(file, 163, 11);
    begin_record(file, PERF_DATA_AUX, 0);
    put(file, 0x2000, 8);
    put(file, 0x300, 8);
    put(file, 1, 8); /* truncated */
    put_identification(file, 164, 11);
    put_threads(file);
    begin_record(file, PERF_DATA_CALLCHAIN_DEFERRED, 0);
    put(file, 77, 8);
    put(file, 2, 8);
    put(file, UINT64_C(0xfffffffffffffe00), 8);
    put(file, 0x401000, 8);
    put_identification(file, 168, 11);
}

static const char *const every_kind =
    "MMAP2 @100 7/7 cpu 1: 400000+1000 file 2000 /bin/app code id 61626364 (4)\n"
    "MMAP @110 7/7 cpu 1: 500000+3000 file 0 //anon data id - (0)\n"
    "COMM @120 7/8 cpu 1: worker exec\n"
    "FORK @130 9/10 cpu 1: of 7/8\n"
    "LOST @140 7/8 cpu 1: 42\n"
    "SWITCH_CPU_WIDE @150 7/8 cpu 1: out preempted 3/4\n"
    "KSYMBOL @160 7/8 cpu 1: ffffffffc0000000+64 bpf_prog_1 gone\n"
    "EXIT @161 9/10 cpu 1: of 7/8\n"
    "LOST_SAMPLES @162 7/8 cpu 1: 43\n"
    "SWITCH @163 7/8 cpu 1: in 4294967295/4294967295\n"
    "AUX @164 7/8 cpu 1: 2000+300 truncated\n"
    "ITRACE_START @165 20/21 cpu 1:\n"
    "NAMESPACES @166 22/23 cpu 1:\n"
    "READ @167 24/25 cpu 1:\n"
    "CALLCHAIN_DEFERRED @168 7/8 cpu 1: cookie 77 chain fffffffffffffe00 401000\n";

/* ---- Reading them ---- */

struct reading {
    char text[1 << 14];
    size_t length;
    uint64_t records;
    enum perf_data_status status;
    struct perf_data_notices notices;
    char damage[400];
    bool is_damaged;
};

static void add(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct reading *reading, const char *format, ...)
{
    size_t room = sizeof reading->text - reading->length;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(reading->text + reading->length, room, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < room)
        reading->length += (size_t)length;
}

static void describe_words(struct reading *reading, const struct perf_data *data,
                           struct perf_data_words words)
{
    for (size_t i = 0; i < words.count; i++)
        add(reading, " %" PRIx64, perf_data_word(data, words, i));
}

static void describe_sample(struct reading *reading, const struct perf_data *data,
                            const struct perf_data_record *record)
{
    const struct perf_data_sample *sample = &record->sample;

    add(reading, " %s ip %" PRIx64 " period %" PRIu64, perf_data_event(data, record->event)->name,
        sample->ip, sample->period);
    if (sample->chain.count)
        add(reading, " chain");
    describe_words(reading, data, sample->chain);
    if (sample->raw_size)
        add(reading, " raw %zu %.*s", sample->raw_size, (int)sample->raw_size,
            (const char *)sample->raw);
    if (sample->branches.count)
        add(reading, " branches");
    describe_words(reading, data, sample->branches);
    if (sample->user.abi)
        add(reading, " user %" PRIx64 ":", sample->user.mask);
    describe_words(reading, data, sample->user.values);
    if (sample->stack_size)
        add(reading, " stack %.*s", (int)sample->stack_size, (const char *)sample->stack);
    if (sample->intr.abi)
        add(reading, " intr %" PRIx64 ":", sample->intr.mask);
    describe_words(reading, data, sample->intr.values);
    if (sample->address | sample->weight | sample->physical)
        add(reading, " address %" PRIx64 " weight %" PRIu64 " physical %" PRIx64, sample->address,
            sample->weight, sample->physical);
}

static void describe_mapping(struct reading *reading, const struct perf_data_mapping *mapping)
{
    add(reading, " %" PRIx64 "+%" PRIx64 " file %" PRIx64 " %s %s id ", mapping->start,
        mapping->length, mapping->file_offset, mapping->name, mapping->is_data ? "data" : "code");
    for (size_t i = 0; i < mapping->build_id_length; i++)
        add(reading, "%02x", mapping->build_id[i]);
    add(reading, "%s(%u)", mapping->build_id_length ? " " : "- ", mapping->build_id_length);
}

static void describe(struct reading *reading, const struct perf_data *data,
                     const struct perf_data_record *record)
{
    const char *name = perf_data_kind_name(record->kind);

    if (record->kind >= PERF_DATA_FIRST_OF_PERF)
        return;
    add(reading, "%s", name ? name : "?");
    if (record->has_time)
        add(reading, " @%" PRIu64, record->time_ns);
    add(reading, " %u/%u cpu %u:", record->pid, record->tid, record->cpu);
    switch (record->kind) {
    case PERF_DATA_SAMPLE:
        describe_sample(reading, data, record);
        break;
    case PERF_DATA_MMAP:
    case PERF_DATA_MMAP2:
        describe_mapping(reading, &record->mapping);
        break;
    case PERF_DATA_COMM:
        add(reading, " %s%s", record->comm.name, record->comm.is_exec ? " exec" : "");
        break;
    case PERF_DATA_FORK:
    case PERF_DATA_EXIT:
        add(reading, " of %u/%u", record->task.parent_pid, record->task.parent_tid);
        break;
    case PERF_DATA_LOST:
    case PERF_DATA_LOST_SAMPLES:
        add(reading, " %" PRIu64, record->lost);
        break;
    case PERF_DATA_SWITCH:
    case PERF_DATA_SWITCH_CPU_WIDE:
        add(reading, "%s%s %u/%u", record->context_switch.is_out ? " out" : " in",
            record->context_switch.is_preempted ? " preempted" : "",
            record->context_switch.other_pid, record->context_switch.other_tid);
        break;
    case PERF_DATA_KSYMBOL:
        add(reading, " %" PRIx64 "+%u %s%s", record->ksymbol.address, record->ksymbol.length,
            record->ksymbol.name, record->ksymbol.is_gone ? " gone" : "");
        break;
    case PERF_DATA_AUX:
        add(reading, " %" PRIx64 "+%" PRIx64 "%s", record->aux.offset, record->aux.length,
            record->aux.is_truncated ? " truncated" : "");
        break;
    case PERF_DATA_CALLCHAIN_DEFERRED:
        add(reading, " cookie %" PRIu64 " chain", record->deferred.cookie);
        describe_words(reading, data, record->deferred.chain);
        break;
    default:
        break;
    }
    add(reading, "\n");
}

static void describe_facts(struct reading *reading, const struct perf_data *data)
{
    const struct perf_data_facts *facts = perf_data_facts(data);

    add(reading, "host %s command %s big %d pipe %d\n", facts->host, facts->command,
        facts->is_big_endian, facts->is_pipe);
    for (size_t i = 0; i < perf_data_event_count(data); i++)
        add(reading, "event %s\n", perf_data_event(data, i)->name);
    for (size_t i = 0; i < perf_data_build_id_count(data); i++) {
        const struct perf_data_build_id *id = perf_data_build_id(data, i);

        add(reading, "build ID %.*s of %s\n", id->length, (const char *)id->bytes, id->name);
    }
}

static int descriptor_of(const struct file *file, size_t size)
{
    int fds[2];

    if (file->form.pipe) {
        ck_assert_int_eq(pipe(fds), 0);
        ck_assert_int_eq(write(fds[1], file->bytes, size), (ssize_t)size);
        ck_assert_int_eq(close(fds[1]), 0);
        return fds[0];
    }
    fds[0] = memfd_create("perf.data", MFD_CLOEXEC);
    ck_assert_int_ge(fds[0], 0);
    ck_assert_int_eq(write(fds[0], file->bytes, size), (ssize_t)size);
    ck_assert_int_eq(lseek(fds[0], 0, SEEK_SET), 0);
    return fds[0];
}

/* The first size bytes of the file.  */
static struct reading *read_part(const struct file *file, size_t size, size_t order_bytes,
                                 bool with_facts)
{
    static struct reading reading;
    const struct perf_data_options options = { .size = sizeof options, .order_bytes = order_bytes };
    const struct perf_data_record *record;
    struct perf_data_error error;
    struct perf_data *data;
    int fd = descriptor_of(file, size);

    memset(&reading, 0, sizeof reading);
    reading.status = perf_data_open(fd, &options, &data, &error);
    while (reading.status == PERF_DATA_OK) {
        reading.status = perf_data_next(data, &record, &error);
        if (reading.status != PERF_DATA_OK)
            break;
        reading.records++;
        describe(&reading, data, record);
    }
    if (data) {
        if (with_facts)
            describe_facts(&reading, data);
        reading.notices = *perf_data_notices_of(data);
        reading.is_damaged = perf_data_describe(&reading.notices, reading.damage,
                                                sizeof reading.damage);
    }
    perf_data_close(data);
    ck_assert_int_eq(close(fd), 0);
    return &reading;
}

static struct reading *read_all(const struct file *file)
{
    return read_part(file, file->size, 0, false);
}

static const struct form forms[] = {
    { .big = false },       { .big = true },
    { .pipe = true },       { .pipe = true, .big = true },
    { .compressed = true }, { .compressed = true, .pipe = true, .big = true },
};
enum { FORMS = sizeof forms / sizeof *forms };

static struct file file;

/* ---- Tests ---- */

START_TEST(every_form_gives_the_same_records)
{
    struct reading *reading;
    char expected[4096];

    begin_file(&file, forms[_i], SAMPLE_TYPE);
    put_every_kind(&file);
    put_sample(&file, 11, 200, 0x401000);
    put_sample(&file, 12, 210, 0x401010);
    end_file(&file);
    reading = read_part(&file, file.size, 0, true);
    ck_assert_int_eq(reading->status, PERF_DATA_END);
    ck_assert_str_eq(reading->damage, "");
    (void)snprintf(
        expected, sizeof expected,
        "%sSAMPLE @200 7/8 cpu 1: %s ip 401000 period 500 chain fffffffffffffe00 401000 4000\n"
        "SAMPLE @210 7/8 cpu 1: %s ip 401010 period 500 chain fffffffffffffe00 401010 4000\n"
        "host machine command perf record big %d pipe %d\nevent first:u\nevent second:u\n"
        "build ID 0123456789abcdef of /bin/app\n",
        every_kind, /* the names of the form of pipes come after the data */
        "first:u", "second:u", forms[_i].big, forms[_i].pipe);
    ck_assert_str_eq(reading->text, expected);
}
END_TEST

/* Sample members one by one: the bit, the words that a sample has for it, what is read.  */
static const struct {
    uint64_t bits;
    uint64_t words[8];
    const char *read;
} members[] = {
    { 0, { 0 }, "" },
    { PERF_SAMPLE_ADDR, { 0x77 }, " address 77 weight 0 physical 0" },
    { PERF_SAMPLE_READ, { 5 }, "" },
    { PERF_SAMPLE_BRANCH_STACK, { 1, 0x10, 0x20, 0x3 }, " branches 10 20 3" },
    { PERF_SAMPLE_REGS_USER, { 2, 1, 2, 3 }, " user 181: 1 2 3" },
    { PERF_SAMPLE_REGS_USER, { 0 }, "" },
    { PERF_SAMPLE_REGS_INTR, { 2, 8, 9 }, " intr 3: 8 9" },
    { PERF_SAMPLE_WEIGHT, { 6 }, " address 0 weight 6 physical 0" },
    { PERF_SAMPLE_PHYS_ADDR, { 0x99 }, " address 0 weight 0 physical 99" },
};

START_TEST(each_member_of_a_sample_is_read)
{
    /* How many words there are: up to the last that is not 0, at least one.  */
    size_t count = members[_i].bits != 0;
    char expected[200];

    for (unsigned big = 0; big < 2; big++) {
        begin_file(&file, (struct form){ .big = big }, PERF_SAMPLE_IP | members[_i].bits);
        begin_record(&file, PERF_DATA_SAMPLE, 2);
        put(&file, 0x1234, 8);
        for (size_t i = 1; i < 8; i++)
            if (members[_i].words[i])
                count = i + 1;
        for (size_t i = 0; i < count; i++)
            put(&file, members[_i].words[i], 8);
        end_record(&file);
        end_file(&file);
        (void)snprintf(expected, sizeof expected,
                       "SAMPLE 4294967295/4294967295 cpu 4294967295: first:u ip 1234 period "
                       "1000003%s\n",
                       members[_i].read);
        ck_assert_str_eq(read_all(&file)->text, expected);
        ck_assert_str_eq(read_all(&file)->damage, "");
    }
}
END_TEST

START_TEST(stack_and_raw_bytes_are_read)
{
    begin_file(&file, (struct form){ .big = false },
               PERF_SAMPLE_RAW | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT);
    begin_record(&file, PERF_DATA_SAMPLE, 2);
    put(&file, 12, 4);
    put_bytes(&file, "raw contents", 12);
    put(&file, 16, 8);
    put_bytes(&file, "stack of 16 byte", 16);
    put(&file, 5, 8); /* of which these could be read */
    put(&file, 4, 8);
    end_record(&file);
    end_file(&file);
    ck_assert_str_eq(read_all(&file)->text,
                     "SAMPLE 4294967295/4294967295 cpu 4294967295: first:u ip 0 period 1000003 "
                     "raw 12 raw contents stack stack address 0 weight 4 physical 0\n");
}
END_TEST

/* Times of samples in the file, 0 for a round's end, and the order in which they come.  */
static const struct {
    uint64_t times[10];
    const char *order;
    uint64_t late;
} orders[] = {
    { { 5, 7, 6, 0, 9, 8, 0, 10 }, "5 6 7 8 9 10 ", 0 },
    { { 5, 9, 0, 7, 12, 0, 10, 13, 0, 14 }, "5 7 9 10 12 13 14 ", 0 },
    { { 3, 2, 1 }, "1 2 3 ", 0 },
    /* A round's end that promises too much.  */
    { { 5, 0, 6, 0, 7, 0, 1 }, "5 6 1 7 ", 1 },
};

START_TEST(records_come_in_the_order_of_time)
{
    char order[100] = "";

    begin_file(&file, (struct form){ .pipe = true }, SAMPLE_TYPE);
    for (size_t i = 0; i < 10; i++)
        if (orders[_i].times[i])
            put_sample(&file, 11, orders[_i].times[i], 1);
        else if (i < 9 && orders[_i].times[i + 1])
            put_round(&file);
    end_file(&file);
    const struct reading *reading = read_all(&file);

    for (const char *at = reading->text; (at = strchr(at, '@')); at++)
        (void)snprintf(order + strlen(order), sizeof order - strlen(order), "%lu ",
                       strtoul(at + 1, NULL, 10));
    ck_assert_str_eq(order, orders[_i].order);
    ck_assert_uint_eq(reading->notices.late, orders[_i].late);
    ck_assert(!reading->is_damaged);
}
END_TEST

START_TEST(what_waits_has_a_limit)
{
    const struct reading *reading;

    begin_file(&file, (struct form){ .pipe = true }, SAMPLE_TYPE);
    for (uint64_t i = 0; i < 100; i++)
        put_sample(&file, 11, 1000 - i, 1);
    end_file(&file);
    reading = read_part(&file, file.size, 2000, false);
    ck_assert_uint_eq(reading->records, 100 + 2 + 4); /* two attributes, four features */
    ck_assert_uint_gt(reading->notices.late, 10);
    ck_assert(!reading->is_damaged);
}
END_TEST

/* Many runs of records of the same times, as many CPUs leave them: of one time, the earlier in the
 * file comes first; records of two rounds are merged.  */
START_TEST(runs_are_merged)
{
    enum { RUNS = 5, EACH = 6 };
    const struct reading *reading;
    const char *at;
    unsigned count = 0;
    unsigned long before = 0, address_before = 0;

    begin_file(&file, forms[_i], SAMPLE_TYPE);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t run = 0; run < RUNS; run++)
            for (uint64_t i = 0; i < EACH; i++)
                put_sample(&file, 11, 1000 + 100 * round + i / 2 * 2 + (run % 5 ? 0 : 30),
                           0x1000 * (round + 1) + 0x10 * run + i);
        put_round(&file);
    }
    end_file(&file);
    reading = read_all(&file);
    ck_assert_uint_eq(reading->notices.late, 0);
    for (at = reading->text; (at = strchr(at, '@')); at++) {
        unsigned long time = strtoul(at + 1, NULL, 10);
        const char *ip = strstr(at, " ip ");
        unsigned long address = ip ? strtoul(ip + 4, NULL, 16) : 0;

        ck_assert_uint_ge(time, before);
        if (time == before)
            ck_assert_uint_gt(address, address_before);
        before = time;
        address_before = address;
        count++;
    }
    ck_assert_uint_eq(count, (size_t)3 * RUNS * EACH);
}
END_TEST

START_TEST(samples_of_unknown_events_are_left_out)
{
    begin_file(&file, (struct form){ .big = false }, SAMPLE_TYPE);
    put_sample(&file, 99, 200, 1);
    put_sample(&file, 12, 210, 2);
    end_file(&file);
    ck_assert_uint_eq(read_all(&file)->records, 1);
    ck_assert_str_eq(read_all(&file)->damage, "1 record of an event that is not in the file");
}
END_TEST

START_TEST(reading_goes_on_behind_damage)
{
    begin_file(&file, (struct form){ .big = false }, SAMPLE_TYPE);
    put_sample(&file, 11, 200, 1);
    size_t damage = file.size;

    for (unsigned i = 0; i < 40; i++)
        put(&file, 0xffffffffffffff00 + i, 8);
    put_sample(&file, 11, 210, 2);
    put_sample(&file, 11, 220, 2);
    size_t sections = file.size;

    end_file(&file);
    const struct reading *reading = read_all(&file);

    ck_assert_uint_eq(reading->records, 3);
    ck_assert_uint_eq(reading->notices.bad_bytes, 320);
    ck_assert_uint_eq(reading->notices.first_offset, damage);
    ck_assert(strstr(reading->damage, "320 bytes that are no records, first at byte "));

    /* A section that runs past the end is read before the records, but is not the first damage.  */
    put_at(&file, sections + 8, 1 << 20, 8);
    reading = read_all(&file);
    ck_assert_uint_eq(reading->notices.bad_sections, 1);
    ck_assert_uint_eq(reading->notices.first_offset, damage);
}
END_TEST

/* What is wrong with a file of three samples, and the sentence: at is where the samples begin, end
 * where they end.  */
static void not_finished(struct file *damaged, size_t at, size_t end)
{
    (void)at;
    put_at(damaged, 48, 0, 8);
    damaged->size = end;
}

static void not_finished_and_cut(struct file *damaged, size_t at, size_t end)
{
    not_finished(damaged, at, end);
    damaged->size -= 8;
}

static void cut_in_a_sample(struct file *damaged, size_t at, size_t end)
{
    (void)at;
    damaged->size = end - 8;
}

static void longer_than_any_file(struct file *damaged, size_t at, size_t end)
{
    (void)at;
    put_at(damaged, 48, UINT64_MAX - 8, 8);
    damaged->size = end;
}

/* The file has more bytes, but its records are over.  */
static void ends_inside_a_record(struct file *damaged, size_t at, size_t end)
{
    put_at(damaged, 48, end - at - 8, 8);
    put_at(damaged, 72, 0, 8); /* no features */
}

/* The last sample becomes hardware's bytes, far more than the records have.  */
static void goes_on_after_the_end(struct file *damaged, size_t at, size_t end)
{
    size_t last = end - (end - at) / 3;

    put_at(damaged, last, PERF_DATA_AUXTRACE, 4);
    put_at(damaged, last + 8, 1 << 20, 8);
}

/* Contents that were decompressed, but are no records.  */
static void packs_no_record(struct file *damaged, size_t at, size_t end)
{
    uint8_t packed[64];
    size_t size = ZSTD_compress(packed, sizeof packed, "no record is this", 17, 1);
    size_t last = end - (end - at) / 3;

    memset(damaged->bytes + last, 0, end - last);
    put_at(damaged, last, PERF_DATA_COMPRESSED, 4);
    put_at(damaged, last + 6, 8 + size, 2);
    memcpy(damaged->bytes + last + 8, packed, size);
    put_at(damaged, 48, last + 8 + size - at, 8);
    put_at(damaged, 72, 0, 8);
}

/* A feature of a pipe comes in a record of its own.  */
static void feature_is_too_short(struct file *damaged, size_t at, size_t end)
{
    (void)at, (void)end;
    begin_record(damaged, PERF_DATA_FEATURE, 0);
    put(damaged, 3, 8); /* host */
    put(damaged, 1000, 4);
    put(damaged, 0, 4);
    end_record(damaged);
}

static void packets_are_missing(struct file *damaged, size_t at, size_t end)
{
    (void)at, (void)end;
    begin_record(damaged, PERF_DATA_AUXTRACE, 0);
    put(damaged, 1000, 8);
    for (unsigned i = 0; i < 4; i++)
        put(damaged, 0, 8);
    end_record(damaged);
    put(damaged, 0, 8);
}

static const struct {
    void (*damage)(struct file *damaged, size_t at, size_t end);
    bool pipe;
    const char *sentence; /* with the place of the first damage: */
    size_t place;         /* so far before the end of the samples, or of the file of a pipe */
} damages[] = {
    { not_finished, false, "the recording was not finished", 0 },
    { not_finished_and_cut, false, "the recording was not finished, the file is cut, first at byte",
      88 },
    { cut_in_a_sample, false, "the file is cut, 1 section that cannot be read, first at byte", 88 },
    { longer_than_any_file, false, "the file is cut, first at byte", 0 },
    { ends_inside_a_record, false, "1 record that cannot be read, first at byte", 88 },
    { goes_on_after_the_end, false, "1 record that cannot be read, first at byte", 0 },
    { packs_no_record, false,
      "1 compressed record whose contents cannot all be read, first at byte", 88 },
    { feature_is_too_short, true, "1 record that cannot be read, first at byte", 24 },
    { packets_are_missing, true, "the file is cut, first at byte", 0 },
};

START_TEST(sentences_about_damage_are_true)
{
    char expected[200];
    size_t end, first;

    begin_file(&file, (struct form){ .pipe = damages[_i].pipe }, SAMPLE_TYPE);
    for (uint64_t i = 0; i < 3; i++)
        put_sample(&file, 11, 200 + i, 0x401000);
    end = file.size;
    end_file(&file);
    damages[_i].damage(&file, file.data, end);
    first = (damages[_i].pipe ? file.size : end) - damages[_i].place;
    if (strstr(damages[_i].sentence, "at byte"))
        (void)snprintf(expected, sizeof expected, "%s %zu", damages[_i].sentence, first);
    else
        (void)snprintf(expected, sizeof expected, "%s", damages[_i].sentence);
    const struct reading *reading = read_all(&file);

    ck_assert_int_eq(reading->status, PERF_DATA_END);
    ck_assert(reading->is_damaged);
    ck_assert_str_eq(reading->damage, expected);
    ck_assert(strstr(reading->text, "@201 "));
}
END_TEST

/* Reading fails: that is a status, and neither a cut header nor a cut file.  A folder can be opened
 * and seeked in, but not read.  */
START_TEST(a_failure_of_reading_is_no_damage)
{
    struct perf_data_error error;
    struct perf_data *data;
    int fd = open(".", O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(perf_data_open(fd, NULL, &data, &error), PERF_DATA_IO);
    ck_assert_int_eq(error.system_errno, EISDIR);
    ck_assert_str_eq(error.message, "reading: Is a directory");
    ck_assert_int_eq(close(fd), 0);

    /* After the header: the descriptor is another one by then.  */
    const struct perf_data_record *record;
    enum perf_data_status status;
    char damage[200];

    begin_file(&file, (struct form){ .pipe = false }, SAMPLE_TYPE);
    for (uint64_t i = 0; i < 600; i++)
        put_sample(&file, 11, 200 + i, 0x401000);
    end_file(&file);
    put_at(&file, 48, 1 << 20, 8); /* more than the reader takes at once */
    fd = descriptor_of(&file, file.size);
    ck_assert_int_eq(perf_data_open(fd, NULL, &data, &error), PERF_DATA_OK);
    int folder = open(".", O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(dup2(folder, fd), fd);
    while ((status = perf_data_next(data, &record, &error)) == PERF_DATA_OK)
        ;
    ck_assert_int_eq(status, PERF_DATA_IO);
    (void)perf_data_describe(perf_data_notices_of(data), damage, sizeof damage);
    ck_assert_ptr_null(strstr(damage, "cut"));
    perf_data_close(data);
    ck_assert_int_eq(close(folder), 0);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(every_prefix_delivers_what_is_whole)
{
    uint64_t before = 0;

    begin_file(&file, forms[_i], SAMPLE_TYPE);
    put_every_kind(&file);
    put_sample(&file, 12, 210, 0x401010);
    end_file(&file);
    for (size_t size = 0; size < file.size; size++) {
        const struct reading *reading = read_part(&file, size, 0, true);

        if (size < 8)
            ck_assert_int_eq(reading->status, PERF_DATA_FOREIGN);
        else if (size < 16)
            ck_assert_int_eq(reading->status, PERF_DATA_MALFORMED);
        else
            ck_assert(reading->status == PERF_DATA_END || reading->status == PERF_DATA_MALFORMED);
        ck_assert_uint_ge(reading->records, before);
        before = reading->records;
        if (!forms[_i].pipe && reading->status == PERF_DATA_END)
            ck_assert(reading->is_damaged); /* a pipe may end between records */
    }
}
END_TEST

/* AddressSanitizer takes twenty times as long: with it, one or two bits of each byte.  */
enum { BIT_STEP = HAS_ASAN ? 7 : 1 };

START_TEST(no_flipped_bit_breaks_reading)
{
    begin_file(&file, forms[_i], SAMPLE_TYPE);
    put_every_kind(&file);
    put_sample(&file, 12, 210, 0x401010);
    end_file(&file);
    for (size_t bit = 0; bit < 8 * file.size; bit += BIT_STEP) {
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)read_part(&file, file.size, 0, true);
        file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}
END_TEST

/* Read the file while the n-th allocation fails.  */
static enum perf_data_status read_failing(unsigned long n)
{
    const struct perf_data_record *record;
    enum perf_data_status status;
    struct perf_data *data;
    int fd = descriptor_of(&file, file.size);

    allocation_fail_at(n);
    status = perf_data_open(fd, NULL, &data, NULL);
    while (status == PERF_DATA_OK)
        status = perf_data_next(data, &record, NULL);
    perf_data_close(data);
    allocation_fail_at(0);
    ck_assert_int_eq(close(fd), 0);
    return status;
}

START_TEST(memory_may_run_out_at_any_place)
{
    enum perf_data_status status;
    unsigned long failed = 0;

    begin_file(&file, forms[_i], SAMPLE_TYPE);
    put_every_kind(&file);
    put_sample(&file, 12, 210, 0x401010);
    end_file(&file);
    while ((status = read_failing(failed + 1)) == PERF_DATA_NO_MEMORY)
        failed++;
    ck_assert_int_eq(status, PERF_DATA_END); /* it had fewer allocations than that */
    ck_assert_uint_gt(failed, 8);
}
END_TEST

/* Of old kernels and old versions of perf.  */
START_TEST(old_forms_are_read)
{
    for (unsigned big = 0; big < 2; big++) {
        begin_file(&file, (struct form){ .big = big }, SAMPLE_TYPE);
        memcpy(file.bytes, "PERFFILE", 8);
        begin_record(&file, PERF_DATA_MMAP2, 0);
        put(&file, 7, 4);
        put(&file, 7, 4);
        put(&file, 0x400000, 8);
        put(&file, 0x1000, 8);
        put(&file, 0, 8);
        for (unsigned i = 0; i < 3; i++)
            put(&file, 9, 8);
        put_text(&file, "[stack]");
        put_identification(&file, 100, 11);
        end_file(&file);
        ck_assert_str_eq(read_all(&file)->text,
                         "MMAP2 @100 7/7 cpu 1: 400000+1000 file 0 [stack] code id - (0)\n");
    }
}
END_TEST

/* A record of simpleperf's own is counted and passed over, whatever is in it; it may be cut.  */
START_TEST(records_of_simpleperf_are_passed_over)
{
    const struct reading *reading;

    begin_file(&file, forms[_i], SAMPLE_TYPE);
    begin_record(&file, 32770, 0);
    for (unsigned i = 0; i < 40; i++)
        put(&file, UINT64_MAX - i, 8);
    end_record(&file);
    put_sample(&file, 11, 200, 0x401000);
    end_file(&file);
    reading = read_all(&file);
    ck_assert_uint_eq(reading->records, forms[_i].pipe ? 2 + 4 + 2 : 2); /* attributes, features */
    ck_assert_ptr_nonnull(strstr(reading->text, "ip 401000"));
    ck_assert_msg(!reading->is_damaged, "%s", reading->damage);

    begin_file(&file, (struct form){ .pipe = true }, SAMPLE_TYPE);
    begin_record(&file, 32770, 0xffff); /* nearly 4 GiB */
    end_record(&file);
    put_sample(&file, 11, 200, 0x401000);
    reading = read_part(&file, file.size, 0, false);
    ck_assert_uint_eq(reading->records, 2 + 1);
    ck_assert_ptr_null(strstr(reading->text, "ip 401000"));
}
END_TEST

START_TEST(files_of_others_are_told_apart)
{
    struct perf_data_error error;
    struct perf_data *data;
    int fd;

    ck_assert(perf_data_is("PERFILE2", 8));
    ck_assert(perf_data_is("2ELIFREP", 8));
    ck_assert(perf_data_is("PERFFILE", 8));
    ck_assert(!perf_data_is("PERFFILM", 8));
    ck_assert(!perf_data_is("PERFILE2", 7));
    begin_file(&file, (struct form){ .big = false }, SAMPLE_TYPE);
    end_file(&file);
    file.form.pipe = true; /* the form of files, through a pipe */
    fd = descriptor_of(&file, file.size);
    ck_assert_int_eq(perf_data_open(fd, NULL, &data, &error), PERF_DATA_NEEDS_FILE);
    ck_assert_ptr_null(data);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

int main(void)
{
    enum {
        MEMBERS = sizeof members / sizeof *members,
        ORDERS = sizeof orders / sizeof *orders,
        DAMAGES = sizeof damages / sizeof *damages,
    };
    Suite *suite = suite_create("perf_data");
    TCase *tests = tcase_create("perf_data");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tests, 0);
    tcase_add_loop_test(tests, every_form_gives_the_same_records, 0, FORMS);
    tcase_add_loop_test(tests, each_member_of_a_sample_is_read, 0, MEMBERS);
    tcase_add_test(tests, stack_and_raw_bytes_are_read);
    tcase_add_loop_test(tests, records_come_in_the_order_of_time, 0, ORDERS);
    tcase_add_test(tests, what_waits_has_a_limit);
    tcase_add_loop_test(tests, runs_are_merged, 0, FORMS);
    tcase_add_test(tests, samples_of_unknown_events_are_left_out);
    tcase_add_test(tests, reading_goes_on_behind_damage);
    tcase_add_loop_test(tests, sentences_about_damage_are_true, 0, DAMAGES);
    tcase_add_test(tests, a_failure_of_reading_is_no_damage);
    tcase_add_loop_test(tests, every_prefix_delivers_what_is_whole, 0, FORMS);
    tcase_add_loop_test(tests, no_flipped_bit_breaks_reading, 0, FORMS);
    tcase_add_loop_test(tests, memory_may_run_out_at_any_place, 0, FORMS);
    tcase_add_test(tests, old_forms_are_read);
    tcase_add_loop_test(tests, records_of_simpleperf_are_passed_over, 0,
                        4); /* none is compressed */
    tcase_add_test(tests, files_of_others_are_told_apart);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
