#include "tests/support/every_kind.h"

#include <math.h>

#define ROWS(table) (sizeof(table) / sizeof *(table))
#define TEXT(literal)                                     \
    {                                                     \
        .bytes = (literal), .length = sizeof(literal) - 1 \
    }
#define STRING_REF(i)             \
    {                             \
        .bytes = "", .index = (i) \
    }
#define BYTES(literal)                                                     \
    {                                                                      \
        .bytes = (const uint8_t *)(literal), .length = sizeof(literal) - 1 \
    }
/* Words, given as the eight bytes of each.  */
#define WORDS(literal)                                                          \
    {                                                                           \
        .bytes = (const uint8_t *)(literal), .count = (sizeof(literal) - 1) / 8 \
    }

/* Strings 1 to 3 and threads 1 and 255 are registered; string 99 and thread 99 are not.  */
enum { CATEGORY = 1, NAME = 2, WILD = 3, MISSING = 99 };

/* Quotes, escapes, control bytes, NUL, DEL and every way not to be UTF-8.  */
static const char wild[] =
    "\"quoted\" back\\slash \b\f\n\r\t\x01\x1f\x7f "
    "\0 caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9f "
    "\x80 \xc0\xaf \xc3 \xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xf8 \xff "
    "\xe2\x82";

static const struct fxt_record tables[] = {
    { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 },
    { .kind = FXT_RECORD_PROVIDER_INFO, .name = TEXT("every kind"), .value.provider.id = 7 },
    { .kind = FXT_RECORD_PROVIDER_SECTION, .value.provider.id = 7 },
    { .kind = FXT_RECORD_INIT,
      .value.init = { .ticks_per_second = 3,
                      .base_ticks = 100,
                      .base_time_ns = 1700000000123456789,
                      .extended = true } },
    { .kind = FXT_RECORD_STRING, .name = TEXT("category"), .value.table.index = CATEGORY },
    { .kind = FXT_RECORD_STRING, .name = TEXT("name"), .value.table.index = NAME },
    { .kind = FXT_RECORD_STRING, .name = TEXT(wild), .value.table.index = WILD },
    { .kind = FXT_RECORD_THREAD,
      .thread = { .process = 10, .thread = 11 },
      .value.table.index = 1 },
    { .kind = FXT_RECORD_THREAD,
      .thread = { .process = UINT64_MAX, .thread = UINT64_C(1) << 63 },
      .value.table.index = 255 },
};

static const struct fxt_arg limits[] = {
    { .type = FXT_ARG_NULL, .name = TEXT("null") },
    { .type = FXT_ARG_INT32, .name = TEXT("int32"), .value.int32 = INT32_MIN },
    { .type = FXT_ARG_UINT32, .name = TEXT("uint32"), .value.uint32 = UINT32_MAX },
    { .type = FXT_ARG_INT64, .name = TEXT("int64"), .value.int64 = INT64_MIN },
    { .type = FXT_ARG_UINT64, .name = TEXT("uint64"), .value.uint64 = UINT64_MAX },
    { .type = FXT_ARG_POINTER, .name = TEXT("pointer"), .value.uint64 = 0x7fff00001000 },
    { .type = FXT_ARG_KOID, .name = TEXT("koid"), .value.uint64 = UINT64_C(1) << 63 },
    { .type = FXT_ARG_BOOL, .name = TEXT("true"), .value.boolean = true },
    { .type = FXT_ARG_BOOL, .name = TEXT("false"), .value.boolean = false },
    { .type = FXT_ARG_BLOB, .name = TEXT("blob"), .value.blob = BYTES("\x00\x01\xfe\xff") },
    { .type = FXT_ARG_UNKNOWN, .name = TEXT("unknown"), .value.unknown_type = 15 },
};

static const struct fxt_arg texts[] = {
    { .type = FXT_ARG_STRING, .name = STRING_REF(NAME), .value.string = STRING_REF(WILD) },
    { .type = FXT_ARG_STRING, .name = TEXT(wild), .value.string = TEXT("inline") },
    { .type = FXT_ARG_STRING, .name = { .bytes = "" }, .value.string = { .bytes = "" } },
    { .type = FXT_ARG_STRING, .name = STRING_REF(MISSING), .value.string = STRING_REF(MISSING) },
};

