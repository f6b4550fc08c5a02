/* companions.c - files that hold part of a module's debug information: split units (.dwo), packages
 * of them (.dwp), and supplements that several modules share (section 4).  */
#include "base/file.h"
#include "libsymbolize/sym_session.h"
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A search for one file.  */
struct quest {
    struct sym_module *module;
    enum sym_object_kind kind;
    enum sym_trail_place place;
    sym_fits_fn fits;
    void *context;
    bool is_package;          /* that is looked for: it may have any name */
    struct sym_object *found; /* NULL while none is */
    const char *problem;      /* interned: the first file that was there and is not used, and why */
};

/* ---- Candidates ---- */

static enum sym_status refuse(struct quest *quest, const char *path, const char *reason)
{
    struct sym_strings *strings = &quest->module->strings;
    char *text = sym_format("%s: %s", path, reason);
    enum sym_status status = sym_trail_add(quest->module, quest->place, SYM_OUTCOME_REFUSED,
                                           SYM_QUALITY_NONE, path, reason);

    if (text && !quest->problem)
        quest->problem = sym_strings_intern(strings, text, strlen(text));
    base_free(text);
    return status || !quest->problem ? SYM_NO_MEMORY : SYM_OK;
}

/* Takes object, the file at path, if it fits.  */
static enum sym_status judge(struct quest *quest, const char *path, struct sym_object *object)
{
    const char *misfit = quest->fits ? quest->fits(quest->context, object) : NULL;

    if (misfit) {
        enum sym_status status = refuse(quest, path, misfit);

        sym_object_free(object);
        return status;
    }
    quest->found = object;
    return sym_trail_add(quest->module, quest->place, SYM_OUTCOME_USED, SYM_QUALITY_DWARF, path,
                         "");
}

static enum sym_status open_object(const struct quest *quest, const char *path,
                                   struct sym_object **out, struct sym_error *error)
{
    enum sym_status status = sym_object_open(path, quest->kind, out, error);

    status = sym_module_opened(quest->module, status, path, error);
    if (!status)
        (*out)->no_limit = quest->module->session->no_limit;
    return status;
}

/* Looks at the file at path; a visitor of paths.  */
static enum sym_status try_path(void *context, const char *path)
{
    struct quest *quest = context;
    struct sym_object *object = NULL;
    struct sym_error error = { .status = SYM_OK };

    if (quest->found)
        return SYM_OK;
    enum sym_status status = open_object(quest, path, &object, &error);
    if (status == SYM_NO_MEMORY)
        return status;
    if (status == SYM_NOT_FOUND)
        return SYM_OK;
    if (!object) {
        size_t skip = strlen(path) + 2;
        return refuse(quest, path,
                      strlen(error.message) > skip ? error.message + skip : error.message);
    }
    return judge(quest, path, object);
}

/* Takes path.  */
static enum sym_status try_taken(struct quest *quest, char *path)
{
    enum sym_status status = path ? try_path(quest, path) : SYM_NO_MEMORY;

    base_free(path);
    return status;
}

/* directory/name, or name alone when it is absolute.  */
static enum sym_status try_below(struct quest *quest, const char *directory, const char *name)
{
    if (name[0] == '/')
        return try_path(quest, name);
    return try_taken(quest, sym_format("%s/%s", directory, name));
}

/* The directory that object's file is really in; the caller frees it.  NULL: no such file any more,
 * or no memory.  */
static char *directory_of(const struct sym_object *object)
{
    char *real = realpath(object->path, NULL), *slash;

    if (!real)
        return NULL;
    slash = strrchr(real, '/');
    if (slash && slash != real)
        *slash = '\0';
    return real;
}

/* name, then its last part, in the directories of the module's files.  */
static enum sym_status try_beside(struct quest *quest, const char *name)
{
    const struct sym_object *files[] = { quest->module->debug, quest->module->code };
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < 2 && !status; i++) {
        if (!files[i] || (i == 1 && files[1] == files[0]))
            continue;
        char *directory = directory_of(files[i]);
        if (!directory)
            continue;
        status = try_below(quest, directory, name);
        if (!status && base_name(name) != name)
            status = try_below(quest, directory, base_name(name));
        base_free(directory);
    }
    return status;
}

/* A file that the user named: a package, or one of the name that is looked for.  Others are no
 * candidates, and not refused.  */
static enum sym_status try_named_split(struct quest *quest, const char *path, const char *name)
{
    struct sym_object *object = NULL;
    struct sym_bytes index;

    if (strcmp(base_name(path), base_name(name)) == 0)
        return try_path(quest, path);
    if (!quest->is_package || quest->found)
        return SYM_OK;
    enum sym_status status = open_object(quest, path, &object, NULL);
    if (!status)
        status = sym_object_section(object, SYM_SECTION_CU_INDEX, &index, NULL);
    if (!status && index.size)
        return judge(quest, path, object);
    sym_object_free(object);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* Files that the user named, and the last part of name in directories.  */
static enum sym_status try_sources(struct quest *quest, const char *name)
{
    const struct sym_session *session = quest->module->session;
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < session->source_count && !status; i++)
        if (sym_source_kind(session, i) == SYM_SOURCE_DIRECTORY)
            status = try_below(quest, sym_source_path(session, i), base_name(name));
        else if (sym_source_kind(session, i) == SYM_SOURCE_FILE)
            status = try_named_split(quest, sym_source_path(session, i), name);
    return status;
}

