/* changing - code that the program writes, runs, and writes anew at the same place.  */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    /* mov $N, %eax; ret; and, as long, xor %eax, %eax; nop; nop; nop; ret */
    static const unsigned char first[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
    static const unsigned char other[] = { 0x31, 0xc0, 0x90, 0x75, 0x00, 0xc3 };
    unsigned char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;

    if (code == MAP_FAILED)
        return 1;
    for (int i = 0; i < 20; i++) {
        /* Across a page, too.  */
        unsigned char *at = code + (i % 3 == 0 ? 4093 : 64);

        memcpy(at, i % 2 ? first : other, sizeof first);
        sum += ((int (*)(void))(void *)at)();
    }
    printf("%d\n", sum);
    return 0;
}
