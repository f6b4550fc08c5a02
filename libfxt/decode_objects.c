/* Objects and blobs (sections 2.7 to 2.10).  */
#include "libfxt/fields.h"

enum fxt_decoded fxt_decode_blob(struct fxt_reader *reader, uint64_t header,
                                 struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    record->kind = FXT_RECORD_BLOB;
    record->value.blob.type = (unsigned)fxt_bits(header, 48, 55);
    record->value.blob.payload.length = fxt_bits(header, 32, 46);
    if (!fxt_read_string(reader, fxt_bits(header, 16, 31), cursor, &record->name) ||
        !fxt_take_bytes(cursor, record->value.blob.payload.length,
                        &record->value.blob.payload.bytes))
        return FXT_DECODED_BAD;
    return FXT_DECODED;
}

/* Strings stand before the timestamp here, unlike anywhere else (section 1.4).  */
static enum fxt_decoded read_blob_metadata(struct fxt_reader *reader, uint64_t format_word,
                                           struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    enum fxt_decoded decoded = fxt_read_time(reader, cursor);

    if (decoded != FXT_DECODED)
        return decoded;
    record->has_thread = true;
    if (!fxt_read_thread(reader, fxt_bits(format_word, 36, 43), cursor, &record->thread) ||
        !fxt_read_args(reader, fxt_bits(format_word, 32, 35), cursor))
        return FXT_DECODED_BAD;
    return FXT_DECODED;
}

enum fxt_decoded fxt_decode_large(struct fxt_reader *reader, uint64_t header,
                                  struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t format = fxt_bits(header, 40, 43);
    struct fxt_bytes *payload = &record->value.large_blob.payload;
    uint64_t format_word;

    if (fxt_bits(header, 36, 39) != 0 || format > 1)
        return FXT_DECODED_UNKNOWN;
    record->kind = FXT_RECORD_LARGE_BLOB;
    record->value.large_blob.format = (unsigned)format;
    if (!fxt_take_word(cursor, &format_word) ||
        !fxt_read_string(reader, fxt_bits(format_word, 0, 15), cursor, &record->category) ||
        !fxt_read_string(reader, fxt_bits(format_word, 16, 31), cursor, &record->name))
        return FXT_DECODED_BAD;
    if (format == 0) {
        enum fxt_decoded decoded = read_blob_metadata(reader, format_word, cursor);

        if (decoded != FXT_DECODED)
            return decoded;
    }
    if (!fxt_take_word(cursor, &payload->length) ||
        !fxt_take_bytes(cursor, payload->length, &payload->bytes))
        return FXT_DECODED_BAD;
    return FXT_DECODED;
}

/* Behind the pointer: inline_words of process, then name and arguments.  *exact: nothing is
 * left over.  */
static bool read_userspace(struct fxt_reader *reader, uint64_t header, struct fxt_cursor cursor,
                           size_t inline_words, bool *exact)
{
    struct fxt_record *record = &reader->record;

    record->arg_count = 0;
    if ((inline_words >= 1 && !fxt_take_word(&cursor, &record->thread.process)) ||
        (inline_words == 2 && !fxt_take_word(&cursor, &record->thread.thread)) ||
        !fxt_read_string(reader, fxt_bits(header, 24, 39), &cursor, &record->name) ||
        !fxt_read_args(reader, fxt_bits(header, 40, 43), &cursor))
        return false;
    *exact = cursor.words == 0;
    return true;
}

/* The document says one inline word, the C++ serializer writes two (section 2.9).  What ends
 * exactly at the record's end is right; failing that, the documented form, if it is at least
 * consistent.  Damage is counted for the parse that is kept.  */
static bool read_inline_userspace(struct fxt_reader *reader, uint64_t header,
                                  struct fxt_cursor *cursor)
{
    struct fxt_damage before = reader->damage;
    bool exact = false;

    if (read_userspace(reader, header, *cursor, 1, &exact) && exact)
        return true;
    reader->damage = before;
    if (read_userspace(reader, header, *cursor, 2, &exact) && exact)
        return true;
    reader->damage = before;
    reader->record.thread.thread = 0;
    return read_userspace(reader, header, *cursor, 1, &exact);
}

enum fxt_decoded fxt_decode_userspace_object(struct fxt_reader *reader, uint64_t header,
                                             struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t reference = fxt_bits(header, 16, 23);
    bool exact, good;

    if (!fxt_take_word(cursor, &record->value.object.pointer))
        return FXT_DECODED_BAD;
    record->kind = FXT_RECORD_USERSPACE_OBJECT;
    record->has_thread = true;
    if (reference == 0)
        good = read_inline_userspace(reader, header, cursor);
    else
        good = fxt_read_thread(reader, reference, cursor, &record->thread) &&
               read_userspace(reader, header, *cursor, 0, &exact);
    return good ? FXT_DECODED : FXT_DECODED_BAD;
}

enum fxt_decoded fxt_decode_kernel_object(struct fxt_reader *reader, uint64_t header,
                                          struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    record->kind = FXT_RECORD_KERNEL_OBJECT;
    record->value.object.type = (unsigned)fxt_bits(header, 16, 23);
    if (!fxt_take_word(cursor, &record->value.object.koid) ||
        !fxt_read_string(reader, fxt_bits(header, 24, 39), cursor, &record->name) ||
        !fxt_read_args(reader, fxt_bits(header, 40, 43), cursor))
        return FXT_DECODED_BAD;
    return FXT_DECODED;
}
