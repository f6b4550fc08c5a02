#include "cmd/fxtq/input_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fxt/profile_files.h>
#include <fxt/profile_markup.h>
#include "cmd/cli/cli_input.h"

/* Compressed bytes that are looked at: some begin with a lot that comes to nothing.  */
#define MOST_BYTES ((size_t)1 << 20)

/* Uncompressed bytes in which markup is looked for: a log may begin with much else.  */
#define MOST_TEXT ((size_t)1 << 20)

static bool is_table(const void *start, size_t length)
{
    return profile_format_of(start, length) != NULL;
}

static const struct {
    enum store_profile_format format;
    bool (*is)(const void *start, size_t length);
} formats[] = {
    { STORE_PROFILE_PPROF, is_table },
    { STORE_PROFILE_FOLDED, profile_is_folded },
};

/* Read on and keep what was read.  */
static ptrdiff_t read_and_keep(void *context, void *buffer, size_t size)
{
    struct start *start = context;
    ptrdiff_t got;

    if (start->length == MOST_BYTES)
        return 0;
    if (size > MOST_BYTES - start->length)
        size = MOST_BYTES - start->length;
    got = read(start->fd, start->bytes + start->length, size);
    if (got > 0) {
        memcpy(buffer, start->bytes + start->length, (size_t)got);
        start->length += (size_t)got;
    }
    return got;
}

static size_t read_up_to(struct fxt_input *input, unsigned char *bytes, size_t length, size_t size)
{
    size_t got;

    while (length < size &&
           fxt_input_read(input, bytes + length, size - length, &got, NULL) == FXT_OK)
        length += got;
    return length;
}

/* The first uncompressed bytes, more of what may be text; as many as there are where they are
 * damaged.  */
static size_t read_start(struct start *start, unsigned char *bytes)
{
    struct fxt_input_options options = {
        .size = sizeof options, .read = read_and_keep, .context = start, .as_stream = true
    };
    struct fxt_input *input;
    size_t length;

    if (fxt_input_open(&options, &input, NULL) != FXT_OK)
        return 0;
    length = read_up_to(input, bytes, 0, PROFILE_SNIFF_BYTES);
    if (length > 0 && !memchr(bytes, '\0', length))
        length = read_up_to(input, bytes, length, MOST_TEXT);
    fxt_input_close(input);
    return length;
}

static void tell_format(struct start *start)
{
    unsigned char *bytes = cli_allocate(MOST_TEXT, 1);
    size_t length = read_start(start, bytes);
    size_t first = length < PROFILE_SNIFF_BYTES ? length : PROFILE_SNIFF_BYTES;

    start->is_profile = profile_is_markup(bytes, length);
    start->format = STORE_PROFILE_MARKUP;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !start->is_profile; i++) {
        start->is_profile = formats[i].is(bytes, first);
        start->format = formats[i].format;
    }
    start->foreign = start->is_profile ? NULL : profile_foreign_text(bytes, first);
    free(bytes);
}

bool start_open(struct start *start, const char *path)
{
    struct stat info;

    *start = (struct start){ .fd = STDIN_FILENO, .path = path, .is_stdin = strcmp(path, "-") == 0 };
    if (!start->is_stdin)
        start->fd = cli_input_open(path);
    if (start->fd < 0 || fstat(start->fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        start_close(start);
        return false;
    }
    start->can_reopen = S_ISREG(info.st_mode) && !start->is_stdin;
    start->bytes = cli_allocate(MOST_BYTES, 1);
    tell_format(start);
    return true;
}

ptrdiff_t start_read(void *context, void *buffer, size_t size)
{
    struct start *start = context;
    size_t left = start->length - start->next;

    if (left == 0)
        return read(start->fd, buffer, size);
    if (size > left)
        size = left;
    memcpy(buffer, start->bytes + start->next, size);
    start->next += size;
    return (ptrdiff_t)size;
}

bool start_is_store(const char *path)
{
    char bytes[16];

    return store_is_database_start(bytes, cli_input_start(path, bytes, sizeof bytes));
}

void start_close(struct start *start)
{
    if (start->fd >= 0 && !start->is_stdin)
        cli_input_close(start->path, start->fd);
    start->fd = -1;
    free(start->bytes);
    start->bytes = NULL;
}
