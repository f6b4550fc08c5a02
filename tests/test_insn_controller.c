/* The methods, states and errors of fuchsia.hardware.cpu.insntrace, a row for each rule, on the
 * simulated processor.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sampler-capture/insn/controller.h"
#include "sampler-capture/insn/sim_hardware.h"
#include "tests/support/allocation.h"

#define CTL   (INSN_CTL_USER | INSN_CTL_TSC | INSN_CTL_BRANCH)
#define FREQ3 (UINT64_C(3) << INSN_CTL_MTC_FREQ_SHIFT)

static const struct insn_buffer_config usual = { .num_chunks = 4, .chunk_order = 0, .ctl = CTL };

static struct sim_hardware sim;
static struct insn_controller *controller;
static uint32_t descriptor;

static void setup(void)
{
    ck_assert(sim_hardware_init(&sim));
    ck_assert_int_eq(controller_open(&sim.hardware, &controller), INSN_ANSWER_OK);
}

static void teardown(void)
{
    controller_close(controller);
    sim_hardware_release(&sim);
}

/* ---- One rule a row ---- */

/* What was done before.  */
enum state {
    OPEN,
    CPU,           /* initialized */
    CPU_ALLOCATED, /* all buffers */
    CPU_ACTIVE,
    CPU_STOPPED,
    THREAD, /* initialized, for two threads */
    THREAD_ALLOCATED,
    THREAD_ASSIGNED, /* to thread 7 */
    THREAD_ACTIVE,
};

static void reach(enum state state)
{
    if (state == OPEN)
        return;
    ck_assert_int_eq(state < THREAD ? controller_initialize(controller, INSN_MODE_CPU, 1)
                                    : controller_initialize(controller, INSN_MODE_THREAD, 2),
                     INSN_ANSWER_OK);
    if (state == CPU || state == THREAD)
        return;
    ck_assert_int_eq(controller_allocate_buffer(controller, &usual, &descriptor), INSN_ANSWER_OK);
    if (state >= THREAD_ASSIGNED)
        ck_assert_int_eq(controller_assign_thread_buffer(controller, descriptor, 7),
                         INSN_ANSWER_OK);
    if (state == CPU_ACTIVE || state == CPU_STOPPED || state == THREAD_ACTIVE)
        ck_assert_int_eq(controller_start(controller), INSN_ANSWER_OK);
    if (state == CPU_STOPPED)
        ck_assert_int_eq(controller_stop(controller), INSN_ANSWER_OK);
}

enum method {
    INITIALIZE, /* a mode, b traces */
    TERMINATE,
    GET_ALLOCATION,
    ALLOCATE, /* config */
    FREE,     /* a descriptor; likewise: */
    ASSIGN,   /* b thread */
    RELEASE,
    GET_CONFIG,
    GET_STATE,
    GET_CHUNK, /* b chunk */
    START,
    STOP,
    OPEN_AGAIN,
    TAKE,
};

static bool take(void *context, uint32_t from, bool is_cut, const uint8_t *bytes, size_t size)
{
    (void)from;
    (void)is_cut;
    (void)bytes;
    *(size_t *)context += size;
    return true;
}

static enum insn_answer call(enum method method, uint32_t a, uint32_t b,
                             const struct insn_buffer_config *config)
{
    struct insn_controller *other;
    struct insn_allocation allocation;
    struct insn_buffer_config was;
    struct insn_buffer_state state;
    const uint8_t *bytes;
    size_t size = 0;

    switch (method) {
    case INITIALIZE:
        return controller_initialize(controller, a, b);
    case TERMINATE:
        return controller_terminate(controller);
    case GET_ALLOCATION:
        return controller_get_allocation(controller, &allocation);
    case ALLOCATE:
        return controller_allocate_buffer(controller, config, &descriptor);
    case FREE:
        return controller_free_buffer(controller, a);
    case ASSIGN:
        return controller_assign_thread_buffer(controller, a, (pid_t)b);
    case RELEASE:
        return controller_release_thread_buffer(controller, a, (pid_t)b);
    case GET_CONFIG:
        return controller_get_buffer_config(controller, a, &was);
    case GET_STATE:
        return controller_get_buffer_state(controller, a, &state);
    case GET_CHUNK:
        return controller_get_chunk(controller, a, b, &bytes, &size);
    case START:
        return controller_start(controller);
    case STOP:
        return controller_stop(controller);
    case OPEN_AGAIN:
        return controller_open(&sim.hardware, &other);
    case TAKE:
        return controller_take(controller, a, take, &size);
    }
    return INSN_ANSWERS;
}

