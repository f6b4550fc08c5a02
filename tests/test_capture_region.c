/* The regions of sampler-capture against docs/formats/zx-sampler.md section 3.  */
#include "sampler-capture/cpu/region.h"

#include <fxt/fxt.h>
#include <check.h>
#include <string.h>
#include <unistd.h>

static uint64_t word(const struct region *region, size_t i)
{
    uint64_t value;

    memcpy(&value, region->bytes + 8 * i, sizeof value);
    return value;
}

/* A sample of count frames 0x1000, 0x1001, ...  */
static struct region_sample sample_of(size_t count, uint64_t ticks)
{
    static uint64_t frames[REGION_MAX_FRAMES];

    for (size_t i = 0; i < count; i++)
        frames[i] = 0x1000 + i;
    return (struct region_sample){ .ticks = ticks,
                                   .pid = 77,
                                   .tid = 78,
                                   .frames = (const uint8_t *)frames,
                                   .frame_count = count };
}

START_TEST(writes_a_sample_as_a_large_blob)
{
    static const uint8_t expected[] = {
        0x8f, 0,    0,    0, 0, 0, 0, 0, /* type 15, 8 words */
        0,    0,    0,    0, 0, 0, 0, 0, /* empty strings, no arguments, inline thread */
        0x40, 0xe2, 0x01, 0, 0, 0, 0, 0, /* 123456 ticks */
        77,   0,    0,    0, 0, 0, 0, 0, /* process */
        78,   0,    0,    0, 0, 0, 0, 0, /* thread */
        16,   0,    0,    0, 0, 0, 0, 0, /* bytes of program counters */
        0x00, 0x10, 0,    0, 0, 0, 0, 0, 0x01, 0x10, 0, 0, 0, 0, 0, 0,
    };
    struct region_sample sample = sample_of(2, 123456);
    struct region region;

    ck_assert(region_init(&region, 4096));
    ck_assert(region_append(&region, &sample));
    ck_assert_uint_eq(region.used, sizeof expected);
    ck_assert_mem_eq(region.bytes, expected, sizeof expected);
    region_release(&region);
}
END_TEST

static const struct {
    size_t frames;
    uint64_t header;
} headers[] = { { 1, 0x7f }, { 2, 0x8f }, { 64, 0x46f } };

START_TEST(header_holds_type_and_size)
{
    struct region_sample sample = sample_of(headers[_i].frames, 1);
    struct region region;

    ck_assert(region_init(&region, 4096));
    ck_assert(region_append(&region, &sample));
    ck_assert_uint_eq(word(&region, 0), headers[_i].header);
    ck_assert_uint_eq(word(&region, 5), 8 * headers[_i].frames);
    ck_assert_uint_eq(word(&region, 6), 0x1000);
    ck_assert_uint_eq(region.used, 8 * (6 + headers[_i].frames));
    region_release(&region);
}
END_TEST

START_TEST(fills_to_the_last_word)
{
    struct region_sample one = sample_of(2, 1); /* 64 bytes */
    struct region region;

    ck_assert(region_init(&region, 4096));
    for (size_t i = 0; i < region.size / 64; i++)
        ck_assert(region_append(&region, &one));
    ck_assert_uint_eq(region.used, region.size);
    ck_assert(!region_append(&region, &one));
    region_release(&region);
}
END_TEST

START_TEST(forgets_its_older_half)
{
    struct region_sample one = sample_of(2, 1), out; /* 64 bytes */
    struct region region;
    size_t offset = 0, next, count = 0;

    ck_assert(region_init(&region, 4096));
    for (uint64_t i = 0; i < region.size / 64; i++) {
        one.ticks = i;
        ck_assert(region_append(&region, &one));
    }
    region_discard_half(&region);
    ck_assert_uint_eq(region.used, region.size / 2);
    while ((next = region_read(&region, offset, &out)) != 0) {
        ck_assert_uint_eq(out.ticks, region.size / 128 + count++);
        offset = next;
    }
    ck_assert_uint_eq(count, region.size / 128);
    region_release(&region);
    ck_assert(region_init(&region, 4096));
    region_discard_half(&region); /* of nothing */
    ck_assert_uint_eq(region.used, 0);
    region_release(&region);
}
END_TEST

START_TEST(refuses_what_does_not_fit)
{
    struct region_sample deep = sample_of(64, 1), shallow = sample_of(1, 2);
    struct region region;
    size_t used;

    ck_assert(region_init(&region, 4096));
    while (region_append(&region, &deep))
        continue;
    used = region.used;
    ck_assert_uint_eq(used, region.size / 560 * 560);
    ck_assert(region_append(&region, &shallow)); /* smaller: the rest of the region takes it */
    ck_assert(!region_append(&region, &deep));
    ck_assert_uint_eq(region.used, used + 56);
    region_release(&region);
}
END_TEST

START_TEST(four_mebibytes_hold_7489_deep_samples)
{
    struct region_sample deep = sample_of(64, 1);
    struct region region;
    size_t count = 0;

    ck_assert(region_init(&region, 4 << 20));
    while (region_append(&region, &deep))
        count++;
    ck_assert_uint_eq(count, 7489); /* zx-sampler.md section 3 */
    region_release(&region);
}
END_TEST

