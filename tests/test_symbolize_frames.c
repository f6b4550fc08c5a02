#include "tests/support/symbolize_build.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* The line numbers below count from 1 here.  */
static const char source[] = "volatile int sink;\n" /* 1 */
                             "#define INLINE static inline __attribute__((always_inline))\n"
                             "INLINE void innermost(int value)\n" /* 3 */
                             "{\n"
                             "    __asm__ volatile(\"at_innermost_%=: nop\" : : \"r\"(value));\n"
                             "}\n"
                             "INLINE void middle(int value)\n" /* 7 */
                             "{\n"
                             "    innermost(value + 1);\n" /* 9 */
                             "}\n"
                             "__attribute__((noinline)) void outer(int value)\n" /* 11 */
                             "{\n"
                             "    sink = 1;\n"
                             "    middle(value);\n" /* 14 */
                             "    sink = 2;\n"
                             "}\n"
                             "int main(void)\n" /* 17 */
                             "{\n"
                             "    outer(sink);\n"
                             "    return 0;\n"
                             "}\n";

static const struct {
    const char *name, *flags;
} builds[] = {
    { "DWARF 5, shared object", "-O2 -gdwarf-5 -fPIC -shared" },
    { "DWARF 4, PIE", "-O2 -gdwarf-4 -fPIE -pie" },
    { "DWARF 3, fixed address", "-O2 -gdwarf-3 -fno-pie -no-pie" },
    { "compressed", "-O2 -gdwarf-5 -gz=zlib -fPIC -shared" },
    { "a section for each function", "-O2 -gdwarf-5 -ffunction-sections -Wl,--gc-sections" },
    { "64-bit DWARF", "-O2 -gdwarf-5 -gdwarf64" },
};

static const char *folder;
static struct sym_session *session;
static struct sym_module *module;
static struct sym_error error;

static void set_up(void)
{
    folder = build_folder();
    session = NULL;
    build_write("source.c", source);
}

static void tear_down(void)
{
    sym_session_close(session);
    build_remove();
}

/* Compiles source.c and opens the module of what comes out.  */
static void open_built(const char *flags, const struct sym_options *options)
{
    char *command, *path = build_path("object");
    struct sym_module_key key = { .path = path };

    ck_assert_int_gt(asprintf(&command, "$CC %s -o object source.c", flags), 0);
    build_run(command);
    ck_assert_int_eq(sym_session_open(options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    free(command);
    free(path);
}

static uint64_t vaddr_of_innermost(void)
{
    char *path = build_path("object"), *command, line[64] = "";

    ck_assert_int_gt(asprintf(&command, "nm '%s' | sed -n 's/ . at_innermost_.*//p'", path), 0);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, pipe));
    ck_assert_int_eq(pclose(pipe), 0);
    free(command);
    free(path);
    return strtoull(line, NULL, 16);
}

static struct built_answer look_up(uint64_t vaddr)
{
    struct built_answer answer = { 0 };

    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, &error), SYM_OK);
    ck_assert_uint_eq(answer.calls, 1);
    return answer;
}

START_TEST(gives_inlined_frames_innermost_first)
{
    static const struct {
        const char *function;
        uint32_t line, start_line;
        bool inlined;
    } wanted[] = { { "innermost", 5, 3, true },
                   { "middle", 9, 7, true },
                   { "outer", 14, 11, false } };
    char *file;

    open_built(builds[_i].flags, NULL);
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_DWARF);
    ck_assert_str_eq(sym_module_report(module)->problem, "");
    file = build_path("source.c");
    struct built_answer answer = look_up(vaddr_of_innermost());
    ck_assert_msg(answer.count == 3, "%s: %zu frames", builds[_i].name, answer.count);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(answer.frames[i].function, wanted[i].function);
        ck_assert_uint_eq(answer.frames[i].line, wanted[i].line);
        ck_assert_uint_eq(answer.frames[i].start_line, wanted[i].start_line);
        ck_assert_int_eq(answer.frames[i].inlined, wanted[i].inlined);
        ck_assert_int_eq(answer.frames[i].source, SYM_QUALITY_DWARF);
        ck_assert_str_eq(answer.frames[i].file, file);
        ck_assert_ptr_eq(answer.frames[i].file, answer.frames[0].file); /* stored once */
    }
    ck_assert_str_eq(answer.frames[2].linkage_name, "outer"); /* C: the symbol's */
    free(file);
}
END_TEST

