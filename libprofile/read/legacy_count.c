/* legacy_count.c - profiles that count stacks, as text of Go with debug=1: goroutines, threads that
 * were created, and what a program counts itself.
 *
 *     goroutine profile: total 3
 *     2 @ 0x44cb3 0x45045
 *     #	0x44cb2	main.wait+0x12	/src/main.go:17  */
#include "libprofile/read/formats.h"

/* "goroutine profile: total 3": the name.  */
static bool take_header(struct text line, struct text *name)
{
    uint64_t total;

    *name = text_take_token(&line);
    return name->length > 0 && !memchr(name->at, ';', name->length) &&
           text_take(&line, " profile: total ") && text_take_number(&line, &total) &&
           line.length == 0;
}

/* Comments may come first.  */
bool legacy_count_is(struct text start)
{
    struct text line, name;

    do
        line = read_next_line(&start);
    while (start.length > 0 && text_is_comment(line));
    return take_header(line, &name);
}

static bool take_sample(struct gather *gather, struct text line)
{
    gather_begin(gather);
    if (!text_take_signed(&line, &gather->values[0]))
        return false;
    text_skip_blanks(&line);
    if (!text_take(&line, "@") || !text_push_addresses(gather, line, 0))
        return false;
    gather_end(gather);
    return true;
}

static bool read_header(struct gather *gather)
{
    struct text name = { .at = "" };
    const char *at;
    size_t length;

    while (gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        if (text_is_comment(line))
            continue;
        if (!take_header(line, &name))
            return false;
        (void)gather_type(gather, name.at, name.length, "count");
        gather->header.period = 1;
        gather->header.has_period_type = true;
        gather->header.period_type = gather->types[0];
        return true;
    }
    return false;
}

bool legacy_count_read(struct gather *gather)
{
    const char *at;
    size_t length;
    bool is_map = false;

    if (!read_header(gather))
        return false;
    while (!is_map && gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        is_map = text_is_map_start(line);
        if (text_is_comment(line))
            text_name_address(gather, line);
        else if (text_begins(line, "---"))
            break;
        else if (!is_map && !take_sample(gather, line))
            gather_bad_line(gather);
    }
    text_read_maps(gather, is_map);
    return true;
}
