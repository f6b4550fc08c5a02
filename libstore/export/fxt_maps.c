/* fxt_maps.c - mappings, and the address that a frame had in a process.
 *
 * Samples have addresses in the file, and frames have (module, vaddr) in the store: so a process's
 * map is followed as libprofile/ingest/maps.c follows it, and a frame gets an address that the map
 * leads back to it.  Mappings that take no addresses away from another module may stand anywhere
 * and come first.  Others end what held before: they wait until a sample of their time comes, or
 * one whose frames need them.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "libstore/export/fxt_export.h"

#define KERNEL_START  (UINT64_C(1) << 63) /* addresses from here on are looked up in process 0 */
#define MOST_MODULES  65536u              /* ids of modules in the file */
#define FIRST_GAP     UINT64_C(4096)
#define MOST_MAPPINGS (1u << 26)

/* ---- Loading ---- */

/* Messages keep that much of a build ID, as hexadecimal.  */
static size_t key_length(const char *build_id)
{
    size_t length = strlen(build_id);

    return length < (size_t)2 * FIDL_MAX_BUILD_ID ? length : (size_t)2 * FIDL_MAX_BUILD_ID;
}

/* Modules without a name that others of their build ID have: these are the same.  */
static enum store_status find_same(struct fx *fx)
{
    struct fx_maps *maps = &fx->maps;
    struct base_texts ids = { .count = 0 };
    uint32_t *named = calloc(maps->module_count + 1, sizeof *named); /* [number - 1] */
    enum store_status status = STORE_OK;

    if (!named || !maps->modules) {
        free(named);
        return store_no_memory(fx->export->error);
    }
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 1; i <= maps->module_count && status == STORE_OK; i++) {
            struct fx_module *module = &maps->modules[i];
            bool has_name = module->name && *module->name, is_new;
            uint32_t number;

            if (pass == 0)
                module->same = i;
            if (!module->build_id || !*module->build_id || (pass == 0) != has_name)
                continue;
            number = base_texts_add(&ids, module->build_id, key_length(module->build_id), &is_new);
            if (number == 0)
                status = store_no_memory(fx->export->error);
            else if (number > maps->module_count)
                continue;
            else if (has_name && is_new)
                named[number - 1] = i;
            else if (!has_name && named[number - 1])
                module->same = named[number - 1];
        }
    base_texts_release(&ids);
    free(named);
    return status;
}

static enum store_status load_modules(struct fx *fx)
{
    enum store_status status = STORE_OK;
    sqlite3_stmt *row = export_prepare(
        fx->export, "SELECT id, name, build_id FROM main.module ORDER BY id", &status);
    struct fx_maps *maps = &fx->maps;
    size_t capacity = 0;
    void *items = NULL;

    if (status == STORE_OK && !stacks_grow(&items, &capacity, 1, sizeof *maps->modules))
        status = store_no_memory(fx->export->error);
    maps->modules = items;
    while (export_step(fx->export, row, &status)) {
        struct fx_module *module;

        if (sqlite3_column_int64(row, 0) != (int64_t)maps->module_count + 1) {
            status = export_corrupt(fx->export, "its modules have gaps");
            break;
        }
        if (!stacks_grow(&items, &capacity, maps->module_count + 2, sizeof *maps->modules)) {
            status = store_no_memory(fx->export->error);
            break;
        }
        maps->modules = items;
        module = &maps->modules[++maps->module_count];
        *module = (struct fx_module){ .named = false };
        status = export_copy_text(fx->export, row, 1, &module->name);
        if (status == STORE_OK)
            status = export_copy_text(fx->export, row, 2, &module->build_id);
    }
    (void)sqlite3_finalize(row);
    return status == STORE_OK ? find_same(fx) : status;
}

static void add_mapping(struct fx_maps *maps, struct fx_mapping mapping)
{
    struct fx_space *space = &maps->spaces[mapping.process];

    maps->mappings[maps->count++] = mapping;
    if (space->last)
        maps->mappings[space->last - 1].next = (uint32_t)maps->count;
    else
        space->next = (uint32_t)maps->count;
    space->last = (uint32_t)maps->count;
    space->mapped = true;
}

static enum store_status take_mapping(struct fx *fx, sqlite3_stmt *row)
{
    struct fx_maps *maps = &fx->maps;
    int64_t process = sqlite3_column_int64(row, 0), module = sqlite3_column_int64(row, 1);
    uint64_t size = (uint64_t)sqlite3_column_int64(row, 4);
    void *items = maps->mappings;
    struct fx_mapping mapping = {
        .has_ts = sqlite3_column_type(row, 2) == SQLITE_INTEGER,
        .ts = sqlite3_column_int64(row, 2),
        .address = (uint64_t)sqlite3_column_int64(row, 3),
        .vaddr = (uint64_t)sqlite3_column_int64(row, 5),
        .flags = (unsigned)sqlite3_column_int64(row, 6) & 7,
    };

