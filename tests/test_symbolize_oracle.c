/* What libsymbolize reads of DWARF, beside libdwarf: every entry that covers code, its name, its
 * ranges and where it was called from; every row of every line table.  And what is reported when
 * the two differ.  */
#include "libsymbolize/symbolize_internal.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <libdwarf/libdwarf.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* No headers: other machines have none here.  */
static const char c_source[] =
    "extern volatile int sink; volatile int sink; void abort(void);\n"
    "static inline __attribute__((always_inline)) int deep(int x)\n"
    "{ if (__builtin_expect(x == 7, 0)) sink = x * 3; return x + sink; }\n"
    "static inline __attribute__((always_inline)) int middle(int x) { return deep(x) + deep(-x); "
    "}\n"
    "static __attribute__((noinline)) int local(int x) { return middle(x) + middle(x + 1); }\n"
    "__attribute__((cold, noinline)) void fail(int x) { sink = deep(x); }\n"
    "int calls(int x) { if (x > 100) fail(x); int s = 0;\n"
    "    for (int i = 0; i < x; i++) { int y = local(i); s += middle(y); } return s; }\n"
    "struct s { int a; struct { int b; enum { RED, BLUE } c; } d[3]; int (*f)(struct s *, int); "
    "};\n"
    "int uses(struct s *s) { return s->f ? s->f(s, s->d[1].b) : calls(s->a); }\n";

static const char cc_source[] =
    "volatile int sink;\n"
    "namespace outer { namespace { template <class T> inline T twice(T x) { sink += x; return x * "
    "2; } }\n"
    "struct base { virtual int go(int) = 0; virtual ~base() {} };\n"
    "template <class T> struct box : base { T value; box(T v) : value(v) {}\n"
    "    int go(int x) override { return twice<T>(value) + twice<long>(x); }\n"
    "    static int count(box *b) { return b ? b->go(3) : 0; } };\n"
    "template struct box<int>; template struct box<short>; }\n"
    "extern \"C\" int local_class(int n) {\n"
    "    struct hidden { int n; __attribute__((noinline)) int get(int x) { sink = x; return n + "
    "outer::twice(x); } };\n"
    "    hidden h = { n }; int sum = h.get(n);\n"
    "    auto add = [&sum](int x) __attribute__((noinline)) { sum += outer::twice(x); return sum + "
    "sink; };\n"
    "    auto inlined = [&](int x) { return add(x) + outer::box<int>::count(nullptr); };\n"
    "    return inlined(sum) + add(n); }\n"
    "static __attribute__((noinline)) int hot(int x) { if (x < 0) { sink = 1; __builtin_trap(); } "
    "return outer::twice(x); }\n"
    "int entry(int x) { outer::box<int> b(x); return hot(x) + b.go(x) + local_class(x); }\n";

