/* Processes and threads of a capture, driven by records made by hand.  */
#include "sampler-capture/processes.h"
#include "tests/support/allocation.h"
#include "tests/support/perf_bytes.h"

#include <check.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND ((uint64_t)1 << 32) /* what the second incarnation adds to an id */

static struct process_table table;
static struct perf_bytes bytes;

static void setup(void)
{
    memset(&table, 0, sizeof table);
    bytes.size = 0;
}

static void teardown(void)
{
    processes_release(&table);
}

/* Apply what was put into bytes.  */
static bool apply(void)
{
    struct perf_record record;
    size_t size = bytes.size;

    bytes.size = 0;
    ck_assert(perf_record_parse(bytes.bytes, size, &record));
    return processes_apply(&table, &record);
}

static void exec(uint32_t pid, const char *name)
{
    perf_bytes_name(&bytes, pid, pid, 1, name, true);
    ck_assert(apply());
}

static void rename_task(uint32_t pid, uint32_t tid, const char *name)
{
    perf_bytes_name(&bytes, pid, tid, 1, name, false);
    ck_assert(apply());
}

static void fork_process(uint32_t pid, uint32_t parent)
{
    perf_bytes_fork(&bytes, pid, parent, pid, parent, 50);
    ck_assert(apply());
}

static void make_thread(uint32_t pid, uint32_t tid)
{
    perf_bytes_fork(&bytes, pid, pid, tid, pid, 60);
    ck_assert(apply());
}

static void end(uint32_t pid, uint32_t tid)
{
    perf_bytes_exit(&bytes, pid, tid, 70);
    ck_assert(apply());
}

static void map_file(uint32_t pid, uint64_t start, const char *name)
{
    perf_bytes_map(&bytes, (struct perf_bytes_map){ .pid = pid,
                                                    .tid = pid,
                                                    .time_ns = 40,
                                                    .start = start,
                                                    .length = 0x1000,
                                                    .file_offset = 0x5000,
                                                    .name = name,
                                                    .build_id = "abcdefghijklmnopqrst" });
    ck_assert(apply());
}

static struct thread *thread_of(uint32_t pid, uint32_t tid)
{
    struct thread *thread = processes_thread(&table, pid, tid);

    ck_assert_ptr_nonnull(thread);
    return thread;
}

START_TEST(the_first_program_of_a_pid_has_its_koid)
{
    exec(100, "make");
    ck_assert_uint_eq(thread_of(100, 100)->name.koid, 100);
    ck_assert_uint_eq(thread_of(100, 100)->process->koid, 100);
    ck_assert_str_eq(thread_of(100, 100)->name.text, "make");
    ck_assert_str_eq(thread_of(100, 100)->process->name, "make");
}
END_TEST

START_TEST(a_fork_copies_name_and_mappings)
{
    exec(100, "make");
    map_file(100, 0x10000, "/nowhere/make");
    fork_process(101, 100);
    ck_assert_uint_eq(thread_of(101, 101)->process->koid, 101);
    ck_assert_str_eq(thread_of(101, 101)->process->name, "make");
    ck_assert_uint_eq(thread_of(101, 101)->process->map.count, 1);
    ck_assert_uint_eq(thread_of(101, 101)->process->map.mappings[0].start, 0x10000);
    ck_assert_uint_eq(thread_of(101, 101)->process->map.mappings[0].time_ns, 50);
    map_file(101, 0x20000, "/nowhere/plugin"); /* the child's alone */
    ck_assert_uint_eq(thread_of(100, 100)->process->map.count, 1);
}
END_TEST

START_TEST(an_exec_is_a_new_incarnation_without_mappings)
{
    exec(100, "make");
    map_file(100, 0x10000, "/nowhere/make");
    fork_process(101, 100);
    exec(101, "cc1");
    ck_assert_uint_eq(thread_of(101, 101)->process->koid, 101 + SECOND);
    ck_assert_uint_eq(thread_of(101, 101)->name.koid, 101 + SECOND);
    ck_assert_str_eq(thread_of(101, 101)->process->name, "cc1");
    ck_assert_uint_eq(thread_of(101, 101)->process->map.count, 0);
    exec(101, "as");
    ck_assert_uint_eq(thread_of(101, 101)->process->koid, 101 + 2 * SECOND);
}
END_TEST

