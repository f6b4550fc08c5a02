/* The table of sample types: what its users rely on.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_types.h>

START_TEST(each_kind_has_its_rows_in_the_order_of_its_values)
{
    struct profile *profile;
    struct profile_sample_type types[PROFILE_MAX_TYPES];

    ck_assert_int_eq(profile_open(&profile, NULL), PROFILE_OK);
    for (int kind = 0; kind < PROFILE_KINDS; kind++) {
        size_t count;
        const struct profile_known_type *known = profile_known_types((enum profile_kind)kind,
                                                                     &count);
        size_t shown = profile_sample_types(profile, (enum profile_kind)kind, types);

        ck_assert_uint_ge(count, 2);
        ck_assert(known[0].counts && !known[count - 1].counts);
        /* An empty profile has no nanoseconds.  */
        ck_assert_uint_eq(shown, kind == PROFILE_CPU ? 1 : count);
        for (size_t i = 0; i < shown; i++)
            ck_assert_str_eq(types[i].type, known[i].type);
    }
    profile_close(profile);
}
END_TEST

START_TEST(rows_are_well_formed)
{
    const struct profile_known_type *known;
    size_t rows = 0;

    for (; (known = profile_known_type_at(rows)) != NULL; rows++) {
        ck_assert(known->units != 0 && (known->units & (known->units - 1)) == 0);
        ck_assert(!known->counts || strcmp(known->unit, "count") == 0);
        if (known->counts) /* what it counts follows */
            ck_assert_ptr_nonnull(profile_known_type_at(rows + 1));
    }
    ck_assert_uint_ge(rows, 20);
}
END_TEST

static const struct {
    const char *type, *counter;
} counters[] = {
    { "cpu", "samples" },
    { "inuse_space", "inuse_objects" },
    { "alloc_space", "alloc_objects" },
    { "free_space", "free_objects" },
    { "delay", "contentions" },
    { "wall", "spans" },
    { "allocated_space", "allocated_objects" },
    { "cache-misses", "samples" },
};

START_TEST(finds_what_counts_a_type)
{
    ck_assert_str_eq(profile_known_counter(counters[_i].type)->type, counters[_i].counter);
}
END_TEST

START_TEST(units_round_to_the_nearest)
{
    ck_assert_uint_eq(profile_to_units(1.5, 2), 3);
    ck_assert_uint_eq(profile_from_units(3, 2), 2);
    ck_assert_uint_eq(profile_from_units(2, 4), 1);
    ck_assert_uint_eq(profile_from_units(1, 4), 0);
    ck_assert_uint_eq(profile_to_units(1e300, PROFILE_BYTE_UNITS), UINT64_C(1) << 60);
    ck_assert_uint_eq(profile_from_units(UINT64_MAX, 1), UINT64_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_types");
    TCase *tcase = tcase_create("table");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, each_kind_has_its_rows_in_the_order_of_its_values);
    tcase_add_test(tcase, rows_are_well_formed);
    tcase_add_loop_test(tcase, finds_what_counts_a_type, 0, sizeof counters / sizeof *counters);
    tcase_add_test(tcase, units_round_to_the_nearest);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