static const struct {
    const char *name, *command;
} builds[] = {
    { "GCC, DWARF 2", "gcc -O2 -gdwarf-2 -gstrict-dwarf -shared -fPIC -o object a.c" },
    { "GCC, DWARF 3", "gcc -O2 -gdwarf-3 -shared -fPIC -o object a.c" },
    { "GCC, DWARF 4", "gcc -O2 -gdwarf-4 -shared -fPIC -o object a.c" },
    { "GCC, DWARF 5", "gcc -O3 -gdwarf-5 -shared -fPIC -o object a.c" },
    { "GCC, 64-bit DWARF", "gcc -O2 -gdwarf-5 -gdwarf64 -shared -fPIC -o object a.c" },
    { "GCC, sections dropped",
      "gcc -O2 -g -ffunction-sections -Wl,--gc-sections,-e,calls -nostdlib -static -o object a.c" },
    { "GCC, not optimized", "gcc -O0 -g -shared -fPIC -o object a.c" },
    { "GCC, nested function",
      "{ cat a.c; echo 'int nest(int a) { __attribute__((noinline)) int in(int b) { return a + b + "
      "sink; } return in(1) * in(a); }'; } >n.c && gcc -O2 -g -shared -fPIC -o object n.c" },
    { "GCC, LTO",
      "cp a.cc b.cc && sed -i 's/sink/sunk/g; s/entry/other/; s/local_class/lc/' b.cc && "
      "g++ -O2 -g -flto -shared -fPIC -o object a.cc b.cc" },
    { "G++, DWARF 4", "g++ -O2 -gdwarf-4 -shared -fPIC -o object a.cc" },
    { "G++, DWARF 5", "g++ -O2 -gdwarf-5 -shared -fPIC -o object a.cc" },
    { "G++, type units", "g++ -O2 -gdwarf-5 -fdebug-types-section -shared -fPIC -o object a.cc" },
    { "G++, not optimized", "g++ -O0 -g -shared -fPIC -o object a.cc" },
    { "Clang, DWARF 2", "clang -O2 -gdwarf-2 -shared -fPIC -o object a.c" },
    { "Clang, DWARF 4", "clang -O2 -gdwarf-4 -shared -fPIC -o object a.c" },
    { "Clang, DWARF 5", "clang -O2 -gdwarf-5 -shared -fPIC -o object a.c" },
    { "Clang, lines only", "clang -O2 -gline-tables-only -shared -fPIC -o object a.c" },
    { "Clang++, DWARF 4", "clang++ -O2 -gdwarf-4 -shared -fPIC -o object a.cc" },
    { "Clang++, DWARF 5",
      "clang++ -O2 -gdwarf-5 -ffunction-sections -shared -fPIC -o object a.cc" },
    { "32-bit", "clang --target=i386-linux-gnu -O2 -g -fPIC -c -o a.o a.c && "
                "ld.lld -shared -o object a.o" },
    { "big-endian, 32-bit", "clang --target=powerpc-linux-gnu -O2 -gdwarf-4 -fPIC -c -o a.o a.c && "
                            "ld.lld -shared -o object a.o" },
    { "big-endian, 64-bit", "clang --target=powerpc64-linux-gnu -mabi=elfv2 -O2 -gdwarf-5 -fPIC -c "
                            "-o a.o a.c && ld.lld -shared -o object a.o" },
    { "dwz", "g++ -O2 -g -shared -fPIC -o object a.cc && dwz object" },
    { "dwz, supplement",
      "g++ -O2 -g -shared -fPIC -o object a.cc && g++ -O1 -g -shared -fPIC -o other a.cc && "
      "dwz -m common object other" },
    { "GCC, DWARF 4, split", "g++ -O2 -gdwarf-4 -gsplit-dwarf -shared -fPIC -o object a.cc" },
    { "Clang, DWARF 4, split", "clang++ -O2 -gdwarf-4 -gsplit-dwarf -shared -fPIC -o object a.cc" },
    { "Clang, DWARF 5, split", "clang++ -O2 -gdwarf-5 -gsplit-dwarf -shared -fPIC -o object a.cc" },
    { "a package", "clang++ -O2 -gdwarf-5 -gsplit-dwarf -shared -fPIC -o object a.cc && "
                   "clang++ -O1 -gdwarf-5 -gsplit-dwarf -shared -fPIC -o other a.c && "
                   "llvm-dwp -e object -o object.dwp && rm -f *.dwo" },
    { "packed sections", "g++ -O2 -g -gz -shared -fPIC -o object a.cc" },
    { "packed sections, GNU", "g++ -O2 -g -shared -fPIC -o plain a.cc && "
                              "objcopy --compress-debug-sections=zlib-gnu plain object" },
    { "relocatable", "g++ -O2 -g -ffunction-sections -c -o object a.cc" },
    { "this program", "cp /proc/$PPID/exe object" },
};

/* ---- Modules ---- */

static struct sym_session *session;

static struct sym_module *open_object(const char *command)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    struct sym_module *module;

    build_write("a.c", c_source);
    build_write("a.cc", cc_source);
    build_run(command);
    char *path = build_path("object");
    const struct sym_module_key key = { .path = path };
    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    free(path);
    return module;
}

static const char *build_name;

static bool show_difference(void *context, const struct sym_difference *difference)
{
    (void)context;
    if (!difference->fault[0])
        ck_abort_msg("%s: 0x%llx: %s: %s, libdwarf %s", build_name,
                     (unsigned long long)difference->vaddr, difference->what, difference->ours,
                     difference->theirs);
    return true;
}

static void check_sound(struct sym_module *module, uint64_t count, struct sym_verification *result)
{
    struct sym_error error = { .message = "" };

    ck_assert_msg(sym_module_verify(module, count, show_difference, NULL, result, &error) == SYM_OK,
                  "%s: %s", build_name, error.message);
    ck_assert_msg(!result->damage[0], "%s: %s", build_name, result->damage);
    ck_assert_msg(!result->skipped, "%s: %s", build_name, result->reason);
    ck_assert_uint_eq(result->differences, 0);
    ck_assert_uint_gt(result->units, 0);
}

START_TEST(reads_what_libdwarf_reads)
{
    struct sym_verification result;

    build_name = builds[_i].name;
    struct sym_module *module = open_object(builds[_i].command);
    check_sound(module, 0, &result);
    ck_assert_msg(result.addresses > 20, "%s: %llu addresses", build_name,
                  (unsigned long long)result.addresses);
    check_sound(module, 10, &result);
    ck_assert_uint_gt(result.addresses, 5);
    ck_assert_uint_le(result.addresses, 10);
    sym_session_close(session);
}
END_TEST

/* ---- Differences ---- */

/* Faults planted into what the decoder keeps of the only unit.  */
static void plant_line(struct sym_unit *unit)
{
    unit->lines.rows[2].line += 7;
}

static void plant_column(struct sym_unit *unit)
{
    unit->lines.rows[2].column++;
}

static void plant_file(struct sym_unit *unit)
{
    unit->lines.rows[2].file += 100;
}

static void plant_row(struct sym_unit *unit)
{
    unit->lines.rows[2].vaddr++;
}

static void plant_name(struct sym_unit *unit)
{
    static struct sym_name wrong = { .function = "wrong", .linkage_name = "_Z5wrongv" };

    unit->scopes.items[0].name = &wrong;
}

