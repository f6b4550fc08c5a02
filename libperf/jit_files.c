/* jit_files.c - perf's map files and dumps (tools/perf/Documentation/jit-interface.txt and
 * jitdump-specification.txt of the kernel).  */
#include "libperf/jit_files.h"

#include "base/bisect.h"
#include "base/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES (UINT64_C(256) << 20) /* of a file */
#define MAX_TEXT  ((size_t)64 << 20)    /* that is made of one */
#define MAX_LINE  4096
#define MAX_NAME  2048

/* ---- Addresses that were seen ---- */

bool jit_seen_add(struct jit_seen *seen, uint64_t address)
{
    uint64_t hash = base_hash(address, 1);
    size_t probe;
    uint32_t at;

    for (at = base_index_first(&seen->index, hash, &probe); at;
         at = base_index_next(&seen->index, hash, &probe))
        if (seen->items[at - 1] == address)
            return true;
    if (!base_make_room(&seen->items, &seen->capacity, seen->count + 1, sizeof *seen->items) ||
        !base_index_reserve(&seen->index))
        return false;
    seen->items[seen->count++] = address;
    base_index_add(&seen->index, hash, (uint32_t)seen->count);
    return true;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

void jit_seen_sort(struct jit_seen *seen)
{
    if (seen->count > 0)
        qsort(seen->items, seen->count, sizeof *seen->items, compare);
    base_index_release(&seen->index);
    seen->index = (struct base_index){ .slots = NULL };
}

void jit_seen_release(struct jit_seen *seen)
{
    free(seen->items);
    base_index_release(&seen->index);
    *seen = (struct jit_seen){ .items = NULL };
}

/* ---- Functions ---- */

/* Whether one of the addresses is in [start, start + size]: a return address may be the first byte
 * behind a call at the end.  */
static bool is_hit(const struct jit_addresses *addresses, uint64_t start, uint64_t size)
{
    size_t low = 0, high = addresses->count;

    BASE_BISECT(low, high, i, addresses->items[i] < start);
    return low < addresses->count && addresses->items[low] - start <= size;
}

static bool add_function(const struct jit_addresses *addresses, uint64_t start, uint64_t size,
                         const char *name, struct base_text *out)
{
    size_t length = strcspn(name, "\n");

    if (size == 0 || start + size < start || length == 0 || !is_hit(addresses, start, size))
        return true;
    out->limit = MAX_TEXT;
    base_text_addf(out, "%" PRIx64 " %" PRIx64 " %.*s\n", start, size,
                   (int)(length < MAX_NAME ? length : MAX_NAME), name);
    return !out->failed || out->length + MAX_LINE >= MAX_TEXT; /* the bound is no failure */
}

/* ---- Maps ---- */

/* "START SIZE NAME", hexadecimal, also with 0x.  */
static bool add_line(const struct jit_addresses *addresses, const char *line, struct base_text *out)
{
    uint64_t start, size;
    char *end;

    if (line[0] == ' ' || line[0] == '-' || line[0] == '+')
        return true;
    errno = 0;
    start = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || end[1] == ' ' || end[1] == '-' || end[1] == '+')
        return true;
    line = end + 1;
    size = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || errno != 0)
        return true;
    return add_function(addresses, start, size, end + 1, out);
}

static FILE *stream_of(int fd)
{
    int copy = dup(fd);
    FILE *file = copy >= 0 ? fdopen(copy, "r") : NULL;

    if (!file && copy >= 0)
        (void)close(copy);
    return file;
}

bool jit_read_map(int fd, const struct jit_addresses *addresses, struct base_text *out)
{
    FILE *file = stream_of(fd);
    char line[MAX_LINE];
    uint64_t bytes = 0;
    bool fine = true, is_rest = false; /* of a line that is too long, whose name is cut */

    while (file && fine && bytes < MAX_BYTES && fgets(line, sizeof line, file)) {
        size_t length = strlen(line);

        bytes += length + 1; /* it may begin with a NUL */
        fine = is_rest || add_line(addresses, line, out);
        is_rest = length + 1 == sizeof line && line[length - 1] != '\n';
    }
    if (file)
        (void)fclose(file);
    return fine;
}

/* ---- Dumps ---- */

enum { DUMP_LOAD = 0, DUMP_MOVE = 1 };

struct dump_header {
    uint32_t magic, version, size, machine, pad, pid;
    uint64_t timestamp, flags;
};

struct dump_record {
    uint32_t id, size;
    uint64_t timestamp;
};

struct dump_load {
    uint32_t pid, tid;
    uint64_t vma, address, size, index;
};

struct dump_move {
    uint32_t pid, tid;
    uint64_t vma, before, address, size, index;
};

#define DUMP_MAGIC UINT32_C(0x4a695444)

/* Where the name of a function is: it may move.  */
struct dump_name {
    uint64_t index, offset;
};

struct dump {
    int fd;
    const struct jit_addresses *addresses;
    struct base_text *out;
    struct dump_name *names; /* owned */
    size_t count, capacity;
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
    ssize_t got;

    do
        got = pread(fd, to, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)size;
}

/* The text at offset, cut.  "" where there is none.  */
static void read_name(const struct dump *dump, uint64_t offset, uint64_t left,
                      char name[MAX_NAME + 1])
{
    ssize_t got = pread(dump->fd, name, left < MAX_NAME ? (size_t)left : MAX_NAME, (off_t)offset);

    name[got > 0 ? got : 0] = '\0';
}

static bool take_load(struct dump *dump, uint64_t offset, uint64_t left)
{
    struct dump_load load;
    char name[MAX_NAME + 1];

    if (left < sizeof load || !read_at(dump->fd, &load, sizeof load, offset))
        return true;
    if (!base_make_room(&dump->names, &dump->capacity, dump->count + 1, sizeof *dump->names))
        return false;
    dump->names[dump->count++] = (struct dump_name){ load.index, offset + sizeof load };
    read_name(dump, offset + sizeof load, left - sizeof load, name);
    return add_function(dump->addresses, load.address, load.size, name, dump->out);
}

static bool take_move(const struct dump *dump, uint64_t offset, uint64_t left)
{
    struct dump_move move;
    char name[MAX_NAME + 1];
    size_t i = dump->count;

    if (left < sizeof move || !read_at(dump->fd, &move, sizeof move, offset) ||
        !is_hit(dump->addresses, move.address, move.size))
        return true;
    while (i > 0 && dump->names[i - 1].index != move.index)
        i--;
    if (i == 0)
        return true;
    read_name(dump, dump->names[i - 1].offset, MAX_NAME, name);
    return add_function(dump->addresses, move.address, move.size, name, dump->out);
}

bool jit_read_dump(int fd, const struct jit_addresses *addresses, struct base_text *out)
{
    struct dump dump = { .fd = fd, .addresses = addresses, .out = out };
    struct dump_header header;
    struct dump_record record;
    uint64_t offset;
    bool fine = true;

    if (!read_at(fd, &header, sizeof header, 0) || header.magic != DUMP_MAGIC ||
        header.size < sizeof header)
        return true;
    for (offset = header.size; fine && offset < MAX_BYTES; offset += record.size) {
        uint64_t inside = offset + sizeof record;

        if (!read_at(fd, &record, sizeof record, offset) || record.size < sizeof record)
            break;
        if (record.id == DUMP_LOAD)
            fine = take_load(&dump, inside, record.size - sizeof record);
        else if (record.id == DUMP_MOVE)
            fine = take_move(&dump, inside, record.size - sizeof record);
    }
    free(dump.names);
    return fine;
}
