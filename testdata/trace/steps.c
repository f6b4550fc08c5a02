/* A provider that is told what to do, line by line on standard input:
 *
 *   write COUNT    that many events of category "steps", with numbers that go on; then "wrote NEXT"
 *   on, off        wait until recording is on or off; then the word
 *   wrap CHARACTER a blob of 200 bytes of it in "steps"; then "blob"
 *   cost           the time of one event in picoseconds: the least of many batches
 *
 * The numbers of events are written whether or not they are recorded.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fxt/trace.h>

static void write_events(unsigned count)
{
    static unsigned next;

    for (; count > 0; count--, next++)
        TRACE_INSTANT("steps", "step", TRACE_SCOPE_THREAD, "seq", TA_UINT32(next));
    (void)printf("wrote %u\n", next);
}

static unsigned long now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (unsigned long)time.tv_sec * 1000000000 + (unsigned long)time.tv_nsec;
}

static unsigned long picoseconds_per_event(void)
{
    unsigned long least = 1000000;

    for (int batch = 0; batch < 2000; batch++) {
        const unsigned long begin = now();
        unsigned long taken;

        for (unsigned i = 0; i < 1000; i++)
            TRACE_INSTANT("steps", "cost", TRACE_SCOPE_THREAD, "seq", TA_UINT32(i));
        taken = now() - begin; /* nanoseconds of 1000 events: picoseconds of one */
        least = taken < least ? taken : least;
    }
    return least;
}

static void wait_until(bool on)
{
    while (TRACE_ENABLED() != on)
        (void)usleep(1000);
    (void)puts(on ? "on" : "off");
}

int main(int argc, char **argv)
{
    char line[64], bytes[200];

    trace_provider_add_known_category("steps", "what it is told");
    (void)trace_provider_create_with_name(argc > 1 ? argv[1] : "steps");
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "write ", 6) == 0) {
            write_events((unsigned)strtoul(line + 6, NULL, 10));
        } else if (strncmp(line, "wrap ", 5) == 0) {
            memset(bytes, line[5], sizeof bytes);
            TRACE_BLOB_ATTACHMENT("steps", "blob", bytes, sizeof bytes);
            (void)puts("blob");
        } else if (strncmp(line, "cost", 4) == 0) {
            (void)printf("%lu\n", picoseconds_per_event());
        } else {
            wait_until(strncmp(line, "on", 2) == 0);
        }
        (void)fflush(stdout);
    }
    return 0;
}
