/* Where frames are: a mapping a module, a location a frame.  A mapping is as large as all mappings
 * of its module together, and lies where the first of them did, as fxt2pprof has it.  A store does
 * not know where in its file a module's code stands, so the module-relative address of a mapping
 * stands for its file offset.  */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "libstore/export/export_entries.h"

#define ALL_FUNCTIONS UINT32_MAX

struct module_place {
    bool mapped;
    uint32_t mapping;   /* number; 0: not told yet */
    uint64_t low, last; /* module-relative, both included */
    uint64_t bias;      /* address - module-relative, modulo 2^64 */
    uint32_t upid;      /* who mapped it first */
    bool has_functions, has_files, has_lines;
};

struct frame_place {
    bool known;
    uint32_t mapping; /* number; 0 none */
    uint64_t address;
};

/* ---- Modules of traces ---- */

static struct module_place *module_of(struct places *places, sqlite3_stmt *row, int column)
{
    int64_t id = sqlite3_column_int64(row, column);

    if (id >= 1 && (uint64_t)id <= places->module_count)
        return &places->modules[id];
    (void)out_corrupt(places->out, "a row refers to a module that is not there");
    return NULL;
}

static bool take_mapping(void *context, sqlite3_stmt *row)
{
    struct places *places = context;
    struct module_place *module = module_of(places, row, 0);
    uint64_t address = (uint64_t)sqlite3_column_int64(row, 1);
    uint64_t size = (uint64_t)sqlite3_column_int64(row, 2);
    uint64_t vaddr = (uint64_t)sqlite3_column_int64(row, 3), last;

    if (!module)
        return false;
    if (size == 0 || __builtin_add_overflow(vaddr, size - 1, &last))
        return true;
    if (!module->mapped) {
        *module = (struct module_place){ .mapped = true,
                                         .low = vaddr,
                                         .last = last,
                                         .bias = address - vaddr,
                                         .upid = (uint32_t)sqlite3_column_int64(row, 4) };
        return true;
    }
    module->low = vaddr < module->low ? vaddr : module->low;
    module->last = last > module->last ? last : module->last;
    return true;
}

/* pprof looks up the whole mapping again unless one flag says that this was done.  */
static bool take_names(void *context, sqlite3_stmt *row)
{
    struct module_place *module = module_of(context, row, 0);

    if (!module)
        return false;
    module->has_functions = true;
    module->has_files = sqlite3_column_int64(row, 1) != 0;
    module->has_lines = sqlite3_column_int64(row, 2) != 0;
    return true;
}

static bool load_modules(struct places *places)
{
    struct out *out = places->out;
    int64_t capture = out->capture;
    bool ok;

    out->capture = out->export->filter.capture; /* what ?1 is */
    ok = out_each(out,
                  "SELECT m.module_id, m.address, m.size, m.vaddr, m.upid FROM main.mapping AS m "
                  "LEFT JOIN main.process AS p ON p.id = m.upid WHERE ?1 = 0 OR p.capture_id = ?1 "
                  "ORDER BY m.id",
                  take_mapping, places);
    out->capture = capture;
    return ok && out_each(out,
                          "SELECT f.module_id, max(s.file IS NOT NULL), max(s.line IS NOT NULL) "
                          "FROM main.frame AS f JOIN main.symbol AS s ON s.frame_id = f.id "
                          "WHERE f.module_id IS NOT NULL GROUP BY f.module_id",
                          take_names, places);
}

static bool tell_mapping(struct places *places, struct profile_pprof_mapping *mapping,
                         uint32_t *number)
{
    *number = ++places->mapping_count;
    return out_put(places->out, places->out->sink.mapping(places->out->sink.context, mapping));
}

bool places_mapping(struct places *places, uint32_t id, uint32_t *number)
{
    struct out *out = places->out;
    struct module_place *module = &places->modules[id];
    struct profile_pprof_mapping mapping = { .file_offset = module->low,
                                             .has_functions = module->has_functions,
                                             .has_filenames = module->has_files,
                                             .has_line_numbers = module->has_lines,
                                             .has_inline_frames = module->has_lines };
    bool ok;

    *number = module->mapping;
    if (*number)
        return true;
    if (module->low + module->bias > module->last + module->bias)
        module->bias = 0; /* would wrap around: show module-relative addresses instead */
    mapping.start = module->low + module->bias;
    mapping.limit = module->last + module->bias;
    mapping.limit += mapping.limit < UINT64_MAX;
    (void)sqlite3_bind_int64(places->get_module, 1, id);
    ok = out_row(out, places->get_module, "a module is not there") &&
         out_bytes(out, places->get_module, 0, &mapping.filename) &&
         out_bytes(out, places->get_module, 1, &mapping.build_id);
    (void)sqlite3_reset(places->get_module);
    return ok && tell_mapping(places, &mapping, &module->mapping) &&
           ((*number = module->mapping), true);
}

