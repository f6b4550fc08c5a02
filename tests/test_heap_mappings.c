/* The blocks of memory that a process maps itself, against an array of its pages.  */
#include "sampler-capture/heap/heap_mappings.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGES = 64 };

static uint64_t page_size;
static struct mappings mappings;
static uint64_t ticket;

/* What the recorder was told: who mapped each page, as the first frame of the stack; 0: nobody.
 * And where blocks start.  */
static uint64_t told[PAGES], starts[PAGES];
static size_t blocks;

static bool hear(void *context, bool is_release, uint64_t address, uint64_t size,
                 const uint64_t *frames, size_t count)
{
    size_t first = (size_t)(address / page_size), pages = (size_t)(size / page_size);
    size_t unsound = 0;

    (void)context;
    ck_assert(count == 1 && pages > 0 && first + pages <= PAGES);
    ck_assert_uint_eq(starts[first], is_release ? pages : 0); /* the whole block, which is there */
    for (size_t i = first; i < first + pages; i++) {
        unsound += (told[i] != 0) != is_release;
        told[i] = is_release ? 0 : frames[0];
    }
    ck_assert_uint_eq(unsound, 0);
    starts[first] = is_release ? 0 : pages;
    blocks = is_release ? blocks - 1 : blocks + 1;
    return true;
}

static struct heap_mapping call_of(enum heap_mapping_kind kind, size_t first, size_t pages)
{
    struct heap_mapping call = {
        .kind = kind, .address = first * page_size, .size = pages * page_size, .frame_count = 1
    };

    call.before = ++ticket;
    call.after = ++ticket;
    return call;
}

static void apply(const struct heap_mapping *call, uint64_t who)
{
    ck_assert_int_eq(mappings_apply(&mappings, call, &who, hear, NULL), MAPPINGS_OK);
}

static void setup(void)
{
    page_size = (uint64_t)sysconf(_SC_PAGESIZE);
}

static void teardown(void)
{
    mappings_release(&mappings);
}

/* What the kernel would do, page by page.  */
static uint64_t owner[PAGES]; /* 0: nothing; RESERVED; who mapped it */
#define RESERVED UINT64_MAX

static void imitate(const struct heap_mapping *call, uint64_t who)
{
    size_t first = (size_t)(call->address / page_size), pages = (size_t)(call->size / page_size);
    size_t old = (size_t)(call->old_address / page_size);
    uint64_t as = call->kind == HEAP_UNMAPPED ? 0 : call->kind == HEAP_RESERVED ? RESERVED : who;

    if (call->kind == HEAP_MOVED) {
        as = 0;
        for (size_t i = old; i < old + call->old_size / page_size; i++) {
            if (owner[i])
                as = owner[i] == RESERVED && as == 0 ? RESERVED : owner[i] == RESERVED ? as : who;
            owner[i] = 0;
        }
    }
    for (size_t i = first; i < first + pages; i++)
        if (call->kind != HEAP_OPENED || owner[i] == RESERVED)
            owner[i] = as;
}

static uint64_t state = 1;

static size_t draw(size_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(state >> 33) % limit;
}

START_TEST(holds_what_an_array_of_pages_holds)
{
    for (uint64_t step = 1; step <= 5000; step++) {
        size_t first = draw(PAGES), pages = 1 + draw(PAGES - first);
        struct heap_mapping call = call_of(1 + (enum heap_mapping_kind)draw(5), first, pages);

        if (call.kind == HEAP_MOVED) { /* to a place of its own, as the kernel insists */
            call.size = (1 + draw(PAGES / 2)) * page_size;
            call.address = draw(PAGES / 2 - (size_t)(call.size / page_size) + 1) * page_size;
            call.old_address = PAGES / 2 * page_size + draw(PAGES / 4) * page_size;
            call.old_size = (1 + draw(PAGES / 4)) * page_size;
        }
        apply(&call, step);
        imitate(&call, step);
        size_t wrong = PAGES;

        for (size_t i = 0; i < PAGES; i++)
            if (told[i] != (owner[i] == RESERVED ? 0 : owner[i]))
                wrong = i;
        ck_assert_msg(wrong == PAGES, "step %d, page %zu", (int)step, wrong);
    }
    ck_assert_uint_le(blocks, PAGES);
}
END_TEST

