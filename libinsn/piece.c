/* piece.c - decodes a run of packets that begins with a PSB packet.  */
#include "libinsn/insn_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* More steps than that for each byte of packets, or so many for bytes that do not end, and the code
 * goes round without a packet.  */
#define STEPS_PER_BYTE 64
#define STEPS_AT_LEAST 65536
/* Of a piece, which is kept in memory: 64 MiB.  Processors write PSB packets at least every 64 KiB,
 * which are 400,000 steps at most.  */
#define MOST_STEPS     (1U << 21)
#define ROOM           256               /* steps that are made at once */
#define TOO_MANY_STEPS pte_not_supported /* stands for it; the block decoder does not return it */

struct run {
    struct insn_piece *piece;
    const struct insn_space *space;
    struct insn_opcode_cache *cache;
    struct pt_block_decoder *decoder; /* or walk */
    struct insn_walk *walk;
    bool enabled;
    size_t limit; /* of steps, up to the place that checked_offset was at */
    uint64_t checked_offset;
};

static struct insn_step *add_step(struct insn_steps *steps, enum insn_step_kind kind)
{
    struct insn_step *step;

    if (!base_make_room(&steps->items, &steps->capacity, steps->count + 1, sizeof *steps->items))
        return NULL;
    step = &steps->items[steps->count++];
    *step = (struct insn_step){ .kind = (uint8_t)kind };
    return step;
}

static bool read_time(struct run *run, uint64_t *ticks)
{
    return run->walk ? insn_walk_time(run->walk, ticks)
                     : pt_blk_time(run->decoder, ticks, NULL, NULL) >= 0;
}

/* A step with the time that was read last.  NULL when memory is short: the piece has failed.  */
static struct insn_step *add_now(struct run *run, enum insn_step_kind kind)
{
    struct insn_step *step = add_step(&run->piece->steps, kind);

    if (!step) {
        run->piece->failed = true;
        return NULL;
    }
    step->has_ticks = read_time(run, &step->ticks);
    return step;
}

/* ---- Blocks ---- */

static const struct insn_opcode *opcode_at(struct run *run, uint64_t ip)
{
    size_t slot = (ip ^ ip >> 12) % OPCODE_CACHE;
    uint8_t bytes[INSN_MAX_LENGTH];

    if (run->cache->ips[slot] != ip || ip == 0) {
        insn_classify(bytes, insn_space_read(run->space, ip, bytes, sizeof bytes),
                      &run->cache->opcodes[slot]);
        run->cache->ips[slot] = ip;
    }
    return &run->cache->opcodes[slot];
}

static void take_block(struct run *run, const struct pt_block *block)
{
    const struct insn_opcode *opcode;
    struct insn_step *step = add_now(run, INSN_STEP_BLOCK);

    if (!step)
        return;
    opcode = opcode_at(run, block->end_ip);
    step->branch = (uint8_t)opcode->branch;
    step->length = opcode->length;
    step->calls_next = opcode->calls_next;
    step->count = block->ninsn;
    step->ip = block->ip;
    step->last_ip = block->end_ip;
}

/* ---- Events ---- */

static void take_tsx(struct run *run, const struct pt_event *event)
{
    if (event->status_update)
        return;
    (void)add_now(run, event->variant.tsx.aborted       ? INSN_STEP_ABORTED
                       : event->variant.tsx.speculative ? INSN_STEP_SPECULATIVE
                                                        : INSN_STEP_COMMITTED);
}

/* The address that the status block of a PSB packet tells: where execution is.  False: tracing is
 * disabled, or the block is broken.  */
static bool address_of_psb(const struct insn_piece *piece, uint64_t sync, uint64_t *ip)
{
    struct pt_packet_decoder *decoder;
    struct pt_packet packet;
    struct pt_config pt;
    bool found = false;

    pt_config_init(&pt);
    pt.begin = (uint8_t *)piece->bytes; /* it is not written to */
    pt.end = pt.begin + piece->size;
    decoder = pt_pkt_alloc_decoder(&pt);
    if (!decoder || pt_pkt_sync_set(decoder, sync) < 0) {
        pt_pkt_free_decoder(decoder);
        return false;
    }
    while (!found && pt_pkt_next(decoder, &packet, sizeof packet) >= 0 && packet.type != ppt_psbend)
        found = packet.type == ppt_fup && packet.payload.ip.ipc != pt_ipc_suppressed;
    pt_pkt_free_decoder(decoder);
    if (!found)
        return false;
    *ip = packet.payload.ip.ip;
    if (packet.payload.ip.ipc == pt_ipc_sext_48 && (*ip >> 47 & 1))
        *ip |= UINT64_C(0xffff) << 48;
    return true;
}

