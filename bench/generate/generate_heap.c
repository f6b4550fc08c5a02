/* --kind heap: messages of fuchsia.memory.sampler, each in a large blob.  */
#include <stdio.h>
#include <stdlib.h>

#include <fxt/fidl_sampler.h>
#include "bench/generate/generate.h"

#define SLOTS          4096u /* blocks that can be in use at once; about half of them are */
#define SLOT_BYTES     0x100000u
#define FIRST_BLOCK    UINT64_C(0x7f0000000000)
#define INTERVAL_BYTES 65536u
#define MESSAGE_BYTES  8192u /* holds MAX_FRAMES frames, or all modules of a process */

struct block {
    bool in_use;
    uint32_t process;
    uint32_t node; /* the stack that allocated it */
};

/* [process][node]: by the stack that allocated, and by the one that released.  */
enum column { ALLOCATED, ALLOCATED_BYTES, IN_USE, IN_USE_BYTES, RELEASED, RELEASED_BYTES, COLUMNS };

static struct block *blocks;
static uint64_t *columns[COLUMNS];
static uint8_t message[MESSAGE_BYTES];

static void count(enum column column, uint32_t process, uint32_t node, uint64_t objects,
                  uint64_t bytes)
{
    columns[column][total_index(process, node)] += objects;
    columns[column + 1][total_index(process, node)] += bytes;
}

/* All blocks of a stack have one size, so that what sampling makes of them can be computed from the
 * sums alone.  */
static uint64_t size_of(uint32_t node)
{
    return ((uint64_t)16 << node % 13) + node % 7;
}

static uint64_t address_of(uint32_t slot)
{
    return FIRST_BLOCK + (uint64_t)SLOT_BYTES * slot;
}

static void check(enum fidl_status status)
{
    if (status == FIDL_OK)
        return;
    cli_error("%s", fidl_status_phrase(status));
    exit(CLI_ENVIRONMENT);
}

static void put_message(uint64_t ticks, uint32_t process, size_t length)
{
    struct fxt_arg interval = { .type = FXT_ARG_UINT64,
                                .name = fxt_inline("sampling_interval_bytes"),
                                .value.uint64 = INTERVAL_BYTES };

    put((struct fxt_record){
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = ticks,
        .thread = { .process = pid_of(process), .thread = tid_of(process, below(wanted.threads)) },
        .category = fxt_inline("memory"),
        .name = fxt_inline("fuchsia.memory.sampler"),
        .args = &interval,
        .arg_count = 1,
        .value.large_blob.payload = { message, length },
    });
}

static void put_process_info(uint64_t ticks, uint32_t process)
{
    struct fidl_module_source sources[MODULES];
    struct fidl_segment segments[MODULES];
    uint8_t build_ids[MODULES][BUILD_ID_SIZE];
    char name[32];
    size_t length;

    for (uint32_t i = 0; i < MODULES; i++) {
        module_build_id(i, build_ids[i]);
        segments[i] = (struct fidl_segment){ .start_address = module_start(process, i),
                                             .size = module_length(),
                                             .relative_address = module_vaddr(i),
                                             .has_start_address = true,
                                             .has_size = true,
                                             .has_relative_address = true };
        sources[i] = (struct fidl_module_source){ .build_id = build_ids[i],
                                                  .build_id_length = BUILD_ID_SIZE,
                                                  .segments = &segments[i],
                                                  .segment_count = 1 };
    }
    (void)snprintf(name, sizeof name, "process-%u", process);
    check(fidl_encode_process_info(FIDL_GENERATION_2, name, sources, MODULES, message,
                                   sizeof message, &length));
    put_message(ticks, process, length);
}

/* Innermost first, return addresses all of them: the allocator's own frames are not there.  */
static size_t make_stack(uint32_t process, uint32_t node, uint64_t stack[MAX_FRAMES])
{
    size_t depth = 0;

    for (uint32_t i = node; i; i = nodes[i].parent)
        stack[depth++] = site_address(process, nodes[i].site) + 1;
    return depth;
}

void start_heap(uint64_t ticks)
{
    blocks = cli_allocate(SLOTS, sizeof *blocks);
    for (unsigned i = 0; i < COLUMNS; i++)
        columns[i] = new_totals();
    for (uint32_t process = 0; process < wanted.processes; process++)
        put_process_info(ticks, process);
}

static void put_allocation(uint64_t ticks, uint32_t slot)
{
    struct block *block = &blocks[slot];
    uint64_t stack[MAX_FRAMES];
    size_t depth, length;

    *block = (struct block){ .in_use = true, .process = below(wanted.processes) };
    block->node = choose_stack();
    depth = make_stack(block->process, block->node, stack);
    check(fidl_encode_allocation(FIDL_GENERATION_2, address_of(slot), stack, depth,
                                 size_of(block->node), message, sizeof message, &length));
    put_message(ticks, block->process, length);
    count(ALLOCATED, block->process, block->node, 1, size_of(block->node));
}

/* Anywhere in the process that allocated the block.  */
static void put_release(uint64_t ticks, uint32_t slot)
{
    struct block *block = &blocks[slot];
    uint32_t node = choose_stack();
    uint64_t stack[MAX_FRAMES];
    size_t depth = make_stack(block->process, node, stack);
    size_t length;

    check(fidl_encode_deallocation(FIDL_GENERATION_2, address_of(slot), stack, depth, message,
                                   sizeof message, &length));
    put_message(ticks, block->process, length);
    count(RELEASED, block->process, node, 1, size_of(block->node));
    block->in_use = false;
}

/* A slot is filled or emptied: addresses come again, as from any allocator.  */
void put_heap(uint64_t ticks)
{
    uint32_t slot = below(SLOTS);

    if (blocks[slot].in_use)
        put_release(ticks, slot);
    else
        put_allocation(ticks, slot);
}

void make_heap(void)
{
    uint64_t ticks = FIRST_NS;

    put_magic();
    put_provider(1, "fxtgen");
    put_all_names();
    start_heap(ticks);
    for (uint64_t done = 0; !is_done(done); done++) {
        ticks += 1 + below(10000);
        put_heap(ticks);
    }
}

void truth_heap(void)
{
    if (!blocks)
        return;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (blocks[slot].in_use)
            count(IN_USE, blocks[slot].process, blocks[slot].node, 1, size_of(blocks[slot].node));
    truth_stacks(FRAME_BUILD_ID, false, columns, COLUMNS);
    for (unsigned i = 0; i < COLUMNS; i++)
        free(columns[i]);
    free(blocks);
}
