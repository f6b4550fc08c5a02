#include "sampler-capture/heap/message.h"

#include <stdbool.h>

#define FLAGS_OFFSET 6    /* dynamic flags of the header */
#define FLEXIBLE     0x80 /* receivers that do not know the method go on */

static bool is_complete(const struct fidl_message *message)
{
    switch (message->method) {
    case FIDL_RECORD_ALLOCATION:
        return message->has_address && message->has_stack && message->has_size;
    case FIDL_RECORD_DEALLOCATION:
        return message->has_address && message->has_stack;
    case FIDL_SET_PROCESS_INFO:
        break;
    }
    return true;
}

enum message_verdict message_judge(const uint8_t *bytes, size_t length, struct fidl_message *out,
                                   const char **why)
{
    enum fidl_status status;

    if (length > FIDL_MAX_MESSAGE) {
        *why = "larger than a channel carries";
        return MESSAGE_REJECTED;
    }
    status = fidl_decode(bytes, length, out);
    *why = fidl_status_phrase(status);
    if (status == FIDL_UNKNOWN_METHOD && (bytes[FLAGS_OFFSET] & FLEXIBLE))
        return MESSAGE_SKIPPED;
    if (status != FIDL_OK)
        return MESSAGE_REJECTED;
    if (is_complete(out))
        return MESSAGE_ACCEPTED;
    *why = "a member that every such message has is missing";
    return MESSAGE_REJECTED;
}
