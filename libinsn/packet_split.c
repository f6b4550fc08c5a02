/* packet_split.c - packets of a processor to packets of the threads that ran on it.
 *
 * Packets are not decoded, only recognized.  A part of another thread begins in the middle of the
 * processor's packets, where their meaning depends on what came before: it gets a PSB packet and
 * the state that a processor would write with one, and its first address in full.  */
#include "libinsn/insn_internal.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define PART_BYTES  (64U << 10) /* parts are delivered when they are that long */
#define MOST_BYTES  (16U << 20) /* and without any time, when they are that long */
#define BAD_PACKET  SIZE_MAX
#define LONGEST_CYC 15

/* What the meaning of the next packet depends on.  */
struct state {
    bool synced;  /* a PSB packet was seen, and nothing unknown since then */
    bool in_psb;  /* between a PSB packet and its end */
    bool enabled; /* code is traced */
    bool has_ticks, has_tma;
    uint8_t mode;   /* of execution; 0: not known */
    uint8_t ratio;  /* of the core's clock; 0: not known */
    uint64_t ticks; /* now */
    uint64_t tsc;   /* the last TSC packet, at which the crystal's counter was first_ctc */
    uint64_t first_ctc, ctc, fast;
    uint64_t last_ip;
};

struct insn_splitter {
    struct insn_config config;
    insn_part_fn take;
    insn_space_fn find; /* NULL: address spaces are not followed */
    void *context;

    uint64_t thread, moved_to;
    bool turned_in_psb; /* at the last PSB packet */
    bool fresh;         /* nothing of the thread's part was delivered yet */
    bool full_ip;       /* its next address is to be written in full */
    struct state begin; /* at bytes[0] */

    uint8_t *buffer; /* owned */
    size_t capacity;
    const uint8_t *bytes; /* in buffer: not delivered yet */
    size_t used;
    size_t at; /* recognized up to here */
    struct state state;

    /* Places between the last time and at where another thread may begin.  */
    size_t psb_at, gap_at;
    struct state psb_state, gap_state;
    bool has_gap;

    uint8_t *part; /* owned; with what is put in front */
    size_t part_size, part_capacity;
};

/* ---- Packets ---- */

enum packet_kind {
    PACKET_OTHER,
    PACKET_PSB,
    PACKET_PSBEND,
    PACKET_OVERFLOW,
    PACKET_MODE,
    PACKET_TSC,
    PACKET_TMA,
    PACKET_MTC,
    PACKET_RATIO,
    PACKET_IP,
    PACKET_STOP,
    PACKET_SPACE,
};

static size_t cyc_size(const uint8_t *bytes, size_t left)
{
    size_t size = 1;
    bool more = bytes[0] & 0x04;

    while (more && size < left && size <= LONGEST_CYC)
        more = bytes[size++] & 0x01;
    return !more ? size : size > LONGEST_CYC ? BAD_PACKET : left + 1;
}

/* Packets of two bytes that begin with 02.  */
static size_t extended_size(uint8_t second, enum packet_kind *kind)
{
    static const struct {
        uint8_t second, size, kind;
    } known[] = {
        { 0x82, 16, PACKET_PSB },
        { 0x23, 2, PACKET_PSBEND },
        { 0xf3, 2, PACKET_OVERFLOW },
        { 0x83, 2, PACKET_STOP },
        { 0x73, 7, PACKET_TMA },
        { 0x03, 4, PACKET_RATIO },
        { 0xa3, 8, 0 },
        { 0x43, 8, PACKET_SPACE },
        { 0xc8, 7, 0 },
        { 0xc3, 11, 0 },
        { 0x62, 2, 0 },
        { 0xe2, 2, 0 },
        { 0xc2, 10, 0 },
        { 0x22, 4, 0 },
        { 0xa2, 7, 0 },
        { 0x13, 4, 0 },
        { 0x53, 11, 0 },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].second == second) {
            *kind = (enum packet_kind)known[i].kind;
            return known[i].size;
        }
    }
    if ((second & 0x1f) == 0x12) /* PTWRITE of 4 or 8 bytes */
        return (second >> 5 & 3) == 0 ? 6 : (second >> 5 & 3) == 1 ? 10 : BAD_PACKET;
    return BAD_PACKET;
}

