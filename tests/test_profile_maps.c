/* Address maps: which module an address belonged to, whatever the order of records.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/profile_records.h"

/* Folded text without root shows modules only: "[a];[b] 1".  Frames: leaf first.  */

static void expect(const struct fxt_record *records, size_t count, const char *folded)
{
    char *text = folded_from(records, count, PROFILE_CPU);

    ck_assert_str_eq(text, folded);
    free(text);
}

static const uint64_t stack[] = { 0x1234, 0x5679 };

START_TEST(case_52_gives_the_same_whatever_comes_first)
{
    struct fxt_record a = module_record(7, 0, "/lib/a", "A"), b = module_record(7, 1, "b", "B");
    struct fxt_record at_a = mapping_record(7, 0, 0x1000, 0x1000, 0),
                      at_b = mapping_record(7, 1, 0x5000, 0x1000, 0);
    struct fxt_record sample = backtrace_record(1, 7, 8, stack, 2);
    const struct fxt_record orders[][6] = {
        { a, at_a, b, at_b, sample, sample }, { sample, sample, a, at_a, b, at_b },
        { sample, a, at_a, sample, b, at_b }, { a, b, sample, at_b, at_a, sample },
        { at_a, at_b, sample, sample, b, a }, /* mappings before their modules */
        { sample, at_b, a, sample, b, at_a },
    };

    expect(orders[_i], 6, "[b];[a] 2\n");
}
END_TEST

/* One mapping [0x1000, 0x2000) of vaddr 0x400, and a leaf at some address.  */
static const struct {
    uint64_t pc;
    const char *folded;
    uint64_t anonymous;
} edges[] = {
    { 0x1000, "[m] 1\n", 0 },
    { 0x1fff, "[m] 1\n", 0 },
    { 0x2000, "[anon] 1\n", 1 },
    { 0x0fff, "[anon] 1\n", 1 },
    { 0, "[anon] 1\n", 1 },
    { 0x7fffffffffffffff, "[anon] 1\n", 1 },
    { 0x8000000000000000, "[unknown] 1\n", 0 }, /* the kernel's, of which nothing is known */
    { UINT64_MAX, "[unknown] 1\n", 0 },
};

START_TEST(case_55_takes_an_address_by_its_half_open_range)
{
    const struct fxt_record records[] = {
        module_record(7, 0, "m", "M"),
        mapping_record(7, 0, 0x1000, 0x1000, 0x400),
        backtrace_record(1, 7, 8, &edges[_i].pc, 1),
    };
    struct taken taken;
    char *text;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, -1);
    ck_assert_str_eq(text, edges[_i].folded);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->anonymous_frames, edges[_i].anonymous);
    free(text);
    taken_release(&taken);
}
END_TEST

/* Callers are looked up one byte before: the last byte of a mapping is where a call at its end
 * returns behind it.  A caller at 0 must not become the kernel's last byte.  */
START_TEST(looks_callers_up_one_byte_before)
{
    static const uint64_t pcs[] = { 0x1000, 0x2000, 0x1000, 0 };
    const struct fxt_record records[] = {
        module_record(7, 0, "m", "M"),
        mapping_record(7, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 7, 8, pcs, 4),
    };

    expect(records, COUNT_OF(records), "[anon];[anon];[m];[m] 1\n");
}
END_TEST

START_TEST(case_56_makes_the_address_relative_to_the_module)
{
    static const uint64_t pcs[] = { 0x41d2341234, 0x41d2340121 };
    const struct fxt_record records[] = {
        backtrace_record(1, 77, 78, pcs, 2),
        module_record(77, 0, "app", "\xca\xfe"),
        mapping_record(77, 0, 0x41d2340120, 0x2f31, 0x1120),
    };
    struct profile_stacks *stacks;
    struct taken taken;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    stacks = profile_stacks_of(taken.profile);
    /* The frame with id 1 stands for what lies above a cut stack.  */
    ck_assert_uint_eq(profile_stacks_frame_count(stacks), 3);
    ck_assert_uint_eq(profile_stacks_get_frame(stacks, 2).vaddr, 0x1120);
    ck_assert_uint_eq(profile_stacks_get_frame(stacks, 3).vaddr, 0x2234);
    taken_release(&taken);
}
END_TEST

