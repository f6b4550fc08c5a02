/* What a function is called in every build of it.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/compare_set.h>

static const struct {
    const char *name;
    const char *key;
    const char *without_templates; /* NULL: the same as key */
} names[] = {
    { "foo", "foo", NULL },
    /* Clones.  */
    { "foo.isra.0", "foo", NULL },
    { "foo.constprop.12", "foo", NULL },
    { "foo.part.0", "foo", NULL },
    { "foo.cold", "foo", NULL },
    { "foo.cold.3", "foo", NULL },
    { "foo.part.0.cold", "foo", NULL },
    { "foo.constprop.0.isra.1", "foo", NULL },
    { "foo.llvm.1234567890123", "foo", NULL },
    { "foo.lto_priv.0", "foo", NULL },
    { "foo.__uniq.98765", "foo", NULL },
    { "foo(int) [clone .isra.0]", "foo(int)", NULL },
    { "foo(int) [clone .constprop.0] [clone .cold]", "foo(int)", NULL },
    { "foo(int) (.cold)", "foo(int)", NULL },
    { "foo(int) (.isra.0)", "foo(int)", NULL },
    /* Not clones: Go and others may call a function so.  */
    { "main.part", "main.part", NULL },
    { "foo.isra", "foo.isra", NULL },
    { "foo.parts.0", "foo.parts.0", NULL },
    { ".cold", ".cold", NULL },
    { "foo.7", "foo.7", NULL },
    /* Lambdas.  */
    { "f()::{lambda(int)#2}", "f()::{lambda(int)}", NULL },
    { "f()::{lambda(int)#12}::operator()(int) const", "f()::{lambda(int)}::operator()(int) const",
      NULL },
    { "f()::{lambda({unnamed type#1})#2}", "f()::{lambda({unnamed type})}", NULL },
    { "f()::'lambda0'(int)::operator()(int) const", "f()::'lambda'(int)::operator()(int) const",
      NULL },
    { "f()::$_3::operator()() const", "f()::$_::operator()() const", NULL },
    { "core::iter::{closure#0}", "core::iter::{closure}", NULL },
    { "<ns::{impl#3}>::run", "<ns::{impl#3}>::run", NULL },
    { "f()::{lambda(int)#}", "f()::{lambda(int)#}", NULL },
    { "#1}", "#1}", NULL },
    /* Hashes.  */
    { "core::fmt::write::h0123456789abcdef", "core::fmt::write", NULL },
    { "core::fmt::write::h0123456789abcde", "core::fmt::write::h0123456789abcde", NULL },
    { "core[0f1e2d3c4b5a6978]::fmt::write", "core::fmt::write", NULL },
    { "a[12]::b", "a[12]::b", NULL },
    /* Go.  */
    { "main.run.func2", "main.run.func", NULL },
    { "main.run.func2.1", "main.run.func", NULL },
    { "main.run.func2.gowrap1", "main.run.func.gowrap", NULL },
    { "main.run.function2", "main.run.function2", NULL },
    { "main.run.func2x", "main.run.func2x", NULL },
    /* Template arguments, when they do not matter.  */
    { "sort<int>(int*)", "sort<int>(int*)", "sort(int*)" },
    { "std::map<int, std::pair<a, b> >::find(int const&)",
      "std::map<int, std::pair<a, b> >::find(int const&)", "std::map::find(int const&)" },
    { "a<(b)1>::c<d>", "a<(b)1>::c<d>", "a::c" },
    { "operator< <int>(int)", "operator< <int>(int)", NULL },
    { "operator<<(a&, b)", "operator<<(a&, b)", NULL },
    { "x::operator<(y)", "x::operator<(y)", NULL },
    { "<T as Trait>::f", "<T as Trait>::f", NULL },
    { "f<a->b>", "f<a->b>", "f" },
    { "f<int", "f<int", NULL },
    { "f<a)>", "f<a)>", NULL },
    { "", "", NULL },
};

static void expect_key(const char *name, bool ignore_templates, const char *key)
{
    size_t length = strlen(name);
    char *exact = malloc(length ? length : 1); /* so that a sanitizer sees a byte too many */
    char *out = malloc(length ? length : 1);
    size_t used;

    ck_assert_ptr_nonnull(exact);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < length; i++)
        exact[i] = name[i];
    used = compare_name_key(exact, length, ignore_templates, out);
    ck_assert_msg(used == strlen(key) && memcmp(out, key, used) == 0, "%s: %.*s", name, (int)used,
                  out);
    free(exact);
    free(out);
}