/* The size of the packet at bytes; more than left: it is not all there.  */
static size_t packet_size(const uint8_t *bytes, size_t left, enum packet_kind *kind)
{
    static const uint8_t ip_sizes[] = { 1, 3, 5, 7, 7, 0, 9, 0 };
    unsigned low = bytes[0] & 0x1f;

    *kind = PACKET_OTHER;
    if (bytes[0] == 0x02)
        return left < 2 ? 2 : extended_size(bytes[1], kind);
    if ((bytes[0] & 0x03) == 0x03)
        return cyc_size(bytes, left);
    if ((bytes[0] & 0x01) == 0) /* PAD, TNT */
        return 1;
    if (low == 0x0d || low == 0x11 || low == 0x01 || low == 0x1d) {
        *kind = PACKET_IP;
        return ip_sizes[bytes[0] >> 5] ? ip_sizes[bytes[0] >> 5] : BAD_PACKET;
    }
    *kind = bytes[0] == 0x99   ? PACKET_MODE
            : bytes[0] == 0x19 ? PACKET_TSC
            : bytes[0] == 0x59 ? PACKET_MTC
                               : PACKET_OTHER;
    return *kind == PACKET_TSC ? 8 : *kind == PACKET_OTHER ? BAD_PACKET : 2;
}

