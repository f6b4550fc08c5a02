/* Events, scheduling and logs: records that happen on a thread (sections 2.5, 2.11, 2.12).  */
#include "libfxt/fields.h"

/* The end of a complete duration.  */
static enum fxt_decoded read_end(struct fxt_reader *reader, struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    if (!fxt_take_word(cursor, &record->value.event.end_ticks))
        return FXT_DECODED_BAD;
    if (!fxt_ticks_time(reader, record->value.event.end_ticks, &record->value.event.end_ns))
        return FXT_DECODED_OVERFLOW;
    if (record->value.event.end_ns < record->ts_ns) {
        fxt_notice(reader, FXT_DAMAGE_END_BEFORE_START);
        record->value.event.end_ns = record->ts_ns;
    }
    return FXT_DECODED;
}

/* The word behind the arguments, by event type.  */
static inline enum fxt_decoded read_last_word(struct fxt_reader *reader, uint64_t type,
                                              struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    switch (type) {
    case FXT_EVENT_INSTANT: /* the scope word is optional (section 2.5) */
        record->value.event.has_scope = fxt_take_word(cursor, &record->value.event.scope);
        return FXT_DECODED;
    case FXT_EVENT_DURATION_BEGIN:
    case FXT_EVENT_DURATION_END:
        return FXT_DECODED;
    case FXT_EVENT_DURATION_COMPLETE:
        return read_end(reader, cursor);
    case FXT_EVENT_COUNTER:
    case FXT_EVENT_ASYNC_BEGIN:
    case FXT_EVENT_ASYNC_INSTANT:
    case FXT_EVENT_ASYNC_END:
    case FXT_EVENT_FLOW_BEGIN:
    case FXT_EVENT_FLOW_STEP:
    case FXT_EVENT_FLOW_END:
        return fxt_take_word(cursor, &record->value.event.id) ? FXT_DECODED : FXT_DECODED_BAD;
    default:
        record->value.event.rest = (struct fxt_words){ cursor->next, cursor->words };
        return FXT_DECODED;
    }
}

/* Sets every member that an event has: those of the event before are still there.  */
enum fxt_decoded fxt_decode_event(struct fxt_reader *reader, uint64_t header, const uint8_t *bytes,
                                  size_t words)
{
    struct fxt_record *record = &reader->record;
    struct fxt_cursor cursor = { bytes, words };
    enum fxt_decoded decoded = fxt_read_time(reader, &cursor);
    uint64_t type = fxt_bits(header, 16, 19);

    if (decoded != FXT_DECODED)
        return decoded;
    record->kind = FXT_RECORD_EVENT;
    record->has_thread = true;
    record->value.event.type = (unsigned)type;
    record->value.event.has_scope = false;
    record->value.event.id = 0;
    record->value.event.scope = 0;
    record->value.event.end_ticks = 0;
    record->value.event.end_ns = 0;
    record->value.event.rest = (struct fxt_words){ NULL, 0 };
    if (!fxt_read_thread(reader, fxt_bits(header, 24, 31), &cursor, &record->thread) ||
        !fxt_read_string(reader, fxt_bits(header, 32, 47), &cursor, &record->category) ||
        !fxt_read_string(reader, fxt_bits(header, 48, 63), &cursor, &record->name) ||
        !fxt_read_args(reader, fxt_bits(header, 20, 23), &cursor))
        return FXT_DECODED_BAD;
    return read_last_word(reader, type, &cursor);
}

enum { SCHED_LEGACY_CONTEXT_SWITCH = 0, SCHED_CONTEXT_SWITCH = 1, SCHED_THREAD_WAKEUP = 2 };

static enum fxt_decoded decode_legacy_switch(struct fxt_reader *reader, uint64_t header,
                                             struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    if (!fxt_read_thread(reader, fxt_bits(header, 28, 35), cursor, &record->value.sched.outgoing) ||
        !fxt_read_thread(reader, fxt_bits(header, 36, 43), cursor, &record->value.sched.incoming))
        return FXT_DECODED_BAD;
    record->kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH;
    record->value.sched.cpu = (unsigned)fxt_bits(header, 16, 23);
    record->value.sched.outgoing_state = (unsigned)fxt_bits(header, 24, 27);
    record->value.sched.outgoing_priority = (unsigned)fxt_bits(header, 44, 51);
    record->value.sched.incoming_priority = (unsigned)fxt_bits(header, 52, 59);
    record->value.sched.outgoing_tid = record->value.sched.outgoing.thread;
    record->value.sched.incoming_tid = record->value.sched.incoming.thread;
    return FXT_DECODED;
}

enum fxt_decoded fxt_decode_sched(struct fxt_reader *reader, uint64_t header,
                                  struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t subtype = fxt_bits(header, 60, 63);
    enum fxt_decoded decoded;

    if (subtype > SCHED_THREAD_WAKEUP)
        return FXT_DECODED_UNKNOWN;
    decoded = fxt_read_time(reader, cursor);
    if (decoded != FXT_DECODED)
        return decoded;
    if (subtype == SCHED_LEGACY_CONTEXT_SWITCH)
        return decode_legacy_switch(reader, header, cursor);
    record->kind = subtype == SCHED_CONTEXT_SWITCH ? FXT_RECORD_CONTEXT_SWITCH
                                                   : FXT_RECORD_THREAD_WAKEUP;
    record->value.sched.cpu = (unsigned)fxt_bits(header, 20, 35);
    if (subtype == SCHED_CONTEXT_SWITCH) {
        record->value.sched.outgoing_state = (unsigned)fxt_bits(header, 36, 39);
        if (!fxt_take_word(cursor, &record->value.sched.outgoing_tid))
            return FXT_DECODED_BAD;
    }
    if (!fxt_take_word(cursor, &record->value.sched.incoming_tid) ||
        !fxt_read_args(reader, fxt_bits(header, 16, 19), cursor))
        return FXT_DECODED_BAD;
    return FXT_DECODED;
}

enum fxt_decoded fxt_decode_log(struct fxt_reader *reader, uint64_t header,
                                struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;
    uint64_t length = fxt_bits(header, 16, 30);
    enum fxt_decoded decoded = fxt_read_time(reader, cursor);
    const uint8_t *bytes;

    if (decoded != FXT_DECODED)
        return decoded;
    if (!fxt_read_thread(reader, fxt_bits(header, 32, 39), cursor, &record->thread) ||
        !fxt_take_bytes(cursor, length, &bytes))
        return FXT_DECODED_BAD;
    record->kind = FXT_RECORD_LOG;
    record->has_thread = true;
    record->value.log.message = (struct fxt_string){ .bytes = (const char *)bytes,
                                                     .length = (uint32_t)length };
    return FXT_DECODED;
}
