/* The files of Fuchsia's insntrace as a trace.
 *
 * - The conversion ends, and what it gives is a trace without damage.
 * - Packets that are left out are no more than there are.
 *
 * The input begins with the sizes of six files, two bytes each: the list, .ktrace, .cpuid, .map,
 * .ids, and the packets of CPU 0; their bytes follow, and what is left over are those of CPU 1.  */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libptlist/ptlist.h"
#include "tests/fuzz/support.h"

static const char *const names[] = { "a.ptlist", "a.ktrace",  "a.cpuid",  "a.map",
                                     "a.ids",    "a.cpu0.pt", "a.cpu1.pt" };
#define FILES (sizeof names / sizeof *names)

static char folder[64];
static int directory = -1;

static void leave_nothing(void)
{
    for (size_t i = 0; i < FILES; i++)
        (void)unlinkat(directory, names[i], 0);
    (void)rmdir(folder);
}

static void make_folder(void)
{
    if (directory >= 0)
        return;
    (void)snprintf(folder, sizeof folder, "/tmp/fuzz_insn_ptlist.XXXXXX");
    HOLD(mkdtemp(folder));
    directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    HOLD(directory >= 0 && atexit(leave_nothing) == 0);
}

static void put_file(const char *name, const uint8_t *bytes, size_t size)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    HOLD(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    (void)close(fd);
}

/* A file that has no bytes is not there.  */
static void put_files(const uint8_t *bytes, size_t size)
{
    const uint8_t *sizes = bytes;

    bytes += 2 * (FILES - 1);
    size -= 2 * (FILES - 1);
    for (size_t i = 0; i < FILES; i++) {
        size_t wanted = i + 1 < FILES ? (size_t)(sizes[2 * i] | sizes[2 * i + 1] << 8) : size;
        size_t length = wanted < size ? wanted : size;

        if (length > 0)
            put_file(names[i], bytes, length);
        else
            (void)unlinkat(directory, names[i], 0);
        bytes += length;
        size -= length;
    }
}

static ptrdiff_t read_bytes(void *list, void *buffer, size_t size)
{
    ptrdiff_t got = ptlist_read(list, buffer, size < 1000 ? size : 1000);

    HOLD(got >= 0 && got <= 1000);
    return got;
}

static void read_trace(struct ptlist *list)
{
    const struct fxt_record *record;
    struct fxt_reader *reader;
    struct fxt_input *input;
    enum fxt_status status;

    HOLD(fxt_input_open_callback(read_bytes, list, &input, NULL) == FXT_OK);
    HOLD(fxt_reader_open(input, NULL, &reader, NULL) == FXT_OK);
    while ((status = fxt_reader_next(reader, &record, NULL)) == FXT_OK)
        HOLD(record->kind != FXT_RECORD_LARGE_BLOB || record->value.large_blob.payload.length > 0);
    HOLD(status == FXT_END);
    for (int kind = 0; kind < FXT_DAMAGE_KINDS; kind++)
        HOLD(fxt_reader_damage(reader)->kinds[kind].bytes == 0);
    fxt_reader_close(reader);
    fxt_input_close(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[sizeof folder + 16], message[4400];
    struct ptlist *list;

    if (size < 2 * (FILES - 1))
        return 0;
    make_folder();
    put_files(bytes, size);
    (void)snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    message[0] = '\0';
    if (!ptlist_open(path, &list, message, sizeof message)) {
        HOLD(message[0] != '\0');
        return 0;
    }
    read_trace(list);
    ptlist_close(list);
    return 0;
}