    if (process < 1 || process > (int64_t)fx->export->process_count || module < 1 ||
        module > (int64_t)maps->module_count)
        return export_corrupt(fx->export, "a mapping's process or module is not there");
    if (size == 0 || __builtin_add_overflow(mapping.address, size - 1, &mapping.last))
        return export_corrupt(fx->export, "a mapping that is empty or wraps around");
    if (maps->count >= MOST_MAPPINGS)
        return store_fail(fx->export->error, STORE_LIMIT, "more than %u mappings", MOST_MAPPINGS);
    mapping.process = (uint32_t)process;
    mapping.module = (uint32_t)module;
    if (!stacks_grow(&items, &maps->capacity, maps->count + 1, sizeof *maps->mappings))
        return store_no_memory(fx->export->error);
    maps->mappings = items;
    add_mapping(maps, mapping);
    return STORE_OK;
}

enum store_status fx_load_maps(struct fx *fx)
{
    struct export *export = fx->export;
    struct fx_maps *maps = &fx->maps;
    enum store_status status = load_modules(fx);
    sqlite3_stmt *row = export_prepare(
        export,
        "SELECT m.upid, m.module_id, m.ts, m.address, m.size, m.vaddr, m.flags "
        "FROM main.mapping AS m JOIN main.process AS p ON p.id = m.upid AND p.capture_id = ?1 "
        "ORDER BY m.id",
        &status);

    maps->spaces = calloc(export->process_count + 1, sizeof *maps->spaces);
    if (status == STORE_OK && !maps->spaces)
        status = store_no_memory(export->error);
    for (uint32_t i = 1; i <= export->process_count; i++)
        if (export->processes[i].capture == fx->capture && export->processes[i].koid == 0)
            maps->kernel = i;
    if (status == STORE_OK)
        (void)sqlite3_bind_int64(row, 1, fx->capture);
    while (export_step(export, row, &status))
        status = take_mapping(fx, row);
    (void)sqlite3_finalize(row);
    return status;
}

void fx_release_maps(struct fx *fx)
{
    struct fx_maps *maps = &fx->maps;

    for (size_t i = 1; maps->modules && i <= maps->module_count; i++) {
        export_free_text(maps->modules[i].name);
        export_free_text(maps->modules[i].build_id);
    }
    for (size_t i = 0; maps->spaces && i <= fx->export->process_count; i++)
        base_ranges_release(&maps->spaces[i].map);
    sqlite3_free(maps->modules);
    sqlite3_free(maps->mappings);
    free(maps->spaces);
    free(maps->numbers);
    free(maps->known);
    base_pairs_release(&maps->ids);
    base_pairs_release(&maps->addresses);
}

/* ---- Records ---- */

static enum store_status put_module(struct fx *fx, uint32_t process, uint32_t module, uint16_t id)
{
    struct fx_module *from = &fx->maps.modules[module];
    uint8_t build_id[64];
    struct fxt_record record = { .kind = FXT_RECORD_MODULE,
                                 .thread.process = fx->export->processes[process].koid };

    from->named |= from->name && *from->name;
    record.name = fx_inline(from->name);
    if (record.name.length > 255) /* what the record can hold */
        record.name.length = 255;
    record.value.module.id = id;
    record.value.module.build_id = (struct fxt_bytes){
        build_id,
        from->build_id ? store_parse_build_id(from->build_id, build_id, sizeof build_id) : 0
    };
    return fx_put_at(fx, &record, fx->start_ts);
}

/* The id of a module for mappings of a process.  Ids are not given twice while there are any.  */
static enum store_status module_id(struct fx *fx, uint32_t process, uint32_t module, uint16_t *id)
{
    struct fx_maps *maps = &fx->maps;
    bool is_new;
    uint32_t number = base_pairs_add(&maps->ids, process, module, &is_new);

    if (number == 0 ||
        !base_make_room(&maps->numbers, &maps->number_capacity, number, sizeof *maps->numbers))
        return store_no_memory(fx->export->error);
    if (!is_new && maps->records <= MOST_MODULES) {
        *id = maps->numbers[number - 1];
        return STORE_OK;
    }
    *id = maps->numbers[number - 1] = (uint16_t)maps->records++;
    return put_module(fx, process, module, *id);
}

