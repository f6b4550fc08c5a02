/* What the first bytes of a file say about it.  */
#include <string.h>

#include "libfxt/fxt_internal.h"

/* A '?' stands for any byte.  */
static const struct {
    const char *bytes;
    size_t length;
    const char *message;
} foreign[] = {
    { "\x00\x16\x54\x78\x46\x04\x00\x10", 8,
      "a big-endian FXT trace; only little-endian ones can be read" },
    { "{{{", 3, "symbolizer markup text, not FXT; fxtsym --markup and fxtq import read it" },
    { "\x7f"
      "ELF",
      4, "an ELF file, not an FXT trace" },
    { "\x28\xb5\x2f\xfd", 4, "zstd data inside compressed data; unpack it once more" },
    { "\x1f\x8b\x08", 3, "gzip data inside compressed data; unpack it once more" },
    { "\xfd"
      "7zXZ",
      5, "xz data; unpack it first: xz -d" },
    { "BZh?1AY&SY", 10, "bzip2 data; unpack it first: bzip2 -d" },
    { "PK\x03\x04", 4, "a zip archive, not an FXT trace" },
    { "PERFILE2", 8, "a perf.data file, not an FXT trace" },
    { "SQLite format 3", 15,
      "an SQLite database, not an FXT trace; "
      "if it is a store, 'fxtq export' writes its captures as traces and profiles" },
};

/* Nothing but printable ASCII.  Taken for FXT, it would be a record at a time far out of range.  */
static bool is_text(const uint8_t *bytes, size_t length)
{
    if (length < 8)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool blank = bytes[i] >= '\t' && bytes[i] <= '\r';

        if (!blank && (bytes[i] < ' ' || bytes[i] > '~'))
            return false;
    }
    return true;
}

static bool starts_with(const uint8_t *bytes, size_t length, const char *start, size_t count)
{
    if (length < count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (start[i] != '?' && bytes[i] != (uint8_t)start[i])
            return false;
    return true;
}

enum fxt_status fxt_examine_start(const uint8_t *bytes, size_t length, struct fxt_error *error)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (starts_with(bytes, length, foreign[i].bytes, foreign[i].length))
            return fxt_fail(error, FXT_FATAL, 0, 0, "%s", foreign[i].message);
    }
    if (is_text(bytes, length))
        return fxt_fail(error, FXT_FATAL, 0, 0, "text, not an FXT trace");
    return FXT_OK;
}
