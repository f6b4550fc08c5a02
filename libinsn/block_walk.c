/* block_walk.c - packets to blocks, over blocks that were decoded before.
 *
 * This does what libipt's block decoder does, on libipt's query decoder, and asks it the same
 * questions in the same order: so times are the same, too.  Whatever is rare is left to the block
 * decoder: INSN_WALK_UNUSUAL is returned, and the piece is decoded again by it.  */
#include "libinsn/insn_internal.h"

#include <stdlib.h>
#include <string.h>

#define RETURNS 65 /* one more than libipt keeps */

struct insn_walk {
    struct pt_query_decoder *query; /* owned */
    struct insn_blocks *blocks;     /* borrowed */
    struct pt_errata errata;
    bool is_filtered;

    int status; /* of the last query */
    bool enabled;
    bool has_mode;  /* code of 64 bits */
    bool has_event; /* that was read, and not taken */
    struct pt_event event;

    uint64_t ip;
    uint32_t block; /* at ip; 0: not looked up */
    struct {
        uint64_t address;
        uint32_t call; /* number of the block that ends in the call */
    } returns[RETURNS];
    unsigned top, bottom;

    bool is_time_read; /* since the last query */
    bool has_ticks;
    uint64_t ticks;
};

/* ---- Queries ---- */

bool insn_walk_time(struct insn_walk *walk, uint64_t *ticks)
{
    if (!walk->is_time_read)
        walk->has_ticks = pt_qry_time(walk->query, &walk->ticks, NULL, NULL) >= 0;
    walk->is_time_read = true;
    *ticks = walk->ticks;
    return walk->has_ticks;
}

uint64_t insn_walk_offset(const struct insn_walk *walk)
{
    uint64_t offset = 0;

    (void)pt_qry_get_offset(walk->query, &offset);
    return offset;
}

/* What remains after an error: at the end of the packets, the block that needs more of them.  */
static int failed(int status)
{
    return status == -pte_eos ? status : INSN_WALK_UNUSUAL;
}

static int fetch_event(struct insn_walk *walk)
{
    if (walk->has_event || !(walk->status & pts_event_pending))
        return 0;
    walk->is_time_read = false;
    walk->status = pt_qry_event(walk->query, &walk->event, sizeof walk->event);
    walk->has_event = walk->status >= 0;
    return walk->has_event ? 0 : INSN_WALK_UNUSUAL;
}

static int ask_branch(struct insn_walk *walk, int *taken)
{
    int status = pt_qry_cond_branch(walk->query, taken);

    walk->is_time_read = false;
    if (status >= 0)
        walk->status = status;
    return status;
}

/* The block there is likely to be the one that the branch led to last time.  */
static int ask_address(struct insn_walk *walk)
{
    int status = pt_qry_indirect_branch(walk->query, &walk->ip);
    uint32_t from = walk->block;

    walk->is_time_read = false;
    walk->block = 0;
    if (status < 0)
        return failed(status);
    walk->status = status;
    if (status & pts_ip_suppressed)
        return INSN_WALK_UNUSUAL;
    walk->block = walk->blocks->items[from - 1].at_target;
    if (walk->block && walk->blocks->items[walk->block - 1].ip == walk->ip)
        return 0;
    walk->block = insn_blocks_at(walk->blocks, walk->ip);
    walk->blocks->items[from - 1].at_target = walk->block;
    return 0;
}

/* ---- Returns ---- */

static unsigned next_place(unsigned place)
{
    return place + 1 == RETURNS ? 0 : place + 1;
}

static void push_return(struct insn_walk *walk, const struct insn_block *block)
{
    walk->returns[walk->top].address = block->last_ip + block->length;
    walk->returns[walk->top].call = walk->block;
    walk->top = next_place(walk->top);
    if (walk->top == walk->bottom)
        walk->bottom = next_place(walk->bottom);
}

/* ---- Blocks ---- */

