/* legacy_cpu.c - CPU profiles of gperftools: words of 4 or 8 bytes, of either byte order.
 *
 * Header: 0, 3, 0 (1: Java), microseconds between samples, 0.  Sample: how often, number of
 * addresses, addresses from the leaf on.  The last sample is 0, 1, 0.  It is followed by mappings
 * as text, or by names of a Java program.  */
#include <stdlib.h>
#include <string.h>

#include "libprofile/read/formats.h"

enum { HEADER_WORDS = 5, DEEPEST = 1 << 16 };

struct words {
    size_t size; /* of one, in bytes */
    bool is_big;
};

static uint64_t load(const struct words *words, const uint8_t *at)
{
    uint64_t word = 0;

    for (size_t i = 0; i < words->size; i++)
        word |= (uint64_t)at[i] << 8 * (words->is_big ? words->size - 1 - i : i);
    return word;
}

static bool find_words(struct text start, struct words *out)
{
    static const struct words kinds[] = { { 4, false }, { 4, true }, { 8, false }, { 8, true } };
    const uint8_t *at = (const uint8_t *)start.at;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = kinds[i].size;

        if (start.length < HEADER_WORDS * size)
            continue;
        if (load(&kinds[i], at) == 0 && load(&kinds[i], at + size) == 3 &&
            load(&kinds[i], at + 2 * size) <= 1 && load(&kinds[i], at + 3 * size) > 0 &&
            load(&kinds[i], at + 4 * size) == 0) {
            *out = kinds[i];
            return true;
        }
    }
    return false;
}

bool legacy_cpu_is(struct text start)
{
    struct words words;

    return find_words(start, &words);
}

/* ---- Frames of the signal handler ---- */

/* Most samples have the handler's frames below the leaf.  A frame that is second in nearly all of
 * them is removed, and so is the next such one.  Second and third frames are counted in pairs.  */
struct seconds {
    struct base_pairs pairs; /* second and third location; 0: none */
    uint64_t *counts;
    size_t capacity;
    uint64_t samples;
};

static void count_second(struct gather *gather, struct seconds *seconds)
{
    const uint32_t *stack = gather->stack;
    uint32_t number;
    bool is_new = false;
    void *items;

    seconds->samples++;
    if (gather->stack_count < 2)
        return;
    number = base_pairs_add(&seconds->pairs, stack[1], gather->stack_count > 2 ? stack[2] : 0,
                            &is_new);
    items = number ? base_grow(seconds->counts, &seconds->capacity, number, sizeof(uint64_t))
                   : NULL;
    if (!items) {
        gather->status = profile_no_memory(gather->error);
        return;
    }
    seconds->counts = items;
    seconds->counts[number - 1] = is_new ? 1 : seconds->counts[number - 1] + 1;
}

/* The second frame of nearly all samples once removed is gone from them; 0: there is none.  */
static uint64_t find_common(struct gather *gather, const struct seconds *seconds, uint64_t removed)
{
    uint64_t *counts = calloc(gather->location_count + 1, sizeof *counts), common = 0;

    if (!counts) {
        gather->status = profile_no_memory(gather->error);
        return 0;
    }
    for (size_t i = 0; i < seconds->pairs.count; i++) {
        const struct base_pair *pair = &seconds->pairs.items[i];

        counts[removed && pair->a == removed ? pair->b : pair->a] += seconds->counts[i];
    }
    for (size_t i = 1; i <= gather->location_count; i++)
        if (counts[i] > 0 && counts[i] >= seconds->samples - seconds->samples / 32)
            common = i;
    free(counts);
    return common;
}

static void remove_second(struct profile_pprof_sample *sample, uint32_t *locations)
{
    memmove(locations + 1, locations + 2, (sample->location_count - 2) * sizeof *locations);
    sample->location_count--;
}

/* The handler may have the leaf twice: as it is, and as if it were a caller.  */
static void adjust(struct gather *gather, struct profile_pprof_sample *sample, uint32_t *locations)
{
    for (size_t i = 0; i < 2; i++)
        if (gather->adjusting[i] && sample->location_count > 1 &&
            locations[1] == gather->adjusting[i])
            remove_second(sample, locations);
    if (sample->location_count > 1 && gather->locations[locations[0] - 1].address ==
                                          gather->locations[locations[1] - 1].address + 1)
        remove_second(sample, locations);
}

