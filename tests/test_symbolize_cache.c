/* The symbol cache as users meet it: the same answers as without it, from files that may be
 * missing, old, damaged, somebody else's or in the way.  */
#include "libsymbolize/cache_pack.h"
#include "libsymbolize/symbol_cache.h"
#include "tests/support/allocation.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const char id_text[] = "00112233445566778899aabbccddeeff";
static char *cache_path, *object_path, *entry_path, *note_path;
static struct sym_error error;

static const char source[] =
    "extern volatile int sink;\n"
    "namespace n { template <class T> static inline T twice(T x) {\n"
    "sink = (int)x; return x * 2; }\n"
    "struct S { int v; int get(int x) const { return (int)twice(x) + v; } };\n"
    "template <int N> struct R { static int run(int x) {\n"
    "if (sink) sink = x; return R<N - 1>::run(x + N) + S{x}.get(N); } };\n"
    "template <> struct R<0> { static int run(int x) { return x; } }; }\n"
    "extern \"C\" int PASTE(entry)(int x) { n::S s{x};\n"
    "return s.get(x) + (int)n::twice<long>(x) + n::R<6>::run(x); }\n";

/* Builds name from eight units with a build ID that is known.  */
static void compile(const char *name, const char *flags)
{
    char *command;

    build_write("one.cc", source);
    ck_assert_int_gt(
        asprintf(&command,
                 "for i in 1 2 3 4 5 6 7 8; do ${CXX:-c++} %s -fPIC \"-DPASTE(x)=x##$i\" -c one.cc "
                 "-o $i.o || exit 1; done; echo 'volatile int sink;' > sink.c && "
                 "$CC -fPIC -c sink.c && ${CXX:-c++} -shared -Wl,--build-id=0x%s -o %s "
                 "[1-8].o sink.o",
                 flags, id_text, name),
        0);
    build_run(command);
    free(command);
}

/* What most tests look at, built once.  */
static const char usual_flags[] = "-O2 -g";
static char *usual_path;

static void set_up_all(void)
{
    (void)build_folder();
    compile("usual", usual_flags);
    usual_path = build_path("usual");
}

static void tear_down_all(void)
{
    char *command;

    ck_assert_int_gt(asprintf(&command, "rm -rf \"$(dirname '%s')\"", usual_path), 0);
    (void)build_folder(); /* the name of the first one is gone */
    build_run(command);
    build_remove();
    free(command);
    free(usual_path);
}

static void build_object(const char *flags)
{
    char *command;

    if (strcmp(flags, usual_flags) != 0) {
        compile("object", flags);
        return;
    }
    ck_assert_int_gt(asprintf(&command, "cp '%s' object", usual_path), 0);
    build_run(command);
    free(command);
}

static void set_up(void)
{
    (void)build_folder();
    cache_path = build_path("cache");
    object_path = build_path("object");
    ck_assert_int_gt(asprintf(&entry_path, "%s/%s.sym", cache_path, id_text), 0);
    ck_assert_int_gt(asprintf(&note_path, "%s/%s.seen", cache_path, id_text), 0);
}

static void tear_down(void)
{
    free(cache_path);
    free(object_path);
    free(entry_path);
    free(note_path);
    build_remove();
}

static bool exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

static uint64_t inode(const char *path)
{
    struct stat info;

    ck_assert_int_eq(stat(path, &info), 0);
    return info.st_ino;
}

/* ---- Asking ---- */

/* All answers of a module as text, and what was reported.  */
struct told {
    FILE *stream;
    char *text; /* owned */
    size_t size;
    enum sym_quality quality;
    char cache[256], problem[256];
};

static bool print_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    FILE *stream = context;

    (void)fprintf(stream, "%zu:", index);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(stream, " [%s %s %s:%u:%u from %u %d %d]", frames[i].function,
                      frames[i].linkage_name, frames[i].file, (unsigned)frames[i].line,
                      (unsigned)frames[i].column, (unsigned)frames[i].start_line,
                      (int)frames[i].inlined, (int)frames[i].source);
    return fputc('\n', stream) != EOF;
}

