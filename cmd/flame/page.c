/* The tree behind the page: rows are merged as they come.  */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/flame/page_tree.h"

/* Numbers count from 1 in base/, from 0 here.  */
static uint32_t checked(uint32_t number)
{
    if (number == 0)
        cli_out_of_memory();
    return number - 1;
}

uint32_t flame_page_text(struct flame_page *page, const char *text)
{
    return checked(base_texts_add(&page->texts, text, strlen(text), NULL));
}

static uint32_t find_name(struct flame_page *page, const char *function, const char *module)
{
    struct name name = { .function = flame_page_text(page, function) };
    bool is_new;
    uint32_t number;

    name.module = flame_page_text(page, module);
    number = checked(base_pairs_add(&page->name_keys, name.function, name.module, &is_new));
    if (!is_new)
        return number;
    page->names = cli_grow(page->names, &page->name_capacity, page->name_keys.count,
                           sizeof *page->names);
    page->names[number] = name;
    return number;
}

static uint32_t find_node(struct flame_page *page, uint32_t parent, uint32_t name)
{
    bool is_new;
    uint32_t number = checked(base_pairs_add(&page->nodes, parent, name, &is_new));

    if (!is_new)
        return number;
    page->values = cli_grow(page->values, &page->value_capacity, page->nodes.count * page->columns,
                            sizeof *page->values);
    for (size_t i = 0; i < page->columns; i++)
        page->values[number * page->columns + i] = 0;
    page->depths = cli_grow(page->depths, &page->depth_capacity, page->nodes.count,
                            sizeof *page->depths);
    page->depths[number] = number == 0 ? 0 : (uint16_t)(page->depths[parent] + 1);
    return number;
}

struct flame_page *flame_page_open(size_t columns)
{
    struct flame_page *page = cli_allocate(1, sizeof *page);

    page->columns = columns;
    (void)find_node(page, 0, find_name(page, "", "")); /* the root, which no row can repeat */
    return page;
}

void flame_page_begin(struct flame_page *page, size_t column)
{
    page->column = column;
    page->depth = 0;
}

uint32_t flame_page_child(struct flame_page *page, uint32_t parent, const char *function,
                          const char *module)
{
    if (page->depths[parent] == DEPTH_MOST)
        return parent;
    return find_node(page, parent, find_name(page, *function ? function : "[unknown]", module));
}

void flame_page_add(struct flame_page *page, uint32_t node, size_t column, double self)
{
    page->values[node * page->columns + column] += self;
}

bool flame_page_row(struct flame_page *page, uint64_t depth, const char *function,
                    const char *module, double self)
{
    if (depth > page->depth + 1)
        return false;
    page->depth = depth;
    if (depth > DEPTH_MOST) {
        depth = DEPTH_MOST;
    } else if (depth > 0) {
        page->path[depth] = flame_page_child(page, page->path[depth - 1], function, module);
        page->names[flame_name(page, page->path[depth])].sides |= 1u << (page->column & 1);
    }
    flame_page_add(page, page->path[depth], page->column, self);
    return true;
}

void flame_page_place(struct flame_page *page, const char *function, const char *module,
                      const char *place)
{
    uint32_t known = base_texts_find(&page->texts, function, strlen(function));
    uint32_t known_module = base_texts_find(&page->texts, module, strlen(module));
    uint32_t name;

    if (!known || !known_module)
        return;
    name = base_pairs_find(&page->name_keys, known - 1, known_module - 1);
    if (name && page->names[name - 1].place == 0)
        page->names[name - 1].place = flame_page_text(page, place);
}

static void release(struct flame_page *page)
{
    base_texts_release(&page->texts);
    base_pairs_release(&page->name_keys);
    base_pairs_release(&page->nodes);
    free(page->names);
    free(page->values);
    free(page->depths);
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
    struct owners *owners = cli_allocate(2 * page->texts.count, sizeof *owners);

    for (size_t i = 0; i < page->name_keys.count; i++)
        for (unsigned side = 0; side < 2; side++)
            if (page->names[i].sides >> side & 1)
                add_owner(&owners[2 * page->names[i].function + side],
                          base_name(flame_text(page, page->names[i].module)));
    return owners;
}

static uint32_t move_name(const struct flame_page *page, const struct owners *owners,
                          uint32_t number, struct flame_page *to)
{
    const struct name *name = &page->names[number];
    const struct owners *own = &owners[(size_t)2 * name->function];
    const char *module = base_name(flame_text(page, name->module));
    uint32_t moved;

    if (own[0].first && own[1].first && !own[0].several && !own[1].several)
        module = own[1].first;
    moved = find_name(to, flame_text(page, name->function), module);
    if (to->names[moved].place == 0 || name->sides & 2)
        to->names[moved].place = flame_page_text(to, flame_text(page, name->place));
    return moved;
}

void flame_page_match(struct flame_page *page)
{
    struct flame_page *matched = flame_page_open(page->columns);
    struct owners *owners = find_owners(page);
    uint32_t *moved = cli_allocate(page->nodes.count, sizeof *moved);

    for (size_t i = 0; i < page->nodes.count; i++) {
        if (i > 0)
            moved[i] = find_node(matched, moved[flame_parent(page, i)],
                                 move_name(page, owners, flame_name(page, i), matched));
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
    return page->nodes.count;
}

void flame_page_close(struct flame_page *page)
{
    if (!page)
        return;
    release(page);
    free(page);
}
