/* Which functions were renamed: what is matched by its place, and what is not, for a wrong match
 * hides what regressed.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/run_builder.h"

#define B COMPARE_BASE
#define N COMPARE_NEW

/* A function of one side and its cost.  */
struct placed {
    enum compare_side side;
    const char *name;
    const char *file;
    uint32_t start;       /* 0: no declaration */
    uint32_t first, last; /* lines sampled; 0: none known */
    const char *caller;   /* NULL: no stacks, as in baselines; "": it begins them */
    double times;         /* what it costs more than others: 7 each time; 0: once */
};

#define MOST 8

static const struct {
    const char *name;
    struct placed functions[MOST];
    const char *renamed; /* "old=young" of each, separated by blanks, by their new names */
} cases[] = {
    /* By declarations.  */
    { "the same line",
      { { B, "old", "/a/src/f.c", 10, 0, 0, NULL }, { N, "young", "/b/src/f.c", 10, 0, 0, NULL } },
      "old=young" },
    { "a few lines off",
      { { B, "old", "src/f.c", 10, 0, 0, NULL }, { N, "young", "src/f.c", 13, 0, 0, NULL } },
      "old=young" },
    { "too far off",
      { { B, "old", "src/f.c", 10, 0, 0, NULL }, { N, "young", "src/f.c", 14, 0, 0, NULL } },
      "" },
    { "another file",
      { { B, "old", "src/f.c", 10, 0, 0, NULL }, { N, "young", "src/g.c", 10, 0, 0, NULL } },
      "" },
    { "no file", { { B, "old", "", 10, 0, 0, NULL }, { N, "young", "", 10, 0, 0, NULL } }, "" },
    { "no line", { { B, "old", "f.c", 0, 0, 0, NULL }, { N, "young", "f.c", 0, 0, 0, NULL } }, "" },
    { "moved together with the function above",
      { { B, "above", "src/f.c", 5, 0, 0, NULL },
        { N, "above", "src/f.c", 105, 0, 0, NULL },
        { B, "old", "src/f.c", 10, 0, 0, NULL },
        { N, "young", "src/f.c", 110, 0, 0, NULL } },
      "old=young" },
    { "moved together with the function below, for the one above grew",
      { { B, "above", "src/f.c", 5, 0, 0, NULL },
        { N, "above", "src/f.c", 5, 0, 0, NULL },
        { B, "old", "src/f.c", 10, 0, 0, NULL },
        { N, "young", "src/f.c", 110, 0, 0, NULL },
        { B, "below", "src/f.c", 20, 0, 0, NULL },
        { N, "below", "src/f.c", 120, 0, 0, NULL } },
      "old=young" },
    { "what is still there was not renamed",
      { { B, "stays", "src/f.c", 10, 0, 0, NULL },
        { N, "stays", "src/f.c", 10, 0, 0, NULL },
        { N, "young", "src/f.c", 11, 0, 0, NULL } },
      "" },
    { "the nearest of two",
      { { B, "old", "src/f.c", 10, 0, 0, NULL },
        { N, "near", "src/f.c", 11, 0, 0, NULL },
        { N, "far", "src/f.c", 8, 0, 0, NULL } },
      "old=near" },
    { "the nearest of two, though the other's name is more alike",
      { { B, "read_header", "src/f.c", 10, 0, 0, NULL },
        { N, "parse", "src/f.c", 11, 0, 0, NULL },
        { N, "read_headers", "src/f.c", 8, 0, 0, NULL } },
      "read_header=parse" },
    { "the name most alike, where two others are as near as each other",
      { { B, "read_header", "src/f.c", 10, 0, 0, NULL },
        { N, "read_head", "src/f.c", 11, 0, 0, NULL },
        { N, "parse", "src/f.c", 9, 0, 0, NULL },
        { N, "read_headers", "src/f.c", 8, 0, 0, NULL } },
      "read_header=read_headers" },
    { "two as near as each other, by names that tell nothing",
      { { B, "old", "src/f.c", 10, 0, 0, NULL },
        { N, "young", "src/f.c", 11, 0, 0, NULL },
        { N, "fresh", "src/f.c", 9, 0, 0, NULL } },
      "" },
    { "one line each: deleted, and another put in three functions below",
      { { B, "a", "src/f.c", 9, 0, 0, NULL },
        { N, "a", "src/f.c", 9, 0, 0, NULL },
        { B, "old", "src/f.c", 10, 0, 0, NULL },
        { B, "b", "src/f.c", 11, 0, 0, NULL },
        { N, "b", "src/f.c", 10, 0, 0, NULL },
        { B, "c", "src/f.c", 12, 0, 0, NULL },
        { N, "c", "src/f.c", 11, 0, 0, NULL },
        { N, "young", "src/f.c", 12, 0, 0, NULL } },
      "" },
    { "an instance of a template went, one came, one stays",
      { { B, "sort<int>", "a/sort.h", 30, 0, 0, NULL },
        { N, "sort<int>", "a/sort.h", 30, 0, 0, NULL },
        { B, "sort<long>", "a/sort.h", 30, 0, 0, NULL },
        { N, "sort<char>", "a/sort.h", 30, 0, 0, NULL } },
      "" },
    { "instances of a template that was renamed, told apart by their arguments",
      { { B, "Old<int>::find", "a/map.h", 30, 0, 0, NULL },
        { B, "Old<long>::find", "a/map.h", 30, 0, 0, NULL },
        { N, "Map<long>::find", "a/map.h", 30, 0, 0, NULL },
        { N, "Map<int>::find", "a/map.h", 30, 0, 0, NULL } },
      "Old<int>::find=Map<int>::find Old<long>::find=Map<long>::find" },
    { "deleted, and another put in its place, which others call",
      { { B, "old", "src/f.c", 10, 12, 30, "main" }, { N, "young", "src/f.c", 10, 12, 30, "run" } },
      "" },
    { "called by the same",
      { { B, "old", "src/f.c", 10, 12, 30, "main" },
        { N, "young", "src/f.c", 10, 40, 50, "main" } },
      "old=young" },
    { "called by one that was renamed, too",
      { { B, "outer", "src/f.c", 10, 12, 14, "main" },
        { N, "around", "src/f.c", 10, 12, 14, "main" },
        { B, "old", "src/f.c", 20, 22, 24, "outer" },
        { N, "young", "src/f.c", 20, 22, 24, "around" } },
      "outer=around old=young" },
    { "called by one that is found to be renamed only later",
      { { B, "leaf", "src/f.c", 1, 2, 3, "old" },
        { N, "leaf", "src/f.c", 1, 2, 3, "young" },
        { B, "outer", "src/f.c", 10, 12, 14, "main" },
        { N, "around", "src/f.c", 10, 12, 14, "main" },
        { B, "old", "src/f.c", 20, 22, 24, "outer" },
        { N, "young", "src/f.c", 20, 22, 24, "around" } },
      "outer=around old=young" },

    /* By lines that were sampled.  */
    { "the same lines, and no declarations",
      { { B, "old", "/a/src/f.c", 0, 12, 30, "main" },
        { N, "young", "/b/src/f.c", 0, 12, 30, "main" } },
      "old=young" },
    { "no declarations in the base",
      { { B, "old", "src/f.c", 0, 12, 30, "main" }, { N, "young", "src/f.c", 10, 12, 30, "main" } },
      "old=young" },
    { "no declarations in the new build",
      { { B, "old", "src/f.c", 10, 12, 30, "main" }, { N, "young", "src/f.c", 0, 12, 30, "main" } },
      "old=young" },
    { "far from each other by their declarations: these count",
      { { B, "old", "src/f.c", 10, 12, 30, "main" },
        { N, "young", "src/f.c", 20, 12, 30, "main" } },
      "" },
    { "half of the lines, beside a function that did not move",
      { { B, "a", "src/f.c", 0, 2, 6, "main" },
        { N, "a", "src/f.c", 0, 2, 6, "main" },
        { B, "old", "src/f.c", 0, 10, 29, "main" },
        { N, "young", "src/f.c", 0, 15, 25, "main" } },
      "old=young" },
    { "less than half",
      { { B, "a", "src/f.c", 0, 2, 6, "main" },
        { N, "a", "src/f.c", 0, 2, 6, "main" },
        { B, "old", "src/f.c", 0, 10, 29, "main" },
        { N, "young", "src/f.c", 0, 15, 23, "main" } },
      "" },
    { "about the same, but nothing in the file to say how lines moved",
      { { B, "old", "src/f.c", 0, 10, 29, "main" }, { N, "young", "src/f.c", 0, 10, 28, "main" } },
      "" },
    { "about the same, but nobody knows who calls them",
      { { B, "a", "src/f.c", 0, 2, 6, NULL },
        { N, "a", "src/f.c", 0, 2, 6, NULL },
        { B, "old", "src/f.c", 0, 10, 29, NULL },
        { N, "young", "src/f.c", 0, 10, 28, NULL } },
      "" },
    { "the same, and nobody knows who calls them",
      { { B, "old", "src/f.c", 0, 10, 29, NULL }, { N, "young", "src/f.c", 0, 10, 29, NULL } },
      "old=young" },
    { "about the same, in flat profiles",
      { { B, "a", "src/f.c", 0, 2, 6, "" },
        { N, "a", "src/f.c", 0, 2, 6, "" },
        { B, "old", "src/f.c", 0, 10, 29, "" },
        { N, "young", "src/f.c", 0, 10, 28, "" } },
      "" },
    { "one line is no range",
      { { B, "old", "src/f.c", 0, 10, 10, "main" }, { N, "young", "src/f.c", 0, 10, 10, "main" } },
      "" },
    { "one line within the other's range",
      { { B, "old", "src/f.c", 0, 15, 15, "main" }, { N, "young", "src/f.c", 0, 10, 20, "main" } },
      "" },
    { "two lines that are the same",
      { { B, "old", "src/f.c", 0, 10, 11, "main" }, { N, "young", "src/f.c", 0, 10, 11, "main" } },
      "old=young" },
    { "two lines and three",
      { { B, "a", "src/f.c", 0, 2, 6, "main" },
        { N, "a", "src/f.c", 0, 2, 6, "main" },
        { B, "old", "src/f.c", 0, 10, 11, "main" },
        { N, "young", "src/f.c", 0, 10, 12, "main" } },
      "" },
    { "lines of another header",
      { { B, "old", "src/a.h", 0, 10, 29, "main" }, { N, "young", "src/b.h", 0, 10, 29, "main" } },
      "" },
    { "a range without a declaration, a declaration without a range",
      { { B, "old", "src/f.c", 0, 10, 29, "main" }, { N, "young", "src/f.c", 10, 0, 0, NULL } },
      "" },
    { "moved together with the function above, by its lines",
      { { B, "above", "src/f.c", 0, 2, 6, "main" },
        { N, "above", "src/f.c", 0, 102, 106, "main" },
        { B, "old", "src/f.c", 0, 10, 29, "main" },
        { N, "young", "src/f.c", 0, 110, 129, "main" } },
      "old=young" },
    { "not moved, though the function above was",
      { { B, "above", "src/f.c", 0, 2, 6, "main" },
        { N, "above", "src/f.c", 0, 62, 66, "main" },
        { B, "old", "src/f.c", 0, 80, 99, "main" },
        { N, "young", "src/f.c", 0, 80, 99, "main" } },
      "" },
    { "grew by as much as the function below moved",
      { { B, "above", "src/f.c", 0, 2, 6, "main" },
        { N, "above", "src/f.c", 0, 2, 6, "main" },
        { B, "old", "src/f.c", 0, 10, 19, "main" },
        { N, "young", "src/f.c", 0, 10, 39, "main" },
        { B, "below", "src/f.c", 0, 30, 40, "main" },
        { N, "below", "src/f.c", 0, 50, 60, "main" } },
      "old=young" },
    { "deleted, and another put in its place, which others call, by lines",
      { { B, "old", "src/f.c", 0, 12, 30, "main" }, { N, "young", "src/f.c", 0, 12, 30, "run" } },
      "" },
    { "calls itself, and is called by others",
      { { B, "old", "src/f.c", 0, 12, 30, "old" }, { N, "young", "src/f.c", 0, 12, 29, "young" } },
      "" },
    { "on the other side of a function that both have",
      { { B, "old", "src/f.c", 0, 10, 29, "main" },
        { B, "stays", "src/f.c", 0, 40, 50, "main" },
        { N, "stays", "src/f.c", 0, 5, 8, "main" },
        { N, "young", "src/f.c", 0, 10, 29, "main" } },
      "" },
    { "what both have is never renamed, wherever it went",
      { { B, "f", "src/f.c", 0, 10, 29, "main" },
        { N, "f", "src/f.c", 0, 40, 59, "main" },
        { B, "g", "src/f.c", 0, 40, 59, "main" },
        { N, "g", "src/f.c", 0, 10, 29, "main" } },
      "" },
    { "what both have, the other side elsewhere",
      { { B, "f", "src/f.c", 0, 10, 29, "main" },
        { N, "f", "src/g.c", 0, 10, 29, "main" },
        { N, "young", "src/f.c", 0, 10, 29, "main" } },
      "" },
    { "an instance of a template went, one came, one stays, by lines",
      { { B, "sort<int>", "a/sort.h", 0, 30, 39, "main" },
        { N, "sort<int>", "a/sort.h", 0, 30, 40, "main" },
        { B, "sort<long>", "a/sort.h", 0, 30, 39, "main" },
        { N, "sort<char>", "a/sort.h", 0, 30, 39, "main" } },
      "" },
    { "instances of a template that was renamed, by lines",
      { { B, "Old<int>::find", "a/map.h", 0, 30, 39, "main" },
        { B, "Old<long>::find", "a/map.h", 0, 30, 39, "main" },
        { N, "Map<long>::find", "a/map.h", 0, 30, 39, "main" },
        { N, "Map<int>::find", "a/map.h", 0, 30, 39, "main" } },
      "Old<int>::find=Map<int>::find Old<long>::find=Map<long>::find" },
    { "one went, two came in its place, by names that tell nothing",
      { { B, "old", "src/f.c", 0, 10, 29, "main" },
        { N, "young", "src/f.c", 0, 10, 29, "main" },
        { N, "fresh", "src/f.c", 0, 10, 29, "main" } },
      "" },
    { "a lambda within",
      { { B, "a", "src/f.c", 0, 2, 6, "main" },
        { N, "a", "src/f.c", 0, 2, 6, "main" },
        { B, "old()", "src/f.c", 0, 10, 39, "main" },
        { B, "old()::{lambda()#1}", "src/f.c", 0, 20, 24, "old()" },
        { N, "young()", "src/f.c", 0, 10, 38, "main" },
        { N, "young()::{lambda()#1}", "src/f.c", 0, 20, 24, "young()" } },
      "old()=young() old()::{lambda()}=young()::{lambda()}" },
    { "two files whose paths end alike are told apart",
      { { B, "old", "x/src/util.c", 0, 10, 29, "main" },
        { B, "x", "y/src/util.c", 0, 2, 6, "main" },
        { N, "x", "y/src/util.c", 0, 2, 6, "main" },
        { N, "young", "y/src/util.c", 0, 10, 29, "main" } },
      "" },
    { "by so many parts as differ, wherever the builds lie",
      { { B, "old", "/ci/base/x/src/util.c", 0, 10, 29, "main" },
        { B, "x", "/ci/base/y/src/util.c", 0, 2, 6, "main" },
        { N, "x", "/ci/new/y/src/util.c", 0, 2, 6, "main" },
        { N, "young", "/ci/new/x/src/util.c", 0, 10, 29, "main" } },
      "old=young" },
    { "by the whole paths, where many parts do not differ",
      { { B, "old", "/x/1/2/3/4/5/6/7/8/9/f.c", 0, 10, 29, "main" },
        { B, "x", "/y/1/2/3/4/5/6/7/8/9/f.c", 0, 2, 6, "main" },
        { N, "x", "/y/1/2/3/4/5/6/7/8/9/f.c", 0, 2, 6, "main" },
        { N, "young", "/x/1/2/3/4/5/6/7/8/9/f.c", 0, 10, 29, "main" } },
      "old=young" },
    { "and nobody knows, where these lie elsewhere",
      { { B, "old", "/base/x/1/2/3/4/5/6/7/8/9/f.c", 0, 10, 29, "main" },
        { B, "x", "/base/y/1/2/3/4/5/6/7/8/9/f.c", 0, 2, 6, "main" },
        { N, "x", "/new/y/1/2/3/4/5/6/7/8/9/f.c", 0, 2, 6, "main" },
        { N, "young", "/new/x/1/2/3/4/5/6/7/8/9/f.c", 0, 10, 29, "main" } },
      "" },
    { "and are files like others, where both builds lie in one folder",
      { { B, "old", "x/src/util.c", 0, 10, 29, "main" },
        { B, "x", "y/src/util.c", 0, 2, 6, "main" },
        { N, "x", "y/src/util.c", 0, 2, 6, "main" },
        { N, "young", "x/src/util.c", 0, 10, 29, "main" } },
      "old=young" },

    /* Code without names.  */
    { "a program without symbols under another file name",
      { { B, "[s1]", "", 0, 0, 0, "main" }, { N, "[s2]", "", 0, 0, 0, "main" } },
      "[s1]=[s2]" },
    { "likewise, in flat profiles",
      { { B, "[s1]", "", 0, 0, 0, "" }, { N, "[s2]", "", 0, 0, 0, "" } },
      "[s1]=[s2]" },
    { "likewise, in baselines",
      { { B, "[s1]", "", 0, 0, 0, NULL }, { N, "[s2]", "", 0, 0, 0, NULL } },
      "[s1]=[s2]" },
    { "and with a library, which only the program calls",
      { { B, "[liba]", "", 0, 0, 0, "[s1]" },
        { B, "[s1]", "", 0, 0, 0, "main" },
        { N, "[libb]", "", 0, 0, 0, "[s2]" },
        { N, "[s2]", "", 0, 0, 0, "main" } },
      "[liba]=[libb] [s1]=[s2]" },
    { "and with a function that only the library calls back",
      { { B, "outer", "src/f.c", 10, 12, 14, "main" },
        { N, "around", "src/f.c", 10, 12, 14, "main" },
        { B, "[s1]", "", 0, 0, 0, "outer" },
        { N, "[s2]", "", 0, 0, 0, "around" },
        { B, "old", "src/f.c", 20, 22, 24, "[s1]" },
        { N, "young", "src/f.c", 20, 22, 24, "[s2]" } },
      "outer=around old=young [s1]=[s2]" },
    { "two modules that the same call",
      { { B, "[s1]", "", 0, 0, 0, "main" },
        { B, "[liba]", "", 0, 0, 0, "main" },
        { N, "[s2]", "", 0, 0, 0, "main" } },
      "" },
    { "the shell that started the program was sampled on one side",
      { { B, "[s1]", "", 0, 0, 0, "main", 100 },
        { N, "[s2]", "", 0, 0, 0, "main", 100 },
        { N, "[sh]", "", 0, 0, 0, "main" } },
      "[s1]=[s2]" },
    { "and on the other",
      { { B, "[sh]", "", 0, 0, 0, "main" },
        { B, "[s1]", "", 0, 0, 0, "main", 100 },
        { N, "[s2]", "", 0, 0, 0, "main", 100 } },
      "[s1]=[s2]" },
    { "and in flat profiles",
      { { B, "[s1]", "", 0, 0, 0, "", 100 },
        { N, "[sh]", "", 0, 0, 0, "" },
        { N, "[s2]", "", 0, 0, 0, "", 100 } },
      "[s1]=[s2]" },
    { "and in baselines",
      { { B, "[s1]", "", 0, 0, 0, NULL, 100 },
        { B, "[sh]", "", 0, 0, 0, NULL },
        { N, "[s2]", "", 0, 0, 0, NULL, 100 } },
      "[s1]=[s2]" },
    { "by what both cost with the functions that they call",
      { { B, "work", "", 0, 0, 0, "[s1]", 100 },
        { B, "[s1]", "", 0, 0, 0, "main" },
        { N, "[sh]", "", 0, 0, 0, "main" },
        { N, "work", "", 0, 0, 0, "[s2]", 100 },
        { N, "[s2]", "", 0, 0, 0, "main" } },
      "[s1]=[s2]" },
    { "a tenth of the cost is not small",
      { { B, "[s1]", "", 0, 0, 0, "main", 100 },
        { N, "[s2]", "", 0, 0, 0, "main", 100 },
        { N, "[liba]", "", 0, 0, 0, "main", 10 } },
      "" },
    { "nor is it in flat profiles",
      { { B, "[s1]", "", 0, 0, 0, "", 100 },
        { N, "[s2]", "", 0, 0, 0, "", 100 },
        { N, "[liba]", "", 0, 0, 0, "", 10 } },
      "" },
    { "a small module is not the large one, where it may be the other",
      { { B, "[liba]", "", 0, 0, 0, "main" },
        { B, "rest", "", 0, 0, 0, "main", 100 },
        { N, "[libb]", "", 0, 0, 0, "main" },
        { N, "[s2]", "", 0, 0, 0, "main", 100 } },
      "" },
    { "a small one beside each: the small ones are what is left",
      { { B, "[s1]", "", 0, 0, 0, "main", 100 },
        { B, "[dash]", "", 0, 0, 0, "main" },
        { N, "[bash]", "", 0, 0, 0, "main" },
        { N, "[s2]", "", 0, 0, 0, "main", 100 } },
      "[dash]=[bash] [s1]=[s2]" },
    /* Roots: names of processes.  */
    { "a process under another name, whose functions are the same",
      { { B, "main", "", 0, 0, 0, "./old" }, { N, "main", "", 0, 0, 0, "./new" } },
      "./old=./new" },
    { "a process under another name, whose functions are others",
      { { B, "main", "", 0, 0, 0, "./old" }, { N, "run", "", 0, 0, 0, "./new" } },
      "" },
    { "a process whose functions are mostly others",
      { { B, "main", "", 0, 0, 0, "./old" },
        { B, "gone", "", 0, 0, 0, "./old", 2 },
        { N, "main", "", 0, 0, 0, "./new" },
        { N, "came", "", 0, 0, 0, "./new", 2 } },
      "" },
    { "processes without names of functions",
      { { B, "[old]", "", 0, 0, 0, "old" }, { N, "[new]", "", 0, 0, 0, "new" } },
      "[old]=[new] old=new" },
    { "processes that both sides have, and one under another name",
      { { B, "read", "", 0, 0, 0, "sh" },
        { N, "read", "", 0, 0, 0, "sh" },
        { B, "main", "", 0, 0, 0, "./old" },
        { N, "main", "", 0, 0, 0, "./new" } },
      "./old=./new" },
    { "two processes under other names, by their functions",
      { { B, "read", "", 0, 0, 0, "a" },
        { B, "main", "", 0, 0, 0, "b" },
        { N, "main", "", 0, 0, 0, "c" },
        { N, "read", "", 0, 0, 0, "d" } },
      "a=d b=c" },
    { "two processes under other names with the same functions, by their cost",
      { { B, "main", "", 0, 0, 0, "a", 5 },
        { B, "main", "", 0, 0, 0, "b", 2 },
        { N, "main", "", 0, 0, 0, "c", 2 },
        { N, "main", "", 0, 0, 0, "d", 5 } },
      "a=d b=c" },
    { "modules that others call",
      { { B, "[s1]", "", 0, 0, 0, "main" }, { N, "[s2]", "", 0, 0, 0, "run" } },
      "" },
    { "what is no module",
      { { B, "[anon]", "", 0, 0, 0, "main" }, { N, "[s2]", "", 0, 0, 0, "main" } },
      "" },
    { "what both have",
      { { B, "[s1]", "", 0, 0, 0, "main" },
        { N, "[s1]", "", 0, 0, 0, "main" },
        { N, "[s2]", "", 0, 0, 0, "main" } },
      "" },
};

