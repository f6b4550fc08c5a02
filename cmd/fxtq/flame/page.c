/* The tree behind the page: rows are merged as they come.  */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/fxtq/flame/internal.h"

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint64_t hash = (((uint64_t)a << 32) | b) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(hash >> 32);
}

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return mix(hash, 0);
}

/* Room for one more item; what grows is all zero.  */
static void *grown(void *items, size_t count, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? *capacity * 2 : 64;
    char *larger;

    if (count < *capacity)
        return items;
    larger = cli_allocate(wanted, size);
    if (items)
        memcpy(larger, items, count * size);
    free(items);
    *capacity = wanted;
    return larger;
}

static uint32_t item_hash(const struct flame_page *page, const struct table *table, size_t item)
{
    if (table == &page->node_table)
        return mix(page->nodes[item].parent, page->nodes[item].name);
    if (table == &page->name_table)
        return mix(page->names[item].function, page->names[item].module);
    return hash_text(page->texts[item]);
}

/* Twice the slots when half of them are taken by count items.  */
static void table_make_room(const struct flame_page *page, struct table *table, size_t count)
{
    size_t size = table->slots ? (table->mask + 1) * 2 : 128;

    if (table->slots && count * 2 < table->mask + 1)
        return;
    free(table->slots);
    table->slots = cli_allocate(size, sizeof *table->slots);
    table->mask = size - 1;
    for (size_t i = 0; i < count; i++) {
        size_t slot = item_hash(page, table, i) & table->mask;

        while (table->slots[slot])
            slot = (slot + 1) & table->mask;
        table->slots[slot] = (uint32_t)i + 1;
    }
}

/* The slot of a text, or the free one where it belongs.  */
static size_t text_slot(const struct flame_page *page, const char *text)
{
    const struct table *table = &page->text_table;
    size_t slot = hash_text(text) & table->mask;

    while (table->slots[slot] && strcmp(page->texts[table->slots[slot] - 1], text) != 0)
        slot = (slot + 1) & table->mask;
    return slot;
}

uint32_t flame_page_text(struct flame_page *page, const char *text)
{
    struct table *table = &page->text_table;
    size_t slot;

    table_make_room(page, table, page->text_count);
    slot = text_slot(page, text);
    if (table->slots[slot])
        return table->slots[slot] - 1;
    page->texts = grown(page->texts, page->text_count, &page->text_capacity, sizeof *page->texts);
    page->texts[page->text_count] = cli_join(text, "");
    table->slots[slot] = (uint32_t)++page->text_count;
    return (uint32_t)page->text_count - 1;
}

static size_t name_slot(const struct flame_page *page, uint32_t function, uint32_t module)
{
    const struct table *table = &page->name_table;
    size_t slot = mix(function, module) & table->mask;

    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        const struct name *other = &page->names[table->slots[slot] - 1];

        if (other->function == function && other->module == module)
            break;
    }
    return slot;
}

static uint32_t find_name(struct flame_page *page, const char *function, const char *module)
{
    struct table *table = &page->name_table;
    struct name name = { .function = flame_page_text(page, function) };
    size_t slot;

    name.module = flame_page_text(page, module);
    table_make_room(page, table, page->name_count);
    slot = name_slot(page, name.function, name.module);
    if (table->slots[slot])
        return table->slots[slot] - 1;
    page->names = grown(page->names, page->name_count, &page->name_capacity, sizeof *page->names);
    page->names[page->name_count] = name;
    table->slots[slot] = (uint32_t)++page->name_count;
    return (uint32_t)page->name_count - 1;
}

static uint32_t add_node(struct flame_page *page, uint32_t parent, uint32_t name)
{
    size_t capacity = page->node_capacity;

    page->values = grown(page->values, page->node_count, &capacity,
                         page->columns * sizeof *page->values);
    page->nodes = grown(page->nodes, page->node_count, &page->node_capacity, sizeof *page->nodes);
    page->nodes[page->node_count] = (struct node){ parent, name };
    return (uint32_t)page->node_count++;
}

static uint32_t find_node(struct flame_page *page, uint32_t parent, uint32_t name)
{
    struct table *table = &page->node_table;
    size_t slot;

    table_make_room(page, table, page->node_count);
    slot = mix(parent, name) & table->mask;
    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        const struct node *other = &page->nodes[table->slots[slot] - 1];

        if (other->parent == parent && other->name == name)
            return table->slots[slot] - 1;
    }
    table->slots[slot] = (uint32_t)page->node_count + 1;
    return add_node(page, parent, name);
}

