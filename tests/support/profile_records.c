/* profile_records.c - records made by hand, and a profile to put them into.  */
#include "tests/support/profile_records.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Records ---- */

struct fxt_string text_of(const char *text)
{
    return (struct fxt_string){ .bytes = text, .length = (uint32_t)strlen(text) };
}

static struct fxt_record timed(enum fxt_record_kind kind, int64_t ts_ns, uint64_t process,
                               uint64_t thread)
{
    return (struct fxt_record){
        .kind = kind,
        .has_time = true,
        .has_thread = true,
        .ts_ns = ts_ns,
        .thread = { .process = process, .thread = thread },
        .category = { .bytes = "" },
        .name = { .bytes = "" },
    };
}

struct fxt_record module_record(uint64_t process, uint16_t id, const char *name,
                                const char *build_id)
{
    struct fxt_record record = timed(FXT_RECORD_MODULE, 0, process, 0);

    record.name = text_of(name);
    record.value.module.id = id;
    record.value.module.build_id = (struct fxt_bytes){ (const uint8_t *)build_id,
                                                       strlen(build_id) };
    return record;
}

struct fxt_record mapping_record(uint64_t process, uint16_t id, uint64_t start, uint64_t length,
                                 uint64_t vaddr)
{
    struct fxt_record record = timed(FXT_RECORD_MAPPING, 0, process, 0);

    record.value.mapping.module_id = id;
    record.value.mapping.start = start;
    record.value.mapping.length = length;
    record.value.mapping.vaddr = vaddr;
    return record;
}

struct fxt_record backtrace_record(int64_t ts_ns, uint64_t process, uint64_t thread,
                                   const uint64_t *pcs, size_t count)
{
    struct fxt_record record = timed(FXT_RECORD_BACKTRACE, ts_ns, process, thread);

    record.value.backtrace.frames = (struct fxt_words){ (const uint8_t *)pcs, count };
    return record;
}

struct fxt_record sampler_record(int64_t ts_ns, uint64_t process, uint64_t thread,
                                 const uint64_t *pcs, size_t count)
{
    struct fxt_record record = timed(FXT_RECORD_LARGE_BLOB, ts_ns, process, thread);

    record.value.large_blob.payload = (struct fxt_bytes){ (const uint8_t *)pcs, 8 * count };
    return record;
}

static struct fxt_record duration(enum fxt_event_type type, int64_t ts_ns, uint64_t process,
                                  uint64_t thread, const char *name)
{
    struct fxt_record record = timed(FXT_RECORD_EVENT, ts_ns, process, thread);

    record.value.event.type = type;
    record.name = text_of(name);
    return record;
}

struct fxt_record begin_record(int64_t ts_ns, uint64_t process, uint64_t thread, const char *name)
{
    return duration(FXT_EVENT_DURATION_BEGIN, ts_ns, process, thread, name);
}

struct fxt_record end_record(int64_t ts_ns, uint64_t process, uint64_t thread, const char *name)
{
    return duration(FXT_EVENT_DURATION_END, ts_ns, process, thread, name);
}

struct fxt_record complete_record(int64_t ts_ns, int64_t end_ns, uint64_t process, uint64_t thread,
                                  const char *name)
{
    struct fxt_record record = duration(FXT_EVENT_DURATION_COMPLETE, ts_ns, process, thread, name);

    record.value.event.end_ns = end_ns;
    return record;
}

struct fxt_record process_record(uint64_t koid, const char *name)
{
    struct fxt_record record = { .kind = FXT_RECORD_KERNEL_OBJECT, .name = text_of(name) };

    record.value.object.type = FXT_OBJECT_PROCESS;
    record.value.object.koid = koid;
    return record;
}

struct fxt_record thread_record(uint64_t koid, const char *name, struct fxt_arg *args,
                                uint64_t process)
{
    struct fxt_record record = process_record(koid, name);

    record.value.object.type = FXT_OBJECT_THREAD;
    if (args) {
        *args = u64_arg("process", process);
        args->type = FXT_ARG_KOID;
        record.args = args;
        record.arg_count = 1;
    }
    return record;
}

struct fxt_record event_record(enum fxt_event_type type, const char *category, const char *name,
                               const struct fxt_arg *args, size_t count)
{
    struct fxt_record record = duration(type, 0, 0, 0, name);

    record.category = text_of(category);
    record.args = args;
    record.arg_count = count;
    return record;
}

struct fxt_arg u64_arg(const char *name, uint64_t value)
{
    return (struct fxt_arg){ .type = FXT_ARG_UINT64, .name = text_of(name), .value.uint64 = value };
}

struct fxt_arg string_arg(const char *name, const char *value)
{
    return (struct fxt_arg){ .type = FXT_ARG_STRING,
                             .name = text_of(name),
                             .value.string = text_of(value) };
}

/* ---- Profiles ---- */

int collect_bytes(void *context, const void *bytes, size_t size)
{
    struct bytes *out = context;
    char *bigger = realloc(out->bytes, out->length + size + 1);

    if (!bigger)
        return ENOMEM;
    out->bytes = bigger;
    memcpy(out->bytes + out->length, bytes, size);
    out->length += size;
    out->bytes[out->length] = '\0';
    return 0;
}

enum profile_status take_more(struct taken *taken, const struct fxt_record *records, size_t count,
                              const struct profile_ingest_options *options)
{
    struct profile_sink sink;
    enum profile_status status;

    profile_ingest_close(taken->ingest);
    taken->ingest = NULL;
    profile_sink_of(taken->profile, &sink);
    status = profile_ingest_open(&sink, profile_stacks_of(taken->profile), options, &taken->ingest,
                                 NULL);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++)
        status = profile_ingest_record(taken->ingest, &records[i], NULL);
    if (status == PROFILE_OK)
        status = profile_ingest_finish(taken->ingest, NULL);
    return status;
}

enum profile_status take_records(const struct fxt_record *records, size_t count,
                                 const struct profile_ingest_options *options, struct taken *out)
{
    enum profile_status status;

    *out = (struct taken){ .profile = NULL };
    status = profile_open(&out->profile, NULL);
    if (status != PROFILE_OK)
        return status;
    return take_more(out, records, count, options);
}

void taken_release(struct taken *taken)
{
    profile_ingest_close(taken->ingest);
    profile_close(taken->profile);
    *taken = (struct taken){ .profile = NULL };
}

char *folded_of(const struct taken *taken, enum profile_kind kind, enum profile_root root,
                int value)
{
    struct profile_folded_options options = { .size = sizeof options,
                                              .root = root,
                                              .value = value };
    struct bytes out = { .bytes = NULL };

    (void)collect_bytes(&out, "", 0);
    if (profile_write_folded(taken->profile, kind, &options, collect_bytes, &out, NULL) ==
        PROFILE_OK)
        return out.bytes;
    free(out.bytes);
    return NULL;
}

char *folded_from(const struct fxt_record *records, size_t count, enum profile_kind kind)
{
    struct taken taken;
    char *text;

    ck_assert_int_eq(take_records(records, count, NULL, &taken), PROFILE_OK);
    text = folded_of(&taken, kind, PROFILE_ROOT_NONE, -1);
    ck_assert_ptr_nonnull(text);
    taken_release(&taken);
    return text;
}
