/* Units that the decoder refuses, read by libdwarf in a child process: the same words as before the
 * damage; children that die, loop or lie; the budget of an object.
 *
 * Offsets are those of testdata/symbolize/hostile, and what libdwarf accepts is that of its release
 * 20210528.  Another release must not make anything worse.  */
#include "libsymbolize/fallback.h"
#include "libsymbolize/oracle.h"
#include "libsymbolize/symbolize_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/fallback_parts.h"
#include "tests/support/sanitizer.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum { OBJECT_MAX = 16 << 10, ADDRESSES = 192, TEXT_MAX = 1 << 16 };

static uint8_t object[OBJECT_MAX];
static size_t object_size;
static char *path;

/* ---- Objects ---- */

static void load(const char *name)
{
    const char *root = getenv("ROOT");
    char *from;

    ck_assert_int_gt(asprintf(&from, "%s/testdata/symbolize/hostile/%s", root ? root : ".", name),
                     0);
    FILE *file = fopen(from, "rb");
    ck_assert_ptr_nonnull(file);
    object_size = fread(object, 1, sizeof object, file);
    (void)fclose(file);
    free(from);
}

static void store(void)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(object, 1, object_size, file), object_size);
    ck_assert_int_eq(fclose(file), 0);
}

static void set_up(void)
{
    (void)build_folder();
    path = build_path("object");
}

static void tear_down(void)
{
    free(path);
    build_remove();
}

/* ---- Answers ---- */

/* How an object is looked up, and what came out.  */
struct look {
    bool off;
    sym_fallback_fn child;
    size_t tried, spent_ms; /* at the start */
    unsigned jobs;
    bool details;

    size_t units, unread_units, children;
    char fallback[200], unread[400];
    char text[TEXT_MAX];
};

static bool keep(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct look *look = context;
    size_t used = strlen(look->text);

    for (size_t i = 0; i < count && used < TEXT_MAX - 1; i++)
        used += (size_t)snprintf(look->text + used, TEXT_MAX - used, "%zu %s %s %s:%u:%u %u %d\n",
                                 index, frames[i].function, frames[i].linkage_name, frames[i].file,
                                 frames[i].line, frames[i].column, frames[i].start_line,
                                 frames[i].inlined);
    return true;
}

static void open_module(const struct look *look, struct sym_session **session,
                        struct sym_module **module)
{
    struct sym_options options = { .size = sizeof options,
                                   .debug_root = "",
                                   .no_cache = true,
                                   .details = look->details,
                                   .jobs = look->jobs ? look->jobs : 1 };
    struct sym_module_key key = { .path = path };

    ck_assert_int_eq(sym_session_open(&options, session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(*session, &key, module, NULL), SYM_OK);
    (*module)->loaded.dwarf.fallback.is_off = look->off;
    (*module)->loaded.dwarf.fallback.child = look->child;
}

static void keep_report(struct look *look, const struct sym_report *report)
{
    look->units = report->fallback_units;
    look->unread_units = report->unread_units;
    (void)snprintf(look->fallback, sizeof look->fallback, "%s", report->fallback);
    (void)snprintf(look->unread, sizeof look->unread, "%s", report->unread);
}

static void look_up(struct look *look)
{
    struct sym_session *session;
    struct sym_module *module;
    uint64_t vaddrs[ADDRESSES];

    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = 0x1000 + i;
    open_module(look, &session, &module);
    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    module->loaded.dwarf.fallback.tried_count += look->tried;
    module->loaded.dwarf.fallback.spent_ms += look->spent_ms;
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, ADDRESSES, keep, look, NULL), SYM_OK);
    look->children = module->loaded.dwarf.fallback.tried_count - look->tried;
    keep_report(look, sym_module_report(module));
    sym_session_close(session);
}

