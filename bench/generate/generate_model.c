/* Chance, the tree of stacks, processes and their modules.  */
#include <stdlib.h>

#include "bench/generate/generate.h"

/* ---- Chance ---- */

static uint64_t random_state;

void seed_chance(uint64_t seed)
{
    random_state = seed;
}

/* splitmix64: short, and the same everywhere.  */
uint64_t random_word(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0..limit - 1; the bias is far below what any test sees.  */
uint32_t below(uint32_t limit)
{
    return (uint32_t)((random_word() >> 32) * limit >> 32);
}

/* ---- The tree of stacks ---- */

struct node *nodes;
uint32_t *child_list;

size_t total_index(uint32_t process, uint32_t node)
{
    return (size_t)process * (wanted.stacks + 1) + node;
}

uint64_t *new_totals(void)
{
    return cli_allocate((size_t)wanted.processes * (wanted.stacks + 1), sizeof(uint64_t));
}

/* Long chains that branch anywhere: shapes as in real programs, up to the full depth.  */
static uint32_t choose_parent(uint32_t node)
{
    uint32_t parent = node - 1;

    if (nodes[parent].depth == wanted.depth || below(2 * wanted.depth) == 0)
        parent = below(node);
    return nodes[parent].depth == wanted.depth ? nodes[parent].parent : parent;
}

/* Events have a name each, and in a mix stacks have no more.  Otherwise stacks share sites, but
 * siblings differ, so that every node is a stack of its own; roots stand on the last site.  */
static uint32_t choose_site(uint32_t node)
{
    uint64_t step = (uint64_t)37 * (nodes[node].depth - 1) + nodes[node].rank;

    if (wanted.kind == EVENTS || wanted.kind == MIX)
        return node - 1;
    return (uint32_t)(wanted.stacks - 1 - step % wanted.stacks);
}

void make_nodes(void)
{
    uint32_t limit = wanted.stacks + 1;
    uint32_t position = 0;

    nodes = cli_allocate(limit, sizeof *nodes);
    child_list = cli_allocate(limit, sizeof *child_list);
    for (uint32_t i = 1; i < limit; i++) {
        struct node *node = &nodes[i];
        struct node *parent;
        node->parent = choose_parent(i);
        parent = &nodes[node->parent];
        node->depth = parent->depth + 1;
        node->rank = parent->children++;
        node->site = choose_site(i);
    }
    for (uint32_t i = 0; i < limit; i++) {
        nodes[i].first_child = position;
        position += nodes[i].children;
    }
    for (uint32_t i = 1; i < limit; i++)
        child_list[nodes[nodes[i].parent].first_child + nodes[i].rank] = i;
}

void free_nodes(void)
{
    free(nodes);
    free(child_list);
}

/* Some stacks are much hotter than others.  */
uint32_t choose_stack(void)
{
    uint32_t a = below(wanted.stacks);
    uint32_t b = below(wanted.stacks);

    return 1 + (a < b ? a : b);
}

/* ---- Processes and modules ---- */

uint64_t pid_of(uint32_t process)
{
    return 1000 + (uint64_t)process * (wanted.threads + 1);
}

/* As on Linux, the first thread has the process's number.  */
uint64_t tid_of(uint32_t process, uint32_t thread)
{
    return pid_of(process) + thread;
}

uint32_t thread_total(void)
{
    return wanted.processes * wanted.threads;
}

/* Sites go round the modules, 16 bytes apart.  The last one of a module stands on its last byte, so
 * that the return address of a call there, as of every root, lies behind the module.  */
uint64_t module_length(void)
{
    return (uint64_t)16 * ((wanted.stacks - 1) / MODULES) + 1;
}

uint64_t module_vaddr(uint32_t module)
{
    return 0x1000 * ((uint64_t)module + 1) + 0x120;
}

/* Modules lie side by side, and elsewhere in each process.  */
uint64_t module_start(uint32_t process, uint32_t module)
{
    return 0x550000000340 + (uint64_t)process * 0x100000000 + module * module_length();
}

uint64_t site_offset(uint32_t site)
{
    return (uint64_t)16 * (site / MODULES);
}

uint64_t site_address(uint32_t process, uint32_t site)
{
    return module_start(process, site % MODULES) + site_offset(site);
}

/* The first byte falls as the module's number rises, so that the order of build IDs, in which the
 * CPU profiler writes modules, is the reverse of that of addresses.  */
void module_build_id(uint32_t module, uint8_t build_id[BUILD_ID_SIZE])
{
    build_id[0] = (uint8_t)((MODULES - module) * 16);
    for (unsigned i = 1; i < BUILD_ID_SIZE; i++)
        build_id[i] = (uint8_t)(i * UINT64_C(7) + wanted.seed);
}
