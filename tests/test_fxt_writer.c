/* The writer against the byte vectors of docs/formats/fxt.md section 7 and the rules of its
 * section 5.  */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fxt.h>
#include "tests/support/allocation.h"
#include "tests/support/hex_text.h"
#include "tests/support/pass_on.h"

/* ---- What the writer writes to ---- */

struct sink {
    uint8_t bytes[1 << 17];
    size_t used;
    unsigned calls;
    unsigned fail_at; /* the call that fails; 0 for none */
    int failure;
};

static int sink_write(void *context, const void *bytes, size_t size)
{
    struct sink *sink = context;

    sink->calls++;
    if (sink->calls == sink->fail_at)
        return sink->failure;
    if (size > sizeof sink->bytes - sink->used) /* not an assertion: those allocate */
        return ENOSPC;
    memcpy(sink->bytes + sink->used, bytes, size);
    sink->used += size;
    return 0;
}

static struct sink sink;
static struct fxt_writer *writer;
static struct fxt_error error;

static void open_writer(void)
{
    memset(&sink, 0, sizeof sink);
    memset(&error, 0, sizeof error);
    ck_assert_int_eq(fxt_writer_open(sink_write, &sink, &writer, &error), FXT_OK);
}

static void close_writer(void)
{
    fxt_writer_close(writer);
}

static void write_ok(const struct fxt_record *record)
{
    ck_assert_msg(fxt_writer_record(writer, record, &error) == FXT_OK, "%s", error.message);
}

/* ---- The vectors of section 7 ---- */

#define TEXT(text)                                  \
    {                                               \
        .bytes = (text), .length = sizeof(text) - 1 \
    }
#define AT(i)                     \
    {                             \
        .bytes = "", .index = (i) \
    }
#define KOIDS(pid, tid)                   \
    {                                     \
        .process = (pid), .thread = (tid) \
    }
#define THREAD_AT(i) \
    {                \
        .index = (i) \
    }
#define BYTES(text)                                                  \
    {                                                                \
        .bytes = (const uint8_t *)(text), .length = sizeof(text) - 1 \
    }
#define WORDS(text)                                                       \
    {                                                                     \
        .bytes = (const uint8_t *)(text), .count = (sizeof(text) - 1) / 8 \
    }
#define TWO_FRAMES                     \
    WORDS("\x34\x12\x34\xd2\x41\0\0\0" \
          "\x20\x01\x34\xd2\x41\0\0\0")
#define ARGS(...)                                    \
    .args = (const struct fxt_arg[]){ __VA_ARGS__ }, \
    .arg_count = sizeof((const struct fxt_arg[]){ __VA_ARGS__ }) / sizeof(struct fxt_arg)

struct vector {
    const char *name; /* as in section 7; left out there: what no writer may write */
    const char *hex;
    size_t count;
    struct fxt_record records[7];
};