START_TEST(case_53_keeps_equal_module_ids_of_two_processes_apart)
{
    static const uint64_t pc = 0x1000;
    const struct fxt_record records[] = {
        module_record(1, 0, "one", "1"),    mapping_record(1, 0, 0x1000, 0x1000, 0),
        module_record(2, 0, "two", "2"),    mapping_record(2, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 11, &pc, 1), backtrace_record(1, 2, 22, &pc, 1),
        backtrace_record(1, 2, 22, &pc, 1),
    };

    expect(records, COUNT_OF(records), "[one] 1\n[two] 2\n");
}
END_TEST

/* Ids wrap at 65,536: the newest module holds for the mappings that follow.  */
START_TEST(case_53_takes_the_newest_module_of_an_id)
{
    static const uint64_t old_pc = 0x1000, new_pc = 0x2000;
    const struct fxt_record records[] = {
        module_record(1, 65535, "old", "1"),    mapping_record(1, 65535, 0x1000, 0x1000, 0),
        module_record(1, 65535, "new", "2"),    mapping_record(1, 65535, 0x2000, 0x1000, 0),
        backtrace_record(1, 1, 11, &old_pc, 1), backtrace_record(1, 1, 11, &new_pc, 1),
    };

    expect(records, COUNT_OF(records), "[new] 1\n[old] 1\n");
}
END_TEST

/* dlclose() and dlopen(): the place belonged to one module before and to another after.  */
START_TEST(case_54_tells_times_of_a_reused_place_apart)
{
    static const uint64_t in_both = 0x1800, left = 0x1100, right = 0x2800;
    const struct fxt_record records[] = {
        module_record(1, 0, "a", "A"),
        module_record(1, 1, "b", "B"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 2, &in_both, 1), /* a */
        backtrace_record(1, 1, 2, &right, 1),   /* nothing was there yet */
        mapping_record(1, 1, 0x1800, 0x1800, 0),
        backtrace_record(2, 1, 2, &in_both, 1), /* b */
        backtrace_record(2, 1, 2, &left, 1),    /* still a */
        backtrace_record(2, 1, 2, &right, 1),   /* b */
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(3, 1, 2, &in_both, 1), /* a again */
        backtrace_record(3, 1, 2, &right, 1),   /* b's rest */
    };

    expect(records, COUNT_OF(records), "[a] 3\n[anon] 1\n[b] 3\n");
}
END_TEST

START_TEST(keeps_the_rest_of_a_split_mapping_in_its_place)
{
    static const uint64_t left = 0x1010, middle = 0x2010, right = 0x3010;
    const struct fxt_record records[] = {
        module_record(1, 0, "a", "A"),
        module_record(1, 1, "b", "B"),
        mapping_record(1, 0, 0x1000, 0x3000, 0x100),
        mapping_record(1, 1, 0x2000, 0x1000, 0x700),
        backtrace_record(1, 1, 2, &left, 1),
        backtrace_record(1, 1, 2, &middle, 1),
        backtrace_record(1, 1, 2, &right, 1),
    };
    static const uint64_t vaddrs[] = { 0x110, 0x710, 0x2110 };
    struct taken taken;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    for (profile_id i = 0; i < 3; i++) {
        struct profile_frame frame = profile_stacks_get_frame(profile_stacks_of(taken.profile),
                                                              i + 2);

        ck_assert_uint_eq(frame.vaddr, vaddrs[i]);
    }
    taken_release(&taken);
}
END_TEST

