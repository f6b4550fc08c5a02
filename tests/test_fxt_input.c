/* Bytes on their way in: descriptors, callbacks, gzip.  */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/describe.h"
#include "tests/support/pack.h"
#include "tests/support/whole_input.h"

/* More than a buffer of the input, and nothing that packs to nothing.  */
static uint8_t plain[100000];
static uint8_t packed[150000];
static size_t packed_length;

static void make_bytes(void)
{
    uint32_t state = 1;

    for (size_t i = 0; i < sizeof plain; i++) {
        state = state * 1103515245 + 12345;
        plain[i] = (uint8_t)(state >> 24);
    }
    packed_length = pack_gzip(plain, sizeof plain, packed, sizeof packed);
}

/* ---- Plain ---- */

START_TEST(passes_plain_bytes_on)
{
    struct source source;
    struct fxt_input *input = open_bytes(&source, plain, sizeof plain, unpack_pieces[_i].step);
    size_t total;

    ck_assert_int_eq(fxt_input_compression(input), FXT_PLAIN);
    ck_assert_uint_eq(fxt_input_raw_bytes(input), 0);
    ck_assert_int_eq(read_to_end(input, unpack_pieces[_i].size, &total), FXT_END);
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_mem_eq(unpacked, plain, sizeof plain);
    ck_assert_int_eq(fxt_input_compression(input), FXT_PLAIN);
    ck_assert(!fxt_input_is_cut(input));
    ck_assert_uint_eq(fxt_input_raw_bytes(input), sizeof plain);
    fxt_input_close(input);
}
END_TEST

START_TEST(passes_on_what_is_shorter_than_any_signature)
{
    bool cut;
    size_t total;

    ck_assert_int_eq(read_bytes("\x1f\x8c\x08", (size_t)_i, 1, &total, &cut), FXT_END);
    ck_assert_uint_eq(total, (size_t)_i);
    ck_assert_mem_eq(unpacked, "\x1f\x8c\x08", (size_t)_i);
    ck_assert(!cut);
}
END_TEST

/* ---- gzip ---- */

START_TEST(unpacks_a_member)
{
    struct source source;
    struct fxt_input *input = open_bytes(&source, packed, packed_length, unpack_pieces[_i].step);
    size_t total;

    ck_assert_int_eq(read_to_end(input, unpack_pieces[_i].size, &total), FXT_END);
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_mem_eq(unpacked, plain, sizeof plain);
    ck_assert_int_eq(fxt_input_compression(input), FXT_GZIP);
    ck_assert(!fxt_input_is_cut(input));
    ck_assert_uint_eq(fxt_input_raw_bytes(input), packed_length);
    fxt_input_close(input);
}
END_TEST

/* Parts by letter: a and b are packed, e is nothing packed, 0 are zero bytes, ! and ~ are no gzip
 * data, though ~ begins like such.  */
static const struct {
    const char *parts;
    enum fxt_status status;
    const char *unpacked;
    const char *message;
} joined[] = {
    { "a", FXT_END, "a", "" },
    { "ab", FXT_END, "ab", "" },
    { "abab", FXT_END, "abab", "" },
    { "e", FXT_END, "", "" },
    { "aeb", FXT_END, "ab", "" },
    { "a0", FXT_END, "a", "" },
    { "a000", FXT_END, "a", "" },
    { "a0b0", FXT_END, "ab", "" },
    { "a!", FXT_FATAL, "a", "bytes after the end of the gzip data are not gzip" },
    { "ab0!", FXT_FATAL, "ab", "bytes after the end of the gzip data are not gzip" },
    { "a~", FXT_FATAL, "a", "corrupt gzip data" },
};