static struct sym_options options_for(const char *dir)
{
    return (struct sym_options){
        .size = sizeof(struct sym_options), .debug_root = "", .cache_dir = dir, .no_cache = !dir
    };
}

/* One session that asks for the addresses [start, limit).  */
static struct told ask_range(const struct sym_options *options, uint64_t start, uint64_t limit)
{
    struct told told = { 0 };
    struct sym_session *session;
    struct sym_module *module;
    struct sym_module_key key = { .path = object_path };
    size_t count = (size_t)(limit - start);
    uint64_t *vaddrs = calloc(count + 1, sizeof *vaddrs);

    for (size_t i = 0; i < count; i++)
        vaddrs[i] = start + i;
    told.stream = open_memstream(&told.text, &told.size);
    ck_assert(vaddrs && told.stream);
    ck_assert_int_eq(sym_session_open(options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, count, print_answer, told.stream, &error),
                     SYM_OK);
    const struct sym_report *report = sym_module_report(module);
    told.quality = report->quality;
    (void)snprintf(told.cache, sizeof told.cache, "%s", report->cache_path);
    (void)snprintf(told.problem, sizeof told.problem, "%s", report->cache_problem);
    sym_session_close(session);
    (void)fclose(told.stream);
    free(vaddrs);
    return told;
}

/* The code of the object, and some bytes around it.  */
static void find_code(uint64_t *start, uint64_t *limit)
{
    struct sym_object *object;

    ck_assert_int_eq(sym_object_open(object_path, SYM_OBJECT_MAIN, &object, &error), SYM_OK);
    ck_assert_uint_gt(object->code_count, 0);
    *start = object->code[0].start - 16;
    *limit = object->code[object->code_count - 1].limit + 16;
    sym_object_free(object);
}

static struct told ask_options(const struct sym_options *options)
{
    uint64_t start, limit;

    find_code(&start, &limit);
    return ask_range(options, start, limit);
}

/* A session that asks for everything; dir NULL: without cache.  */
static struct told ask(const char *dir)
{
    struct sym_options options = options_for(dir);

    return ask_options(&options);
}

/* A session that asks for one address of one unit.  */
static struct told ask_little(const char *dir)
{
    struct sym_options options = options_for(dir);
    uint64_t entry = build_symbol("object", "entry3");

    return ask_range(&options, entry, entry + 1);
}

/* Takes told, which must hold the same answers as expected.  */
static void check_same(struct told told, const struct told *expected)
{
    ck_assert_uint_gt(told.size, 0);
    ck_assert_uint_eq(told.size, expected->size);
    ck_assert(memcmp(told.text, expected->text, told.size) == 0);
    ck_assert_int_eq(told.quality, expected->quality);
    free(told.text);
}

/* ---- The same answers ---- */

static const struct {
    const char *flags, *strip;
} builds[] = {
    { "-O2 -g", ":" },
    { "-O2 -gdwarf-4", ":" },
    { "-O0 -g", ":" },
    { "-O2 -g -ffunction-sections -Wl,--gc-sections", ":" },
    { "-O2 -g", "strip -g object" },
    { "-O2 -g", "strip object" },
};

START_TEST(answers_as_without_it)
{
    build_object(builds[_i].flags);
    build_run(builds[_i].strip);
    struct told without = ask(NULL);
    ck_assert_str_eq(without.cache, "");
    for (int visit = 0; visit < 3; visit++) {
        struct told with = ask(cache_path);
        ck_assert_str_eq(with.problem, "");
        if (visit > 0)
            ck_assert_str_eq(with.cache, entry_path);
        check_same(with, &without);
    }
    free(without.text);
}
END_TEST

START_TEST(answers_for_the_real_function_alone_from_the_same_file)
{
    struct sym_options without = options_for(NULL), with = options_for(cache_path);

    build_object("-O2 -g");
    free(ask(cache_path).text);
    uint64_t file = inode(entry_path);
    without.no_inlines = with.no_inlines = true;
    struct told expected = ask_options(&without), told = ask_options(&with);
    ck_assert_str_eq(told.cache, entry_path);
    check_same(told, &expected);
    ck_assert_uint_eq(inode(entry_path), file);
    free(expected.text);
}
END_TEST