/* The report has one such unit.  */
static void expect_unread(const struct look *look, const char *reason, const char *why)
{
    char *sentence;

    ck_assert_uint_eq(look->unread_units, 1);
    ck_assert_int_gt(asprintf(&sentence,
                              "1 unit of the debug information was not read completely: %s; %s",
                              reason, why),
                     0);
    ck_assert_str_eq(look->unread, sentence);
    free(sentence);
}

/* ---- Units that libdwarf reads ---- */

static const struct {
    const char *name, *file;
    const char *section;
    size_t offset; /* in it */
    uint8_t from, to;
    const char *fallback;
} damages[] = {
    { "no damage", "x86-64-dwarf5.so", ".debug_line", 8, 0x37, 0x37, "" },
    { "a line table's header is longer than its tables", "x86-64-dwarf5.so", ".debug_line", 8, 0x37,
      0x38, "damaged line table at 0x0 of .debug_line" },
    { "a line table's header is longer than the section", "x86-64-gcc.so", ".debug_line", 0xa, 0,
      0x40, "damaged line table at 0x0 of .debug_line" },
    { "an extended opcode is longer than its operand", "x86-64-gcc.so", ".debug_line", 0x80, 9, 10,
      "damaged line table at 0x0 of .debug_line" },
    { "an extended opcode has no length, DWARF 4", "i386-dwarf4", ".debug_line", 0x2a, 5, 0,
      "damaged line table at 0x0 of .debug_line" },
    { "the unit's own entry has a form 0", "x86-64-dwarf5.so", ".debug_abbrev", 0x24, 0x19, 0,
      "damaged unit at 0x0 of .debug_info" },
    { "a function has a form 0", "x86-64-dwarf5.so", ".debug_abbrev", 0x66, 0x19, 0,
      "damaged unit at 0x0 of .debug_info" },
    { "an inlined copy has a form 0", "x86-64-dwarf5.so", ".debug_abbrev", 0xa6, 0x19, 0,
      "damaged unit at 0x0 of .debug_info" },
    { "a form is wrong, and entries name their siblings", "x86-64-gcc.so", ".debug_abbrev", 0xc8, 8,
      0, "damaged unit at 0x0 of .debug_info" },
    { "entries have children that are not there", "x86-64-gcc.so", ".debug_abbrev", 0xb0, 0, 0xff,
      "damaged unit at 0x0 of .debug_info" },
};

/* Where a section is in the file.  */
static size_t section_offset(const char *section)
{
    struct sym_object *opened;
    size_t offset;

    ck_assert_int_eq(sym_object_open(path, SYM_OBJECT_MAIN, &opened, NULL), SYM_OK);
    const struct sym_elf_section *found = sym_object_by_name(opened, section);
    ck_assert_ptr_nonnull(found);
    offset = (size_t)found->offset;
    sym_object_free(opened);
    return offset;
}

static void damage_byte(const char *file, const char *section, size_t offset, uint8_t from,
                        uint8_t to)
{
    load(file);
    store();
    size_t at = section_offset(section) + offset;
    ck_assert_uint_eq(object[at], from);
    object[at] = to;
    store();
}

static void damage(int row)
{
    damage_byte(damages[row].file, damages[row].section, damages[row].offset, damages[row].from,
                damages[row].to);
}

static bool is_known_libdwarf(void)
{
    return strcmp(sym_oracle_version(), "20210528") == 0;
}

