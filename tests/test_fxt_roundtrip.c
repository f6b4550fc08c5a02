/* What the writer wrote, the reader reads, and what the reader read, the writer writes again.  */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/fxt.h>
#include "tests/support/pass_on.h"

static struct fxt_error error;

/* ---- Real traces ---- */

/* Real traces made by others.  */
static const struct {
    const char *path;
    bool exactly; /* its program writes as we do, to the last bit */
} traces[] = {
    { "c-hello-world.fxt.gz", true },
    { "ocaml-hello-world.fxt.gz", true },
    { "ftfrs-sample.fxt", false },
    { "ocaml-trace/t2-24c3856f-0.fxt", false },
    { "ocaml-trace/t2-7ea74047-1.fxt", false },
};

/* NULL if the trace is not on this machine.  */
static struct fxt_input *open_trace(const char *name, int *fd)
{
    const char *folder = getenv("FXT_SHARED_DATA");
    struct fxt_input *input;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/fxt/%s", folder ? folder : "", name);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return NULL;
    ck_assert_int_eq(fxt_input_open_fd(*fd, &input, &error), FXT_OK);
    return input;
}

static void assert_same_as_trace(const char *name, const struct copy *copy)
{
    uint8_t block[4096];
    size_t at = 0;
    size_t length;
    int fd;
    struct fxt_input *input = open_trace(name, &fd);

    while (fxt_input_read(input, block, sizeof block, &length, &error) == FXT_OK) {
        ck_assert_uint_le(length, copy->used - at);
        ck_assert_mem_eq(copy->bytes + at, block, length);
        at += length;
    }
    ck_assert_uint_eq(at, copy->used);
    fxt_input_close(input);
    (void)close(fd);
}

START_TEST(case_66_writes_what_was_read_from_real_traces)
{
    struct copy once = { 0 };
    struct copy twice = { 0 };
    struct fxt_writer *to;
    size_t count;
    int fd;
    struct fxt_input *input = open_trace(traces[_i].path, &fd);

    if (!input) {
        puts("SKIP: real FXT traces are not here");
        return;
    }
    ck_assert_int_eq(fxt_writer_open(copy_write, &once, &to, &error), FXT_OK);
    count = pass_on(input, to);
    fxt_writer_close(to);
    (void)close(fd);
    ck_assert_uint_ge(count, 3);
    if (traces[_i].exactly)
        assert_same_as_trace(traces[_i].path, &once);

    /* In our form now, so the copy of the copy is the same.  */
    ck_assert_int_eq(fxt_writer_open(copy_write, &twice, &to, &error), FXT_OK);
    ck_assert_uint_eq(pass_on_bytes(once.bytes, once.used, to), count);
    fxt_writer_close(to);
    ck_assert_uint_eq(twice.used, once.used);
    ck_assert_mem_eq(twice.bytes, once.bytes, once.used);
    free(once.bytes);
    free(twice.bytes);
}
END_TEST

/* ---- Random records ---- */

static char long_text[100000];

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random_state >> 33) % limit);
}

/* Of any magnitude.  */
static uint64_t random_word(void)
{
    uint64_t word = (uint64_t)random_below(1u << 31) << 33 | (uint64_t)random_below(1u << 31) << 2;

    return (word | random_below(4)) >> random_below(64);
}

static struct fxt_string random_string(void)
{
    if (random_below(2))
        return (struct fxt_string){ .bytes = "", .index = (uint16_t)(1 + random_below(0x7fff)) };
    return (struct fxt_string){ .bytes = long_text, .length = random_below(20) };
}

static struct fxt_thread random_thread(void)
{
    return (struct fxt_thread){ .process = random_word(),
                                .thread = random_word(),
                                .index = (uint8_t)(random_below(2) * random_below(256)) };
}

static struct fxt_bytes random_bytes(uint32_t most)
{
    return (struct fxt_bytes){ (const uint8_t *)long_text, random_below(most + 1) };
}

static struct fxt_arg random_arg(void)
{
    struct fxt_arg arg = { .type = (enum fxt_arg_type)random_below(FXT_ARG_UNKNOWN + 1),
                           .name = random_string() };

    if (arg.type == FXT_ARG_STRING)
        arg.value.string = random_string();
    else if (arg.type == FXT_ARG_BLOB)
        arg.value.blob = random_bytes(20);
    else if (arg.type == FXT_ARG_BOOL)
        arg.value.boolean = random_below(2);
    else if (arg.type == FXT_ARG_UNKNOWN)
        arg.value.unknown_type = 11 + random_below(5);
    else
        arg.value.uint64 = random_word();
    return arg;
}