static const struct vector vectors[] = {
    { "V1 magic",
      "10 00 04 46 78 54 16 00",
      1,
      { { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 } } },
    { "V2 provider info",
      "20 00 81 67 45 23 31 00"
      "61 62 63 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_PROVIDER_INFO,
          .name = TEXT("abc"),
          .value.provider.id = 0x12345678 } } },
    { "V3 provider section",
      "10 00 72 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_PROVIDER_SECTION, .value.provider.id = 7 } } },
    { "V4 provider event",
      "10 00 73 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_PROVIDER_EVENT, .value.provider.id = 7 } } },
    { "V5 init",
      "21 00 00 00 00 00 00 00"
      "00 36 6e 01 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_INIT, .value.init.ticks_per_second = 24000000 } } },
    { "V6 init extended",
      "41 00 00 00 00 00 00 00"
      "00 ca 9a 3b 00 00 00 00"
      "00 00 00 00 00 00 00 00"
      "15 cd 85 3d fe 9c 97 17",
      1,
      { { .kind = FXT_RECORD_INIT,
          .value.init = { .ticks_per_second = 1000000000,
                          .base_time_ns = 1700000000123456789,
                          .extended = true } } } },
    { "V7 string",
      "32 00 ff 7f 09 00 00 00"
      "68 65 6c 6c 6f c3 a9 2e"
      "2e 00 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_STRING,
          .name = TEXT("hello\xc3\xa9.."),
          .value.table.index = 0x7fff } } },
    { "V8 thread",
      "33 00 ff 00 00 00 00 00"
      "1f 14 00 00 00 00 00 00"
      "76 18 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_THREAD, .thread = KOIDS(5151, 6262), .value.table.index = 255 } } },
    { "V9 instant",
      "74 00 10 00 03 80 08 80"
      "e8 03 00 00 00 00 00 00"
      "0a 00 00 00 00 00 00 00"
      "14 00 00 00 00 00 00 00"
      "63 61 74 00 00 00 00 00"
      "69 6e 73 74 61 6e 74 73"
      "11 00 05 00 d6 ff ff ff",
      1,
      { { .kind = FXT_RECORD_EVENT,
          .ticks = 1000,
          .thread = KOIDS(10, 20),
          .category = TEXT("cat"),
          .name = TEXT("instants"),
          .value.event.type = FXT_EVENT_INSTANT,
          ARGS({ .type = FXT_ARG_INT32, .name = AT(5), .value.int32 = -42 }) } } },
    { "V10 duration complete",
      "94 00 24 ff 01 00 02 00"
      "b8 0b 00 00 00 00 00 00"
      "36 00 04 80 06 80 00 00"
      "70 61 74 68 00 00 00 00"
      "2f 74 6d 70 2f 78 00 00"
      "37 00 04 80 00 00 00 00"
      "73 65 6c 66 00 00 00 00"
      "de c0 b0 5a 00 00 00 00"
      "74 0e 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_EVENT,
          .ticks = 3000,
          .thread = THREAD_AT(255),
          .category = AT(1),
          .name = AT(2),
          .value.event = { .type = FXT_EVENT_DURATION_COMPLETE, .end_ticks = 3700 },
          ARGS({ .type = FXT_ARG_STRING, .name = TEXT("path"), .value.string = TEXT("/tmp/x") },
               { .type = FXT_ARG_POINTER, .name = TEXT("self"), .value.uint64 = 0x5ab0c0de }) } } },
    { "V11 counter",
      "74 00 21 01 00 00 03 00"
      "05 00 00 00 00 00 00 00"
      "24 00 04 00 00 00 00 00"
      "ff ff ff ff ff ff ff ff"
      "25 00 05 00 00 00 00 00"
      "00 00 00 00 00 00 04 c0"
      "4d 00 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_EVENT,
          .ticks = 5,
          .thread = THREAD_AT(1),
          .name = AT(3),
          .value.event = { .type = FXT_EVENT_COUNTER, .id = 77 },
          ARGS({ .type = FXT_ARG_UINT64, .name = AT(4), .value.uint64 = UINT64_MAX },
               { .type = FXT_ARG_DOUBLE, .name = AT(5), .value.number = -2.5 }) } } },
    { "V12 every argument type",
      "34 01 b0 01 01 00 02 00"
      "09 00 00 00 00 00 00 00"
      "10 00 01 00 00 00 00 00"
      "11 00 01 00 00 00 00 80"
      "12 00 01 00 ff ff ff ff"
      "23 00 01 00 00 00 00 00"
      "00 00 00 00 00 00 00 80"
      "24 00 01 00 00 00 00 00"
      "00 00 00 00 00 00 00 80"
      "25 00 01 00 00 00 00 00"
      "00 00 00 00 00 00 f0 3f"
      "16 00 01 00 02 00 00 00"
      "27 00 01 00 00 00 00 00"
      "ef be ad de 00 00 00 00"
      "28 00 01 00 00 00 00 00"
      "d2 04 00 00 00 00 00 00"
      "19 00 01 00 01 00 00 00"
      "2a 00 01 00 03 00 00 00"
      "01 02 03 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_EVENT,
          .ticks = 9,
          .thread = THREAD_AT(1),
          .category = AT(1),
          .name = AT(2),
          .value.event.type = FXT_EVENT_INSTANT,
          ARGS({ .type = FXT_ARG_NULL, .name = AT(1) },
               { .type = FXT_ARG_INT32, .name = AT(1), .value.int32 = INT32_MIN },
               { .type = FXT_ARG_UINT32, .name = AT(1), .value.uint32 = UINT32_MAX },
               { .type = FXT_ARG_INT64, .name = AT(1), .value.int64 = INT64_MIN },
               { .type = FXT_ARG_UINT64, .name = AT(1), .value.uint64 = UINT64_C(1) << 63 },
               { .type = FXT_ARG_DOUBLE, .name = AT(1), .value.number = 1.0 },
               { .type = FXT_ARG_STRING, .name = AT(1), .value.string = AT(2) },
               { .type = FXT_ARG_POINTER, .name = AT(1), .value.uint64 = 0xdeadbeef },
               { .type = FXT_ARG_KOID, .name = AT(1), .value.uint64 = 1234 },
               { .type = FXT_ARG_BOOL, .name = AT(1), .value.boolean = true },
               { .type = FXT_ARG_BLOB, .name = AT(1), .value.blob = BYTES("\1\2\3") }) } } },
    { "V13 flow begin, step, end",
      "34 00 08 01 00 00 00 00"
      "12 00 00 00 00 00 00 00"
      "64 00 00 00 00 00 00 00"
      "34 00 09 01 00 00 00 00"
      "13 00 00 00 00 00 00 00"
      "64 00 00 00 00 00 00 00"
      "34 00 0a 01 00 00 00 00"
      "14 00 00 00 00 00 00 00"
      "64 00 00 00 00 00 00 00",
      3,
      { { .kind = FXT_RECORD_EVENT,
          .ticks = 18,
          .thread = THREAD_AT(1),
          .value.event = { .type = FXT_EVENT_FLOW_BEGIN, .id = 100 } },
        { .kind = FXT_RECORD_EVENT,
          .ticks = 19,
          .thread = THREAD_AT(1),
          .value.event = { .type = FXT_EVENT_FLOW_STEP, .id = 100 } },
        { .kind = FXT_RECORD_EVENT,
          .ticks = 20,
          .thread = THREAD_AT(1),
          .value.event = { .type = FXT_EVENT_FLOW_END, .id = 100 } } } },
    { "V14 blob",
      "45 00 09 80 05 00 03 00"
      "73 6e 61 70 73 68 6f 74"
      "39 00 00 00 00 00 00 00"
      "0a 03 01 02 03 00 00 00",
      1,
      { { .kind = FXT_RECORD_BLOB,
          .name = TEXT("snapshot9"),
          .value.blob = { .type = 3, .payload = BYTES("\x0a\x03\x01\x02\x03") } } } },
    { "V15 userspace object, documented form",
      "56 00 00 03 80 01 00 00"
      "00 10 00 00 ff 7f 00 00"
      "2a 00 00 00 00 00 00 00"
      "6f 62 6a 00 00 00 00 00"
      "12 00 01 00 07 00 00 00",
      1,
      { { .kind = FXT_RECORD_USERSPACE_OBJECT,
          .thread = KOIDS(42, 0),
          .name = TEXT("obj"),
          .value.object.pointer = 0x7fff00001000,
          ARGS({ .type = FXT_ARG_UINT32, .name = AT(1), .value.uint32 = 7 }) } } },
    { "V17 kernel object",
      "67 00 02 06 80 01 00 00"
      "76 18 00 00 00 00 00 00"
      "77 6f 72 6b 65 72 00 00"
      "38 00 07 80 00 00 00 00"
      "70 72 6f 63 65 73 73 00"
      "1f 14 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_KERNEL_OBJECT,
          .name = TEXT("worker"),
          .value.object = { .type = FXT_OBJECT_THREAD, .koid = 6262 },
          ARGS({ .type = FXT_ARG_KOID, .name = TEXT("process"), .value.uint64 = 5151 }) } } },
    { "V18 legacy context switch",
      "48 00 03 03 f0 0f f1 01"
      "f4 01 00 00 00 00 00 00"
      "01 00 00 00 00 00 00 00"
      "02 00 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH,
          .ticks = 500,
          .value.sched = { .cpu = 3,
                           .outgoing_state = 3,
                           .outgoing = KOIDS(1, 2),
                           .incoming = THREAD_AT(255),
                           .outgoing_priority = 16,
                           .incoming_priority = 31 } } } },
    { "V19 context switch",
      "a8 00 c2 12 30 00 00 10"
      "28 23 00 00 00 00 00 00"
      "47 00 00 00 00 00 00 00"
      "48 00 00 00 00 00 00 00"
      "31 00 0f 80 28 00 00 00"
      "69 6e 63 6f 6d 69 6e 67"
      "5f 77 65 69 67 68 74 00"
      "31 00 0f 80 00 00 00 80"
      "6f 75 74 67 6f 69 6e 67"
      "5f 77 65 69 67 68 74 00",
      1,
      { { .kind = FXT_RECORD_CONTEXT_SWITCH,
          .ticks = 9000,
          .value
              .sched = { .cpu = 300, .outgoing_state = 3, .outgoing_tid = 71, .incoming_tid = 72 },
          ARGS({ .type = FXT_ARG_INT32, .name = TEXT("incoming_weight"), .value.int32 = 40 },
               { .type = FXT_ARG_INT32,
                 .name = TEXT("outgoing_weight"),
                 .value.int32 = INT32_MIN }) } } },
    { "V20 thread wakeup",
      "68 00 f1 ff 0f 00 00 20"
      "40 1f 00 00 00 00 00 00"
      "48 00 00 00 00 00 00 00"
      "38 00 05 80 00 00 00 00"
      "77 61 6b 65 72 00 00 00"
      "47 00 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_THREAD_WAKEUP,
          .ticks = 8000,
          .value.sched = { .cpu = 65535, .incoming_tid = 72 },
          ARGS({ .type = FXT_ARG_KOID, .name = TEXT("waker"), .value.uint64 = 71 }) } } },
    { "V21 log",
      "69 00 0b 00 00 00 00 00"
      "dc 05 00 00 00 00 00 00"
      "21 00 00 00 00 00 00 00"
      "22 00 00 00 00 00 00 00"
      "64 69 73 6b 20 69 73 20"
      "68 6f 74 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_LOG,
          .ticks = 1500,
          .thread = KOIDS(33, 34),
          .value.log.message = TEXT("disk is hot") } } },
    { "V22 profiler module",
      "9a 00 00 10 20 a0 40 01"
      "30 11 00 00 00 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00"
      "6c 69 62 64 65 6d 6f 2e"
      "73 6f 00 00 00 00 00 00"
      "a1 b2 c3 d4 e5 f6 07 18"
      "29 3a 4b 5c 6d 7e 8f 90"
      "01 12 23 34 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_MODULE,
          .ticks = 4400,
          .thread = KOIDS(77, 0),
          .name = TEXT("libdemo.so"),
          .value.module = { .id = 513,
                            .build_id = BYTES("\xa1\xb2\xc3\xd4\xe5\xf6\x07\x18\x29\x3a"
                                              "\x4b\x5c\x6d\x7e\x8f\x90\x01\x12\x23\x34") } } } },
    { "V23 profiler mapping",
      "7a 00 01 10 20 50 00 00"
      "30 11 00 00 00 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00"
      "20 01 34 d2 41 00 00 00"
      "31 2f 00 00 00 00 00 00"
      "20 11 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_MAPPING,
          .ticks = 4400,
          .thread = KOIDS(77, 0),
          .value.mapping = { .module_id = 513,
                             .flags = 5,
                             .start = 0x41d2340120,
                             .length = 0x2f31,
                             .vaddr = 0x1120 } } } },
    { "V24 profiler backtrace",
      "6a 00 02 20 00 00 00 00"
      "30 11 00 00 00 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "4e 00 00 00 00 00 00 00"
      "34 12 34 d2 41 00 00 00"
      "20 01 34 d2 41 00 00 00",
      1,
      { { .kind = FXT_RECORD_BACKTRACE,
          .ticks = 4400,
          .thread = KOIDS(77, 78),
          .value.backtrace.frames = TWO_FRAMES } } },
    { "V25 large blob with metadata (kernel sampler shape)",
      "8f 00 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00"
      "40 e2 01 00 00 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "4e 00 00 00 00 00 00 00"
      "10 00 00 00 00 00 00 00"
      "34 12 34 d2 41 00 00 00"
      "20 01 34 d2 41 00 00 00",
      1,
      { { .kind = FXT_RECORD_LARGE_BLOB,
          .ticks = 123456,
          .thread = KOIDS(77, 78),
          .value.large_blob.payload = BYTES("\x34\x12\x34\xd2\x41\0\0\0"
                                            "\x20\x01\x34\xd2\x41\0\0\0") } } },
    { "V26 large blob without metadata",
      "5f 00 00 00 00 01 00 00"
      "03 80 02 00 00 00 00 00"
      "63 61 74 00 00 00 00 00"
      "05 00 00 00 00 00 00 00"
      "31 32 33 34 35 00 00 00",
      1,
      { { .kind = FXT_RECORD_LARGE_BLOB,
          .category = TEXT("cat"),
          .name = AT(2),
          .value.large_blob = { .format = 1, .payload = BYTES("12345") } } } },
    { "V27 zero padding then a record: the record",
      "33 00 01 00 00 00 00 00"
      "03 00 00 00 00 00 00 00"
      "04 00 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_THREAD, .thread = KOIDS(3, 4), .value.table.index = 1 } } },
    { "V30 unknown record type",
      "3b 00 34 12 00 00 00 00"
      "01 00 00 00 00 00 00 00"
      "02 00 00 00 00 00 00 00"
      "10 00 04 46 78 54 16 00",
      2,
      { { .kind = FXT_RECORD_UNKNOWN,
          .value.unknown = { .type = 11,
                             .words = WORDS("\x3b\0\x34\x12\0\0\0\0"
                                            "\1\0\0\0\0\0\0\0"
                                            "\2\0\0\0\0\0\0\0") } },
        { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 } } },
    { "V32 instant with scope word",
      "34 00 00 01 01 00 02 00"
      "32 00 00 00 00 00 00 00"
      "02 00 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_EVENT,
          .ticks = 50,
          .thread = THREAD_AT(1),
          .category = AT(1),
          .name = AT(2),
          .value.event = { .type = FXT_EVENT_INSTANT,
                           .has_scope = true,
                           .scope = FXT_SCOPE_GLOBAL } } } },
    { "V33 mapping through a thread index",
      "5a 00 91 f0 ff 4f 00 00"
      "01 00 00 00 00 00 00 00"
      "00 10 00 00 00 00 00 00"
      "00 20 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00",
      1,
      { { .kind = FXT_RECORD_MAPPING,
          .ticks = 1,
          .thread = THREAD_AT(9),
          .value.mapping = { .module_id = 65535,
                             .flags = 4,
                             .start = 0x1000,
                             .length = 0x2000 } } } },
    { "V36 smallest complete CPU profile",
      "10 00 04 46 78 54 16 00"
      "21 00 00 00 00 00 00 00"
      "00 ca 9a 3b 00 00 00 00"
      "37 00 01 03 80 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "61 70 70 00 00 00 00 00"
      "37 00 02 04 80 00 00 00"
      "4e 00 00 00 00 00 00 00"
      "6d 61 69 6e 00 00 00 00"
      "6a 00 02 20 00 00 00 00"
      "30 11 00 00 00 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "4e 00 00 00 00 00 00 00"
      "34 12 34 d2 41 00 00 00"
      "20 01 34 d2 41 00 00 00"
      "6a 00 00 00 00 30 40 00"
      "30 11 00 00 00 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00"
      "61 70 70 00 00 00 00 00"
      "ca fe 01 23 00 00 00 00"
      "7a 00 01 00 00 50 00 00"
      "30 11 00 00 00 00 00 00"
      "4d 00 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00"
      "20 01 34 d2 41 00 00 00"
      "31 2f 00 00 00 00 00 00"
      "20 11 00 00 00 00 00 00",
      7,
      { { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 },
        { .kind = FXT_RECORD_INIT, .value.init.ticks_per_second = 1000000000 },
        { .kind = FXT_RECORD_KERNEL_OBJECT,
          .name = TEXT("app"),
          .value.object = { .type = FXT_OBJECT_PROCESS, .koid = 77 } },
        { .kind = FXT_RECORD_KERNEL_OBJECT,
          .name = TEXT("main"),
          .value.object = { .type = FXT_OBJECT_THREAD, .koid = 78 } },
        { .kind = FXT_RECORD_BACKTRACE,
          .ticks = 4400,
          .thread = KOIDS(77, 78),
          .value.backtrace.frames = TWO_FRAMES },
        { .kind = FXT_RECORD_MODULE,
          .ticks = 4400,
          .thread = KOIDS(77, 0),
          .name = TEXT("app"),
          .value.module.build_id = BYTES("\xca\xfe\x01\x23") },
        { .kind = FXT_RECORD_MAPPING,
          .ticks = 4400,
          .thread = KOIDS(77, 0),
          .value.mapping = { .flags = 5,
                             .start = 0x41d2340120,
                             .length = 0x2f31,
                             .vaddr = 0x1120 } } } },
};

