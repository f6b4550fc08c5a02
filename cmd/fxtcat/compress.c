/* fxtcat compress: the same bytes in zstd frames that unpack each for itself.
 *
 * A frame holds a bounded number of bytes, so that packing and unpacking take bounded memory, and
 * what is broken or cut costs one frame.  Each frame says how much it holds and ends with a
 * checksum.  The bytes are those of the trace, damage included.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "cmd/cli/cli_input.h"
#include "cmd/fxtcat/fxtcat.h"

#define DEFAULT_LEVEL        3
#define DEFAULT_FRAME_BYTES  (UINT64_C(1) << 20)
#define SMALLEST_FRAME_BYTES (UINT64_C(4) << 10)
#define LARGEST_FRAME_BYTES  (UINT64_C(64) << 20) /* readers take windows up to 128 MiB */

enum { OPTION_LEVEL = 1, OPTION_FRAME };

static const struct cli_option option_table[] = {
    { OPTION_LEVEL, 'l', "level", "N", "1 (fast) to 19 (small); default 3" },
    { OPTION_FRAME, 0, "frame-size", "SIZE",
      "uncompressed bytes per frame: 4k to 64M; default 1M" },
    { 0 },
};

static const struct cli_option *const output_groups[] = { job_output_options, cli_bounds_options,
                                                          NULL };

static const char *const examples[] = {
    "Make a trace smaller; all programs of this toolchain read the result",
    "fxtcat compress --level 19 -o trace.fxt.zst trace.fxt",
    "Convert from gzip",
    "fxtcat compress -o trace.fxt.zst trace.fxt.gz",
    NULL,
};

static int run(char **argv);

const struct cli_command compress_command = {
    .name = "fxtcat compress",
    .usage = "[OPTION]... FILE",
    .summary =
        "Compress a trace with zstd, in independent frames of a bounded size.  zstd -d restores "
        "the trace, byte for byte.  An input compressed with gzip or zstd is unpacked first.",
    .options = option_table,
    .groups = output_groups,
    .examples = examples,
    .first = CLI_TRACE,
    .run = run,
    .brief = "compress with zstd, in independent frames",
};

struct compress {
    struct job job;
    int level;
    size_t frame_bytes;
    ZSTD_CCtx *context;
    uint8_t *frame; /* frame_bytes of the trace */
    uint8_t *packed;
    size_t packed_bytes; /* room */
};

static void parse(struct compress *compress, char **argv)
{
    struct cli_parser parser;
    int key;

    compress->level = DEFAULT_LEVEL;
    compress->frame_bytes = DEFAULT_FRAME_BYTES;
    cli_start(&parser, &compress_command, argv);
    while ((key = cli_next(&parser)) != CLI_END) {
        if (key == OPTION_LEVEL)
            compress->level = (int)cli_number("--level", parser.value, 1, 19);
        else if (key == OPTION_FRAME)
            compress->frame_bytes = (size_t)cli_size("--frame-size", parser.value,
                                                     SMALLEST_FRAME_BYTES, LARGEST_FRAME_BYTES);
        else
            job_take(&compress->job, key, &parser);
    }
    job_check_inputs(&compress->job);
    if (compress->job.inputs.count > 1)
        cli_usage_error("one file at a time; 'fxtcat merge' makes one of several");
}

static bool prepare(struct compress *compress)
{
    compress->packed_bytes = ZSTD_compressBound(compress->frame_bytes);
    compress->frame = cli_allocate(compress->frame_bytes, 1);
    compress->packed = cli_allocate(compress->packed_bytes, 1);
    compress->context = ZSTD_createCCtx();
    return compress->context &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(compress->context, ZSTD_c_compressionLevel,
                                                compress->level)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(compress->context, ZSTD_c_checksumFlag, 1));
}

