/* What providers register, and what happens at max_table_bytes.  */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfxt/fxt_internal.h"
#include "tests/support/describe.h"
#include "tests/support/pass_on.h"

static struct copy trace;
static struct fxt_writer *to;
static char text[4 << 20];
static struct reading result;

static void put(const struct fxt_record *record)
{
    if (fxt_writer_record(to, record, NULL) != FXT_OK) /* a passed assertion is slow */
        ck_abort_msg("record not written");
}

static void start(void)
{
    const struct fxt_record magic = { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 };

    ck_assert_int_eq(fxt_writer_open(copy_write, &trace, &to, NULL), FXT_OK);
    put(&magic);
}

static void release(void)
{
    fxt_writer_close(to);
    free(trace.bytes);
    trace = (struct copy){ 0 };
}

static void put_string(unsigned index, const char *string)
{
    const struct fxt_record record = { .kind = FXT_RECORD_STRING,
                                       .name = fxt_inline(string),
                                       .value.table.index = (uint16_t)index };

    put(&record);
}

static void put_thread(unsigned index, uint64_t process, uint64_t thread)
{
    const struct fxt_record record = { .kind = FXT_RECORD_THREAD,
                                       .thread = { .process = process, .thread = thread },
                                       .value.table.index = (uint16_t)index };

    put(&record);
}

static void put_provider(enum fxt_record_kind kind, uint32_t id)
{
    const struct fxt_record record = { .kind = kind,
                                       .name = fxt_inline("provider"),
                                       .value.provider.id = id };

    put(&record);
}

/* An instant at tick 0 whose name and thread are references; thread 0 is the unknown one.  */
static void put_event(unsigned name, unsigned thread)
{
    const struct fxt_record record = {
        .kind = FXT_RECORD_EVENT,
        .thread = { .index = (uint8_t)thread },
        .name = { .bytes = "", .index = (uint16_t)name },
    };

    put(&record);
}

/* What only the events say, without offset and size: "p1 t=0,0ns ...", a line each.  */
static const char *read_events(uint64_t max_table_bytes)
{
    const struct fxt_reader_options options = { .size = sizeof options,
                                                .max_table_bytes = max_table_bytes };
    static char events[8192];
    struct source source;
    char *line = text;
    size_t used = 0;

    ck_assert_int_eq(describe_input(open_bytes(&source, trace.bytes, trace.used, 0), &options, text,
                                    sizeof text, &result),
                     FXT_END);
    events[0] = '\0';
    while (*line) {
        char *end = strchr(line, '\n'); /* text is large enough for whole lines */
        char *event = memmem(line, (size_t)(end - line), " event ", 7);

        if (event)
            used += (size_t)snprintf(events + used, sizeof events - used, "%.*s",
                                     (int)(end + 1 - event - 7), event + 7);
        line = end + 1;
    }
    return events;
}

static uint64_t count(enum fxt_damage_kind kind)
{
    return result.damage.kinds[kind].count;
}

/* ---- Within the bound ---- */

START_TEST(resolves_every_index_of_both_tables)
{
    char name[16];
    const char *events;

    for (unsigned index = 1; index <= 0x7fff; index++) {
        (void)snprintf(name, sizeof name, "string-%u", index);
        put_string(index, name);
    }
    for (unsigned index = 1; index <= 255; index++)
        put_thread(index, 1000 + index, 2000 + index);
    put_event(1, 1);
    put_event(0x7ffe, 254);
    put_event(0x7fff, 255);
    events = read_events(0);
    ck_assert_str_eq(events,
                     "p0 t=0,0ns thread[1]=1001/2001 name[1]='string-1' instant(0)\n"
                     "p0 t=0,0ns thread[254]=1254/2254 name[32766]='string-32766' instant(0)\n"
                     "p0 t=0,0ns thread[255]=1255/2255 name[32767]='string-32767' instant(0)\n");
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 0);
}
END_TEST

