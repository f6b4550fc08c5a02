#include "tests/support/every_string.h"

/* Every way not to be UTF-8: a lone continuation byte, an overlong form, a surrogate, beyond
 * U+10FFFF, a byte that never occurs, a character that is cut.  */
#define TEXT                                                       \
    "a\0\"'\\\b\n\r\t\x01\x1f\x7f"                                 \
    "\x80\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xff\xe2\x82\xac\xe2" \
    "\x82"

const struct fxt_string every_string_text = { .bytes = TEXT, .length = sizeof TEXT - 1 };

enum fxt_status every_string_write(struct fxt_writer *writer)
{
    const struct fxt_string text = every_string_text;
    const struct fxt_string registered = { .bytes = "", .index = 1 };
    const struct fxt_arg args[] = {
        { .type = FXT_ARG_STRING, .name = text, .value.string = text },
        { .type = FXT_ARG_STRING, .name = registered, .value.string = registered },
    };
    const struct fxt_record records[] = {
        { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 },
        { .kind = FXT_RECORD_PROVIDER_INFO, .name = text, .value.provider.id = 1 },
        { .kind = FXT_RECORD_STRING, .name = text, .value.table.index = 1 },
        { .kind = FXT_RECORD_EVENT,
          .category = text,
          .name = text,
          .args = args,
          .arg_count = 2,
          .value.event.type = FXT_EVENT_DURATION_BEGIN },
        { .kind = FXT_RECORD_EVENT,
          .category = registered,
          .name = registered,
          .value.event.type = FXT_EVENT_DURATION_END },
        { .kind = FXT_RECORD_BLOB, .name = text, .value.blob.type = 1 },
        { .kind = FXT_RECORD_USERSPACE_OBJECT, .name = text, .args = args, .arg_count = 2 },
        { .kind = FXT_RECORD_KERNEL_OBJECT, .name = text, .value.object.type = FXT_OBJECT_PROCESS },
        { .kind = FXT_RECORD_KERNEL_OBJECT,
          .name = registered,
          .args = args,
          .arg_count = 2,
          .value.object.type = FXT_OBJECT_THREAD },
        { .kind = FXT_RECORD_CONTEXT_SWITCH, .args = args, .arg_count = 2 },
        { .kind = FXT_RECORD_THREAD_WAKEUP, .args = args, .arg_count = 2 },
        { .kind = FXT_RECORD_LOG, .value.log.message = text },
        { .kind = FXT_RECORD_MODULE, .name = text },
        { .kind = FXT_RECORD_LARGE_BLOB,
          .category = text,
          .name = text,
          .args = args,
          .arg_count = 2 },
        { .kind = FXT_RECORD_LARGE_BLOB,
          .category = registered,
          .name = registered,
          .value.large_blob.format = 1 },
    };

    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        enum fxt_status status = fxt_writer_record(writer, &records[i], NULL);

        if (status != FXT_OK)
            return status;
    }
    return FXT_OK;
}
