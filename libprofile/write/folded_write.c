/* folded_write.c - folded stacks (docs/formats/pprof.md section 5), for all that is emitted into a
 * sink: profiles, stores, comparisons.
 *
 * Stacks whose names are equal after clean-up are one line.  Samples are added up by owner and
 * stack; in the end these become a tree of clean names, and walking it with sorted children writes
 * sorted lines without ever holding them all.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprofile/write/writers.h"

/* A sum: whole + part / parts of one, part below parts.  */
struct sum {
    uint64_t whole;
    uint64_t part;
};

/* One position below a node: the line that ends with child, or the lines that go on through it. */
struct item {
    profile_id child;
    bool through;
};

struct folded {
    struct writer_tables tables; /* first: the sink's context is both */
    struct base_output output;
    enum profile_root root;
    bool all_types;
    size_t columns; /* of sums: types that are written */

    struct base_pairs keys; /* thread, stack */
    struct sum *sums;       /* of key i, from [(i - 1) * columns] on */
    size_t sum_capacity;

    struct profile_stacks *names; /* the tree */
    struct sum *lines;            /* of tree node i, from [(i - 1) * columns] on */
    size_t line_count, line_capacity;
    profile_id *nodes;     /* number of the stack to tree node, under the root of roots[] */
    profile_id *roots;     /* the tree node under which nodes[] holds, + 1; 0: not yet */
    uint32_t *path;        /* scratch: stacks on the way to a known one */
    struct item *items;    /* children of all nodes, grouped by node and sorted */
    size_t *first_item;    /* of node id at [id]; [id + 1] is behind its last */
    struct base_text text; /* scratch */
};

/* ---- Adding up ---- */

static void add_sum(const struct folded *folded, struct sum *to, struct sum more)
{
    uint64_t parts = folded->tables.header.parts;

    to->part += more.part;
    if (parts && to->part >= parts) {
        to->part -= parts;
        to->whole = profile_add(to->whole, 1);
    }
    to->whole = profile_add(to->whole, more.whole);
}

/* Lines have no negative values: they count for nothing.  */
static struct sum value_of(const struct folded *folded, const struct profile_pprof_sample *sample,
                           size_t type)
{
    uint64_t parts = folded->tables.header.parts;
    struct sum sum = { .whole = 0 };

    if (!sample->exact || !parts) {
        sum.whole = sample->values[type] > 0 ? (uint64_t)sample->values[type] : 0;
    } else {
        sum.whole = profile_add(sample->exact[type].whole, sample->exact[type].part / parts);
        sum.part = sample->exact[type].part % parts;
    }
    return sum;
}

/* The sums of a key, which are zero if it is new; NULL: no memory.  */
static struct sum *sums_of(struct folded *folded, uint32_t thread, uint32_t stack)
{
    size_t columns = folded->columns;
    bool is_new;
    uint32_t key = base_pairs_add(&folded->keys, thread, stack, &is_new);
    struct sum *found;

    if (!key ||
        !base_make_room(&folded->sums, &folded->sum_capacity, key * columns, sizeof *folded->sums))
        return NULL;
    found = &folded->sums[(key - 1) * columns];
    if (is_new)
        memset(found, 0, columns * sizeof *found);
    return found;
}

static enum profile_status take_sample(void *context, const struct profile_pprof_sample *sample)
{
    struct folded *folded = context;
    uint32_t stack, thread = folded->root == PROFILE_ROOT_NONE ? 0 : sample->thread;
    enum profile_status status = writer_tables_stack(&folded->tables, sample, &stack);
    struct sum *sums;

    if (status != PROFILE_OK)
        return status;
    if (folded->columns == 0)
        folded->columns = folded->all_types ? folded->tables.header.type_count : 1;
    sums = sums_of(folded, thread, stack);
    if (!sums)
        return profile_no_memory(folded->tables.error);
    for (size_t i = 0; i < folded->columns; i++)
        add_sum(folded, &sums[i],
                value_of(folded, sample, folded->all_types ? i : folded->tables.shown));
    return PROFILE_OK;
}

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

static enum profile_status add_frame(struct folded *folded, profile_id parent, uint32_t number,
                                     profile_id *out, struct profile_error *error)
{
    struct writer_frame frame = writer_frame_at(&folded->tables, number);

    return writer_frame_name(&folded->tables, &frame, &folded->text)
               ? add_node(folded, parent, false, out, error)
               : profile_no_memory(error);
}

/* The tree node that stands for the thread; 0: there is none.  */
static enum profile_status add_root(struct folded *folded, uint32_t number, profile_id *out,
                                    struct profile_error *error)
{
    const struct profile_pprof_thread *thread = number ? &folded->tables.threads[number] : NULL;
    enum profile_status status = PROFILE_OK;

