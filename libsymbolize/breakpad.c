/* breakpad.c - the records of Breakpad symbol files (section 7).  */
#include "libsymbolize/breakpad.h"
#include "base/bisect.h"
#include "base/grow.h"
#include "libsymbolize/text_fields.h"
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_LINES_MAX = 16, /* in which MODULE and INFO records are looked for */
    HEADER_BYTES_MAX = 64 << 10,
    HASHED_BYTES = 4096, /* of .text */
    LEVELS_MAX = 64,     /* of inlined calls; deeper ones are left out */
};

/* ---- Identity ---- */

static bool take_bytes(struct sym_bytes digits, uint8_t *out, size_t count)
{
    if (digits.size < 2 * count)
        return false;
    for (size_t i = 0; i < count; i++) {
        int high = sym_hex_digit(digits.data[2 * i]), low = sym_hex_digit(digits.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* The first three fields of a GUID are numbers, and the record has them as big-endian ones.  */
static void swap_guid(uint8_t id[SYM_BREAKPAD_ID])
{
    static const uint8_t order[8] = { 3, 2, 1, 0, 5, 4, 7, 6 };
    uint8_t swapped[8];

    for (size_t i = 0; i < 8; i++)
        swapped[i] = id[order[i]];
    memcpy(id, swapped, 8);
}

void sym_breakpad_shorten(const uint8_t *id, size_t length, uint8_t out[SYM_BREAKPAD_ID])
{
    memset(out, 0, SYM_BREAKPAD_ID);
    memcpy(out, id, length < SYM_BREAKPAD_ID ? length : SYM_BREAKPAD_ID);
}

bool sym_breakpad_hash_text(const struct sym_object *object, uint8_t out[SYM_BREAKPAD_ID])
{
    const struct sym_elf_section *text = sym_object_by_name(object, ".text");
    struct sym_bytes bytes = { NULL, 0 };

    if (text && text->type == SHT_PROGBITS)
        bytes = sym_object_raw(object, text);
    memset(out, 0, SYM_BREAKPAD_ID);
    for (size_t i = 0; i < bytes.size && i < HASHED_BYTES; i++)
        out[i % SYM_BREAKPAD_ID] ^= bytes.data[i];
    return bytes.size != 0;
}

/* "MODULE SYSTEM MACHINE ID NAME".  */
static bool read_module(struct sym_bytes line, uint8_t id[SYM_BREAKPAD_ID], struct sym_bytes *name)
{
    if (!sym_begins_with(line, "MODULE "))
        return false;
    (void)sym_take_word(&line);
    struct sym_bytes system = sym_take_word(&line);
    (void)sym_take_word(&line);
    struct sym_bytes digits = sym_take_word(&line);
    sym_skip_blanks(&line);
    *name = line;
    if (sym_begins_with(system, "mac") || sym_begins_with(system, "windows") ||
        !take_bytes(digits, id, SYM_BREAKPAD_ID))
        return false;
    swap_guid(id);
    return true;
}

/* "INFO CODE_ID ID [NAME]" has all of the build ID.  It counts if it goes with the id of the
 * module.  */
static void read_code_id(struct sym_object *object, struct sym_bytes line,
                         const uint8_t id[SYM_BREAKPAD_ID])
{
    uint8_t whole[SYM_BUILD_ID_MAX], start[SYM_BREAKPAD_ID];

    if (!sym_begins_with(line, "INFO CODE_ID "))
        return;
    (void)sym_take_word(&line);
    (void)sym_take_word(&line);
    struct sym_bytes digits = sym_take_word(&line);
    size_t length = digits.size / 2;
    if (digits.size % 2 || length == 0 || length > sizeof whole ||
        !take_bytes(digits, whole, length))
        return;
    sym_breakpad_shorten(whole, length, start);
    if (memcmp(start, id, sizeof start) != 0)
        return;
    memcpy(object->build_id, whole, length);
    object->build_id_length = length;
    object->partial_id = false;
}

enum sym_status sym_breakpad_read_facts(struct sym_object *object)
{
    struct sym_bytes text = object->image, line, name;
    uint8_t id[SYM_BREAKPAD_ID];

    if (text.size > HEADER_BYTES_MAX)
        text.size = HEADER_BYTES_MAX;
    if (!sym_take_line(&text, &line) || !read_module(line, id, &name))
        return SYM_NOT_FOUND;
    object->breakpad = true;
    memcpy(object->build_id, id, sizeof id);
    object->build_id_length = sizeof id;
    object->partial_id = true;
    for (size_t i = 0; i < HEADER_LINES_MAX && sym_take_line(&text, &line); i++)
        read_code_id(object, line, id);
    object->module_name = sym_format("%.*s", (int)name.size, (const char *)name.data);
    return object->module_name ? SYM_OK : SYM_NO_MEMORY;
}

/* ---- Tables ---- */

/* "FILE NUMBER NAME", "INLINE_ORIGIN NUMBER NAME".  */
static enum sym_status add_text(const struct sym_breakpad *breakpad,
                                struct sym_breakpad_texts *texts, struct sym_bytes line)
{
    struct sym_breakpad_text text;

    (void)sym_take_word(&line);
    if (!sym_word_decimal(sym_take_word(&line), &text.number))
        return SYM_OK;
    sym_skip_blanks(&line);
    text.length = (uint32_t)(line.size < UINT16_MAX ? line.size : UINT16_MAX);
    text.offset = (uint64_t)(line.data - breakpad->image.data);
    struct sym_breakpad_text *items = base_grow(texts->items, &texts->capacity, texts->count + 1,
                                                sizeof *items);
    if (!items)
        return SYM_NO_MEMORY;
    texts->items = items;
    items[texts->count++] = text;
    return SYM_OK;
}

/* "FUNC [m] ADDRESS SIZE PARAMETERS NAME", "PUBLIC [m] ADDRESS PARAMETERS NAME".  *name is the rest
 * of the line.  */
static bool read_function(struct sym_bytes line, struct sym_breakpad_function *out,
                          struct sym_bytes *name)
{
    bool sized = sym_begins_with(line, "FUNC ");
    uint64_t size = 0;

    (void)sym_take_word(&line);
    struct sym_bytes word = sym_take_word(&line);
    if (word.size == 1 && word.data[0] == 'm')
        word = sym_take_word(&line);
    if (!sym_word_hex(word, &out->start) || (sized && !sym_word_hex(sym_take_word(&line), &size)) ||
        (sized && (size == 0 || __builtin_add_overflow(out->start, size, &out->limit))))
        return false;
    if (!sized)
        out->limit = 0;
    (void)sym_take_word(&line);
    sym_skip_blanks(&line);
    *name = line;
    return true;
}

static enum sym_status add_function(struct sym_breakpad *breakpad, struct sym_bytes line)
{
    struct sym_breakpad_function function = { .offset = (uint64_t)(line.data -
                                                                   breakpad->image.data) };
    struct sym_bytes name;

    if (!read_function(line, &function, &name))
        return SYM_OK;
    struct sym_breakpad_function *items = base_grow(breakpad->functions,
                                                    &breakpad->function_capacity,
                                                    breakpad->function_count + 1, sizeof *items);
    if (!items)
        return SYM_NO_MEMORY;
    breakpad->functions = items;
    items[breakpad->function_count++] = function;
    return SYM_OK;
}

/* Lines of code, the most of all records, begin with a digit or a small letter.  */
static enum sym_status read_record(struct sym_breakpad *breakpad, struct sym_bytes line)
{
    if (sym_begins_with(line, "FUNC ") || sym_begins_with(line, "PUBLIC "))
        return add_function(breakpad, line);
    if (sym_begins_with(line, "FILE "))
        return add_text(breakpad, &breakpad->files, line);
    if (sym_begins_with(line, "INLINE_ORIGIN "))
        return add_text(breakpad, &breakpad->origins, line);
    return SYM_OK;
}

/* Functions come before what is only a name for the same address, then the first in the file.  */
static int compare_functions(const void *a, const void *b)
{
    const struct sym_breakpad_function *left = a, *right = b;

    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (!left->limit != !right->limit)
        return left->limit ? -1 : 1;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* One function for each start.  A name inside a function stands for nothing.  */
static void settle_functions(struct sym_breakpad *breakpad)
{
    struct sym_breakpad_function *items = breakpad->functions;
    uint64_t covered = 0;
    size_t kept = 0;

    if (breakpad->function_count)
        qsort(items, breakpad->function_count, sizeof *items, compare_functions);
    for (size_t i = 0; i < breakpad->function_count; i++) {
        bool again = kept && items[kept - 1].start == items[i].start;
        if (again || (!items[i].limit && items[i].start < covered))
            continue;
        if (items[i].limit > covered)
            covered = items[i].limit;
        items[kept++] = items[i];
    }
    breakpad->function_count = kept;
}

static int compare_texts(const void *a, const void *b)
{
    const struct sym_breakpad_text *left = a, *right = b;

    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

static void sort_texts(struct sym_breakpad_texts *texts)
{
    if (texts->count)
        qsort(texts->items, texts->count, sizeof *texts->items, compare_texts);
}

enum sym_status sym_breakpad_open(struct sym_breakpad *breakpad, struct sym_bytes image,
                                  uint64_t load_vaddr)
{
    struct sym_bytes text = image, line;
    enum sym_status status = SYM_OK;

    *breakpad =
        (struct sym_breakpad){ .image = image, .load_vaddr = load_vaddr, .current = SIZE_MAX };
    while (!status && sym_take_line(&text, &line))
        if (line.size && line.data[0] >= 'A' && line.data[0] <= 'Z')
            status = read_record(breakpad, line);
    if (status) {
        sym_breakpad_close(breakpad);
        return status;
    }
    settle_functions(breakpad);
    sort_texts(&breakpad->files);
    sort_texts(&breakpad->origins);
    breakpad->ready = true;
    return SYM_OK;
}

void sym_breakpad_close(struct sym_breakpad *breakpad)
{
    base_free(breakpad->functions);
    base_free(breakpad->files.items);
    base_free(breakpad->origins.items);
    base_free(breakpad->pieces);
    *breakpad = (struct sym_breakpad){ .ready = false };
}

struct sym_bytes sym_breakpad_text(const struct sym_breakpad *breakpad,
                                   const struct sym_breakpad_texts *texts, uint32_t number)
{
    size_t low = 0, high = texts->count;

    /* The first with that number.  */
    BASE_BISECT(low, high, i, texts->items[i].number < number);
    if (low == texts->count || texts->items[low].number != number)
        return (struct sym_bytes){ NULL, 0 };
    return (struct sym_bytes){ breakpad->image.data + texts->items[low].offset,
                               texts->items[low].length };
}

/* ---- One function ---- */

/* The text from the record of a function on.  */
static struct sym_bytes text_of(const struct sym_breakpad *breakpad, size_t function)
{
    size_t offset = (size_t)breakpad->functions[function].offset;

    return (struct sym_bytes){ breakpad->image.data + offset, breakpad->image.size - offset };
}

struct sym_bytes sym_breakpad_name(const struct sym_breakpad *breakpad, size_t function)
{
    struct sym_bytes text = text_of(breakpad, function), line, name = { NULL, 0 };
    struct sym_breakpad_function ignored;

    if (!sym_take_line(&text, &line) || !read_function(line, &ignored, &name))
        return (struct sym_bytes){ NULL, 0 }; /* the file changed */
    if (name.size > UINT16_MAX)
        name.size = UINT16_MAX;
    return name;
}

static enum sym_status add_piece(struct sym_breakpad *breakpad, struct sym_breakpad_piece piece,
                                 uint64_t size)
{
    if (size == 0 || __builtin_add_overflow(piece.start, size, &piece.limit))
        return SYM_OK;
    struct sym_breakpad_piece *items = base_grow(breakpad->pieces, &breakpad->piece_capacity,
                                                 breakpad->piece_count + 1, sizeof *items);
    if (!items)
        return SYM_NO_MEMORY;
    breakpad->pieces = items;
    items[breakpad->piece_count++] = piece;
    return SYM_OK;
}

/* "ADDRESS SIZE LINE FILE".  */
static enum sym_status add_line(struct sym_breakpad *breakpad, struct sym_bytes line)
{
    struct sym_breakpad_piece piece = { .level = 0 };
    uint64_t size;

    if (!sym_word_hex(sym_take_word(&line), &piece.start) ||
        !sym_word_hex(sym_take_word(&line), &size) ||
        !sym_word_decimal(sym_take_word(&line), &piece.line) ||
        !sym_word_decimal(sym_take_word(&line), &piece.file))
        return SYM_OK;
    return add_piece(breakpad, piece, size);
}

static bool is_odd(struct sym_bytes line)
{
    size_t count = 0;

    while (sym_take_word(&line).size)
        count++;
    return count % 2;
}

/* "INLINE LEVEL LINE FILE ORIGIN [ADDRESS SIZE]...": the call's line and file.  The form of 2021
 * that lacks the file has an even number of words.  */
static enum sym_status add_calls(struct sym_breakpad *breakpad, struct sym_bytes line)
{
    struct sym_breakpad_piece piece;
    enum sym_status status = SYM_OK;
    uint64_t size;

    if (!is_odd(line))
        return SYM_OK;
    (void)sym_take_word(&line);
    if (!sym_word_decimal(sym_take_word(&line), &piece.level) || piece.level++ >= LEVELS_MAX ||
        !sym_word_decimal(sym_take_word(&line), &piece.line) ||
        !sym_word_decimal(sym_take_word(&line), &piece.file) ||
        !sym_word_decimal(sym_take_word(&line), &piece.origin))
        return SYM_OK;
    while (!status && sym_word_hex(sym_take_word(&line), &piece.start) &&
           sym_word_hex(sym_take_word(&line), &size))
        status = add_piece(breakpad, piece, size);
    return status;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct sym_breakpad_piece *left = a, *right = b;

    if (left->level != right->level)
        return left->level < right->level ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->limit != right->limit)
        return left->limit < right->limit ? -1 : 1;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    if (left->file != right->file)
        return left->file < right->file ? -1 : 1;
    return (left->origin > right->origin) - (left->origin < right->origin);
}

enum sym_status sym_breakpad_read_pieces(struct sym_breakpad *breakpad, size_t function)
{
    struct sym_bytes text = text_of(breakpad, function), line;
    enum sym_status status = SYM_OK;

    if (breakpad->current == function)
        return SYM_OK;
    breakpad->current = SIZE_MAX;
    breakpad->piece_count = 0;
    (void)sym_take_line(&text, &line);
    while (!status && breakpad->functions[function].limit && sym_take_line(&text, &line)) {
        if (sym_begins_with(line, "INLINE "))
            status = add_calls(breakpad, line);
        else if (line.size && (line.data[0] < 'A' || line.data[0] > 'Z'))
            status = add_line(breakpad, line);
        else
            break;
    }
    if (breakpad->piece_count)
        qsort(breakpad->pieces, breakpad->piece_count, sizeof *breakpad->pieces, compare_pieces);
    if (!status)
        breakpad->current = function;
    return status;
}
