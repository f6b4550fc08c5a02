/* interpreter - the same code run by computed gotos, and by handlers that jump to the next one.  */
#include <stdio.h>

enum operation { ADD, DOUBLE, LOOP, HALT };

static const unsigned char code[] = { ADD, DOUBLE, ADD, ADD, LOOP, DOUBLE, HALT };

struct machine {
    unsigned long value;
    int rounds;
};

/* Indirect jumps that stay in their function.  */
__attribute__((noinline)) static unsigned long by_goto(int rounds)
{
    static const void *const labels[] = { &&add, &&twice, &&loop, &&halt };
    const unsigned char *next = code;
    unsigned long value = 0;

    goto *labels[*next++];
add:
    value++;
    goto *labels[*next++];
twice:
    value *= 2;
    goto *labels[*next++];
loop:
    if (--rounds > 0)
        next = code;
    goto *labels[*next++];
halt:
    return value;
}

typedef unsigned long handler(struct machine *machine, const unsigned char *next);

static handler add, twice, loop, halt;
static handler *const handlers[] = { add, twice, loop, halt };

/* Indirect jumps to other functions, with optimization.  */
static unsigned long add(struct machine *machine, const unsigned char *next)
{
    machine->value++;
    return handlers[*next](machine, next + 1);
}

static unsigned long twice(struct machine *machine, const unsigned char *next)
{
    machine->value *= 2;
    return handlers[*next](machine, next + 1);
}

/* Conditional ones, too, to the function that it may have been called from.  */
__attribute__((noinline)) static unsigned long begin(struct machine *machine)
{
    return handlers[code[0]](machine, code + 1);
}

static unsigned long loop(struct machine *machine, const unsigned char *next)
{
    if (--machine->rounds > 0)
        return begin(machine);
    return handlers[*next](machine, next + 1);
}

static unsigned long halt(struct machine *machine, const unsigned char *next)
{
    (void)next;
    return machine->value;
}

int main(void)
{
    struct machine machine = { .rounds = 30 };
    unsigned long value = begin(&machine);

    printf("%lu %lu\n", by_goto(30), value);
    return by_goto(30) != value;
}
