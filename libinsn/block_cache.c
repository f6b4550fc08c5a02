/* block_cache.c - blocks of code, each decoded once.
 *
 * libipt decodes them, from packets that are written here: tracing is enabled at an address, and
 * the first conditional branch is taken.  So libipt alone decides where a block ends and where its
 * branch leads.  */
#include "libinsn/insn_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define MANY_BLOCKS 65536 /* from here on, all are forgotten at the next piece */
#define MOST_BLOCKS 1048576
#define MOST_COUNT  32768 /* instructions of a block */
#define QUERY_BYTES (INSN_ENTRY_SIZE + 9 + 1)

struct insn_learner {
    struct pt_block_decoder *decoder;
    uint8_t packets[QUERY_BYTES]; /* padding after the last one */
};

/* ---- Asking libipt ---- */

static void put_address(uint8_t *packet, uint8_t opcode, uint64_t address)
{
    packet[0] = opcode;
    for (size_t i = 0; i < 8; i++)
        packet[1 + i] = (uint8_t)(address >> 8 * i);
}

void insn_write_entry(uint8_t packets[static INSN_ENTRY_SIZE], uint64_t start)
{
    static const uint8_t after_psb[] = { /* MODE.Exec */ 0x99, 0x01, /* PSBEND */ 0x02, 0x23 };

    for (size_t i = 0; i < PSB_SIZE; i++)
        packets[i] = i % 2 ? 0x82 : 0x02;
    memcpy(packets + PSB_SIZE, after_psb, sizeof after_psb);
    put_address(packets + PSB_SIZE + sizeof after_psb, 0xd1 /* TIP.PGE */, start);
}

/* The decoder stays at its first instruction.  False: it does not get there.  */
static bool begin(struct insn_blocks *blocks)
{
    int status = pt_blk_sync_set(blocks->learner->decoder, 0);

    while (status >= 0 && (status & pts_event_pending)) {
        struct pt_event event;

        status = pt_blk_event(blocks->learner->decoder, &event, sizeof event);
    }
    return status >= 0;
}

static bool needs_address(uint8_t branch)
{
    return branch == INSN_CLASS_RETURN || branch == INSN_CLASS_FAR ||
           branch == INSN_CLASS_JUMP_INDIRECT || branch == INSN_CLASS_CALL_INDIRECT;
}

/* Instructions that come after those of the block, which end in no branch.  Returns libipt's
 * status.  */
static int extend(struct insn_blocks *blocks, struct insn_block *block)
{
    uint8_t bytes[INSN_MAX_LENGTH];
    struct insn_opcode opcode;
    struct pt_block part;
    int status;

    memset(&part, 0, sizeof part);
    status = pt_blk_next(blocks->learner->decoder, &part, sizeof part);
    if (part.ninsn == 0 || part.ninsn > MOST_COUNT - block->count)
        return status < 0 ? status : -pte_internal;
    insn_classify(bytes, insn_space_read(blocks->space, part.end_ip, bytes, sizeof bytes), &opcode);
    block->count = (uint16_t)(block->count + part.ninsn);
    block->last_ip = part.end_ip;
    block->branch = (uint8_t)opcode.branch;
    block->length = opcode.length;
    block->calls_next = opcode.calls_next;
    return status;
}

/* mov to cr3 is 0f 22, in the middle of a block.  */
static bool may_change_space(const struct insn_blocks *blocks, const struct insn_block *block)
{
    uint8_t bytes[256];

    for (uint64_t at = block->ip; at <= block->last_ip; at += sizeof bytes - 1) {
        size_t size = insn_space_read(blocks->space, at, bytes, sizeof bytes);

        if (memmem(bytes, size, "\x0f\x22", 2))
            return true;
    }
    return false;
}