/* What only the kind has.  */
static void fill_random_value(struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_MAGIC:
        record->value.magic.number = random_below(UINT32_MAX);
        break;
    case FXT_RECORD_PROVIDER_INFO:
    case FXT_RECORD_PROVIDER_SECTION:
    case FXT_RECORD_PROVIDER_EVENT:
        record->value.provider.id = random_below(UINT32_MAX);
        record->value.provider.event = record->kind == FXT_RECORD_PROVIDER_EVENT ? random_below(16)
                                                                                 : 0;
        break;
    case FXT_RECORD_INIT: /* of a rate that no time overflows with */
        record->value.init.ticks_per_second = UINT64_C(1000000000) + random_below(1u << 30);
        record->value.init.extended = random_below(2);
        record->value.init.base_time_ns = (int64_t)random_word();
        break;
    case FXT_RECORD_STRING:
        record->name.index = 0;
        record->value.table.index = (uint16_t)random_below(0x8000);
        break;
    case FXT_RECORD_THREAD:
        record->value.table.index = (uint16_t)random_below(256);
        break;
    case FXT_RECORD_EVENT:
        record->value.event.type = random_below(16);
        record->value.event.has_scope = random_below(2);
        record->value.event.scope = record->value.event.has_scope ? random_word() : 0;
        record->value.event.id = random_word();
        record->value.event.end_ticks = record->ticks + random_below(1000);
        record->value.event.rest = (struct fxt_words){ (const uint8_t *)long_text,
                                                       random_below(5) };
        break;
    case FXT_RECORD_BLOB:
        record->value.blob.type = random_below(256);
        record->value.blob.payload = random_bytes(100);
        break;
    case FXT_RECORD_USERSPACE_OBJECT:
        record->value.object.pointer = random_word();
        break;
    case FXT_RECORD_KERNEL_OBJECT:
        record->value.object.type = random_below(256);
        record->value.object.koid = random_word();
        break;
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        record->value.sched.cpu = random_below(65536);
        record->value.sched.outgoing_state = random_below(16);
        record->value.sched.outgoing_tid = random_word();
        record->value.sched.incoming_tid = random_word();
        break;
    case FXT_RECORD_LEGACY_CONTEXT_SWITCH:
        record->value.sched.cpu = random_below(256);
        record->value.sched.outgoing_state = random_below(16);
        record->value.sched.outgoing = random_thread();
        record->value.sched.incoming = random_thread();
        record->value.sched.outgoing_priority = random_below(256);
        record->value.sched.incoming_priority = random_below(256);
        break;
    case FXT_RECORD_LOG:
        record->value.log.message = (struct fxt_string){ .bytes = long_text,
                                                         .length = random_below(100) };
        break;
    case FXT_RECORD_MODULE:
        record->value.module.id = (uint16_t)random_below(65536);
        record->value.module.build_id = random_bytes(40);
        break;
    case FXT_RECORD_MAPPING:
        record->value.mapping.module_id = (uint16_t)random_below(65536);
        record->value.mapping.flags = random_below(8);
        record->value.mapping.start = random_word();
        record->value.mapping.length = random_word();
        record->value.mapping.vaddr = random_word();
        break;
    case FXT_RECORD_BACKTRACE:
        record->value.backtrace.frames = (struct fxt_words){ (const uint8_t *)long_text,
                                                             random_below(1000) };
        break;
    default: /* FXT_RECORD_LARGE_BLOB */
        record->value.large_blob.format = random_below(2);
        record->value.large_blob.payload = random_bytes(40000);
        break;
    }
}

static bool may_have_arguments(const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_EVENT:
    case FXT_RECORD_USERSPACE_OBJECT:
    case FXT_RECORD_KERNEL_OBJECT:
    case FXT_RECORD_CONTEXT_SWITCH:
    case FXT_RECORD_THREAD_WAKEUP:
        return true;
    default:
        return record->kind == FXT_RECORD_LARGE_BLOB && record->value.large_blob.format == 0;
    }
}

static void write_random_record(struct fxt_writer *to)
{
    struct fxt_arg args[FXT_MAX_ARGS];
    struct fxt_record record = {
        .kind = (enum fxt_record_kind)(1 + random_below(FXT_RECORD_KINDS - 1)),
        .ticks = random_word() >> 2, /* no overflow as a time */
        .thread = random_thread(),
        .category = random_string(),
        .name = random_string(),
        .args = args,
    };

    fill_random_value(&record);
    record.arg_count = may_have_arguments(&record) ? random_below(FXT_MAX_ARGS + 1) : 0;
    for (size_t i = 0; i < record.arg_count; i++)
        args[i] = random_arg();
    ck_assert_msg(fxt_writer_record(to, &record, &error) == FXT_OK, "%s", error.message);
}

START_TEST(case_65_reads_random_records_as_they_were_written)
{
    enum { COUNT = 2000 };
    struct copy once = { 0 };
    struct copy twice = { 0 };
    struct fxt_writer *to;

    random_state = (uint64_t)_i;
    for (size_t i = 0; i < sizeof long_text; i++)
        long_text[i] = (char)('!' + i % 90);
    ck_assert_int_eq(fxt_writer_open(copy_write, &once, &to, &error), FXT_OK);
    for (int i = 0; i < COUNT; i++)
        write_random_record(to);
    fxt_writer_close(to);

    /* That the bytes are those of the format is shown by the vectors; here that none is lost.  */
    ck_assert_int_eq(fxt_writer_open(copy_write, &twice, &to, &error), FXT_OK);
    ck_assert_uint_eq(pass_on_bytes(once.bytes, once.used, to), COUNT);
    fxt_writer_close(to);
    ck_assert_uint_eq(twice.used, once.used);
    ck_assert_mem_eq(twice.bytes, once.bytes, once.used);
    free(once.bytes);
    free(twice.bytes);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

int main(void)
{
    Suite *suite = suite_create("fxt_roundtrip");
    TCase *tcase = tcase_create("roundtrip");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, case_66_writes_what_was_read_from_real_traces, 0, ROWS(traces));
    tcase_add_loop_test(tcase, case_65_reads_random_records_as_they_were_written, 0, 10);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
