/* Folded stacks: a line is a sample.  The first line tells whether there are one or two columns of
 * numbers; in a file of one, a line with two has a frame that ends in a number.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/import/import_profiles.h"

struct reading {
    struct profiles *profiles;
    size_t columns;        /* 1 or 2; 0: no line was read yet */
    uint64_t narrow_lines; /* with one number in a file of two */
    char *text;            /* scratch: a frame and its number */
    size_t text_capacity;
};

static bool add_type(struct profiles *profiles, const char *type, bool is_default)
{
    uint32_t words[2] = { store_profiles_word(profiles, type, strlen(type)),
                          store_profiles_word(profiles, "count", 5) };

    return words[0] && words[1] && store_profiles_type(profiles, words[0], words[1], is_default);
}

/* Two columns are a difference, as difffolded.pl writes it.  */
static bool begin(struct reading *reading, size_t columns)
{
    reading->columns = columns;
    return columns == 1 ? add_type(reading->profiles, "samples", true)
                        : add_type(reading->profiles, "base", false) &&
                              add_type(reading->profiles, "new", true);
}

/* ---- Lines ---- */

/* A frame's text; the innermost one has the number back that is its own.  */
static bool frame_text(struct reading *reading, const struct profile_folded_line *line,
                       size_t index, const char **text, size_t *length)
{
    const struct profile_text *frame = &line->frames[index];
    const struct profile_folded_count *count = &line->counts[0];
    size_t size = frame->length + 64;
    int written;

    *text = frame->bytes;
    *length = frame->length;
    if (reading->columns == line->count_count || index + 1 < line->frame_count)
        return true;
    if (!base_make_room(&reading->text, &reading->text_capacity, size, 1))
        return store_import_fail(reading->profiles->import, STORE_NO_MEMORY, "out of memory");
    memcpy(reading->text, frame->bytes, frame->length);
    written = count->is_integer
                  ? snprintf(reading->text + frame->length, 64, " %" PRIu64, count->integer)
                  : snprintf(reading->text + frame->length, 64, " %.17g", count->number);
    *text = reading->text;
    *length = frame->length + (written > 0 ? (size_t)written : 0);
    return true;
}

static bool take_stack(struct reading *reading, const struct profile_folded_line *line,
                       uint32_t *callsite)
{
    struct profiles *profiles = reading->profiles;

    *callsite = 0;
    for (size_t i = 0; i < line->frame_count; i++) {
        struct store_profile_line name = { .function = 0 };
        struct store_profile_frame frame = { .lines = &name, .line_count = 1 };
        const char *text;
        uint32_t number;
        size_t length;

        if (!frame_text(reading, line, i, &text, &length))
            return false;
        name.function = store_profiles_word(profiles, text, length);
        number = name.function ? store_profiles_frame(profiles, &frame) : 0;
        *callsite = number ? store_profiles_callsite(profiles, *callsite, number) : 0;
        if (!*callsite)
            return false;
    }
    return true;
}

static struct store_profile_value value_of(const struct profile_folded_count *count)
{
    if (count->is_integer && count->integer <= INT64_MAX)
        return (struct store_profile_value){ .integer = (int64_t)count->integer };
    return (struct store_profile_value){ .is_real = true, .real = count->number };
}

static enum profile_status take_line(void *context, const struct profile_folded_line *line)
{
    struct reading *reading = context;
    struct profiles *profiles = reading->profiles;
    size_t first = line->count_count > reading->columns && reading->columns ? 1 : 0;
    struct store_profile_value values[2] = { value_of(&line->counts[first]) };
    struct store_profile_sample sample = { .values = values };

    if (profiles->import->store->interrupted)
        return store_import_sink_status(
            store_import_fail(profiles->import, STORE_STOPPED, "interrupted"));
    if (!reading->columns && !begin(reading, line->count_count))
        return PROFILE_STOPPED;
    if (line->count_count < reading->columns) {
        reading->narrow_lines++;
        return PROFILE_OK;
    }
    if (reading->columns == 2)
        values[1] = value_of(&line->counts[1]);
    sample.value_count = reading->columns;
    return store_import_sink_status(take_stack(reading, line, &sample.callsite) &&
                                    store_profiles_labels(profiles, NULL, 0, &sample.owner) &&
                                    store_profiles_sample(profiles, &sample));
}

/* ---- Reading ---- */

static bool write_notices(struct reading *reading, const struct profile_read_notices *notices)
{
    struct profiles *profiles = reading->profiles;

    return store_profiles_early_end(profiles, notices) &&
           store_profiles_damage(profiles, "bad_lines", notices->bad_lines,
                                 store_profiles_first_bad(notices), true,
                                 "lines without a count") &&
           store_profiles_damage(profiles, "long_entries", notices->long_entries,
                                 notices->bad_lines ? UINT64_MAX
                                                    : store_profiles_first_bad(notices),
                                 true, "lines that are too long to be read") &&
           store_profiles_damage(profiles, "narrow_lines", reading->narrow_lines, UINT64_MAX, true,
                                 "lines with one count in a file of two");
}

bool store_profiles_read_folded(struct profiles *profiles, struct fxt_input *input)
{
    struct reading reading = { .profiles = profiles };
    struct profile_folded_sink sink = { .size = sizeof sink,
                                        .context = &reading,
                                        .line = take_line };
    struct profile_read_options options = { .size = sizeof options,
                                            .table_bytes = store_profiles_most(profiles),
                                            .entry_bytes = store_profiles_most(profiles),
                                            .seen = store_profiles_seen,
                                            .seen_context = profiles };
    struct profile_read_notices notices;
    struct profile_error error;
    bool ok = store_profiles_fail(
        profiles, profile_read_folded(input, &sink, &options, &notices, &error), &error);

    ok = ok && write_notices(&reading, &notices);
    if (ok)
        store_profiles_describe(profiles, &notices, reading.narrow_lines,
                                "line with one count in a file of two",
                                "lines with one count in a file of two");
    free(reading.text);
    return ok;
}