#define OK_     INSN_ANSWER_OK
#define STATE   INSN_ANSWER_BAD_STATE
#define ARGS    INSN_ANSWER_INVALID_ARGS
#define SUPPORT INSN_ANSWER_NOT_SUPPORTED

static const struct {
    const char *rule;
    enum state state;
    enum method method;
    uint32_t a, b;
    enum insn_answer answer;
    struct insn_buffer_config config;
} rules[] = {
    { "there is one controller", OPEN, OPEN_AGAIN, 0, 0, INSN_ANSWER_ALREADY_BOUND },
    { "a buffer per CPU", OPEN, INITIALIZE, 0, 1, OK_ },
    { "not fewer or more", OPEN, INITIALIZE, 0, 2, ARGS },
    { "not none", OPEN, INITIALIZE, 0, 0, ARGS },
    { "threads", OPEN, INITIALIZE, 1, 4096, OK_ },
    { "not more of them", OPEN, INITIALIZE, 1, 4097, ARGS },
    { "not no threads", OPEN, INITIALIZE, 1, 0, ARGS },
    { "another mode", OPEN, INITIALIZE, 2, 1, ARGS },
    { "initialize once", CPU, INITIALIZE, 0, 1, STATE },
    { "terminate needs initialize", OPEN, TERMINATE, 0, 0, STATE },
    { "terminate", CPU_STOPPED, TERMINATE, 0, 0, OK_ },
    { "terminate without buffers", CPU, TERMINATE, 0, 0, OK_ },
    { "terminate with an assigned buffer", THREAD_ASSIGNED, TERMINATE, 0, 0, OK_ },
    { "terminate not while active", CPU_ACTIVE, TERMINATE, 0, 0, STATE },
    { "allocation needs initialize", OPEN, GET_ALLOCATION, 0, 0, STATE },
    { "allocation", CPU_ACTIVE, GET_ALLOCATION, 0, 0, OK_ },

    { "allocate needs initialize", OPEN, ALLOCATE, 0, 0, STATE, { 4, 0, false, CTL } },
    { "allocate", CPU, ALLOCATE, 0, 0, OK_, { 4, 0, false, CTL } },
    { "no more than the CPUs",
      CPU_ALLOCATED,
      ALLOCATE,
      0,
      0,
      INSN_ANSWER_NO_RESOURCES,
      { 4, 0, false, CTL } },
    { "not while CPUs are traced", CPU_ACTIVE, ALLOCATE, 0, 0, STATE, { 4, 0, false, CTL } },
    { "but while threads are", THREAD_ACTIVE, ALLOCATE, 0, 0, OK_, { 4, 0, false, CTL } },
    { "no chunks", CPU, ALLOCATE, 0, 0, ARGS, { 0, 0, false, CTL } },
    { "4096 chunks", CPU, ALLOCATE, 0, 0, OK_, { 4096, 0, false, CTL } },
    { "4097 chunks", CPU, ALLOCATE, 0, 0, ARGS, { 4097, 0, false, CTL } },
    { "chunks of 1 MiB", CPU, ALLOCATE, 0, 0, OK_, { 1, 8, false, CTL } },
    { "chunks of 2 MiB", CPU, ALLOCATE, 0, 0, ARGS, { 1, 9, false, CTL } },
    { "more than 256 MiB", CPU, ALLOCATE, 0, 0, ARGS, { 257, 8, false, CTL } },
    { "a shift that would wrap", CPU, ALLOCATE, 0, 0, ARGS, { 1, 64, false, CTL } },
    { "a bit that cannot be set", CPU, ALLOCATE, 0, 0, ARGS, { 4, 0, false, CTL | INSN_CTL_OS } },
    { "a bit of the hardware's", CPU, ALLOCATE, 0, 0, ARGS, { 4, 0, false, CTL | INSN_CTL_TOPA } },
    { "MTC every 8 ticks", CPU, ALLOCATE, 0, 0, OK_, { 4, 0, false, CTL | INSN_CTL_MTC | FREQ3 } },
    { "MTC every tick", CPU, ALLOCATE, 0, 0, ARGS, { 4, 0, false, CTL | INSN_CTL_MTC } },
    { "its value without it", CPU, ALLOCATE, 0, 0, OK_, { 4, 0, false, CTL | FREQ3 << 1 } },
    { "CYC", CPU, ALLOCATE, 0, 0, OK_, { 4, 0, false, CTL | INSN_CTL_CYC } },
    { "a circular buffer", CPU, ALLOCATE, 0, 0, OK_, { 4, 0, true, CTL } },
    { "PSB every 64 KiB",
      CPU,
      ALLOCATE,
      0,
      0,
      OK_,
      { 4, 0, false, CTL | UINT64_C(5) << INSN_CTL_PSB_FREQ_SHIFT } },
    { "PSB every 128 KiB",
      CPU,
      ALLOCATE,
      0,
      0,
      ARGS,
      { 4, 0, false, CTL | UINT64_C(6) << INSN_CTL_PSB_FREQ_SHIFT } },
    { "an address space", CPU, ALLOCATE, 0, 0, SUPPORT, { 4, 0, false, CTL, 0x1000 } },
    { "low bits of CR3", CPU, ALLOCATE, 0, 0, ARGS, { 4, 0, false, CTL, 0x1010 } },

    { "free needs initialize", OPEN, FREE, 0, 0, STATE },
    { "free", CPU_ALLOCATED, FREE, 0, 0, OK_ },
    { "free not while CPUs are traced", CPU_ACTIVE, FREE, 0, 0, STATE },
    { "free after them", CPU_STOPPED, FREE, 0, 0, OK_ },
    { "free not an assigned one", THREAD_ASSIGNED, FREE, 0, 0, STATE },
    { "free no buffer", CPU, FREE, 0, 0, ARGS },
    { "free a buffer that cannot be", CPU_ALLOCATED, FREE, 9999, 0, ARGS },
    { "assign needs initialize", OPEN, ASSIGN, 0, 7, STATE },
    { "assign", THREAD_ALLOCATED, ASSIGN, 0, 7, OK_ },
    { "assign once", THREAD_ASSIGNED, ASSIGN, 0, 8, STATE },
    { "assign to no thread", THREAD_ALLOCATED, ASSIGN, 0, 0, ARGS },
    { "assign no buffer", THREAD_ALLOCATED, ASSIGN, 1, 7, ARGS },
    { "assign CPU buffers", CPU_ALLOCATED, ASSIGN, 0, 7, SUPPORT },
    { "release needs initialize", OPEN, RELEASE, 0, 7, STATE },
    { "release", THREAD_ACTIVE, RELEASE, 0, 7, OK_ },
    { "release of another thread", THREAD_ASSIGNED, RELEASE, 0, 8, ARGS },
    { "release what is not assigned", THREAD_ALLOCATED, RELEASE, 0, 7, ARGS },
    { "release nobody", THREAD_ALLOCATED, RELEASE, 0, 0, ARGS },
    { "release CPU buffers", CPU_ALLOCATED, RELEASE, 0, 7, SUPPORT },

    { "config needs initialize", OPEN, GET_CONFIG, 0, 0, STATE },
    { "config", CPU_ACTIVE, GET_CONFIG, 0, 0, OK_ },
    { "config of no buffer", CPU_ACTIVE, GET_CONFIG, 1, 0, ARGS },
    { "state needs initialize", OPEN, GET_STATE, 0, 0, STATE },
    { "state", CPU_STOPPED, GET_STATE, 0, 0, OK_ },
    { "state not while CPUs are traced", CPU_ACTIVE, GET_STATE, 0, 0, STATE },
    { "state while threads are", THREAD_ACTIVE, GET_STATE, 0, 0, OK_ },
    { "state of no buffer", CPU_STOPPED, GET_STATE, 1, 0, ARGS },
    { "chunks need initialize", OPEN, GET_CHUNK, 0, 0, STATE },
    { "a chunk", CPU_ACTIVE, GET_CHUNK, 0, 3, OK_ },
    { "no such chunk", CPU_ACTIVE, GET_CHUNK, 0, 4, ARGS },
    { "a chunk of no buffer", CPU_ACTIVE, GET_CHUNK, 1, 0, ARGS },

    { "start needs initialize", OPEN, START, 0, 0, STATE },
    { "start needs a buffer per CPU", CPU, START, 0, 0, STATE },
    { "start", CPU_ALLOCATED, START, 0, 0, OK_ },
    { "start once", CPU_ACTIVE, START, 0, 0, STATE },
    { "start again", CPU_STOPPED, START, 0, 0, OK_ },
    { "start before there are threads", THREAD, START, 0, 0, OK_ },
    { "stop needs initialize", OPEN, STOP, 0, 0, STATE },
    { "stop", CPU_ACTIVE, STOP, 0, 0, OK_ },
    { "stop once more", CPU_STOPPED, STOP, 0, 0, OK_ },
    { "take needs initialize", OPEN, TAKE, 0, 0, STATE },
    { "take", CPU_ACTIVE, TAKE, 0, 0, OK_ },
    { "take from no buffer", CPU_ACTIVE, TAKE, 1, 0, ARGS },
};

