/* Names for addresses of this very program, and what coverage says of modules.  */
#include <check.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofile/profile_internal.h"
#include "tests/support/profile_records.h"

/* Where the call of here() returns to.  */
__attribute__((noinline)) static uintptr_t here(void)
{
    return (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) uintptr_t inlined_probe(void)
{
    return here();
}

__attribute__((noinline)) static uintptr_t probe(void)
{
    uintptr_t pc = inlined_probe();

    __asm__ volatile("" : "+r"(pc)); /* the call above is no tail call */
    return pc;
}

static int first_bias(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1;
}

static char self[4096];
static char build_id[65];
static struct fxt_record module;
static uint64_t bias, stack[4];
static struct taken taken;
static struct sym_session *session;

/* Samples: two of main's probe under [anon] and /no/such/file, one that recurses.  */
static void take_samples(void)
{
    size_t length = 0;
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);

    ck_assert_int_gt(size, 0);
    self[size] = '\0';
    (void)dl_iterate_phdr(first_bias, &bias);
    (void)sym_build_id(self, (uint8_t *)build_id, sizeof build_id - 1, &length, NULL);
    module = module_record(1, 0, self, "");
    module.value.module.build_id = (struct fxt_bytes){ (const uint8_t *)build_id, length };
    stack[0] = (uint64_t)(uintptr_t)here;
    stack[1] = probe();
    stack[2] = 0x1001; /* of the module that is not there */
    stack[3] = 0x9001; /* of none */
    const uint64_t recursive[] = { stack[0], stack[1], stack[1] };
    const struct fxt_record records[] = {
        module,
        mapping_record(1, 0, bias, UINT64_C(1) << 24, 0),
        module_record(1, 1, "/no/such/file", "\x12\x34\x56\x78"),
        mapping_record(1, 1, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 1, stack, 4),
        backtrace_record(2, 1, 1, stack, 4),
        backtrace_record(3, 1, 1, recursive, 3),
    };

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    ck_assert_int_eq(sym_session_open(NULL, &session, NULL), SYM_OK);
}

static void release(void)
{
    sym_session_close(session);
    taken_release(&taken);
}

START_TEST(names_functions_and_inlined_functions)
{
    struct profile_stacks *stacks = profile_stacks_of(taken.profile);
    struct profile_frame frame = { .line_count = 0 };
    char *text;

    ck_assert_int_eq(profile_symbolize(taken.profile, session, NULL), PROFILE_OK);
    sym_session_close(session); /* nothing of it is needed any more */
    session = NULL;
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 0);
    ck_assert_str_eq(text, "[anon];[file];probe;inlined_probe;here 2\n"
                           "probe;inlined_probe;probe;inlined_probe;here 1\n");
    free(text);
    for (profile_id id = 1; id <= profile_stacks_frame_count(stacks); id++) {
        frame = profile_stacks_get_frame(stacks, id);
        if (frame.line_count == 2)
            break;
    }
    ck_assert_uint_eq(frame.line_count, 2);
    ck_assert_str_eq(profile_stacks_text(stacks, frame.lines[0].function, NULL), "inlined_probe");
    ck_assert_ptr_nonnull(
        strstr(profile_stacks_text(stacks, frame.lines[1].file, NULL), "test_profile_symbolize.c"));
    ck_assert_uint_gt(frame.lines[0].line, 10);
    ck_assert_uint_gt(frame.lines[1].line, frame.lines[0].line);
}
END_TEST

