/* compare_set.h - what is compared: functions, stacks, and what they cost in the runs of two
 * builds.  */
#ifndef FXT_COMPARE_SET_H
#define FXT_COMPARE_SET_H

#include <fxt/compare.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Names: what a function is called in every build of it ---- */

/* Compilers and linkers put into names what changes from build to build although nobody edited the
 * function.  The key of a name is the name without these parts:
 *
 *   foo.isra.0, foo.constprop.0, foo.part.3, foo.cold, foo.llvm.123, foo.lto_priv.0    foo
 *   foo(int) [clone .isra.0], foo(int) (.cold)                                    foo(int)
 *   f()::{lambda(int)#2}, f()::'lambda0'(int), f()::$_3     f()::{lambda(int)}, ..., f()::$_
 *   core::fmt::write::h0123456789abcdef, core[0f1e2d3c4b5a6978]::fmt::write
 *                                                                      core::fmt::write
 *   main.run.func2, main.run.func2.1                                       main.run.func
 *
 * Functions with one key are one function: their costs are added up.  */

/* Write the key of a name to out, which has room for length bytes, and return its length.  With
 * ignore_templates, template arguments are left out, too: sort<int> is sort.  The key is empty only
 * if length is 0.  */
COMPARE_API size_t compare_name_key(const char *name, size_t length, bool ignore_templates,
                                    char *out);

/* Profilers of interpreters write the sampled line into the names in folded stacks, which gives a
 * function as many names as lines: "run (src/app.py:12)", with a column "f (app.js:12:5)".  */
struct compare_placed_name {
    size_t length;    /* of "run (src/app.py", which followed by ")" is the function's name */
    const char *file; /* in the name */
    size_t file_length;
    unsigned line;
};

/* Find the file and the line in a name.  Returns false if it has none.  */
COMPARE_API bool compare_name_place(const char *name, size_t length,
                                    struct compare_placed_name *out);

/* Whether a name stands for code without names: "[libc.so.6]", "[kernel]", "[anon]".  */
COMPARE_API bool compare_name_is_missing(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* FXT_COMPARE_SET_H */