START_TEST(keeps_each_rule)
{
    enum insn_answer answer;

    reach(rules[_i].state);
    answer = call(rules[_i].method, rules[_i].a, rules[_i].b, &rules[_i].config);
    ck_assert_msg(answer == rules[_i].answer, "%s: %s, not %s", rules[_i].rule,
                  insn_answer_entry(answer)->name, insn_answer_entry(rules[_i].answer)->name);
}
END_TEST

/* ---- What the rows do not say ---- */

START_TEST(hardware_without_pt_is_not_supported)
{
    sim.hardware.abilities.has_pt = false;
    ck_assert_int_eq(controller_initialize(controller, INSN_MODE_CPU, 1), SUPPORT);
    sim.hardware.abilities.has_pt = true;
    sim.hardware.abilities.has_topa = false;
    ck_assert_int_eq(controller_initialize(controller, INSN_MODE_CPU, 1), SUPPORT);
    sim.hardware.abilities.has_topa = true;
    sim.hardware.abilities.has_threads = false; /* as Fuchsia's driver */
    ck_assert_int_eq(controller_initialize(controller, INSN_MODE_THREAD, 1), SUPPORT);
}
END_TEST

START_TEST(errors_have_the_numbers_of_zircon)
{
    ck_assert_int_eq(insn_answer_entry(INSN_ANSWER_BAD_STATE)->zx_status, -20);
    ck_assert_int_eq(insn_answer_entry(INSN_ANSWER_NOT_SUPPORTED)->zx_status, -2);
    ck_assert_int_eq(insn_answer_entry(INSN_ANSWER_INVALID_ARGS)->zx_status, -10);
    for (unsigned i = 0; i < INSN_ANSWERS; i++)
        ck_assert_ptr_nonnull(insn_answer_entry((enum insn_answer)i)->name);
}
END_TEST

