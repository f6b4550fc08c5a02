/* Steps to spans and charges, for every way in which a stack changes.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/insn.h>

/* Function 'a' is at 0x1000, 'b' at 0x2000, and so on.  Code from 0x100000 on has no symbols.  */
#define F(letter) ((uint64_t)((letter) - 'a' + 1) << 12)
#define SIZE      4 /* of each instruction */

#define AT(address, class)                                                           \
    {                                                                                \
        .kind = INSN_STEP_BLOCK, .branch = (class), .length = SIZE, .ip = (address), \
        .last_ip = (address), .count = 1                                             \
    }
#define ON(address)      AT(address, INSN_CLASS_CONDITIONAL)
#define CALL(address)    AT(address, INSN_CLASS_CALL)
#define JUMP(address)    AT(address, INSN_CLASS_JUMP)
#define GOTO(address)    AT(address, INSN_CLASS_JUMP_INDIRECT)
#define RET(address)     AT(address, INSN_CLASS_RETURN)
#define SYSCALL(address) AT(address, INSN_CLASS_FAR)
#define EVENT(name, from, to)                                   \
    {                                                           \
        .kind = INSN_STEP_##name, .ip = (from), .last_ip = (to) \
    }
#define MAX_STEPS 24

static const struct stack_case {
    const char *name;
    struct insn_step steps[MAX_STEPS];
    /* Spans as they are told: function, times in instructions, how it was entered; '!': cut.  */
    const char *spans;
} cases[] = {
    { "a call and its return",
      { CALL(F('a')), ON(F('b')), RET(F('b') + 4), ON(F('a') + 4) },
      "b 1-3 call, a 0-4 open!" },
    { "calls in calls",
      { CALL(F('a')), CALL(F('b')), RET(F('c')), RET(F('b') + 4), ON(F('a') + 4) },
      "c 2-3 call, b 1-4 call, a 0-5 open!" },
    { "recursion",
      { CALL(F('a')), CALL(F('a')), RET(F('a')), RET(F('a') + 4), ON(F('a') + 4) },
      "a 2-3 call, a 1-4 call, a 0-5 open!" },
    { "a tail call returns to its caller's caller",
      { CALL(F('a')), JUMP(F('b')), RET(F('c')), ON(F('a') + 4) },
      "b 1-2 call, c 2-3 jump, a 0-4 open!" },
    { "a PLT stub, by an indirect jump",
      { CALL(F('a')), GOTO(F('p')), RET(F('c')), ON(F('a') + 4) },
      "p 1-2 call, c 2-3 jump, a 0-4 open!" },
    { "a jump inside a function is nothing",
      { JUMP(F('a')), GOTO(F('a') + 0x20), ON(F('a') + 0x10) },
      "a 0-3 open!" },
    { "a direct jump into the middle of another function",
      { CALL(F('a')), JUMP(F('b')), RET(F('c') + 8), ON(F('a') + 4) },
      "b 1-2 call, c 2-3 jump, a 0-4 open!" },
    { "an exception ends what it passes over",
      { CALL(F('a')), CALL(F('b')), CALL(F('c')), GOTO(F('u')), ON(F('b') + 0x40),
        RET(F('b') + 0x44), ON(F('a') + 4) },
      "u 3-4 call, c 2-4 call, b 1-6 call, a 0-7 open!" },
    { "longjmp() goes back over several calls, to where setjmp() returned",
      { CALL(F('a')), RET(F('s')), CALL(F('a') + 4), CALL(F('b')), GOTO(F('l')), ON(F('a') + 4) },
      "s 1-2 call, l 4-5 call, b 3-5 call, a 0-6 open!" },
    { "a return over several calls",
      { CALL(F('a')), CALL(F('b')), RET(F('c')), ON(F('a') + 4) },
      "c 2-3 call, b 1-3 call, a 0-4 open!" },
    { "out of the first function: its caller was there from the beginning",
      { ON(F('b')), RET(F('b') + 4), ON(F('a') + 4), RET(F('a') + 8), ON(F('m') + 8) },
      "b 0-2 open, a 0-4 open, m 0-5 open!" },
    { "a retpoline returns to a function's start",
      { CALL(F('a')), RET(F('r')), RET(F('c')), ON(F('a') + 4) },
      "r 1-2 call, c 2-3 jump, a 0-4 open!" },
    { "a coroutine goes on where it was left, below who resumed it",
      { CALL(F('a')), RET(F('s')), CALL(F('b')), RET(F('s')), ON(F('a') + 4), CALL(F('a') + 8),
        RET(F('s')), ON(F('b') + 4) },
      "s 1-2 call, s 3-4 call, b 2-4 jump, b 7-8 resumed!, s 6-8 call!, a 0-8 open!" },
    { "a call of the next instruction is no call",
      { { .kind = INSN_STEP_BLOCK,
          .branch = INSN_CLASS_CALL,
          .length = SIZE,
          .calls_next = true,
          .ip = F('a'),
          .last_ip = F('a'),
          .count = 1 },
        ON(F('a') + 4) },
      "a 0-2 open!" },
    { "a system call takes no function's time",
      { SYSCALL(F('a')), EVENT(DISABLED, 0, 0), EVENT(ENABLED, F('a') + 4, 0), ON(F('a') + 4) },
      "- 1-1 untraced, a 0-2 open!" },
    { "a signal's handler, and back",
      { ON(F('a')), EVENT(BRANCH, F('a') + 4, F('h')), SYSCALL(F('h')), EVENT(DISABLED, 0, 0),
        EVENT(ENABLED, F('a') + 4, 0), ON(F('a') + 4) },
      "- 2-2 untraced, h 1-2 signal, a 0-3 open!" },
    { "a signal's handler where tracing goes on",
      { ON(F('a')), EVENT(STOPPED, F('a') + 4, 0), EVENT(ENABLED, F('h'), 0), SYSCALL(F('h')),
        EVENT(DISABLED, 0, 0), EVENT(ENABLED, F('a') + 4, 0), ON(F('a') + 4) },
      "- 1-1 untraced, - 2-2 untraced, h 1-2 signal, a 0-3 open!" },
    { "a page fault goes on at the same place",
      { ON(F('a')), EVENT(STOPPED, F('a') + 4, 0), EVENT(ENABLED, F('a') + 4, 0), ON(F('a') + 4) },
      "- 1-1 untraced, a 0-2 open!" },
    { "a function whose first instruction faults was entered",
      { CALL(F('a')), EVENT(STOPPED, F('b'), 0), EVENT(ENABLED, F('h'), 0), SYSCALL(F('h')),
        EVENT(DISABLED, 0, 0), EVENT(ENABLED, F('b'), 0), RET(F('b')), ON(F('a') + 4) },
      "- 0-1 untraced, - 2-2 untraced, h 1-2 signal, b 0-3 call, a 0-4 open!" },
    { "a thread whose first instruction faults is in its function",
      { EVENT(ENABLED, F('a'), 0), EVENT(STOPPED, F('a'), 0), EVENT(ENABLED, F('a'), 0),
        ON(F('a')) },
      "- 0-0 untraced, a 0-1 open!" },
    { "after lost packets the stack is unknown",
      { CALL(F('a')), ON(F('b')), EVENT(OVERFLOW, F('c'), 0), ON(F('c')) },
      "b 1-2 call!, a 0-2 open!, overflow, c 2-3 open!" },
    { "after a gap, too",
      { CALL(F('a')), ON(F('b')), EVENT(GAP, 0, 100), EVENT(ENABLED, F('c'), 0), ON(F('c')) },
      "b 1-2 call!, a 0-2 open!, gap, c 2-3 open!" },
    { "an aborted transaction did not happen",
      { ON(F('a')), EVENT(SPECULATIVE, 0, 0), CALL(F('a') + 4), ON(F('b')), EVENT(ABORTED, 0, 0),
        ON(F('a') + 0x20) },
      "a 0-4 open!" },
    { "a committed transaction did",
      { ON(F('a')), EVENT(SPECULATIVE, 0, 0), CALL(F('a') + 4), RET(F('b')), EVENT(COMMITTED, 0, 0),
        ON(F('a') + 8) },
      "b 2-3 call, a 0-4 open!" },
    { "what a program writes",
      { ON(F('a')), EVENT(PTWRITE, F('a'), 7) },
      "ptwrite 7, a 0-1 open!" },
    { "calls among code without symbols",
      { CALL(0x100000), RET(0x200000), ON(0x100004) },
      "? 1-2 call, ? 0-3 open!" },
};

