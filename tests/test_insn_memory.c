/* Every allocation of the ingest of an instruction trace may fail: the status says so, or the
 * profile is the same.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/symbolize.h>
#include "tests/support/allocation.h"
#include "tests/support/profile_records.h"

/* 1000 call 1010; 1005 je 1009; 1007 nop; 1008 nop; 1009 call *%rax; 100b ret;
 * 1010 nop; 1011 ret; 1020 nop; 1021 ret  */
static const uint8_t code[] = {
    0xe8, 0x0b, 0, 0, 0, 0x74, 0x02, 0x90, 0x90, 0xff, 0xd0, 0xc3, 0, 0, 0, 0,    0x90,
    0xc3, 0,    0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0x90, 0xc3,
};
static const uint8_t packets[] = {
    2,    0x82, 2,    0x82, 2,    0x82, 2, 0x82, 2,    0x82, 2,    0x82, 2,    0x82, 2,
    0x82, 0x19, 0xe8, 0x03, 0,    0,    0, 0,    0,    0x99, 1,    2,    0x23, /* TSC, MODE, END */
    0x99, 1,    0x71, 0,    0x10, 0,    0, 0,    0,                /* MODE, TIP.PGE 1000 */
    0x0e,                                                          /* TNT */
    0x19, 0xd0, 0x07, 0,    0,    0,    0, 0,    0x2d, 0x20, 0x10, /* TSC, TIP 1020 */
    0x06, 0x01,                                                    /* TNT, TIP.PGD */
};

static struct fxt_record blob(const char *name, const uint8_t *bytes, size_t size,
                              const struct fxt_arg *args, size_t count, uint64_t thread)
{
    struct fxt_record record = { .kind = FXT_RECORD_LARGE_BLOB,
                                 .ticks = 1000,
                                 .thread = { .process = 1, .thread = thread },
                                 .category = text_of("insntrace"),
                                 .name = text_of(name),
                                 .args = args,
                                 .arg_count = count };

    record.value.large_blob.payload.bytes = bytes;
    record.value.large_blob.payload.length = size;
    return record;
}

/* Two threads, a module that is not found, and packets that are missing in between.  */
static size_t make_trace(struct fxt_record *records, struct fxt_arg *args)
{
    size_t count = 0;

    args[0] = (struct fxt_arg){ .type = FXT_ARG_POINTER, .name = text_of("address") };
    args[0].value.uint64 = 0x1000;
    args[1] = u64_arg("time_mult", 1);
    args[2] = u64_arg("cut", 1);
    records[count++] = process_record(1, "app");
    records[count++] = thread_record(1, "main", args + 3, 1);
    records[count++] = thread_record(2, "other", args + 4, 1);
    records[count++] = module_record(1, 0, "/nonexistent", "");
    records[count++] = mapping_record(1, 0, 0x8000, 0x1000, 0);
    records[count++] = blob("code", code, sizeof code, args, 1, 0);
    records[count++] = blob("pt", packets, sizeof packets, args + 1, 1, 1);
    records[count++] = blob("pt", packets, sizeof packets, args + 1, 2, 1);
    records[count++] = blob("pt", packets, sizeof packets, args + 1, 1, 2);
    return count;
}

static int count_bytes(void *context, const void *bytes, size_t size)
{
    size_t *total = context;

    (void)bytes;
    *total += size;
    return 0;
}

/* No assertions inside: libcheck allocates.  */
static enum profile_status run(const struct fxt_record *records, size_t count, size_t *written)
{
    const struct sym_options symbols = { .size = sizeof symbols,
                                         .debug_root = "",
                                         .no_cache = true };
    struct profile_ingest_options options = { .size = sizeof options, .sort_bytes = 64 };
    struct sym_session *session = NULL;
    struct taken taken = { .profile = NULL };
    enum profile_status status = PROFILE_NO_MEMORY;

    *written = 0;
    if (sym_session_open(&symbols, &session, NULL) == SYM_OK) {
        options.session = session;
        status = take_records(records, count, &options, &taken);
    }
    if (status == PROFILE_OK)
        status = profile_write_folded(taken.profile, PROFILE_INSN, NULL, count_bytes, written,
                                      NULL);
    taken_release(&taken);
    sym_session_close(session);
    return status;
}

START_TEST(survives_every_failed_allocation)
{
    struct fxt_record records[16];
    struct fxt_arg args[8];
    size_t count = make_trace(records, args);
    size_t whole = 0, written;
    enum profile_status status;
    unsigned long allocations, failures = 0;

    allocation_fail_at(0);
    status = run(records, count, &whole);
    allocations = allocation_count();
    ck_assert_int_eq(status, PROFILE_OK);
    ck_assert_uint_gt(allocations, 50);
    ck_assert_uint_gt(whole, 0);
    for (unsigned long n = 1; n <= allocations; n++) {
        allocation_fail_at(n);
        status = run(records, count, &written);
        allocation_fail_at(0);
        failures += status == PROFILE_NO_MEMORY;
        ck_assert_msg(status == PROFILE_NO_MEMORY || (status == PROFILE_OK && written == whole),
                      "allocation %lu of %lu: status %d, %zu bytes, not %zu", n, allocations,
                      (int)status, written, whole);
    }
    /* Where no memory is left for a thread, the calling one decodes.  */
    ck_assert_uint_ge(failures, allocations * 3 / 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn memory");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_set_timeout(all, 0);
    tcase_add_test(all, survives_every_failed_allocation);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