START_TEST(tells_many_providers_apart)
{
    enum { PROVIDERS = 500 };
    char expected[128];
    const char *line;

    for (uint32_t id = 0; id < PROVIDERS; id++) {
        char name[16];

        (void)snprintf(name, sizeof name, "of-%u", id);
        put_provider(FXT_RECORD_PROVIDER_INFO, id * 0x01000193);
        put_string(1, name);
        put_thread(1, id, id);
    }
    for (uint32_t id = 0; id < 40; id++) {
        put_provider(FXT_RECORD_PROVIDER_SECTION, id * 0x01000193);
        put_event(1, 1);
    }
    line = read_events(0);
    for (uint32_t id = 0; id < 40; id++) {
        (void)snprintf(expected, sizeof expected,
                       "p%x t=0,0ns thread[1]=%u/%u name[1]='of-%u' instant(0)\n", id * 0x01000193,
                       id, id, id);
        ck_assert_mem_eq(line, expected, strlen(expected));
        line += strlen(expected);
    }
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 0);
}
END_TEST

/* magic-trace overwrites its temporary slots for ever: that must not add up.  */
START_TEST(uses_the_room_of_a_replaced_string_again)
{
    static const char *const strings[] = { "a string of thirty-two bytes....", "short", "" };

    for (int round = 0; round < 1000; round++)
        put_string(1 + (unsigned)round % 3, strings[round % 2]);
    put_string(1, strings[2]);
    put_string(2, strings[0]);
    put_event(1, 0);
    put_event(2, 0);
    ck_assert_str_eq(read_events(64 * sizeof(struct fxt_string_slot) + (uint64_t)3 * 32),
                     "p0 t=0,0ns thread=0/0 name[1]='' instant(0)\n"
                     "p0 t=0,0ns thread=0/0 name[2]='a string of thirty-two bytes....' "
                     "instant(0)\n");
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 0);
}
END_TEST

/* Provider info resets; what is forgotten gives its room back.  */
START_TEST(uses_the_room_of_a_reset_provider_again)
{
    for (int round = 0; round < 1000; round++) {
        put_provider(FXT_RECORD_PROVIDER_INFO, 7);
        put_string(1, "a string of thirty-two bytes....");
        put_thread(1, 10, 11);
    }
    put_event(1, 1);
    ck_assert_str_eq(read_events(20000), "p7 t=0,0ns thread[1]=10/11 "
                                         "name[1]='a string of thirty-two bytes....' instant(0)\n");
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 0);
}
END_TEST

/* Where every announcement looks through the whole table, this takes a minute, and is ended.  */
START_TEST(a_reset_costs_no_more_than_what_it_forgets)
{
    struct source source;
    struct fxt_input *input;
    struct fxt_reader *reader;
    const struct fxt_record *record;
    unsigned records = 0;

    put_provider(FXT_RECORD_PROVIDER_INFO, 7);
    put_string(0x7fff, "the largest table there is");
    for (unsigned i = 0; i < 1000000; i++)
        put_provider(FXT_RECORD_PROVIDER_INFO, 7);
    put_event(0x7fff, 0);
    input = open_bytes(&source, trace.bytes, trace.used, 0);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK)
        records++;
    ck_assert_uint_gt(records, 1000000);
    ck_assert_uint_eq(fxt_reader_damage(reader)->kinds[FXT_DAMAGE_UNRESOLVED_STRING].count, 1);
    fxt_reader_close(reader);
    fxt_input_close(input);
}
END_TEST

/* ---- At the bound: nothing rather than something wrong ---- */

/* Room for a table of strings and one short one.  */
#define ONE_STRING (64 * sizeof(struct fxt_string_slot) + 16)

START_TEST(counts_a_string_it_has_no_room_for)
{
    put_string(1, "kept");
    put_string(2, "not kept");
    put_string(70, "nor this, which would need a larger table");
    put_event(1, 0);
    put_event(2, 0);
    put_event(70, 0);
    ck_assert_str_eq(read_events(ONE_STRING), "p0 t=0,0ns thread=0/0 name[1]='kept' instant(0)\n"
                                              "p0 t=0,0ns thread=0/0 name[2]? instant(0)\n"
                                              "p0 t=0,0ns thread=0/0 name[70]? instant(0)\n");
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 2);
    ck_assert_uint_eq(count(FXT_DAMAGE_UNRESOLVED_STRING), 2);
    ck_assert_ptr_nonnull(strstr(text, "string p0 name='not kept' index=2")); /* still shown */
}
END_TEST

