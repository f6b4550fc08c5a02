/* What the kernel says of the calling thread.  */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libtrace/engine.h"

/* ---- Seccomp ---- */

#define NUMBER_BYTES 32 /* of a line that is looked for */

static long filters_before = -1;

/* The number in the text after the key, at the beginning of a line; otherwise what it was.  */
static void take_line(const char *line, const char *key, long *number)
{
    size_t length = strlen(key);

    if (strncmp(line, key, length) == 0)
        *number = strtol(line + length, NULL, 10);
}

#define NOT_KNOWN     (-1)
#define NO_DESCRIPTOR (-2) /* there is none to find it out with */

/* How many filters there are; with an old kernel, the kind of filter.  Lines may be of any length,
 * and the stack may be a signal handler's.  */
static long count_filters(void)
{
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    char bytes[256], line[NUMBER_BYTES] = "";
    long mode = NOT_KNOWN, count = NOT_KNOWN;
    ssize_t length;
    size_t used = 0;

    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? NO_DESCRIPTOR : NOT_KNOWN;
    while ((length = read(fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < length; i++) {
            if (bytes[i] != '\n') {
                if (used < sizeof line - 1)
                    line[used++] = bytes[i];
                continue;
            }
            line[used] = '\0';
            used = 0;
            take_line(line, "Seccomp:", &mode);
            take_line(line, "Seccomp_filters:", &count);
        }
    (void)close(fd);
    return count >= 0 ? count : mode;
}

void trace_task_setup(void)
{
    int error = errno;

    filters_before = count_filters();
    errno = error;
}

enum trace_confinement trace_confinement(void)
{
    enum trace_confinement result = TRACE_IS_FREE;
    int error = errno;

    if (filters_before >= 0) {
        long filters = count_filters();

        if (filters == NO_DESCRIPTOR)
            result = TRACE_ASK_LATER;
        else if (filters != filters_before)
            result = TRACE_IS_CONFINED;
    }
    errno = error;
    return result;
}

bool trace_is_confined(void)
{
    return trace_confinement() != TRACE_IS_FREE;
}

bool trace_task_is_known(void)
{
    return filters_before >= 0;
}

/* ---- Names ---- */

/* Not prctl(2), which filters forbid more often than files.  */
void trace_task_name(char name[TRACE_TASK_NAME])
{
    int fd = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, name, TRACE_TASK_NAME - 1) : 0;

    if (fd >= 0)
        (void)close(fd);
    if (length > 0 && name[length - 1] == '\n')
        length--;
    name[length > 0 ? length : 0] = '\0';
}