/* Two threads: one unmaps, the other is given the same addresses and tells first.  */
START_TEST(a_late_call_leaves_what_is_newer)
{
    struct heap_mapping old = call_of(HEAP_MAPPED, 10, 4), gone = call_of(HEAP_UNMAPPED, 10, 4);
    struct heap_mapping new = call_of(HEAP_MAPPED, 10, 4), late = call_of(HEAP_MAPPED, 20, 4);

    late.before = 0; /* it began before all others */
    late.after = 1;
    apply(&old, 1);
    apply(&new, 2);
    apply(&gone, 3);
    ck_assert_uint_eq(told[12], 2);
    new.address = late.address + page_size;
    new.size = page_size;
    apply(&new, 4);
    apply(&late, 5);
    ck_assert_uint_eq(told[20], 5);
    ck_assert_uint_eq(told[21], 4);
    ck_assert_uint_eq(told[23], 5);
}
END_TEST

START_TEST(moving_what_is_not_known_maps_nothing)
{
    struct heap_mapping call = call_of(HEAP_MOVED, 0, 4);

    call.old_address = 8 * page_size;
    call.old_size = 4 * page_size;
    apply(&call, 1);
    ck_assert_uint_eq(mappings.count, 0);
}
END_TEST

/* ---- Packets ---- */

static const struct {
    const char *name;
    size_t word; /* that is changed */
    uint64_t value;
    size_t bytes; /* of the packet */
    bool taken;
} packets[] = {
    { "sound", 2, HEAP_MAPPED, 96, true },
    { "another header", 0, 1, 96, false },
    { "another ordinal", 1, 1, 96, false },
    { "no kind", 2, 0, 96, false },
    { "a kind too many", 2, HEAP_OPENED + 1, 96, false },
    { "an end beyond all addresses", 6, UINT64_MAX, 96, false },
    { "an end beyond those of programs", 5, UINT64_MAX / 2, 96, false },
    { "an old end beyond all addresses", 8, UINT64_MAX, 96, false },
    { "one frame more", 9, 3, 96, false },
    { "more frames than there are", 9, UINT64_MAX / 4, 96, false },
    { "cut", 2, HEAP_MAPPED, 95, false },
    { "shorter than all that is fixed", 9, 0, 72, false },
    { "nothing", 2, HEAP_MAPPED, 0, false },
};

START_TEST(takes_sound_packets_only)
{
    uint64_t words[] = {
        HEAP_MAPPING_HEADER, HEAP_MAPPING_ORDINAL, 0, 1, 2, 4096, 4096, 8192, 4096, 2, 7, 8
    };
    uint64_t frames[HEAP_MAX_FRAMES];
    struct heap_mapping call;

    words[2] = HEAP_MAPPED;
    words[packets[_i].word] = packets[_i].value;
    ck_assert_msg(mappings_read((const uint8_t *)words, packets[_i].bytes, &call, frames) ==
                      packets[_i].taken,
                  "%s", packets[_i].name);
    if (packets[_i].taken)
        ck_assert(call.frame_count == 2 && frames[0] == 7 && frames[1] == 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap_mappings");
    TCase *pieces = tcase_create("pieces");
    TCase *reading = tcase_create("packets");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(pieces, setup, teardown);
    tcase_add_test(pieces, holds_what_an_array_of_pages_holds);
    tcase_add_test(pieces, a_late_call_leaves_what_is_newer);
    tcase_add_test(pieces, moving_what_is_not_known_maps_nothing);
    suite_add_tcase(suite, pieces);
    tcase_add_loop_test(reading, takes_sound_packets_only, 0,
                        (int)(sizeof packets / sizeof *packets));
    suite_add_tcase(suite, reading);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
