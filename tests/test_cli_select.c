/* Which records --type, --provider, --pid, --tid and --time choose.  What is wrong with an option
 * ends the program, so that runs in a child.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fxt/profile.h>
#include "cmd/cli/hexdump.h"
#include "cmd/cli/profile_options.h"
#include "cmd/cli/select.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- Times ---- */

static const struct {
    const char *text;
    bool relative;
    int64_t ns;
} times[] = {
    { "0", false, 0 },
    { "1500000000", false, 1500000000 },
    { "1500000000ns", false, 1500000000 },
    { "+1.5s", true, 1500000000 },
    { "+0", true, 0 },
    { "-3ms", false, -3000000 },
    { "20us", false, 20000 },
    { "2min", false, INT64_C(120000000000) },
    { "1.25h", false, INT64_C(4500000000000) },
    { "0.000000001s", false, 1 },
    { "1.", false, 1 },
    { ".5us", false, 500 },
    /* More digits than a double has.  */
    { "9007199254.740993001s", false, INT64_C(9007199254740993001) },
    { "9223372036854775807", false, INT64_MAX },
};

START_TEST(reads_times_to_the_nanosecond)
{
    struct cli_time time = cli_time("--time", times[_i].text);

    ck_assert(time.given);
    ck_assert_int_eq(time.relative, times[_i].relative);
    ck_assert_int_eq(time.ns, times[_i].ns);
}
END_TEST

static const char *const bad_ranges[] = {
    "",
    "5",
    ",",
    "1,2,3",
    "x,",
    "+,",
    "1.5ns,",
    "1..5s,",
    "1.5.s,",
    "1 s,",
    "--5,",
    "+-5,",
    "1e9,",
    "5,5",
    "+2s,+1s",
    "5,-5",
    ",1parsec",
    "9223372036854775808,",
    "1.50,",
    "0.0000000000000000000000001s,",
    "99999999999999999999,",
    "2562048h,",
};

START_TEST(refuses_what_is_no_time_range)
{
    int status;
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct cli_select select = { .kinds = 0 };

        (void)freopen("/dev/null", "w", stderr);
        cli_select_time(&select, "--time", bad_ranges[_i]);
        exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == CLI_USAGE, "'%s' was taken",
                  bad_ranges[_i]);
}
END_TEST

/* ---- Records ---- */

enum { PROCESS = 1234, THREAD = 1235, OTHER = 99 };

static const struct fxt_arg process_arg = { .type = FXT_ARG_KOID,
                                            .name = { .bytes = "process", .length = 7 },
                                            .value.uint64 = PROCESS };
static const struct fxt_provider provider = { .id = 7 };

/* One trace, in file order; wanted tells by each row of options which of its records are
 * chosen.  */
static const struct fxt_record records[] = {
    { .kind = FXT_RECORD_MAGIC },
    { .kind = FXT_RECORD_KERNEL_OBJECT, .value.object = { FXT_OBJECT_PROCESS, PROCESS, 0 } },
    { .kind = FXT_RECORD_KERNEL_OBJECT,
      .value.object = { FXT_OBJECT_THREAD, THREAD, 0 },
      .args = &process_arg,
      .arg_count = 1 },
    { .kind = FXT_RECORD_EVENT,
      .has_time = true,
      .ts_ns = 1000,
      .has_thread = true,
      .thread = { PROCESS, THREAD + 1, 0, false } },
    { .kind = FXT_RECORD_EVENT,
      .has_time = true,
      .ts_ns = 500, /* before the first */
      .has_thread = true,
      .thread = { OTHER, OTHER, 0, false } },
    { .kind = FXT_RECORD_CONTEXT_SWITCH,
      .has_time = true,
      .ts_ns = 2000,
      .value.sched = { .outgoing_tid = OTHER, .incoming_tid = THREAD } },
    { .kind = FXT_RECORD_THREAD_WAKEUP,
      .has_time = true,
      .ts_ns = 2001,
      .value.sched = { .incoming_tid = THREAD + 1 } },
    { .kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH,
      .has_time = true,
      .ts_ns = 3000,
      .value.sched = { .outgoing_tid = 5,
                       .incoming_tid = 6,
                       .outgoing = { PROCESS, 5, 0, false },
                       .incoming = { OTHER, 6, 0, false } } },
    /* The second process of that id.  */
    { .kind = FXT_RECORD_BACKTRACE,
      .has_time = true,
      .ts_ns = 4000,
      .has_thread = true,
      .thread = { PROCESS | UINT64_C(1) << 32, THREAD | UINT64_C(1) << 32, 0, false } },
    /* An artificial koid, and a reference to nothing.  */
    { .kind = FXT_RECORD_LOG,
      .has_time = true,
      .ts_ns = 5000,
      .has_thread = true,
      .thread = { PROCESS | UINT64_C(1) << 63, THREAD | UINT64_C(1) << 63, 0, false } },
    { .kind = FXT_RECORD_MODULE,
      .has_time = true,
      .ts_ns = 1000,
      .has_thread = true,
      .thread = { PROCESS, 0, 0, false } },
    { .kind = FXT_RECORD_EVENT,
      .has_time = true,
      .ts_ns = 6000,
      .has_thread = true,
      .thread = { 0, 0, 3, true } },
};

