/* short_name.c - C++ and Rust names without what a table has no room for.
 *
 * Reads what the demangler writes: "RETURN NAME(PARAMETERS) const [clone SUFFIX]", where NAME may
 * lie in functions of its own ("f(int)::{lambda(char)#1}").  Return types, parameters, qualifiers
 * and "(anonymous namespace)::" go, and long template arguments become "...".  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/writer_output.h"

#define ANONYMOUS "(anonymous namespace)::"
struct scan {
    const char *next;
    size_t left;
    struct base_text *out;
    size_t start;            /* of the name in out */
    unsigned angles, braces; /* open "<" and "{" */
    size_t arguments;        /* where in out those of the outermost "<" begin; 0: no template's */
    size_t arguments_max;    /* longer ones become "..." */
    bool in_operator;        /* blanks belong to the name: "operator new", "operator T" */
    bool had_parameters, had_type;
    bool odd; /* not what a demangler writes */
    bool no_memory;
};

static bool is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           ((unsigned char)c & 0x80);
}

static bool is_next(const struct scan *scan, const char *text)
{
    size_t length = strlen(text);

    return scan->left >= length && memcmp(scan->next, text, length) == 0;
}

static void skip(struct scan *scan, size_t length)
{
    scan->next += length;
    scan->left -= length;
}

static void keep(struct scan *scan, size_t length)
{
    if (!base_text_append(scan->out, scan->next, length))
        scan->no_memory = true;
    skip(scan, length);
}

static bool ends_with(const struct scan *scan, const char *text)
{
    size_t length = strlen(text);

    return scan->out->length - scan->start >= length &&
           memcmp(scan->out->bytes + scan->out->length - length, text, length) == 0;
}

/* "operator" and its characters, so that none of them counts as a bracket.  */
static void keep_operator(struct scan *scan)
{
    static const char *const symbols[] = { "()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                           ">>", "<=", ">=",  "->",  "<",   ">" };

    keep(scan, strlen("operator"));
    scan->in_operator |= scan->angles + scan->braces == 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (is_next(scan, symbols[i])) {
            keep(scan, strlen(symbols[i]));
            return;
        }
}

static bool is_operator(const struct scan *scan)
{
    char before = scan->out->length > scan->start ? scan->out->bytes[scan->out->length - 1] : ':';

    return is_next(scan, "operator") && !is_identifier(before) &&
           !(scan->left > 8 && is_identifier(scan->next[8]));
}

/* What may stand between a parameter list and the end, or the "::" of what lies in the function. */
static void skip_qualifiers(struct scan *scan)
{
    static const char *const qualifiers[] = { " const", " volatile", " noexcept", " &&", " &" };

    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
        if (is_next(scan, qualifiers[i]))
            skip(scan, strlen(qualifiers[i]));
}

static void skip_parameters(struct scan *scan)
{
    size_t depth = 0, length = 0;

    do {
        depth += scan->next[length] == '(';
        depth -= scan->next[length] == ')';
        length++;
    } while (depth > 0 && length < scan->left);
    scan->odd |= depth > 0 || ends_with(scan, "."); /* Go: main.(*Server).handle */
    skip(scan, length);
    if (ends_with(scan, "decltype")) /* a return type */
        return;
    scan->in_operator = false;
    scan->had_parameters |= scan->braces == 0;
    skip_qualifiers(scan);
}

static void take_blank(struct scan *scan)
{
    if (is_next(scan, " [clone ")) {
        keep(scan, scan->left);
    } else if (scan->angles + scan->braces > 0 || scan->in_operator) {
        keep(scan, 1);
    } else if (is_next(scan, " (") && ends_with(scan, "decltype")) {
        skip(scan, 1);
    } else {
        scan->odd |= scan->had_parameters;
        scan->out->length = scan->start; /* it was the return type */
        scan->had_type = true;
        skip(scan, 1);
    }
}

/* The outermost "<" is about to be closed.  Rust's "<T as Trait>::f" has no name before it.  */
static void shorten_arguments(struct scan *scan)
{
    if (scan->arguments == 0 || scan->out->length - scan->arguments <= scan->arguments_max)
        return;
    scan->out->length = scan->arguments;
    if (!base_text_append(scan->out, "...", 3))
        scan->no_memory = true;
}

static void take_bracket(struct scan *scan)
{
    char c = *scan->next;

    if (c == '<' && scan->angles + scan->braces == 0)
        scan->arguments = scan->out->length > scan->start ? scan->out->length + 1 : 0;
    if (c == '>' && scan->angles == 1 && scan->braces == 0)
        shorten_arguments(scan);
    scan->angles += c == '<';
    scan->braces += c == '{';
    scan->odd |= (c == '>' && scan->angles == 0) || (c == '}' && scan->braces == 0);
    scan->angles -= c == '>' && scan->angles > 0;
    scan->braces -= c == '}' && scan->braces > 0;
    keep(scan, 1);
}

static void take_next(struct scan *scan)
{
    if (is_next(scan, ANONYMOUS))
        skip(scan, strlen(ANONYMOUS));
    else if (is_operator(scan))
        keep_operator(scan);
    else if (is_next(scan, "->"))
        keep(scan, 2);
    else if (*scan->next == '(' && (scan->angles == 0 || scan->braces > 0))
        skip_parameters(scan);
    else if (*scan->next == ' ')
        take_blank(scan);
    else
        take_bracket(scan);
}

/* What a linker calls code that it or the compiler made for a function.  */
static void keep_phrase(struct scan *scan)
{
    static const char *const phrases[] = { "non-virtual thunk to ", "virtual thunk to ",
                                           "covariant return thunk to ", "TLS init function for ",
                                           "TLS wrapper function for " };

    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (is_next(scan, phrases[i]))
            keep(scan, strlen(phrases[i]));
    scan->start = scan->out->length;
}

bool codec_text_add_shorter_name(struct base_text *text, const char *name, size_t length,
                                 size_t arguments_max)
{
    struct scan scan = {
        .next = name, .left = length, .out = text, .arguments_max = arguments_max
    };
    size_t before = text->length;

    keep_phrase(&scan);
    while (scan.left > 0 && !scan.odd && !scan.no_memory)
        take_next(&scan);
    if (scan.no_memory)
        return false;
    /* Only names with parameters have return types: "block in Parser::run" is Ruby.  */
    scan.odd |= scan.had_type && !scan.had_parameters;
    if (!scan.odd && scan.angles + scan.braces == 0 && text->length > scan.start)
        return true;
    text->length = before;
    return base_text_append(text, name, length);
}

bool codec_text_add_short_name(struct base_text *text, const char *name, size_t length)
{
    return codec_text_add_shorter_name(text, name, length, CODEC_ARGUMENTS_MAX);
}

char *profile_short_name(const char *name, size_t length)
{
    struct base_text text = { .bytes = NULL };

    if (codec_text_add_short_name(&text, name, length) && base_text_append(&text, "", 1))
        return text.bytes;
    free(text.bytes);
    return NULL;
}