START_TEST(writes_the_bytes_of_the_format_notes)
{
    const struct vector *vector = &vectors[_i];
    uint8_t expected[512];
    size_t length = hex_bytes(vector->hex, expected, sizeof expected);

    for (size_t i = 0; i < vector->count; i++)
        write_ok(&vector->records[i]);
    ck_assert_msg(sink.used == length, "%s: %zu bytes, not %zu", vector->name, sink.used, length);
    for (size_t i = 0; i < length; i++)
        ck_assert_msg(sink.bytes[i] == expected[i], "%s: byte %zu is %02x, not %02x", vector->name,
                      i, sink.bytes[i], expected[i]);
    ck_assert_uint_eq(sink.calls, vector->count); /* one call a record */
    ck_assert_uint_eq(fxt_writer_bytes(writer), length);
}
END_TEST

/* ---- Event tails ---- */

static const struct {
    unsigned type;
    size_t words;  /* of the record */
    uint64_t last; /* its last word */
} events[] = {
    { FXT_EVENT_INSTANT, 2, 50 },
    { FXT_EVENT_COUNTER, 3, 7 },
    { FXT_EVENT_DURATION_BEGIN, 2, 50 },
    { FXT_EVENT_DURATION_END, 2, 50 },
    { FXT_EVENT_DURATION_COMPLETE, 3, 90 },
    { FXT_EVENT_ASYNC_BEGIN, 3, 7 },
    { FXT_EVENT_ASYNC_INSTANT, 3, 7 },
    { FXT_EVENT_ASYNC_END, 3, 7 },
    { FXT_EVENT_FLOW_BEGIN, 3, 7 },
    { FXT_EVENT_FLOW_STEP, 3, 7 },
    { FXT_EVENT_FLOW_END, 3, 7 },
    { 11, 4, 0xbb },
    { 15, 4, 0xbb },
};