static enum store_status put_record(struct fx *fx, const struct fx_mapping *mapping)
{
    struct fxt_record record = { .kind = FXT_RECORD_MAPPING,
                                 .thread.process = fx->export->processes[mapping->process].koid };
    enum store_status status = module_id(fx, mapping->process, mapping->module,
                                         &record.value.mapping.module_id);

    record.value.mapping.flags = mapping->flags;
    record.value.mapping.start = mapping->address;
    record.value.mapping.length = mapping->last - mapping->address + 1;
    record.value.mapping.vaddr = mapping->vaddr;
    return status == STORE_OK ? fx_put_at(fx, &record, mapping->has_ts ? mapping->ts : fx->start_ts)
                              : status;
}

/* A mapping without a time came with a message, which tells modules by their build IDs alone.  */
static enum store_status put_message(struct fx *fx, const struct fx_mapping *mapping, bool *done)
{
    const struct fx_module *module = &fx->maps.modules[mapping->module];
    struct fidl_segment segment = { .start_address = mapping->address,
                                    .size = mapping->last - mapping->address + 1,
                                    .relative_address = mapping->vaddr,
                                    .has_start_address = true,
                                    .has_size = true,
                                    .has_relative_address = true };
    uint8_t build_id[FIDL_MAX_BUILD_ID], bytes[1024];
    struct fidl_module_source source = { build_id, 0, &segment, 1 };
    uint64_t koid = fx->export->processes[mapping->process].koid;
    enum store_status status = STORE_OK;
    uint16_t unused;
    size_t length;

    *done = false;
    if (!module->build_id || koid == 0)
        return STORE_OK;
    source.build_id_length = (uint32_t)store_parse_build_id(module->build_id, build_id,
                                                            sizeof build_id);
    if (source.build_id_length == 0)
        return STORE_OK;
    if (module->name && *module->name && !module->named)
        status = module_id(fx, mapping->process, mapping->module, &unused);
    if (status != STORE_OK || fidl_encode_process_info(FIDL_GENERATION_2, NULL, &source, 1, bytes,
                                                       sizeof bytes, &length) != FIDL_OK)
        return status;
    *done = true;
    return fx_message(fx, koid, fx->start_ts, bytes, length, NULL);
}

static enum store_status put_mapping(struct fx *fx, const struct fx_mapping *mapping)
{
    enum store_status status = STORE_OK;
    bool done = false;

    if (!fx_keeps_process(fx, mapping->process) && mapping->process != fx->maps.kernel &&
        !fx->export->filter.tids && !fx->export->filter.comms)
        return STORE_OK;
    if (!mapping->has_ts)
        status = put_message(fx, mapping, &done);
    return status == STORE_OK && !done ? put_record(fx, mapping) : status;
}

/* ---- The map ---- */

static struct base_range range_of(const struct fx_maps *maps, const struct fx_mapping *mapping)
{
    return (struct base_range){ mapping->address, mapping->last, mapping->vaddr,
                                maps->modules[mapping->module].same };
}

static bool conflicts(const struct fx_maps *maps, const struct fx_mapping *mapping)
{
    const struct base_ranges *map = &maps->spaces[mapping->process].map;
    struct base_range new = range_of(maps, mapping);

    for (size_t i = base_ranges_first(map, new.start);
         i < map->count && map->items[i].start <= new.last; i++)
        if (!base_ranges_agree(&map->items[i], &new))
            return true;
    return false;
}

/* Write the next mapping of a process.  */
static enum store_status apply_next(struct fx *fx, uint32_t process)
{
    struct fx_space *space = &fx->maps.spaces[process];
    const struct fx_mapping *mapping = &fx->maps.mappings[space->next - 1];
    struct base_range range = range_of(&fx->maps, mapping);
    enum store_status status = put_mapping(fx, mapping);

    if (status == STORE_OK && base_ranges_add(&space->map, &range) == BASE_RANGES_NO_MEMORY)
        status = store_no_memory(fx->export->error);
    space->generation++;
    space->next = mapping->next;
    return status;
}

enum store_status fx_first_maps(struct fx *fx)
{
    struct fx_maps *maps = &fx->maps;
    enum store_status status = STORE_OK;

    for (size_t i = 0; i < maps->count && status == STORE_OK; i++)
        if (maps->spaces[maps->mappings[i].process].next == i + 1 &&
            !conflicts(maps, &maps->mappings[i]))
            status = apply_next(fx, maps->mappings[i].process);
    return status;
}

static enum store_status apply_until(struct fx *fx, uint32_t process, int64_t ts)
{
    const struct fx_space *space = &fx->maps.spaces[process];
    enum store_status status = STORE_OK;

