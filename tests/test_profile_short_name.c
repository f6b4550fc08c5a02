/* Names as the table of the hottest functions shows them.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include "base/utf8.h"
#include "base/width.h"
#include "libprofile/write/writer_output.h"

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
    { "block in Parser::run", "block in Parser::run" },
    { "load (main)", "load (main)" },
    { "block in run (lib/a b.rb:12)", "block in run (lib/a b.rb:12)" },
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
    ck_assert(base_text_append(&text, "before ", 7));
    ck_assert(codec_text_add_short_name(&text, exact, length));
    ck_assert(base_text_append(&text, "", 1));
    ck_assert_int_eq(strncmp(text.bytes, "before ", 7), 0);
    ck_assert_str_eq(text.bytes + 7, names[_i].shown);
    free(text.bytes);
    free(exact);
}
END_TEST

/* Names and what of them fits.  */
static const struct {
    const char *name;
    size_t columns;
    const char *shown;
} fits[] = {
    /* Short names that fit stay as they are.  */
    { "scramble(unsigned long)", 8, "scramble" },
    { "std::sort<int*, std::less<int> >(int*)", 32, "std::sort<int*, std::less<int> >" },
    { "main", 4, "main" },
    /* Template arguments go before namespaces.  */
    { "std::sort<int*, std::less<int> >(int*)", 20, "std::sort<...>" },
    { "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::compare("
      "std::__cxx11::basic_string<char> const&) const",
      40, "std::__cxx11::basic_string<...>::compare" },
    { "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::compare("
      "std::__cxx11::basic_string<char> const&) const",
      32, "…::basic_string<...>::compare" },
    { "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::compare("
      "std::__cxx11::basic_string<char> const&) const",
      12, "…::compare" },
    { "a::b<c<d>, e>::f<g>::h<i>(int)", 12, "…::h<...>" },
    { "a::(anonymous namespace)::bb::ccc::run(int)", 9, "…::run" },
    /* An operator keeps its class, a lambda its function.  */
    { "ns::inner::Table<int, long, char, short, float>::operator()(int) const", 30,
      "…::Table<...>::operator()" },
    { "ns::inner::Table::operator<(ns::inner::Table const&) const", 18, "Table::operator<" },
    { "ns::inner::Pointer::operator->() const", 24, "…::Pointer::operator->" },
    { "ns::inner::Pointer::operator std::vector<int>() const", 38,
      "…::Pointer::operator std::vector<...>" },
    { "ns::inner::Pointer::operator bool() const", 26, "…::Pointer::operator bool" },
    { "ns::inner::run(int)::{lambda(int)#1}::operator()(int) const", 34,
      "…::run::{lambda#1}::operator()" },
    { "ns::inner::Table::~Table()", 12, "…::~Table" },
    /* Rust: of an impl the types without their modules; closures keep their function.  */
    { "<alloc::vec::Vec<T, alloc::Global> as core::ops::Drop>::drop", 27,
      "<Vec<...> as Drop>::drop" },
    { "<alloc::vec::Vec<T, alloc::Global> as core::ops::Drop>::drop", 20, "…::drop" },
    { "<std[284a]::path::PathBuf>::new", 16, "<PathBuf>::new" },
    { "<fn(u8) -> u8 as my::ns::Run>::run", 26, "<fn(u8) -> u8 as Run>::run" },
    { "<&mut my::Reader as std::io::Read>::read_exact", 34, "<&mut Reader as Read>::read_exact" },
    { "server::http::parse::{closure#0}", 24, "…::parse::{closure#0}" },
    { "core::iter::traits::iterator::Iterator::fold::{{closure}}", 36,
      "…::Iterator::fold::{{closure}}" },
    /* Go: the package's last part, and what is in it.  */
    { "github.com/someone/project/pkg.(*Server).handle", 24, "…/pkg.(*Server).handle" },
    { "github.com/someone/project/pkg.Map[...]", 20, "…/pkg.Map[...]" },
    { "github.com/someone/project/pkg.run.func2.1", 20, "…/pkg.run.func2.1" },
    /* Nothing to leave out but the middle.  */
    { "a_function_of_c_with_a_long_name", 11, "a_fun…_name" },
    { "a_function_of_c_with_a_long_name.constprop.0", 21, "a_function…onstprop.0" },
    { "ns::a_function_with_a_long_name", 9, "a_fu…name" },
    { "[libcrypto.so.3+0x1a2b40]", 13, "[libcr…a2b40]" },
    { "run (src/deep/folder/app.py:12)", 15, "run (sr….py:12)" },
    /* UTF-8: wide characters, combining ones, bytes that are none.  */
    { "日本::文字::関数名", 8, "関数名" },
    { "ns::日本語の関数", 7, "日…関数" },
    { "ns::cafe\xcc\x81::run", 11, "…::run" },
    { "ns::\xff\xfe\xfd::run()", 9, "…::run" },
    /* Hostile: never longer, never read beyond the end.  */
    { "a<b<c<d<e::f::g::h::i::j", 10, "" },
    { "a>>>>b::c::d::e::f::g", 10, "" },
    { "<<<<<<<<<<<<<<<<<<", 5, "" },
    { "<a::b", 3, "" },
    { "::::::::::::::::", 5, "" },
    { "a::b::c::", 4, "" },
    { "operatoroperatoroperator", 5, "" },
    { "operator<operator<operator<", 5, "" },
    { "////////////", 5, "" },
    { "((((((((((((", 5, "" },
    { "-> -> -> -> -> ->", 5, "" },
    { "", 1, "" },
};

