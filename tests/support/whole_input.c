#include "tests/support/whole_input.h"

#include <check.h>
#include <string.h>

#include "tests/support/describe.h"

uint8_t unpacked[500000];
struct fxt_error unpack_error;

enum fxt_status read_to_end(struct fxt_input *input, size_t size, size_t *total)
{
    enum fxt_status status;
    size_t length;

    *total = 0;
    while (
        (status = fxt_input_read(input, unpacked + *total,
                                 size < sizeof unpacked - *total ? size : sizeof unpacked - *total,
                                 &length, &unpack_error)) == FXT_OK) {
        *total += length;
        if (length < 1 || length > size || *total >= sizeof unpacked) /* passed ones are slow */
            ck_abort_msg("%zu bytes of %zu, %zu in all", length, size, *total);
    }
    ck_assert_uint_eq(length, 0);
    /* for good */
    ck_assert_int_eq(fxt_input_read(input, unpacked + *total, 1, &length, NULL), status);
    return status;
}

enum fxt_status read_bytes(const void *bytes, size_t length, size_t step, size_t *total, bool *cut)
{
    struct source source;
    struct fxt_input *input = open_bytes(&source, bytes, length, step);
    enum fxt_status status = read_to_end(input, sizeof unpacked, total);

    *cut = fxt_input_is_cut(input);
    fxt_input_close(input);
    return status;
}

const struct unpack_pieces unpack_pieces[UNPACK_PIECES] = {
    { 0, sizeof unpacked }, { 1, sizeof unpacked }, { 0, 1 }, { 3, 7 }, { 65537, 4096 }
};

void check_unpacks_to(const void *bytes, size_t length, enum fxt_status status, const char *text,
                      const char *message)
{
    static const size_t steps[] = { 0, 1, 7 };

    for (size_t i = 0; i < 3; i++) {
        size_t total;
        bool cut;

        unpack_error.message[0] = '\0';
        ck_assert_int_eq(read_bytes(bytes, length, steps[i], &total, &cut), status);
        ck_assert_uint_eq(total, strlen(text));
        ck_assert_mem_eq(unpacked, text, total);
        ck_assert(!cut);
        ck_assert_str_eq(unpack_error.message, message);
        if (status == FXT_FATAL) {
            ck_assert_int_eq(unpack_error.system_errno, 0);
            ck_assert_uint_eq(unpack_error.offset, total);
        }
    }
}

void check_corrupt_trace(const void *bytes, size_t length, enum fxt_compression compression,
                         const char *message)
{
    struct reading result;
    struct source source;
    char text[256], damage[256];

    ck_assert_int_eq(
        describe_input(open_bytes(&source, bytes, length, 0), NULL, text, sizeof text, &result),
        FXT_FATAL);
    describe_damage(&result.damage, damage, sizeof damage);
    ck_assert_str_eq(text, "@0+8 magic p0 number=16547846\n");
    ck_assert_str_eq(damage, "corrupt_input=1@8+0");
    ck_assert_str_eq(result.error.message, message);
    ck_assert_int_eq(result.error.system_errno, 0);
    ck_assert_int_eq(result.compression, compression);
}
