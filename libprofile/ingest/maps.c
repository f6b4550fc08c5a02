/* maps.c - modules and mappings of processes; which module an address of an epoch belonged to.
 *
 * While the trace is read, every process has a tree of segments that do not overlap: its map now.
 * The trees are those of tsearch(), with a comparison that calls overlapping ranges equal, so that
 * tfind() finds whatever is in the way.  Segments that lose their addresses are kept with the epoch
 * in which that happened; at the end, queries are answered by replaying epochs.  */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/insn_ingest.h"
#include "libprofile/ingest/maps.h"
#include "libprofile/ingest/samples.h"

static int compare_ranges(const void *a, const void *b)
{
    const struct map_segment *left = a, *right = b;

    if (left->last < right->start)
        return -1;
    return left->start > right->last;
}

static int compare_starts(const void *a, const void *b)
{
    const struct map_segment *left = *(struct map_segment *const *)a;
    const struct map_segment *right = *(struct map_segment *const *)b;

    return (left->start > right->start) - (left->start < right->start);
}

static bool tree_add(void **tree, struct map_segment *segment)
{
    return tsearch(segment, tree, compare_ranges) != NULL;
}

static void keep_segment(void *segment)
{
    (void)segment; /* the arena owns it */
}

/* ---- Insertion ---- */

/* A segment of a process, with the place in its module that belongs to start.  */
static enum profile_status add_segment(struct profile_ingest *ingest,
                                       struct ingest_process *process, struct map_segment segment,
                                       struct profile_error *error)
{
    struct map_segment *copy = base_arena_alloc(&ingest->arena, sizeof *copy);

    if (!copy)
        return profile_no_memory(error);
    *copy = segment;
    copy->next = process->segments;
    process->segments = copy;
    return tree_add(&process->map, copy) ? PROFILE_OK : profile_no_memory(error);
}

/* The part [start, last] of a segment.  */
static struct map_segment segment_part(const struct map_segment *segment, uint64_t start,
                                       uint64_t last)
{
    struct map_segment part = *segment;

    part.start = start;
    part.last = last;
    part.vaddr = segment->vaddr + (start - segment->start);
    return part;
}

/* ---- Modules known by their build ID alone ----
 *
 * A heap capture says where modules are twice: by records that name them, and in messages that have
 * nothing but build IDs, of which they keep the first FIDL_MAX_BUILD_ID bytes.  Both mean one
 * module: of several with that build ID, the one named first.  */

static size_t key_length(const struct profile_module *module)
{
    return module->build_id_length < FIDL_MAX_BUILD_ID ? module->build_id_length
                                                       : FIDL_MAX_BUILD_ID;
}

/* The named module with module's build ID; 0 if there is none.  */
static profile_id find_build_id(const struct profile_ingest *ingest,
                                const struct profile_module *module, uint64_t hash)
{
    size_t length = key_length(module), probe;
    profile_id at;

    for (at = base_index_first(&ingest->named_index, hash, &probe); at;
         at = base_index_next(&ingest->named_index, hash, &probe)) {
        struct profile_module named = profile_stacks_get_module(ingest->stacks, at);

        if (key_length(&named) == length && memcmp(named.build_id, module->build_id, length) == 0)
            return at;
    }
    return 0;
}

/* The named module that a nameless one is; id itself if it has a name, or none is known.  */
static profile_id find_named(const struct profile_ingest *ingest, profile_id id)
{
    struct profile_module module = profile_stacks_get_module(ingest->stacks, id);
    profile_id named = 0;

    if (module.name == 0 && module.build_id_length > 0)
        named = find_build_id(ingest, &module,
                              base_hash_bytes(module.build_id, key_length(&module)));
    return named ? named : id;
}

/* Remember a named module for find_named().  */
static enum profile_status note_named(struct profile_ingest *ingest, profile_id id,
                                      struct profile_error *error)
{
    struct profile_module module = profile_stacks_get_module(ingest->stacks, id);
    uint64_t hash = base_hash_bytes(module.build_id, key_length(&module));

