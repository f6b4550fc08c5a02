/* heap.c - what the memory sampler says: modules of a process, allocations, releases.
 *
 * Each message is the payload of a large blob (docs/formats/memory-sampler.md); "section N" means a
 * section of that document.  Stacks consist of return addresses, the innermost frame included: the
 * allocator's own frames are not in them.  */
#include <math.h>
#include <stdlib.h>

#include <fxt/fidl_sampler.h>
#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/heap.h"
#include "libprofile/ingest/maps.h"
#include "libprofile/ingest/samples.h"

/* Mean interval of Fuchsia's sampler, for streams that do not say theirs (section 4).  */
#define DEFAULT_INTERVAL_BYTES 131072u
/* Frames of the deepest stack of Fuchsia's client, likewise (section 5).  */
#define DEFAULT_MAX_FRAMES 512u
/* The koid of a process that nothing names.  */
#define DEFAULT_PROCESS 1u

/* A message, and who sent it when.  */
struct sender {
    const struct fxt_record *record;
    struct fidl_message message;
    uint64_t koid;
    uint32_t process_id;
    uint32_t thread_id; /* 0 unknown */
    bool told;          /* the thread passes the filter */
};

bool ingest_is_heap_message(const struct fxt_record *record)
{
    return ingest_string_is(&record->category, "memory") &&
           ingest_string_is(&record->name, "fuchsia.memory.sampler");
}

/* ---- Modules ---- */

static enum profile_status add_module(struct profile_ingest *ingest, const struct sender *sender,
                                      const struct fidl_module *from, struct profile_error *error)
{
    struct profile_module module = { .build_id_length = (uint8_t)from->build_id_length };
    struct fidl_cursor segments = from->segments;
    enum profile_status status = PROFILE_OK;
    struct fidl_segment segment;
    profile_id id = 0;

    /* Without a build ID nothing tells one module from another.  */
    if (from->build_id_length > 0) {
        memcpy(module.build_id, from->build_id, from->build_id_length);
        status = profile_stacks_module(ingest->stacks, &module, &id, error);
    }
    while (status == PROFILE_OK && fidl_segment_next(&segments, &segment)) {
        if (!segment.has_start_address || !segment.has_size || !segment.has_relative_address)
            ingest->notices.bad_mappings++;
        else if (id == 0)
            ingest->notices.unknown_modules++;
        else
            status = ingest_map_segment(ingest, sender->process_id, id, segment.start_address,
                                        segment.size, segment.relative_address, error);
    }
    return status;
}

/* SetProcessInfo: the name replaces an older one; modules add up (section 4).  */
static enum profile_status take_process_info(struct profile_ingest *ingest,
                                             const struct sender *sender,
                                             struct profile_error *error)
{
    const struct fidl_message *message = &sender->message;
    struct fidl_cursor modules = message->modules;
    enum profile_status status = PROFILE_OK;
    struct fidl_module module;

    if (message->has_name)
        status = ingest_process_name(ingest, sender->koid, message->name, message->name_length,
                                     error);
    while (status == PROFILE_OK && message->has_modules && fidl_module_next(&modules, &module))
        status = add_module(ingest, sender, &module, error);
    return status;
}

/* ---- Blocks ---- */

/* How many allocations of that size a sampled one stands for (section 6).  */
static double weight(uint64_t size_bytes, uint64_t interval_bytes)
{
    if (size_bytes == 0 || interval_bytes == 0)
        return 1;
    return -1 / expm1(-(double)size_bytes / (double)interval_bytes);
}

static uint64_t thread_koid(const struct profile_ingest *ingest, uint32_t thread)
{
    return thread ? ingest->threads[thread - 1].koid : 0;
}

static struct profile_allocation describe(const struct profile_ingest *ingest,
                                          const struct live_block *block)
{
    double objects = weight(block->size_bytes, block->interval_bytes);

    return (struct profile_allocation){
        .id = block->id,
        .has_time = block->has_time,
        .ts_ns = block->ts_ns,
        .process_koid = ingest->processes[block->process_id - 1].koid,
        .thread_koid = thread_koid(ingest, block->thread_id),
        .address = block->address,
        .size_bytes = block->size_bytes,
        .interval_bytes = block->interval_bytes,
        .objects = objects,
        .bytes = (double)block->size_bytes * objects,
        .callsite = block->callsite,
    };
}