START_TEST(a_refused_unit_has_the_words_of_the_sound_one)
{
    static struct look sound, without, with;
    char *sentence;
    bool damaged = damages[_i].fallback[0];

    sound = without = with = (struct look){ .jobs = 1 };
    load(damages[_i].file);
    store();
    look_up(&sound);
    ck_assert_uint_eq(sound.children, 0);
    damage(_i);
    without.off = true;
    look_up(&without);
    look_up(&with);
    ck_assert_uint_eq(without.children, 0);
    ck_assert_uint_eq(with.children, damaged);
    if (damaged) {
        ck_assert_str_ne(without.text, sound.text);
        expect_unread(&without, damages[_i].fallback, "libdwarf was not used");
    }
    ck_assert_uint_eq(sound.unread_units, 0);
    ck_assert_str_eq(sound.unread, "");
    ck_assert_str_eq(without.fallback, "");
    if (!is_known_libdwarf() && !with.units) {
        ck_assert_str_eq(with.text, without.text);
        return;
    }
    ck_assert_uint_eq(with.units, damaged);
    ck_assert_uint_eq(with.unread_units, 0);
    ck_assert_str_eq(with.text, sound.text);
    ck_assert_int_ge(asprintf(&sentence,
                              damaged ? "1 unit read by libdwarf, because ours could "
                                        "not: %s"
                                      : "%s",
                              damages[_i].fallback),
                     0);
    ck_assert_str_eq(with.fallback, sentence);
    free(sentence);
}
END_TEST

/* ---- Units that nobody reads ---- */

static const struct {
    const char *file, *section;
    size_t offset; /* in it */
    uint8_t from, to;
    const char *reason, *why;
} unread[] = {
    { "x86-64-gcc.so", ".debug_line", 4, 5, 0x7f, "damaged line table at 0x0 of .debug_line",
      "libdwarf cannot read its lines either" },
    { "x86-64-dwarf5.so", ".debug_abbrev", 0x24, 0x19, 0x7f, "damaged unit at 0x0 of .debug_info",
      "libdwarf cannot read its functions either" },
    { "x86-64-gcc.so", ".debug_rnglists", 0x2c, 7, 0x7f,
      "damaged range list of the unit at 0x0 of .debug_info", "libdwarf is not used for it" },
};

START_TEST(a_unit_that_nobody_reads_is_reported)
{
    static struct look look;

    damage_byte(unread[_i].file, unread[_i].section, unread[_i].offset, unread[_i].from,
                unread[_i].to);
    look = (struct look){ .jobs = 1 };
    look_up(&look);
    ck_assert_uint_eq(look.units, 0);
    expect_unread(&look, unread[_i].reason, unread[_i].why);
}
END_TEST

/* ---- Children ---- */

static volatile int never;

static void crash(void *context, int fd)
{
    (void)context, (void)fd;
    (void)raise(SIGSEGV);
}

static void loop(void *context, int fd)
{
    (void)context, (void)fd;
    while (!never)
        continue;
}

static void wait_forever(void *context, int fd)
{
    (void)context, (void)fd;
    for (;;)
        (void)pause();
}

static void eat_memory(void *context, int fd)
{
    static char *volatile room; /* so that no compiler leaves the allocations out */
    size_t most = (size_t)1 << 30;

    (void)context;
    for (size_t size = 0; size < most; size += 1 << 20) {
        room = malloc(1 << 20);
        if (!room)
            _exit(3);
        memset(room, 1, 1 << 20);
    }
    (void)!write(fd, "ate", 3);
}

static void write_without_end(void *context, int fd)
{
    static const char bytes[4096];

    (void)context;
    while (write(fd, bytes, sizeof bytes) > 0)
        continue;
}

static void write_nothing(void *context, int fd)
{
    (void)context, (void)fd;
}

static void write_garbage(void *context, int fd)
{
    (void)context;
    (void)!write(fd, "DTXF\3\0\0\0\377\377\377\377 garbage", 20);
}

static void write_then_crash(void *context, int fd)
{
    sym_fallback_write(context, fd);
    (void)raise(SIGABRT);
}

static const struct {
    const char *name;
    sym_fallback_fn child;
    enum sym_fallback_end end; /* SYM_FALLBACK_HELPS: there may be bytes */
} children[] = {
    { "crashes", crash, SYM_FALLBACK_CRASHED },
    { "loops", loop, SYM_FALLBACK_TIMED_OUT },
    { "waits for ever", wait_forever, SYM_FALLBACK_TIMED_OUT },
    { "takes all memory", eat_memory, SYM_FALLBACK_CRASHED },
    { "writes without an end", write_without_end, SYM_FALLBACK_TOO_LONG },
    { "writes nothing", write_nothing, SYM_FALLBACK_HELPS },
    { "writes garbage", write_garbage, SYM_FALLBACK_HELPS },
};

