/* The order of the page: a walk from callers to callees, siblings by name.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/flame/page_tree.h"

static const struct flame_page *sorted_page; /* for the comparisons: the programs have one thread */

static int by_text(const void *a, const void *b)
{
    const struct name *x = &sorted_page->names[*(const uint32_t *)a];
    const struct name *y = &sorted_page->names[*(const uint32_t *)b];
    int order = strcmp(flame_text(sorted_page, x->function), flame_text(sorted_page, y->function));

    return order ? order
                 : strcmp(flame_text(sorted_page, x->module), flame_text(sorted_page, y->module));
}

/* Names in the order of their texts.  */
static uint32_t *sort_names(const struct flame_page *page)
{
    uint32_t *names = cli_allocate(page->name_keys.count, sizeof *names);

    for (uint32_t i = 0; i < page->name_keys.count; i++)
        names[i] = i;
    sorted_page = page;
    qsort(names, page->name_keys.count, sizeof *names, by_text);
    return names;
}

/* Sort by a key below key_count, equal ones as they came.  */
static uint32_t *count_sort(const uint32_t *items, size_t count, const uint32_t *keys,
                            size_t key_count)
{
    size_t *next = cli_allocate(key_count + 1, sizeof *next);
    uint32_t *sorted = cli_allocate(count, sizeof *sorted);

    for (size_t i = 0; i < count; i++)
        next[keys[items[i]] + 1]++;
    for (size_t i = 1; i < key_count; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < count; i++)
        sorted[next[keys[items[i]]]++] = items[i];
    free(next);
    return sorted;
}

/* All nodes but the root, by parent and then by name.  */
static uint32_t *sort_nodes(const struct flame_page *page)
{
    size_t count = page->nodes.count;
    uint32_t *names = sort_names(page);
    uint32_t *ranks = cli_allocate(page->name_keys.count, sizeof *ranks);
    uint32_t *keys = cli_allocate(count, sizeof *keys);
    uint32_t *items = cli_allocate(count, sizeof *items);
    uint32_t *by_name, *sorted;

    for (uint32_t i = 0; i < page->name_keys.count; i++)
        ranks[names[i]] = i;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = ranks[flame_name(page, i)];
    for (uint32_t i = 1; i < count; i++)
        items[i - 1] = i;
    by_name = count_sort(items, count - 1, keys, page->name_keys.count);
    for (uint32_t i = 0; i < count; i++)
        keys[i] = flame_parent(page, i);
    sorted = count_sort(by_name, count - 1, keys, count);
    free(names);
    free(ranks);
    free(keys);
    free(items);
    free(by_name);
    return sorted;
}

struct flame_walk flame_walk_make(const struct flame_page *page)
{
    size_t count = page->nodes.count;
    uint32_t *sorted = sort_nodes(page);
    size_t *first = cli_allocate(count + 1, sizeof *first); /* of a node's children in sorted */
    uint32_t *waiting = cli_allocate(count, sizeof *waiting);
    struct flame_walk walk = { .nodes = cli_allocate(count, sizeof *walk.nodes),
                               .depths = cli_allocate(count, sizeof *walk.depths) };
    size_t waits = 1;

    for (size_t i = 1; i < count; i++)
        first[flame_parent(page, i) + 1]++;
    for (size_t i = 1; i <= count; i++)
        first[i] += first[i - 1];
    while (waits > 0) {
        uint32_t node = waiting[--waits];

        walk.nodes[walk.count] = node;
        walk.depths[walk.count++] = page->depths[node];
        for (size_t i = first[node + 1]; i-- > first[node];)
            waiting[waits++] = sorted[i];
    }
    free(sorted);
    free(first);
    free(waiting);
    return walk;
}

void flame_walk_release(struct flame_walk *walk)
{
    free(walk->nodes);
    free(walk->depths);
}