/* Decoding begins at a PSB packet.  */
static void take_sync(struct run *run, uint64_t sync)
{
    uint64_t ip;

    run->enabled = address_of_psb(run->piece, sync, &ip);
    if (!run->enabled)
        return;
    if (sync == 0) {
        run->piece->continues = true;
        run->piece->first_ip = ip;
        run->piece->has_first_ticks = read_time(run, &run->piece->first_ticks);
    } else {
        struct insn_step *step = add_now(run, INSN_STEP_ENABLED);

        if (step)
            step->ip = ip;
    }
}

static void take_enabled(struct run *run, const struct pt_event *event)
{
    struct insn_step *step;

    run->enabled = true;
    if (event->status_update)
        return;
    step = add_now(run, INSN_STEP_ENABLED);
    if (step)
        step->ip = event->variant.enabled.ip;
}

static void take_event(struct run *run, const struct pt_event *event)
{
    struct insn_step *step;

    switch (event->type) {
    case ptev_enabled:
        take_enabled(run, event);
        break;
    case ptev_disabled:
        run->enabled = false;
        (void)add_now(run, INSN_STEP_DISABLED);
        break;
    case ptev_async_disabled:
        run->enabled = false;
        step = add_now(run, INSN_STEP_STOPPED);
        if (step)
            step->ip = event->variant.async_disabled.at;
        break;
    case ptev_async_branch:
        step = add_now(run, INSN_STEP_BRANCH);
        if (step) {
            step->ip = event->variant.async_branch.from;
            step->last_ip = event->variant.async_branch.to;
        }
        break;
    case ptev_overflow:
        run->enabled = !event->ip_suppressed;
        step = add_now(run, INSN_STEP_OVERFLOW);
        if (step && run->enabled)
            step->ip = event->variant.overflow.ip;
        break;
    case ptev_tsx:
        take_tsx(run, event);
        break;
    case ptev_ptwrite:
        step = add_now(run, INSN_STEP_PTWRITE);
        if (step) {
            step->ip = event->ip_suppressed ? 0 : event->variant.ptwrite.ip;
            step->last_ip = event->variant.ptwrite.payload;
        }
        break;
    default: /* modes, power states, paging: nothing that changes what was executed */
        break;
    }
}

/* ---- Decoding ---- */

static uint64_t offset_of(const struct run *run)
{
    uint64_t offset = 0;

    if (run->walk)
        return insn_walk_offset(run->walk);
    (void)pt_blk_get_offset(run->decoder, &offset);
    return offset;
}

/* Whether the decoder takes packets in; else the code needs none and never will.  */
static bool moves(struct run *run)
{
    uint64_t offset;

    if (run->piece->steps.count < run->limit)
        return true;
    offset = offset_of(run);
    if (offset == run->checked_offset ||
        run->piece->steps.count / STEPS_PER_BYTE > offset + STEPS_AT_LEAST)
        return false;
    run->checked_offset = offset;
    run->limit = run->piece->steps.count + STEPS_AT_LEAST;
    return true;
}

static int next_event(struct run *run)
{
    struct pt_event event;
    int status = run->walk ? insn_walk_event(run->walk, &event)
                           : pt_blk_event(run->decoder, &event, sizeof event);

    if (status >= 0)
        take_event(run, &event);
    return status;
}

static int walk_blocks(struct run *run)
{
    struct insn_steps *steps = &run->piece->steps;
    size_t added, room = run->limit - steps->count; /* at least one */
    int status;

    if (room > ROOM)
        room = ROOM;
    if (!base_make_room(&steps->items, &steps->capacity, steps->count + room,
                        sizeof *steps->items)) {
        run->piece->failed = true;
        return -pte_nomem;
    }
    status = insn_walk_next(run->walk, &steps->items[steps->count], room, &added);
    steps->count += added;
    return status;
}