/* AddressSanitizer waits for itself where it has no memory to report that there is none.  */
static int wall_of(sym_fallback_fn child)
{
    if (child == wait_forever)
        return 100;
    return HAS_ASAN && child == eat_memory ? 5000 : 300000;
}

START_TEST(a_child_that_misbehaves_ends)
{
    /* Time on the clock only for those that take none of the CPU.  */
    struct sym_fallback_limits limits = { .cpu_seconds = 1,
                                          .wall_ms = wall_of(children[_i].child),
                                          .memory_bytes = 64 << 20,
                                          .answer_bytes = 1 << 20 };
    struct sym_fallback_answer answer;
    enum sym_status status = sym_fallback_run(children[_i].child, NULL, &limits, &answer);

    ck_assert_msg(status == (children[_i].end ? SYM_NOT_FOUND : SYM_OK), "%s: status %d",
                  children[_i].name, (int)status);
    if (!HAS_ASAN || children[_i].child != eat_memory) /* which may time out */
        ck_assert_msg(answer.end == children[_i].end, "%s: %d", children[_i].name, answer.end);
    base_free(answer.bytes);
}
END_TEST

START_TEST(a_child_that_fails_leaves_the_unit_as_it_is)
{
    static const struct {
        sym_fallback_fn child;
        const char *why;
    } failing[] = {
        { crash, "libdwarf crashed" },
        { write_nothing, "libdwarf cannot read its lines either" },
        { write_garbage, "the answer of libdwarf is unusable" },
        { write_then_crash, "libdwarf crashed" },
    };
    static struct look without, with;

    damage(2);
    without = (struct look){ .off = true };
    with = (struct look){ .child = failing[_i].child };
    look_up(&without);
    look_up(&with);
    ck_assert_uint_eq(with.children, 1);
    ck_assert_uint_eq(with.units, 0);
    ck_assert_str_eq(with.fallback, "");
    ck_assert_str_eq(with.text, without.text);
    expect_unread(&with, "damaged line table at 0x0 of .debug_line", failing[_i].why);
    expect_unread(&without, "damaged line table at 0x0 of .debug_line", "libdwarf was not used");
}
END_TEST

static void count_signals(int number)
{
    (void)number;
    never = 1;
}

/* A handler of the program must not run in the child.  */
START_TEST(a_child_has_no_handlers)
{
    struct sym_fallback_limits limits = {
        .cpu_seconds = 5, .wall_ms = 300000, .memory_bytes = 64 << 20, .answer_bytes = 1 << 20
    };
    struct sym_fallback_answer answer;

    ck_assert(signal(SIGSEGV, count_signals) != SIG_ERR);
    enum sym_status status = sym_fallback_run(crash, NULL, &limits, &answer);
    (void)signal(SIGSEGV, SIG_DFL);
    base_free(answer.bytes);
    ck_assert_int_eq(status, SYM_NOT_FOUND);
}
END_TEST

