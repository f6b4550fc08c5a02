/* Bytes as a pprof profile, as a profile of any format, and as folded stacks.
 *
 * - What was read of a profile is written as one that is sound: it reads without damage, and
 *   writes the same bytes again, whether its samples wait in memory or in a file.
 * - Input in pieces tells what input in one piece tells.
 * - Folded stacks: frames hold no separator, and lines are delivered or counted.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_formats.h>
#include "tests/fuzz/support.h"

/* Bytes in pieces of at most most bytes.  */
static struct fxt_input *open_pieces(struct fuzz_source *source, const uint8_t *data, size_t size,
                                     size_t most)
{
    const struct fxt_input_options options = {
        .size = sizeof options, .read = fuzz_read, .context = source, .as_stream = true
    };
    struct fxt_input *input = NULL;

    *source = (struct fuzz_source){ data, size, { .least = most > 0, .most = most } };
    HOLD(fxt_input_open(&options, &input, NULL) == FXT_OK);
    return input;
}

typedef enum profile_status read_fn(struct fxt_input *input, const struct profile_pprof_sink *sink,
                                    const struct profile_read_options *options,
                                    struct profile_read_notices *notices,
                                    struct profile_error *error);

static enum profile_status rewrite(read_fn *read, const uint8_t *data, size_t size, size_t most,
                                   size_t sample_bytes, struct fuzz_buffer *out,
                                   struct profile_read_notices *notices)
{
    const struct profile_read_options options = { .size = sizeof options,
                                                  .sample_bytes = sample_bytes };
    const struct profile_writer_options raw = { .size = sizeof raw, .raw = true };
    struct fuzz_source source;
    struct fxt_input *input = open_pieces(&source, data, size, most);
    struct profile_writer *writer = NULL;
    struct profile_pprof_sink sink;
    enum profile_status status;

    HOLD(profile_writer_open(profile_format_named("pprof"), &raw, fuzz_write, out, &writer, NULL) ==
         PROFILE_OK);
    profile_writer_sink(writer, &sink);
    status = read(input, &sink, &options, notices, NULL);
    if (status == PROFILE_OK)
        HOLD(profile_writer_finish(writer, NULL) == PROFILE_OK);
    profile_writer_close(writer);
    fxt_input_close(input);
    return status;
}

static void check_same(const struct fuzz_buffer *one, struct fuzz_buffer *other)
{
    HOLD(one->used == other->used);
    HOLD(one->used == 0 || memcmp(one->bytes, other->bytes, one->used) == 0);
    free(other->bytes);
}

static void check_tables(read_fn *read, const uint8_t *data, size_t size)
{
    struct profile_read_notices notices, other;
    struct fuzz_buffer whole = { .used = 0 }, again = { .used = 0 };
    enum profile_status status = rewrite(read, data, size, 0, 0, &whole, &notices);
    char text[200];

    HOLD(status == PROFILE_OK || status == PROFILE_MALFORMED);
    HOLD(profile_read_describe(&notices, text, sizeof text) == profile_read_is_damaged(&notices));
    HOLD(rewrite(read, data, size, 1, 1, &again, &other) == status);
    check_same(&whole, &again);
    HOLD(notices.cut == other.cut && notices.bad_entries == other.bad_entries &&
         notices.bad_samples == other.bad_samples && notices.first_offset == other.first_offset);
    if (status == PROFILE_OK) {
        again = (struct fuzz_buffer){ .used = 0 };
        HOLD(rewrite(profile_read_pprof, whole.bytes, whole.used, 0, 0, &again, &other) ==
             PROFILE_OK);
        HOLD(!profile_read_is_damaged(&other));
        check_same(&whole, &again);
    }
    free(whole.bytes);
}

static enum profile_status check_line(void *context, const struct profile_folded_line *line)
{
    uint64_t *lines = context;

    HOLD(line->count_count == 1 || line->count_count == 2);
    for (size_t i = 0; i < line->count_count; i++)
        HOLD(line->counts[i].number >= 0 &&
             (!line->counts[i].is_integer ||
              (double)line->counts[i].integer == line->counts[i].number));
    for (size_t i = 0; i < line->frame_count; i++) {
        HOLD(line->frames[i].length > 0 && line->frames[i].bytes[line->frames[i].length] == '\0');
        HOLD(!memchr(line->frames[i].bytes, ';', line->frames[i].length));
        HOLD(!memchr(line->frames[i].bytes, '\n', line->frames[i].length));
    }
    ++*lines;
    return PROFILE_OK;
}

static void check_folded(const uint8_t *data, size_t size, size_t most)
{
    uint64_t lines = 0;
    const struct profile_folded_sink sink = { .size = sizeof sink,
                                              .context = &lines,
                                              .line = check_line };
    struct profile_read_notices notices;
    struct fuzz_source source;
    struct fxt_input *input = open_pieces(&source, data, size, most);
    enum profile_status status = profile_read_folded(input, &sink, NULL, &notices, NULL);

    HOLD(status == PROFILE_OK || status == PROFILE_MALFORMED);
    HOLD(lines == notices.lines && (status == PROFILE_OK || lines == 0));
    fxt_input_close(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t start = size < PROFILE_SNIFF_BYTES ? size : PROFILE_SNIFF_BYTES;

    (void)profile_is_pprof(data, start);
    (void)profile_is_folded(data, start);
    check_tables(profile_read_pprof, data, size);
    if (profile_format_of(data, start))
        check_tables(profile_read, data, size);
    check_folded(data, size, 0);
    check_folded(data, size, 1);
    return 0;
}
