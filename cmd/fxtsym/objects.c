/* The objects that were asked about.  */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cli/cli_bounds.h"
#include "cmd/fxtsym/fxtsym.h"

enum { BUILD_ID_MAX = 64 }; /* bytes */

static _Noreturn void fail(const struct sym_error *error)
{
    cli_error("%s", error->message);
    exit(error->status == SYM_INVALID ? CLI_USAGE : CLI_ENVIRONMENT);
}

void objects_open(struct objects *objects, struct cli_symbols *symbols)
{
    const struct cli_texts none = { .items = NULL };
    enum cli_exit status;

    *objects = (struct objects){ .symbols = symbols, .status = CLI_OK };
    status = cli_symbols_open(symbols, &objects->session);
    if (status != CLI_OK)
        exit((int)status);
    cli_bounds_begin(&none); /* which opening symbols lifts: here they are the input */
}

void objects_close(struct objects *objects)
{
    base_index_release(&objects->by_name);
    base_map_release(&objects->by_module);
    for (size_t i = 0; i < objects->count; i++) {
        free(objects->items[i]->name);
        free(objects->items[i]->problem);
        free(objects->items[i]);
    }
    free(objects->items);
    cli_symbols_close(objects->symbols);
}

void objects_reopen(struct objects *objects)
{
    enum cli_exit status = objects->status;
    struct cli_symbols *symbols = objects->symbols;

    objects_close(objects);
    objects_open(objects, symbols);
    objects->status = status;
}

#define NONE4  16, 16, 16, 16
#define NONE16 NONE4, NONE4, NONE4, NONE4
#define A_TO_F 10, 11, 12, 13, 14, 15

/* Read for every digit of a million addresses.  */
const uint8_t digit_values[256] = {
    NONE16, NONE16, NONE16, /* 0x00 to 0x2f */
    0,      1,      2,      3,      4,      5,      6,      7,      8, 9, 16, 16, NONE4, /* '0' */
    16,     A_TO_F, 16,     NONE4,  NONE4,  NONE16,                                      /* 'A' */
    16,     A_TO_F, 16,     NONE4,  NONE4,  NONE16,                                      /* 'a' */
    NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, NONE16, /* 0x80 to 0xff */
};

bool parse_build_id(const char *text, size_t text_length, uint8_t *id, size_t capacity,
                    size_t *length)
{
    if (text_length == 0 || text_length % 2 || text_length / 2 > capacity)
        return false;
    for (size_t i = 0; i < text_length; i += 2) {
        int high = digit_of(text[i]), low = digit_of(text[i + 1]);

        if (high > 15 || low > 15)
            return false;
        id[i / 2] = (uint8_t)(high << 4 | low);
    }
    *length = text_length / 2;
    return true;
}

/* Whether there is something at path that is no folder; errno tells why not.  */
static bool is_file(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return false;
    errno = EISDIR;
    return !S_ISDIR(info.st_mode);
}

/* Debug files are found, or fetched, that the command line does not name; they are the input, too.
 */
static void hold_bounds(const struct sym_report *report)
{
    struct cli_texts inputs = { .items = NULL };

    if (report->code_path[0])
        cli_texts_add(&inputs, report->code_path);
    if (report->debug_path[0] && strcmp(report->debug_path, report->code_path) != 0)
        cli_texts_add(&inputs, report->debug_path);
    cli_bounds_begin(&inputs);
    free(inputs.items);
}

/* Finds the first object with the same module.  */
static void note_module(struct objects *objects, struct object *object)
{
    uint64_t module = (uint64_t)(uintptr_t)object->module;
    const uint64_t *first = base_map_find(&objects->by_module, module);

    object->first = first ? (uint32_t)*first : object->index;
    if (!first && !base_map_set(&objects->by_module, module, object->index))
        cli_out_of_memory();
}