/* Somebody else may have taken the child's result.  */
START_TEST(a_program_may_ignore_its_children)
{
    static struct look with;

    damage(2);
    with = (struct look){ .jobs = 1 };
    ck_assert(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    look_up(&with);
    (void)signal(SIGCHLD, SIG_DFL);
    ck_assert_uint_eq(with.children, 1);
    ck_assert_uint_eq(with.units, is_known_libdwarf());
}
END_TEST

/* ---- The budget ---- */

START_TEST(an_object_has_a_budget)
{
    static const struct {
        size_t tried, spent_ms, children;
    } rows[] = {
        { SYM_FALLBACK_UNITS_MAX - 1, 0, 1 },
        { SYM_FALLBACK_UNITS_MAX, 0, 0 },
        { 0, SYM_FALLBACK_CPU_MS_MAX - 1, 1 },
        { 0, SYM_FALLBACK_CPU_MS_MAX, 0 },
    };
    static struct look with;

    damage(2);
    with = (struct look){ .tried = rows[_i].tried, .spent_ms = rows[_i].spent_ms };
    look_up(&with);
    ck_assert_uint_eq(with.children, rows[_i].children);
    if (!rows[_i].children)
        expect_unread(&with, "damaged line table at 0x0 of .debug_line",
                      "libdwarf was not used, because earlier units took all that one object may "
                      "take");
}
END_TEST

/* ---- Many units ---- */

enum { UNITS = 6 };

/* The header of each other unit's line table becomes too long.  */
static void damage_tables(void)
{
    struct look look = { .off = true };
    struct sym_session *session;
    struct sym_module *module;

    open_module(&look, &session, &module);
    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    struct sym_dwarf *dwarf = &module->loaded.dwarf;
    size_t start = section_offset(".debug_line");
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(dwarf->unit_count, UNITS);
    for (size_t i = 0; i < UNITS; i += 2) {
        ck_assert_int_eq(fseek(file, (long)(start + dwarf->units[i].line_offset + 6), SEEK_SET), 0);
        ck_assert_int_eq(fputc(0xff, file), 0xff); /* DWARF 4: header_length */
    }
    ck_assert_int_eq(fclose(file), 0);
    sym_session_close(session);
}

static void look_up_all(struct look *look)
{
    struct sym_session *session;
    struct sym_module *module;
    uint64_t *vaddrs;

    open_module(look, &session, &module);
    const struct sym_code *code = sym_object_code(module->code, build_symbol("object", "f0"));
    size_t count = (size_t)(code->limit - code->start);
    vaddrs = malloc(count * sizeof *vaddrs);
    ck_assert_ptr_nonnull(vaddrs);
    for (size_t i = 0; i < count; i++)
        vaddrs[i] = code->start + i;
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, count, keep, look, NULL), SYM_OK);
    free(vaddrs);
    keep_report(look, sym_module_report(module));
    sym_session_close(session);
}

static void build_units(void)
{
    build_write("units.sh",
                "for i in 0 1 2 3 4 5; do echo \"static inline int in$i(int x) { return x * x; }\n"
                "int f$i(int x) { return in$i(x) + in$i(x + $i); }\" >u$i.c; done\n"
                "${CC:-cc} -O2 -gdwarf-4 -shared -fPIC -nostdlib -o object u?.c\n");
    build_run("sh units.sh");
}

START_TEST(answers_do_not_depend_on_threads)
{
    static struct look sound, one, four;

    build_units();
    sound = one = (struct look){ .jobs = 1 };
    four = (struct look){ .jobs = 4, .details = true };
    look_up_all(&sound);
    damage_tables();
    look_up_all(&one);
    look_up_all(&four);
    ck_assert_uint_eq(sound.units, 0);
    ck_assert_uint_eq(one.units, four.units);
    ck_assert_uint_eq(one.unread_units, four.unread_units);
    ck_assert_uint_eq(one.units + one.unread_units, UNITS / 2);
    if (!is_known_libdwarf())
        return;
    ck_assert_uint_eq(one.units, UNITS / 2);
    ck_assert_str_eq(one.text, sound.text);
    ck_assert_str_eq(four.text, sound.text);
}
END_TEST

START_TEST(units_that_nobody_reads_do_not_depend_on_threads)
{
    static struct look one, four;

    build_units();
    damage_tables();
    one = (struct look){ .child = crash, .jobs = 1 };
    four = (struct look){ .child = crash, .jobs = 4 };
    look_up_all(&one);
    look_up_all(&four);
    ck_assert_uint_eq(one.units, 0);
    ck_assert_uint_eq(one.unread_units, UNITS / 2);
    ck_assert_str_eq(one.unread,
                     "3 units of the debug information were not read completely; the first: "
                     "damaged line table at 0x0 of .debug_line; libdwarf crashed");
    ck_assert_uint_eq(four.unread_units, UNITS / 2);
    ck_assert_str_eq(four.unread, one.unread);
    ck_assert_str_eq(four.text, one.text);
}
END_TEST

