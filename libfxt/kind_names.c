/* Names of kinds, for people and for JSON; small questions about records.  */
#include <string.h>

#include "libfxt/fxt_internal.h"

const char *fxt_version(void)
{
    return FXT_TOOLCHAIN_VERSION;
}

const char *fxt_record_kind_name(enum fxt_record_kind kind)
{
    static const char *const names[FXT_RECORD_KINDS] = {
        [FXT_RECORD_UNKNOWN] = "unknown",
        [FXT_RECORD_MAGIC] = "magic",
        [FXT_RECORD_PROVIDER_INFO] = "provider_info",
        [FXT_RECORD_PROVIDER_SECTION] = "provider_section",
        [FXT_RECORD_PROVIDER_EVENT] = "provider_event",
        [FXT_RECORD_INIT] = "init",
        [FXT_RECORD_STRING] = "string",
        [FXT_RECORD_THREAD] = "thread",
        [FXT_RECORD_EVENT] = "event",
        [FXT_RECORD_BLOB] = "blob",
        [FXT_RECORD_USERSPACE_OBJECT] = "userspace_object",
        [FXT_RECORD_KERNEL_OBJECT] = "kernel_object",
        [FXT_RECORD_CONTEXT_SWITCH] = "context_switch",
        [FXT_RECORD_LEGACY_CONTEXT_SWITCH] = "legacy_context_switch",
        [FXT_RECORD_THREAD_WAKEUP] = "thread_wakeup",
        [FXT_RECORD_LOG] = "log",
        [FXT_RECORD_MODULE] = "module",
        [FXT_RECORD_MAPPING] = "mapping",
        [FXT_RECORD_BACKTRACE] = "backtrace",
        [FXT_RECORD_LARGE_BLOB] = "large_blob",
    };

    return (unsigned)kind < FXT_RECORD_KINDS ? names[kind] : "unknown";
}

const char *fxt_event_type_name(unsigned type)
{
    static const char *const names[] = {
        "instant",           "counter",     "duration_begin", "duration_end",
        "duration_complete", "async_begin", "async_instant",  "async_end",
        "flow_begin",        "flow_step",   "flow_end",
    };

    return type < sizeof names / sizeof *names ? names[type] : "unknown";
}

const char *fxt_arg_type_name(enum fxt_arg_type type)
{
    static const char *const names[] = {
        "null",   "int32",   "uint32", "int64", "uint64", "double",
        "string", "pointer", "koid",   "bool",  "blob",
    };

    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

static const struct {
    const char *name;
    const char *phrase;
} damage_names[FXT_DAMAGE_KINDS] = {
    [FXT_DAMAGE_STRAY_BYTES] = { "stray_bytes", "stray bytes at the end" },
    [FXT_DAMAGE_TRUNCATED_TAIL] = { "truncated_tail", "cut off in its last record" },
    [FXT_DAMAGE_SIZE_ZERO] = { "size_zero", "record of size 0, unreadable from there" },
    [FXT_DAMAGE_BAD_RECORD] = { "bad_record", "contradictory record, dropped" },
    [FXT_DAMAGE_OVERSIZED_RECORD] = { "oversized_record", "oversized record, skipped" },
    [FXT_DAMAGE_CORRUPT_INPUT] = { "corrupt_input", "compressed data that cannot be unpacked" },
    [FXT_DAMAGE_ZERO_WORDS] = { "zero_words", "zero word between records" },
    [FXT_DAMAGE_UNKNOWN_RECORD] = { "unknown_record", "record of unknown type" },
    [FXT_DAMAGE_UNRESOLVED_STRING] = { "unresolved_string", "reference to an unknown string" },
    [FXT_DAMAGE_UNRESOLVED_THREAD] = { "unresolved_thread", "reference to an unknown thread" },
    [FXT_DAMAGE_TIME_OVERFLOW] = { "time_overflow", "time out of range, record dropped" },
    [FXT_DAMAGE_PROVIDER_LOSS] = { "provider_loss", "mark that a provider lost records" },
    [FXT_DAMAGE_WRONG_COUNT] = { "wrong_count", "wrong frame count, size used" },
    [FXT_DAMAGE_NO_MAGIC] = { "no_magic", "no magic record first" },
    [FXT_DAMAGE_WRONG_MAGIC] = { "wrong_magic", "wrong magic number" },
    [FXT_DAMAGE_ZERO_TICKS] = { "zero_ticks", "initialization with 0 ticks a second, ignored" },
    [FXT_DAMAGE_END_BEFORE_START] = { "end_before_start", "duration that ends before it starts" },
    [FXT_DAMAGE_INDEX_ZERO] = { "index_zero", "string or thread record for index 0, ignored" },
    [FXT_DAMAGE_TABLE_FULL] = { "table_full", "table entry over the memory bound, not kept" },
    [FXT_DAMAGE_CORRUPT_REGION] = { "corrupt_region", "unreadable part" },
};

const char *fxt_damage_kind_name(enum fxt_damage_kind kind)
{
    return (unsigned)kind < FXT_DAMAGE_KINDS ? damage_names[kind].name : "unknown";
}

const char *fxt_damage_kind_phrase(enum fxt_damage_kind kind)
{
    return (unsigned)kind < FXT_DAMAGE_KINDS ? damage_names[kind].phrase : "unknown damage";
}

bool fxt_damage_is_loss(enum fxt_damage_kind kind)
{
    return kind <= FXT_DAMAGE_CORRUPT_INPUT || kind == FXT_DAMAGE_CORRUPT_REGION;
}

uint64_t fxt_damage_total(const struct fxt_damage *damage, bool notices)
{
    uint64_t total = 0;

    for (enum fxt_damage_kind kind = 0; kind < FXT_DAMAGE_KINDS; kind++)
        total += notices || fxt_damage_is_loss(kind) ? damage->kinds[kind].count : 0;
    return total;
}

const struct fxt_arg *fxt_record_arg(const struct fxt_record *record, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < record->arg_count; i++) {
        const struct fxt_string *own = &record->args[i].name;

        if (own->length == length && memcmp(own->bytes, name, length) == 0)
            return &record->args[i];
    }
    return NULL;
}

bool fxt_record_sampler_stack(const struct fxt_record *record, struct fxt_words *pcs)
{
    const struct fxt_bytes *payload = &record->value.large_blob.payload;

    if (record->kind != FXT_RECORD_LARGE_BLOB || record->value.large_blob.format != 0 ||
        record->category.length || record->name.length || record->category.missing ||
        record->name.missing || record->arg_count || payload->length == 0 || payload->length % 8)
        return false;
    if (pcs)
        *pcs = (struct fxt_words){ payload->bytes, (size_t)(payload->length / 8) };
    return true;
}