/* The block at the walk's address.  NULL: unusual.  */
static const struct insn_block *here(struct insn_walk *walk)
{
    const struct insn_block *block;

    if (!walk->block)
        walk->block = insn_blocks_at(walk->blocks, walk->ip);
    if (!walk->block || !walk->has_mode)
        return NULL;
    block = &walk->blocks->items[walk->block - 1];
    return block->is_known ? block : NULL;
}

static void go_to_target(struct insn_walk *walk)
{
    uint32_t from = walk->block;

    walk->ip = walk->blocks->items[from - 1].target;
    walk->block = walk->blocks->items[from - 1].at_target;
    if (walk->block)
        return;
    walk->block = insn_blocks_at(walk->blocks, walk->ip);
    walk->blocks->items[from - 1].at_target = walk->block;
}

static void go_past(struct insn_walk *walk)
{
    uint32_t from = walk->block;
    const struct insn_block *block = &walk->blocks->items[from - 1];

    walk->ip = block->last_ip + block->length;
    walk->block = block->after;
    if (walk->block)
        return;
    walk->block = insn_blocks_at(walk->blocks, walk->ip);
    walk->blocks->items[from - 1].after = walk->block;
}

static int go_back(struct insn_walk *walk)
{
    int taken, status = ask_branch(walk, &taken);

    if (status == -pte_bad_query)
        return ask_address(walk); /* the return is not compressed */
    if (status < 0)
        return failed(status);
    if (!taken || walk->top == walk->bottom)
        return INSN_WALK_UNUSUAL;
    walk->top = (walk->top == 0 ? RETURNS : walk->top) - 1;
    walk->block = walk->returns[walk->top].call;
    go_past(walk);
    return 0;
}

/* To where the block at the walk's address leads.  */
static int go_on(struct insn_walk *walk, const struct insn_block *block)
{
    int status, taken;

    switch (block->branch) {
    case INSN_CLASS_CONDITIONAL:
        status = ask_branch(walk, &taken);
        if (status < 0)
            return failed(status);
        if (taken)
            go_to_target(walk);
        else
            go_past(walk);
        return 0;
    case INSN_CLASS_CALL:
        if (!block->calls_next)
            push_return(walk, block);
        go_to_target(walk);
        return 0;
    case INSN_CLASS_JUMP:
        go_to_target(walk);
        return 0;
    case INSN_CLASS_RETURN:
        return go_back(walk);
    case INSN_CLASS_CALL_INDIRECT:
        push_return(walk, block);
        return ask_address(walk);
    default:
        return ask_address(walk);
    }
}

static bool needs_packet(const struct insn_block *block)
{
    return block->branch != INSN_CLASS_CALL && block->branch != INSN_CLASS_JUMP;
}

static void tell(const struct insn_block *block, struct insn_step *step)
{
    *step = (struct insn_step){ .kind = INSN_STEP_BLOCK,
                                .branch = block->branch,
                                .length = block->length,
                                .calls_next = block->calls_next,
                                .count = block->count,
                                .ip = block->ip,
                                .last_ip = block->last_ip };
}

static void tell_time(struct insn_walk *walk, struct insn_step *step)
{
    step->has_ticks = insn_walk_time(walk, &step->ticks);
}

/* ---- Events ---- */

/* Whether the event is taken wherever the walk is.  */
static bool is_anywhere(const struct insn_walk *walk)
{
    switch (walk->event.type) {
    case ptev_enabled:
    case ptev_overflow:
    case ptev_stop:
    case ptev_cbr:
    case ptev_pwre:
    case ptev_pwrx:
        return true;
    case ptev_paging:
        return !walk->enabled;
    case ptev_exec_mode:
    case ptev_async_paging:
    case ptev_tsx:
        return walk->event.ip_suppressed;
    default:
        return false;
    }
}