START_TEST(reads_back_what_was_appended)
{
    struct region_sample first = sample_of(3, 10), second = sample_of(1, 20), out;
    struct region region;
    size_t next;

    ck_assert(region_init(&region, 4096));
    ck_assert(region_append(&region, &first));
    ck_assert(region_append(&region, &second));
    next = region_read(&region, 0, &out);
    ck_assert_uint_eq(next, 72);
    ck_assert_uint_eq(out.ticks, 10);
    ck_assert_uint_eq(out.pid, 77);
    ck_assert_uint_eq(out.tid, 78);
    ck_assert_uint_eq(out.frame_count, 3);
    ck_assert_mem_eq(out.frames, first.frames, 24);
    next = region_read(&region, next, &out);
    ck_assert_uint_eq(out.ticks, 20);
    ck_assert_uint_eq(region_read(&region, next, &out), 0);
    ck_assert_uint_eq(out.ticks, 20);
    region_release(&region);
}
END_TEST

/* The record of a trace is that of the region, with koids, whatever the writer of traces makes.  */
static int keep_bytes(void *context, const void *bytes, size_t size)
{
    struct region *kept = context;

    ck_assert_uint_le(size, kept->size - kept->used);
    memcpy(kept->bytes + kept->used, bytes, size);
    kept->used += size;
    return 0;
}

START_TEST(has_the_record_of_a_trace)
{
    struct region_sample sample = sample_of(headers[_i].frames, 123456), out;
    struct fxt_record blob = { .kind = FXT_RECORD_LARGE_BLOB,
                               .ticks = 123456,
                               .thread = { .process = UINT64_MAX - 5, .thread = 1ULL << 40 | 78 } };
    struct region region, expected;
    struct fxt_writer *writer;
    uint64_t ticks;

    ck_assert(region_init(&region, 4096));
    ck_assert(region_init(&expected, 4096));
    ck_assert_int_eq(fxt_writer_open(keep_bytes, &expected, &writer, NULL), FXT_OK);
    blob.value.large_blob.payload.bytes = sample.frames;
    blob.value.large_blob.payload.length = 8 * sample.frame_count;
    ck_assert_int_eq(fxt_writer_record(writer, &blob, NULL), FXT_OK);

    ck_assert(region_append(&region, &sample));
    ck_assert_uint_eq(region_next(&region, 0, &ticks), expected.used);
    ck_assert_uint_eq(ticks, 123456);
    ck_assert_uint_eq(region_read(&region, 0, &out), expected.used);
    region_set_koids(&out, UINT64_MAX - 5, 1ULL << 40 | 78);
    ck_assert_uint_eq(out.record_size, expected.used);
    ck_assert_mem_eq(out.record, expected.bytes, expected.used);
    fxt_writer_close(writer);
    region_release(&expected);
    region_release(&region);
}
END_TEST

START_TEST(keeps_only_what_is_not_older_than_the_limit)
{
    static const uint64_t ticks[] = { 5, 30, 10, 20 }; /* not in order: an interrupt came between */
    struct region_sample sample;
    struct region region;
    size_t next;

    ck_assert(region_init(&region, 4096));
    for (size_t i = 0; i < 4; i++) {
        sample = sample_of(i + 1, ticks[i]);
        ck_assert(region_append(&region, &sample));
    }
    region_discard_before(&region, 20);
    next = region_read(&region, 0, &sample);
    ck_assert_uint_eq(sample.ticks, 30);
    ck_assert_uint_eq(sample.frame_count, 2);
    next = region_read(&region, next, &sample);
    ck_assert_uint_eq(sample.ticks, 20);
    ck_assert_uint_eq(sample.frame_count, 4);
    ck_assert_uint_eq(region_read(&region, next, &sample), 0);
    region_discard_before(&region, UINT64_MAX);
    ck_assert_uint_eq(region.used, 0);
    region_release(&region);
}
END_TEST

static const struct {
    size_t asked;
    size_t pages; /* 0: refused */
} sizes[] = { { 0, 0 }, { 1, 1 }, { 4096, 1 }, { 4097, 2 }, { (1U << 30) + 1, 0 } };

START_TEST(size_is_rounded_up_to_pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct region region;

    if (page != 4096)
        return;
    ck_assert_int_eq(region_init(&region, sizes[_i].asked), sizes[_i].pages != 0);
    ck_assert_uint_eq(region.size, sizes[_i].pages * page);
    region_release(&region);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_region");
    TCase *tcase = tcase_create("region");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, writes_a_sample_as_a_large_blob);
    tcase_add_loop_test(tcase, header_holds_type_and_size, 0, 3);
    tcase_add_test(tcase, fills_to_the_last_word);
    tcase_add_test(tcase, forgets_its_older_half);
    tcase_add_test(tcase, refuses_what_does_not_fit);
    tcase_add_test(tcase, four_mebibytes_hold_7489_deep_samples);
    tcase_add_test(tcase, reads_back_what_was_appended);
    tcase_add_loop_test(tcase, has_the_record_of_a_trace, 0, 3);
    tcase_add_test(tcase, keeps_only_what_is_not_older_than_the_limit);
    tcase_add_loop_test(tcase, size_is_rounded_up_to_pages, 0, 5);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