static int next_block(struct run *run)
{
    struct pt_block block;
    int status;

    if (run->walk)
        return walk_blocks(run);
    memset(&block, 0, sizeof block);
    status = pt_blk_next(run->decoder, &block, sizeof block);
    if (block.ninsn > 0)
        take_block(run, &block);
    return status;
}

/* Up to an error of libipt, which is returned; -pte_internal stands for endless code.  */
static int decode_on(struct run *run, int status)
{
    while (status >= 0) {
        bool beyond; /* the packets are used up: what follows may not have run */

        while (status >= 0 && (status & pts_event_pending))
            status = next_event(run);
        if (status < 0)
            return status;
        beyond = status & pts_eos;
        if (beyond && (!run->piece->followed || !run->enabled))
            return -pte_eos;
        if (run->piece->failed)
            return -pte_nomem;
        if (run->piece->steps.count >= MOST_STEPS)
            return -TOO_MANY_STEPS;
        if (!moves(run))
            return beyond ? -pte_eos : -pte_internal;
        status = next_block(run);
        if (status < 0 && status != INSN_WALK_UNUSUAL && beyond)
            return -pte_eos;
    }
    return status;
}

/* -pte_nomem is among the others: it also says that more events wait than any trace has.  */
static enum insn_gap_reason reason_of(int status)
{
    switch (-status) {
    case pte_bad_opc:
    case pte_bad_packet:
        return INSN_GAP_BAD_PACKET;
    case pte_nomap:
    case pte_bad_image:
    case pte_bad_file:
        return INSN_GAP_NO_CODE;
    case pte_internal:
        return INSN_GAP_ENDLESS;
    case TOO_MANY_STEPS:
        return INSN_GAP_TOO_LONG;
    default:
        return INSN_GAP_MISMATCH;
    }
}

/* Nothing of [from, to) was decoded, or not all.  */
static void add_gap(struct run *run, int status, uint64_t from, uint64_t to)
{
    struct insn_step *step = add_now(run, INSN_STEP_GAP);

    if (!step)
        return;
    step->reason = (uint8_t)reason_of(status);
    step->ip = run->piece->offset + from;
    step->last_ip = to - from;
}

/* After an error: go on at the next PSB packet.  Returns libipt's status there.  */
static int resync(struct run *run, int error, uint64_t *sync)
{
    struct insn_piece *piece = run->piece;
    uint64_t at = *sync;
    size_t next;

    (void)pt_blk_get_offset(run->decoder, &at);
    if (at < *sync || at > piece->size)
        at = *sync;
    /* From the PSB packet where decoding began, not from the error: packets that were misread may
     * have hidden one.  */
    next = insn_find_psb(piece->bytes, piece->size,
                         (size_t)(at > *sync + PSB_SIZE ? at : *sync + PSB_SIZE));
    if (error == -TOO_MANY_STEPS)
        next = piece->size;
    at = at < next ? at : next;
    add_gap(run, error, at, next);
    piece->decoded += at - *sync;
    *sync = next;
    run->enabled = false;
    if (next == piece->size || piece->failed)
        return -pte_eos;
    return pt_blk_sync_set(run->decoder, next);
}

static void decode_all(struct run *run)
{
    uint64_t sync = 0;
    int status = pt_blk_sync_set(run->decoder, 0);

    for (;;) {
        if (status >= 0)
            take_sync(run, sync);
        status = decode_on(run, status);
        if (status == -pte_eos || run->piece->failed)
            break;
        status = resync(run, status, &sync);
        if (status == -pte_eos)
            break;
    }
    run->piece->decoded += run->piece->size - sync;
    run->piece->alive = run->enabled;
}

