#include "libstore/functions/stored_stacks.h"

#include <string.h>

#include <fxt/store.h>
#include "base/file.h"

/* More of anything is no store of ours (store.h, limits).  */
#define IDS_MAX (UINT32_MAX - 2)

bool stacks_grow(void *items, size_t *capacity, size_t count, size_t size)
{
    void *bigger, *old;
    size_t wanted = *capacity ? *capacity : 64;

    if (count <= *capacity)
        return true;
    while (wanted < count)
        wanted *= 2;
    if (wanted > SIZE_MAX / 2 / size)
        return false;
    memcpy(&old, items, sizeof old);
    bigger = sqlite3_realloc64(old, (sqlite3_uint64)wanted * size);
    if (!bigger)
        return false;
    memcpy(items, &bigger, sizeof bigger);
    *capacity = wanted;
    return true;
}

struct stacks *stacks_hold(struct stacks *stacks)
{
    stacks->references++;
    return stacks;
}

/* Also so that a later attempt begins anew.  */
static void forget_names(struct stacks *stacks)
{
    sqlite3_free(stacks->modules);
    sqlite3_free(stacks->first_lines);
    sqlite3_free(stacks->lines);
    sqlite3_free(stacks->strings);
    sqlite3_free(stacks->module_names);
    sqlite3_free(stacks->module_labels);
    sqlite3_free(stacks->pool);
    stacks->modules = stacks->first_lines = NULL;
    stacks->lines = NULL;
    stacks->strings = stacks->module_names = stacks->module_labels = NULL;
    stacks->pool = NULL;
    stacks->pool_size = 0;
    stacks->frame_count = stacks->line_count = stacks->string_count = stacks->module_count = 0;
}

void stacks_drop(struct stacks *stacks)
{
    if (!stacks || --stacks->references > 0)
        return;
    sqlite3_free(stacks->parents);
    sqlite3_free(stacks->frames);
    sqlite3_free(stacks->depths);
    forget_names(stacks);
    sqlite3_free(stacks);
}

/* ---- Reading a table ---- */

struct load {
    sqlite3 *db;
    struct stacks *stacks;
    char **error;
    size_t capacity, other_capacity, third_capacity; /* of what the table goes to */
    size_t pool_capacity;
};

static int damaged(struct load *load, const char *what)
{
    *load->error = sqlite3_mprintf("the store is damaged: %s", what);
    return SQLITE_CORRUPT;
}

/* Call take for every row.  */
static int each_row(struct load *load, const char *sql,
                    int (*take)(struct load *load, sqlite3_stmt *row))
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(load->db, sql, -1, &statement, NULL);

    load->capacity = load->other_capacity = load->third_capacity = 0;
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        code = take(load, statement);
    if (code != SQLITE_DONE && !*load->error && code != SQLITE_NOMEM)
        *load->error = sqlite3_mprintf("%s", sqlite3_errmsg(load->db));
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* ---- Trust ---- */

static int get_number(sqlite3 *db, const char *sql, sqlite3_int64 *out, char **error)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    *out = 0;
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    else if (code != SQLITE_DONE && code != SQLITE_NOMEM)
        *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    (void)sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* What has no such number is not known for a store of another version, but for the tables that it
 * lacks.  */
static int check_version(sqlite3 *db, char **error)
{
    sqlite3_int64 application = 0, version = 0;
    int code = get_number(db, "PRAGMA main.application_id", &application, error);

    if (code == SQLITE_OK)
        code = get_number(db, "PRAGMA main.user_version", &version, error);
    if (code != SQLITE_OK || application != STORE_APPLICATION_ID || version == STORE_VERSION)
        return code;
    *error = version < STORE_VERSION
                 ? sqlite3_mprintf("a store of version %lld; 'fxtq upgrade' makes it one of "
                                   "version %d",
                                   version, STORE_VERSION)
                 : sqlite3_mprintf("a store of version %lld, made by a later fxtq; these functions "
                                   "know version %d",
                                   version, STORE_VERSION);
    return SQLITE_ERROR;
}

/* A file of somebody else may have views under the names of tables, which never end, or virtual
 * tables, and one of ours may be older.  fxtq refuses such files when it opens them; another
 * program that loads the functions does not.  */
