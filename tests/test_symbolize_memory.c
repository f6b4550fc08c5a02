/* Every allocation that fails ends in SYM_NO_MEMORY, and nothing leaks (the leak checker of the
 * address sanitizer looks).  */
#include "libsymbolize/symbolize_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/symbolize_build.h"

#include <check.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HAS_SANITIZER
#endif
#endif

static const char *const sources[] = {
    "-O2 -gdwarf-5 program.cc", /* inlined C++ */
    "-O2 -gdwarf-4 -Wl,--compress-debug-sections=zlib-gabi program.cc",
    "-O2 -s program.cc", /* .dynsym alone */
};

enum { ADDRESSES = 200 };

static char *path, *missing;
static uint64_t vaddrs[ADDRESSES];

static void set_up(void)
{
    (void)build_folder();
    build_write("program.cc",
                "volatile int sink;\n"
                "namespace n { template <class T> inline T f(T x) { sink = x; return x * 2; }\n"
                "struct S { int g(int x) const { return f(x) + f<long>(x); } virtual ~S(); };\n"
                "S::~S() { sink = g(3); } }\n"
                "extern \"C\" int entry(int x) { n::S s; return s.g(x); }\n");
    path = build_path("object.so");
    missing = build_path("missing");
}

static void tear_down(void)
{
    free(path);
    free(missing);
    build_remove();
}

static bool count_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    size_t *total = context;

    (void)index, (void)frames;
    *total += count;
    return true;
}

/* Two modules, one of them missing, and a bulk look-up.  */
static enum sym_status use_library(size_t *frames, struct sym_error *error)
{
    const char *dirs[] = { "/nonexistent" };
    struct sym_options options = {
        .size = sizeof options,
        .symbol_paths = dirs,
        .symbol_path_count = 1,
        .debug_root = "",
        .no_cache = true, /* which needs no memory to answer: test_symbolize_cache_memory.c */
    };
    struct sym_module_key keys[] = { { .path = missing }, { .path = path } };
    struct sym_session *session;
    struct sym_module *module;
    enum sym_status status = sym_session_open(&options, &session, error);

    *frames = 0;
    if (status)
        return status;
    for (size_t i = 0; i < 2 && !status; i++)
        status = sym_session_module(session, &keys[i], &module, error);
    if (!status)
        status = sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, frames, error);
    sym_session_close(session);
    return status;
}

START_TEST(reports_every_failed_allocation)
{
    struct sym_error error;
    char *command;
    size_t frames = 0, wanted = 0;

    ck_assert_int_gt(asprintf(&command,
                              "${CXX:-c++} -fPIC -shared -o object.so %s && "
                              "nm -D object.so >/dev/null",
                              sources[_i]),
                     0);
    build_run(command);
    free(command);
    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = 0x1000 + 4 * i;
    allocation_fail_at(0);
    enum sym_status status = use_library(&wanted, &error);
    unsigned long count = allocation_count();
    ck_assert_int_eq(status, SYM_OK);
    ck_assert_uint_gt(wanted, 3);
    ck_assert_uint_gt(count, 20);
    for (unsigned long n = 1; n <= count; n++) {
        error = (struct sym_error){ .status = SYM_OK };
        allocation_fail_at(n);
        status = use_library(&frames, &error);
        allocation_fail_at(0);
        ck_assert_msg(status == SYM_NO_MEMORY, "allocation %lu of %lu: status %d", n, count,
                      (int)status);
        ck_assert_int_eq(error.status, SYM_NO_MEMORY);
    }
    status = use_library(&frames, &error); /* nothing is left behind */
    ck_assert_int_eq(status, SYM_OK);
    ck_assert_uint_eq(frames, wanted);
}
END_TEST

/* ---- Modules without files ---- */

/* As many modules of one path as the session takes, at most some.  */
static unsigned add_modules(struct sym_session *session, unsigned most, enum sym_status *status,
                            struct sym_error *error)
{
    size_t length = 1 << 20;
    char *name = malloc(length + 1);
    unsigned count;

    ck_assert_ptr_nonnull(name);
    memset(name, 'n', length);
    name[0] = '/';
    name[length] = '\0';
    *status = SYM_OK;
    for (count = 0; count < most; count++) {
        uint8_t id[4] = { (uint8_t)count, (uint8_t)(count >> 8), 1, 2 };
        struct sym_module_key key = { .build_id = id, .build_id_length = 4, .path = name };
        struct sym_module *module, *again;

        *status = sym_session_module(session, &key, &module, error);
        if (*status != SYM_OK)
            break;
        ck_assert_int_eq(sym_session_module(session, &key, &again, error), SYM_OK);
        ck_assert_ptr_eq(module, again);
    }
    free(name);
    return count;
}

