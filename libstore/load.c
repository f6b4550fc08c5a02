/* load.c - modules, frames and call sites of a store, brought into struct profile_stacks.  */
#include <stdlib.h>

#include <fxt/store_content.h>
#include "base/grow.h"
#include "libstore/store_internal.h"

struct load {
    struct store *store;
    struct profile_stacks *stacks;
    bool names; /* what the store knows of addresses, and of frames of profiles */
    struct store_stacks *out;
    size_t module_capacity, frame_capacity, callsite_capacity;
    sqlite3_stmt *lines; /* of a frame */
    struct profile_line *line_items;
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
static enum store_status add(struct load *load, profile_id **items, size_t *count, size_t *capacity,
                             int64_t id, profile_id stack, const char *what)
{
    if (id != (int64_t)*count + 1)
        return store_fail(load->error, STORE_CORRUPT,
                          "the store is corrupt: %s %lld is out of place", what, (long long)id);
    if (!base_make_room(items, capacity, *count + 1, sizeof **items))
        return store_no_memory(load->error);
    (*items)[(*count)++] = stack;
    return STORE_OK;
}

/* The thing a row refers to; 0 for NULL.  */
static enum store_status find(struct load *load, const profile_id *items, size_t count,
                              sqlite3_stmt *row, int column, profile_id *out)
{
    int64_t id = sqlite3_column_int64(row, column);

    *out = 0;
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return STORE_OK;
    if (id < 1 || (uint64_t)id > count)
        return store_fail(load->error, STORE_CORRUPT,
                          "the store is corrupt: a row refers to %lld, which is not there",
                          (long long)id);
    *out = items[id - 1];
    return STORE_OK;
}

static enum store_status intern(struct load *load, sqlite3_stmt *row, int column, profile_id *out)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    struct profile_error error;

    *out = 0;
    if (!text ||
        profile_stacks_string(load->stacks, text, (size_t)sqlite3_column_bytes(row, column), out,
                              &error) == PROFILE_OK)
        return STORE_OK;
    return from_profile(&error, load->error);
}

static enum store_status load_module(struct load *load, sqlite3_stmt *row)
{
    struct store_stacks *out = load->out;
    struct profile_module module = { .name = 0 };
    struct profile_error error;
    enum store_status status = intern(load, row, 1, &module.name);
    profile_id stack = 0;

    if (status != STORE_OK)
        return status;
    module.build_id_length = (uint8_t)store_parse_build_id(
        (const char *)sqlite3_column_text(row, 2), module.build_id, sizeof module.build_id);
    if (profile_stacks_module(load->stacks, &module, &stack, &error) != PROFILE_OK)
        return from_profile(&error, load->error);
    return add(load, &out->modules, &out->module_count, &load->module_capacity,
               sqlite3_column_int64(row, 0), stack, "module");
}

#define MOST_LINES 1000

/* The functions of a frame, innermost first, into line_items.  */
static enum store_status load_lines(struct load *load, int64_t frame, size_t *count)
{
    enum store_status status = STORE_OK;
    int code = SQLITE_ROW;

    *count = 0;
    (void)sqlite3_bind_int64(load->lines, 1, frame);
    while (status == STORE_OK && *count < MOST_LINES &&
           (code = sqlite3_step(load->lines)) == SQLITE_ROW) {
        struct profile_line *line = &load->line_items[(*count)++];

        *line = (struct profile_line){ .line = (uint32_t)sqlite3_column_int64(load->lines, 3),
                                       .column = (uint32_t)sqlite3_column_int64(load->lines, 4),
                                       .start_line = (uint32_t)sqlite3_column_int64(load->lines,
                                                                                    5) };
        status = intern(load, load->lines, 0, &line->function);
        if (status == STORE_OK)
            status = intern(load, load->lines, 1, &line->system_name);
        if (status == STORE_OK)
            status = intern(load, load->lines, 2, &line->file);
    }
    (void)sqlite3_reset(load->lines);
    if (status == STORE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        status = store_fail_sqlite(load->error, load->store->db, code);
    return status;
}

/* The lines tell a frame without an address from others, and its module, which only imported
 * profiles know.  */
static enum store_status load_named_frame(struct load *load, int64_t id, profile_id module,
                                          profile_id *stack)
{
    struct profile_error error;
    size_t count;
    enum store_status status = load_lines(load, id, &count);

    if (status == STORE_OK && profile_stacks_named_frame_in(load->stacks, module, load->line_items,
                                                            count, stack, &error) != PROFILE_OK)
        status = from_profile(&error, load->error);
    return status;
}

/* Frames that only imported profiles have are all the same for a trace, which never meets them.  */
static enum store_status load_foreign_frame(struct load *load, profile_id *stack)
{
    static const char name[] = "\n"; /* no name of a function */
    struct profile_line line = { .function = 0 };
    struct profile_error error;

