/* Any bytes as the package (.dwp) of a split executable, which is sound.  What holds is told in
 * resolve.h.  The executables are those of testdata/symbolize/hostile, below $ROOT or the working
 * directory; the first byte chooses the one of DWARF 4 or the one of DWARF 5.  */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/object_resolve.h"
#include "tests/fuzz/support.h"

static const char *const executables[] = { "split", "split4" };
static char folder[] = "/tmp/fuzz_splitXXXXXX";
static int packages[2];
static size_t sizes[2]; /* of the executables */

static void remove_folder(void)
{
    char path[256];

    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, executables[i]);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/%s.dwp", folder, executables[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void copy_executable(int which)
{
    const char *root = getenv("ROOT");
    char path[4096], block[16384];
    ssize_t length;
    int fd;

    (void)snprintf(path, sizeof path, "%s/testdata/symbolize/hostile/%s", root ? root : ".",
                   executables[which]);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    HOLD(fd >= 0);
    length = read(fd, block, sizeof block);
    HOLD(length > 0 && close(fd) == 0);
    sizes[which] = (size_t)length;
    (void)snprintf(path, sizeof path, "%s/%s", folder, executables[which]);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    HOLD(fd >= 0 && write(fd, block, (size_t)length) == length && close(fd) == 0);
    (void)snprintf(path, sizeof path, "%s/%s.dwp", folder, executables[which]);
    packages[which] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    HOLD(packages[which] >= 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    HOLD(mkdtemp(folder) != NULL);
    HOLD(atexit(remove_folder) == 0);
    copy_executable(0);
    copy_executable(1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int which = size > 0 && data[0] % 2;
    char path[256];

    if (size == 0)
        return 0;
    data++;
    size--;
    HOLD(ftruncate(packages[which], 0) == 0);
    HOLD(pwrite(packages[which], data, size, 0) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "%s/%s", folder, executables[which]);
    resolve_all_ways(path, size + sizes[which]);
    return 0;
}