static void configure_filters(struct pt_conf_addr_filter *out, const struct insn_filter *filters)
{
    uint64_t *const ranges[INSN_FILTERS][2] = { { &out->addr0_a, &out->addr0_b },
                                                { &out->addr1_a, &out->addr1_b },
                                                { &out->addr2_a, &out->addr2_b },
                                                { &out->addr3_a, &out->addr3_b } };

    for (unsigned i = 0; i < INSN_FILTERS; i++) {
        out->config.addr_cfg |= (uint64_t)(filters[i].mode & 0xf) << 4 * i;
        *ranges[i][0] = filters[i].start;
        *ranges[i][1] = filters[i].end;
    }
}

static void configure(struct pt_config *out, const struct insn_config *config)
{
    pt_config_init(out);
    if (config->family) {
        out->cpu = (struct pt_cpu){ .vendor = pcv_intel,
                                    .family = config->family,
                                    .model = config->model,
                                    .stepping = config->stepping };
        (void)pt_cpu_errata(&out->errata, &out->cpu);
    }
    out->mtc_freq = config->mtc_freq;
    out->nom_freq = config->nom_freq;
    out->cpuid_0x15_eax = config->cpuid_0x15_eax;
    out->cpuid_0x15_ebx = config->cpuid_0x15_ebx;
    configure_filters(&out->addr_filter, config->filters);
    out->flags.variant.block.end_on_call = 1;
    out->flags.variant.block.end_on_jump = 1;
}

static void configure_piece(struct pt_config *out, const struct insn_config *config,
                            const struct insn_piece *piece)
{
    configure(out, config);
    out->begin = (uint8_t *)piece->bytes; /* it is not written to */
    out->end = out->begin + piece->size;
}

bool insn_config_looks_on(const struct insn_config *config)
{
    struct pt_config pt;

    configure(&pt, config);
    return pt.errata.apl12;
}

/* With libipt's block decoder.  */
static void decode_plainly(struct insn_piece *piece, const struct insn_config *config,
                           const struct insn_space *space, struct pt_image *image,
                           struct insn_opcode_cache *cache)
{
    struct run run = { .piece = piece, .space = space, .cache = cache, .limit = STEPS_AT_LEAST };
    struct pt_config pt;

    configure_piece(&pt, config, piece);
    run.decoder = pt_blk_alloc_decoder(&pt);
    if (!run.decoder || pt_blk_set_image(run.decoder, image) < 0)
        piece->failed = true;
    else
        decode_all(&run);
    pt_blk_free_decoder(run.decoder);
}

/* False: something unusual is in it, and nothing of it was decoded.  */
static bool decode_walking(struct insn_piece *piece, const struct insn_config *config,
                           struct insn_blocks *blocks)
{
    struct run run = { .piece = piece, .limit = STEPS_AT_LEAST };
    struct pt_config pt;
    int status;

    configure_piece(&pt, config, piece);
    run.walk = insn_walk_open(&pt, blocks);
    status = run.walk ? insn_walk_begin(run.walk) : INSN_WALK_UNUSUAL;
    if (status >= 0)
        take_sync(&run, 0);
    status = decode_on(&run, status);
    insn_walk_close(run.walk);
    if (status == -pte_eos && !piece->failed) {
        piece->decoded = piece->size;
        piece->alive = run.enabled;
        return true;
    }
    piece->steps.count = 0;
    piece->continues = piece->failed = false;
    return false;
}

#define MOST_SKIPPED_BITS 4

/* Where pieces are unusual again and again, fewer and fewer of them are tried.  */
static void note_unusual(struct insn_blocks *blocks)
{
    if (blocks->unusual < MOST_SKIPPED_BITS)
        blocks->unusual++;
    blocks->to_skip = (1U << blocks->unusual) - 1;
}

void insn_piece_decode(struct insn_piece *piece, const struct insn_config *config,
                       const struct insn_space *space, struct pt_image *image,
                       struct insn_opcode_cache *cache, struct insn_blocks *blocks)
{
    if (blocks && blocks->to_skip > 0) {
        blocks->to_skip--;
    } else if (blocks && insn_blocks_prepare(blocks, space, image)) {
        if (decode_walking(piece, config, blocks)) {
            blocks->unusual = 0;
            return;
        }
        note_unusual(blocks);
    }
    decode_plainly(piece, config, space, image, cache);
}