static size_t join(const char *parts, uint8_t *bytes, size_t size)
{
    /* The first byte begins gzip data, the others nothing.  */
    static const uint8_t garbage[] = { 0x1f, 'g', 'a', 'r', 'b', 'a', 'g', 'e' };
    size_t used = 0;

    for (; *parts; parts++) {
        switch (*parts) {
        case '0':
            memset(bytes + used, 0, 5);
            used += 5;
            break;
        case '!':
            memcpy(bytes + used, garbage + 1, 7);
            used += 7;
            break;
        case '~':
            memcpy(bytes + used, garbage, 8);
            used += 8;
            break;
        default:
            used += pack_gzip(parts, *parts == 'e' ? 0 : 1, bytes + used, size - used);
            break;
        }
    }
    return used;
}

START_TEST(reads_member_after_member)
{
    uint8_t bytes[512];
    size_t length = join(joined[_i].parts, bytes, sizeof bytes);

    check_unpacks_to(bytes, length, joined[_i].status, joined[_i].unpacked, joined[_i].message);
}
END_TEST

START_TEST(gives_what_a_cut_member_holds)
{
    const size_t ends = packed_length - 40;
    size_t length = 2; /* 1 byte could be anything */
    size_t total;
    size_t last = 0;
    bool cut;

    while (length < packed_length) {
        ck_assert_int_eq(read_bytes(packed, length, 0, &total, &cut), FXT_END);
        ck_assert(cut);
        ck_assert_uint_ge(total, last);
        ck_assert_mem_eq(unpacked, plain, total);
        last = total;
        /* Every byte of the header and of the end, steps between.  */
        if (length < 40 || length >= ends)
            length++;
        else
            length = length + 1999 < ends ? length + 1999 : ends;
    }
    ck_assert_uint_eq(last, sizeof plain);
}
END_TEST

/* A byte of the checksum or of the length behind the data: what was unpacked is still given.  */
START_TEST(notices_a_wrong_checksum)
{
    size_t total;
    bool cut;

    packed[packed_length - 1 - (size_t)_i] ^= 1;
    ck_assert_int_eq(read_bytes(packed, packed_length, 0, &total, &cut), FXT_FATAL);
    ck_assert_str_eq(unpack_error.message, "corrupt gzip data");
    ck_assert_int_eq(unpack_error.system_errno, 0);
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_uint_eq(unpack_error.offset, total);
    ck_assert_mem_eq(unpacked, plain, total);
    ck_assert(!cut);
}
END_TEST

START_TEST(gives_what_comes_before_corrupt_data)
{
    size_t total;
    bool cut;

    memset(packed + packed_length / 2, 0xff, 100);
    ck_assert_int_eq(read_bytes(packed, packed_length, 0, &total, &cut), FXT_FATAL);
    ck_assert_str_eq(unpack_error.message, "corrupt gzip data");
    ck_assert_uint_gt(total, sizeof plain / 4);
    ck_assert_mem_eq(unpacked, plain, sizeof plain / 4);
}
END_TEST

/* The reader counts it and has delivered what it could.  */
START_TEST(counts_corruption_as_damage_of_the_trace)
{
    static const uint8_t magic[] = { 0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00 };
    uint8_t bytes[64];
    size_t length = pack_gzip(magic, sizeof magic, bytes, sizeof bytes);

    bytes[length - 8] ^= 1; /* the checksum */
    check_corrupt_trace(bytes, length, FXT_GZIP, "corrupt gzip data");
}
END_TEST

/* ---- Failing and interrupted reads ---- */

struct failing {
    struct source source;
    size_t calls;
    size_t interrupts; /* EINTR before each read that succeeds */
    int reason;        /* errno at the end; 0: the end is the end */
};

static ptrdiff_t read_failing(void *context, void *buffer, size_t size)
{
    struct failing *failing = context;

    if (failing->calls++ % (failing->interrupts + 1) < failing->interrupts) {
        errno = EINTR;
        return -1;
    }
    if (failing->source.left == 0 && failing->reason) {
        errno = failing->reason;
        return -1;
    }
    return read_source(&failing->source, buffer, size);
}