/* Writes a byte into the header of the second unit.  */
static void damage_header(size_t offset, uint8_t byte)
{
    struct look look = { .off = true };
    struct sym_session *session;
    struct sym_module *module;

    open_module(&look, &session, &module);
    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    size_t at = section_offset(".debug_info") + (size_t)module->loaded.dwarf.units[1].offset +
                offset;
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
    ck_assert_int_eq(fputc(byte, file), byte);
    ck_assert_int_eq(fclose(file), 0);
    sym_session_close(session);
}

START_TEST(a_damaged_header_is_reported)
{
    static const struct {
        size_t offset;
        uint8_t byte;
        const char *before, *after; /* the unit's offset */
    } rows[] = {
        { 4, 0x7f, "damaged unit header at 0x", " of .debug_info; libdwarf is not used for it" },
        { 3, 0x7f, "unit at 0x", " of .debug_info leaves the section; no unit after it is found" },
    };
    static struct look look;
    char *start;

    build_units();
    damage_header(rows[_i].offset, rows[_i].byte);
    look = (struct look){ .jobs = 1 };
    look_up_all(&look);
    ck_assert_uint_eq(look.unread_units, 1);
    ck_assert_int_gt(asprintf(&start, "1 unit of the debug information was not read completely: %s",
                              rows[_i].before),
                     0);
    ck_assert_msg(strncmp(look.unread, start, strlen(start)) == 0, "%s", look.unread);
    ck_assert_msg(strstr(look.unread, rows[_i].after) != NULL, "%s", look.unread);
    free(start);
}
END_TEST

/* ---- Bytes of an answer ---- */

/* A loaded module and what a child answers for its unit.  */
struct answered {
    struct sym_session *session;
    struct sym_dwarf *dwarf;
    struct sym_unit *unit;
    struct sym_fallback_answer answer;
};

static void get_answer(struct answered *answered)
{
    struct look look = { .off = true };
    struct sym_fallback_limits limits = {
        .cpu_seconds = 60, .wall_ms = 300000, .memory_bytes = 1 << 30, .answer_bytes = 1 << 20
    };
    struct sym_module *module;

    load("x86-64-gcc.so");
    store();
    open_module(&look, &answered->session, &module);
    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    answered->dwarf = &module->loaded.dwarf;
    answered->unit = &module->loaded.dwarf.units[0];
    struct sym_fallback_job job = { .dwarf = answered->dwarf,
                                    .unit = answered->unit,
                                    .parts = SYM_PART_FUNCTIONS | SYM_PART_LINES };
    ck_assert_int_eq(sym_fallback_run(sym_fallback_write, &job, &limits, &answered->answer),
                     SYM_OK);
}

static void release_answer(struct answered *answered)
{
    base_free(answered->answer.bytes);
    sym_session_close(answered->session);
}

static enum sym_status read_answer(const struct answered *answered, const uint8_t *bytes,
                                   size_t size)
{
    struct sym_fallback_parts parts;
    uint8_t *copy = malloc(size + 1); /* of its own size, so that the sanitizer sees its end */

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, size);
    enum sym_status status = sym_fallback_read(answered->dwarf, answered->unit,
                                               (struct sym_bytes){ copy, size }, &parts);
    const char *fault = status ? NULL : fallback_parts_fault(answered->dwarf, &parts);
    ck_assert_msg(!fault, "%s", fault ? fault : "");
    sym_fallback_release(&parts);
    free(copy);
    return status;
}