static const struct fxt_arg numbers[] = {
    { .type = FXT_ARG_DOUBLE, .name = TEXT("tenth"), .value.number = 0.1 },
    { .type = FXT_ARG_DOUBLE, .name = TEXT("large"), .value.number = 1.7976931348623157e308 },
    { .type = FXT_ARG_DOUBLE, .name = TEXT("denormal"), .value.number = 5e-324 },
    { .type = FXT_ARG_DOUBLE, .name = TEXT("minus zero"), .value.number = -0.0 },
    { .type = FXT_ARG_DOUBLE, .name = TEXT("infinity"), .value.number = INFINITY },
    { .type = FXT_ARG_DOUBLE, .name = TEXT("minus infinity"), .value.number = -INFINITY },
    { .type = FXT_ARG_DOUBLE, .name = TEXT("nan"), .value.number = NAN },
};

static const struct fxt_arg weights[] = {
    { .type = FXT_ARG_INT32, .name = TEXT("incoming_weight"), .value.int32 = 40 },
    { .type = FXT_ARG_INT32, .name = TEXT("outgoing_weight"), .value.int32 = INT32_MIN },
};

static const struct fxt_arg waker[] = {
    { .type = FXT_ARG_KOID, .name = TEXT("waker"), .value.uint64 = 71 },
};

static const struct fxt_arg process[] = {
    { .type = FXT_ARG_KOID, .name = TEXT("process"), .value.uint64 = 77 },
};

#define EVENT(event_type, tick, ...)                                                 \
    {                                                                                \
        .kind = FXT_RECORD_EVENT, .ticks = (tick), .thread = { .index = 1 },         \
        .category = STRING_REF(CATEGORY), .name = STRING_REF(NAME), .value.event = { \
            .type = (event_type),                                                    \
            __VA_ARGS__                                                              \
        }                                                                            \
    }

static const struct fxt_record events[] = {
    EVENT(FXT_EVENT_INSTANT, 99, .scope = 0), /* before the base */
    EVENT(FXT_EVENT_INSTANT, 100, .has_scope = true, .scope = FXT_SCOPE_THREAD),
    EVENT(FXT_EVENT_INSTANT, 101, .has_scope = true, .scope = FXT_SCOPE_PROCESS),
    EVENT(FXT_EVENT_INSTANT, 102, .has_scope = true, .scope = FXT_SCOPE_GLOBAL),
    EVENT(FXT_EVENT_INSTANT, 103, .has_scope = true, .scope = 99),
    EVENT(FXT_EVENT_COUNTER, 104, .id = UINT64_MAX),
    EVENT(FXT_EVENT_DURATION_BEGIN, 105, .id = 0),
    EVENT(FXT_EVENT_DURATION_END, 106, .id = 0),
    EVENT(FXT_EVENT_DURATION_COMPLETE, 107, .end_ticks = 110),
    EVENT(FXT_EVENT_ASYNC_BEGIN, 108, .id = 1),
    EVENT(FXT_EVENT_ASYNC_INSTANT, 109, .id = 2),
    EVENT(FXT_EVENT_ASYNC_END, 110, .id = 3),
    EVENT(FXT_EVENT_FLOW_BEGIN, 111, .id = 4),
    EVENT(FXT_EVENT_FLOW_STEP, 112, .id = 5),
    EVENT(FXT_EVENT_FLOW_END, 113, .id = 6),
    EVENT(15, 114, .rest = WORDS("\x01\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff")),
    { .kind = FXT_RECORD_EVENT, /* everything inline */
      .ticks = 115,
      .thread = { .process = 20, .thread = 21 },
      .category = TEXT(wild),
      .name = TEXT("inline"),
      .args = limits,
      .arg_count = ROWS(limits) },
    { .kind = FXT_RECORD_EVENT,
      .ticks = 116,
      .thread = { .index = 255 },
      .args = texts,
      .arg_count = ROWS(texts) },
    { .kind = FXT_RECORD_EVENT,
      .ticks = 117,
      .thread = { .index = MISSING },
      .category = STRING_REF(MISSING),
      .name = STRING_REF(MISSING),
      .args = numbers,
      .arg_count = ROWS(numbers) },
};

