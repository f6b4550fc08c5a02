/* recursion - two functions that call each other, and a deep stack.  */
__attribute__((noinline)) static unsigned odd(unsigned n);

__attribute__((noinline)) static unsigned even(unsigned n)
{
    return n == 0 ? 1 : odd(n - 1) + (n & 1);
}

__attribute__((noinline)) static unsigned odd(unsigned n)
{
    return n == 0 ? 0 : even(n - 1) + (n & 1);
}

int main(void)
{
    return even(1000) == 0;
}
