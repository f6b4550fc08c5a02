/* A flight recorder: a circular buffer in a file, which stays when the program is killed.  */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libtrace/engine.h"
#include "libtrace/provider.h"

#define PATH_BYTES    4096
#define DEFAULT_BYTES (UINT64_C(4) << 20)
#define LEAST_BYTES   (UINT64_C(64) << 10)

static struct {
    char pattern[PATH_BYTES]; /* of the path; "": none is wanted */
    char *categories;         /* NUL-terminated, with commas; NULL: all */
    void *memory;             /* NULL: none */
    size_t size;
    bool is_child; /* of a process with the same pattern */
} recorder;

/* Text of any length, for good; NULL where there is none.  */
static char *keep(const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    void *memory = MAP_FAILED;

    if (bytes > 1)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memcpy(memory, text, bytes);
}

/* %p becomes the process id, %% one %.  False when it is too long.  *is_own: it has the id.  */
static bool expand(const char *pattern, char path[PATH_BYTES], bool *is_own)
{
    size_t used = 0;

    *is_own = false;
    for (; *pattern; pattern++) {
        int added;

        if (pattern[0] == '%' && pattern[1] == 'p') {
            added = snprintf(path + used, PATH_BYTES - used, "%d", (int)getpid());
            pattern++;
            *is_own = true;
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

/* A number, with k, M or G in either case; whole pages, within bounds.  */
static size_t wanted_bytes(void)
{
    const char *text = secure_getenv("FXT_TRACE_BUFFER_SIZE");
    const char *units = "kKmMgG", *unit;
    char *end;
    unsigned long long number = strtoull(text ? text : "", &end, 10);

    unit = *end ? strchr(units, *end) : NULL;
    if (number == 0 || number > TRACE_MAX_BYTES || (*end && (!unit || end[1] != '\0')))
        return DEFAULT_BYTES;
    if (unit)
        number <<= 10 * ((unit - units) / 2 + 1);
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

/* Room on the disk is taken now: a mapped file that cannot grow is a SIGBUS.  The lock says that
 * somebody records into it; the mapping holds it.  */
static bool make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    (void)flock(fd, LOCK_EX | LOCK_NB);
    if (fits_file_limit(recorder.size) && posix_fallocate(fd, 0, (off_t)recorder.size) == 0)
        recorder.memory = mmap(NULL, recorder.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (recorder.memory && recorder.memory != MAP_FAILED)
        return true;
    recorder.memory = NULL;
    (void)unlink(path);
    return false;
}

static bool is_same_file(int fd, const char *path)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* In place of a file into which nobody records any more.  */
static bool replace(const char *made, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool done;

    if (fd < 0)
        return false;
    done = flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same_file(fd, path) && rename(made, path) == 0;
    (void)close(fd);
    return done;
}

/* Give what was made its name.  */
static bool publish(const char *made, const char *path)
{
    if (link(made, path) == 0) {
        (void)unlink(made);
        return true;
    }
    if (errno == EEXIST)
        return replace(made, path);
    return access(path, F_OK) != 0 && rename(made, path) == 0; /* no links in this file system */
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

/* Under another name until it can be read.  A name without the process id may be another process's,
 * which is left alone while that runs; the file then has the id at its end, as that of a child.  */
static bool record_to(const char *path, bool is_own)
{
    char made[PATH_BYTES + 32], other[PATH_BYTES + 32];
    bool done;

    (void)snprintf(made, sizeof made, "%s.%d.new", path, (int)getpid());
    (void)snprintf(other, sizeof other, "%s.%d", path, (int)getpid());
    (void)unlink(made);
    if (!make_file(made))
        return false;
    done = begin(recorder.categories) &&
           (((is_own || !recorder.is_child) && publish(made, path)) || rename(made, other) == 0);
    if (!done) {
        (void)unlink(made);
        trace_recorder_end();
    }
    return done;
}

bool trace_recorder_is_wanted(void)
{
    const char *pattern = secure_getenv("FXT_TRACE_FILE");
    size_t length = pattern ? strlen(pattern) : 0;

    recorder.pattern[0] = '\0';
    if (recorder.categories) /* of an earlier provider */
        (void)munmap(recorder.categories, strlen(recorder.categories) + 1);
    recorder.categories = NULL;
    if (length == 0 || length >= sizeof recorder.pattern)
        return false;
    memcpy(recorder.pattern, pattern, length + 1);
    recorder.categories = keep(secure_getenv("FXT_TRACE_CATEGORIES"));
    recorder.size = wanted_bytes();
    return true;
}

bool trace_recorder_begin(void)
{
    char path[PATH_BYTES];
    int error = errno;
    bool is_own, done;

    done = expand(recorder.pattern, path, &is_own) && record_to(path, is_own);
    errno = error;
    return done;
}

void trace_recorder_end(void)
{
    if (trace_engine_terminate() && recorder.memory)
        (void)munmap(recorder.memory, recorder.size);
    recorder.memory = NULL;
}

void trace_memory_forget(void *memory, size_t size, bool inside)
{
    if (inside)
        (void)mmap(memory, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    else
        (void)munmap(memory, size);
}

void trace_recorder_forget(bool inside)
{
    if (recorder.memory)
        trace_memory_forget(recorder.memory, recorder.size, inside);
    recorder.memory = NULL;
    recorder.is_child = true;
}
