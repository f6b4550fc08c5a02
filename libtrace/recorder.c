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

#define ID_BYTES        32
#define MOST_RECORDINGS 10000
#define IDENTITY_WORD   6 /* of the header's reserved ones: the last */

static struct {
    char pattern[PATH_BYTES]; /* of the path; "": none is wanted */
    char *categories;         /* NUL-terminated, with commas; NULL: all */
    void *memory;             /* NULL: none */
    size_t size;
    bool is_child;     /* of a process with the same pattern */
    uint64_t identity; /* of this process; 0: not known */
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

/* ---- Earlier recordings of this process ----
 *
 * exec() leaves the process its id: the next image must not replace the recording of the one
 * before.  A word of the header that is otherwise 0 says which process it is of.  */

static uint64_t hash_file(const char *path, uint64_t hash, bool (*take)(const char **, ssize_t *))
{
    char text[1024];
    const char *part = text;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    if (take && !take(&part, &length))
        return 0;
    for (ssize_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)part[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* When the process began: field 22 of its line; the name in the second one may have spaces.  */
static bool take_start(const char **text, ssize_t *length)
{
    const char *field = strrchr(*text, ')');

    for (unsigned i = 2; i < 22 && field; i++)
        field = strchr(field + 1, ' ');
    if (!field)
        return false;
    *text = field + 1;
    *length = (ssize_t)strcspn(field + 1, " \n");
    return true;
}

/* A number that no other process has; 0: not known.  */
static uint64_t find_identity(void)
{
    uint64_t hash = hash_file("/proc/sys/kernel/random/boot_id", UINT64_C(0xcbf29ce484222325),
                              NULL);

    hash = hash ? hash_file("/proc/self/stat", hash, take_start) : 0;
    return hash ? (hash ^ (uint64_t)getpid()) * UINT64_C(0x100000001b3) : 0;
}

/* Whether there is a recording of this process.  */
static bool is_of_this_process(const char *path)
{
    struct trace_header header;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool is;

    if (fd < 0)
        return false;
    is = recorder.identity != 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
         header.magic == TRACE_BUFFER_MAGIC && header.reserved[IDENTITY_WORD] == recorder.identity;
    (void)close(fd);
    return is;
}

/* ---- Names ---- */

/* The process id, and from its second recording on the number of that.  */
static void put_id(char id[ID_BYTES], unsigned recording)
{
    (void)snprintf(id, ID_BYTES, recording > 1 ? "%d-%u" : "%d", (int)getpid(), recording);
}

/* %p becomes the id, %% one %.  False when it is too long.  *is_own: it has the id.  */
static bool expand(const char *pattern, const char *id, char path[PATH_BYTES], bool *is_own)
{
    size_t used = 0;

    *is_own = false;
    for (; *pattern; pattern++) {
        int added;

        if (pattern[0] == '%' && pattern[1] == 'p') {
            added = snprintf(path + used, PATH_BYTES - used, "%s", id);
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

/* ---- Making it ---- */

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

/* A name without the process id may be another process's, which is left alone while that runs; the
 * file then has the id at its end, as that of a child.  */
static bool name_file(const char *made)
{
    char path[PATH_BYTES], other[PATH_BYTES + ID_BYTES], id[ID_BYTES];
    bool is_own;

    for (unsigned i = 1; i <= MOST_RECORDINGS; i++) {
        put_id(id, i);
        if (!expand(recorder.pattern, id, path, &is_own))
            return false;
        (void)snprintf(other, sizeof other, "%s.%s", path, id);
        if (!is_of_this_process(path)) {
            if ((is_own || (i == 1 && !recorder.is_child)) && publish(made, path))
                return true;
        } else if (is_own) {
            continue;
        }
        if (!is_of_this_process(other))
            return rename(made, other) == 0;
    }
    return false;
}

/* Under another name until it can be read.  */
static bool record_to(const char *path)
{
    char made[PATH_BYTES + ID_BYTES];
    bool done;

    (void)snprintf(made, sizeof made, "%s.%d.new", path, (int)getpid());
    (void)unlink(made);
    if (!make_file(made))
        return false;
    done = begin(recorder.categories);
    recorder.identity = find_identity();
    if (done)
        ((struct trace_header *)recorder.memory)->reserved[IDENTITY_WORD] = recorder.identity;
    done = done && name_file(made);
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
    char path[PATH_BYTES], id[ID_BYTES];
    int error = errno;
    bool is_own, done;

    put_id(id, 1);
    done = expand(recorder.pattern, id, path, &is_own) && record_to(path);
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