/* A path in brackets ("[kernel]") is no file's: kallsyms may name it.  */
static void find_module(struct objects *objects, struct object *object, const char *path,
                        const char *build_id)
{
    uint8_t id[BUILD_ID_MAX];
    struct sym_module_key key = { .path = path, .build_id = id };
    struct sym_error error;

    if (build_id &&
        !parse_build_id(build_id, strlen(build_id), id, sizeof id, &key.build_id_length)) {
        if (objects->llvm_messages)
            cli_error("--build-id=: expected a build ID, but got '%s'", build_id);
        else
            cli_error("'%s' is not a build ID: an even number of hex digits, at most %d", build_id,
                      2 * BUILD_ID_MAX);
        objects->lacks_file = true;
        objects->status = cli_worse(objects->status, CLI_USAGE);
        return;
    }
    if (path && path[0] != '[' && !build_id && !is_file(path)) {
        object->problem = cli_join(strerror(errno), "");
        cli_error(objects->llvm_messages ? "error: '%s': %s" : "%s: %s", path, object->problem);
        objects->lacks_file = true;
        objects->status = cli_worse(objects->status, CLI_ENVIRONMENT);
        return;
    }
    if (sym_session_module(objects->session, &key, &object->module, &error) != SYM_OK)
        fail(&error);
    note_module(objects, object);
    const struct sym_report *report = sym_module_report(object->module);
    hold_bounds(report);
    object->narrow = report->is_32_bit;
}

static uint64_t hash_name(const char *name)
{
    return base_hash_bytes(name, strlen(name));
}

static struct object *find_name(const struct objects *objects, const char *name)
{
    uint64_t hash = hash_name(name);
    size_t probe;

    for (uint32_t id = base_index_first(&objects->by_name, hash, &probe); id;
         id = base_index_next(&objects->by_name, hash, &probe))
        if (strcmp(objects->items[id - 1]->name, name) == 0)
            return objects->items[id - 1];
    return NULL;
}

static char *name_of(const char *path, const char *build_id)
{
    char *name, *both;

    if (!build_id)
        return cli_join(path, "");
    name = cli_join("build ID ", build_id);
    if (!path)
        return name;
    both = cli_join(path, ", ");
    path = both;
    both = cli_join(both, name);
    free(name);
    free((char *)path);
    return both;
}

static struct object *add_object(struct objects *objects, char *name)
{
    struct object *object = cli_allocate(1, sizeof *object);

    objects->items = cli_grow(objects->items, &objects->capacity, objects->count + 1,
                              sizeof(struct object *));
    *object = (struct object){ .name = name, .index = (uint32_t)objects->count };
    objects->items[objects->count++] = object;
    if (!base_index_reserve(&objects->by_name))
        cli_out_of_memory();
    base_index_add(&objects->by_name, hash_name(name), (uint32_t)objects->count);
    return object;
}

const char *object_asked(const struct object *object)
{
    static const char mark[] = "build ID "; /* as name_of() begins */

    return object->name + (object->has_path ? 0 : strlen(mark));
}

const char *object_problem(const struct object *object)
{
    if (object->problem || !object->module)
        return object->problem ? object->problem : "not a build ID";
    const struct sym_report *report = sym_module_report(object->module);
    bool found = report->code_path[0] || report->debug_path[0];
    return found || !report->problem[0] ? NULL : report->problem;
}

uint32_t objects_find(struct objects *objects, const char *path, const char *build_id)
{
    struct object *object = objects->last;

    if (object && path && !build_id && strcmp(object->name, path) == 0)
        return object->index;
    char *name = name_of(path, build_id);
    object = find_name(objects, name);
    if (object) {
        free(name);
    } else {
        object = add_object(objects, name);
        object->has_path = path != NULL;
        find_module(objects, object, path, build_id);
    }
    objects->last = object;
    return object->index;
}

/* A problem about another file begins with that file's name, one about a build ID alone names
 * it.  */
void objects_report(struct objects *objects, uint32_t index)
{
    struct object *object = objects->items[index];

    if (object->reported || !object->module)
        return;
    object->reported = true;
    const struct sym_report *report = sym_module_report(object->module);
    if (report->unread[0])
        cli_warning("%s: %s", object->name, report->unread);
    if (!report->problem[0])
        return;
    const char *before = report->problem[0] == '/' || !object->has_path ? "" : object->name;
    const char *colon = before[0] ? ": " : "";
    const char *semicolon = report->remedy[0] ? "; " : "";
    if (!report->code_path[0] && !report->debug_path[0]) {
        cli_error("%s%s%s%s%s", before, colon, report->problem, semicolon, report->remedy);
        objects->status = cli_worse(objects->status, CLI_ENVIRONMENT);
    } else {
        cli_warning("%s%s%s%s%s", before, colon, report->problem, semicolon, report->remedy);
    }
}