static void put_frame(struct compress *compress, size_t length)
{
    size_t size = ZSTD_compress2(compress->context, compress->packed, compress->packed_bytes,
                                 compress->frame, length);

    if (!ZSTD_isError(size)) {
        (void)cli_output_write(&compress->job.output, compress->packed, size);
        return;
    }
    cli_error("zstd: %s", ZSTD_getErrorName(size));
    job_fail(&compress->job, CLI_ENVIRONMENT);
}

/* Fill the frame from the input.  How much there was is less than a frame at the end only.  */
static size_t fill_frame(struct compress *compress, struct fxt_input *input,
                         enum fxt_status *status, struct fxt_error *error)
{
    size_t used = 0;

    while (used < compress->frame_bytes && *status == FXT_OK) {
        size_t length = 0;

        *status = fxt_input_read(input, compress->frame + used, compress->frame_bytes - used,
                                 &length, error);
        if (*status == FXT_OK)
            used += length;
    }
    return used;
}

/* How reading the input ended.  */
static void report(struct compress *compress, const struct fxt_input *input, const char *name,
                   enum fxt_status status, const struct fxt_error *error)
{
    enum cli_exit worst = CLI_OK;

    if (status == FXT_END && fxt_input_is_cut(input)) {
        cli_error("%s: damaged: the compressed data are cut off", name);
        worst = CLI_DAMAGED;
    } else if (status == FXT_FATAL && error->system_errno == 0) {
        cli_error("%s: damaged: %s", name, error->message);
        worst = CLI_DAMAGED;
    } else if (status != FXT_END && status != FXT_OK) {
        cli_error("%s: %s", name, error->message);
        worst = CLI_ENVIRONMENT;
    }
    compress->job.status = cli_worse(compress->job.status, worst);
}

static void compress_input(struct compress *compress, struct fxt_input *input, const char *name,
                           uint64_t size)
{
    enum fxt_status status = FXT_OK;
    struct cli_progress progress;
    struct fxt_error error;

    cli_progress_start(&progress, name, size);
    while (status == FXT_OK && compress->job.output.failed == 0) {
        size_t length = fill_frame(compress, input, &status, &error);

        if (length > 0) {
            put_frame(compress, length);
            compress->job.records++; /* there is something to keep */
        }
        cli_progress_show(&progress, fxt_input_raw_bytes(input));
    }
    cli_progress_end(&progress);
    if (compress->job.records == 0 && status == FXT_END && !fxt_input_is_cut(input)) {
        cli_error("%s: empty, not an FXT trace", name);
        compress->job.status = cli_worse(compress->job.status, CLI_DAMAGED);
    }
    report(compress, input, name, status, &error);
}

static void compress_path(struct compress *compress, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : cli_input_open(path);
    struct fxt_input *input = NULL;
    struct fxt_error error;
    struct stat info;

    if (fd < 0 || fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        cli_error("%s: %s", path,
                  fd >= 0 && S_ISDIR(info.st_mode) ? "is a directory, not a trace"
                                                   : strerror(errno));
        job_fail(&compress->job, CLI_ENVIRONMENT);
    } else if (fxt_input_open_fd(fd, &input, &error) != FXT_OK) {
        cli_error("%s: %s", path, error.message);
        job_fail(&compress->job, CLI_ENVIRONMENT);
    } else {
        compress_input(compress, input, is_stdin ? "standard input" : path,
                       S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0);
    }
    fxt_input_close(input);
    if (fd > STDIN_FILENO)
        cli_input_close(path, fd);
}

static int run(char **argv)
{
    struct compress compress = { .job = { .status = CLI_OK } };

    parse(&compress, argv);
    if (!job_open(&compress.job))
        return (int)job_close(&compress.job);
    if (prepare(&compress)) {
        compress_path(&compress, compress.job.inputs.items[0]);
    } else {
        cli_error("zstd: out of memory; use a smaller --frame-size or --level");
        job_fail(&compress.job, CLI_ENVIRONMENT);
    }
    free(compress.frame);
    free(compress.packed);
    (void)ZSTD_freeCCtx(compress.context);
    return (int)job_close(&compress.job);
}
