#include "tests/support/parts.h"

#include <check.h>
#include <string.h>

void put_word(struct bytes *bytes, uint64_t word)
{
    if (bytes->length + 8 > sizeof bytes->data)
        ck_abort_msg("too many bytes for a test");
    for (unsigned i = 0; i < 8; i++)
        bytes->data[bytes->length++] = (uint8_t)(word >> (8 * i));
}

void put_zeros(struct bytes *bytes, size_t length)
{
    ck_assert_uint_le(bytes->length + length, sizeof bytes->data);
    memset(bytes->data + bytes->length, 0, length);
    bytes->length += length;
}

void put_bytes(struct bytes *bytes, const struct bytes *more)
{
    ck_assert_uint_le(bytes->length + more->length, sizeof bytes->data);
    memcpy(bytes->data + bytes->length, more->data, more->length);
    bytes->length += more->length;
}

static void put_text(struct bytes *bytes, const char *text)
{
    size_t length = strlen(text);

    ck_assert_uint_le(bytes->length + length + 8, sizeof bytes->data);
    memcpy(bytes->data + bytes->length, text, length);
    bytes->length += length;
    put_zeros(bytes, (8 - length % 8) % 8);
}

void put_sample(struct bytes *bytes, unsigned frames, uint64_t tick)
{
    put_word(bytes, 15 | (uint64_t)(6 + frames) << 4);
    put_word(bytes, 0);
    put_word(bytes, tick);
    put_word(bytes, 77);
    put_word(bytes, 78);
    put_word(bytes, 8 * (uint64_t)frames);
    for (unsigned i = 0; i < frames; i++)
        put_word(bytes, 0x400000 + 16 * tick + i);
}

void put_magic(struct bytes *bytes)
{
    put_word(bytes, UINT64_C(0x0016547846040010));
}

void put_provider(struct bytes *bytes, uint32_t id, const char *name)
{
    size_t length = strlen(name);

    put_word(bytes,
             (1 + (length + 7) / 8) << 4 | 1 << 16 | (uint64_t)id << 20 | (uint64_t)length << 52);
    put_text(bytes, name);
}

void put_loss(struct bytes *bytes, uint32_t id)
{
    put_word(bytes, 1 << 4 | 3 << 16 | (uint64_t)id << 20);
}

void put_init(struct bytes *bytes, uint64_t ticks_per_second)
{
    put_word(bytes, 1 | 2 << 4);
    put_word(bytes, ticks_per_second);
}

void put_string(struct bytes *bytes, unsigned index, const char *text)
{
    size_t length = strlen(text);

    put_word(bytes,
             2 | (1 + (length + 7) / 8) << 4 | (uint64_t)index << 16 | (uint64_t)length << 32);
    put_text(bytes, text);
}

void put_event(struct bytes *bytes, unsigned name, uint64_t tick)
{
    put_word(bytes, 4 | 4 << 4 | (uint64_t)name << 48);
    put_word(bytes, tick);
    put_word(bytes, 5);
    put_word(bytes, 6);
}

enum fxt_status read_trace(struct fxt_input *input, size_t size, struct bytes *out)
{
    enum fxt_status status = FXT_OK;
    size_t length = 0;

    out->length = 0;
    while (status == FXT_OK) {
        size_t room = sizeof out->data - out->length;

        if (room == 0)
            ck_abort_msg("too many bytes for a test");
        status = fxt_input_read(input, out->data + out->length, size < room ? size : room, &length,
                                NULL);
        if (length > size || (status == FXT_OK) != (length > 0))
            ck_abort_msg("%zu bytes of %zu, status %d", length, size, (int)status);
        out->length += length;
    }
    ck_assert_int_eq(fxt_input_read(input, out->data, 1, &length, NULL), status); /* for good */
    return status;
}

void same_bytes(const struct bytes *got, const struct bytes *wanted, const char *what)
{
    size_t i = 0;

    while (i < got->length && i < wanted->length && got->data[i] == wanted->data[i])
        i++;
    if (got->length != wanted->length || i < got->length)
        ck_abort_msg("%s: %zu bytes, not %zu; other from %zu on", what, got->length, wanted->length,
                     i);
}
