/* Events that samples were taken by: their sample types.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_types.h>
#include "libstore/import/import.h"
#include "libstore/store_text.h"

/* Names that mean samples of another kind: those of CPU time and of the heap, and their counts.  */
static bool is_taken(const char *name, const char *unit)
{
    const struct profile_known_type *known = profile_known_type_find(name, unit);

    return known && (known->kind == PROFILE_CPU || known->kind == PROFILE_HEAP ||
                     known->kind == PROFILE_HEAP_FREE);
}

/* Text of a trace as the store has it, from malloc(); NULL: no memory.  */
static char *clean(const struct fxt_string *text, const char *prefix)
{
    size_t start = strlen(prefix);
    char *copy = malloc(start + 3 * (size_t)text->length + 1);

    if (!copy)
        return NULL;
    memcpy(copy, prefix, start);
    copy[start + store_utf8_clean(text->bytes, text->length, copy + start)] = '\0';
    return copy;
}

/* sample_type.id of a row that the store has; 0: it has none.  */
static bool find_stored(struct store_import *import, const char *name, const char *unit,
                        int64_t *out)
{
    sqlite3 *db = import->store->db;
    sqlite3_stmt *row = NULL;
    struct store_error error;
    int code = sqlite3_prepare_v2(
        db, "SELECT id FROM main.sample_type WHERE type = ?1 AND unit = ?2", -1, &row, NULL);

    *out = 0;
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(row, 1, name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(row, 2, unit, -1, SQLITE_STATIC);
    if (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW)
        *out = sqlite3_column_int64(row, 0);
    (void)sqlite3_finalize(row);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return true;
    return store_import_fail(import, store_fail_sqlite(&error, db, code), error.message);
}

static bool write_type(struct store_import *import, const char *name, const char *unit,
                       int64_t *out)
{
    struct store_cell *cells = store_writer_row(import->writer, STORE_SAMPLE_TYPE, out);

    return cells &&
           store_writer_text(import->writer, STORE_SAMPLE_TYPE, &cells[1], name, strlen(name)) &&
           store_writer_text(import->writer, STORE_SAMPLE_TYPE, &cells[2], unit, strlen(unit));
}

/* The event's place among those of the capture, at which it is added; SIZE_MAX: failed.  */
static size_t add_event(struct store_import *import, const char *name, const char *unit)
{
    struct import_events *events = &import->events;
    struct import_event event = {
        .name = base_texts_add(&import->names, name, strlen(name), NULL),
        .unit = base_texts_add(&import->names, unit, strlen(unit), NULL),
    };
    struct store_cell *cells;

    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].name == event.name && events->items[i].unit == event.unit)
            return i;
    if (!event.name || !event.unit ||
        !base_make_room(&events->items, &events->capacity, events->count + 1, sizeof event)) {
        (void)store_import_fail(import, STORE_NO_MEMORY, "out of memory");
        return SIZE_MAX;
    }
    if (!find_stored(import, name, unit, &event.sample_type_id) ||
        (event.sample_type_id == 0 && !write_type(import, name, unit, &event.sample_type_id)))
        return SIZE_MAX;
    cells = store_writer_row(import->writer, STORE_SAMPLE_EVENT, NULL);
    if (!cells)
        return SIZE_MAX;
    store_int(&cells[0], import->capture_id);
    store_int(&cells[1], (int64_t)events->count);
    store_int(&cells[2], event.sample_type_id);
    events->items[events->count] = event;
    return events->count++;
}

static bool take(struct store_import *import, const struct profile_event *event)
{
    static const struct fxt_string count = { .bytes = "count", .length = 5 };
    struct import_events *events = &import->events;
    char *unit = clean(event->unit.length ? &event->unit : &count, "");
    char *name = clean(&event->name, "");
    size_t place = SIZE_MAX;

    if (name && unit && is_taken(name, unit)) {
        free(name);
        name = clean(&event->name, "event:");
    }
    if (!name || !unit ||
        !base_make_room(&events->places, &events->place_capacity, events->place_count + 1,
                        sizeof *events->places))
        (void)store_import_fail(import, STORE_NO_MEMORY, "out of memory");
    else
        place = add_event(import, name, unit);
    free(name);
    free(unit);
    if (place == SIZE_MAX)
        return false;
    events->places[events->place_count++] = (uint32_t)place;
    return true;
}

/* Ids of events count from 1, in the order in which they are told.  */
static enum profile_status take_event(void *context, const struct profile_event *event)
{
    return store_import_sink_status(take(context, event));
}

void store_import_events_sink(struct profile_sink *sink)
{
    sink->event = take_event;
}

void store_import_events_release(struct store_import *import)
{
    for (size_t i = 0; i < import->events.count; i++)
        store_sums_release(&import->events.items[i].sums);
    free(import->events.items);
    free(import->events.places);
}