START_TEST(gives_the_real_function_alone_when_asked)
{
    struct sym_options options = { .size = sizeof options, .no_inlines = true };

    open_built(builds[0].flags, &options);
    struct built_answer answer = look_up(vaddr_of_innermost());
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_str_eq(answer.frames[0].function, "outer");
    ck_assert_uint_eq(answer.frames[0].line, 14);
    ck_assert(!answer.frames[0].inlined);
}
END_TEST

START_TEST(answers_every_index_once_in_bulk)
{
    enum { COUNT = 4096 };
    static struct built_answer answers[COUNT];
    static uint64_t vaddrs[COUNT];

    open_built(builds[0].flags, NULL);
    uint64_t outer = build_symbol("object", "outer");
    srand(1);
    for (size_t i = 0; i < COUNT; i++)
        vaddrs[i] = i % 3 ? outer + (uint64_t)rand() % 16 : (uint64_t)rand() << 20;
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, COUNT, built_keep, answers, &error),
                     SYM_OK);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_uint_eq(answers[i].calls, 1);
        struct built_answer alone = look_up(vaddrs[i]);
        ck_assert_uint_eq(answers[i].count, alone.count);
        if (alone.count)
            ck_assert_ptr_eq(answers[i].frames[0].function, alone.frames[0].function);
    }
}
END_TEST

/* Answers in the order of their numbers.  */
struct numbered {
    size_t count;
    struct built_answer answers[256];
};

static bool keep_next(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct numbered *numbered = context;

    ck_assert_uint_eq(index, numbered->count);
    ck_assert_uint_lt(index, 256);
    return built_keep(numbered->answers, numbered->count++, frames, count);
}

START_TEST(tells_each_answer_once_in_a_batch)
{
    enum { COUNT = 4096 };
    static struct numbered numbered;
    static uint64_t vaddrs[COUNT];
    static uint32_t ids[COUNT];

    open_built(builds[0].flags, NULL);
    uint64_t outer = build_symbol("object", "outer");
    numbered.count = 0;
    for (size_t i = 0; i < COUNT; i++)
        vaddrs[i] = outer + i * 7 % 32;
    ck_assert_int_eq(
        sym_module_resolve_batch(module, vaddrs, COUNT, ids, keep_next, &numbered, &error), SYM_OK);
    ck_assert_uint_gt(numbered.count, 3);
    ck_assert_uint_le(numbered.count, 32);
    for (size_t i = 0; i < COUNT; i++) {
        struct built_answer alone = look_up(vaddrs[i]);
        ck_assert_uint_lt(ids[i], numbered.count);
        const struct built_answer *answer = &numbered.answers[ids[i]];
        ck_assert_uint_eq(answer->count, alone.count);
        for (size_t f = 0; f < alone.count; f++) {
            ck_assert_ptr_eq(answer->frames[f].function, alone.frames[f].function);
            ck_assert_uint_eq(answer->frames[f].line, alone.frames[f].line);
        }
    }
    ck_assert_int_eq(
        sym_module_resolve_batch(module, vaddrs, COUNT, NULL, keep_next, &numbered, &error),
        SYM_INVALID);
}
END_TEST

/* Without the symbol cache nothing is known of the call before.  */
START_TEST(goes_on_counting_in_the_next_batch)
{
    static struct numbered numbered;
    struct sym_options options = { .size = sizeof options, .no_cache = true };
    uint64_t vaddrs[2] = { 0, 1 };
    uint32_t ids[2], next = 0;

    open_built(builds[0].flags, &options);
    vaddrs[1] = build_symbol("object", "outer");
    numbered.count = 0;
    for (uint32_t call = 0; call < 4; call += 2) { /* two answers each */
        ck_assert_int_eq(
            sym_module_resolve_next(module, vaddrs, 2, ids, &next, keep_next, &numbered, &error),
            SYM_OK);
        ck_assert_uint_eq(next, call + 2);
        ck_assert_uint_eq(numbered.count, next);
        ck_assert_uint_eq(ids[0], call);
        ck_assert_uint_eq(ids[1], call + 1);
        ck_assert_uint_eq(numbered.answers[ids[0]].count, 0);
    }
    next = UINT32_MAX - 2;
    ck_assert_int_eq(
        sym_module_resolve_next(module, vaddrs, 2, ids, &next, keep_next, &numbered, &error),
        SYM_INVALID);
    ck_assert_uint_eq(next, UINT32_MAX - 2);
}
END_TEST

