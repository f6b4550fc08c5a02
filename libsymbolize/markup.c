/* markup.c - symbolizer markup: lines to elements, elements to modules and mappings (section 1). */
#include <fxt/markup.h>
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "base/ranges.h"

enum {
    FIELDS_MAX = 8,      /* of an element with known tag; mmap has 7, the tag included */
    CONTEXT_MAX = 65536, /* modules, and mappings, of a context */
};

/* What a context may take.  Names are as long as lines, and a log need not end.  */
static const int64_t CONTEXT_ROOM = (int64_t)256 << 20;

/* ---- Fields ---- */

struct fields {
    struct sym_markup_text items[FIELDS_MAX]; /* the first is the tag */
    size_t count;
};

static bool is_text(struct sym_markup_text field, const char *text)
{
    size_t length = strlen(text);

    return field.length == length && memcmp(field.bytes, text, length) == 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

static bool parse_digits(struct sym_markup_text field, uint64_t base, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < field.length; i++) {
        uint64_t digit = (uint64_t)digit_of(field.bytes[i]);
        if (digit >= base || __builtin_mul_overflow(*out, base, out) ||
            __builtin_add_overflow(*out, digit, out))
            return false;
    }
    return field.length > 0;
}

static struct sym_markup_text without(struct sym_markup_text field, size_t count)
{
    return (struct sym_markup_text){ field.bytes + count, field.length - count };
}

static bool has_0x(struct sym_markup_text field)
{
    return field.length > 2 && field.bytes[0] == '0' && (field.bytes[1] | 32) == 'x';
}

/* %i: decimal, hexadecimal with 0x, octal with 0.  */
static bool parse_integer(struct sym_markup_text field, uint64_t *out)
{
    if (has_0x(field))
        return parse_digits(without(field, 2), 16, out);
    if (field.length > 1 && field.bytes[0] == '0')
        return parse_digits(without(field, 1), 8, out);
    return parse_digits(field, 10, out);
}

/* %p: 0x and hex digits; zeros alone may do without.  */
static bool parse_pointer(struct sym_markup_text field, uint64_t *out)
{
    if (has_0x(field))
        return parse_digits(without(field, 2), 16, out);
    return parse_digits(field, 10, out) && *out == 0;
}

/* %x.  Half a byte too few makes it no build ID, but the module is still one.  */
static bool parse_build_id(struct sym_markup_text field, struct sym_markup_node *out)
{
    for (size_t i = 0; i < field.length; i++)
        if (digit_of(field.bytes[i]) == 16)
            return false;
    if (field.length % 2 || field.length / 2 > sizeof out->build_id)
        return true;
    for (size_t i = 0; i < field.length; i += 2)
        out->build_id[i / 2] = (uint8_t)(digit_of(field.bytes[i]) << 4 |
                                         digit_of(field.bytes[i + 1]));
    out->build_id_length = field.length / 2;
    return true;
}

/* r, w, x, each at most once and in that order.  */
static bool is_access(struct sym_markup_text field)
{
    size_t next = 0;

    for (const char *letter = "rwx"; *letter && next < field.length; letter++)
        next += (field.bytes[next] | 32) == *letter;
    return next == field.length;
}

/* ---- Elements ---- */

static bool read_reset(const struct fields *fields, struct sym_markup_node *out)
{
    if (fields->count == 2 && is_text(fields->items[1], "end"))
        out->kind = SYM_MARKUP_RESET_END;
    return fields->count == 1 || (fields->count == 2 && (out->kind == SYM_MARKUP_RESET_END ||
                                                         is_text(fields->items[1], "begin")));
}

static bool read_module(const struct fields *fields, struct sym_markup_node *out)
{
    if (fields->count < 4 || !parse_integer(fields->items[1], &out->id))
        return false;
    out->name = fields->items[2];
    out->type = fields->items[3];
    if (!is_text(out->type, "elf"))
        return true;
    return fields->count == 5 && parse_build_id(fields->items[4], out);
}

