#include "cmd/cli/perf_unwind.h"

#include <fxt/unwind.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define MOST_TABLE_BYTES ((size_t)1 << 30) /* of all objects; further ones have no table */
#define MOST_FRAMES      512

/* An object of the file, by its number.  */
struct object {
    bool is_known;
    struct sym_module *module;  /* NULL: not found */
    struct unwind_table *table; /* NULL: none */
    const char *name;           /* borrowed */
    uint64_t cuts;              /* stacks that ended early in it */
};

struct cli_perf_unwind {
    struct sym_session *session;
    struct unwind_walker *walker;
    struct object *objects;
    size_t object_count, object_capacity;
    size_t table_bytes;
    uint64_t stacks, ends[UNWIND_END_COUNT];
    uint64_t nowhere;                   /* stacks that ended early in code of no file */
    const struct perf_trace_copy *copy; /* that is unwound */
};

struct cli_perf_unwind *cli_perf_unwind_open(struct sym_session *session)
{
    struct cli_perf_unwind *unwind = calloc(1, sizeof *unwind);

    if (unwind && unwind_walker_open(&unwind->walker, NULL) == UNWIND_OK) {
        unwind->session = session;
        return unwind;
    }
    free(unwind);
    return NULL;
}

void cli_perf_unwind_close(struct cli_perf_unwind *unwind)
{
    if (!unwind)
        return;
    unwind_walker_close(unwind->walker);
    for (size_t i = 0; i < unwind->object_count; i++)
        unwind_table_close(unwind->objects[i].table);
    free(unwind->objects);
    free(unwind);
}

/* ---- Objects ---- */

static struct unwind_table *open_table(struct cli_perf_unwind *unwind,
                                       const struct sym_report *report)
{
    struct unwind_table *table = NULL;

    if (unwind->table_bytes > MOST_TABLE_BYTES ||
        unwind_table_open_path(report->code_path, report->debug_path, &table, NULL) != UNWIND_OK)
        return NULL;
    unwind->table_bytes += unwind_table_report(table)->memory_bytes;
    return table;
}

static const struct object *object_of(struct cli_perf_unwind *unwind,
                                      const struct perf_trace_place *place)
{
    const struct sym_module_key key = { .build_id = place->object.build_id,
                                        .build_id_length = place->object.build_id_length,
                                        .path = place->object.name };
    struct object *object;

    if (!unwind->session || !base_make_room(&unwind->objects, &unwind->object_capacity,
                                            place->number, sizeof *unwind->objects))
        return NULL;
    while (unwind->object_count < place->number)
        unwind->objects[unwind->object_count++] = (struct object){ .is_known = false };
    object = &unwind->objects[place->number - 1];
    if (object->is_known)
        return object;
    object->is_known = true;
    object->name = place->object.name;
    if (sym_session_module(unwind->session, &key, &object->module, NULL) != SYM_OK)
        object->module = NULL;
    if (object->module)
        object->table = open_table(unwind, sym_module_report(object->module));
    return object;
}

/* The place of an address in an object follows from its own offset: a mapping begins at a page,
 * which may have bytes of two segments.  */
static void find(void *context, uint64_t address, struct unwind_place *out)
{
    struct cli_perf_unwind *unwind = context;
    struct perf_trace_place place;
    const struct object *object = NULL;
    uint64_t vaddr;

    if (!unwind->copy->find(unwind->copy->finder, address, &place))
        return;
    out->start = place.start;
    out->limit = place.limit;
    out->kind = place.number ? UNWIND_PLACE_OBJECT : UNWIND_PLACE_OTHER;
    if (place.number)
        object = object_of(unwind, &place);
    if (!object || !object->table ||
        sym_module_vaddr(object->module, place.file_offset, &vaddr) != SYM_OK)
        return;
    out->table = object->table;
    out->bias = address - vaddr;
}

/* From the file of the object.  */
static size_t read_code(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
    struct cli_perf_unwind *unwind = context;
    struct perf_trace_place place;
    const struct object *object;
    uint64_t vaddr;
    size_t count = 0;

    if (!unwind->copy->find(unwind->copy->finder, address, &place) || place.number == 0)
        return 0;
    object = object_of(unwind, &place);
    if (!object || !object->module ||
        sym_module_vaddr(object->module, place.file_offset, &vaddr) != SYM_OK)
        return 0;
    if (size > place.limit - address)
        size = (size_t)(place.limit - address);
    (void)sym_module_code(object->module, vaddr, bytes, size, &count, NULL);
    return count;
}

