#include "libsymbolize/symbolize_internal.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum { NO = -1 };

/* Ranges, and what each address from 0 on belongs to.  */
static const struct {
    const char *name;
    size_t count;
    struct sym_range ranges[4];
    int values[12];
} tables[] = {
    { "one range", 1, { { 2, 5, 0, 0, 7 } }, { NO, NO, 7, 7, 7, NO, NO, NO, NO, NO, NO, NO } },
    { "neighbours",
      2,
      { { 4, 6, 0, 0, 2 }, { 2, 4, 0, 0, 1 } },
      { NO, NO, 1, 1, 2, 2, NO, NO, NO, NO, NO, NO } },
    { "a higher rank inside a lower",
      2,
      { { 1, 9, 0, 0, 1 }, { 3, 5, 1, 0, 2 } },
      { NO, 1, 1, 2, 2, 1, 1, 1, 1, NO, NO, NO } },
    { "a higher rank around a lower",
      2,
      { { 1, 9, 1, 0, 1 }, { 3, 5, 0, 0, 2 } },
      { NO, 1, 1, 1, 1, 1, 1, 1, 1, NO, NO, NO } },
    { "the later start where ranks agree",
      2,
      { { 1, 6, 0, 0, 1 }, { 3, 9, 0, 0, 2 } },
      { NO, 1, 1, 2, 2, 2, 2, 2, 2, NO, NO, NO } },
    { "the higher tie at one start",
      2,
      { { 1, 9, 0, 5, 1 }, { 1, 4, 0, 6, 2 } },
      { NO, 2, 2, 2, 1, 1, 1, 1, 1, NO, NO, NO } },
    { "an outer range that goes on after two inner ones",
      3,
      { { 0, 10, 0, 0, 1 }, { 2, 4, 1, 0, 2 }, { 4, 6, 1, 0, 3 } },
      { 1, 1, 2, 2, 3, 3, 1, 1, 1, 1, NO, NO } },
    { "ranges that cross",
      3,
      { { 0, 6, 1, 0, 1 }, { 4, 8, 2, 0, 2 }, { 2, 10, 0, 0, 3 } },
      { 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, NO, NO } },
    { "empty and backward ranges",
      3,
      { { 3, 3, 0, 0, 1 }, { 5, 4, 0, 0, 2 }, { 6, 7, 0, 0, 3 } },
      { NO, NO, NO, NO, NO, NO, 3, NO, NO, NO, NO, NO } },
    { "none", 0, { { 0, 0, 0, 0, 0 } }, { NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO } },
};

/* The value at vaddr, or SYM_NO_VALUE.  */
static uint32_t value_at(const struct sym_segments *segments, uint64_t vaddr)
{
    ptrdiff_t at = sym_segments_search(segments->items, segments->count, vaddr, -1);

    return at < 0 ? SYM_NO_VALUE : segments->items[at].value;
}

START_TEST(finds_the_range_that_answers)
{
    struct sym_ranges ranges = { 0 };
    struct sym_segments segments = { 0 };

    for (size_t i = 0; i < tables[_i].count; i++)
        ck_assert_int_eq(sym_ranges_add(&ranges, tables[_i].ranges[i]), SYM_OK);
    ck_assert_int_eq(sym_segments_build(&segments, &ranges), SYM_OK);
    for (uint64_t vaddr = 0; vaddr < 12; vaddr++) {
        uint32_t wanted = tables[_i].values[vaddr] == NO ? SYM_NO_VALUE
                                                         : (uint32_t)tables[_i].values[vaddr];
        uint32_t found = value_at(&segments, vaddr);
        ck_assert_msg(found == wanted, "%s: %u at %d", tables[_i].name, found, (int)vaddr);
    }
    sym_segments_release(&segments);
    sym_ranges_release(&ranges);
}
END_TEST

/* What the sweep must give, the slow way.  */
static uint32_t best_of(const struct sym_range *ranges, size_t count, uint64_t vaddr)
{
    const struct sym_range *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct sym_range *range = &ranges[i];
        if (vaddr < range->low || vaddr >= range->high)
            continue;
        if (!best || range->rank > best->rank ||
            (range->rank == best->rank &&
             (range->low > best->low || (range->low == best->low && range->value > best->value))))
            best = range;
    }
    return best ? best->value : SYM_NO_VALUE;
}