/* The first module that looks like the program: it has the process's name (of which Linux keeps 15
 * bytes), or the command's, or else the process mapped it first.  */
uint32_t places_program(const struct places *places, uint32_t process, const char *command)
{
    const struct stacks *stacks = places->out->export->stacks;
    const char *name = places->out->export->processes[process].name;
    uint32_t best = 0;
    unsigned most = 0;

    command = command ? base_name(command) : NULL;
    for (uint32_t i = 1; i <= places->module_count; i++) {
        const char *path = stacks->pool + stacks->module_names[i];
        const char *base = base_name(path);
        unsigned like = places->modules[i].upid == process;

        if (!places->modules[i].mapped || base[0] == '[' || base[0] == '\0')
            continue;
        if (command && strcmp(base, command) == 0)
            like = 2;
        if (name && *name &&
            (strcmp(base, name) == 0 || (strlen(name) == 15 && strncmp(base, name, 15) == 0)))
            like = 3;
        if (like > most) {
            most = like;
            best = i;
        }
    }
    return best;
}

/* ---- Places of a pprof profile ---- */

static bool take_profile_mapping(void *context, sqlite3_stmt *row)
{
    struct places *places = context;
    int64_t has = sqlite3_column_int64(row, 6);
    struct profile_pprof_mapping mapping = {
        .start = (uint64_t)sqlite3_column_int64(row, 1),
        .limit = (uint64_t)sqlite3_column_int64(row, 1) + (uint64_t)sqlite3_column_int64(row, 2),
        .file_offset = (uint64_t)sqlite3_column_int64(row, 3),
        .has_functions = has & 1,
        .has_filenames = has & 2,
        .has_line_numbers = has & 4,
        .has_inline_frames = has & 8,
    };
    uint32_t number;

    if (sqlite3_column_int64(row, 0) != (int64_t)places->mapping_count + 1)
        return out_corrupt(places->out, "a profile's mappings have gaps");
    return out_string(places->out, row, 4, &mapping.filename) &&
           out_string(places->out, row, 5, &mapping.build_id) &&
           tell_mapping(places, &mapping, &number);
}

/* The first location of a frame says where it is.  */
static bool take_profile_location(void *context, sqlite3_stmt *row)
{
    struct places *places = context;
    int64_t frame = sqlite3_column_int64(row, 0), mapping = sqlite3_column_int64(row, 1);

    if (frame < 1 || frame > places->out->export->stacks->frame_count || mapping < 0 ||
        mapping > places->mapping_count)
        return out_corrupt(places->out, "a location's frame or mapping is not there");
    if (!places->frames[frame].known)
        places->frames[frame] = (struct frame_place){ true, (uint32_t)mapping,
                                                      (uint64_t)sqlite3_column_int64(row, 2) };
    return true;
}

static bool load_profile(struct places *places)
{
    return out_each(places->out,
                    "SELECT ordinal, address, size, file_offset, filename, build_id, has "
                    "FROM main.profile_mapping WHERE capture_id = ? ORDER BY ordinal",
                    take_profile_mapping, places) &&
           out_each(places->out,
                    "SELECT frame_id, mapping, address FROM main.profile_location "
                    "WHERE capture_id = ? ORDER BY ordinal",
                    take_profile_location, places);
}

/* ---- Opening and closing ---- */

bool places_open(struct places *places, struct out *out)
{
    const struct stacks *stacks = out->export->stacks;

    *places = (struct places){ .out = out, .module_count = stacks->module_count };
    places->modules = calloc((size_t)stacks->module_count + 1, sizeof *places->modules);
    places->frames = calloc((size_t)stacks->frame_count + 1, sizeof *places->frames);
    if (!places->modules || !places->frames)
        return out_no_memory(out);
    places->get_frame = out_prepare(out, "SELECT vaddr FROM main.frame WHERE id = ?");
    places->get_module = out_prepare(out, "SELECT name, build_id FROM main.module WHERE id = ?");
    return places->get_frame && places->get_module && load_modules(places) &&
           (out->capture == 0 || load_profile(places));
}

void places_release(struct places *places)
{
    (void)sqlite3_finalize(places->get_frame);
    (void)sqlite3_finalize(places->get_module);
    base_pairs_release(&places->keys);
    free(places->modules);
    free(places->frames);
    free(places->locations);
}