START_TEST(ends_an_event_with_the_word_of_its_type)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_EVENT,
        .ticks = 50,
        .thread = THREAD_AT(1),
        .value.event = { .type = events[_i].type,
                         .id = 7,
                         .end_ticks = 90,
                         .rest = WORDS("\xaa\0\0\0\0\0\0\0"
                                       "\xbb\0\0\0\0\0\0\0") },
    };

    write_ok(&record);
    ck_assert_uint_eq(sink.used, 8 * events[_i].words);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes) >> 16 & 15, events[_i].type);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes + sink.used - 8), events[_i].last);
}
END_TEST

START_TEST(writes_an_argument_of_unknown_type_without_value)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_EVENT,
        .thread = THREAD_AT(1),
        ARGS({ .type = FXT_ARG_UNKNOWN, .name = TEXT("odd"), .value.unknown_type = 13 }),
    };

    write_ok(&record);
    ck_assert_uint_eq(sink.used, 32);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes + 16), UINT64_C(0x8003002d));
    ck_assert_mem_eq(sink.bytes + 24, "odd\0\0\0\0", 8);
}
END_TEST

/* ---- Strings ---- */

static char long_text[100000];

/* Write long_text, made of repeated pieces, as a string record; return the length it got.  */
static size_t written_length(const char *piece, uint32_t length)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_STRING,
        .name = { .bytes = long_text, .length = length },
        .value.table.index = 1,
    };
    size_t size = strlen(piece);

    for (size_t i = 0; i < sizeof long_text; i++)
        long_text[i] = piece[i % size];
    write_ok(&record);
    ck_assert_mem_eq(sink.bytes + 8, long_text, fxt_load_u64(sink.bytes) >> 32);
    return (size_t)(fxt_load_u64(sink.bytes) >> 32);
}

