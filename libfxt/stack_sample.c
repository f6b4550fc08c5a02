/* stack_sample.c - raw stacks of Fuchsia's CPU profiler.  */
#include <string.h>

#include <fxt/fxt.h>

enum { PIECE_HEADER = 16 }; /* address and size */

static bool is(const struct fxt_string *string, const char *text)
{
    return string->length == strlen(text) && memcmp(string->bytes, text, string->length) == 0;
}

bool fxt_record_is_stack_sample(const struct fxt_record *record)
{
    return record->kind == FXT_RECORD_LARGE_BLOB && record->value.large_blob.format == 0 &&
           is(&record->category, "cpu_profiler") && is(&record->name, "stack_sample");
}

static uint64_t take_word(struct fxt_bytes *rest)
{
    uint64_t word = fxt_word((struct fxt_words){ rest->bytes, 1 }, 0);

    rest->bytes += 8;
    rest->length -= 8;
    return word;
}

/* The next bytes; fewer, if there are no more.  */
static struct fxt_bytes take_bytes(struct fxt_bytes *rest, uint64_t size)
{
    struct fxt_bytes taken = { rest->bytes, size < rest->length ? size : rest->length };

    rest->bytes += taken.length;
    rest->length -= taken.length;
    return taken;
}

void fxt_stack_sample_read(struct fxt_bytes payload, struct fxt_stack_sample *out)
{
    struct fxt_bytes rest = payload;
    uint64_t size;

    *out = (struct fxt_stack_sample){ .is_damaged = true };
    if (rest.length < 8)
        return;
    size = take_word(&rest);
    if (size > rest.length)
        return;
    out->registers = take_bytes(&rest, size);
    while (rest.length > 0) {
        struct fxt_stack_piece *piece = &out->pieces[out->piece_count];

        if (rest.length < PIECE_HEADER || out->piece_count == FXT_STACK_PIECES)
            return;
        piece->address = take_word(&rest);
        size = take_word(&rest);
        piece->bytes = take_bytes(&rest, size);
        out->piece_count++;
        if (piece->bytes.length < size)
            return;
    }
    out->is_damaged = false;
}
