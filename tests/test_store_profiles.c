/* Profiles into a store: nothing is lost on the way in, and the same profile comes out.  */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fxt/profile_formats.h>
#include <fxt/store_export.h>
#include "libstore/store_internal.h"
#include "tests/support/allocation.h"
#include "tests/support/pprof_meaning.h"
#include "tests/support/stores.h"

static struct store_profile_result import_well(struct store *store,
                                               enum store_profile_format format, const void *bytes,
                                               size_t length)
{
    struct store_error error = { .status = STORE_OK };
    struct store_profile_result result;

    ck_assert_msg(import_bytes(store, format, bytes, length, &result, &error) == STORE_OK, "%s",
                  error.message);
    return result;
}

static struct store_profile_result import_folded(struct store *store, const char *text)
{
    return import_well(store, STORE_PROFILE_FOLDED, text, strlen(text));
}

/* No assertions inside.  */
static enum store_status write_back(struct store *store, int64_t capture, struct pprof_bytes *out,
                                    struct store_error *error)
{
    struct store_filter filter = { .size = sizeof filter, .capture = capture };
    struct store_export_options options = { .size = sizeof options, .raw = true };
    struct store_export_counts counts;

    return store_export_pprof(store, &filter, &options, pprof_bytes_write, out, &counts, error);
}

static char *meaning(const void *bytes, size_t length)
{
    struct profile_error error;
    char *text;

    ck_assert_int_eq(pprof_meaning(bytes, length, &text, NULL, &error), PROFILE_OK);
    return text;
}

/* The profile in bytes means the same when it comes out of the store.  */
static void check_round_trip(struct store *store, const void *bytes, size_t length)
{
    struct store_profile_result result = import_well(store, STORE_PROFILE_PPROF, bytes, length);
    struct store_error error = { .status = STORE_OK };
    struct pprof_bytes out = { .count = 0 };
    char *before = meaning(bytes, length), *after;

    ck_assert_msg(write_back(store, result.capture_id, &out, &error) == STORE_OK, "%s",
                  error.message);
    after = meaning(out.items, out.count);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    free(out.items);
}

static struct pprof_bytes example(void)
{
    struct pprof_bytes bytes = { .count = 0 };

    ck_assert_int_eq(pprof_example(false, &bytes), PROFILE_OK);
    return bytes;
}

/* ---- pprof, in and out ---- */

START_TEST(gives_back_every_field)
{
    struct pprof_bytes bytes = example();
    struct store *store = new_store(NULL);

    check_round_trip(store, bytes.items, bytes.count);
    store_close(store);
    free(bytes.items);
}
END_TEST

/* A profile of others' making: odd texts, equal things under two ids, what frames cannot tell.  */
enum { EMPTY, SAMPLES, COUNT, ODD, NUL, APP, MAIN, OTHER, FILE_C, KEY, STRINGS };

static const struct profile_text odd_strings[STRINGS] = {
    [EMPTY] = { "", 0 },       [SAMPLES] = { "samples", 7 }, [COUNT] = { "count", 5 },
    [ODD] = { "\xff\xfe", 2 }, [NUL] = { "a\0b", 3 },        [APP] = { "/bin/app", 8 },
    [MAIN] = { "main", 4 },    [OTHER] = { "other", 5 },     [FILE_C] = { "a.c", 3 },
    [KEY] = { "key", 3 },
};

