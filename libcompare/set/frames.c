/* frames.c - which functions the frames of all stacks stand for.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "libcompare/set/builder.h"

static void mark_used(struct compare_builder *builder, const struct profile_stacks *stacks,
                      uint8_t *used)
{
    for (size_t i = 0; i < builder->set.run_count; i++)
        for (size_t k = 0; k < builder->raws[i].count; k++)
            used[builder->raws[i].items[k].callsite] |= (uint8_t)(1u << builder->set.runs[i].side);
    /* Parents have lower ids than their children.  */
    for (profile_id id = profile_stacks_callsite_count(stacks); id > 0; id--)
        used[profile_stacks_get_callsite(stacks, id).parent] |= used[id];
}

/* As folded stacks print a frame without a name: "[libc.so.6]", never an address, which would
 * differ from build to build.  */
static size_t unnamed(const char *module, char *text, size_t size)
{
    int length = snprintf(text, size, *module == '[' || !*module ? "%s" : "[%s]",
                          *module ? module : "[unknown]");

    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

/* Functions of strings of the profile, so that each name is looked at once.  */
static uint32_t function_of(struct compare_builder *builder, struct base_map *known,
                            profile_id name, const char *text, size_t length)
{
    uint64_t *found = name ? base_map_find(known, name) : NULL;
    uint32_t function;

    if (found)
        return (uint32_t)*found;
    function = builder_find_function(builder, text, length);
    if (name && !base_map_set(known, name, function))
        (void)builder_no_memory(builder);
    return function;
}

enum { ON_BOTH_SIDES = 1 << COMPARE_BASE | 1 << COMPARE_NEW };

/* What frames are named with.  */
struct naming {
    struct compare_builder *builder;
    struct base_map known; /* functions of strings */
    uint8_t *module_sides; /* which sides each module is on */
};

static uint32_t name_line(struct naming *naming, const struct profile_frame *frame, uint32_t index,
                          uint8_t sides)
{
    struct compare_builder *builder = naming->builder;
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    struct profile_module module = profile_stacks_get_module(stacks, frame->module);
    struct profile_line none = { .function = 0 };
    const struct profile_line *line = frame->line_count ? &frame->lines[index] : &none;
    struct compare_place place = {
        .module = base_name(profile_stacks_text(stacks, module.name, NULL)),
        .file = profile_stacks_text(stacks, line->file, NULL),
        .start_line = line->start_line,
        .first_line = line->line,
        .last_line = line->line,
    };
    char text[300];
    size_t length;
    uint32_t function;

    place.name = profile_stacks_text(stacks, line->function, &length);
    /* Addresses of one build mean nothing in another, which is another module.  */
    bool by_address = naming->module_sides[frame->module] != ON_BOTH_SIDES &&
                      profile_name_is_bounds(place.name, length);
    if (length == 0 || by_address) {
        length = unnamed(place.module, text, sizeof text);
        place.name = text;
    }
    function = function_of(builder, &naming->known, by_address ? 0 : line->function, place.name,
                           length);
    for (int side = 0; side < COMPARE_SIDES; side++)
        if (sides & 1u << side)
            builder_widen_place(builder, function, (enum compare_side)side, &place);
    return function;
}

/* Add the functions of a frame, outermost first.  */
static void name_frame(struct naming *naming, const struct profile_frame *frame, uint8_t sides,
                       struct frame_functions *out, size_t *count, size_t *capacity)
{
    for (uint32_t lines = frame->line_count ? frame->line_count : 1; lines-- > 0;) {
        if (!base_make_room(&out->functions, capacity, *count + 1, sizeof *out->functions)) {
            (void)builder_no_memory(naming->builder);
            return;
        }
        out->functions[(*count)++] = name_line(naming, frame, lines, sides);
    }
}

/* sides: of each frame.  */
static void name_frames(struct compare_builder *builder, const uint8_t *sides,
                        struct frame_functions *out)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    profile_id frames = profile_stacks_frame_count(stacks);
    struct naming naming = { .builder = builder };
    size_t count = 0, capacity = 0;

    naming.module_sides = compare_array(profile_stacks_module_count(stacks) + 1,
                                        sizeof *naming.module_sides);
    if (!naming.module_sides) {
        (void)builder_no_memory(builder);
        return;
    }
    for (profile_id id = 1; id <= frames; id++)
        naming.module_sides[profile_stacks_get_frame(stacks, id).module] |= sides[id];
    for (profile_id id = 1; id <= frames && builder_is_ok(builder); id++) {
        struct profile_frame frame = profile_stacks_get_frame(stacks, id);

        out->first[id] = count;
        if (sides[id])
            name_frame(&naming, &frame, sides[id], out, &count, &capacity);
        out->first[id + 1] = count;
    }
    base_map_release(&naming.known);
    free(naming.module_sides);
}

bool frame_functions_find(struct compare_builder *builder, struct frame_functions *out)
{
    const struct profile_stacks *stacks = profile_stacks_of(builder->profile);
    profile_id callsites = profile_stacks_callsite_count(stacks);
    profile_id frames = profile_stacks_frame_count(stacks);
    uint8_t *sides = compare_array((size_t)frames + 1, sizeof *sides);

    out->used = compare_array((size_t)callsites + 1, sizeof *out->used);
    out->first = compare_array((size_t)frames + 2, sizeof *out->first);
    if (!sides || !out->used || !out->first) {
        free(sides);
        return builder_no_memory(builder);
    }
    mark_used(builder, stacks, out->used);
    for (profile_id id = 1; id <= callsites; id++)
        sides[profile_stacks_get_callsite(stacks, id).frame] |= out->used[id];
    name_frames(builder, sides, out);
    free(sides);
    return builder_is_ok(builder);
}

void frame_functions_release(struct frame_functions *frames)
{
    free(frames->used);
    free(frames->first);
    free(frames->functions);
}
