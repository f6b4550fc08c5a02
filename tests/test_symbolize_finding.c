#include "tests/support/symbolize_build.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

static const char *folder;
static struct sym_session *session;
static struct sym_module *module;
static struct sym_error error;
static uint8_t id[64];
static size_t id_length;

/* full: code, symbols, DWARF.  bare: the same, stripped.  symbols: without DWARF.  debug: what
 * strip took.  other: another build of it.  place puts a file into a .build-id tree.  */
static void set_up(void)
{
    char *path;

    folder = build_folder();
    session = NULL;
    path = build_path("full");
    build_write("source.c", "int main(void)\n{\n    return 0;\n}\n");
    build_write("other.c", "int other(void)\n{\n    return 1;\n}\nint main(void)\n{\n"
                           "    return other();\n}\n");
    build_run("$CC -g -O1 -Wl,--build-id=sha1 -o full source.c && "
              "$CC -g -O1 -Wl,--build-id=sha1 -o other other.c && "
              "$CC -g -O1 -Wl,--build-id=none -o without source.c && "
              "strip -o bare full && strip -g -o symbols full && "
              "objcopy --only-keep-debug full debug");
    build_write("place", "hex=$(readelf -n full | sed -n 's/.*Build ID: //p')\n"
                         "rest=${hex#??}\n"
                         "mkdir -p \"$2/.build-id/${hex%$rest}\"\n"
                         "cp \"$1\" \"$2/.build-id/${hex%$rest}/$rest$3\"\n");
    ck_assert_int_eq(sym_build_id(path, id, sizeof id, &id_length, &error), SYM_OK);
    free(path);
}

static void tear_down(void)
{
    sym_session_close(session);
    build_remove();
}

/* Looks for the build ID of full, with the folder's file name as the recorded path (NULL: none), in
 * the folders syms and more, and with root for /usr/lib/debug.  */
static const struct sym_report *find(const char *name, bool with_id)
{
    char *path = name ? build_path(name) : NULL;
    char *dirs[] = { build_path("syms"), build_path("more") }, *root = build_path("root");
    struct sym_options options = { .size = sizeof options,
                                   .symbol_paths = (const char *const *)dirs,
                                   .symbol_path_count = 2,
                                   .debug_root = root };
    struct sym_module_key key = { .build_id = with_id ? id : NULL,
                                  .build_id_length = with_id ? id_length : 0,
                                  .path = path };

    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    free(dirs[0]);
    free(dirs[1]);
    free(root);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    free(path);
    return sym_module_report(module);
}

static const char *below_folder(const char *path)
{
    size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 ? path + length : path;
}

/* What lies where, and what must come of it.  Parts of paths and sentences are enough.  */
static const struct {
    const char *name;
    const char *setup;
    const char *path;
    enum sym_quality quality;
    const char *code, *debug, *problem, *remedy;
} cases[] = {
    { "everything at the path", ":", "full", SYM_QUALITY_DWARF, "/full", "/full", "", "" },
    { "a stripped program and its debug file in the debug root", "sh place debug root .debug",
      "bare", SYM_QUALITY_DWARF, "/bare", "/root/.build-id/", "", "" },
    { "a symbol directory before the path", "sh place full more ''", "full", SYM_QUALITY_DWARF,
      "/more/.build-id/", "/more/.build-id/", "", "" },
    { "the first symbol directory before the second",
      "sh place full more '' && sh place full syms ''", NULL, SYM_QUALITY_DWARF, "/syms/.build-id/",
      "/syms/.build-id/", "", "" },
    { "the better of two files", "sh place symbols syms '' && sh place debug root .debug", NULL,
      SYM_QUALITY_DWARF, "/syms/.build-id/", "/root/.build-id/", "", "" },
    { "a debug file alone", "sh place debug syms .debug", "missing", SYM_QUALITY_DWARF, "",
      "/syms/.build-id/", "", "" },
    { "symbols alone", ":", "symbols", SYM_QUALITY_SYMTAB, "/symbols", "/symbols",
      "no debug information", "-dbgsym" },
    { "a stripped program", ":", "bare", SYM_QUALITY_NONE, "/bare", "", "no symbols",
      ".build-id/" },
    { "nothing", ":", "missing", SYM_QUALITY_NONE, "", "", "/missing, and none with build ID ",
      ".build-id/" },
    { "nothing and no path", ":", NULL, SYM_QUALITY_NONE, "", "", "no file with build ID",
      ".build-id/" },
    { "another build at the path", ":", "other", SYM_QUALITY_NONE, "", "", "the file has build ID ",
      "built anew" },
    { "another build at the path, the right one elsewhere", "sh place full syms ''", "other",
      SYM_QUALITY_DWARF, "/syms/.build-id/", "/syms/.build-id/", "", "" },
    { "a wrong debug file in the tree", "sh place other root .debug", "symbols", SYM_QUALITY_SYMTAB,
      "/symbols", "/symbols", "no debug information; ", "built anew" },
    { "a file without build ID in the tree", "sh place without syms .debug", "symbols",
      SYM_QUALITY_SYMTAB, "/symbols", "/symbols", ".debug: the file has no build ID", "" },
    { "a FIFO at the path", "mkfifo fifo", "fifo", SYM_QUALITY_NONE, "", "", "not a regular file",
      "" },
    { "a folder at the path", "mkdir here", "here", SYM_QUALITY_NONE, "", "", "not a regular file",
      "" },
    { "a device", "ln -s /dev/zero device", "device", SYM_QUALITY_NONE, "", "",
      "not a regular file", "" },
    { "text at the path", ":", "source.c", SYM_QUALITY_NONE, "", "", "not an ELF object", "" },
    { "an empty file", ": >empty", "empty", SYM_QUALITY_NONE, "", "", "not an ELF object", "" },
};

