/* Raw stacks of Fuchsia's CPU profiler (cpu_profiler/stack_sample): copies of registers and memory
 * that are unwound when the trace ends.  tests/cli/test_stack_samples.sh has recorded ones.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/profile_records.h"

enum { X86_64 = 160, ARM64 = 280, RISCV64 = 256, STACK = 0x7000 };

static struct taken taken;
static struct sym_session *session;

/* ---- Copies ---- */

static uint8_t bytes[1 << 16];
static size_t used;

static void put(uint64_t word)
{
    ck_assert_uint_le(used + 8, sizeof bytes);
    memcpy(bytes + used, &word, 8); /* little-endian, as this machine */
    used += 8;
}

/* Registers of which the program counter is pc and the pointers are those of the stack below.  */
static void put_registers(size_t size, uint64_t pc)
{
    uint64_t words[ARM64 / 8] = { 0 };

    words[size == X86_64 ? 16 : size == ARM64 ? 32 : 0] = pc;
    words[size == X86_64 ? 7 : size == ARM64 ? 31 : 2] = STACK;
    words[size == X86_64 ? 6 : size == ARM64 ? 29 : 8] = STACK + (size == RISCV64 ? 16 : 0);
    put(size);
    for (size_t i = 0; i < size / 8; i++)
        put(words[i]);
}

/* A frame record for each return address: where the next one is, and the address.  The last one is
 * followed by a 0.  */
static void put_stack(const uint64_t *addresses, size_t count, size_t bias)
{
    put(STACK);
    put(16 * (count + 1));
    for (size_t i = 0; i < count; i++) {
        put(STACK + bias + 16 * (i + 1));
        put(addresses[i]);
    }
    put(0);
    put(0);
}

static struct fxt_record blob(void)
{
    static uint64_t none;
    struct fxt_record record = sampler_record(1, 1, 11, &none, 0);

    record.category = text_of("cpu_profiler");
    record.name = text_of("stack_sample");
    record.value.large_blob.payload = (struct fxt_bytes){ bytes, used };
    return record;
}

static struct fxt_record copy_of(size_t registers, uint64_t pc, const uint64_t *addresses,
                                 size_t count)
{
    used = 0;
    put_registers(registers, pc);
    put_stack(addresses, count, registers == RISCV64 ? 16 : 0);
    return blob();
}

/* ---- The profile ---- */

static struct fxt_record modules[6]; /* "a", "b" and "c" of 4 KiB each */

static void open_session(void)
{
    const struct sym_options options = { .size = sizeof options, .no_cache = true };
    static const char *const names[] = { "a", "b", "c" };

    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    for (size_t i = 0; i < 3; i++) {
        modules[2 * i] = module_record(1, (uint16_t)i, names[i], "");
        modules[2 * i + 1] = mapping_record(1, (uint16_t)i, 0x10000 * (i + 1), 0x1000, 0);
    }
}

static void release(void)
{
    taken_release(&taken);
    sym_session_close(session);
    session = NULL;
}

static const struct profile_notices *take(const struct fxt_record *records, size_t count,
                                          struct sym_session *with)
{
    const struct profile_ingest_options options = { .size = sizeof options, .session = with };
    struct profile_error error;

    if (!taken.profile)
        ck_assert_int_eq(profile_open(&taken.profile, &error), PROFILE_OK);
    ck_assert_int_eq(take_more(&taken, records, count, &options), PROFILE_OK);
    return profile_ingest_notices(taken.ingest);
}

static void expect(const char *folded)
{
    char *text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 0);

    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, folded);
    free(text);
}

/* ---- What is found ---- */

static const size_t machines[] = { X86_64, ARM64, RISCV64 };
static const uint64_t callers[] = { 0x20010, 0x30010 };

START_TEST(finds_callers_by_modules_that_come_last)
{
    struct fxt_record records[7] = { copy_of(machines[_i], 0x10010, callers, 2) };
    const struct profile_notices *notices;

    memcpy(records + 1, modules, sizeof modules);
    notices = take(records, 7, session);
    expect("[c];[b];[a] 1\n");
    ck_assert_uint_eq(notices->short_copies + notices->untabled_copies + notices->stray_copies, 0);
    ck_assert_uint_eq(notices->stack_captures, 0);
}
END_TEST

/* The samples of before and after: another module takes the place of "b".  */
START_TEST(uses_the_map_of_the_time)
{
    struct fxt_record records[10] = { modules[0], modules[1], modules[2], modules[3], modules[4] };

    records[5] = copy_of(X86_64, 0x10010, callers, 2);
    records[6] = module_record(1, 7, "new", "");
    records[7] = mapping_record(1, 7, 0x20000, 0x1000, 0);
    records[8] = records[5];
    records[9] = modules[5];
    (void)take(records, 10, session);
    expect("[c];[b];[a] 1\n[c];[new];[a] 1\n");
}
END_TEST

START_TEST(weighs_samples_by_the_period_of_their_time)
{
    struct fxt_arg first[1] = { u64_arg("period_ns", 1000) };
    struct fxt_record records[8] = { event_record(FXT_EVENT_INSTANT, "fxt.capture", "session",
                                                  first, 1),
                                     copy_of(X86_64, 0x10010, callers, 2) };
    struct profile_stack_value value;

    memcpy(records + 2, modules, sizeof modules);
    (void)take(records, 8, session);
    value = profile_get_value(taken.profile, PROFILE_CPU, 0);
    ck_assert_uint_eq(value.values[0], 1);
    ck_assert_uint_eq(value.values[1], 1000);
    ck_assert_uint_eq(value.thread_koid, 11);
}
END_TEST

