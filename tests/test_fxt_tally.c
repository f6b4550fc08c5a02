/* The quick ways through events against the ordinary one: the same records, the same damage.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "libfxt/fxt_internal.h"
#include "tests/support/describe.h"
#include "tests/support/every_kind.h"
#include "tests/support/pass_on.h"
#include "tests/support/random_trace.h"

/* What reading came to, however it was done.  */
struct total {
    enum fxt_status status;
    struct fxt_damage damage;
    struct fxt_tally sum; /* of what was delivered and what was counted */
    uint64_t offset;
    uint64_t counted;
};

static void add_time(struct fxt_tally *sum, int64_t ns)
{
    if (!sum->has_time || ns < sum->first_ns)
        sum->first_ns = ns;
    if (!sum->has_time || ns > sum->last_ns)
        sum->last_ns = ns;
    sum->has_time = true;
}

static void add_tally(struct fxt_tally *sum, const struct fxt_tally *tally)
{
    for (unsigned kind = 0; kind < FXT_RECORD_KINDS; kind++)
        sum->records[kind] += tally->records[kind];
    if (!tally->has_time)
        return;
    add_time(sum, tally->first_ns);
    add_time(sum, tally->last_ns);
}

static uint64_t max_table_bytes; /* 0: as ever */

static struct total read_total(const void *bytes, size_t length, size_t step, bool quickly)
{
    const struct fxt_reader_options options = { .size = sizeof options,
                                                .trust_start = true,
                                                .max_table_bytes = max_table_bytes };
    struct total total = { .status = FXT_OK };
    struct fxt_tally tally = { .has_time = false };
    struct source source;
    struct fxt_input *input = open_bytes(&source, bytes, length, step);
    struct fxt_reader *reader = NULL;
    const struct fxt_record *record;

    if (fxt_reader_open(input, &options, &reader, NULL) != FXT_OK)
        ck_abort_msg("no reader");
    while ((total.status = fxt_reader_next(reader, &record, NULL)) == FXT_OK) {
        total.sum.records[record->kind]++;
        if (record->has_time)
            add_time(&total.sum, record->ts_ns);
        if (quickly && fxt_reader_tally(reader, &tally) > 0 && fxt_reader_bytes(reader).length != 0)
            ck_abort_msg("a record that was counted still has its bytes");
    }
    if (fxt_reader_tally(reader, &tally) != 0)
        ck_abort_msg("records behind the end");
    total.damage = *fxt_reader_damage(reader);
    total.offset = fxt_reader_offset(reader);
    for (unsigned kind = 0; kind < FXT_RECORD_KINDS; kind++)
        total.counted += tally.records[kind];
    add_tally(&total.sum, &tally);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return total;
}

/* Message and comparison by hand: a passed assertion is slow.  */
static void compare(const char *what, unsigned long number, const struct total *slow,
                    const struct total *quick)
{
    char slow_text[1024], quick_text[1024];

    if (slow->status == quick->status && slow->offset == quick->offset &&
        memcmp(&slow->damage, &quick->damage, sizeof slow->damage) == 0 &&
        memcmp(slow->sum.records, quick->sum.records, sizeof slow->sum.records) == 0 &&
        slow->sum.has_time == quick->sum.has_time && slow->sum.first_ns == quick->sum.first_ns &&
        slow->sum.last_ns == quick->sum.last_ns)
        return;
    describe_damage(&slow->damage, slow_text, sizeof slow_text);
    describe_damage(&quick->damage, quick_text, sizeof quick_text);
    ck_abort_msg("%s %lu: status %d, %d; offset %llu, %llu; times %lld..%lld, %lld..%lld; damage "
                 "%s; %s",
                 what, number, (int)slow->status, (int)quick->status,
                 (unsigned long long)slow->offset, (unsigned long long)quick->offset,
                 (long long)slow->sum.first_ns, (long long)slow->sum.last_ns,
                 (long long)quick->sum.first_ns, (long long)quick->sum.last_ns, slow_text,
                 quick_text);
}

static uint64_t compare_both(const char *what, unsigned long number, const void *bytes,
                             size_t length, size_t step)
{
    struct total slow = read_total(bytes, length, step, false);
    struct total quick = read_total(bytes, length, step, true);

    compare(what, number, &slow, &quick);
    return quick.counted;
}