    if (profile_stacks_string(load->stacks, name, 1, &line.function, &error) != PROFILE_OK ||
        profile_stacks_named_frame(load->stacks, &line, 1, stack, &error) != PROFILE_OK)
        return from_profile(&error, load->error);
    return STORE_OK;
}

static enum store_status load_address_frame(struct load *load, sqlite3_stmt *row, profile_id module,
                                            profile_id *stack)
{
    struct profile_error error;
    enum store_status status = STORE_OK;
    size_t count = 0;

    if (profile_stacks_address_frame(load->stacks, module, (uint64_t)sqlite3_column_int64(row, 2),
                                     stack, &error) != PROFILE_OK)
        return from_profile(&error, load->error);
    if (load->names)
        status = load_lines(load, sqlite3_column_int64(row, 0), &count);
    if (status == STORE_OK && count > 0 &&
        profile_stacks_set_lines(load->stacks, *stack, load->line_items, count, &error) !=
            PROFILE_OK)
        status = from_profile(&error, load->error);
    return status;
}

static enum store_status load_frame(struct load *load, sqlite3_stmt *row)
{
    struct store_stacks *out = load->out;
    int64_t id = sqlite3_column_int64(row, 0);
    profile_id module, stack = 0;
    enum store_status status = find(load, out->modules, out->module_count, row, 1, &module);

    if (status != STORE_OK)
        return status;
    if (sqlite3_column_type(row, 3) != SQLITE_NULL && !load->names)
        status = load_foreign_frame(load, &stack);
    else if (sqlite3_column_type(row, 2) == SQLITE_NULL)
        status = load_named_frame(load, id, module, &stack);
    else
        status = load_address_frame(load, row, module, &stack);
    return status == STORE_OK ? add(load, &out->frames, &out->frame_count, &load->frame_capacity,
                                    id, stack, "frame")
                              : status;
}

static enum store_status load_callsite(struct load *load, sqlite3_stmt *row)
{
    struct store_stacks *out = load->out;
    int64_t id = sqlite3_column_int64(row, 0);
    struct profile_error error;
    profile_id parent, frame, stack;
    enum store_status status = find(load, out->callsites, out->callsite_count, row, 1, &parent);

    if (status == STORE_OK)
        status = find(load, out->frames, out->frame_count, row, 2, &frame);
    if (status == STORE_OK && frame == 0)
        status = store_fail(load->error, STORE_CORRUPT,
                            "the store is corrupt: callsite %lld has no frame", (long long)id);
    if (status != STORE_OK)
        return status;
    if (profile_stacks_callsite(load->stacks, parent, frame, &stack, &error) != PROFILE_OK)
        return from_profile(&error, load->error);
    return add(load, &out->callsites, &out->callsite_count, &load->callsite_capacity, id, stack,
               "callsite");
}

static enum store_status load_rows(struct load *load, const char *sql,
                                   enum store_status (*each)(struct load *, sqlite3_stmt *))
{
    sqlite3 *db = load->store->db;
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

static enum store_status load_all(struct load *load)
{
    enum store_status status = load_rows(
        load, "SELECT id, name, build_id FROM main.module ORDER BY id", load_module);

    if (status == STORE_OK)
        status = load_rows(load,
                           "SELECT id, module_id, vaddr, file_offset FROM main.frame ORDER BY id",
                           load_frame);
    if (status == STORE_OK)
        status = load_rows(load, "SELECT id, parent_id, frame_id FROM main.callsite ORDER BY id",
                           load_callsite);
    return status;
}

enum store_status store_load_stacks(struct store *store, struct profile_stacks *stacks, bool names,
                                    struct store_stacks *out, struct store_error *error)
{
    struct load load = {
        .store = store, .stacks = stacks, .names = names, .out = out, .error = error
    };
    enum store_status status = STORE_OK;
    int code;

    *out = (struct store_stacks){ .modules = NULL };
    load.line_items = calloc(MOST_LINES, sizeof *load.line_items);
    if (!load.line_items)
        return store_no_memory(error);
    code = sqlite3_prepare_v2(
        store->db,
        "SELECT fn.text, sys.text, file.text, s.line, s.\"column\", s.start_line "
        "FROM main.symbol AS s LEFT JOIN main.string AS fn ON fn.id = s.function "
        "LEFT JOIN main.string AS sys ON sys.id = s.system_name "
        "LEFT JOIN main.string AS file ON file.id = s.file "
        "WHERE s.frame_id = ? ORDER BY inline_depth",
        -1, &load.lines, NULL);
    if (code != SQLITE_OK)
        status = store_fail_sqlite(error, store->db, code);
    if (status == STORE_OK)
        status = load_all(&load);
    (void)sqlite3_finalize(load.lines);
    free(load.line_items);
    if (status != STORE_OK)
        store_stacks_release(out);
    return status;
}

void store_stacks_release(struct store_stacks *stacks)
{
    free(stacks->modules);
    free(stacks->frames);
    free(stacks->callsites);
    *stacks = (struct store_stacks){ .modules = NULL };
}
