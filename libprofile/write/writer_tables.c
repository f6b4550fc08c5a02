/* writer_tables.c - strings, functions, locations, threads and stacks of a profile that is
 * written.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "libprofile/write/writers.h"

enum profile_status writer_refuse(const struct writer_tables *tables, const char *what)
{
    return profile_fail(tables->error, PROFILE_INVALID, "%s", what);
}

/* Room for one more entry at *items, whose numbers fit 32 bits.  */
static enum profile_status reserve(const struct writer_tables *tables, void **items,
                                   size_t *capacity, size_t count, size_t more, size_t size)
{
    if (count + more >= UINT32_MAX)
        return profile_fail(tables->error, PROFILE_LIMIT, "too many entries of one kind");
    if (!base_make_room(&*items, capacity, count + more, size))
        return profile_no_memory(tables->error);
    return PROFILE_OK;
}

/* ---- The sink ---- */

static enum profile_status put_strings(void *context, const struct profile_text *strings,
                                       size_t count)
{
    struct writer_tables *tables = context;
    void *items = tables->strings;
    enum profile_status status = reserve(tables, &items, &tables->string_capacity,
                                         tables->string_count, count, sizeof *tables->strings);

    tables->strings = items;
    if (status == PROFILE_OK && tables->string_count == 0 && count > 0 && strings[0].length > 0)
        return writer_refuse(tables, "the first string is not empty");
    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        char *copy = base_arena_text(&tables->arena, strings[i].bytes, strings[i].length);

        if (!copy)
            return profile_no_memory(tables->error);
        tables->strings[tables->string_count++] = (struct profile_text){ copy, strings[i].length };
    }
    return status;
}

static bool same_text(const struct writer_tables *tables, uint32_t a, uint32_t b)
{
    struct profile_text left = writer_text(tables, a), right = writer_text(tables, b);

    return left.length == right.length && memcmp(left.bytes, right.bytes, left.length) == 0;
}

/* The default type, else the last one.  */
static enum profile_status put_header(void *context, const struct profile_pprof_header *header)
{
    struct writer_tables *tables = context;
    struct profile_pprof_type *types;

    if (tables->has_header)
        return writer_refuse(tables, "a second header");
    if (header->type_count == 0)
        return writer_refuse(tables, "the profile has no sample type");
    types = base_arena_array(&tables->arena, header->type_count, sizeof *types);
    if (!types)
        return profile_no_memory(tables->error);
    memcpy(types, header->types, header->type_count * sizeof *types);
    tables->header = *header;
    tables->header.types = types;
    tables->header.comments = NULL;
    tables->header.comment_count = 0;
    tables->has_header = true;
    tables->shown = header->type_count - 1;
    for (size_t i = 0; i < header->type_count && header->default_sample_type; i++)
        if (same_text(tables, types[i].type, header->default_sample_type)) {
            tables->shown = i;
            break;
        }
    return PROFILE_OK;
}

static enum profile_status put_mapping(void *context, const struct profile_pprof_mapping *mapping)
{
    struct writer_tables *tables = context;
    void *items = tables->mappings;
    enum profile_status status = reserve(tables, &items, &tables->mapping_capacity,
                                         tables->mapping_count, 1, sizeof *tables->mappings);

    tables->mappings = items;
    if (status == PROFILE_OK)
        tables->mappings[tables->mapping_count++] = *mapping;
    return status;
}

static enum profile_status put_function(void *context,
                                        const struct profile_pprof_function *function)
{
    struct writer_tables *tables = context;
    void *items = tables->functions;
    enum profile_status status = reserve(tables, &items, &tables->function_capacity,
                                         tables->function_count, 1, sizeof *tables->functions);

    tables->functions = items;
    if (status == PROFILE_OK)
        tables->functions[tables->function_count++] = *function;
    return status;
}

static enum profile_status check_location(const struct writer_tables *tables,
                                          const struct profile_pprof_location *location)
{
    if (location->mapping > tables->mapping_count)
        return writer_refuse(tables, "a location of a mapping that was not written");
    for (size_t i = 0; i < location->line_count; i++)
        if (location->lines[i].function > tables->function_count)
            return writer_refuse(tables, "a location of a function that was not written");
    return PROFILE_OK;
}

