/* The external sorter gives what sorting in memory gives.  */
#include <check.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofile/ingest/sort.h"

#define KEYS ((size_t)20000)

/* As large as the events of the timeline; what sorts them is made for that size.  */
struct item {
    struct sort_key key;
    uint64_t state[3];
};

static struct item keys[KEYS], expected[KEYS];

static int compare(const void *a, const void *b)
{
    const struct item *left = a, *right = b;

    if (left->key.ts_ns != right->key.ts_ns)
        return left->key.ts_ns < right->key.ts_ns ? -1 : 1;
    return (left->key.ordinal > right->key.ordinal) - (left->key.ordinal < right->key.ordinal);
}

/* Times repeat; the other members must travel with their keys.  */
static void make_keys(bool sorted)
{
    unsigned long state = 42;

    for (size_t i = 0; i < KEYS; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        keys[i] = (struct item){
            .key = { .ts_ns = sorted ? (int64_t)i / 3 : (int64_t)(state >> 52) - 2048,
                     .ordinal = i },
            .state = { state, ~state, i },
        };
    }
    memcpy(expected, keys, sizeof keys);
    qsort(expected, KEYS, sizeof *expected, compare);
}

static const struct {
    size_t bytes, count;
    bool sorted;
} sizes[] = {
    { 0, 1000, false },         /* one key a run */
    { 128, 5000, false },       /* two */
    { 4096, KEYS, false },      /* the last run is cut */
    { 60 * KEYS, KEYS, false }, /* just fits */
    { 60 * KEYS - 1, KEYS, false },
    { 1 << 20, KEYS, false },
    { 4096, KEYS, true },
    { 1 << 20, KEYS, true },
    { 4096, 1, false },
    { 4096, 0, false },
};

START_TEST(gives_the_order_of_sorting_in_memory)
{
    struct sorter *sorter;
    const void *key;
    int failures = 0;

    make_keys(sizes[_i].sorted);
    qsort(memcpy(expected, keys, sizeof keys), sizes[_i].count, sizeof *expected, compare);
    ck_assert_int_eq(sorter_open("/tmp", sizes[_i].bytes, sizeof *keys, &sorter, NULL), PROFILE_OK);
    for (size_t i = 0; i < sizes[_i].count; i++)
        failures += sorter_add(sorter, &keys[i], NULL) != PROFILE_OK;
    ck_assert_int_eq(sorter_finish(sorter, NULL), PROFILE_OK);
    for (size_t i = 0; i < sizes[_i].count; i++)
        failures += sorter_next(sorter, &key, NULL) != PROFILE_OK || !key ||
                    memcmp(key, &expected[i], sizeof *expected) != 0;
    ck_assert_int_eq(failures, 0);
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        ck_assert_int_eq(sorter_next(sorter, &key, NULL), PROFILE_OK);
        ck_assert_ptr_null(key);
    }
    sorter_close(sorter);
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
    struct sorter *sorter;

    make_keys(false);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(sorter_open(directory, 64, sizeof *keys, &sorter, NULL), PROFILE_OK);
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(sorter_add(sorter, &keys[i], NULL), PROFILE_OK);
    ck_assert_uint_eq(files_in(directory), 0); /* not even while it is in use */
    sorter_close(sorter);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(says_where_it_could_not_write)
{
    struct sorter *sorter;
    struct profile_error error;

    make_keys(false);
    ck_assert_int_eq(sorter_open("/nowhere at all", 32, sizeof *keys, &sorter, NULL), PROFILE_OK);
    ck_assert_int_eq(sorter_add(sorter, &keys[0], &error), PROFILE_OK);
    ck_assert_int_eq(sorter_add(sorter, &keys[1], &error), PROFILE_IO);
    ck_assert_str_eq(error.message, "/nowhere at all: No such file or directory");
    ck_assert_int_ne(error.system_errno, 0);
    sorter_close(sorter);
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
