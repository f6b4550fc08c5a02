/* names.c - what a function is called in every build of it.  */
#include <fxt/compare_set.h>

#include <string.h>

/* Names come from traces and object files: what looks back or ahead does not go farther than this,
 * so that a hostile name costs no more than its length.  */
#define LONG_NAME 4096

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static size_t digits_at(const char *text, size_t length, size_t at)
{
    size_t count = 0;

    while (at + count < length && is_digit(text[at + count]))
        count++;
    return count;
}

static bool starts(const char *text, size_t length, size_t at, const char *with)
{
    size_t size = strlen(with);

    return length - at >= size && memcmp(text + at, with, size) == 0;
}

/* ---- Clones: what stands at the end ---- */

/* GCC numbers its clones, LLVM those of its own and of ThinLTO; the cold part may have no
 * number.  */
static const struct {
    const char *text;
    bool numbered;
} clone_suffixes[] = {
    { ".isra", true }, { ".part", true },     { ".constprop", true },   { ".cold", false },
    { ".llvm", true }, { ".lto_priv", true }, { ".localalias", false }, { ".__uniq", true },
};

/* The length without one ".word" or ".word.123" at its end; length when there is none.  */
static size_t without_suffix(const char *name, size_t length)
{
    size_t end = length;
    bool number;

    while (end > 0 && is_digit(name[end - 1]))
        end--;
    number = end < length && end > 0 && name[end - 1] == '.';
    end = number ? end - 1 : length;
    for (size_t i = 0; i < sizeof clone_suffixes / sizeof *clone_suffixes; i++) {
        size_t size = strlen(clone_suffixes[i].text);

        if (end > size && memcmp(name + end - size, clone_suffixes[i].text, size) == 0 &&
            (number || !clone_suffixes[i].numbered))
            return end - size;
    }
    return length;
}

/* Demanglers keep clones apart: "f(int) [clone .isra.0]", LLVM's "f(int) (.isra.0)".  */
static size_t without_bracket(const char *name, size_t length)
{
    static const struct {
        const char *open;
        char close;
    } brackets[] = { { " [clone .", ']' }, { " (.", ')' } };

    for (size_t i = 0; i < sizeof brackets / sizeof *brackets; i++) {
        size_t size = strlen(brackets[i].open);

        if (length <= size || name[length - 1] != brackets[i].close)
            continue;
        for (size_t at = length - size; at-- > 1;)
            if (memcmp(name + at, brackets[i].open, size) == 0)
                return at;
    }
    return length;
}

/* Rust's legacy mangling ends with a hash of the crate: "::h" and 16 digits.  */
static size_t without_hash(const char *name, size_t length)
{
    if (length <= 19 || memcmp(name + length - 19, "::h", 3) != 0)
        return length;
    for (size_t i = length - 16; i < length; i++)
        if (!is_hex(name[i]))
            return length;
    return length - 19;
}

static size_t without_clones(const char *name, size_t length)
{
    size_t before;

    do {
        before = length;
        length = without_bracket(name, length);
        length = without_suffix(name, length);
        length = without_hash(name, length);
    } while (length < before);
    return length;
}

/* ---- Numbers and hashes: what stands inside ---- */

/* "#2" of {lambda(int)#2}, {closure#0} or {unnamed type#1}: its number says where in its function
 * it stands.  Rust's {impl#3} stays: it tells types apart.  */
static size_t brace_number(const char *name, size_t length, size_t at)
{
    static const char *const kinds[] = { "{lambda", "{closure", "{unnamed" };
    size_t digits = name[at] == '#' ? digits_at(name, length, at + 1) : 0;
    size_t depth = 0;

    if (digits == 0 || at + 1 + digits >= length || name[at + 1 + digits] != '}')
        return 0;
    for (size_t open = at; open-- > 0 && at - open < LONG_NAME;) { /* the brace that closes here */
        depth += name[open] == '}';
        if (name[open] != '{')
            continue;
        if (depth > 0) {
            depth--;
            continue;
        }
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (starts(name, length, open, kinds[i]))
                return 1 + digits;
        return 0;
    }
    return 0;
}

/* LLVM's 'lambda0'(int) and Clang's $_3.  */
static size_t quoted_number(const char *name, size_t length, size_t at)
{
    static const char *const before[] = { "'lambda", "'unnamed", "$_" };
    size_t digits = digits_at(name, length, at);

    if (digits == 0)
        return 0;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t size = strlen(before[i]);

        if (at >= size && memcmp(name + at - size, before[i], size) == 0 &&
            (before[i][0] == '$' || starts(name, length, at + digits, "'")))
            return digits;
    }
    return 0;
}