static const struct {
    const char *piece;
    uint32_t length;
    size_t written;
} cuts[] = {
    { "x", 31999, 31999 },
    { "x", 32000, 31999 },
    { "x", 40000, 31999 },
    { "\xc3\xa9", 40000, 31998 },         /* 2-byte characters */
    { "\xe2\x82\xac", 40000, 31998 },     /* 3-byte characters; 31,998 is divisible by 3 */
    { "\xf0\x9f\x98\x80", 40000, 31996 }, /* 4-byte characters */
    { "\x80", 40000, 31999 },             /* not UTF-8: no character to keep whole */
};

START_TEST(cuts_long_text_before_a_whole_character)
{
    ck_assert_uint_eq(written_length(cuts[_i].piece, cuts[_i].length), cuts[_i].written);
}
END_TEST

START_TEST(cuts_inline_references_as_well)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_BLOB,
        .name = { .bytes = long_text, .length = 65536 }, /* its low 15 bits are 0 */
    };

    memset(long_text, 'x', sizeof long_text);
    write_ok(&record);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes) >> 16 & 0xffff, 0x8000 | 31999);
    ck_assert_uint_eq(sink.used, 8 + 32000);
    ck_assert_uint_eq(sink.bytes[8 + 31999], 0);
}
END_TEST

START_TEST(writes_the_empty_reference_for_empty_text)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_EVENT,
        .thread = THREAD_AT(1),
        .category = { .bytes = NULL },
        .name = TEXT(""),
    };

    write_ok(&record);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes) >> 32, 0);
    ck_assert_uint_eq(sink.used, 16);
}
END_TEST