/* Whether the next event is to be taken where the walk is: 1, or 0; negative: unusual.  */
static int arrives(struct insn_walk *walk)
{
    const struct pt_event *event = &walk->event;
    int status = fetch_event(walk);

    if (status < 0 || !walk->has_event)
        return status;
    if (is_anywhere(walk))
        return event->type == ptev_tsx && walk->errata.bdm64 ? INSN_WALK_UNUSUAL : 1;
    switch (event->type) {
    case ptev_disabled:
        return 0;
    case ptev_async_disabled:
        return walk->errata.skd022 ? INSN_WALK_UNUSUAL
                                   : event->variant.async_disabled.at == walk->ip;
    case ptev_async_branch:
        return event->variant.async_branch.from == walk->ip;
    case ptev_exec_mode:
        return event->variant.exec_mode.ip == walk->ip;
    case ptev_async_paging:
        return event->variant.async_paging.ip == walk->ip;
    case ptev_tsx:
        return walk->errata.bdm64 ? INSN_WALK_UNUSUAL : event->variant.tsx.ip == walk->ip;
    default:
        return INSN_WALK_UNUSUAL;
    }
}

/* What a packet decides, if the block before an event needs one.  */
enum need {
    NEED_UNUSUAL, /* there is none */
    NEED_EVENT,   /* the event is there */
    NEED_PACKET,  /* it is read */
};

/* Up to an address, or the end of the block.  1: the event is there.  */
static int approach(struct insn_walk *walk, uint64_t ip, enum need need, struct insn_step *step)
{
    const struct insn_block *block;
    struct insn_block part;
    int status;

    if (walk->ip == ip)
        return 1;
    block = here(walk);
    if (!block)
        return INSN_WALK_UNUSUAL;
    if (ip > block->ip && ip <= block->last_ip) {
        if (!insn_blocks_part(walk->blocks, walk->ip, ip, &part))
            return INSN_WALK_UNUSUAL;
        tell(&part, step);
        walk->ip = ip;
        walk->block = 0;
        return 1;
    }
    tell(block, step);
    if (needs_packet(block) && need != NEED_PACKET)
        return need == NEED_EVENT ? 1 : INSN_WALK_UNUSUAL;
    status = go_on(walk, block);
    if (status < 0)
        return INSN_WALK_UNUSUAL;
    return walk->ip == ip;
}

/* The end of tracing without an address: at the next branch that needs a packet.  */
static int approach_end(struct insn_walk *walk, struct insn_step *step)
{
    const struct insn_block *block = here(walk);

    if (!block || block->changes_space || (walk->is_filtered && walk->errata.skl014))
        return INSN_WALK_UNUSUAL;
    tell(block, step);
    return needs_packet(block) ? 1 : go_on(walk, block);
}

/* Up to the event, or the end of a block before it.  */
static int approach_event(struct insn_walk *walk, struct insn_step *step)
{
    const struct pt_event *event = &walk->event;

    if (is_anywhere(walk))
        return 1;
    if (!walk->enabled)
        return INSN_WALK_UNUSUAL;
    switch (event->type) {
    case ptev_disabled:
        return event->ip_suppressed ? approach_end(walk, step)
                                    : approach(walk, event->variant.disabled.ip, NEED_EVENT, step);
    case ptev_async_disabled:
        return approach(walk, event->variant.async_disabled.at, NEED_UNUSUAL, step);
    case ptev_async_branch:
        return approach(walk, event->variant.async_branch.from, NEED_UNUSUAL, step);
    case ptev_exec_mode:
        return approach(walk, event->variant.exec_mode.ip, NEED_PACKET, step);
    case ptev_async_paging:
        return approach(walk, event->variant.async_paging.ip, NEED_PACKET, step);
    case ptev_tsx:
        return approach(walk, event->variant.tsx.ip, NEED_UNUSUAL, step);
    default:
        return INSN_WALK_UNUSUAL;
    }
}

