/* folded_write.c - folded stacks (docs/formats/pprof.md section 5).
 *
 * Stacks whose names are equal after clean-up are one line, so the profile's call sites are first
 * brought into a second struct profile_stacks whose frames are clean names.  Its call sites form a
 * tree; walking it with sorted children writes sorted lines without ever holding them all.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/output.h"

/* One position below a node: the line that ends with child, or the lines that go on through it. */
struct item {
    profile_id child;
    bool through;
};

struct folded {
    const struct profile *profile;
    struct profile_stacks *names; /* the tree */
    enum profile_kind kind;
    enum profile_root root;
    size_t type;
    uint32_t units;
    struct base_text text; /* scratch */

    uint64_t *values; /* of tree node id at [id - 1] */
    size_t value_count, value_capacity;

    profile_id *nodes;  /* profile's call site to tree node, under the root of roots[] */
    profile_id *roots;  /* the tree node under which nodes[] holds; 0: not yet */
    profile_id *path;   /* scratch: call sites on the way to a known one */
    struct item *items; /* children of all nodes, grouped by node and sorted */
    size_t *first_item; /* of node id at [id]; [id + 1] is behind its last */
};

/* ---- Clean names ---- */

/* The text, cleaned in place.  */
static void clean(struct base_text *text, bool blanks)
{
    text->length = profile_folded_name(text->bytes, text->length);
    for (size_t i = 0; blanks && i < text->length; i++)
        if (text->bytes[i] == ' ')
            text->bytes[i] = '_';
}

/* The tree node below parent named by the text, which is cleaned first.  */
static enum profile_status add_node(struct folded *folded, profile_id parent, bool blanks,
                                    profile_id *out, struct profile_error *error)
{
    const char *name = folded->text.bytes;
    enum profile_status status;
    profile_id frame;

    clean(&folded->text, blanks);
    if (folded->text.length == 0)
        name = PROFILE_UNKNOWN;
    status = profile_stacks_function_frame(folded->names, name,
                                           folded->text.length ? folded->text.length : strlen(name),
                                           &frame, error);
    if (status == PROFILE_OK)
        status = profile_stacks_callsite(folded->names, parent, frame, out, error);
    return status;
}

/* ---- Into the tree ---- */

/* Inlined functions are ordinary frames here: outer before inner.  */
static enum profile_status add_frame(struct folded *folded, profile_id parent, profile_id frame_id,
                                     profile_id *out, struct profile_error *error)
{
    struct profile_frame frame = profile_stacks_get_frame(folded->profile->stacks, frame_id);
    uint32_t count = frame.line_count > 0 ? frame.line_count : 1;
    enum profile_status status = PROFILE_OK;

    *out = parent;
    while (count-- > 0 && status == PROFILE_OK) {
        folded->text.length = 0;
        if (!codec_text_add_function(&folded->text, folded->profile, &frame, count))
            return profile_no_memory(error);
        status = add_node(folded, *out, false, out, error);
    }
    return status;
}

static enum profile_status add_owner(struct folded *folded, profile_id parent, profile_id name,
                                     const char *prefix, uint64_t koid, profile_id *out,
                                     struct profile_error *error)
{
    char number[32];
    size_t length;
    const char *bytes = profile_stacks_text(folded->profile->stacks, name, &length);
    bool ok;

    folded->text.length = 0;
    if (length > 0) {
        ok = codec_text_add_utf8(&folded->text, bytes, length);
    } else {
        int size = snprintf(number, sizeof number, "%s-%" PRIu32, prefix, (uint32_t)koid);
        ok = codec_text_add(&folded->text, number, (size_t)size);
    }
    return ok ? add_node(folded, parent, true, out, error) : profile_no_memory(error);
}

/* The tree node that stands for the thread; 0 with PROFILE_ROOT_NONE.  */
static enum profile_status add_root(struct folded *folded, uint32_t thread, profile_id *out,
                                    struct profile_error *error)
{
    const struct profile_owner *owner = &folded->profile->threads[thread - 1];
    const struct profile_owner_process *process =
        &folded->profile->processes[owner->process_id - 1];
    enum profile_status status;

    *out = 0;
    if (folded->root == PROFILE_ROOT_NONE)
        return PROFILE_OK;
    status = add_owner(folded, 0, process->name, "pid", process->koid, out, error);
    if (status == PROFILE_OK && folded->root == PROFILE_ROOT_THREAD &&
        profile_knows_thread(folded->kind, owner))
        status = add_owner(folded, *out, profile_owner_name(folded->profile, owner), "tid",
                           owner->koid, out, error);
    return status;
}

/* The tree node of a call site below root.  Nodes found on the way are kept, as long as the same
 * root is asked for.  */
