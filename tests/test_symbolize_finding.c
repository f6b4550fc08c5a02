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

static char *master; /* the folder of what is compiled once */

/* full: code, symbols, DWARF.  bare: the same, stripped.  symbols: without DWARF.  debug: what
 * strip took.  other: another build of it.  place puts a file into a .build-id tree.  */
static void compile_once(void)
{
    master = strdup(build_folder());
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
    build_write("hex", "readelf -n full | sed -n 's/.*Build ID: //p'\n");
}

static void remove_once(void)
{
    char command[512];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", master);
    ck_assert_int_eq(system(command), 0);
    free(master);
}

static void set_up(void)
{
    char command[512], *path;

    folder = build_folder();
    session = NULL;
    (void)snprintf(command, sizeof command, "cp -p '%s'/* .", master);
    build_run(command);
    path = build_path("full");
    ck_assert_int_eq(sym_build_id(path, id, sizeof id, &id_length, &error), SYM_OK);
    free(path);
}

static void tear_down(void)
{
    sym_session_close(session);
    build_remove();
}

/* Looks for the build ID of full, with the folder's file name as the recorded path (NULL: none), in
 * the folders syms and more, with root for /usr/lib/debug, and cache for debuginfod's.  */
static const struct sym_report *find(const char *name, bool with_id)
{
    char *path = name ? build_path(name) : NULL;
    char *dirs[] = { build_path("syms"), build_path("more") }, *root = build_path("root");
    char *cache = build_path("cache");
    struct sym_options options = { .size = sizeof options,
                                   .symbol_paths = (const char *const *)dirs,
                                   .symbol_path_count = 2,
                                   .debug_root = root,
                                   .debuginfod_cache = cache };
    struct sym_module_key key = { .build_id = with_id ? id : NULL,
                                  .build_id_length = with_id ? id_length : 0,
                                  .path = path };

    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    free(dirs[0]);
    free(dirs[1]);
    free(root);
    free(cache);
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
      "rebuilt after the recording" },
    { "another build at the path, the right one elsewhere", "sh place full syms ''", "other",
      SYM_QUALITY_DWARF, "/syms/.build-id/", "/syms/.build-id/", "", "" },
    { "a wrong debug file in the tree", "sh place other root .debug", "symbols", SYM_QUALITY_SYMTAB,
      "/symbols", "/symbols", "no debug information; ", "rebuilt after the recording" },
    { "a file without build ID in the tree", "sh place without syms .debug", "symbols",
      SYM_QUALITY_SYMTAB, "/symbols", "/symbols", ".debug: the file has no build ID", "" },
    { "a FIFO at the path", "mkfifo fifo", "fifo", SYM_QUALITY_NONE, "", "", "not a regular file",
      "" },
    { "a folder at the path", "mkdir here", "here", SYM_QUALITY_NONE, "", "", "not a regular file",
      "" },
    { "a device", "ln -s /dev/zero device", "device", SYM_QUALITY_NONE, "", "",
      "not a regular file", "" },
    { "a symbol path that is a file", "cp full syms", "missing", SYM_QUALITY_DWARF, "/syms",
      "/syms", "", "" },
    { "a symbol path that is a file of another build", "cp other syms", "symbols",
      SYM_QUALITY_SYMTAB, "/symbols", "/symbols", "no debug information", "-dbgsym" },
    { "a symbol path that is a file without build ID", "cp without syms", "symbols",
      SYM_QUALITY_SYMTAB, "/symbols", "/symbols", "no debug information", "-dbgsym" },
    { "a symbol path that is text", "cp source.c syms", "symbols", SYM_QUALITY_SYMTAB, "/symbols",
      "/symbols", "/syms: not an ELF object", "" },
    { "a tree without .build-id", "sh place debug tree .debug && mv tree/.build-id syms", "bare",
      SYM_QUALITY_DWARF, "/bare", "/syms/", "", "" },
    { "a flat directory", "mkdir syms && cp debug syms/$(sh hex).debug", "bare", SYM_QUALITY_DWARF,
      "/bare", "/syms/", "", "" },
    { "a flat directory of objects", "mkdir syms && cp full syms/$(sh hex)", NULL,
      SYM_QUALITY_DWARF, "/syms/", "/syms/", "", "" },
    { "a wrong file in a flat directory", "mkdir syms && cp other syms/$(sh hex)", "symbols",
      SYM_QUALITY_SYMTAB, "/symbols", "/symbols", "the file has build ID",
      "rebuilt after the recording" },
    { "a directory of files", "mkdir -p syms/a/b syms/c && cp full syms/a/b/x && cp other syms/c",
      NULL, SYM_QUALITY_DWARF, "/syms/a/b/x", "/syms/a/b/x", "", "" },
    { "a directory of files, code and debug apart",
      "mkdir -p syms/a syms/b && cp bare syms/a/x && cp debug syms/b/y && mkfifo syms/fifo", NULL,
      SYM_QUALITY_DWARF, "/syms/a/x", "/syms/b/y", "", "" },
    { "a directory of files with a loop", "mkdir syms && ln -s . syms/loop && cp full syms/x", NULL,
      SYM_QUALITY_DWARF, "/syms/x", "/syms/x", "", "" },
    { "packed kernel modules in a directory", "mkdir syms && gzip -c full >syms/x.ko.gz", NULL,
      SYM_QUALITY_DWARF, "/syms/x.ko.gz", "/syms/x.ko.gz", "", "" },
    { "nothing is indexed beside a tree", "mkdir -p syms/.build-id && cp full syms/x", "symbols",
      SYM_QUALITY_SYMTAB, "/symbols", "/symbols", "no debug information", "" },
    { "debuginfod's cache", "mkdir -p cache/$(sh hex) && cp debug cache/$(sh hex)/debuginfo",
      "bare", SYM_QUALITY_DWARF, "/bare", "/cache/", "", "" },
    { "an object in debuginfod's cache",
      "mkdir -p cache/$(sh hex) && cp full cache/$(sh hex)/executable", NULL, SYM_QUALITY_DWARF,
      "/cache/", "/cache/", "", "" },
    { "a miss in debuginfod's cache", "mkdir -p cache/$(sh hex) && : >cache/$(sh hex)/debuginfo",
      "symbols", SYM_QUALITY_SYMTAB, "/symbols", "/symbols", "no debug information", "" },
    { "another build in debuginfod's cache",
      "mkdir -p cache/$(sh hex) && cp other cache/$(sh hex)/debuginfo", "symbols",
      SYM_QUALITY_SYMTAB, "/symbols", "/symbols", "the file has build ID", "" },
    { "text at the path", ":", "source.c", SYM_QUALITY_NONE, "", "", "not an ELF object", "" },
    { "a Windows program", "printf 'MZ\\220\\0\\3' >windows.exe", "windows.exe", SYM_QUALITY_NONE,
      "", "", "a DOS or Windows program (MZ, PE/COFF), not an ELF object", "" },
    { "a macOS program", "printf '\\317\\372\\355\\376\\7' >mac", "mac", SYM_QUALITY_NONE, "", "",
      "a Mach-O file (macOS), not an ELF object", "" },
    { "an archive", "ar r lib.a source.c 2>/dev/null", "lib.a", SYM_QUALITY_NONE, "", "",
      "an archive of objects, not an ELF object", "" },
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

