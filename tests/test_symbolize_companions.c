/* Files that hold part of a module's debug information: found, and only the right ones.  */
#include "libsymbolize/symbolize_internal.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

static const char *folder;
static struct sym_session *session;
static struct sym_module *module;
static struct sym_object *found;
static struct sym_error error;

static void set_up(void)
{
    folder = build_folder();
    session = NULL;
    found = NULL;
    build_write("one.c", "struct shared { int a; long b; char *text; } one;\n"
                         "int first(struct shared *s) { return s->a; }\n");
    build_write("two.c", "struct shared { int a; long b; char *text; } two;\n"
                         "int second(struct shared *s) { return s->a; }\n");
}

static void tear_down(void)
{
    sym_object_free(found);
    sym_session_close(session);
    build_remove();
}

/* The module of the folder's file name, its debug information open.  */
static void open_module(const char *name)
{
    char *path = build_path(name), *syms = build_path("syms"), *root = build_path("root");
    const char *paths[] = { syms };
    struct sym_options options = { .size = sizeof options,
                                   .symbol_paths = paths,
                                   .symbol_path_count = 1,
                                   .debug_root = root,
                                   .debuginfod_cache = "" };
    struct sym_module_key key = { .path = path };

    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_ptr_nonnull(module->debug);
    ck_assert_int_eq(sym_object_reopen(module->debug, &error), SYM_OK);
    free(path);
    free(syms);
    free(root);
}

static const char *below_folder(const char *path)
{
    size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 ? path + length : path;
}

/* ---- .dwo ---- */

static const char *fits(void *context, struct sym_object *object)
{
    struct sym_bytes bytes;
    bool is_right = *(bool *)context &&
                    sym_object_section(object, SYM_SECTION_INFO, &bytes, NULL) == SYM_OK &&
                    bytes.size > 0;

    return is_right ? NULL : "the file is wrong";
}

static const struct {
    const char *name, *setup, *comp_dir, *dwo_name, *path;
} dwo_cases[] = {
    { "below the compilation directory", ":", "build", "one.dwo", "build/one.dwo" },
    { "beside the object", "mv build/one.dwo .", "/nowhere", "build/one.dwo", "/one.dwo" },
    { "among the symbol paths", "mkdir -p syms && mv build/one.dwo syms", "/nowhere",
      "build/one.dwo", "/syms/one.dwo" },
};

static void build_split(void)
{
    build_run("mkdir build && $CC -g -gsplit-dwarf -c -o build/one.o one.c && "
              "$CC -shared -o split.so build/one.o");
}

START_TEST(finds_a_dwo_file)
{
    bool right = true;

    build_split();
    build_run(dwo_cases[_i].setup);
    open_module("split.so");
    char *comp_dir = dwo_cases[_i].comp_dir[0] == '/' ? strdup(dwo_cases[_i].comp_dir)
                                                      : build_path(dwo_cases[_i].comp_dir);
    enum sym_status status = sym_find_dwo(module, comp_dir, dwo_cases[_i].dwo_name, fits, &right,
                                          &found, &error);
    ck_assert_msg(status == SYM_OK, "%s: %s", dwo_cases[_i].name, error.message);
    ck_assert_msg(strstr(below_folder(found->path), dwo_cases[_i].path), "%s: %s",
                  dwo_cases[_i].name, found->path);
    free(comp_dir);
}
END_TEST

START_TEST(refuses_a_dwo_file_that_does_not_fit)
{
    bool right = false;
    size_t count;

    build_split();
    open_module("split.so");
    ck_assert_int_eq(
        sym_find_dwo(module, "/nowhere", "build/one.dwo", fits, &right, &found, &error),
        SYM_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.message, "one.dwo: the file is wrong"));
    const struct sym_trail_step *steps = sym_module_trail(module, &count);
    ck_assert_int_eq(steps[count - 1].place, SYM_PLACE_SPLIT);
    ck_assert_int_eq(steps[count - 1].outcome, SYM_OUTCOME_REFUSED);
    ck_assert_int_eq(sym_find_dwo(module, "/nowhere", "two.dwo", fits, &right, &found, &error),
                     SYM_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.message, "no file two.dwo"));
}
END_TEST

/* ---- .dwp ---- */

#define DEBUG_FILE                                                                \
    "mkdir .debug && objcopy --only-keep-debug split.so .debug/program.debug && " \
    "objcopy --strip-debug --add-gnu-debuglink=.debug/program.debug split.so && "

static const struct {
    const char *name, *setup, *path;
} dwp_cases[] = {
    { "beside the object", "cp build/one.dwo split.so.dwp", "/split.so.dwp" },
    { "among the symbol paths", "mkdir syms && cp build/one.dwo syms/split.so.dwp",
      "/syms/split.so.dwp" },
    { "beside the debug file", DEBUG_FILE "cp build/one.dwo .debug/program.debug.dwp",
      "/.debug/program.debug.dwp" },
    { "beside the debug file, named after the program",
      DEBUG_FILE "cp build/one.dwo .debug/program.dwp", "/.debug/program.dwp" },
};

START_TEST(finds_a_package)
{
    struct sym_bytes bytes;

    build_split();
    build_run(dwp_cases[_i].setup);
    open_module("split.so");
    ck_assert_int_eq(sym_find_dwp(module, NULL, NULL, &found, &error), SYM_OK);
    ck_assert_str_eq(below_folder(found->path), dwp_cases[_i].path);
    ck_assert_int_eq(sym_object_section(found, SYM_SECTION_ABBREV, &bytes, &error), SYM_OK);
    ck_assert_uint_gt(bytes.size, 0); /* .debug_abbrev.dwo */
    ck_assert_int_eq(sym_object_section(found, SYM_SECTION_LINE_STR, &bytes, &error), SYM_OK);
    ck_assert_uint_eq(bytes.size, 0);
}
END_TEST

