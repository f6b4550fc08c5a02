/* fxt_reader_tally(): records are checked and counted, nothing is kept.
 *
 * What takes time in small records is deciding, and being wrong about what comes next.  So next to
 * nothing is decided here: words are added up whatever a reference says, two references at once,
 * all flaws of a record are gathered in the top bits of one word, and only that is looked at.  The
 * loop stops at a record with any flaw, and at all it does not know; fxt_reader_next() then sees
 * what is to be counted, dropped or delivered.  */
#include "libfxt/fields.h"

/* Event types that end with a word which must be there: counter, complete, async, flow.  */
#define HAS_LAST_WORD 0x07f2u
/* Argument types whose value is a word of its own.  */
#define HAS_VALUE_WORD                                                                           \
    (1u << FXT_ARG_INT64 | 1u << FXT_ARG_UINT64 | 1u << FXT_ARG_DOUBLE | 1u << FXT_ARG_POINTER | \
     1u << FXT_ARG_KOID)

/* The same 16 bits in both lanes of a pair of string references.  */
#define BOTH(lane) ((uint64_t)(lane) << 16 | (lane))

/* What is being gathered of one record.  */
struct sum {
    uint64_t used;  /* words that are accounted for */
    uint64_t known; /* a flaw if bit 15 or 31 is 0: an index is not registered */
    uint64_t fits;  /* a flaw if bit 63 is 1: something is smaller than its contents */
};

/* Words that a pair of string references (bits 0..31) takes inline.  An index over the highest
 * known one borrows from bit 15 of its lane.  */
static inline uint64_t sum_strings(struct sum *sum, uint64_t highest, uint64_t references)
{
    uint64_t texts = references & (references >> 15 & BOTH(1)) * 0xffff; /* or 0 in the lane */
    uint64_t lengths = (texts & BOTH(0x7fff)) + BOTH(7);

    sum->known &= highest - (references ^ texts);
    return (lengths >> 19) + (lengths >> 3 & 0x1fff);
}

/* The argument whose header this is.  */
static inline void sum_arg(struct sum *sum, uint64_t highest, uint64_t header)
{
    uint64_t type = fxt_bits(header, 0, 3);
    uint64_t size = fxt_bits(header, 4, 15);
    uint64_t text = type == FXT_ARG_STRING ? BOTH(0xffff) : 0xffff; /* references: name, value */
    uint64_t needed = 1 + (HAS_VALUE_WORD >> type & 1) +
                      sum_strings(sum, highest, header >> 16 & text);

    if (type == FXT_ARG_BLOB)
        needed += (fxt_bits(header, 32, 63) + 7) / 8;
    sum->fits |= size - needed;
    sum->used += size;
}

/* The kinds that can be counted.  */
enum counter { NOT_COUNTED, EVENTS, CONTEXT_SWITCHES, WAKEUPS, COUNTERS };

/* What the header says of a record.  */
struct head {
    enum counter counter;
    uint64_t args;
    uint64_t last;    /* 1: a word must stand behind the arguments */
    bool is_complete; /* and that word is a time */
};

/* Account for what stands before the arguments.  */
static inline struct head sum_event(struct sum *sum, const struct fxt_known *known,
                                    uint64_t highest, uint64_t header)
{
    uint64_t type = fxt_bits(header, 16, 19);
    uint64_t thread = fxt_bits(header, 24, 31);

    sum->used = 2 + (thread ? 0u : 2u) + sum_strings(sum, highest, header >> 32);
    sum->fits |= known->highest_thread - thread;
    return (struct head){ .counter = EVENTS,
                          .args = fxt_bits(header, 20, 23),
                          .last = HAS_LAST_WORD >> type & 1,
                          .is_complete = type == FXT_EVENT_DURATION_COMPLETE };
}

static inline struct head sum_sched(struct sum *sum, uint64_t header)
{
    static const uint8_t counters[16] = { [1] = CONTEXT_SWITCHES, [2] = WAKEUPS };
    uint64_t subtype = fxt_bits(header, 60, 63);

    sum->used = 5 - subtype; /* a switch names two threads, a wakeup one */
    return (struct head){ .counter = counters[subtype], .args = fxt_bits(header, 16, 19) };
}

static inline struct head sum_head(struct sum *sum, const struct fxt_known *known, uint64_t highest,
                                   uint64_t header)
{
    if (fxt_bits(header, 0, 3) == FXT_TYPE_EVENT)
        return sum_event(sum, known, highest, header);
    if (fxt_bits(header, 0, 3) == FXT_TYPE_SCHEDULING)
        return sum_sched(sum, header);
    return (struct head){ .counter = NOT_COUNTED };
}

