/* child - allocates a lot, and shows whether it can feel a capture: ends with 7.
 *
 *   child [environment]   prints its environment too */

// NOLINTBEGIN(concurrency-mt-unsafe,bugprone-*)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv)
{
    void *volatile block;
    size_t sum = 0;

    for (size_t i = 0; i < 4000; i++) {
        block = malloc(1000 + i);
        memset(block, (int)i, 1000);
        sum += ((unsigned char *)block)[999];
        free(block);
    }
    printf("%zu\n", sum);
    for (size_t i = 0; argc > 1 && strcmp(argv[1], "environment") == 0 && environ[i]; i++)
        puts(environ[i]);
    return 7;
}
// NOLINTEND(concurrency-mt-unsafe,bugprone-*)
