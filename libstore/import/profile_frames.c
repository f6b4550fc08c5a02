/* Texts, modules, frames and call sites of imported profiles.  Unlike those of traces, frames are
 * told apart by their lines too: two programs may call the code at one address by two names, and
 * what a profile says is kept.  */
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "libstore/import/import_profiles.h"
#include "libstore/store_text.h"

#define BUILD_ID_BYTES 64

static bool out_of_memory(struct profiles *profiles)
{
    return store_import_fail(profiles->import, STORE_NO_MEMORY, "out of memory");
}

/* Things are numbered as they are met: number is that of the last, or of an earlier one.  */
static bool set_id(struct profiles *profiles, struct profile_numbers *numbers, uint32_t number,
                   int64_t id)
{
    if (number <= numbers->count)
        return true;
    if (!base_make_room(&numbers->items, &numbers->capacity, numbers->count + 1,
                        sizeof *numbers->items))
        return out_of_memory(profiles);
    numbers->items[numbers->count++] = id;
    return true;
}

/* ---- Texts ---- */

uint32_t store_profiles_word(struct profiles *profiles, const char *bytes, size_t length)
{
    uint32_t word = base_texts_add(&profiles->words, bytes, length, NULL);

    if (!word) {
        (void)out_of_memory(profiles);
        return 0;
    }
    return set_id(profiles, &profiles->strings, word, 0) ? word : 0;
}

static bool write_bytes(struct profiles *profiles, int64_t string, const char *bytes, size_t length)
{
    struct store_writer *writer = profiles->import->writer;
    struct store_cell *cells = store_writer_row(writer, STORE_STRING_BYTES, NULL);

    if (!cells)
        return false;
    store_int(&cells[0], string);
    return store_writer_bytes(writer, STORE_STRING_BYTES, &cells[1], bytes, length);
}

int64_t store_profiles_string(struct profiles *profiles, uint32_t word)
{
    struct store_writer *writer = profiles->import->writer;
    int64_t *id = &profiles->strings.items[word - 1];
    struct store_cell *cells;
    const char *bytes;
    size_t length;

    if (*id)
        return *id;
    bytes = base_texts_get(&profiles->words, word, &length);
    cells = store_writer_row(writer, STORE_STRING, id);
    if (!cells || !store_writer_text(writer, STORE_STRING, &cells[1], bytes, length) ||
        (!store_profiles_is_text(bytes, length) && !write_bytes(profiles, *id, bytes, length)))
        return 0;
    return *id;
}

/* ---- Modules ---- */

struct module_key {
    uint8_t build_id[BUILD_ID_BYTES];
    uint32_t build_id_length;
    uint32_t name; /* word */
};

static bool write_module(struct profiles *profiles, const struct module_key *key, int64_t *id)
{
    struct store_writer *writer = profiles->import->writer;
    struct store_cell *cells = store_writer_row(writer, STORE_MODULE, id);
    char hex[2 * BUILD_ID_BYTES];
    size_t length;
    const char *name = base_texts_get(&profiles->words, key->name, &length);

    if (!cells || !store_writer_text(writer, STORE_MODULE, &cells[1], name, length))
        return false;
    length = base_hex(hex, key->build_id, key->build_id_length);
    return length == 0 || store_writer_text(writer, STORE_MODULE, &cells[2], hex, length);
}

uint32_t store_profiles_module(struct profiles *profiles, const char *name, size_t name_length,
                               const char *build_id, size_t build_id_length)
{
    struct module_key key = { .name = store_profiles_word(profiles, name, name_length) };
    uint32_t number;
    int64_t id = 0;
    bool is_new;

    if (!key.name)
        return 0;
    /* Go has texts of its own there.  */
    key.build_id_length = (uint32_t)base_unhex(build_id, build_id_length, key.build_id,
                                               sizeof key.build_id);
    if (key.build_id_length < BUILD_ID_BYTES) /* half of an odd text may stand there */
        memset(key.build_id + key.build_id_length, 0, BUILD_ID_BYTES - key.build_id_length);
    number = base_texts_add(&profiles->module_keys, (const char *)&key, sizeof key, &is_new);
    if (!number) {
        (void)out_of_memory(profiles);
        return 0;
    }
    if (is_new && !write_module(profiles, &key, &id))
        return 0;
    return set_id(profiles, &profiles->modules, number, id) ? number : 0;
}

/* ---- Frames ---- */