/* Rust's newer mangling shows the crate's hash: core[0f1e2d3c4b5a6978]::fmt.  */
static size_t crate_hash(const char *name, size_t length, size_t at)
{
    size_t count = 0;

    if (name[at] != '[' || at == 0 || !is_word(name[at - 1]))
        return 0;
    while (at + 1 + count < length && is_hex(name[at + 1 + count]))
        count++;
    if (count < 8 || count > 16 || !starts(name, length, at + 1 + count, "]::"))
        return 0;
    return count + 2;
}

/* Go's closures: "1" of .func1, and of .func1.2 all; wrappers likewise.  */
static size_t go_number(const char *name, size_t length, size_t at)
{
    static const char *const before[] = { ".func", ".gowrap", ".deferwrap" };
    size_t digits = digits_at(name, length, at);

    for (size_t i = 0; digits > 0 && i < sizeof before / sizeof *before; i++) {
        size_t size = strlen(before[i]);

        if (at < size || memcmp(name + at - size, before[i], size) != 0)
            continue;
        while (at + digits < length && name[at + digits] == '.' &&
               digits_at(name, length, at + digits + 1) > 0)
            digits += 1 + digits_at(name, length, at + digits + 1);
        return at + digits == length || !is_word(name[at + digits]) ? digits : 0;
    }
    return 0;
}

static size_t ignorable(const char *name, size_t length, size_t at)
{
    size_t size = brace_number(name, length, at);

    if (size == 0)
        size = quoted_number(name, length, at);
    if (size == 0)
        size = crate_hash(name, length, at);
    if (size == 0)
        size = go_number(name, length, at);
    return size;
}

/* ---- Template arguments ---- */

/* Bytes of "<...>" at name[at], or 0 where it is no list of arguments: an operator, Rust's
 * "<T as Trait>", brackets that do not pair.  */
static size_t arguments(const char *name, size_t length, size_t at, const char *out, size_t used)
{
    size_t angles = 0, round = 0;

    if (name[at] != '<' || used == 0 || !is_word(out[used - 1]) || length > LONG_NAME)
        return 0;
    if (used >= 8 && memcmp(out + used - 8, "operator", 8) == 0)
        return 0;
    for (size_t i = at; i < length; i++) {
        char c = name[i];

        round += c == '(' || c == '{' || c == '[';
        if ((c == ')' || c == '}' || c == ']') && round-- == 0)
            return 0;
        if (round > 0 || (c == '>' && name[i - 1] == '-'))
            continue;
        angles += c == '<';
        if (c == '>' && --angles == 0)
            return i + 1 - at;
    }
    return 0;
}

size_t compare_name_key(const char *name, size_t length, bool ignore_templates, char *out)
{
    size_t used = 0;

    length = without_clones(name, length);
    for (size_t at = 0; at < length;) {
        size_t skip = ignorable(name, length, at);

        if (skip == 0 && ignore_templates)
            skip = arguments(name, length, at, out, used);
        if (skip == 0)
            out[used++] = name[at++];
        else
            at += skip;
    }
    return used;
}

/* ---- Places in names ---- */

/* ":12" at the end of text: its length and number; 0 without.  */
static size_t number_behind(const char *text, size_t length, unsigned *number)
{
    size_t digits = 0;
    unsigned unit = 1;

    *number = 0;
    while (digits < length && digits < 9 && is_digit(text[length - 1 - digits])) {
        *number += (unsigned)(text[length - 1 - digits] - '0') * unit;
        unit *= 10;
        digits++;
    }
    return digits > 0 && digits < length && text[length - 1 - digits] == ':' ? digits + 1 : 0;
}

bool compare_name_place(const char *name, size_t length, struct compare_placed_name *out)
{
    size_t end = length > 0 && name[length - 1] == ')' ? length - 1 : 0, open, size;
    unsigned line;

    size = number_behind(name, end, &out->line);
    if (size == 0 || out->line == 0)
        return false;
    end -= size;
    size = number_behind(name, end, &line);
    if (size > 0 && line > 0) { /* what was read was the column */
        out->line = line;
        end -= size;
    }
    for (open = end; open > 0 && name[open - 1] != '(' && name[open - 1] != ')';)
        open--;
    if (open < 3 || name[open - 1] != '(' || name[open - 2] != ' ')
        return false;
    out->length = end;
    out->file = name + open;
    out->file_length = end - open;
    return memchr(out->file, '.', out->file_length) || memchr(out->file, '/', out->file_length);
}

bool compare_name_is_missing(const char *name)
{
    size_t length = strlen(name);

    return length > 2 && name[0] == '[' && name[length - 1] == ']';
}
