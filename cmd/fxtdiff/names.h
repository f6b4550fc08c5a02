/* names.h - what a function is called in every build of it.
 *
 * Compilers and linkers put into names what changes from build to build without anybody touching
 * the function; the key of a name is what is left without it:
 *
 *   foo.isra.0, foo.constprop.0, foo.part.3, foo.cold, foo.llvm.123, foo.lto_priv.0    foo
 *   foo(int) [clone .isra.0], foo(int) (.cold)                                    foo(int)
 *   f()::{lambda(int)#2}, f()::'lambda0'(int), f()::$_3     f()::{lambda(int)}, ..., f()::$_
 *   core::fmt::write::h0123456789abcdef, core[0f1e2d3c4b5a6978]::fmt::write
 *                                                                      core::fmt::write
 *   main.run.func2, main.run.func2.1                                       main.run.func
 *
 * Functions with one key are one function: their costs are added up.  */
#ifndef FXTDIFF_NAMES_H
#define FXTDIFF_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the key of a name to out, which has room for length bytes, and returns its length.  With
 * ignore_templates, what stands in angle brackets behind a name goes too: sort<int> is sort.
 * Never empty unless length is 0.  */
size_t diff_name_key(const char *name, size_t length, bool ignore_templates, char *out);

/* Profilers of interpreters write the line that was sampled into folded stacks, so that a function
 * has as many names as lines: "run (src/app.py:12)", with a column "f (app.js:12:5)".  Lengths of
 * what stands before, of the file, and the line.  False: it is no such name.  */
struct diff_placed_name {
    size_t length; /* of "run (src/app.py", which ")" makes the function's name */
    const char *file;
    size_t file_length;
    unsigned line;
};
bool diff_name_place(const char *name, size_t length, struct diff_placed_name *out);

/* "[libc.so.6]", "[kernel]", "[anon]": what stands for code without names (stacks.c).  */
bool diff_name_is_missing(const char *name);

#endif /* FXTDIFF_NAMES_H */
