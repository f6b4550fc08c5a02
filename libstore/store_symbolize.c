/* Better names for the frames a store has.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/symbolize.h>
#include "base/grow.h"
#include "base/numbering.h"
#include "libstore/store_internal.h"

#define QUALITY_LINES 4 /* of symbol.quality: nothing better can be found */

struct module {
    char *name, *build_id;
    size_t first, count; /* in frames */
};

struct frame {
    uint64_t vaddr; /* or file offset */
    int64_t id;
    uint32_t module;
    uint8_t quality; /* 0: no symbols */
    uint8_t had;
    bool is_offset; /* of a pprof profile, which knows where code is in its file */
};

struct symbolizer {
    struct store *store;
    struct sym_session *session;
    struct store_error *error;
    enum store_status status;

    struct module *modules;
    size_t module_count, module_capacity;
    struct frame *frames; /* by module, then address */
    size_t frame_count, frame_capacity;

    struct base_texts texts; /* of string */
    int64_t *text_ids;       /* string.id of a text; 0: not written yet */
    size_t text_id_count, text_id_capacity;
    int64_t next_string;

    sqlite3_stmt *add_string, *clear, *add_symbol;

    /* The module at hand.  */
    struct frame *batch;
    uint64_t improved;
};

static bool stop(struct symbolizer *work, int code)
{
    work->status = store_fail_sqlite(work->error, work->store->db, code);
    return false;
}

static bool out_of_memory(struct symbolizer *work)
{
    work->status = store_no_memory(work->error);
    return false;
}

static sqlite3_stmt *prepare(struct symbolizer *work, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(work->store->db, sql, -1, &statement, NULL);

    if (code != SQLITE_OK)
        (void)stop(work, code);
    return statement;
}

/* Step a statement that gives no rows, and make it ready again.  */
static bool run(struct symbolizer *work, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    (void)sqlite3_reset(statement);
    return code == SQLITE_DONE || stop(work, code);
}

/* ---- What the store has ---- */

static bool load_module(struct symbolizer *work, sqlite3_stmt *row)
{
    struct module *module;

    if (sqlite3_column_int64(row, 0) != (int64_t)work->module_count + 1) {
        work->status = store_fail(work->error, STORE_CORRUPT,
                                  "the store is corrupt: module %lld is out of place",
                                  (long long)sqlite3_column_int64(row, 0));
        return false;
    }
    if (!base_make_room(&work->modules, &work->module_capacity, work->module_count + 1,
                        sizeof *module))
        return out_of_memory(work);
    module = &work->modules[work->module_count++];
    *module = (struct module){ .name = store_copy_column(row, 1),
                               .build_id = store_copy_column(row, 2) };
    return (module->name && module->build_id) || out_of_memory(work);
}

static bool load_frame(struct symbolizer *work, sqlite3_stmt *row)
{
    int64_t module = sqlite3_column_int64(row, 1);
    struct frame *frame;

    if (module < 1 || (uint64_t)module > work->module_count) {
        work->status = store_fail(work->error, STORE_CORRUPT,
                                  "the store is corrupt: a frame is in module %lld, which is not "
                                  "there",
                                  (long long)module);
        return false;
    }
    if (!base_make_room(&work->frames, &work->frame_capacity, work->frame_count + 1, sizeof *frame))
        return out_of_memory(work);
    frame = &work->frames[work->frame_count++];
    *frame = (struct frame){ .id = sqlite3_column_int64(row, 0),
                             .module = (uint32_t)module,
                             .vaddr = (uint64_t)sqlite3_column_int64(row, 2),
                             .quality = (uint8_t)sqlite3_column_int(row, 3),
                             .is_offset = sqlite3_column_int(row, 4) != 0 };
    frame->had = sqlite3_column_int(row, 5) != 0;
    return true;
}

/* Texts that the store has are not written again.  */
static bool load_text(struct symbolizer *work, sqlite3_stmt *row)
{
    const char *text = (const char *)sqlite3_column_text(row, 1);
    bool is_new;

    if (!text || !base_texts_add(&work->texts, text, (size_t)sqlite3_column_bytes(row, 1), &is_new))
        return out_of_memory(work);
    if (!is_new)
        return true;
    if (!base_make_room(&work->text_ids, &work->text_id_capacity, work->text_id_count + 1,
                        sizeof *work->text_ids))
        return out_of_memory(work);
    work->text_ids[work->text_id_count++] = sqlite3_column_int64(row, 0);
    return true;
}

