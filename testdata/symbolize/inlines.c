/* Inlined frames three deep, a function in a header, code of line 0, a function without a symbol of
 * its own.  Tests know the line numbers. */
#include "inlines.h"

volatile int sink;

static inline __attribute__((always_inline)) void innermost(int value)
{
    sink = value; /* line 9 */
}

static inline __attribute__((always_inline)) void middle(int value)
{
    if (value > 3)
        innermost(value * 3); /* line 15 */
    sink = value + 1;
}

__attribute__((noinline)) void outer(int value)
{
    middle(value + sink); /* line 21 */
    sink = 7;
}

__attribute__((noinline)) static int recursive(int depth)
{
    return depth <= 0 ? sink : recursive(depth - 1) + in_header(depth);
}

__attribute__((noinline, cold)) void rare(void)
{
    sink = -1;
}

int run(int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        outer(i);
        sum += recursive(i & 3) + in_header(i);
        if (__builtin_expect(sum == 12345, 0))
            rare();
    }
    return sum;
}
