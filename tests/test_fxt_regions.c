/* Regions of the kernel sampler as a trace (docs/formats/zx-sampler.md section 3).  */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/allocation.h"
#include "tests/support/describe.h"
#include "tests/support/pack.h"
#include "tests/support/parts.h"

#define PAGE ((size_t)4096)

static struct bytes first, second, third; /* regions */
static struct bytes wanted;               /* the archive */
static struct bytes got;

/* Three samples and room left; none; two samples.  */
static void make_regions(void)
{
    first.length = second.length = third.length = wanted.length = 0;
    put_magic(&wanted);
    put_provider(&wanted, 1, "cpu-0");
    for (unsigned i = 1; i < 4; i++) {
        put_sample(&first, i, 100 * (uint64_t)i);
        put_sample(&wanted, i, 100 * (uint64_t)i);
    }
    put_zeros(&first, PAGE - first.length);
    put_provider(&wanted, 8, "cpu-7");
    put_zeros(&second, PAGE);
    put_provider(&wanted, 10001, "cpu-10000");
    put_sample(&third, 64, 50);
    put_sample(&third, 1, 60);
    put_sample(&wanted, 64, 50);
    put_sample(&wanted, 1, 60);
    put_zeros(&third, 2 * PAGE - third.length);
}

struct set {
    struct source sources[3];
    struct fxt_region regions[3];
    struct fxt_input *input;
};

static void open_set(struct set *set, size_t step)
{
    const struct bytes *all[] = { &first, &second, &third };
    static const uint32_t cpus[] = { 0, 7, 10000 };

    for (int i = 0; i < 3; i++) {
        set->sources[i] = (struct source){ all[i]->data, all[i]->length, step };
        set->regions[i] = (struct fxt_region){
            .read = read_source, .context = &set->sources[i], .cpu = cpus[i], .name = "region"
        };
    }
    ck_assert_int_eq(fxt_input_open_regions(set->regions, 3, &set->input, NULL), FXT_OK);
}

static struct fxt_input *open_one(struct source *source, const struct bytes *bytes, size_t step)
{
    return open_bytes(source, bytes->data, bytes->length, step);
}

/* ---- What they amount to ---- */

static const struct {
    size_t step; /* what the callback gives at most */
    size_t size; /* what is asked for at most */
} pieces[] = { { 0, 65536 }, { 1, 65536 }, { 0, 1 }, { 3, 7 }, { 4095, 4096 } };

START_TEST(reads_regions_as_the_archive_they_amount_to)
{
    struct set set;

    open_set(&set, pieces[_i].step);
    ck_assert_uint_eq(fxt_input_part_count(set.input), 3);
    ck_assert_int_eq(read_trace(set.input, pieces[_i].size, &got), FXT_END);
    same_bytes(&got, &wanted, "regions");
    ck_assert_uint_eq(fxt_input_raw_bytes(set.input), 4 * PAGE);
    for (size_t i = 0; i < 3; i++) {
        const struct fxt_part *part = fxt_input_part(set.input, i);

        ck_assert_int_eq(part->format, FXT_FORMAT_REGION);
        ck_assert_str_eq(part->name, "region");
        ck_assert_uint_eq(part->damage_count, 0);
        ck_assert_uint_eq(part->lost_bytes, 0);
        ck_assert_int_eq(part->damage.status, FXT_OK);
    }
    fxt_input_close(set.input);
}
END_TEST

START_TEST(gives_each_record_its_cpu)
{
    struct reading result;
    struct set set;
    char text[16384], damage[256];

    open_set(&set, 0);
    ck_assert_int_eq(describe_input(set.input, NULL, text, sizeof text, &result), FXT_END);
    describe_damage(&result.damage, damage, sizeof damage);
    ck_assert_str_eq(damage, ""); /* unused room is no notice */
    ck_assert_uint_eq(result.records, 1 + 3 + 5);
    ck_assert_uint_eq(result.offset, wanted.length);
    ck_assert_ptr_nonnull(strstr(text, "provider_info p1 "));
    ck_assert_ptr_nonnull(strstr(text, "large_blob p1 t=300"));
    ck_assert_ptr_nonnull(strstr(text, "provider_info p8 "));
    ck_assert_ptr_nonnull(strstr(text, "large_blob p2711 t=50")); /* hexadecimal */
}
END_TEST