int stacks_check_tables(sqlite3 *db, char **error)
{
    static const char sql[] =
        "SELECT column1 FROM (VALUES ('callsite'), ('frame'), ('symbol'), ('string'), ('module'), "
        "('capture'), ('sample_type'), ('callsite_sum'), ('process'), ('thread'), ('cpu_sample'), "
        "('sample_event'), ('heap_event'), ('profile_type'), ('profile_sample'), "
        "('profile_value'), ('arg'), ('arg_set_end')) "
        "WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_master "
        "WHERE name = column1 AND type = 'table' AND rootpage > 0)";
    sqlite3_stmt *statement = NULL;
    int code = check_version(db, error);

    if (code != SQLITE_OK)
        return code;
    code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *error = sqlite3_mprintf("the store is damaged: it has no table %s",
                                 (const char *)sqlite3_column_text(statement, 0));
        code = SQLITE_CORRUPT;
    } else if (code != SQLITE_DONE && code != SQLITE_NOMEM) {
        *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* ---- Call sites ---- */

static int take_callsite(struct load *load, sqlite3_stmt *row)
{
    struct stacks *stacks = load->stacks;
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    sqlite3_int64 parent = sqlite3_column_int64(row, 1);
    sqlite3_int64 frame = sqlite3_column_int64(row, 2);
    uint32_t next = stacks->callsite_count + 1;

    if (id != next || id > (sqlite3_int64)IDS_MAX)
        return damaged(load, "its call sites have gaps");
    if (parent < 0 || parent >= id)
        return damaged(load, "a call site comes before its caller");
    if (frame < 1 || frame > (sqlite3_int64)IDS_MAX)
        return damaged(load, "a call site has no frame");
    if (!stacks_grow(&stacks->parents, &load->capacity, (size_t)next + 1, sizeof(uint32_t)) ||
        !stacks_grow(&stacks->frames, &load->other_capacity, (size_t)next + 1, sizeof(uint32_t)) ||
        !stacks_grow(&stacks->depths, &load->third_capacity, (size_t)next + 1, sizeof(uint32_t)))
        return SQLITE_NOMEM;
    stacks->parents[next] = (uint32_t)parent;
    stacks->frames[next] = (uint32_t)frame;
    stacks->depths[next] = parent ? stacks->depths[parent] + 1 : 0;
    stacks->callsite_count = next;
    return SQLITE_OK;
}

static int load_callsites(sqlite3 *db, unsigned version, struct stacks **out, char **error)
{
    struct load load = { .db = db, .error = error };
    int code;

    load.stacks = sqlite3_malloc(sizeof *load.stacks);
    if (!load.stacks)
        return SQLITE_NOMEM;
    *load.stacks = (struct stacks){ .references = 1, .version = version };
    code = each_row(&load, "SELECT id, parent_id, frame_id FROM main.callsite ORDER BY id",
                    take_callsite);
    if (code == SQLITE_OK)
        *out = load.stacks;
    else
        stacks_drop(load.stacks);
    return code;
}

int stacks_refresh(sqlite3 *db, struct stacks **held, char **error)
{
    struct stacks *fresh;
    unsigned version = 0;
    int code;

    *error = NULL;
    /* Changes with every commit, of this connection and of others.  */
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    if (*held && (*held)->version == version)
        return SQLITE_OK;
    code = stacks_check_tables(db, error);
    if (code == SQLITE_OK)
        code = load_callsites(db, version, &fresh, error);
    if (code != SQLITE_OK)
        return code;
    stacks_drop(*held);
    *held = fresh;
    return SQLITE_OK;
}

/* ---- Names ---- */

/* Text and its NUL to the pool, its place to *place.  */
static int pool_add(struct load *load, const char *before, const char *text, size_t length,
                    const char *after, size_t *place)
{
    struct stacks *stacks = load->stacks;
    size_t before_length = strlen(before), after_length = strlen(after);
    size_t size = before_length + length + after_length + 1;
    char *next;

    if (!stacks_grow(&stacks->pool, &load->pool_capacity, stacks->pool_size + size, 1))
        return SQLITE_NOMEM;
    next = stacks->pool + stacks->pool_size;
    memcpy(next, before, before_length);
    if (length > 0)
        memcpy(next + before_length, text, length);
    memcpy(next + before_length + length, after, after_length);
    next[size - 1] = '\0';
    *place = stacks->pool_size;
    stacks->pool_size += size;
    return SQLITE_OK;
}

static int take_string(struct load *load, sqlite3_stmt *row)
{
    struct stacks *stacks = load->stacks;
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    const char *text = (const char *)sqlite3_column_text(row, 1);
    uint32_t next = stacks->string_count + 1;

    if (id != next || id > (sqlite3_int64)IDS_MAX)
        return damaged(load, "its strings have gaps");
    if (sqlite3_column_type(row, 1) == SQLITE_NULL)
        return damaged(load, "a string has no text");
    if (!text || !stacks_grow(&stacks->strings, &load->capacity, (size_t)next + 1, sizeof(size_t)))
        return SQLITE_NOMEM;
    stacks->strings[0] = 0;
    stacks->string_count = next;
    return pool_add(load, "", text, (size_t)sqlite3_column_bytes(row, 1), "",
                    &stacks->strings[next]);
}

static int take_module(struct load *load, sqlite3_stmt *row)
{
    struct stacks *stacks = load->stacks;
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    uint32_t next = stacks->module_count + 1;
    const char *base;
    int code;

    if (id != next || id > (sqlite3_int64)IDS_MAX)
        return damaged(load, "its modules have gaps");
    if (sqlite3_column_type(row, 1) == SQLITE_NULL)
        return damaged(load, "a module has no name");
    if (!name ||
        !stacks_grow(&stacks->module_names, &load->capacity, (size_t)next + 1, sizeof(size_t)) ||
        !stacks_grow(&stacks->module_labels, &load->other_capacity, (size_t)next + 1,
                     sizeof(size_t)))
        return SQLITE_NOMEM;
    stacks->module_names[0] = stacks->module_labels[0] = 0;
    stacks->module_count = next;
    base = base_name(name);
    code = pool_add(load, "", name, strlen(name), "", &stacks->module_names[next]);
    if (code != SQLITE_OK)
        return code;
    if (*base == '\0' && sqlite3_column_bytes(row, 2) > 0)
        base = (const char *)sqlite3_column_text(row, 2);
    if (!base)
        return SQLITE_NOMEM;
    if (*base == '\0')
        return pool_add(load, "", "[unknown]", 9, "", &stacks->module_labels[next]);
    return pool_add(load, *base == '[' ? "" : "[", base, strlen(base), *base == '[' ? "" : "]",
                    &stacks->module_labels[next]);
}

static int take_frame(struct load *load, sqlite3_stmt *row)
{
    struct stacks *stacks = load->stacks;
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    sqlite3_int64 module = sqlite3_column_int64(row, 1);
    uint32_t next = stacks->frame_count + 1;

    if (id != next || id > (sqlite3_int64)IDS_MAX)
        return damaged(load, "its frames have gaps");
    if (module < 0 || module > stacks->module_count)
        return damaged(load, "a frame's module is not there");
    if (!stacks_grow(&stacks->modules, &load->capacity, (size_t)next + 1, sizeof(uint32_t)))
        return SQLITE_NOMEM;
    stacks->modules[0] = 0;
    stacks->modules[next] = (uint32_t)module;
    stacks->frame_count = next;
    return SQLITE_OK;
}

/* The id of a string, or 0 for NULL.  */
static bool string_column(const struct stacks *stacks, sqlite3_stmt *row, int column,
                          uint32_t *string)
{
    sqlite3_int64 id = sqlite3_column_int64(row, column);

    *string = (uint32_t)id;
    return id >= 0 && id <= stacks->string_count;
}

/* Rows come in the order of frames, and innermost functions first: the table's own order.  */
static int take_symbol(struct load *load, sqlite3_stmt *row)
{
    struct stacks *stacks = load->stacks;
    sqlite3_int64 frame = sqlite3_column_int64(row, 0);
    sqlite3_int64 line_number = sqlite3_column_int64(row, 3);
    struct stack_line line;

    if (frame < 1 || frame > stacks->frame_count || stacks->line_count == UINT32_MAX)
        return damaged(load, "a symbol's frame is not there");
    if (!string_column(stacks, row, 1, &line.function) ||
        !string_column(stacks, row, 2, &line.file))
        return damaged(load, "a symbol's name is not there");
    line.line = line_number > 0 && line_number <= UINT32_MAX ? (uint32_t)line_number : 0;
    if (!stacks_grow(&stacks->lines, &load->capacity, (size_t)stacks->line_count + 1,
                     sizeof *stacks->lines))
        return SQLITE_NOMEM;
    stacks->lines[stacks->line_count++] = line;
    stacks->first_lines[frame + 1] = stacks->line_count;
    return SQLITE_OK;
}

static int load_symbols(struct load *load)
{
    struct stacks *stacks = load->stacks;
    size_t count = (size_t)stacks->frame_count + 2;
    int code;

    stacks->first_lines = sqlite3_malloc64(count * sizeof(uint32_t));
    if (!stacks->first_lines)
        return SQLITE_NOMEM;
    memset(stacks->first_lines, 0, count * sizeof(uint32_t));
    code = each_row(load,
                    "SELECT frame_id, function, file, line FROM main.symbol "
                    "ORDER BY frame_id, inline_depth",
                    take_symbol);
    /* Frames without symbols begin where the one before them ended.  */
    for (size_t i = 1; i < count; i++)
        if (stacks->first_lines[i] < stacks->first_lines[i - 1])
            stacks->first_lines[i] = stacks->first_lines[i - 1];
    return code;
}

/* Every call site has a frame that is there.  */
static int check_frames(struct load *load)
{
    const struct stacks *stacks = load->stacks;

    for (uint32_t i = 1; i <= stacks->callsite_count; i++)
        if (stacks->frames[i] > stacks->frame_count)
            return damaged(load, "a call site's frame is not there");
    return SQLITE_OK;
}

int stacks_load_names(sqlite3 *db, struct stacks *stacks, char **error)
{
    struct load load = { .db = db, .stacks = stacks, .error = error };
    size_t nothing;
    int code;

    *error = NULL;
    if (stacks->named)
        return SQLITE_OK;
    code = pool_add(&load, "", "", 0, "", &nothing); /* place 0 is the empty text */
    if (code == SQLITE_OK)
        code = each_row(&load, "SELECT id, text FROM main.string ORDER BY id", take_string);
    if (code == SQLITE_OK)
        code = each_row(&load, "SELECT id, name, build_id FROM main.module ORDER BY id",
                        take_module);
    if (code == SQLITE_OK)
        code = each_row(&load, "SELECT id, module_id FROM main.frame ORDER BY id", take_frame);
    if (code == SQLITE_OK)
        code = load_symbols(&load);
    if (code == SQLITE_OK)
        code = check_frames(&load);
    stacks->named = code == SQLITE_OK;
    if (code != SQLITE_OK)
        forget_names(stacks);
    return code;
}

/* ---- Asking ---- */

const char *stacks_text(const struct stacks *stacks, uint32_t string)
{
    return string ? stacks->pool + stacks->strings[string] : "";
}

uint32_t stacks_function_count(const struct stacks *stacks, uint32_t frame)
{
    uint32_t count = stacks->first_lines[frame + 1] - stacks->first_lines[frame];

    return count ? count : 1;
}

static const struct stack_line *line_at(const struct stacks *stacks, uint32_t frame, uint32_t index)
{
    uint32_t first = stacks->first_lines[frame];

    return index < stacks->first_lines[frame + 1] - first ? &stacks->lines[first + index] : NULL;
}

const char *stacks_function(const struct stacks *stacks, uint32_t frame, uint32_t index)
{
    const struct stack_line *line = line_at(stacks, frame, index);
    const char *name = line ? stacks_text(stacks, line->function) : "";
    uint32_t module = stacks->modules[frame];

    if (*name)
        return name;
    return module ? stacks->pool + stacks->module_labels[module] : "[unknown]";
}

const char *stacks_file(const struct stacks *stacks, uint32_t frame, uint32_t index)
{
    const struct stack_line *line = line_at(stacks, frame, index);

    return line ? stacks_text(stacks, line->file) : "";
}

uint32_t stacks_line(const struct stacks *stacks, uint32_t frame, uint32_t index)
{
    const struct stack_line *line = line_at(stacks, frame, index);

    return line ? line->line : 0;
}

const char *stacks_module(const struct stacks *stacks, uint32_t frame)
{
    uint32_t module = stacks->modules[frame];

    return module ? stacks->pool + stacks->module_names[module] : "";
}
