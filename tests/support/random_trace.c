#include "tests/support/random_trace.h"

#include "tests/support/random.h"

#define MAGIC       UINT64_C(0x0016547846040010)
#define MOST_NEEDED 400u /* words of the largest record made here, and more */

static uint64_t below(struct random_trace *trace, uint64_t limit)
{
    return random_word(&trace->state) % limit;
}

static void put(struct random_trace *trace, uint64_t word)
{
    trace->words[trace->used++] = word;
}

/* Zero-padded text of length bytes.  */
static void put_text(struct random_trace *trace, uint64_t length)
{
    for (uint64_t i = 0; i < (length + 7) / 8; i++)
        put(trace, UINT64_C(0x6867666564636261));
}

/* A string reference: empty, an index that is probably registered, or inline.  */
static uint64_t make_reference(struct random_trace *trace)
{
    switch (below(trace, 3)) {
    case 0:
        return below(trace, 24) ? 1 + below(trace, 20) : 1 + below(trace, 100);
    case 1:
        return 0x8000 + below(trace, 30);
    default:
        return 0;
    }
}

static void put_reference_text(struct random_trace *trace, uint64_t reference)
{
    if (reference & 0x8000)
        put_text(trace, reference & 0x7fff);
}

/* Now and then one bit of the record's headers is another.  */
static uint64_t flaw(struct random_trace *trace, bool sizes, uint64_t header)
{
    unsigned bit = (unsigned)below(trace, 64);

    if (below(trace, 16) || (!sizes && bit < 16))
        return header;
    return header ^ UINT64_C(1) << bit;
}

static void put_arg(struct random_trace *trace)
{
    size_t at = trace->used;
    uint64_t type = below(trace, 40) ? below(trace, 11) : below(trace, 16);
    uint64_t name = make_reference(trace);
    uint64_t value = random_word(&trace->state) & UINT32_MAX;

    if (type == 6)
        value = make_reference(trace);
    if (type == 10)
        value = below(trace, 40);
    put(trace, 0);
    put_reference_text(trace, name);
    if (type == 6)
        put_reference_text(trace, value);
    else if (type == 10)
        put_text(trace, value);
    else if ((type >= 3 && type <= 5) || type == 7 || type == 8)
        put(trace, random_word(&trace->state));
    if (below(trace, 20) == 0)
        put(trace, random_word(&trace->state)); /* words that nobody reads */
    trace->words[at] = flaw(trace, true,
                            type | (uint64_t)(trace->used - at) << 4 | name << 16 | value << 32);
}

static uint64_t put_args(struct random_trace *trace)
{
    uint64_t count = below(trace, 30) ? below(trace, 4) : below(trace, 16);

    for (uint64_t i = 0; i < count; i++)
        put_arg(trace);
    return count;
}

static uint64_t make_ticks(struct random_trace *trace)
{
    return below(trace, 50) ? 1000000 + below(trace, 1000000)
                            : random_word(&trace->state) >> below(trace, 64);
}

static void put_event(struct random_trace *trace, bool sizes)
{
    size_t at = trace->used;
    uint64_t type = below(trace, 20) ? below(trace, 11) : below(trace, 16);
    uint64_t thread = below(trace, 2) ? below(trace, 12) : 0;
    uint64_t category = make_reference(trace);
    uint64_t name = make_reference(trace);
    uint64_t args;

    put(trace, 0);
    put(trace, make_ticks(trace));
    if (thread == 0) {
        put(trace, random_word(&trace->state));
        put(trace, random_word(&trace->state));
    }
    put_reference_text(trace, category);
    put_reference_text(trace, name);
    args = put_args(trace);
    if (type == 4)
        put(trace, trace->words[at + 1] + below(trace, 1000) - (below(trace, 20) ? 0 : 900));
    else if (type == 1 || type >= 5 || (type == 0 && below(trace, 2)))
        put(trace, random_word(&trace->state));
    trace->words[at] = flaw(trace, sizes,
                            4 | (uint64_t)(trace->used - at) << 4 | type << 16 | args << 20 |
                                thread << 24 | category << 32 | name << 48);
}

