# Prints a large C program, always the same for a seed: awk -v seed=1 -v functions=2600 -f large_c.awk
#
# For benchmarks and comparisons of symbolizers: one unit of the size and habits of an amalgamated database library (1 MB of code at
# -O2): structures, static functions of all sizes, small ones that are inlined into each other four levels deep, switches, loops,
# calls that never return, cold paths.

function pick(n) { # 0 to n - 1
    state = (state * 1103515245 + 12345) % 2147483648
    return int(state / 65536) % n
}

function field() { return "f" pick(8) }

function expression(depth) {
    if (depth == 0)
        return pick(3) ? "o->" field() : pick(1000)
    if (pick(4) == 0)
        return "small" pick(helpers) "(o, " expression(depth - 1) ")"
    return "(" expression(depth - 1) " " substr("+-*^&|", pick(6) + 1, 1) " " expression(depth - 1) ")"
}

function helper(n,   level) {
    level = int(n / (helpers / 4))
    printf "static inline long small%d(struct object%d *o, long value)\n{\n", n, 0
    if (pick(2))
        printf "    if (value > %d)\n        value -= o->%s;\n", pick(500), field()
    if (level > 0)
        printf "    value += small%d(o, value ^ %d);\n", pick(int(helpers / 4) * level), pick(99)
    printf "    o->%s = value;\n    return value * %d + o->%s;\n}\n\n", field(), pick(17) + 2, field()
}

function statements(count, indent,   i, kind) {
    for (i = 0; i < count; i++) {
        kind = pick(10)
        if (kind < 4)
            printf "%so->%s = %s;\n", indent, field(), expression(2)
        else if (kind < 6) {
            printf "%sif (%s > %d) {\n", indent, expression(1), pick(100)
            if (length(indent) < 16)
                statements(1 + pick(2), indent "    ")
            else
                printf "%s    total ^= %d;\n", indent, pick(1000)
            printf "%s}\n", indent
        } else if (kind < 7 && length(indent) < 12) {
            printf "%sfor (long i%d = 0; i%d < (o->%s & 15); i%d++) {\n", indent, length(indent), length(indent), field(), length(indent)
            statements(1 + pick(2), indent "    ")
            printf "%s}\n", indent
        } else if (kind < 8)
            printf "%stotal += small%d(o, total);\n", indent, pick(helpers)
        else if (kind < 9 && made > 0)
            printf "%stotal += work%d(o, total & %d);\n", indent, pick(made), pick(255)
        else
            printf "%sif (__builtin_expect(o->%s == %d, 0))\n%s    give_up(%d);\n", indent, field(), pick(99999), indent, pick(99)
    }
}

function worker(n,   i, cases) {
    printf "%slong work%d(struct object0 *o, long mode)\n{\n    long total = mode;\n\n", pick(3) ? "static " : "", n
    statements(2 + pick(5), "    ")
    if (pick(3) == 0) {
        print "    switch (mode) {"
        cases = 3 + pick(8)
        for (i = 0; i < cases; i++) {
            printf "    case %d:\n", i * (1 + pick(2)) + 20 * i
            statements(1, "        ")
            print "        break;"
        }
        print "    default:\n        total--;\n    }"
    }
    print "    return total;\n}\n"
}

BEGIN {
    state = seed ? seed : 1
    helpers = 240
    functions = functions ? functions : 2600
    print "/* Made by bench/inputs/large_c.awk. */\n_Noreturn void give_up(int);"
    for (i = 0; i < 60; i++)
        printf "struct object%d {\n    long f0, f1, f2, f3, f4, f5, f6, f7;\n    struct object%d *next;\n    char name[%d];\n};\n", i, pick(i + 1), 8 + pick(60)
    print ""
    for (n = 0; n < helpers; n++)
        helper(n)
    for (made = 0; made < functions; made++)
        worker(made)
    print "_Noreturn __attribute__((noinline, cold)) void give_up(int code)\n{\n    __builtin_exit(code);\n}\n"
    print "static long (*const table[])(struct object0 *, long) = {"
    for (n = 0; n < functions; n++)
        printf "    work%d,\n", n
    print "};\n\nint main(int count, char **arguments)\n{\n    struct object0 o = { 0 };\n"
    print "    (void)arguments;\n    return (int)table[(unsigned)count % (sizeof table / sizeof table[0])](&o, count);\n}"
}