/* The mean interval: as the record says, or the session, or Fuchsia's.  */
static uint64_t interval_of(const struct profile_ingest *ingest, const struct fxt_record *record)
{
    uint64_t interval_bytes = ingest->heap->interval_bytes;

    if (!ingest_argument_u64(record, "sampling_interval_bytes", &interval_bytes) &&
        interval_bytes == 0)
        interval_bytes = DEFAULT_INTERVAL_BYTES;
    return interval_bytes;
}

static enum profile_status find_callsite(struct profile_ingest *ingest, const struct sender *sender,
                                         uint32_t *out, struct profile_error *error)
{
    struct fxt_words pcs = { sender->message.stack.bytes, (size_t)sender->message.stack.count };
    uint32_t depth = ingest->heap->max_frames ? ingest->heap->max_frames : DEFAULT_MAX_FRAMES;

    return ingest_return_stack(ingest, sender->koid, pcs, pcs.count >= depth, out, error);
}

/* The block is gone.  assumed: no release was recorded, so it has no call site.  */
static enum profile_status end_block(struct profile_ingest *ingest, const struct sender *sender,
                                     struct live_block *block, bool assumed,
                                     struct profile_error *error)
{
    struct profile_allocation allocation = describe(ingest, block);
    struct profile_release call = {
        .has_time = sender->record->has_time,
        .ts_ns = sender->record->has_time ? sender->record->ts_ns : 0,
        .process_koid = sender->koid,
        .thread_koid = thread_koid(ingest, sender->thread_id),
        .assumed = assumed,
        .allocation = &allocation,
    };
    bool told = block->told;
    enum profile_status status = PROFILE_OK;

    live_remove(&ingest->heap->live, block);
    if (!told || !ingest->sink.release)
        return PROFILE_OK;
    if (!assumed)
        status = find_callsite(ingest, sender, &call.callsite, error);
    if (status != PROFILE_OK)
        return status;
    return ingest_sink_status(ingest->sink.release(ingest->sink.context, &call), error);
}

static enum profile_status add_block(struct profile_ingest *ingest, const struct sender *sender,
                                     struct profile_error *error)
{
    struct live_block block = {
        .address = sender->message.address,
        .size_bytes = sender->message.size,
        .interval_bytes = interval_of(ingest, sender->record),
        .ts_ns = sender->record->has_time ? sender->record->ts_ns : 0,
        .has_time = sender->record->has_time,
        .process_id = sender->process_id,
        .thread_id = sender->thread_id,
        .told = sender->told,
    };
    enum profile_status status = PROFILE_OK;

    if (block.told)
        status = find_callsite(ingest, sender, &block.callsite, error);
    if (status != PROFILE_OK)
        return status;
    block.id = block.told ? ++ingest->heap->allocations : 0;
    if (!live_add(&ingest->heap->live, &block))
        return profile_no_memory(error);
    if (!block.told || !ingest->sink.allocation)
        return PROFILE_OK;
    struct profile_allocation call = describe(ingest, &block);
    return ingest_sink_status(ingest->sink.allocation(ingest->sink.context, &call), error);
}

/* If the address of a block comes again, its release was lost, or another thread reports it later
 * (section 5).  */
static enum profile_status take_allocation(struct profile_ingest *ingest,
                                           const struct sender *sender, struct profile_error *error)
{
    struct live_block *before = live_find(&ingest->heap->live, sender->process_id,
                                          sender->message.address);
    enum profile_status status = PROFILE_OK;

    if (!sender->message.has_address || !sender->message.has_stack || !sender->message.has_size) {
        ingest->notices.bad_messages++;
        return PROFILE_OK;
    }
    if (before) {
        ingest->notices.repeated_blocks++;
        status = end_block(ingest, sender, before, true, error);
    } else if (ingest->heap->live.places.used >= MAX_LIVE_BLOCKS) {
        ingest->notices.blocks_left_out++;
        return PROFILE_OK;
    }
    return status == PROFILE_OK ? add_block(ingest, sender, error) : status;
}

static enum profile_status take_deallocation(struct profile_ingest *ingest,
                                             const struct sender *sender,
                                             struct profile_error *error)
{
    struct live_block *block = live_find(&ingest->heap->live, sender->process_id,
                                         sender->message.address);