START_TEST(knows_a_region_by_its_first_record)
{
    enum fxt_format format;
    struct source source;
    struct fxt_input *input = open_one(&source, &third, pieces[_i].step);

    ck_assert_int_eq(fxt_input_format(input, &format, NULL), FXT_OK);
    ck_assert_int_eq(format, FXT_FORMAT_REGION);
    ck_assert_int_eq(read_trace(input, pieces[_i].size, &got), FXT_END);
    wanted.length = 0;
    put_magic(&wanted);
    put_provider(&wanted, 1, "cpu-0");
    put_sample(&wanted, 64, 50);
    put_sample(&wanted, 1, 60);
    same_bytes(&got, &wanted, "region");
    fxt_input_close(input);
}
END_TEST

/* Words 0, 1 and 5 of the first record are known; 2, 3 and 4, its time and koids, may be
 * anything.  */
START_TEST(takes_nothing_else_for_a_region)
{
    for (unsigned bit = 0; bit < 8 * 48; bit++) {
        bool known = bit / 64 < 2 || bit / 64 == 5;
        enum fxt_format format;
        struct source source;
        struct fxt_input *input;

        third.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        input = open_one(&source, &third, 0);
        ck_assert_int_eq(fxt_input_format(input, &format, NULL), FXT_OK);
        ck_assert_msg(format == (known ? FXT_FORMAT_STREAM : FXT_FORMAT_REGION), "bit %u", bit);
        ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
        if (known)
            same_bytes(&got, &third, "stream"); /* as it is */
        fxt_input_close(input);
        third.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t length = 0; length < 48; length++) {
        struct source source;
        struct fxt_input *input = open_bytes(&source, third.data, length, 0);

        ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
        ck_assert_uint_eq(got.length, length);
        fxt_input_close(input);
    }
}
END_TEST

START_TEST(reads_a_region_as_a_stream_when_told_to)
{
    struct source source = { first.data, first.length, 0 };
    struct fxt_input_options options = {
        .size = sizeof options, .read = read_source, .context = &source, .as_stream = true
    };
    char text[4096], damage[256];
    struct fxt_damage counted;
    struct fxt_input *input;

    ck_assert_int_eq(fxt_input_open(&options, &input, NULL), FXT_OK);
    ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
    same_bytes(&got, &first, "stream");
    fxt_input_close(input);
    /* A reader that trusts the start asks for the same.  */
    ck_assert_int_eq(describe_all(first.data, first.length, 0, text, sizeof text, &counted),
                     FXT_END);
    describe_damage(&counted, damage, sizeof damage);
    ck_assert_str_eq(damage, "zero_words=488@192+3904 no_magic=1@0+0");
}
END_TEST

/* As somebody joins them: the second has no number, but is not lost.  */
START_TEST(passes_over_zeros_between_joined_regions)
{
    struct source source;
    struct reading result;
    char text[4096], damage[256];

    put_bytes(&first, &third);
    ck_assert_int_eq(describe_input(open_one(&source, &first, 0), NULL, text, sizeof text, &result),
                     FXT_END);
    describe_damage(&result.damage, damage, sizeof damage);
    /* Magic and provider are 24 bytes, the samples before the zeros 192.  */
    ck_assert_uint_eq(result.records, 2 + 5);
    ck_assert_uint_eq(result.damage.kinds[FXT_DAMAGE_ZERO_WORDS].bytes, PAGE - 192);
    ck_assert_uint_eq(result.damage.kinds[FXT_DAMAGE_ZERO_WORDS].first_offset, 24 + 192);
    ck_assert_uint_eq(fxt_damage_total(&result.damage, true), (PAGE - 192) / 8);
}
END_TEST

/* The sampler stops at the first sample that does not fit and leaves no mark: less room than the
 * longest, in whole pages, is the only hint.  */
static const struct {
    const char *name;
    size_t used;   /* of the region, by samples of 64 bytes and one that fits the rest */
    size_t length; /* of the region */
    bool full;
} ends[] = {
    { "full to the last word", PAGE, PAGE, true },
    { "8 bytes left", PAGE - 8, PAGE, true },
    { "552 bytes left", PAGE - 552, PAGE, true },
    { "560 bytes left", PAGE - 560, PAGE, false },
    { "half empty", PAGE / 2, PAGE, false },
    { "no zeros, and not whole pages", PAGE - 8, PAGE - 8, false },
    { "two pages", 2 * PAGE - 64, 2 * PAGE, true },
};