/* What a frame's key begins with; its lines follow.  */
struct frame_key {
    uint64_t address;
    uint32_t module;
    uint32_t kind;
};

enum { BY_NAME, BY_VADDR, BY_FILE_OFFSET };

static bool write_line(struct profiles *profiles, int64_t frame, size_t depth,
                       const struct store_profile_line *line)
{
    int64_t function = line->function ? store_profiles_string(profiles, line->function) : 0;
    int64_t system_name = line->system_name ? store_profiles_string(profiles, line->system_name)
                                            : 0;
    int64_t file = line->file ? store_profiles_string(profiles, line->file) : 0;
    const struct import_symbol symbol = { frame, (int64_t)depth, function,     system_name,
                                          file,  line->line,     line->column, line->start_line };

    return function && (system_name || !line->system_name) && (file || !line->file) &&
           store_import_write_symbol(profiles->import, &symbol);
}

static bool write_frame(struct profiles *profiles, const struct store_profile_frame *frame,
                        int64_t *id)
{
    struct store_cell *cells = store_writer_row(profiles->import->writer, STORE_FRAME, id);

    if (!cells)
        return false;
    store_id(&cells[1], store_profiles_module_id(profiles, frame->module));
    if (frame->has_vaddr)
        store_unsigned(&cells[2], frame->vaddr);
    else if (frame->has_file_offset)
        store_unsigned(&cells[3], frame->file_offset);
    for (size_t i = 0; i < frame->line_count; i++)
        if (!write_line(profiles, *id, i, &frame->lines[i]))
            return false;
    return true;
}

/* A line as part of a key: members only, not what lies between them.  */
enum { LINE_WORDS = 6 };
static void put_line(char *key, const struct store_profile_line *line)
{
    const int64_t words[LINE_WORDS] = { line->function, line->system_name, line->file,
                                        line->line,     line->column,      line->start_line };

    memcpy(key, words, sizeof words);
}

/* The number of a frame, given if need be.  */
static uint32_t number_frame(struct profiles *profiles, const struct store_profile_frame *frame,
                             bool *is_new)
{
    struct frame_key head = { .address = frame->has_vaddr         ? frame->vaddr
                                         : frame->has_file_offset ? frame->file_offset
                                                                  : 0,
                              .module = frame->module,
                              .kind = frame->has_vaddr         ? BY_VADDR
                                      : frame->has_file_offset ? BY_FILE_OFFSET
                                                               : BY_NAME };
    const size_t line_size = LINE_WORDS * sizeof(int64_t);
    size_t lines = frame->line_count * line_size;
    char small[512],
        *key = lines <= sizeof small - sizeof head ? small : malloc(sizeof head + lines);
    uint32_t number = 0;

    if (key) {
        memcpy(key, &head, sizeof head);
        for (size_t i = 0; i < frame->line_count; i++)
            put_line(key + sizeof head + i * line_size, &frame->lines[i]);
        number = base_texts_add(&profiles->frame_keys, key, sizeof head + lines, is_new);
    }
    if (!number)
        (void)out_of_memory(profiles);
    if (key != small)
        free(key);
    return number;
}

uint32_t store_profiles_frame(struct profiles *profiles, const struct store_profile_frame *frame)
{
    int64_t id = 0;
    bool is_new;
    uint32_t number = number_frame(profiles, frame, &is_new);

    if (!number || (is_new && !write_frame(profiles, frame, &id)))
        return 0;
    return set_id(profiles, &profiles->frames, number, id) ? number : 0;
}

/* ---- Call sites ---- */

static uint32_t number_callsite(struct profiles *profiles, uint32_t parent, uint32_t frame,
                                bool *is_new)
{
    uint32_t number = base_pairs_add(&profiles->callsite_keys, parent, frame, is_new);

    if (!number ||
        !base_make_room(&profiles->depths, &profiles->depth_capacity, number, sizeof(uint32_t))) {
        (void)out_of_memory(profiles);
        return 0;
    }
    if (*is_new)
        profiles->depths[number - 1] = parent ? profiles->depths[parent - 1] + 1 : 0;
    return number;
}