START_TEST(bounds_the_modules_of_a_session)
{
    struct sym_options options = { .size = sizeof options, .debug_root = "", .no_cache = true };
    struct sym_session *session;
    struct sym_error error;
    enum sym_status status;
    unsigned count;

    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    count = add_modules(session, 600, &status, &error);
    ck_assert_int_eq(status, SYM_NO_MEMORY);
    ck_assert_uint_gt(count, 100);
    ck_assert_uint_lt(count, 512);
    ck_assert_ptr_nonnull(strstr(error.message, "512 MiB of memory"));
    ck_assert_ptr_nonnull(strstr(error.message, "--no-limit"));
    sym_session_close(session);
    options.no_limit = true;
    ck_assert_int_eq(sym_session_open(&options, &session, &error), SYM_OK);
    ck_assert_uint_eq(add_modules(session, count + 1, &status, &error), count + 1);
    ck_assert_int_eq(status, SYM_OK);
    sym_session_close(session);
}
END_TEST

/* ---- Finding and formats ---- */

static const char kallsyms[] = "ffffffff81000000 T _stext\nffffffff81000040 t early_setup\n";

/* What is looked for at the path object.so, with the symbol paths syms and object.so.gz, root for
 * /usr/lib/debug and cache for debuginfod's.  */
static const struct {
    const char *name, *setup;
} finds[] = {
    { "a directory of files", "mkdir -p syms/a && cp full syms/a && cp bare syms/b && "
                              "cp bare object.so" },
    { "a debug link and .gnu_debugdata",
      "objcopy --only-keep-debug full link.debug && strip -g -o mini full && xz mini && "
      "objcopy --add-section .gnu_debugdata=mini.xz --add-gnu-debuglink=link.debug bare object.so "
      "&& mkdir .debug && printf x >>link.debug && mv link.debug .debug" },
    { "MiniDebugInfo alone", "strip -g -o mini full && xz mini && "
                             "objcopy --add-section .gnu_debugdata=mini.xz bare object.so" },
    { "a packed relocatable object", "gzip -c full.o >object.so" },
    { "trees and refused files",
      "id=$(readelf -n full | sed -n 's/.*Build ID: //p') && rest=${id#??} && "
      "mkdir -p root/.build-id/${id%$rest} syms && cp full root/.build-id/${id%$rest}/$rest.debug "
      "&& cp full.o syms/$id && cp program.cc syms/$id.debug && cp bare object.so" },
    { "sections in the cache",
      "id=$(readelf -n full | sed -n 's/.*Build ID: //p') && mkdir -p cache/$id && "
      "for name in debug_info debug_abbrev debug_line debug_str debug_str_offsets debug_rnglists "
      "debug_line_str debug_ranges debug_addr debug_aranges gnu_debugaltlink debug_sup "
      "note.gnu.build-id symtab strtab; do "
      ": >cache/$id/section-.$name; objcopy -O binary --only-section=.$name "
      "--set-section-flags .$name=alloc full cache/$id/section-.$name 2>/dev/null; :; done && "
      "objcopy -O binary --only-section=.note.gnu.build-id full "
      "cache/$id/section-.note.gnu.build-id && "
      "cp bare object.so" },
    { "an object without section headers", "cp bare object.so && llvm-strip --strip-sections "
                                           "object.so" },
};

static enum sym_status use_finding(size_t *frames, struct sym_error *error)
{
    char *syms = build_path("syms"), *root = build_path("root"), *cache = build_path("cache");
    const char *paths[] = { syms, missing, path };
    struct sym_options options = { .size = sizeof options,
                                   .symbol_paths = paths,
                                   .symbol_path_count = 3,
                                   .debug_root = root,
                                   .debuginfod_cache = cache,
                                   .no_cache = true };
    struct sym_module_key keys[] = { { .path = path }, { .path = "[kernel]" } };
    const uint64_t kernel_vaddr = 0xffffffff81000041;
    struct sym_session *session;
    struct sym_module *module;
    enum sym_status status = sym_session_open(&options, &session, error);

