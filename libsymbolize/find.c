/* find.c - which files belong to a module (section 3).
 *
 * Places are looked at in the order of sym_session_module().  Every file must show that it is
 * meant: by its build ID, by its checksum where only a debug link names it, or, where neither side
 * has a build ID, by its path, which is reported as unverified.  */
#include "base/file.h"
#include "base/grow.h"
#include "libsymbolize/sym_session.h"
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* A search in progress.  */
struct search {
    struct sym_module *module;
    struct sym_findings findings; /* found is owned, in search order */
    char *refusal;                /* owned; what findings.refusal points to */
    size_t *steps;                /* of found, their places in the trail */
    size_t capacity, step_capacity;
    enum sym_trail_place place; /* that is looked at now */
    size_t seen;                /* files that were there */
    char servers[160];          /* why servers were of no use, a phrase; findings.servers */
    bool quiet;                 /* refusals here are no news: the trail tells them */
    bool done;                  /* nothing better can come */
};

/* ---- Candidates ---- */

static enum sym_quality quality_of(const struct sym_object *object)
{
    return object->has_dwarf ? SYM_QUALITY_DWARF : sym_symbols_quality(object);
}

/* text, which is taken, starts with path and ": "; NULL: memory ran out.  */
static enum sym_status refuse(struct search *search, const char *path, char *text,
                              enum sym_refusal kind)
{
    size_t skip = strlen(path) + 2;

    if (!text)
        return SYM_NO_MEMORY;
    const char *reason = strlen(text) > skip && strncmp(text, path, skip - 2) == 0 ? text + skip
                                                                                   : text;
    enum sym_status status = sym_trail_add(search->module, search->place, SYM_OUTCOME_REFUSED,
                                           SYM_QUALITY_NONE, path, reason);
    if (status || search->findings.refusal || search->quiet) {
        base_free(text);
        return status;
    }
    search->findings.refusal = search->refusal = text;
    search->findings.refusal_kind = kind;
    return SYM_OK;
}

/* A file that could not be opened as what it has to be.  */
static enum sym_status refuse_unreadable(struct search *search, const char *path,
                                         const struct sym_error *error)
{
    bool denied = error->system_errno == EACCES || error->system_errno == EPERM;

    return refuse(search, path, sym_format("%s", error->message),
                  denied ? SYM_REFUSAL_ACCESS : SYM_REFUSAL_FORMAT);
}

/* Where one side has no more of the build ID than a Breakpad symbol file does, so much counts.  */
static bool agrees(const struct search *search, const struct sym_object *object)
{
    const struct sym_findings *findings = &search->findings;
    uint8_t has[SYM_BREAKPAD_ID], wanted[SYM_BREAKPAD_ID];

    if (object->partial_id || findings->partial_id) {
        sym_breakpad_shorten(object->build_id, object->build_id_length, has);
        sym_breakpad_shorten(findings->build_id, findings->build_id_length, wanted);
        return object->build_id_length && memcmp(has, wanted, sizeof has) == 0;
    }
    return object->build_id_length == findings->build_id_length &&
           memcmp(object->build_id, findings->build_id, findings->build_id_length) == 0;
}

static enum sym_status refuse_other_build(struct search *search, const struct sym_object *object)
{
    const struct sym_findings *findings = &search->findings;
    struct sym_hex wanted = sym_hex_of(findings->build_id, findings->build_id_length);
    struct sym_hex has = sym_hex_of(object->build_id, object->build_id_length);
    char *text;

    if (object->build_id_length == 0)
        text = sym_format("%s: the file has no build ID, %s is wanted", object->path, wanted.text);
    else
        text = sym_format("%s: the file has build ID %s, not %s", object->path, has.text,
                          wanted.text);
    return refuse(search, object->path, text, SYM_REFUSAL_OTHER_BUILD);
}

/* Whether all that a module can have is found.  */
static bool is_complete(const struct sym_findings *findings)
{
    bool code = false, dwarf = false, symtab = false;

    for (size_t i = 0; i < findings->count; i++) {
        code |= findings->found[i]->has_contents;
        dwarf |= findings->found[i]->has_dwarf;
        symtab |= findings->found[i]->has_symtab;
    }
    return code && dwarf && symtab;
}