/* Ends a search; name is what was looked for.  */
static enum sym_status finish(struct quest *quest, enum sym_status status, const char *name,
                              struct sym_object **out, struct sym_error *error)
{
    if (!status && quest->found) {
        *out = quest->found;
        return SYM_OK;
    }
    if (!status && !quest->problem)
        status = sym_trail_add(quest->module, quest->place, SYM_OUTCOME_ABSENT, SYM_QUALITY_NONE,
                               name, "not found");
    if (status) {
        sym_object_free(quest->found);
        return sym_fail(error, status, "out of memory");
    }
    if (quest->problem)
        return sym_fail(error, SYM_NOT_FOUND, "%s", quest->problem);
    return sym_fail(error, SYM_NOT_FOUND, "no file %s", name);
}

/* ---- Split units ---- */

enum sym_status sym_find_dwo(struct sym_module *module, const char *comp_dir, const char *dwo_name,
                             sym_fits_fn fits, void *context, struct sym_object **out,
                             struct sym_error *error)
{
    struct quest quest = { .module = module,
                           .kind = SYM_OBJECT_SPLIT,
                           .place = SYM_PLACE_SPLIT,
                           .fits = fits,
                           .context = context };
    enum sym_status status = try_sources(&quest, dwo_name);

    if (!status && !quest.found && (dwo_name[0] == '/' || comp_dir[0]))
        status = try_below(&quest, comp_dir, dwo_name);
    if (!status && !quest.found)
        status = try_beside(&quest, dwo_name[0] == '/' ? base_name(dwo_name) : dwo_name);
    return finish(&quest, status, dwo_name, out, error);
}

/* ---- Packages ---- */

/* PATH.dwp, and without a ".debug" before it.  */
static enum sym_status try_package_of(struct quest *quest, const char *path)
{
    size_t length = strlen(path), suffix = strlen(".debug");
    enum sym_status status = try_taken(quest, sym_format("%s.dwp", path));

    if (status || length <= suffix || strcmp(path + length - suffix, ".debug") != 0)
        return status;
    return try_taken(quest, sym_format("%.*s.dwp", (int)(length - suffix), path));
}

enum sym_status sym_find_dwp(struct sym_module *module, sym_fits_fn fits, void *context,
                             struct sym_object **out, struct sym_error *error)
{
    struct quest quest = { .module = module,
                           .kind = SYM_OBJECT_SPLIT,
                           .place = SYM_PLACE_SPLIT,
                           .fits = fits,
                           .context = context,
                           .is_package = true };
    const struct sym_object *named = module->code ? module->code : module->debug;

    if (!named)
        return sym_fail(error, SYM_NOT_FOUND, "no file to be beside of");
    char *name = sym_format("%s.dwp", base_name(named->path));
    if (!name)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    enum sym_status status = try_sources(&quest, name);
    if (!status && module->debug && !quest.found)
        status = try_package_of(&quest, module->debug->path);
    if (!status && module->code && !quest.found)
        status = try_package_of(&quest, module->code->path);
    status = finish(&quest, status, name, out, error);
    base_free(name);
    return status;
}

/* ---- Supplements ---- */

/* What names a supplement.  */
struct link {
    const char *name; /* borrowed from the section */
    struct sym_bytes id;
    bool checksum; /* id is that of .debug_sup, not a build ID */
};

/* Format: a path, NUL, the build ID up to the end of the section.  */
static bool read_altlink(struct sym_bytes bytes, struct link *link)
{
    size_t length = bytes.data ? strnlen((const char *)bytes.data, bytes.size) : 0;

    if (length == 0 || length + 1 >= bytes.size)
        return false;
    *link = (struct link){ .name = (const char *)bytes.data,
                           .id = { bytes.data + length + 1, bytes.size - length - 1 } };
    return true;
}

/* Format: DWARF 5, 7.3.6: version 5, is_supplementary, name, length of the checksum, checksum.  */
static bool read_sup(const struct sym_object *object, struct sym_bytes bytes, bool *supplementary,
                     struct link *link)
{
    struct sym_cursor cursor = sym_cursor_at(&bytes, 0, object->big_endian);
    uint64_t version = sym_read_number(&cursor, 2);

    *supplementary = sym_read_number(&cursor, 1) != 0;
    *link = (struct link){ .name = sym_read_string(&cursor), .checksum = true };
    uint64_t length = sym_read_uleb(&cursor);
    if (cursor.failed || version != 5 || length > cursor.left)
        return false;
    link->id = (struct sym_bytes){ cursor.next, (size_t)length };
    return true;
}

static enum sym_status read_link(struct sym_object *object, struct link *link)
{
    struct sym_bytes bytes;
    bool supplementary = false;
    enum sym_status status = sym_object_section(object, SYM_SECTION_ALTLINK, &bytes, NULL);

