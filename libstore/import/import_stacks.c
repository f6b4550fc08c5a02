/* Modules, frames and call sites.  Those the store has go into profile_stacks before the trace is
 * read, so that what is equal is found; those that are new become rows.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store_content.h>
#include "base/hex.h"
#include "libstore/import/import.h"

/* ---- Ids ---- */

/* id is what the next thing of profile_stacks, or an earlier one that was equal, has in the store.
 */
static bool set_id(struct import_ids *ids, profile_id stack, int64_t id)
{
    if (stack <= ids->count)
        return true;
    if (!base_make_room(&ids->items, &ids->capacity, ids->count + 1, sizeof *ids->items))
        return false;
    ids->items[ids->count++] = id;
    return true;
}

/* ---- Loading ---- */

static bool set_ids(struct import_ids *ids, const profile_id *stacks, size_t count)
{
    bool ok = true;

    for (size_t i = 0; i < count && ok; i++)
        ok = set_id(ids, stacks[i], (int64_t)i + 1);
    return ok;
}

enum store_status store_import_load_stacks(struct store_import *import, struct store_error *error)
{
    struct store_stacks loaded;
    enum store_status status = store_load_stacks(import->store, import->stacks, false, &loaded,
                                                 error);

    if (status != STORE_OK)
        return status;
    if (!set_ids(&import->modules, loaded.modules, loaded.module_count) ||
        !set_ids(&import->frames, loaded.frames, loaded.frame_count) ||
        !set_ids(&import->callsites, loaded.callsites, loaded.callsite_count))
        status = store_no_memory(error);
    store_stacks_release(&loaded);
    return status;
}

/* ---- Writing ---- */

static bool out_of_memory(struct store_import *import)
{
    return store_import_fail(import, STORE_NO_MEMORY, "out of memory");
}

static bool write_module(struct store_import *import, profile_id stack)
{
    struct profile_module module = profile_stacks_get_module(import->stacks, stack);
    char hex[2 * sizeof module.build_id];
    size_t length;
    const char *name = profile_stacks_text(import->stacks, module.name, &length);
    int64_t id;
    struct store_cell *cells = store_writer_row(import->writer, STORE_MODULE, &id);

    if (!cells || !store_writer_text(import->writer, STORE_MODULE, &cells[1], name, length))
        return false;
    length = base_hex(hex, module.build_id, module.build_id_length);
    if (length > 0 && !store_writer_text(import->writer, STORE_MODULE, &cells[2], hex, length))
        return false;
    return set_id(&import->modules, stack, id) || out_of_memory(import);
}

bool store_import_write_modules(struct store_import *import)
{
    profile_id count = profile_stacks_module_count(import->stacks);
    bool ok = true;

    while (import->modules.count < count && ok)
        ok = write_module(import, (profile_id)import->modules.count + 1);
    return ok;
}

/* string.id of a text of profile_stacks, 0 for the empty one.  *ok becomes false on failure.  */
static int64_t string_id(struct store_import *import, profile_id string, bool *ok)
{
    size_t length;
    const char *text = profile_stacks_text(import->stacks, string, &length);
    int64_t id = string ? store_import_string(import, text, length) : 0;

    *ok &= string == 0 || id != 0;
    return id;
}

#define QUALITY_CAPTURE 5 /* symbol.quality: said by the capture */

bool store_import_write_symbol(struct store_import *import, const struct import_symbol *symbol)
{
    struct store_cell *cells = store_writer_row(import->writer, STORE_SYMBOL, NULL);

    if (!cells)
        return false;
    store_int(&cells[0], symbol->frame);
    store_int(&cells[1], symbol->depth);
    store_int(&cells[2], symbol->function);
    store_id(&cells[3], symbol->system_name);
    store_id(&cells[4], symbol->file);
    store_id(&cells[5], symbol->line);
    store_id(&cells[6], symbol->column);
    store_id(&cells[7], symbol->start_line);
    store_int(&cells[8], QUALITY_CAPTURE);
    return true;
}

static bool write_line(struct store_import *import, int64_t frame, uint32_t depth,
                       const struct profile_line *line)
{
    bool ok = true;
    int64_t function = line->function ? string_id(import, line->function, &ok)
                                      : store_import_string(import, "", 0);
    int64_t system_name = string_id(import, line->system_name, &ok);
    int64_t file = string_id(import, line->file, &ok);
    const struct import_symbol symbol = { frame, depth,      function,     system_name,
                                          file,  line->line, line->column, line->start_line };

    return ok && function && store_import_write_symbol(import, &symbol);
}

static bool write_frame(struct store_import *import, profile_id stack)
{
    struct profile_frame frame = profile_stacks_get_frame(import->stacks, stack);
    int64_t id;
    struct store_cell *cells = store_writer_row(import->writer, STORE_FRAME, &id);

    if (!cells)
        return false;
    store_id(&cells[1], store_import_module(import, frame.module));
    if (frame.has_address)
        store_unsigned(&cells[2], frame.vaddr);
    for (uint32_t i = 0; i < frame.line_count; i++)
        if (!write_line(import, id, i, &frame.lines[i]))
            return false;
    return set_id(&import->frames, stack, id) || out_of_memory(import);
}

static bool write_callsite(struct store_import *import, profile_id stack)
{
    struct profile_callsite callsite = profile_stacks_get_callsite(import->stacks, stack);
    int64_t id;
    struct store_cell *cells = store_writer_row(import->writer, STORE_CALLSITE, &id);

    if (!cells)
        return false;
    store_id(&cells[1], store_import_callsite(import, callsite.parent));
    store_int(&cells[2], import->frames.items[callsite.frame - 1]);
    store_int(&cells[3], callsite.depth);
    import->counts.callsites++;
    return set_id(&import->callsites, stack, id) || out_of_memory(import);
}

bool store_import_write_stacks(struct store_import *import)
{
    profile_id frames = profile_stacks_frame_count(import->stacks);
    profile_id callsites = profile_stacks_callsite_count(import->stacks);
    bool ok = store_import_write_modules(import);

    while (import->frames.count < frames && ok)
        ok = write_frame(import, (profile_id)import->frames.count + 1);
    while (import->callsites.count < callsites && ok)
        ok = write_callsite(import, (profile_id)import->callsites.count + 1);
    return ok;
}

void store_import_stacks_release(struct store_import *import)
{
    free(import->modules.items);
    free(import->frames.items);
    free(import->callsites.items);
}