static void put_odd_tables(const struct profile_pprof_sink *sink)
{
    static const struct profile_pprof_type types[] = { { SAMPLES, COUNT },
                                                       { ODD, NUL },
                                                       { SAMPLES, COUNT } };
    static const uint32_t comments[] = { ODD, EMPTY, NUL, MAIN, MAIN, KEY,
                                         KEY, KEY,   KEY, KEY,  KEY,  OTHER };
    const struct profile_pprof_header header = {
        .types = types,
        .type_count = 3,
        .default_sample_type = ODD,
        .has_period_type = true,
        .period = INT64_MIN,
        .time_ns = -1,
        .duration_ns = INT64_MAX,
        .drop_frames = NUL,
        .keep_frames = ODD,
        .doc_url = NUL,
        .comments = comments,
        .comment_count = 12,
    };
    /* Twice the same module at two places, one with no range at all, one that wraps.  */
    static const struct profile_pprof_mapping mappings[] = {
        { .id = 7, .start = 0x1000, .limit = 0x2000, .file_offset = 0x100, .filename = APP },
        { .id = 3, .start = 0x5000, .limit = 0x6000, .file_offset = 0x100, .filename = APP },
        { .id = 4, .filename = NUL, .build_id = ODD, .has_inline_frames = true },
        { .id = UINT64_MAX, .start = UINT64_MAX, .limit = 0, .build_id = MAIN },
        { .id = 5, .start = 0x7000, .limit = 0x8000, .file_offset = UINT64_MAX, .build_id = KEY },
    };
    /* Equal functions under two ids; no name; odd names.  */
    static const struct profile_pprof_function functions[] = {
        { .id = 1, .name = MAIN, .system_name = MAIN, .filename = FILE_C, .start_line = 3 },
        { .id = 2, .name = MAIN, .system_name = MAIN, .filename = FILE_C, .start_line = 3 },
        { .id = 3, .name = EMPTY },
        { .id = 4, .name = ODD, .system_name = NUL, .filename = ODD, .start_line = INT64_MIN },
        { .id = 5, .name = MAIN },
    };
    static const struct profile_pprof_line two[] = { { 1, -7, INT64_MAX }, { 4, INT64_MIN, 0 } };
    static const struct profile_pprof_line again[] = { { 2, -7, INT64_MAX }, { 4, INT64_MIN, 0 } };
    static const struct profile_pprof_line unnamed[] = { { 3, 0, 0 }, { 5, 0, 0 } };
    const struct profile_pprof_location locations[] = {
        { .id = 9, .mapping = 1, .address = 0x1010, .lines = two, .line_count = 2 },
        { .id = 1, .mapping = 2, .address = 0x5010, .lines = again, .line_count = 2 },
        { .id = 2,
          .mapping = 2,
          .address = 0x5010,
          .lines = again,
          .line_count = 2,
          .is_folded = true },
        { .id = 3, .mapping = 3, .lines = unnamed, .line_count = 2 },
        { .id = 4, .address = UINT64_MAX },
        { .id = 5 },
        { .id = 6 },
        { .id = 7, .mapping = 4, .address = 5 },
        { .id = 8, .mapping = 1, .address = 0x9999, .lines = two, .line_count = 2 },
        { .id = 10, .mapping = 5, .address = 0x7fff },
        { .id = 11, .mapping = 1, .address = 0x1010 },
    };

    (void)sink->strings(sink->context, odd_strings, STRINGS);
    (void)sink->header(sink->context, &header);
    for (size_t i = 0; i < sizeof mappings / sizeof *mappings; i++)
        (void)sink->mapping(sink->context, &mappings[i]);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        (void)sink->function(sink->context, &functions[i]);
    for (size_t i = 0; i < sizeof locations / sizeof *locations; i++)
        (void)sink->location(sink->context, &locations[i]);
}

static void put_odd_samples(const struct profile_pprof_sink *sink)
{
    static const uint32_t stacks[][4] = {
        { 1, 2, 3, 4 }, { 2, 2, 2, 2 }, { 5, 6, 7, 7 }, { 8, 9, 10, 11 }, { 1, 1, 1, 1 }, { 3 },
    };
    static const struct profile_pprof_label labels[] = {
        { .key = KEY, .str = ODD, .num = -5, .num_unit = NUL },
        { .key = KEY, .str = NUL },
        { .key = EMPTY, .num = INT64_MIN },
        { .key = ODD, .num_unit = ODD },
        { .key = KEY, .str = MAIN, .num_unit = COUNT },
        { .key = KEY, .str = MAIN },
        { .key = KEY },
    };
    static const int64_t values[][3] = { { 1, INT64_MAX, -1 },
                                         { 0, INT64_MAX, 0 },
                                         { INT64_MIN, INT64_MIN, INT64_MIN } };

    for (size_t i = 0; i < 60; i++) {
        struct profile_pprof_sample sample = {
            .locations = stacks[i % 6],
            .location_count = i % 5,
            .values = values[i % 3],
            .value_count = 3,
            .labels = labels + i % 4,
            .label_count = i % 7 < 4 ? i % 7 : 0,
        };

        (void)sink->sample(sink->context, &sample);
    }
}