/* ---- Debug links ---- */

/* bare links to debug, which lies nowhere yet; crc and crc.debug have no build ID.  */
static const char links[] =
    "objcopy --add-gnu-debuglink=debug bare linked && objcopy --only-keep-debug without crc.debug "
    "&& strip -o crc without && objcopy --add-gnu-debuglink=crc.debug crc && mkdir away && "
    "mv debug away && mv crc.debug away";

static const struct {
    const char *name, *setup, *path;
    bool with_id;
    enum sym_quality quality;
    const char *debug, *problem;
} link_cases[] = {
    { "beside the object", "cp away/debug .", "linked", true, SYM_QUALITY_DWARF, "/debug", "" },
    { "in .debug", "mkdir .debug && cp away/debug .debug", "linked", true, SYM_QUALITY_DWARF,
      "/.debug/debug", "" },
    { "below the debug root", "mkdir -p root/$PWD && cp away/debug root/$PWD", "linked", true,
      SYM_QUALITY_DWARF, "/root/", "" },
    { "behind a symbolic link", "cp away/debug . && mkdir there && ln -s ../linked there/program",
      "there/program", true, SYM_QUALITY_DWARF, "/debug", "" },
    { "the right build ID makes the checksum needless", "printf x >>away/debug && cp away/debug .",
      "linked", true, SYM_QUALITY_DWARF, "/debug", "" },
    { "another build", "objcopy --only-keep-debug other debug", "linked", true, SYM_QUALITY_NONE,
      "", "the file has build ID" },
    { "nothing", ":", "linked", true, SYM_QUALITY_NONE, "", "no symbols" },
    { "by checksum", "cp away/crc.debug .", "crc", false, SYM_QUALITY_DWARF, "/crc.debug", "" },
    { "another checksum", "printf x >>away/crc.debug && cp away/crc.debug .", "crc", false,
      SYM_QUALITY_NONE, "", "another checksum" },
    { "text", "cp source.c debug", "linked", true, SYM_QUALITY_NONE, "", "not an ELF object" },
};