START_TEST(reads_on_after_an_interrupt)
{
    struct failing failing = {
        .source = { _i ? packed : plain, _i ? packed_length : sizeof plain, 100 }, .interrupts = 3
    };
    struct fxt_input *input;
    size_t total;

    ck_assert_int_eq(fxt_input_open_callback(read_failing, &failing, &input, &unpack_error),
                     FXT_OK);
    ck_assert_int_eq(read_to_end(input, sizeof unpacked, &total), FXT_END);
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_mem_eq(unpacked, plain, total);
    fxt_input_close(input);
}
END_TEST

START_TEST(passes_a_failed_read_on)
{
    struct failing failing = { .source = { _i ? packed : plain, 5000, 0 }, .reason = EIO };
    struct fxt_input *input;
    size_t total;

    ck_assert_int_eq(fxt_input_open_callback(read_failing, &failing, &input, &unpack_error),
                     FXT_OK);
    ck_assert_int_eq(read_to_end(input, sizeof unpacked, &total), FXT_FATAL);
    ck_assert_int_eq(unpack_error.status, FXT_FATAL);
    ck_assert_int_eq(unpack_error.system_errno, EIO);
    ck_assert_str_eq(unpack_error.message, strerror(EIO));
    ck_assert_uint_eq(unpack_error.offset, total);
    ck_assert_mem_eq(unpacked, plain, total);
    ck_assert(_i || total == 5000);
    ck_assert(!fxt_input_is_cut(input)); /* it may go on behind the failure */
    fxt_input_close(input);
}
END_TEST

/* The reader gives whole records first, then the failure, and does not call it something else.  */
START_TEST(fails_as_the_input_did)
{
    static const uint8_t bytes[] = { 0x10, 0, 0x04, 0x46, 0x78, 0x54, 0x16, 0, 0x44, 0, 2,
                                     0,    0, 0,    0,    0,    0x64, 0,    0, 0,    0, 0 };
    static const struct {
        size_t from, length;
        const char *text, *damage;
    } rows[] = {
        { 0, 8, "@0+8 magic p0 number=16547846\n", "" },
        { 0, 12, "@0+8 magic p0 number=16547846\n", "stray_bytes=1@8+4" },
        { 0, 20, "@0+8 magic p0 number=16547846\n", "truncated_tail=1@8+12" },
        { 8, 14, "", "truncated_tail=1@0+14 no_magic=1@0+0" }, /* not "no FXT trace" */
        { 0, 0, "", "" },
    };
    struct failing failing = { .source = { bytes + rows[_i].from, rows[_i].length, 3 },
                               .reason = EISDIR };
    struct reading result;
    struct fxt_input *input;
    char text[256], damage[256];

    ck_assert_int_eq(fxt_input_open_callback(read_failing, &failing, &input, &unpack_error),
                     FXT_OK);
    ck_assert_int_eq(describe_input(input, NULL, text, sizeof text, &result), FXT_FATAL);
    describe_damage(&result.damage, damage, sizeof damage);
    ck_assert_str_eq(text, rows[_i].text);
    ck_assert_str_eq(damage, rows[_i].damage);
    ck_assert_int_eq(result.error.system_errno, EISDIR);
    ck_assert_str_eq(result.error.message, strerror(EISDIR));
}
END_TEST

/* ---- Growing inputs ---- */

/* Gives its bytes step by step, a read of 0 bytes or EINTR before each, and then what end says.  */
struct growing {
    struct source source;
    enum fxt_wait end;
    bool interrupts;
    size_t reads, waits;
    uint64_t asked_with; /* raw bytes, of the last wait */
};

static ptrdiff_t read_growing(void *context, void *buffer, size_t size)
{
    struct growing *growing = context;

    if (growing->reads++ % 2 == 0) {
        errno = EINTR;
        return growing->interrupts ? -1 : 0;
    }
    return read_source(&growing->source, buffer, size);
}

