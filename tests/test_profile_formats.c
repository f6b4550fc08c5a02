/* The writers of formats: what they refuse, and that a temporary file changes nothing.  */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_formats.h>
#include "tests/support/allocation.h"
#include "tests/support/pprof_text.h"

/* ---- Profiles of two threads ---- */

enum { TIMED = 1, NEGATIVE = 2 };

static const struct profile_text strings[] = {
    { "", 0 },
    { "cpu", 3 },
    { "nanoseconds", 11 },
    { "main", 4 },
    { "work\"\x1b\xff", 7 },
    { "/bin/app", 8 },
    { "main.c", 6 },
    { "0badf00d", 8 },
};

static enum profile_status put_tables(const struct profile_pprof_sink *sink)
{
    const struct profile_pprof_type type = { 1, 2 };
    const struct profile_pprof_header header = { .types = &type, .type_count = 1 };
    const struct profile_pprof_mapping mapping = {
        .start = 0x1000, .limit = 0x2000, .filename = 5, .build_id = 7
    };
    const struct profile_pprof_function functions[] = {
        { .name = 3, .filename = 6, .start_line = 9 }, { .name = 4 }
    };
    const struct profile_pprof_line lines[] = { { .function = 2, .line = 20 },
                                                { .function = 1, .line = 10 } };
    const struct profile_pprof_location locations[] = {
        { .mapping = 1, .address = 0x1010, .lines = lines, .line_count = 2 },
        { .mapping = 1, .address = 0x1020 },
        { .address = 7 },
    };
    const struct profile_pprof_thread threads[] = {
        { .process_name = 3, .has_pid = true, .pid = 7, .has_tid = true, .tid = 7 },
        { .name = 4, .has_pid = true, .pid = 7, .has_tid = true, .tid = 8 },
    };
    enum profile_status status = sink->strings(sink->context, strings,
                                               sizeof strings / sizeof *strings);

    if (status == PROFILE_OK)
        status = sink->header(sink->context, &header);
    if (status == PROFILE_OK)
        status = sink->mapping(sink->context, &mapping);
    for (size_t i = 0; i < 2 && status == PROFILE_OK; i++)
        status = sink->function(sink->context, &functions[i]);
    for (size_t i = 0; i < 3 && status == PROFILE_OK; i++)
        status = sink->location(sink->context, &locations[i]);
    for (size_t i = 0; i < 2 && sink->thread && status == PROFILE_OK; i++)
        status = sink->thread(sink->context, &threads[i]);
    return status;
}

/* Of both threads by turns, backwards in time.  */
static enum profile_status put_samples(const struct profile_pprof_sink *sink, size_t count,
                                       unsigned how)
{
    static const uint32_t stacks[][2] = { { 1, 2 }, { 2, 3 }, { 3, 1 } };
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        const int64_t value = how & NEGATIVE ? -1 : 1000;
        const struct profile_pprof_sample sample = {
            .locations = stacks[i % 3],
            .location_count = 2,
            .values = &value,
            .value_count = 1,
            .thread = 1 + i % 2,
            .stack = i % 5 ? (uint32_t)(1 + i % 3) : 0,
            .has_time = how & TIMED,
            .ts_ns = how & TIMED ? (int64_t)(1000 * (count - i)) : 0,
        };

        status = sink->sample(sink->context, &sample);
    }
    return status;
}

static enum profile_status write_profile(const struct profile_format *format, size_t sort_bytes,
                                         size_t count, unsigned how, struct pprof_bytes *out,
                                         struct profile_error *error)
{
    const struct profile_writer_options options = { .size = sizeof options,
                                                    .raw = true,
                                                    .sort_bytes = sort_bytes };
    struct profile_writer *writer = NULL;
    struct profile_pprof_sink sink;
    enum profile_status status = profile_writer_open(format, &options, pprof_bytes_write, out,
                                                     &writer, error);

    if (status != PROFILE_OK)
        return status;
    profile_writer_sink(writer, &sink);
    status = put_tables(&sink);
    if (status == PROFILE_OK)
        status = put_samples(&sink, count, how);
    if (status == PROFILE_OK)
        status = profile_writer_finish(writer, error);
    else
        *error = *profile_writer_error(writer);
    profile_writer_close(writer);
    return status;
}