uint32_t store_profiles_callsite(struct profiles *profiles, uint32_t parent, uint32_t frame)
{
    struct store_cell *cells;
    int64_t id = 0;
    bool is_new;
    uint32_t number = number_callsite(profiles, parent, frame, &is_new);

    if (!number || !is_new)
        return number;
    cells = store_writer_row(profiles->import->writer, STORE_CALLSITE, &id);
    if (!cells)
        return 0;
    store_id(&cells[1], parent ? profiles->callsites.items[parent - 1] : 0);
    store_int(&cells[2], store_profiles_frame_id(profiles, frame));
    store_int(&cells[3], profiles->depths[number - 1]);
    profiles->result->callsites++;
    return set_id(profiles, &profiles->callsites, number, id) ? number : 0;
}

/* ---- What the store has ---- */

/* Numbers of what is loaded, by the store's ids.  */
struct loaded {
    uint32_t *items;
    size_t count, capacity;
};

struct load {
    struct profiles *profiles;
    struct loaded strings, modules, frames, callsites;
    /* The frame whose lines are being read.  */
    int64_t frame_id;
    struct store_profile_frame frame;
    struct store_profile_line *lines;
    size_t line_capacity;
};

static bool corrupt(struct load *load)
{
    return store_import_fail(load->profiles->import, STORE_CORRUPT,
                             "the store is corrupt: its ids have gaps");
}

/* Ids have no gaps, so a row's place is its id.  */
static bool add_loaded(struct load *load, struct loaded *loaded, int64_t id, uint32_t number)
{
    if (id != (int64_t)loaded->count + 1)
        return corrupt(load);
    if (!base_make_room(&loaded->items, &loaded->capacity, loaded->count + 1,
                        sizeof *loaded->items))
        return out_of_memory(load->profiles);
    loaded->items[loaded->count++] = number;
    return true;
}

/* The number of what a row refers to; 0 for NULL.  */
static bool find_loaded(struct load *load, const struct loaded *loaded, sqlite3_stmt *row,
                        int column, uint32_t *out)
{
    int64_t id = sqlite3_column_int64(row, column);

    *out = 0;
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return true;
    if (id < 1 || (uint64_t)id > loaded->count)
        return corrupt(load);
    *out = loaded->items[id - 1];
    return true;
}

/* The bytes of a column; blobs and texts alike.  */
static const char *column_bytes(sqlite3_stmt *row, int column, size_t *length)
{
    const char *bytes = sqlite3_column_blob(row, column);

    *length = (size_t)sqlite3_column_bytes(row, column);
    return bytes ? bytes : "";
}

static bool load_string(struct load *load, sqlite3_stmt *row)
{
    size_t length;
    const char *bytes = column_bytes(row, 1, &length);
    struct profiles *profiles = load->profiles;
    uint32_t word = store_profiles_word(profiles, bytes, length);

    if (word && profiles->strings.items[word - 1] == 0)
        profiles->strings.items[word - 1] = sqlite3_column_int64(row, 0);
    return word && add_loaded(load, &load->strings, sqlite3_column_int64(row, 0), word);
}

static bool load_module(struct load *load, sqlite3_stmt *row)
{
    struct profiles *profiles = load->profiles;
    struct module_key key = { .name = 0 };
    size_t length, id_length;
    const char *name = column_bytes(row, 1, &length);
    const char *build_id = column_bytes(row, 2, &id_length);
    uint32_t number;

    key.name = store_profiles_word(profiles, name, length);
    if (!key.name)
        return false;
    key.build_id_length = (uint32_t)base_unhex(build_id, id_length, key.build_id,
                                               sizeof key.build_id);
    if (key.build_id_length < BUILD_ID_BYTES)
        memset(key.build_id + key.build_id_length, 0, BUILD_ID_BYTES - key.build_id_length);
    number = base_texts_add(&profiles->module_keys, (const char *)&key, sizeof key, NULL);
    if (!number)
        return out_of_memory(profiles);
    return set_id(profiles, &profiles->modules, number, sqlite3_column_int64(row, 0)) &&
           add_loaded(load, &load->modules, sqlite3_column_int64(row, 0), number);
}

/* All lines of a frame are there.  */
static bool end_frame(struct load *load)
{
    struct profiles *profiles = load->profiles;
    uint32_t number;
    bool is_new;

    if (load->frame_id == 0)
        return true;
    load->frame.lines = load->lines;
    number = number_frame(profiles, &load->frame, &is_new);
    return number && set_id(profiles, &profiles->frames, number, load->frame_id) &&
           add_loaded(load, &load->frames, load->frame_id, number);
}