static bool has_dwarf(const struct search *search)
{
    for (size_t i = 0; i < search->findings.count; i++)
        if (search->findings.found[i]->has_dwarf)
            return true;
    return false;
}

/* Takes object.  */
static enum sym_status accept(struct search *search, struct sym_object *object)
{
    struct sym_findings *findings = &search->findings;

    if (!base_make_room(&findings->found, &search->capacity, findings->count + 1,
                        sizeof(struct sym_object *)) ||
        !base_make_room(&search->steps, &search->step_capacity, findings->count + 1,
                        sizeof *search->steps) ||
        sym_trail_add(search->module, search->place, SYM_OUTCOME_SPARE, quality_of(object),
                      object->path, object->debug_problem ? object->debug_problem : "")) {
        sym_object_free(object);
        return SYM_NO_MEMORY;
    }
    search->steps[findings->count] = search->module->step_count - 1;
    findings->found[findings->count++] = object;
    sym_object_close(object); /* the facts are enough for now */
    search->done = is_complete(findings);
    return SYM_OK;
}

/* How a file may prove that it is the one.  */
enum proof {
    PROOF_BUILD_ID,   /* by its build ID alone */
    PROOF_PATH,       /* by the path that names it, when one side has no build ID */
    PROOF_DEBUG_LINK, /* by the checksum in a debug link, when one side has no build ID */
};

static bool has_checksum(const struct sym_object *object, uint32_t checksum)
{
    struct sym_bytes bytes = object->map ? sym_map_bytes(object->map) : object->image;

    return (uint32_t)crc32_z(0, bytes.data, bytes.size) == checksum;
}

/* Whether a Breakpad symbol file is that of an object without GNU's build ID, which was found.  */
static bool has_text_of(const struct search *search, const struct sym_object *object)
{
    for (size_t i = 0; i < search->findings.count; i++) {
        const struct sym_object *found = search->findings.found[i];
        if (found->has_text_hash &&
            memcmp(found->text_hash, object->build_id, sizeof found->text_hash) == 0)
            return true;
    }
    return false;
}

/* Takes object.  */
static enum sym_status judge(struct search *search, struct sym_object *object, enum proof proof,
                             uint32_t checksum)
{
    bool blind = search->findings.build_id_length == 0 || object->build_id_length == 0;
    enum sym_status status = SYM_OK;

    if (object->breakpad && has_text_of(search, object))
        return accept(search, object);
    if (proof == PROOF_BUILD_ID || !blind) {
        if (search->findings.build_id_length && agrees(search, object))
            return accept(search, object);
        status = refuse_other_build(search, object);
    } else if (proof == PROOF_PATH) {
        object->unverified = true;
        return accept(search, object);
    } else if (has_checksum(object, checksum)) {
        return accept(search, object);
    } else {
        status = refuse(search, object->path,
                        sym_format("%s: the debug link has another checksum", object->path),
                        SYM_REFUSAL_OTHER_BUILD);
    }
    sym_object_free(object);
    return status;
}

static enum sym_status open_object(const struct search *search, const char *path,
                                   struct sym_object **out, struct sym_error *error)
{
    enum sym_status status = sym_object_open(path, SYM_OBJECT_MAIN, out, error);

    status = sym_module_opened(search->module, status, path, error);
    if (!status)
        (*out)->no_limit = search->module->session->no_limit;
    return status;
}

/* Looks at the file at path.  */
static enum sym_status consider(struct search *search, const char *path, enum proof proof,
                                uint32_t checksum)
{
    struct sym_object *object = NULL;
    struct sym_error error = { .status = SYM_OK };

    if (search->done)
        return SYM_OK;
    enum sym_status status = open_object(search, path, &object, &error);
    if (status == SYM_NO_MEMORY)
        return status;
    if (status == SYM_NOT_FOUND)
        return SYM_OK;
    search->seen++;
    if (!object)
        return refuse_unreadable(search, path, &error);
    return judge(search, object, proof, checksum);
}

static enum sym_status consider_by_id(void *context, const char *path)
{
    return consider(context, path, PROOF_BUILD_ID, 0);
}