START_TEST(a_pid_used_again_is_a_new_incarnation)
{
    exec(100, "make");
    fork_process(101, 100);
    end(101, 101);
    fork_process(101, 100);
    ck_assert_uint_eq(thread_of(101, 101)->process->koid, 101 + SECOND);
    ck_assert_uint_eq(thread_of(101, 101)->name.koid, 101 + SECOND);
}
END_TEST

START_TEST(a_pid_used_again_after_a_lost_exit_is_one_too)
{
    exec(100, "make");
    fork_process(101, 100);
    make_thread(101, 102);
    fork_process(101, 100);
    ck_assert_uint_eq(thread_of(101, 101)->process->koid, 101 + SECOND);
    ck_assert_uint_eq(thread_of(100, 100)->name.koid, 100);
    make_thread(100, 102); /* once a thread of the process that went */
    ck_assert_uint_eq(thread_of(100, 102)->name.koid, 102 + SECOND);
}
END_TEST

START_TEST(threads_share_process_and_have_names_of_their_own)
{
    exec(100, "server");
    make_thread(100, 105);
    ck_assert_str_eq(thread_of(100, 105)->name.text, "server");
    rename_task(100, 105, "worker");
    ck_assert_str_eq(thread_of(100, 105)->name.text, "worker");
    ck_assert_str_eq(thread_of(100, 100)->name.text, "server");
    ck_assert_str_eq(thread_of(100, 100)->process->name, "server");
    ck_assert_ptr_eq(thread_of(100, 105)->process, thread_of(100, 100)->process);
    rename_task(100, 100, "main"); /* the first thread names the process */
    ck_assert_str_eq(thread_of(100, 100)->process->name, "main");
}
END_TEST

START_TEST(a_new_name_is_to_be_written_and_the_same_is_not)
{
    struct thread *thread;

    exec(100, "server");
    thread = thread_of(100, 100);
    thread->name.written = thread->process->name_written = true;
    rename_task(100, 100, "server");
    ck_assert(thread->name.written && thread->process->name_written);
    rename_task(100, 100, "other");
    ck_assert(!thread->name.written && !thread->process->name_written);
}
END_TEST

START_TEST(a_process_lives_as_long_as_its_last_thread)
{
    exec(100, "server");
    map_file(100, 0x10000, "/nowhere/server");
    make_thread(100, 105);
    end(100, 100);
    ck_assert_uint_eq(thread_of(100, 105)->process->map.count, 1);
    ck_assert_uint_eq(thread_of(100, 105)->process->koid, 100);
    end(100, 105);
    ck_assert_ptr_null(id_table_find(&table.processes, 100));
    ck_assert_ptr_null(id_table_find(&table.threads, 105));
}
END_TEST

START_TEST(an_exec_by_another_thread_leaves_the_one_with_the_pid)
{
    exec(100, "server");
    make_thread(100, 105);
    make_thread(100, 106);
    end(100, 106);
    end(100, 100);        /* the first thread makes way */
    exec(100, "program"); /* thread 105 has its tid now */
    ck_assert_ptr_null(id_table_find(&table.threads, 105));
    ck_assert_uint_eq(thread_of(100, 100)->name.koid, 100 + SECOND);
    ck_assert_str_eq(thread_of(100, 100)->name.text, "program");
    ck_assert_ptr_null(thread_of(100, 100)->next);
}
END_TEST

START_TEST(what_was_never_announced_is_made_up)
{
    struct thread *thread = thread_of(4000000, 4000001); /* above any pid_max */

    ck_assert_uint_eq(thread->name.koid, 4000001);
    ck_assert_uint_eq(thread->process->koid, 4000000);
    end(4000000, 4000002); /* nobody */
    ck_assert_ptr_eq(thread_of(4000000, 4000001), thread);
}
END_TEST

START_TEST(a_tid_seen_in_another_process_moves_there)
{
    exec(100, "one");
    exec(200, "two");
    make_thread(100, 150);
    ck_assert_uint_eq(thread_of(200, 150)->name.koid, 150 + SECOND);
    ck_assert_uint_eq(thread_of(200, 150)->process->koid, 200);
    ck_assert_ptr_null(thread_of(100, 100)->next);
}
END_TEST

static const struct {
    const char *name;
    bool is_module;
} names[] = {
    { "/usr/bin/make", true },
    { "/memfd:doublemapper (deleted)", true },
    { "[vdso]", true },
    { "[uprobes]", true },
    { "//anon", false },
    { "[heap]", false },
    { "[stack]", false },
    { "[stack:105]", false },
    { "/dev/zero (deleted)", false },
    { "/anon_hugepage (deleted)", false },
    { "", false },
};