/* What overlaps nothing holds from the beginning; what repeats a mapping changes nothing.  */
START_TEST(lets_later_mappings_hold_from_the_beginning)
{
    static const uint64_t pcs[] = { 0x1000, 0x9000 };
    const struct fxt_record records[] = {
        module_record(1, 0, "a", "A"),
        module_record(1, 1, "b", "B"),
        module_record(1, 2, "c", "C"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 2, pcs, 2),
        mapping_record(1, 0, 0x1000, 0x1000, 0),     /* repeats */
        mapping_record(1, 0, 0x1800, 0x1000, 0x800), /* goes on */
        backtrace_record(2, 1, 2, pcs, 2),
        mapping_record(1, 1, 0x1000, 0x1000, 0), /* a new epoch */
        mapping_record(1, 2, 0x8000, 0x2000, 0), /* in the way of nothing */
        backtrace_record(3, 1, 2, pcs, 2),
    };

    expect(records, COUNT_OF(records), "[c];[a] 2\n[c];[b] 1\n");
}
END_TEST

START_TEST(repeating_a_lost_mapping_does_not_reach_back)
{
    static const uint64_t pc = 0x1000;
    const struct fxt_record records[] = {
        module_record(1, 0, "a", "A"),           module_record(1, 1, "b", "B"),
        mapping_record(1, 1, 0x1000, 0x1000, 0), backtrace_record(1, 1, 2, &pc, 1), /* b */
        mapping_record(1, 0, 0x1000, 0x1000, 0), mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 2, &pc, 1), /* a */
    };

    expect(records, COUNT_OF(records), "[a] 1\n[b] 1\n");
}
END_TEST

/* A map that is read again names a file without a build ID once more, perhaps by another id.  */
START_TEST(a_path_without_build_id_is_one_module_when_read_again)
{
    static const uint64_t pc = 0x1010;
    const struct fxt_record records[] = {
        module_record(1, 0, "/bin/app", ""),     mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 2, &pc, 1),       module_record(1, 5, "/bin/app", ""),
        mapping_record(1, 5, 0x1000, 0x1000, 0), backtrace_record(1, 1, 3, &pc, 1),
        module_record(1, 0, "/bin/app", ""),     mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 4, &pc, 1),
    };
    struct taken taken;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    ck_assert_uint_eq(profile_stacks_module_count(profile_stacks_of(taken.profile)), 1);
    ck_assert_uint_eq(profile_stack_count(taken.profile, PROFILE_CPU), 1);
    taken_release(&taken);
}
END_TEST

