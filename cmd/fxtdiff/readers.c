/* readers.c - kinds of input beside traces, most particular first.  */
#include "cmd/fxtdiff/readers.h"

#include <string.h>

#include "cmd/fxtdiff/baseline.h"

#include "libprofile/codec/files.h"

static bool is_pprof(const unsigned char *start, size_t length)
{
    return profile_is_pprof(start, length);
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

const struct diff_reader diff_readers[] = {
    { diff_is_store, diff_read_store }, /* Before folded stacks: its first line would do as one.  */
    { diff_is_baseline, diff_read_baseline }, { is_pprof, diff_read_pprof },
    { is_folded, diff_read_folded },          { 0 },
};