static struct random_trace trace;

START_TEST(counting_finds_what_reading_finds_in_random_traces)
{
    uint64_t counted = 0;

    for (unsigned i = 0; i < 1000; i++) {
        unsigned seed = (unsigned)_i * 1000 + i;

        random_trace_make(&trace, seed, 200, false, i % 2);
        counted += compare_both("seed", seed, trace.words, 8 * trace.used, i % 3 ? 0 : 1000);
    }
    ck_assert_uint_gt(counted, 30000); /* of up to 170,000: the quick way was taken */
}
END_TEST

/* Texts that were known are dropped when longer ones come for which there is no room.  */
START_TEST(counting_finds_what_reading_finds_when_tables_are_full)
{
    uint64_t full = 0;
    uint64_t counted = 0;

    for (unsigned seed = 0; seed < 1000; seed++) {
        struct total slow;

        random_trace_make(&trace, seed, 200, false, false);
        max_table_bytes = 1900 + seed * 37 % 8000;
        counted += compare_both("seed", seed, trace.words, 8 * trace.used, 0);
        slow = read_total(trace.words, 8 * trace.used, 0, false);
        full += slow.damage.kinds[FXT_DAMAGE_TABLE_FULL].count > 0;
    }
    max_table_bytes = 0;
    ck_assert_uint_gt(full, 300);
    ck_assert_uint_gt(counted, 1000);
}
END_TEST

START_TEST(counting_finds_what_reading_finds_whatever_byte_is_another)
{
    struct copy copy = { 0 };
    struct fxt_writer *to;

    ck_assert_int_eq(fxt_writer_open(copy_write, &copy, &to, NULL), FXT_OK);
    ck_assert_int_eq(every_kind_write(to), FXT_OK);
    fxt_writer_close(to);
    for (size_t i = 0; i < copy.used; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            copy.bytes[i] = (uint8_t)(copy.bytes[i] ^ 1u << bit);
            (void)compare_both("byte", i, copy.bytes, copy.used, 0);
            copy.bytes[i] = (uint8_t)(copy.bytes[i] ^ 1u << bit);
        }
    }
    free(copy.bytes);
}
END_TEST

/* ---- What no random trace has ---- */

#define EVENT(words, type, args, thread, category, name)                         \
    (4 | (words) << 4 | (type) << 16 | (args) << 20 | (uint64_t)(thread) << 24 | \
     (uint64_t)(category) << 32 | (uint64_t)(name) << 48)

/* Two sound instants on an inline thread; the flaw is in the third event.  */
static const struct {
    const char *name;
    uint64_t words[8];
    size_t count;
} flawed[] = {
    { "string index 0x7fff", { EVENT(4, 0, 0, 0, 0x7fff, 0), 5, 1, 2 }, 4 },
    { "both strings unknown", { EVENT(4, 0, 0, 0, 1, 1), 5, 1, 2 }, 4 },
    { "thread 255", { EVENT(2, 0, 0, 255, 0, 0), 5 }, 2 },
    { "no room for the inline thread", { EVENT(3, 0, 0, 0, 0, 0), 5, 1 }, 3 },
    { "header alone", { EVENT(1, 0, 0, 0, 0, 0) }, 1 },
    { "time out of range", { EVENT(4, 0, 0, 0, 0, 0), UINT64_MAX, 1, 2 }, 4 },
    { "end out of range", { EVENT(5, 4, 0, 0, 0, 0), 5, 1, 2, UINT64_MAX }, 5 },
    { "end before start", { EVENT(5, 4, 0, 0, 0, 0), 5, 1, 2, 4 }, 5 },
    { "no end", { EVENT(4, 4, 0, 0, 0, 0), 5, 1, 2 }, 4 },
    { "no counter id", { EVENT(4, 1, 0, 0, 0, 0), 5, 1, 2 }, 4 },
    { "category of 32,767 bytes", { EVENT(4, 0, 0, 0, 0xffff, 0), 5, 1, 2 }, 4 },
    { "argument that is not there", { EVENT(4, 0, 1, 0, 0, 0), 5, 1, 2 }, 4 },
    { "argument of size 0", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0x01 }, 5 },
    { "argument past the record", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0x21 }, 5 },
    { "argument without its value", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0x13 }, 5 },
    { "argument with a long name", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0xffff0010 }, 5 },
    { "argument with an unknown name", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0x10010 }, 5 },
    { "string argument, unknown", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0x900000016 }, 5 },
    { "string argument, too long", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0x800100000016 }, 5 },
    { "blob of 2^32 - 1 bytes", { EVENT(5, 0, 1, 0, 0, 0), 5, 1, 2, 0xffffffff0000001a }, 5 },
    { "complete event whose argument takes its end",
      { EVENT(6, 4, 1, 0, 0, 0), 5, 1, 2, 0x23, 7 },
      6 },
};