/* ---- Tests ---- */

START_TEST(format_has_its_name)
{
    const struct profile_format *format = profile_format_at((size_t)_i);

    ck_assert_ptr_nonnull(format);
    ck_assert_ptr_eq(profile_format_named(format->name), format);
    ck_assert(format->suffix[0] == '.');
    ck_assert(!format->needs_times || format->timed);
}
END_TEST

START_TEST(unknown_names_are_no_formats)
{
    ck_assert_ptr_null(profile_format_named("svg"));
    ck_assert_ptr_null(profile_format_at(1000));
}
END_TEST

/* Sorted in memory or in a file, with columns in memory or in a file.  */
START_TEST(temporary_file_changes_nothing)
{
    const struct profile_format *format = profile_format_at((size_t)_i);
    struct pprof_bytes in_memory = { 0 }, in_file = { 0 };
    struct profile_error error = { .status = PROFILE_OK };

    ck_assert_msg(write_profile(format, 0, 20000, TIMED, &in_memory, &error) == PROFILE_OK, "%s",
                  error.message);
    ck_assert_int_eq(write_profile(format, 4096, 20000, TIMED, &in_file, &error), PROFILE_OK);
    ck_assert_uint_gt(in_memory.count, format->one_type ? 100 : 1000); /* stacks, or samples */
    ck_assert_uint_eq(in_memory.count, in_file.count);
    ck_assert_mem_eq(in_memory.items, in_file.items, in_file.count);
    free(in_memory.items);
    free(in_file.items);
}
END_TEST

START_TEST(samples_without_times_are_written_or_refused)
{
    const struct profile_format *format = profile_format_at((size_t)_i);
    struct pprof_bytes bytes = { 0 };
    struct profile_error error = { .status = PROFILE_OK };
    enum profile_status status = write_profile(format, 0, 10, 0, &bytes, &error);

    ck_assert_int_eq(status, format->needs_times ? PROFILE_INVALID : PROFILE_OK);
    ck_assert(!format->needs_times || strstr(error.message, "no times"));
    free(bytes.items);
}
END_TEST

START_TEST(negative_values_are_written_or_refused)
{
    const struct profile_format *format = profile_format_at((size_t)_i);
    bool refuses = strcmp(format->name, "speedscope") == 0 || strcmp(format->name, "perfetto") == 0;
    struct pprof_bytes bytes = { 0 };
    struct profile_error error = { .status = PROFILE_OK };

    ck_assert_int_eq(write_profile(format, 0, 10, TIMED | NEGATIVE, &bytes, &error),
                     refuses ? PROFILE_INVALID : PROFILE_OK);
    ck_assert(!refuses || strstr(error.message, "negative"));
    free(bytes.items);
}
END_TEST

/* Entries that refer to what was not written, or come twice.  */
static enum profile_status put_bad(const struct profile_pprof_sink *sink, int what)
{
    const struct profile_pprof_type type = { 1, 2 };
    const struct profile_pprof_header header = { .types = &type, .type_count = 1 };
    const struct profile_pprof_line line = { .function = 3 };
    const struct profile_pprof_location strange_line = { .lines = &line, .line_count = 1 };
    const struct profile_pprof_location strange_mapping = { .mapping = 2 };
    const uint32_t strange = 4;
    const int64_t value = 1;
    const struct profile_pprof_sample strange_location = {
        .locations = &strange, .location_count = 1, .values = &value, .value_count = 1
    };
    const struct profile_pprof_sample strange_thread = { .values = &value,
                                                         .value_count = 1,
                                                         .thread = 3 };

    switch (what) {
    case 0:
        return sink->header(sink->context, &header);
    case 1:
        return sink->location(sink->context, &strange_line);
    case 2:
        return sink->location(sink->context, &strange_mapping);
    case 3:
        return sink->sample(sink->context, &strange_location);
    default: /* nothing that pprof has */
        return sink->thread ? sink->sample(sink->context, &strange_thread) : PROFILE_INVALID;
    }
}