    if (status)
        return status;
    if (read_altlink(bytes, link))
        return SYM_OK;
    status = sym_object_section(object, SYM_SECTION_SUP, &bytes, NULL);
    if (status)
        return status;
    if (bytes.size && read_sup(object, bytes, &supplementary, link) && !supplementary &&
        link->name[0])
        return SYM_OK;
    return SYM_NOT_FOUND;
}

static bool is_linked(const struct link *link, struct sym_object *object)
{
    struct sym_bytes bytes;
    struct link own;
    bool supplementary;

    if (!link->checksum)
        return object->build_id_length == link->id.size &&
               memcmp(object->build_id, link->id.data, link->id.size) == 0;
    return sym_object_section(object, SYM_SECTION_SUP, &bytes, NULL) == SYM_OK &&
           read_sup(object, bytes, &supplementary, &own) && supplementary &&
           own.id.size == link->id.size && memcmp(own.id.data, link->id.data, link->id.size) == 0;
}

static const char *fits_link(void *context, struct sym_object *object)
{
    return is_linked(context, object) ? NULL : "the file belongs to another build";
}

/* A file that the user named, if it is the one; others are no candidates, and not refused.  */
static enum sym_status try_named(struct quest *quest, const char *path, const struct link *link)
{
    uint8_t id[SYM_BUILD_ID_MAX];
    size_t length = 0;
    enum sym_status status = sym_build_id(path, id, sizeof id, &length, NULL);

    if (status || length != link->id.size || memcmp(id, link->id.data, length) != 0)
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    return try_path(quest, path);
}

/* Symbol paths, the trees, and debuginfod's cache, by build ID.  */
static enum sym_status try_build_id(struct quest *quest, const struct link *link)
{
    struct sym_session *session = quest->module->session;
    struct sym_hex hex = sym_hex_of(link->id.data, link->id.size);
    enum sym_status status = SYM_OK;

    if (link->checksum || link->id.size > SYM_BUILD_ID_MAX)
        return SYM_OK;
    for (size_t i = 0; i < session->source_count && !status && !quest->found; i++)
        if (sym_source_kind(session, i) == SYM_SOURCE_DIRECTORY)
            status = sym_source_visit(session, i, link->id.data, link->id.size, try_path, quest);
        else if (sym_source_kind(session, i) == SYM_SOURCE_FILE)
            status = try_named(quest, sym_source_path(session, i), link);
    if (!status && session->debug_root[0])
        status = sym_visit_tree(session->debug_root, link->id.data, link->id.size, try_path, quest);
    if (!status && session->debuginfod_cache[0])
        status = try_taken(quest,
                           sym_format("%s/%s/debuginfo", session->debuginfod_cache, hex.text));
    return status;
}

/* dwz names files as they lie in /usr/lib/debug: "../../.dwz/x86_64-linux-gnu/bash.debug".  */
static enum sym_status try_debug_root(struct quest *quest, const char *name)
{
    const char *root = quest->module->session->debug_root, *tail = strstr(name, ".dwz/");

    return root[0] && tail ? try_below(quest, root, tail) : SYM_OK;
}

static enum sym_status try_servers(struct quest *quest, const struct link *link)
{
    struct sym_session *session = quest->module->session;
    struct sym_hex hex = sym_hex_of(link->id.data, link->id.size);
    struct sym_error error = { .message = "" };
    char *path = NULL;

    if (!session->debuginfod || link->checksum || link->id.size > SYM_BUILD_ID_MAX)
        return SYM_OK;
    enum sym_status status = sym_debuginfod_fetch(session->debuginfod, &hex, NULL, link->name,
                                                  &path, &error);
    if (status == SYM_NOT_FOUND)
        return sym_trail_add(quest->module, SYM_PLACE_DEBUGINFOD_SERVER, SYM_OUTCOME_ABSENT,
                             SYM_QUALITY_NONE, "", error.message);
    return status ? status : try_taken(quest, path);
}

enum sym_status sym_find_alt(struct sym_module *module, struct sym_object **out,
                             struct sym_error *error)
{
    struct link link;
    struct quest quest = { .module = module,
                           .kind = SYM_OBJECT_ALT,
                           .place = SYM_PLACE_ALT,
                           .fits = fits_link,
                           .context = &link };
    char *directory;
    enum sym_status status = module->debug ? read_link(module->debug, &link) : SYM_NOT_FOUND;

    if (status)
        return sym_fail(error, status == SYM_NO_MEMORY ? status : SYM_NOT_FOUND,
                        "it names no supplement");
    directory = directory_of(module->debug);
    if (link.name[0] == '/' || directory)
        status = try_below(&quest, directory, link.name);
    base_free(directory);
    if (!status && !quest.found)
        status = try_build_id(&quest, &link);
    if (!status && !quest.found)
        status = try_debug_root(&quest, link.name);
    if (!status && !quest.found)
        status = try_servers(&quest, &link);
    return finish(&quest, status, link.name, out, error);
}