static bool keep_pointers(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    const char **names = context;

    (void)index;
    ck_assert_uint_gt(count, 0);
    names[0] = frames[0].function;
    names[1] = frames[0].file;
    return true;
}

START_TEST(keeps_equal_strings_equal_pointers_whoever_answers)
{
    struct sym_options options = options_for(cache_path);
    struct sym_session *session;
    struct sym_module *module, *other;
    struct sym_module_key key = { .path = object_path }, other_key = { .path = "/bin/sh" };
    const char *first[2], *second[2];

    build_object("-O2 -g");
    uint64_t vaddr = build_symbol("object", "entry3");
    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &other_key, &other, &error), SYM_OK);
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, keep_pointers, first, &error), SYM_OK);
    ck_assert_str_eq(sym_module_report(module)->cache_path, ""); /* one of eight units */
    ck_assert_int_eq(sym_module_resolve(other, NULL, 0, keep_pointers, second, &error), SYM_OK);
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, keep_pointers, second, &error), SYM_OK);
    ck_assert_str_eq(sym_module_report(module)->cache_path, entry_path);
    ck_assert_ptr_eq(first[0], second[0]);
    ck_assert_ptr_eq(first[1], second[1]);
    sym_session_close(session);
}
END_TEST

/* What was told, by number.  */
struct kept {
    size_t count;
    struct sym_frame innermost[4096]; /* all zero: no frames */
};

static bool keep_innermost(void *context, size_t index, const struct sym_frame *frames,
                           size_t count)
{
    struct kept *kept = context;

    ck_assert_uint_eq(index, kept->count++);
    ck_assert_uint_lt(index, ROWS(kept->innermost));
    kept->innermost[index] = count ? frames[0] : (struct sym_frame){ .line = 0 };
    return true;
}

/* Whether each of the addresses from start on has an equal answer alone.  */
static void check_alone(struct sym_module *module, uint64_t start, size_t count,
                        const uint32_t *ids, const struct kept *kept)
{
    for (size_t i = 0; i < count; i++) {
        struct kept alone = { .count = 0 };
        uint64_t vaddr = start + i;
        ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, keep_innermost, &alone, &error),
                         SYM_OK);
        ck_assert_uint_lt(ids[i], kept->count);
        const struct sym_frame *frame = &kept->innermost[ids[i]];
        ck_assert_ptr_eq(frame->function, alone.innermost[0].function);
        ck_assert_ptr_eq(frame->file, alone.innermost[0].file);
        ck_assert_uint_eq(frame->line, alone.innermost[0].line);
        ck_assert_uint_eq(frame->column, alone.innermost[0].column);
    }
}

START_TEST(tells_no_answer_again_in_the_next_batch)
{
    enum { COUNT = 160 };
    static struct kept kept;
    struct sym_options options = options_for(cache_path);
    struct sym_session *session;
    struct sym_module *module;
    struct sym_module_key key = { .path = object_path };
    uint64_t vaddrs[COUNT];
    uint32_t ids[COUNT], next = 0;

    build_object("-O2 -g");
    free(ask(cache_path).text);
    uint64_t start = build_symbol("object", "entry3");
    for (size_t i = 0; i < COUNT; i++)
        vaddrs[i] = start + i * 7 % COUNT;
    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    kept.count = 0;
    for (size_t round = 0; round < 4; round++) {
        size_t told = kept.count;
        if (round == 2) /* forgets, and tells all again */
            next = 0, kept.count = told = 0;
        size_t count = round % 2 ? COUNT : COUNT / 2;
        ck_assert_int_eq(sym_module_resolve_next(module, vaddrs, count, ids, &next, keep_innermost,
                                                 &kept, &error),
                         SYM_OK);
        ck_assert_uint_eq(next, kept.count);
        ck_assert(round % 2 || kept.count > 8);
        ck_assert_uint_le(kept.count - told, count / 2); /* neighbours share answers */
        for (size_t i = 0; i < count; i++)
            check_alone(module, vaddrs[i], 1, &ids[i], &kept);
        size_t before = kept.count;
        ck_assert_int_eq(sym_module_resolve_next(module, vaddrs, count, ids, &next, keep_innermost,
                                                 &kept, &error),
                         SYM_OK);
        ck_assert_uint_eq(kept.count, before);
    }
    sym_session_close(session);
}
END_TEST