START_TEST(bad_references_are_refused)
{
    for (int what = 0; what < 5; what++) {
        const struct profile_format *format = profile_format_at((size_t)_i);
        struct profile_writer *writer = NULL;
        struct profile_pprof_sink sink;
        struct pprof_bytes bytes = { 0 };

        ck_assert_int_eq(
            profile_writer_open(format, NULL, pprof_bytes_write, &bytes, &writer, NULL),
            PROFILE_OK);
        profile_writer_sink(writer, &sink);
        ck_assert_int_eq(put_tables(&sink), PROFILE_OK);
        ck_assert_msg(put_bad(&sink, what) == PROFILE_INVALID, "%s %d", format->name, what);
        if (sink.thread || what < 4)
            ck_assert_str_ne(profile_writer_error(writer)->message, "");
        profile_writer_close(writer);
        free(bytes.items);
    }
}
END_TEST

START_TEST(strings_are_written_once)
{
    struct profile_writer *writer = NULL;
    struct pprof_bytes bytes = { 0 };
    uint32_t first, second, again, empty;

    ck_assert_int_eq(profile_writer_open(profile_format_named("pprof"), NULL, pprof_bytes_write,
                                         &bytes, &writer, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "one", 3, &first), PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "two", 3, &second), PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "one", 3, &again), PROFILE_OK);
    ck_assert_int_eq(profile_writer_string(writer, "", 0, &empty), PROFILE_OK);
    ck_assert_uint_eq(first, 1);
    ck_assert_uint_eq(second, 2);
    ck_assert_uint_eq(again, 1);
    ck_assert_uint_eq(empty, 0);
    profile_writer_close(writer);
    free(bytes.items);
}
END_TEST

static int fail_write(void *context, const void *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return ENOSPC;
}

START_TEST(failed_write_is_reported)
{
    const struct profile_format *format = profile_format_at((size_t)_i);
    struct profile_writer *writer = NULL;
    struct profile_pprof_sink sink;
    struct profile_error error = { .status = PROFILE_OK };
    enum profile_status status;

    ck_assert_int_eq(profile_writer_open(format, NULL, fail_write, NULL, &writer, NULL),
                     PROFILE_OK);
    profile_writer_sink(writer, &sink);
    status = put_tables(&sink);
    if (status == PROFILE_OK)
        status = put_samples(&sink, 5000, TIMED);
    if (status == PROFILE_OK)
        status = profile_writer_finish(writer, &error);
    else
        error = *profile_writer_error(writer);
    ck_assert_int_eq(status, PROFILE_IO);
    ck_assert_int_eq(error.system_errno, ENOSPC);
    profile_writer_close(writer);
}
END_TEST

/* Every allocation fails once.  */
START_TEST(short_memory_is_a_status)
{
    const struct profile_format *format = profile_format_at((size_t)_i);
    enum profile_status status = PROFILE_NO_MEMORY;

    for (size_t nth = 1; status == PROFILE_NO_MEMORY; nth++) {
        struct pprof_bytes bytes = { 0 };
        struct profile_error error = { .status = PROFILE_OK };

        allocation_fail_at((unsigned long)nth);
        status = write_profile(format, 0, 6, TIMED, &bytes, &error);
        allocation_fail_at(0);
        if (bytes.failed)
            status = PROFILE_NO_MEMORY;
        free(bytes.items);
        ck_assert_uint_lt(nth, 2000);
    }
    ck_assert_int_eq(status, PROFILE_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile_formats");
    TCase *tcase = tcase_create("writers");
    SRunner *runner;
    int formats = 0, failed;

    while (profile_format_at((size_t)formats))
        formats++;
    tcase_set_timeout(tcase, 0);
    tcase_add_loop_test(tcase, format_has_its_name, 0, formats);
    tcase_add_test(tcase, unknown_names_are_no_formats);
    tcase_add_loop_test(tcase, temporary_file_changes_nothing, 0, formats);
    tcase_add_loop_test(tcase, samples_without_times_are_written_or_refused, 0, formats);
    tcase_add_loop_test(tcase, negative_values_are_written_or_refused, 0, formats);
    tcase_add_loop_test(tcase, bad_references_are_refused, 0, formats);
    tcase_add_test(tcase, strings_are_written_once);
    tcase_add_loop_test(tcase, failed_write_is_reported, 0, formats);
    tcase_add_loop_test(tcase, short_memory_is_a_status, 0, formats);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
