/* Stacks of this very process, against the compiler's unwinder: the same callers at each
 * instruction, whatever shape the frames have.  */
#include "tests/support/unwind_self.h"

#include <alloca.h>
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#ifdef __x86_64__

#define MAX_FRAMES 512

static uint64_t addresses[MAX_FRAMES], sure[MAX_FRAMES];
static uint8_t found[MAX_FRAMES];
static struct unwind_stack stack = { .addresses = addresses,
                                     .found = found,
                                     .capacity = MAX_FRAMES };
static size_t sure_count;

static _Unwind_Reason_Code take_sure(struct _Unwind_Context *context, void *argument)
{
    uint64_t pc = _Unwind_GetIP(context);

    (void)argument;
    if (pc != 0)
        sure[sure_count++] = pc;
    return sure_count < MAX_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static uint64_t stack_top; /* of the stack that runs */

static void find_top(void)
{
    pthread_attr_t attributes;
    void *base;
    size_t size;

    ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
    ck_assert_int_eq(pthread_attr_getstack(&attributes, &base, &size), 0);
    stack_top = (uint64_t)(uintptr_t)base + size;
    (void)pthread_attr_destroy(&attributes);
}

/* ---- Where a function calls ---- */

/* The compiler's unwinder begins with its own caller, look(); so does ours.  */
__attribute__((noinline)) static void look(void)
{
    ucontext_t context;

    sure_count = 0;
    (void)getcontext(&context);
    (void)_Unwind_Backtrace(take_sure, NULL);
    ck_assert_int_eq(unwind_self_walk(&context, stack_top, SIZE_MAX, &stack), UNWIND_OK);
    ck_assert_msg(stack.end == UNWIND_END_COMPLETE, "%s at %lx", unwind_end_name(stack.end),
                  stack.end_address);
    ck_assert_uint_eq(stack.count, sure_count);
    ck_assert_mem_eq(addresses + 1, sure + 1, (stack.count - 1) * sizeof *addresses);
}

START_TEST(walks_plain_frames)
{
    look();
    ck_assert_uint_ge(stack.count, 4);
    for (size_t i = 0; i < stack.count; i++)
        ck_assert_int_eq(found[i], i ? UNWIND_FOUND_TABLE : UNWIND_FOUND_REGISTERS);
    look(); /* by the rules it has kept */
}
END_TEST

__attribute__((noinline)) static int recurse(int depth)
{
    volatile char room[64];

    room[0] = (char)depth;
    if (depth == 0)
        look();
    else
        (void)recurse(depth - 1);
    return room[0];
}

START_TEST(walks_deep_recursion)
{
    (void)recurse(400);
    ck_assert_uint_ge(stack.count, 400);
}
END_TEST

__attribute__((noinline)) static int vary(size_t size)
{
    volatile char *room = alloca(size);

    room[size - 1] = 1;
    look();
    return room[size - 1];
}

START_TEST(walks_frames_of_variable_size)
{
    for (size_t size = 1; size < 100000; size = size * 3 + 7)
        (void)vary(size);
}
END_TEST

__attribute__((noinline)) static void realign(void)
{
    _Alignas(128) volatile char room[256];

    room[0] = 1;
    look();
    room[1] = room[0];
}

START_TEST(walks_realigned_frames)
{
    realign();
}
END_TEST

static int compare_looking(const void *left, const void *right)
{
    look();
    return *(const int *)left - *(const int *)right;
}

START_TEST(walks_through_libraries)
{
    int numbers[] = { 3, 1, 2 };

    qsort(numbers, 3, sizeof *numbers, compare_looking);
}
END_TEST

static void *begin_thread(void *argument)
{
    find_top();
    look();
    return argument;
}

START_TEST(ends_where_a_thread_begins)
{
    pthread_t thread;
    uint64_t top = stack_top;

    ck_assert_int_eq(pthread_create(&thread, NULL, begin_thread, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    stack_top = top;
}
END_TEST

static ucontext_t outside, inside;
static char coroutine_stack[1 << 16];

static void coroutine(void)
{
    look();
}

START_TEST(ends_where_a_coroutine_begins)
{
    uint64_t top = stack_top;

    ck_assert_int_eq(getcontext(&inside), 0);
    inside.uc_stack.ss_sp = coroutine_stack;
    inside.uc_stack.ss_size = sizeof coroutine_stack;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    stack_top = (uint64_t)(uintptr_t)(coroutine_stack + sizeof coroutine_stack);
    ck_assert_int_eq(swapcontext(&outside, &inside), 0);
    stack_top = top;
}
END_TEST

// NOLINTBEGIN(bugprone-signal-handler): what is called here is what is tested
static void handle_looking(int number)
{
    (void)number;
    look();
}
// NOLINTEND(bugprone-signal-handler)

/* The address to which the handler of a signal returns.  */
static uint64_t trampoline_of(int number)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        uint64_t restorer, mask;
    } action;

    ck_assert_int_eq(syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask), 0);
    return action.restorer;
}