START_TEST(code_of_no_file_has_no_module)
{
    exec(100, "java");
    map_file(100, 0x10000, names[_i].name);
    ck_assert_uint_eq(thread_of(100, 100)->process->map.count, 1);
    ck_assert_msg(!thread_of(100, 100)->process->map.mappings[0].module == !names[_i].is_module,
                  "%s", names[_i].name);
}
END_TEST

START_TEST(one_file_is_one_module_in_all_processes)
{
    const struct module *module;

    exec(100, "a");
    exec(200, "b");
    map_file(100, 0x10000, "/nowhere/lib.so");
    map_file(200, 0x70000, "/nowhere/lib.so (deleted)");
    map_file(200, 0x90000, "/nowhere/other.so");
    module = thread_of(100, 100)->process->map.mappings[0].module;
    ck_assert_str_eq(module->name, "/nowhere/lib.so");
    ck_assert_ptr_eq(thread_of(200, 200)->process->map.mappings[0].module, module);
    ck_assert_ptr_ne(thread_of(200, 200)->process->map.mappings[1].module, module);
    ck_assert_uint_eq(module->image.build_id_size, 20);
    ck_assert_mem_eq(module->image.build_id, "abcdefghijklmnopqrst", 20);
}
END_TEST

START_TEST(a_file_that_is_gone_leaves_file_offsets_and_a_count)
{
    exec(100, "a");
    map_file(100, 0x10000, "/nowhere/lib.so");
    ck_assert_uint_eq(thread_of(100, 100)->process->map.mappings[0].vaddr, 0x5000);
    ck_assert_uint_eq(table.modules.unplaced, 1);
}
END_TEST

START_TEST(a_file_with_another_build_id_is_not_believed)
{
    exec(100, "a");
    map_file(100, 0x10000, "/proc/self/exe");
    ck_assert_uint_eq(table.modules.unplaced, 1);
}
END_TEST

/* After a loss mappings are read again from /proc, which has no build IDs, and where two that
 * follow each other are one.  */
START_TEST(a_mapping_that_is_read_again_is_counted_once)
{
    const struct perf_bytes_map again = { .pid = 100,
                                          .tid = 100,
                                          .start = 0x10000,
                                          .length = 0x20000,
                                          .file_offset = 0x5000,
                                          .name = "/nowhere/lib.so",
                                          .inode = 7 };

    exec(100, "a");
    map_file(100, 0x10000, "/nowhere/lib.so");
    perf_bytes_map(&bytes, again);
    ck_assert(apply());
    ck_assert_uint_eq(table.modules.unplaced, 1);
}
END_TEST

/* What we see under a path is not what a process in a container, which has ended, had there.  */
START_TEST(our_file_is_not_that_of_a_container)
{
    const struct perf_bytes_map map = { .pid = 4194304, /* no process can have it */
                                        .tid = 4194304,
                                        .start = 0x10000,
                                        .length = 0x1000,
                                        .name = "/proc/self/exe",
                                        .inode = 7 };

    perf_bytes_map(&bytes, map);
    ck_assert(apply());
    ck_assert_uint_eq(table.modules.unplaced, 1);
}
END_TEST

START_TEST(the_vdso_is_our_own)
{
    perf_bytes_map(
        &bytes,
        (struct perf_bytes_map){
            .pid = 100, .tid = 100, .start = 0x7fff00000000, .length = 0x2000, .name = "[vdso]" });
    ck_assert(apply());
    ck_assert_uint_eq(table.modules.unplaced, 0);
    ck_assert_uint_gt(thread_of(100, 100)->process->map.mappings[0].module->image.build_id_size, 0);
}
END_TEST

START_TEST(the_vdso_of_a_32_bit_process_is_not_ours)
{
    map_file(100, 0xf7000000, "[vdso]");
    ck_assert_uint_eq(table.modules.unplaced, 1);
}
END_TEST

START_TEST(thousands_of_files_stay_apart)
{
    char name[32];

    exec(100, "a");
    for (unsigned i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof name, "/nowhere/%u.so", i);
        map_file(100, 0x10000 + (uint64_t)i * 0x1000, name);
    }
    ck_assert_uint_eq(table.modules.count, 3000);
    map_file(200, 0x10000, "/nowhere/1234.so");
    ck_assert_uint_eq(table.modules.count, 3000);
    ck_assert_str_eq(thread_of(200, 200)->process->map.mappings[0].module->name,
                     "/nowhere/1234.so");
}
END_TEST