static bool read_mmap(const struct fields *fields, struct sym_markup_node *out)
{
    if (fields->count != 7)
        return false;
    out->access = fields->items[5];
    return parse_pointer(fields->items[1], &out->address) &&
           parse_integer(fields->items[2], &out->size_bytes) && is_text(fields->items[3], "load") &&
           parse_integer(fields->items[4], &out->id) && is_access(out->access) &&
           parse_pointer(fields->items[6], &out->vaddr);
}

/* The address in field index, and :ra or :pc behind it.  Returns how many fields that makes; 0: it
 * is no address.  */
static size_t read_code_address(const struct fields *fields, size_t index,
                                struct sym_markup_node *out)
{
    out->is_return = true;
    if (fields->count <= index || !parse_pointer(fields->items[index], &out->address))
        return 0;
    if (fields->count == index + 1)
        return 1;
    if (is_text(fields->items[index + 1], "ra"))
        return 2;
    out->is_return = !is_text(fields->items[index + 1], "pc");
    return out->is_return ? 1 : 2;
}

/* "sp 0x3f540e65ef0", which Fuchsia's unwinder puts at the end of its frames.  */
static bool is_stack_pointer(struct sym_markup_text field)
{
    uint64_t address;

    return field.length > 3 && memcmp(field.bytes, "sp ", 3) == 0 && has_0x(without(field, 3)) &&
           parse_pointer(without(field, 3), &address);
}

static bool read_bt(const struct fields *fields, struct sym_markup_node *out)
{
    size_t used;

    if (fields->count < 2 || !parse_digits(fields->items[1], 10, &out->frame))
        return false;
    used = read_code_address(fields, 2, out);
    if (used && fields->count == used + 3 && is_stack_pointer(fields->items[used + 2]))
        out->message = fields->items[used++ + 2];
    return used && fields->count == used + 2;
}

static bool read_pc(const struct fields *fields, struct sym_markup_node *out)
{
    size_t used = read_code_address(fields, 1, out);

    return used && fields->count == used + 1;
}

static bool read_data(const struct fields *fields, struct sym_markup_node *out)
{
    return fields->count == 2 && parse_pointer(fields->items[1], &out->address);
}

static bool read_symbol(const struct fields *fields, struct sym_markup_node *out)
{
    out->name = fields->items[1];
    return fields->count == 2 && out->name.length;
}

static bool read_dumpfile(const struct fields *fields, struct sym_markup_node *out)
{
    out->type = fields->items[1];
    out->name = fields->items[2];
    return fields->count == 3;
}

static const struct {
    const char *tag;
    enum sym_markup_kind kind;
    bool (*read)(const struct fields *fields, struct sym_markup_node *out);
} elements[] = {
    { "bt", SYM_MARKUP_BT, read_bt },          { "pc", SYM_MARKUP_PC, read_pc },
    { "mmap", SYM_MARKUP_MMAP, read_mmap },    { "module", SYM_MARKUP_MODULE, read_module },
    { "data", SYM_MARKUP_DATA, read_data },    { "symbol", SYM_MARKUP_SYMBOL, read_symbol },
    { "reset", SYM_MARKUP_RESET, read_reset }, { "dumpfile", SYM_MARKUP_DUMPFILE, read_dumpfile },
};

/* Cuts the inside of an element at its colons; what is more than has room stays with the last.  */
static void split(const char *start, const char *end, struct fields *out)
{
    *out = (struct fields){ .count = 0 };
    for (;;) {
        const char *colon = memchr(start, ':', (size_t)(end - start));
        if (!colon || out->count == FIELDS_MAX - 1)
            colon = end;
        out->items[out->count++] = (struct sym_markup_text){ start, (size_t)(colon - start) };
        if (colon == end)
            return;
        start = colon + 1;
    }
}

/* Where the inside of an element that begins at next ends; NULL: it is none.  An element does not
 * reach into another, so that each byte is looked at for one of them only.  */
static const char *end_of_element(const char *next, const char *limit)
{
    for (const char *at = next + 3; limit - at >= 3; at++) {
        if (at[0] == '}')
            return at[1] == '}' && at[2] == '}' ? at : NULL;
        if (memcmp(at, "{{{", 3) == 0 || at[0] == '\n')
            return NULL;
    }
    return NULL;
}