START_TEST(follows_debug_links)
{
    build_run(links);
    build_run(link_cases[_i].setup);
    const struct sym_report *report = find(link_cases[_i].path, link_cases[_i].with_id);

    ck_assert_msg(report->quality == link_cases[_i].quality, "%s: quality %d, %s",
                  link_cases[_i].name, (int)report->quality, report->problem);
    ck_assert_msg(strncmp(below_folder(report->debug_path), link_cases[_i].debug,
                          strlen(link_cases[_i].debug) + !link_cases[_i].debug[0]) == 0,
                  "%s: debug file %s", link_cases[_i].name, report->debug_path);
    ck_assert_msg(strstr(report->problem, link_cases[_i].problem), "%s: problem '%s'",
                  link_cases[_i].name, report->problem);
}
END_TEST

/* ---- Sections in files of their own ---- */

static void put_sections_into_the_cache(void)
{
    build_run("id=$(sh hex) && mkdir -p cache/$id && cd cache/$id && "
              "for name in debug_info debug_abbrev debug_line debug_str debug_str_offsets "
              "debug_rnglists debug_line_str debug_ranges debug_addr debug_aranges "
              "gnu_debugaltlink debug_sup note.gnu.build-id symtab strtab; do "
              ": >section-.$name; "
              "objcopy -O binary --only-section=.$name --set-section-flags .$name=alloc "
              "../../full section-.$name 2>/dev/null; :; done; "
              "objcopy -O binary --only-section=.note.gnu.build-id ../../full "
              "section-.note.gnu.build-id");
}

START_TEST(puts_together_sections_of_the_cache)
{
    struct built_answer answer = { 0 };

    put_sections_into_the_cache();
    const struct sym_report *report = find("bare", true);
    uint64_t vaddr = build_symbol("full", "main");
    ck_assert_msg(report->quality == SYM_QUALITY_DWARF, "quality %d, %s", (int)report->quality,
                  report->problem);
    ck_assert_ptr_nonnull(strstr(report->debug_path, "section-.debug_info"));
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error), SYM_OK);
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_str_eq(answer.frames[0].function, "main");
    ck_assert_uint_gt(answer.frames[0].line, 1);
    ck_assert_int_eq(report->quality, SYM_QUALITY_DWARF);
}
END_TEST

