/* The CPU profiler's records (section 2.13).  */
#include "libfxt/fields.h"

enum { PROFILER_MODULE = 0, PROFILER_MAPPING = 1, PROFILER_BACKTRACE = 2 };

/* The thread of a module or mapping: a table reference, or inline words, of which a superseded
 * writer left only the process.  others is what the record holds besides; the rest of its size
 * tells which form it is.  */
static bool read_process(struct fxt_reader *reader, uint64_t header, uint64_t others,
                         struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t reference = fxt_bits(header, 20, 27);

    record->has_thread = true;
    if (reference != 0 || cursor->words >= others + 2)
        return fxt_read_thread(reader, reference, cursor, &record->thread);
    return cursor->words == others + 1 && fxt_take_word(cursor, &record->thread.process);
}

static enum fxt_decoded decode_module(struct fxt_reader *reader, uint64_t header,
                                      struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t name_length = fxt_bits(header, 44, 51);
    uint64_t id_length = fxt_bits(header, 52, 59);
    const uint8_t *name;

    record->kind = FXT_RECORD_MODULE;
    record->value.module.id = (uint16_t)fxt_bits(header, 28, 43);
    record->value.module.build_id.length = id_length;
    if (!read_process(reader, header, (name_length + 7) / 8 + (id_length + 7) / 8, cursor) ||
        !fxt_take_bytes(cursor, name_length, &name) ||
        !fxt_take_bytes(cursor, id_length, &record->value.module.build_id.bytes))
        return FXT_DECODED_BAD;
    record->name = (struct fxt_string){ .bytes = (const char *)name,
                                        .length = (uint32_t)name_length };
    return FXT_DECODED;
}

static enum fxt_decoded decode_mapping(struct fxt_reader *reader, uint64_t header,
                                       struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    record->kind = FXT_RECORD_MAPPING;
    record->value.mapping.module_id = (uint16_t)fxt_bits(header, 28, 43);
    record->value.mapping.flags = (unsigned)fxt_bits(header, 44, 46);
    if (!read_process(reader, header, 3, cursor) ||
        !fxt_take_word(cursor, &record->value.mapping.start) ||
        !fxt_take_word(cursor, &record->value.mapping.length) ||
        !fxt_take_word(cursor, &record->value.mapping.vaddr))
        return FXT_DECODED_BAD;
    return FXT_DECODED;
}

/* The count is 8 bits and its writer does not check it: the size says how many frames there
 * are.  */
static enum fxt_decoded decode_backtrace(struct fxt_reader *reader, uint64_t header,
                                         struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    record->kind = FXT_RECORD_BACKTRACE;
    record->has_thread = true;
    if (!fxt_read_thread(reader, fxt_bits(header, 20, 27), cursor, &record->thread))
        return FXT_DECODED_BAD;
    if (cursor->words != fxt_bits(header, 28, 35))
        fxt_notice(reader, FXT_DAMAGE_WRONG_COUNT);
    record->value.backtrace.frames = (struct fxt_words){ cursor->next, cursor->words };
    return FXT_DECODED;
}

enum fxt_decoded fxt_decode_profiler(struct fxt_reader *reader, uint64_t header,
                                     struct fxt_cursor *cursor)
{
    uint64_t subtype = fxt_bits(header, 16, 19);
    enum fxt_decoded decoded;

    if (subtype > PROFILER_BACKTRACE)
        return FXT_DECODED_UNKNOWN;
    decoded = fxt_read_time(reader, cursor);
    if (decoded != FXT_DECODED)
        return decoded;
    /* Stamped 0, a module or mapping was there before the trace began.  */
    if (subtype != PROFILER_BACKTRACE && reader->record.ticks == 0) {
        reader->record.has_time = false;
        reader->record.ts_ns = 0;
    }
    switch (subtype) {
    case PROFILER_MODULE:
        return decode_module(reader, header, cursor);
    case PROFILER_MAPPING:
        return decode_mapping(reader, header, cursor);
    default:
        return decode_backtrace(reader, header, cursor);
    }
}