START_TEST(covers_modules_as_often_as_they_were_sampled)
{
    const struct profile_coverage *coverage;
    struct profile_stacks *stacks = profile_stacks_of(taken.profile);
    size_t count;

    (void)profile_coverage_of(taken.profile, &count);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(profile_symbolize(taken.profile, session, NULL), PROFILE_OK);
    coverage = profile_coverage_of(taken.profile, &count);
    ck_assert_uint_eq(count, 3);
    /* Those that miss most come first; [anon] has the least module id.  */
    ck_assert_uint_eq(coverage[0].module, 0);
    ck_assert_uint_eq(coverage[0].frames, 2);
    ck_assert_uint_eq(coverage[0].named, 0);
    ck_assert_uint_eq(coverage[1].module, 2);
    ck_assert_uint_eq(coverage[1].frames, 2);
    ck_assert_uint_eq(coverage[1].named, 0);
    ck_assert_int_eq(coverage[1].quality, SYM_QUALITY_NONE);
    ck_assert_str_ne(profile_stacks_text(stacks, coverage[1].problem, NULL), "");
    /* Three samples, two distinct frames in each.  */
    ck_assert_uint_eq(coverage[2].module, 1);
    ck_assert_uint_eq(coverage[2].frames, 6);
    ck_assert_uint_eq(coverage[2].named, 6);
    ck_assert_uint_eq(coverage[2].lined, 6);
    ck_assert_uint_eq(coverage[2].self_named, coverage[2].self);
    ck_assert_uint_eq(coverage[0].self_named + coverage[1].self_named, 0);
    /* One innermost frame a sample.  */
    ck_assert_uint_eq(coverage[0].self + coverage[1].self + coverage[2].self, 3);
    ck_assert_int_eq(coverage[2].quality, SYM_QUALITY_DWARF);
    ck_assert_str_eq(profile_stacks_text(stacks, coverage[2].problem, NULL), "");
}
END_TEST

START_TEST(symbolizes_twice_to_the_same_end)
{
    profile_id strings;
    char *first, *second;

    ck_assert_int_eq(profile_symbolize(taken.profile, session, NULL), PROFILE_OK);
    first = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_THREAD, 0);
    strings = profile_stacks_string_count(profile_stacks_of(taken.profile));
    ck_assert_int_eq(profile_symbolize(taken.profile, session, NULL), PROFILE_OK);
    second = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_THREAD, 0);
    ck_assert_str_eq(first, second);
    ck_assert_uint_eq(profile_stacks_string_count(profile_stacks_of(taken.profile)), strings);
    free(first);
    free(second);
}
END_TEST

static const struct {
    const char *name, *build_id, *problem;
    bool remedy;
} sorry[] = {
    /* It may be any file of that name: it is not looked for in the current directory.  */
    { "Makefile", "", "neither a build ID nor an absolute path in the trace", false },
    { "[vdso]", "", "code provided by the kernel, not in a file", false },
    { "[vdso]", "01234567", "code provided by the kernel, not in a file", false },
    { "/not/there", "01234567", "no file /not/there, and none with build ID 3031323334353637",
      true },
    { "/dev/null", "01234567", "not a regular file", true },
};

START_TEST(says_why_there_are_no_names)
{
    static const uint64_t pc = 0x1000;
    const struct fxt_record records[] = { module_record(1, 0, sorry[_i].name, sorry[_i].build_id),
                                          mapping_record(1, 0, 0x1000, 0x1000, 0),
                                          backtrace_record(1, 1, 1, &pc, 1) };
    const struct profile_coverage *coverage;
    const struct profile_stacks *stacks;
    size_t count;

    taken_release(&taken);
    ck_assert_int_eq(take_records(records, 3, NULL, &taken), PROFILE_OK);
    ck_assert_int_eq(profile_symbolize(taken.profile, session, NULL), PROFILE_OK);
    stacks = profile_stacks_of(taken.profile);
    coverage = profile_coverage_of(taken.profile, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(profile_stacks_text(stacks, coverage->problem, NULL), sorry[_i].problem);
    ck_assert_int_eq(coverage->remedy != 0, sorry[_i].remedy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_symbolize");
    TCase *tcase = tcase_create("symbolize");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, take_samples, release);
    tcase_add_test(tcase, names_functions_and_inlined_functions);
    tcase_add_test(tcase, covers_modules_as_often_as_they_were_sampled);
    tcase_add_test(tcase, symbolizes_twice_to_the_same_end);
    tcase_add_loop_test(tcase, says_why_there_are_no_names, 0, (int)COUNT_OF(sorry));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