START_TEST(cuts_deep_stacks_at_their_root)
{
    static uint64_t many[600];
    struct fxt_record records[7];
    char *text;

    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = 0x20010;
    records[0] = copy_of(X86_64, 0x10010, many, COUNT_OF(many));
    memcpy(records + 1, modules, sizeof modules);
    ck_assert_uint_eq(take(records, 7, session)->truncated_stacks, 1);
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 0);
    ck_assert_int_eq(strncmp(text, "[truncated];[b];[b];", 20), 0);
    free(text);
}
END_TEST

START_TEST(leaves_out_threads_that_are_not_chosen)
{
    const uint64_t other = 12;
    const struct profile_ingest_options options = {
        .size = sizeof options, .session = session, .tids = &other, .tid_count = 1
    };
    struct fxt_record records[1] = { copy_of(X86_64, 0x10010, callers, 2) };

    ck_assert_int_eq(take_records(records, 1, &options, &taken), PROFILE_OK);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 0);
}
END_TEST

START_TEST(counts_copies_that_nothing_can_unwind)
{
    struct fxt_record records[1] = { copy_of(X86_64, 0x10010, callers, 2) };

    ck_assert_uint_eq(take(records, 1, NULL)->stack_captures, 1);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 0);
}
END_TEST

/* ---- Damage, each kind counted once ---- */

static void nothing(void)
{
}

static void half_a_word(void)
{
    put(0);
    used = 4;
}

static void no_such_machine(void)
{
    put(8);
    put(0);
}

static void size_without_registers(void)
{
    put(X86_64);
}

static void endless_registers(void)
{
    put(UINT64_MAX);
    put(0);
}

static void code_of_32_bits(void)
{
    put_registers(ARM64, 0x10010);
    bytes[8 + 33 * 8] = 0x10; /* cpsr */
}

static void registers_alone(void)
{
    put_registers(X86_64, 0x10010);
}

static void half_a_header(void)
{
    put_registers(X86_64, 0x10010);
    put(STACK);
}

static void endless_piece(void)
{
    put_registers(X86_64, 0x10010);
    put(STACK);
    put(UINT64_MAX - 8);
    put(0);
    put(0x20010);
}

static void many_pieces(void)
{
    put_registers(X86_64, 0x10010);
    for (size_t i = 0; i < 17; i++) {
        put(0x1000 * i);
        put(0);
    }
}

static void code_nowhere(void)
{
    put_registers(X86_64, 0x90000);
    put_stack(callers, 2, 0);
}

static void pointer_to_no_code(void)
{
    static const uint64_t address = 0x90000;

    put_registers(X86_64, 0x10010);
    put_stack(&address, 1, 0);
}

static const struct {
    const char *what;
    void (*make)(void);
    size_t counter; /* of struct profile_notices */
    size_t samples;
} damages[] = {
#define COUNTER(name) offsetof(struct profile_notices, name)
    { "nothing", nothing, COUNTER(bad_copies), 0 },
    { "half a word", half_a_word, COUNTER(bad_copies), 0 },
    { "registers of 8 bytes", no_such_machine, COUNTER(bad_copies), 0 },
    { "a size without registers", size_without_registers, COUNTER(bad_copies), 0 },
    { "a size of registers near 2^64", endless_registers, COUNTER(bad_copies), 0 },
    { "32-bit code", code_of_32_bits, COUNTER(copies_of_32_bit), 0 },
    { "registers alone", registers_alone, COUNTER(short_copies), 1 },
    { "half the header of a piece", half_a_header, COUNTER(cut_copies), 1 },
    { "a piece of nearly 2^64 bytes", endless_piece, COUNTER(cut_copies), 1 },
    { "seventeen pieces", many_pieces, COUNTER(cut_copies), 1 },
    { "a program counter in no module", code_nowhere, COUNTER(stray_copies), 1 },
    { "a return address in no module", pointer_to_no_code, COUNTER(untabled_copies), 1 },
};

START_TEST(counts_damage_and_keeps_what_is_readable)
{
    const struct profile_notices *notices;
    struct fxt_record records[7];
    uint64_t count;

    used = 0;
    damages[_i].make();
    records[0] = blob();
    memcpy(records + 1, modules, sizeof modules);
    notices = take(records, 7, session);
    memcpy(&count, (const char *)notices + damages[_i].counter, sizeof count);
    ck_assert_msg(count == 1, "%s: %llu", damages[_i].what, (unsigned long long)count);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), damages[_i].samples);
}
END_TEST

/* Every prefix gives a sample, or is counted.  */
START_TEST(reads_copies_of_any_length)
{
    size_t whole;

    (void)copy_of(X86_64, 0x10010, callers, 2);
    whole = used;
    for (used = 0; used <= whole; used++) {
        struct fxt_record records[7] = { blob() };
        const struct profile_notices *notices;

        memcpy(records + 1, modules, sizeof modules);
        notices = take(records, 7, session);
        ck_assert_uint_eq(notices->bad_copies, used < 8 + X86_64);
        taken_release(&taken);
        taken = (struct taken){ .profile = NULL };
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_copies");
    TCase *tests = tcase_create("copies");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tests, open_session, release);
    tcase_add_loop_test(tests, finds_callers_by_modules_that_come_last, 0, COUNT_OF(machines));
    tcase_add_test(tests, uses_the_map_of_the_time);
    tcase_add_test(tests, weighs_samples_by_the_period_of_their_time);
    tcase_add_test(tests, cuts_deep_stacks_at_their_root);
    tcase_add_test(tests, leaves_out_threads_that_are_not_chosen);
    tcase_add_test(tests, counts_copies_that_nothing_can_unwind);
    tcase_add_loop_test(tests, counts_damage_and_keeps_what_is_readable, 0, COUNT_OF(damages));
    tcase_add_test(tests, reads_copies_of_any_length);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
