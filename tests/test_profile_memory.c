/* Every allocation may fail: nothing is lost, nothing crashes, the status says so.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/allocation.h"
#include "tests/support/profile_records.h"

static const uint64_t deep[] = { 0x1000, 0x1801, 0x9001, 0xffffffff80000001 };
static const uint64_t other[] = { 0x1800, 0x5001 };

/* A bit of everything: late modules, a place used twice, names, losses, spans that need runs.  */
static size_t make_trace(struct fxt_record *records, struct fxt_arg *args)
{
    size_t count = 0;

    args[0] = u64_arg("period_ns", 1000);
    args[1] = string_arg("command", "app --fast");
    args[2] = u64_arg("ring", 1);
    records[count++] = event_record(FXT_EVENT_INSTANT, "fxt.capture", "session", args, 2);
    records[count++] = process_record(1, "app");
    records[count++] = thread_record(1, "main", args + 3, 1);
    records[count++] = thread_record(2, "worker", NULL, 0);
    records[count++] = mapping_record(1, 0, 0x1000, 0x1000, 0);
    records[count++] = backtrace_record(1, 1, 1, deep, 4);
    records[count++] = sampler_record(2, 1, 2, deep, 3);
    records[count++] = module_record(1, 0, "app", "A");
    records[count++] = module_record(1, 1, "b", "B");
    records[count++] = mapping_record(1, 1, 0x1800, 0x1000, 0);
    records[count++] = backtrace_record(3, 1, 1, other, 2);
    records[count++] = event_record(FXT_EVENT_COUNTER, "fxt.capture", "lost", args + 2, 1);
    records[count++] = complete_record(5, 6, 1, 1, "inner");
    records[count++] = complete_record(5, 9, 1, 1, "outer");
    records[count++] = begin_record(1, 1, 2, "a");
    records[count++] = begin_record(2, 1, 2, "b");
    records[count++] = end_record(3, 1, 2, "b");
    records[count++] = end_record(4, 1, 2, "a");
    return count;
}

/* What must not allocate with libcheck's help: no assertions inside.  */
static int count_bytes(void *context, const void *bytes, size_t size)
{
    size_t *total = context;

    (void)bytes;
    *total += size;
    return 0;
}

static enum profile_status write_all(const struct profile *profile, size_t *written)
{
    enum profile_status status = PROFILE_OK;

    for (int kind = 0; kind < PROFILE_KINDS && status == PROFILE_OK; kind++) {
        status = profile_write_folded(profile, (enum profile_kind)kind, NULL, count_bytes, written,
                                      NULL);
        if (status == PROFILE_OK)
            status = profile_write_pprof(profile, (enum profile_kind)kind, NULL, count_bytes,
                                         written, NULL);
        if (status == PROFILE_OK)
            status = profile_write_top(profile, (enum profile_kind)kind, NULL, count_bytes, written,
                                       NULL);
    }
    return status;
}

static enum profile_status run(const struct fxt_record *records, size_t count, size_t *written)
{
    struct profile_ingest_options options = { .size = sizeof options, .sort_bytes = 64 };
    struct taken taken;
    enum profile_status status = take_records(records, count, &options, &taken);

    if (status == PROFILE_OK)
        status = write_all(taken.profile, written);
    taken_release(&taken);
    return status;
}

START_TEST(survives_every_failed_allocation)
{
    struct fxt_record records[32];
    struct fxt_arg args[4];
    size_t count = make_trace(records, args);
    size_t whole = 0, written;
    enum profile_status status;
    unsigned long allocations, failures = 0;

    allocation_fail_at(0);
    status = run(records, count, &whole);
    allocations = allocation_count();
    ck_assert_int_eq(status, PROFILE_OK);
    ck_assert_uint_gt(allocations, 100);
    ck_assert_uint_gt(whole, 0);
    for (unsigned long n = 1; n <= allocations; n++) {
        written = 0;
        allocation_fail_at(n);
        status = run(records, count, &written);
        allocation_fail_at(0);
        failures += status == PROFILE_NO_MEMORY;
        ck_assert_msg(status == PROFILE_NO_MEMORY, "allocation %lu: status %d", n, (int)status);
    }
    ck_assert_uint_eq(failures, allocations);
}
END_TEST

/* From records to named frames and what is written of them; *taken is to be released.  */
static enum profile_status name_frames(const struct fxt_record *records, size_t count,
                                       struct taken *taken)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    struct sym_session *session = NULL;
    enum profile_status status = take_records(records, count, NULL, taken);
    size_t written = 0;

    if (status == PROFILE_OK && sym_session_open(&options, &session, NULL) != SYM_OK)
        status = PROFILE_NO_MEMORY;
    if (status == PROFILE_OK)
        status = profile_symbolize(taken->profile, session, NULL);
    if (status == PROFILE_OK)
        status = write_all(taken->profile, &written);
    sym_session_close(session);
    return status;
}

START_TEST(symbolizes_or_says_that_memory_is_short)
{
    static const uint64_t pcs[] = { 0x1000c, 0x10025, 0x20001 };
    const char *root = getenv("ROOT");
    enum profile_status status;
    unsigned long allocations;
    struct taken taken;
    char path[4096];
    char *folded;

    (void)snprintf(path, sizeof path, "%s/testdata/symbolize/hostile/x86-64-dwarf5.so",
                   root ? root : ".");
    const struct fxt_record records[] = {
        module_record(1, 0, path, ""),           mapping_record(1, 0, 0x10000, 0x1000, 0x1000),
        module_record(1, 1, "/nonexistent", ""), mapping_record(1, 1, 0x20000, 0x1000, 0),
        backtrace_record(1, 1, 1, pcs, 3),
    };

    allocation_fail_at(0);
    status = name_frames(records, COUNT_OF(records), &taken);
    allocations = allocation_count();
    ck_assert_int_eq(status, PROFILE_OK);
    folded = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 0);
    ck_assert_str_eq(folded, "[nonexistent];near;far;middle 1\n");
    free(folded);
    taken_release(&taken);
    ck_assert_uint_gt(allocations, 100);
    for (unsigned long n = 1; n <= allocations; n++) {
        allocation_fail_at(n);
        status = name_frames(records, COUNT_OF(records), &taken);
        allocation_fail_at(0);
        taken_release(&taken);
        ck_assert_msg(status == PROFILE_NO_MEMORY, "allocation %lu of %lu: status %d", n,
                      allocations, (int)status);
    }
}
END_TEST

START_TEST(says_that_memory_is_short)
{
    struct profile *profile = NULL;
    struct profile_error error;
    enum profile_status status;

    allocation_fail_at(1);
    status = profile_open(&profile, &error);
    allocation_fail_at(0);
    ck_assert_int_eq(status, PROFILE_NO_MEMORY);
    ck_assert_int_eq(error.status, PROFILE_NO_MEMORY);
    ck_assert_str_eq(error.message, "out of memory");
    ck_assert_ptr_null(profile);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_memory");
    TCase *tcase = tcase_create("memory");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, survives_every_failed_allocation);
    tcase_add_test(tcase, symbolizes_or_says_that_memory_is_short);
    tcase_add_test(tcase, says_that_memory_is_short);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