/* A stack "caller;function" of the current run, at a line of the function.  */
static void add_stack(const struct placed *from, uint32_t at, double value)
{
    struct profile_stacks *stacks = profile_stacks_of(compare_builder_profile(run_builder));
    struct profile_line line = { .line = at, .start_line = from->start };
    profile_id callsite = 0;

    ck_assert_int_eq(
        profile_stacks_string(stacks, from->file, strlen(from->file), &line.file, NULL),
        PROFILE_OK);
    if (*from->caller)
        callsite = run_builder_call(0, from->caller, strlen(from->caller),
                                    (struct profile_line){ .line = 1 });
    callsite = run_builder_call(callsite, from->name, strlen(from->name), line);
    compare_builder_add_stack(run_builder, callsite, value);
}

static void add_function(const struct placed *from)
{
    double times = from->times > 0 ? from->times : 1;
    struct compare_place place = { .name = from->name,
                                   .file = from->file,
                                   .start_line = from->start,
                                   .first_line = from->first,
                                   .last_line = from->last };

    if (from->caller) {
        add_stack(from, from->first, 3 * times);
        add_stack(from, from->last, 4 * times);
    } else {
        compare_builder_add_cost(run_builder,
                                 compare_builder_add_function(run_builder, from->side, &place),
                                 7 * times, 7 * times);
    }
}