START_TEST(walks_signal_frames)
{
    struct sigaction action = { .sa_handler = handle_looking };
    size_t signals = 0, trampolines = 0;

    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(raise(SIGUSR1), 0);
    for (size_t i = 0; i < stack.count; i++) {
        signals += found[i] == UNWIND_FOUND_SIGNAL;
        if (found[i] != UNWIND_FOUND_TRAMPOLINE)
            continue;
        trampolines++;
        ck_assert_int_eq(found[i + 1], UNWIND_FOUND_SIGNAL);
        ck_assert_uint_eq(unwind_lookup_address(&stack, i), trampoline_of(SIGUSR1));
    }
    ck_assert_uint_eq(signals, 1);
    ck_assert_uint_eq(trampolines, 1);
    (void)signal(SIGUSR1, SIG_DFL);
}
END_TEST

/* The address after the system call of a function; 0 if its first instructions make none.  */
static uint64_t after_system_call(const uint8_t *code)
{
    for (size_t i = 0; i < 32; i++)
        if (memcmp(code + i, "\x0f\x05", 2) == 0) /* syscall */
            return (uint64_t)(uintptr_t)(code + i + 2);
    return 0;
}

/* vfork() makes its system call with the return address in a register: the child returns first, and
 * what it calls then would overwrite the stack.  Its rows say so.  */
START_TEST(walks_from_a_return_address_in_a_register)
{
    const uint8_t *code = dlsym(RTLD_DEFAULT, "vfork");
    ucontext_t context;

    ck_assert_ptr_nonnull(code);
    if (after_system_call(code) == 0)
        return; /* another C library */
    ck_assert_int_eq(getcontext(&context), 0);
    context.uc_mcontext.gregs[REG_RDI] = context.uc_mcontext.gregs[REG_RIP];
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)after_system_call(code);
    ck_assert_int_eq(unwind_self_walk(&context, stack_top, SIZE_MAX, &stack), UNWIND_OK);
    ck_assert_msg(stack.end == UNWIND_END_COMPLETE, "%s", unwind_end_name(stack.end));
    ck_assert_uint_ge(stack.count, 4);
    ck_assert_uint_eq(addresses[1], (uint64_t)context.uc_mcontext.gregs[REG_RDI]);
}
END_TEST

/* ---- At each instruction ---- */

#define TRAP_FLAG 0x100

static volatile sig_atomic_t stepping;
static size_t steps, failures;
static uint64_t callers[MAX_FRAMES]; /* of the last step that the compiler's unwinder could walk */
static size_t caller_count;
static unsigned counts[UNWIND_END_COUNT], ways[8];
static char first_failure[200];

static bool agrees(size_t first)
{
    return stack.count == sure_count - first &&
           memcmp(addresses, sure + first, stack.count * sizeof *addresses) == 0;
}

/* lld writes no tables for the jumps to libraries, where the compiler's unwinder has no caller.  A
 * function calls or jumps there: its callers, and itself or not, are those of the step before.  */
static bool agrees_with_the_step_before(void)
{
    size_t own = stack.count - caller_count;

    return stack.count > caller_count && own <= 2 && caller_count > 0 &&
           memcmp(addresses + own, callers, caller_count * sizeof *callers) == 0;
}

static void keep_callers(size_t first)
{
    caller_count = sure_count - first - 1;
    memcpy(callers, sure + first + 1, caller_count * sizeof *callers);
}

/* The frames that the compiler's unwinder gives, from the interrupted one on.  It walks this
 * handler first, so the interrupted function is the first frame after that which has the context's
 * address.  */