START_TEST(fits_a_name)
{
    char *exact = profile_short_name(fits[_i].name, strlen(fits[_i].name));
    char *shown;

    ck_assert_ptr_nonnull(exact);
    shown = profile_fit_name(exact, strlen(exact), fits[_i].columns);
    ck_assert_ptr_nonnull(shown);
    ck_assert_uint_le(base_width_text(shown, strlen(shown)), fits[_i].columns);
    if (*fits[_i].shown)
        ck_assert_str_eq(shown, fits[_i].shown);
    free(shown);
    free(exact);
}
END_TEST

/* Overloads keep what tells them apart: their parameters.  */
START_TEST(keeps_both_ends_of_a_whole_name)
{
    static const char name[] = "server::http::parse(std::string const&, unsigned long)";
    char *shown = profile_fit_name(name, strlen(name), 30);

    ck_assert_str_eq(shown, "server::http::p…unsigned long)");
    free(shown);
}
END_TEST

static bool is_utf8(const char *text, size_t length)
{
    for (size_t i = 0, size; i < length; i += size) {
        size = base_utf8_character(text + i, length - i);
        if (size == 0)
            return false;
    }
    return true;
}

/* In every width: it fits, what was UTF-8 stays UTF-8, and a name that fits is its short name.  */
static void check_all_widths(const char *name)
{
    size_t length = strlen(name);
    char *short_name = profile_short_name(name, length);
    size_t width = base_width_text(short_name, strlen(short_name));

    for (size_t columns = 1; columns < 100; columns++) {
        char *shown = profile_fit_name(short_name, strlen(short_name), columns);

        ck_assert_ptr_nonnull(shown);
        ck_assert_msg(base_width_text(shown, strlen(shown)) <= columns, "%s in %zu: %s", name,
                      columns, shown);
        ck_assert_msg(!is_utf8(name, length) || is_utf8(shown, strlen(shown)), "%s", shown);
        if (columns >= width)
            ck_assert_str_eq(shown, short_name);
        free(shown);
    }
    free(short_name);
}

START_TEST(fits_every_width)
{
    check_all_widths(names[_i].name);
}
END_TEST

START_TEST(fits_every_width_of_hostile_names)
{
    check_all_widths(fits[_i].name);
}
END_TEST

/* What is short already stays: tables shorten what they have shortened before.  */
START_TEST(shortens_once)
{
    char *once = profile_short_name(names[_i].name, strlen(names[_i].name));
    char *twice = profile_short_name(once, strlen(once));

    ck_assert_str_eq(once, twice);
    free(once);
    free(twice);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_short_name");
    TCase *tcase = tcase_create("short_name");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, shortens_a_name, 0, (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tcase, shortens_once, 0, (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tcase, fits_a_name, 0, (int)(sizeof fits / sizeof *fits));
    tcase_add_test(tcase, keeps_both_ends_of_a_whole_name);
    tcase_add_loop_test(tcase, fits_every_width, 0, (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tcase, fits_every_width_of_hostile_names, 0,
                        (int)(sizeof fits / sizeof *fits));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