START_TEST(leaves_out_what_compilers_add)
{
    const char *without = names[_i].without_templates;

    expect_key(names[_i].name, false, names[_i].key);
    expect_key(names[_i].name, true, without ? without : names[_i].key);
}
END_TEST

START_TEST(reads_no_byte_too_many_of_any_part_of_a_name)
{
    size_t length = strlen(names[_i].name);

    for (size_t start = 0; start < length; start++)
        for (size_t end = start; end <= length; end++) {
            char *part = malloc(end - start + 1), *out = malloc(end - start + 1);

            memcpy(part, names[_i].name + start, end - start);
            part = realloc(part, end - start ? end - start : 1);
            ck_assert_uint_le(compare_name_key(part, end - start, true, out), end - start);
            free(part);
            free(out);
        }
}
END_TEST

/* 64 KiB of what makes the look-back go far.  */
START_TEST(a_hostile_name_costs_no_more_than_its_length)
{
    static const char *const patterns[] = { "#1}", "a<", "{", " (.", ".cold", "::h" };
    size_t size = 65536;
    char *name = malloc(size), *out = malloc(size);

    for (size_t i = 0; i < size; i++)
        name[i] = patterns[_i][i % strlen(patterns[_i])];
    ck_assert_uint_le(compare_name_key(name, size, true, out), size);
    free(name);
    free(out);
}
END_TEST

static const struct {
    const char *name;
    const char *before; /* NULL: it has no place */
    const char *file;
    unsigned line;
} placed[] = {
    { "run (src/app.py:12)", "run (src/app.py", "src/app.py", 12 },
    { "f (with blanks.py:1)", "f (with blanks.py", "with blanks.py", 1 },
    { "f (app.js:12:5)", "f (app.js", "app.js", 12 },
    { "f (C:\\x.py:7)", "f (C:\\x.py", "C:\\x.py", 7 },
    { "<module> (<frozen x.y>:3)", "<module> (<frozen x.y>", "<frozen x.y>", 3 },
    { "run (src/app.py)", NULL, NULL, 0 },
    { "run (app:12)", NULL, NULL, 0 }, /* no file */
    { "f(a.b:12)", NULL, NULL, 0 },    /* arguments */
    { "f(int) (.isra.0)", NULL, NULL, 0 },
    { "f (a.py:0)", NULL, NULL, 0 },
    { "f (a.py:)", NULL, NULL, 0 },
    { "f (g(a.py:12)", NULL, NULL, 0 },
    { " (a.py:12)", NULL, NULL, 0 },
    { "(a.py:12)", NULL, NULL, 0 },
    { ":12)", NULL, NULL, 0 },
    { "12)", NULL, NULL, 0 },
    { ")", NULL, NULL, 0 },
    { "", NULL, NULL, 0 },
};

START_TEST(finds_the_place_in_a_name)
{
    size_t length = strlen(placed[_i].name);
    char *exact = malloc(length ? length : 1);
    struct compare_placed_name place;

    ck_assert_ptr_nonnull(exact);
    for (size_t i = 0; i < length; i++)
        exact[i] = placed[_i].name[i];
    ck_assert_msg(compare_name_place(exact, length, &place) == (placed[_i].before != NULL), "%s",
                  placed[_i].name);
    if (placed[_i].before) {
        ck_assert_uint_eq(place.length, strlen(placed[_i].before));
        ck_assert_uint_eq(place.file_length, strlen(placed[_i].file));
        ck_assert_mem_eq(place.file, placed[_i].file, place.file_length);
        ck_assert_uint_eq(place.line, placed[_i].line);
    }
    free(exact);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_names");
    TCase *tcase = tcase_create("names");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, leaves_out_what_compilers_add, 0,
                        (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tcase, reads_no_byte_too_many_of_any_part_of_a_name, 0,
                        (int)(sizeof names / sizeof *names));
    tcase_add_loop_test(tcase, finds_the_place_in_a_name, 0, (int)(sizeof placed / sizeof *placed));
    tcase_add_loop_test(tcase, a_hostile_name_costs_no_more_than_its_length, 0, 6);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
