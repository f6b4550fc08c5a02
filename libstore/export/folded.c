/* folded.c - folded stacks (docs/formats/pprof.md section 5), as profile_write_folded() writes
 * them: stacks whose text is equal are one line, lines are in the order of their bytes, and what
 * rounds to nothing is left out.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_types.h>
#include "base/grow.h"
#include "base/numbering.h"
#include "libstore/export/export.h"

#define MILLION 1000000u

struct amount {
    uint64_t whole; /* in units */
    uint64_t millionths;
};

struct line {
    char *text;
    size_t length;
    struct amount amount;
};

struct folded {
    struct export_type type;
    uint32_t units;
    enum profile_root root;
    struct base_pairs keys; /* (owner, call site) */
    struct amount *amounts; /* [key - 1] */
    size_t capacity;
    struct line *lines; /* by keys.count */
};

/* ---- Adding up ---- */

static void add_amount(struct amount *sum, struct amount amount)
{
    sum->millionths += amount.millionths;
    if (__builtin_add_overflow(sum->whole, amount.whole, &sum->whole))
        sum->whole = UINT64_MAX;
}

/* Who a line begins with: a process, or a thread where there is one.  */
static uint64_t owner_of(const struct folded *folded, const struct export_row *row)
{
    if (folded->root == PROFILE_ROOT_NONE)
        return 0;
    if (folded->root == PROFILE_ROOT_THREAD && row->thread)
        return (uint64_t)row->thread << 32 | row->process;
    return row->process;
}

static enum store_status add(struct export *export, struct folded *folded, uint64_t owner,
                             uint32_t callsite, struct amount amount)
{
    bool is_new;
    uint32_t number = base_pairs_add(&folded->keys, owner, callsite, &is_new);

    if (number == 0 ||
        !base_make_room(&folded->amounts, &folded->capacity, number, sizeof *folded->amounts))
        return store_no_memory(export->error);
    if (is_new)
        folded->amounts[number - 1] = (struct amount){ .whole = 0 };
    add_amount(&folded->amounts[number - 1], amount);
    return STORE_OK;
}

static enum store_status take_cpu(struct export *export, const struct export_row *row,
                                  void *context)
{
    struct folded *folded = context;
    uint64_t amount = folded->type.counts ? 1 : row->value > 0 ? (uint64_t)row->value : 0;

    export->counts->samples++;
    return row->callsite ? add(export, folded, owner_of(folded, row), row->callsite,
                               (struct amount){ .whole = amount })
                         : STORE_OK;
}

static enum store_status take_heap(struct export *export, const struct export_row *row,
                                   void *context)
{
    struct folded *folded = context;
    uint32_t callsite = folded->type.kind == STORE_SAMPLES_RELEASED ? row->free_callsite
                                                                    : row->callsite;
    uint64_t amount = profile_to_units(folded->type.counts ? row->objects : row->bytes,
                                       folded->units);

    if (folded->type.kind == STORE_SAMPLES_IN_USE && row->freed != 0)
        return STORE_OK;
    export->counts->samples++;
    return callsite ? add(export, folded, owner_of(folded, row), callsite,
                          (struct amount){ .whole = amount })
                    : STORE_OK;
}

static enum store_status take_profile(struct export *export, const struct export_row *row,
                                      void *context)
{
    struct folded *folded = context;
    uint64_t value = row->value > 0 ? (uint64_t)row->value : 0;

    export->counts->samples++;
    if (!row->callsite)
        return STORE_OK;
    if (__builtin_mul_overflow(value, folded->units, &value))
        value = UINT64_MAX;
    return add(export, folded, owner_of(folded, row), row->callsite,
               (struct amount){ .whole = value, .millionths = row->millionths });
}

static enum store_status add_up(struct export *export, struct folded *folded)
{
    bool heap = store_samples_are_heap(folded->type.kind);
    enum store_status status = STORE_OK;

    folded->units = !heap ? 1 : folded->type.counts ? PROFILE_OBJECT_UNITS : PROFILE_BYTE_UNITS;
    if (folded->type.from_trace && heap)
        status = export_each_heap(export, folded->type.kind == STORE_SAMPLES_RELEASED, take_heap,
                                  folded);
    else if (folded->type.from_trace)
        status = export_each_cpu(export, take_cpu, folded);
    if (status == STORE_OK && folded->type.id)
        status = export_each_profile(export, folded->type.id, take_profile, folded);
    return status;
}

/* ---- Lines ---- */