static bool begin_frame(struct load *load, sqlite3_stmt *row)
{
    if (!end_frame(load))
        return false;
    load->frame_id = sqlite3_column_int64(row, 0);
    load->frame = (struct store_profile_frame){
        .has_vaddr = sqlite3_column_type(row, 2) != SQLITE_NULL,
        .vaddr = (uint64_t)sqlite3_column_int64(row, 2),
        .has_file_offset = sqlite3_column_type(row, 3) != SQLITE_NULL,
        .file_offset = (uint64_t)sqlite3_column_int64(row, 3),
    };
    return find_loaded(load, &load->modules, row, 1, &load->frame.module);
}

/* A frame, or another line of the last.  */
static bool load_frame(struct load *load, sqlite3_stmt *row)
{
    struct store_profile_line *line;

    if (sqlite3_column_int64(row, 0) != load->frame_id && !begin_frame(load, row))
        return false;
    if (sqlite3_column_type(row, 4) == SQLITE_NULL)
        return true;
    if (!base_make_room(&load->lines, &load->line_capacity, load->frame.line_count + 1,
                        sizeof *load->lines))
        return out_of_memory(load->profiles);
    line = &load->lines[load->frame.line_count++];
    *line = (struct store_profile_line){ .line = sqlite3_column_int64(row, 7),
                                         .column = sqlite3_column_int64(row, 8),
                                         .start_line = sqlite3_column_int64(row, 9) };
    return find_loaded(load, &load->strings, row, 4, &line->function) &&
           find_loaded(load, &load->strings, row, 5, &line->system_name) &&
           find_loaded(load, &load->strings, row, 6, &line->file);
}

static bool load_callsite(struct load *load, sqlite3_stmt *row)
{
    struct profiles *profiles = load->profiles;
    int64_t id = sqlite3_column_int64(row, 0);
    uint32_t parent, frame, number;
    bool is_new;

    if (!find_loaded(load, &load->callsites, row, 1, &parent) ||
        !find_loaded(load, &load->frames, row, 2, &frame))
        return false;
    number = number_callsite(profiles, parent, frame, &is_new);
    return number && set_id(profiles, &profiles->callsites, number, id) &&
           add_loaded(load, &load->callsites, id, number);
}

static bool load_rows(struct load *load, const char *sql,
                      bool (*each)(struct load *load, sqlite3_stmt *row))
{
    struct store_import *import = load->profiles->import;
    struct store_error error;
    sqlite3_stmt *row = NULL;
    bool ok = true;
    int code = sqlite3_prepare_v2(import->store->db, sql, -1, &row, NULL);

    if (code == SQLITE_OK)
        while ((code = sqlite3_step(row)) == SQLITE_ROW && (ok = each(load, row)))
            ;
    (void)sqlite3_finalize(row);
    if (!ok || code == SQLITE_DONE)
        return ok;
    return store_import_fail(import, store_fail_sqlite(&error, import->store->db, code),
                             error.message);
}

bool store_profiles_load(struct profiles *profiles)
{
    struct load load = { .profiles = profiles };
    bool ok =
        load_rows(&load,
                  "SELECT s.id, coalesce(b.bytes, s.text) FROM main.string AS s "
                  "LEFT JOIN main.string_bytes AS b ON b.string_id = s.id ORDER BY s.id",
                  load_string) &&
        load_rows(&load, "SELECT id, name, build_id FROM main.module ORDER BY id", load_module) &&
        load_rows(&load,
                  "SELECT f.id, f.module_id, f.vaddr, f.file_offset, s.function, s.system_name, "
                  "s.file, s.line, s.\"column\", s.start_line FROM main.frame AS f "
                  "LEFT JOIN main.symbol AS s ON s.frame_id = f.id AND s.quality = 5 "
                  "ORDER BY f.id, s.inline_depth",
                  load_frame) &&
        end_frame(&load) &&
        load_rows(&load, "SELECT id, parent_id, frame_id FROM main.callsite ORDER BY id",
                  load_callsite);

    free(load.strings.items);
    free(load.modules.items);
    free(load.frames.items);
    free(load.callsites.items);
    free(load.lines);
    return ok;
}

void store_profiles_frames_release(struct profiles *profiles)
{
    base_texts_release(&profiles->words);
    base_texts_release(&profiles->module_keys);
    base_texts_release(&profiles->frame_keys);
    base_pairs_release(&profiles->callsite_keys);
    free(profiles->strings.items);
    free(profiles->modules.items);
    free(profiles->frames.items);
    free(profiles->callsites.items);
    free(profiles->depths);
}
