/* fit_name.c - the name of a function in the columns that a table has for it.
 *
 * Every step leaves out what says least, until the rest fits; what a function itself is called
 * goes last.  */
#include <stdlib.h>
#include <string.h>

#include "base/width.h"
#include "libprofile/write/writer_output.h"

#define CUT "\xe2\x80\xa6" /* U+2026, one column */

static bool is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           ((unsigned char)c & 0x80);
}

static bool is_at(const char *bytes, size_t length, size_t at, const char *text)
{
    size_t size = strlen(text);

    return length - at >= size && memcmp(bytes + at, text, size) == 0;
}

/* Where "operator" stands, whose characters are no brackets.  */
static bool is_operator(const char *bytes, size_t length, size_t at)
{
    return is_at(bytes, length, at, "operator") && (at == 0 || !is_identifier(bytes[at - 1])) &&
           !(length - at > 8 && is_identifier(bytes[at + 8]));
}

/* ---- Types of a Rust impl ---- */

/* The end of the brackets that open at bytes[at]: behind ">"; length where they stay open.  */
static size_t skip_angles(const char *bytes, size_t length, size_t at)
{
    size_t depth = 0;

    for (; at < length; at++) {
        if (is_at(bytes, length, at, "->")) {
            at++;
            continue;
        }
        depth += bytes[at] == '<';
        if (bytes[at] == '>' && --depth == 0)
            return at + 1;
    }
    return length;
}

/* "<alloc::vec::Vec<T, A> as core::ops::Drop>::drop" becomes "<Vec<...> as Drop>::drop".  True if
 * there was memory.  */
static bool add_impl(struct base_text *text, const char *bytes, size_t length)
{
    size_t limit = skip_angles(bytes, length, 0);
    size_t path; /* where in text the path began that is being copied */
    bool ok = base_text_append(text, "<", 1);

    path = text->length;
    for (size_t at = 1; at < limit && ok;) {
        bool named = text->length > path && is_identifier(text->bytes[text->length - 1]);

        if (is_at(bytes, limit, at, "::") && (named || text->bytes[text->length - 1] == ']')) {
            text->length = path;
            at += 2;
        } else if (bytes[at] == '<' && named) {
            at = skip_angles(bytes, limit, at);
            ok = base_text_append(text, "<...>", 5);
        } else {
            ok = base_text_append(text, bytes + at, 1);
            if (!is_identifier(bytes[at]) && bytes[at] != '[' && bytes[at] != ']')
                path = text->length;
            at++;
        }
    }
    return ok && base_text_append(text, bytes + limit, length - limit);
}

/* Without any arguments of templates.  */
static bool add_bare(struct base_text *text, const char *name, size_t length)
{
    size_t start = text->length;
    struct base_text bare = { .bytes = NULL };
    bool ok = codec_text_add_shorter_name(&bare, name, length, 0);

    if (ok && bare.length > 0 && bare.bytes[0] == '<' &&
        skip_angles(bare.bytes, bare.length, 0) < bare.length)
        ok = add_impl(text, bare.bytes, bare.length);
    else
        ok = ok && base_text_append(text, bare.bytes ? bare.bytes : "", bare.length);
    free(bare.bytes);
    if (!ok)
        text->length = start;
    return ok;
}

/* ---- Namespaces and packages ---- */

/* Brackets that are open; odd: one closed that was not.  */
struct nest {
    size_t depth;
    bool odd;
};

static void nest_take(struct nest *nest, char c)
{
    bool closes = c == '>' || c == ')' || c == ']' || c == '}';

    nest->depth += c == '<' || c == '(' || c == '[' || c == '{';
    nest->odd |= closes && nest->depth == 0;
    nest->depth -= closes && nest->depth > 0;
}

/* Whether a name can begin here, behind "::": a lambda or closure without the function that it
 * stands in, and an operator without its class, tell nothing.  */
static bool begins_name(const char *bytes, size_t length, size_t at)
{
    return at < length && (is_identifier(bytes[at]) || bytes[at] == '~') &&
           !is_operator(bytes, length, at);
}

/* Whether what separates two parts of a path stands here: its length, or 0.  Go's import paths have
 * slashes, and a point behind the last.  */
static size_t separator_at(const char *bytes, size_t length, size_t at, bool has_slash)
{
    if (is_at(bytes, length, at, "::"))
        return 2;
    return has_slash && bytes[at] == '/' ? 1 : 0;
}

/* The first separator whose rest fits in room columns, or else the last one that may begin a name.
 * length: there is none, or brackets are not in pairs.  */
static size_t find_rest(const char *bytes, size_t length, size_t room)
{
    size_t left = base_width_text(bytes, length), found = length;
    struct nest nest = { .depth = 0 };
    bool has_slash = memchr(bytes, '/', length) && !memchr(bytes, ' ', length);
    bool fits = false;

    for (size_t at = 0; at < length && !nest.odd;) {
        size_t columns, size = base_width_character(bytes + at, length - at, &columns);
        size_t separator = separator_at(bytes, length, at, has_slash);

        if (is_operator(bytes, length, at))
            break;
        if (nest.depth == 0 && separator && !fits && begins_name(bytes, length, at + separator)) {
            found = at;
            fits = left <= room;
        }
        if (is_at(bytes, length, at, "->"))
            size = columns = 2;
        else
            nest_take(&nest, bytes[at]);
        left -= columns;
        at += size;
    }
    return nest.odd ? length : found;
}

bool codec_text_add_cut(struct base_text *text, const char *bytes, size_t length, size_t columns)
{
    size_t head, tail;

    base_width_cut(bytes, length, columns, &head, &tail);
    return base_text_append(text, bytes, head) &&
           (head == length || base_text_append(text, CUT, 3)) &&
           base_text_append(text, bytes + length - tail, tail);
}

/* The end of a path that fits, or the middle left out.  */
static bool add_rest(struct base_text *text, const char *bytes, size_t length, size_t columns)
{
    size_t room = columns > 1 ? columns - 1 : 0;
    size_t rest = find_rest(bytes, length, room);

    if (rest == length || base_width_text(bytes, length) <= columns)
        return codec_text_add_cut(text, bytes, length, columns);
    if (base_width_text(bytes + rest, length - rest) <= room)
        return base_text_append(text, CUT, 3) &&
               base_text_append(text, bytes + rest, length - rest);
    rest += bytes[rest] == ':' ? 2 : 1;
    return codec_text_add_cut(text, bytes + rest, length - rest, columns);
}

/* ---- The whole ---- */

/* Whether a name is its own short name.  False when memory is short, too.  */
static bool is_short(const char *name, size_t length)
{
    struct base_text text = { .bytes = NULL };
    bool same = codec_text_add_short_name(&text, name, length) && text.length == length &&
                (length == 0 || memcmp(text.bytes, name, length) == 0);

    free(text.bytes);
    return same;
}

bool codec_text_add_fit_name(struct base_text *text, const char *name, size_t length,
                             size_t columns)
{
    struct base_text bare = { .bytes = NULL };
    bool ok;

    if (base_width_text(name, length) <= columns || !is_short(name, length))
        return codec_text_add_cut(text, name, length, columns);
    ok = add_bare(&bare, name, length) && add_rest(text, bare.bytes, bare.length, columns);
    free(bare.bytes);
    return ok;
}

char *profile_fit_name(const char *name, size_t length, size_t columns)
{
    struct base_text text = { .bytes = NULL };

    if (codec_text_add_fit_name(&text, name, length, columns) && base_text_append(&text, "", 1))
        return text.bytes;
    free(text.bytes);
    return NULL;
}