/* Sections have no build ID but that of their note.  */
START_TEST(refuses_sections_of_another_build)
{
    put_sections_into_the_cache();
    build_run("objcopy -O binary --only-section=.note.gnu.build-id other "
              "cache/*/section-.note.gnu.build-id");
    const struct sym_report *report = find("bare", true);
    ck_assert_int_eq(report->quality, SYM_QUALITY_NONE);
    ck_assert_ptr_nonnull(strstr(report->problem, "the file has build ID"));
}
END_TEST

START_TEST(takes_no_incomplete_sections)
{
    put_sections_into_the_cache();
    build_run("rm cache/*/section-.debug_ranges");
    ck_assert_int_eq(find("symbols", true)->quality, SYM_QUALITY_SYMTAB);
}
END_TEST

/* ---- kallsyms ---- */

static const char kallsyms[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000040 t early_setup\n"
                               "ffffffffc0001000 t ext4_init\t[ext4]\n";

START_TEST(takes_kallsyms_text_for_the_kernel)
{
    struct built_answer answer = { 0 };
    struct sym_options options = { .size = sizeof options, .debug_root = "" };
    struct sym_module_key key = { .path = "[kernel]" };
    uint64_t vaddr = 0xffffffff81000050;

    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_kallsyms(session, kallsyms, strlen(kallsyms), &error), SYM_OK);
    ck_assert_int_eq(sym_session_kallsyms(session, kallsyms, strlen(kallsyms), &error),
                     SYM_INVALID);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_SYMTAB);
    ck_assert(sym_module_report(module)->unverified);
    for (int i = 0; i < 2; i++) { /* read again when another module came between */
        struct sym_module *between;
        struct sym_module_key other = { .path = "[ext4]" };
        answer.calls = 0;
        ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error),
                         SYM_OK);
        ck_assert_uint_eq(answer.count, 1);
        ck_assert_str_eq(answer.frames[0].function, "early_setup");
        ck_assert_int_eq(sym_session_module(session, &other, &between, &error), SYM_OK);
        ck_assert_int_eq(sym_module_resolve(between, &vaddr, 1, built_keep, &answer, &error),
                         SYM_OK);
        ck_assert_uint_eq(answer.count, 0);
    }
}
END_TEST

START_TEST(verifies_a_kernel_beside_kallsyms)
{
    char *root = build_path("root");
    struct sym_options options = { .size = sizeof options, .debug_root = root };
    struct sym_module_key key = { .build_id = id,
                                  .build_id_length = id_length,
                                  .path = "[kernel.kallsyms]" };

    build_run("sh place bare root .debug");
    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_kallsyms(session, kallsyms, strlen(kallsyms), &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_SYMTAB);
    ck_assert(sym_module_report(module)->unverified); /* its names are those of kallsyms */
    sym_session_close(session);
    build_run("sh place symbols root .debug");
    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_kallsyms(session, kallsyms, strlen(kallsyms), &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_SYMTAB);
    ck_assert(!sym_module_report(module)->unverified);
    free(root);
}
END_TEST

