/* Processes, threads, mappings, and the texts that rows stand for by numbers.  */
#include <stdlib.h>

#include "libstore/import/import.h"

/* ---- Texts ---- */

bool store_import_name(struct store_import *import, const struct fxt_string *text, uint32_t *out)
{
    *out = 0;
    if (text->length == 0)
        return true;
    *out = base_texts_add(&import->names, text->bytes, text->length, NULL);
    return *out != 0 || store_import_fail(import, STORE_NO_MEMORY, "out of memory");
}

bool store_import_put_name(struct store_import *import, enum store_table table,
                           struct store_cell *cell, uint32_t name)
{
    size_t length;
    const char *bytes;

    if (name == 0)
        return true;
    bytes = base_texts_get(&import->names, name, &length);
    return store_writer_text(import->writer, table, cell, bytes, length);
}

int64_t store_import_string(struct store_import *import, const char *bytes, size_t length)
{
    bool is_new;
    uint32_t number = base_texts_add(&import->strings, bytes, length, &is_new);
    struct store_cell *cells;

    if (number == 0) {
        (void)store_import_fail(import, STORE_NO_MEMORY, "out of memory");
        return 0;
    }
    if (is_new) {
        cells = store_writer_row(import->writer, STORE_STRING, NULL);
        if (!cells || !store_writer_text(import->writer, STORE_STRING, &cells[1], bytes, length))
            return 0;
    }
    return import->first_string + number - 1;
}

/* ---- Processes and threads ---- */

/* Ids come from 1 without gaps; false when memory is short.  */
static bool remember_koid(struct store_import *import, uint64_t koid, uint32_t process)
{
    uint32_t number = base_pairs_add(&import->process_koids, koid, 0, NULL);

    if (number == 0 || !base_make_room(&import->koid_processes, &import->koid_capacity, number,
                                       sizeof *import->koid_processes))
        return false;
    import->koid_processes[number - 1] = process;
    return true;
}

int64_t store_import_upid_of_koid(struct store_import *import, uint64_t koid)
{
    uint32_t number = base_pairs_find(&import->process_koids, koid, 0);

    return number ? store_import_upid(import, import->koid_processes[number - 1]) : 0;
}

static enum profile_status take_process(void *context, const struct profile_process *process)
{
    struct store_import *import = context;
    struct import_process *entry;

    while (import->process_count < process->id) {
        if (!base_make_room(&import->processes, &import->process_capacity,
                            import->process_count + 1, sizeof *import->processes))
            return store_import_sink_status(
                store_import_fail(import, STORE_NO_MEMORY, "out of memory"));
        import->processes[import->process_count++] = (struct import_process){ .koid = 0 };
    }
    entry = &import->processes[process->id - 1];
    entry->koid = process->koid;
    if (!remember_koid(import, process->koid, process->id))
        return store_import_sink_status(
            store_import_fail(import, STORE_NO_MEMORY, "out of memory"));
    return store_import_sink_status(store_import_name(import, &process->name, &entry->name));
}

static enum profile_status take_thread(void *context, const struct profile_thread *thread)
{
    struct store_import *import = context;
    struct import_thread *entry;

    while (import->thread_count < thread->id) {
        if (!base_make_room(&import->threads, &import->thread_capacity, import->thread_count + 1,
                            sizeof *import->threads))
            return store_import_sink_status(
                store_import_fail(import, STORE_NO_MEMORY, "out of memory"));
        import->threads[import->thread_count++] = (struct import_thread){ .koid = 0 };
    }
    entry = &import->threads[thread->id - 1];
    entry->koid = thread->koid;
    entry->process = thread->process_id;
    return store_import_sink_status(store_import_name(import, &thread->name, &entry->name));
}

static enum profile_status take_mapping(void *context, const struct profile_mapping *mapping)
{
    struct store_import *import = context;
    struct store_cell *cells;

    if (!store_import_write_modules(import))
        return PROFILE_STOPPED;
    cells = store_writer_row(import->writer, STORE_MAPPING, NULL);
    if (!cells)
        return PROFILE_STOPPED;
    store_int(&cells[1], store_import_upid_of_koid(import, mapping->process_koid));
    store_int(&cells[2], store_import_module(import, mapping->module));
    if (mapping->has_time)
        store_int(&cells[3], mapping->ts_ns);
    store_unsigned(&cells[4], mapping->start);
    store_unsigned(&cells[5], mapping->limit - mapping->start);
    store_unsigned(&cells[6], mapping->vaddr);
    store_int(&cells[7], mapping->flags);
    return PROFILE_OK;
}

void store_import_entities_sink(struct profile_sink *sink)
{
    sink->process = take_process;
    sink->thread = take_thread;
    sink->mapping = take_mapping;
}

/* ---- The end ---- */

bool store_import_write_entities(struct store_import *import)
{
    struct store_cell *cells;

    for (size_t i = 0; i < import->process_count; i++) {
        cells = store_writer_row(import->writer, STORE_PROCESS, NULL);
        if (!cells)
            return false;
        store_int(&cells[1], import->capture_id);
        store_unsigned(&cells[2], import->processes[i].koid);
        if (!store_import_put_name(import, STORE_PROCESS, &cells[3], import->processes[i].name))
            return false;
    }
    for (size_t i = 0; i < import->thread_count; i++) {
        cells = store_writer_row(import->writer, STORE_THREAD, NULL);
        if (!cells)
            return false;
        store_int(&cells[1], store_import_upid(import, import->threads[i].process));
        store_unsigned(&cells[2], import->threads[i].koid);
        if (!store_import_put_name(import, STORE_THREAD, &cells[3], import->threads[i].name))
            return false;
    }
    return true;
}

void store_import_entities_release(struct store_import *import)
{
    base_texts_release(&import->names);
    base_texts_release(&import->strings);
    base_pairs_release(&import->process_koids);
    free(import->koid_processes);
    free(import->processes);
    free(import->threads);
}
