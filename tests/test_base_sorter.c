/* The external sorter gives what sorting in memory gives.  */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sorter.h"

#define KEYS ((size_t)20000)

/* As large as the events of the timeline; what sorts them is made for that size.  */
struct item {
    struct base_sort_key key;
    uint64_t state[3];
};

static struct item keys[KEYS], expected[KEYS];

static int compare(const void *a, const void *b)
{
    const struct item *left = a, *right = b;

    if (left->key.key != right->key.key)
        return left->key.key < right->key.key ? -1 : 1;
    return (left->key.ordinal > right->key.ordinal) - (left->key.ordinal < right->key.ordinal);
}

/* Times repeat; the other members must travel with their keys.  */
static void make_keys(bool sorted)
{
    unsigned long state = 42;

    for (size_t i = 0; i < KEYS; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        keys[i] = (struct item){
            .key = { .key = sorted ? (int64_t)i / 3 : (int64_t)(state >> 52) - 2048, .ordinal = i },
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

static struct base_sorter *open_sorter(const char *directory, size_t bytes, bool by_ordinal)
{
    struct base_sorter_options options = {
        .item_size = sizeof *keys, .bytes = bytes, .directory = directory, .by_ordinal = by_ordinal
    };
    struct base_sorter *sorter = NULL;

    ck_assert_int_eq(base_sorter_open(&options, &sorter), 0);
    return sorter;
}

START_TEST(gives_the_order_of_sorting_in_memory)
{
    struct base_sorter *sorter;
    const void *key;
    int failures = 0;

    make_keys(sizes[_i].sorted);
    qsort(memcpy(expected, keys, sizeof keys), sizes[_i].count, sizeof *expected, compare);
    sorter = open_sorter("/tmp", sizes[_i].bytes, true);
    for (size_t i = 0; i < sizes[_i].count; i++)
        failures += base_sorter_add(sorter, &keys[i]) != 0;
    ck_assert_int_eq(base_sorter_finish(sorter), 0);
    for (size_t i = 0; i < sizes[_i].count; i++)
        failures += base_sorter_next(sorter, &key) != 0 || !key ||
                    memcmp(key, &expected[i], sizeof *expected) != 0;
    ck_assert_int_eq(failures, 0);
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        ck_assert_int_eq(base_sorter_next(sorter, &key), 0);
        ck_assert_ptr_null(key);
    }
    base_sorter_close(sorter);
}
END_TEST

/* Without ordinals: what was added first comes first.  Ordinals run backwards, so that comparing
 * them would show.  */
START_TEST(keeps_the_order_of_equal_keys)
{
    struct base_sorter *sorter = open_sorter("/tmp", sizes[_i].bytes, false);
    int64_t last_key = INT64_MIN;
    uint64_t last = 0;
    const void *next = NULL;
    int failures = 0;

    make_keys(sizes[_i].sorted);
    for (size_t i = 0; i < sizes[_i].count; i++) {
        keys[i].key.ordinal = KEYS - i;
        keys[i].state[2] = i;
        failures += base_sorter_add(sorter, &keys[i]) != 0;
    }
    ck_assert_int_eq(base_sorter_finish(sorter), 0);
    for (size_t i = 0; i < sizes[_i].count; i++) {
        ck_assert_int_eq(base_sorter_next(sorter, &next), 0);
        const struct item *item = next;
        if (!item)
            ck_abort_msg("only %zu items", i);
        failures += item->key.key < last_key ||
                    (i > 0 && item->key.key == last_key && item->state[2] <= last);
        failures += memcmp(item, &keys[item->state[2]], sizeof *item) != 0;
        last_key = item->key.key;
        last = item->state[2];
    }
    ck_assert_int_eq(failures, 0);
    base_sorter_close(sorter);
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
    struct base_sorter *sorter;

    make_keys(false);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    sorter = open_sorter(directory, 64, true);
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(base_sorter_add(sorter, &keys[i]), 0);
    ck_assert_uint_eq(files_in(directory), 0); /* not even while it is in use */
    base_sorter_close(sorter);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(says_where_it_could_not_write)
{
    struct base_sorter *sorter = open_sorter("/nowhere at all", 32, true);

    make_keys(false);
    ck_assert_int_eq(base_sorter_add(sorter, &keys[0]), 0);
    ck_assert_int_eq(base_sorter_add(sorter, &keys[1]), ENOENT);
    base_sorter_close(sorter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_sorter");
    TCase *tcase = tcase_create("sort");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, gives_the_order_of_sorting_in_memory, 0,
                        (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(tcase, keeps_the_order_of_equal_keys, 0,
                        (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(tcase, leaves_no_file_behind);
    tcase_add_test(tcase, says_where_it_could_not_write);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