/* ---- When a file is made ---- */

START_TEST(makes_a_file_when_most_is_read_anyway)
{
    build_object("-O2 -g");
    struct told told = ask(cache_path);
    ck_assert_str_eq(told.cache, entry_path);
    ck_assert(!exists(note_path));
    free(told.text);
}
END_TEST

START_TEST(makes_a_file_at_the_second_visit)
{
    build_object("-O2 -g");
    struct told expected = ask_little(NULL), first = ask_little(cache_path);
    ck_assert_str_eq(first.cache, "");
    ck_assert(exists(note_path) && !exists(entry_path));
    check_same(first, &expected);
    struct told second = ask_little(cache_path);
    ck_assert_str_eq(second.cache, entry_path);
    ck_assert(!exists(note_path) && exists(entry_path));
    check_same(second, &expected);
    struct stat info;
    ck_assert_int_eq(stat(cache_path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(entry_path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    free(expected.text);
}
END_TEST

START_TEST(makes_none_without_a_build_id)
{
    build_object("-O2 -g");
    build_run("objcopy --remove-section .note.gnu.build-id object");
    for (int visit = 0; visit < 3; visit++)
        free(ask(cache_path).text);
    DIR *dir = opendir(cache_path);
    if (dir) {
        int names = 0;
        while (readdir(dir))
            names++;
        (void)closedir(dir);
        ck_assert_int_eq(names, 2); /* . and .. */
    }
}
END_TEST

START_TEST(lies_where_the_user_keeps_caches)
{
    char *home = build_path("home"), *xdg = build_path("xdg"), *wanted;
    struct sym_options options = options_for(NULL);

    options.no_cache = false;
    build_object("-O2 -g");
    ck_assert_int_gt(asprintf(&wanted, "%s/fxt/symbols/%s.sym", _i ? xdg : home, id_text), 0);
    if (!_i) {
        wanted = realloc(wanted, strlen(wanted) + 16);
        ck_assert_ptr_nonnull(wanted);
        (void)snprintf(wanted, strlen(home) + 80, "%s/.cache/fxt/symbols/%s.sym", home, id_text);
    }
    ck_assert_int_eq(setenv("HOME", home, 1), 0);
    ck_assert_int_eq(_i ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME"), 0);
    struct told told = ask_options(&options);
    ck_assert_str_eq(told.cache, wanted);
    free(told.text);
    ck_assert_int_eq(unsetenv("HOME"), 0);
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    told = ask_options(&options);
    ck_assert_str_eq(told.cache, "");
    ck_assert_str_eq(told.problem, "symbol cache: no home directory");
    free(told.text);
    free(home);
    free(xdg);
    free(wanted);
}
END_TEST

/* ---- What it was made from ---- */

START_TEST(makes_a_new_file_for_a_new_debug_file)
{
    build_object("-O2 -g");
    free(ask(cache_path).text);
    uint64_t before = inode(entry_path);
    free(ask(cache_path).text);
    ck_assert_uint_eq(inode(entry_path), before);
    build_run(_i ? "touch -d '2001-01-01' object" : "printf x >>object");
    int fd = open(entry_path, O_RDONLY | O_CLOEXEC); /* so that its number is not used again */
    struct told expected = ask(NULL), told = ask(cache_path);
    ck_assert_str_eq(told.cache, entry_path);
    ck_assert_str_eq(told.problem, "");
    check_same(told, &expected);
    ck_assert_uint_ne(inode(entry_path), before);
    (void)close(fd);
    free(expected.text);
}
END_TEST

START_TEST(replaces_a_file_by_a_better_one_never_by_a_worse)
{
    build_object("-O2 -g");
    struct told good = ask(NULL);
    build_run("cp -p object full && strip -g object");
    free(ask(cache_path).text);
    struct told told = ask(cache_path); /* the second visit: there are no units to count */
    ck_assert_str_eq(told.cache, entry_path);
    ck_assert_int_eq(told.quality, SYM_QUALITY_SYMTAB);
    free(told.text);
    build_run("cp object stripped && cp -p full object");
    told = ask(cache_path);
    ck_assert_str_eq(told.cache, entry_path);
    check_same(told, &good);
    uint64_t file = inode(entry_path);
    build_run("cp stripped object");
    struct told poor = ask(NULL);
    told = ask(cache_path); /* answers do not depend on what was there before */
    ck_assert_str_eq(told.cache, "");
    check_same(told, &poor);
    ck_assert_uint_eq(inode(entry_path), file);
    build_run("cp -p full object");
    told = ask(cache_path);
    ck_assert_str_eq(told.cache, entry_path);
    ck_assert_uint_eq(inode(entry_path), file);
    check_same(told, &good);
    free(poor.text);
    free(good.text);
}
END_TEST

/* ---- Damage ---- */

static uint8_t *read_entry(size_t *size)
{
    struct stat info;
    int fd = open(entry_path, O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &info), 0);
    *size = (size_t)info.st_size;
    uint8_t *bytes = malloc(*size + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(read(fd, bytes, *size), (ssize_t)*size);
    (void)close(fd);
    return bytes;
}

static void write_entry(const uint8_t *bytes, size_t size)
{
    int fd = open(entry_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    (void)close(fd);
}

/* A byte in each 16th of the file; the last ones are in blocks, which are checked when touched.  */
START_TEST(answers_right_and_makes_a_new_file_where_one_is_damaged)
{
    size_t size, now;

    build_object("-O2 -g");
    struct told expected = ask(NULL);
    free(ask(cache_path).text);
    uint8_t *bytes = read_entry(&size);
    size_t at = size * (size_t)_i / 16;
    bytes[at] ^= 0x10;
    write_entry(bytes, size);
    struct told told = ask(cache_path);
    ck_assert_msg(strstr(told.problem, "damaged, dropped") != NULL, "byte %zu: '%s'", at,
                  told.problem);
    ck_assert_str_eq(told.cache, entry_path); /* the new one */
    check_same(told, &expected);
    bytes[at] ^= 0x10;
    uint8_t *again = read_entry(&now);
    ck_assert_uint_eq(now, size);
    ck_assert(memcmp(again, bytes, size) == 0); /* the same input gives the same file */
    free(again);
    free(bytes);
    free(expected.text);
}
END_TEST

static const double parts[] = { 0, 0.001, 0.3, 0.9, 0.9999 };

START_TEST(answers_right_where_a_file_was_cut)
{
    size_t size;

    build_object("-O2 -g");
    struct told expected = ask(NULL);
    free(ask(cache_path).text);
    uint8_t *bytes = read_entry(&size);
    write_entry(bytes, (size_t)((double)size * parts[_i]));
    check_same(ask(cache_path), &expected);
    struct told told = ask(cache_path);
    ck_assert_str_eq(told.problem, "");
    check_same(told, &expected);
    free(bytes);
    free(expected.text);
}
END_TEST

START_TEST(replaces_a_file_of_another_version_without_a_word)
{
    size_t size;

    build_object("-O2 -g");
    struct told expected = ask(NULL);
    free(ask(cache_path).text);
    uint8_t *bytes = read_entry(&size);
    store_u32(bytes + HEADER_VERSION, SYM_CACHE_VERSION + 1);
    write_entry(bytes, size);
    struct told told = ask(cache_path);
    ck_assert_str_eq(told.problem, "");
    ck_assert_str_eq(told.cache, entry_path);
    check_same(told, &expected);
    free(bytes);
    free(expected.text);
}
END_TEST

/* What changes the file between two answers of one session.  */
static const char *const meanwhile[] = {
    "rm -rf cache",
    "truncate -s 300 cache/*.sym",
    "truncate -s 0 cache/*.sym",
    "dd if=/dev/zero of=cache/x bs=4096 count=1024 2>/dev/null; cat cache/x >$(ls cache/*.sym)",
};

START_TEST(answers_right_while_the_file_goes_away)
{
    struct sym_options options = options_for(cache_path);
    struct sym_session *session;
    struct sym_module *module;
    struct sym_module_key key = { .path = object_path };
    uint64_t start, limit;
    struct told told = { 0 };

    build_object("-O2 -g");
    struct told expected = ask(NULL);
    free(ask(cache_path).text);
    find_code(&start, &limit);
    size_t count = (size_t)(limit - start);
    uint64_t *vaddrs = calloc(count, sizeof *vaddrs);
    for (size_t i = 0; i < count; i++)
        vaddrs[i] = start + i;
    told.stream = open_memstream(&told.text, &told.size);
    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, &error), SYM_OK);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, 1, print_answer, told.stream, &error),
                     SYM_OK);
    ck_assert_str_eq(sym_module_report(module)->cache_path, entry_path);
    build_run(meanwhile[_i]);
    rewind(told.stream);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, count, print_answer, told.stream, &error),
                     SYM_OK);
    told.quality = sym_module_report(module)->quality;
    sym_session_close(session);
    (void)fclose(told.stream);
    check_same(told, &expected);
    free(vaddrs);
    free(expected.text);
}
END_TEST

