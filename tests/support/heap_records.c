/* heap_records.c - messages of the memory sampler made by hand, in records.  */
#include "tests/support/heap_records.h"

#include <check.h>

#include "tests/support/profile_records.h"

static void wrap(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                 uint64_t process, size_t length)
{
    out->record = (struct fxt_record){
        .kind = FXT_RECORD_LARGE_BLOB,
        .category = text_of("memory"),
        .name = text_of("fuchsia.memory.sampler"),
        .value.large_blob = { .format = maker->recorded_stream,
                              .payload = { out->message, length } },
    };
    if (!maker->recorded_stream) {
        out->record.has_time = out->record.has_thread = true;
        out->record.ts_ns = ts_ns;
        out->record.thread = (struct fxt_thread){ .process = process, .thread = maker->thread };
    }
    if (maker->interval_bytes) {
        out->interval = u64_arg("sampling_interval_bytes", maker->interval_bytes);
        out->record.args = &out->interval;
        out->record.arg_count = 1;
    }
}

static enum fidl_generation generation_of(const struct heap_maker *maker)
{
    return maker->generation ? maker->generation : FIDL_GENERATION_2;
}

void heap_allocation(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                     uint64_t process, uint64_t address, uint64_t size, struct heap_stack stack)
{
    size_t length = 0;

    ck_assert_int_eq(fidl_encode_allocation(generation_of(maker), address, stack.pcs, stack.count,
                                            size, out->message, sizeof out->message, &length),
                     FIDL_OK);
    wrap(out, maker, ts_ns, process, length);
}

void heap_release(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                  uint64_t process, uint64_t address, struct heap_stack stack)
{
    size_t length = 0;

    ck_assert_int_eq(fidl_encode_deallocation(generation_of(maker), address, stack.pcs, stack.count,
                                              out->message, sizeof out->message, &length),
                     FIDL_OK);
    wrap(out, maker, ts_ns, process, length);
}

void heap_process_info(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                       uint64_t process, const char *name, const struct fidl_module_source *modules,
                       size_t count)
{
    size_t length = 0;

    ck_assert_int_eq(fidl_encode_process_info(generation_of(maker), name, modules, count,
                                              out->message, sizeof out->message, &length),
                     FIDL_OK);
    wrap(out, maker, ts_ns, process, length);
}

void heap_message(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                  uint64_t process, const void *bytes, size_t size)
{
    ck_assert_uint_le(size, sizeof out->message);
    if (size > 0)
        memcpy(out->message, bytes, size);
    wrap(out, maker, ts_ns, process, size);
}
