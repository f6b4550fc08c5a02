/* strings - string instructions with repeat prefixes, and the C library's string functions.  */
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static void copy(char *to, const char *from, unsigned long size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

int main(void)
{
    char text[256], other[256];

    memset(text, 'x', sizeof text - 1);
    text[255] = '\0';
    for (size_t i = 0; i < 30; i++) {
        copy(other, text, 8 * i + 1);
        other[8 * i] = '\0';
        (void)snprintf(text, sizeof text, "%zu %s", i, other);
    }
    return strlen(text) == 0;
}
