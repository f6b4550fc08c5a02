/* byte_source.c - bytes of an input, a window at a time; and what is said of them.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/read/byte_source.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define MOST_ENTRY   ((size_t)2 << 30)

void source_open(struct source *source, struct fxt_input *input,
                 const struct profile_read_options *options, struct profile_error *error)
{
    *source = (struct source){
        .input = input, .error = error, .seen = options->seen, .seen_context = options->seen_context
    };
}

void source_release(struct source *source)
{
    free(source->buffer);
    source->buffer = NULL;
}

/* Room for size bytes at start, what is there moved to the front.  */
static bool make_room(struct source *source, size_t size)
{
    size_t there = source->limit - source->start;

    if (there > 0 && source->start > 0)
        memmove(source->buffer, source->buffer + source->start, there);
    source->start = 0;
    source->limit = there;
    if (!base_make_room(&source->buffer, &source->capacity,
                        size < WINDOW_BYTES ? WINDOW_BYTES : size, 1)) {
        source->status = profile_no_memory(source->error);
        return false;
    }
    return true;
}

static void read_more(struct source *source)
{
    struct fxt_error error;
    size_t length = 0;

    switch (fxt_input_read(source->input, source->buffer + source->limit,
                           source->capacity - source->limit, &length, &error)) {
    case FXT_OK:
        if (source->seen)
            source->seen(source->seen_context, source->buffer + source->limit, length);
        source->limit += length;
        break;
    case FXT_END:
        source->ended = true;
        break;
    case FXT_NO_MEMORY:
        source->status = profile_no_memory(source->error);
        break;
    default:
        source->ended = true;
        source->corrupt = error.system_errno == 0;
        if (!source->corrupt)
            source->status = profile_fail_errno(source->error, error.system_errno, "reading");
        break;
    }
}

size_t source_need(struct source *source, size_t size)
{
    if (source->limit - source->start < size && !source->ended && source->status == PROFILE_OK)
        (void)make_room(source, size);
    while (source->limit - source->start < size && !source->ended && source->status == PROFILE_OK)
        read_more(source);
    return source->status == PROFILE_OK ? source->limit - source->start : 0;
}

void source_take(struct source *source, size_t size)
{
    source->start += size;
    source->offset += size;
    source->searched = 0;
}

bool source_skip(struct source *source, uint64_t size)
{
    while (size > 0) {
        size_t there = source_need(source, 1);

        if (there == 0)
            return false;
        if (there > size)
            there = (size_t)size;
        source_take(source, there);
        size -= there;
    }
    return true;
}

/* Where the next line ends, or how far it was looked for: most + 1 bytes.  */
static size_t find_end(struct source *source, size_t most)
{
    size_t there = source->limit - source->start;

    for (;;) {
        const uint8_t *end = there > source->searched
                                 ? memchr(source_bytes(source) + source->searched, '\n',
                                          there - source->searched)
                                 : NULL;
        size_t before = there;

        if (end)
            return (size_t)(end - source_bytes(source));
        source->searched = there;
        if (there > most)
            return there;
        there = source_need(source, there + 1);
        if (there <= before)
            return source->status == PROFILE_OK ? there : 0;
    }
}

/* The rest of a line that is too long.  */
static void skip_line(struct source *source)
{
    while (source_need(source, 1) > 0) {
        size_t there = source->limit - source->start;
        const uint8_t *end = memchr(source_bytes(source), '\n', there);

        source_take(source, end ? (size_t)(end - source_bytes(source)) + 1 : there);
        if (end)
            return;
    }
}

/* Whether the line is the last one, of compressed data that end early: it may have any end.  */
static bool is_torn(const struct source *source, size_t end, size_t there)
{
    return end == there && source->ended && (source->corrupt || fxt_input_is_cut(source->input));
}

bool source_line(struct source *source, size_t most, const char **line, size_t *length)
{
    static const uint8_t mark[] = { 0xef, 0xbb, 0xbf }; /* of UTF-8, as some editors write it */
    size_t end = find_end(source, most);
    size_t there = source->limit - source->start;

    *line = NULL;
    *length = end;
    if (source->status != PROFILE_OK || there == 0 || is_torn(source, end, there))
        return false;
    if (end > most) {
        skip_line(source);
        return source->status == PROFILE_OK;
    }
    *line = (const char *)source_bytes(source);
    if (source->offset == 0 && end >= sizeof mark && memcmp(*line, mark, sizeof mark) == 0) {
        *line += sizeof mark;
        *length -= sizeof mark;
    }
    source_take(source, end < there ? end + 1 : end);
    return true;
}