static const struct {
    const char *type, *time;
    uint64_t pid, tid; /* UINT64_MAX: not given */
    uint64_t provider;
    const char *wanted; /* one letter a record */
} selections[] = {
    { NULL, NULL, UINT64_MAX, UINT64_MAX, UINT64_MAX, "yyyyyyyyyyyy" },
    { "event", NULL, UINT64_MAX, UINT64_MAX, UINT64_MAX, "nnnyynnnnnny" },
    { "module,magic", NULL, UINT64_MAX, UINT64_MAX, UINT64_MAX, "ynnnnnnnnnyn" },
    { NULL, NULL, PROCESS, UINT64_MAX, UINT64_MAX, "nyyynyyyynyn" },
    { NULL, NULL, PROCESS | UINT64_C(1) << 32, UINT64_MAX, UINT64_MAX, "nnnnnnnnynnn" },
    { NULL, NULL, PROCESS | UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX, "nnnnnnnnnynn" },
    { NULL, NULL, 0, UINT64_MAX, UINT64_MAX, "nnnnnnnnnnnn" },
    { NULL, NULL, UINT64_MAX, THREAD, UINT64_MAX, "nnynnynnynnn" },
    { NULL, NULL, UINT64_MAX, 5, UINT64_MAX, "nnnnnnnynnnn" },
    { NULL, NULL, UINT64_MAX, 0, UINT64_MAX, "nnnnnnnnnnnn" },
    { NULL, NULL, PROCESS, THREAD, UINT64_MAX, "nnynnynnynnn" },
    { NULL, "1000,2001", UINT64_MAX, UINT64_MAX, UINT64_MAX, "nnnynynnnnyn" },
    { NULL, "+0,+1us", UINT64_MAX, UINT64_MAX, UINT64_MAX, "nnnynnnnnnyn" },
    { NULL, "+3us,", UINT64_MAX, UINT64_MAX, UINT64_MAX, "nnnnnnnnyyny" },
    { NULL, ",+0", UINT64_MAX, UINT64_MAX, UINT64_MAX, "nnnnynnnnnnn" },
    { NULL, "+1us,5us", UINT64_MAX, UINT64_MAX, UINT64_MAX, "nnnnnyyyynnn" },
    { NULL, NULL, UINT64_MAX, UINT64_MAX, 7, "yyyyyyyyyyyy" },
    { NULL, NULL, UINT64_MAX, UINT64_MAX, 8, "nnnnnnnnnnnn" },
    { "context_switch", "+1us,", PROCESS, THREAD, 7, "nnnnnynnnnnn" },
};