START_TEST(refuses_text_that_is_not_kallsyms)
{
    ck_assert_int_eq(sym_session_open(NULL, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_kallsyms(session, "nothing of it\n", 14, &error), SYM_MALFORMED);
}
END_TEST

/* ---- Trail ---- */

/* The first step at place; NULL: none.  */
static const struct sym_trail_step *step_at(enum sym_trail_place place)
{
    size_t count;
    const struct sym_trail_step *steps = sym_module_trail(module, &count);

    for (size_t i = 0; i < count; i++)
        if (steps[i].place == place)
            return &steps[i];
    return NULL;
}

START_TEST(tells_where_it_looked)
{
    build_run("sh place other syms .debug && sh place debug root .debug && cp bare here");
    (void)find("here", true);
    const struct sym_trail_step *syms = step_at(SYM_PLACE_SYMBOL_PATH);
    const struct sym_trail_step *path = step_at(SYM_PLACE_RECORDED_PATH);
    const struct sym_trail_step *root = step_at(SYM_PLACE_DEBUG_ROOT);
    const struct sym_trail_step *server = step_at(SYM_PLACE_DEBUGINFOD_SERVER);
    ck_assert_int_eq(syms->outcome, SYM_OUTCOME_REFUSED);
    ck_assert_ptr_nonnull(strstr(syms->reason, "the file has build ID"));
    ck_assert_int_eq(syms[1].outcome, SYM_OUTCOME_ABSENT); /* more */
    ck_assert_int_eq(path->outcome, SYM_OUTCOME_USED);
    ck_assert_str_eq(path->reason, "for code");
    ck_assert_int_eq(root->outcome, SYM_OUTCOME_USED);
    ck_assert_int_eq(root->quality, SYM_QUALITY_DWARF);
    ck_assert_str_eq(root->reason, "for symbols and debug information");
    ck_assert_int_eq(server->outcome, SYM_OUTCOME_SKIPPED);
}
END_TEST

START_TEST(tells_what_it_did_not_need)
{
    build_run("sh place symbols syms '' && sh place full more ''");
    (void)find("full", true);
    ck_assert_int_eq(step_at(SYM_PLACE_SYMBOL_PATH)->outcome, SYM_OUTCOME_USED); /* for code */
    ck_assert_int_eq(step_at(SYM_PLACE_RECORDED_PATH)->outcome, SYM_OUTCOME_SKIPPED);
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
    uint64_t offset = 0, vaddr = 0, main_vaddr = build_symbol("full", "main");
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
    ck_assert_int_eq(sym_module_vaddr(module, offset, &vaddr), SYM_OK);
    ck_assert_uint_eq(vaddr, main_vaddr);
    ck_assert_int_eq(sym_module_file_offset(module, UINT64_MAX, &offset), SYM_NOT_FOUND);
    ck_assert_int_eq(sym_module_vaddr(module, UINT64_MAX, &vaddr), SYM_NOT_FOUND);
}
END_TEST

/* Segments of lld follow each other in the file, each on a page of its own in memory: the page that
 * code begins on has bytes of the segment before it.  */
START_TEST(gives_the_vaddr_of_a_mapping_of_code)
{
    uint64_t offset, vaddr = 0, main_vaddr, page;

    build_run("clang -fuse-ld=lld -Wl,--build-id -o lld source.c");
    main_vaddr = build_symbol("lld", "main");
    (void)find("lld", false);
    ck_assert_int_eq(sym_module_file_offset(module, main_vaddr, &offset), SYM_OK);
    page = offset & ~UINT64_C(0xfff);
    ck_assert_uint_ne(main_vaddr - offset, 0); /* else it is not the case that is meant */
    ck_assert_int_eq(sym_module_mapping_vaddr(module, page, 0x1000, &vaddr), SYM_OK);
    ck_assert_uint_eq(vaddr, main_vaddr - (offset - page));
    /* Mappings without code, and outside of the file.  */
    ck_assert_int_eq(sym_module_mapping_vaddr(module, 0, 1, &vaddr), SYM_OK);
    ck_assert_uint_eq(vaddr, 0);
    ck_assert_int_eq(sym_module_mapping_vaddr(module, UINT64_MAX, UINT64_MAX, &vaddr),
                     SYM_NOT_FOUND);
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

START_TEST(reads_the_file_that_it_found_though_another_has_its_path)
{
    struct built_answer answer = { 0 };
    uint64_t vaddr = build_symbol("full", "main");

    (void)find("full", true);
    build_run("cp other full.new && mv full.new full");
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error), SYM_OK);
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_str_eq(answer.frames[0].function, "main");
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_DWARF);
}
END_TEST