/* Records that stand next, back to back.  */
struct run {
    const uint8_t *next;
    const uint8_t *end; /* of the window */
    uint64_t counts[COUNTERS];
    uint64_t first; /* ticks since the base */
    uint64_t last;
};

/* Whether the times of a sound record can be told; if so, they are noted.  last: where the word
 * behind the arguments stands.  */
static inline bool note_times(struct run *run, const struct fxt_clock *clock,
                              const struct head *head, uint64_t last)
{
    uint64_t since = fxt_load_u64(run->next + 8) - clock->base_ticks;
    uint64_t end = fxt_load_u64(run->next + 8 * (head->last ? last : 1)) - clock->base_ticks;

    end = head->is_complete ? end : since;
    if (end < since || end > clock->max_ticks)
        return false;
    run->first = run->first < since ? run->first : since;
    run->last = run->last > since ? run->last : since;
    return true;
}

/* Count the next record, or return false.  */
static inline bool run_on(struct run *run, const struct fxt_known *known,
                          const struct fxt_clock *clock)
{
    uint64_t highest = BOTH(0x8000 | known->highest_string);
    uint64_t there = (uint64_t)(run->end - run->next) / 8;
    struct sum sum = { .known = BOTH(0x8000) };
    uint64_t header, size;
    struct head head;

    if (there < 2)
        return false;
    header = fxt_load_u64(run->next);
    size = fxt_bits(header, 4, 15);
    if (size < 2 || size > there)
        return false;
    head = sum_head(&sum, known, highest, header);
    if (head.counter == NOT_COUNTED)
        return false;
    for (uint64_t args = head.args; args > 0; args--) {
        if (sum.used >= size)
            return false;
        sum_arg(&sum, highest, fxt_load_u64(run->next + 8 * sum.used));
    }
    sum.fits |= size - sum.used - head.last;
    if (sum.fits >> 63 || sum.known != BOTH(0x8000) || !note_times(run, clock, &head, sum.used))
        return false;
    run->next += 8 * size;
    run->counts[head.counter]++;
    return true;
}

static void add_time(struct fxt_tally *tally, const struct fxt_context *context, uint64_t since)
{
    int64_t ns;

    (void)fxt_clock_ns(&context->clock, &context->provider, context->clock.base_ticks + since, &ns);
    if (!tally->has_time || ns < tally->first_ns)
        tally->first_ns = ns;
    if (!tally->has_time || ns > tally->last_ns)
        tally->last_ns = ns;
    tally->has_time = true;
}

static size_t add_counts(struct fxt_tally *tally, const uint64_t counts[COUNTERS])
{
    tally->records[FXT_RECORD_EVENT] += counts[EVENTS];
    tally->records[FXT_RECORD_CONTEXT_SWITCH] += counts[CONTEXT_SWITCHES];
    tally->records[FXT_RECORD_THREAD_WAKEUP] += counts[WAKEUPS];
    return (size_t)(counts[EVENTS] + counts[CONTEXT_SWITCHES] + counts[WAKEUPS]);
}

/* What comes next is often something else.  */
static bool may_count(const struct fxt_reader *reader)
{
    unsigned type;

    if (reader->status != FXT_OK || reader->end - reader->begin < 16)
        return false;
    type = reader->window[reader->begin] & 15;
    return type == FXT_TYPE_EVENT || type == FXT_TYPE_SCHEDULING;
}

size_t fxt_reader_tally(struct fxt_reader *reader, struct fxt_tally *tally)
{
    const struct fxt_context *context = reader->contexts.current;
    const uint8_t *bytes = reader->window + reader->begin;
    struct run run;

    if (!may_count(reader))
        return 0;
    run = (struct run){ .next = bytes, .end = reader->window + reader->end, .first = UINT64_MAX };
    while (run_on(&run, &reader->contexts.known, &context->clock))
        ;
    if (run.next == bytes)
        return 0;
    add_time(tally, context, run.first);
    add_time(tally, context, run.last);
    reader->begin += (size_t)(run.next - bytes);
    reader->offset += (uint64_t)(run.next - bytes);
    reader->record.size = 0; /* there is no record delivered last: fxt_reader_bytes() */
    return add_counts(tally, run.counts);
}
