/* profile_golden.c - write a small trace whose profile is known to the last field.
 *
 *   profile_golden OUT.fxt                     samples and spans of two made-up modules
 *   profile_golden OUT.fxt OBJECT VADDR...     one sample of a stack in OBJECT, leaf first
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fxt.h>
#include <fxt/symbolize.h>

#define APP_START  UINT64_C(0x555555554000)
#define LIBC_START UINT64_C(0x7ffff7c00000)
#define MAX_DEPTH  64

static struct fxt_writer *writer;

static void die(const char *what, const char *message)
{
    (void)fprintf(stderr, "profile_golden: %s: %s\n", what, message);
    exit(4);
}

static int write_file(void *context, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : errno;
}

static void put(const struct fxt_record *record)
{
    struct fxt_error error;

    if (fxt_writer_record(writer, record, &error) != FXT_OK)
        die(fxt_record_kind_name(record->kind), error.message);
}

static void put_event(enum fxt_event_type type, uint64_t ticks, const char *name)
{
    struct fxt_record record = { .kind = FXT_RECORD_EVENT,
                                 .ticks = ticks,
                                 .thread = { .process = 77, .thread = 78 },
                                 .name = fxt_inline(name) };

    record.value.event.type = type;
    put(&record);
}

static void put_session(void)
{
    const struct fxt_arg args[] = {
        { FXT_ARG_UINT64, fxt_inline("period_ns"), { .uint64 = 10000000 } },
        { FXT_ARG_UINT32, fxt_inline("max_frames"), { .uint32 = 5 } },
        { FXT_ARG_STRING, fxt_inline("arch"), { .string = fxt_inline("x86_64") } },
        { FXT_ARG_INT64, fxt_inline("realtime_ns"), { .int64 = 1700000000000000000 } },
        { FXT_ARG_INT64, fxt_inline("monotonic_ns"), { .int64 = 5000000000 } },
        { FXT_ARG_STRING, fxt_inline("command"), { .string = fxt_inline("./app -v") } },
    };
    struct fxt_record record = { .kind = FXT_RECORD_EVENT,
                                 .ticks = 5000000000,
                                 .category = fxt_inline("fxt.capture"),
                                 .name = fxt_inline("session"),
                                 .args = args,
                                 .arg_count = sizeof args / sizeof *args };

    put(&record);
}

static void put_object(enum fxt_object_type type, uint64_t koid, const char *name)
{
    const struct fxt_arg owner = { FXT_ARG_KOID, fxt_inline("process"), { .uint64 = 77 } };
    struct fxt_record record = { .kind = FXT_RECORD_KERNEL_OBJECT,
                                 .name = fxt_inline(name),
                                 .args = &owner,
                                 .arg_count = type == FXT_OBJECT_THREAD };

    record.value.object.type = type;
    record.value.object.koid = koid;
    put(&record);
}

static void put_module(uint16_t id, const char *name, const void *build_id, size_t length)
{
    struct fxt_record record = { .kind = FXT_RECORD_MODULE,
                                 .thread = { .process = 77 },
                                 .name = fxt_inline(name) };

    record.value.module.id = id;
    record.value.module.build_id = (struct fxt_bytes){ build_id, length };
    put(&record);
}

static void put_mapping(uint16_t id, uint64_t start, uint64_t length, uint64_t vaddr)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAPPING, .thread = { .process = 77 } };

    record.value.mapping.module_id = id;
    record.value.mapping.flags = 5;
    record.value.mapping.start = start;
    record.value.mapping.length = length;
    record.value.mapping.vaddr = vaddr;
    put(&record);
}

static void put_stack(uint64_t ticks, uint64_t thread, const uint64_t *pcs, size_t count)
{
    uint8_t bytes[8 * MAX_DEPTH];
    struct fxt_record record = { .kind = FXT_RECORD_BACKTRACE,
                                 .ticks = ticks,
                                 .thread = { .process = 77, .thread = thread } };

    for (size_t i = 0; i < 8 * count; i++)
        bytes[i] = (uint8_t)(pcs[i / 8] >> (8 * (i % 8)));
    record.value.backtrace.frames = (struct fxt_words){ bytes, count };
    put(&record);
}

static void put_made_up(void)
{
    static const uint64_t in_libc[] = { LIBC_START + 0x28010, APP_START + 0x1105,
                                        APP_START + 0x1205 };
    static const uint64_t in_app[] = { APP_START + 0x1104, APP_START + 0x1205 };
    static const uint64_t cut[] = { 0x10000, APP_START + 0x1105, APP_START + 0x1105,
                                    APP_START + 0x1105, APP_START + 0x1105 };

    put_object(FXT_OBJECT_PROCESS, 77, "app");
    put_object(FXT_OBJECT_THREAD, 78, "main");
    put_stack(5000001000, 78, in_libc, 3);
    put_stack(5010001000, 79, in_app, 2);
    put_stack(5020001000, 78, in_libc, 3);
    put_stack(5030001000, 78, cut, 5);
    put_module(3, "/usr/lib/libc.so.6", "\xaa\xbb\xcc", 3);
    put_mapping(3, LIBC_START + 0x26000, 0x155000, 0x26000);
    put_module(0, "/opt/app", "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
    put_mapping(0, APP_START + 0x1000, 0x1000, 0x1000);
    put_mapping(0, APP_START + 0x3000, 0x2000, 0x3000);
    put_event(FXT_EVENT_DURATION_BEGIN, 5000000000, "frame");
    put_event(FXT_EVENT_DURATION_BEGIN, 5000000100, "draw");
    put_event(FXT_EVENT_DURATION_END, 5000000400, "draw");
    put_event(FXT_EVENT_DURATION_BEGIN, 5000000500, "draw");
    put_event(FXT_EVENT_DURATION_END, 5000000600, "draw");
    put_event(FXT_EVENT_DURATION_END, 5000001000, "frame");
}

/* The object as it would be mapped, whole, at a made-up place.  Callers come back 1 further on.  */
static void put_object_stack(const char *path, char **vaddrs, size_t count)
{
    uint8_t id[64];
    size_t length = 0;
    struct sym_error error;
    uint64_t pcs[MAX_DEPTH];

    if (sym_build_id(path, id, sizeof id, &length, &error) != SYM_OK || length > sizeof id)
        die(path, "has no build ID");
    for (size_t i = 0; i < count && i < MAX_DEPTH; i++)
        pcs[i] = APP_START + strtoull(vaddrs[i], NULL, 16) + (i > 0);
    put_module(0, path, id, length);
    put_mapping(0, APP_START, 0x100000, 0);
    put_stack(5000001000, 78, pcs, count < MAX_DEPTH ? count : MAX_DEPTH);
}

int main(int argc, char **argv)
{
    struct fxt_record magic = { .kind = FXT_RECORD_MAGIC };
    FILE *out = argc > 1 ? fopen(argv[1], "we") : NULL;

    if (!out)
        die("usage", "profile_golden OUT.fxt [OBJECT VADDR...]");
    if (fxt_writer_open(write_file, out, &writer, NULL) != FXT_OK)
        die("memory", "out of memory");
    magic.value.magic.number = 0x16547846;
    put(&magic);
    put_session();
    if (argc > 3)
        put_object_stack(argv[2], argv + 3, (size_t)argc - 3);
    else
        put_made_up();
    fxt_writer_close(writer);
    if (fclose(out) != 0)
        die(argv[1], "cannot be written");
    return 0;
}