    if (module.name == 0 || module.build_id_length == 0 || find_build_id(ingest, &module, hash))
        return PROFILE_OK;
    if (!base_index_reserve(&ingest->named_index))
        return profile_no_memory(error);
    base_index_add(&ingest->named_index, hash, id);
    return PROFILE_OK;
}

/* Same module at the same place: nothing changes where both are.  */
static bool agrees(const struct profile_ingest *ingest, const struct map_segment *a,
                   const struct map_segment *b)
{
    return a->vaddr - a->start == b->vaddr - b->start &&
           (a->module == b->module ||
            find_named(ingest, a->module) == find_named(ingest, b->module));
}

/* Take what overlaps segment out of the process's map, into ingest->overlaps by address.  */
static enum profile_status take_overlaps(struct profile_ingest *ingest,
                                         struct ingest_process *process,
                                         const struct map_segment *segment, size_t *out,
                                         struct profile_error *error)
{
    void *node;

    for (*out = 0; (node = tfind(segment, &process->map, compare_ranges)); ++*out) {
        struct map_segment *found = *(struct map_segment **)node;

        if (!base_make_room(&ingest->overlaps, &ingest->overlap_capacity, *out + 1,
                            sizeof(struct map_segment *)))
            return profile_no_memory(error);
        ingest->overlaps[*out] = found;
        tdelete(found, &process->map, compare_ranges);
    }
    if (*out > 1)
        qsort(ingest->overlaps, *out, sizeof(struct map_segment *), compare_starts);
    return PROFILE_OK;
}

/* old loses to segment, from this epoch on: what segment leaves over of it goes on.  */
static enum profile_status retire(struct profile_ingest *ingest, struct ingest_process *process,
                                  struct map_segment *old, const struct map_segment *segment,
                                  struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    uint64_t start = old->start > segment->start ? old->start : segment->start;
    uint64_t last = old->last < segment->last ? old->last : segment->last;

    if (old->start < start)
        status = add_segment(ingest, process, segment_part(old, old->start, start - 1), error);
    if (status == PROFILE_OK && last < old->last)
        status = add_segment(ingest, process, segment_part(old, last + 1, old->last), error);
    *old = segment_part(old, start, last);
    old->until = process->epoch;
    return status;
}

/* Put the parts of segment that no agreeing segment among the count overlaps into the map, and
 * these back.  */
static enum profile_status fill_gaps(struct profile_ingest *ingest, struct ingest_process *process,
                                     const struct map_segment *segment, size_t count,
                                     struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    uint64_t start = segment->start;
    bool done = false; /* start has passed the end of the address space */

    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        struct map_segment *old = ingest->overlaps[i];

        if (!agrees(ingest, old, segment)) {
            status = retire(ingest, process, old, segment, error);
            continue;
        }
        if (old->start > start)
            status = add_segment(ingest, process, segment_part(segment, start, old->start - 1),
                                 error);
        if (status == PROFILE_OK && !tree_add(&process->map, old))
            status = profile_no_memory(error);
        done = old->last >= segment->last;
        start = old->last + 1;
    }
    if (status == PROFILE_OK && !done)
        status = add_segment(ingest, process, segment_part(segment, start, segment->last), error);
    return status;
}

/* A mapping that overlaps nothing of another module holds from the beginning: Fuchsia writes maps
 * at the end.  One that does starts a new epoch.  */
static enum profile_status insert(struct profile_ingest *ingest, struct ingest_process *process,
                                  struct map_segment segment, struct profile_error *error)
{
    size_t count;
    enum profile_status status = ingest_sample_settle(ingest, error);
    bool conflict = false;

    if (status == PROFILE_OK)
        status = take_overlaps(ingest, process, &segment, &count, error);