/* ---- Places where none can be kept ---- */

static const struct {
    const char *command, *problem;
} places[] = {
    { "touch cache", "Not a directory" },
    { "mkdir cache && chmod 770 cache", "other users may write there" },
    { "mkdir cache && chmod 707 cache", "other users may write there" },
    { "ln -s /proc/self/fdinfo cache", "" }, /* ours, but nobody can write there */
};

START_TEST(answers_without_a_place_for_it)
{
    build_object("-O2 -g");
    build_run(places[_i].command);
    struct told expected = ask(NULL);
    for (int visit = 0; visit < 2; visit++) {
        struct told told = ask(cache_path);
        ck_assert_str_eq(told.cache, "");
        ck_assert_msg(strstr(told.problem, places[_i].problem) != NULL, "'%s'", told.problem);
        check_same(told, &expected);
    }
    free(expected.text);
}
END_TEST

START_TEST(takes_nothing_from_the_cache_of_another_user)
{
    build_object("-O2 -g");
    struct told expected = ask(NULL);
    free(ask(cache_path).text);
    if (geteuid() != 0 || chown(_i ? entry_path : cache_path, 65534, 65534) != 0) {
        free(expected.text);
        return; /* only root can give a file away */
    }
    uint64_t file = inode(entry_path);
    struct told told = ask(cache_path);
    if (_i == 0) {
        ck_assert_str_eq(told.cache, "");
        ck_assert_ptr_nonnull(strstr(told.problem, "it belongs to another user"));
    } else {
        struct stat info;
        ck_assert_int_eq(stat(entry_path, &info), 0);
        ck_assert(info.st_ino != file && info.st_uid == geteuid()); /* made anew */
    }
    check_same(told, &expected);
    free(expected.text);
}
END_TEST