static double self_of(const struct compare_set *set, size_t run, uint32_t function)
{
    for (size_t i = 0; i < set->runs[run].cost_count; i++)
        if (set->runs[run].costs[i].function == function)
            return set->runs[run].costs[i].self;
    return 0;
}

/* What the function of that name costs in a row of the table; one that is only a caller, nothing of
 * its own.  */
static double cost_in_case(const struct placed *functions, const char *name)
{
    double cost = 7;

    for (size_t i = 0; i < MOST && functions[i].name; i++) {
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].times > 0 ? 7 * functions[i].times : 7;
        if (functions[i].caller && strcmp(functions[i].caller, name) == 0)
            cost = 0;
    }
    return cost;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Words in the order of their bytes.  */
static void sorted_words(const char *text, char *out, size_t size)
{
    char *copy = strdup(text), *rest = copy, *word, *words[MOST];
    size_t count = 0, used = 0;

    while ((word = strsep(&rest, " ")) != NULL)
        if (*word)
            words[count++] = word;
    if (count > 0)
        qsort(words, count, sizeof *words, by_text);
    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", words[i]);
    free(copy);
}

START_TEST(finds_what_was_renamed_and_nothing_else)
{
    char found[300] = "", actual[300], expected[300];
    const struct compare_set *set;

    for (int side = 0; side < COMPARE_SIDES; side++) {
        (void)compare_builder_begin_run(run_builder, (enum compare_side)side, "run");
        for (size_t i = 0; i < MOST && cases[_i].functions[i].name; i++)
            if (cases[_i].functions[i].side == (enum compare_side)side)
                add_function(&cases[_i].functions[i]);
    }
    set = run_builder_finish();
    for (size_t f = 0; f < set->function_count; f++) {
        const struct compare_function *function = &set->functions[f];
        size_t used = strlen(found);

        if (!function->renamed)
            continue;
        (void)snprintf(found + used, sizeof found - used, "%s=%s ", function->places[B].name,
                       function->name);
        for (int side = 0; side < COMPARE_SIDES; side++)
            ck_assert_double_eq(self_of(set, (size_t)side, (uint32_t)f),
                                cost_in_case(cases[_i].functions, function->places[side].name));
    }
    /* Spellings of one side may have numbers of lambdas.  */
    for (char *number; (number = strstr(found, "#1")) != NULL;)
        memmove(number, number + 2, strlen(number + 2) + 1);
    sorted_words(found, actual, sizeof actual);
    sorted_words(cases[_i].renamed, expected, sizeof expected);
    ck_assert_msg(strcmp(actual, expected) == 0, "%s: \"%s\" and not \"%s\"", cases[_i].name,
                  actual, expected);
}
END_TEST