    free(syms);
    free(root);
    free(cache);
    *frames = 0;
    if (status)
        return status;
    status = sym_session_kallsyms(session, kallsyms, sizeof kallsyms - 1, error);
    if (!status)
        status = sym_session_module(session, &keys[0], &module, error);
    if (!status)
        status = sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, frames, error);
    if (!status)
        status = sym_session_module(session, &keys[1], &module, error);
    if (!status)
        status = sym_module_resolve(module, &kernel_vaddr, 1, count_frames, frames, error);
    sym_session_close(session);
    return status;
}

START_TEST(reports_every_failure_of_finding)
{
    struct sym_error error;
    size_t frames = 0, wanted = 0;

    build_run("${CXX:-c++} -fPIC -shared -O2 -g -Wl,--build-id=sha1 -o full program.cc && "
              "${CXX:-c++} -O2 -g -c -o full.o program.cc && strip -o bare full");
    build_run(finds[_i].setup);
    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = (_i == 3 ? 0 : 0x1000) + 4 * i;
    allocation_fail_at(0);
    enum sym_status status = use_finding(&wanted, &error);
    unsigned long count = allocation_count();
    ck_assert_int_eq(status, SYM_OK);
    ck_assert_msg(wanted > 3, "%s: %zu frames", finds[_i].name, wanted);
    for (unsigned long n = 1; n <= count; n++) {
        error = (struct sym_error){ .status = SYM_OK };
        allocation_fail_at(n);
        status = use_finding(&frames, &error);
        allocation_fail_at(0);
        ck_assert_msg(status == SYM_NO_MEMORY, "%s: allocation %lu of %lu: status %d",
                      finds[_i].name, n, count, (int)status);
        ck_assert_int_eq(error.status, SYM_NO_MEMORY);
    }
}
END_TEST

static bool ignore_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)context, (void)index, (void)frames, (void)count;
    return true;
}

/* Names beyond the limit of a module are left out, which its report says; nothing else ends.  */
START_TEST(leaves_names_out_at_the_limit)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    const struct sym_module_key key = { .path = path };
    struct sym_session *session;
    struct sym_module *module;

    build_run("${CXX:-c++} -fPIC -shared -O2 -g -o object.so program.cc");
    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = 0x1000 + 4 * i;
    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    ck_assert_int_eq(sym_module_load(module), SYM_OK);
    ck_assert_uint_eq(module->strings.limit, sym_strings_limit(module->debug->file_bytes));
    module->strings.limit = module->strings.texts.arena.total + 8;
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, ADDRESSES, ignore_answer, NULL, NULL),
                     SYM_OK);
    const struct sym_report *report = sym_module_report(module);
    ck_assert_msg(strstr(report->problem, "its names take more than") != NULL, "%s",
                  report->problem);
    ck_assert_msg(strstr(report->remedy, "--no-limit") != NULL, "%s", report->remedy);
    ck_assert_int_eq(report->quality, SYM_QUALITY_DWARF);
    sym_session_close(session);
}
END_TEST

/* ---- The account ---- */

/* A few thousand functions, some of them inlined, in several units.  */
static void build_large(void)
{
    build_run("for u in 1 2 3 4; do seq 1 250 | awk -v u=$u '{ printf "
              "\"static inline int in%d_%d(int x) { return x * %d + sink; }\\n"
              "int f%d_%d(int x) { sink = x; return in%d_%d(x) + in%d_%d(x + 1); }\\n\", "
              "u, $1, $1, u, $1, u, $1, u, $1 }' | "
              "(echo 'extern volatile int sink;'; cat) >large$u.c; done && "
              "echo 'volatile int sink;' >>large1.c && "
              "${CC:-cc} -fPIC -shared -O2 -g -o object.so large1.c large2.c large3.c large4.c");
    for (size_t i = 0; i < ADDRESSES; i++)
        vaddrs[i] = 0x1000 + 97 * i;
}

static struct sym_module *open_module(struct sym_session **session, unsigned jobs)
{
    const struct sym_options options = {
        .size = sizeof options, .debug_root = "", .no_cache = true, .jobs = jobs
    };
    const struct sym_module_key key = { .path = path };
    struct sym_module *module;

