/* stack_frames.c - frames: positions in modules, and names.  */
#include <assert.h>
#include <string.h>

#include "libprofile/stacks/stacks.h"

static enum profile_status add_frame(struct profile_stacks *stacks, struct profile_frame frame,
                                     uint64_t hash, profile_id *out, struct profile_error *error)
{
    void *items = stacks->frames;
    enum profile_status status = stacks_reserve(&items, &stacks->frame_capacity,
                                                stacks->frame_count, sizeof *stacks->frames,
                                                &stacks->frame_index, "frames", error);

    stacks->frames = items;
    if (status != PROFILE_OK)
        return status;
    stacks->frames[stacks->frame_count++] = frame;
    *out = (profile_id)stacks->frame_count;
    base_index_add(&stacks->frame_index, hash, *out);
    return PROFILE_OK;
}

enum profile_status profile_stacks_address_frame(struct profile_stacks *stacks, profile_id module,
                                                 uint64_t vaddr, profile_id *out,
                                                 struct profile_error *error)
{
    uint64_t hash = base_hash(base_hash(module, 1), vaddr);
    size_t probe;

    assert(module <= stacks->module_count);
    for (*out = base_index_first(&stacks->frame_index, hash, &probe); *out;
         *out = base_index_next(&stacks->frame_index, hash, &probe)) {
        const struct profile_frame *frame = &stacks->frames[*out - 1];

        if (frame->has_address && frame->module == module && frame->vaddr == vaddr)
            return PROFILE_OK;
    }
    return add_frame(
        stacks, (struct profile_frame){ .module = module, .vaddr = vaddr, .has_address = true },
        hash, out, error);
}

static uint64_t hash_lines(profile_id module, const struct profile_line *lines, size_t count)
{
    uint64_t hash = base_hash(module, count);

    for (size_t i = 0; i < count; i++) {
        hash = base_hash(hash, lines[i].function);
        hash = base_hash(hash, (uint64_t)lines[i].system_name << 32 | lines[i].file);
        hash = base_hash(hash, (uint64_t)lines[i].line << 32 | lines[i].column);
        hash = base_hash(hash, lines[i].start_line);
    }
    return hash;
}

static bool same_line(const struct profile_line *a, const struct profile_line *b)
{
    return a->function == b->function && a->system_name == b->system_name && a->file == b->file &&
           a->line == b->line && a->column == b->column && a->start_line == b->start_line;
}

static bool same_lines(const struct profile_frame *frame, const struct profile_line *lines,
                       size_t count)
{
    if (frame->line_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!same_line(&frame->lines[i], &lines[i]))
            return false;
    return true;
}

/* Copy lines into frame.  Those it had before stay in the arena; equal ones never get here.  */
static enum profile_status copy_lines(struct profile_stacks *stacks, struct profile_frame *frame,
                                      const struct profile_line *lines, size_t count,
                                      struct profile_error *error)
{
    size_t bytes;
    struct profile_line *copy;

    if (count > UINT32_MAX || __builtin_mul_overflow(count, sizeof *copy, &bytes))
        return profile_fail(error, PROFILE_LIMIT, "a frame of %zu lines", count);
    copy = base_arena_alloc(&stacks->arena, bytes);
    if (!copy)
        return profile_no_memory(error);
    if (count > 0)
        memcpy(copy, lines, bytes);
    frame->lines = copy;
    frame->line_count = (uint32_t)count;
    return PROFILE_OK;
}

enum profile_status profile_stacks_named_frame_in(struct profile_stacks *stacks, profile_id module,
                                                  const struct profile_line *lines, size_t count,
                                                  profile_id *out, struct profile_error *error)
{
    uint64_t hash = hash_lines(module, lines, count);
    struct profile_frame frame = { .module = module, .has_address = false };
    enum profile_status status;
    size_t probe;

    assert(module <= stacks->module_count);
    for (*out = base_index_first(&stacks->frame_index, hash, &probe); *out;
         *out = base_index_next(&stacks->frame_index, hash, &probe)) {
        const struct profile_frame *there = &stacks->frames[*out - 1];

        if (!there->has_address && there->module == module && same_lines(there, lines, count))
            return PROFILE_OK;
    }
    status = copy_lines(stacks, &frame, lines, count, error);
    if (status != PROFILE_OK)
        return status;
    return add_frame(stacks, frame, hash, out, error);
}

enum profile_status profile_stacks_named_frame(struct profile_stacks *stacks,
                                               const struct profile_line *lines, size_t count,
                                               profile_id *out, struct profile_error *error)
{
    return profile_stacks_named_frame_in(stacks, 0, lines, count, out, error);
}

enum profile_status profile_stacks_function_frame(struct profile_stacks *stacks, const char *name,
                                                  size_t length, profile_id *out,
                                                  struct profile_error *error)
{
    struct profile_line line = { .function = 0 };
    enum profile_status status = profile_stacks_string(stacks, name, length, &line.function, error);

    if (status != PROFILE_OK)
        return status;
    return profile_stacks_named_frame(stacks, &line, 1, out, error);
}

enum profile_status profile_stacks_set_lines(struct profile_stacks *stacks, profile_id frame,
                                             const struct profile_line *lines, size_t count,
                                             struct profile_error *error)
{
    struct profile_frame *found;

    if (frame < 1 || frame > stacks->frame_count || !stacks->frames[frame - 1].has_address)
        return profile_fail(error, PROFILE_INVALID, "frame %u has no address", frame);
    found = &stacks->frames[frame - 1];
    if (same_lines(found, lines, count))
        return PROFILE_OK;
    return copy_lines(stacks, found, lines, count, error);
}

profile_id profile_stacks_frame_count(const struct profile_stacks *stacks)
{
    return (profile_id)stacks->frame_count;
}

struct profile_frame profile_stacks_get_frame(const struct profile_stacks *stacks, profile_id frame)
{
    assert(frame <= stacks->frame_count);
    return frame ? stacks->frames[frame - 1] : (struct profile_frame){ .module = 0 };
}