START_TEST(tells_when_a_region_may_have_been_full)
{
    struct bytes region = { .length = 0 };
    struct source source;
    struct fxt_input *input;

    wanted.length = 0;
    put_magic(&wanted);
    put_provider(&wanted, 1, "cpu-0");
    while (ends[_i].used - region.length >= 256)
        put_sample(&region, 2, region.length);
    put_sample(&region, (unsigned)(ends[_i].used - region.length) / 8 - 6, 7);
    ck_assert_uint_eq(region.length, ends[_i].used);
    put_bytes(&wanted, &region);
    if (ends[_i].full)
        put_loss(&wanted, 1);
    put_zeros(&region, ends[_i].length - region.length);
    input = open_one(&source, &region, 0);
    ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
    same_bytes(&got, &wanted, ends[_i].name);
    ck_assert_uint_eq(fxt_input_part(input, 0)->damage_count, 0);
    fxt_input_close(input);
}
END_TEST

/* The next generation's records, and blobs with names, are large records too.  */
START_TEST(passes_other_large_records_on)
{
    struct bytes region = { .length = 0 };
    struct source source;
    struct reading result;
    char text[4096], damage[256];

    put_sample(&region, 1, 5);
    put_word(&region, 15 | 3 << 4 | UINT64_C(1) << 36); /* large type 1 */
    put_word(&region, 1);
    put_word(&region, 2);
    put_sample(&region, 1, 6);
    put_zeros(&region, 64);
    ck_assert_int_eq(
        describe_input(open_one(&source, &region, 0), NULL, text, sizeof text, &result), FXT_END);
    describe_damage(&result.damage, damage, sizeof damage);
    ck_assert_str_eq(damage, "unknown_record=1@80+0");
    ck_assert_uint_eq(result.records, 2 + 3);
}
END_TEST

/* ---- Damage ---- */

static const struct {
    const char *name;
    uint64_t word; /* where the second record's header was */
    const char *message;
} broken[] = {
    { "size 0", 15, "a record of size 0" },
    { "type 4", 4 | 4 << 4, "a record of type 4, not a sample" },
    { "type 0", 1 << 16 | 1 << 4, "a record of type 0, not a sample" },
    { "one word too many", 15 | (PAGE / 8 - 7) << 4,
      "a record of 4040 bytes with 4032 left in the "
      "region" },
    { "2^32 - 1 words", 15 | UINT64_C(0xffffffff) << 4,
      "a record of 34359738360 bytes, longer than any sample" },
};

START_TEST(goes_on_with_the_next_region)
{
    const size_t at = 64; /* behind the first sample, of 56 bytes, and a zero word */
    struct bytes broken_word = { .length = 0 };
    struct reading result;
    struct set set;
    char text[8192];
    const struct fxt_part *part;

    first.length = 0;
    put_sample(&first, 1, 100);
    put_zeros(&first, 8);
    put_word(&broken_word, broken[_i].word);
    put_bytes(&first, &broken_word);
    while (first.length < PAGE)
        put_word(&first, UINT64_C(0x0101010101010101));
    wanted.length = 0;
    put_magic(&wanted);
    put_provider(&wanted, 1, "cpu-0");
    put_sample(&wanted, 1, 100);
    put_provider(&wanted, 8, "cpu-7");
    put_provider(&wanted, 10001, "cpu-10000");
    put_sample(&wanted, 64, 50);
    put_sample(&wanted, 1, 60);

    for (size_t step = 0; step < 3; step++) {
        open_set(&set, step);
        ck_assert_int_eq(read_trace(set.input, 4096, &got), FXT_END);
        same_bytes(&got, &wanted, broken[_i].name);
        part = fxt_input_part(set.input, 0);
        ck_assert_uint_eq(part->damage_count, 1);
        ck_assert_str_eq(part->damage.message, broken[_i].message);
        ck_assert_int_eq(part->damage.status, FXT_FATAL);
        ck_assert_int_eq(part->damage.system_errno, 0);
        ck_assert_uint_eq(part->damage.offset, at);
        ck_assert_uint_eq(part->lost_bytes, PAGE - at);
        ck_assert_uint_eq(fxt_input_part(set.input, 1)->damage_count, 0);
        ck_assert_uint_eq(fxt_input_part(set.input, 2)->damage_count, 0);
        fxt_input_close(set.input);
    }
    open_set(&set, 0);
    ck_assert_int_eq(describe_input(set.input, NULL, text, sizeof text, &result), FXT_END);
    describe_damage(&result.damage, text, sizeof text);
    ck_assert_str_eq(text, "corrupt_region=1@80+0"); /* 24 bytes of header, 56 of the sample */
}
END_TEST

