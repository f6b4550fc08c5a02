#include "cmd/cli/cli_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/cli_input.h"
#include "cmd/cli/follow.h"
#include "cmd/cli/perf_input.h"
#include "cmd/cli/ptlist_input.h"

enum { RECORDS_BETWEEN_PROGRESS = 4096 };

/* A region, open while it is read: there may be more of them than a process can have open.  */
struct cli_region_file {
    const char *path;
    int fd; /* -1: not open */
};

static ptrdiff_t read_region(void *context, void *buffer, size_t size)
{
    struct cli_region_file *file = context;
    ptrdiff_t got;
    int reason;

    if (file->fd < 0)
        file->fd = cli_input_open(file->path);
    if (file->fd < 0)
        return -1;
    got = read(file->fd, buffer, size);
    if (got > 0 || (got < 0 && errno == EINTR))
        return got;
    reason = errno; /* the end, or a failure: nobody asks again */
    (void)close(file->fd);
    file->fd = -1;
    errno = reason;
    return got;
}

static enum fxt_status open_regions(struct cli_trace *trace, uint64_t *size)
{
    const struct cli_trace_files *files = trace->files;
    struct stat info;

    trace->region_files = cli_allocate(files->count, sizeof *trace->region_files);
    trace->regions = cli_allocate(files->count, sizeof *trace->regions);
    for (size_t i = 0; i < files->count; i++) {
        trace->region_files[i] = (struct cli_region_file){ .path = files->paths[i], .fd = -1 };
        trace->regions[i] = (struct fxt_region){ .read = read_region,
                                                 .context = &trace->region_files[i],
                                                 .cpu = files->cpus[i],
                                                 .name = files->paths[i] };
        *size += stat(files->paths[i], &info) == 0 ? (uint64_t)info.st_size : 0;
    }
    return fxt_input_open_regions(trace->regions, files->count, &trace->input, &trace->error);
}

/* The descriptor of the trace's only file, and its size if that is known.  */
static bool open_file(struct cli_trace *trace, const char *path,
                      const struct cli_trace_options *options, uint64_t *size)
{
    struct stat info;

    if (options->read)
        return true;
    trace->fd = STDIN_FILENO;
    trace->opened = path;
    if (strcmp(path, "-") != 0)
        trace->fd = cli_input_open(path);
    if (trace->fd < 0 || fstat(trace->fd, &info) != 0) {
        cli_error("%s: %s", trace->path, strerror(errno));
        return false;
    }
    if (S_ISDIR(info.st_mode)) {
        cli_error("%s: is a directory%s", trace->path,
                  trace->files && !options->follow ? " without files" : ", not a trace");
        return false;
    }
    if (S_ISREG(info.st_mode))
        *size = (uint64_t)info.st_size;
    return true;
}

static enum fxt_status open_stream(struct cli_trace *trace, const char *path,
                                   const struct cli_trace_options *options)
{
    struct fxt_input_options input = { .size = sizeof input,
                                       .read = options->read,
                                       .context = options->read_context,
                                       .fd = trace->fd };

    if (trace->perf) {
        input.read = cli_perf_read;
        input.context = trace->perf;
    }
    if (trace->ptlist) {
        input.read = cli_ptlist_read;
        input.context = trace->ptlist;
    }
    if (options->follow) {
        trace->follow = cli_follow_start(trace->fd, strcmp(path, "-") == 0 ? NULL : path,
                                         trace->path, options);
        if (!trace->follow) {
            (void)snprintf(trace->error.message, sizeof trace->error.message, "cannot wait: %s",
                           strerror(errno));
            return FXT_IO;
        }
        input.wait = cli_follow_wait;
        input.wait_context = trace->follow;
    }
    return fxt_input_open(&input, &trace->input, &trace->error);
}

/* A perf.data file, or a list of packets, is read as the trace that is made of it.  */
static enum cli_exit open_foreign(struct cli_trace *trace, const char *path,
                                  const struct cli_trace_options *options)
{
    const struct cli_perf_source source = { .path = path,
                                            .label = trace->path,
                                            .fd = trace->fd,
                                            .read = options->read,
                                            .read_context = options->read_context,
                                            .symbols = options->symbols };

    if (options->follow)
        return CLI_OK;
    return !options->read && cli_ptlist_is(path) ? cli_ptlist_open(path, &trace->ptlist)
                                                 : cli_perf_open(&source, &trace->perf);
}