static bool load(struct symbolizer *work, const char *sql,
                 bool (*take)(struct symbolizer *, sqlite3_stmt *))
{
    sqlite3_stmt *row = prepare(work, sql);
    int code = SQLITE_DONE;

    if (!row)
        return false;
    while (work->status == STORE_OK && (code = sqlite3_step(row)) == SQLITE_ROW)
        (void)take(work, row);
    (void)sqlite3_finalize(row);
    if (work->status == STORE_OK && code != SQLITE_DONE)
        (void)stop(work, code);
    return work->status == STORE_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static bool load_all(struct symbolizer *work)
{
    if (!load(work, "SELECT id, name, build_id FROM main.module ORDER BY id", load_module) ||
        !load(work,
              "SELECT f.id, f.module_id, coalesce(f.vaddr, f.file_offset), coalesce(s.quality, 0), "
              "f.vaddr IS NULL, s.frame_id IS NOT NULL FROM main.frame AS f "
              "LEFT JOIN main.symbol AS s ON s.frame_id = f.id AND s.inline_depth = 0 "
              "WHERE f.module_id IS NOT NULL AND coalesce(f.vaddr, f.file_offset) IS NOT NULL",
              load_frame) ||
        !load(work, "SELECT id, text FROM main.string ORDER BY id", load_text))
        return false;
    if (store_number(work->store, "SELECT coalesce(max(id), 0) + 1 FROM main.string",
                     &work->next_string, work->error) != STORE_OK) {
        work->status = work->error ? work->error->status : STORE_IO;
        return false;
    }
    if (work->frame_count > 0)
        qsort(work->frames, work->frame_count, sizeof *work->frames, by_place);
    for (size_t i = work->frame_count; i-- > 0;) {
        struct module *module = &work->modules[work->frames[i].module - 1];

        module->first = i;
        module->count++;
    }
    return true;
}

/* ---- What is found ---- */

/* string.id of a text, written if need be; 0 for "" and when writing failed.  */
static int64_t string_id(struct symbolizer *work, const char *text)
{
    uint32_t number;
    bool is_new;

    if (!text[0] || work->status != STORE_OK)
        return 0;
    number = base_texts_add(&work->texts, text, strlen(text), &is_new);
    if (!number)
        return out_of_memory(work);
    if (!is_new)
        return work->text_ids[number - 1];
    if (!base_make_room(&work->text_ids, &work->text_id_capacity, work->text_id_count + 1,
                        sizeof *work->text_ids))
        return out_of_memory(work);
    work->text_ids[work->text_id_count++] = work->next_string;
    (void)sqlite3_bind_int64(work->add_string, 1, work->next_string);
    (void)sqlite3_bind_text(work->add_string, 2, text, -1, SQLITE_STATIC);
    if (!run(work, work->add_string))
        return 0;
    return work->next_string++;
}

static void bind_or_null(sqlite3_stmt *statement, int place, int64_t number)
{
    if (number)
        (void)sqlite3_bind_int64(statement, place, number);
    else
        (void)sqlite3_bind_null(statement, place);
}

static bool add_symbol(struct symbolizer *work, const struct frame *frame, size_t depth,
                       const struct sym_frame *line)
{
    sqlite3_stmt *row = work->add_symbol;
    const char *linkage = line->linkage_name;

    (void)sqlite3_bind_int64(row, 1, frame->id);
    (void)sqlite3_bind_int64(row, 2, (int64_t)depth);
    (void)sqlite3_bind_int64(row, 3, string_id(work, line->function[0] ? line->function : "??"));
    bind_or_null(row, 4, strcmp(linkage, line->function) == 0 ? 0 : string_id(work, linkage));
    bind_or_null(row, 5, string_id(work, line->file));
    bind_or_null(row, 6, line->line);
    bind_or_null(row, 7, line->column);
    bind_or_null(row, 8, line->start_line);
    (void)sqlite3_bind_int64(row, 9, frame->quality);
    return work->status == STORE_OK && run(work, row);
}

/* Lines make the difference; without any, the table that the name came from.  0: the bounds of a
 * function, which has no name.  */
static uint8_t quality_of(const struct sym_frame *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (lines[i].line)
            return QUALITY_LINES;
    return (uint8_t)(lines[count - 1].source < SYM_QUALITY_DWARF ? lines[count - 1].source
                                                                 : SYM_QUALITY_SYMTAB);
}

static bool take_answer(void *context, size_t index, const struct sym_frame *lines, size_t count)
{
    struct symbolizer *work = context;
    struct frame *frame = &work->batch[index];
    uint8_t quality;

    if (work->store->interrupted) {
        work->status = store_fail(work->error, STORE_STOPPED, "interrupted");
        return false;
    }
    if (count == 0 || !lines[count - 1].function[0]) /* padding: a line, but no function */
        return true;
    quality = quality_of(lines, count);
    if (quality <= frame->quality && (quality || frame->had))
        return true;
    frame->quality = quality;
    work->improved += quality > 0;
    (void)sqlite3_bind_int64(work->clear, 1, frame->id);
    if (frame->had && !run(work, work->clear))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!add_symbol(work, frame, i, &lines[i]))
            return false;
    return true;
}