/* Ends a place where nothing was: path is where it would have been.  */
static enum sym_status note_absent(struct search *search, size_t seen, const char *path,
                                   const char *reason)
{
    if (search->seen != seen || search->done)
        return SYM_OK;
    return sym_trail_add(search->module, search->place, SYM_OUTCOME_ABSENT, SYM_QUALITY_NONE, path,
                         reason);
}

static enum sym_status note_skipped(struct search *search, const char *path, const char *reason)
{
    return sym_trail_add(search->module, search->place, SYM_OUTCOME_SKIPPED, SYM_QUALITY_NONE, path,
                         reason);
}

/* ---- kallsyms ---- */

/* The name in brackets, for a kernel module; NULL: the kernel with all its modules.  The caller
 * frees *name.  */
static enum sym_status kallsyms_name(const char *path, char **name)
{
    size_t length = strlen(path);

    *name = NULL;
    if (sym_path_kind(path) == SYM_PATH_KERNEL)
        return SYM_OK;
    *name = sym_format("%.*s", (int)(length - 1 - (path[length - 1] == ']')), path + 1);
    return *name ? SYM_OK : SYM_NO_MEMORY;
}

/* Takes object, a kallsyms text; it serves this module if it has lines of it.  */
static enum sym_status accept_kallsyms(struct search *search, struct sym_object *object)
{
    enum sym_status status = kallsyms_name(search->module->path, &object->kallsyms_module);

    search->seen++;
    if (!status && sym_kallsyms_has(object->image, object->kallsyms_module)) {
        object->unverified = true;
        return accept(search, object);
    }
    if (!status)
        status = refuse(
            search, object->path,
            sym_format("%s: it has no symbols of %s", object->path, search->module->path),
            SYM_REFUSAL_FORMAT);
    sym_object_free(object);
    return status;
}

static enum sym_status consider_session_kallsyms(struct search *search)
{
    const struct sym_session *session = search->module->session;
    struct sym_bytes text = { (const uint8_t *)session->kallsyms, session->kallsyms_size };
    struct sym_object *object = NULL;

    search->place = SYM_PLACE_KALLSYMS;
    if (!session->kallsyms || search->done || sym_path_kind(search->module->path) == SYM_PATH_FILE)
        return SYM_OK;
    enum sym_status status = sym_object_open_lent("kallsyms", text, &object, NULL);
    return object ? accept_kallsyms(search, object) : status;
}

/* ---- Symbol paths ---- */

/* A file that the user named serves the module whose build ID it has; without build IDs, the one
 * whose file has its name.  */
static enum sym_status consider_named_file(struct search *search, const char *path)
{
    const char *module_path = search->module->path;
    struct sym_object *object = NULL;
    struct sym_error error = { .status = SYM_OK };
    enum sym_status status = open_object(search, path, &object, &error);
    enum proof proof = PROOF_BUILD_ID;

    if (status == SYM_NO_MEMORY)
        return status;
    search->seen++;
    if (!object)
        return refuse_unreadable(search, path, &error);
    if (object->kallsyms && sym_path_kind(module_path) != SYM_PATH_FILE)
        return accept_kallsyms(search, object);
    if (sym_object_by_name(object, ".debug_info.dwo")) {
        sym_object_free(object);
        return note_skipped(search, path, "split units are looked for with addresses");
    }
    const char *name = object->breakpad ? object->module_name : base_name(path);
    if (module_path && strcmp(base_name(module_path), name) == 0)
        proof = PROOF_PATH;
    search->quiet = true; /* files of other modules */
    status = judge(search, object, proof, 0);
    search->quiet = false;
    return status;
}

static enum sym_status look_at_source(struct search *search, size_t source)
{
    struct sym_session *session = search->module->session;
    const char *path = sym_source_path(session, source);
    size_t seen = search->seen;
    enum sym_status status = SYM_OK;

