#include "sampler-capture/cpu/leaves.h"

#include "base/grow.h"

#include <fxt/unwind.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reading a table takes time, when a capture ends: those with the most samples say enough.  */
#define MOST_JUDGED 32

#define X86_RBP            6
#define X86_RETURN_ADDRESS 16

struct leaf_module {
    const struct module *module; /* NULL: no samples */
    uint64_t samples;
    uint64_t *vaddrs; /* owned; LEAVES_ADDRESSES, or as many as there are samples */
    /* Where it was seen last.  */
    uint64_t start, limit;
    uint32_t pid;
};

static struct leaf_module *module_of(struct leaves *leaves, const struct module *module)
{
    if (module->serial >= leaves->capacity) {
        size_t capacity = leaves->capacity;

        if (!base_make_room(&leaves->modules, &capacity, module->serial + 1,
                            sizeof *leaves->modules))
            return NULL;
        memset(leaves->modules + leaves->capacity, 0,
               (capacity - leaves->capacity) * sizeof *leaves->modules);
        leaves->capacity = capacity;
    }
    return &leaves->modules[module->serial];
}

/* Each of the addresses so far is among those kept with the same probability.  */
static void choose(struct leaf_module *leaf, uint64_t vaddr)
{
    uint64_t random = leaf->samples * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t at = leaf->samples;

    random = (random ^ random >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    random = (random ^ random >> 27) * UINT64_C(0x94d049bb133111eb);
    if (at >= LEAVES_ADDRESSES)
        at = (random ^ random >> 31) % (leaf->samples + 1);
    if (at < LEAVES_ADDRESSES)
        leaf->vaddrs[at] = vaddr;
    leaf->samples++;
}

void leaves_count(struct leaves *leaves, const struct process *process,
                  const struct region_sample *sample)
{
    const struct mapping *mapping;
    struct leaf_module *leaf;
    uint64_t address;

    if (sample->frame_count == 0)
        return;
    memcpy(&address, sample->frames, sizeof address);
    address = le64toh(address);
    mapping = address_map_find(&process->map, address);
    leaf = mapping && mapping->module ? module_of(leaves, mapping->module) : NULL;
    if (!leaf)
        return;
    if (!leaf->vaddrs && !(leaf->vaddrs = calloc(LEAVES_ADDRESSES, sizeof *leaf->vaddrs)))
        return;
    leaf->module = mapping->module;
    leaf->start = mapping->start;
    leaf->limit = mapping->limit;
    leaf->pid = process->pid;
    choose(leaf, mapping->vaddr + (address - mapping->start));
}

/* ---- Judging ---- */

static int by_samples(const void *left, const void *right)
{
    const struct leaf_module *a = *(const struct leaf_module *const *)left;
    const struct leaf_module *b = *(const struct leaf_module *const *)right;

    if (a->samples != b->samples)
        return a->samples < b->samples ? 1 : -1;
    return (a->module->serial > b->module->serial) - (a->module->serial < b->module->serial);
}

/* Whether the function at vaddr has a caller that no frame pointer leads to.  */
static bool is_frameless(struct unwind_table *table, uint64_t vaddr)
{
    struct unwind_row row;

    return unwind_table_row(table, vaddr, &row) == UNWIND_OK &&
           (row.cfa_is_expression || row.cfa_register != X86_RBP) &&
           row.rules[X86_RETURN_ADDRESS].kind != UNWIND_RULE_UNDEFINED;
}

static uint64_t count_frameless(const struct leaf_module *leaf, struct unwind_table *table)
{
    uint64_t count = leaf->samples < LEAVES_ADDRESSES ? leaf->samples : LEAVES_ADDRESSES;
    uint64_t without = 0;

    if (unwind_table_report(table)->machine != UNWIND_X86_64)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        without += is_frameless(table, leaf->vaddrs[i]);
    return (uint64_t)((double)leaf->samples * (double)without / (double)count + 0.5);
}

static uint64_t judge(const struct leaf_module *leaf)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1 };
    struct unwind_table *table = NULL;
    uint64_t without = 0;

    object.bytes = modules_memory(leaf->module, leaf->limit - leaf->start, &object.size);
    if (!object.bytes)
        object.fd = modules_open(leaf->module, leaf->pid, leaf->start, leaf->limit);
    if ((object.bytes || object.fd >= 0) && unwind_table_open(&object, &table, NULL) == UNWIND_OK)
        without = count_frameless(leaf, table);
    unwind_table_close(table);
    if (object.fd >= 0)
        (void)close(object.fd);
    return without;
}

/* Keep it if it is one of those with the most.  */
static void add(struct leaf_result *result, const struct leaf_share *share)
{
    size_t at = result->count;

    result->samples += share->samples;
    while (at > 0 && result->most[at - 1].samples < share->samples)
        at--;
    if (at == LEAVES_NAMED)
        return;
    if (result->count < LEAVES_NAMED)
        result->count++;
    memmove(result->most + at + 1, result->most + at,
            (result->count - 1 - at) * sizeof *result->most);
    result->most[at] = *share;
}

struct leaf_result leaves_judge(const struct leaves *leaves)
{
    const struct leaf_module **order = calloc(leaves->capacity + 1, sizeof(struct leaf_module *));
    struct leaf_result result = { .samples = 0 };
    size_t count = 0;

    for (size_t i = 0; order && i < leaves->capacity; i++)
        if (leaves->modules[i].module)
            order[count++] = &leaves->modules[i];
    if (count > 0)
        qsort(order, count, sizeof(struct leaf_module *), by_samples);
    for (size_t i = 0; i < count && i < MOST_JUDGED; i++) {
        const struct leaf_share share = { order[i]->module->name, judge(order[i]) };

        if (share.samples > 0)
            add(&result, &share);
    }
    free(order);
    return result;
}

void leaves_release(struct leaves *leaves)
{
    for (size_t i = 0; i < leaves->capacity; i++)
        free(leaves->modules[i].vaddrs);
    free(leaves->modules);
    *leaves = (struct leaves){ .modules = NULL };
}