    while (status == STORE_OK && space->next) {
        const struct fx_mapping *mapping = &fx->maps.mappings[space->next - 1];

        if ((!mapping->has_ts || mapping->ts > ts) && conflicts(&fx->maps, mapping))
            break;
        status = apply_next(fx, process);
    }
    return status;
}

enum store_status fx_maps_until(struct fx *fx, uint32_t process, bool has_ts, int64_t ts)
{
    enum store_status status = STORE_OK;

    if (!has_ts)
        return STORE_OK;
    if (fx->maps.spaces[process].next)
        status = apply_until(fx, process, ts);
    if (status == STORE_OK && fx->maps.kernel && fx->maps.spaces[fx->maps.kernel].next)
        status = apply_until(fx, fx->maps.kernel, ts);
    return status;
}

/* Modules that nothing is mapped of belong to any process; whose capture they are of is only known
 * where there is one.  */
static enum store_status put_unmapped(struct fx *fx)
{
    struct fx_maps *maps = &fx->maps;
    bool *mapped = calloc(maps->module_count + 1, sizeof *mapped);
    enum store_status status = STORE_OK;
    uint32_t process = 0;
    uint16_t unused;

    if (!mapped)
        return store_no_memory(fx->export->error);
    for (size_t i = 0; i < maps->count; i++)
        mapped[maps->mappings[i].module] = true;
    for (uint32_t i = (uint32_t)fx->export->process_count; i > 0; i--)
        if (fx_keeps_process(fx, i))
            process = i;
    for (uint32_t i = 1; i <= maps->module_count && process && status == STORE_OK; i++)
        if (!mapped[i])
            status = module_id(fx, process, i, &unused);
    free(mapped);
    return status;
}

enum store_status fx_last_maps(struct fx *fx)
{
    struct fx_maps *maps = &fx->maps;
    enum store_status status = STORE_OK;
    int64_t captures = 0;

    for (size_t i = 0; i < maps->count && status == STORE_OK; i++)
        if (maps->spaces[maps->mappings[i].process].next == i + 1)
            status = apply_next(fx, maps->mappings[i].process);
    if (status == STORE_OK)
        status = export_number(fx->export, "SELECT count(*) FROM main.capture", 0, 0, 0, &captures);
    return status == STORE_OK && captures == 1 ? put_unmapped(fx) : status;
}

enum store_status fx_mention_process(struct fx *fx, uint32_t process, int64_t ts)
{
    struct fx_maps *maps = &fx->maps;
    uint64_t koid = fx->export->processes[process].koid;
    struct fxt_record record = { .kind = FXT_RECORD_MAPPING, .thread.process = koid };
    uint8_t message[256];
    uint16_t unused;
    size_t length;

    /* A message without a member; it cannot be the kernel's.  */
    if (koid != 0 && fidl_encode_process_info(FIDL_GENERATION_2, NULL, NULL, 0, message,
                                              sizeof message, &length) == FIDL_OK)
        return fx_message(fx, koid, ts, message, length, NULL);
    if (ts == fx->start_ts && maps->count > 0) /* a module that others have */
        return module_id(fx, process, maps->mappings[0].module, &unused);
    record.value.mapping.module_id = MOST_MODULES - 1; /* a mapping of no module */
    record.value.mapping.start = FIRST_GAP;
    record.value.mapping.length = FIRST_GAP;
    return fx_put_at(fx, &record, ts);
}

/* ---- Addresses ---- */

static bool find_in(const struct fx_maps *maps, uint32_t process, bool kernel, uint32_t module,
                    uint64_t vaddr, uint64_t *out)
{
    const struct base_ranges *map = &maps->spaces[process].map;

    for (size_t i = 0; i < map->count; i++) {
        const struct base_range *range = &map->items[i];
        uint64_t offset = vaddr - range->place;

        if (range->owner != module || offset > range->last - range->start ||
            (range->start + offset >= KERNEL_START) != kernel)
            continue;
        *out = range->start + offset;
        return true;
    }
    return false;
}

static bool find_now(const struct fx_maps *maps, uint32_t process, uint32_t module, uint64_t vaddr,
                     uint64_t *out)
{
    return find_in(maps, process, false, module, vaddr, out) ||
           (maps->kernel && find_in(maps, maps->kernel, true, module, vaddr, out));
}

