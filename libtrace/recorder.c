/* A flight recorder: a circular buffer in a file, which stays when the program is killed.  */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libtrace/engine.h"
#include "libtrace/provider.h"

#define PATH_BYTES    4096
#define DEFAULT_BYTES (UINT64_C(4) << 20)
#define LEAST_BYTES   (UINT64_C(64) << 10)

static struct {
    void *memory; /* NULL: none */
    size_t size;
} recorder;

bool trace_recorder_is_wanted(void)
{
    const char *pattern = secure_getenv("FXT_TRACE_FILE");

    return pattern && pattern[0] != '\0';
}

/* %p becomes the process id, %% one %.  False when it is too long.  */
static bool expand(const char *pattern, char path[PATH_BYTES])
{
    size_t used = 0;

    for (; *pattern; pattern++) {
        int added;

        if (pattern[0] == '%' && pattern[1] == 'p') {
            added = snprintf(path + used, PATH_BYTES - used, "%d", (int)getpid());
            pattern++;
        } else {
            if (pattern[0] == '%' && pattern[1] == '%')
                pattern++;
            added = snprintf(path + used, PATH_BYTES - used, "%c", *pattern);
        }
        used += (size_t)added;
        if (used >= PATH_BYTES - 32)
            return false;
    }
    return used > 0;
}

/* A number, with k, M or G; whole pages, within bounds.  */
static size_t wanted_bytes(void)
{
    const char *text = secure_getenv("FXT_TRACE_BUFFER_SIZE");
    char *end = NULL;
    unsigned long long number = text ? strtoull(text, &end, 10) : 0;
    const char *units = "kMG";
    const char *unit = end && *end ? strchr(units, *end) : NULL;

    if (number == 0 || number > TRACE_MAX_BYTES)
        return DEFAULT_BYTES;
    if (unit)
        number <<= 10 * (unit - units + 1);
    if (number < LEAST_BYTES)
        return LEAST_BYTES;
    return number < TRACE_MAX_BYTES ? (size_t)(number + 4095) & ~(size_t)4095 : TRACE_MAX_BYTES;
}

/* "a,b" as a list in text, which has room for it.  */
static struct trace_categories split(char *text, const char *list)
{
    struct trace_categories categories = { .text = text };

    while (list && *list) {
        size_t length = strcspn(list, ",");

        if (length > 0) {
            memcpy(text, list, length);
            text += length;
            *text++ = '\0';
            categories.count++;
        }
        list += length + (list[length] == ',');
    }
    return categories;
}

/* Growing a file beyond RLIMIT_FSIZE raises SIGXFSZ, which would end the program.  */
static bool fits_file_limit(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

/* Room on the disk is taken now: a mapped file that cannot grow is a SIGBUS.  */
static bool make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    if (fits_file_limit(recorder.size) && posix_fallocate(fd, 0, (off_t)recorder.size) == 0)
        recorder.memory = mmap(NULL, recorder.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (recorder.memory && recorder.memory != MAP_FAILED)
        return true;
    recorder.memory = NULL;
    (void)unlink(path);
    return false;
}

static bool begin(const char *list)
{
    size_t bytes = (list ? strlen(list) : 0) + 2;
    char *text = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct trace_categories categories;
    bool done;

    if (text == MAP_FAILED)
        return false;
    categories = split(text, list);
    done = trace_engine_initialize(recorder.memory, recorder.size, TRACE_CIRCULAR, &categories);
    (void)munmap(text, bytes);
    return done && trace_engine_start(TRACE_RETAIN, NULL);
}

/* Under another name until it can be read: a file of that name may be another process's buffer,
 * which must stay as it is.  */
bool trace_recorder_begin(void)
{
    char path[PATH_BYTES], temporary[PATH_BYTES];
    int error = errno;
    bool done = false;

    recorder.size = wanted_bytes();
    if (expand(secure_getenv("FXT_TRACE_FILE"), path)) {
        (void)snprintf(temporary, sizeof temporary, "%.4060s.%d", path, (int)getpid());
        (void)unlink(temporary);
        done = make_file(temporary);
        if (done) {
            done = begin(secure_getenv("FXT_TRACE_CATEGORIES")) && rename(temporary, path) == 0;
            if (!done) {
                (void)unlink(temporary);
                trace_recorder_end();
            }
        }
    }
    errno = error;
    return done;
}

void trace_recorder_end(void)
{
    if (trace_engine_terminate() && recorder.memory)
        (void)munmap(recorder.memory, recorder.size);
    recorder.memory = NULL;
}

void trace_recorder_forget(void)
{
    if (recorder.memory)
        (void)munmap(recorder.memory, recorder.size);
    recorder.memory = NULL;
}