START_TEST(keeps_bytes_that_are_not_utf_8)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_KERNEL_OBJECT,
        .name = TEXT("\xff\0\xc0\x22"),
        .value.object = { .type = FXT_OBJECT_PROCESS, .koid = 1 },
    };

    write_ok(&record);
    ck_assert_mem_eq(sink.bytes + 16, "\xff\0\xc0\x22\0\0\0\0", 8);
}
END_TEST

START_TEST(turns_text_into_an_inline_string)
{
    struct fxt_string string = fxt_inline("cpu-0");

    ck_assert_uint_eq(string.length, 5);
    ck_assert_mem_eq(string.bytes, "cpu-0", 5);
    ck_assert_uint_eq(string.index, 0);
    ck_assert(!string.missing);
    ck_assert_uint_eq(fxt_inline("").length, 0);
}
END_TEST

/* ---- Sizes ---- */

static const size_t large_sizes[] = { 4095, 4096, 4097, 8192 }; /* words */

START_TEST(gives_large_records_32_bits_of_size)
{
    size_t words = large_sizes[_i];
    struct fxt_record record = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .thread = KOIDS(1, 2),
        .value.large_blob.payload = { .bytes = (const uint8_t *)long_text,
                                      .length = 8 * (words - 6) - 3 },
    };

    memset(long_text, 'x', sizeof long_text);
    write_ok(&record);
    ck_assert_uint_eq(sink.used, 8 * words);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes), 15 | words << 4);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes + 40), 8 * (words - 6) - 3);
    ck_assert_mem_eq(sink.bytes + sink.used - 4, "x\0\0\0", 4);
}
END_TEST

START_TEST(writes_the_longest_ordinary_record)
{
    struct fxt_record record = {
        .kind = FXT_RECORD_BLOB,
        .name = { .bytes = long_text, .length = 8 },
        .value.blob.payload = { .bytes = (const uint8_t *)long_text, .length = 32760 - 16 },
    };

    write_ok(&record);
    ck_assert_uint_eq(sink.used, 32760);
    ck_assert_uint_eq(fxt_load_u64(sink.bytes) >> 4 & 0xfff, 4095);
}
END_TEST

static const struct {
    size_t frames;
    uint64_t count; /* in the header: 8 bits */
} deep_stacks[] = { { 255, 255 }, { 256, 255 }, { 300, 255 }, { 4091, 255 } };

START_TEST(writes_every_frame_of_a_stack_deeper_than_the_count)
{
    struct fxt_words frames = { (const uint8_t *)long_text, deep_stacks[_i].frames };
    struct fxt_record record = { .kind = FXT_RECORD_BACKTRACE,
                                 .thread = KOIDS(1, 2),
                                 .value.backtrace.frames = frames };
    uint64_t header;

    memset(long_text, 'x', sizeof long_text);
    write_ok(&record);
    header = fxt_load_u64(sink.bytes);
    ck_assert_uint_eq(sink.used, 8 * (4 + frames.count));
    ck_assert_uint_eq(header, 10 | (4 + frames.count) << 4 | 2 << 16 | deep_stacks[_i].count << 28);
    ck_assert_mem_eq(sink.bytes + 32, frames.bytes, 8 * frames.count);
}
END_TEST

/* ---- What does not fit ---- */

static const uint8_t some_bytes[70000];

#define SOME(n)                            \
    {                                      \
        .bytes = some_bytes, .length = (n) \
    }
#define LONG(n)                                          \
    {                                                    \
        .bytes = (const char *)some_bytes, .length = (n) \
    }
#define SIXTEEN_ARGS .args = (const struct fxt_arg[16]){ { .type = FXT_ARG_NULL } }, .arg_count = 16

