/* The tree behind the page: rows are merged as they come.  */
#include <stdlib.h>
#include <string.h>

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

static uint32_t find_text(struct flame_page *page, const char *text)
{
    struct table *table = &page->text_table;
    size_t slot;

    table_make_room(page, table, page->text_count);
    slot = hash_text(text) & table->mask;
    for (; table->slots[slot]; slot = (slot + 1) & table->mask)
        if (strcmp(page->texts[table->slots[slot] - 1], text) == 0)
            return table->slots[slot] - 1;
    page->texts = grown(page->texts, page->text_count, &page->text_capacity, sizeof *page->texts);
    page->texts[page->text_count] = cli_join(text, "");
    table->slots[slot] = (uint32_t)++page->text_count;
    return (uint32_t)page->text_count - 1;
}

static uint32_t find_name(struct flame_page *page, const char *function, const char *module)
{
    struct table *table = &page->name_table;
    struct name name;
    size_t slot;

    name.function = find_text(page, function);
    name.module = find_text(page, module);
    table_make_room(page, table, page->name_count);
    slot = mix(name.function, name.module) & table->mask;
    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        const struct name *other = &page->names[table->slots[slot] - 1];

        if (other->function == name.function && other->module == name.module)
            return table->slots[slot] - 1;
    }
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
    if (level <= LEVELS_MOST)
        page->path[level] = find_node(page, page->path[level - 1],
                                      find_name(page, *function ? function : "[unknown]", module));
    else
        level = LEVELS_MOST;
    page->values[page->path[level] * page->columns + page->column] += self;
    return true;
}

size_t flame_page_nodes(const struct flame_page *page)
{
    return page->node_count;
}

void flame_page_close(struct flame_page *page)
{
    if (!page)
        return;
    for (size_t i = 0; i < page->text_count; i++)
        free(page->texts[i]);
    free(page->texts);
    free(page->names);
    free(page->nodes);
    free(page->values);
    free(page->node_table.slots);
    free(page->name_table.slots);
    free(page->text_table.slots);
    free(page);
}