struct log {
    char text[1024];
    uint64_t instructions, ticks, calls;
    uint32_t stacks;
    enum insn_status fail; /* what the span's receiver returns */
};

static void put(struct log *log, const char *text)
{
    size_t used = strlen(log->text);

    (void)snprintf(log->text + used, sizeof log->text - used, "%s%s", used ? ", " : "", text);
}

static void tell_function(void *context, uint64_t address, struct insn_function *out)
{
    (void)context;
    if (address >= 0x100000)
        return;
    out->start = address & ~UINT64_C(0xfff);
    out->end = out->start + 0x1000;
    out->id = address >> 12;
}

static enum insn_status take_stack(void *context, uint32_t callers, uint64_t address, uint32_t *out)
{
    struct log *log = context;

    (void)callers;
    (void)address;
    *out = ++log->stacks;
    return INSN_OK;
}

static enum insn_status take_charge(void *context, uint32_t stack, const struct insn_charge *charge)
{
    struct log *log = context;

    ck_assert_uint_ge(stack, 1);
    ck_assert_uint_le(stack, log->stacks);
    log->instructions += charge->instructions;
    log->ticks += charge->ticks;
    log->calls += charge->calls;
    return INSN_OK;
}

static enum insn_status take_span(void *context, const struct insn_span *span)
{
    static const char *const entries[] = {
        "call", "jump", "signal", "open", "resumed", "untraced"
    };
    struct log *log = context;
    char text[64], name = '?';