size_t insn_find_psb(const uint8_t *bytes, size_t size, size_t from)
{
    static const uint8_t psb[PSB_SIZE] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                           2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
    const uint8_t *found;

    if (from > size)
        return size;
    found = memmem(bytes + from, size - from, psb, sizeof psb);
    if (!found)
        return size;
    /* What comes before may end in 02 82, too: the last 16 such bytes are the packet.  */
    from = (size_t)(found - bytes);
    while (size - from >= PSB_SEEN && memcmp(bytes + from + PSB_SIZE, psb, 2) == 0)
        from += 2;
    return size - from >= PSB_SEEN ? from : size;
}

size_t insn_first_psb(const void *bytes, size_t size)
{
    return insn_find_psb(bytes, size, 0);
}

/* ---- Where two pieces meet ---- */

/* The next instruction after the events before it; negative: there is none.  */
static int next_insn(struct pt_insn_decoder *decoder, int status, struct pt_insn *insn)
{
    struct pt_event event;

    while (status >= 0 && (status & pts_event_pending))
        status = pt_insn_event(decoder, &event, sizeof event);
    memset(insn, 0, sizeof *insn);
    return status < 0 ? status : pt_insn_next(decoder, insn, sizeof *insn);
}

/* How many instructions the decoder passes before ip; *before is the last of them.  Negative: ip is
 * not reached.  */
static int count_instructions(struct pt_insn_decoder *decoder, uint64_t ip, uint64_t *before)
{
    int count = 0, status = pt_insn_sync_forward(decoder);

    while (status >= 0) {
        struct pt_insn insn;

        status = next_insn(decoder, status, &insn);
        if (insn.ip == ip)
            return count;
        if (insn.iclass == ptic_error || count == UINT16_MAX)
            return -1;
        *before = insn.ip;
        count++;
    }
    return status;
}

/* The same from start, one instruction after another.  */
static int count_up_to(uint64_t start, uint64_t ip, const struct insn_config *config,
                       struct pt_image *image, uint64_t *before)
{
    uint8_t packets[INSN_ENTRY_SIZE];
    struct pt_insn_decoder *decoder;
    struct pt_config pt;
    int count = -1;

    insn_write_entry(packets, start);
    configure(&pt, config);
    memset(&pt.flags, 0, sizeof pt.flags);
    pt.begin = packets;
    pt.end = packets + sizeof packets;
    decoder = pt_insn_alloc_decoder(&pt);
    if (decoder && pt_insn_set_image(decoder, image) >= 0)
        count = count_instructions(decoder, ip, before);
    pt_insn_free_decoder(decoder);
    return count;
}

/* Whether what comes after the step is known without a packet.  */
static bool runs_on(const struct insn_step *step)
{
    return step->branch == INSN_CLASS_OTHER || step->branch == INSN_CLASS_JUMP ||
           step->branch == INSN_CLASS_CALL;
}

/* Where execution is after a step that is no block; 0: nowhere.  */
static uint64_t target_of(const struct insn_step *step)
{
    switch (step->kind) {
    case INSN_STEP_ENABLED:
    case INSN_STEP_OVERFLOW:
        return step->ip;
    case INSN_STEP_BRANCH:
        return step->last_ip;
    default:
        return 0;
    }
}

bool insn_steps_cut(struct insn_steps *steps, uint64_t ip, const struct insn_config *config,
                    struct pt_image *image)
{
    for (size_t i = steps->count; i-- > 0;) {
        struct insn_step *step = &steps->items[i];
        uint64_t before = 0;
        int count;

        if (step->kind != INSN_STEP_BLOCK) {
            steps->count = i + 1;
            return target_of(step) == ip;
        }
        if (i + 1 < steps->count && !runs_on(step))
            return false;
        if (ip < step->ip || ip > step->last_ip)
            continue;
        count = count_up_to(step->ip, ip, config, image, &before);
        if (count < 0)
            return false;
        steps->count = count > 0 ? i + 1 : i;
        step->count = (uint16_t)count;
        step->last_ip = before;
        step->branch = INSN_CLASS_OTHER;
        step->length = 0;
        step->calls_next = false;
        return true;
    }
    return false;
}
