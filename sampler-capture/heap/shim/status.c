/* status.c - what the kernel says of the process.  */
#include "sampler-capture/heap/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t shim_status_number(const char *line, uint64_t unread, uint64_t absent)
{
    char text[4096];
    const char *at;
    uint64_t number = 0;
    long length;
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return unread;
    length = syscall(SYS_read, fd, text, sizeof text - 1);
    (void)syscall(SYS_close, fd);
    text[length > 0 ? length : 0] = '\0';
    at = strstr(text, line);
    if (!at)
        return absent;
    at += strlen(line);
    at += strspn(at, " \t");
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

/* The server looks now and then, but not at the last moment.  What ends by a signal or _exit(2)
 * does not come here.  */
__attribute__((destructor)) static void tell_resident(void)
{
    struct shim_process *process = shim_process;
    int error = errno;

    if (!process || !atomic_load(&process->connected) || atomic_load(&process->ended) ||
        atomic_load(&shim_confined) || process->pid != getpid() || !process->losses ||
        process->losses == &shim_settings.losses->others)
        return;
    atomic_store(&process->losses->resident, 1024 * shim_status_number("\nVmHWM:", 0, 0));
    errno = error;
}