struct flame_page *flame_page_open(size_t columns)
{
    struct flame_page *page = cli_allocate(1, sizeof *page);

    page->columns = columns;
    (void)add_node(page, 0, find_name(page, "", ""));
    return page;
}

void flame_page_begin(struct flame_page *page, size_t column)
{
    page->column = column;
    page->level = 0;
}

bool flame_page_row(struct flame_page *page, uint64_t level, const char *function,
                    const char *module, double self)
{
    if (level > page->level + 1)
        return false;
    page->level = level;
    if (level == 0) {
        page->values[page->column] += self;
        return true;
    }
    if (level <= LEVELS_MOST) {
        uint32_t name = find_name(page, *function ? function : "[unknown]", module);

        page->names[name].sides |= 1u << (page->column & 1);
        page->path[level] = find_node(page, page->path[level - 1], name);
    } else {
        level = LEVELS_MOST;
    }
    page->values[page->path[level] * page->columns + page->column] += self;
    return true;
}

void flame_page_place(struct flame_page *page, const char *function, const char *module,
                      const char *place)
{
    uint32_t known = page->text_table.slots[text_slot(page, function)];
    uint32_t known_module = page->text_table.slots[text_slot(page, module)];
    uint32_t name;

    if (!known || !known_module)
        return;
    name = page->name_table.slots[name_slot(page, known - 1, known_module - 1)];
    if (name && page->names[name - 1].place == 0)
        page->names[name - 1].place = flame_page_text(page, place);
}

static void release(struct flame_page *page)
{
    for (size_t i = 0; i < page->text_count; i++)
        free(page->texts[i]);
    free(page->texts);
    free(page->names);
    free(page->nodes);
    free(page->values);
    free(page->node_table.slots);
    free(page->name_table.slots);
    free(page->text_table.slots);
}

/* ---- The same functions of two sides ---- */

/* The modules, by their base names, that have a function on one side.  */
struct owners {
    const char *first; /* NULL: none */
    bool several;
};

static void add_owner(struct owners *owners, const char *module)
{
    owners->several |= owners->first && strcmp(owners->first, module) != 0;
    owners->first = module;
}

/* [2 * text + side] of the texts that are functions.  */
static struct owners *find_owners(const struct flame_page *page)
{
    struct owners *owners = cli_allocate(2 * page->text_count, sizeof *owners);

    for (size_t i = 0; i < page->name_count; i++)
        for (unsigned side = 0; side < 2; side++)
            if (page->names[i].sides >> side & 1)
                add_owner(&owners[2 * page->names[i].function + side],
                          base_name(page->texts[page->names[i].module]));
    return owners;
}

static uint32_t move_name(const struct flame_page *page, const struct owners *owners,
                          uint32_t number, struct flame_page *to)
{
    const struct name *name = &page->names[number];
    const struct owners *own = &owners[(size_t)2 * name->function];
    const char *module = base_name(page->texts[name->module]);
    uint32_t moved;

    if (own[0].first && own[1].first && !own[0].several && !own[1].several)
        module = own[1].first;
    moved = find_name(to, page->texts[name->function], module);
    if (to->names[moved].place == 0 || name->sides & 2)
        to->names[moved].place = flame_page_text(to, page->texts[name->place]);
    return moved;
}

void flame_page_match(struct flame_page *page)
{
    struct flame_page *matched = flame_page_open(page->columns);
    struct owners *owners = find_owners(page);
    uint32_t *moved = cli_allocate(page->node_count, sizeof *moved);

    for (size_t i = 0; i < page->node_count; i++) {
        const struct node *node = &page->nodes[i];

        if (i > 0)
            moved[i] = find_node(matched, moved[node->parent],
                                 move_name(page, owners, node->name, matched));
        for (size_t column = 0; column < page->columns; column++)
            matched->values[moved[i] * page->columns + column] +=
                page->values[i * page->columns + column];
    }
    free(moved);
    free(owners);
    release(page);
    *page = *matched;
    free(matched);
}

size_t flame_page_nodes(const struct flame_page *page)
{
    return page->node_count;
}

void flame_page_close(struct flame_page *page)
{
    if (!page)
        return;
    release(page);
    free(page);
}
