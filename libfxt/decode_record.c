/* From a record's bytes to struct fxt_record: the choice by type.  */
#include <string.h>

#include "libfxt/fxt_internal.h"

/* Keep the record whole: it can be shown, and written again.  */
static void keep_unknown(struct fxt_record *record, const uint8_t *bytes, uint64_t header)
{
    unsigned type = (unsigned)fxt_bits(header, 0, 3);
    unsigned subtype = 0;

    switch (type) {
    case 0:
    case 10:
        subtype = (unsigned)fxt_bits(header, 16, 19);
        break;
    case 8:
        subtype = (unsigned)fxt_bits(header, 60, 63);
        break;
    case 15:
        subtype = (unsigned)fxt_bits(header, 36, 39);
        break;
    default:
        break;
    }
    record->kind = FXT_RECORD_UNKNOWN;
    record->value.unknown.type = type;
    record->value.unknown.subtype = subtype;
    record->value.unknown.words = (struct fxt_words){ bytes, (size_t)(record->size / 8) };
}

static enum fxt_decoded decode_by_type(struct fxt_reader *reader, uint64_t header,
                                       struct fxt_cursor *cursor)
{
    switch (fxt_bits(header, 0, 3)) {
    case 0:
        return fxt_decode_metadata(reader, header, cursor);
    case 1:
        return fxt_decode_init(reader, header, cursor);
    case 2:
        return fxt_decode_string(reader, header, cursor);
    case 3:
        return fxt_decode_thread(reader, header, cursor);
    case FXT_TYPE_EVENT:
        return fxt_decode_event(reader, header, cursor->next, cursor->words);
    case 5:
        return fxt_decode_blob(reader, header, cursor);
    case 6:
        return fxt_decode_userspace_object(reader, header, cursor);
    case 7:
        return fxt_decode_kernel_object(reader, header, cursor);
    case 8:
        return fxt_decode_sched(reader, header, cursor);
    case 9:
        return fxt_decode_log(reader, header, cursor);
    case 10:
        return fxt_decode_profiler(reader, header, cursor);
    case 15:
        return fxt_decode_large(reader, header, cursor);
    default:
        return FXT_DECODED_UNKNOWN;
    }
}

/* Member by member: clearing 200 bytes at once is an instruction that takes long to start.  */
static inline void start_record(struct fxt_reader *reader, size_t size)
{
    static const struct fxt_string empty = { .bytes = "" };
    struct fxt_record *record = &reader->record;

    record->kind = FXT_RECORD_UNKNOWN;
    record->has_time = false;
    record->has_thread = false;
    record->offset = reader->offset;
    record->size = size;
    record->provider = &reader->contexts.current->provider;
    record->ticks = 0;
    record->ts_ns = 0;
    record->thread = (struct fxt_thread){ .index = 0 };
    record->category = empty;
    record->name = empty;
    record->args = NULL;
    record->arg_count = 0;
    memset(&record->value, 0, sizeof record->value);
}

enum fxt_decoded fxt_decode(struct fxt_reader *reader, const uint8_t *bytes, size_t size)
{
    uint64_t header = fxt_load_u64(bytes);
    struct fxt_cursor cursor = { bytes + 8, size / 8 - 1 };
    enum fxt_decoded decoded;

    start_record(reader, size);
    decoded = decode_by_type(reader, header, &cursor);
    if (decoded == FXT_DECODED_UNKNOWN) {
        start_record(reader, size); /* nothing half read stays */
        keep_unknown(&reader->record, bytes, header);
    }
    return decoded;
}