/* ---- Stacks ---- */

static enum unwind_machine machine_of(const char *arch)
{
    if (arch && strcmp(arch, "x86_64") == 0)
        return UNWIND_X86_64;
    if (arch && strcmp(arch, "aarch64") == 0)
        return UNWIND_ARM64;
    return arch && strcmp(arch, "riscv64") == 0 ? UNWIND_RISCV64 : UNWIND_NO_MACHINE;
}

/* For a stack that ended early because of a module.  */
static void count_cut(struct cli_perf_unwind *unwind, const struct unwind_stack *stack)
{
    uint64_t last = unwind_lookup_address(stack, stack->count - 1);
    struct perf_trace_place place;

    if (stack->end == UNWIND_END_COMPLETE || stack->end == UNWIND_END_NO_STACK ||
        stack->end == UNWIND_END_NO_ROOM)
        return;
    if (unwind->copy->find(unwind->copy->finder, last, &place) && place.number > 0 &&
        place.number <= unwind->object_count)
        unwind->objects[place.number - 1].cuts++;
    else
        unwind->nowhere++;
}

size_t cli_perf_unwind_stack(struct cli_perf_unwind *unwind, const struct perf_trace_copy *copy,
                             uint64_t *addresses, size_t capacity, bool *is_whole)
{
    uint8_t found[MOST_FRAMES];
    struct unwind_registers registers;
    struct unwind_piece piece = { .bytes = copy->stack, .size = copy->stack_size };
    const struct unwind_memory memory = { .pieces = &piece, .count = 1 };
    const struct unwind_map map = { .find = find, .context = unwind, .read_code = read_code };
    struct unwind_stack stack = { .addresses = addresses,
                                  .found = found,
                                  .capacity = capacity < MOST_FRAMES ? capacity : MOST_FRAMES };

    if (copy->is_big_endian ||
        unwind_registers_from_perf(machine_of(copy->arch), copy->mask, copy->registers,
                                   copy->register_count, &registers) != UNWIND_OK)
        return 0;
    unwind->copy = copy;
    piece.address = unwind_stack_pointer(&registers);
    if (unwind_walk(unwind->walker, &registers, &memory, &map, &stack) != UNWIND_OK)
        return 0;
    count_cut(unwind, &stack);
    for (size_t i = 1; i < stack.count; i++)
        addresses[i] += unwind_is_exact(&stack, i);
    unwind->stacks++;
    unwind->ends[stack.end]++;
    *is_whole = stack.end == UNWIND_END_COMPLETE;
    return stack.count;
}

bool cli_perf_unwind_ended_with_copies(const struct cli_perf_unwind *unwind)
{
    return unwind && unwind->ends[UNWIND_END_NO_STACK] > 0;
}

bool cli_perf_unwind_describe(const struct cli_perf_unwind *unwind, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    if (!unwind || unwind->ends[UNWIND_END_COMPLETE] == unwind->stacks)
        return false;
    for (unsigned end = 0; end < UNWIND_END_COUNT && used < size; end++) {
        int length;

        if (end == UNWIND_END_COMPLETE || unwind->ends[end] == 0)
            continue;
        length = snprintf(text + used, size - used, "%s%" PRIu64 " (%s)", used ? ", " : "",
                          unwind->ends[end], unwind_end_name((enum unwind_end)end));
        used += length > 0 ? (size_t)length : 0;
    }
    return true;
}

struct cli_cuts cli_perf_unwind_cuts(const struct cli_perf_unwind *unwind)
{
    struct cli_cuts cuts = { .count = 0 };
    struct cli_cut cut = { .module = NULL, .stacks = unwind->nowhere };

    cli_cuts_add(&cuts, &cut);
    for (size_t i = 0; i < unwind->object_count; i++) {
        const struct object *object = &unwind->objects[i];

        cut = (struct cli_cut){ .module = object->name,
                                .stacks = object->cuts,
                                .has_file = object->table != NULL,
                                .problem = object->table
                                               ? unwind_table_report(object->table)->problem
                                               : "" };
        cli_cuts_add(&cuts, &cut);
    }
    return cuts;
}
