/* Sorting addresses: whatever they are, the order is that of a plain sort that keeps equal ones in
 * place.  */
#include "libsymbolize/address_order.h"
#include "tests/support/allocation.h"

#include <check.h>
#include <stdlib.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { COUNT = 5000 };

static uint64_t vaddrs[COUNT];
static struct sym_order order;
static struct sym_scratch scratch;

static void tear_down(void)
{
    sym_scratch_release(&scratch);
}

/* Pseudo-random bits, the same ones in each run.  */
static uint64_t next_bits(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 32 ^ *state << 32;
}

/* lowest plus what mask leaves of random bits.  */
static const struct {
    const char *name;
    size_t count;
    uint64_t lowest, mask;
    bool packed;
} inputs[] = {
    { "one address", 1, 0x1000, 0, false },
    { "equal ones", COUNT, 0x1000, 0, false },
    { "a page", COUNT, UINT64_C(0xffffffff81000000), 0xfff, true },
    { "a text segment", COUNT, 0x401000, 0xfffff, true },
    { "all of 32 bits", COUNT, 0, UINT32_MAX, true },
    { "as much as fits beside a number", COUNT, 0, (UINT64_C(1) << 51) - 1, true },
    { "a bit more", COUNT, 0, (UINT64_C(1) << 52) - 1, false },
    { "any", COUNT, 0, UINT64_MAX, false },
    { "far apart", COUNT, 7, UINT64_C(1) << 63, false },
};

static void check_order(size_t count)
{
    static bool seen[COUNT];

    memset(seen, 0, sizeof seen);
    ck_assert_uint_eq(order.count, count);
    for (size_t i = 0; i < count; i++) {
        size_t index = sym_order_index(&order, i);
        ck_assert_uint_lt(index, count);
        ck_assert(!seen[index]);
        seen[index] = true;
        ck_assert_uint_eq(sym_order_vaddr(&order, i), vaddrs[index]);
        if (i == 0)
            continue;
        ck_assert_uint_le(sym_order_vaddr(&order, i - 1), vaddrs[index]);
        if (sym_order_vaddr(&order, i - 1) == vaddrs[index])
            ck_assert_uint_lt(sym_order_index(&order, i - 1), index);
    }
}

START_TEST(puts_addresses_in_order)
{
    uint64_t state = 1;

    for (size_t i = 0; i < inputs[_i].count; i++)
        vaddrs[i] = inputs[_i].lowest + (next_bits(&state) & inputs[_i].mask);
    ck_assert_int_eq(sym_order_init(&order, vaddrs, inputs[_i].count, &scratch), SYM_OK);
    ck_assert_msg(order.packed == inputs[_i].packed, "%s", inputs[_i].name);
    check_order(inputs[_i].count);
}
END_TEST

START_TEST(needs_no_memory_for_what_ascends)
{
    for (size_t i = 0; i < COUNT; i++)
        vaddrs[i] = i / 2;
    ck_assert_int_eq(sym_order_init(&order, vaddrs, COUNT, &scratch), SYM_OK);
    ck_assert_ptr_null(order.keys);
    ck_assert_ptr_null(scratch.bytes);
    check_order(COUNT);
    ck_assert_int_eq(sym_order_init(&order, NULL, 0, &scratch), SYM_OK);
    ck_assert_uint_eq(order.count, 0);
}
END_TEST

START_TEST(uses_its_memory_again)
{
    for (size_t i = 0; i < COUNT; i++)
        vaddrs[i] = COUNT - i;
    ck_assert_int_eq(sym_order_init(&order, vaddrs, COUNT, &scratch), SYM_OK);
    const void *bytes = scratch.bytes;
    check_order(COUNT);
    ck_assert_int_eq(sym_order_init(&order, vaddrs, COUNT / 2, &scratch), SYM_OK);
    ck_assert_ptr_eq(scratch.bytes, bytes);
    check_order(COUNT / 2);
}
END_TEST

START_TEST(says_so_when_memory_runs_out)
{
    vaddrs[0] = 1;
    vaddrs[1] = 0;
    allocation_fail_at(1);
    enum sym_status status = sym_order_init(&order, vaddrs, 2, &scratch);
    allocation_fail_at(0);
    ck_assert_int_eq(status, SYM_NO_MEMORY);
    ck_assert_int_eq(sym_order_init(&order, vaddrs, 2, &scratch), SYM_OK);
    check_order(2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_order");
    TCase *tcase = tcase_create("order");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_loop_test(tcase, puts_addresses_in_order, 0, ROWS(inputs));
    tcase_add_test(tcase, needs_no_memory_for_what_ascends);
    tcase_add_test(tcase, uses_its_memory_again);
    tcase_add_test(tcase, says_so_when_memory_runs_out);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
