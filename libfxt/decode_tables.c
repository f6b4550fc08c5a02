/* Records that set state: metadata, initialization, strings, threads (sections 2.1 to 2.4).  */
#include "libfxt/fxt_internal.h"

#define MAGIC_NUMBER 0x16547846u

enum {
    METADATA_PROVIDER_INFO = 1,
    METADATA_PROVIDER_SECTION = 2,
    METADATA_PROVIDER_EVENT = 3,
    METADATA_TRACE_INFO = 4
};

/* A table that is full is the reader's bound, not the record's fault: counted, and the record
 * is delivered.  */
static enum fxt_decoded table_result(struct fxt_reader *reader, enum fxt_table_result result)
{
    if (result == FXT_TABLE_FULL)
        fxt_count_damage(reader, FXT_DAMAGE_TABLE_FULL, 0);
    return result == FXT_TABLE_NO_MEMORY ? FXT_DECODED_NO_MEMORY : FXT_DECODED;
}

static enum fxt_decoded decode_provider_info(struct fxt_reader *reader, uint64_t header,
                                             struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t length = fxt_bits(header, 52, 59);
    enum fxt_table_result result;
    const uint8_t *bytes;

    if (!fxt_take_bytes(cursor, length, &bytes))
        return FXT_DECODED_BAD;
    record->kind = FXT_RECORD_PROVIDER_INFO;
    record->value.provider.id = (uint32_t)fxt_bits(header, 20, 51);
    result = fxt_contexts_switch(&reader->contexts, record->value.provider.id, true);
    if (result != FXT_TABLE_NO_MEMORY)
        fxt_contexts_set_name(&reader->contexts, bytes, (size_t)length);
    record->provider = &reader->contexts.current->provider;
    record->name = (struct fxt_string){ .bytes = (const char *)bytes, .length = (uint32_t)length };
    return table_result(reader, result);
}

static enum fxt_decoded decode_provider_section(struct fxt_reader *reader, uint64_t header)
{
    struct fxt_record *record = &reader->record;
    enum fxt_table_result result;

    record->kind = FXT_RECORD_PROVIDER_SECTION;
    record->value.provider.id = (uint32_t)fxt_bits(header, 20, 51);
    result = fxt_contexts_switch(&reader->contexts, record->value.provider.id, false);
    record->provider = &reader->contexts.current->provider;
    return table_result(reader, result);
}

enum fxt_decoded fxt_decode_metadata(struct fxt_reader *reader, uint64_t header,
                                     struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    switch (fxt_bits(header, 16, 19)) {
    case METADATA_PROVIDER_INFO:
        return decode_provider_info(reader, header, cursor);
    case METADATA_PROVIDER_SECTION:
        return decode_provider_section(reader, header);
    case METADATA_PROVIDER_EVENT: /* does not switch the provider */
        record->kind = FXT_RECORD_PROVIDER_EVENT;
        record->value.provider.id = (uint32_t)fxt_bits(header, 20, 51);
        record->value.provider.event = (unsigned)fxt_bits(header, 52, 55);
        if (record->value.provider.event == 0)
            fxt_count_damage(reader, FXT_DAMAGE_PROVIDER_LOSS, 0);
        return FXT_DECODED;
    case METADATA_TRACE_INFO:
        if (fxt_bits(header, 20, 23) != 0)
            return FXT_DECODED_UNKNOWN;
        record->kind =
            FXT_RECORD_MAGIC; /* in mid-file too: kernel data carries its own; nothing is reset */
        record->value.magic.number = (uint32_t)fxt_bits(header, 24, 55);
        if (record->value.magic.number != MAGIC_NUMBER)
            fxt_count_damage(reader, FXT_DAMAGE_WRONG_MAGIC, 0);
        return FXT_DECODED;
    default:
        return FXT_DECODED_UNKNOWN;
    }
}

enum fxt_decoded fxt_decode_init(struct fxt_reader *reader, uint64_t header,
                                 struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    struct fxt_context *context = reader->contexts.current;
    struct fxt_provider *provider = &context->provider;
    uint64_t base_time = 0;

    (void)header;
    if (!fxt_take_word(cursor, &record->value.init.ticks_per_second))
        return FXT_DECODED_BAD;
    record->kind = FXT_RECORD_INIT;
    if (cursor->words >= 2) {
        (void)fxt_take_word(cursor, &record->value.init.base_ticks);
        (void)fxt_take_word(cursor, &base_time);
        record->value.init.base_time_ns = (int64_t)base_time;
        record->value.init.extended = true;
    }
    if (record->value.init.ticks_per_second == 0) {
        fxt_count_damage(reader, FXT_DAMAGE_ZERO_TICKS, 0);
        return FXT_DECODED;
    }
    provider->initialized = true;
    provider->ticks_per_second = record->value.init.ticks_per_second;
    provider->base_ticks = record->value.init.base_ticks;
    provider->base_time_ns = record->value.init.base_time_ns;
    fxt_clock_set(&context->clock, provider);
    return FXT_DECODED;
}

enum fxt_decoded fxt_decode_string(struct fxt_reader *reader, uint64_t header,
                                   struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t length = fxt_bits(header, 32, 46);
    const uint8_t *bytes;

    if (!fxt_take_bytes(cursor, length, &bytes))
        return FXT_DECODED_BAD;
    record->kind = FXT_RECORD_STRING;
    record->value.table.index = (uint16_t)fxt_bits(header, 16, 30);
    record->name = (struct fxt_string){ .bytes = (const char *)bytes, .length = (uint32_t)length };
    if (record->value.table.index == 0) {
        fxt_count_damage(reader, FXT_DAMAGE_INDEX_ZERO, 0);
        return FXT_DECODED;
    }
    return table_result(reader,
                        fxt_contexts_set_string(&reader->contexts, record->value.table.index, bytes,
                                                (uint32_t)length));
}

enum fxt_decoded fxt_decode_thread(struct fxt_reader *reader, uint64_t header,
                                   struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    if (!fxt_take_word(cursor, &record->thread.process) ||
        !fxt_take_word(cursor, &record->thread.thread))
        return FXT_DECODED_BAD;
    record->kind = FXT_RECORD_THREAD;
    record->has_thread = true;
    record->value.table.index = (uint16_t)fxt_bits(header, 16, 23);
    if (record->value.table.index == 0) {
        fxt_count_damage(reader, FXT_DAMAGE_INDEX_ZERO, 0);
        return FXT_DECODED;
    }
    return table_result(reader,
                        fxt_contexts_set_thread(&reader->contexts, record->value.table.index,
                                                record->thread.process, record->thread.thread));
}
