/* tables - a switch with a jump table, and calls through pointers.  */
__attribute__((noinline)) static int add(int a, int b)
{
    return a + b;
}

__attribute__((noinline)) static int take(int a, int b)
{
    return a - b;
}

static int (*volatile operations[])(int, int) = { add, take };

__attribute__((noinline)) static int choose(int n)
{
    switch (n % 9) {
    case 0:
        return add(n, 1);
    case 1:
        return n * 3;
    case 2:
        return take(n, 5);
    case 3:
        return n ^ 0x55;
    case 4:
        return operations[n & 1](n, 2);
    case 5:
        return n << 2;
    case 6:
        return n >> 1;
    default:
        return -n;
    }
}

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 500; i++)
        sum = operations[i & 1](sum, choose(i));
    return sum == 1;
}
