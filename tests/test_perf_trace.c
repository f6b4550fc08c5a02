/* perf.data files as traces: callers from copies of stacks, and files that are cut or damaged
 * anywhere.  */
#include <check.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fxt/fxt.h>
#include "cmd/cli/perf_unwind.h"
#include "libperf/perf_trace.h"
#include "tests/support/random.h"

static uint8_t bytes[1 << 17], trace_bytes[1 << 20];
static size_t size, trace_size;

/* ---- Files ---- */

static void data_path(char *path, size_t path_size, const char *name)
{
    const char *root = getenv("ROOT");

    (void)snprintf(path, path_size, "%s/testdata/perf%s", root ? root : ".", name);
}

static void load(const char *name)
{
    char path[4096];
    FILE *file;

    data_path(path, sizeof path, name);
    file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size = fread(bytes, 1, sizeof bytes, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_uint_lt(size, sizeof bytes);
}

static void put(uint64_t value, size_t length)
{
    ck_assert_uint_le(length, sizeof bytes - size);
    memcpy(bytes + size, &value, length); /* the machines of these tests are little-endian */
    size += length;
}

static size_t begin_record(uint32_t kind, uint16_t misc)
{
    put(kind, 4);
    put(misc, 2);
    put(0, 2);
    return size - 8;
}

static void end_record(size_t record)
{
    uint16_t length = (uint16_t)(size - record);

    memcpy(bytes + record + 6, &length, sizeof length);
}

enum { SAMPLE_ID_ALL = 1 << 18 };

/* In the form of pipes: an event whose samples have a callchain and a copy of the stack.  */
static void begin_pipe(uint64_t flags)
{
    size_t record;

    size = 0;
    put(UINT64_C(0x32454c4946524550), 8); /* PERFILE2 */
    put(16, 8);
    record = begin_record(PERF_DATA_ATTR, 0);
    put(PERF_TYPE_SOFTWARE, 4);
    put(112, 4);
    put(0, 8);
    put(1000, 8);
    put(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
            PERF_SAMPLE_STACK_USER,
        8);
    put(0, 8);
    put(flags, 8);
    for (unsigned i = 0; i < 4; i++)
        put(0, 8);
    put(0x181, 8);
    put(16, 4);
    for (unsigned i = 0; i < 5; i++)
        put(0, 4);
    put(11, 8);
    end_record(record);
}

static void put_sample(uint16_t misc, const uint64_t *chain, size_t count)
{
    size_t record = begin_record(PERF_DATA_SAMPLE, misc);

    put(0x401000, 8);
    put(7, 4);
    put(7, 4);
    put(count, 8);
    for (size_t i = 0; i < count; i++)
        put(chain[i], 8);
    put(PERF_SAMPLE_REGS_ABI_64, 8);
    for (uint64_t i = 0; i < 3; i++)
        put(0x7000 + i, 8);
    put(16, 8);
    put(0, 8);
    put(0, 8);
    put(16, 8);
    end_record(record);
}

/* ---- Conversion ---- */

static size_t unwind_stack(void *context, const struct perf_trace_copy *copy, uint64_t *addresses,
                           size_t capacity, bool *is_whole)
{
    return cli_perf_unwind_stack(context, copy, addresses, capacity, is_whole);
}

/* As if it knew two frames.  */
static size_t unwind_two(void *is_complete, const struct perf_trace_copy *copy, uint64_t *addresses,
                         size_t capacity, bool *is_whole)
{
    ck_assert_uint_ge(capacity, 2);
    ck_assert_uint_eq(copy->register_count, 3);
    ck_assert_uint_eq(copy->registers[1], 0x7001);
    ck_assert_uint_eq(copy->stack_size, 16);
    addresses[0] = 0x401000;
    addresses[1] = 0x402000;
    *is_whole = *(const bool *)is_complete;
    return 2;
}

static ptrdiff_t read_again(void *context, void *buffer, size_t length)
{
    size_t *at = context;

    length = length < trace_size - *at ? length : trace_size - *at;
    memcpy(buffer, trace_bytes + *at, length);
    *at += length;
    return (ptrdiff_t)length;
}

/* Whatever a file is like, the trace of it has no damage.  */
static void check_trace(void)
{
    const struct fxt_record *record;
    struct fxt_reader *reader;
    struct fxt_input *input;
    enum fxt_status status;
    size_t at = 0;

    ck_assert_int_eq(fxt_input_open_callback(read_again, &at, &input, NULL), FXT_OK);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while ((status = fxt_reader_next(reader, &record, NULL)) == FXT_OK)
        continue;
    ck_assert_int_eq(status, FXT_END);
    for (int kind = 0; kind < FXT_DAMAGE_KINDS; kind++)
        ck_assert_uint_eq(fxt_reader_damage(reader)->kinds[kind].bytes, 0);
    fxt_reader_close(reader);
    fxt_input_close(input);
}

static struct perf_trace_counts convert(size_t length, const struct perf_trace_options *options)
{
    struct perf_trace_counts counts = { .samples = 0 };
    struct perf_trace *trace = NULL;
    ptrdiff_t got = 1;
    int fd = memfd_create("perf.data", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    trace_size = 0;
    if (perf_trace_open(fd, options, &trace, NULL) == PERF_DATA_OK) {
        while (got > 0 && trace_size < sizeof trace_bytes) {
            got = perf_trace_read(trace, trace_bytes + trace_size, sizeof trace_bytes - trace_size);
            trace_size += got > 0 ? (size_t)got : 0;
        }
        ck_assert_int_ge(got, 0);
        counts = *perf_trace_counts(trace);
        perf_trace_close(trace);
        check_trace();
    }
    ck_assert_int_eq(close(fd), 0);
    return counts;
}

static struct sym_session *open_session(void)
{
    static char path[4096];
    const char *const paths[] = { path };
    struct sym_options options = {
        .size = sizeof options, .symbol_paths = paths, .symbol_path_count = 1, .no_cache = true
    };
    struct sym_session *session;

    data_path(path, sizeof path, "");
    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    return session;
}

/* ---- Tests ---- */

#define KERNEL_CODE UINT64_C(0xffffffff81000000)
#define KERNEL      ((uint64_t)-128)
#define USER        ((uint64_t)-512)

static const struct {
    uint64_t chain[8];
    uint64_t stack[8]; /* in the trace */
    uint64_t continued;
    uint16_t misc; /* 1: kernel code was interrupted, 2: user code */
    bool is_whole;
} chains[] = {
    { { 0 }, { 0x401000, 0x402000 }, 0, 2, false },
    { { USER, 0x401000, 0x402000, 0x403000 }, { 0x401000, 0x402000, 0x403000 }, 1, 2, false },
    { { USER, 0x401000, 0x402000, 0x403000 }, { 0x401000, 0x402000 }, 0, 2, true },
    { { USER, 0x401000, 0x405000, 0x403000 }, { 0x401000, 0x402000 }, 0, 2, false },
    { { KERNEL, KERNEL_CODE, USER, 0x402000, 0x403000 },
      { KERNEL_CODE, 0x401001, 0x402000, 0x403000 },
      1,
      1,
      false },
};

START_TEST(copies_of_stacks_go_before_callchains)
{
    bool is_whole = chains[_i].is_whole;
    const struct perf_trace_options options = { .size = sizeof options,
                                                .unwind = unwind_two,
                                                .context = &is_whole };
    struct perf_trace_counts counts;
    size_t count = 0, frames = 0;
    uint64_t expected[9];

    while (chains[_i].chain[count])
        count++;
    while (chains[_i].stack[frames])
        frames++;
    begin_pipe(0);
    put_sample(chains[_i].misc, chains[_i].chain, count);
    counts = convert(size, &options);
    ck_assert_uint_eq(counts.samples, 1);
    ck_assert_uint_eq(counts.stacks_left, 0);
    ck_assert_uint_eq(counts.continued_stacks, chains[_i].continued);
    expected[0] = 8 * frames;
    memcpy(expected + 1, chains[_i].stack, 8 * frames);
    ck_assert_ptr_nonnull(memmem(trace_bytes, trace_size, expected, 8 * (frames + 1)));
}
END_TEST

#define USER_DEFERRED ((uint64_t)-640)
#define GUEST         ((uint64_t)-2048)
#define GUEST_KERNEL  ((uint64_t)-2176)
#define GUEST_USER    ((uint64_t)-2560)
#define ELSEWHERE     (UINT64_C(1) << 61) /* of addresses that no process and no kernel has */

/* Whether the trace has a sample of these addresses.  */
static bool has_stack(const uint64_t *addresses, size_t count)
{
    uint64_t expected[9] = { 8 * count };

    ck_assert_uint_le(count, 8);
    memcpy(expected + 1, addresses, 8 * count);
    return memmem(trace_bytes, trace_size, expected, 8 * (count + 1));
}

/* The part of a stack that a record after the sample brings, when the thread returns to user
 * code.  */
static void put_deferred(uint32_t tid, uint64_t cookie)
{
    static const uint64_t chain[] = { USER, 0x401000, 0x402000 };
    size_t record = begin_record(PERF_DATA_CALLCHAIN_DEFERRED, 2);

    put(cookie, 8);
    put(3, 8);
    for (size_t i = 0; i < 3; i++)
        put(chain[i], 8);
    put(7, 4);
    put(tid, 4);
    end_record(record);
}

static const struct {
    unsigned samples;
    uint32_t tid; /* of the record that comes later; 0: none comes */
    uint64_t cookie;
    unsigned waiting; /* samples for which nothing came */
} deferred[] = {
    { 1, 7, 77, 0 }, { 3, 7, 77, 0 }, /* all that wait for it */
    { 2, 7, 78, 2 }, { 1, 8, 77, 1 }, { 1, 0, 0, 1 },
};

START_TEST(a_callchain_that_comes_later_joins_its_samples)
{
    /* The user's code was interrupted: readers, which look for a call before it, get 1 more.  */
    static const uint64_t whole[] = { KERNEL_CODE, 0x401000 + 1, 0x402000 };
    const uint64_t chain[] = { KERNEL, KERNEL_CODE, USER_DEFERRED, 77 };
    const struct perf_trace_options options = { .size = sizeof options };
    struct perf_trace_counts counts;

    begin_pipe(SAMPLE_ID_ALL);
    for (unsigned i = 0; i < deferred[_i].samples; i++)
        put_sample(1, chain, 4);
    if (deferred[_i].tid)
        put_deferred(deferred[_i].tid, deferred[_i].cookie);
    counts = convert(size, &options);
    ck_assert_uint_eq(counts.samples, deferred[_i].samples);
    ck_assert_uint_eq(counts.waiting_stacks, deferred[_i].waiting);
    ck_assert_int_eq(has_stack(whole, 3), deferred[_i].waiting == 0);
    ck_assert_int_eq(has_stack(whole, 1), deferred[_i].waiting != 0);
}
END_TEST

/* A machine inside this one: frames of it are in the stack, at addresses where nothing is
 * mapped.  Each part begins where code was interrupted.  */
static const struct {
    uint64_t chain[8], stack[4];
    uint16_t misc; /* 4: the kernel of a guest was interrupted, 5: its user code */
} guests[] = {
    { { 0 }, { ELSEWHERE | 0x401000 }, 4 },
    { { 0 }, { ELSEWHERE | 0x401000 }, 5 },
    { { GUEST, GUEST_KERNEL, KERNEL_CODE, GUEST_USER, 0x401000 },
      { KERNEL_CODE & ~(UINT64_C(3) << 62), ELSEWHERE | (0x401000 + 1) },
      4 },
    { { GUEST_USER, 0x401000, 0x402000 }, { ELSEWHERE | 0x401000, ELSEWHERE | 0x402000 }, 5 },
    { { KERNEL, KERNEL_CODE, GUEST_KERNEL, KERNEL_CODE + 8, USER, 0x401000 },
      { KERNEL_CODE, (KERNEL_CODE + 8 + 1) & ~(UINT64_C(3) << 62), 0x401000 + 1 },
      1 },
};

START_TEST(frames_of_guests_are_in_no_module)
{
    const struct perf_trace_options options = { .size = sizeof options };
    size_t count = 0, frames = 0;

    while (guests[_i].chain[count])
        count++;
    while (guests[_i].stack[frames])
        frames++;
    begin_pipe(0);
    put_sample(guests[_i].misc, guests[_i].chain, count);
    ck_assert_uint_eq(convert(size, &options).samples, 1);
    ck_assert(has_stack(guests[_i].stack, frames));
}
END_TEST

/* Copies that are cut: what they reach is there, and the cause is counted.  */
START_TEST(short_copies_are_counted)
{
    static const uint64_t whole = 1024, cut = 48;
    struct sym_session *session = open_session();
    struct cli_perf_unwind *unwind = cli_perf_unwind_open(session);
    const struct perf_trace_options options = { .size = sizeof options,
                                                .unwind = unwind_stack,
                                                .context = unwind };
    struct perf_trace_counts counts;
    char text[400];
    size_t copies = 0;

    load("/dwarf.data");
    for (size_t at = 0; at + whole + 16 <= size; at += 8)
        if (memcmp(bytes + at, &whole, 8) == 0 && memcmp(bytes + at + 8 + whole, &whole, 8) == 0) {
            memcpy(bytes + at + 8 + whole, &cut, 8);
            copies++;
        }
    ck_assert_uint_gt(copies, 10);
    counts = convert(size, &options);
    ck_assert_uint_eq(counts.samples, copies);
    ck_assert_uint_eq(counts.stacks_left, 0);
    ck_assert(cli_perf_unwind_describe(unwind, text, sizeof text));
    ck_assert_msg(strstr(text, " (the copy of the stack ended)"), "%s", text);
    cli_perf_unwind_close(unwind);
    sym_session_close(session);
}
END_TEST

static const char *const names[] = { "/zstd.data", "/pipe.data", "/dwarf.data" };

START_TEST(no_damage_breaks_a_conversion)
{
    struct sym_session *session = open_session();
    struct cli_perf_unwind *unwind = cli_perf_unwind_open(session);
    const struct perf_trace_options options = { .size = sizeof options,
                                                .unwind = unwind_stack,
                                                .context = unwind };
    size_t step;

    load(names[_i]);
    step = size / 1500 + 1;
    if (_i == 0) /* the smallest: every prefix */
        for (size_t length = 0; length < size; length++)
            (void)convert(length, &options);
    for (size_t at = 0; at < size; at += step) { /* a bit of every few bytes */
        bytes[at] ^= (uint8_t)(1u << at / step % 8);
        (void)convert(size, &options);
        bytes[at] ^= (uint8_t)(1u << at / step % 8);
    }
    ck_assert_uint_gt(convert(size, &options).samples, 20);
    cli_perf_unwind_close(unwind);
    sym_session_close(session);
}
END_TEST

static const char *const mutated[] = { "/fp.data", "/events.data", "/zstd.data", "/pipe.data",
                                       "/dwarf.data" };

/* One change of a file: a byte, a word of a value that sizes and counts mind, a part in the place
 * of another, or a part less.  */
static void mutate(uint64_t *state)
{
    static const uint64_t odd[] = { 0, 1, 7, 8, 0xffff, 0xffffffff, UINT64_MAX, INT64_MAX };
    size_t at = random_word(state) % size, from = random_word(state) % size;
    size_t length = random_word(state) % 64 + 1;

    length = length < size - at ? length : size - at;
    length = length < size - from ? length : size - from;
    switch (random_word(state) % 4) {
    case 0:
        bytes[at] = (uint8_t)random_word(state);
        break;
    case 1:
        memcpy(bytes + at, &odd[random_word(state) % 8], length < 8 ? length : 8);
        break;
    case 2:
        memmove(bytes + at, bytes + from, length);
        break;
    default:
        memmove(bytes + at, bytes + at + length, size - at - length);
        size -= length;
    }
}

START_TEST(a_thousand_mutations_of_a_file_break_nothing)
{
    struct sym_session *session = open_session();
    struct cli_perf_unwind *unwind = cli_perf_unwind_open(session);
    const struct perf_trace_options options = { .size = sizeof options,
                                                .unwind = unwind_stack,
                                                .context = unwind };
    uint64_t state = (uint64_t)_i, samples = 0;

    for (unsigned i = 0; i < 1000; i++) {
        load(mutated[_i]);
        for (uint64_t changes = random_word(&state) % 8 + 1; changes > 0; changes--)
            mutate(&state);
        samples += convert(size, &options).samples;
    }
    ck_assert_uint_gt(samples, 3000); /* what is readable is converted */
    cli_perf_unwind_close(unwind);
    sym_session_close(session);
}
END_TEST

/* Each kind of record that a kernel or perf writes: what is used has its place in the trace, and
 * the others are counted by name.  */
static const struct {
    uint32_t kind;
    uint64_t words[4]; /* after the header */
    size_t count;
    const char *unused;  /* as the summary says it; NULL: it is used */
    const char *counter; /* of losses: its argument, ... */
    uint64_t lost;       /* and its value */
} kinds[] = {
    { 2, { 11, 5 }, 2, NULL, "ring", 5 },
    { 5, { 1000, 11, 11 }, 3, NULL, "throttled", 1 },
    { 6, { 1000, 11, 11 }, 3, NULL, NULL, 0 },
    { 8, { UINT64_C(7) << 32 | 7, 99 }, 2, "1 READ record", NULL, 0 },
    { 13, { 6 }, 1, NULL, "ring", 6 },
    { 16, { UINT64_C(7) << 32 | 7, 1, 4, 0xf0000001 }, 4, "1 NAMESPACES record", NULL, 0 },
    { 18, { 1, 5, 0 }, 3, "1 BPF_EVENT record", NULL, 0 },
    { 19, { 42, 0x706f72676d796d2f, 0 }, 3, "1 CGROUP record", NULL, 0 },
    { 20, { KERNEL_CODE, 5 | UINT64_C(5) << 16, 0x90 }, 3, "1 TEXT_POKE record", NULL, 0 },
    { 21, { 3 }, 1, "1 AUX_OUTPUT_HW_ID record", NULL, 0 },
    { 25, { 3 }, 1, "1 unknown record", NULL, 0 },
    { 65, { 3 }, 1, "1 EVENT_TYPE record", NULL, 0 },
    { 73, { 1, 7, 0, 0 }, 4, NULL, NULL, 0 },
    { 75, { 1 }, 1, "1 STAT_CONFIG record", NULL, 0 },
    { 82, { 0 }, 0, NULL, NULL, 0 },
    { 84, { 3 }, 1, "1 BPF_METADATA record", NULL, 0 },
    { 90, { 3 }, 1, "1 unknown record", NULL, 0 },
    { 32770, { 3 }, 1, "1 SIMPLEPERF record", NULL, 0 },
};

/* What the trace counts as lost under that name.  */
static uint64_t lost_in_trace(const char *name)
{
    const struct fxt_record *record;
    struct fxt_reader *reader;
    struct fxt_input *input;
    uint64_t value = 0;
    size_t at = 0;

    ck_assert_int_eq(fxt_input_open_callback(read_again, &at, &input, NULL), FXT_OK);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK)
        for (size_t i = 0; record->kind == FXT_RECORD_EVENT && i < record->arg_count; i++)
            if (record->value.event.type == FXT_EVENT_COUNTER &&
                record->args[i].name.length == strlen(name) &&
                memcmp(record->args[i].name.bytes, name, strlen(name)) == 0)
                value = record->args[i].value.uint64;
    fxt_reader_close(reader);
    fxt_input_close(input);
    return value;
}

START_TEST(each_kind_of_record_is_used_or_counted_by_its_name)
{
    const struct perf_trace_options options = { .size = sizeof options };
    const uint64_t chain[] = { USER, 0x401000 };
    struct perf_trace *trace;
    char text[200], expected[200];
    int fd = memfd_create("perf.data", MFD_CLOEXEC);
    size_t record;

    begin_pipe(0);
    record = begin_record(kinds[_i].kind, 0);
    for (size_t i = 0; i < kinds[_i].count; i++)
        put(kinds[_i].words[i], 8);
    end_record(record);
    put_sample(2, chain, 2);
    ck_assert_uint_eq(convert(size, &options).samples, 1);
    if (kinds[_i].counter)
        ck_assert_uint_eq(lost_in_trace(kinds[_i].counter), kinds[_i].lost);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert_int_eq(perf_trace_open(fd, &options, &trace, NULL), PERF_DATA_OK);
    while (perf_trace_read(trace, trace_bytes, sizeof trace_bytes) > 0)
        continue;
    (void)perf_trace_describe_unused(trace, text, sizeof text);
    (void)snprintf(expected, sizeof expected, "%s%s1 copy of a user stack that was not unwound",
                   kinds[_i].unused ? kinds[_i].unused : "", kinds[_i].unused ? ", " : "");
    ck_assert_str_eq(text, expected);
    perf_trace_close(trace);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

/* A switch of a trace is one of a CPU, and not all files say which.  */
START_TEST(switches_without_a_cpu_are_counted)
{
    const struct perf_trace_options options = { .size = sizeof options };
    struct perf_trace *trace;
    char text[200];
    int fd = memfd_create("perf.data", MFD_CLOEXEC);

    begin_pipe(0);
    for (unsigned i = 0; i < 5; i++) {
        size_t at = begin_record(i < 3 ? PERF_DATA_SWITCH : PERF_DATA_SWITCH_CPU_WIDE,
                                 i % 2 ? PERF_RECORD_MISC_SWITCH_OUT : 0);

        if (i >= 3)
            put(9, 8); /* the other thread */
        end_record(at);
    }
    ck_assert_uint_eq(convert(size, &options).kinds[PERF_DATA_SWITCH], 3);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    ck_assert_int_eq(perf_trace_open(fd, &options, &trace, NULL), PERF_DATA_OK);
    while (perf_trace_read(trace, trace_bytes, sizeof trace_bytes) > 0)
        continue;
    ck_assert(perf_trace_describe_unused(trace, text, sizeof text));
    ck_assert_str_eq(text, "3 SWITCH records, 2 SWITCH_CPU_WIDE records");
    perf_trace_close(trace);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

/* Times of damaged files that no trace can have.  */
START_TEST(impossible_times_are_counted)
{
    const struct perf_trace_options options = { .size = sizeof options };
    struct perf_trace_counts before, counts;
    const uint64_t impossible = UINT64_C(1) << 63;
    size_t samples = 0;

    load("/pipe.data");
    before = convert(size, &options);
    ck_assert_uint_eq(before.bad_times, 0);
    for (size_t at = 16; at + 8 <= size;) { /* of samples: IP, TID, TIME */
        uint16_t length;
        uint32_t kind;

        memcpy(&kind, bytes + at, sizeof kind);
        memcpy(&length, bytes + at + 6, sizeof length);
        ck_assert_uint_ge(length, 8);
        if (kind == PERF_DATA_SAMPLE && samples++ % 2)
            memcpy(bytes + at + 24, &impossible, sizeof impossible);
        at += length;
    }
    counts = convert(size, &options);
    ck_assert_uint_eq(counts.bad_times, samples / 2);
    ck_assert_uint_eq(counts.samples, before.samples - samples / 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf_trace");
    TCase *tests = tcase_create("perf_trace");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tests, 0);
    tcase_add_loop_test(tests, copies_of_stacks_go_before_callchains, 0,
                        (int)(sizeof chains / sizeof *chains));
    tcase_add_loop_test(tests, a_callchain_that_comes_later_joins_its_samples, 0,
                        (int)(sizeof deferred / sizeof *deferred));
    tcase_add_loop_test(tests, frames_of_guests_are_in_no_module, 0,
                        (int)(sizeof guests / sizeof *guests));
    tcase_add_test(tests, short_copies_are_counted);
    tcase_add_test(tests, impossible_times_are_counted);
    tcase_add_test(tests, switches_without_a_cpu_are_counted);
    tcase_add_loop_test(tests, each_kind_of_record_is_used_or_counted_by_its_name, 0,
                        (int)(sizeof kinds / sizeof *kinds));
    tcase_add_loop_test(tests, no_damage_breaks_a_conversion, 0,
                        (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tests, a_thousand_mutations_of_a_file_break_nothing, 0,
                        (int)(sizeof mutated / sizeof *mutated));
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