static enum cli_exit open_trace(struct cli_trace *trace, const char *path,
                                const struct cli_trace_options *options)
{
    uint64_t size = 0;

    if (trace->files && trace->files->regions)
        trace->status = open_regions(trace, &size);
    else if (open_file(trace, path, options, &size)) {
        enum cli_exit status = open_foreign(trace, path, options);

        if (status != CLI_OK)
            return status;
        trace->status = open_stream(trace, path, options);
    } else
        return CLI_ENVIRONMENT;
    if (trace->status == FXT_OK)
        trace->status = fxt_reader_open(trace->input, options->reader, &trace->reader,
                                        &trace->error);
    if (trace->status != FXT_OK) {
        cli_error("%s: %s", trace->path, trace->error.message);
        return CLI_ENVIRONMENT;
    }
    if (!options->follow)
        cli_progress_start(&trace->progress, trace->path, size);
    return CLI_OK;
}

enum cli_exit cli_trace_open_files(struct cli_trace *trace, const struct cli_trace_files *files,
                                   const struct cli_trace_options *options)
{
    static const struct cli_trace_options none = { .follow = false };
    bool is_stdin = !files->regions && strcmp(files->paths[0], "-") == 0;

    *trace = (struct cli_trace){ .path = is_stdin ? "standard input" : files->label,
                                 .files = files,
                                 .fd = -1,
                                 .status = FXT_END };
    return open_trace(trace, files->paths[0], options ? options : &none);
}

enum cli_exit cli_trace_open(struct cli_trace *trace, const char *path,
                             const struct fxt_reader_options *reader)
{
    struct cli_trace_options options = { .reader = reader };

    *trace = (struct cli_trace){ .path = strcmp(path, "-") == 0 ? "standard input" : path,
                                 .fd = -1,
                                 .status = FXT_END };
    return open_trace(trace, path, &options);
}

static void add_records(struct cli_trace *trace, uint64_t count)
{
    trace->records += count;
    if (trace->records < trace->next_progress)
        return;
    trace->next_progress = trace->records + RECORDS_BETWEEN_PROGRESS;
    cli_progress_show(&trace->progress, fxt_input_raw_bytes(trace->input));
}

/* The next record of the files that say what regions mean.  */
static bool next_of_modules(struct cli_trace *trace, const struct fxt_record **record)
{
    while (trace->files && trace->next_modules < trace->files->module_count) {
        enum cli_exit status = CLI_OK;

        if (!trace->modules_open)
            status = cli_modules_open(&trace->modules, trace->files->modules[trace->next_modules]);
        trace->modules_open = status == CLI_OK;
        if (trace->modules_open && cli_modules_next(&trace->modules, record))
            return true;
        if (trace->modules_open)
            status = cli_modules_close(&trace->modules);
        trace->modules_open = false;
        trace->modules_status = cli_worse(trace->modules_status, status);
        trace->next_modules++;
    }
    return false;
}

bool cli_trace_next(struct cli_trace *trace, const struct fxt_record **record)
{
    if (trace->status != FXT_OK)
        return false;
    trace->from_modules = next_of_modules(trace, record);
    if (trace->from_modules)
        return true;
    trace->status = fxt_reader_next(trace->reader, record, &trace->error);
    if (trace->status != FXT_OK) {
        cli_progress_end(&trace->progress);
        return false;
    }
    add_records(trace, 1);
    return true;
}

size_t cli_trace_tally(struct cli_trace *trace, struct fxt_tally *tally)
{
    bool first = trace->files && trace->next_modules < trace->files->module_count;
    size_t count = trace->status == FXT_OK && !first ? fxt_reader_tally(trace->reader, tally) : 0;

    if (count > 0)
        add_records(trace, count);
    return count;
}

const char *cli_trace_locate(const struct cli_trace *trace, uint64_t offset, uint64_t *file_offset)
{
    size_t part;
    const struct fxt_part *info;

    if (!fxt_input_locate(trace->input, offset, &part, file_offset))
        return "";
    info = fxt_input_part(trace->input, part);
    if (info->format == FXT_FORMAT_STREAM)
        return NULL;
    return info->name ? info->name : trace->path;
}

/* " at offset 96", and in which file.  */
static void say_where(const struct cli_trace *trace, uint64_t offset, char *text, size_t size)
{
    const char *path = cli_trace_locate(trace, offset, &offset);
    bool several = trace->files && trace->files->count > 1;

    text[0] = '\0';
    if (path && !path[0])
        return;
    (void)snprintf(text, size, "at offset %llu%s%s", (unsigned long long)offset,
                   path && several ? " of " : "", path && several ? path : "");
}

