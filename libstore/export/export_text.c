/* export_text.c - stacks as text, and text on its way out.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libstore/export/export.h"

/* ---- Growing text ---- */

bool export_text_adds(struct base_text *text, const char *string)
{
    return base_text_append(text, string, strlen(string));
}

/* ---- Output ---- */

void export_put(struct export *export, const char *bytes, size_t length)
{
    base_output_put(&export->output, bytes, length);
}

enum store_status export_written(struct export *export)
{
    int failure = base_output_flush(&export->output);

    return failure ? store_fail_errno(export->error, failure, "writing") : STORE_OK;
}

/* ---- Frames ---- */

/* What was added behind start, as one frame's name (profile_folded_name()).  */
static bool clean(struct base_text *text, size_t start)
{
    size_t length = text->length > start
                        ? profile_folded_name(text->bytes + start, text->length - start)
                        : 0;

    text->length = start + length;
    return length > 0 || export_text_adds(text, "[unknown]");
}

static bool separate(struct base_text *text, size_t beginning)
{
    return text->length == beginning || base_text_append(text, ";", 1);
}

/* The functions of a frame, outermost first.  *begun: show_from was met.  */
static bool add_frame(struct export *export, struct base_text *text, size_t beginning,
                      uint32_t frame, bool *begun)
{
    struct match *hide = export->has_hide ? &export->hide : NULL;

    for (uint32_t i = stacks_function_count(export->stacks, frame); i-- > 0;) {
        size_t start;

        if (!*begun)
            *begun = shape_begins(hide, &export->show_from, frame, i);
        if (!*begun || shape_hides(hide, frame, i))
            continue;
        if (!separate(text, beginning))
            return false;
        start = text->length;
        if (!export_text_adds(text, stacks_function(export->stacks, frame, i)) ||
            !clean(text, start))
            return false;
    }
    return true;
}

enum store_status export_add_stack(struct export *export, struct base_text *text, uint32_t callsite)
{
    const struct stacks *stacks = export->stacks;
    size_t depth = 0, beginning = text->length;
    bool begun = !export->has_show_from;

    if (callsite == 0)
        return STORE_OK;
    for (uint32_t at = callsite; at; at = stacks->parents[at]) { /* parents are smaller */
        if (depth == export->path_capacity) {
            void *items = export->path;

            if (!stacks_grow(&items, &export->path_capacity, depth + 1, sizeof *export->path))
                return store_no_memory(export->error);
            export->path = items;
        }
        export->path[depth++] = at;
    }
    while (depth-- > 0)
        if (!add_frame(export, text, beginning, stacks->frames[export->path[depth]], &begun))
            return store_no_memory(export->error);
    return STORE_OK;
}

enum store_status export_stack(struct export *export, uint32_t callsite,
                               const struct base_text **out)
{
    struct export_cached *cached;
    enum store_status status = STORE_OK;

    if (!export->cached)
        export->cached = calloc(EXPORT_CACHE, sizeof *export->cached);
    if (!export->cached)
        return store_no_memory(export->error);
    cached = &export->cached[callsite % EXPORT_CACHE];
    if (cached->callsite != callsite) {
        cached->callsite = 0;
        cached->text.length = 0;
        status = export_add_stack(export, &cached->text, callsite);
        if (status == STORE_OK)
            cached->callsite = callsite;
    }
    *out = &cached->text;
    return status;
}