/* Whether a mapping that waits would give the frame an address.  */
static bool is_to_come(const struct fx_maps *maps, uint32_t process, uint32_t module,
                       uint64_t vaddr)
{
    for (uint32_t i = maps->spaces[process].next; i; i = maps->mappings[i - 1].next) {
        const struct fx_mapping *mapping = &maps->mappings[i - 1];

        if (maps->modules[mapping->module].same == module &&
            vaddr - mapping->vaddr <= mapping->last - mapping->address)
            return true;
    }
    return false;
}

/* An address of a process that no mapping of it ever covered: of the kernel's half or the other. */
static uint64_t find_gap(struct fx_maps *maps, uint32_t process, bool kernel)
{
    struct fx_space *space = &maps->spaces[process];
    bool moved = true;

    if (space->has_gap)
        return space->gap;
    space->gap = kernel ? UINT64_MAX - 2 * FIRST_GAP : FIRST_GAP;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < maps->count && !moved; i++) {
            const struct fx_mapping *mapping = &maps->mappings[i];

            moved = mapping->process == process && space->gap >= mapping->address &&
                    space->gap <= mapping->last;
            if (moved)
                space->gap = kernel ? mapping->address - 1 : mapping->last + 1;
        }
        if (kernel ? space->gap < KERNEL_START : space->gap >= KERNEL_START)
            break; /* there is none */
    }
    space->has_gap = true;
    return space->gap;
}

/* Code in no module ("[anon]"), and addresses of which no map is known ("[unknown]").  */
static uint64_t nowhere(struct fx *fx, uint32_t process, bool anonymous)
{
    struct fx_maps *maps = &fx->maps;
    bool own = maps->spaces[process].mapped;
    bool kernel_mapped = maps->kernel && maps->spaces[maps->kernel].mapped;

    if (own == anonymous && process != maps->kernel)
        return find_gap(maps, process, false);
    if (kernel_mapped == anonymous)
        return maps->kernel ? find_gap(maps, maps->kernel, true) : UINT64_MAX - 2 * FIRST_GAP;
    return FIRST_GAP;
}

static enum store_status compute(struct fx *fx, uint32_t process, uint32_t frame,
                                 struct fx_address *out, uint64_t vaddr)
{
    const struct stacks *stacks = fx->export->stacks;
    struct fx_maps *maps = &fx->maps;
    uint32_t module = stacks->modules[frame];
    enum store_status status = STORE_OK;

    out->found = false;
    if (module == 0 || module > maps->module_count) {
        const char *name = stacks_function(stacks, frame, 0);

        out->address = nowhere(fx, process, strcmp(name, "[anon]") == 0);
        out->found = strcmp(name, "[anon]") == 0 || strcmp(name, "[unknown]") == 0;
        return STORE_OK;
    }
    module = maps->modules[module].same;
    out->found = find_now(maps, process, module, vaddr, &out->address);
    while (!out->found && status == STORE_OK && maps->spaces[process].next &&
           is_to_come(maps, process, module, vaddr)) {
        status = apply_next(fx, process);
        out->found = find_now(maps, process, module, vaddr, &out->address);
    }
    if (!out->found)
        out->address = nowhere(fx, process, true);
    return status;
}

static enum store_status frame_vaddr(struct fx *fx, uint32_t frame, uint64_t *out)
{
    int64_t vaddr;
    enum store_status status = export_number(
        fx->export, "SELECT vaddr FROM main.frame WHERE id = ?1", frame, 0, 0, &vaddr);

    *out = (uint64_t)vaddr;
    return status;
}

enum store_status fx_address(struct fx *fx, uint32_t process, uint32_t frame, uint64_t *out,
                             bool *found)
{
    struct fx_maps *maps = &fx->maps;
    uint32_t generation = maps->spaces[process].generation;
    uint32_t kernel = maps->kernel ? maps->spaces[maps->kernel].generation : 0;
    bool is_new;
    uint32_t number = base_pairs_add(&maps->addresses, process, frame, &is_new);
    struct fx_address *known;
    enum store_status status = STORE_OK;
    uint64_t vaddr;

    if (number == 0 ||
        !base_make_room(&maps->known, &maps->known_capacity, number, sizeof *maps->known))
        return store_no_memory(fx->export->error);
    known = &maps->known[number - 1];
    if (is_new || known->generation != generation || known->kernel_generation != kernel) {
        status = frame_vaddr(fx, frame, &vaddr);
        if (status == STORE_OK)
            status = compute(fx, process, frame, known, vaddr);
        if (status != STORE_OK)
            return status;
        known->generation = maps->spaces[process].generation;
        known->kernel_generation = maps->kernel ? maps->spaces[maps->kernel].generation : 0;
    }
    *out = known->address;
    *found = known->found;
    return STORE_OK;
}