/* ---- Locations ---- */

/* Functions that are shown: those inside of the first kept ones that are not hidden.  */
static size_t choose_lines(struct places *places, uint32_t frame, uint32_t kept, size_t count)
{
    struct export *export = places->out->export;
    size_t chosen = 0;

    for (uint32_t i = 0; i < count && i < kept; i++)
        if (!export->has_hide || !match_function(&export->hide, frame, i))
            places->out->lines[chosen++] = places->out->lines[i];
    return chosen;
}

static bool find_place(struct places *places, uint32_t frame,
                       struct profile_pprof_location *location)
{
    const struct frame_place *known = &places->frames[frame];
    uint32_t module = places->out->export->stacks->modules[frame];
    bool ok, has_vaddr;
    uint64_t vaddr;

    if (known->known) {
        location->mapping = known->mapping;
        location->address = known->address;
        return true;
    }
    if (!module)
        return true;
    (void)sqlite3_bind_int64(places->get_frame, 1, frame);
    ok = out_row(places->out, places->get_frame, "a frame is not there");
    has_vaddr = ok && sqlite3_column_type(places->get_frame, 0) == SQLITE_INTEGER;
    vaddr = ok ? (uint64_t)sqlite3_column_int64(places->get_frame, 0) : 0;
    (void)sqlite3_reset(places->get_frame);
    if (!ok || !places_mapping(places, module, &location->mapping))
        return false;
    if (has_vaddr)
        location->address = vaddr + places->modules[module].bias;
    return true;
}

/* The number of a frame's location; 0 where nothing of it is shown.  */
static bool make_location(struct places *places, uint32_t frame, uint32_t kept, uint32_t *number)
{
    struct out *out = places->out;
    struct export *export = out->export;
    struct profile_pprof_location location = { .id = 0 };
    size_t count;

    *number = 0;
    if (!out_lines(out, frame, &count))
        return false;
    if (count == 0 && export->has_hide && match_function(&export->hide, frame, 0))
        return true;
    location.line_count = choose_lines(places, frame, kept, count);
    if (count > 0 && location.line_count == 0)
        return true;
    location.lines = out->lines;
    *number = ++places->location_count;
    return find_place(places, frame, &location) &&
           out_put(out, out->sink.location(out->sink.context, &location));
}

static bool find_location(struct places *places, uint32_t frame, uint32_t kept, uint32_t *number)
{
    bool is_new;
    uint32_t key = base_pairs_add(&places->keys, frame, kept, &is_new);

    if (!key ||
        !base_make_room(&places->locations, &places->location_capacity, key, sizeof(uint32_t)))
        return out_no_memory(places->out);
    if (is_new && !make_location(places, frame, kept, &places->locations[key - 1]))
        return false;
    *number = places->locations[key - 1];
    return true;
}

/* ---- Stacks ---- */

/* How many functions of a frame, innermost first, show_from leaves: up to the outermost that
 * matches; 0: none matches.  */
static uint32_t functions_from(struct export *export, uint32_t frame)
{
    uint32_t count = stacks_function_count(export->stacks, frame);

    for (uint32_t i = count; i-- > 0;)
        if (shape_begins(export->has_hide ? &export->hide : NULL, &export->show_from, frame, i))
            return i + 1 == count ? ALL_FUNCTIONS : i + 1;
    return 0;
}

bool places_stack(struct places *places, uint32_t callsite, size_t *count)
{
    struct out *out = places->out;
    struct export *export = out->export;
    const struct stacks *stacks = export->stacks;
    uint32_t root = 0, kept = ALL_FUNCTIONS; /* the outermost call site that is shown */

    *count = 0;
    for (uint32_t at = callsite; at; at = stacks->parents[at]) {
        uint32_t functions = export->has_show_from ? functions_from(export, stacks->frames[at])
                                                   : ALL_FUNCTIONS;

        if (functions) {
            root = at;
            kept = functions;
        }
    }
    for (uint32_t at = root ? callsite : 0; at; at = at == root ? 0 : stacks->parents[at]) {
        void *items = out->stack;
        uint32_t number = 0;

        if (!find_location(places, stacks->frames[at], at == root ? kept : ALL_FUNCTIONS,
                           &number) ||
            !out_reserve(out, &items, &out->stack_capacity, *count + 1, sizeof *out->stack))
            return false;
        out->stack = items;
        if (number)
            out->stack[(*count)++] = number;
    }
    return true;
}
