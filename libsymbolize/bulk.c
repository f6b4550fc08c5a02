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
};

static enum sym_status batch_init(struct batch *batch, const uint64_t *vaddrs)
{
    size_t count = batch->count;
    bool sorted = true;

    batch->buffer = calloc(count, 2 * sizeof *batch->buffer);
    if (!batch->buffer)
        return SYM_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        batch->buffer[i] = (struct request){ .vaddr = vaddrs[i], .index = i };
        sorted &= i == 0 || vaddrs[i - 1] <= vaddrs[i];
    }
    batch->requests = sorted ? batch->buffer
                             : sort_requests(batch->buffer, batch->buffer + count, count);
    return SYM_OK;
}

/* The frames for vaddr as the session wants them.  */
static enum sym_status find_frames(const struct batch *batch, uint64_t vaddr,
                                   struct sym_frames *frames)
{
    enum sym_status status = sym_module_frames(batch->module, vaddr, frames);

    if (!status && batch->module->session->no_inlines && frames->count > 1) {
        frames->items[0] = frames->items[frames->count - 1];
        frames->count = 1;
    }
    return status;
}

static enum sym_status answer_each(const struct batch *batch)
{
    const struct request *requests = batch->requests;
    struct sym_frames frames = { 0 };
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < batch->count && !status; i++) {
        if (i == 0 || requests[i].vaddr != requests[i - 1].vaddr)
            status = find_frames(batch, requests[i].vaddr, &frames);
        if (!status &&
            !batch->answer(batch->context, requests[i].index, frames.items, frames.count))
            status = SYM_STOPPED;
    }
    free(frames.items);
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

static enum sym_status answer_once(const struct batch *batch, uint32_t *ids)
{
    const struct request *requests = batch->requests;
    struct sym_frames frames[2] = { 0 };
    unsigned now = 0;  /* which of the two is the current answer */
    uint32_t next = 0; /* how many there are; the current one is next - 1 */
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < batch->count && !status; i++) {
        if (i == 0 || requests[i].vaddr != requests[i - 1].vaddr) {
            status = find_frames(batch, requests[i].vaddr, &frames[!now]);
            if (status)
                break;
            if (i == 0 || !equal_frames(&frames[0], &frames[1])) {
                now = !now;
                if (!batch->answer(batch->context, next, frames[now].items, frames[now].count))
                    status = SYM_STOPPED;
                next++;
            }
        }
        ids[requests[i].index] = next - 1;
    }
    free(frames[0].items);
    free(frames[1].items);
    return status;
}

/* ids may be NULL: every address gets a call of its own.  */
static enum sym_status resolve(struct sym_module *module, const uint64_t *vaddrs, size_t count,
                               uint32_t *ids, sym_answer_fn answer, void *context,
                               struct sym_error *error)
{
    struct batch batch = { .module = module, .count = count, .answer = answer, .context = context };
    enum sym_status status = sym_module_load(module);

    if (status)
        return sym_fail(error, status, "out of memory");
    if (count == 0)
        return SYM_OK;
    status = batch_init(&batch, vaddrs);
    if (!status && module->loaded.has_dwarf)
        status = sym_ahead_start(&module->loaded.dwarf, &batch.requests->vaddr, count,
                                 sizeof *batch.requests, module->session->jobs);
    if (!status)
        status = ids ? answer_once(&batch, ids) : answer_each(&batch);
    sym_ahead_end(&module->loaded.dwarf);
    free(batch.buffer);
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