    search->place = SYM_PLACE_SYMBOL_PATH;
    if (search->done)
        return note_skipped(search, path, "nothing better can be found");
    switch (sym_source_kind(session, source)) {
    case SYM_SOURCE_FILE:
        return consider_named_file(search, path);
    case SYM_SOURCE_DIRECTORY:
        status = sym_source_visit(session, source, search->findings.build_id,
                                  search->findings.build_id_length, consider_by_id, search);
        break;
    default:
        return note_absent(search, seen, path, "no such file or directory");
    }
    return status ? status
                  : note_absent(search, seen, path,
                                search->findings.build_id_length ? "no file of this build ID"
                                                                 : "no build ID to look for");
}

/* ---- Recorded path and debug links ---- */

static enum sym_status look_at_path(struct search *search)
{
    const char *path = search->module->path;
    size_t seen = search->seen;

    search->place = SYM_PLACE_RECORDED_PATH;
    if (!path || sym_path_kind(path) != SYM_PATH_FILE)
        return SYM_OK;
    if (search->done)
        return note_skipped(search, path, "nothing better can be found");
    enum sym_status status = consider(search, path, PROOF_PATH, 0);
    return status ? status : note_absent(search, seen, path, "no such file");
}

/* A module without a known build ID is looked for under that of the file at its path.  */
static enum sym_status learn_build_id(struct search *search)
{
    struct sym_findings *findings = &search->findings;
    enum sym_status status = look_at_path(search);

    if (!status && findings->count) {
        findings->build_id = findings->found[0]->build_id;
        findings->build_id_length = findings->found[0]->build_id_length;
        findings->partial_id = findings->found[0]->partial_id;
    }
    return status;
}

/* Takes path.  */
static enum sym_status consider_link(struct search *search, char *path, uint32_t checksum)
{
    size_t seen = search->seen;
    enum sym_status status = path ? consider(search, path, PROOF_DEBUG_LINK, checksum)
                                  : SYM_NO_MEMORY;

    if (!status)
        status = note_absent(search, seen, path, "no such file");
    base_free(path);
    return status;
}

/* Where a path leads by its name, when it or a directory of it is a symbolic link.  */
static enum sym_status follow_beside(struct search *search, const char *path, const char *real,
                                     const struct sym_object *object)
{
    char *copy = sym_format("%s", path);

    if (!copy)
        return SYM_NO_MEMORY;
    const char *directory = dirname(copy);
    enum sym_status status = SYM_OK;
    if (strcmp(directory, real) != 0)
        status = consider_link(search, sym_format("%s/%s", directory, object->debuglink),
                               object->debuglink_crc);
    if (!status && strcmp(directory, real) != 0)
        status = consider_link(search, sym_format("%s/.debug/%s", directory, object->debuglink),
                               object->debuglink_crc);
    base_free(copy);
    return status;
}

/* directory, which is real, has the file with the link.  */
static enum sym_status follow_link(struct search *search, const char *directory, const char *name,
                                   uint32_t checksum)
{
    const char *root = search->module->session->debug_root;
    enum sym_status status = consider_link(search, sym_format("%s/%s", directory, name), checksum);

    if (!status)
        status = consider_link(search, sym_format("%s/.debug/%s", directory, name), checksum);
    if (!status && root[0])
        status = consider_link(search, sym_format("%s%s/%s", root, directory, name), checksum);
    return status;
}

/* The debug files that those found so far name.  */
static enum sym_status look_at_links(struct search *search)
{
    size_t count = search->findings.count;
    enum sym_status status = SYM_OK;

    search->place = SYM_PLACE_DEBUGLINK;
    for (size_t i = 0; i < count && !status && !has_dwarf(search); i++) {
        const struct sym_object *object = search->findings.found[i];
        if (!object->debuglink)
            continue;
        char *real = realpath(object->path, NULL);
        if (!real)
            continue;
        const char *directory = dirname(real);
        status = follow_link(search, directory, object->debuglink, object->debuglink_crc);
        if (!status && !has_dwarf(search))
            status = follow_beside(search, object->path, directory, object);
        base_free(real);
    }
    return status;
}

/* ---- Debug root ---- */

static enum sym_status look_at_root(struct search *search)
{
    const struct sym_findings *findings = &search->findings;
    const char *root = search->module->session->debug_root;
    struct sym_hex hex = sym_hex_of(findings->build_id, findings->build_id_length);
    size_t seen = search->seen;
    char *path;