/* Thousands of functions in one place: looked at in an end, and matched with nothing.  */
START_TEST(a_crowd_in_one_place_is_matched_with_nothing)
{
    const struct compare_set *set;
    char name[32];

    for (int side = 0; side < COMPARE_SIDES; side++) {
        (void)compare_builder_begin_run(run_builder, (enum compare_side)side, "run");
        for (unsigned i = 0; i < 5000; i++) {
            struct placed crowd = { (enum compare_side)side, name, "src/f.c", 0, 10, 500, "main" };

            (void)snprintf(name, sizeof name, "%s_%u", side ? "new" : "old", i);
            if (i % 2)
                crowd.start = 9;
            add_function(&crowd);
        }
    }
    set = run_builder_finish();
    for (size_t f = 0; f < set->function_count; f++)
        ck_assert_msg(!set->functions[f].renamed, "%s", set->functions[f].name);
}
END_TEST

/* Ten a line, as generated code has them, and all of them renamed: lines at the edge of the crowd
 * have fewer beside them, and are no clearer for that.  */
START_TEST(neither_is_the_edge_of_a_crowd)
{
    const struct compare_set *set;
    char name[32];

    for (int side = 0; side < COMPARE_SIDES; side++) {
        (void)compare_builder_begin_run(run_builder, (enum compare_side)side, "run");
        for (unsigned i = 0; i < 600; i++) {
            struct placed crowd = {
                (enum compare_side)side, name, "src/f.c", 10 + i / 10, 0, 0, NULL
            };

            (void)snprintf(name, sizeof name, "%s_%u", side ? "new" : "old", 100000 + i);
            add_function(&crowd);
        }
    }
    set = run_builder_finish();
    for (size_t f = 0; f < set->function_count; f++)
        ck_assert_msg(!set->functions[f].renamed, "%s", set->functions[f].name);
}
END_TEST

