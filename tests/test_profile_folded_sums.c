/* Folded stacks of whatever is emitted: exact values, decimals, several columns, roots.  */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_formats.h>
#include "tests/support/pprof_text.h"

struct sample {
    uint32_t stack; /* 1: a;b, 2: a, 3: "a " which is a, too; 0: none */
    uint32_t thread;
    int64_t value;
    uint64_t whole;
    uint32_t part;
};

struct shape {
    uint32_t parts;
    unsigned decimals;
    size_t types;
    struct profile_writer_options options;
};

static void put_names(struct profile_writer *writer, const struct profile_pprof_sink *sink)
{
    static const char *const names[] = { "a", "b", "a " };
    static const struct profile_pprof_thread threads[] = {
        { .has_pid = true, .pid = 7 }, { .has_pid = true, .pid = 7, .has_tid = true, .tid = 9 }
    };

    for (uint32_t i = 0; i < 3; i++) {
        struct profile_pprof_function function = { .id = i + 1 };
        struct profile_pprof_line line = { .function = i + 1 };
        struct profile_pprof_location location = { .id = i + 1, .lines = &line, .line_count = 1 };

        ck_assert_int_eq(profile_writer_string(writer, names[i], strlen(names[i]), &function.name),
                         PROFILE_OK);
        ck_assert_int_eq(sink->function(sink->context, &function), PROFILE_OK);
        ck_assert_int_eq(sink->location(sink->context, &location), PROFILE_OK);
    }
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(sink->thread(sink->context, &threads[i]), PROFILE_OK);
}

static void put_sample(const struct profile_pprof_sink *sink, const struct shape *shape,
                       const struct sample *from)
{
    static const uint32_t locations[][2] = { { 0 }, { 2, 1 }, { 1 }, { 3 } };
    const int64_t values[] = { from->value, 2 * from->value };
    const struct profile_pprof_exact exact[] = { { from->whole, from->part },
                                                 { 2 * from->whole, 2 * from->part } };
    const struct profile_pprof_sample sample = {
        .locations = locations[from->stack],
        .location_count = from->stack == 0   ? 0
                          : from->stack == 1 ? 2
                                             : 1,
        .values = values,
        .value_count = shape->types,
        .thread = from->thread,
        .exact = shape->parts ? exact : NULL,
    };

    ck_assert_int_eq(sink->sample(sink->context, &sample), PROFILE_OK);
}

static void folded_are(const struct shape *shape, const struct sample *samples, size_t count,
                       const char *expected)
{
    static const struct profile_pprof_type types[2];
    const struct profile_pprof_header header = { .types = types,
                                                 .type_count = shape->types,
                                                 .parts = shape->parts,
                                                 .decimals = shape->decimals };
    struct pprof_bytes bytes = { .count = 0 };
    struct profile_writer_options options = shape->options;
    struct profile_writer *writer;
    struct profile_pprof_sink sink;

    options.size = sizeof options;
    ck_assert_int_eq(profile_writer_open(profile_format_named("folded"), &options,
                                         pprof_bytes_write, &bytes, &writer, NULL),
                     PROFILE_OK);
    profile_writer_sink(writer, &sink);
    put_names(writer, &sink);
    ck_assert_int_eq(sink.header(sink.context, &header), PROFILE_OK);
    for (size_t i = 0; i < count; i++)
        put_sample(&sink, shape, &samples[i]);
    ck_assert_int_eq(profile_writer_finish(writer, NULL), PROFILE_OK);
    profile_writer_close(writer);
    ck_assert_msg(bytes.count == strlen(expected) &&
                      (bytes.count == 0 || memcmp(bytes.items, expected, bytes.count) == 0),
                  "%.*s", (int)bytes.count, (const char *)bytes.items);
    free(bytes.items);
}

#define NO_ROOT .options = { .root = PROFILE_ROOT_NONE }