/* Also one that was never a region, and one that is empty.  */
START_TEST(tells_which_regions_are_damaged)
{
    struct set set;

    second.length = 0;
    put_magic(&second); /* an archive among the regions */
    put_init(&second, 1000);
    third.length = 0;
    open_set(&set, 0);
    ck_assert_int_eq(read_trace(set.input, 4096, &got), FXT_END);
    ck_assert_uint_eq(fxt_input_part(set.input, 0)->damage_count, 0);
    ck_assert_uint_eq(fxt_input_part(set.input, 1)->damage_count, 1);
    ck_assert_str_eq(fxt_input_part(set.input, 1)->damage.message,
                     "a record of type 0, not a sample");
    ck_assert_uint_eq(fxt_input_part(set.input, 1)->lost_bytes, second.length);
    ck_assert_uint_eq(fxt_input_part(set.input, 2)->damage_count, 0);
    fxt_input_close(set.input);
}
END_TEST

START_TEST(gives_the_whole_records_of_a_region_cut_anywhere)
{
    const size_t records[] = { 56, 56 + 64, 56 + 64 + 72 };

    for (size_t length = 48; length <= 300; length++) {
        struct source source;
        struct fxt_input *input = open_bytes(&source, first.data, length, length % 5);
        size_t whole = 0;
        bool boundary = length % 8 == 0 && length >= records[2];
        const struct fxt_part *part = fxt_input_part(input, 0);

        for (size_t i = 0; i < 3; i++) {
            whole = length >= records[i] ? records[i] : whole;
            boundary = boundary || length == records[i];
        }
        ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
        ck_assert_uint_eq(got.length, 24 + whole);
        ck_assert_mem_eq(got.data + 24, first.data, whole);
        ck_assert_msg(part->damage_count == !boundary, "cut at %zu", length);
        if (!boundary) {
            size_t at = length < records[2] ? whole : length / 8 * 8;

            ck_assert_uint_eq(part->damage.offset, at);
            ck_assert_uint_eq(part->lost_bytes, length - at);
        }
        fxt_input_close(input);
    }
}
END_TEST

/* A read fails in the second region; the first and the third are read.  */
static ptrdiff_t fail_to_read(void *context, void *buffer, size_t size)
{
    struct source *source = context;

    if (source->left > 0)
        return read_source(source, buffer, size);
    errno = EIO;
    return -1;
}

START_TEST(goes_on_after_a_failed_read)
{
    struct set set;
    const struct fxt_part *part;

    second = first;
    open_set(&set, 0);
    set.regions[1].read = fail_to_read;
    set.sources[1].left = 100; /* inside the second sample */
    ck_assert_int_eq(read_trace(set.input, 4096, &got), FXT_END);
    wanted.length = 0;
    put_magic(&wanted);
    put_provider(&wanted, 1, "cpu-0");
    for (unsigned i = 1; i < 4; i++)
        put_sample(&wanted, i, 100 * (uint64_t)i);
    put_provider(&wanted, 8, "cpu-7");
    put_sample(&wanted, 1, 100);
    put_provider(&wanted, 10001, "cpu-10000");
    put_sample(&wanted, 64, 50);
    put_sample(&wanted, 1, 60);
    same_bytes(&got, &wanted, "a failed read");
    part = fxt_input_part(set.input, 1);
    ck_assert_uint_eq(part->damage_count, 1);
    ck_assert_int_eq(part->damage.system_errno, EIO);
    ck_assert_str_eq(part->damage.message, strerror(EIO));
    ck_assert_uint_eq(part->damage.offset, 100);
    ck_assert_uint_eq(part->lost_bytes, 44);
    fxt_input_close(set.input);
}
END_TEST