    if (status != PROFILE_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        conflict |= !agrees(ingest, ingest->overlaps[i], &segment);
    if (conflict) {
        if (process->epoch == UINT32_MAX - 1)
            return profile_fail(error, PROFILE_LIMIT, "a process with 2^32 address maps");
        process->epoch++;
        process->space = 0;
        segment.since = process->epoch;
    }
    segment.until = UINT32_MAX;
    return fill_gaps(ingest, process, &segment, count, error);
}

/* ---- Records ---- */

/* The entry for (process, module id), made if need be.  */
static enum profile_status find_module(struct profile_ingest *ingest, uint32_t process, uint16_t id,
                                       struct map_module **out, struct profile_error *error)
{
    uint64_t hash = base_hash(process, id);
    enum profile_status status;
    size_t probe;
    uint32_t at;

    for (at = base_index_first(&ingest->module_index, hash, &probe); at;
         at = base_index_next(&ingest->module_index, hash, &probe)) {
        *out = &ingest->modules[at - 1];
        if ((*out)->process_id == process && (*out)->id == id)
            return PROFILE_OK;
    }
    status = ingest_reserve(&ingest->modules, &ingest->module_capacity, ingest->module_count,
                            sizeof *ingest->modules, &ingest->module_index, error);
    if (status != PROFILE_OK)
        return status;
    *out = &ingest->modules[ingest->module_count++];
    **out = (struct map_module){ .process_id = process, .id = id };
    base_index_add(&ingest->module_index, hash, (uint32_t)ingest->module_count);
    return PROFILE_OK;
}

static enum profile_status apply_mapping(struct profile_ingest *ingest, uint32_t process,
                                         profile_id module, const struct map_pending *mapping,
                                         struct profile_error *error)
{
    struct map_segment segment = {
        .start = mapping->start, .last = mapping->last, .vaddr = mapping->vaddr, .module = module
    };
    struct profile_mapping call = {
        .process_koid = ingest->processes[process - 1].koid,
        .module = module,
        .start = mapping->start,
        .limit = mapping->last + (mapping->last < UINT64_MAX), /* the very last byte is cut */
        .vaddr = mapping->vaddr,
        .flags = mapping->flags,
        .has_time = mapping->has_time,
        .ts_ns = mapping->ts_ns,
    };
    enum profile_status status = PROFILE_OK;

#ifdef PROFILE_HAVE_INSN
    status = ingest_insn_mapping(ingest, process, &call, error);
#endif
    if (status == PROFILE_OK)
        status = insert(ingest, &ingest->processes[process - 1], segment, error);
    if (status != PROFILE_OK || !ingest->sink.mapping)
        return status;
    return ingest_sink_status(ingest->sink.mapping(ingest->sink.context, &call), error);
}

/* Process 0's map is the kernel's, which every process needs.  */
static bool wants_map(const struct profile_ingest *ingest, uint32_t process)
{
    return ingest->processes[process - 1].chosen || ingest->processes[process - 1].koid == 0;
}

/* Mappings name a module by (process, id).  The newest module record of that key holds for the
 * mappings that follow it, and for those before it that found none.  */
enum profile_status ingest_map_module(struct profile_ingest *ingest,
                                      const struct fxt_record *record, struct profile_error *error)
{
    struct profile_module module = { .name = 0 };
    uint64_t length = record->value.module.build_id.length;
    struct map_module *entry;
    uint32_t process;
    enum profile_status status = ingest_process(ingest, record->thread.process, &process, error);

    if (status != PROFILE_OK || !wants_map(ingest, process))
        return status;
    module.build_id_length = (uint8_t)(length < sizeof module.build_id ? length
                                                                       : sizeof module.build_id);
    if (module.build_id_length > 0)
        memcpy(module.build_id, record->value.module.build_id.bytes, module.build_id_length);
    status = profile_stacks_string(ingest->stacks, record->name.bytes, record->name.length,
                                   &module.name, error);
    if (status == PROFILE_OK)
        status = find_module(ingest, process, record->value.module.id, &entry, error);
    if (status == PROFILE_OK)
        status = profile_stacks_module(ingest->stacks, &module, &entry->module, error);
    if (status == PROFILE_OK)
        status = note_named(ingest, entry->module, error);
    for (; status == PROFILE_OK && entry->pending; entry->pending = entry->pending->next) {
        ingest->notices.unknown_modules--;
        status = apply_mapping(ingest, process, entry->module, entry->pending, error);
    }
    return status;
}

/* Wait for the module, behind those that wait already.  */
static enum profile_status add_pending(struct profile_ingest *ingest, struct map_module *entry,
                                       const struct map_pending *mapping,
                                       struct profile_error *error)
{
    struct map_pending *copy = base_arena_alloc(&ingest->arena, sizeof *copy);