/* What was wrong, for people.  The input knows more about some of it than its kind.  */
static const char *phrase(const struct cli_trace *trace, enum fxt_damage_kind kind, char *text,
                          size_t size)
{
    const struct fxt_part *part = fxt_input_part(trace->input, 0);

    if (kind == FXT_DAMAGE_CORRUPT_INPUT && trace->status == FXT_FATAL)
        return trace->error.message;
    if (kind != FXT_DAMAGE_PROVIDER_LOSS || part->format == FXT_FORMAT_STREAM)
        return fxt_damage_kind_phrase(kind);
    if (part->format == FXT_FORMAT_REGION)
        return "region that is full: samples may be missing";
    (void)snprintf(text, size, "%s that the provider dropped",
                   cli_counted(part->dropped_records, "record", "records"));
    return text;
}

/* "2 times contradictory record, dropped (first at offset 96, 80 bytes)".  */
static int describe_kind(const struct cli_trace *trace, enum fxt_damage_kind kind, char *text,
                         size_t size)
{
    const struct fxt_damage *damage = fxt_reader_damage(trace->reader);
    uint64_t count = damage->kinds[kind].count;
    char lost[48] = "", where[300], own[80];
    bool losing = damage->kinds[kind].bytes && kind != FXT_DAMAGE_ZERO_WORDS;

    say_where(trace, damage->kinds[kind].first_offset, where, sizeof where);
    if (losing)
        (void)snprintf(lost, sizeof lost, "%s%s", where[0] ? ", " : "",
                       cli_counted(damage->kinds[kind].bytes, "byte", "bytes"));
    return snprintf(text, size, "%s%s%s%s%s%s%s%s", count > 1 ? cli_grouped(count) : "",
                    count > 1 ? " times " : "", phrase(trace, kind, own, sizeof own),
                    where[0] || lost[0] ? " (" : "", count > 1 && where[0] ? "first " : "", where,
                    lost, where[0] || lost[0] ? ")" : "");
}

/* Each kind of the group, in one text.  Damaged parts speak for themselves.  */
static void describe(const struct cli_trace *trace, bool losses, char *text, size_t size)
{
    const struct fxt_damage *damage = fxt_reader_damage(trace->reader);
    size_t used = 0;

    text[0] = '\0';
    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        int length;

        if (damage->kinds[kind].count == 0 || fxt_damage_is_loss(kind) != losses ||
            kind == FXT_DAMAGE_CORRUPT_REGION)
            continue;
        if (used > 0 && used + 2 < size) {
            memcpy(text + used, "; ", 3);
            used += 2;
        }
        length = describe_kind(trace, kind, text + used, size - used);
        if (length < 0 || used + (size_t)length >= size)
            return;
        used += (size_t)length;
    }
}

/* One sentence for each damaged region, or the engine buffer.  */
static enum cli_exit report_parts(const struct cli_trace *trace)
{
    enum cli_exit status = CLI_OK;

    for (size_t i = 0; i < fxt_input_part_count(trace->input); i++) {
        const struct fxt_part *part = fxt_input_part(trace->input, i);
        const char *path = part->name ? part->name : trace->path;
        char lost[64] = "", more[48] = "";

        if (part->damage_count == 0)
            continue;
        if (part->damage.system_errno) {
            cli_error("%s: %s", path, part->damage.message);
            status = cli_worse(status, CLI_ENVIRONMENT);
            continue;
        }
        if (part->lost_bytes > 0)
            (void)snprintf(lost, sizeof lost, ", %s not read",
                           cli_counted(part->lost_bytes, "byte", "bytes"));
        if (part->damage_count > 1)
            (void)snprintf(more, sizeof more, ", the first of %s places",
                           cli_grouped(part->damage_count));
        cli_error("%s: damaged: %s (at offset %llu%s%s)", path, part->damage.message,
                  (unsigned long long)part->damage.offset, lost, more);
        status = cli_worse(status, CLI_DAMAGED);
    }
    return status;
}

/* How reading ended, where damage does not say it already.  */
static enum cli_exit report_end(const struct cli_trace *trace)
{
    if (cli_perf_says_failure(trace->perf))
        return CLI_ENVIRONMENT;
    switch (trace->status) {
    case FXT_OK:
    case FXT_END:
        return CLI_OK;
    case FXT_FATAL:
        if (trace->error.system_errno == 0 &&
            fxt_damage_total(fxt_reader_damage(trace->reader), false) > 0)
            return CLI_DAMAGED;
        cli_error("%s: %s", trace->path, trace->error.message);
        return trace->error.system_errno ? CLI_ENVIRONMENT : CLI_DAMAGED;
    case FXT_NO_MEMORY:
    case FXT_IO:
    case FXT_INVALID:
        cli_error("%s: %s", trace->path, trace->error.message);
        return CLI_ENVIRONMENT;
    }
    return CLI_ENVIRONMENT;
}