START_TEST(agrees_with_a_linear_search_on_random_ranges)
{
    enum { COUNT = 40, SPAN = 64 };
    struct sym_range copy[COUNT];
    struct sym_ranges ranges = { 0 };
    struct sym_segments segments = { 0 };

    srand((unsigned)_i);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t low = (uint64_t)rand() % SPAN;
        copy[i] = (struct sym_range){ .low = low,
                                      .high = low + (uint64_t)rand() % 16,
                                      .rank = (uint32_t)rand() % 4,
                                      .value = i };
        ck_assert_int_eq(sym_ranges_add(&ranges, copy[i]), SYM_OK);
    }
    ck_assert_int_eq(sym_segments_build(&segments, &ranges), SYM_OK);
    for (uint64_t vaddr = 0; vaddr < SPAN + 20; vaddr++)
        ck_assert_uint_eq(value_at(&segments, vaddr), best_of(copy, COUNT, vaddr));
    sym_segments_release(&segments);
    sym_ranges_release(&ranges);
}
END_TEST

START_TEST(stores_equal_strings_once)
{
    struct sym_strings strings = { 0 };
    char text[32];
    const char *first[1000];

    for (int i = 0; i < 1000; i++) {
        int length = snprintf(text, sizeof text, "name %d", i);
        first[i] = sym_strings_intern(&strings, text, (size_t)length);
        ck_assert_str_eq(first[i], text);
    }
    for (int i = 0; i < 1000; i++) {
        int length = snprintf(text, sizeof text, "name %d", i);
        ck_assert_ptr_eq(sym_strings_intern(&strings, text, (size_t)length), first[i]);
    }
    ck_assert_uint_eq(strings.texts.count, 1000);
    ck_assert_str_eq(sym_strings_intern(&strings, "name 77", 6), "name 7");
    sym_strings_release(&strings);
}
END_TEST

static const struct {
    const char *directory, *name, *path;
} joins[] = {
    { "/src", "a.c", "/src/a.c" },     { "/src/", "a.c", "/src/a.c" },
    { "/src", "/b/a.c", "/b/a.c" },    { "", "a.c", "a.c" },
    { "/src", "./a.c", "/src/./a.c" }, { "/src", "", "/src" },
};

START_TEST(joins_directory_and_name)
{
    struct sym_strings strings = { 0 };

    ck_assert_str_eq(sym_strings_join(&strings, joins[_i].directory, joins[_i].name),
                     joins[_i].path);
    sym_strings_release(&strings);
}
END_TEST

static const struct {
    const char *name;
    uint64_t uleb;
    int64_t sleb;
    size_t length;
    uint8_t bytes[12];
    bool failed;
} lebs[] = {
    { "zero", 0, 0, 1, { 0 }, false },
    { "two bytes", 0x765, 0x765, 2, { 0xe5, 0x0e }, false },
    { "minus one", 0x7f, -1, 1, { 0x7f }, false },
    { "minus 128", 0x3f80, -128, 2, { 0x80, 0x7f }, false },
    { "padded zero", 0, 0, 3, { 0x80, 0x80, 0 }, false },
    { "cut short", 0, 0, 2, { 0x80, 0x80 }, true },
    { "without end", 0, 0, 12, { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, true },
};

START_TEST(reads_leb128)
{
    struct sym_bytes bytes = { .data = lebs[_i].bytes, .size = lebs[_i].length };
    struct sym_cursor cursor = sym_cursor_at(&bytes, 0, false);
    struct sym_cursor second = cursor;

    ck_assert_uint_eq(sym_read_uleb(&cursor), lebs[_i].uleb);
    ck_assert_int_eq(sym_read_sleb(&second), lebs[_i].sleb);
    ck_assert_msg(cursor.failed == lebs[_i].failed && second.failed == lebs[_i].failed, "%s",
                  lebs[_i].name);
    ck_assert_uint_eq(cursor.left, 0);
}
END_TEST

START_TEST(stops_at_the_end_of_a_section)
{
    static const uint8_t data[] = { 1, 2, 3, 'a', 'b' };
    struct sym_bytes bytes = { .data = data, .size = sizeof data };
    struct sym_cursor cursor = sym_cursor_at(&bytes, 0, true);

    ck_assert_uint_eq(sym_read_number(&cursor, 2), 0x0102);
    ck_assert_uint_eq(cursor.left, 3);
    ck_assert_str_eq(sym_read_string(&cursor), ""); /* its NUL is missing */
    ck_assert(cursor.failed);
    cursor = sym_cursor_at(&bytes, sizeof data + 1, false);
    ck_assert(cursor.failed);
    ck_assert_uint_eq(sym_read_number(&cursor, 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_segments");
    TCase *tcase = tcase_create("segments");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, finds_the_range_that_answers, 0, ROWS(tables));
    tcase_add_loop_test(tcase, agrees_with_a_linear_search_on_random_ranges, 0, 50);
    tcase_add_test(tcase, stores_equal_strings_once);
    tcase_add_loop_test(tcase, joins_directory_and_name, 0, ROWS(joins));
    tcase_add_loop_test(tcase, reads_leb128, 0, ROWS(lebs));
    tcase_add_test(tcase, stops_at_the_end_of_a_section);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