/* ---- Reading ---- */

struct cpu {
    struct gather *gather;
    struct words words;
    struct seconds seconds;
    bool is_java;
};

static void cut(struct cpu *cpu)
{
    struct gather *gather = cpu->gather;

    note_early_end(&gather->notices, &gather->notices.cut, gather->source.offset);
}

/* The next sample of count addresses stands at bytes.  */
static void take_sample(struct cpu *cpu, uint64_t times, uint64_t depth, const uint8_t *bytes)
{
    struct gather *gather = cpu->gather;

    gather_begin(gather);
    for (uint64_t i = 0; i < depth && gather->status == PROFILE_OK; i++) {
        uint64_t address = load(&cpu->words, bytes + i * cpu->words.size);

        gather_push(gather, gather_address(gather, address - (i > 0 && !cpu->is_java)));
    }
    gather->values[0] = times > INT64_MAX ? INT64_MAX : (int64_t)times;
    if (__builtin_mul_overflow(gather->values[0], gather->header.period, &gather->values[1]))
        gather->values[1] = INT64_MAX;
    gather_end(gather);
    if (gather->status == PROFILE_OK && !cpu->is_java)
        count_second(gather, &cpu->seconds);
}

/* False at the end of the samples.  */
static bool next_sample(struct cpu *cpu)
{
    struct source *source = &cpu->gather->source;
    const size_t size = cpu->words.size;
    uint64_t times, depth;

    if (source_need(source, 2 * size) < 2 * size) {
        if (source_need(source, 1) > 0)
            cut(cpu);
        return false;
    }
    times = load(&cpu->words, source_bytes(source));
    depth = load(&cpu->words, source_bytes(source) + size);
    if (depth > DEEPEST) {
        cpu->gather->line_offset = source->offset;
        gather_bad_line(cpu->gather); /* where the next sample begins cannot be known */
        return false;
    }
    if (source_need(source, (size_t)(2 + depth) * size) < (2 + depth) * size) {
        cut(cpu);
        return false;
    }
    if (times == 0 && depth == 1 && load(&cpu->words, source_bytes(source) + 2 * size) == 0) {
        source_take(source, 3 * size);
        return false;
    }
    take_sample(cpu, times, depth, source_bytes(source) + 2 * size);
    source_take(source, (size_t)(2 + depth) * size);
    return cpu->gather->status == PROFILE_OK;
}

static void start(struct cpu *cpu)
{
    struct gather *gather = cpu->gather;
    const uint8_t *header = source_bytes(&gather->source);
    uint64_t period_us = load(&cpu->words, header + 3 * cpu->words.size);

    cpu->is_java = load(&cpu->words, header + 2 * cpu->words.size) == 1;
    gather->header.period = period_us > INT64_MAX / 1000 ? INT64_MAX : (int64_t)period_us * 1000;
    gather->header.has_period_type = true;
    gather->header.period_type = (struct profile_pprof_type){ gather_word(gather, "cpu"),
                                                              gather_word(gather, "nanoseconds") };
    (void)gather_type(gather, "samples", 7, "count");
    (void)gather_type(gather, "cpu", 3, "nanoseconds");
    source_take(&gather->source, HEADER_WORDS * cpu->words.size);
}

bool legacy_cpu_read(struct gather *gather)
{
    struct cpu cpu = { .gather = gather };

    if (!find_words(text_of((const char *)source_bytes(&gather->source),
                            source_need(&gather->source, (size_t)HEADER_WORDS * 8)),
                    &cpu.words))
        return false;
    start(&cpu);
    while (next_sample(&cpu))
        ;
    if (cpu.is_java) {
        text_read_java_names(gather);
    } else {
        text_read_maps(gather, true);
        gather->adjust = adjust;
        gather->adjusting[0] = find_common(gather, &cpu.seconds, 0);
        if (gather->adjusting[0])
            gather->adjusting[1] = find_common(gather, &cpu.seconds, gather->adjusting[0]);
    }
    base_pairs_release(&cpu.seconds.pairs);
    free(cpu.seconds.counts);
    return true;
}