START_TEST(an_answer_is_complete_or_refused)
{
    struct answered answered;

    get_answer(&answered);
    ck_assert_uint_gt(answered.answer.size, 500);
    ck_assert_int_eq(read_answer(&answered, answered.answer.bytes, answered.answer.size), SYM_OK);
    for (size_t size = 0; size < answered.answer.size; size++)
        ck_assert_int_eq(read_answer(&answered, answered.answer.bytes, size), SYM_MALFORMED);
    release_answer(&answered);
}
END_TEST

START_TEST(an_answer_of_any_bytes_does_no_harm)
{
    static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
    struct answered answered;
    size_t refused = 0;

    get_answer(&answered);
    uint8_t *bytes = answered.answer.bytes;
    for (size_t i = 0; i < answered.answer.size; i++) {
        uint8_t before = bytes[i];
        for (size_t v = 0; v < sizeof values; v++) {
            bytes[i] = values[v];
            enum sym_status status = read_answer(&answered, bytes, answered.answer.size);
            ck_assert(status == SYM_OK || status == SYM_MALFORMED);
            refused += status == SYM_MALFORMED;
        }
        bytes[i] = before;
    }
    ck_assert_uint_gt(refused, answered.answer.size);
    release_answer(&answered);
}
END_TEST

static void put_u32(uint8_t *bytes, size_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        bytes[(*at)++] = (uint8_t)(number >> 8 * i);
}

/* Makes an answer of count entries, each inlined into the one before it, one depth further down,
 * and all around the same address.  Returns its size.  */
static size_t nest(uint8_t *bytes, uint32_t count)
{
    size_t at = 0;

    memset(bytes, 0, 16 + 66 * (size_t)count + 4);
    put_u32(bytes, &at, SYM_FALLBACK_MARK);
    put_u32(bytes, &at, SYM_PART_FUNCTIONS);
    put_u32(bytes, &at, count);
    put_u32(bytes, &at, count);
    for (uint32_t i = 0; i < count; i++) {
        put_u32(bytes, &at, i - 1); /* its parent */
        put_u32(bytes, &at, i + 1); /* its depth */
        at += 38;
    }
    for (uint32_t i = 0; i < count; i++) {
        put_u32(bytes, &at, i);
        put_u32(bytes, &at, 0x1000);
        at += 4;
        put_u32(bytes, &at, 0x1010);
        at += 4;
    }
    put_u32(bytes, &at, SYM_FALLBACK_MARK);
    return at;
}

/* An address has a frame for each of them.  */
START_TEST(an_answer_may_nest_as_deeply_as_the_decoder)
{
    static uint8_t bytes[64 << 10];
    struct answered answered;

    get_answer(&answered);
    ck_assert_int_eq(read_answer(&answered, bytes, nest(bytes, 512)), SYM_OK);
    ck_assert_int_eq(read_answer(&answered, bytes, nest(bytes, 513)), SYM_MALFORMED);
    size_t size = nest(bytes, 2);
    ck_assert_uint_eq(bytes[16 + 46 + 4], 2); /* the second one's depth is that of the first */
    bytes[16 + 46 + 4] = 1;
    ck_assert_int_eq(read_answer(&answered, bytes, size), SYM_MALFORMED);
    release_answer(&answered);
}
END_TEST

/* libdwarf goes on after damage, and may take other bytes for a function.  The decoder's functions
 * come from before the damage.  */