static uint64_t load(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* ---- State ---- */

static void take_ip(struct state *state, const uint8_t *packet)
{
    uint64_t low;

    switch (packet[0] >> 5) {
    case 1:
        state->last_ip = (state->last_ip & ~UINT64_C(0xffff)) | load(packet + 1, 2);
        break;
    case 2:
        state->last_ip = (state->last_ip & ~UINT64_C(0xffffffff)) | load(packet + 1, 4);
        break;
    case 3:
        low = load(packet + 1, 6);
        state->last_ip = low | (low >> 47 & 1 ? UINT64_C(0xffff) << 48 : 0);
        break;
    case 4:
        state->last_ip = (state->last_ip & UINT64_C(0xffff) << 48) | load(packet + 1, 6);
        break;
    case 6:
        state->last_ip = load(packet + 1, 8);
        break;
    default: /* suppressed */
        break;
    }
    switch (packet[0] & 0x1f) {
    case 0x11: /* TIP.PGE */
        state->enabled = true;
        break;
    case 0x01: /* TIP.PGD */
        state->enabled = false;
        break;
    case 0x1d: /* FUP: with a PSB packet and after an overflow it says that code is traced */
        state->enabled = true;
        break;
    default:
        break;
    }
}

static void take_mtc(struct state *state, const struct insn_config *config, uint8_t counter)
{
    uint64_t periods = state->ctc >> config->mtc_freq;
    uint64_t passed = (uint8_t)(counter - (uint8_t)periods);
    uint64_t since;

    if (!state->has_tma || config->cpuid_0x15_eax == 0 || config->mtc_freq > 15 || passed == 0)
        return;
    state->ctc = (periods + passed) << config->mtc_freq;
    since = (state->ctc - state->first_ctc) * config->cpuid_0x15_ebx / config->cpuid_0x15_eax;
    if (since > state->fast)
        state->ticks = state->tsc + since - state->fast;
}

static void take_packet(struct state *state, const struct insn_config *config,
                        enum packet_kind kind, const uint8_t *packet)
{
    switch (kind) {
    case PACKET_PSB:
        state->synced = state->in_psb = true;
        state->enabled = false;
        state->last_ip = 0;
        break;
    case PACKET_PSBEND:
        state->in_psb = false;
        break;
    case PACKET_OVERFLOW:
        state->in_psb = state->enabled = false;
        break;
    case PACKET_STOP:
        state->enabled = false;
        break;
    case PACKET_MODE:
        if (packet[1] >> 5 == 0)
            state->mode = packet[1];
        break;
    case PACKET_TSC:
        state->tsc = state->ticks = load(packet + 1, 7);
        state->has_ticks = true;
        state->has_tma = false;
        break;
    case PACKET_TMA:
        state->first_ctc = state->ctc = load(packet + 2, 2);
        state->fast = load(packet + 5, 2) & 0x1ff;
        state->has_tma = true;
        break;
    case PACKET_MTC:
        take_mtc(state, config, packet[1]);
        break;
    case PACKET_RATIO:
        state->ratio = packet[2];
        break;
    case PACKET_IP:
        take_ip(state, packet);
        break;
    case PACKET_SPACE:
    case PACKET_OTHER:
        break;
    }
}

/* ---- Parts ---- */

static bool add(struct insn_splitter *splitter, const void *bytes, size_t size)
{
    if (!base_make_room(&splitter->part, &splitter->part_capacity, splitter->part_size + size, 1))
        return false;
    memcpy(splitter->part + splitter->part_size, bytes, size);
    splitter->part_size += size;
    return true;
}

/* What a processor would write if decoding could begin at bytes[0].  */
static bool add_psb(struct insn_splitter *splitter)
{
    static const uint8_t psb[] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                   2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
    static const uint8_t psbend[] = { 0x02, 0x23 };
    const struct state *state = &splitter->begin;
    uint8_t tsc[8] = { 0x19 };
    const uint8_t mode[] = { 0x99, state->mode };
    const uint8_t ratio[] = { 0x02, 0x03, state->ratio, 0 };

    for (size_t i = 0; i < 7; i++)
        tsc[1 + i] = (uint8_t)(state->ticks >> 8 * i);
    return add(splitter, psb, sizeof psb) &&
           (!state->has_ticks || add(splitter, tsc, sizeof tsc)) &&
           (!state->mode || add(splitter, mode, sizeof mode)) &&
           (!state->ratio || add(splitter, ratio, sizeof ratio)) &&
           add(splitter, psbend, sizeof psbend);
}

/* Add the first size bytes, with the first address in full.  */
static bool add_with_ip(struct insn_splitter *splitter, size_t size)
{
    struct state state = splitter->begin;
    size_t at = 0;

    while (splitter->full_ip && at < size) {
        enum packet_kind kind;
        const uint8_t *packet = splitter->bytes + at;
        size_t length = packet_size(packet, size - at, &kind);

        if (length > size - at || kind == PACKET_PSB)
            splitter->full_ip = false; /* not a packet, or one after which addresses are in full */
        if (!splitter->full_ip)
            break;
        take_packet(&state, &splitter->config, kind, packet);
        at += length;
        if (kind != PACKET_IP || packet[0] >> 5 == 0) {
            if (!add(splitter, packet, length))
                return false;
        } else {
            uint8_t full[9] = { (uint8_t)((packet[0] & 0x1f) | 6 << 5) };

            for (size_t i = 0; i < 8; i++)
                full[1 + i] = (uint8_t)(state.last_ip >> 8 * i);
            splitter->full_ip = false;
            if (!add(splitter, full, sizeof full))
                return false;
        }
    }
    return add(splitter, splitter->bytes + at, size - at);
}

static bool begins_with_psb(const struct insn_splitter *splitter)
{
    return splitter->used >= PSB_SIZE && splitter->bytes[0] == 0x02 && splitter->bytes[1] == 0x82;
}

/* Deliver the first size bytes, after which the state is *state.  */
static enum insn_status deliver(struct insn_splitter *splitter, size_t size,
                                const struct state *state, struct insn_error *error)
{
    enum insn_status status = INSN_OK;

    if (size == 0)
        return INSN_OK;
    splitter->part_size = 0;
    if (splitter->fresh && splitter->begin.synced && !begins_with_psb(splitter)) {
        splitter->full_ip = true;
        if (!add_psb(splitter))
            return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    }
    splitter->fresh = false;
    if (!add_with_ip(splitter, size))
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    if (splitter->thread != INSN_NO_THREAD &&
        splitter->take(splitter->context, splitter->thread, state->ticks, splitter->part,
                       splitter->part_size) != INSN_OK)
        status = insn_fail(error, INSN_STOPPED, "the receiver stopped");
    splitter->begin = *state;
    splitter->used -= size;
    splitter->bytes += size;
    splitter->at = splitter->at > size ? splitter->at - size : 0;
    splitter->psb_at = splitter->psb_at > size ? splitter->psb_at - size : 0;
    splitter->has_gap = false;
    return status;
}

/* ---- Recognizing ---- */

/* Nothing is known up to the next PSB packet.  False: it is not there yet.  */
static bool find_psb(struct insn_splitter *splitter)
{
    size_t found = insn_find_psb(splitter->bytes, splitter->used, splitter->at);

    splitter->state.synced = splitter->state.enabled = splitter->state.in_psb = false;
    splitter->has_gap = false;
    if (found == splitter->used) {
        /* Bytes that may begin one are looked at again.  */
        if (splitter->used > PSB_SEEN && splitter->used - PSB_SEEN > splitter->at)
            splitter->at = splitter->used - PSB_SEEN;
        return false;
    }
    splitter->at = found;
    return true;
}

static bool has_time(enum packet_kind kind)
{
    return kind == PACKET_TSC || kind == PACKET_MTC;
}

/* Note where another thread may begin, before and after a packet.  */
static void note_places(struct insn_splitter *splitter, enum packet_kind kind, size_t length,
                        const struct state *before)
{
    if (kind == PACKET_PSB) {
        splitter->psb_at = splitter->at;
        splitter->psb_state = *before;
    }
    if (before->enabled && !splitter->state.enabled && kind != PACKET_PSB) {
        splitter->gap_at = splitter->at + length;
        splitter->gap_state = splitter->state;
        splitter->has_gap = true;
    }
}

enum outcome { AT_END, AT_LIMIT, AT_SPACE };

/* Whether a packet says that another thread runs, moved_to.  */
static bool moves(struct insn_splitter *splitter, enum packet_kind kind, const uint8_t *packet,
                  uint64_t ticks)
{
    if (!splitter->find || kind != PACKET_SPACE)
        return false;
    splitter->moved_to = splitter->find(splitter->context, load(packet + 2, 6) >> 1 << 5, ticks);
    return splitter->moved_to != splitter->thread;
}

/* Recognize packets up to a time of at least limit, or to another address space.  AT_END: there are
 * no more whole packets.  */
static enum outcome recognize_some(struct insn_splitter *splitter, uint64_t limit)
{
    while (splitter->at < splitter->used) {
        enum packet_kind kind;
        const uint8_t *packet = splitter->bytes + splitter->at;
        size_t left = splitter->used - splitter->at;
        size_t length = packet_size(packet, left, &kind);
        struct state next = splitter->state, before = next;

        if (length == BAD_PACKET || (!next.synced && kind != PACKET_PSB)) {
            if (!find_psb(splitter))
                return AT_END;
            continue;
        }
        if (length > left)
            return AT_END;
        if (moves(splitter, kind, packet, next.ticks))
            return AT_SPACE;
        take_packet(&next, &splitter->config, kind, packet);
        if (has_time(kind)) {
            if (next.ticks >= limit)
                return AT_LIMIT;
            splitter->has_gap = splitter->has_gap && !next.enabled;
        }
        splitter->turned_in_psb = splitter->turned_in_psb && kind != PACKET_PSBEND;
        splitter->state = next;
        note_places(splitter, kind, length, &before);
        splitter->at += length;
    }
    return AT_END;
}

/* From cut on, the packets are of another thread.  What comes after it is recognized again.  */
static enum insn_status turn_to(struct insn_splitter *splitter, size_t cut, struct state state,
                                uint64_t thread, struct insn_error *error)
{
    enum insn_status status = deliver(splitter, cut, &state, error);

    splitter->at = 0;
    splitter->state = splitter->begin = state;
    splitter->has_gap = false;
    splitter->fresh = true;
    splitter->thread = thread;
    return status;
}

/* Another address space: since tracing was off, or since the PSB packet whose status says so.  */
static enum insn_status turn_to_space(struct insn_splitter *splitter, struct insn_error *error)
{
    const struct state *state = &splitter->state;

    if (splitter->has_gap && !state->enabled)
        return turn_to(splitter, splitter->gap_at, splitter->gap_state, splitter->moved_to, error);
    if (state->in_psb && !splitter->turned_in_psb) { /* once: the status may be broken */
        splitter->turned_in_psb = true;
        return turn_to(splitter, splitter->psb_at, splitter->psb_state, splitter->moved_to, error);
    }
    return turn_to(splitter, splitter->at, *state, splitter->moved_to, error);
}

/* Recognize packets up to a time of at least limit: *reached, or up to the last whole packet.  */
static enum insn_status recognize(struct insn_splitter *splitter, uint64_t limit, bool *reached,
                                  struct insn_error *error)
{
    enum insn_status status = INSN_OK;
    enum outcome outcome;

    while ((outcome = recognize_some(splitter, limit)) == AT_SPACE && status == INSN_OK)
        status = turn_to_space(splitter, error);
    *reached = outcome == AT_LIMIT;
    return status;
}

/* ---- The splitter ---- */

enum insn_status insn_splitter_open(const struct insn_config *config, insn_part_fn take,
                                    void *context, struct insn_splitter **out,
                                    struct insn_error *error)
{
    struct insn_splitter *splitter = calloc(1, sizeof *splitter);

    if (!splitter)
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    splitter->config = *config;
    splitter->take = take;
    splitter->context = context;
    splitter->thread = INSN_NO_THREAD;
    splitter->fresh = true;
    *out = splitter;
    return INSN_OK;
}

void insn_splitter_follow(struct insn_splitter *splitter, insn_space_fn find)
{
    splitter->find = find;
}

enum insn_status insn_splitter_feed(struct insn_splitter *splitter, const void *bytes, size_t size,
                                    struct insn_error *error)
{
    if (splitter->used > 0)
        memmove(splitter->buffer, splitter->bytes, splitter->used);
    splitter->bytes = splitter->buffer;
    if (!base_make_room(&splitter->buffer, &splitter->capacity, splitter->used + size, 1))
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    memcpy(splitter->buffer + splitter->used, bytes, size);
    splitter->bytes = splitter->buffer;
    splitter->used += size;
    return INSN_OK;
}

/* Deliver what can only be the current thread's, if it is much.  */
static enum insn_status deliver_most(struct insn_splitter *splitter, struct insn_error *error)
{
    struct state state = splitter->state;
    size_t size = splitter->at;
    enum insn_status status;

    if (splitter->has_gap && splitter->at < MOST_BYTES) {
        state = splitter->gap_state;
        size = splitter->gap_at;
    }
    if (size < PART_BYTES || (splitter->state.in_psb && splitter->psb_at < size))
        return INSN_OK;
    status = deliver(splitter, size, &state, error);
    splitter->has_gap = !state.enabled;
    splitter->gap_at = 0;
    splitter->gap_state = state;
    return status;
}

enum insn_status insn_splitter_advance(struct insn_splitter *splitter, uint64_t ticks,
                                       bool *reached, struct insn_error *error)
{
    bool ignored;
    enum insn_status status = recognize(splitter, ticks, reached ? reached : &ignored, error);

    return status == INSN_OK ? deliver_most(splitter, error) : status;
}

enum insn_status insn_splitter_switch(struct insn_splitter *splitter, uint64_t ticks,
                                      uint64_t thread, struct insn_error *error)
{
    bool ignored;
    enum insn_status status = recognize(splitter, ticks, &ignored, error);
    struct state state = splitter->state;

    if (status != INSN_OK)
        return status;
    if (thread == splitter->thread && state.in_psb)
        return deliver(splitter, splitter->psb_at, &splitter->psb_state, error);
    if (thread == splitter->thread)
        return deliver(splitter, splitter->at, &state, error);
    if (splitter->has_gap)
        return turn_to(splitter, splitter->gap_at, splitter->gap_state, thread, error);
    if (splitter->state.in_psb)
        return turn_to(splitter, splitter->psb_at, splitter->psb_state, thread, error);
    return turn_to(splitter, splitter->at, state, thread, error);
}

enum insn_status insn_splitter_finish(struct insn_splitter *splitter, struct insn_error *error)
{
    bool ignored;
    enum insn_status status = recognize(splitter, UINT64_MAX, &ignored, error);
    struct state state = splitter->state;

    return status == INSN_OK ? deliver(splitter, splitter->used, &state, error) : status;
}

void insn_splitter_close(struct insn_splitter *splitter)
{
    if (!splitter)
        return;
    free(splitter->buffer);
    free(splitter->part);
    free(splitter);
}