START_TEST(does_not_keep_the_old_text_of_a_string_it_has_no_room_for)
{
    put_string(1, "old");
    put_string(1, "new, and longer than there is room for");
    put_event(1, 0);
    put_string(1, "newest");
    put_event(1, 0);
    ck_assert_str_eq(read_events(ONE_STRING),
                     "p0 t=0,0ns thread=0/0 name[1]? instant(0)\n"
                     "p0 t=0,0ns thread=0/0 name[1]='newest' instant(0)\n");
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 1);
}
END_TEST

START_TEST(does_not_take_a_string_or_thread_of_the_default_context_instead)
{
    const uint64_t provider_bytes = sizeof(struct fxt_context) + 3 * sizeof(struct fxt_context *);
    const uint64_t default_bytes = ONE_STRING + 256 * sizeof(struct fxt_thread);

    put_string(1, "default's");
    put_thread(1, 10, 11);
    put_provider(FXT_RECORD_PROVIDER_INFO, 7);
    put_event(1, 1); /* it has nothing of its own yet */
    put_string(1, "own");
    put_thread(1, 20, 21);
    put_event(1, 1);
    ck_assert_str_eq(read_events(default_bytes + provider_bytes),
                     "p7 t=0,0ns thread[1]=10/11 name[1]='default's' instant(0)\n"
                     "p7 t=0,0ns thread[1]? name[1]? instant(0)\n");
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 2);
}
END_TEST

START_TEST(keeps_nothing_of_a_provider_it_has_no_room_for)
{
    put_string(1, "default's");
    put_provider(FXT_RECORD_PROVIDER_INFO, 7);
    put_string(1, "own");
    put_thread(1, 20, 21);
    put_event(1, 1);
    put_provider(FXT_RECORD_PROVIDER_SECTION, 8);
    put_event(1, 0);
    ck_assert_str_eq(read_events(ONE_STRING), "p7 t=0,0ns thread[1]? name[1]? instant(0)\n"
                                              "p8 t=0,0ns thread=0/0 name[1]? instant(0)\n");
    /* Provider, string and thread; provider.  */
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 4);
}
END_TEST

/* A provider that there was no room for, and is room for when it comes back: what it registered
 * at first is lost, and nothing else takes its place.  */
START_TEST(remembers_that_a_provider_may_have_lost_something)
{
    const uint64_t provider_bytes = sizeof(struct fxt_context) + 3 * sizeof(struct fxt_context *);
    char long_string[1000];

    memset(long_string, 'x', sizeof long_string);
    long_string[sizeof long_string - 1] = '\0';
    put_string(1, "default's");
    put_provider(FXT_RECORD_PROVIDER_INFO, 6);
    put_string(2, long_string);
    put_provider(FXT_RECORD_PROVIDER_INFO, 7); /* no room */
    put_string(1, "own");
    put_provider(FXT_RECORD_PROVIDER_INFO, 6); /* forgets the long string */
    put_provider(FXT_RECORD_PROVIDER_SECTION, 7);
    put_event(1, 0);
    put_string(1, "own again");
    put_event(1, 0);
    ck_assert_str_eq(read_events(2 * ONE_STRING + provider_bytes + 990),
                     "p7 t=0,0ns thread=0/0 name[1]? instant(0)\n"
                     "p7 t=0,0ns thread=0/0 name[1]? instant(0)\n");
    /* Provider 7 and its string; later its table of strings.  */
    ck_assert_uint_eq(count(FXT_DAMAGE_TABLE_FULL), 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fxt_tables");
    TCase *tcase = tcase_create("tables");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 20);
    tcase_add_checked_fixture(tcase, start, release);
    tcase_add_test(tcase, resolves_every_index_of_both_tables);
    tcase_add_test(tcase, tells_many_providers_apart);
    tcase_add_test(tcase, uses_the_room_of_a_replaced_string_again);
    tcase_add_test(tcase, a_reset_costs_no_more_than_what_it_forgets);
    tcase_add_test(tcase, uses_the_room_of_a_reset_provider_again);
    tcase_add_test(tcase, counts_a_string_it_has_no_room_for);
    tcase_add_test(tcase, does_not_keep_the_old_text_of_a_string_it_has_no_room_for);
    tcase_add_test(tcase, does_not_take_a_string_or_thread_of_the_default_context_instead);
    tcase_add_test(tcase, keeps_nothing_of_a_provider_it_has_no_room_for);
    tcase_add_test(tcase, remembers_that_a_provider_may_have_lost_something);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