START_TEST(descriptors_are_the_lowest_free_ones)
{
    reach(THREAD);
    ck_assert_int_eq(controller_allocate_buffer(controller, &usual, &descriptor), OK_);
    ck_assert_uint_eq(descriptor, 0);
    ck_assert_int_eq(controller_allocate_buffer(controller, &usual, &descriptor), OK_);
    ck_assert_uint_eq(descriptor, 1);
    ck_assert_int_eq(controller_free_buffer(controller, 0), OK_);
    ck_assert_int_eq(controller_allocate_buffer(controller, &usual, &descriptor), OK_);
    ck_assert_uint_eq(descriptor, 0);
}
END_TEST

START_TEST(closing_frees_everything)
{
    reach(THREAD_ACTIVE);
    controller_close(controller);
    ck_assert(!sim.hardware.is_bound);
    ck_assert_int_eq(controller_open(&sim.hardware, &controller), OK_);
    ck_assert_int_eq(controller_initialize(controller, INSN_MODE_CPU, 1), OK_);
}
END_TEST

/* Have the processor write at least size bytes of packets: calls that each need one.  */
static void write_packets(size_t size)
{
    struct insn_encoder *encoder = sim_hardware_encoder(&sim, 0);
    const struct insn_opcode call = { .branch = INSN_CLASS_CALL_INDIRECT, .length = 2 };
    uint64_t ip = 0x401000, to = 0x7f0000000000, ticks = 1, begin = insn_encoder_bytes(encoder);

    while (insn_encoder_bytes(encoder) - begin < size) {
        insn_encoder_enable(encoder, ip, ticks++);
        insn_encoder_step(encoder, ip, &call, to, ticks++);
        ip = to;
        to = ip == 0x401000 ? 0x7f0000000000 : 0x401000;
    }
    insn_encoder_disable(encoder, ip, ticks);
    insn_encoder_flush(encoder);
}

struct taken {
    uint8_t bytes[1 << 16];
    size_t size;
    bool is_cut;
};
static struct taken taken;

static bool gather(void *context, uint32_t from, bool is_cut, const uint8_t *bytes, size_t size)
{
    (void)context;
    (void)from;
    taken.is_cut |= is_cut;
    ck_assert_uint_le(size, sizeof taken.bytes - taken.size);
    memcpy(taken.bytes + taken.size, bytes, size);
    taken.size += size;
    return true;
}

