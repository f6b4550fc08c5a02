/* A recorded stream of messages of fuchsia.memory.sampler (memory-sampler sections 1 to 3): each
 * becomes a large blob without a time, whose category and name are those of heap captures.  */
#include <fxt/fidl_sampler.h>
#include "libfxt/fxt_input.h"

#define PROVIDER     1u
#define MOST_DAMAGES 10000u /* bounds the work that looking for the next message can be */
#define CATEGORY     1u     /* indexes of strings */
#define NAME         2u
#define BLOB_WORDS   3u           /* before the message: header, strings, size */
#define HEADER_BYTES ((size_t)16) /* of a message */

bool fxt_is_message(const uint8_t *bytes)
{
    uint64_t ordinal = fxt_load_u64(bytes + 8);

    return (bytes[4] & 2) != 0 && bytes[7] == 1 &&
           (ordinal == FIDL_ORDINAL_RECORD_ALLOCATION ||
            ordinal == FIDL_ORDINAL_RECORD_DEALLOCATION ||
            ordinal == FIDL_ORDINAL_SET_PROCESS_INFO);
}

enum fxt_status fxt_messages_start(struct fxt_input *input)
{
    enum fxt_status status = fxt_parts_provider(input, PROVIDER, "memory-sampler");

    if (status == FXT_OK)
        status = fxt_parts_string(input, CATEGORY, "memory");
    return status == FXT_OK ? fxt_parts_string(input, NAME, "fuchsia.memory.sampler") : status;
}

/* The bytes left that nothing can be made of are over.  */
static enum fxt_status give_up(struct fxt_input *input)
{
    uint64_t lost;
    enum fxt_status status = fxt_parts_drop(input, &lost);

    input->parts[input->part].lost_bytes += lost;
    return status == FXT_OK ? FXT_END : status;
}

/* What stands here is no message: pass over it, up to what may be the next.  */
static enum fxt_status skip(struct fxt_input *input, enum fidl_status why)
{
    struct fxt_part *part = &input->parts[input->part];
    enum fxt_status status = FXT_OK;
    bool found = false;

    fxt_parts_damage(input, input->position, 0, 0, "not a message: %s", fidl_status_phrase(why));
    if (part->damage_count >= MOST_DAMAGES)
        return give_up(input);
    while (status == FXT_OK && !found) {
        input->begin += 8;
        input->position += 8;
        part->lost_bytes += 8;
        status = fxt_parts_need(input, HEADER_BYTES);
        if (status == FXT_OK && input->end - input->begin < HEADER_BYTES)
            return give_up(input);
        found = status == FXT_OK && fxt_is_message(input->window + input->begin);
    }
    return status;
}

/* The length of the message at begin.  What is cut by the end of the window can look wrong in any
 * way, so as much as a message can have is read before one is.  */
static enum fxt_status find_length(struct fxt_input *input, size_t *length, enum fidl_status *why)
{
    enum fxt_status status = FXT_OK;
    size_t there;

    for (;;) {
        there = input->end - input->begin;
        *why = fidl_message_length(input->window + input->begin,
                                   there < FIDL_MAX_MESSAGE ? there : FIDL_MAX_MESSAGE, length);
        if (*why == FIDL_OK || input->no_more || there >= FIDL_MAX_MESSAGE)
            return FXT_OK;
        status = fxt_parts_need(input, FIDL_MAX_MESSAGE);
        if (status != FXT_OK)
            return status;
    }
}

enum fxt_status fxt_messages_step(struct fxt_input *input)
{
    enum fxt_status status = fxt_parts_need(input, HEADER_BYTES);
    enum fidl_status why = FIDL_TRUNCATED;
    size_t length = 0;

    if (status != FXT_OK)
        return status;
    if (input->end == input->begin)
        return FXT_END;
    if (input->end - input->begin >= HEADER_BYTES)
        status = find_length(input, &length, &why);
    if (status != FXT_OK)
        return status;
    if (why == FIDL_OK) {
        const uint64_t words[BLOB_WORDS] = {
            15 | (uint64_t)(BLOB_WORDS + length / 8) << 4 | UINT64_C(1) << 40,
            CATEGORY | NAME << 16,
            length,
        };

        fxt_parts_give_behind(input, words, BLOB_WORDS, length);
        return FXT_OK;
    }
    if (input->end - input->begin < HEADER_BYTES) {
        fxt_parts_damage(input, input->position, 0, 0, "%zu %s, too few for a message",
                         input->end - input->begin,
                         input->end - input->begin == 1 ? "byte" : "bytes");
        return give_up(input);
    }
    return skip(input, why);
}