/* ---- Compressed ---- */

START_TEST(unpacks_each_region)
{
    static uint8_t packed[2][10000];
    struct set set;
    size_t raw = second.length;

    open_set(&set, 0);
    set.sources[0] = (struct source){
        packed[0], pack_gzip(first.data, first.length, packed[0], sizeof packed[0]), 0
    };
    set.sources[2] = (struct source){
        packed[1], pack_zstd(third.data, third.length, true, packed[1], sizeof packed[1]), 0
    };
    raw += set.sources[0].left + set.sources[2].left;
    ck_assert_int_eq(read_trace(set.input, 4096, &got), FXT_END);
    same_bytes(&got, &wanted, "packed regions");
    ck_assert_int_eq(fxt_input_part(set.input, 0)->compression, FXT_GZIP);
    ck_assert_int_eq(fxt_input_part(set.input, 1)->compression, FXT_PLAIN);
    ck_assert_int_eq(fxt_input_part(set.input, 2)->compression, FXT_ZSTD);
    ck_assert_int_eq(fxt_input_compression(set.input), FXT_ZSTD);
    ck_assert_uint_eq(fxt_input_raw_bytes(set.input), raw);
    fxt_input_close(set.input);
}
END_TEST

static const struct {
    const char *message;
    size_t cut;  /* bytes of the packed region that are missing */
    size_t flip; /* or which byte from its end is wrong */
} spoilt[] = {
    { "the compressed data are cut off", 1, 0 },
    { "the compressed data are cut off", 9, 0 },
    { "corrupt gzip data", 0, 8 },
};

START_TEST(tells_of_spoilt_compression_and_goes_on)
{
    static uint8_t packed[10000];
    size_t length = pack_gzip(first.data, first.length, packed, sizeof packed);
    const struct fxt_part *part;
    struct set set;

    if (spoilt[_i].flip)
        packed[length - spoilt[_i].flip] ^= 1;
    open_set(&set, 0);
    set.sources[0] = (struct source){ packed, length - spoilt[_i].cut, 0 };
    ck_assert_int_eq(read_trace(set.input, 4096, &got), FXT_END);
    same_bytes(&got, &wanted, spoilt[_i].message); /* the samples came before */
    part = fxt_input_part(set.input, 0);
    ck_assert_uint_eq(part->damage_count, 1);
    ck_assert_str_eq(part->damage.message, spoilt[_i].message);
    ck_assert_uint_ge(part->damage.offset, 192);
    ck_assert(!fxt_input_is_cut(set.input));
    fxt_input_close(set.input);
}
END_TEST

/* ---- Places ---- */

START_TEST(leads_back_to_the_file)
{
    struct set set;
    uint64_t at;
    size_t part;
    size_t offset = 24;

    open_set(&set, 0);
    ck_assert(!fxt_input_locate(set.input, 0, &part, &at)); /* nothing was read yet */
    ck_assert_int_eq(read_trace(set.input, 4096, &got), FXT_END);
    for (size_t i = 0; i < 24; i++)
        ck_assert(!fxt_input_locate(set.input, i, &part, &at));
    for (; offset < 24 + 192; offset++) {
        ck_assert(fxt_input_locate(set.input, offset, &part, &at));
        ck_assert_uint_eq(part, 0);
        ck_assert_uint_eq(at, offset - 24);
    }
    for (; offset < 24 + 192 + 16 + 24; offset++) /* cpu-7, without samples, and cpu-10000 */
        ck_assert(!fxt_input_locate(set.input, offset, &part, &at));
    for (; offset < wanted.length; offset++) {
        ck_assert(fxt_input_locate(set.input, offset, &part, &at));
        ck_assert_uint_eq(part, 2);
        ck_assert_uint_eq(at, offset - (24 + 192 + 16 + 24));
    }
    fxt_input_close(set.input);
}
END_TEST

