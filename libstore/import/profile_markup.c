/* Logs with symbolizer markup: a backtrace is a sample of one stack.  */
#include <string.h>

#include <fxt/profile_markup.h>
#include "base/hex.h"
#include "libstore/import/import_profiles.h"

struct reading {
    struct profiles *profiles;
    uint32_t pid, tid; /* words */
};

static uint32_t word(struct profiles *profiles, const char *text)
{
    return store_profiles_word(profiles, text, strlen(text));
}

/* ---- Whose ---- */

/* What a log says of process and thread are labels, as in other formats; without, samples belong to
 * one process, of koid 0.  */
static bool find_owner(struct reading *reading, const struct profile_markup_owner *owner,
                       struct profile_owner_ids *out)
{
    const struct store_profile_label labels[] = {
        { .key = reading->pid, .number = (int64_t)owner->process_koid },
        { .key = reading->tid, .number = (int64_t)owner->thread_koid },
    };

    return store_profiles_labels(reading->profiles, labels, owner->known ? 2 : 0, out);
}

/* ---- Stacks ---- */

static uint32_t find_module(struct profiles *profiles, const struct sym_markup_module *module)
{
    char hex[2 * sizeof module->build_id];
    size_t length = base_hex(hex, module->build_id, module->build_id_length);

    return store_profiles_module(profiles, module->name, strlen(module->name), hex, length);
}

/* Frames without an address, as those of traces are called.  */
static uint32_t named_frame(struct profiles *profiles, const char *name)
{
    struct store_profile_line line = { .function = word(profiles, name) };
    const struct store_profile_frame frame = { .lines = &line, .line_count = 1 };

    return line.function ? store_profiles_frame(profiles, &frame) : 0;
}

static uint32_t find_frame(struct profiles *profiles, const struct profile_markup_frame *told)
{
    static const char *const names[] = {
        [PROFILE_MARKUP_IN_NONE] = "[anon]",
        [PROFILE_MARKUP_UNKNOWN] = "[unknown]",
        [PROFILE_MARKUP_NO_FRAME] = "[missing]",
    };
    struct store_profile_frame frame = { .has_vaddr = true, .vaddr = told->vaddr };

    if (!told->module)
        return named_frame(profiles, names[told->place]);
    frame.module = find_module(profiles, told->module);
    return frame.module ? store_profiles_frame(profiles, &frame) : 0;
}

static bool find_callsite(struct profiles *profiles,
                          const struct profile_markup_backtrace *backtrace, uint32_t *out)
{
    uint32_t frame = backtrace->is_cut ? named_frame(profiles, "[truncated]") : 0;

    *out = frame ? store_profiles_callsite(profiles, 0, frame) : 0;
    if (backtrace->is_cut && !*out)
        return false;
    for (size_t i = backtrace->frame_count; i-- > 0;) {
        frame = find_frame(profiles, &backtrace->frames[i]);
        *out = frame ? store_profiles_callsite(profiles, *out, frame) : 0;
        if (!*out)
            return false;
    }
    return true;
}

/* ---- The sink ---- */

static bool write_backtrace(struct reading *reading,
                            const struct profile_markup_backtrace *backtrace)
{
    static const struct store_profile_value one = { .integer = 1 };
    struct store_profile_sample sample = { .values = &one, .value_count = 1 };
    struct profiles *profiles = reading->profiles;

    if (profiles->import->store->interrupted)
        return store_import_fail(profiles->import, STORE_STOPPED, "interrupted");
    return find_callsite(profiles, backtrace, &sample.callsite) &&
           find_owner(reading, &backtrace->owner, &sample.owner) &&
           store_profiles_sample(profiles, &sample);
}

static enum profile_status take_backtrace(void *context,
                                          const struct profile_markup_backtrace *backtrace)
{
    return store_import_sink_status(write_backtrace(context, backtrace));
}

static bool write_mapping(struct reading *reading, const struct profile_markup_mapping *mapping)
{
    struct profiles *profiles = reading->profiles;
    uint32_t module = find_module(profiles, mapping->module);
    int64_t upid = module ? store_profiles_process(profiles, mapping->owner.process_koid, 0) : 0;
    struct store_cell *cells = upid
                                   ? store_writer_row(profiles->import->writer, STORE_MAPPING, NULL)
                                   : NULL;

    if (!cells)
        return false;
    store_int(&cells[1], upid);
    store_int(&cells[2], store_profiles_module_id(profiles, module));
    store_unsigned(&cells[4], mapping->start);
    store_unsigned(&cells[5], mapping->size_bytes);
    store_unsigned(&cells[6], mapping->vaddr);
    store_int(&cells[7], mapping->flags);
    return true;
}

static enum profile_status take_mapping(void *context, const struct profile_markup_mapping *mapping)
{
    return store_import_sink_status(write_mapping(context, mapping));
}

/* ---- Reading ---- */

static bool begin(struct reading *reading)
{
    struct profiles *profiles = reading->profiles;
    uint32_t type = word(profiles, "samples"), unit = word(profiles, "count");

    reading->pid = word(profiles, "pid");
    reading->tid = word(profiles, "tid");
    return type && unit && reading->pid && reading->tid &&
           store_profiles_type(profiles, type, unit, true);
}

static bool write_notices(struct profiles *profiles, const struct profile_markup_notices *notices)
{
    bool ok = true;

    for (int i = 0; i < PROFILE_MARKUP_KINDS && ok; i++) {
        enum profile_markup_kind kind = (enum profile_markup_kind)i;

        ok = store_profiles_damage(profiles, profile_markup_name(kind), notices->kinds[i].count,
                                   notices->kinds[i].first_offset, profile_markup_is_damage(kind),
                                   profile_markup_phrase(kind));
    }
    return ok;
}

bool store_profiles_read_markup(struct profiles *profiles, struct fxt_input *input)
{
    struct reading reading = { .profiles = profiles };
    const struct profile_markup_sink sink = { .size = sizeof sink,
                                              .context = &reading,
                                              .mapping = take_mapping,
                                              .backtrace = take_backtrace };
    const struct profile_read_options options = { .size = sizeof options,
                                                  .table_bytes = store_profiles_most(profiles),
                                                  .entry_bytes = store_profiles_most(profiles),
                                                  .seen = store_profiles_seen,
                                                  .seen_context = profiles };
    struct profile_markup_notices notices;
    struct profile_error error;

    if (!begin(&reading) ||
        !store_profiles_fail(
            profiles, profile_read_markup(input, &sink, &options, &notices, &error), &error) ||
        !write_notices(profiles, &notices))
        return false;
    (void)profile_markup_describe(&notices, profiles->result->damage,
                                  sizeof profiles->result->damage);
    return true;
}
