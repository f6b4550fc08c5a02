/* Results on their way to a file: whole or not at all.  */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/visible.h"
#include "cmd/cli/cli.h"
#include "cmd/cli/cli_internal.h"

/* Beside target, so that rename() stays on one file system.  The mode is what open() would have
 * given: mkostemp() starts with 0600.  */
static int open_temporary(struct cli_output *output)
{
    mode_t mask = umask(0);
    struct stat old;
    mode_t mode = 0666 & ~mask;

    (void)umask(mask);
    if (stat(output->target, &old) == 0)
        mode = old.st_mode & 07777;
    if (asprintf(&output->temporary, "%s.XXXXXX", output->target) < 0) {
        output->temporary = NULL;
        cli_out_of_memory();
    }
    output->fd = mkostemp(output->temporary, O_CLOEXEC);
    if (output->fd < 0)
        return output->fd;
    cli_unfinished_add(output->temporary);
    (void)fchmod(output->fd, mode);
    return output->fd;
}

enum cli_exit cli_output_open(struct cli_output *output, const char *path)
{
    struct stat info;
    bool exists;

    *output = (struct cli_output){ .fd = -1, .path = path };
    output->buffer = cli_allocate(1, CLI_OUTPUT_BYTES);
    if (!path || strcmp(path, "-") == 0) {
        output->path = "standard output";
        output->fd = STDOUT_FILENO;
        return CLI_OK;
    }
    exists = stat(path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        output->target = exists ? realpath(path, NULL) : strdup(path);
        if (!output->target)
            cli_out_of_memory();
        output->fd = open_temporary(output);
    }
    if (output->fd >= 0)
        return CLI_OK;
    cli_error("%s: %s", path, strerror(errno));
    free(output->temporary);
    output->temporary = NULL;
    cli_output_abort(output);
    return CLI_ENVIRONMENT;
}

void cli_output_check(const char *output, const struct cli_texts *inputs)
{
    struct stat target, info;

    if (!output || strcmp(output, "-") == 0 || stat(output, &target) != 0 ||
        !S_ISREG(target.st_mode))
        return;
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->items[i], "-") != 0 && stat(inputs->items[i], &info) == 0 &&
            info.st_dev == target.st_dev && info.st_ino == target.st_ino)
            cli_usage_error("%s is an input: the output would replace it", output);
}

enum cli_exit cli_output_append(struct cli_output *output, const char *path)
{
    *output = (struct cli_output){ .path = path };
    output->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (output->fd < 0) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    output->buffer = cli_allocate(1, CLI_OUTPUT_BYTES);
    return CLI_OK;
}

static void write_bytes(struct cli_output *output, const void *bytes, size_t size)
{
    output->written += size;
    if (!output->failed && cli_bounds_exceeded(output->written))
        output->failed = EFBIG;
    if (!output->failed)
        output->failed = base_write_all(output->fd, bytes, size);
}

void cli_output_visible(struct cli_output *output)
{
    output->visible = isatty(output->fd) == 1;
}

/* How many bytes at the end of bytes begin a character that is not whole yet.  */
static size_t cut_off(const char *bytes, size_t size)
{
    for (size_t tail = 1; tail <= 3 && tail <= size; tail++) {
        unsigned char byte = (unsigned char)bytes[size - tail];

        if (byte >= 0xc0) /* a lead byte of 2, 3 or 4 */
            return tail < (byte < 0xe0 ? 2u : byte < 0xf0 ? 3u : 4u) ? tail : 0;
        if (byte < 0x80)
            break;
    }
    return 0;
}

static void write_visible(struct cli_output *output, const char *bytes, size_t size, bool is_last)
{
    struct base_text text = { .bytes = NULL }, shown = { .bytes = NULL };
    size_t keep, step;

    base_text_add(&text, output->partial, output->partial_count);
    base_text_add(&text, bytes, size);
    keep = is_last || text.failed ? 0 : cut_off(text.bytes, text.length);
    for (size_t i = 0; !text.failed && i < text.length - keep; i += step) {
        char escape[BASE_ESCAPE_BYTES];

        if (base_shown_as_is(text.bytes + i, text.length - keep - i, &step) ||
            text.bytes[i] == '\n' || text.bytes[i] == '\t')
            base_text_add(&shown, text.bytes + i, step);
        else
            base_text_add(&shown, escape, base_escape(escape, text.bytes + i, step));
    }
    if (text.failed || shown.failed)
        output->failed = ENOMEM;
    if (!output->failed && keep > 0)
        memcpy(output->partial, text.bytes + text.length - keep, keep);
    output->partial_count = keep;
    write_bytes(output, shown.bytes, shown.length);
    base_text_release(&shown);
    base_text_release(&text);
}

static int write_all(struct cli_output *output, const unsigned char *bytes, size_t size)
{
    void (*opens)(struct cli_output * output, void *context) = output->opens;

    if (size > 0 && opens) {
        output->opens = NULL;
        opens(output, output->opens_context);
    }
    if (output->visible)
        write_visible(output, (const char *)bytes, size, false);
    else
        write_bytes(output, bytes, size);
    return output->failed;
}

int cli_output_flush(struct cli_output *output)
{
    size_t used = output->used;

    output->used = 0;
    return write_all(output, output->buffer, used);
}

int cli_output_write(void *context, const void *bytes, size_t size)
{
    struct cli_output *output = context;

    if (size > CLI_OUTPUT_BYTES - output->used && cli_output_flush(output) != 0)
        return output->failed;
    if (size >= CLI_OUTPUT_BYTES)
        return write_all(output, bytes, size);
    memcpy(output->buffer + output->used, bytes, size);
    output->used += size;
    return output->failed;
}

enum cli_exit cli_output_commit(struct cli_output *output)
{
    int failed = cli_output_flush(output);

    if (output->partial_count > 0) {
        write_visible(output, NULL, 0, true);
        failed = output->failed;
    }
    if (output->fd >= 0 && output->fd != STDOUT_FILENO && close(output->fd) != 0 && !failed)
        failed = errno;
    output->fd = -1;
    if (!failed && output->temporary && rename(output->temporary, output->target) != 0)
        failed = errno;
    if (!failed) {
        cli_unfinished_remove(output->temporary);
        free(output->temporary);
        output->temporary = NULL;
    } else {
        cli_error("%s: %s", output->path, strerror(failed));
    }
    cli_output_abort(output);
    return failed ? CLI_ENVIRONMENT : CLI_OK;
}

void cli_output_abort(struct cli_output *output)
{
    if (output->fd >= 0 && output->fd != STDOUT_FILENO)
        (void)close(output->fd);
    if (output->temporary)
        (void)unlink(output->temporary);
    cli_unfinished_remove(output->temporary);
    free(output->temporary);
    free(output->target);
    free(output->buffer);
    *output = (struct cli_output){ .fd = -1 };
}