    if (!sender->message.has_address || !sender->message.has_stack) {
        ingest->notices.bad_messages++;
        return PROFILE_OK;
    }
    if (!block) {
        ingest->notices.unknown_frees++;
        return PROFILE_OK;
    }
    return end_block(ingest, sender, block, false, error);
}

/* ---- Messages ---- */

/* Who sent it.  Blobs without a thread come from recorded streams.  */
static enum profile_status find_sender(struct profile_ingest *ingest, struct sender *sender,
                                       struct profile_error *error)
{
    const struct fxt_thread *from = &sender->record->thread;
    enum profile_status status;

    sender->koid = ingest->options.message_process ? ingest->options.message_process
                                                   : DEFAULT_PROCESS;
    if (sender->record->has_thread && from->process != 0)
        sender->koid = from->process;
    status = ingest_process(ingest, sender->koid, &sender->process_id, error);
    if (status == PROFILE_OK && sender->record->has_thread && from->thread != 0)
        status = ingest_thread(
            ingest, &(struct fxt_thread){ .process = sender->koid, .thread = from->thread },
            &sender->thread_id, error);
    sender->told = sender->thread_id ? ingest->threads[sender->thread_id - 1].chosen
                                     : ingest->options.tid_count == 0;
    return status;
}

enum profile_status ingest_heap_message(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error)
{
    const struct fxt_bytes *payload = &record->value.large_blob.payload;
    struct sender sender = { .record = record };
    enum profile_status status;

    if (fidl_decode(payload->bytes, payload->length, &sender.message) != FIDL_OK) {
        ingest->notices.bad_messages++;
        return PROFILE_OK;
    }
    status = find_sender(ingest, &sender, error);
    if (status != PROFILE_OK || !ingest->processes[sender.process_id - 1].chosen)
        return status;
    ingest->notices.untimed_messages += !record->has_time &&
                                        sender.message.method != FIDL_SET_PROCESS_INFO;
    switch (sender.message.method) {
    case FIDL_SET_PROCESS_INFO:
        return take_process_info(ingest, &sender, error);
    case FIDL_RECORD_ALLOCATION:
        if (!ingest->sink.allocation && !ingest->sink.release)
            return PROFILE_OK;
        return take_allocation(ingest, &sender, error);
    case FIDL_RECORD_DEALLOCATION:
        if (!ingest->sink.release)
            return PROFILE_OK;
        return take_deallocation(ingest, &sender, error);
    }
    return PROFILE_OK;
}

/* ---- The end ---- */

static int compare_blocks(const void *a, const void *b)
{
    const struct live_block *left = *(const struct live_block *const *)a;
    const struct live_block *right = *(const struct live_block *const *)b;

    return (left->id > right->id) - (left->id < right->id);
}

/* Those that the sink has received, by their ids.  *out is the caller's to free.  */
static enum profile_status list_blocks(const struct live_set *live, const struct live_block ***out,
                                       size_t *count, struct profile_error *error)
{
    const struct live_block **blocks = calloc(live->places.used + 1, sizeof(struct live_block *));

    if (!blocks)
        return profile_no_memory(error);
    *count = 0;
    for (uint32_t i = 0; i < live->used; i++)
        if (live->blocks[i].told) /* never set in a free entry */
            blocks[(*count)++] = &live->blocks[i];
    qsort(blocks, *count, sizeof(struct live_block *), compare_blocks);
    *out = blocks;
    return PROFILE_OK;
}

enum profile_status ingest_heap_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    const struct live_block **blocks = NULL;
    enum profile_status status;
    size_t count = 0;

    if (!ingest->sink.in_use)
        return PROFILE_OK;
    status = list_blocks(&ingest->heap->live, &blocks, &count, error);
    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        struct profile_allocation allocation = describe(ingest, blocks[i]);
        struct profile_in_use call = {
            .has_time = ingest->has_time && allocation.has_time,
            .ts_ns = ingest->has_time ? ingest->last_ns : 0,
            .allocation = &allocation,
        };

        status = ingest_sink_status(ingest->sink.in_use(ingest->sink.context, &call), error);
    }
    free(blocks);
    return status;
}