static const struct {
    const char *says; /* part of the message */
    struct fxt_record record;
} invalid[] = {
    { "kind -1", { .kind = (enum fxt_record_kind) - 1 } },
    { "kind 20", { .kind = FXT_RECORD_KINDS } },
    { "provider's name 256", { .kind = FXT_RECORD_PROVIDER_INFO, .name = LONG(256) } },
    { "provider event 16", { .kind = FXT_RECORD_PROVIDER_EVENT, .value.provider.event = 16 } },
    { "string index 32768", { .kind = FXT_RECORD_STRING, .value.table.index = 32768 } },
    { "3 bytes at NULL", { .kind = FXT_RECORD_STRING, .name.length = 3 } },
    { "thread index 256", { .kind = FXT_RECORD_THREAD, .value.table.index = 256 } },
    { "event type 16", { .kind = FXT_RECORD_EVENT, .value.event.type = 16 } },
    { "16 arguments", { .kind = FXT_RECORD_EVENT, SIXTEEN_ARGS } },
    { "1 arguments at NULL", { .kind = FXT_RECORD_EVENT, .arg_count = 1 } },
    { "string index 40000", { .kind = FXT_RECORD_EVENT, .category.index = 40000 } },
    { "string index 32768", { .kind = FXT_RECORD_EVENT, .name.index = 32768 } },
    { "scope 2 but", { .kind = FXT_RECORD_EVENT, .value.event.scope = 2 } },
    { "event record of",
      { .kind = FXT_RECORD_EVENT, .category = LONG(20000), .name = LONG(20000) } },
    { "16 bytes at NULL",
      { .kind = FXT_RECORD_EVENT, .value.event = { .type = 12, .rest.count = 2 } } },
    { "does not fit in", { .kind = FXT_RECORD_BLOB, .value.blob.payload = SOME(32768) } },
    { "blob type 256", { .kind = FXT_RECORD_BLOB, .value.blob.type = 256 } },
    { "5 bytes at NULL", { .kind = FXT_RECORD_BLOB, .value.blob.payload.length = 5 } },
    { "object type 256", { .kind = FXT_RECORD_KERNEL_OBJECT, .value.object.type = 256 } },
    { "16 arguments", { .kind = FXT_RECORD_KERNEL_OBJECT, SIXTEEN_ARGS } },
    { "16 arguments", { .kind = FXT_RECORD_USERSPACE_OBJECT, SIXTEEN_ARGS } },
    { "CPU 65536", { .kind = FXT_RECORD_CONTEXT_SWITCH, .value.sched.cpu = 65536 } },
    { "thread state 16", { .kind = FXT_RECORD_CONTEXT_SWITCH, .value.sched.outgoing_state = 16 } },
    { "CPU 256", { .kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH, .value.sched.cpu = 256 } },
    { "thread state 16",
      { .kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH, .value.sched.outgoing_state = 16 } },
    { "outgoing priority 256",
      { .kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH, .value.sched.outgoing_priority = 256 } },
    { "incoming priority 256",
      { .kind = FXT_RECORD_LEGACY_CONTEXT_SWITCH, .value.sched.incoming_priority = 256 } },
    { "CPU 65536", { .kind = FXT_RECORD_THREAD_WAKEUP, .value.sched.cpu = 65536 } },
    { "log record with 1 arguments", { .kind = FXT_RECORD_LOG, ARGS({ .type = FXT_ARG_NULL }) } },
    { "module's name 256", { .kind = FXT_RECORD_MODULE, .name = LONG(256) } },
    { "build ID 256", { .kind = FXT_RECORD_MODULE, .value.module.build_id = SOME(256) } },
    { "mapping flags 8", { .kind = FXT_RECORD_MAPPING, .value.mapping.flags = 8 } },
    { "large blob of format 2", { .kind = FXT_RECORD_LARGE_BLOB, .value.large_blob.format = 2 } },
    { "large blob record with 1 arguments",
      { .kind = FXT_RECORD_LARGE_BLOB,
        .value.large_blob.format = 1,
        ARGS({ .type = FXT_ARG_NULL }) } },
    { "do not fit in a record",
      { .kind = FXT_RECORD_LARGE_BLOB, .value.large_blob.payload = SOME(UINT64_MAX) } },
    { "do not fit in a record",
      { .kind = FXT_RECORD_LARGE_BLOB, .value.large_blob.payload = SOME(UINT64_C(8) << 32) } },
    { "unknown record without words", { .kind = FXT_RECORD_UNKNOWN } },
    { "unknown record of 2 words whose header says 3",
      { .kind = FXT_RECORD_UNKNOWN,
        .value.unknown.words = WORDS("\x3b\0\0\0\0\0\0\0"
                                     "\0\0\0\0\0\0\0\0") } },
    { "unknown record of 1 words whose header says 4097",
      { .kind = FXT_RECORD_UNKNOWN, .value.unknown.words = WORDS("\x1f\0\1\0\x10\0\0\0") } },
    { "argument of type 12",
      { .kind = FXT_RECORD_EVENT, ARGS({ .type = (enum fxt_arg_type)12 }) } },
    { "argument of type -1",
      { .kind = FXT_RECORD_EVENT, ARGS({ .type = (enum fxt_arg_type) - 1 }) } },
    { "unknown type 10",
      { .kind = FXT_RECORD_EVENT, ARGS({ .type = FXT_ARG_UNKNOWN, .value.unknown_type = 10 }) } },
    { "unknown type 16",
      { .kind = FXT_RECORD_EVENT, ARGS({ .type = FXT_ARG_UNKNOWN, .value.unknown_type = 16 }) } },
    { "string index 32768",
      { .kind = FXT_RECORD_EVENT, ARGS({ .type = FXT_ARG_NULL, .name.index = 32768 }) } },
    { "string index 32768",
      { .kind = FXT_RECORD_EVENT, ARGS({ .type = FXT_ARG_STRING, .value.string.index = 32768 }) } },
    { "length of a blob argument 4294967296",
      { .kind = FXT_RECORD_EVENT,
        ARGS({ .type = FXT_ARG_BLOB, .value.blob = SOME(UINT64_C(1) << 32) }) } },
    { "blob argument of 4294967295 bytes",
      { .kind = FXT_RECORD_LARGE_BLOB,
        ARGS({ .type = FXT_ARG_BLOB, .value.blob = SOME(UINT32_MAX) }) } },
    { "argument of 4096 words",
      { .kind = FXT_RECORD_LARGE_BLOB,
        ARGS({ .type = FXT_ARG_BLOB, .value.blob = SOME(32760) }) } },
    { "argument of 5001 words",
      { .kind = FXT_RECORD_LARGE_BLOB,
        ARGS({ .type = FXT_ARG_STRING, .name = LONG(20000), .value.string = LONG(20000) }) } },
};