START_TEST(module_numbers_are_those_of_the_file_while_they_last)
{
    struct process process = { .koid = 1 };
    const struct module early = { .serial = 7 }, late = { .serial = 70000 };
    const struct module latest = { .serial = 70001 }, seven = { .serial = 1 };
    uint16_t id = 0;
    bool is_new = false;

    ck_assert(process_module_id(&process, &early, &id, &is_new));
    ck_assert(is_new && id == 7);
    ck_assert(process_module_id(&process, &early, &id, &is_new));
    ck_assert(!is_new && id == 7);
    ck_assert(process_module_id(&process, &late, &id, &is_new));
    ck_assert(is_new && id == 0);
    ck_assert(process_module_id(&process, &latest, &id, &is_new));
    ck_assert(is_new && id == 1);
    ck_assert(process_module_id(&process, &seven, &id, &is_new)); /* its number is taken */
    ck_assert(is_new && id == 2);
    ck_assert(process_module_id(&process, &late, &id, &is_new));
    ck_assert(!is_new && id == 0);
    free(process.known);
}
END_TEST

/* A fork, an exec and a mapping.  No assertions: they allocate too.  */
static bool apply_three(void)
{
    static struct perf_bytes records[3];
    struct perf_record record;

    memset(records, 0, sizeof records);
    perf_bytes_fork(&records[0], 101, 100, 101, 100, 1);
    perf_bytes_name(&records[1], 101, 101, 2, "cc1", true);
    perf_bytes_map(
        &records[2],
        (struct perf_bytes_map){
            .pid = 101, .tid = 101, .start = 0x20000, .length = 0x1000, .name = "/nowhere/cc1" });
    for (int i = 0; i < 3; i++)
        if (!perf_record_parse(records[i].bytes, records[i].size, &record) ||
            !processes_apply(&table, &record))
            return false;
    return true;
}

START_TEST(reports_that_there_is_no_memory)
{
    unsigned long asked;
    bool fine;

    for (unsigned long n = 1;; n++) {
        teardown();
        setup();
        exec(100, "make");
        map_file(100, 0x10000, "/nowhere/make");
        allocation_fail_at(n);
        fine = apply_three();
        asked = allocation_count();
        allocation_fail_at(0);
        if (asked < n)
            break;
        ck_assert_msg(!fine, "allocation %lu failed unnoticed", n);
    }
    ck_assert(fine);
    ck_assert_uint_ge(asked, 4);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, the_first_program_of_a_pid_has_its_koid);
    tcase_add_test(tcase, a_fork_copies_name_and_mappings);
    tcase_add_test(tcase, an_exec_is_a_new_incarnation_without_mappings);
    tcase_add_test(tcase, a_pid_used_again_is_a_new_incarnation);
    tcase_add_test(tcase, a_pid_used_again_after_a_lost_exit_is_one_too);
    tcase_add_test(tcase, threads_share_process_and_have_names_of_their_own);
    tcase_add_test(tcase, a_new_name_is_to_be_written_and_the_same_is_not);
    tcase_add_test(tcase, a_process_lives_as_long_as_its_last_thread);
    tcase_add_test(tcase, an_exec_by_another_thread_leaves_the_one_with_the_pid);
    tcase_add_test(tcase, what_was_never_announced_is_made_up);
    tcase_add_test(tcase, a_tid_seen_in_another_process_moves_there);
    tcase_add_loop_test(tcase, code_of_no_file_has_no_module, 0, sizeof names / sizeof *names);
    tcase_add_test(tcase, one_file_is_one_module_in_all_processes);
    tcase_add_test(tcase, a_file_that_is_gone_leaves_file_offsets_and_a_count);
    tcase_add_test(tcase, a_file_with_another_build_id_is_not_believed);
    tcase_add_test(tcase, a_mapping_that_is_read_again_is_counted_once);
    tcase_add_test(tcase, our_file_is_not_that_of_a_container);
    tcase_add_test(tcase, the_vdso_is_our_own);
    tcase_add_test(tcase, the_vdso_of_a_32_bit_process_is_not_ours);
    tcase_add_test(tcase, thousands_of_files_stay_apart);
    tcase_add_test(tcase, module_numbers_are_those_of_the_file_while_they_last);
    tcase_add_test(tcase, reports_that_there_is_no_memory);
}

int main(void)
{
    Suite *suite = suite_create("capture_processes");
    TCase *tcase = tcase_create("processes");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    add_tests(tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
