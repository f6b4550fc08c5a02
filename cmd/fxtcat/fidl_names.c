#include "cmd/fxtcat/fidl_names.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fcntl.h>

#include "base/grow.h"
#include "base/json_read.h"

#define MOST_METHODS 1000000u
#define MOST_TEXT    ((size_t)256 << 20)
#define MOST_NAME    255u /* bytes of an identifier of FIDL */

/* A method, or a protocol, while it is read.  */
struct declared {
    bool has_ordinal;
    uint64_t ordinal;
    const char *name; /* NULL: none */
};

struct ir {
    struct base_json_reader json;
    struct fidl_names *names;
    bool out_of_memory;
};

struct file {
    int fd, cause; /* why it cannot be read, or 0 */
};

static ssize_t fill(void *context, void *bytes, size_t size)
{
    struct file *file = context;
    ssize_t length;

    do
        length = read(file->fd, bytes, size);
    while (length < 0 && errno == EINTR);
    if (length < 0)
        file->cause = errno;
    return length;
}

static bool is_key(const struct ir *ir, const char *key)
{
    return strcmp(ir->json.text, key) == 0 && ir->json.length == strlen(key);
}

/* A name that can be shown as it is, or NULL.  */
static const char *take_name(struct ir *ir, enum base_json_token token)
{
    const struct base_json_reader *json = &ir->json;
    char *name;

    if (token != BASE_JSON_STRING || json->length == 0 || json->length > MOST_NAME)
        return NULL;
    for (size_t i = 0; i < json->length; i++)
        if (json->text[i] <= ' ' || json->text[i] > '~')
            return NULL;
    name = base_arena_text(&ir->names->texts, json->text, json->length);
    ir->out_of_memory |= name == NULL;
    return name;
}

static void take_ordinal(const struct ir *ir, enum base_json_token token, struct declared *method)
{
    const char *text = ir->json.text;
    char *end;

    if (token != BASE_JSON_NUMBER || text[0] == '-' || ir->json.length > 20)
        return;
    errno = 0;
    method->ordinal = strtoull(text, &end, 10);
    method->has_ordinal = errno == 0 && *end == '\0' && method->ordinal != 0;
}

static void add_method(struct ir *ir, const struct declared *method)
{
    struct fidl_names *names = ir->names;
    const struct fidl_method *known;

    if (!method->has_ordinal || !method->name) {
        names->left_out++;
        return;
    }
    known = fidl_names_find(names, method->ordinal);
    if (known) { /* a protocol that others compose is in several files */
        names->conflicts += strcmp(known->name, method->name) != 0;
        return;
    }
    if (names->count == MOST_METHODS || !base_make_room(&names->methods, &names->capacity,
                                                        names->count + 1, sizeof *names->methods)) {
        ir->out_of_memory = true;
        return;
    }
    cli_map_set(&names->by_ordinal, method->ordinal, names->count);
    names->methods[names->count++] = (struct fidl_method){ method->name, "" };
}

/* ---- Reading: each is called after the opening token of what it reads ---- */

static void read_method(struct ir *ir)
{
    struct declared method = { 0 };
    enum base_json_token token;

    while ((token = base_json_next(&ir->json)) == BASE_JSON_KEY) {
        bool is_name = is_key(ir, "name"), is_ordinal = is_key(ir, "ordinal");

        token = base_json_next(&ir->json);
        if (is_name)
            method.name = take_name(ir, token);
        else if (is_ordinal)
            take_ordinal(ir, token, &method);
        if (!base_json_skip(&ir->json, token))
            return;
    }
    if (token == BASE_JSON_OBJECT_END)
        add_method(ir, &method);
}

static void read_all(struct ir *ir, void (*read_one)(struct ir *ir))
{
    enum base_json_token token;

    while ((token = base_json_next(&ir->json)) != BASE_JSON_ARRAY_END && !ir->out_of_memory)
        if (token == BASE_JSON_OBJECT)
            read_one(ir);
        else if (!base_json_skip(&ir->json, token))
            return;
}

/* An array of objects, or something else, which is passed by.  */
static void read_array(struct ir *ir, enum base_json_token token, void (*read_one)(struct ir *ir))
{
    if (token == BASE_JSON_ARRAY)
        read_all(ir, read_one);
    else
        (void)base_json_skip(&ir->json, token);
}

