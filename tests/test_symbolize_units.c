/* Objects of many units: decoded by one thread or several, kept or decoded anew.  */
#include "libsymbolize/symbolize_internal.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum { UNITS = 14, VADDRS_MAX = 1 << 16 };

static const char *const builds[] = {
    "-O2 -g",
    "-O2 -gdwarf-4 -ffunction-sections",
    "-O2 -g -Wl,--build-id -ffunction-sections",
};

static uint64_t vaddrs[VADDRS_MAX];
static size_t vaddr_count;

/* An answer as text, so that answers of two sessions compare.  */
static char *texts[2][VADDRS_MAX];

static void write_unit(int number)
{
    char name[32], text[1024];

    (void)snprintf(name, sizeof name, "unit%d.c", number);
    (void)snprintf(text, sizeof text,
                   "extern volatile int sink; extern void abort(void);\n"
                   "static inline __attribute__((always_inline)) void in%d(int x)\n"
                   "{ if (__builtin_expect(x == %d, 0)) abort(); sink = x; }\n"
                   "static __attribute__((noinline)) int local(int x)\n"
                   "{ in%d(x + sink); in%d(x - 1); return x; }\n"
                   "__attribute__((cold)) int cold%d(int x) { in%d(x); return local(x); }\n"
                   "int unit%d(int x) { int sum = 0; for (int i = 0; i < x; i++)\n"
                   "{ in%d(i); sum += local(i) + cold%d(i); } return sum; }\n",
                   number, number, number, number, number, number, number, number, number);
    build_write(name, text);
}

/* Every byte of the code, and a little more on both sides.  */
static void collect_vaddrs(struct sym_session *session, const char *path)
{
    struct sym_module_key key = { .path = path };
    struct sym_module *module;

    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    vaddr_count = 0;
    for (size_t i = 0; i < module->code->code_count; i++) {
        const struct sym_code *code = &module->code->code[i];
        for (uint64_t at = code->start - 4; at < code->limit + 4; at++) {
            ck_assert_uint_lt(vaddr_count, VADDRS_MAX);
            vaddrs[vaddr_count++] = at;
        }
    }
    for (size_t i = 0; i < vaddr_count; i++) { /* any order, the same each time */
        size_t other = (i * 7919) % vaddr_count;
        uint64_t kept = vaddrs[i];
        vaddrs[i] = vaddrs[other];
        vaddrs[other] = kept;
    }
}

static void set_up(void)
{
    (void)build_folder();
    build_write("main.c", "volatile int sink;\nint main(void) { return sink; }\n");
    for (int i = 0; i < UNITS; i++)
        write_unit(i);
}

static void tear_down(void)
{
    for (size_t i = 0; i < VADDRS_MAX; i++) {
        free(texts[0][i]);
        free(texts[1][i]);
        texts[0][i] = texts[1][i] = NULL;
    }
    build_remove();
}

static char *compile(const char *flags)
{
    char *command;

    ck_assert_int_gt(asprintf(&command, "$CC %s -o object main.c unit*.c", flags), 0);
    build_run(command);
    free(command);
    return build_path("object");
}

static bool keep_text(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    char **table = context;
    size_t size;
    FILE *text = open_memstream(&table[index], &size);

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(text, "%s %s %s:%u:%u %d\n", frames[i].function, frames[i].linkage_name,
                      frames[i].file, frames[i].line, frames[i].column, (int)frames[i].inlined);
    return fclose(text) == 0;
}

/* Answers for all vaddrs to table; with kept_bytes decoded units in memory at most.  */
static void answer_all(const char *path, unsigned jobs, size_t kept_bytes, char **table)
{
    struct sym_options options = { .size = sizeof options, .jobs = jobs, .no_cache = true };
    struct sym_module_key key = { .path = path };
    struct sym_session *session;
    struct sym_module *module;

    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    if (!vaddr_count)
        collect_vaddrs(session, path);
    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    ck_assert_uint_gt(module->loaded.dwarf.unit_count, UNITS);
    module->loaded.dwarf.kept_bytes_max = kept_bytes;
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, vaddr_count, keep_text, table, NULL),
                     SYM_OK);
    sym_session_close(session);
}