/* Frames whose symbols could be better, to the front.  Returns how many.  Where only the offset in
 * the file is known, the file itself must be there: its segments say what address that is.  */
static size_t choose_poor(const struct sym_module *found, struct frame *frames, size_t count,
                          uint64_t *vaddrs)
{
    size_t chosen = 0;

    for (size_t i = 0; i < count; i++) {
        struct frame frame = frames[i];

        uint64_t vaddr = frame.vaddr;

        if (frame.quality >= QUALITY_LINES ||
            (frame.is_offset && sym_module_vaddr(found, frame.vaddr, &vaddr) != SYM_OK))
            continue;
        frames[i] = frames[chosen];
        frames[chosen] = frame;
        vaddrs[chosen++] = vaddr;
    }
    return chosen;
}

/* *count is set to how many addresses were looked up.  */
static bool resolve(struct symbolizer *work, struct sym_module *found, struct module *module,
                    size_t *count)
{
    struct sym_error sym_error = { .status = SYM_OK };
    uint64_t *vaddrs = calloc(module->count + 1, sizeof *vaddrs);
    enum sym_status status;

    if (!vaddrs)
        return out_of_memory(work);
    work->batch = &work->frames[module->first];
    *count = choose_poor(found, work->batch, module->count, vaddrs);
    status = sym_module_resolve(found, vaddrs, *count, take_answer, work, &sym_error);
    free(vaddrs);
    if (status == SYM_NO_MEMORY)
        return out_of_memory(work);
    return work->status == STORE_OK;
}

/* Executes sql for the module's number and, unless it is NULL, text.  */
static bool change_meta(struct symbolizer *work, const struct module *module, const char *sql,
                        const char *text)
{
    sqlite3_stmt *row = prepare(work, sql);

    if (!row)
        return false;
    (void)sqlite3_bind_int64(row, 1, module - work->modules + 1);
    if (text)
        (void)sqlite3_bind_text(row, 2, text, -1, SQLITE_STATIC);
    bool done = run(work, row);
    (void)sqlite3_finalize(row);
    return done;
}

/* Keep both sentences for store_coverage().  Names that libdwarf read stay in the store, and so
 * does that sentence.  The sentence about unread units is dropped when a lookup of count addresses,
 * at least 1, uses debug information without such damage.  */
static bool keep_damage(struct symbolizer *work, const struct module *module,
                        struct sym_module *found, size_t count)
{
    const struct sym_report *report = sym_module_report(found);

    if (report->fallback_units &&
        !change_meta(work, module,
                     "INSERT OR REPLACE INTO main.meta (capture_id, key, value) "
                     "VALUES (0, 'libdwarf.' || ?1, ?2)",
                     report->fallback))
        return false;
    if (report->unread_units)
        return change_meta(work, module,
                           "INSERT OR REPLACE INTO main.meta (capture_id, key, value) "
                           "VALUES (0, 'unread.' || ?1, ?2)",
                           report->unread);
    return count == 0 || report->quality != SYM_QUALITY_DWARF ||
           change_meta(work, module,
                       "DELETE FROM main.meta WHERE capture_id = 0 AND key = 'unread.' || ?1",
                       NULL);
}