static enum fxt_wait wait_growing(void *context, uint64_t raw_bytes)
{
    struct growing *growing = context;

    growing->waits++;
    growing->asked_with = raw_bytes;
    return growing->source.left ? FXT_WAIT_MORE : growing->end;
}

static struct fxt_input *open_growing(struct growing *growing)
{
    struct fxt_input_options options = { .size = sizeof options,
                                         .read = read_growing,
                                         .context = growing,
                                         .wait = wait_growing,
                                         .wait_context = growing };
    struct fxt_input *input;

    ck_assert_int_eq(fxt_input_open(&options, &input, &unpack_error), FXT_OK);
    return input;
}

START_TEST(waits_for_an_input_that_grows)
{
    struct growing growing = {
        .source = { _i & 1 ? packed : plain, _i & 1 ? packed_length : sizeof plain, 5000 },
        .interrupts = _i & 2,
        .end = FXT_WAIT_END,
    };
    struct fxt_input *input = open_growing(&growing);
    size_t total;

    ck_assert_int_eq(read_to_end(input, sizeof unpacked, &total), FXT_END);
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_mem_eq(unpacked, plain, total);
    ck_assert_uint_eq(growing.waits, growing.reads + 1);
    ck_assert_uint_eq(growing.asked_with, _i & 1 ? packed_length : sizeof plain);
    ck_assert(!fxt_input_was_left(input));
    fxt_input_close(input);
}
END_TEST

/* A gzip member is cut when its file is over, and unfinished when nobody waits for the rest.  */
START_TEST(tells_an_end_from_leaving)
{
    struct growing growing = { .source = { packed, packed_length / 2, 0 },
                               .end = _i ? FXT_WAIT_LEAVE : FXT_WAIT_END };
    struct fxt_input *input = open_growing(&growing);
    size_t total;

    ck_assert_int_eq(read_to_end(input, sizeof unpacked, &total), FXT_END);
    ck_assert_uint_gt(total, 0);
    ck_assert_int_eq(fxt_input_is_cut(input), !_i);
    ck_assert_int_eq(fxt_input_was_left(input), _i);
    fxt_input_close(input);
}
END_TEST

/* Half a record that is still being written is no damage.  */
START_TEST(leaves_half_a_record)
{
    static const uint8_t bytes[] = { 0x10, 0, 0x04, 0x46, 0x78, 0x54, 0x16, 0, 0x44, 0, 2,
                                     0,    0, 0,    0,    0,    0x64, 0,    0, 0,    0, 0 };
    struct growing growing = { .source = { bytes, sizeof bytes, 3 },
                               .end = _i ? FXT_WAIT_LEAVE : FXT_WAIT_END };
    struct reading result;
    char text[256], damage[256];

    ck_assert_int_eq(describe_input(open_growing(&growing), NULL, text, sizeof text, &result),
                     FXT_END);
    describe_damage(&result.damage, damage, sizeof damage);
    ck_assert_str_eq(text, "@0+8 magic p0 number=16547846\n");
    ck_assert_str_eq(damage, _i ? "" : "truncated_tail=1@8+14");
    ck_assert_uint_eq(result.offset, _i ? 8 : sizeof bytes);
}
END_TEST

START_TEST(refuses_options_of_another_version)
{
    struct fxt_input_options options = { .size = sizeof options - 1 };
    struct fxt_input *input = NULL;

    ck_assert_int_eq(fxt_input_open(&options, &input, &unpack_error), FXT_INVALID);
    ck_assert_ptr_null(input);
    ck_assert_str_eq(unpack_error.message, "input options of another version");
}
END_TEST

/* ---- Descriptors ---- */