    if (!copy)
        return profile_no_memory(error);
    *copy = *mapping;
    if (entry->pending)
        entry->pending_last->next = copy;
    else
        entry->pending = copy;
    entry->pending_last = copy;
    ingest->notices.unknown_modules++; /* until the module comes */
    return PROFILE_OK;
}

enum profile_status ingest_map_mapping(struct profile_ingest *ingest,
                                       const struct fxt_record *record, struct profile_error *error)
{
    struct map_pending mapping = {
        .start = record->value.mapping.start,
        .vaddr = record->value.mapping.vaddr,
        .flags = record->value.mapping.flags,
        .has_time = record->has_time,
        .ts_ns = record->ts_ns,
    };
    uint64_t length = record->value.mapping.length;
    struct map_module *entry;
    uint32_t process;
    enum profile_status status;

    if (length == 0 || __builtin_add_overflow(mapping.start, length - 1, &mapping.last)) {
        ingest->notices.bad_mappings++;
        return PROFILE_OK;
    }
    status = ingest_process(ingest, record->thread.process, &process, error);
    if (status != PROFILE_OK || !wants_map(ingest, process))
        return status;
    status = find_module(ingest, process, record->value.mapping.module_id, &entry, error);
    if (status != PROFILE_OK)
        return status;
    if (entry->module == 0)
        return add_pending(ingest, entry, &mapping, error);
    return apply_mapping(ingest, process, entry->module, &mapping, error);
}

enum profile_status ingest_map_segment(struct profile_ingest *ingest, uint32_t process,
                                       profile_id module, uint64_t start, uint64_t length,
                                       uint64_t vaddr, struct profile_error *error)
{
    struct map_pending mapping = { .start = start, .vaddr = vaddr };

    if (length == 0 || __builtin_add_overflow(start, length - 1, &mapping.last)) {
        ingest->notices.bad_mappings++;
        return PROFILE_OK;
    }
    return apply_mapping(ingest, process, find_named(ingest, module), &mapping, error);
}

/* ---- Queries ---- */

/* A segment enters or leaves the map with an epoch.  */
struct map_change {
    struct map_segment *segment;
    uint32_t epoch;
    bool enters; /* leaving comes first within an epoch: the place may be taken again */
};

static int compare_changes(const void *a, const void *b)
{
    const struct map_change *left = a, *right = b;

    if (left->epoch != right->epoch)
        return left->epoch < right->epoch ? -1 : 1;
    if (left->enters != right->enters)
        return left->enters ? 1 : -1;
    return (left->segment->start > right->segment->start) -
           (left->segment->start < right->segment->start);
}

/* All changes of a process's map, in order.  *out is the caller's to free.  */
static enum profile_status list_changes(const struct ingest_process *process,
                                        struct map_change **out, size_t *count,
                                        struct profile_error *error)
{
    size_t segments = 0;
    struct map_change *changes;