static enum profile_status put_location(void *context,
                                        const struct profile_pprof_location *location)
{
    struct writer_tables *tables = context;
    void *items = tables->locations, *lines = tables->lines;
    enum profile_status status = check_location(tables, location);

    if (status == PROFILE_OK)
        status = reserve(tables, &items, &tables->location_capacity, tables->location_count, 1,
                         sizeof *tables->locations);
    tables->locations = items;
    if (status == PROFILE_OK)
        status = reserve(tables, &lines, &tables->line_capacity, tables->line_count,
                         location->line_count, sizeof *tables->lines);
    tables->lines = lines;
    if (status != PROFILE_OK)
        return status;
    if (location->line_count > 0)
        memcpy(tables->lines + tables->line_count, location->lines,
               location->line_count * sizeof *tables->lines);
    tables->locations[tables->location_count++] =
        (struct writer_location){ .mapping = location->mapping,
                                  .address = location->address,
                                  .first_line = tables->line_count,
                                  .line_count = (uint32_t)location->line_count };
    tables->line_count += location->line_count;
    return PROFILE_OK;
}

static enum profile_status put_thread(void *context, const struct profile_pprof_thread *thread)
{
    struct writer_tables *tables = context;
    void *items = tables->threads;
    enum profile_status status = reserve(tables, &items, &tables->thread_capacity,
                                         tables->thread_count + 1, 1, sizeof *tables->threads);

    tables->threads = items;
    if (status != PROFILE_OK)
        return status;
    if (tables->thread_count == 0)
        tables->threads[0] = (struct profile_pprof_thread){ .has_pid = false };
    tables->threads[++tables->thread_count] = *thread;
    return PROFILE_OK;
}

void writer_tables_sink(struct writer_tables *tables, struct profile_pprof_sink *out)
{
    *out = (struct profile_pprof_sink){
        .size = sizeof *out,
        .context = tables,
        .strings = put_strings,
        .header = put_header,
        .mapping = put_mapping,
        .function = put_function,
        .location = put_location,
        .thread = put_thread,
    };
}

void writer_tables_release(struct writer_tables *tables)
{
    base_arena_release(&tables->arena);
    base_pairs_release(&tables->frames);
    base_pairs_release(&tables->stacks);
    base_map_release(&tables->known_stacks);
    free(tables->strings);
    free(tables->mappings);
    free(tables->functions);
    free(tables->locations);
    free(tables->lines);
    free(tables->threads);
}

/* ---- Stacks ---- */

static enum profile_status check_sample(const struct writer_tables *tables,
                                        const struct profile_pprof_sample *sample)
{
    if (!tables->has_header)
        return writer_refuse(tables, "a sample before the header");
    if (sample->value_count != tables->header.type_count)
        return writer_refuse(tables, "a sample without a value of each type");
    if (sample->thread > tables->thread_count)
        return writer_refuse(tables, "a sample of a thread that was not written");
    for (size_t i = 0; i < sample->location_count; i++)
        if (sample->locations[i] > tables->location_count)
            return writer_refuse(tables, "a sample of a location that was not written");
    return PROFILE_OK;
}

/* The functions of a location, outermost first, below a stack.  Returns 0 when memory is short. */
static uint32_t push_location(struct writer_tables *tables, uint32_t stack, uint32_t number)
{
    const struct writer_location *location = &tables->locations[number - 1];
    uint32_t count = location->line_count ? location->line_count : 1;

    while (count-- > 0) {
        uint32_t frame = base_pairs_add(&tables->frames, number, count, NULL);

        if (!frame || !(stack = base_pairs_add(&tables->stacks, stack, frame, NULL)))
            return 0;
    }
    return stack;
}