    if (span->entry == INSN_ENTRY_UNTRACED)
        name = '-';
    else if (span->address < 0x100000)
        name = (char)('a' + (span->address >> 12) - 1);
    (void)snprintf(text, sizeof text, "%c %d-%d %s%s", name, (int)span->begin_ticks / 10,
                   (int)span->end_ticks / 10, entries[span->entry], span->cut ? "!" : "");
    put(log, text);
    return log->fail;
}

static enum insn_status take_mark(void *context, const struct insn_mark *mark)
{
    char text[32];

    (void)snprintf(text, sizeof text, "ptwrite %d", (int)mark->value);
    put(context, mark->kind == INSN_STEP_PTWRITE    ? text
                 : mark->kind == INSN_STEP_OVERFLOW ? "overflow"
                                                    : "gap");
    return INSN_OK;
}

/* What decides where a step leads.  */
enum packet { NO_PACKET, PACKET_BIT, PACKET_ADDRESS, PACKET_EVENT };

static enum packet packet_of(const struct insn_step *step)
{
    if (step->kind != INSN_STEP_BLOCK)
        return PACKET_EVENT;
    switch (step->branch) {
    case INSN_CLASS_CONDITIONAL:
    case INSN_CLASS_RETURN:
        return PACKET_BIT;
    case INSN_CLASS_JUMP_INDIRECT:
    case INSN_CLASS_CALL_INDIRECT:
        return PACKET_ADDRESS;
    case INSN_CLASS_FAR:
        return PACKET_EVENT;
    default:
        return NO_PACKET;
    }
}

