/* Log text as a profile: libprofile/read/markup_read.c.
 *
 * - Input in pieces tells what input in one piece tells.
 * - Every frame with a module is in a mapping that was told before; frames in none, and those that
 *   are missing, are counted.
 * - With next to no room, and room for short lines only, no more is read.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_markup.h>
#include "tests/fuzz/support.h"

struct told {
    struct fuzz_buffer digest;
    struct fuzz_buffer mappings; /* struct profile_markup_mapping */
    uint64_t backtraces, missing, outside;
};

static enum profile_status take_mapping(void *context, const struct profile_markup_mapping *mapping)
{
    struct told *told = context;

    HOLD(mapping->size_bytes > 0 && mapping->start + (mapping->size_bytes - 1) >= mapping->start);
    HOLD(mapping->module && mapping->module->name && mapping->flags <= 7);
    HOLD(mapping->owner.thread_koid == 0 &&
         (mapping->owner.known || mapping->owner.process_koid == 0));
    fuzz_append(&told->mappings, mapping, sizeof *mapping);
    fuzz_append(&told->digest, mapping->module->name, strlen(mapping->module->name) + 1);
    fuzz_append(&told->digest, &mapping->start, sizeof mapping->start);
    fuzz_append(&told->digest, &mapping->vaddr, sizeof mapping->vaddr);
    return PROFILE_OK;
}

static bool is_mapped(const struct told *told, const struct profile_markup_frame *frame)
{
    const struct profile_markup_mapping *mappings = (const void *)told->mappings.bytes;

    for (size_t i = told->mappings.used / sizeof *mappings; i-- > 0;)
        if (mappings[i].module == frame->module &&
            frame->vaddr - mappings[i].vaddr < mappings[i].size_bytes)
            return true;
    return false;
}

static void take_frame(struct told *told, const struct profile_markup_frame *frame)
{
    HOLD(!frame->module || is_mapped(told, frame));
    HOLD((frame->place == PROFILE_MARKUP_IN_MODULE) == (frame->module != NULL));
    told->missing += frame->place == PROFILE_MARKUP_NO_FRAME;
    told->outside += frame->place == PROFILE_MARKUP_IN_NONE ||
                     frame->place == PROFILE_MARKUP_UNKNOWN;
    fuzz_append(&told->digest, &frame->place, sizeof frame->place);
    fuzz_append(&told->digest, &frame->vaddr, sizeof frame->vaddr);
    fuzz_append(&told->digest, &frame->address, sizeof frame->address);
}

static enum profile_status take_backtrace(void *context,
                                          const struct profile_markup_backtrace *backtrace)
{
    struct told *told = context;

    HOLD(backtrace->frame_count > 0 && backtrace->frame_count <= PROFILE_MARKUP_FRAMES);
    told->backtraces++;
    fuzz_append(&told->digest, &backtrace->owner.process_koid,
                sizeof backtrace->owner.process_koid);
    fuzz_append(&told->digest, &backtrace->owner.thread_koid, sizeof backtrace->owner.thread_koid);
    for (size_t i = 0; i < backtrace->frame_count; i++)
        take_frame(told, &backtrace->frames[i]);
    return PROFILE_OK;
}

static enum profile_status read_log(const uint8_t *data, size_t size, size_t most,
                                    const struct profile_read_options *options, struct told *told,
                                    struct profile_markup_notices *notices)
{
    const struct profile_markup_sink sink = {
        .size = sizeof sink, .context = told, .mapping = take_mapping, .backtrace = take_backtrace
    };
    struct fuzz_source source = { data, size, { .least = most > 0, .most = most } };
    const struct fxt_input_options from = {
        .size = sizeof from, .read = fuzz_read, .context = &source, .as_stream = true
    };
    struct fxt_input *input = NULL;
    enum profile_status status;

    HOLD(fxt_input_open(&from, &input, NULL) == FXT_OK);
    status = profile_read_markup(input, &sink, options, notices, NULL);
    HOLD(status == PROFILE_OK || status == PROFILE_MALFORMED);
    HOLD(told->backtraces == notices->backtraces);
    HOLD((told->missing == 0) == (notices->kinds[PROFILE_MARKUP_GAP].count == 0) ||
         notices->kinds[PROFILE_MARKUP_DEEP].count > 0);
    HOLD(told->outside <= notices->kinds[PROFILE_MARKUP_ANONYMOUS].count);
    fxt_input_close(input);
    return status;
}

static void release(struct told *told)
{
    free(told->digest.bytes);
    free(told->mappings.bytes);
}

static uint64_t packed_ends(const struct profile_markup_notices *notices)
{
    return notices->kinds[PROFILE_MARKUP_CUT].count + notices->kinds[PROFILE_MARKUP_CORRUPT].count;
}

/* However the log came.  Of compressed data that cannot be unpacked, more can be had in small
 * pieces: zstd gives nothing of a block that is larger than its frame has promised.  */
static void compare(enum profile_status status, const struct profile_markup_notices *notices,
                    const struct told *told, enum profile_status status_of_pieces,
                    const struct profile_markup_notices *of_pieces, const struct told *pieces)
{
    HOLD((packed_ends(notices) == 0) == (packed_ends(of_pieces) == 0));
    if (packed_ends(notices) > 0)
        return;
    HOLD(status == status_of_pieces);
    HOLD(memcmp(notices, of_pieces, sizeof *notices) == 0);
    HOLD(told->digest.used == pieces->digest.used);
    HOLD(told->digest.used == 0 ||
         memcmp(told->digest.bytes, pieces->digest.bytes, told->digest.used) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct profile_read_options tight = { .size = sizeof tight,
                                                .entry_bytes = 100,
                                                .table_bytes = 1500 };
    struct profile_markup_notices notices, other;
    struct told whole = { .backtraces = 0 }, pieces = whole, small = whole;
    enum profile_status status = read_log(data, size, 0, NULL, &whole, &notices);
    char text[300];

    (void)profile_is_markup(data, size);
    compare(status, &notices, &whole, read_log(data, size, 1, NULL, &pieces, &other), &other,
            &pieces);
    (void)profile_markup_describe(&notices, text, sizeof text);
    (void)read_log(data, size, 0, &tight, &small, &other);
    HOLD(other.elements <= notices.elements);
    release(&whole);
    release(&pieces);
    release(&small);
    return 0;
}