    search->place = SYM_PLACE_DEBUG_ROOT;
    if (!root[0] || findings->build_id_length < 2)
        return SYM_OK;
    if (search->done)
        return note_skipped(search, root, "nothing better can be found");
    enum sym_status status = sym_visit_tree(root, findings->build_id, findings->build_id_length,
                                            consider_by_id, search);
    if (status)
        return status;
    path = sym_format("%s/.build-id/%.2s/%s.debug", root, hex.text, hex.text + 2);
    status = path ? note_absent(search, seen, path, "no such file") : SYM_NO_MEMORY;
    base_free(path);
    return status;
}

/* ---- debuginfod ---- */

/* The code that sections of their own belong to, or NULL.  */
static const struct sym_object *code_of(const struct search *search)
{
    for (size_t i = 0; i < search->findings.count; i++)
        if (search->findings.found[i]->has_contents && search->findings.found[i]->build_id_length &&
            !search->findings.found[i]->relocatable)
            return search->findings.found[i];
    return NULL;
}

/* SYM_SECTION_BUILD_ID shows that the others are meant.  */
static bool is_fetched(enum sym_section section)
{
    return section != SYM_SECTION_TYPES && section != SYM_SECTION_CU_INDEX &&
           section != SYM_SECTION_TU_INDEX && section != SYM_SECTION_LOC &&
           section != SYM_SECTION_LOCLISTS; /* large, and only for sym_module_locals() */
}

/* Takes the debug information whose sections lie in the cache, one a file.  */
static enum sym_status consider_sections(struct search *search, const char *prefix)
{
    struct sym_object *object = NULL;
    struct sym_error error = { .status = SYM_OK };
    enum sym_status status = sym_object_open_sections(code_of(search), prefix, &object, &error);

    if (status == SYM_NO_MEMORY)
        return status;
    if (status == SYM_NOT_FOUND)
        return SYM_OK;
    search->seen++;
    if (!object)
        return refuse_unreadable(search, prefix, &error);
    object->no_limit = search->module->session->no_limit;
    if (agrees(search, object))
        return accept(search, object);
    status = refuse_other_build(search, object);
    sym_object_free(object);
    return status;
}

/* Whether the cache knows of each section what there is: an empty file says that there is none.  */
static enum sym_status has_all_sections(const char *prefix, bool *all)
{
    struct stat facts;

    *all = true;
    for (size_t i = 0; i < SYM_SECTION_COUNT && *all; i++) {
        if (!is_fetched((enum sym_section)i))
            continue;
        char *path = sym_format("%s%s", prefix, sym_section_name((enum sym_section)i));
        if (!path)
            return SYM_NO_MEMORY;
        *all = stat(path, &facts) == 0;
        base_free(path);
    }
    return SYM_OK;
}

/* What the cache holds under a build ID: "debuginfo", "executable", "section-.debug_info" ...  */
static enum sym_status look_at_cached(struct search *search, const char *directory)
{
    static const char *const names[] = { "debuginfo", "executable" };
    struct stat facts;
    bool all = false;
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < 2 && !status; i++) {
        char *path = sym_format("%s/%s", directory, names[i]);
        if (!path)
            return SYM_NO_MEMORY;
        if (stat(path, &facts) == 0 && facts.st_size > 0) /* empty: the servers had none */
            status = consider_by_id(search, path);
        base_free(path);
    }
    if (status || has_dwarf(search) || !code_of(search))
        return status;
    char *prefix = sym_format("%s/section-", directory);
    status = prefix ? has_all_sections(prefix, &all) : SYM_NO_MEMORY;
    if (!status && all)
        status = consider_sections(search, prefix);
    base_free(prefix);
    return status;
}

static enum sym_status look_at_cache(struct search *search)
{
    const struct sym_findings *findings = &search->findings;
    const char *cache = search->module->session->debuginfod_cache;
    struct sym_hex hex = sym_hex_of(findings->build_id, findings->build_id_length);
    size_t seen = search->seen;

    search->place = SYM_PLACE_DEBUGINFOD_CACHE;
    if (!cache[0] || findings->build_id_length < 2)
        return SYM_OK;
    if (search->done)
        return note_skipped(search, cache, "nothing better can be found");
    char *directory = sym_format("%s/%s", cache, hex.text);
    enum sym_status status = directory ? look_at_cached(search, directory) : SYM_NO_MEMORY;
    if (!status)
        status = note_absent(search, seen, directory, "nothing was fetched for this build ID");
    base_free(directory);
    return status;
}