START_TEST(reads_a_pipe_that_gives_little_at_a_time)
{
    const uint8_t *bytes = _i ? packed : plain;
    size_t length = _i ? packed_length : sizeof plain;
    struct fxt_input *input;
    size_t total;
    int ends[2], status;
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        for (size_t i = 0; i < length; i += 1000) {
            size_t part = length - i < 1000 ? length - i : 1000;

            if (write(ends[1], bytes + i, part) != (ssize_t)part)
                _exit(1);
        }
        _exit(0);
    }
    (void)close(ends[1]);
    ck_assert_int_eq(fxt_input_open_fd(ends[0], &input, &unpack_error), FXT_OK);
    ck_assert_int_eq(read_to_end(input, 10000, &total), FXT_END);
    fxt_input_close(input);
    ck_assert_int_eq(close(ends[0]), 0); /* still the caller's */
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(total, sizeof plain);
    ck_assert_mem_eq(unpacked, plain, total);
}
END_TEST

START_TEST(reads_a_file_from_where_it_stands)
{
    FILE *file = tmpfile();
    struct fxt_input *input;
    size_t total;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(write(fileno(file), plain, 1000), 1000);
    ck_assert_int_eq(lseek(fileno(file), 600, SEEK_SET), 600);
    ck_assert_int_eq(fxt_input_open_fd(fileno(file), &input, &unpack_error), FXT_OK);
    ck_assert_int_eq(read_to_end(input, sizeof unpacked, &total), FXT_END);
    fxt_input_close(input);
    (void)fclose(file);
    ck_assert_uint_eq(total, 400);
    ck_assert_mem_eq(unpacked, plain + 600, 400);
}
END_TEST

START_TEST(says_why_a_descriptor_cannot_be_read)
{
    int fd = _i ? open("/", O_RDONLY | O_CLOEXEC) : -1;
    struct fxt_input *input;
    size_t total;

    ck_assert_int_eq(fxt_input_open_fd(fd, &input, &unpack_error), FXT_OK);
    ck_assert_int_eq(read_to_end(input, sizeof unpacked, &total), FXT_FATAL);
    ck_assert_int_eq(unpack_error.system_errno, _i ? EISDIR : EBADF);
    ck_assert_uint_eq(total, 0);
    fxt_input_close(input);
    if (fd >= 0)
        (void)close(fd);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("fxt_input");
    TCase *tcase = tcase_create("input");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, make_bytes, NULL);
    tcase_add_loop_test(tcase, passes_plain_bytes_on, 0, UNPACK_PIECES);
    tcase_add_loop_test(tcase, passes_on_what_is_shorter_than_any_signature, 0, 4);
    tcase_add_loop_test(tcase, unpacks_a_member, 0, UNPACK_PIECES);
    tcase_add_loop_test(tcase, reads_member_after_member, 0, ROWS(joined));
    tcase_add_test(tcase, gives_what_a_cut_member_holds);
    tcase_add_loop_test(tcase, notices_a_wrong_checksum, 0, 8);
    tcase_add_test(tcase, gives_what_comes_before_corrupt_data);
    tcase_add_test(tcase, counts_corruption_as_damage_of_the_trace);
    tcase_add_loop_test(tcase, reads_on_after_an_interrupt, 0, 2);
    tcase_add_loop_test(tcase, passes_a_failed_read_on, 0, 2);
    tcase_add_loop_test(tcase, fails_as_the_input_did, 0, 5);
    tcase_add_loop_test(tcase, waits_for_an_input_that_grows, 0, 4);
    tcase_add_loop_test(tcase, tells_an_end_from_leaving, 0, 2);
    tcase_add_loop_test(tcase, leaves_half_a_record, 0, 2);
    tcase_add_test(tcase, refuses_options_of_another_version);
    tcase_add_loop_test(tcase, reads_a_pipe_that_gives_little_at_a_time, 0, 2);
    tcase_add_test(tcase, reads_a_file_from_where_it_stands);
    tcase_add_loop_test(tcase, says_why_a_descriptor_cannot_be_read, 0, 2);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
