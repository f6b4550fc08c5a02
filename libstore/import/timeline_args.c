/* Arguments, objects and log messages as rows.  */
#include "libstore/import/import_timeline.h"

/* ---- Arguments ---- */

/* string.id of an argument's name.  Names repeat with every event: an array is faster than another
 * look at their bytes.  */
static int64_t key_of(struct store_import *import, profile_id name)
{
    struct store_timeline *timeline = import->timeline;
    const char *bytes;
    size_t length;

    while (timeline->key_count <= name) {
        if (!base_make_room(&timeline->keys, &timeline->key_capacity, timeline->key_count + 1,
                            sizeof *timeline->keys)) {
            (void)store_import_fail(import, STORE_NO_MEMORY, "out of memory");
            return 0;
        }
        timeline->keys[timeline->key_count++] = 0;
    }
    if (timeline->keys[name] == 0) {
        bytes = profile_stacks_text(import->stacks, name, &length);
        timeline->keys[name] = store_import_string(import, bytes, length);
    }
    return timeline->keys[name];
}

/* NaN, which SQLite has not, is NULL like the values of null and of unknown types.  */
static bool put_value(struct store_import *import, struct store_cell *cell,
                      const struct fxt_arg *arg)
{
    switch (arg->type) {
    case FXT_ARG_INT32:
        store_int(cell, arg->value.int32);
        return true;
    case FXT_ARG_UINT32:
        store_int(cell, arg->value.uint32);
        return true;
    case FXT_ARG_INT64:
        store_int(cell, arg->value.int64);
        return true;
    case FXT_ARG_UINT64:
    case FXT_ARG_POINTER:
    case FXT_ARG_KOID:
        store_unsigned(cell, arg->value.uint64);
        return true;
    case FXT_ARG_DOUBLE:
        store_real(cell, arg->value.number);
        return true;
    case FXT_ARG_BOOL:
        store_int(cell, arg->value.boolean);
        return true;
    case FXT_ARG_STRING:
        return store_writer_text(import->writer, STORE_ARG, cell, arg->value.string.bytes,
                                 arg->value.string.length);
    case FXT_ARG_BLOB:
        return store_writer_blob(import->writer, STORE_ARG, cell, arg->value.blob.bytes,
                                 (size_t)arg->value.blob.length);
    case FXT_ARG_NULL:
    case FXT_ARG_UNKNOWN:
        break;
    }
    return true;
}

static enum profile_status take_args(void *context, const struct profile_args *args)
{
    struct store_import *import = context;
    int64_t set = store_timeline_args(import, args->set);

    for (size_t i = 0; i < args->count; i++) {
        int64_t key = key_of(import, args->names[i]);
        struct store_cell *cells = key ? store_writer_row(import->writer, STORE_ARG, NULL) : NULL;

        if (!cells)
            return PROFILE_STOPPED;
        store_int(&cells[0], set);
        store_int(&cells[1], (int64_t)i);
        store_int(&cells[2], key);
        store_int(&cells[3], (int64_t)args->args[i].type);
        if (!put_value(import, &cells[4], &args->args[i]))
            return PROFILE_STOPPED;
    }
    return PROFILE_OK;
}

/* ---- Objects and logs ---- */

static enum profile_status take_object(void *context, const struct profile_object *object)
{
    struct store_import *import = context;
    struct store_cell *cells = store_writer_row(import->writer, STORE_OBJECT, NULL);

    if (!cells ||
        !store_writer_text(import->writer, STORE_OBJECT, &cells[2],
                           object->userspace ? "user" : "kernel", object->userspace ? 4 : 6))
        return PROFILE_STOPPED;
    store_int(&cells[1], import->capture_id);
    if (!object->userspace)
        store_int(&cells[3], object->type);
    store_unsigned(&cells[4], object->userspace ? object->pointer : object->koid);
    store_id(&cells[5], store_import_upid(import, object->process_id));
    store_id(&cells[7], store_timeline_args(import, object->args));
    return store_import_sink_status(
        store_timeline_text(import, STORE_OBJECT, &cells[6], object->name));
}

static enum profile_status take_log(void *context, const struct profile_log *log)
{
    struct store_import *import = context;
    struct store_cell *cells = store_writer_row(import->writer, STORE_LOG, NULL);

    if (!cells)
        return PROFILE_STOPPED;
    store_int(&cells[1], log->ts_ns);
    store_int(&cells[2], store_import_utid(import, log->thread_id));
    import->counts.events++;
    return store_import_sink_status(store_writer_text(import->writer, STORE_LOG, &cells[3],
                                                      log->message.bytes, log->message.length));
}

void store_timeline_args_sink(struct profile_sink *sink)
{
    sink->args = take_args;
    sink->object = take_object;
    sink->log = take_log;
}