/* Two layouts of one binary, as two runs with random addresses give them.  */
START_TEST(gives_equal_text_for_two_layouts)
{
    static const uint64_t bases[] = { 0x555555554000, 0x5601a7c3d000 };
    char *texts[2];

    for (size_t i = 0; i < 2; i++) {
        const uint64_t pcs[] = { bases[i] + 0x1100, bases[i] + 0x1205, 0x7f0000000000 + bases[i] };
        const struct fxt_record records[] = {
            process_record(1, "app"),
            module_record(1, 0, "/bin/app", "A"),
            mapping_record(1, 0, bases[i], 0x3000, 0),
            backtrace_record(1, 1, 1, pcs, 3),
        };

        texts[i] = folded_from(records, COUNT_OF(records), PROFILE_CPU);
    }
    ck_assert_str_eq(texts[0], "[anon];[app];[app] 1\n");
    ck_assert_str_eq(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}
END_TEST

/* Captures write the child's copy of the map out; the same frames come of it.  */
START_TEST(merges_frames_of_parent_and_child)
{
    static const uint64_t pc = 0x1010;
    const struct fxt_record records[] = {
        module_record(1, 0, "a", "A"),           mapping_record(1, 0, 0x1000, 0x1000, 0),
        backtrace_record(1, 1, 1, &pc, 1),       module_record(2, 1, "a", "A"),
        mapping_record(2, 1, 0x1000, 0x1000, 0), backtrace_record(2, 2, 2, &pc, 1),
    };
    struct taken taken;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    ck_assert_uint_eq(profile_stack_count(taken.profile, PROFILE_CPU), 1);
    ck_assert_uint_eq(profile_sample_count(taken.profile, PROFILE_CPU), 2);
    taken_release(&taken);
}
END_TEST

START_TEST(looks_kernel_addresses_up_in_process_0)
{
    static const uint64_t pcs[] = { 0xffffffff81000010, 0x1001 };
    const struct fxt_record records[] = {
        backtrace_record(1, 1, 1, pcs, 2),
        module_record(0, 9, "[kernel.kallsyms]", "K"),
        mapping_record(0, 9, 0xffffffff81000000, 0x1000000, 0xffffffff81000000),
        module_record(1, 0, "a", "A"),
        mapping_record(1, 0, 0x1000, 0x1000, 0),
    };

    expect(records, COUNT_OF(records), "[a];[kernel.kallsyms] 1\n");
}
END_TEST

START_TEST(says_unknown_where_a_process_has_no_map)
{
    static const uint64_t pc = 0x1000;
    const struct fxt_record records[] = {
        backtrace_record(1, 1, 1, &pc, 1),       backtrace_record(1, 1, 1, &pc, 1),
        backtrace_record(1, 2, 2, &pc, 1),       module_record(2, 0, "b", "B"),
        mapping_record(2, 0, 0x9000, 0x1000, 0),
    };
    struct taken taken;
    char *text;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, -1);
    ck_assert_str_eq(text, "[anon] 1\n[unknown] 2\n");
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->unmapped_processes, 1);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->anonymous_frames, 1);
    free(text);
    taken_release(&taken);
}
END_TEST

START_TEST(case_54_counts_mappings_that_make_no_sense)
{
    static const uint64_t pc = UINT64_MAX - 1;
    const struct fxt_record records[] = {
        module_record(0, 0, "top", "A"),
        mapping_record(0, 0, 0x1000, 0, 0),                  /* empty */
        mapping_record(0, 0, UINT64_MAX - 0xfff, 0x1001, 0), /* wraps */
        mapping_record(0, 0, 1, UINT64_MAX, 0),              /* as large as can be: good */
        mapping_record(0, 3, 0x1000, 0x1000, 0),             /* of no module */
        mapping_record(9, 0, 0x1000, 0x1000, 0),             /* nor of a process that is there */
        backtrace_record(1, 1, 1, &pc, 1),
    };
    struct taken taken;
    char *text;

    ck_assert_int_eq(take_records(records, COUNT_OF(records), NULL, &taken), PROFILE_OK);
    text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, -1);
    ck_assert_str_eq(text, "[top] 1\n");
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->bad_mappings, 2);
    ck_assert_uint_eq(profile_ingest_notices(taken.ingest)->unknown_modules, 2);
    free(text);
    taken_release(&taken);
}
END_TEST

/* ---- Against a map of single bytes ----
 *
 * The address space has 64 addresses; the oracle knows who has each of them after each step.  */

#define SPACE  64
#define STEPS  60
#define ROUNDS 200

struct oracle {
    int owner[STEPS + 1][SPACE]; /* module and place after so many mappings; -1: nobody */
    int steps;
};

static unsigned random_state;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 16) % limit;
}

/* Owners are module * 2 + bias, so that one number says both.  */
static void oracle_map(struct oracle *oracle, int start, int length, int owner)
{
    int *before = oracle->owner[oracle->steps], *after = oracle->owner[oracle->steps + 1];
    bool conflict = false;

    memcpy(after, before, sizeof oracle->owner[0]);
    for (int i = start; i < start + length; i++)
        conflict |= before[i] >= 0 && before[i] != owner;
    for (int i = start; i < start + length; i++) {
        bool reaches_back = !conflict && before[i] < 0;

        after[i] = owner;
        for (int step = oracle->steps; reaches_back && step >= 0; step--)
            oracle->owner[step][i] = owner;
    }
    oracle->steps++;
}