/* ---- Data ---- */

/* How, and where its names are then.  */
static const char *const data_builds[] = { "-g", "-s" };

START_TEST(names_data_by_its_extent)
{
    struct sym_options options = { .size = sizeof options, .debug_root = "", .no_cache = true };
    struct sym_module_key key = { .path = build_path("data.so") };
    struct sym_module *found;
    struct sym_session *other;
    struct sym_datum datum;
    char *command;

    build_write("data.c", "int array[4] = { 1, 2, 3, 4 };\n"
                          "int named __asm__(\"_ZN1n5stateE\") = 7;\n"
                          "int run(void) { return array[0] + named; }\n");
    ck_assert_int_gt(asprintf(&command,
                              "$CC %s -shared -fPIC -o data.so data.c && $CC -shared -fPIC -o "
                              "named.so data.c",
                              data_builds[_i]),
                     0);
    build_run(command);
    free(command);
    uint64_t array = build_symbol("named.so", "array"), run = build_symbol("named.so", "run");
    uint64_t named = build_symbol("named.so", "_ZN1n5stateE");
    ck_assert_int_eq(sym_session_open(&options, &other, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(other, &key, &found, &error), SYM_OK);
    for (int round = 0; round < 2; round++) { /* before and after a look-up of code */
        struct built_answer answer = { 0 };
        ck_assert_int_eq(sym_module_data(found, array, &datum, &error), SYM_OK);
        ck_assert_str_eq(datum.name, "array");
        ck_assert_int_eq(sym_module_data(found, array + 15, &datum, &error), SYM_OK);
        ck_assert_str_eq(datum.linkage_name, "array");
        ck_assert_int_eq(sym_module_data(found, named + 3, &datum, &error), SYM_OK);
        ck_assert_str_eq(datum.name, "n::state");
        ck_assert_str_eq(datum.linkage_name, "_ZN1n5stateE");
        ck_assert_int_eq(sym_module_data(found, run, &datum, &error), SYM_NOT_FOUND);
        ck_assert_str_eq(datum.name, "n::state");
        ck_assert_int_eq(sym_module_resolve(found, &run, 1, built_keep, &answer, &error), SYM_OK);
        ck_assert_str_eq(answer.frames[0].function, "run");
    }
    sym_session_close(other);
    build_run("cp /bin/true data.so"); /* another file by now */
    ck_assert_int_eq(sym_session_open(&options, &other, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(other, &key, &found, &error), SYM_OK);
    ck_assert_int_eq(sym_module_data(found, 0, &datum, &error), SYM_NOT_FOUND);
    sym_session_close(other);
    free((char *)key.path);
}
END_TEST

static bool stop_at_second(void *context, size_t index, const struct sym_frame *frames,
                           size_t count)
{
    int *calls = context;

    (void)index, (void)frames, (void)count;
    return ++*calls < 2;
}

START_TEST(stops_when_the_callback_says_so)
{
    uint64_t vaddrs[5] = { 1, 2, 3, 4, 5 };
    int calls = 0;

    open_built(builds[0].flags, NULL);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, 5, stop_at_second, &calls, &error),
                     SYM_STOPPED);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, 0, stop_at_second, &calls, &error), SYM_OK);
    ck_assert_int_eq(calls, 2);
}
END_TEST

/* Addresses where no function is: the nearest symbol is not an answer.  */
static const uint64_t nowhere[] = { 0, 1, 0x7fffffff, UINT64_MAX - 1, UINT64_MAX };

START_TEST(gives_no_frames_where_no_function_is)
{
    open_built(builds[0].flags, NULL);
    ck_assert_uint_eq(look_up(nowhere[_i]).count, 0);
}
END_TEST