/* Fetches one section.  *prefix, the caller's, is where it lies without its name.  */
static enum sym_status fetch_section(struct search *search, const struct sym_hex *hex,
                                     enum sym_section section, char **prefix,
                                     struct sym_error *error)
{
    struct sym_module *module = search->module;
    const char *name = sym_section_name(section);
    char *path = NULL;
    enum sym_status status = sym_debuginfod_fetch(module->session->debuginfod, hex, name,
                                                  module->path ? module->path : hex->text, &path,
                                                  error);

    if (!status && strlen(path) > strlen(name)) {
        base_free(*prefix);
        path[strlen(path) - strlen(name)] = '\0';
        *prefix = path;
        return SYM_OK;
    }
    base_free(path);
    return status;
}

static enum sym_status fetch_file(struct search *search, const struct sym_hex *hex,
                                  struct sym_error *error)
{
    struct sym_module *module = search->module;
    char *path = NULL;
    enum sym_status status = sym_debuginfod_fetch(module->session->debuginfod, hex, NULL,
                                                  module->path ? module->path : hex->text, &path,
                                                  error);

    if (!status)
        status = consider_by_id(search, path);
    base_free(path);
    return status;
}

/* Whether the servers answered that there is no such thing.  */
static bool is_absent(enum sym_status status, const struct sym_error *error)
{
    return status == SYM_NOT_FOUND && error->system_errno == ENOENT;
}

/* Fetches the sections that are read, which is less than the whole file.  A server that is a tree
 * of files has the whole file only.  */
static enum sym_status fetch_sections(struct search *search, const struct sym_hex *hex,
                                      struct sym_error *error)
{
    static const enum sym_section needed[] = { SYM_SECTION_BUILD_ID, SYM_SECTION_INFO };
    char *prefix = NULL;
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < 2 && !status; i++)
        status = fetch_section(search, hex, needed[i], &prefix, error);
    if (is_absent(status, error)) {
        base_free(prefix);
        return fetch_file(search, hex, error);
    }
    for (unsigned i = 0; i < SYM_SECTION_COUNT && !status; i++) {
        if (i == SYM_SECTION_INFO || i == SYM_SECTION_BUILD_ID || !is_fetched((enum sym_section)i))
            continue;
        status = fetch_section(search, hex, (enum sym_section)i, &prefix, error);
        if (is_absent(status, error)) /* most files have not all of them */
            status = SYM_OK;
    }
    if (!status)
        status = consider_sections(search, prefix);
    base_free(prefix);
    return status;
}

static enum sym_status ask_servers(struct search *search)
{
    const struct sym_findings *findings = &search->findings;
    struct sym_debuginfod *debuginfod = search->module->session->debuginfod;
    struct sym_hex hex = sym_hex_of(findings->build_id, findings->build_id_length);
    struct sym_error error = { .message = "" };
    enum sym_status status;

    search->place = SYM_PLACE_DEBUGINFOD_SERVER;
    if (has_dwarf(search))
        return note_skipped(search, "", "debug information is here");
    if (findings->build_id_length < 2)
        return note_skipped(search, "", "no build ID to ask for");
    if (!debuginfod)
        return note_skipped(search, "", "asking servers was not allowed");
    if (code_of(search) && sym_debuginfod_has_sections(debuginfod))
        status = fetch_sections(search, &hex, &error);
    else
        status = fetch_file(search, &hex, &error);
    if (status != SYM_NOT_FOUND)
        return status;
    if (error.system_errno != ENOENT && sym_debuginfod_is_news(debuginfod, error.message)) {
        memcpy(search->servers, error.message, strnlen(error.message, sizeof search->servers - 1));
        search->findings.servers = search->servers;
    }
    return sym_trail_add(search->module, search->place, SYM_OUTCOME_ABSENT, SYM_QUALITY_NONE, "",
                         error.message);
}

/* ---- The whole search ---- */