    *out = 0;
    if (!thread || folded->root == PROFILE_ROOT_NONE)
        return PROFILE_OK;
    if (!writer_process_name(&folded->tables, number, &folded->text))
        return profile_no_memory(error);
    if (thread->has_pid || folded->text.length > 0)
        status = add_node(folded, 0, true, out, error);
    if (status != PROFILE_OK || folded->root != PROFILE_ROOT_THREAD)
        return status;
    if (!writer_thread_name(&folded->tables, number, &folded->text))
        return profile_no_memory(error);
    if (thread->has_tid || folded->text.length > 0)
        status = add_node(folded, *out, true, out, error);
    return status;
}

/* The tree node of a stack below root.  Nodes found on the way are kept, as long as the same root
 * is asked for.  */
static enum profile_status add_stack(struct folded *folded, profile_id root, uint32_t stack,
                                     profile_id *out, struct profile_error *error)
{
    const struct base_pair *stacks = folded->tables.stacks.items;
    enum profile_status status = PROFILE_OK;
    size_t depth = 0;

    while (stack && folded->roots[stack] != root + 1) {
        folded->path[depth++] = stack;
        stack = (uint32_t)stacks[stack - 1].a;
    }
    *out = stack ? folded->nodes[stack] : root;
    while (depth-- > 0 && status == PROFILE_OK) {
        uint32_t at = folded->path[depth];

        status = add_frame(folded, *out, (uint32_t)stacks[at - 1].b, out, error);
        folded->nodes[at] = *out;
        folded->roots[at] = root + 1;
    }
    return status;
}

static bool is_zero(const struct folded *folded, const struct sum *sums)
{
    for (size_t i = 0; i < folded->columns; i++)
        if (sums[i].whole != 0 || sums[i].part != 0)
            return false;
    return true;
}

/* node 0: nothing stands for the samples.  */
static enum profile_status add_line(struct folded *folded, profile_id node, const struct sum *sums,
                                    struct profile_error *error)
{
    size_t columns = folded->columns;

    if (node == 0)
        return PROFILE_OK;
    if (!base_make_room(&folded->lines, &folded->line_capacity, node * columns,
                        sizeof *folded->lines))
        return profile_no_memory(error);
    if (folded->line_count < node)
        memset(folded->lines + folded->line_count * columns, 0,
               (node - folded->line_count) * columns * sizeof *folded->lines);
    if (folded->line_count < node)
        folded->line_count = node;
    for (size_t i = 0; i < columns; i++)
        add_sum(folded, &folded->lines[(node - 1) * columns + i], sums[i]);
    return PROFILE_OK;
}

static int compare_keys(const void *a, const void *b, void *context)
{
    const struct base_pair *keys = context;
    const struct base_pair *left = &keys[*(const uint32_t *)a],
                           *right = &keys[*(const uint32_t *)b];

    if (left->a != right->a)
        return left->a < right->a ? -1 : 1;
    return (left->b > right->b) - (left->b < right->b);
}

/* All sums, thread by thread, so that nodes of one root are asked for together.  */
static enum profile_status build_tree(struct folded *folded, struct profile_error *error)
{
    size_t stacks = folded->tables.stacks.count + 1, count = folded->keys.count;
    uint32_t *order = calloc(count + 1, sizeof *order);
    enum profile_status status = PROFILE_OK;
    profile_id root = 0, node;
    uint64_t thread = UINT64_MAX;

    folded->nodes = calloc(stacks, sizeof *folded->nodes);
    folded->roots = calloc(stacks, sizeof *folded->roots);
    folded->path = calloc(stacks, sizeof *folded->path);
    if (!order || !folded->nodes || !folded->roots || !folded->path)
        status = profile_no_memory(error);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++)
        order[i] = (uint32_t)i;
    if (status == PROFILE_OK && count > 0)
        qsort_r(order, count, sizeof *order, compare_keys, folded->keys.items);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        const struct base_pair *key = &folded->keys.items[order[i]];
        const struct sum *sums = &folded->sums[order[i] * folded->columns];

        if (is_zero(folded, sums))
            continue;
        if (key->a != thread)
            status = add_root(folded, (uint32_t)key->a, &root, error);
        thread = key->a;
        if (status == PROFILE_OK)
            status = add_stack(folded, root, (uint32_t)key->b, &node, error);
        if (status == PROFILE_OK)
            status = add_line(folded, node, sums, error);
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

/* A sum as people read it: rounded to so many decimals, without zeros at its end.  Returns whether
 * it is more than 0.  */
static bool format_sum(const struct folded *folded, struct sum sum, char *text, size_t size)
{
    const struct profile_pprof_header *header = &folded->tables.header;
    uint64_t scale = 1, digits = 0;
    size_t length;

    for (unsigned i = 0; i < header->decimals; i++)
        scale *= 10;
    if (header->parts) /* both are below 2^32 */
        digits = (sum.part * scale + header->parts / 2) / header->parts;
    if (digits == scale && digits > 0) {
        sum.whole = profile_add(sum.whole, 1);
        digits = 0;
    }
    length = (size_t)snprintf(text, size, " %" PRIu64, sum.whole);
    if (digits > 0) {
        length += (size_t)snprintf(text + length, size - length, ".%0*" PRIu64,
                                   (int)header->decimals, digits);
        while (text[length - 1] == '0')
            text[--length] = '\0';
    }
    return sum.whole > 0 || digits > 0;
}