static struct pprof_bytes odd_profile(void)
{
    struct profile_writer_options options = { .size = sizeof options, .raw = true };
    struct pprof_bytes bytes = { .count = 0 };
    struct profile_writer *writer;
    struct profile_pprof_sink sink;

    ck_assert_int_eq(profile_writer_open(profile_format_named("pprof"), &options, pprof_bytes_write,
                                         &bytes, &writer, NULL),
                     PROFILE_OK);
    profile_writer_sink(writer, &sink);
    put_odd_tables(&sink);
    put_odd_samples(&sink);
    ck_assert_int_eq(profile_writer_finish(writer, NULL), PROFILE_OK);
    profile_writer_close(writer);
    return bytes;
}

START_TEST(gives_back_what_is_odd)
{
    struct pprof_bytes bytes = odd_profile();
    struct store *store = new_store(NULL);

    check_round_trip(store, bytes.items, bytes.count);
    store_close(store);
    free(bytes.items);
}
END_TEST

/* Others before it share texts, frames and call sites with it.  */
START_TEST(gives_back_a_profile_among_others)
{
    struct pprof_bytes first = odd_profile(), second = example();
    struct store *store = new_store(NULL);

    (void)import_folded(store, "main;work() 3\nother 1\n");
    check_round_trip(store, first.items, first.count);
    check_round_trip(store, second.items, second.count);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM capture"), 3);
    store_close(store);
    free(first.items);
    free(second.items);
}
END_TEST

START_TEST(shares_what_is_equal)
{
    static const char first[] = "a;b;c 1\na;b;d 2\n", second[] = "a;b;c 7\nx 1\n";
    struct store *store = new_store(NULL);

    ck_assert_uint_eq(import_folded(store, first).callsites, 4);
    ck_assert_uint_eq(import_folded(store, second).callsites, 1);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM frame"), 5);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM string WHERE text = 'a'"), 1);
    store_close(store);
}
END_TEST

START_TEST(knows_a_profile_again)
{
    struct store_profile_result result = { .samples = 9 };
    struct pprof_bytes bytes = example(), raw = { .count = 0 };
    struct store_error error = { .status = STORE_OK };
    struct store *store = new_store(NULL);

    ck_assert_int_eq(pprof_example(true, &raw), PROFILE_OK);
    (void)import_well(store, STORE_PROFILE_PPROF, bytes.items, bytes.count);
    ck_assert_int_eq(
        import_bytes(store, STORE_PROFILE_PPROF, raw.items, raw.count, &result, &error),
        STORE_KNOWN);
    ck_assert_int_eq(result.capture_id, 1);
    ck_assert_uint_eq(result.samples, 0);
    ck_assert_int_eq(row_number(store, "SELECT count(*) FROM profile_sample"), 3);
    store_close(store);
    free(bytes.items);
    free(raw.items);
}
END_TEST

/* ---- Hostile ---- */

