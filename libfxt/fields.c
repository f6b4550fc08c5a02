/* What of the shared fields is rare: references to nothing.  */
#include "libfxt/fields.h"

void fxt_notice(struct fxt_reader *reader, enum fxt_damage_kind kind)
{
    if (reader->noticed_offset != reader->offset) {
        reader->unnoticed = reader->damage;
        reader->noticed_offset = reader->offset;
    }
    fxt_count_damage(reader, kind, 0);
}

void fxt_miss_string(struct fxt_reader *reader, uint64_t index, struct fxt_string *out)
{
    *out = (struct fxt_string){ .bytes = "", .index = (uint16_t)index, .missing = true };
    fxt_notice(reader, FXT_DAMAGE_UNRESOLVED_STRING);
}

void fxt_miss_thread(struct fxt_reader *reader, uint64_t index, struct fxt_thread *out)
{
    *out = (struct fxt_thread){ .index = (uint8_t)index, .missing = true };
    fxt_notice(reader, FXT_DAMAGE_UNRESOLVED_THREAD);
}