/* Give steps the times that a decoder has read by then, where each instruction takes 10 ticks.
 * Bits wait for a sixth one or for another packet, which is written at its own time.  With an
 * address the decoder has read the packet after it, too.  */
static size_t add_times(const struct insn_step *steps, struct insn_step *out)
{
    uint64_t ticks = 0;
    size_t count = 0, first_open = 0, bits = 0;
    bool address_is_open = false;

    for (; count < MAX_STEPS && (count == 0 || steps[count].ip || steps[count].kind); count++) {
        enum packet packet = packet_of(&steps[count]);
        bool is_last = count + 1 == MAX_STEPS || (!steps[count + 1].ip && !steps[count + 1].kind);

        out[count] = steps[count];
        out[count].has_ticks = true;
        ticks += 10 * (uint64_t)steps[count].count;
        if (packet == NO_PACKET && bits == 0 && !address_is_open) {
            out[count].ticks = count > 0 ? out[count - 1].ticks : 0;
            first_open = count + 1;
            continue;
        }
        bits += packet == PACKET_BIT;
        if (packet < PACKET_ADDRESS && bits < 6 && !is_last)
            continue;
        for (size_t i = first_open; i <= count; i++)
            out[i].ticks = ticks;
        bits = 0;
        first_open = packet == PACKET_ADDRESS ? count : count + 1;
        address_is_open = packet == PACKET_ADDRESS;
    }
    return count;
}

static void run(const struct insn_step *steps, struct log *log)
{
    const struct insn_receiver receiver = { log,         tell_function, take_stack,
                                            take_charge, take_span,     take_mark };
    struct insn_step first = { .kind = INSN_STEP_ENABLED, .has_ticks = true, .ip = steps[0].ip };
    struct insn_step timed[MAX_STEPS];
    size_t count = add_times(steps, timed);
    struct insn_stacks *stacks;

    ck_assert_int_eq(insn_stacks_open(&receiver, &stacks, NULL), INSN_OK);
    (void)insn_stacks_take(stacks, &first, 1);
    for (size_t i = 0; i < count; i++)
        (void)insn_stacks_take(stacks, &timed[i], 1);
    ck_assert_int_eq(insn_stacks_finish(stacks), log->fail);
    ck_assert_int_eq(insn_stacks_status(stacks), log->fail);
    insn_stacks_close(stacks);
}

START_TEST(tells_the_spans_of_each_way_to_call_and_return)
{
    const struct stack_case *row = &cases[_i];
    struct log log = { .text = "" };

    run(row->steps, &log);
    ck_assert_msg(strcmp(log.text, row->spans) == 0, "%s: %s, not %s", row->name, log.text,
                  row->spans);
}
END_TEST

START_TEST(charges_each_instruction_once)
{
    const struct stack_case *row = &cases[_i];
    struct log log = { .text = "" };
    uint64_t wanted = 0;

    for (size_t i = 0; i < MAX_STEPS; i++)
        wanted += row->steps[i].count;
    if (strstr(row->name, "aborted"))
        wanted -= 2;
    run(row->steps, &log);
    ck_assert_uint_eq(log.instructions, wanted);
    /* No packet tells when a call ended whose target executes nothing.  */
    if (!strstr(row->name, "aborted") && !strstr(row->name, "was entered"))
        ck_assert_uint_eq(log.ticks, 10 * wanted);
}
END_TEST

START_TEST(ends_with_what_a_receiver_returned)
{
    struct log log = { .text = "", .fail = INSN_STOPPED };

    run(cases[1].steps, &log);
}
END_TEST

START_TEST(wants_somebody_who_knows_functions)
{
    const struct insn_receiver receiver = { .context = NULL };
    struct insn_stacks *stacks = NULL;
    struct insn_error error;

    ck_assert_int_eq(insn_stacks_open(&receiver, &stacks, &error), INSN_INVALID);
    ck_assert_ptr_null(stacks);
    insn_stacks_close(stacks);
}
END_TEST