static void put_sched(struct random_trace *trace, bool sizes)
{
    size_t at = trace->used;
    uint64_t subtype = below(trace, 20) ? 1 + below(trace, 2) : below(trace, 16);
    uint64_t args;

    put(trace, 0);
    put(trace, make_ticks(trace));
    put(trace, random_word(&trace->state));
    if (subtype != 2)
        put(trace, random_word(&trace->state));
    args = put_args(trace);
    trace->words[at] = flaw(trace, sizes,
                            8 | (uint64_t)(trace->used - at) << 4 | args << 16 |
                                below(trace, 1000) << 20 | subtype << 60);
}

/* A clock of any rate; two words, or four with a base that times are near to.  */
static void put_init(struct random_trace *trace)
{
    static const uint64_t rates[] = { 1000000000, 24000000,   19200000,
                                      3,          2700000000, UINT64_C(1000000000000),
                                      UINT64_MAX, 0 };

    if (below(trace, 2)) {
        put(trace, 1 | 2 << 4);
        put(trace, rates[below(trace, 8)]);
        return;
    }
    put(trace, 1 | 4 << 4);
    put(trace, rates[below(trace, 8)]);
    put(trace, below(trace, 1200000));
    put(trace, 1700000000);
}

static void put_string(struct random_trace *trace)
{
    uint64_t index = 1 + below(trace, below(trace, 10) ? 20 : 100);
    uint64_t length = below(trace, 40);

    put(trace, 2 | (1 + (length + 7) / 8) << 4 | index << 16 | length << 32);
    put_text(trace, length);
}

static void put_thread(struct random_trace *trace)
{
    put(trace, 3 | 3 << 4 | (1 + below(trace, 12)) << 16);
    put(trace, random_word(&trace->state));
    put(trace, random_word(&trace->state));
}

static void put_record(struct random_trace *trace, bool sizes)
{
    uint64_t chance = below(trace, 200);

    if (chance < 120)
        put_event(trace, sizes);
    else if (chance < 170)
        put_sched(trace, sizes);
    else if (chance < 185)
        put_string(trace);
    else if (chance < 194)
        put_thread(trace);
    else if (chance < 196)
        put_init(trace);
    else if (chance < 198)
        put(trace, UINT64_C(1) << 16 | 1 << 4 | below(trace, 3) << 20); /* provider info */
    else if (chance < 199)
        put(trace, UINT64_C(2) << 16 | 1 << 4 | below(trace, 3) << 20); /* provider section */
    else
        put(trace, 0);
}

/* What most references find: strings 1..20 and threads 1..11 but for a gap here and there.  */
static void put_tables(struct random_trace *trace)
{
    for (uint64_t i = 1; i <= 20; i++) {
        if (below(trace, 60) == 0)
            continue;
        put(trace, 2 | 2 << 4 | i << 16 | UINT64_C(4) << 32);
        put_text(trace, 4);
    }
    for (uint64_t i = 1; i <= 11; i++) {
        if (below(trace, 60) == 0)
            continue;
        put(trace, 3 | 3 << 4 | i << 16);
        put(trace, 100 + i);
        put(trace, 200 + i);
    }
}

void random_trace_make(struct random_trace *trace, uint64_t seed, unsigned count, bool apart,
                       bool sizes)
{
    trace->state = seed;
    trace->used = 0;
    put(trace, MAGIC);
    if (below(trace, 2))
        put(trace, UINT64_C(1) << 16 | 1 << 4 | 7 << 20); /* else in the default context */
    put_tables(trace);
    for (unsigned i = 0; i < count && trace->used + MOST_NEEDED < RANDOM_TRACE_WORDS; i++) {
        put_record(trace, sizes);
        if (apart)
            put(trace, MAGIC);
    }
}
