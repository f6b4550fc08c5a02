/* Log text with symbolizer markup: libsymbolize/markup.c, docs/formats/symbolizer.md section 1.
 *
 * - The nodes of a line, put together, are the line.
 * - An address is where the last mapping that covers it says, as a list that is searched backwards
 *   finds it.
 * - What is remembered of a module is what its element said.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/markup.h>
#include "tests/fuzz/support.h"

/* ---- What should be known: everything, in the order in which it came ---- */

struct mapping {
    uint64_t start;
    uint64_t last; /* address in it */
    uint64_t vaddr;
    uint64_t id;
};

enum { MAPPINGS = 4096 };

static struct mapping mappings[MAPPINGS];
static size_t mapping_count;

static void remember(const struct sym_markup_node *node)
{
    if (mapping_count == MAPPINGS)
        return;
    mappings[mapping_count++] = (struct mapping){ .start = node->address,
                                                  .last = node->address + (node->size_bytes - 1),
                                                  .vaddr = node->vaddr,
                                                  .id = node->id };
}

static void check_address(const struct sym_markup_context *context, uint64_t address)
{
    struct sym_markup_place place = { .vaddr = 0 };
    bool found = sym_markup_find(context, address, &place);

    for (size_t i = mapping_count; i-- > 0;) {
        if (address < mappings[i].start || address > mappings[i].last)
            continue;
        HOLD(found && place.module->id == mappings[i].id);
        HOLD(place.vaddr == mappings[i].vaddr + (address - mappings[i].start));
        return;
    }
    HOLD(!found);
}

static void check_edges(const struct sym_markup_context *context, const struct mapping *mapping)
{
    check_address(context, mapping->start);
    check_address(context, mapping->start - 1);
    check_address(context, mapping->last);
    check_address(context, mapping->last + 1);
    check_address(context, mapping->start + (mapping->last - mapping->start) / 2);
}

/* ---- Nodes ---- */

static void check_module(const struct sym_markup_context *context,
                         const struct sym_markup_node *node, enum sym_markup_effect effect)
{
    const struct sym_markup_module *module = sym_markup_module(context, node->id);

    HOLD(module != NULL && module->id == node->id);
    if (effect != SYM_MARKUP_DONE && effect != SYM_MARKUP_REPEATED)
        return;
    HOLD(module->build_id_length == node->build_id_length);
    HOLD(memcmp(module->build_id, node->build_id, node->build_id_length) == 0);
    HOLD(module->name != NULL && strlen(module->name) <= node->name.length);
}

static void check_mapping(const struct sym_markup_node *node, enum sym_markup_effect effect)
{
    bool wraps = node->size_bytes == 0 || node->address + (node->size_bytes - 1) < node->address;

    HOLD(effect == SYM_MARKUP_DONE || effect == SYM_MARKUP_OVERLAP ||
         effect == SYM_MARKUP_REPEATED || effect == SYM_MARKUP_NO_MODULE ||
         effect == SYM_MARKUP_BAD_RANGE);
    HOLD(!wraps || effect == SYM_MARKUP_BAD_RANGE || effect == SYM_MARKUP_NO_MODULE);
    if (effect != SYM_MARKUP_NO_MODULE && effect != SYM_MARKUP_BAD_RANGE)
        remember(node);
}

static void check_node(struct sym_markup_context *context, const struct sym_markup_node *node)
{
    enum sym_markup_effect effect = sym_markup_apply(context, node);

    HOLD(node->build_id_length <= sizeof node->build_id);
    switch (node->kind) {
    case SYM_MARKUP_RESET:
        mapping_count = 0;
        break;
    case SYM_MARKUP_MODULE:
        check_module(context, node, effect);
        break;
    case SYM_MARKUP_MMAP:
        check_mapping(node, effect);
        break;
    case SYM_MARKUP_BT:
    case SYM_MARKUP_PC:
    case SYM_MARKUP_DATA:
        check_address(context, node->address);
        break;
    default:
        HOLD(effect == SYM_MARKUP_DONE);
        break;
    }
}

static void check_line(struct sym_markup_context *context, const char *line, size_t length)
{
    struct sym_markup_cursor cursor = { .next = line, .left = length };
    struct sym_markup_node node;
    size_t at = 0;

    while (sym_markup_next(&cursor, &node)) {
        HOLD(node.text.bytes == line + at && node.text.length > 0 &&
             node.text.length <= length - at);
        at += node.text.length;
        check_node(context, &node);
    }
    HOLD(at == length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_markup_context *context = sym_markup_context_new();
    const char *text = (const char *)data;
    const char *limit = text + size;

    HOLD(context != NULL);
    mapping_count = 0;
    while (text < limit) {
        const char *end = memchr(text, '\n', (size_t)(limit - text));
        size_t length = end ? (size_t)(end + 1 - text) : (size_t)(limit - text);

        check_line(context, text, length);
        text += length;
    }
    for (size_t i = 0; i < mapping_count && mapping_count < MAPPINGS; i++)
        check_edges(context, &mappings[i]);
    sym_markup_context_free(context);
    return 0;
}