START_TEST(finds_the_best_that_agrees)
{
    build_run(cases[_i].setup);
    const struct sym_report *report = find(cases[_i].path, true);

    ck_assert_msg(report->quality == cases[_i].quality, "%s: quality %d, %s", cases[_i].name,
                  (int)report->quality, report->problem);
    ck_assert(!report->unverified);
    ck_assert_int_eq(strncmp(below_folder(report->code_path), cases[_i].code,
                             strlen(cases[_i].code) + !cases[_i].code[0]),
                     0);
    ck_assert_int_eq(strncmp(below_folder(report->debug_path), cases[_i].debug,
                             strlen(cases[_i].debug) + !cases[_i].debug[0]),
                     0);
    ck_assert_msg(strstr(report->problem, cases[_i].problem) &&
                      !report->problem[0] == !cases[_i].problem[0],
                  "%s: problem '%s'", cases[_i].name, report->problem);
    ck_assert_msg(strstr(report->remedy, cases[_i].remedy) &&
                      !report->remedy[0] == (report->quality == SYM_QUALITY_DWARF),
                  "%s: remedy '%s'", cases[_i].name, report->remedy);
}
END_TEST

START_TEST(takes_a_path_without_build_id_as_unverified)
{
    const struct sym_report *report = find("full", false);

    ck_assert_int_eq(report->quality, SYM_QUALITY_DWARF);
    ck_assert(report->unverified);
}
END_TEST

START_TEST(looks_for_debug_files_of_an_unverified_path)
{
    build_run("sh place debug root .debug");
    const struct sym_report *report = find("bare", false);

    ck_assert_int_eq(report->quality, SYM_QUALITY_DWARF);
    ck_assert_ptr_nonnull(strstr(report->debug_path, "/root/.build-id/"));
    ck_assert(report->unverified);
}
END_TEST

START_TEST(takes_a_file_without_build_id_at_the_path)
{
    const struct sym_report *report = find("without", true);

    ck_assert_int_eq(report->quality, SYM_QUALITY_DWARF);
    ck_assert(report->unverified);
}
END_TEST

START_TEST(takes_a_relocatable_object)
{
    build_run("$CC -g -c -o part.o source.c");
    const struct sym_report *report = find("part.o", false);

    ck_assert_int_eq(report->quality, SYM_QUALITY_DWARF);
    ck_assert_ptr_nonnull(strstr(report->code_path, "/part.o"));
}
END_TEST

START_TEST(gives_one_handle_for_one_key)
{
    struct sym_module *again, *by_path;
    struct sym_module_key key = { .build_id = id, .build_id_length = id_length };

    (void)find(NULL, true);
    ck_assert_int_eq(sym_session_module(session, &key, &again, &error), SYM_OK);
    ck_assert_ptr_eq(again, module);
    key.path = "/nowhere";
    ck_assert_int_eq(sym_session_module(session, &key, &by_path, &error), SYM_OK);
    ck_assert_ptr_ne(by_path, module);
}
END_TEST

START_TEST(refuses_a_key_that_names_nothing)
{
    struct sym_module_key key = { .path = NULL };

    ck_assert_int_eq(sym_session_open(NULL, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_INVALID);
    ck_assert_int_eq(error.status, SYM_INVALID);
}
END_TEST

START_TEST(refuses_options_of_another_size)
{
    struct sym_options options = { .size = 3 };
    struct sym_session *none = NULL;

    ck_assert_int_eq(sym_session_open(&options, &none, &error), SYM_INVALID);
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(gives_the_offset_that_program_headers_say)
{
    uint64_t offset = 0, main_vaddr = build_symbol("full", "main");
    char command[256];

    (void)find("full", true);
    ck_assert_int_eq(sym_module_file_offset(module, main_vaddr, &offset), SYM_OK);
    /* The bytes at that offset are the first three of main().  */
    (void)snprintf(command, sizeof command,
                   "objdump -s --start-address=%llu --stop-address=%llu full | "
                   "awk 'END { print $2 }' >want && "
                   "od -An -v -tx1 -j %llu -N 3 full | tr -d ' ' | cmp - want",
                   (unsigned long long)main_vaddr, (unsigned long long)main_vaddr + 3,
                   (unsigned long long)offset);
    build_run(command);
    ck_assert_int_eq(sym_module_file_offset(module, UINT64_MAX, &offset), SYM_NOT_FOUND);
}
END_TEST

START_TEST(knows_no_offset_in_a_debug_file)
{
    uint64_t offset = 7;

    build_run("sh place debug syms .debug");
    (void)find(NULL, true);
    ck_assert_int_eq(sym_module_file_offset(module, build_symbol("full", "main"), &offset),
                     SYM_NOT_FOUND);
    ck_assert_uint_eq(offset, 7);
}
END_TEST

/* A module that was read is read again at the next look-up when another came between.  */
START_TEST(notices_a_file_that_was_replaced)
{
    struct built_answer answer = { 0 };
    uint64_t vaddr = build_symbol("full", "main");

    (void)find("full", true);
    build_run("cp other full.new && mv full.new full");
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error), SYM_OK);
    ck_assert_uint_eq(answer.calls, 1);
    ck_assert_uint_eq(answer.count, 0);
    ck_assert_int_lt(sym_module_report(module)->quality, SYM_QUALITY_DWARF);
    ck_assert_ptr_nonnull(strstr(sym_module_report(module)->problem, "replaced"));
}
END_TEST