enum profile_status writer_tables_stack(struct writer_tables *tables,
                                        const struct profile_pprof_sample *sample, uint32_t *out)
{
    enum profile_status status = check_sample(tables, sample);
    const uint64_t *known = sample->stack ? base_map_find(&tables->known_stacks, sample->stack)
                                          : NULL;

    *out = 0;
    if (status != PROFILE_OK)
        return status;
    if (known) {
        *out = (uint32_t)*known;
        return PROFILE_OK;
    }
    for (size_t i = sample->location_count; i-- > 0;) {
        if (sample->locations[i] == 0)
            continue;
        *out = push_location(tables, *out, sample->locations[i]);
        if (!*out)
            return profile_no_memory(tables->error);
    }
    if (sample->stack && !base_map_set(&tables->known_stacks, sample->stack, *out))
        return profile_no_memory(tables->error);
    return PROFILE_OK;
}

/* ---- Questions ---- */

struct profile_text writer_text(const struct writer_tables *tables, uint32_t string)
{
    return string < tables->string_count ? tables->strings[string] : (struct profile_text){ "", 0 };
}

bool writer_unit_is(const struct writer_tables *tables, const char *unit)
{
    struct profile_text text = writer_text(tables, tables->header.types[tables->shown].unit);

    return strcmp(text.bytes, unit) == 0;
}

struct writer_frame writer_frame_at(const struct writer_tables *tables, uint32_t frame)
{
    const struct base_pair *pair = &tables->frames.items[frame - 1];
    struct writer_frame out = { .location = &tables->locations[pair->a - 1],
                                .location_number = (uint32_t)pair->a };

    if (out.location->line_count == 0)
        return out;
    out.line = &tables->lines[out.location->first_line + pair->b];
    out.depth = out.location->line_count - 1 - (uint32_t)pair->b;
    if (out.line->function)
        out.function = &tables->functions[out.line->function - 1];
    return out;
}

static bool set(struct base_text *text, const char *bytes, size_t length)
{
    text->length = 0;
    return base_text_append(text, bytes, length);
}

bool writer_mapping_name(const struct writer_tables *tables, uint32_t mapping,
                         struct base_text *text)
{
    const struct profile_pprof_mapping *from = mapping ? &tables->mappings[mapping - 1] : NULL;
    const char *base = base_name(writer_text(tables, from ? from->filename : 0).bytes);
    struct profile_text build_id = writer_text(tables, from ? from->build_id : 0);

    if (*base)
        return set(text, base, strlen(base));
    if (build_id.length > 0)
        return set(text, "[", 1) && base_text_append(text, build_id.bytes, build_id.length) &&
               base_text_append(text, "]", 1);
    return set(text, PROFILE_UNKNOWN, strlen(PROFILE_UNKNOWN));
}

bool writer_frame_name(const struct writer_tables *tables, const struct writer_frame *frame,
                       struct base_text *text)
{
    struct profile_text name = writer_text(tables, frame->function ? frame->function->name : 0);

    if (name.length > 0)
        return set(text, name.bytes, name.length);
    if (!writer_mapping_name(tables, frame->location->mapping, text))
        return false;
    if (text->bytes[0] == '[')
        return true;
    if (!base_text_append(text, "[]", 2)) /* room for both */
        return false;
    memmove(text->bytes + 1, text->bytes, text->length - 2);
    text->bytes[0] = '[';
    return true;
}

static bool name_or_id(const struct writer_tables *tables, uint32_t name, bool has_id, uint32_t id,
                       const char *prefix, struct base_text *text)
{
    struct profile_text known = writer_text(tables, name);
    char number[32];

    if (known.length > 0)
        return set(text, known.bytes, known.length);
    if (!has_id)
        return set(text, "", 0);
    return set(text, number, (size_t)snprintf(number, sizeof number, "%s-%" PRIu32, prefix, id));
}

bool writer_process_name(const struct writer_tables *tables, uint32_t thread,
                         struct base_text *text)
{
    const struct profile_pprof_thread *from = thread ? &tables->threads[thread] : NULL;

    if (!from)
        return set(text, "", 0);
    return name_or_id(tables, from->process_name, from->has_pid, from->pid, "pid", text);
}

bool writer_thread_name(const struct writer_tables *tables, uint32_t thread, struct base_text *text)
{
    const struct profile_pprof_thread *from = thread ? &tables->threads[thread] : NULL;

    if (!from)
        return set(text, "", 0);
    return name_or_id(tables, from->name, from->has_tid, from->tid, "tid", text);
}
