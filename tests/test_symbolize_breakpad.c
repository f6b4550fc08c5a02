/* Breakpad symbol files, record by record: what each form means, and what damaged ones cost.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/symbolize_build.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))
#define MODULE      "MODULE Linux x86_64 030201000504070608090A0B0C0D0E0F0 program\n"
#define FILES       "FILE 0 /src/a.c\nFILE 1 b.h\nINLINE_ORIGIN 0 in one\nINLINE_ORIGIN 1 in two\n"

/* The answer for 0x1010, as "FUNCTION FILE:LINE" joined by " < ", or "-".  */
static const struct {
    const char *name, *records, *answer;
} rows[] = {
    { "function", "FUNC 1000 20 0 f(int, char)\n1000 20 7 0\n", "f(int, char) /src/a.c:7" },
    { "several symbols", "FUNC m 1000 20 0 f\n1000 20 7 0\n", "f /src/a.c:7" },
    { "a function called m", "FUNC 1000 20 0 m\n1000 20 7 0\n", "m /src/a.c:7" },
    { "behind a function", "FUNC 1000 10 0 f\n1000 10 7 0\n", "-" },
    { "no size", "FUNC 1000 0 0 f\n1000 20 7 0\n", "-" },
    { "size beyond the end", "FUNC 1000 ffffffffffffffff 0 f\n", "-" },
    { "no line there", "FUNC 1000 20 0 f\n1000 8 7 0\n", "f :0" },
    { "no such file", "FUNC 1000 20 0 f\n1000 20 7 9\n", "f :7" },
    { "line 0", "FUNC 1000 20 0 f\n1000 20 0 0\n", "f /src/a.c:0" },
    { "lines out of order", "FUNC 1000 20 0 f\n1010 10 8 0\n1000 10 7 0\n", "f /src/a.c:8" },
    { "lines of no function", "1000 20 7 0\nFUNC 1000 20 0 f\n", "f :0" },
    { "lines behind a PUBLIC", "FUNC 1000 20 0 f\nPUBLIC 2000 0 p\n1000 20 7 0\n", "f :0" },
    { "the next function cuts", "FUNC 1000 40 0 f\nFUNC 1008 4 0 g\n", "-" },
    { "the first of two", "FUNC 1000 20 0 f\nFUNC 1000 30 0 g\n", "f :0" },
    { "mangled", "FUNC 1000 20 0 _ZN1a1bEi\n", "a::b(int) :0" },
    { "omitted", "FUNC 1000 20 0 <name omitted>\n1000 20 7 0\n", " /src/a.c:7" },
    { "public", "PUBLIC 1000 0 p q\n", "p q :0" },
    { "public m", "PUBLIC m 1000 0 p\nPUBLIC 1011 0 q\n", "p :0" },
    { "public, then a function", "PUBLIC 1000 0 p\nFUNC 1010 8 0 f\n", "f :0" },
    { "public of a function", "PUBLIC 1000 0 p\nFUNC 1000 20 0 f\n", "f :0" },
    { "public inside", "FUNC 1000 20 0 f\nPUBLIC 1008 0 p\n", "f :0" },
    { "the last public", "PUBLIC 11 0 p\n", "p :0" },
    { "far behind the last public", "PUBLIC 10 0 p\n", "-" },
    { "inlined", "FUNC 1000 20 0 f\nINLINE 0 5 1 0 1008 10\n1000 20 7 0\n",
      "in one /src/a.c:7 < f b.h:5" },
    { "inlined twice",
      "FUNC 1000 20 0 f\nINLINE 0 5 0 0 1000 4 1008 10\nINLINE 1 6 1 1 1010 1\n1000 20 7 0\n",
      "in two /src/a.c:7 < in one b.h:6 < f /src/a.c:5" },
    { "inlined elsewhere", "FUNC 1000 20 0 f\nINLINE 0 5 1 0 1000 10\n1000 20 7 0\n",
      "f /src/a.c:7" },
    { "inlined without what is around", "FUNC 1000 20 0 f\nINLINE 1 5 1 0 1008 10\n1000 20 7 0\n",
      "f /src/a.c:7" },
    { "of no known name", "FUNC 1000 20 0 f\nINLINE 0 5 1 9 1008 10\n1000 20 7 0\n",
      " /src/a.c:7 < f b.h:5" },
    { "of the first form", "FUNC 1000 20 0 f\nINLINE 0 5 0 1008 10\n1000 20 7 0\n",
      "f /src/a.c:7" },
    { "half a range", "FUNC 1000 20 0 f\nINLINE 0 5 1 0 1000 4 1008\n1000 20 7 0\n",
      "f /src/a.c:7" },
    { "too deep", "FUNC 1000 20 0 f\nINLINE 4294967295 5 1 0 1000 20\n1000 20 7 0\n",
      "f /src/a.c:7" },
    { "numbers too large",
      "FUNC 1000 20 0 f\n1000 20 4294967296 0\nFUNC 10000000000001000 20 0 g\n", "f :0" },
    { "unknown records", "NEW 1000\nFUNC 1000 20 0 f\nSTACK WIN 4 1000 20\n", "f :0" },
    { "no end of line", "FUNC 1000 20 0 f\n1000 20 7 0", "f /src/a.c:7" },
    { "Windows", "FUNC 1000 20 0 f\r\n1000 20 7 0\r\n", "f /src/a.c:7" },
    { "half a record", "FUNC", "-" },
    { "nothing", "", "-" },
};

