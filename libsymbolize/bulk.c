/* bulk.c - many addresses at once: sorted, looked up, equal answers told once. */
#include "base/file.h"
#include "libsymbolize/address_order.h"
#include "libsymbolize/symbolize_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCRATCH_KEPT_MAX = 16 << 20, /* bytes, from one batch to the next */
};

struct batch {
    struct sym_module *module;
    struct sym_order order;
    struct sym_scratch scratch; /* the seat's, until the batch ends */
    sym_answer_fn answer;
    void *context;

    struct sym_cache_place place; /* of the last look-up in the cache file */
    struct sym_frames frames[2];  /* the current answer and the one before */
    unsigned now;                 /* which of them is the current one */
    bool known;                   /* there is one */

    bool noting;     /* numbers are noted from one call to the next */
    uint32_t number; /* of the current answer */
    uint32_t next;   /* number */
};

static enum sym_status batch_init(struct batch *batch, const uint64_t *vaddrs, size_t count)
{
    struct sym_seat *seat = batch->module->seat;

    batch->scratch = seat->scratch;
    seat->scratch = (struct sym_scratch){ .bytes = NULL };
    return sym_order_init(&batch->order, vaddrs, count, &batch->scratch);
}

static void batch_release(struct batch *batch)
{
    if (batch->scratch.size > SCRATCH_KEPT_MAX)
        sym_scratch_release(&batch->scratch);
    sym_scratch_release(&batch->module->seat->scratch);
    batch->module->seat->scratch = batch->scratch;
    base_free(batch->frames[0].items);
    base_free(batch->frames[1].items);
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

    for (size_t i = 0; i < batch->order.count && needed * 4 <= dwarf->unit_count; i++) {
        at = sym_segments_search(segments->items, segments->count,
                                 sym_order_vaddr(&batch->order, i), at);
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
    if (batch->order.count)
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

/* ---- Functions without names ---- */

/* A file that cannot be read is no worse than one without tables.  */
static enum sym_status read_bounds(struct sym_module *module)
{
    struct sym_object *code = module->code;

    if (module->bounds_read || !code)
        return SYM_OK;
    bool was_open = sym_object_is_open(code);
    enum sym_status status = sym_object_reopen(code, NULL);
    if (!status)
        status = sym_bounds_read(&module->bounds, code);
    if (!was_open)
        sym_object_close(code);
    module->bounds_read = status != SYM_NO_MEMORY;
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* "[libcrypto.so.3+0x1a2b40]", interned; NULL: no memory.  */
static const char *bounds_name(struct sym_module *module, uint64_t start)
{
    struct sym_hex hex = sym_hex_of(module->build_id, module->build_id_length);
    const char *path = module->name ? module->name : module->path ? module->path : "";
    const char *base = base_name(path);
    char *text = sym_format("[%s+0x%" PRIx64 "]", base[0] ? base : hex.text, start);
    const char *name = text ? sym_strings_intern(&module->strings, text, strlen(text)) : NULL;

    base_free(text);
    return name;
}

/* The frame of a function that nothing names but whose bounds are known.  */
static enum sym_status add_bounds(struct sym_module *module, uint64_t vaddr,
                                  struct sym_frames *frames)
{
    enum sym_status status = read_bounds(module);
    uint64_t start;

    if (status || !sym_bounds_find(&module->bounds, vaddr, &frames->span, &start))
        return status;
    const char *name = bounds_name(module, start);
    if (!name)
        return SYM_NO_MEMORY;
    return sym_frames_add(
        frames, (struct sym_frame){
                    .function = name, .linkage_name = "", .file = "", .source = SYM_QUALITY_NONE });
}

/* ---- Functions without files ---- */

static enum sym_status add_symbol_file(struct sym_module *module, uint64_t vaddr,
                                       struct sym_frames *frames)
{
    struct sym_frame *frame = frames->count == 1 ? &frames->items[0] : NULL;

    if (!frame || frame->file[0] || !frame->linkage_name[0])
        return SYM_OK;
    return sym_symbol_file(module, vaddr, &frames->span, &frame->file);
}

/* The frames for vaddr as the session wants them, from wherever the module's answers come.  A cache
 * file that turns out to be damaged is replaced on the way.  */
static enum sym_status try_frames(struct batch *batch, uint64_t vaddr, struct sym_frames *frames)
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
    if (!status && module->session->symbol_files)
        status = add_symbol_file(module, vaddr, frames);
    if (!status && module->session->bounds && frames->count == 0)
        status = add_bounds(module, vaddr, frames);
    if (!status && module->session->no_inlines && frames->count > 1) {
        frames->items[0] = frames->items[frames->count - 1];
        frames->count = 1;
    }
    return status;
}

/* The same, with what is left when the module takes too much memory.  */
static enum sym_status find_frames(struct batch *batch, uint64_t vaddr, struct sym_frames *frames)
{
    enum sym_status status;

    do
        status = try_frames(batch, vaddr, frames);
    while (status && sym_module_shed(batch->module, &status));
    return status;
}

/* Equal strings of a module have equal pointers.  */
static bool equal_frame(const struct sym_frame *a, const struct sym_frame *b)
{
    return a->function == b->function && a->linkage_name == b->linkage_name && a->file == b->file &&
           a->line == b->line && a->column == b->column && a->start_line == b->start_line &&
           a->inlined == b->inlined && a->source == b->source &&
           a->discriminator == b->discriminator && a->has_start == b->has_start &&
           a->start_vaddr == b->start_vaddr && a->start_file == b->start_file;
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

/* Makes the answer for vaddr, which is behind those before, the current one; *changed says whether
 * it is another one.  */
static enum sym_status step(struct batch *batch, uint64_t vaddr, bool *changed)
{
    struct sym_frames *now = &batch->frames[batch->now], *other = &batch->frames[!batch->now];
    enum sym_status status = find_frames(batch, vaddr, other);

    *changed = !status && (!batch->known || !equal_frames(now, other));
    batch->known = !status;
    batch->now = !batch->now;
    return status;
}

/* What the caller takes is not the module's.  */
static bool tell(struct batch *batch, size_t index)
{
    const struct sym_frames *frames = &batch->frames[batch->now];
    struct base_account *before = base_account_enter(NULL);
    bool more = batch->answer(batch->context, index, frames->items, frames->count);

    (void)base_account_enter(before);
    return more;
}

/* The addresses from the first-th on that are below limit, at least one, end here.  */
static size_t end_below(const struct sym_order *order, size_t first, uint64_t limit)
{
    size_t end = first + 1;

    while (end < order->count && sym_order_vaddr(order, end) < limit)
        end++;
    return end;
}

static enum sym_status answer_each(struct batch *batch)
{
    const struct sym_order *order = &batch->order;
    enum sym_status status = SYM_OK;
    bool changed;

    for (size_t i = 0; i < order->count && !status;) {
        status = step(batch, sym_order_vaddr(order, i), &changed);
        if (status)
            break;
        for (size_t end = end_below(order, i, batch->frames[batch->now].span.limit);
             i < end && !status; i++)
            if (!tell(batch, sym_order_index(order, i)))
                status = SYM_STOPPED;
    }
    return status;
}

/* Where the number of the answer for vaddr is, or is to be, noted; NULL: nowhere.  */
static uint32_t *note_for(struct batch *batch, uint64_t vaddr)
{
    struct sym_cache *cache = batch->module->cache;

    /* What has no name in the file may have several here.  */
    if (!batch->noting || !cache || batch->module->session->bounds ||
        batch->module->session->symbol_files || sym_cache_seek(cache, vaddr, &batch->place))
        return NULL; /* damage is for find_frames() */
    return sym_cache_note(cache, &batch->place);
}

/* Finds or makes the number for vaddr, which is that of all addresses from there to *limit.  */
static enum sym_status number_answer(struct batch *batch, uint64_t vaddr, uint64_t *limit)
{
    uint32_t *note = note_for(batch, vaddr);
    bool changed;

    if (note && *note) {
        batch->number = *note - 1;
        batch->known = false; /* the frames are those of an answer before */
        *limit = batch->place.limit;
        return SYM_OK;
    }
    enum sym_status status = step(batch, vaddr, &changed);
    if (status)
        return status;
    *limit = batch->frames[batch->now].span.limit;
    if (changed) {
        batch->number = batch->next++;
        if (!tell(batch, batch->number))
            return SYM_STOPPED;
    }
    note = note_for(batch, vaddr); /* the cache file may be another one now */
    if (note)
        *note = batch->number + 1;
    return SYM_OK;
}

static enum sym_status answer_once(struct batch *batch, uint32_t *ids)
{
    const struct sym_order *order = &batch->order;
    enum sym_status status = SYM_OK;
    uint64_t limit;

    for (size_t i = 0; i < order->count && !status;) {
        status = number_answer(batch, sym_order_vaddr(order, i), &limit);
        for (size_t end = status ? i : end_below(order, i, limit); i < end; i++)
            ids[sym_order_index(order, i)] = batch->number;
    }
    return status;
}

static enum sym_status start_ahead(struct batch *batch)
{
    struct sym_module *module = batch->module;
    enum sym_status status = SYM_OK;

    if (batch->order.count && module->loaded.has_dwarf)
        status = sym_ahead_start(&module->loaded.dwarf, &batch->order, module->seat->jobs);
    (void)(status && sym_module_shed(module, &status)); /* what is left needs no such thing */
    return status;
}

/* ids may be NULL: every address gets a call of its own.  */
static enum sym_status answer_all(struct batch *batch, const uint64_t *vaddrs, size_t count,
                                  uint32_t *ids)
{
    struct sym_module *module = batch->module;
    enum sym_status status = batch_init(batch, vaddrs, count);

    if (!status)
        status = prepare(batch);
    if (!status)
        status = start_ahead(batch);
    if (!status)
        status = ids ? answer_once(batch, ids) : answer_each(batch);
    sym_ahead_end(&module->loaded.dwarf);
    batch_release(batch);
    if (!status)
        status = sym_module_check_fallback(module);
    if (!status)
        status = sym_module_check_companions(module);
    if (!status)
        status = sym_module_check_files(module, count > 1);
    return status;
}

static enum sym_status resolve(struct batch *batch, const uint64_t *vaddrs, size_t count,
                               uint32_t *ids, struct sym_error *error)
{
    struct base_account *before = base_account_enter(&batch->module->account);
    enum sym_status status = answer_all(batch, vaddrs, count, ids);

    (void)base_account_enter(before);
    return status ? sym_module_fail(batch->module, status, error) : SYM_OK;
}

enum sym_status sym_module_resolve(struct sym_module *module, const uint64_t *vaddrs, size_t count,
                                   sym_answer_fn answer, void *context, struct sym_error *error)
{
    struct batch batch = { .module = module, .answer = answer, .context = context };

    return resolve(&batch, vaddrs, count, NULL, error);
}

enum sym_status sym_module_resolve_batch(struct sym_module *module, const uint64_t *vaddrs,
                                         size_t count, uint32_t *ids, sym_answer_fn answer,
                                         void *context, struct sym_error *error)
{
    struct batch batch = { .module = module, .answer = answer, .context = context };

    if (!ids || count >= UINT32_MAX)
        return sym_fail(error, SYM_INVALID, "more addresses than there are numbers");
    return resolve(&batch, vaddrs, count, ids, error);
}

enum sym_status sym_module_resolve_next(struct sym_module *module, const uint64_t *vaddrs,
                                        size_t count, uint32_t *ids, uint32_t *next,
                                        sym_answer_fn answer, void *context,
                                        struct sym_error *error)
{
    struct batch batch = { .module = module, .answer = answer, .context = context, .noting = true };

    if (!ids || count >= UINT32_MAX - *next)
        return sym_fail(error, SYM_INVALID, "more addresses than there are numbers");
    if (*next == 0 && module->cache)
        sym_cache_forget_notes(module->cache);
    batch.next = *next;
    enum sym_status status = resolve(&batch, vaddrs, count, ids, error);
    *next = batch.next;
    return status;
}