/* A module that was read is read again at the next look-up when another came between.  */
START_TEST(notices_a_file_that_was_overwritten)
{
    struct built_answer answer = { 0 };
    uint64_t vaddr = build_symbol("full", "main");

    (void)find("full", true);
    build_run("cat other >full");
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error), SYM_OK);
    ck_assert_uint_eq(answer.calls, 1);
    ck_assert_uint_eq(answer.count, 0);
    ck_assert_int_lt(sym_module_report(module)->quality, SYM_QUALITY_DWARF);
    ck_assert_ptr_nonnull(strstr(sym_module_report(module)->problem, "replaced"));
}
END_TEST

START_TEST(says_which_dwo_files_are_missing)
{
    struct built_answer answer = { 0 };

    build_run("$CC -g -O1 -gsplit-dwarf -o split source.c && rm *.dwo");
    const struct sym_report *report = find("split", false);
    uint64_t vaddr = build_symbol("split", "main");
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error), SYM_OK);
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_str_eq(answer.frames[0].function, "main");
    ck_assert_uint_gt(answer.frames[0].line, 1); /* the line table stays in the program */
    ck_assert_int_eq(report->quality, SYM_QUALITY_DWARF);
    ck_assert_ptr_nonnull(strstr(report->problem, "functions of 1 unit are only known by symbols"));
    ck_assert_ptr_nonnull(strstr(report->problem, ".dwo"));
    ck_assert_ptr_nonnull(strstr(report->remedy, ".dwo"));
    ck_assert_ptr_nonnull(strstr(report->debug_path, "/split"));
}
END_TEST

/* What is said about modules that have no file.  */
static const struct {
    const char *path, *text;
    const char *problem, *remedy;
} bracketed[] = {
    { "[kernel]", NULL, "no symbols found", "pass /proc/kallsyms" },
    { "[disk]", NULL, "no symbols found", "while the module is loaded, as symbol path" },
    { "[disk]", "ffffffff81000100 t run\n", "it has no symbols of [disk]",
      "copy /proc/kallsyms as root while the module is loaded" },
    { "[kernel]", "ffffffff81000100 t run\n", "names of functions, but no lines",
      "found by build ID" },
    { "[disk]", "ffffffffc0000000 t probe\t[disk]\n", "names of functions, but no lines",
      "linux-image-" },
    { "[vdso]", NULL, "code provided by the kernel, not in a file", "" },
    { "[heap]", NULL, "memory without a file", "" },
    { "[anon:heap]", "ffffffff81000100 t run\n", "it has no symbols of [anon:heap]", "" },
};

