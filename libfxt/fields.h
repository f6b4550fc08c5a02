/* fields.h - fields that several record families share (sections 1.2, 1.3, 2.6).
 *
 * They stand in a header so that each family's decoder becomes one piece of code: what a record
 * costs is mostly what is between its fields.  All are bounded by the cursor; false: it is too
 * short.  */
#ifndef FXT_FIELDS_H
#define FXT_FIELDS_H

#include "libfxt/internal.h"

#define FXT_INLINE_STRING 0x8000u /* in a reference: the low 15 bits are a length */

/* Nothing registered index.  */
void fxt_miss_string(struct fxt_reader *reader, uint64_t index, struct fxt_string *out)
    __attribute__((cold));
void fxt_miss_thread(struct fxt_reader *reader, uint64_t index, struct fxt_thread *out)
    __attribute__((cold));

static inline bool fxt_read_string(struct fxt_reader *reader, uint64_t reference,
                                   struct fxt_cursor *cursor, struct fxt_string *out)
{
    const struct fxt_string *registered;

    if (reference & FXT_INLINE_STRING) {
        uint32_t length = reference & 0x7fff;
        const uint8_t *bytes;

        if (!fxt_take_bytes(cursor, length, &bytes))
            return false;
        *out = (struct fxt_string){ .bytes = (const char *)bytes, .length = length };
        return true;
    }
    if (reference == 0) {
        *out = (struct fxt_string){ .bytes = "" };
        return true;
    }
    registered = fxt_contexts_string(&reader->contexts, (unsigned)reference);
    if (registered)
        *out = *registered;
    else
        fxt_miss_string(reader, reference, out);
    return true;
}

static inline bool fxt_read_thread(struct fxt_reader *reader, uint64_t reference,
                                   struct fxt_cursor *cursor, struct fxt_thread *out)
{
    const struct fxt_thread *registered;

    if (reference == 0) {
        *out = (struct fxt_thread){ .index = 0 };
        return fxt_take_word(cursor, &out->process) && fxt_take_word(cursor, &out->thread);
    }
    registered = fxt_contexts_thread(&reader->contexts, (unsigned)reference);
    if (registered)
        *out = *registered;
    else
        fxt_miss_thread(reader, reference, out);
    return true;
}

/* The current provider's time.  */
static inline bool fxt_ticks_time(const struct fxt_reader *reader, uint64_t ticks, int64_t *ns)
{
    const struct fxt_context *context = reader->contexts.current;

    return fxt_clock_ns(&context->clock, &context->provider, ticks, ns);
}

/* The timestamp, to record->ticks and ts_ns.  */
static inline enum fxt_decoded fxt_read_time(struct fxt_reader *reader, struct fxt_cursor *cursor)
{
    struct fxt_record *record = &reader->record;

    if (!fxt_take_word(cursor, &record->ticks))
        return FXT_DECODED_BAD;
    record->has_time = true;
    return fxt_ticks_time(reader, record->ticks, &record->ts_ns) ? FXT_DECODED
                                                                 : FXT_DECODED_OVERFLOW;
}

/* count arguments, to record->args.  */
bool fxt_read_args(struct fxt_reader *reader, uint64_t count, struct fxt_cursor *cursor);

#endif /* FXT_FIELDS_H */
