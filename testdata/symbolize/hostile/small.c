/* Inlined two deep, a function apart from the others, lines that matter.  */
volatile int sink;

static inline __attribute__((always_inline)) void inner(int v)
{
    sink = v;
}

static inline __attribute__((always_inline)) void middle(int v)
{
    if (v > 1)
        inner(v);
    else
        sink = 2;
}

__attribute__((noinline, section(".text.far"))) void far(int v)
{
    middle(v);
}

__attribute__((noinline)) int near(int v)
{
    middle(v + 1);
    return v;
}

int twice(int v)
{
    far(v);
    return near(v) + near(v + 1);
}
