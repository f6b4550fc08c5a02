/* folded_read.c - lines of folded stacks (docs/formats/pprof.md, sections 5 and 6).  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/read/byte_source.h"

struct reader {
    struct source source;
    struct profile_read_notices notices;
    struct profile_read_options options;
    const struct profile_folded_sink *sink;
    struct profile_error *error;
    uint64_t number; /* of the line */
    char *text;      /* a copy of the line, cut into frames */
    size_t text_capacity;
    struct profile_text *frames;
    size_t frame_count, frame_capacity;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- Counts ---- */

/* Where the number at the end of [line, line + length) begins, which is "digits[.digits]" with a
 * blank before it; length when there is none.  */
static size_t find_count(const char *line, size_t length)
{
    size_t start = length;
    size_t dots = 0;

    while (start > 0 && (is_digit(line[start - 1]) || line[start - 1] == '.'))
        dots += line[--start] == '.';
    if (start == length || start == 0 || !is_blank(line[start - 1]))
        return length;
    return dots > 1 || !is_digit(line[start]) ? length : start;
}

/* Digits, perhaps with a dot.  strtod() would ask the locale what a dot is.  */
static struct profile_folded_count read_count(const char *digits, size_t length)
{
    struct profile_folded_count count = { .is_integer = true };
    uint64_t fraction = 0, scale = 1;
    size_t i = 0;

    for (; i < length && digits[i] != '.'; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');

        count.number = count.number * 10 + (double)digit;
        if (__builtin_mul_overflow(count.integer, UINT64_C(10), &count.integer) ||
            __builtin_add_overflow(count.integer, digit, &count.integer))
            count.is_integer = false;
    }
    if (count.is_integer) /* rounded once, not digit by digit */
        count.number = (double)count.integer;
    /* 18 digits are more than a double holds; the others do not change it.  */
    for (i++; i < length && scale < UINT64_C(1000000000000000000); i++) {
        fraction = fraction * 10 + (uint64_t)(digits[i] - '0');
        scale *= 10;
    }
    if (fraction > 0) {
        count.is_integer = false;
        count.number += (double)fraction / (double)scale;
    }
    if (!count.is_integer)
        count.integer = 0;
    return count;
}

static size_t trim_end(const char *line, size_t length)
{
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    return length;
}

/* Take the numbers off the end of a line; what is left are the frames.  False without any.  */
static bool take_counts(const char *line, size_t *length, struct profile_folded_line *out)
{
    struct profile_folded_count counts[2];
    size_t found = 0;

    while (found < 2) {
        size_t end = trim_end(line, *length);
        size_t start = find_count(line, end);

        if (start == end)
            break;
        counts[found++] = read_count(line + start, end - start);
        *length = trim_end(line, start);
    }
    out->count_count = found;
    for (size_t i = 0; i < found; i++)
        out->counts[i] = counts[found - 1 - i];
    return found > 0;
}

static bool begins_with(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);

    return length >= size && memcmp(text, word, size) == 0;
}

/* "goroutine profile: total 3", "heap profile: 3: 4096 [9: 8192] @ heap/1048576": a name, and a
 * number after the colon.  Programs name profiles of their own.  */
static bool is_named_profile(const char *text, size_t length)
{
    static const char middle[] = " profile: ";
    const char *end = memchr(text, '\n', length);
    size_t line = end ? (size_t)(end - text) : length;
    const char *found = memmem(text, line, middle, sizeof middle - 1);
    const char *rest = found ? found + sizeof middle - 1 : NULL;
    size_t left = rest ? line - (size_t)(rest - text) : 0;

    if (!rest || memchr(text, ';', (size_t)(found - text)))
        return false;
    while (left > 0 && *rest == ' ') {
        rest++;
        left--;
    }
    if (begins_with(rest, left, "total ")) {
        rest += strlen("total ");
        left -= strlen("total ");
    }
    return left > 0 && is_digit(*rest);
}

/* "goroutine 1 [running]:", as panics print them, too.  */
static bool is_goroutine_dump(const char *text, size_t length)
{
    static const char word[] = "goroutine ";
    size_t at = sizeof word - 1;

    if (!begins_with(text, length, word))
        return false;
    while (at < length && is_digit(text[at]))
        at++;
    return at > sizeof word - 1 && begins_with(text + at, length - at, " [");
}

const char *profile_foreign_text(const void *start, size_t length)
{
    static const char *const headers[] = { "--- contention", "--- mutex",  "--- threadz",
                                           "--- heapz",      "--- growth", "--- Memory map" };
    bool is_legacy = is_named_profile(start, length);

    if (profile_format_of(start, length))
        return NULL;
    if (is_goroutine_dump(start, length))
        return "goroutines as text, as Go writes them with debug=2: fetch them with debug=1, or "
               "without it";
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        is_legacy |= begins_with(start, length, headers[i]);
    return is_legacy ? "a profile as text, of a kind that is not read: convert it: go tool pprof "
                       "-proto -output x.pb.gz FILE"
                     : NULL;
}

