/* heap - allocations of many sizes, freed in another order.  */
#include <stdlib.h>

int main(void)
{
    void *blocks[60];

    for (int i = 0; i < 60; i++)
        blocks[i] = malloc((size_t)(i * i) + 1);
    for (int i = 0; i < 60; i += 2)
        blocks[i] = realloc(blocks[i], (size_t)(i + 1) * 50);
    for (int i = 59; i >= 0; i--)
        free(blocks[i]);
    return 0;
}
