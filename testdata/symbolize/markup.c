/* What the addresses of markup.log are in.  Lines count: markup.txt names them.  */
static inline __attribute__((always_inline)) int inner(int value)
{
    __asm__ volatile("nop");
    return value + 1;
}

static inline __attribute__((always_inline)) int middle(int value)
{
    return inner(value);
}

int plain(int value)
{
    __asm__ volatile("nop");
    return value;
}

int outer(int value)
{
    return middle(value);
}

const int table[2] = { 1, 2 };
int state __asm__("_ZN1n5stateE") = 1;