static bool report_module(struct symbolizer *work, const struct module *module,
                          struct sym_module *found, store_module_fn visit, void *context)
{
    struct store_module_symbols report = {
        .module_id = module - work->modules + 1,
        .name = module->name,
        .build_id = module->build_id,
        .frames = module->count,
        .improved = work->improved,
        .report = sym_module_report(found),
    };

    for (size_t i = 0; i < module->count; i++)
        report.full += work->frames[module->first + i].quality >= QUALITY_LINES;
    if (!visit || visit(context, &report))
        return true;
    work->status = store_fail(work->error, STORE_STOPPED, "stopped");
    return false;
}

static bool symbolize_module(struct symbolizer *work, struct module *module, store_module_fn visit,
                             void *context)
{
    uint8_t id[64];
    struct sym_module_key key = { .build_id = id,
                                  .build_id_length = store_parse_build_id(module->build_id, id,
                                                                          sizeof id),
                                  .name = module->name[0] ? module->name : NULL };
    struct sym_error sym_error;
    struct sym_module *found;
    enum sym_status status;
    size_t count;

    if (module->name[0] == '/' || module->name[0] == '[')
        key.path = module->name;
    if (!key.path && key.build_id_length == 0) /* "./x" would be any file x */
        return true;
    work->improved = 0;
    status = sym_session_module(work->session, &key, &found, &sym_error);
    if (status == SYM_NO_MEMORY) {
        work->status = store_fail(work->error, STORE_NO_MEMORY, "%s", sym_error.message);
        return false;
    }
    if (status != SYM_OK)
        return true;
    return resolve(work, found, module, &count) && keep_damage(work, module, found, count) &&
           report_module(work, module, found, visit, context);
}

/* ---- The whole ---- */

static bool symbolize_all(struct symbolizer *work, store_module_fn visit, void *context)
{
    if (!load_all(work))
        return false;
    work->add_string = prepare(work, "INSERT INTO main.string (id, text) VALUES (?, ?)");
    work->clear = prepare(work, "DELETE FROM main.symbol WHERE frame_id = ?");
    work->add_symbol = prepare(work, "INSERT INTO main.symbol (frame_id, inline_depth, function, "
                                     "system_name, file, line, \"column\", start_line, quality) "
                                     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; i < work->module_count && work->status == STORE_OK; i++)
        if (work->modules[i].count > 0)
            (void)symbolize_module(work, &work->modules[i], visit, context);
    return work->status == STORE_OK;
}

static void release(struct symbolizer *work)
{
    (void)sqlite3_finalize(work->add_string);
    (void)sqlite3_finalize(work->clear);
    (void)sqlite3_finalize(work->add_symbol);
    for (size_t i = 0; i < work->module_count; i++) {
        free(work->modules[i].name);
        free(work->modules[i].build_id);
    }
    free(work->modules);
    free(work->frames);
    base_texts_release(&work->texts);
    free(work->text_ids);
}

enum store_status store_symbolize(struct store *store, struct sym_session *session,
                                  store_module_fn visit, void *context, struct store_error *error)
{
    struct store_error own_error = { .status = STORE_OK };
    struct symbolizer work = { .store = store,
                               .session = session,
                               .error = error ? error : &own_error };
    enum store_status status;

    if (store->mode != STORE_APPEND || store->importing)
        return store_fail(error, STORE_INVALID, "the store is not open for writing");
    /* A new store has no journal; from here on it needs one to go back by.  */
    status = store->is_new ? store_run(store, "PRAGMA journal_mode = TRUNCATE", work.error)
                           : STORE_OK;
    if (status == STORE_OK)
        status = store_run(store, store->is_new ? "BEGIN" : "BEGIN IMMEDIATE", work.error);
    if (status != STORE_OK)
        return status;
    (void)symbolize_all(&work, visit, context);
    release(&work);
    if (work.status == STORE_OK)
        work.status = store_run(store, "COMMIT", work.error);
    if (work.status != STORE_OK)
        (void)store_run(store, "ROLLBACK", NULL);
    return work.status;
}