static void plant_range(struct sym_unit *unit)
{
    for (size_t i = 0; i < unit->scopes.segments.count; i++)
        unit->scopes.segments.items[i].start += 2;
}

static void plant_call(struct sym_unit *unit)
{
    for (size_t i = unit->scopes.function_count; i < unit->scopes.count; i++)
        unit->scopes.items[i].call_line++;
}

static const struct {
    const char *what;
    void (*plant)(struct sym_unit *unit);
} plants[] = {
    { "line", plant_line },      { "line", plant_column },   { "file", plant_file },
    { "line", plant_row },       { "function", plant_name }, { "inlined calls", plant_range },
    { "call site", plant_call },
};

static bool count_kind(void *context, const struct sym_difference *difference)
{
    size_t *count = context;

    ck_assert_str_eq(difference->fault, "");
    ck_assert_str_ne(difference->ours, difference->theirs);
    *count += strcmp(difference->what, plants[*count >> 32].what) == 0;
    return true;
}

static bool ignore_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)context, (void)index, (void)frames, (void)count;
    return true;
}

/* All functions are decoded first, so that what was planted stays.  */
START_TEST(reports_what_differs)
{
    struct sym_verification result;
    uint64_t vaddrs[2048];
    size_t found = (size_t)_i << 32;
    struct sym_module *module = open_object("gcc -O2 -gdwarf-4 -shared -fPIC -o object a.c");

    for (size_t i = 0; i < 2048; i++)
        vaddrs[i] = 0x1000 + i;
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, 2048, ignore_answer, NULL, NULL), SYM_OK);
    struct sym_dwarf *dwarf = &module->loaded.dwarf;
    ck_assert_uint_eq(dwarf->unit_count, 1);
    ck_assert(dwarf->units[0].decoded);
    plants[_i].plant(&dwarf->units[0]);
    ck_assert_int_eq(sym_module_verify(module, 0, count_kind, &found, &result, NULL), SYM_OK);
    ck_assert_uint_gt(result.differences, 0);
    ck_assert_msg((found & UINT32_MAX) > 0, "no difference of kind %s", plants[_i].what);
    sym_session_close(session);
}
END_TEST

/* A unit that the decoder left out is a difference, too.  */
START_TEST(reports_a_unit_that_is_left_out)
{
    struct sym_verification result;
    size_t found = 0;
    struct sym_module *module = open_object("gcc -O2 -g -shared -fPIC -o object a.c");

    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    module->loaded.dwarf.unit_count = 0;
    ck_assert_int_eq(sym_module_verify(module, 0, count_kind, &found, &result, NULL), SYM_OK);
    module->loaded.dwarf.unit_count = 1;
    ck_assert_uint_gt(result.differences, 2);
    sym_session_close(session);
}
END_TEST

static bool stop(void *context, const struct sym_difference *difference)
{
    (void)context, (void)difference;
    return false;
}

START_TEST(stops_when_the_caller_wants)
{
    struct sym_verification result;
    struct sym_error error;
    struct sym_module *module = open_object("gcc -O2 -g -shared -fPIC -o object a.c");

    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    module->loaded.dwarf.unit_count = 0;
    ck_assert_int_eq(sym_module_verify(module, 0, stop, NULL, &result, &error), SYM_STOPPED);
    module->loaded.dwarf.unit_count = 1;
    ck_assert_uint_eq(result.differences, 1);
    sym_session_close(session);
}
END_TEST

START_TEST(needs_debug_information)
{
    struct sym_verification result;
    struct sym_error error;
    struct sym_module *module = open_object("gcc -O2 -shared -fPIC -s -o object a.c");

    ck_assert_int_eq(sym_module_verify(module, 0, stop, NULL, &result, &error), SYM_NOT_FOUND);
    ck_assert_str_eq(error.message, "stripped, only exported functions have names");
    sym_session_close(session);
}
END_TEST

static void set_up(void)
{
    (void)build_folder();
}

/* A unit that the decoder rejects for a form would be one to read through libdwarf: there is none
 * as long as libdwarf names no form that the decoder does not know.  */
START_TEST(knows_each_form_that_libdwarf_names)
{
    const struct sym_sizes sizes = { .version = 5, .offset_size = 4, .address_size = 8 };
    unsigned named = 0;

    for (unsigned form = 1; form <= UINT16_MAX; form++) {
        const char *name;

        if (dwarf_get_FORM_name(form, &name) != DW_DLV_OK)
            continue;
        named++;
        ck_assert_msg(sym_form_size(&sizes, (uint16_t)form) != -2, "%s", name);
    }
    ck_assert_uint_gt(named, 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_oracle");
    TCase *tcase = tcase_create("oracle");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, build_remove);
    tcase_add_loop_test(tcase, reads_what_libdwarf_reads, 0, ROWS(builds));
    tcase_add_loop_test(tcase, reports_what_differs, 0, ROWS(plants));
    tcase_add_test(tcase, reports_a_unit_that_is_left_out);
    tcase_add_test(tcase, stops_when_the_caller_wants);
    tcase_add_test(tcase, needs_debug_information);
    tcase_add_test(tcase, knows_each_form_that_libdwarf_names);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