static enum profile_status add_stack(struct folded *folded, profile_id root, profile_id callsite,
                                     profile_id *out, struct profile_error *error)
{
    const struct profile_stacks *stacks = folded->profile->stacks;
    enum profile_status status = PROFILE_OK;
    size_t depth = 0;

    while (callsite && !(folded->nodes[callsite] && folded->roots[callsite] == root)) {
        folded->path[depth++] = callsite;
        callsite = profile_stacks_get_callsite(stacks, callsite).parent;
    }
    *out = callsite ? folded->nodes[callsite] : root;
    while (depth-- > 0 && status == PROFILE_OK) {
        profile_id at = folded->path[depth];

        status = add_frame(folded, *out, profile_stacks_get_callsite(stacks, at).frame, out, error);
        folded->nodes[at] = *out;
        folded->roots[at] = root;
    }
    return status;
}

static enum profile_status add_value(struct folded *folded, profile_id node, uint64_t value,
                                     struct profile_error *error)
{
    if (!base_make_room(&folded->values, &folded->value_capacity, node, sizeof *folded->values))
        return profile_no_memory(error);
    while (folded->value_count < node)
        folded->values[folded->value_count++] = 0;
    folded->values[node - 1] = profile_add(folded->values[node - 1], value);
    return PROFILE_OK;
}

static int compare_threads(const void *a, const void *b, void *context)
{
    const struct profile_values *values = context;
    const struct profile_value *left = profile_value_at(values, *(const uint32_t *)a);
    const struct profile_value *right = profile_value_at(values, *(const uint32_t *)b);

    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return (left->callsite > right->callsite) - (left->callsite < right->callsite);
}

/* All values, thread by thread, so that nodes of one root are asked for together.  */
static enum profile_status build_tree(struct folded *folded, struct profile_values *values,
                                      struct profile_error *error)
{
    size_t callsites = (size_t)profile_stacks_callsite_count(folded->profile->stacks) + 1;
    uint32_t *order = calloc(values->count + 1, sizeof *order);
    enum profile_status status = PROFILE_OK;
    profile_id root = 0, node;
    uint32_t thread = 0;

    folded->nodes = calloc(callsites, sizeof *folded->nodes);
    folded->roots = calloc(callsites, sizeof *folded->roots);
    folded->path = calloc(callsites, sizeof *folded->path);
    if (!order || !folded->nodes || !folded->roots || !folded->path)
        status = profile_no_memory(error);
    for (size_t i = 0; i < values->count && status == PROFILE_OK; i++)
        order[i] = (uint32_t)i;
    if (status == PROFILE_OK)
        qsort_r(order, values->count, sizeof *order, compare_threads, values);
    for (size_t i = 0; i < values->count && status == PROFILE_OK; i++) {
        const struct profile_value *value = profile_value_at(values, order[i]);

        if (value->amounts[folded->type] == 0)
            continue;
        if (value->thread != thread)
            status = add_root(folded, value->thread, &root, error);
        thread = value->thread;
        if (status == PROFILE_OK)
            status = add_stack(folded, root, value->callsite, &node, error);
        if (status == PROFILE_OK)
            status = add_value(folded, node, value->amounts[folded->type], error);
    }
    free(order);
    return status;
}

/* ---- Sorting ---- */

static const char *name_of_node(const struct folded *folded, profile_id node, size_t *length)
{
    profile_id frame = profile_stacks_get_callsite(folded->names, node).frame;

    return profile_stacks_text(
        folded->names, profile_stacks_get_frame(folded->names, frame).lines[0].function, length);
}

/* As the stacks of their lines compare: what goes through a node has a ';' behind its name.  */
static int compare_items(const void *a, const void *b, void *context)
{
    const struct item *left = a, *right = b;
    size_t left_length, right_length;
    const char *left_name = name_of_node(context, left->child, &left_length);
    const char *right_name = name_of_node(context, right->child, &right_length);
    size_t shorter = left_length < right_length ? left_length : right_length;
    int order = memcmp(left_name, right_name, shorter);
    unsigned char next;

    if (order != 0)
        return order;
    if (left_length == right_length)
        return left->through - right->through;
    if (left_length < right_length) {
        next = (unsigned char)right_name[shorter];
        return left->through && next < ';' ? 1 : -1;
    }
    next = (unsigned char)left_name[shorter];
    return right->through && next < ';' ? -1 : 1;
}

/* first_item[] and items[]: for each node, 0 for the roots' parent, what goes on below it.  */
static enum profile_status sort_items(struct folded *folded, struct profile_error *error)
{
    size_t nodes = profile_stacks_callsite_count(folded->names);
    size_t total = 0;

    folded->first_item = calloc(nodes + 3, sizeof *folded->first_item);
    folded->items = calloc(2 * nodes + 1, sizeof *folded->items);
    if (!folded->first_item || !folded->items)
        return profile_no_memory(error);
    /* [parent + 2] counts, then [parent + 1] is where its next item goes.  */
    for (profile_id id = 1; id <= nodes; id++)
        folded->first_item[profile_stacks_get_callsite(folded->names, id).parent + 2] += 2;
    for (size_t i = 0; i < nodes + 3; i++)
        folded->first_item[i] = total += folded->first_item[i];
    for (profile_id id = 1; id <= nodes; id++) {
        size_t *at = &folded->first_item[profile_stacks_get_callsite(folded->names, id).parent + 1];

        folded->items[(*at)++] = (struct item){ id, false };
        folded->items[(*at)++] = (struct item){ id, true };
    }
    for (size_t i = 0; i <= nodes; i++) {
        size_t first = folded->first_item[i];

        qsort_r(folded->items + first, folded->first_item[i + 1] - first, sizeof *folded->items,
                compare_items, folded);
    }
    return PROFILE_OK;
}