static enum store_status make_line(struct export *export, const struct folded *folded, size_t key,
                                   struct base_text *text, struct line *line)
{
    uint64_t owner = folded->keys.items[key].a;
    struct export_row row = { .process = (uint32_t)owner, .thread = (uint32_t)(owner >> 32) };
    enum store_status status;
    size_t root;

    text->length = 0;
    status = export_add_root(export, text, folded->root, &row);
    root = text->length;
    if (status == STORE_OK && root > 0 && !export_text_add(text, ";", 1))
        status = store_no_memory(export->error);
    if (status == STORE_OK)
        status = export_add_stack(export, text, (uint32_t)folded->keys.items[key].b);
    if (status != STORE_OK || text->length <= root + (root > 0)) /* nothing is left of the stack */
        return status;
    line->text = malloc(text->length);
    if (!line->text)
        return store_no_memory(export->error);
    memcpy(line->text, text->bytes, text->length);
    line->length = text->length;
    line->amount = folded->amounts[key];
    return STORE_OK;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    size_t shorter = left->length < right->length ? left->length : right->length;
    int order = shorter > 0 ? memcmp(left->text, right->text, shorter) : 0;

    return order ? order : (left->length > right->length) - (left->length < right->length);
}

/* A fraction has no more digits than it needs.  */
static size_t format_number(char *number, size_t size, uint64_t whole, uint64_t millionths)
{
    size_t length = (size_t)snprintf(number, size, " %" PRIu64, whole);

    if (millionths > 0) {
        length += (size_t)snprintf(number + length, size - length, ".%06" PRIu64, millionths);
        while (number[length - 1] == '0')
            length--;
    }
    return length;
}

static void write_line(struct export *export, const struct folded *folded, const struct line *line,
                       struct amount amount)
{
    uint64_t value = profile_from_units(amount.whole, folded->units);
    char number[48];

    if (__builtin_add_overflow(value, amount.millionths / MILLION, &value))
        value = UINT64_MAX;
    amount.millionths %= MILLION;
    if (value == 0 && amount.millionths == 0)
        return;
    export_put(export, line->text, line->length);
    export_put(export, number, format_number(number, sizeof number, value, amount.millionths));
    export_put(export, "\n", 1);
    export->counts->rows++;
}

static void write_lines(struct export *export, const struct folded *folded)
{
    size_t count = folded->keys.count;

    for (size_t i = 0; i < count;) {
        const struct line *line = &folded->lines[i];
        struct amount amount = { .whole = 0 };

        for (; i < count && compare_lines(line, &folded->lines[i]) == 0; i++)
            add_amount(&amount, folded->lines[i].amount);
        if (line->length > 0)
            write_line(export, folded, line, amount);
    }
}

static enum store_status make_lines(struct export *export, struct folded *folded)
{
    struct base_text text = { .bytes = NULL };
    enum store_status status = STORE_OK;

    folded->lines = calloc(folded->keys.count + 1, sizeof *folded->lines);
    if (!folded->lines)
        return store_no_memory(export->error);
    for (size_t i = 0; i < folded->keys.count && status == STORE_OK; i++) {
        status = make_line(export, folded, i, &text, &folded->lines[i]);
        if (status == STORE_OK && i % 4096 == 0 && export->store->interrupted)
            status = store_fail(export->error, STORE_STOPPED, "interrupted");
    }
    free(text.bytes);
    if (status == STORE_OK)
        qsort(folded->lines, folded->keys.count, sizeof *folded->lines, compare_lines);
    return status;
}

static void release(struct folded *folded)
{
    for (size_t i = 0; folded->lines && i < folded->keys.count; i++)
        free(folded->lines[i].text);
    free(folded->lines);
    free(folded->amounts);
    base_pairs_release(&folded->keys);
}

enum store_status store_export_folded(struct store *store, const struct store_filter *filter,
                                      const struct store_export_options *options,
                                      store_write_fn write, void *context,
                                      struct store_export_counts *counts, struct store_error *error)
{
    struct export export;
    struct folded folded = { .root = options ? options->root : PROFILE_ROOT_PROCESS };
    enum store_status status = export_begin(&export, store, filter, options, write, context, counts,
                                            error);

    if (status == STORE_OK)
        status = export_choose_type(&export, false, &folded.type);
    if (status == STORE_OK)
        status = add_up(&export, &folded);
    if (status == STORE_OK)
        status = make_lines(&export, &folded);
    if (status == STORE_OK)
        write_lines(&export, &folded);
    release(&folded);
    return export_end(&export, status);
}
