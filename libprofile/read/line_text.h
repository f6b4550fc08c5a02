/* line_text.h - a line of text, taken apart from its start.  */
#ifndef PROFILE_READ_LINE_TEXT_H
#define PROFILE_READ_LINE_TEXT_H

#include "libprofile/read/gather.h"

struct text {
    const char *at;
    size_t length;
};

static inline struct text text_of(const char *at, size_t length)
{
    return (struct text){ at, length };
}

void text_skip_blanks(struct text *text);
/* Take what is given, if the text begins with it.  */
bool text_take(struct text *text, const char *word);
bool text_begins(struct text text, const char *word);
bool text_contains(struct text text, const char *word);
/* Take a decimal number that fits; text_take_signed() also takes a minus.  */
bool text_take_number(struct text *text, uint64_t *out);
bool text_take_signed(struct text *text, int64_t *out);
/* Take hexadecimal digits, with 0x before them or not.  */
bool text_take_hex(struct text *text, uint64_t *out);
/* Take the bytes before the next blank.  */
struct text text_take_token(struct text *text);
/* Without blanks at both ends.  */
struct text text_trim(struct text text);
bool text_equals(struct text text, const char *word);

/* ---- Of gperftools and Go ---- */

/* Push the locations of all numbers with 0x in the text; adjust_from is the first that is a return
 * address, which becomes the address before it.  False: a number is too large.  */
bool text_push_addresses(struct gather *gather, struct text text, size_t adjust_from);

/* A comment of Go's debug=1 that names an address of a stack before it: "0x4a1b2c main.f+0x1c
 * /src/main.go:17".  */
void text_name_address(struct gather *gather, struct text comment);

bool text_is_comment(struct text line); /* or blank */
bool text_is_map_start(struct text line);

/* Read the lines that are left: those from a "MAPPED_LIBRARIES:" on, or from the last line read if
 * is_map, are mappings.  */
void text_read_maps(struct gather *gather, bool is_map);

/* Values as gperftools scales them: of an allocation of size / count bytes one of rate bytes was
 * sampled.  */
void text_scale(int64_t *count, int64_t *size, int64_t rate);

/* The location section of a profile of Java: names of addresses.  */
void text_read_java_names(struct gather *gather);

#endif /* PROFILE_READ_LINE_TEXT_H */