/* Whatever is readable of a damaged profile comes out as it was read.  */
START_TEST(gives_back_what_is_left_of_a_damaged_profile)
{
    struct pprof_bytes bytes = odd_profile();
    unsigned seed = (unsigned)_i;

    for (size_t round = 0; round < 25; round++) {
        size_t length = bytes.count - (round % 5 == 0 ? (size_t)rand_r(&seed) % bytes.count : 0);
        struct profile_read_notices notices;
        struct store_profile_result result;
        struct store_error error = { .status = STORE_OK };
        struct profile_error profile_error;
        struct store *store = new_store(NULL);
        struct pprof_bytes out = { .count = 0 };
        enum store_status status;
        uint8_t *copy = malloc(length + 1);
        char *before, *after;

        memcpy(copy, bytes.items, length);
        for (int i = 0; i < 1 + _i % 3; i++)
            copy[(size_t)rand_r(&seed) % length] = (uint8_t)rand_r(&seed);
        status = import_bytes(store, STORE_PROFILE_PPROF, copy, length, &result, &error);
        if (pprof_meaning(copy, length, &before, &notices, &profile_error) != PROFILE_OK) {
            ck_assert_int_eq(status, STORE_MALFORMED);
        } else {
            ck_assert_msg(status == STORE_OK, "%s", error.message);
            ck_assert_int_eq(result.is_damaged, profile_read_is_damaged(&notices));
            ck_assert_int_eq(result.is_damaged, result.damage[0] != '\0');
            ck_assert_msg(write_back(store, 1, &out, &error) == STORE_OK, "%s", error.message);
            after = meaning(out.items, out.count);
            ck_assert_str_eq(after, before);
            free(after);
        }
        free(before);
        free(out.items);
        free(copy);
        store_close(store);
    }
    free(bytes.items);
}
END_TEST

/* Every allocation of an import and of an export fails once, and it is said; what was there before
 * stays.  */
START_TEST(survives_any_allocation_failing)
{
    static const char folded[] = "main;work 3\nmain;other 1.5\n";
    struct pprof_bytes bytes = odd_profile();
    enum store_status status = STORE_NO_MEMORY;

    for (unsigned long n = 1; status != STORE_OK; n++) {
        struct store_error error = { .status = STORE_OK };
        struct store *store = new_store(NULL);

        (void)import_folded(store, "main 1\n");
        allocation_fail_at(n);
        status = _i == 0 ? import_bytes(store, STORE_PROFILE_PPROF, bytes.items, bytes.count, NULL,
                                        &error)
                         : import_bytes(store, STORE_PROFILE_FOLDED, folded, sizeof folded - 1,
                                        NULL, &error);
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY, "%lu: %s", n, error.message);
        ck_assert_int_eq(row_number(store, "SELECT count(*) FROM capture"),
                         status == STORE_OK ? 2 : 1);
        ck_assert_int_eq(row_number(store, "SELECT count(*) FROM profile_sample") > 1,
                         status == STORE_OK);
        store_close(store);
        ck_assert_uint_lt(n, 3000);
    }
    free(bytes.items);
}
END_TEST

START_TEST(survives_any_allocation_of_an_export_failing)
{
    struct pprof_bytes bytes = odd_profile();
    struct store *store = new_store(NULL);
    enum store_status status = STORE_NO_MEMORY;

    (void)import_well(store, STORE_PROFILE_PPROF, bytes.items, bytes.count);
    for (unsigned long n = 1; status != STORE_OK; n++) {
        struct store_filter filter = { .size = sizeof filter, .hide = _i ? "main" : NULL };
        struct store_error error = { .status = STORE_OK };
        struct pprof_bytes out = { .count = 0 };
        struct store_export_counts counts;

        allocation_fail_at(n);
        status = store_export_pprof(store, &filter, NULL, pprof_bytes_write, &out, &counts, &error);
        allocation_fail_at(0);
        ck_assert_msg(status == STORE_OK || status == STORE_NO_MEMORY || out.failed, "%lu: %s", n,
                      error.message);
        free(out.items);
        ck_assert_uint_lt(n, 3000);
    }
    store_close(store);
    free(bytes.items);
}
END_TEST

static int disk_full(void *context, const void *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return ENOSPC;
}

