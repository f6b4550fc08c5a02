#include <fxt/symbolize.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

static const struct {
    const char *mangled, *readable;
} names[] = {
    { "_Z3foov", "foo()" },
    { "_ZN2ns3BoxIiE5twiceEv", "ns::Box<int>::twice()" },
    { "_ZZ4mainENKUliiE_clEii", "main::{lambda(int, int)#1}::operator()(int, int) const" },
    { "_ZNSt6vectorIiSaIiEE9push_backERKi",
      "std::vector<int, std::allocator<int> >::push_back(int const&)" },
    { "_ZN12_GLOBAL__N_13barEd", "(anonymous namespace)::bar(double)" },
    { "_Z3foov.cold", "foo() [clone .cold]" },
    { "_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main" },
    /* Stubs.  */
    { "_ZdlPv@plt", "operator delete(void*)@plt" },
    { "_RNvC6_123foo3bar@plt", "123foo::bar@plt" },
    { "_ZN3foo@plt", "_ZN3foo@plt" },
    { "_Z@plt", "_Z@plt" },
    /* Rust, legacy: the hash goes.  */
    { "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
    { "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17hfedcba9876543210E",
      "<alloc::string::String as core::fmt::Display>::fmt" },
    /* Rust, v0.  */
    { "_RNvC6_123foo3bar", "123foo::bar" },
    { "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
    { "_RNCNvC4main4main0B3_", "main::main::{closure#0}" },
    { "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
};

START_TEST(makes_a_mangled_name_readable)
{
    char *readable = sym_demangle(names[_i].mangled);

    if (strcmp(names[_i].mangled, names[_i].readable) == 0) {
        ck_assert_ptr_null(readable); /* stays as it is */
    } else {
        ck_assert_ptr_nonnull(readable);
        ck_assert_str_eq(readable, names[_i].readable);
    }
    free(readable);
}
END_TEST

static const char *const plain_names[] = { "main", "",    "_",      "_Z",      "_R",
                                           "i",    "foo", "_start", "_Zbogus", "_ZN3foo" };

START_TEST(leaves_other_names_alone)
{
    char *readable = sym_demangle(plain_names[_i]);

    ck_assert_msg(!readable, "'%s' became '%s'", plain_names[_i], readable);
    free(readable);
}
END_TEST

START_TEST(takes_null_for_no_name)
{
    ck_assert_ptr_null(sym_demangle(NULL));
}
END_TEST

/* f(a<int, int>, a<first, first>, a<second, second>, ...): each argument is twice as long as the
 * one before, and 4 bytes longer in the mangled name.  */
START_TEST(gives_up_on_a_name_that_grows_exponentially)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[512] = "_Z1f1aIiiE";
    size_t length = strlen(name);

    for (int i = 0; i < _i; i++)
        length += (size_t)snprintf(name + length, sizeof name - length, "S_IS%c_S%c_E", digits[i],
                                   digits[i]);
    char *readable = sym_demangle(name);
    if (_i <= 8)
        ck_assert_ptr_nonnull(readable);
    else if (_i >= 20)
        ck_assert_ptr_null(readable);
    ck_assert(!readable || strlen(readable) <= 65536);
    free(readable);
}
END_TEST

START_TEST(gives_up_on_a_name_that_nests_deeply)
{
    enum { DEPTH = 60000 };
    char *name = malloc(DEPTH + 16);

    ck_assert_ptr_nonnull(name);
    (void)snprintf(name, 5, "_Z1f");
    memset(name + 4, 'P', DEPTH); /* pointer to pointer to ... */
    name[4 + DEPTH] = 'i';
    name[5 + DEPTH] = '\0';
    ck_assert_ptr_null(sym_demangle(name));
    free(name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_demangle");
    TCase *tcase = tcase_create("demangle");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, makes_a_mangled_name_readable, 0, ROWS(names));
    tcase_add_loop_test(tcase, leaves_other_names_alone, 0, ROWS(plain_names));
    tcase_add_test(tcase, takes_null_for_no_name);
    tcase_add_loop_test(tcase, gives_up_on_a_name_that_grows_exponentially, 1, 36);
    tcase_add_test(tcase, gives_up_on_a_name_that_nests_deeply);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
