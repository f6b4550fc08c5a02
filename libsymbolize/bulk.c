/* bulk.c - many addresses at once: sorted, looked up, equal answers told once. */
#include "libsymbolize/internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- Sorting ---- */

struct request {
    uint64_t vaddr;
    size_t index;
};

enum { RADIX = 256 };

/* Where each value of a byte goes; false: all addresses have the same, there is nothing to do.  */
static bool count_bytes(const struct request *requests, size_t count, unsigned shift,
                        size_t places[RADIX])
{
    size_t place = 0;

    memset(places, 0, RADIX * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[requests[i].vaddr >> shift & 255]++;
    if (places[requests[0].vaddr >> shift & 255] == count)
        return false;
    for (size_t i = 0; i < RADIX; i++) {
        size_t here = places[i];
        places[i] = place;
        place += here;
    }
    return true;
}

/* By address, then by index: byte by byte, each pass keeps the order of the one before.  other has
 * room for as many; returns where the result is.  */
static struct request *sort_requests(struct request *requests, struct request *other, size_t count)
{
    size_t places[RADIX];

    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!count_bytes(requests, count, shift, places))
            continue;
        for (size_t i = 0; i < count; i++)
            other[places[requests[i].vaddr >> shift & 255]++] = requests[i];
        struct request *swap = requests;
        requests = other;
        other = swap;
    }
    return requests;
}

/* ---- Answering ---- */

struct batch {
    struct sym_module *module;
    struct request *requests; /* sorted; in half of buffer */
    struct request *buffer;   /* owned */
    size_t count;
    sym_answer_fn answer;
    void *context;

    struct sym_cache_place place; /* of the last look-up in the cache file */
    struct sym_frames frames[2];  /* the current answer and the one before */
    unsigned now;                 /* which of them is the current one */
    bool known;                   /* there is one */
    uint32_t told;                /* how many were told */
};

static enum sym_status batch_init(struct batch *batch, const uint64_t *vaddrs)
{
    size_t count = batch->count;
    bool sorted = true;

    for (size_t i = 1; i < count && sorted; i++)
        sorted = vaddrs[i - 1] <= vaddrs[i];
    batch->buffer = calloc(count, (sorted ? 1 : 2) * sizeof *batch->buffer);
    if (!batch->buffer)
        return SYM_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        batch->buffer[i] = (struct request){ .vaddr = vaddrs[i], .index = i };
    batch->requests = sorted ? batch->buffer
                             : sort_requests(batch->buffer, batch->buffer + count, count);
    return SYM_OK;
}

static void batch_release(struct batch *batch)
{
    free(batch->buffer);
    free(batch->frames[0].items);
    free(batch->frames[1].items);
}

/* Whether the addresses need more than a quarter of the units: then reading the rest costs little,
 * compared with reading all this again the next time.  */
static bool needs_many_units(const struct batch *batch)
{
    const struct sym_dwarf *dwarf = &batch->module->loaded.dwarf;
    const struct sym_segments *segments = &dwarf->segments;
    uint32_t last = SYM_NO_VALUE;
    size_t needed = 0;
    ptrdiff_t at = -1;

    for (size_t i = 0; i < batch->count && needed * 4 <= dwarf->unit_count; i++) {
        at = sym_segments_search(segments->items, segments->count, batch->requests[i].vaddr, at);
        uint32_t unit = at < 0 ? SYM_NO_VALUE : segments->items[at].value;
        needed += unit != SYM_NO_VALUE && unit != last;
        last = unit;
    }
    return dwarf->unit_count && needed * 4 > dwarf->unit_count;
}

/* Gets the module ready to answer: from its cache file, if there is one or should be one.  */
static enum sym_status prepare(const struct batch *batch)
{
    struct sym_module *module = batch->module;
    bool wanted = false;
    enum sym_status status = SYM_OK;

    if (module->loaded.done || module->cache)
        return SYM_OK;
    status = sym_module_open_cache(module, &wanted);
    if (status || module->cache)
        return status;
    status = sym_module_load(module);
    if (status)
        return status;
    if (wanted || needs_many_units(batch))
        return sym_module_build_cache(module);
    if (batch->count)
        sym_module_note_visit(module);
    return SYM_OK;
}

static enum sym_status cached_frames(struct batch *batch, uint64_t vaddr, struct sym_frames *frames)
{
    struct sym_cache *cache = batch->module->cache;
    struct sym_cache_place *place = &batch->place;
    enum sym_status status = sym_cache_seek(cache, vaddr, place);

    if (!status)
        status = sym_cache_frames(cache, place, frames);
    frames->span = (struct sym_span){ .start = place->start, .limit = place->limit };
    return status;
}

/* The frames for vaddr as the session wants them, from wherever the module's answers come.  A cache
 * file that turns out to be damaged is replaced on the way.  */