static void take_packets(void)
{
    memset(&taken, 0, sizeof taken);
    ck_assert_int_eq(controller_take(controller, 0, gather, NULL), OK_);
}

START_TEST(packets_are_taken_once_and_in_order)
{
    struct insn_buffer_state state;

    reach(CPU_ACTIVE);
    write_packets(3000);
    take_packets();
    ck_assert_uint_ge(taken.size, 3000);
    ck_assert(!taken.is_cut);
    ck_assert_uint_eq(insn_first_psb(taken.bytes, taken.size), 0);
    take_packets();
    ck_assert_uint_eq(taken.size, 0);
    write_packets(100);
    ck_assert_int_eq(controller_stop(controller), OK_);
    ck_assert_int_eq(controller_get_buffer_state(controller, 0, &state), OK_);
    take_packets();
    ck_assert_uint_eq(taken.size, state.capture_end);
}
END_TEST

START_TEST(a_full_buffer_ends_tracing_until_the_next_start)
{
    struct insn_buffer_state state;

    reach(CPU_ACTIVE);
    write_packets(5 * 4096ul);
    ck_assert_int_eq(controller_stop(controller), OK_);
    ck_assert_int_eq(controller_get_buffer_state(controller, 0, &state), OK_);
    ck_assert_uint_eq(state.capture_end, 4 * 4096ul);
    take_packets();
    ck_assert_uint_eq(taken.size, 4 * 4096ul);
    ck_assert_int_eq(controller_start(controller), OK_);
    write_packets(100);
    take_packets();
    ck_assert_uint_ge(taken.size, 100);
}
END_TEST

START_TEST(a_circular_buffer_has_the_newest_packets_from_a_psb_packet_on)
{
    struct insn_buffer_config circular = usual;
    struct insn_buffer_state state;
    const uint8_t *chunk;
    size_t size;

    circular.is_circular = true;
    reach(CPU);
    ck_assert_int_eq(controller_allocate_buffer(controller, &circular, &descriptor), OK_);
    ck_assert_int_eq(controller_start(controller), OK_);
    write_packets(10 * 4096ul + 100);
    ck_assert_int_eq(controller_stop(controller), OK_);
    ck_assert_int_eq(controller_get_buffer_state(controller, 0, &state), OK_);
    ck_assert_uint_lt(state.capture_end, 4 * 4096ul);
    take_packets();
    ck_assert(taken.is_cut);
    ck_assert_uint_eq(insn_first_psb(taken.bytes, taken.size), 0);
    ck_assert_uint_ge(taken.size, 4 * 4096ul - 2 * 2048ul);
    /* What is before the position of writing is the end of what was taken.  */
    ck_assert_int_eq(
        controller_get_chunk(controller, 0, (uint32_t)(state.capture_end / 4096), &chunk, &size),
        OK_);
    ck_assert_uint_eq(size, 4096);
    size = (size_t)state.capture_end % 4096;
    ck_assert_mem_eq(chunk, taken.bytes + taken.size - size, size);
}
END_TEST

/* Whatever allocation fails, the answer says so, and the next try works.  */
START_TEST(survives_failing_allocations)
{
    unsigned long count;

    for (unsigned long n = 1;; n++) {
        enum insn_answer answer;

        allocation_fail_at(n);
        answer = controller_initialize(controller, INSN_MODE_CPU, 1);
        if (answer == OK_)
            answer = controller_allocate_buffer(controller, &usual, &descriptor);
        count = allocation_count();
        allocation_fail_at(0);
        ck_assert_int_eq(answer, count < n ? OK_ : INSN_ANSWER_NO_MEMORY);
        (void)controller_terminate(controller);
        if (count < n)
            break;
    }
    ck_assert_uint_ge(count, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn controller");
    TCase *tcase = tcase_create("controller");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, keeps_each_rule, 0, (int)(sizeof rules / sizeof *rules));
    tcase_add_test(tcase, hardware_without_pt_is_not_supported);
    tcase_add_test(tcase, errors_have_the_numbers_of_zircon);
    tcase_add_test(tcase, descriptors_are_the_lowest_free_ones);
    tcase_add_test(tcase, closing_frees_everything);
    tcase_add_test(tcase, packets_are_taken_once_and_in_order);
    tcase_add_test(tcase, a_full_buffer_ends_tracing_until_the_next_start);
    tcase_add_test(tcase, a_circular_buffer_has_the_newest_packets_from_a_psb_packet_on);
    tcase_add_test(tcase, survives_failing_allocations);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