/* ---- Times ---- */

/* Steps with the time that was read before each, and when each instruction of function 'a' begins
 * by them.  */
static const struct time_case {
    const char *name;
    struct {
        enum insn_class branch;
        unsigned count;
        uint64_t ticks;
    } steps[12];
    uint64_t end; /* of the last step's group */
    /* Of 'b', which is called by the first step and returns with the last.  */
    int begin, length;
} times[] = {
    { "one packet for two conditional branches and the return",
      { { INSN_CLASS_CALL, 10, 0 },
        { INSN_CLASS_CONDITIONAL, 10, 400 },
        { INSN_CLASS_CONDITIONAL, 10, 400 },
        { INSN_CLASS_RETURN, 10, 400 } },
      400,
      100,
      300 },
    { "times of a coarse clock are those of the first branch that was read with them",
      { { INSN_CLASS_CALL, 10, 0 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_CONDITIONAL, 10, 200 },
        { INSN_CLASS_RETURN, 10, 1100 } },
      1100,
      100,
      1000 },
    { "an indirect branch has the time before what was read with it",
      { { INSN_CLASS_CALL_INDIRECT, 10, 100 },
        { INSN_CLASS_CONDITIONAL, 10, 100 },
        { INSN_CLASS_RETURN, 20, 300 } },
      300,
      50,
      250 },
};

static enum insn_status note_span(void *context, const struct insn_span *span)
{
    struct insn_span *kept = context;

    if (span->address == F('b'))
        *kept = *span;
    return INSN_OK;
}

START_TEST(spreads_time_over_the_instructions_between_two_readings)
{
    const struct time_case *row = &times[_i];
    struct insn_span span = { .address = 0 };
    const struct insn_receiver receiver = { .context = &span,
                                            .function = tell_function,
                                            .span = note_span };
    struct insn_step step = { .kind = INSN_STEP_ENABLED, .has_ticks = true, .ip = F('a') };
    struct insn_stacks *stacks;
    uint64_t ip = F('a');

    ck_assert_int_eq(insn_stacks_open(&receiver, &stacks, NULL), INSN_OK);
    (void)insn_stacks_take(stacks, &step, 1);
    for (size_t i = 0; row->steps[i].count; i++) {
        step = (struct insn_step)AT(ip, (uint8_t)row->steps[i].branch);
        step.count = (uint16_t)row->steps[i].count;
        step.has_ticks = true;
        step.ticks = row->steps[i].ticks;
        (void)insn_stacks_take(stacks, &step, 1);
        ip = i == 0 ? F('b') : ip + 4;
    }
    step = (struct insn_step)AT(F('a') + SIZE, INSN_CLASS_RETURN);
    step.has_ticks = true;
    step.ticks = row->end + 100;
    (void)insn_stacks_take(stacks, &step, 1);
    ck_assert_int_eq(insn_stacks_finish(stacks), INSN_OK);
    insn_stacks_close(stacks);
    ck_assert_msg((int)span.begin_ticks == row->begin &&
                      (int)(span.end_ticks - span.begin_ticks) == row->length,
                  "%s: %d to %d", row->name, (int)span.begin_ticks, (int)span.end_ticks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn_stacks");
    TCase *stacks = tcase_create("stacks"), *timing = tcase_create("times");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(stacks, tells_the_spans_of_each_way_to_call_and_return, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_loop_test(stacks, charges_each_instruction_once, 0, sizeof cases / sizeof *cases);
    tcase_add_test(stacks, ends_with_what_a_receiver_returned);
    tcase_add_test(stacks, wants_somebody_who_knows_functions);
    tcase_add_loop_test(timing, spreads_time_over_the_instructions_between_two_readings, 0,
                        sizeof times / sizeof *times);
    suite_add_tcase(suite, stacks);
    suite_add_tcase(suite, timing);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