/* Functions of one byte at 16-byte boundaries; gap is between a and b.  */
static const char assembler[] = "    .text\n"
                                "    .globl a\n    .type a, @function\n"
                                "a:  nop\n    .size a, 1\n"
                                "    .balign 16\n"
                                "    .globl strong\n    .weak weak\n"
                                "    .type strong, @function\n    .type weak, @function\n"
                                "    .type local, @function\n"
                                "local:\nweak:\nstrong: nop\n    nop\n"
                                "    .size local, 2\n    .size weak, 2\n    .size strong, 2\n"
                                "    .balign 16\n"
                                "    .globl unsized\nunsized: nop\n    nop\n"
                                "    .globl versioned\n    .type versioned, @function\n"
                                "versioned: nop\n    .size versioned, 1\n"
                                "    .symver versioned, renamed@@VERS_1\n"
                                "    .balign 64\n"
                                "    .globl last\nlast: nop\n";

static const struct {
    const char *symbol;
    unsigned offset;
    const char *function; /* NULL: no frames */
} symbols[] = {
    { "a", 0, "a" },
    { "a", 1, NULL },
    { "strong", 0, "strong" },
    { "strong", 1, "strong" },
    { "strong", 2, NULL },
    { "unsized", 0, "unsized" },
    { "unsized", 1, "unsized" },
    { "unsized", 3, NULL },
    { "last", 0, "last" },
    { "last", 4096, NULL },
};