bool profile_is_folded(const void *start, size_t length)
{
    const char *text = start;
    struct profile_folded_line line;
    size_t at = 0;

    if (profile_format_of(start, length) || profile_foreign_text(start, length))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' && (text[i] == '\0' || !strchr("\t\r\n", text[i])))
            return false;
    while (at < length) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t size = end ? (size_t)(end - text) - at : length - at;
        size_t used = size;

        if (!end && length >= PROFILE_SNIFF_BYTES) /* a line that goes on: it may be a stack */
            return memchr(text + at, ';', size) != NULL;
        if (used > 0 && text[at + used - 1] == '\r')
            used--;
        if (trim_end(text + at, used) > 0)
            return take_counts(text + at, &used, &line);
        at += size + 1;
    }
    return false;
}

/* ---- Frames ---- */

/* One frame, in the copy of the line; the byte behind it becomes its NUL.  */
static bool add_frame(struct reader *reader, char *bytes, size_t length)
{
    static const char unknown[] = PROFILE_UNKNOWN;

    if (!base_make_room(&reader->frames, &reader->frame_capacity, reader->frame_count + 1,
                        sizeof *reader->frames))
        return false;
    while (length > 0 && is_blank(*bytes)) {
        bytes++;
        length--;
    }
    length = trim_end(bytes, length);
    bytes[length] = '\0';
    reader->frames[reader->frame_count++] = length > 0
                                                ? (struct profile_text){ bytes, length }
                                                : (struct profile_text){ unknown,
                                                                         sizeof unknown - 1 };
    return true;
}

static bool split(struct reader *reader, const char *line, size_t length)
{
    char *text = base_grow(reader->text, &reader->text_capacity, length + 1, 1);
    size_t start = 0;

    reader->frame_count = 0;
    if (!text)
        return false;
    reader->text = text;
    memcpy(text, line, length);
    if (length == 0)
        return true;
    for (size_t i = 0; i <= length; i++)
        if (i == length || text[i] == ';') {
            if (!add_frame(reader, text + start, i - start))
                return false;
            start = i + 1;
        }
    return true;
}

/* ---- Lines ---- */

static enum profile_status take_line(struct reader *reader, const char *line, size_t length)
{
    struct profile_folded_line told = { .number = reader->number };

    if (!take_counts(line, &length, &told)) {
        reader->notices.bad_lines++;
        return PROFILE_OK;
    }
    if (!split(reader, line, length))
        return profile_no_memory(reader->error);
    told.frames = reader->frames;
    told.frame_count = reader->frame_count;
    reader->notices.lines++;
    reader->notices.wide_lines += told.count_count == 2;
    return reader->sink->line ? reader->sink->line(reader->sink->context, &told) : PROFILE_OK;
}

static enum profile_status read_lines(struct reader *reader)
{
    enum profile_status status = PROFILE_OK;
    const char *line;
    size_t length;

    while (status == PROFILE_OK) {
        uint64_t offset = reader->source.offset;
        uint64_t bad = reader->notices.bad_lines + reader->notices.long_entries;

        if (!source_line(&reader->source, reader->options.entry_bytes, &line, &length))
            break;
        reader->number++;
        if (line && length > 0 && line[length - 1] == '\r')
            length--;
        if (!line)
            reader->notices.long_entries++;
        else if (trim_end(line, length) > 0)
            status = take_line(reader, line, length);
        if (bad == 0 && reader->notices.bad_lines + reader->notices.long_entries > 0)
            reader->notices.first_offset = offset;
    }
    return status;
}

enum profile_status profile_read_folded(struct fxt_input *input,
                                        const struct profile_folded_sink *sink,
                                        const struct profile_read_options *options,
                                        struct profile_read_notices *notices,
                                        struct profile_error *error)
{
    struct profile_folded_sink chosen = { .size = 0 };
    struct reader reader = { .options = read_options(options), .sink = &chosen, .error = error };
    enum profile_status status;

    memcpy(&chosen, sink, sink->size < sizeof chosen ? sink->size : sizeof chosen);
    source_open(&reader.source, input, &reader.options, error);
    status = read_lines(&reader);
    if (status == PROFILE_OK)
        status = reader.source.status;
    note_packed_end(&reader.notices, &reader.source);
    if (status == PROFILE_OK && reader.notices.lines == 0 && reader.notices.bad_lines > 0)
        status = profile_fail(error, PROFILE_MALFORMED,
                              reader.notices.long_entries == 0
                                  ? "not folded stacks: no line ends in a count"
                                  : "not folded stacks: no line that can be read ends in a count");
    if (notices)
        *notices = reader.notices;
    source_release(&reader.source);
    free(reader.text);
    free(reader.frames);
    return status;
}
