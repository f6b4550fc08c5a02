/* Any bytes as an ELF object with DWARF: libsymbolize from opening to frames.  resolve.h tells what
 * holds.  */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/object_resolve.h"
#include "tests/fuzz/support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];

    if (fd < 0)
        fd = memfd_create("object", MFD_CLOEXEC);
    HOLD(fd >= 0);
    HOLD(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    resolve_all_ways(path, size);
    return 0;
}