static const struct fxt_record others[] = {
    { .kind = FXT_RECORD_BLOB,
      .name = TEXT("snapshot"),
      .value.blob = { .type = 3, .payload = BYTES("\x0a\x03\x01\x02\x03") } },
    { .kind = FXT_RECORD_USERSPACE_OBJECT,
      .thread = { .index = 1 },
      .name = TEXT("object"),
      .args = weights,
      .arg_count = 1,
      .value.object.pointer = 0x7fff00001000 },
    { .kind = FXT_RECORD_KERNEL_OBJECT,
      .name = TEXT("app"),
      .value.object = { .type = FXT_OBJECT_PROCESS, .koid = 77 } },
    { .kind = FXT_RECORD_KERNEL_OBJECT,
      .name = STRING_REF(WILD),
      .args = process,
      .arg_count = 1,
      .value.object = { .type = FXT_OBJECT_THREAD, .koid = 78 } },
    { .kind = FXT_RECORD_CONTEXT_SWITCH,
      .ticks = 118,
      .args = weights,
      .arg_count = ROWS(weights),
      .value
          .sched = { .cpu = 65535, .outgoing_state = 3, .outgoing_tid = 71, .incoming_tid = 72 } },
    { .kind = FXT_RECORD_CONTEXT_SWITCH,
      .ticks = 119,
      .value.sched = { .cpu = 0, .outgoing_state = 15, .outgoing_tid = 72, .incoming_tid = 71 } },
    { .kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH,
      .ticks = 120,
      .value.sched = { .cpu = 255,
                       .outgoing_state = 5,
                       .outgoing = { .process = 30, .thread = 31 },
                       .incoming = { .index = 1 },
                       .outgoing_priority = 16,
                       .incoming_priority = 31 } },
    { .kind = FXT_RECORD_THREAD_WAKEUP,
      .ticks = 121,
      .args = waker,
      .arg_count = 1,
      .value.sched = { .cpu = 3, .incoming_tid = 72 } },
    { .kind = FXT_RECORD_LOG,
      .ticks = 122,
      .thread = { .index = 1 },
      .value.log.message = TEXT("disk is \"hot\"\n") },
    { .kind = FXT_RECORD_BACKTRACE,
      .ticks = 123,
      .thread = { .process = 77, .thread = 78 },
      .value.backtrace.frames = WORDS("\x34\x12\x34\xd2\x41\0\0\0\x20\x01\x34\xd2\x41\0\0\0") },
    { .kind = FXT_RECORD_MODULE,
      .ticks = 123,
      .thread = { .process = 77 },
      .name = TEXT("libdemo.so"),
      .value.module = { .id = 513, .build_id = BYTES("\xca\xfe\x01\x23") } },
    { .kind = FXT_RECORD_MAPPING,
      .ticks = 123,
      .thread = { .process = 77 },
      .value.mapping = { .module_id = 513,
                         .flags = 5,
                         .start = 0x41d2340120,
                         .length = UINT64_MAX,
                         .vaddr = 0x1120 } },
    { .kind = FXT_RECORD_LARGE_BLOB, /* a stack of the kernel sampler */
      .ticks = 124,
      .thread = { .process = 77, .thread = 78 },
      .value.large_blob.payload = BYTES(
          "\x34\x12\x34\xd2\x41\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff") },
    { .kind = FXT_RECORD_LARGE_BLOB,
      .ticks = 125,
      .thread = { .index = 1 },
      .category = STRING_REF(CATEGORY),
      .name = TEXT("payload"),
      .args = waker,
      .arg_count = 1,
      .value.large_blob.payload = BYTES("12345") },
    { .kind = FXT_RECORD_LARGE_BLOB,
      .category = TEXT("without metadata"),
      .value.large_blob = { .format = 1, .payload = BYTES("") } },
    { .kind = FXT_RECORD_UNKNOWN,
      .value.unknown = { .type = 11, .words = WORDS("\x2b\0\x34\x12\0\0\0\0\x01\0\0\0\0\0\0\0") } },
    { .kind = FXT_RECORD_PROVIDER_EVENT, .value.provider = { .id = 8, .event = 0 } },
    { .kind = FXT_RECORD_PROVIDER_EVENT, .value.provider = { .id = 7, .event = 9 } },
    { .kind = FXT_RECORD_PROVIDER_SECTION, .value.provider.id = 8 },
    { .kind = FXT_RECORD_INIT, .value.init.ticks_per_second = 24000000 },
};

enum fxt_status every_kind_write(struct fxt_writer *writer)
{
    static const struct {
        const struct fxt_record *records;
        size_t count;
    } parts[] = { { tables, ROWS(tables) }, { events, ROWS(events) }, { others, ROWS(others) } };

    for (size_t part = 0; part < ROWS(parts); part++) {
        for (size_t i = 0; i < parts[part].count; i++) {
            enum fxt_status status = fxt_writer_record(writer, &parts[part].records[i], NULL);

            if (status != FXT_OK)
                return status;
        }
    }
    return FXT_OK;
}