static void read_protocol(struct ir *ir)
{
    size_t first = ir->names->count;
    const char *name = NULL;

    while (base_json_next(&ir->json) == BASE_JSON_KEY) {
        bool is_name = is_key(ir, "name"), is_methods = is_key(ir, "methods");
        enum base_json_token token = base_json_next(&ir->json);

        if (is_name)
            name = take_name(ir, token);
        if (is_methods)
            read_array(ir, token, read_method);
        else if (!base_json_skip(&ir->json, token))
            return;
    }
    for (size_t i = first; name && i < ir->names->count; i++)
        ir->names->methods[i].protocol = name;
}

static void read_library(struct ir *ir)
{
    enum base_json_token token = base_json_next(&ir->json);

    if (token != BASE_JSON_OBJECT) {
        (void)base_json_skip(&ir->json, token);
    } else {
        while (base_json_next(&ir->json) == BASE_JSON_KEY) {
            bool is_protocols = is_key(ir, "protocol_declarations") ||
                                is_key(ir, "interface_declarations"); /* in older ones */

            token = base_json_next(&ir->json);
            if (is_protocols)
                read_array(ir, token, read_protocol);
            else if (!base_json_skip(&ir->json, token))
                break;
        }
    }
    (void)base_json_next(&ir->json); /* nothing follows */
}

static enum cli_exit read_file(struct fidl_names *names, const char *path)
{
    struct ir *ir = cli_allocate(1, sizeof *ir);
    struct file file = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
    enum cli_exit status = CLI_OK;

    if (file.fd < 0) {
        cli_error("%s: %s", path, strerror(errno));
        free(ir);
        return CLI_ENVIRONMENT;
    }
    ir->names = names;
    base_json_init(&ir->json, fill, &file);
    read_library(ir);
    names->files++;
    if (ir->out_of_memory) {
        cli_error("%s: out of memory, or more than %s methods or %zu MiB of names in the FIDL IR; "
                  "give fewer files to --ir",
                  path, cli_grouped(MOST_METHODS), MOST_TEXT >> 20);
        status = CLI_ENVIRONMENT;
    } else if (file.cause != 0) {
        cli_error("%s: %s", path, strerror(file.cause));
        status = CLI_ENVIRONMENT;
    } else if (ir->json.problem) {
        cli_error("%s: not the JSON of FIDL IR: %s (at offset %s)", path, ir->json.problem,
                  cli_grouped(ir->json.offset));
        status = CLI_DAMAGED;
    }
    (void)close(file.fd);
    free(ir);
    return status;
}

/* ---- Folders ---- */

static bool is_json(const FTSENT *entry)
{
    size_t length = entry->fts_namelen;

    return entry->fts_info == FTS_F && length > 5 &&
           strcmp(entry->fts_name + length - 5, ".json") == 0;
}

/* The order in which files are read decides which name holds.  */
static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

enum cli_exit fidl_names_read(struct fidl_names *names, const char *path)
{
    char *paths[] = { (char *)path, NULL };
    FTS *folder = fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    enum cli_exit status = CLI_OK;
    FTSENT *entry;

    names->texts.limit = MOST_TEXT;
    if (!folder) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    while ((entry = fts_read(folder)) != NULL && status != CLI_ENVIRONMENT) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
            cli_error("%s: %s", entry->fts_path, strerror(entry->fts_errno));
            status = CLI_ENVIRONMENT;
        } else if (is_json(entry) || (entry->fts_level == 0 && entry->fts_info != FTS_D &&
                                      entry->fts_info != FTS_DP)) {
            status = cli_worse(status, read_file(names, entry->fts_path));
        }
    }
    (void)fts_close(folder);
    return status;
}

const struct fidl_method *fidl_names_find(const struct fidl_names *names, uint64_t ordinal)
{
    const uint64_t *index = base_map_find(&names->by_ordinal, ordinal);

    return index ? &names->methods[*index] : NULL;
}

void fidl_names_release(struct fidl_names *names)
{
    free(names->methods);
    base_map_release(&names->by_ordinal);
    base_arena_release(&names->texts);
}