/* ---- Bounds ---- */

struct profile_read_options read_options(const struct profile_read_options *options)
{
    struct profile_read_options chosen = { .size = 0 };

    if (options)
        memcpy(&chosen, options, options->size < sizeof chosen ? options->size : sizeof chosen);
    if (!chosen.temporary_dir)
        chosen.temporary_dir = getenv("TMPDIR");
    if (!chosen.temporary_dir || !*chosen.temporary_dir)
        chosen.temporary_dir = "/tmp";
    if (chosen.sample_bytes == 0)
        chosen.sample_bytes = (size_t)32 << 20;
    if (chosen.table_bytes == 0)
        chosen.table_bytes = (size_t)1 << 30;
    if (chosen.entry_bytes == 0)
        chosen.entry_bytes = (size_t)16 << 20;
    if (chosen.entry_bytes > MOST_ENTRY)
        chosen.entry_bytes = MOST_ENTRY;
    return chosen;
}

enum profile_status fail_tables(struct profile_error *error, size_t most)
{
    return profile_fail(error, PROFILE_LIMIT,
                        "the tables of the profile need more than %zu bytes of memory", most);
}

/* ---- Notices ---- */

void note_damage(struct profile_read_notices *notices, uint64_t offset)
{
    if (!notices->cut && !notices->corrupt && !notices->stopped && notices->bad_entries == 0 &&
        notices->long_entries == 0 && notices->bad_lines == 0)
        notices->first_offset = offset;
}

void note_early_end(struct profile_read_notices *notices, bool *kind, uint64_t offset)
{
    note_damage(notices, offset);
    notices->end_offset = offset;
    *kind = true;
}

void note_packed_end(struct profile_read_notices *notices, const struct source *source)
{
    if (source->corrupt)
        note_early_end(notices, &notices->corrupt, source->offset);
    else if (fxt_input_is_cut(source->input))
        note_early_end(notices, &notices->cut, source->offset);
}

bool profile_read_is_damaged(const struct profile_read_notices *notices)
{
    return notices->cut || notices->corrupt || notices->stopped || notices->bad_entries ||
           notices->long_entries || notices->bad_ids || notices->bad_strings ||
           notices->bad_references || notices->bad_samples || notices->bad_lines ||
           notices->more_events;
}

/* Append a part to text, which has room for size bytes and stays NUL-terminated.  */
static void append(char *text, size_t size, const char *before, uint64_t number, const char *after)
{
    size_t length = strlen(text);

    if (snprintf(text + length, size - length, "%s%s%" PRIu64 "%s", length > 0 ? "; " : "", before,
                 number, after) < 0)
        text[length] = '\0';
}

bool profile_read_describe(const struct profile_read_notices *notices, char *text, size_t size)
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } parts[] = {
        { notices->bad_entries, " unreadable entry", " unreadable entries" },
        { notices->long_entries, " entry or line too long to be read",
          " entries or lines too long to be read" },
        { notices->bad_lines, " line without a count", " lines without a count" },
        { notices->bad_ids, " entry of id 0 or of one used before",
          " entries of id 0 or of one used before" },
        { notices->bad_strings, " string that is not in the table",
          " strings that are not in the table" },
        { notices->bad_references, " location or function that is not there",
          " locations or functions that are not there" },
        { notices->more_events, " sample of a 64th or further event, without its period",
          " samples of a 64th and further events, without their periods" },
        { notices->bad_samples, " sample with a wrong number of values",
          " samples with a wrong number of values" },
    };

    if (size == 0)
        return profile_read_is_damaged(notices);
    text[0] = '\0';
    if (notices->cut || notices->corrupt || notices->stopped)
        append(text, size,
               notices->cut       ? "cut short at byte "
               : notices->corrupt ? "compressed data that cannot be unpacked after byte "
                                  : "unreadable from byte ",
               notices->end_offset, notices->cut || notices->corrupt ? "" : " on");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count > 0)
            append(text, size, "", parts[i].count,
                   parts[i].count == 1 ? parts[i].one : parts[i].many);
    return profile_read_is_damaged(notices);
}