START_TEST(says_that_writing_failed)
{
    struct pprof_bytes bytes = example();
    struct store *store = new_store(NULL);
    struct store_export_counts counts;
    struct store_error error = { .status = STORE_OK };

    (void)import_well(store, STORE_PROFILE_PPROF, bytes.items, bytes.count);
    ck_assert_int_eq(store_export_pprof(store, NULL, NULL, disk_full, NULL, &counts, &error),
                     STORE_IO);
    ck_assert_int_eq(error.system_errno, ENOSPC);
    store_close(store);
    free(bytes.items);
}
END_TEST

/* Rows that contradict each other end the export.  */
static const char *const contradictions[] = {
    "UPDATE profile_location SET frame_id = 99999",
    "UPDATE profile_location SET ordinal = ordinal + 1000 WHERE ordinal = 2",
    "UPDATE profile_location SET mapping = 77 WHERE ordinal = 1",
    "DELETE FROM profile_value WHERE ordinal = 1",
    "UPDATE profile_sample SET locations = x'ffffffff'",
    "UPDATE profile_sample SET locations = x'01'",
    "UPDATE profile_type SET type = 9999",
    "UPDATE profile_mapping SET ordinal = ordinal + 7 WHERE ordinal = 1",
    "UPDATE profile_mapping SET filename = -3 WHERE ordinal = 1",
    "UPDATE symbol SET function = 1000000",
};

START_TEST(refuses_rows_that_contradict_each_other)
{
    struct pprof_bytes bytes = odd_profile(), out = { .count = 0 };
    struct store *store = new_store(NULL);
    struct store_error error = { .status = STORE_OK };

    (void)import_well(store, STORE_PROFILE_PPROF, bytes.items, bytes.count);
    ck_assert_int_eq(sqlite3_exec(store_sqlite(store), contradictions[_i], NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_msg(write_back(store, 1, &out, &error) == STORE_CORRUPT, "%s: %s", contradictions[_i],
                  error.message);
    store_close(store);
    free(bytes.items);
    free(out.items);
}
END_TEST

/* ---- Meaning ---- */

START_TEST(says_what_a_profile_is)
{
    struct pprof_bytes bytes = example();
    struct store *store = new_store(NULL);

    (void)import_well(store, STORE_PROFILE_PPROF, bytes.items, bytes.count);
    ck_assert_rows(store, "SELECT format || ' ' || name || ' ' || period_ns FROM capture",
                   "pprof bytes 10000000;");
    ck_assert_rows(store, "SELECT type || '/' || unit FROM sample_type WHERE id > 4",
                   "samples/count;");
    ck_assert_rows(store,
                   "SELECT sample_type_id || ':' || is_default FROM profile_type "
                   "ORDER BY ordinal",
                   "5:1;1:0;");
    ck_assert_rows(store,
                   "SELECT t.type || ' ' || sum(s.n) || ' ' || sum(s.value) FROM callsite_sum AS s "
                   "JOIN sample_type AS t ON t.id = s.sample_type_id GROUP BY t.id ORDER BY t.id",
                   "cpu -2 -9223372036844775808;samples -2 -2;");
    store_close(store);
    free(bytes.items);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profiles in a store");
    TCase *tcase = tcase_create("profiles");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, gives_back_every_field);
    tcase_add_test(tcase, gives_back_what_is_odd);
    tcase_add_test(tcase, gives_back_a_profile_among_others);
    tcase_add_test(tcase, shares_what_is_equal);
    tcase_add_test(tcase, knows_a_profile_again);
    tcase_add_test(tcase, says_what_a_profile_is);
    tcase_add_test(tcase, says_that_writing_failed);
    tcase_add_loop_test(tcase, gives_back_what_is_left_of_a_damaged_profile, 0, 12);
    tcase_add_loop_test(tcase, survives_any_allocation_failing, 0, 2);
    tcase_add_loop_test(tcase, survives_any_allocation_of_an_export_failing, 0, 2);
    tcase_add_loop_test(tcase, refuses_rows_that_contradict_each_other, 0,
                        (int)(sizeof contradictions / sizeof *contradictions));
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
