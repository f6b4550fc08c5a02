/* Names as the table of the hottest functions shows them.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/output.h"

static const struct {
    const char *name, *shown;
} names[] = {
    /* Parameters, qualifiers, anonymous namespaces.  */
    { "scramble(unsigned long)", "scramble" },
    { "(anonymous namespace)::decode((anonymous namespace)::table&, int)", "decode" },
    { "a::(anonymous namespace)::b::c() const", "a::b::c" },
    { "A::f() &&", "A::f" },
    { "A::f() const &", "A::f" },
    { "f(void (*)(int), int (&) [3])", "f" },
    { "main", "main" },
    { "main.(*Server).handle", "main.(*Server).handle" },
    /* Template arguments stay, return types go.  */
    { "std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector<...>::push_back" },
    { "std::sort<int*, std::less<int> >(int*)", "std::sort<int*, std::less<int> >" },
    { "a<b<c>, 123456789012345678901234567890>::d<e<f>, 123456789012345678901234567890>",
      "a<...>::d<...>" },
    { "<alloc::vec::Vec<T, alloc::Global> as core::ops::Drop>::drop",
      "<alloc::vec::Vec<T, alloc::Global> as core::ops::Drop>::drop" },
    { "void (anonymous namespace)::f<(anonymous namespace)::T>()", "f<T>" },
    { "unsigned long ns::sum<unsigned long>(unsigned long)", "ns::sum<unsigned long>" },
    { "std::map<int, void (*)(int)> make<void (*)(int)>(int)", "make<void (*)(int)>" },
    { "decltype(auto) ns::get<int>(int)", "ns::get<int>" },
    { "decltype (a<b>()) ns::get<int>(int)", "ns::get<int>" },
    { "std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()" },
    { "A<(B)1>::f(int)", "A<(B)1>::f" },
    /* Operators.  */
    { "A::operator()(int)", "A::operator()" },
    { "auto A::operator()<int>(int)", "A::operator()<int>" },
    { "operator new(unsigned long)", "operator new" },
    { "operator new[](unsigned long, std::nothrow_t const&)", "operator new[]" },
    { "Foo::operator std::vector<int>()", "Foo::operator std::vector<int>" },
    { "A::operator->()", "A::operator->" },
    { "A::operator<=>(A const&)", "A::operator<=>" },
    { "bool std::operator< <char>(A const&, A const&)", "std::operator< <char>" },
    { "std::basic_ostream<char>& std::operator<< <char>(std::basic_ostream<char>&, char)",
      "std::operator<< <char>" },
    { "bool std::operator==<char>(A const&, A const&)", "std::operator==<char>" },
    { "operator\"\" _s(char const*, unsigned long)", "operator\"\" _s" },
    { "my_operator(int)", "my_operator" },
    { "operators::run(int)", "operators::run" },
    /* Functions in functions.  */
    { "main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()" },
    { "ns::f(int) const::{lambda()#2}::operator()() const", "ns::f::{lambda#2}::operator()" },
    { "int std::count_if<int*, main::{lambda(int)#1}>(int*, main::{lambda(int)#1})",
      "std::count_if<int*, main::{lambda#1}>" },
    /* What compilers add.  */
    { "void f<int>(int) [clone .constprop.0]", "f<int> [clone .constprop.0]" },
    { "non-virtual thunk to Foo::bar(int)", "non-virtual thunk to Foo::bar" },
    { "TLS wrapper function for A::x", "TLS wrapper function for A::x" },
    { "std::to_string[abi:cxx11](int)", "std::to_string[abi:cxx11]" },
    /* Rust.  */
    { "<std[284a]::path::PathBuf>::new", "<std[284a]::path::PathBuf>::new" },
    { "<fn(u8) -> u8 as ns::Run>::run", "<fn(u8) -> u8 as ns::Run>::run" },
    { "ns::main::{closure#0}", "ns::main::{closure#0}" },
    { "core::ops::FnOnce::call_once{{vtable.shim}}",
      "core::ops::FnOnce::call_once{{vtable.shim}}" },
    /* Not what a demangler writes: as it is.  */
    { "void (*f<int>(int))(char)", "void (*f<int>(int))(char)" },
    { "f(", "f(" },
    { "f(int", "f(int" },
    { "f>(int)", "f>(int)" },
    { "f<(int)", "f<(int)" },
    { "f}(int)", "f}(int)" },
    { "f(int) and more", "f(int) and more" },
    { "(int)", "(int)" },
    { "operator", "operator" },
    { "non-virtual thunk to ", "non-virtual thunk to " },
    { "", "" },
};

START_TEST(shortens_a_name)
{
    struct base_text text = { .bytes = NULL };
    size_t length = strlen(names[_i].name);
    char *exact = malloc(length + 1); /* so that a sanitizer sees a byte read too many */

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, names[_i].name, length);
    ck_assert(codec_text_add(&text, "before ", 7));
    ck_assert(codec_text_add_short_name(&text, exact, length));
    ck_assert(codec_text_add(&text, "", 1));
    ck_assert_int_eq(strncmp(text.bytes, "before ", 7), 0);
    ck_assert_str_eq(text.bytes + 7, names[_i].shown);
    free(text.bytes);
    free(exact);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_short_name");
    TCase *tcase = tcase_create("short_name");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, shortens_a_name, 0, (int)(sizeof names / sizeof *names));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