#define MANY 5000

/* Function i of a side, renamed, called by that side's function caller; -1: by main, which is not
 * renamed.  */
static void add_renamed(enum compare_side side, int i, int caller)
{
    char name[32], calls[32] = "main";
    struct placed placed = { side, name, "src/f.c", 10 + 10 * (uint32_t)i, 0, 0, calls };

    placed.first = placed.last = placed.start + 5;
    (void)snprintf(name, sizeof name, "%s_%d", side ? "new" : "old", i);
    if (caller >= 0)
        (void)snprintf(calls, sizeof calls, "%s_%d", side ? "new" : "old", caller);
    add_function(&placed);
}

static void expect_all_renamed(const struct compare_set *set)
{
    size_t renamed = 0;

    for (size_t f = 0; f < set->function_count; f++)
        renamed += set->functions[f].renamed;
    ck_assert_uint_eq(renamed, MANY);
}

/* Each is called by the one before alone: who is first known of makes no difference.  */
START_TEST(a_chain_of_renamed_callers_is_followed_to_its_end)
{
    for (int side = 0; side < COMPARE_SIDES; side++) {
        (void)compare_builder_begin_run(run_builder, (enum compare_side)side, "run");
        for (int k = 0; k < MANY; k++) {
            int i = _i == 0 ? k : MANY - 1 - k;

            add_renamed((enum compare_side)side, i, i - 1);
        }
    }
    expect_all_renamed(run_builder_finish());
}
END_TEST

