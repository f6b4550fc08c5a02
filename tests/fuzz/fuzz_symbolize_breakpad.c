/* Any bytes behind a MODULE record: a Breakpad symbol file, from opening to frames.  resolve.h has
 * the properties.  */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/object_resolve.h"
#include "tests/fuzz/support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char module[] = "MODULE Linux x86_64 030201000504070608090A0B0C0D0E0F0 small\n";
    const size_t before = sizeof module - 1;
    static int fd = -1;
    char path[64];

    if (fd < 0)
        fd = memfd_create("symbols", MFD_CLOEXEC);
    HOLD(fd >= 0);
    HOLD(ftruncate(fd, 0) == 0 && pwrite(fd, module, before, 0) == (ssize_t)before);
    HOLD(pwrite(fd, data, size, (off_t)before) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    resolve_all_ways(path, before + size);
    return 0;
}