/* What a program sees of it is the caller's.  False: it contradicts the walk.  */
static bool apply(struct insn_walk *walk)
{
    const struct pt_event *event = &walk->event;
    bool was_enabled = walk->enabled;

    walk->block = 0;
    switch (event->type) {
    case ptev_enabled:
        walk->enabled = true;
        walk->ip = event->variant.enabled.ip;
        return !was_enabled && !event->status_update && !event->ip_suppressed;
    case ptev_disabled:
    case ptev_async_disabled:
        walk->enabled = false;
        return was_enabled && !event->status_update;
    case ptev_async_branch:
        walk->ip = event->variant.async_branch.to;
        return was_enabled && !event->status_update;
    case ptev_overflow:
        walk->enabled = !event->ip_suppressed;
        walk->ip = walk->enabled ? event->variant.overflow.ip : 0;
        return !event->status_update;
    case ptev_exec_mode:
        walk->has_mode = event->variant.exec_mode.mode == ptem_64bit;
        return walk->has_mode;
    case ptev_stop:
        return !was_enabled && !event->status_update;
    default:
        return true;
    }
}

/* ---- The walk ---- */

/* What libipt's decoder returns: 1: is_event.  */
static int outcome(const struct insn_walk *walk, int is_event)
{
    int flags = is_event ? pts_event_pending : 0;

    if (is_event < 0)
        return is_event;
    return flags | (walk->status & pts_eos && !walk->has_event ? pts_eos : 0);
}

int insn_walk_event(struct insn_walk *walk, struct pt_event *event)
{
    if (!walk->has_event || !apply(walk))
        return INSN_WALK_UNUSUAL;
    *event = walk->event;
    walk->has_event = false;
    return outcome(walk, arrives(walk));
}

/* Blocks up to one after which the packets end, or have an event.  */
static int walk_on(struct insn_walk *walk, struct insn_step *steps, size_t room, size_t *count)
{
    int status;

    do {
        const struct insn_block *block = walk->enabled ? here(walk) : NULL;
        struct insn_step *step = &steps[*count];

        if (!block)
            return INSN_WALK_UNUSUAL;
        tell(block, step);
        status = go_on(walk, block);
        tell_time(walk, step);
        ++*count;
    } while (status >= 0 && *count < room && !(walk->status & (pts_event_pending | pts_eos)));
    if (status < 0)
        return status;
    status = outcome(walk, arrives(walk));
    tell_time(walk, &steps[*count - 1]);
    return status;
}

int insn_walk_next(struct insn_walk *walk, struct insn_step *steps, size_t room, size_t *count)
{
    int status = fetch_event(walk);

    *count = 0;
    if (status < 0)
        return status;
    if (!walk->has_event)
        return walk_on(walk, steps, room, count);
    steps->count = 0;
    status = outcome(walk, approach_event(walk, steps));
    if (steps->count == 0)
        return status;
    tell_time(walk, steps);
    *count = 1;
    return status;
}

int insn_walk_begin(struct insn_walk *walk)
{
    walk->status = pt_qry_sync_set(walk->query, &walk->ip, 0);
    if (walk->status < 0)
        return INSN_WALK_UNUSUAL;
    walk->enabled = !(walk->status & pts_ip_suppressed);
    return outcome(walk, arrives(walk));
}

struct insn_walk *insn_walk_open(const struct pt_config *config, struct insn_blocks *blocks)
{
    struct insn_walk *walk = calloc(1, sizeof *walk);
    struct pt_config query = *config;

    if (!walk)
        return NULL;
    memset(&query.flags, 0, sizeof query.flags);
    walk->blocks = blocks;
    walk->errata = config->errata;
    walk->is_filtered = config->addr_filter.config.addr_cfg != 0;
    walk->query = pt_qry_alloc_decoder(&query);
    if (walk->query)
        return walk;
    free(walk);
    return NULL;
}

void insn_walk_close(struct insn_walk *walk)
{
    if (!walk)
        return;
    pt_qry_free_decoder(walk->query);
    free(walk);
}
