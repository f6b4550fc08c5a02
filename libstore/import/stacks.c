/* Modules, frames and call sites.  Those the store has go into profile_stacks before the trace is
 * read, so that what is equal is found; those that are new become rows.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What is loaded, by the store's ids.  */
struct loaded {
    profile_id *items;
    size_t count, capacity;
};

struct load {
    struct store_import *import;
    struct loaded modules, frames, callsites;
    sqlite3_stmt *lines; /* of a frame */
    struct store_error *error;
};

static enum store_status from_profile(const struct profile_error *error, struct store_error *out)
{
    return store_fail(out,
                      error->status == PROFILE_NO_MEMORY ? STORE_NO_MEMORY
                      : error->status == PROFILE_LIMIT   ? STORE_LIMIT
                                                         : STORE_IO,
                      "%s", error->message);
}

/* Ids have no gaps, so a row's place is its id.  */
static enum store_status add_loaded(struct load *load, struct loaded *loaded, int64_t id,
                                    profile_id stack, const char *what)
{
    if (id != (int64_t)loaded->count + 1)
        return store_fail(load->error, STORE_CORRUPT,
                          "the store is corrupt: %s %lld is out of place", what, (long long)id);
    if (!base_make_room(&loaded->items, &loaded->capacity, loaded->count + 1,
                        sizeof *loaded->items))
        return store_no_memory(load->error);
    loaded->items[loaded->count++] = stack;
    return STORE_OK;
}

/* The thing a row refers to; 0 for NULL.  */
static enum store_status find_loaded(struct load *load, const struct loaded *loaded,
                                     sqlite3_stmt *row, int column, profile_id *out)
{
    int64_t id = sqlite3_column_int64(row, column);

    *out = 0;
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return STORE_OK;
    if (id < 1 || (uint64_t)id > loaded->count)
        return store_fail(load->error, STORE_CORRUPT,
                          "the store is corrupt: a row refers to %lld, which is not there",
                          (long long)id);
    *out = loaded->items[id - 1];
    return STORE_OK;
}

static enum store_status intern(struct load *load, sqlite3_stmt *row, int column, profile_id *out)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    struct profile_error error;

    *out = 0;
    if (!text)
        return STORE_OK;
    if (profile_stacks_string(load->import->stacks, text, (size_t)sqlite3_column_bytes(row, column),
                              out, &error) == PROFILE_OK)
        return STORE_OK;
    return from_profile(&error, load->error);
}

static enum store_status load_module(struct load *load, sqlite3_stmt *row)
{
    struct profile_module module = { .name = 0 };
    struct profile_error error;
    enum store_status status = intern(load, row, 1, &module.name);
    profile_id stack = 0;

    if (status != STORE_OK)
        return status;
    module.build_id_length = (uint8_t)store_parse_build_id(
        (const char *)sqlite3_column_text(row, 2), module.build_id, sizeof module.build_id);
    if (profile_stacks_module(load->import->stacks, &module, &stack, &error) != PROFILE_OK)
        return from_profile(&error, load->error);
    if (!set_id(&load->import->modules, stack, sqlite3_column_int64(row, 0)))
        return store_no_memory(load->error);
    return add_loaded(load, &load->modules, sqlite3_column_int64(row, 0), stack, "module");
}

#define MOST_LINES 1000

