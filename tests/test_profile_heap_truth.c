/* Heap profiles estimate what was really allocated, as surely as theory says.
 *
 * A program allocates known amounts on known stacks and releases some of them; a sampler as in
 * docs/formats/memory-sampler.md section 5 takes some of it, and what it took goes through ingest.
 * Each estimate minus the truth, over the standard error sqrt(sum S^2 (1 - p) / p), has over many
 * seeds the mean 0 and the standard deviation 1.  The bounds are three to four standard errors of
 * these; seeds are fixed, so what passes once passes always.  */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/heap_records.h"
#include "tests/support/profile_records.h"
#include "tests/support/random.h"

enum { SEEDS = 200, STACKS = 6, MODULE_START = 0x10000 };

#define INTERVAL 65536.0

/* What each stack allocates: sizes from far below the interval to far above, and a mix.  */
static const struct {
    const char *name;
    uint64_t least, most; /* bytes of each */
    unsigned count;
    unsigned released; /* of 100 */
} stacks[STACKS] = {
    { "64 bytes, most released", 64, 64, 30000, 90 },
    { "1 KiB", 1024, 1024, 6000, 50 },
    { "nearly an interval", 60000, 60000, 400, 50 },
    { "large, seldom missed", 200000, 200000, 1500, 30 },
    { "many sizes", 500, 20000, 6000, 60 },
    { "1 byte", 1, 1, 40000, 0 },
};

/* Sums over allocations: what was there, and the variance of what sampling makes of it.  */
struct truth {
    double objects, object_variance;
    double bytes, byte_variance;
};

enum { ALLOCATED, IN_USE, KINDS };

/* Of each stack, and of all.  */
static struct truth truths[KINDS][STACKS + 1];

/* ---- Chance ---- */

static uint64_t state;

static uint64_t below(uint64_t limit)
{
    return random_word(&state) % limit;
}

/* ---- The sampler ---- */

static uint64_t left; /* bytes until the next sample */

static uint64_t draw_interval(void)
{
    double u = (double)(random_word(&state) >> 11) * 0x1p-53;
    double interval = -log1p(-u) * INTERVAL;

    return (uint64_t)fmin(fmax(interval, 8), 20 * INTERVAL);
}

static bool is_sampled(uint64_t size)
{
    uint64_t spill, sum = 0;

    if (left > size) {
        left -= size;
        return false;
    }
    spill = size - left;
    while (sum < spill || sum == 0)
        sum += draw_interval();
    left = sum - spill;
    return true;
}

/* ---- The program ---- */

static struct heap_maker maker; /* the interval that records say */
static struct heap_record record;

static void add(struct truth *truth, uint64_t size)
{
    double p = size ? -expm1(-(double)size / INTERVAL) : 1;
    double square = (double)size * (double)size;

    truth->objects += 1;
    truth->bytes += (double)size;
    truth->object_variance += (1 - p) / p;
    truth->byte_variance += square * (1 - p) / p;
}

static void take(struct profile_ingest *ingest)
{
    if (profile_ingest_record(ingest, &record.record, NULL) != PROFILE_OK)
        ck_abort_msg("ingest");
}

/* One block from here to where it is released, if it is.  Blocks of a stack may overlap in time or
 * not: the sampler does not see it.  */
static void live_once(struct profile_ingest *ingest, unsigned stack, uint64_t address)
{
    uint64_t size = stacks[stack].least + below(stacks[stack].most - stacks[stack].least + 1);
    bool is_released = below(100) < stacks[stack].released;
    bool sampled = is_sampled(size);

    add(&truths[ALLOCATED][stack], size);
    add(&truths[ALLOCATED][STACKS], size);
    if (!is_released) {
        add(&truths[IN_USE][stack], size);
        add(&truths[IN_USE][STACKS], size);
    }
    if (!sampled)
        return;
    heap_allocation(&record, &maker, (int64_t)address, 1, address, size,
                    HEAP_STACK(MODULE_START + 16 * stack + 1));
    take(ingest);
    if (!is_released)
        return;
    heap_release(&record, &maker, (int64_t)address, 1, address,
                 HEAP_STACK(MODULE_START + 16 * STACKS + 1));
    take(ingest);
}

/* Stacks take turns at random, as often as they have blocks left.  */
static void run_program(struct profile_ingest *ingest)
{
    const struct fidl_segment segment = { MODULE_START, 0x1000, 0, true, true, true };
    const struct fidl_module_source module = { (const uint8_t *)"MM", 2, &segment, 1 };
    unsigned todo[STACKS], total = 0;

    heap_process_info(&record, &maker, 0, 1, "program", &module, 1);
    take(ingest);
    for (unsigned i = 0; i < STACKS; i++)
        total += todo[i] = stacks[i].count;
    for (uint64_t address = 16; total > 0; address += 16, total--) {
        uint64_t choice = below(total);
        unsigned stack = 0;

        while (choice >= todo[stack])
            choice -= todo[stack++];
        todo[stack]--;
        live_once(ingest, stack, address);
    }
}