START_TEST(says_that_functions_are_in_dwo_files)
{
    struct built_answer answer = { 0 };

    build_run("$CC -g -O1 -gsplit-dwarf -o split source.c");
    const struct sym_report *report = find("split", false);
    uint64_t vaddr = build_symbol("split", "main");
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error), SYM_OK);
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_str_eq(answer.frames[0].function, "main");
    ck_assert_uint_gt(answer.frames[0].line, 1); /* the line table stays in the program */
    ck_assert_int_eq(report->quality, SYM_QUALITY_SYMTAB);
    ck_assert_ptr_nonnull(strstr(report->problem, ".dwo files"));
    ck_assert_ptr_nonnull(strstr(report->remedy, "-gsplit-dwarf"));
    ck_assert_ptr_nonnull(strstr(report->debug_path, "/split"));
}
END_TEST

/* ---- sym_build_id ---- */

static const struct {
    const char *name, *file;
    enum sym_status status;
} files[] = {
    { "an object", "full", SYM_OK },         { "a debug file", "debug", SYM_OK },
    { "no note", "without", SYM_NOT_FOUND }, { "text", "source.c", SYM_MALFORMED },
    { "no such file", "missing", SYM_IO },   { "a folder", ".", SYM_IO },
};

START_TEST(reads_the_build_id_of_a_path)
{
    uint8_t read[4] = { 0 };
    size_t length = 99;
    char *path = build_path(files[_i].file);
    enum sym_status status = sym_build_id(path, read, sizeof read, &length, &error);

    ck_assert_msg(status == files[_i].status, "%s: status %d", files[_i].name, (int)status);
    if (status == SYM_OK) {
        ck_assert_uint_eq(length, id_length); /* the whole length, though only 4 fit */
        ck_assert_mem_eq(read, id, sizeof read);
    } else {
        ck_assert_int_eq(error.status, status);
        ck_assert_ptr_nonnull(strstr(error.message, files[_i].file));
    }
    free(path);
}
END_TEST

START_TEST(reads_a_build_id_without_section_headers)
{
    uint8_t read[64];
    size_t length = 0;
    char *path = build_path("headless");

    /* e_shoff, e_shnum and e_shstrndx of ELF64.  */
    build_run("cp full headless && printf '\\0\\0\\0\\0\\0\\0\\0\\0' | "
              "dd of=headless bs=1 seek=40 conv=notrunc 2>/dev/null && printf '\\0\\0\\0\\0' | "
              "dd of=headless bs=1 seek=60 conv=notrunc 2>/dev/null");
    ck_assert_int_eq(sym_build_id(path, read, sizeof read, &length, &error), SYM_OK);
    ck_assert_uint_eq(length, id_length);
    ck_assert_mem_eq(read, id, id_length);
    free(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_finding");
    TCase *tcase = tcase_create("finding");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, finds_the_best_that_agrees, 0, ROWS(cases));
    tcase_add_test(tcase, takes_a_path_without_build_id_as_unverified);
    tcase_add_test(tcase, looks_for_debug_files_of_an_unverified_path);
    tcase_add_test(tcase, takes_a_file_without_build_id_at_the_path);
    tcase_add_test(tcase, takes_a_relocatable_object);
    tcase_add_test(tcase, gives_one_handle_for_one_key);
    tcase_add_test(tcase, refuses_a_key_that_names_nothing);
    tcase_add_test(tcase, refuses_options_of_another_size);
    tcase_add_test(tcase, gives_the_offset_that_program_headers_say);
    tcase_add_test(tcase, knows_no_offset_in_a_debug_file);
    tcase_add_test(tcase, notices_a_file_that_was_replaced);
    tcase_add_test(tcase, says_that_functions_are_in_dwo_files);
    tcase_add_loop_test(tcase, reads_the_build_id_of_a_path, 0, ROWS(files));
    tcase_add_test(tcase, reads_a_build_id_without_section_headers);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
