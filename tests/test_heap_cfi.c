/* The fast reader of unwind tables, against the compiler's unwinder: the same callers, whatever
 * shape their frames have.  */
#include "sampler-capture/heap/shim/cfi.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define MAX_FRAMES 4096

static uint64_t fast_frames[MAX_FRAMES], sure_frames[MAX_FRAMES];
static struct cfi_walk fast = { .stack = fast_frames, .room = MAX_FRAMES };
static size_t sure_count;
static bool was_simple;

static _Unwind_Reason_Code take_sure(struct _Unwind_Context *context, void *argument)
{
    (void)argument;
    sure_frames[sure_count++] = _Unwind_GetIP(context);
    return sure_count < MAX_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// NOLINTBEGIN(bugprone-signal-handler): that it may be called there is what one test is about
__attribute__((noinline)) static int look(void)
{
    fast.count = sure_count = 0;
    was_simple = shim_cfi_walk((uintptr_t)__builtin_frame_address(0), &fast);
    (void)_Unwind_Backtrace(take_sure, NULL);
    return (int)fast.count;
}
// NOLINTEND(bugprone-signal-handler)

/* The compiler's unwinder begins with look() itself, and may end with a 0.  */
static void compare(void)
{
#ifdef __x86_64__
    ck_assert(was_simple);
#else
    ck_assert(!was_simple);
    return;
#endif
    while (sure_count > 0 && sure_frames[sure_count - 1] == 0)
        sure_count--;
    ck_assert_uint_eq(fast.count, sure_count - 1);
    ck_assert_mem_eq(fast_frames, sure_frames + 1, fast.count * sizeof *fast_frames);
}

START_TEST(walks_plain_frames)
{
    ck_assert_int_ge(look(), 3);
    compare();
    ck_assert_int_ge(look(), 3); /* by the rules it has kept */
    compare();
}
END_TEST

__attribute__((noinline)) static int recurse(int depth)
{
    volatile char room[40];
    int result;

    room[depth % 40] = 1;
    result = depth > 0 ? recurse(depth - 1) : look();
    return result + room[depth % 40];
}

START_TEST(walks_deep_recursion)
{
    (void)recurse(1000);
    compare();
    ck_assert_uint_gt(fast.count, 1000);
}
END_TEST

/* Frames whose size is known when they run: found by rbp.  */
__attribute__((noinline)) static int with_alloca(size_t size)
{
    volatile char *room = __builtin_alloca(size);
    int result;

    room[0] = 1;
    result = size > 16 ? with_alloca(size / 2) : look();
    return result + room[0];
}

START_TEST(walks_frames_of_variable_size)
{
    (void)with_alloca(5000);
    compare();
}
END_TEST

/* Larger than what other stacks than the thread's own may have.  */
__attribute__((noinline)) static int with_large_frame(void)
{
    volatile char room[3 << 20];
    int result;

    room[0] = 1;
    result = look();
    return result + room[0];
}

static void *look_in_large_frame(void *argument)
{
    (void)with_large_frame();
    return argument;
}

START_TEST(walks_frames_of_megabytes)
{
    pthread_t id;

    (void)with_large_frame();
    compare();
    (void)recurse(3); /* what was learned of the deeper stack holds */
    compare();
    ck_assert_int_eq(pthread_create(&id, NULL, look_in_large_frame, NULL), 0);
    ck_assert_int_eq(pthread_join(id, NULL), 0);
    compare();
}
END_TEST

static int compare_looking(const void *a, const void *b)
{
    (void)look();
    return *(const int *)a - *(const int *)b;
}

START_TEST(walks_through_libraries)
{
    int numbers[] = { 5, 3, 9, 1, 7 };

    qsort(numbers, 5, sizeof *numbers, compare_looking);
    compare();
}
END_TEST

static void *look_in_thread(void *argument)
{
    (void)recurse(10);
    return argument;
}

START_TEST(ends_where_a_thread_begins)
{
    pthread_t id;

    ck_assert_int_eq(pthread_create(&id, NULL, look_in_thread, NULL), 0);
    ck_assert_int_eq(pthread_join(id, NULL), 0);
    compare();
}
END_TEST

static void on_signal(int number)
{
    (void)number;
    (void)look();
}

/* Their table restores registers by expressions.  */
START_TEST(leaves_signal_frames_to_others)
{
    ck_assert(signal(SIGUSR1, on_signal) != SIG_ERR);
    ck_assert_int_eq(raise(SIGUSR1), 0);
    ck_assert(!was_simple);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap_cfi");
    TCase *tcase = tcase_create("cfi");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, walks_plain_frames);
    tcase_add_test(tcase, walks_deep_recursion);
    tcase_add_test(tcase, walks_frames_of_variable_size);
    tcase_add_test(tcase, walks_frames_of_megabytes);
    tcase_add_test(tcase, walks_through_libraries);
    tcase_add_test(tcase, ends_where_a_thread_begins);
    tcase_add_test(tcase, leaves_signal_frames_to_others);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