    for (const struct map_segment *at = process->segments; at; at = at->next)
        segments++;
    changes = calloc(2 * segments + 1, sizeof *changes);
    if (!changes)
        return profile_no_memory(error);
    *count = 0;
    for (struct map_segment *at = process->segments; at; at = at->next) {
        if (at->since == at->until)
            continue;
        changes[(*count)++] = (struct map_change){ at, at->since, true };
        if (at->until != UINT32_MAX)
            changes[(*count)++] = (struct map_change){ at, at->until, false };
    }
    qsort(changes, *count, sizeof *changes, compare_changes);
    *out = changes;
    return PROFILE_OK;
}

static const struct map_segment *segment_at(void *const *map, uint64_t address)
{
    struct map_segment probe = { .start = address, .last = address };
    void *node = tfind(&probe, map, compare_ranges);

    return node ? *(struct map_segment **)node : NULL;
}

static void answer(void *const *map, struct map_query *query)
{
    const struct map_segment *segment = segment_at(map, query->address);

    query->module = segment ? segment->module : 0;
    if (segment)
        query->vaddr = segment->vaddr + (query->address - segment->start);
}

bool ingest_map_find(const struct profile_ingest *ingest, uint32_t process, uint64_t address,
                     profile_id *module, uint64_t *vaddr)
{
    struct map_query query = { .address = address };

    answer(&ingest->processes[process - 1].map, &query);
    *module = query.module;
    *vaddr = query.vaddr;
    return query.module != 0;
}

enum profile_status map_replay_open(const struct profile_ingest *ingest, uint32_t process,
                                    struct map_replay *out, struct profile_error *error)
{
    *out = (struct map_replay){ .ingest = ingest };
    return list_changes(&ingest->processes[process - 1], &out->changes, &out->count, error);
}

enum profile_status map_replay_advance(struct map_replay *replay, uint32_t epoch,
                                       struct profile_error *error)
{
    for (; replay->next < replay->count && replay->changes[replay->next].epoch <= epoch;
         replay->next++) {
        const struct map_change *change = &replay->changes[replay->next];

        if (!change->enters)
            tdelete(change->segment, &replay->map, compare_ranges);
        else if (!tree_add(&replay->map, change->segment))
            return profile_no_memory(error);
    }
    return PROFILE_OK;
}

const struct map_segment *map_replay_find(const struct map_replay *replay, uint64_t address)
{
    return segment_at(&replay->map, address);
}

profile_id ingest_map_module_of(const struct profile_ingest *ingest,
                                const struct map_segment *segment)
{
    return find_named(ingest, segment->module);
}

void map_replay_close(struct map_replay *replay)
{
    tdestroy(replay->map, keep_segment);
    free(replay->changes);
    *replay = (struct map_replay){ .ingest = replay->ingest };
}

/* Answer the queries of one process, which are sorted by epoch.  */
static enum profile_status resolve_process(const struct profile_ingest *ingest,
                                           struct map_query *queries, size_t count,
                                           struct profile_error *error)
{
    struct map_replay replay;
    enum profile_status status = map_replay_open(ingest, queries->process_id, &replay, error);

    for (size_t i = 0; i < count && status == PROFILE_OK; i++) {
        status = map_replay_advance(&replay, queries[i].epoch, error);
        answer(&replay.map, &queries[i]);
    }
    map_replay_close(&replay);
    return status;
}

static int compare_queries(const void *a, const void *b)
{
    const struct map_query *left = a, *right = b;

    if (left->process_id != right->process_id)
        return left->process_id < right->process_id ? -1 : 1;
    return (left->epoch > right->epoch) - (left->epoch < right->epoch);
}

enum profile_status ingest_map_resolve(struct profile_ingest *ingest, struct map_query *queries,
                                       size_t count, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    size_t end;

    for (profile_id id = 1;
         id <= profile_stacks_module_count(ingest->stacks) && status == PROFILE_OK; id++)
        status = note_named(ingest, id, error); /* those of traces before, too */
    if (status != PROFILE_OK)
        return status;
    qsort(queries, count, sizeof *queries, compare_queries);
    for (size_t start = 0; start < count && status == PROFILE_OK; start = end) {
        for (end = start; end < count && queries[end].process_id == queries[start].process_id;)
            end++;
        status = resolve_process(ingest, queries + start, end - start, error);
    }
    for (size_t i = 0; i < count && status == PROFILE_OK; i++)
        if (queries[i].module)
            queries[i].module = find_named(ingest, queries[i].module);
    return status;
}

void ingest_map_release(struct profile_ingest *ingest)
{
    for (size_t i = 0; i < ingest->process_count; i++)
        tdestroy(ingest->processes[i].map, keep_segment);
    base_index_release(&ingest->module_index);
    base_index_release(&ingest->named_index);
    free(ingest->modules);
    free(ingest->overlaps);
}