static int count_files(void)
{
    DIR *dir = opendir(cache_path);
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

START_TEST(answers_where_a_file_may_not_grow)
{
    struct rlimit before, small = { .rlim_cur = 1000 };

    build_object("-O2 -g");
    struct told expected = ask(NULL);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct told told = ask(cache_path);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_str_eq(told.cache, "");
    check_same(told, &expected);
    ck_assert_int_eq(count_files(), 0); /* nothing half written is left */
    told = ask(cache_path);
    ck_assert_str_eq(told.cache, entry_path);
    check_same(told, &expected);
    free(expected.text);
}
END_TEST

START_TEST(answers_when_the_directory_is_read_only)
{
    build_object("-O2 -g");
    struct told expected = ask(NULL);
    free(ask(cache_path).text);
    ck_assert_int_eq(chmod(cache_path, 0500), 0);
    struct told told = ask(cache_path); /* what is there can be read */
    ck_assert_str_eq(told.cache, entry_path);
    check_same(told, &expected);
    ck_assert_int_eq(chmod(cache_path, 0700), 0);
    free(expected.text);
}
END_TEST

/* ---- The limit ---- */

/* An entry of size bytes that was used on that day of 2001.  */
static void put_entry(const char *name, long size, int day)
{
    char *command;

    ck_assert_int_gt(asprintf(&command,
                              "mkdir -p -m 700 cache && truncate -s %ld cache/%s && "
                              "touch -d '2001-01-%02d' cache/%s",
                              size, name, day, name),
                     0);
    build_run(command);
    free(command);
}

static bool in_cache(const char *name)
{
    char *path;

    ck_assert_int_gt(asprintf(&path, "%s/%s", cache_path, name), 0);
    bool there = exists(path);
    free(path);
    return there;
}

START_TEST(deletes_what_was_not_used_for_longest)
{
    struct sym_options options = options_for(cache_path);

    build_object("-O2 -g");
    put_entry("aaaa.sym", 400000, 3);
    put_entry("bbbb.sym", 400000, 1);
    put_entry("cccc.sym", 400000, 2);
    put_entry("keep.txt", 400000, 1);
    put_entry("dddd.1-1.tmp", 10, 1);
    put_entry("eeee.seen", 0, 1);
    options.cache_limit_bytes = 900000; /* two of them and the new one */
    struct told told = ask_options(&options);
    ck_assert_str_eq(told.cache, entry_path);
    free(told.text);
    ck_assert(in_cache("aaaa.sym") && !in_cache("bbbb.sym") && in_cache("cccc.sym"));
    ck_assert(in_cache("keep.txt"));                                /* not ours */
    ck_assert(!in_cache("dddd.1-1.tmp") && !in_cache("eeee.seen")); /* nobody needs them now */
}
END_TEST

START_TEST(counts_reading_as_use)
{
    struct stat before, after;

    build_object("-O2 -g");
    free(ask(cache_path).text);
    build_run("touch -d '2001-01-01' cache/*.sym");
    ck_assert_int_eq(stat(entry_path, &before), 0);
    free(ask(cache_path).text);
    ck_assert_int_eq(stat(entry_path, &after), 0);
    ck_assert_int_gt(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
}
END_TEST

START_TEST(keeps_no_file_that_is_larger_than_the_limit)
{
    struct sym_options options = options_for(cache_path);

    build_object("-O2 -g");
    struct told expected = ask(NULL);
    if (_i)
        options.cache_limit_bytes = 1000;
    else
        ck_assert_int_eq(setenv("FXT_SYMBOL_CACHE_BYTES", "1000", 1), 0);
    for (int visit = 0; visit < 2; visit++) {
        struct told told = ask_options(&options);
        ck_assert_str_eq(told.cache, "");
        check_same(told, &expected);
    }
    ck_assert_int_eq(count_files(), 1); /* the note that it is of no use to try again */
    ck_assert(in_cache("00112233445566778899aabbccddeeff.seen"));
    free(expected.text);
}
END_TEST

START_TEST(keeps_nothing_with_a_limit_of_nothing)
{
    build_object("-O2 -g");
    ck_assert_int_eq(setenv("FXT_SYMBOL_CACHE_BYTES", "0", 1), 0);
    struct told told = ask(cache_path);
    ck_assert_str_eq(told.cache, "");
    ck_assert_str_eq(told.problem, "");
    ck_assert_int_eq(count_files(), 0);
    free(told.text);
}
END_TEST

/* ---- At once ---- */

enum { PROCESSES = 4, ROUNDS = 12 };

/* Asks again and again, and now and then deletes the file or writes rubbish into it.  */
static int use_wildly(const struct told *expected, unsigned seed)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct told told = ask(cache_path);
        bool same = told.size == expected->size &&
                    memcmp(told.text, expected->text, told.size) == 0;
        free(told.text);
        if (!same)
            return 1;
        if ((round + seed) % 3 == 0)
            (void)unlink(entry_path);
        if ((round + seed) % 5 == 0 && truncate(entry_path, 700 * (long)round) != 0)
            continue; /* somebody was faster */
    }
    return 0;
}

