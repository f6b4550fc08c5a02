/* json_out.c - JSON for the writers.  */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "libprofile/write/writers.h"

static void put_bytes(void *context, const char *bytes, size_t length)
{
    base_output_put(context, bytes, length);
}

void json_put_text(struct base_output *output, const char *text)
{
    base_output_put(output, text, strlen(text));
}

void json_put_string(struct base_output *output, const char *bytes, size_t length)
{
    base_json_string(bytes, length, put_bytes, output);
}

void json_put_number(struct base_output *output, int64_t number)
{
    char text[24];

    base_output_put(output, text, (size_t)snprintf(text, sizeof text, "%" PRId64, number));
}

void json_put_millionths(struct base_output *output, int64_t millionths)
{
    uint64_t amount = millionths < 0 ? 0 - (uint64_t)millionths : (uint64_t)millionths;
    char text[40];
    size_t length = (size_t)snprintf(text, sizeof text, "%s%" PRIu64 ".%06" PRIu64,
                                     millionths < 0 ? "-" : "", amount / 1000000, amount % 1000000);

    while (text[length - 1] == '0')
        length--;
    length -= text[length - 1] == '.';
    base_output_put(output, text, length);
}