static void learn(struct insn_blocks *blocks, struct insn_block *block)
{
    uint8_t *packets = blocks->learner->packets;
    struct pt_block next;
    int status = 0;

    memset(packets, 0, QUERY_BYTES);
    insn_write_entry(packets, block->ip);
    packets[INSN_ENTRY_SIZE] = 0x06; /* TNT: taken */
    if (!begin(blocks))
        return;
    do
        status = extend(blocks, block);
    while (status >= 0 && block->branch == INSN_CLASS_OTHER);
    block->changes_space = may_change_space(blocks, block);
    if (block->count == 0 || block->branch == INSN_CLASS_OTHER)
        return;
    block->is_known = needs_address(block->branch);
    if (block->is_known || status < 0)
        return;
    memset(&next, 0, sizeof next);
    (void)pt_blk_next(blocks->learner->decoder, &next, sizeof next);
    block->target = next.ip;
    block->is_known = true;
}

bool insn_blocks_part(struct insn_blocks *blocks, uint64_t ip, uint64_t until,
                      struct insn_block *block)
{
    uint8_t *packets = blocks->learner->packets;
    int status = 0;

    *block = (struct insn_block){ .ip = ip };
    memset(packets, 0, QUERY_BYTES);
    insn_write_entry(packets, ip);
    put_address(packets + INSN_ENTRY_SIZE, 0xdd /* FUP */, until);
    packets[INSN_ENTRY_SIZE + 9] = 0x01; /* TIP.PGD */
    if (!begin(blocks))
        return false;
    do
        status = extend(blocks, block);
    while (status >= 0 && !(status & pts_event_pending) && block->branch == INSN_CLASS_OTHER);
    return status >= 0 && (status & pts_event_pending) && block->branch == INSN_CLASS_OTHER;
}

/* ---- The cache ---- */

uint32_t insn_blocks_at(struct insn_blocks *blocks, uint64_t ip)
{
    uint64_t hash = base_hash(ip, 0);
    size_t probe;

    for (uint32_t id = base_index_first(&blocks->index, hash, &probe); id;
         id = base_index_next(&blocks->index, hash, &probe))
        if (blocks->items[id - 1].ip == ip)
            return id;
    if (blocks->count == MOST_BLOCKS ||
        !base_make_room(&blocks->items, &blocks->capacity, blocks->count + 1,
                        sizeof *blocks->items) ||
        !base_index_reserve(&blocks->index))
        return 0;
    blocks->items[blocks->count] = (struct insn_block){ .ip = ip };
    learn(blocks, &blocks->items[blocks->count++]);
    base_index_add(&blocks->index, hash, (uint32_t)blocks->count);
    return (uint32_t)blocks->count;
}

static void forget(struct insn_blocks *blocks)
{
    base_index_release(&blocks->index);
    free(blocks->items);
    blocks->items = NULL;
    blocks->count = blocks->capacity = 0;
}

static struct insn_learner *open_learner(struct pt_image *image)
{
    struct insn_learner *learner = calloc(1, sizeof *learner);
    struct pt_config config;

    if (!learner)
        return NULL;
    pt_config_init(&config);
    config.begin = learner->packets;
    config.end = learner->packets + sizeof learner->packets;
    config.flags.variant.block.end_on_call = 1;
    config.flags.variant.block.end_on_jump = 1;
    learner->decoder = pt_blk_alloc_decoder(&config);
    if (learner->decoder && pt_blk_set_image(learner->decoder, image) >= 0)
        return learner;
    pt_blk_free_decoder(learner->decoder);
    free(learner);
    return NULL;
}

bool insn_blocks_prepare(struct insn_blocks *blocks, const struct insn_space *space,
                         struct pt_image *image)
{
    if (blocks->count >= MANY_BLOCKS)
        forget(blocks);
    blocks->space = space;
    if (!blocks->learner)
        blocks->learner = open_learner(image);
    return blocks->learner != NULL;
}

void insn_blocks_release(struct insn_blocks *blocks)
{
    forget(blocks);
    if (blocks->learner)
        pt_blk_free_decoder(blocks->learner->decoder);
    free(blocks->learner);
    blocks->learner = NULL;
}