/* ---- What comes of it ---- */

/* Sums of (estimate - truth) / standard error, and of their squares.  */
struct scores {
    double sum, squares;
};
/* Objects and bytes.  */
static struct scores scores[KINDS][STACKS + 1][2];

static void score(struct scores *at, double estimate, double truth, double variance)
{
    double z = (estimate - truth) / sqrt(variance);

    at->sum += z;
    at->squares += z * z;
}

static void score_all(const struct profile *profile, struct profile_stacks *frames)
{
    double estimates[STACKS + 1][4] = { { 0 } };

    for (size_t i = 0; i < profile_value_count(profile, PROFILE_HEAP); i++) {
        struct profile_stack_value value = profile_get_value(profile, PROFILE_HEAP, i);
        profile_id frame = profile_stacks_get_callsite(frames, value.callsite).frame;
        size_t stack = profile_stacks_get_frame(frames, frame).vaddr / 16;

        for (size_t type = 0; type < 4; type++) {
            estimates[stack][type] += (double)value.values[type];
            estimates[STACKS][type] += (double)value.values[type];
        }
    }
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t stack = 0; stack <= STACKS; stack++) {
            const struct truth *truth = &truths[kind][stack];

            score(&scores[kind][stack][0], estimates[stack][2 * kind], truth->objects,
                  truth->object_variance);
            score(&scores[kind][stack][1], estimates[stack][2 * kind + 1], truth->bytes,
                  truth->byte_variance);
        }
}

static void run_seed(uint64_t seed)
{
    struct profile *profile;
    struct profile_ingest *ingest;
    struct profile_sink sink;

    state = seed;
    memset(truths, 0, sizeof truths);
    left = draw_interval();
    ck_assert_int_eq(profile_open(&profile, NULL), PROFILE_OK);
    profile_sink_of(profile, &sink);
    ck_assert_int_eq(profile_ingest_open(&sink, profile_stacks_of(profile), NULL, &ingest, NULL),
                     PROFILE_OK);
    run_program(ingest);
    ck_assert_int_eq(profile_ingest_finish(ingest, NULL), PROFILE_OK);
    score_all(profile, profile_stacks_of(profile));
    profile_ingest_close(ingest);
    profile_close(profile);
}

static void run_seeds(uint64_t interval_bytes, uint64_t seeds)
{
    maker.interval_bytes = interval_bytes;
    memset(scores, 0, sizeof scores);
    for (uint64_t seed = 1; seed <= seeds; seed++)
        run_seed(seed);
}

static bool is_true(const struct scores *at, double seeds, double *mean, double *deviation)
{
    *mean = at->sum / seeds;
    *deviation = sqrt((at->squares - at->sum * *mean) / (seeds - 1));
    return fabs(*mean) < 0.25 && *deviation > 0.85 && *deviation < 1.15;
}

START_TEST(estimates_what_was_allocated_and_what_is_in_use)
{
    static const char *const kinds[] = { "allocated", "in use" };
    static const char *const units[] = { "objects", "bytes" };

    run_seeds((uint64_t)INTERVAL, SEEDS);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t stack = 0; stack <= STACKS; stack++)
            for (int unit = 0; unit < 2; unit++) {
                double mean, deviation;
                bool ok = is_true(&scores[kind][stack][unit], SEEDS, &mean, &deviation);

                ck_assert_msg(ok, "%s, %s %s: mean %.3f, standard deviation %.3f",
                              stack < STACKS ? stacks[stack].name : "in total", units[unit],
                              kinds[kind], mean, deviation);
            }
}
END_TEST

/* The same with weights that are 2 % off would be seen.  */
START_TEST(would_see_weights_that_are_a_little_off)
{
    const uint64_t seeds = SEEDS / 4;
    double mean, deviation;

    run_seeds((uint64_t)(INTERVAL * 1.02), seeds);
    ck_assert(!is_true(&scores[ALLOCATED][4][1], (double)seeds, &mean, &deviation));
    ck_assert(!is_true(&scores[ALLOCATED][STACKS][1], (double)seeds, &mean, &deviation));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_heap_truth");
    TCase *tcase = tcase_create("truth");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, estimates_what_was_allocated_and_what_is_in_use);
    tcase_add_test(tcase, would_see_weights_that_are_a_little_off);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