START_TEST(serves_processes_that_write_at_once)
{
    pid_t children[PROCESSES];
    int status;

    build_object("-O2 -g");
    struct told expected = ask(NULL);
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0)
            _exit(use_wildly(&expected, i));
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    check_same(ask(cache_path), &expected);
    build_run("! ls cache | grep tmp");
    free(expected.text);
}
END_TEST

/* ---- Without memory ---- */

static bool count_calls(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *calls = context;

    (void)index, (void)frames, (void)count;
    ++*calls;
    return true;
}

static enum sym_status answer_one(uint64_t vaddr, size_t *calls)
{
    struct sym_options options = options_for(cache_path);
    struct sym_session *session = NULL;
    struct sym_module *module;
    struct sym_module_key key = { .path = object_path };
    enum sym_status status = sym_session_open(&options, &session, &error);

    *calls = 0;
    if (!status)
        status = sym_session_module(session, &key, &module, &error);
    if (!status)
        status = sym_module_resolve(module, &vaddr, 1, count_calls, calls, &error);
    sym_session_close(session);
    return status;
}

/* First while the file is made, then while it is used.  */
START_TEST(costs_the_cache_or_says_so_when_memory_runs_out)
{
    unsigned long n = 0;
    size_t calls;
    bool failed;

    build_object("-O2 -g");
    uint64_t vaddr = build_symbol("object", "entry3");
    ck_assert_int_eq(answer_one(vaddr, &calls), SYM_OK); /* the first visit */
    if (_i)
        ck_assert_int_eq(answer_one(vaddr, &calls), SYM_OK);
    do {
        if (_i == 0 && exists(entry_path)) {
            ck_assert_int_eq(unlink(entry_path), 0);
            int fd = open(note_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
            (void)close(fd);
        }
        allocation_fail_at(++n);
        enum sym_status status = answer_one(vaddr, &calls);
        failed = allocation_count() >= n;
        allocation_fail_at(0);
        ck_assert_msg(status == SYM_NO_MEMORY || (!status && calls == 1),
                      "allocation %lu: status %d, %zu calls", n, (int)status, calls);
    } while (failed);
    ck_assert_uint_gt(n, 10);
    build_run("! ls cache | grep tmp");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_cache");
    TCase *tcase = tcase_create("cache");
    SRunner *runner;
    int failed;

    tcase_add_unchecked_fixture(tcase, set_up_all, tear_down_all);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, answers_as_without_it, 0, ROWS(builds));
    tcase_add_test(tcase, answers_for_the_real_function_alone_from_the_same_file);
    tcase_add_test(tcase, keeps_equal_strings_equal_pointers_whoever_answers);
    tcase_add_test(tcase, tells_no_answer_again_in_the_next_batch);
    tcase_add_test(tcase, makes_a_file_when_most_is_read_anyway);
    tcase_add_test(tcase, makes_a_file_at_the_second_visit);
    tcase_add_test(tcase, makes_none_without_a_build_id);
    tcase_add_loop_test(tcase, lies_where_the_user_keeps_caches, 0, 2);
    tcase_add_loop_test(tcase, makes_a_new_file_for_a_new_debug_file, 0, 2);
    tcase_add_test(tcase, replaces_a_file_by_a_better_one_never_by_a_worse);
    tcase_add_loop_test(tcase, answers_right_and_makes_a_new_file_where_one_is_damaged, 0, 16);
    tcase_add_loop_test(tcase, answers_right_where_a_file_was_cut, 0, ROWS(parts));
    tcase_add_test(tcase, replaces_a_file_of_another_version_without_a_word);
    tcase_add_loop_test(tcase, answers_right_while_the_file_goes_away, 0, ROWS(meanwhile));
    tcase_add_loop_test(tcase, answers_without_a_place_for_it, 0, ROWS(places));
    tcase_add_loop_test(tcase, takes_nothing_from_the_cache_of_another_user, 0, 2);
    tcase_add_test(tcase, answers_where_a_file_may_not_grow);
    tcase_add_test(tcase, answers_when_the_directory_is_read_only);
    tcase_add_test(tcase, deletes_what_was_not_used_for_longest);
    tcase_add_test(tcase, counts_reading_as_use);
    tcase_add_loop_test(tcase, keeps_no_file_that_is_larger_than_the_limit, 0, 2);
    tcase_add_test(tcase, keeps_nothing_with_a_limit_of_nothing);
    tcase_add_test(tcase, serves_processes_that_write_at_once);
    tcase_add_loop_test(tcase, costs_the_cache_or_says_so_when_memory_runs_out, 0, 2);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
