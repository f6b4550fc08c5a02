/* What fuzzing found in libsymbolize: the inputs testdata/fuzz/fuzz_symbolize_object/found-*, and
 * what holds for each of them.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include <fxt/symbolize.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* Behind each name, what went wrong.  */
static const char *const found[] = {
    "empty-debugdata",       /* an offset was added to NULL, where nothing was to be unpacked */
    "function-without-name", /* it was left out, and the last frame was an inlined one */
    "no-attributes",         /* an offset was added to NULL, where no DIE has any */
};

static bool check_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *answers = context;

    (void)index;
    *answers += 1;
    for (size_t i = 0; i < count; i++)
        ck_assert(frames[i].inlined == (i + 1 < count));
    return true;
}

START_TEST(answers_where_fuzzing_found_fault)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    const char *root = getenv("ROOT");
    struct sym_session *session;
    struct sym_module *module;
    uint64_t vaddrs[256];
    size_t answers = 0;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/testdata/fuzz/fuzz_symbolize_object/found-%s",
                   root ? root : ".", found[_i]);
    const struct sym_module_key key = { .path = path };

    for (size_t i = 0; i < 256; i++)
        vaddrs[i] = 0x1000 + i;
    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, 256, check_frames, &answers, NULL), SYM_OK);
    ck_assert_uint_eq(answers, 256);
    ck_assert_str_eq(sym_module_report(module)->code_path, path);
    sym_session_close(session);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_fuzzed");
    TCase *tcase = tcase_create("fuzzed");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, answers_where_fuzzing_found_fault, 0, ROWS(found));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