START_TEST(counting_stops_at_every_flaw)
{
    uint64_t words[32] = { UINT64_C(0x0016547846040010) };
    struct total quick;
    size_t used = 1;

    for (unsigned i = 0; i < 3; i++) {
        const uint64_t sound[] = { EVENT(4, 0, 0, 0, 0, 0), 1000 + i, 1, 2 };
        memcpy(words + used, sound, sizeof sound);
        used += 4;
    }
    memcpy(words + used, flawed[_i].words, 8 * flawed[_i].count);
    used += flawed[_i].count;
    (void)compare_both(flawed[_i].name, 0, words, 8 * used, 0);
    quick = read_total(words, 8 * used, 0, true);
    ck_assert_uint_gt(fxt_damage_total(&quick.damage, true), 0);
    ck_assert_uint_eq(quick.counted, 3); /* all sound ones, behind the magic record */
}
END_TEST

/* ---- Events behind events ---- */

static char together[4 << 20], apart[4 << 20];

/* Without offset and magic records: "event p1 t=0,0ns ...", a line each.  */
static void strip(char *text)
{
    char *to = text;

    for (char *line = text; *line;) {
        char *end = strchr(line, '\n') + 1; /* text is large enough for whole lines */
        char *from = memchr(line, ' ', (size_t)(end - line));

        if (strncmp(from, " magic ", 7) != 0) {
            memmove(to, from, (size_t)(end - from));
            to += end - from;
        }
        line = end;
    }
    *to = '\0';
}

static void first_difference(unsigned seed)
{
    const char *a = together;
    const char *b = apart;

    while (strcspn(a, "\n") == strcspn(b, "\n") && memcmp(a, b, strcspn(a, "\n") + 1) == 0) {
        a += strcspn(a, "\n") + 1;
        b += strcspn(b, "\n") + 1;
    }
    ck_abort_msg("seed %u: '%.*s' became '%.*s'", seed, (int)strcspn(b, "\n"), b,
                 (int)strcspn(a, "\n"), a);
}

START_TEST(an_event_is_the_same_whatever_stood_before_it)
{
    for (unsigned i = 0; i < 100; i++) {
        unsigned seed = (unsigned)_i * 100 + i;
        struct fxt_damage damage_together, damage_apart;

        random_trace_make(&trace, seed, 200, false, false);
        describe_all(trace.words, 8 * trace.used, 0, together, sizeof together, &damage_together);
        random_trace_make(&trace, seed, 200, true, false);
        describe_all(trace.words, 8 * trace.used, 0, apart, sizeof apart, &damage_apart);
        strip(together);
        strip(apart);
        if (strcmp(together, apart) != 0)
            first_difference(seed);
        for (unsigned kind = 0; kind < FXT_DAMAGE_KINDS; kind++) {
            if (damage_together.kinds[kind].count != damage_apart.kinds[kind].count)
                ck_abort_msg("seed %u: other damage", seed);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_tally");
    TCase *tcase = tcase_create("tally");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, counting_finds_what_reading_finds_in_random_traces, 0, 4);
    tcase_add_test(tcase, counting_finds_what_reading_finds_when_tables_are_full);
    tcase_add_test(tcase, counting_finds_what_reading_finds_whatever_byte_is_another);
    tcase_add_loop_test(tcase, counting_stops_at_every_flaw, 0,
                        (int)(sizeof flawed / sizeof *flawed));
    tcase_add_loop_test(tcase, an_event_is_the_same_whatever_stood_before_it, 0, 4);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
