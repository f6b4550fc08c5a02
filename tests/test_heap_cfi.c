/* The fast reader of unwind tables, against the compiler's unwinder: the same callers, whatever
 * shape their frames have.  */
#include "sampler-capture/heap/shim/shim_cfi.h"

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
static bool was_walked;

static _Unwind_Reason_Code take_sure(struct _Unwind_Context *context, void *argument)
{
    int exact = 0; /* a signal arrived there: no call precedes the address */

    (void)argument;
    if (_Unwind_GetIPInfo(context, &exact) != 0 && exact)
        sure_frames[sure_count - 1]++; /* nor one that to which the handler returns */
    sure_frames[sure_count++] = _Unwind_GetIPInfo(context, &exact) + (uint64_t)exact;
    return sure_count < MAX_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// NOLINTBEGIN(bugprone-signal-handler): that it may be called there is what one test is about
__attribute__((noinline)) static int look(void)
{
    fast.count = sure_count = 0;
    was_walked = shim_cfi_walk((uintptr_t)__builtin_frame_address(0), &fast);
    (void)_Unwind_Backtrace(take_sure, NULL);
    return (int)fast.count;
}
// NOLINTEND(bugprone-signal-handler)

/* The compiler's unwinder begins with look() itself, and may end with a 0.  */
static void compare(void)
{
#ifdef __x86_64__
    ck_assert(was_walked);
#else
    ck_assert(!was_walked);
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
    (void)recurse(2);
}

/* Their table restores registers by expressions; each row: on a stack of its own or not.  */
START_TEST(walks_signal_frames)
{
    static char room[65536];
    const stack_t stack = { .ss_sp = room, .ss_size = sizeof room };
    const struct sigaction action = { .sa_handler = on_signal, .sa_flags = _i ? SA_ONSTACK : 0 };

    ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(raise(SIGUSR1), 0);
    compare();
    ck_assert_uint_gt(fast.count, 7);
}
END_TEST

/* A stack that is realigned has its frame address in memory; the function before needs what it
 * saved of the other registers.  */
__attribute__((noinline)) static int realign(size_t size)
{
    volatile char room[64] __attribute__((aligned(64)));
    volatile char *more = __builtin_alloca(size);
    int result;

    room[0] = more[0] = 1;
    result = size > 16 ? realign(size / 2) : look();
    return result + room[0] + more[0];
}

static int compare_realigning(const void *a, const void *b)
{
    (void)realign(500);
    return *(const int *)a - *(const int *)b;
}

START_TEST(walks_realigned_frames)
{
    int numbers[] = { 5, 3, 9, 1, 7 };

    (void)realign(3000);
    compare();
    qsort(numbers, 5, sizeof *numbers, compare_realigning);
    compare();
}
END_TEST

#ifdef __x86_64__

/* Tables by hand, of every kind: the frame address in another register and by an expression, and
 * rbx in a register, as a value, by an expression and by none.  */
int odd_tables(int (*call)(void));
__asm__(".text\n"
        ".type odd_tables, @function\n"
        "odd_tables: .cfi_startproc\n"
        "push %rbx\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_offset %rbx, -16\n"
        "push %r12\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_offset %r12, -24\n"
        "push %r13\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_escape 0x10, 13, 2, 0x77, 0\n" /* r13: saved at breg7 0 */
        "mov %rsp, %r12\n"
        ".cfi_def_cfa_register %r12\n"
        "mov %rbx, %r13\n"
        ".cfi_register %rbx, %r13\n"
        "sub $3000, %rsp\n"
        "and $-64, %rsp\n"
        "push %rdi\n"
        "push %rdi\n"
        "call *%rdi\n"
        "mov (%rsp), %rdi\n"
        /* breg12 16; lit2; lit3; shl; plus; const1s -8; const1u 8; plus; plus: 32 more than r12 */
        ".cfi_escape 0x0f, 12, 0x7c, 16, 0x32, 0x33, 0x24, 0x22, 0x09, 0xf8, 0x08, 0x08, 0x22, "
        "0x22\n"
        ".cfi_escape 0x16, 3, 2, 0x7d, 0\n" /* rbx: the value breg13 0 */
        "call *%rdi\n"
        "mov %r12, %rsp\n"
        ".cfi_def_cfa %rsp, 32\n"
        ".cfi_same_value %rbx\n"
        "pop %r13\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore %r13\n"
        "pop %r12\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore %r12\n"
        "pop %rbx\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore %rbx\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size odd_tables, . - odd_tables\n");

static int look_and_compare(void)
{
    (void)realign(100);
    compare();
    return 0;
}

START_TEST(walks_by_tables_of_every_kind)
{
    (void)odd_tables(look_and_compare);
}
END_TEST

#endif

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
    tcase_add_loop_test(tcase, walks_signal_frames, 0, 2);
    tcase_add_test(tcase, walks_realigned_frames);
#ifdef __x86_64__
    tcase_add_test(tcase, walks_by_tables_of_every_kind);
#endif
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