static void check_step(const ucontext_t *context)
{
    uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    size_t first = 0;

    sure_count = 0;
    (void)_Unwind_Backtrace(take_sure, NULL);
    while (first < sure_count && sure[first] != pc)
        first++;
    (void)unwind_self_walk(context, stack_top, SIZE_MAX, &stack);
    counts[stack.end]++;
    for (size_t i = 0; i < stack.count; i++)
        ways[found[i]]++;
    steps++;
    if (sure_count - first == 1 ? agrees_with_the_step_before() : agrees(first)) {
        if (sure_count - first > 1)
            keep_callers(first);
        return;
    }
    if (failures++ == 0)
        (void)snprintf(first_failure, sizeof first_failure,
                       "at %lx: %s after %zu frames, the other %zu", pc, unwind_end_name(stack.end),
                       stack.count, sure_count - first);
}

// NOLINTBEGIN(bugprone-signal-handler): the code that is stepped through allocates nothing itself
static void handle_step(int number, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;

    (void)number, (void)info;
    if (stepping)
        check_step(context);
    else
        context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}
// NOLINTEND(bugprone-signal-handler)

static void step_through(void (*function)(void))
{
    struct sigaction action = { .sa_sigaction = handle_step, .sa_flags = SA_SIGINFO };

    steps = failures = caller_count = 0;
    memset(counts, 0, sizeof counts);
    memset(ways, 0, sizeof ways);
    ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
    stepping = 1;
    __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
    function();
    stepping = 0;
    __asm__ volatile("nop" ::: "memory");
    (void)signal(SIGTRAP, SIG_DFL);
    ck_assert_msg(failures == 0, "%zu of %zu: %s", failures, steps, first_failure);
    /* GCC's tables for the epilogues of realigned functions with AddressSanitizer are wrong.  */
    ck_assert_uint_ge(counts[UNWIND_END_COMPLETE], steps - steps / 50);
}

static int compare_numbers(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

static void use_strings(void)
{
    static char room[4096];
    char text[64];

    for (size_t size = 1; size < sizeof room / 2; size = size * 2 + 1) {
        memset(room, 'x', size);
        room[size] = '\0';
        memcpy(room + sizeof room / 2, room, size);
        (void)strlen(room);
        (void)strchr(room, 'y');
        (void)memcmp(room, room + sizeof room / 2, size);
    }
    (void)snprintf(text, sizeof text, "%d %s %g", 42, "words", 1.5);
    (void)strtod(text, NULL);
}

static void use_callbacks(void)
{
    int numbers[] = { 5, 3, 9, 1, 7, 2, 8 };

    qsort(numbers, 7, sizeof *numbers, compare_numbers);
    (void)bsearch(&numbers[2], numbers, 7, sizeof *numbers, compare_numbers);
}

static void use_frames(void)
{
    volatile size_t size = 100;
    volatile char *room = alloca(size);
    _Alignas(64) volatile char aligned[64];

    room[0] = 1;
    aligned[0] = room[0];
    room[1] = aligned[0];
}

static void use_vdso(void)
{
    struct timespec now;
    struct timeval day;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)gettimeofday(&day, NULL);
}

static const struct {
    const char *name;
    void (*function)(void);
    size_t least;
} stepped[] = {
    { "string functions and printf", use_strings, 1000 },
    { "callbacks", use_callbacks, 300 },
    { "frames of variable size", use_frames, 20 },
    { "the vDSO", use_vdso, 50 },
};

START_TEST(finds_callers_at_each_instruction)
{
    step_through(stepped[_i].function);
    ck_assert_uint_ge(steps, stepped[_i].least);
}
END_TEST

/* ---- Ends ---- */

START_TEST(ends_with_the_copy_of_the_stack)
{
    ucontext_t context;

    (void)getcontext(&context);
    for (size_t size = 0; size < 64; size += 8) {
        ck_assert_int_eq(unwind_self_walk(&context, stack_top, size, &stack), UNWIND_OK);
        ck_assert_int_eq(stack.end, UNWIND_END_NO_STACK);
        ck_assert_uint_le(stack.depth_bytes, size);
        ck_assert_uint_ge(stack.count, 1);
    }
}
END_TEST