START_TEST(finds_no_package_where_there_is_none)
{
    build_split();
    open_module("split.so");
    ck_assert_int_eq(sym_find_dwp(module, NULL, NULL, &found, &error), SYM_NOT_FOUND);
}
END_TEST

/* ---- Supplements ---- */

/* one.so and two.so share dwz's supplement common.debug, which they name by a path.  */
static bool build_supplement(const char *name)
{
    char *command;

    if (system("dwz --version >/dev/null 2>&1") != 0) {
        printf("SKIP: dwz is not here\n");
        return false;
    }
    ck_assert_int_gt(asprintf(&command,
                              "for n in one two; do "
                              "$CC -gdwarf-4 -shared -fPIC -Wl,--build-id=sha1 -o $n.so $n.c $n.c "
                              "-Dfirst=f$n -Dsecond=s$n 2>/dev/null || "
                              "$CC -gdwarf-4 -shared -fPIC -Wl,--build-id=sha1 -o $n.so $n.c; done "
                              "&& dwz -m common.debug -M '%s' one.so two.so",
                              name),
                     0);
    build_run(command);
    free(command);
    return true;
}

static const struct {
    const char *name, *link, *setup, *path;
} alt_cases[] = {
    { "beside the object", "common.debug", ":", "/common.debug" },
    { "relative to the real directory", "../common.debug",
      "mkdir a && mv one.so a && ln -s a/one.so one.so", "/a/../common.debug" },
    { "by build ID below the debug root", "/nowhere/common.debug",
      "hex=$(readelf -n common.debug | sed -n 's/.*Build ID: //p') && rest=${hex#??} && "
      "mkdir -p root/.build-id/${hex%$rest} && "
      "mv common.debug root/.build-id/${hex%$rest}/$rest.debug",
      "/root/.build-id/" },
    { "in the debug root's .dwz", "../../.dwz/common.debug",
      "mkdir -p root/.dwz && mv common.debug root/.dwz", "/root/.dwz/common.debug" },
    { "among the symbol paths", "/nowhere/common.debug", "mkdir syms && mv common.debug syms/x",
      "/syms/x" },
    { "a symbol path itself", "/nowhere/common.debug", "mv common.debug syms", "/syms" },
};

START_TEST(finds_a_supplement)
{
    struct sym_bytes bytes;

    if (!build_supplement(alt_cases[_i].link))
        return;
    build_run(alt_cases[_i].setup);
    open_module("one.so");
    ck_assert(module->debug->has_alt);
    enum sym_status status = sym_find_alt(module, &found, &error);
    ck_assert_msg(status == SYM_OK, "%s: %s", alt_cases[_i].name, error.message);
    ck_assert_msg(
        strncmp(below_folder(found->path), alt_cases[_i].path, strlen(alt_cases[_i].path)) == 0,
        "%s: %s", alt_cases[_i].name, found->path);
    ck_assert_int_eq(sym_object_section(found, SYM_SECTION_STR, &bytes, &error), SYM_OK);
    ck_assert_uint_gt(bytes.size, 0);
}
END_TEST

START_TEST(refuses_a_supplement_of_another_build)
{
    if (!build_supplement("common.debug"))
        return;
    build_run("cp one.so common.debug");
    open_module("one.so");
    ck_assert_int_eq(sym_find_alt(module, &found, &error), SYM_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.message, "belongs to another build"));
}
END_TEST

START_TEST(looks_for_no_supplement_that_nobody_names)
{
    build_run("$CC -g -shared -o one.so one.c");
    open_module("one.so");
    ck_assert_int_eq(sym_find_alt(module, &found, &error), SYM_NOT_FOUND);
    ck_assert_str_eq(error.message, "it names no supplement");
}
END_TEST

/* dwz 0.15 writes .debug_sup with --dwarf-5; other tools may not, so these are made by hand.  */
START_TEST(verifies_a_supplement_of_dwarf_5_by_its_checksum)
{
    build_run("$CC -g -shared -fPIC -Wl,--build-id=none -o one.so one.c && "
              "$CC -g -shared -fPIC -Wl,--build-id=none -o sup two.c && "
              "printf '\\005\\000\\000sup\\000\\004abcd' >names && "
              "printf '\\005\\000\\001\\000\\004abcd' >is && "
              "printf '\\005\\000\\001\\000\\004abcX' >differs && "
              "objcopy --add-section .debug_sup=names one.so && "
              "objcopy --add-section .debug_sup=is sup good && "
              "objcopy --add-section .debug_sup=differs sup bad && cp bad sup");
    open_module("one.so");
    ck_assert_int_eq(sym_find_alt(module, &found, &error), SYM_NOT_FOUND);
    build_run("cp good sup");
    ck_assert_int_eq(sym_find_alt(module, &found, &error), SYM_OK);
    ck_assert_str_eq(below_folder(found->path), "/sup");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_companions");
    TCase *tcase = tcase_create("companions");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, finds_a_dwo_file, 0, ROWS(dwo_cases));
    tcase_add_test(tcase, refuses_a_dwo_file_that_does_not_fit);
    tcase_add_loop_test(tcase, finds_a_package, 0, ROWS(dwp_cases));
    tcase_add_test(tcase, finds_no_package_where_there_is_none);
    tcase_add_loop_test(tcase, finds_a_supplement, 0, ROWS(alt_cases));
    tcase_add_test(tcase, refuses_a_supplement_of_another_build);
    tcase_add_test(tcase, looks_for_no_supplement_that_nobody_names);
    tcase_add_test(tcase, verifies_a_supplement_of_dwarf_5_by_its_checksum);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
