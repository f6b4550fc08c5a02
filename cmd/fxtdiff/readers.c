/* readers.c - kinds of input beside traces, most particular first.  */
#include "cmd/fxtdiff/readers.h"

#include <string.h>

#include <fxt/profile_files.h>
#include "cmd/fxtdiff/text_file.h"
#include "libperf/perf_data.h"

static bool is_pprof(const unsigned char *start, size_t length)
{
    return profile_format_of(start, length) != NULL;
}

static bool is_baseline(const unsigned char *start, size_t length)
{
    return compare_is_baseline(start, length);
}

static bool is_folded(const unsigned char *start, size_t length)
{
    return profile_is_folded(start, length);
}

bool diff_is_store(const unsigned char *start, size_t length)
{
    static const char magic[16] = "SQLite format 3";

    return length >= sizeof magic && memcmp(start, magic, sizeof magic) == 0;
}

enum cli_exit diff_read_baseline(struct diff_runs *runs, enum compare_side side, const char *path,
                                 const char *label)
{
    struct diff_text_file file;
    struct compare_error error;
    enum cli_exit status = diff_text_open(&file, path, COMPARE_BASELINE_BYTES);

    if (status != CLI_OK)
        return status;
    if (compare_read_baseline(runs->builder, side, label, file.bytes, file.length, &error) !=
        COMPARE_OK)
        status = runs_fail_type(&error);
    diff_text_close(&file);
    return status;
}

/* Printable ASCII.  Symbolizer markup, which begins with "{{{", and perf.data files that end after
 * their magic number are recognized where traces are read.  */
static bool is_other_text(const unsigned char *start, size_t length)
{
    if ((length >= 3 && memcmp(start, "{{{", 3) == 0) || perf_data_is(start, length))
        return false;
    for (size_t i = 0; i < length; i++) {
        bool blank = start[i] == '\t' || start[i] == '\r' || start[i] == '\n';

        if (!blank && (start[i] < ' ' || start[i] > '~'))
            return false;
    }
    return true;
}

static enum cli_exit refuse_text(struct diff_runs *runs, enum compare_side side, const char *path,
                                 const char *label)
{
    (void)side;
    (void)path;
    cli_error("%s: the first line of this text file is not a stack followed by a count", label);
    compare_builder_add_unreadable(runs->builder);
    return CLI_DAMAGED;
}

const struct diff_reader diff_readers[] = {
    { diff_is_store, diff_read_store }, /* Before folded stacks: its first line would do as one.  */
    { is_baseline, diff_read_baseline },
    { is_pprof, diff_read_pprof },
    { is_folded, diff_read_folded },
    { is_other_text, refuse_text },
    { 0 },
};