/* Of a stream every offset is its own.  */
START_TEST(leads_back_to_a_stream)
{
    struct source source;
    struct fxt_input *input = open_one(&source, &wanted, 0);
    uint64_t at;
    size_t part;

    ck_assert_int_eq(read_trace(input, 4096, &got), FXT_END);
    same_bytes(&got, &wanted, "an archive");
    ck_assert(fxt_input_locate(input, 123, &part, &at));
    ck_assert_uint_eq(part, 0);
    ck_assert_uint_eq(at, 123);
    ck_assert_uint_eq(fxt_input_part_count(input), 1);
    ck_assert_int_eq(fxt_input_part(input, 0)->format, FXT_FORMAT_STREAM);
    fxt_input_close(input);
}
END_TEST

/* ---- Limits ---- */

START_TEST(refuses_what_is_no_group_of_regions)
{
    static struct fxt_region many[65537];
    struct fxt_region region = { .fd = 0, .cpu = 0xfffeffff };
    struct fxt_input *input = NULL;
    struct fxt_error error;

    ck_assert_int_eq(fxt_input_open_regions(&region, 0, &input, &error), FXT_INVALID);
    ck_assert_str_eq(error.message, "0 regions; 1 to 65,536 can be read");
    ck_assert_int_eq(fxt_input_open_regions(many, 65537, &input, &error), FXT_INVALID);
    ck_assert_int_eq(fxt_input_open_regions(&region, 1, &input, &error), FXT_INVALID);
    ck_assert_str_eq(error.message, "no CPU has the number 4294901759");
    ck_assert_ptr_null(input);
    region.cpu--;
    ck_assert_int_eq(fxt_input_open_regions(&region, 1, &input, &error), FXT_OK);
    fxt_input_close(input);
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    struct set set;
    enum fxt_status status = FXT_NO_MEMORY;

    open_set(&set, 0); /* fills in what is opened below */
    fxt_input_close(set.input);
    for (unsigned long n = 1; status != FXT_END; n++) {
        static uint8_t block[4096];
        const size_t lengths[] = { first.length, second.length, third.length };
        struct fxt_error error = { .status = FXT_OK };
        size_t length;

        for (int i = 0; i < 3; i++)
            set.sources[i] = (struct source){ set.sources[i].bytes, lengths[i], 0 };
        set.sources[0].bytes = first.data;
        set.sources[1].bytes = second.data;
        set.sources[2].bytes = third.data;
        allocation_fail_at(n);
        status = fxt_input_open_regions(set.regions, 3, &set.input, &error);
        if (status == FXT_OK) {
            while ((status = fxt_input_read(set.input, block, sizeof block, &length, &error)) ==
                   FXT_OK)
                continue;
            fxt_input_close(set.input);
        }
        allocation_fail_at(0);
        ck_assert_msg(status == FXT_END || status == FXT_NO_MEMORY, "allocation %lu", n);
        ck_assert_int_eq(error.status, status == FXT_END ? FXT_OK : FXT_NO_MEMORY);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("fxt_regions");
    TCase *tcase = tcase_create("regions");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, make_regions, NULL);
    tcase_add_loop_test(tcase, reads_regions_as_the_archive_they_amount_to, 0, ROWS(pieces));
    tcase_add_test(tcase, gives_each_record_its_cpu);
    tcase_add_loop_test(tcase, knows_a_region_by_its_first_record, 0, ROWS(pieces));
    tcase_add_test(tcase, takes_nothing_else_for_a_region);
    tcase_add_test(tcase, reads_a_region_as_a_stream_when_told_to);
    tcase_add_test(tcase, passes_over_zeros_between_joined_regions);
    tcase_add_loop_test(tcase, tells_when_a_region_may_have_been_full, 0, ROWS(ends));
    tcase_add_test(tcase, passes_other_large_records_on);
    tcase_add_loop_test(tcase, goes_on_with_the_next_region, 0, ROWS(broken));
    tcase_add_test(tcase, tells_which_regions_are_damaged);
    tcase_add_test(tcase, gives_the_whole_records_of_a_region_cut_anywhere);
    tcase_add_test(tcase, goes_on_after_a_failed_read);
    tcase_add_test(tcase, unpacks_each_region);
    tcase_add_loop_test(tcase, tells_of_spoilt_compression_and_goes_on, 0, ROWS(spoilt));
    tcase_add_test(tcase, leads_back_to_the_file);
    tcase_add_test(tcase, leads_back_to_a_stream);
    tcase_add_test(tcase, refuses_what_is_no_group_of_regions);
    tcase_add_test(tcase, survives_every_failed_allocation);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