/* A session with the file of that name, which is also asked about.  */
static struct sym_module *open_file(struct sym_session **session, const char *name)
{
    struct sym_options options = { .size = sizeof options, .debug_root = "", .no_cache = true };
    char *path = build_path(name);
    struct sym_module_key key = { .path = path };
    struct sym_module *module;

    ck_assert_int_eq(sym_session_open(&options, session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(*session, &key, &module, NULL), SYM_OK);
    free(path);
    return module;
}

static void describe(const struct built_answer *answer, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    if (!answer->count)
        (void)snprintf(text, size, "-");
    for (size_t i = 0; i < answer->count && used < size; i++) {
        const struct sym_frame *frame = &answer->frames[i];
        ck_assert_int_eq(frame->inlined, i + 1 < answer->count);
        used += (size_t)snprintf(text + used, size - used, "%s%s %s:%u", i ? " < " : "",
                                 frame->function, frame->file, frame->line);
    }
}

START_TEST(reads_records)
{
    struct built_answer answer = { .calls = 0 };
    struct sym_session *session;
    uint64_t vaddr = 0x1010;
    char *all, text[256];

    ck_assert_int_gt(asprintf(&all, MODULE FILES "%s", rows[_i].records), 0);
    build_write("records.sym", all);
    free(all);
    struct sym_module *module = open_file(&session, "records.sym");
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, NULL), SYM_OK);
    describe(&answer, text, sizeof text);
    ck_assert_msg(strcmp(text, rows[_i].answer) == 0, "%s: %s", rows[_i].name, text);
    ck_assert(sym_module_report(module)->breakpad);
    sym_session_close(session);
}
END_TEST

/* MODULE and INFO records, and the build ID that they tell; "": it is no such file.  */
static const struct {
    const char *records, *build_id;
} ids[] = {
    { MODULE, "000102030405060708090a0b0c0d0e0f" },
    { MODULE "INFO CODE_ID 000102030405060708090A0B0C0D0E0F1011121314151617\n",
      "000102030405060708090a0b0c0d0e0f1011121314151617" },
    { MODULE "INFO GENERATOR x\nINFO CODE_ID 000102030405060708090A0B0C0D0E0F10 name\n",
      "000102030405060708090a0b0c0d0e0f10" },
    { MODULE "INFO CODE_ID 010102030405060708090A0B0C0D0E0F10\n",
      "000102030405060708090a0b0c0d0e0f" }, /* of another object */
    { MODULE "INFO CODE_ID 000102030405060708090A0B0C0D0E0F1\n",
      "000102030405060708090a0b0c0d0e0f" },
    { "MODULE Linux x86 04030201060508070000000000000000 n\nINFO CODE_ID 0102030405060708\n",
      "0102030405060708" },
    { "MODULE Fuchsia arm64 030201000504070608090A0B0C0D0E0F0 n\n",
      "000102030405060708090a0b0c0d0e0f" },
    { "MODULE Linux x86_64 03020100050407060809 program\n", "" },
    { "MODULE Linux x86_64 x30201000504070608090A0B0C0D0E0F0 program\n", "" },
    { "MODULE mac x86_64 030201000504070608090A0B0C0D0E0F0 program\n", "" },
    { "MODULE windows x86_64 030201000504070608090A0B0C0D0E0F0 program\n", "" },
    { "MODULE", "" },
};

START_TEST(knows_the_build_id)
{
    char *path = build_path("id.sym"), hex[129] = "";
    uint8_t id[64];
    size_t length = 0;

    build_write("id.sym", ids[_i].records);
    enum sym_status status = sym_build_id(path, id, sizeof id, &length, NULL);
    for (size_t i = 0; i < length; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", id[i]);
    ck_assert_str_eq(hex, ids[_i].build_id);
    ck_assert_int_eq(status, hex[0] ? SYM_OK : SYM_MALFORMED);
    free(path);
}
END_TEST

static bool count_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)index, (void)frames;
    *(size_t *)context += count;
    return true;
}

/* Each function has all the lines behind it: were they read for each address, or for each function
 * inside of others, this would take hours.  */
START_TEST(reads_lines_once)
{
    enum { LINES = 20000, ADDRESSES = 100000 };
    char *path = build_path("large.sym");
    uint64_t *vaddrs = calloc(ADDRESSES, sizeof *vaddrs);
    FILE *file = fopen(path, "w");
    struct sym_session *session;
    size_t frames = 0;
    clock_t start = clock();

    ck_assert(file && vaddrs);
    (void)fputs(MODULE "FUNC 0 ffffffff 0 all\n", file);
    for (int i = 0; i < LINES; i++)
        (void)fprintf(file, "%x 10 %d 0\nINLINE 0 1 0 0 %x 10\n", 16 * i, i, 16 * i);
    for (int i = 1; i < LINES; i++)
        (void)fprintf(file, "FUNC %x fffffff 0 f\n", 16 * i + 8);
    ck_assert_int_eq(fclose(file), 0);
    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = i * 7919 % ((size_t)16 * LINES);
    struct sym_module *module = open_file(&session, "large.sym");
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, &frames, NULL),
                     SYM_OK);
    ck_assert_uint_ge(frames, ADDRESSES);
    ck_assert_int_lt((clock() - start) / CLOCKS_PER_SEC, 20);
    sym_session_close(session);
    free(vaddrs);
    free(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_breakpad");
    TCase *tcase = tcase_create("records");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, reads_records, 0, ROWS(rows));
    tcase_add_loop_test(tcase, knows_the_build_id, 0, ROWS(ids));
    tcase_add_test(tcase, reads_lines_once);
    suite_add_tcase(suite, tcase);
    (void)build_folder();
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    build_remove();
    return failed != 0;
}
