/* packet_encode.c - the packets that a processor writes (Intel's manual, volume 3, "Intel Processor
 * Trace"), from instructions that somebody stepped.  Written from the format, not on libipt's
 * encoder, so that both can be held against each other.  */
#include "libinsn/insn_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define DEFAULT_PSB_BYTES 4096
#define MIN_PSB_BYTES     256
#define RETURNS           64 /* what the processor remembers of calls */
#define CRYSTAL_TICKS     64 /* of the TSC, in one of the crystal */
#define MTC_FREQ          3
#define MTC_TICKS         (CRYSTAL_TICKS << MTC_FREQ) /* of the TSC, between two MTC packets */
#define NOMINAL_RATIO     10
#define MAX_MTCS          8 /* after a longer time the whole counter is written */
#define MAX_TNT           6
#define LONGEST_PACKET    16

struct insn_encoder {
    struct insn_encoder_options options;
    insn_write_fn write;
    void *context;
    enum insn_status status;
    uint64_t bytes; /* handed over */

    uint8_t *buffer; /* owned; packets since the last PSB packet */
    size_t used, capacity;
    bool started; /* the first PSB packet is written */
    bool enabled;
    bool losing;

    uint64_t ticks;      /* now */
    uint64_t told_ticks; /* up to here cycles are written */
    uint64_t periods;    /* MTC periods written */

    uint64_t last_ip; /* what IPs are compressed against */
    unsigned tnt;     /* oldest outcome highest */
    unsigned tnt_count;

    uint64_t returns[RETURNS]; /* a ring: the oldest is forgotten */
    unsigned return_top, return_count;
};

void insn_encoder_config(struct insn_config *out)
{
    *out = (struct insn_config){ .mtc_freq = MTC_FREQ,
                                 .nom_freq = NOMINAL_RATIO,
                                 .cpuid_0x15_eax = 1,
                                 .cpuid_0x15_ebx = CRYSTAL_TICKS };
}

/* ---- Bytes ---- */

static bool make_room(struct insn_encoder *encoder)
{
    if (base_make_room(&encoder->buffer, &encoder->capacity, encoder->used + LONGEST_PACKET, 1))
        return true;
    encoder->status = INSN_NO_MEMORY;
    return false;
}

static void put(struct insn_encoder *encoder, const uint8_t *bytes, size_t size)
{
    if (encoder->status != INSN_OK || !make_room(encoder))
        return;
    memcpy(encoder->buffer + encoder->used, bytes, size);
    encoder->used += size;
}

static void hand_over(struct insn_encoder *encoder)
{
    if (encoder->status != INSN_OK || encoder->used == 0)
        return;
    if (encoder->write(encoder->context, encoder->buffer, encoder->used) != 0) {
        encoder->status = INSN_IO;
        return;
    }
    encoder->bytes += encoder->used;
    encoder->used = 0;
}