START_TEST(refuses_what_does_not_fit_and_writes_nothing)
{
    struct fxt_record good = { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 };

    write_ok(&good);
    ck_assert_int_eq(fxt_writer_record(writer, &invalid[_i].record, &error), FXT_INVALID);
    ck_assert_msg(strstr(error.message, invalid[_i].says) != NULL, "says: %s", error.message);
    ck_assert_int_eq(error.status, FXT_INVALID);
    ck_assert_int_eq(error.system_errno, 0);
    ck_assert_uint_eq(error.offset, 8);
    ck_assert_uint_eq(sink.calls, 1);
    ck_assert_uint_eq(fxt_writer_bytes(writer), 8);

    write_ok(&good); /* still usable */
    ck_assert_mem_eq(sink.bytes, sink.bytes + 8, 8);
    ck_assert_int_eq(fxt_writer_record(writer, &invalid[_i].record, NULL), FXT_INVALID);
}
END_TEST

/* ---- There and back (more of it in test_fxt_roundtrip.c) ---- */

START_TEST(case_66_writes_what_was_read_from_the_vectors)
{
    uint8_t expected[512];
    size_t length = hex_bytes(vectors[_i].hex, expected, sizeof expected);

    ck_assert_uint_eq(pass_on_bytes(expected, length, writer), vectors[_i].count);
    ck_assert_uint_eq(sink.used, length);
    ck_assert_mem_eq(sink.bytes, expected, length);
}
END_TEST

/* ---- Failures from outside ---- */

START_TEST(stays_failed_after_a_failed_write)
{
    struct fxt_record record = { .kind = FXT_RECORD_INIT, .value.init.ticks_per_second = 1 };

    sink.fail_at = 2;
    sink.failure = ENOSPC;
    write_ok(&record);
    for (int i = 0; i < 2; i++) {
        memset(&error, 0, sizeof error);
        ck_assert_int_eq(fxt_writer_record(writer, &record, &error), FXT_IO);
        ck_assert_int_eq(error.status, FXT_IO);
        ck_assert_int_eq(error.system_errno, ENOSPC);
        ck_assert_uint_eq(error.offset, 16);
        ck_assert_msg(strstr(error.message, strerror(ENOSPC)) != NULL, "says: %s", error.message);
    }
    ck_assert_uint_eq(sink.calls, 2); /* not asked again */
    ck_assert_uint_eq(fxt_writer_bytes(writer), 16);
}
END_TEST

/* The first write and the two that grow the buffer allocate.  No assertions: they allocate too.  */
static enum fxt_status write_three_sizes(void)
{
    static const uint64_t lengths[] = { 8, 4000, 60000 };
    struct fxt_writer *own = NULL;
    enum fxt_status status = fxt_writer_open(sink_write, &sink, &own, &error);

    sink.used = 0;
    for (size_t i = 0; i < 3 && status == FXT_OK; i++) {
        struct fxt_record record = {
            .kind = FXT_RECORD_LARGE_BLOB,
            .value.large_blob = { .format = 1, .payload = SOME(lengths[i]) },
        };
        status = fxt_writer_record(own, &record, &error);
        if (status == FXT_NO_MEMORY && fxt_writer_record(own, &record, NULL) != FXT_OK)
            status = FXT_FATAL; /* it was to be usable still */
    }
    fxt_writer_close(own);
    return status;
}

START_TEST(reports_every_failed_allocation)
{
    enum fxt_status status;
    unsigned long count;

    allocation_fail_at(0);
    status = write_three_sizes();
    count = allocation_count();
    ck_assert_int_eq(status, FXT_OK);
    ck_assert_uint_eq(count, 4); /* the handle, and the buffer three times */
    for (unsigned long n = 1; n <= count; n++) {
        memset(&error, 0, sizeof error);
        allocation_fail_at(n);
        status = write_three_sizes();
        allocation_fail_at(0);
        ck_assert_int_eq(status, FXT_NO_MEMORY);
        ck_assert_int_eq(error.status, FXT_NO_MEMORY);
    }
}
END_TEST

START_TEST(closes_nothing_when_given_null)
{
    fxt_writer_close(NULL);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

int main(void)
{
    Suite *suite = suite_create("fxt_writer");
    TCase *tcase = tcase_create("writer");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, open_writer, close_writer);
    tcase_add_loop_test(tcase, writes_the_bytes_of_the_format_notes, 0, ROWS(vectors));
    tcase_add_loop_test(tcase, ends_an_event_with_the_word_of_its_type, 0, ROWS(events));
    tcase_add_test(tcase, writes_an_argument_of_unknown_type_without_value);
    tcase_add_loop_test(tcase, cuts_long_text_before_a_whole_character, 0, ROWS(cuts));
    tcase_add_test(tcase, cuts_inline_references_as_well);
    tcase_add_test(tcase, writes_the_empty_reference_for_empty_text);
    tcase_add_test(tcase, keeps_bytes_that_are_not_utf_8);
    tcase_add_test(tcase, turns_text_into_an_inline_string);
    tcase_add_loop_test(tcase, gives_large_records_32_bits_of_size, 0, ROWS(large_sizes));
    tcase_add_test(tcase, writes_the_longest_ordinary_record);
    tcase_add_loop_test(tcase, writes_every_frame_of_a_stack_deeper_than_the_count, 0,
                        ROWS(deep_stacks));
    tcase_add_loop_test(tcase, refuses_what_does_not_fit_and_writes_nothing, 0, ROWS(invalid));
    tcase_add_loop_test(tcase, case_66_writes_what_was_read_from_the_vectors, 0, ROWS(vectors));
    tcase_add_test(tcase, stays_failed_after_a_failed_write);
    tcase_add_test(tcase, reports_every_failed_allocation);
    tcase_add_test(tcase, closes_nothing_when_given_null);
    suite_add_tcase(suite, tcase);

    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
