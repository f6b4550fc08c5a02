/* readers.c - kinds of input beside traces, most particular first.  */
#include "cmd/fxtdiff/readers.h"

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

const struct diff_reader diff_readers[] = {
    { diff_is_baseline, diff_read_baseline }, /* its first line would do as folded stacks */
    { is_pprof, diff_read_pprof },
    { is_folded, diff_read_folded },
    { 0 },
};