static void store(uint8_t *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

/* ---- Time ---- */

static void put_tsc(struct insn_encoder *encoder)
{
    uint64_t crystal = encoder->ticks / CRYSTAL_TICKS;
    /* With the ratio, so that time that passed without cycles does not count as slow cycles.  */
    static const uint8_t cbr[] = { 0x02, 0x03, NOMINAL_RATIO, 0 };
    uint8_t tsc[8] = { 0x19 }, tma[7] = { 0x02, 0x73 };

    store(tsc + 1, encoder->ticks, 7);
    put(encoder, tsc, sizeof tsc);
    if (encoder->options.timing != INSN_TIMING_TSC) {
        store(tma + 2, crystal & 0xffff, 2);
        store(tma + 5, encoder->ticks % CRYSTAL_TICKS, 2);
        put(encoder, tma, sizeof tma);
    }
    put(encoder, cbr, sizeof cbr);
    encoder->told_ticks = encoder->ticks;
    encoder->periods = encoder->ticks / MTC_TICKS;
}

/* Cycles since they were last written, up to ticks.  */
static void put_cyc(struct insn_encoder *encoder, uint64_t ticks)
{
    uint64_t cycles = ticks - encoder->told_ticks;
    uint8_t cyc[LONGEST_PACKET];
    size_t size = 0;

    if (encoder->options.timing != INSN_TIMING_CYC || cycles == 0)
        return;
    cyc[size++] = (uint8_t)(0x03 | (cycles & 0x1f) << 3);
    cycles >>= 5;
    if (cycles)
        cyc[0] |= 0x04;
    while (cycles) {
        cyc[size] = (uint8_t)((cycles & 0x7f) << 1);
        cycles >>= 7;
        if (cycles)
            cyc[size] |= 0x01;
        size++;
    }
    put(encoder, cyc, size);
    encoder->told_ticks = ticks;
}

/* Bring what was told to now, before a packet that has a time: MTC packets for the periods that
 * passed, and cycles.  A processor writes them as they pass; nothing can be decoded from the
 * difference, for nothing is written in between.  */
static void tell_time(struct insn_encoder *encoder)
{
    uint64_t period = encoder->ticks / MTC_TICKS;

    if (encoder->options.timing == INSN_TIMING_TSC)
        return;
    if (period - encoder->periods > MAX_MTCS) {
        put_tsc(encoder);
        return;
    }
    while (encoder->periods < period) {
        uint8_t mtc[2] = { 0x59 };

        encoder->periods++;
        put_cyc(encoder, encoder->periods * MTC_TICKS);
        mtc[1] = (uint8_t)encoder->periods;
        put(encoder, mtc, sizeof mtc);
    }
    put_cyc(encoder, encoder->ticks);
}

static void advance(struct insn_encoder *encoder, uint64_t ticks)
{
    if (ticks > encoder->ticks)
        encoder->ticks = ticks;
}

/* ---- Packets ---- */

static void flush_tnt(struct insn_encoder *encoder)
{
    uint8_t tnt;

    if (encoder->tnt_count == 0)
        return;
    tell_time(encoder);
    tnt = (uint8_t)((1U << encoder->tnt_count | encoder->tnt) << 1);
    put(encoder, &tnt, 1);
    encoder->tnt = encoder->tnt_count = 0;
}

static void outcome(struct insn_encoder *encoder, bool taken)
{
    encoder->tnt = encoder->tnt << 1 | (taken ? 1 : 0);
    if (++encoder->tnt_count == MAX_TNT)
        flush_tnt(encoder);
}

enum { PACKET_TIP = 0x0d, PACKET_PGE = 0x11, PACKET_PGD = 0x01, PACKET_FUP = 0x1d };

/* A packet with an IP, as short as it can be.  */
static void put_ip(struct insn_encoder *encoder, unsigned opcode, uint64_t ip)
{
    uint64_t differs = ip ^ encoder->last_ip;
    unsigned kind = differs >> 16 == 0 ? 1 : differs >> 32 == 0 ? 2 : differs >> 48 == 0 ? 4 : 6;
    static const uint8_t sizes[] = { [1] = 2, [2] = 4, [4] = 6, [6] = 8 };
    uint8_t packet[9] = { (uint8_t)(opcode | kind << 5) };

    store(packet + 1, ip, sizes[kind]);
    put(encoder, packet, (size_t)1 + sizes[kind]);
    encoder->last_ip = ip;
}

static void put_suppressed(struct insn_encoder *encoder, unsigned opcode)
{
    const uint8_t packet = (uint8_t)opcode;

    put(encoder, &packet, 1);
}

static void put_mode(struct insn_encoder *encoder)
{
    static const uint8_t mode[] = { 0x99, 0x01 }; /* 64-bit code */

    put(encoder, mode, sizeof mode);
}

/* A place where decoding can begin, and a status of what is known; ip counts when enabled.  */
static void put_psb(struct insn_encoder *encoder, uint64_t ip)
{
    static const uint8_t psb[] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                   2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
    static const uint8_t psbend[] = { 0x02, 0x23 };

    flush_tnt(encoder);
    hand_over(encoder);
    put(encoder, psb, sizeof psb);
    encoder->last_ip = 0;
    encoder->return_count = 0; /* decoding may begin here */
    put_tsc(encoder);
    put_mode(encoder);
    if (encoder->enabled)
        put_ip(encoder, PACKET_FUP, ip);
    put(encoder, psbend, sizeof psbend);
    encoder->started = true;
}

static void psb_if_due(struct insn_encoder *encoder, uint64_t ip)
{
    if (encoder->used >= encoder->options.psb_bytes)
        put_psb(encoder, ip);
}

/* ---- Returns ---- */

static void remember_call(struct insn_encoder *encoder, uint64_t address)
{
    encoder->return_top = (encoder->return_top + 1) % RETURNS;
    encoder->returns[encoder->return_top] = address;
    if (encoder->return_count < RETURNS)
        encoder->return_count++;
}

/* Whether a return to ip takes a bit only.  One that does not match leaves the call: decoders, who
 * do not see it, leave it as well.  */
static bool returns_to(struct insn_encoder *encoder, uint64_t ip)
{
    if (encoder->options.no_return_compression || encoder->return_count == 0 ||
        encoder->returns[encoder->return_top] != ip)
        return false;
    encoder->return_top = (encoder->return_top + RETURNS - 1) % RETURNS;
    encoder->return_count--;
    return true;
}

/* ---- What happened ---- */

static void put_tip(struct insn_encoder *encoder, uint64_t ip)
{
    flush_tnt(encoder);
    tell_time(encoder);
    put_ip(encoder, PACKET_TIP, ip);
}

static void put_pgd(struct insn_encoder *encoder)
{
    tell_time(encoder);
    put_suppressed(encoder, PACKET_PGD);
    encoder->enabled = false;
}

void insn_encoder_enable(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks)
{
    if (encoder->enabled)
        return;
    advance(encoder, ticks);
    if (!encoder->losing) {
        if (!encoder->started || encoder->used >= encoder->options.psb_bytes)
            put_psb(encoder, 0);
        else
            put_tsc(encoder);
        put_mode(encoder);
        put_ip(encoder, PACKET_PGE, ip);
    }
    encoder->enabled = true;
}

static void step_enabled(struct insn_encoder *encoder, uint64_t from,
                         const struct insn_opcode *opcode, uint64_t to)
{
    uint64_t next = from + opcode->length;

    switch (opcode->branch) {
    case INSN_CLASS_CONDITIONAL:
        outcome(encoder, to != next);
        break;
    case INSN_CLASS_CALL:
        if (!opcode->calls_next)
            remember_call(encoder, next);
        break;
    case INSN_CLASS_CALL_INDIRECT:
        remember_call(encoder, next);
        put_tip(encoder, to);
        break;
    case INSN_CLASS_JUMP_INDIRECT:
        put_tip(encoder, to);
        break;
    case INSN_CLASS_RETURN:
        if (returns_to(encoder, to))
            outcome(encoder, true);
        else
            put_tip(encoder, to);
        break;
    case INSN_CLASS_FAR:
        flush_tnt(encoder);
        put_pgd(encoder);
        break;
    case INSN_CLASS_OTHER:
    case INSN_CLASS_JUMP:
        break;
    }
}

void insn_encoder_step(struct insn_encoder *encoder, uint64_t from,
                       const struct insn_opcode *opcode, uint64_t to, uint64_t ticks)
{
    advance(encoder, ticks);
    if (!encoder->enabled)
        return;
    if (encoder->losing) {
        encoder->enabled = opcode->branch != INSN_CLASS_FAR;
        return;
    }
    step_enabled(encoder, from, opcode, to);
    psb_if_due(encoder, to);
}

void insn_encoder_branch(struct insn_encoder *encoder, uint64_t from, uint64_t to, uint64_t ticks)
{
    advance(encoder, ticks);
    if (!encoder->enabled || encoder->losing)
        return;
    flush_tnt(encoder);
    tell_time(encoder);
    put_ip(encoder, PACKET_FUP, from);
    put_ip(encoder, PACKET_TIP, to);
    psb_if_due(encoder, to);
}

void insn_encoder_leave(struct insn_encoder *encoder, const struct insn_opcode *opcode, uint64_t to,
                        uint64_t ticks)
{
    advance(encoder, ticks);
    if (!encoder->enabled)
        return;
    if (opcode->branch == INSN_CLASS_OTHER || opcode->branch == INSN_CLASS_FAR) {
        insn_encoder_disable(encoder, to, ticks); /* it is reached without a branch */
        return;
    }
    if (!encoder->losing) {
        encoder->return_count = 0; /* whether it counts as a call is not defined */
        flush_tnt(encoder);
        tell_time(encoder);
        put_ip(encoder, PACKET_PGD, to);
    }
    encoder->enabled = false;
}

void insn_encoder_disable(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks)
{
    advance(encoder, ticks);
    if (!encoder->enabled)
        return;
    if (!encoder->losing) {
        flush_tnt(encoder);
        tell_time(encoder);
        put_ip(encoder, PACKET_FUP, ip);
        put_pgd(encoder);
    }
    encoder->enabled = false;
}

void insn_encoder_ptwrite(struct insn_encoder *encoder, uint64_t value, uint64_t ticks)
{
    uint8_t packet[10] = { 0x02, 0x12 | 1 << 5 };

    advance(encoder, ticks);
    if (!encoder->enabled || encoder->losing)
        return;
    flush_tnt(encoder);
    tell_time(encoder);
    store(packet + 2, value, 8);
    put(encoder, packet, sizeof packet);
}

void insn_encoder_lose(struct insn_encoder *encoder, uint64_t ticks)
{
    advance(encoder, ticks);
    if (!encoder->started)
        return;
    encoder->losing = true;
    encoder->tnt = encoder->tnt_count = 0;
}

void insn_encoder_resume(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks)
{
    static const uint8_t ovf[] = { 0x02, 0xf3 };

    advance(encoder, ticks);
    if (!encoder->losing)
        return;
    encoder->losing = false;
    encoder->return_count = 0;
    put(encoder, ovf, sizeof ovf);
    put_tsc(encoder);
    encoder->last_ip = 0;
    if (encoder->enabled)
        put_ip(encoder, PACKET_FUP, ip);
    psb_if_due(encoder, ip);
}

void insn_encoder_sync(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks)
{
    advance(encoder, ticks);
    if (!encoder->losing)
        put_psb(encoder, ip);
}

void insn_encoder_flush(struct insn_encoder *encoder)
{
    if (!encoder->losing)
        flush_tnt(encoder);
    hand_over(encoder);
}

/* ---- The encoder ---- */

enum insn_status insn_encoder_open(const struct insn_encoder_options *options, insn_write_fn write,
                                   void *context, struct insn_encoder **out,
                                   struct insn_error *error)
{
    struct insn_encoder *encoder;

    if (options && options->size < sizeof *options)
        return insn_fail(error, INSN_INVALID, "options of another version");
    if (options && options->psb_bytes && options->psb_bytes < MIN_PSB_BYTES)
        return insn_fail(error, INSN_INVALID, "a PSB packet at least each %d bytes", MIN_PSB_BYTES);
    encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    if (options)
        encoder->options = *options;
    if (!encoder->options.psb_bytes)
        encoder->options.psb_bytes = DEFAULT_PSB_BYTES;
    encoder->write = write;
    encoder->context = context;
    *out = encoder;
    return INSN_OK;
}

enum insn_status insn_encoder_status(const struct insn_encoder *encoder)
{
    return encoder->status;
}

uint64_t insn_encoder_bytes(const struct insn_encoder *encoder)
{
    return encoder->bytes + encoder->used;
}

void insn_encoder_close(struct insn_encoder *encoder)
{
    if (!encoder)
        return;
    free(encoder->buffer);
    free(encoder);
}