    ck_assert_int_eq(sym_session_open(&options, session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(*session, &key, &module, NULL), SYM_OK);
    return module;
}

/* -1: not known.  */
static int64_t heap_bytes(void)
{
#ifdef HAS_SANITIZER
    return -1;
#else
    struct mallinfo2 info = mallinfo2();

    return (int64_t)(info.uordblks + info.hblkhd);
#endif
}

/* What the heap has grown by is in the account, to a twentieth.  */
static void check_account(const struct sym_module *module, int64_t before, const char *when)
{
    int64_t counted = module->account.bytes, grown = heap_bytes() - before;

    if (before >= 0)
        ck_assert_msg(counted > grown - grown / 20 - 16384 && counted < grown + grown / 20 + 16384,
                      "%s: the account has %lld bytes, the heap grew by %lld", when,
                      (long long)counted, (long long)grown);
}

static void unload(struct sym_module *module)
{
    sym_module_unload(module);
    module->seat->loaded = NULL;
}

START_TEST(counts_what_it_takes)
{
    struct sym_session *session;
    size_t frames = 0;

    build_large();
    int64_t before = heap_bytes();
    struct sym_module *module = open_module(&session, 1);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, &frames, NULL),
                     SYM_OK);
    int64_t most = module->account.bytes;
    ck_assert_int_gt(most, 50000);
    check_account(module, before, "loaded");
    unload(module);
    check_account(module, before, "unloaded");
    int64_t idle = module->account.bytes;
    ck_assert_int_lt(idle, most / 2);
    for (unsigned jobs = 1; jobs <= 4; jobs++) { /* again, by several threads too */
        module->seat->jobs = jobs;
        ck_assert_int_eq(sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, &frames, NULL),
                         SYM_OK);
        unload(module);
        ck_assert_int_eq(module->account.bytes, idle);
    }
    sym_session_close(session);
}
END_TEST

/* A look-up with a limit.  1: it failed, 2: it lost something; both name what lifts the limit.  */
static int resolve_within(int64_t limit, unsigned jobs, size_t wanted)
{
    struct sym_error error = { .message = "" };
    struct sym_session *session;
    struct sym_module *module = open_module(&session, jobs);
    const struct sym_report *report = sym_module_report(module);
    size_t frames = 0;
    int result = 0;

    module->account.limit = module->account.bytes + limit;
    enum sym_status status = sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, &frames,
                                                &error);
    ck_assert_msg(status == SYM_OK || status == SYM_NO_MEMORY, "status %d", (int)status);
    if (status) {
        ck_assert_msg(strstr(error.message, "--no-limit") != NULL, "%s", error.message);
        result = 1;
    } else if (frames != wanted || report->problem[0]) {
        ck_assert_msg(strstr(report->problem, "the limit for files of that size") != NULL &&
                          strstr(report->remedy, "--no-limit") != NULL,
                      "%s; %s", report->problem, report->remedy);
        result = 2;
    }
    sym_session_close(session);
    return result;
}

START_TEST(sheds_what_exceeds_the_account)
{
    unsigned jobs = _i ? 3 : 1;
    struct sym_session *session;
    size_t wanted = 0, counts[3] = { 0 };

    build_large();
    struct sym_module *module = open_module(&session, jobs);
    ck_assert_int_eq(sym_module_resolve(module, vaddrs, ADDRESSES, count_frames, &wanted, NULL),
                     SYM_OK);
    int64_t most = module->account.bytes + 262144;
    sym_session_close(session);
    for (int64_t limit = 0; limit < most; limit += most / 31)
        counts[resolve_within(limit, jobs, wanted)]++;
    ck_assert_uint_gt(counts[0], 3);
    ck_assert_uint_le(counts[1], 2); /* where there is room for nothing at all */
    ck_assert_uint_gt(counts[2], 5);
}
END_TEST

START_TEST(gives_no_name_without_memory)
{
    char *readable;

    allocation_fail_at(0);
    readable = sym_demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE");
    unsigned long count = allocation_count();
    ck_assert_ptr_nonnull(readable);
    free(readable);
    ck_assert_uint_gt(count, 0);
    for (unsigned long n = 1; n <= count; n++) {
        allocation_fail_at(n);
        readable = sym_demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE");
        allocation_fail_at(0);
        ck_assert_ptr_null(readable);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_memory");
    TCase *tcase = tcase_create("memory");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, reports_every_failed_allocation, 0,
                        (int)(sizeof sources / sizeof sources[0]));
    tcase_add_loop_test(tcase, reports_every_failure_of_finding, 0,
                        (int)(sizeof finds / sizeof finds[0]));
    tcase_add_test(tcase, bounds_the_modules_of_a_session);
    tcase_add_test(tcase, leaves_names_out_at_the_limit);
    tcase_add_test(tcase, counts_what_it_takes);
    tcase_add_loop_test(tcase, sheds_what_exceeds_the_account, 0, 2);
    tcase_add_test(tcase, gives_no_name_without_memory);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
