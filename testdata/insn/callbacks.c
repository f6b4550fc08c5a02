/* callbacks - qsort and bsearch, which call back into the program.  */
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    int numbers[200], key = 77;

    for (int i = 0; i < 200; i++)
        numbers[i] = i * 7919 % 200;
    qsort(numbers, 200, sizeof *numbers, compare);
    return bsearch(&key, numbers, 200, sizeof *numbers, compare) ? 0 : 1;
}