/* The element that begins at next, which is "{{{", if it is one.  */
static bool read_element(const char *next, const char *limit, struct sym_markup_node *out)
{
    const char *end = end_of_element(next, limit);
    struct fields fields;

    if (!end)
        return false;
    split(next + 3, end, &fields);
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        if (!is_text(fields.items[0], elements[i].tag))
            continue;
        *out = (struct sym_markup_node){ .kind = elements[i].kind };
        if (!elements[i].read(&fields, out))
            *out = (struct sym_markup_node){ .kind = SYM_MARKUP_MALFORMED };
        out->text = (struct sym_markup_text){ next, (size_t)(end + 3 - next) };
        return true;
    }
    return false; /* an unknown tag, or hexdict */
}

static bool read_sgr(const char *next, const char *limit, struct sym_markup_node *out)
{
    size_t left = (size_t)(limit - next), length = 4;

    if (left < 4 || next[1] != '[')
        return false;
    if (next[2] == '3' && left > 4 && next[3] >= '0' && next[3] <= '7')
        length = 5;
    else if (next[2] != '0' && next[2] != '1')
        return false;
    if (next[length - 1] != 'm')
        return false;
    *out = (struct sym_markup_node){ .kind = SYM_MARKUP_SGR, .text = { next, length } };
    return true;
}

/* Whatever begins at next but text.  */
static bool read_special(const char *next, const char *limit, struct sym_markup_node *out)
{
    if (next[0] == '\033')
        return read_sgr(next, limit, out);
    return next[0] == '{' && limit - next >= 6 && memcmp(next, "{{{", 3) == 0 &&
           read_element(next, limit, out);
}

bool sym_markup_next(struct sym_markup_cursor *cursor, struct sym_markup_node *out)
{
    const char *start = cursor->next, *limit = start + cursor->left, *next = start;

    if (cursor->left == 0)
        return false;
    while (next < limit && !read_special(next, limit, out))
        next++;
    if (next > start)
        *out = (struct sym_markup_node){ .kind = SYM_MARKUP_TEXT,
                                         .text = { start, (size_t)(next - start) } };
    cursor->next += out->text.length;
    cursor->left -= out->text.length;
    return true;
}

/* ---- Context ---- */

struct sym_markup_context {
    struct sym_markup_module **modules; /* by ID */
    size_t module_count, module_capacity;
    struct base_ranges mappings; /* owner: the ID of a module; place: a vaddr */
    struct base_account account; /* of all of it */
};

struct sym_markup_context *sym_markup_context_new(void)
{
    struct sym_markup_context *context = calloc(1, sizeof *context);

    if (!context)
        return NULL;
    context->mappings.limit = CONTEXT_MAX;
    atomic_store(&context->account.limit, CONTEXT_ROOM);
    return context;
}

void sym_markup_context_lift(struct sym_markup_context *context)
{
    atomic_store(&context->account.limit, INT64_MAX);
}

static void reset(struct sym_markup_context *context)
{
    for (size_t i = 0; i < context->module_count; i++) {
        base_free(context->modules[i]->name);
        base_free(context->modules[i]);
    }
    context->module_count = 0;
    context->mappings.count = 0;
}

void sym_markup_context_free(struct sym_markup_context *context)
{
    if (!context)
        return;
    reset(context);
    base_free(context->modules);
    base_ranges_release(&context->mappings);
    free(context);
}

/* The first module with this ID or a higher one.  */
static size_t module_place(const struct sym_markup_context *context, uint64_t id)
{
    size_t low = 0, high = context->module_count;

    BASE_BISECT(low, high, i, context->modules[i]->id < id);
    return low;
}

const struct sym_markup_module *sym_markup_module(const struct sym_markup_context *context,
                                                  uint64_t id)
{
    size_t place = module_place(context, id);

    return place < context->module_count && context->modules[place]->id == id
               ? context->modules[place]
               : NULL;
}

static bool same_module(const struct sym_markup_module *module, const struct sym_markup_node *node)
{
    return is_text(node->name, module->name) && module->is_elf == is_text(node->type, "elf") &&
           module->build_id_length == node->build_id_length &&
           memcmp(module->build_id, node->build_id, node->build_id_length) == 0;
}

static struct sym_markup_module *module_new(const struct sym_markup_node *node)
{
    struct sym_markup_module *module = base_calloc(1, sizeof *module);