static enum sym_status look_everywhere(struct search *search)
{
    bool by_path_alone = search->findings.build_id_length == 0;
    enum sym_status status = by_path_alone ? learn_build_id(search) : SYM_OK;

    for (size_t i = 0; i < search->module->session->source_count && !status; i++)
        status = look_at_source(search, i);
    if (!status && !by_path_alone)
        status = look_at_path(search);
    if (!status)
        status = look_at_links(search);
    if (!status)
        status = look_at_root(search);
    if (!status)
        status = consider_session_kallsyms(search);
    if (!status)
        status = look_at_cache(search);
    return status ? status : ask_servers(search);
}

static bool is_unverified(const struct sym_object *object)
{
    return object && object->unverified;
}

/* Go's own table serves where nothing else does: a file that has just that must not keep a symbol
 * table away.  */
static unsigned symbols_rank(const struct sym_object *object)
{
    return object ? 2 * (unsigned)sym_symbols_quality(object) + object->has_symtab : 0;
}

static void choose(struct search *search)
{
    struct sym_module *module = search->module;

    for (size_t i = 0; i < search->findings.count; i++) {
        struct sym_object *object = search->findings.found[i];
        if (object->breakpad) {
            if (!module->breakpad)
                module->breakpad = object;
            continue;
        }
        if (!module->code && object->has_contents)
            module->code = object;
        if (!module->debug && object->has_dwarf)
            module->debug = object;
        if (symbols_rank(object) > symbols_rank(module->symbols))
            module->symbols = object;
    }
    /* One without functions may have variables.  */
    if (!module->code && !module->debug && !module->symbols && !module->breakpad &&
        search->findings.count)
        module->symbols = search->findings.found[0];
    /* Without a build ID in the key the one that all others were found by is a guess too.  */
    search->findings.unverified = (module->build_id_length == 0 && search->findings.count) ||
                                  is_unverified(module->code) || is_unverified(module->debug) ||
                                  (module->breakpad && !module->debug &&
                                   is_unverified(module->breakpad)) ||
                                  is_unverified(module->symbols);
}

/* Says in the trail what each file is used for.  */
static void tell_choice(struct search *search)
{
    static const char *const uses[] = { "for code",
                                        "for symbols",
                                        "for code and symbols",
                                        "for debug information",
                                        "for code and debug information",
                                        "for symbols and debug information",
                                        "for code, symbols and debug information" };
    const struct sym_module *module = search->module;

    for (size_t i = 0; i < search->findings.count; i++) {
        const struct sym_object *object = search->findings.found[i];
        struct sym_trail_step *step = &module->steps[search->steps[i]];
        unsigned use = (object == module->code) | (unsigned)(object == module->symbols) << 1 |
                       (unsigned)(object == module->debug) << 2;
        if (object == module->breakpad && !module->debug) {
            step->outcome = SYM_OUTCOME_USED;
            step->reason = "for functions, files and lines";
        }
        if (!use)
            continue;
        step->outcome = SYM_OUTCOME_USED;
        if (!step->reason[0])
            step->reason = uses[use - 1];
        if (module->symbols && object == module->symbols && object->has_go && !module->debug &&
            !module->breakpad)
            step->reason = "for code, and Go's own table of functions, files and lines";
    }
}

/* Frees what was found and is not of use.  */
static void search_release(struct search *search)
{
    const struct sym_module *module = search->module;

    for (size_t i = 0; i < search->findings.count; i++) {
        struct sym_object *object = search->findings.found[i];
        if (object != module->code && object != module->debug && object != module->symbols &&
            object != module->breakpad)
            sym_object_free(object);
    }
    base_free(search->findings.found);
    base_free(search->steps);
    base_free(search->refusal);
}

enum sym_status sym_module_find(struct sym_module *module, struct sym_error *error)
{
    struct search search = { .module = module,
                             .findings = { .build_id = module->build_id,
                                           .build_id_length = module->build_id_length } };
    enum sym_status status = look_everywhere(&search);

    if (!status) {
        choose(&search);
        tell_choice(&search);
        status = sym_report_write(module, &search.findings);
    }
    search_release(&search);
    return status ? sym_fail(error, status, "out of memory") : SYM_OK;
}