START_TEST(says_what_to_do_about_what_has_no_file)
{
    char *path = build_path("kallsyms");
    const char *const paths[] = { path };
    struct sym_options options = { .size = sizeof options, .debug_root = "", .no_cache = true };
    struct sym_module_key key = { .path = bracketed[_i].path };
    struct sym_session *other;
    struct sym_module *found;

    if (bracketed[_i].text) {
        build_write("kallsyms", bracketed[_i].text);
        options.symbol_paths = paths;
        options.symbol_path_count = 1;
    }
    ck_assert_int_eq(sym_session_open(&options, &other, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(other, &key, &found, &error), SYM_OK);
    const struct sym_report *report = sym_module_report(found);
    ck_assert_ptr_nonnull(strstr(report->problem, bracketed[_i].problem));
    ck_assert_ptr_nonnull(strstr(report->remedy, bracketed[_i].remedy));
    ck_assert(bracketed[_i].remedy[0] || !report->remedy[0]);
    sym_session_close(other);
    free(path);
}
END_TEST

START_TEST(refuses_a_cache_limit_that_is_no_number)
{
    static const char *const limits[] = { "2G", "-1", " 5", "99999999999999999999", "x" };
    struct sym_options options = { .size = sizeof options };
    struct sym_session *other = NULL;

    ck_assert_int_eq(setenv("FXT_SYMBOL_CACHE_BYTES", limits[_i], 1), 0);
    ck_assert_int_eq(sym_session_open(NULL, &other, &error), SYM_INVALID);
    ck_assert_ptr_null(other);
    ck_assert_ptr_nonnull(strstr(error.message, "FXT_SYMBOL_CACHE_BYTES"));
    ck_assert_ptr_nonnull(strstr(error.message, limits[_i]));
    options.no_cache = true; /* then nobody asks */
    ck_assert_int_eq(sym_session_open(&options, &other, &error), SYM_OK);
    sym_session_close(other);
}
END_TEST

/* ---- Several modules at once ---- */

enum { MANY = 9, MANY_ADDRESSES = 3000 };

/* What became of each address of each module.  */
struct many_answers {
    size_t calls, stop_after;
    struct sym_frame told[MANY][MANY_ADDRESSES];
    size_t told_count[MANY];
};

static bool keep_many(void *context, size_t query, size_t index, const struct sym_frame *frames,
                      size_t count)
{
    struct many_answers *answers = context;

    ck_assert_uint_lt(query, MANY);
    ck_assert_uint_eq(index, answers->told_count[query]++);
    answers->told[query][index] = count ? frames[0] : (struct sym_frame){ .line = 0 };
    return ++answers->calls != answers->stop_after;
}

static bool keep_innermost(void *context, size_t index, const struct sym_frame *frames,
                           size_t count)
{
    (void)index;
    *(struct sym_frame *)context = count ? frames[0] : (struct sym_frame){ .line = 0 };
    return true;
}

/* Modules of their own, three each with one unit, with two, and without debug information.  */
static void build_many(struct sym_session *other, struct sym_query *queries, uint64_t *vaddrs)
{
    static uint32_t ids[MANY][MANY_ADDRESSES];

    build_write("more.c", "int more(int x) { return x * 3 + 1; }\n");
    build_run("$CC -O1 -g -shared -fPIC -o m0 more.c && $CC -O1 -g -shared -fPIC -o m1 more.c "
              "source.c && $CC -O1 -shared -fPIC -o m2 more.c && for i in 3 4 5 6 7 8; do cp "
              "m$((i % 3)) m$i; done");
    for (size_t i = 0; i < MANY_ADDRESSES; i++)
        vaddrs[i] = 0x1000 + i * 7919 % 0x300;
    for (size_t m = 0; m < MANY; m++) {
        char name[] = { 'm', (char)('0' + m), '\0' };
        struct sym_module_key key = { .path = build_path(name) };
        queries[m] = (struct sym_query){ .vaddrs = vaddrs, .count = MANY_ADDRESSES, .ids = ids[m] };
        ck_assert_int_eq(sym_session_module(other, &key, &queries[m].module, &error), SYM_OK);
        free((char *)key.path);
    }
}

START_TEST(reads_several_modules_at_once)
{
    struct sym_options options = { .size = sizeof options, .debug_root = "", .no_cache = true };
    static struct many_answers answers;
    static uint64_t vaddrs[MANY_ADDRESSES];
    struct sym_query queries[MANY];
    struct sym_session *other;
    size_t named = 0;

    options.jobs = (unsigned)_i + 1;
    ck_assert_int_eq(sym_session_open(&options, &other, &error), SYM_OK);
    build_many(other, queries, vaddrs);
    memset(&answers, 0, sizeof answers);
    ck_assert_int_eq(sym_session_resolve(other, queries, MANY, keep_many, &answers, &error),
                     SYM_OK);
    for (size_t m = 0; m < MANY; m++)
        for (size_t i = 0; i < MANY_ADDRESSES; i += 7) {
            struct sym_frame alone;
            ck_assert_int_eq(sym_module_resolve(queries[m].module, &vaddrs[i], 1, keep_innermost,
                                                &alone, &error),
                             SYM_OK);
            ck_assert_uint_lt(queries[m].ids[i], answers.told_count[m]);
            const struct sym_frame *told = &answers.told[m][queries[m].ids[i]];
            ck_assert_ptr_eq(told->function, alone.function);
            ck_assert_ptr_eq(told->file, alone.file);
            ck_assert_uint_eq(told->line, alone.line);
            named += told->function && told->function[0];
        }
    ck_assert_uint_gt(named, 100);
    sym_session_close(other);
}
END_TEST

START_TEST(stops_several_modules_when_asked)
{
    struct sym_options options = {
        .size = sizeof options, .debug_root = "", .no_cache = true, .jobs = 3
    };
    static struct many_answers answers;
    static uint64_t vaddrs[MANY_ADDRESSES];
    struct sym_query queries[MANY];
    struct sym_session *other;

    ck_assert_int_eq(sym_session_open(&options, &other, &error), SYM_OK);
    build_many(other, queries, vaddrs);
    memset(&answers, 0, sizeof answers);
    answers.stop_after = 5;
    ck_assert_int_eq(sym_session_resolve(other, queries, MANY, keep_many, &answers, &error),
                     SYM_STOPPED);
    ck_assert_uint_eq(answers.calls, 5);
    queries[1].ids = NULL;
    ck_assert_int_eq(sym_session_resolve(other, queries, MANY, keep_many, &answers, &error),
                     SYM_INVALID);
    queries[0].module = module;
    ck_assert_int_eq(sym_session_resolve(other, queries, 1, keep_many, &answers, &error),
                     SYM_INVALID);
    ck_assert_int_eq(sym_session_resolve(other, NULL, 0, keep_many, &answers, &error), SYM_OK);
    sym_session_close(other);
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

    tcase_add_unchecked_fixture(tcase, compile_once, remove_once);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, finds_the_best_that_agrees, 0, ROWS(cases));
    tcase_add_test(tcase, takes_a_path_without_build_id_as_unverified);
    tcase_add_test(tcase, looks_for_debug_files_of_an_unverified_path);
    tcase_add_test(tcase, takes_a_file_without_build_id_at_the_path);
    tcase_add_test(tcase, takes_a_relocatable_object);
    tcase_add_loop_test(tcase, follows_debug_links, 0, ROWS(link_cases));
    tcase_add_test(tcase, puts_together_sections_of_the_cache);
    tcase_add_test(tcase, refuses_sections_of_another_build);
    tcase_add_test(tcase, takes_no_incomplete_sections);
    tcase_add_test(tcase, takes_kallsyms_text_for_the_kernel);
    tcase_add_test(tcase, verifies_a_kernel_beside_kallsyms);
    tcase_add_test(tcase, refuses_text_that_is_not_kallsyms);
    tcase_add_test(tcase, tells_where_it_looked);
    tcase_add_test(tcase, tells_what_it_did_not_need);
    tcase_add_test(tcase, gives_one_handle_for_one_key);
    tcase_add_test(tcase, refuses_a_key_that_names_nothing);
    tcase_add_test(tcase, refuses_options_of_another_size);
    tcase_add_test(tcase, gives_the_offset_that_program_headers_say);
    tcase_add_test(tcase, gives_the_vaddr_of_a_mapping_of_code);
    tcase_add_test(tcase, knows_no_offset_in_a_debug_file);
    tcase_add_test(tcase, reads_the_file_that_it_found_though_another_has_its_path);
    tcase_add_test(tcase, notices_a_file_that_was_overwritten);
    tcase_add_test(tcase, says_which_dwo_files_are_missing);
    tcase_add_loop_test(tcase, reads_several_modules_at_once, 0, 4);
    tcase_add_test(tcase, stops_several_modules_when_asked);
    tcase_add_loop_test(tcase, says_what_to_do_about_what_has_no_file, 0, ROWS(bracketed));
    tcase_add_loop_test(tcase, refuses_a_cache_limit_that_is_no_number, 0, 5);
    tcase_add_loop_test(tcase, reads_the_build_id_of_a_path, 0, ROWS(files));
    tcase_add_test(tcase, reads_a_build_id_without_section_headers);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