START_TEST(an_answer_has_the_functions_of_the_decoder)
{
    struct answered answered;
    enum sym_fallback_end end;

    get_answer(&answered);
    struct sym_unit *unit = answered.unit;
    struct sym_bytes bytes = { answered.answer.bytes, answered.answer.size };
    ck_assert_int_eq(sym_dwarf_decode(answered.dwarf, unit), SYM_OK);
    unit->refused = SYM_PART_FUNCTIONS;
    answered.answer.bytes[16 + 8]++; /* the offset of the first function's DIE */
    ck_assert_int_eq(sym_fallback_use(answered.dwarf, unit, bytes, &end), SYM_OK);
    ck_assert_int_eq(end, SYM_FALLBACK_DIFFERS);
    ck_assert_uint_eq(unit->by_libdwarf, 0);
    answered.answer.bytes[16 + 8]--;
    ck_assert_int_eq(sym_fallback_use(answered.dwarf, unit, bytes, &end), SYM_OK);
    ck_assert_int_eq(end, SYM_FALLBACK_HELPS);
    ck_assert_uint_eq(unit->by_libdwarf, SYM_PART_FUNCTIONS);
    release_answer(&answered);
}
END_TEST

/* ---- Memory ---- */

/* In the child all allocations succeed.  */
static void write_with_memory(void *context, int fd)
{
    allocation_fail_at(0);
    sym_fallback_write(context, fd);
}

static bool count_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *total = context;

    (void)index, (void)frames;
    *total += count;
    return true;
}

static enum sym_status use_library(size_t *frames, struct sym_error *error)
{
    struct sym_options options = {
        .size = sizeof options, .debug_root = "", .no_cache = true, .jobs = 1
    };
    struct sym_module_key key = { .path = path };
    struct sym_session *session;
    struct sym_module *module;
    uint64_t vaddrs[ADDRESSES];
    enum sym_status status = sym_session_open(&options, &session, error);

    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = 0x1000 + i;
    *frames = 0;
    if (status)
        return status;
    status = sym_session_module(session, &key, &module, error);
    if (!status) {
        module->loaded.dwarf.fallback.child = write_with_memory;
        status = sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, frames, error);
    }
    sym_session_close(session);
    return status;
}

START_TEST(reports_every_failed_allocation)
{
    struct sym_error error;
    size_t frames = 0, wanted = 0;

    damage(_i ? 2 : 6);
    allocation_fail_at(0);
    enum sym_status status = use_library(&wanted, &error);
    unsigned long count = allocation_count();
    ck_assert_int_eq(status, SYM_OK);
    ck_assert_uint_gt(wanted, 3);
    for (unsigned long n = 1; n <= count; n++) {
        allocation_fail_at(n);
        status = use_library(&frames, &error);
        allocation_fail_at(0);
        ck_assert_msg(status == SYM_NO_MEMORY, "allocation %lu of %lu: status %d", n, count,
                      (int)status);
    }
    status = use_library(&frames, &error);
    ck_assert_int_eq(status, SYM_OK);
    ck_assert_uint_eq(frames, wanted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_fallback");
    TCase *tcase = tcase_create("fallback");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 600);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_refused_unit_has_the_words_of_the_sound_one, 0, ROWS(damages));
    tcase_add_loop_test(tcase, a_unit_that_nobody_reads_is_reported, 0, ROWS(unread));
    tcase_add_loop_test(tcase, a_child_that_misbehaves_ends, 0, ROWS(children));
    tcase_add_loop_test(tcase, a_child_that_fails_leaves_the_unit_as_it_is, 0, 4);
    tcase_add_test(tcase, a_child_has_no_handlers);
    tcase_add_test(tcase, a_program_may_ignore_its_children);
    tcase_add_loop_test(tcase, an_object_has_a_budget, 0, 4);
    tcase_add_test(tcase, answers_do_not_depend_on_threads);
    tcase_add_test(tcase, units_that_nobody_reads_do_not_depend_on_threads);
    tcase_add_loop_test(tcase, a_damaged_header_is_reported, 0, 2);
    tcase_add_test(tcase, an_answer_is_complete_or_refused);
    tcase_add_test(tcase, an_answer_of_any_bytes_does_no_harm);
    tcase_add_test(tcase, an_answer_may_nest_as_deeply_as_the_decoder);
    tcase_add_test(tcase, an_answer_has_the_functions_of_the_decoder);
    tcase_add_loop_test(tcase, reports_every_failed_allocation, 0, 2);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
