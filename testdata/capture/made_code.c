/* Makes a function that counts its argument down, with a frame pointer, while it runs; says so in
 * /tmp/perf-PID.map, and prints that path.  Its argument is a part of the name.  x86-64.  */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static const uint8_t code[] = {
    0x55,             /* push %rbp */
    0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
    0x48, 0xff, 0xcf, /* 1: dec %rdi */
    0x75, 0xfb,       /* jne 1b */
    0x5d, 0xc3,       /* pop %rbp; ret */
};
int main(int argc, char **argv)
{
    char path[64];
    uint8_t *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*count_down)(uint64_t);
    const uint8_t *start;
    FILE *map;
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    if (room == MAP_FAILED)
        return 1;
    memcpy(room + 64, code, sizeof code);
    if (mprotect(room, 4096, PROT_READ | PROT_EXEC) != 0)
        return 1;
    map = fopen(path, "w");
    if (!map)
        return 1;
    (void)fprintf(map, "%lx %zx Made:%s at run time\n", (unsigned long)(room + 64), sizeof code,
                  argc > 1 ? argv[1] : "");
    (void)fprintf(map, "%lx 10 never called\n", (unsigned long)(room + 512));
    (void)fclose(map);
    start = room + 64;
    memcpy(&count_down, &start, sizeof count_down);
    while (clock() < CLOCKS_PER_SEC / 3)
        count_down(1000000);
    (void)puts(path);
    return 0;
}