START_TEST(agrees_with_a_map_of_bytes)
{
    static struct oracle oracle;
    static uint64_t pcs[STEPS][2];
    static struct fxt_record records[4 + 2 * STEPS];
    static const char *const names[] = { "a", "b", "c", "d" };
    static const char *const frames[] = { "[a]", "[b]", "[c]", "[d]" };
    struct taken taken;
    size_t count = 0;
    int step_of[STEPS];

    random_state = (unsigned)_i;
    memset(&oracle, 0, sizeof oracle);
    memset(oracle.owner, 0xff, sizeof oracle.owner);
    for (uint16_t i = 0; i < 4; i++)
        records[count++] = module_record(1, i, names[i], names[i]);
    for (int i = 0; i < STEPS; i++) {
        int start = (int)random_below(SPACE - 1),
            length = 1 + (int)random_below((unsigned)(SPACE - start < 12 ? SPACE - start : 12));
        uint16_t module = (uint16_t)random_below(4);
        unsigned bias = random_below(2);

        /* vaddr = address + bias * SPACE: the same module at another place is in conflict, too. */
        oracle_map(&oracle, start, length, module * 2 + (int)bias);
        records[count++] = mapping_record(1, module, 0x1000 + (uint64_t)start, (uint64_t)length,
                                          (uint64_t)start + (uint64_t)bias * SPACE);
        pcs[i][0] = 0x1000 + random_below(SPACE);
        step_of[i] = oracle.steps;
        records[count++] = backtrace_record(i, 1, 1, pcs[i], 1);
    }
    ck_assert_int_eq(take_records(records, count, NULL, &taken), PROFILE_OK);

    /* Count what the oracle says, as folded text would.  */
    int expected[5] = { 0 };
    for (int i = 0; i < STEPS; i++) {
        int owner = oracle.owner[step_of[i]][pcs[i][0] - 0x1000];

        expected[owner < 0 ? 4 : owner / 2]++;
    }
    char *text = folded_of(&taken, PROFILE_CPU, PROFILE_ROOT_NONE, 0);
    for (int i = 0; i < 5; i++) {
        const char *line = strstr(text, i < 4 ? frames[i] : "[anon]");

        ck_assert_msg((line ? strtol(strchr(line, ' ') + 1, NULL, 10) : 0) == expected[i], "%d: %s",
                      i, text);
    }
    free(text);
    taken_release(&taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_maps");
    TCase *tcase = tcase_create("maps");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, case_52_gives_the_same_whatever_comes_first, 0, 6);
    tcase_add_loop_test(tcase, case_55_takes_an_address_by_its_half_open_range, 0,
                        (int)COUNT_OF(edges));
    tcase_add_test(tcase, looks_callers_up_one_byte_before);
    tcase_add_test(tcase, case_56_makes_the_address_relative_to_the_module);
    tcase_add_test(tcase, case_53_keeps_equal_module_ids_of_two_processes_apart);
    tcase_add_test(tcase, case_53_takes_the_newest_module_of_an_id);
    tcase_add_test(tcase, case_54_tells_times_of_a_reused_place_apart);
    tcase_add_test(tcase, keeps_the_rest_of_a_split_mapping_in_its_place);
    tcase_add_test(tcase, lets_later_mappings_hold_from_the_beginning);
    tcase_add_test(tcase, repeating_a_lost_mapping_does_not_reach_back);
    tcase_add_test(tcase, a_path_without_build_id_is_one_module_when_read_again);
    tcase_add_test(tcase, gives_equal_text_for_two_layouts);
    tcase_add_test(tcase, merges_frames_of_parent_and_child);
    tcase_add_test(tcase, looks_kernel_addresses_up_in_process_0);
    tcase_add_test(tcase, says_unknown_where_a_process_has_no_map);
    tcase_add_test(tcase, case_54_counts_mappings_that_make_no_sense);
    tcase_add_loop_test(tcase, agrees_with_a_map_of_bytes, 0, ROUNDS);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