static void put_line(struct folded *folded, profile_id node)
{
    const struct sum *sums = &folded->lines[(node - 1) * folded->columns];
    char number[64];
    bool any = false;

    if (node > folded->line_count)
        return;
    for (size_t i = 0; i < folded->columns; i++)
        any |= format_sum(folded, sums[i], number, sizeof number);
    if (!any)
        return;
    base_output_put(&folded->output, folded->text.bytes, folded->text.length);
    for (size_t i = 0; i < folded->columns; i++) {
        (void)format_sum(folded, sums[i], number, sizeof number);
        base_output_put(&folded->output, number, strlen(number));
    }
    base_output_put(&folded->output, "\n", 1);
}

static struct level enter(const struct folded *folded, profile_id node, size_t length)
{
    return (struct level){ folded->first_item[node], folded->first_item[node + 1], length };
}

/* Walk the tree in order.  The line being built is folded->text.  */
static enum profile_status write_tree(struct folded *folded, struct level *levels,
                                      struct profile_error *error)
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
        if (!base_text_append(line, name, length))
            return profile_no_memory(error);
        if (!item->through) {
            put_line(folded, item->child);
        } else {
            if (!base_text_append(line, ";", 1))
                return profile_no_memory(error);
            levels[depth++] = enter(folded, item->child, line->length);
        }
    }
    return PROFILE_OK;
}

static enum profile_status write_lines(struct folded *folded, struct profile_error *error)
{
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
    levels = calloc((size_t)deepest + 2, sizeof *levels);
    if (!levels)
        return profile_no_memory(error);
    status = write_tree(folded, levels, error);
    free(levels);
    return status;
}

/* ---- The writer ---- */

static enum profile_status take_header(void *context, const struct profile_pprof_header *header)
{
    struct folded *folded = context;
    struct profile_pprof_sink tables;

    if (header->decimals > 9)
        return writer_refuse(&folded->tables, "more than 9 decimals");
    writer_tables_sink(&folded->tables, &tables);
    return tables.header(context, header);
}

static enum profile_status folded_finish(void *context, struct profile_error *error)
{
    struct folded *folded = context;
    enum profile_status status = build_tree(folded, error);

    if (status == PROFILE_OK)
        status = write_lines(folded, error);
    return status == PROFILE_OK ? codec_output_finish(&folded->output, error) : status;
}

static void folded_sink(void *context, struct profile_pprof_sink *out)
{
    struct folded *folded = context;

    writer_tables_sink(&folded->tables, out);
    out->header = take_header;
    out->sample = take_sample;
}

static void folded_errors_to(void *context, struct profile_error *error)
{
    struct folded *folded = context;

    folded->tables.error = error;
}

static void folded_close(void *context)
{
    struct folded *folded = context;

    if (!folded)
        return;
    writer_tables_release(&folded->tables);
    base_pairs_release(&folded->keys);
    base_text_release(&folded->text);
    free(folded->sums);
    free(folded->lines);
    free(folded->nodes);
    free(folded->roots);
    free(folded->path);
    free(folded->items);
    free(folded->first_item);
    profile_stacks_close(folded->names);
    free(folded);
}

static enum profile_status folded_open(const struct profile_writer_options *options,
                                       profile_write_fn write, void *context, void **out,
                                       struct profile_error *error)
{
    struct folded *folded;
    enum profile_status status;

    if ((unsigned)options->root > PROFILE_ROOT_NONE)
        return profile_fail(error, PROFILE_INVALID, "no root %d", (int)options->root);
    folded = calloc(1, sizeof *folded);
    if (!folded)
        return profile_no_memory(error);
    base_output_init(&folded->output, write, context);
    folded->root = options->root;
    folded->all_types = options->all_types;
    status = profile_stacks_open(&folded->names, error);
    if (status == PROFILE_OK)
        *out = folded;
    else
        folded_close(folded);
    return status;
}

const struct writer_functions folded_functions = {
    .open = folded_open,
    .sink = folded_sink,
    .errors_to = folded_errors_to,
    .finish = folded_finish,
    .close = folded_close,
};

enum profile_status profile_write_folded(const struct profile *profile, enum profile_kind kind,
                                         const struct profile_folded_options *options,
                                         profile_write_fn write, void *context,
                                         struct profile_error *error)
{
    struct profile_folded_options chosen = { .value = -1 };
    struct profile_writer_options writer = { .size = sizeof writer };

    if (options)
        memcpy(&chosen, options, options->size < sizeof chosen ? options->size : sizeof chosen);
    if ((unsigned)kind < PROFILE_KINDS && chosen.value < -1) {
        size_t count;

        (void)profile_types(profile, kind, &count);
        return profile_fail(error, PROFILE_INVALID, "no sample type %d among %zu", chosen.value,
                            count);
    }
    writer.root = chosen.root;
    return profile_write_format(profile, kind, (size_t)chosen.value + 1,
                                profile_format_named("folded"), &writer, write, context, error);
}