static const struct {
    struct shape shape;
    struct sample samples[3];
    const char *expected;
} cases[] = {
    /* whole numbers; equal names are one line; what is negative or 0 is none */
    { { 0, 0, 1, NO_ROOT }, { { 2, 0, 3, 0, 0 }, { 3, 0, 4, 0, 0 } }, "a 7\n" },
    { { 0, 0, 1, NO_ROOT }, { { 1, 0, -3, 0, 0 }, { 2, 0, 0, 0, 0 } }, "" },
    /* the heap: sums of parts are rounded once, in the end */
    { { 1 << 20, 0, 1, NO_ROOT }, { { 2, 0, 0, 0, 1 << 18 }, { 2, 0, 0, 0, 1 << 18 } }, "a 1\n" },
    { { 1 << 20, 0, 1, NO_ROOT }, { { 2, 0, 0, 0, 1 << 18 } }, "" },
    { { 1 << 20, 0, 1, NO_ROOT }, { { 2, 0, 9, 2, (1 << 20) - 1 } }, "a 3\n" },
    /* fractions keep their digits, without zeros at the end */
    { { 1000000, 6, 1, NO_ROOT },
      { { 2, 0, 1, 1, 500000 }, { 1, 0, 0, 0, 250000 } },
      "a 1.5\na;b 0.25\n" },
    { { 1000000, 6, 1, NO_ROOT }, { { 2, 0, 1, 0, 999999 }, { 3, 0, 0, 0, 1 } }, "a 1\n" },
    { { 1000000, 3, 1, NO_ROOT }, { { 2, 0, 1, 1, 999600 } }, "a 2\n" },
    { { 1000000, 3, 1, NO_ROOT }, { { 2, 0, 1, 0, 400 } }, "" },
    /* a part may be more than one */
    { { 1000, 3, 1, NO_ROOT }, { { 2, 0, 1, 1, 2500 } }, "a 3.5\n" },
    /* a column for each type */
    { { 1000, 3, 2, .options = { .root = PROFILE_ROOT_NONE, .all_types = true } },
      { { 2, 0, 1, 1, 500 }, { 1, 0, 0, 0, 1 } },
      "a 1.5 3\na;b 0.001 0.002\n" },
    /* the last type */
    { { 0, 0, 2, NO_ROOT }, { { 2, 0, 3, 0, 0 } }, "a 6\n" },
    /* roots: of nobody there is none */
    { { 0, 0, 1, .options = { .root = PROFILE_ROOT_PROCESS } },
      { { 2, 1, 3, 0, 0 }, { 2, 2, 4, 0, 0 }, { 2, 0, 1, 0, 0 } },
      "a 1\npid-7;a 7\n" },
    { { 0, 0, 1, .options = { .root = PROFILE_ROOT_THREAD } },
      { { 2, 1, 3, 0, 0 }, { 2, 2, 4, 0, 0 }, { 0, 2, 5, 0, 0 } },
      "pid-7;a 3\npid-7;tid-9 5\npid-7;tid-9;a 4\n" },
    /* no stack and no root: no line */
    { { 0, 0, 1, NO_ROOT }, { { 0, 1, 3, 0, 0 }, { 2, 1, 1, 0, 0 } }, "a 1\n" },
};

START_TEST(adds_up_and_prints)
{
    size_t count = 0;

    while (count < 3 && (cases[_i].samples[count].stack || cases[_i].samples[count].thread))
        count++;
    folded_are(&cases[_i].shape, cases[_i].samples, count, cases[_i].expected);
}
END_TEST

START_TEST(sums_stop_at_the_top)
{
    const struct shape shape = { 1000, 3, 1, NO_ROOT };
    const struct sample samples[] = { { 2, 0, 1, UINT64_MAX, 999 }, { 2, 0, 1, 5, 999 } };

    folded_are(&shape, samples, 2, "a 18446744073709551615.998\n");
}
END_TEST

START_TEST(refuses_more_decimals_than_it_prints)
{
    static const struct profile_pprof_type type;
    const struct profile_pprof_header header = { .types = &type, .type_count = 1, .decimals = 10 };
    struct pprof_bytes bytes = { .count = 0 };
    struct profile_writer *writer;
    struct profile_pprof_sink sink;

    ck_assert_int_eq(profile_writer_open(profile_format_named("folded"), NULL, pprof_bytes_write,
                                         &bytes, &writer, NULL),
                     PROFILE_OK);
    profile_writer_sink(writer, &sink);
    ck_assert_int_eq(sink.header(sink.context, &header), PROFILE_INVALID);
    ck_assert_ptr_nonnull(strstr(profile_writer_error(writer)->message, "decimals"));
    profile_writer_close(writer);
    free(bytes.items);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_folded_sums");
    TCase *tcase = tcase_create("folded");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, adds_up_and_prints, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tcase, sums_stop_at_the_top);
    tcase_add_test(tcase, refuses_more_decimals_than_it_prints);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