static void compare(const char *what)
{
    size_t answered = 0;

    for (size_t i = 0; i < vaddr_count; i++) {
        ck_assert_msg(strcmp(texts[0][i], texts[1][i]) == 0, "%s: 0x%llx:\n%s\n%s", what,
                      (unsigned long long)vaddrs[i], texts[0][i], texts[1][i]);
        answered += texts[0][i][0] != '\0';
        free(texts[1][i]);
        texts[1][i] = NULL;
    }
    ck_assert_uint_gt(answered, 500);
}

START_TEST(answers_the_same_with_any_number_of_jobs)
{
    static const unsigned jobs[] = { 0, 2, 3, 16, 100000 };
    char *path = compile(builds[_i]), what[64];

    vaddr_count = 0;
    answer_all(path, 1, SIZE_MAX, texts[0]);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        answer_all(path, jobs[i], SIZE_MAX, texts[1]);
        (void)snprintf(what, sizeof what, "%u jobs", jobs[i]);
        compare(what);
    }
    free(path);
}
END_TEST

START_TEST(answers_the_same_when_units_are_decoded_again)
{
    char *path = compile(builds[_i]);

    vaddr_count = 0;
    answer_all(path, 1, SIZE_MAX, texts[0]);
    answer_all(path, 1, 0, texts[1]);
    compare("one job, nothing kept");
    answer_all(path, 2, 4096, texts[1]);
    compare("two jobs, little kept");
    free(path);
}
END_TEST

static bool stop(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *left = context;

    (void)index, (void)frames, (void)count;
    return --*left > 0;
}

START_TEST(stops_while_units_are_decoded_ahead)
{
    struct sym_options options = { .size = sizeof options, .jobs = 4, .no_cache = true };
    char *path = compile(builds[0]);
    struct sym_module_key key = { .path = path };
    struct sym_session *session;
    struct sym_module *module;

    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    vaddr_count = 0;
    collect_vaddrs(session, path);
    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    for (size_t answers = 1; answers < vaddr_count; answers += 501) {
        size_t left = answers;
        ck_assert_int_eq(sym_module_resolve(module, vaddrs, vaddr_count, stop, &left, NULL),
                         SYM_STOPPED);
    }
    sym_session_close(session);
    free(path);
}
END_TEST

/* What a cache is made from: all units, decoded ahead, each asked for once.  */
START_TEST(decodes_all_units_ahead)
{
    char *path = compile(builds[0]);
    struct sym_module_key key = { .path = path };
    struct sym_session *session;
    struct sym_module *module;
    struct sym_unit *unit;
    size_t seen = 0, undecoded = 0;

    ck_assert_int_eq(sym_session_open(NULL, &session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    struct sym_dwarf *dwarf = &module->loaded.dwarf;
    ck_assert_int_eq(sym_ahead_start(dwarf, NULL, 3), SYM_OK);
    for (size_t i = 0; i < dwarf->segments.count; i++) {
        ck_assert_int_eq(sym_dwarf_unit(dwarf, dwarf->segments.items[i].start, NULL, &unit),
                         SYM_OK);
        if (!unit)
            continue;
        seen++;
        for (size_t j = 0; j < unit->scopes.function_count; j++)
            undecoded += !unit->scopes.functions[j].decoded;
    }
    sym_ahead_end(dwarf);
    ck_assert_uint_gt(seen, UNITS);
    ck_assert_uint_eq(undecoded, 0);
    sym_session_close(session);
    free(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_units");
    TCase *tcase = tcase_create("units");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, answers_the_same_with_any_number_of_jobs, 0, ROWS(builds));
    tcase_add_loop_test(tcase, answers_the_same_when_units_are_decoded_again, 0, ROWS(builds));
    tcase_add_test(tcase, stops_while_units_are_decoded_ahead);
    tcase_add_test(tcase, decodes_all_units_ahead);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
