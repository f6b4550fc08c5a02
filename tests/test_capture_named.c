/* Processes of a name: which are looked at, and when.  */
#include "sampler-capture/named.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static int orders[2], answers[2];
static pid_t child;
static struct named named;

/* A process of its own, which takes another name when it is told to, and says so.  */
static void setup(void)
{
    char byte;

    ck_assert_int_eq(pipe(orders), 0);
    ck_assert_int_eq(pipe(answers), 0);
    child = fork();
    if (child == 0) {
        (void)close(orders[1]);
        (void)prctl(PR_SET_NAME, "test-before");
        (void)!write(answers[1], "b", 1);
        if (read(orders[0], &byte, 1) == 1) {
            (void)prctl(PR_SET_NAME, "test-after");
            (void)!write(answers[1], "a", 1);
            (void)!read(orders[0], &byte, 1); /* until the test ends */
        }
        _exit(0);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(read(answers[0], &byte, 1), 1);
}

static void rename_child(void)
{
    char byte;

    ck_assert_int_eq(write(orders[1], "r", 1), 1);
    ck_assert_int_eq(read(answers[0], &byte, 1), 1);
}

static void tear_down(void)
{
    named_release(&named);
    (void)close(orders[1]);
    (void)waitpid(child, NULL, 0);
}

/* Whether a look at that time finds the child.  */
static bool finds(uint64_t now_ns)
{
    struct proc_ids found = { .ids = NULL };
    bool there = false;

    ck_assert(named_look(&named, now_ns, &found));
    for (size_t i = 0; i < found.count; i++)
        there |= found.ids[i] == child;
    free(found.ids);
    return there;
}

START_TEST(finds_a_process_once)
{
    named = (struct named){ .name = "test-before" };
    ck_assert(finds(5000 * MS));
    ck_assert(!finds(6000 * MS));
    ck_assert(named_lives(&named));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(!named_lives(&named));
}
END_TEST

START_TEST(reads_old_processes_once_a_second)
{
    named = (struct named){ .name = "test-after" };
    ck_assert(!finds(5000 * MS));
    rename_child();
    for (uint64_t ms = 5100; ms < 6000; ms += 100)
        ck_assert_msg(!finds(ms * MS), "it was read again after %d ms", (int)(ms - 5000));
    ck_assert(finds(6000 * MS));
}
END_TEST

START_TEST(reads_new_processes_in_each_look)
{
    named = (struct named){ .name = "test-after" };
    ck_assert(!finds(5000 * MS));
    tear_down();
    named = (struct named){ .name = "test-after" };
    ck_assert(!finds(5000 * MS));
    setup();
    ck_assert(!finds(5100 * MS));
    rename_child();
    ck_assert(finds(5200 * MS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_named");
    TCase *tcase = tcase_create("named");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, tear_down);
    tcase_add_test(tcase, finds_a_process_once);
    tcase_add_test(tcase, reads_old_processes_once_a_second);
    tcase_add_test(tcase, reads_new_processes_in_each_look);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