static enum sym_status find_frames(struct batch *batch, uint64_t vaddr, struct sym_frames *frames)
{
    struct sym_module *module = batch->module;
    enum sym_status status = SYM_OK;

    frames->span = (struct sym_span){ 0 };
    while (module->cache && !status) {
        status = cached_frames(batch, vaddr, frames);
        if (status != SYM_MALFORMED)
            break;
        frames->span = (struct sym_span){ 0 };
        batch->place = (struct sym_cache_place){ 0 };
        status = sym_module_replace_cache(module);
    }
    if (!status && !module->cache)
        status = sym_module_frames(module, vaddr, frames);
    if (!status && module->session->no_inlines && frames->count > 1) {
        frames->items[0] = frames->items[frames->count - 1];
        frames->count = 1;
    }
    return status;
}

/* Equal strings of a module have equal pointers.  */
static bool equal_frame(const struct sym_frame *a, const struct sym_frame *b)
{
    return a->function == b->function && a->linkage_name == b->linkage_name && a->file == b->file &&
           a->line == b->line && a->column == b->column && a->start_line == b->start_line &&
           a->inlined == b->inlined && a->source == b->source;
}

static bool equal_frames(const struct sym_frames *a, const struct sym_frames *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!equal_frame(&a->items[i], &b->items[i]))
            return false;
    return true;
}

/* Makes the answer for request i the current one; *changed says whether it is another one than that
 * for request i - 1.  */
static enum sym_status step(struct batch *batch, size_t i, bool *changed)
{
    struct sym_frames *now = &batch->frames[batch->now], *other = &batch->frames[!batch->now];
    uint64_t vaddr = batch->requests[i].vaddr;

    *changed = false;
    if (batch->known && vaddr >= now->span.start && vaddr < now->span.limit)
        return SYM_OK;
    enum sym_status status = find_frames(batch, vaddr, other);
    *changed = !status && (!batch->known || !equal_frames(now, other));
    batch->known = !status;
    batch->now = !batch->now;
    return status;
}

static bool tell(struct batch *batch, size_t index)
{
    const struct sym_frames *frames = &batch->frames[batch->now];

    batch->told++;
    return batch->answer(batch->context, index, frames->items, frames->count);
}

static enum sym_status answer_each(struct batch *batch)
{
    enum sym_status status = SYM_OK;
    bool changed;

    for (size_t i = 0; i < batch->count && !status; i++) {
        status = step(batch, i, &changed);
        if (!status && !tell(batch, batch->requests[i].index))
            status = SYM_STOPPED;
    }
    return status;
}

static enum sym_status answer_once(struct batch *batch, uint32_t *ids)
{
    enum sym_status status = SYM_OK;
    bool changed;

    for (size_t i = 0; i < batch->count && !status; i++) {
        status = step(batch, i, &changed);
        if (!status && changed && !tell(batch, batch->told))
            status = SYM_STOPPED;
        if (!status)
            ids[batch->requests[i].index] = batch->told - 1;
    }
    return status;
}

/* ids may be NULL: every address gets a call of its own.  */
static enum sym_status resolve(struct sym_module *module, const uint64_t *vaddrs, size_t count,
                               uint32_t *ids, sym_answer_fn answer, void *context,
                               struct sym_error *error)
{
    struct batch batch = { .module = module, .count = count, .answer = answer, .context = context };
    enum sym_status status = SYM_OK;

    if (count)
        status = batch_init(&batch, vaddrs);
    if (!status)
        status = prepare(&batch);
    if (!status && count && module->loaded.has_dwarf)
        status = sym_ahead_start(&module->loaded.dwarf, &batch.requests->vaddr, count,
                                 sizeof *batch.requests, module->session->jobs);
    if (!status && count)
        status = ids ? answer_once(&batch, ids) : answer_each(&batch);
    sym_ahead_end(&module->loaded.dwarf);
    batch_release(&batch);
    if (!status)
        status = sym_module_check_companions(module);
    if (!status)
        status = sym_module_check_files(module, count > 1);
    if (status)
        return sym_fail(error, status, "%s",
                        status == SYM_STOPPED ? "stopped by the caller" : "out of memory");
    return SYM_OK;
}

enum sym_status sym_module_resolve(struct sym_module *module, const uint64_t *vaddrs, size_t count,
                                   sym_answer_fn answer, void *context, struct sym_error *error)
{
    return resolve(module, vaddrs, count, NULL, answer, context, error);
}

enum sym_status sym_module_resolve_batch(struct sym_module *module, const uint64_t *vaddrs,
                                         size_t count, uint32_t *ids, sym_answer_fn answer,
                                         void *context, struct sym_error *error)
{
    if (!ids || count >= UINT32_MAX)
        return sym_fail(error, SYM_INVALID, "more addresses than there are numbers");
    return resolve(module, vaddrs, count, ids, answer, context, error);
}
