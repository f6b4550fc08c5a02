#include "cmd/cli/region_modules.h"

#include <fxt/markup.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define PREFIX "modules-"
#define SUFFIX ".markup"

/* A number below 2^32 at *next, which moves behind it.  */
static bool take_number(const char **next, uint64_t *number)
{
    char *end;

    if (**next < '0' || **next > '9')
        return false;
    errno = 0;
    *number = strtoull(*next, &end, 10);
    *next = end;
    return errno == 0 && *number <= UINT32_MAX;
}

bool cli_modules_is(const char *path, uint64_t *process)
{
    const char *next = base_name(path);
    uint64_t pid, incarnation = 0;

    if (strncmp(next, PREFIX, strlen(PREFIX)) != 0)
        return false;
    next += strlen(PREFIX);
    if (!take_number(&next, &pid))
        return false;
    if (*next == '.' && next[1] >= '0' && next[1] <= '9') {
        next++;
        if (!take_number(&next, &incarnation))
            return false;
    }
    *process = pid | incarnation << 32;
    return strcmp(next, SUFFIX) == 0 && incarnation >> 31 == 0;
}

enum cli_exit cli_modules_open(struct cli_modules *modules, const char *path)
{
    *modules = (struct cli_modules){ .path = path };
    modules->provider.ticks_per_second = 1000000000;
    modules->provider.name.bytes = "";
    if (!cli_modules_is(path, &modules->process)) {
        cli_error("%s: the file name does not give the process; it must be modules-PID.markup",
                  path);
        return CLI_USAGE;
    }
    modules->file = fopen(path, "re");
    if (!modules->file) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    return CLI_OK;
}

static struct fxt_string text_of(struct sym_markup_text text)
{
    return (struct fxt_string){ .bytes = text.length ? text.bytes : "",
                                .length = (uint32_t)text.length };
}

static void start_record(struct cli_modules *modules, enum fxt_record_kind kind)
{
    modules->record = (struct fxt_record){ .kind = kind,
                                           .has_thread = true,
                                           .provider = &modules->provider,
                                           .thread.process = modules->process,
                                           .category.bytes = "",
                                           .name.bytes = "" };
}

static bool make_module(struct cli_modules *modules, const struct sym_markup_node *node,
                        uint8_t *build_id)
{
    struct fxt_record *record = &modules->record;

    if (node->id > UINT16_MAX || node->name.length > UINT32_MAX)
        return false;
    start_record(modules, FXT_RECORD_MODULE);
    record->name = text_of(node->name);
    record->value.module.id = (uint16_t)node->id;
    memcpy(build_id, node->build_id, sizeof node->build_id);
    record->value.module.build_id = (struct fxt_bytes){ .bytes = build_id,
                                                        .length = node->build_id_length };
    return true;
}

static unsigned flags_of(struct sym_markup_text access)
{
    unsigned flags = 0;

    for (size_t i = 0; i < access.length; i++)
        flags |= access.bytes[i] == 'x' || access.bytes[i] == 'X'   ? 1
                 : access.bytes[i] == 'w' || access.bytes[i] == 'W' ? 2
                                                                    : 4;
    return flags;
}

static bool make_mapping(struct cli_modules *modules, const struct sym_markup_node *node)
{
    struct fxt_record *record = &modules->record;

    if (node->id > UINT16_MAX)
        return false;
    start_record(modules, FXT_RECORD_MAPPING);
    record->value.mapping.module_id = (uint16_t)node->id;
    record->value.mapping.flags = flags_of(node->access);
    record->value.mapping.start = node->address;
    record->value.mapping.length = node->size_bytes;
    record->value.mapping.vaddr = node->vaddr;
    return true;
}

/* Whether node became the record.  Text and elements of other kinds do not.  */
static bool make_record(struct cli_modules *modules, const struct sym_markup_node *node)
{
    static uint8_t build_id[sizeof node->build_id];
    bool made = false;

    if (node->kind == SYM_MARKUP_MODULE)
        made = make_module(modules, node, build_id);
    else if (node->kind == SYM_MARKUP_MMAP)
        made = make_mapping(modules, node);
    else if (node->kind != SYM_MARKUP_MALFORMED)
        return false;
    modules->ignored += !made;
    return made;
}

bool cli_modules_next(struct cli_modules *modules, const struct fxt_record **record)
{
    for (;;) {
        struct sym_markup_cursor cursor = { .next = modules->rest, .left = modules->left };
        struct sym_markup_node node;
        ssize_t length;

        while (cursor.left > 0 && sym_markup_next(&cursor, &node)) {
            modules->rest = cursor.next;
            modules->left = cursor.left;
            if (make_record(modules, &node)) {
                *record = &modules->record;
                return true;
            }
        }
        length = getline(&modules->line, &modules->capacity, modules->file);
        if (length < 0) {
            modules->failed = feof(modules->file) ? 0 : errno;
            return false;
        }
        modules->rest = modules->line;
        modules->left = (size_t)length;
    }
}

enum cli_exit cli_modules_close(struct cli_modules *modules)
{
    if (modules->file)
        (void)fclose(modules->file);
    free(modules->line);
    if (modules->failed) {
        cli_error("%s: %s", modules->path, strerror(modules->failed));
        return CLI_ENVIRONMENT;
    }
    if (modules->ignored == 0)
        return CLI_OK;
    cli_warning("%s: left out: %s malformed or have an ID above 65,535", modules->path,
                cli_counted(modules->ignored, "element that is", "elements that are"));
    return CLI_DAMAGED;
}