/* ---- Writing ---- */

/* A node on the way down.  */
struct level {
    size_t item, limit; /* of items[] */
    size_t length;      /* of the line's text up to here */
};

static void put_line(const struct base_text *line, uint64_t value, struct codec_output *output)
{
    char number[32];
    int length = snprintf(number, sizeof number, " %" PRIu64 "\n", value);

    codec_put(output, line->bytes, line->length);
    codec_put(output, number, (size_t)length);
}

static struct level enter(const struct folded *folded, profile_id node, size_t length)
{
    return (struct level){ folded->first_item[node], folded->first_item[node + 1], length };
}

/* Walk the tree in order.  The line being built is folded->text.  */
static enum profile_status write_tree(struct folded *folded, struct level *levels,
                                      struct codec_output *output, struct profile_error *error)
{
    struct base_text *line = &folded->text;
    size_t depth = 1;

    levels[0] = enter(folded, 0, 0);
    while (depth > 0) {
        struct level *level = &levels[depth - 1];
        const struct item *item = &folded->items[level->item];
        size_t length;
        const char *name;

        if (level->item == level->limit) {
            depth--;
            continue;
        }
        level->item++;
        line->length = level->length;
        name = name_of_node(folded, item->child, &length);
        if (!codec_text_add(line, name, length))
            return profile_no_memory(error);
        if (!item->through) {
            uint64_t value = item->child <= folded->value_count ? folded->values[item->child - 1]
                                                                : 0;
            value = profile_from_units(value, folded->units);
            if (value > 0)
                put_line(line, value, output);
        } else {
            if (!codec_text_add(line, ";", 1))
                return profile_no_memory(error);
            levels[depth++] = enter(folded, item->child, line->length);
        }
    }
    return codec_output_finish(output, error);
}

static enum profile_status write_lines(struct folded *folded, profile_write_fn write, void *context,
                                       struct profile_error *error)
{
    struct codec_output output;
    struct level *levels;
    uint32_t deepest = 0;
    enum profile_status status = sort_items(folded, error);

    if (status != PROFILE_OK)
        return status;
    for (profile_id id = 1; id <= profile_stacks_callsite_count(folded->names); id++) {
        uint32_t depth = profile_stacks_get_callsite(folded->names, id).depth;

        if (depth > deepest)
            deepest = depth;
    }
    levels = calloc((size_t)deepest + 1, sizeof *levels);
    if (!levels)
        return profile_no_memory(error);
    codec_output_init(&output, write, context);
    status = write_tree(folded, levels, &output, error);
    free(levels);
    return status;
}

static void release(struct folded *folded)
{
    free(folded->text.bytes);
    free(folded->values);
    free(folded->nodes);
    free(folded->roots);
    free(folded->path);
    free(folded->items);
    free(folded->first_item);
    profile_stacks_close(folded->names);
}

enum profile_status profile_write_folded(const struct profile *profile, enum profile_kind kind,
                                         const struct profile_folded_options *options,
                                         profile_write_fn write, void *context,
                                         struct profile_error *error)
{
    struct profile_folded_options chosen = { .value = -1 };
    struct folded folded = { .profile = profile };
    struct profile_values values;
    const struct profile_known_type *types;
    enum profile_status status;
    size_t type_count;

    if ((unsigned)kind >= PROFILE_KINDS)
        return profile_fail(error, PROFILE_INVALID, "no profile of kind %d", (int)kind);
    if (options)
        memcpy(&chosen, options, options->size < sizeof chosen ? options->size : sizeof chosen);
    types = profile_types(profile, kind, &type_count);
    if (chosen.value < -1 || chosen.value >= (int)type_count)
        return profile_fail(error, PROFILE_INVALID, "no sample type %d among %zu", chosen.value,
                            type_count);
    if ((unsigned)chosen.root > PROFILE_ROOT_NONE)
        return profile_fail(error, PROFILE_INVALID, "no root %d", (int)chosen.root);
    folded.root = chosen.root;
    folded.kind = kind;
    folded.type = chosen.value < 0 ? profile_default_type(profile, kind) : (size_t)chosen.value;
    folded.units = types[folded.type].units;
    values = profile->values[kind];
    status = profile_stacks_open(&folded.names, error);
    if (status == PROFILE_OK)
        status = build_tree(&folded, &values, error);
    if (status == PROFILE_OK)
        status = write_lines(&folded, write, context, error);
    release(&folded);
    return status;
}