START_TEST(chooses_records)
{
    struct cli_select select = { .kinds = 0 };

    if (selections[_i].type)
        cli_select_type(&select, "--type", selections[_i].type);
    if (selections[_i].time)
        cli_select_time(&select, "--time", selections[_i].time);
    if (selections[_i].pid != UINT64_MAX)
        cli_numbers_add(&select.pids, selections[_i].pid);
    if (selections[_i].tid != UINT64_MAX)
        cli_numbers_add(&select.tids, selections[_i].tid);
    if (selections[_i].provider != UINT64_MAX)
        cli_numbers_add(&select.providers, selections[_i].provider);
    ck_assert_int_eq(cli_select_any(&select), _i > 0);
    for (int round = 0; round < 2; round++) { /* what one trace taught is forgotten */
        cli_select_start(&select);
        for (size_t i = 0; i < ROWS(records); i++) {
            struct fxt_record record = records[i];

            record.provider = &provider;
            ck_assert_msg(cli_select_record(&select, &record) == (selections[_i].wanted[i] == 'y'),
                          "record %zu", i);
        }
    }
    cli_select_release(&select);
}
END_TEST

/* ---- Hex ---- */

static const struct {
    const char *name;
    uint64_t offset;
    const char *bytes; /* NULL: zeros */
    uint64_t length;
    const char *text;
} dumps[] = {
    { "nothing", 0, "", 0, "" },
    { "one word", 8, "\x10\x00\x04\x46xT\x16\x00", 8,
      "  00000008  10 00 04 46 78 54 16 00                           |...FxT..|\n" },
    { "every kind of byte, an odd length", 0x123456789a, " ~\x7f\x80\xff.", 6,
      "  123456789a  20 7e 7f 80 ff 2e                                 | ~....|\n" },
    { "lines that repeat", 0, "0123456789abcdef0123456789abcdef0123456789abcdef01234567", 56,
      "  00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|\n"
      "  *\n"
      "  00000030  30 31 32 33 34 35 36 37                           |01234567|\n" },
    { "the last line always shows where it ends", 0, "0123456789abcdef0123456789abcdef", 32,
      "  00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|\n"
      "  00000010  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|\n" },
    { "zeros without end", 16, NULL, UINT64_C(1) << 40,
      "  00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n"
      "  *\n"
      "  10000000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n" },
    { "zeros, three lines and a half", 0, NULL, 56,
      "  00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n"
      "  *\n"
      "  00000030  00 00 00 00 00 00 00 00                           |........|\n" },
};

START_TEST(shows_bytes_as_hexdump_does)
{
    struct cli_output output;

    ck_assert_int_eq(cli_output_open(&output, NULL), CLI_OK);
    cli_hexdump(&output, dumps[_i].offset, (const uint8_t *)dumps[_i].bytes, dumps[_i].length);
    ck_assert_msg(output.used == strlen(dumps[_i].text) &&
                      memcmp(output.buffer, dumps[_i].text, output.used) == 0,
                  "%s:\n%.*s", dumps[_i].name, (int)output.used, (const char *)output.buffer);
    cli_output_abort(&output);
}
END_TEST

START_TEST(knows_all_names)
{
    for (enum fxt_record_kind kind = 0; kind < FXT_RECORD_KINDS; kind++)
        ck_assert_str_eq(cli_record_kinds[kind], fxt_record_kind_name(kind));
    ck_assert_ptr_null(cli_record_kinds[FXT_RECORD_KINDS]);
    for (enum profile_kind kind = 0; kind < PROFILE_KINDS; kind++)
        ck_assert_str_eq(cli_profile_kinds[kind], profile_kind_name(kind));
    ck_assert_ptr_null(cli_profile_kinds[PROFILE_KINDS]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_select");
    TCase *tcase = tcase_create("select");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, reads_times_to_the_nanosecond, 0, ROWS(times));
    tcase_add_loop_test(tcase, refuses_what_is_no_time_range, 0, ROWS(bad_ranges));
    tcase_add_loop_test(tcase, chooses_records, 0, ROWS(selections));
    tcase_add_test(tcase, knows_all_names);
    tcase_add_loop_test(tcase, shows_bytes_as_hexdump_does, 0, ROWS(dumps));
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
