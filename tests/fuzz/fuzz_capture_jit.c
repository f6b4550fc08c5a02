/* Map files and dumps of code that programs make while they run: libperf/jit_files.c.
 *
 * The first byte chooses which; the next 32 are addresses that were seen, the rest is the file.
 *
 * - What is told is whole lines about functions that were seen, each of two numbers and a name.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libperf/jit_files.h"
#include "tests/fuzz/support.h"

#define FIXED 33

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void check_line(const char *line, const struct jit_addresses *addresses)
{
    uint64_t start, size;
    bool hit = false;
    int used = 0;

    HOLD(sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &used) >= 2 && used > 0);
    HOLD(size > 0 && start + size >= start);
    for (size_t i = 0; i < addresses->count; i++)
        hit |= addresses->items[i] >= start && addresses->items[i] - start <= size;
    HOLD(hit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct base_text text = { .bytes = NULL };
    uint64_t seen[4];
    struct jit_addresses addresses = { seen, 4 };
    int fd;

    if (size < FIXED)
        return 0;
    memcpy(seen, data + 1, sizeof seen);
    qsort(seen, 4, sizeof *seen, compare);
    fd = memfd_create("jit", MFD_CLOEXEC);
    HOLD(fd >= 0 && write(fd, data + FIXED, size - FIXED) == (ssize_t)(size - FIXED) &&
         lseek(fd, 0, SEEK_SET) == 0);
    HOLD(data[0] & 1 ? jit_read_map(fd, &addresses, &text) : jit_read_dump(fd, &addresses, &text));
    (void)close(fd);
    HOLD(text.length == 0 || text.bytes[text.length - 1] == '\n');
    for (size_t at = 0; at < text.length; at += strcspn(text.bytes + at, "\n") + 1)
        check_line(text.bytes + at, &addresses);
    base_text_release(&text);
    return 0;
}