START_TEST(says_how_deep_it_read)
{
    ucontext_t context;
    uint64_t depth;

    (void)getcontext(&context);
    ck_assert_int_eq(unwind_self_walk(&context, stack_top, SIZE_MAX, &stack), UNWIND_OK);
    ck_assert_int_eq(stack.end, UNWIND_END_COMPLETE);
    depth = stack.depth_bytes;
    ck_assert_int_eq(unwind_self_walk(&context, stack_top, depth, &stack), UNWIND_OK);
    ck_assert_int_eq(stack.end, UNWIND_END_COMPLETE);
    ck_assert_int_eq(unwind_self_walk(&context, stack_top, depth - 8, &stack), UNWIND_OK);
    ck_assert_int_eq(stack.end, UNWIND_END_NO_STACK);
}
END_TEST

START_TEST(ends_when_there_is_no_room)
{
    ucontext_t context;

    (void)getcontext(&context);
    stack.capacity = 2;
    ck_assert_int_eq(unwind_self_walk(&context, stack_top, SIZE_MAX, &stack), UNWIND_OK);
    ck_assert_uint_eq(stack.count, 2);
    ck_assert_int_eq(stack.end, UNWIND_END_NO_ROOM);
    stack.capacity = MAX_FRAMES;
}
END_TEST

/* call *%rdi; ret - without a frame pointer; and with one.  */
static const uint8_t plain_code[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                      0x48, 0x83, 0xc4, 0x08, 0xc3 };
static const uint8_t framed_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

static void look_from_made_code(void)
{
    ucontext_t context;

    (void)getcontext(&context);
    ck_assert_int_eq(unwind_self_walk(&context, stack_top, SIZE_MAX, &stack), UNWIND_OK);
}

static void call_made_code(const uint8_t *code, size_t size)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*function)(void (*)(void));

    ck_assert_ptr_ne(page, MAP_FAILED);
    memcpy(page, code, size);
    ck_assert_int_eq(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    unwind_self_open();
    memcpy(&function, &page, sizeof function);
    function(look_from_made_code);
    (void)munmap(page, 4096);
}

START_TEST(follows_frame_pointers_of_made_code)
{
    call_made_code(framed_code, sizeof framed_code);
    ck_assert_int_eq(stack.end, UNWIND_END_COMPLETE);
    ck_assert_int_eq(found[2], UNWIND_FOUND_FRAME_POINTER);
}
END_TEST

/* The register holds what call_made_code() has there: no frame of the made code, so its caller is
 * missing, or nothing is found at all; a frame that is none is never told of.  */
START_TEST(does_not_invent_frames_of_made_code)
{
    call_made_code(plain_code, sizeof plain_code);
    for (size_t i = 0; i < stack.count; i++)
        ck_assert(unwind_self_table(addresses[i]) != NULL || i == 1);
}
END_TEST

static void setup(void)
{
    find_top();
    unwind_self_open();
}

static void teardown(void)
{
    unwind_self_close();
}

int main(void)
{
    Suite *suite = suite_create("unwind_walk");
    TCase *test_case = tcase_create("walk");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(test_case, setup, teardown);
    tcase_set_timeout(test_case, 0);
    tcase_add_test(test_case, walks_plain_frames);
    tcase_add_test(test_case, walks_deep_recursion);
    tcase_add_test(test_case, walks_frames_of_variable_size);
    tcase_add_test(test_case, walks_realigned_frames);
    tcase_add_test(test_case, walks_through_libraries);
    tcase_add_test(test_case, ends_where_a_thread_begins);
    tcase_add_test(test_case, ends_where_a_coroutine_begins);
    tcase_add_test(test_case, walks_signal_frames);
    tcase_add_test(test_case, walks_from_a_return_address_in_a_register);
    tcase_add_loop_test(test_case, finds_callers_at_each_instruction, 0,
                        sizeof stepped / sizeof *stepped);
    tcase_add_test(test_case, ends_with_the_copy_of_the_stack);
    tcase_add_test(test_case, says_how_deep_it_read);
    tcase_add_test(test_case, ends_when_there_is_no_room);
    tcase_add_test(test_case, follows_frame_pointers_of_made_code);
    tcase_add_test(test_case, does_not_invent_frames_of_made_code);
    suite_add_tcase(suite, test_case);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#else

int main(void)
{
    (void)puts("SKIP: contexts are those of x86-64");
    return 0;
}

#endif