/* The lines that tell a frame without an address from others.  */
static enum store_status load_lines(struct load *load, int64_t frame, struct profile_line *lines,
                                    size_t *count)
{
    enum store_status status = STORE_OK;
    int code = SQLITE_ROW;

    *count = 0;
    (void)sqlite3_bind_int64(load->lines, 1, frame);
    while (status == STORE_OK && *count < MOST_LINES &&
           (code = sqlite3_step(load->lines)) == SQLITE_ROW) {
        struct profile_line *line = &lines[(*count)++];

        status = intern(load, load->lines, 0, &line->function);
        if (status == STORE_OK)
            status = intern(load, load->lines, 1, &line->system_name);
        if (status == STORE_OK)
            status = intern(load, load->lines, 2, &line->file);
        line->line = (uint32_t)sqlite3_column_int64(load->lines, 3);
        line->column = (uint32_t)sqlite3_column_int64(load->lines, 4);
        line->start_line = (uint32_t)sqlite3_column_int64(load->lines, 5);
    }
    (void)sqlite3_reset(load->lines);
    if (status == STORE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        status = store_fail_sqlite(load->error, load->import->store->db, code);
    return status;
}

static enum store_status load_named_frame(struct load *load, int64_t id, profile_id *stack)
{
    struct profile_line *lines = calloc(MOST_LINES, sizeof *lines);
    struct profile_error error;
    enum store_status status;
    size_t count;

    if (!lines)
        return store_no_memory(load->error);
    status = load_lines(load, id, lines, &count);
    if (status == STORE_OK &&
        profile_stacks_named_frame(load->import->stacks, lines, count, stack, &error) != PROFILE_OK)
        status = from_profile(&error, load->error);
    free(lines);
    return status;
}

/* Frames that only imported profiles have are all the same for a trace, which never meets them.  */
static enum store_status load_foreign_frame(struct load *load, profile_id *stack)
{
    static const char name[] = "\n"; /* no name of a function */
    struct profile_line line = { .function = 0 };
    struct profile_error error;

    if (profile_stacks_string(load->import->stacks, name, 1, &line.function, &error) !=
            PROFILE_OK ||
        profile_stacks_named_frame(load->import->stacks, &line, 1, stack, &error) != PROFILE_OK)
        return from_profile(&error, load->error);
    return STORE_OK;
}

static enum store_status load_frame(struct load *load, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);
    struct profile_error error;
    profile_id module, stack = 0;
    enum store_status status = find_loaded(load, &load->modules, row, 1, &module);

    if (status != STORE_OK)
        return status;
    if (sqlite3_column_type(row, 3) != SQLITE_NULL)
        status = load_foreign_frame(load, &stack);
    else if (sqlite3_column_type(row, 2) == SQLITE_NULL)
        status = load_named_frame(load, id, &stack);
    else if (profile_stacks_address_frame(load->import->stacks, module,
                                          (uint64_t)sqlite3_column_int64(row, 2), &stack,
                                          &error) != PROFILE_OK)
        status = from_profile(&error, load->error);
    if (status == STORE_OK && !set_id(&load->import->frames, stack, id))
        status = store_no_memory(load->error);
    return status == STORE_OK ? add_loaded(load, &load->frames, id, stack, "frame") : status;
}

static enum store_status load_callsite(struct load *load, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);
    struct profile_error error;
    profile_id parent, frame, stack;
    enum store_status status = find_loaded(load, &load->callsites, row, 1, &parent);

    if (status == STORE_OK)
        status = find_loaded(load, &load->frames, row, 2, &frame);
    if (status == STORE_OK && frame == 0)
        status = store_fail(load->error, STORE_CORRUPT,
                            "the store is corrupt: callsite %lld has no frame", (long long)id);
    if (status != STORE_OK)
        return status;
    if (profile_stacks_callsite(load->import->stacks, parent, frame, &stack, &error) != PROFILE_OK)
        return from_profile(&error, load->error);
    if (!set_id(&load->import->callsites, stack, id))
        return store_no_memory(load->error);
    return add_loaded(load, &load->callsites, id, stack, "callsite");
}

static enum store_status load_rows(struct load *load, const char *sql,
                                   enum store_status (*each)(struct load *, sqlite3_stmt *))
{
    sqlite3 *db = load->import->store->db;
    enum store_status status = STORE_OK;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = SQLITE_ROW;
    while (status == STORE_OK && code == SQLITE_ROW &&
           (code = sqlite3_step(statement)) == SQLITE_ROW)
        status = each(load, statement);
    if (status == STORE_OK && code != SQLITE_DONE)
        status = store_fail_sqlite(load->error, db, code);
    (void)sqlite3_finalize(statement);
    return status;
}

enum store_status store_import_load_stacks(struct store_import *import, struct store_error *error)
{
    struct load load = { .import = import, .error = error };
    enum store_status status = STORE_OK;
    int code = sqlite3_prepare_v2(
        import->store->db,
        "SELECT fn.text, sys.text, file.text, s.line, s.\"column\", s.start_line FROM symbol AS s "
        "LEFT JOIN string AS fn ON fn.id = s.function "
        "LEFT JOIN string AS sys ON sys.id = s.system_name "
        "LEFT JOIN string AS file ON file.id = s.file WHERE s.frame_id = ? ORDER BY inline_depth",
        -1, &load.lines, NULL);

    if (code != SQLITE_OK)
        status = store_fail_sqlite(error, import->store->db, code);
    if (status == STORE_OK)
        status = load_rows(&load, "SELECT id, name, build_id FROM module ORDER BY id", load_module);
    if (status == STORE_OK)
        status = load_rows(&load, "SELECT id, module_id, vaddr, file_offset FROM frame ORDER BY id",
                           load_frame);
    if (status == STORE_OK)
        status = load_rows(&load, "SELECT id, parent_id, frame_id FROM callsite ORDER BY id",
                           load_callsite);
    (void)sqlite3_finalize(load.lines);
    free(load.modules.items);
    free(load.frames.items);
    free(load.callsites.items);
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
    length = store_format_build_id(module.build_id, module.build_id_length, hex);
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
    store_int(&cells[3], (int64_t)callsite.depth - 1);
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