/* A dispatcher, which is known of last, and which all of them call back.  */
START_TEST(a_crowd_of_a_renamed_caller_is_followed)
{
    for (int side = 0; side < COMPARE_SIDES; side++) {
        (void)compare_builder_begin_run(run_builder, (enum compare_side)side, "run");
        for (int i = MANY - 1; i > 0; i--) {
            add_renamed((enum compare_side)side, i, 0);
            add_renamed((enum compare_side)side, 0, i);
        }
        add_renamed((enum compare_side)side, 0, -1);
    }
    expect_all_renamed(run_builder_finish());
}
END_TEST

/* Nothing is called by what stayed: that they call each other in a circle proves nothing.  */
START_TEST(a_circle_of_callers_is_no_evidence)
{
    const struct compare_set *set;

    for (int side = 0; side < COMPARE_SIDES; side++) {
        (void)compare_builder_begin_run(run_builder, (enum compare_side)side, "run");
        for (int i = 0; i < 3; i++)
            add_renamed((enum compare_side)side, i, (i + 1) % 3);
    }
    set = run_builder_finish();
    for (size_t f = 0; f < set->function_count; f++)
        ck_assert(!set->functions[f].renamed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_match");
    TCase *tcase = tcase_create("match");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, run_builder_open, run_builder_close);
    tcase_add_loop_test(tcase, finds_what_was_renamed_and_nothing_else, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, a_crowd_in_one_place_is_matched_with_nothing);
    tcase_add_test(tcase, neither_is_the_edge_of_a_crowd);
    tcase_add_loop_test(tcase, a_chain_of_renamed_callers_is_followed_to_its_end, 0, 2);
    tcase_add_test(tcase, a_crowd_of_a_renamed_caller_is_followed);
    tcase_add_test(tcase, a_circle_of_callers_is_no_evidence);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