    if (!module)
        return NULL;
    module->id = node->id;
    module->is_elf = is_text(node->type, "elf");
    module->build_id_length = node->build_id_length;
    memcpy(module->build_id, node->build_id, node->build_id_length);
    module->name = base_malloc(node->name.length + 1);
    if (!module->name) {
        base_free(module);
        return NULL;
    }
    memcpy(module->name, node->name.bytes, node->name.length);
    module->name[node->name.length] = '\0';
    return module;
}

static enum sym_markup_effect add_module(struct sym_markup_context *context,
                                         const struct sym_markup_node *node)
{
    size_t place = module_place(context, node->id);

    if (place < context->module_count && context->modules[place]->id == node->id)
        return same_module(context->modules[place], node) ? SYM_MARKUP_REPEATED
                                                          : SYM_MARKUP_CONFLICT;
    if (context->module_count == CONTEXT_MAX)
        return SYM_MARKUP_TOO_MANY;
    if (!base_make_room(&context->modules, &context->module_capacity, context->module_count + 1,
                        sizeof(struct sym_markup_module *)))
        return SYM_MARKUP_NO_MEMORY;
    struct sym_markup_module *module = module_new(node);
    if (!module)
        return SYM_MARKUP_NO_MEMORY;
    memmove(context->modules + place + 1, context->modules + place,
            (context->module_count - place) * sizeof(struct sym_markup_module *));
    context->modules[place] = module;
    context->module_count++;
    return SYM_MARKUP_DONE;
}

/* Whether just this mapping is there.  */
static bool has_mapping(const struct base_ranges *mappings, const struct base_range *mapping)
{
    const struct base_range *there = base_ranges_find(mappings, mapping->start);

    return there && there->start == mapping->start && there->last == mapping->last &&
           base_ranges_agree(there, mapping);
}

static enum sym_markup_effect add_mapping(struct sym_markup_context *context,
                                          const struct sym_markup_node *node)
{
    struct base_range added = { node->address, .place = node->vaddr, .owner = node->id };

    if (!sym_markup_module(context, node->id))
        return SYM_MARKUP_NO_MODULE;
    if (node->size_bytes == 0 ||
        __builtin_add_overflow(node->address, node->size_bytes - 1, &added.last))
        return SYM_MARKUP_BAD_RANGE;
    if (has_mapping(&context->mappings, &added))
        return SYM_MARKUP_REPEATED;
    switch (base_ranges_add(&context->mappings, &added)) {
    case BASE_RANGES_ADDED:
        return SYM_MARKUP_DONE;
    case BASE_RANGES_FULL:
        return SYM_MARKUP_TOO_MANY;
    case BASE_RANGES_NO_MEMORY:
        return SYM_MARKUP_NO_MEMORY;
    default:
        return SYM_MARKUP_OVERLAP;
    }
}

static enum sym_markup_effect apply(struct sym_markup_context *context,
                                    const struct sym_markup_node *node)
{
    switch (node->kind) {
    case SYM_MARKUP_RESET:
        reset(context);
        return SYM_MARKUP_DONE;
    case SYM_MARKUP_MODULE:
        return add_module(context, node);
    case SYM_MARKUP_MMAP:
        return add_mapping(context, node);
    default:
        return SYM_MARKUP_DONE;
    }
}

enum sym_markup_effect sym_markup_apply(struct sym_markup_context *context,
                                        const struct sym_markup_node *node)
{
    struct base_account *before = base_account_enter(&context->account);
    enum sym_markup_effect effect = apply(context, node);

    (void)base_account_enter(before);
    if (effect == SYM_MARKUP_NO_MEMORY && atomic_exchange(&context->account.exceeded, false))
        return SYM_MARKUP_TOO_LARGE;
    return effect;
}

bool sym_markup_find(const struct sym_markup_context *context, uint64_t address,
                     struct sym_markup_place *out)
{
    const struct base_range *mapping = base_ranges_find(&context->mappings, address);

    if (!mapping)
        return false;
    *out = (struct sym_markup_place){ .module = sym_markup_module(context, mapping->owner),
                                      .vaddr = mapping->place + (address - mapping->start) };
    return true;
}
