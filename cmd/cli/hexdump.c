#include "cmd/cli/hexdump.h"

#include <inttypes.h>
#include <string.h>

enum { LINE_BYTES = 16 };

static const uint8_t zeros[LINE_BYTES];

static void put_line(struct cli_output *output, uint64_t offset, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    char text[128];
    size_t used = (size_t)snprintf(text, sizeof text, "  %08" PRIx64 " ", offset); /* at most 19 */
    char *next = text + used;

    for (size_t i = 0; i < LINE_BYTES; i++) {
        if (i % 8 == 0)
            *next++ = ' ';
        *next++ = i < count ? digits[bytes[i] >> 4] : ' ';
        *next++ = i < count ? digits[bytes[i] & 15] : ' ';
        *next++ = ' ';
    }
    *next++ = ' ';
    *next++ = '|';
    for (size_t i = 0; i < count; i++)
        *next++ = (char)(bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i] : '.');
    *next++ = '|';
    *next++ = '\n';
    (void)cli_output_write(output, text, (size_t)(next - text));
}

void cli_hexdump(struct cli_output *output, uint64_t offset, const uint8_t *bytes, uint64_t length)
{
    const uint8_t *above = NULL;
    bool repeats = false;

    for (uint64_t at = 0; at < length; at += LINE_BYTES) {
        size_t count = length - at < LINE_BYTES ? (size_t)(length - at) : LINE_BYTES;
        const uint8_t *line = bytes ? bytes + at : zeros;
        bool last = length - at <= LINE_BYTES;

        if (above && !last && memcmp(line, above, LINE_BYTES) == 0) {
            if (!repeats)
                (void)cli_output_write(output, "  *\n", 4);
            repeats = true;
            if (!bytes) /* so are all others but the last */
                at += (length - at - 1) / LINE_BYTES * LINE_BYTES - LINE_BYTES;
            continue;
        }
        put_line(output, offset + at, line, count);
        above = line;
        repeats = false;
    }
}