/* What a stream is that is too short for a record; NULL: it is not.  */
static const char *why_too_short(const struct cli_trace *trace)
{
    uint64_t offset = fxt_reader_offset(trace->reader);

    if (offset >= 8 || fxt_input_part(trace->input, 0)->format != FXT_FORMAT_STREAM)
        return NULL;
    if (fxt_input_is_cut(trace->input))
        return "compressed, and cut off before its first record";
    return offset == 0 ? "empty, not an FXT trace" : "shorter than any record, not an FXT trace";
}

bool cli_trace_is_none(const struct cli_trace *trace)
{
    return trace->records == 0 && (trace->status != FXT_END || why_too_short(trace));
}

/* An input without anything in it: too little for a record, or zeros alone, as a region without
 * samples has them (section 3.3).  */
static bool report_nothing(const struct cli_trace *trace, bool strict, enum cli_exit *status)
{
    const struct fxt_damage *damage = fxt_reader_damage(trace->reader);
    bool is_damaged = fxt_damage_total(damage, false) > 0;
    uint64_t offset = fxt_reader_offset(trace->reader);
    const char *why = why_too_short(trace);

    if (trace->status != FXT_END || trace->records > 0 || fxt_input_was_left(trace->input) ||
        (is_damaged && (!why || trace->shows_damage)))
        return false;
    if (why) {
        cli_error("%s: %s", trace->path, why);
        *status = CLI_DAMAGED;
    } else if (damage->kinds[FXT_DAMAGE_ZERO_WORDS].bytes == offset) {
        cli_warning("%s: nothing but %s bytes of zeros", trace->path, cli_grouped(offset));
        *status = strict ? CLI_DAMAGED : CLI_OK;
    } else {
        return false;
    }
    return true;
}

enum cli_exit cli_trace_report(const struct cli_trace *trace, bool strict)
{
    const struct fxt_damage *damage;
    enum cli_exit status;
    char text[800];

    if (!trace->reader)
        return CLI_OK; /* opening has spoken */
    if (report_nothing(trace, strict, &status))
        return status;
    damage = fxt_reader_damage(trace->reader);
    status = cli_worse(report_end(trace), report_parts(trace));
    if (fxt_damage_total(damage, false) > damage->kinds[FXT_DAMAGE_CORRUPT_REGION].count) {
        describe(trace, true, text, sizeof text);
        if (!trace->shows_damage)
            cli_error("%s: damaged: %s", trace->path, text);
        status = cli_worse(status, CLI_DAMAGED);
    }
    if (fxt_damage_total(damage, true) > fxt_damage_total(damage, false) &&
        (trace->records > 0 || status == CLI_OK)) { /* without records one reason is enough */
        describe(trace, false, text, sizeof text);
        if (!trace->shows_damage)
            cli_warning("%s: %s", trace->path, text);
        status = strict ? cli_worse(status, CLI_DAMAGED) : status;
    }
    return status;
}

static void close_regions(struct cli_trace *trace)
{
    for (size_t i = 0; trace->region_files && i < trace->files->count; i++) {
        if (trace->region_files[i].fd >= 0)
            (void)close(trace->region_files[i].fd);
    }
    free(trace->region_files);
    free(trace->regions);
}

enum cli_exit cli_trace_close(struct cli_trace *trace, bool strict)
{
    enum cli_exit status;

    cli_progress_end(&trace->progress);
    status = cli_worse(cli_trace_report(trace, strict), trace->modules_status);
    status = cli_worse(status, cli_perf_report(trace->perf));
    status = cli_worse(status, cli_ptlist_report(trace->path, trace->ptlist));
    if (trace->modules_open)
        (void)cli_modules_close(&trace->modules);
    fxt_reader_close(trace->reader);
    fxt_input_close(trace->input);
    cli_follow_end(trace->follow);
    cli_perf_close(trace->perf);
    cli_ptlist_close(trace->ptlist);
    if (trace->fd > STDIN_FILENO)
        cli_input_close(trace->opened, trace->fd);
    close_regions(trace);
    *trace = (struct cli_trace){ .path = trace->path, .fd = -1, .status = FXT_END };
    return status;
}
