/* The external sorter gives what sorting in memory gives.  */
#include <check.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofile/ingest/sort.h"

#define KEYS ((size_t)20000)

static struct span_key keys[KEYS], expected[KEYS];

static int compare(const void *a, const void *b)
{
    const struct span_key *left = a, *right = b;

    if (left->ts_ns != right->ts_ns)
        return left->ts_ns < right->ts_ns ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

/* Times repeat; the other members must travel with their keys.  */
static void make_keys(bool sorted)
{
    unsigned long state = 42;

    for (size_t i = 0; i < KEYS; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        keys[i] = (struct span_key){ .ts_ns = sorted ? (int64_t)i / 3
                                                     : (int64_t)(state >> 52) - 2048,
                                     .ordinal = i,
                                     .end_ns = (int64_t)state,
                                     .pair = (uint32_t)(state >> 20),
                                     .type = (uint32_t)(i % 3) };
    }
    memcpy(expected, keys, sizeof keys);
    qsort(expected, KEYS, sizeof *expected, compare);
}

static const struct {
    size_t bytes, count;
    bool sorted;
} sizes[] = {
    { 0, 1000, false },         /* one key a run */
    { 64, 5000, false },        /* two */
    { 4096, KEYS, false },      /* the last run is cut */
    { 32 * KEYS, KEYS, false }, /* just fits */
    { 32 * KEYS - 1, KEYS, false },
    { 1 << 20, KEYS, false },
    { 4096, KEYS, true },
    { 1 << 20, KEYS, true },
    { 4096, 1, false },
    { 4096, 0, false },
};

START_TEST(gives_the_order_of_sorting_in_memory)
{
    struct span_sorter *sorter;
    const struct span_key *key;
    int failures = 0;

    make_keys(sizes[_i].sorted);
    qsort(memcpy(expected, keys, sizeof keys), sizes[_i].count, sizeof *expected, compare);
    ck_assert_int_eq(span_sorter_open("/tmp", sizes[_i].bytes, &sorter, NULL), PROFILE_OK);
    for (size_t i = 0; i < sizes[_i].count; i++)
        failures += span_sorter_add(sorter, &keys[i], NULL) != PROFILE_OK;
    ck_assert_int_eq(span_sorter_finish(sorter, NULL), PROFILE_OK);
    for (size_t i = 0; i < sizes[_i].count; i++)
        failures += span_sorter_next(sorter, &key, NULL) != PROFILE_OK || !key ||
                    memcmp(key, &expected[i], sizeof *key) != 0;
    ck_assert_int_eq(failures, 0);
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        ck_assert_int_eq(span_sorter_next(sorter, &key, NULL), PROFILE_OK);
        ck_assert_ptr_null(key);
    }
    span_sorter_close(sorter);
}
END_TEST

static size_t files_in(const char *directory)
{
    DIR *dir = opendir(directory);
    size_t count = 0;

    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

START_TEST(leaves_no_file_behind)
{
    char directory[] = "/tmp/test-sort-XXXXXX";
    struct span_sorter *sorter;

    make_keys(false);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(span_sorter_open(directory, 64, &sorter, NULL), PROFILE_OK);
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(span_sorter_add(sorter, &keys[i], NULL), PROFILE_OK);
    ck_assert_uint_eq(files_in(directory), 0); /* not even while it is in use */
    span_sorter_close(sorter);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(says_where_it_could_not_write)
{
    struct span_sorter *sorter;
    struct profile_error error;

    make_keys(false);
    ck_assert_int_eq(span_sorter_open("/nowhere at all", 32, &sorter, NULL), PROFILE_OK);
    ck_assert_int_eq(span_sorter_add(sorter, &keys[0], &error), PROFILE_OK);
    ck_assert_int_eq(span_sorter_add(sorter, &keys[1], &error), PROFILE_IO);
    ck_assert_str_eq(error.message, "/nowhere at all: No such file or directory");
    ck_assert_int_ne(error.system_errno, 0);
    span_sorter_close(sorter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_sort");
    TCase *tcase = tcase_create("sort");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, gives_the_order_of_sorting_in_memory, 0,
                        (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(tcase, leaves_no_file_behind);
    tcase_add_test(tcase, says_where_it_could_not_write);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
