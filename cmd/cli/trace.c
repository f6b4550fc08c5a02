#include "cmd/cli/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS_BETWEEN_PROGRESS = 4096 };

enum cli_exit cli_trace_open(struct cli_trace *trace, const char *path,
                             const struct fxt_reader_options *options)
{
    struct stat info;
    uint64_t size = 0;

    *trace = (struct cli_trace){ .path = path, .fd = STDIN_FILENO, .status = FXT_END };
    if (strcmp(path, "-") == 0)
        trace->path = "standard input";
    else
        trace->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (trace->fd < 0 || fstat(trace->fd, &info) != 0) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (S_ISDIR(info.st_mode)) {
        cli_error("%s: is a directory, not a trace", path);
        return CLI_ENVIRONMENT;
    }
    if (S_ISREG(info.st_mode))
        size = (uint64_t)info.st_size;
    trace->status = fxt_input_open_fd(trace->fd, &trace->input, &trace->error);
    if (trace->status == FXT_OK)
        trace->status = fxt_reader_open(trace->input, options, &trace->reader, &trace->error);
    if (trace->status != FXT_OK) {
        cli_error("%s: %s", trace->path, trace->error.message);
        return CLI_ENVIRONMENT;
    }
    cli_progress_start(&trace->progress, trace->path, size);
    return CLI_OK;
}

static void add_records(struct cli_trace *trace, uint64_t count)
{
    trace->records += count;
    if (trace->records < trace->next_progress)
        return;
    trace->next_progress = trace->records + RECORDS_BETWEEN_PROGRESS;
    cli_progress_show(&trace->progress, fxt_input_raw_bytes(trace->input));
}

bool cli_trace_next(struct cli_trace *trace, const struct fxt_record **record)
{
    if (trace->status != FXT_OK)
        return false;
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
    size_t count = trace->status == FXT_OK ? fxt_reader_tally(trace->reader, tally) : 0;

    if (count > 0)
        add_records(trace, count);
    return count;
}

/* What was wrong, for people.  The input knows more about corrupt compression than its kind.  */
static const char *phrase(const struct cli_trace *trace, enum fxt_damage_kind kind)
{
    if (kind == FXT_DAMAGE_CORRUPT_INPUT && trace->status == FXT_FATAL)
        return trace->error.message;
    return fxt_damage_kind_phrase(kind);
}

/* "2 contradictory records, dropped (first at offset 96, 80 bytes)" for each kind of the group,
 * in one text.  */
static void describe(const struct cli_trace *trace, bool losses, char *text, size_t size)
{
    const struct fxt_damage *damage = fxt_reader_damage(trace->reader);
    size_t used = 0;

    text[0] = '\0';
    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
        uint64_t count = damage->kinds[kind].count;
        char lost[48] = "";
        int length;

        if (count == 0 || fxt_damage_is_loss(kind) != losses)
            continue;
        if (damage->kinds[kind].bytes && kind != FXT_DAMAGE_ZERO_WORDS)
            (void)snprintf(lost, sizeof lost, ", %s bytes", cli_grouped(damage->kinds[kind].bytes));
        length = snprintf(text + used, size - used, "%s%s%s%s (%s offset %llu%s)", used ? "; " : "",
                          count > 1 ? cli_grouped(count) : "", count > 1 ? " times " : "",
                          phrase(trace, kind), count > 1 ? "first at" : "at",
                          (unsigned long long)damage->kinds[kind].first_offset, lost);
        if (length < 0 || used + (size_t)length >= size)
            return;
        used += (size_t)length;
    }
}

/* How reading ended, where damage does not say it already.  */
static enum cli_exit report_end(const struct cli_trace *trace)
{
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

/* An input without anything in it: no bytes, or zeros alone, as a region without samples has them
 * (section 3.3).  */
static bool report_nothing(const struct cli_trace *trace, bool strict, enum cli_exit *status)
{
    const struct fxt_damage *damage = fxt_reader_damage(trace->reader);
    uint64_t offset = fxt_reader_offset(trace->reader);

    if (trace->status != FXT_END || trace->records > 0 || fxt_damage_total(damage, false) > 0)
        return false;
    if (offset == 0) {
        cli_error("%s: empty, not an FXT trace", trace->path);
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
    status = report_end(trace);
    if (fxt_damage_total(damage, false) > 0) {
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

enum cli_exit cli_trace_close(struct cli_trace *trace, bool strict)
{
    enum cli_exit status;

    cli_progress_end(&trace->progress);
    status = cli_trace_report(trace, strict);
    fxt_reader_close(trace->reader);
    fxt_input_close(trace->input);
    if (trace->fd > STDIN_FILENO)
        (void)close(trace->fd);
    *trace = (struct cli_trace){ .path = trace->path, .fd = -1, .status = FXT_END };
    return status;
}