START_TEST(falls_back_to_symbols)
{
    struct sym_module_key key = { .path = NULL };
    char *path = build_path("asm.so");

    build_write("asm.s", assembler);
    build_write("asm.map", "VERS_1 { };\n");
    build_run("$CC -shared -nostdlib -Wl,--version-script=asm.map -o asm.so asm.s");
    key.path = path;
    ck_assert_int_eq(sym_session_open(NULL, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_module_report(module)->quality, SYM_QUALITY_SYMTAB);
    struct built_answer answer = look_up(build_symbol("asm.so", symbols[_i].symbol) +
                                         symbols[_i].offset);
    if (symbols[_i].function) {
        ck_assert_uint_eq(answer.count, 1);
        ck_assert_str_eq(answer.frames[0].function, symbols[_i].function);
        ck_assert_int_eq(answer.frames[0].source, SYM_QUALITY_SYMTAB);
        ck_assert_str_eq(answer.frames[0].file, "");
    } else {
        ck_assert_msg(answer.count == 0, "%s+%u is %s", symbols[_i].symbol, symbols[_i].offset,
                      answer.frames[0].function);
    }
    free(path);
}
END_TEST

/* Line 0 between two lines, at the start of a sequence, and a file in a directory of its own.  */
static const char line_table[] = "    .file \"dir/unit.c\"\n"
                                 "    .text\n"
                                 "    .file 1 \"dir/unit.c\"\n"
                                 "    .file 2 \"/abs/other.h\"\n"
                                 "    .globl f\n    .type f, @function\n"
                                 "f:\n"
                                 "    .loc 1 10 3\n    nop\n"
                                 "    .loc 1 0 0\n    nop\n"
                                 "    .loc 2 20 5\n    nop\n"
                                 "    .loc 2 0 0\n    nop\n"
                                 "    .loc 1 11 1\n    nop\n"
                                 "    .size f, .-f\n"
                                 "    .section .text.zero, \"ax\", @progbits\n"
                                 "    .globl g\n    .type g, @function\n"
                                 "g:\n"
                                 "    .loc 1 0 0\n    nop\n"
                                 "    .loc 1 30 2\n    nop\n"
                                 "    .size g, .-g\n"
                                 "    .section .debug_abbrev,\"\",@progbits\n"
                                 "    .byte 1, 0x11, 0, 0x10, 0x17, 0x1b, 0x08, 0, 0, 0\n"
                                 "    .section .debug_info,\"\",@progbits\n"
                                 "    .long 2f-1f\n"
                                 "1:  .short 4\n    .long 0\n    .byte 8\n"
                                 "    .byte 1\n    .long .debug_line\n    .asciz \"/comp\"\n"
                                 "2:\n"
                                 "    .section .debug_line,\"\",@progbits\n";

static const struct {
    const char *symbol;
    unsigned offset;
    const char *file;
    uint32_t line, column;
} rows[] = {
    { "f", 0, "dir/unit.c", 10, 3 },   { "f", 1, "dir/unit.c", 10, 3 },
    { "f", 2, "/abs/other.h", 20, 5 }, { "f", 3, "/abs/other.h", 20, 5 },
    { "f", 4, "dir/unit.c", 11, 1 },   { "g", 0, "", 0, 0 },
    { "g", 1, "dir/unit.c", 30, 2 },
};

/* The unit has neither addresses nor functions: its line table says what it covers.  */
static void check_row(const char *flags, const char *directory, int i)
{
    struct sym_module_key key = { .path = NULL };
    char *path = build_path("lines.so"), *command, *file;

    build_write("lines.s", line_table);
    ck_assert_int_gt(
        asprintf(&command, "as %s -o lines.o lines.s && ld -shared -o lines.so lines.o", flags), 0);
    build_run(command);
    key.path = path;
    ck_assert_int_eq(sym_session_open(NULL, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    struct built_answer answer = look_up(build_symbol("lines.so", rows[i].symbol) + rows[i].offset);
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_str_eq(answer.frames[0].function, rows[i].symbol);
    ck_assert_int_eq(answer.frames[0].source, SYM_QUALITY_SYMTAB);
    ck_assert_int_gt(
        asprintf(&file, "%s%s", strncmp(rows[i].file, "dir", 3) ? "" : directory, rows[i].file),
        -1);
    ck_assert_str_eq(answer.frames[0].file, file);
    ck_assert_uint_eq(answer.frames[0].line, rows[i].line);
    ck_assert_uint_eq(answer.frames[0].column, rows[i].column);
    free(file);
    free(command);
    free(path);
}

START_TEST(shows_the_previous_line_for_line_0)
{
    check_row("--gdwarf-4", "/comp/", _i);
}
END_TEST

START_TEST(reads_file_tables_of_dwarf_5)
{
    char *directory;

    /* The assembler writes its own folder as entry 0.  */
    ck_assert_int_gt(asprintf(&directory, "%s/", folder), 0);
    check_row("--gdwarf-5", directory, _i);
    free(directory);
}
END_TEST

START_TEST(keeps_modules_apart_when_they_take_turns)
{
    struct sym_module_key key = { .path = NULL };
    struct sym_module *first, *second;
    char *path = build_path("other");

    open_built(builds[0].flags, NULL);
    first = module;
    build_run("$CC -O2 -g -o other source.c");
    key.path = path;
    ck_assert_int_eq(sym_session_module(session, &key, &second, &error), SYM_OK);
    ck_assert_ptr_ne(first, second);
    uint64_t in_first = build_symbol("object", "outer"), in_second = build_symbol("other", "main");
    for (int i = 0; i < 3; i++) {
        module = first;
        ck_assert_str_eq(look_up(in_first).frames[0].function, "outer");
        module = second;
        ck_assert_str_eq(look_up(in_second).frames[0].function, "main");
    }
    free(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_frames");
    TCase *tcase = tcase_create("frames");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, gives_inlined_frames_innermost_first, 0, ROWS(builds));
    tcase_add_test(tcase, gives_the_real_function_alone_when_asked);
    tcase_add_test(tcase, answers_every_index_once_in_bulk);
    tcase_add_test(tcase, tells_each_answer_once_in_a_batch);
    tcase_add_test(tcase, goes_on_counting_in_the_next_batch);
    tcase_add_loop_test(tcase, names_data_by_its_extent, 0, 2);
    tcase_add_test(tcase, stops_when_the_callback_says_so);
    tcase_add_loop_test(tcase, gives_no_frames_where_no_function_is, 0, ROWS(nowhere));
    tcase_add_loop_test(tcase, falls_back_to_symbols, 0, ROWS(symbols));
    tcase_add_loop_test(tcase, shows_the_previous_line_for_line_0, 0, ROWS(rows));
    tcase_add_loop_test(tcase, reads_file_tables_of_dwarf_5, 0, ROWS(rows));
    tcase_add_test(tcase, keeps_modules_apart_when_they_take_turns);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
