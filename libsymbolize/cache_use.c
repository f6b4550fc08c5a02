/* cache_use.c - when a module's cache file is used, made and replaced. */
#include "libsymbolize/symbol_cache.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    BUILD_ID_MIN = 8, /* bytes; a shorter one may be somebody else's too */
};

/* ---- What a file must have been made from ---- */

/* Adds what tells one version of a file from another.  A file that cannot be looked at (it was
 * unpacked from another one) adds that it cannot.  */
static uint64_t digest_file(uint64_t digest, const struct sym_object *object)
{
    uint64_t facts[3] = { 0 };
    struct stat info;

    if (object && stat(object->path, &info) == 0) {
        facts[0] = (uint64_t)info.st_size;
        facts[1] = (uint64_t)info.st_mtim.tv_sec;
        facts[2] = (uint64_t)info.st_mtim.tv_nsec;
    }
    return sym_cache_digest(facts, sizeof facts, digest);
}

/* The build ID is that of the file which the names come from.  false: nothing to go by.  */
static bool make_key(const struct sym_module *module, struct sym_cache_key *key)
{
    const struct sym_object *names = module->debug      ? module->debug
                                     : module->breakpad ? module->breakpad
                                                        : module->symbols;

    if (!names || names->build_id_length < BUILD_ID_MIN ||
        names->build_id_length > SYM_BUILD_ID_MAX)
        return false;
    if (module->build_id_length &&
        (module->build_id_length != names->build_id_length ||
         memcmp(module->build_id, names->build_id, names->build_id_length) != 0))
        return false;
    *key = (struct sym_cache_key){ .quality = module->report.quality,
                                   .build_id_length = names->build_id_length };
    memcpy(key->build_id, names->build_id, names->build_id_length);
    key->inputs = digest_file(digest_file(0, module->debug),
                              module->symbols == module->debug ? NULL : module->symbols);
    if (module->breakpad && !module->debug) /* whose addresses count from the first of the code */
        key->inputs = digest_file(digest_file(key->inputs, module->breakpad), module->code);
    return true;
}

static bool same_build(const struct sym_cache_key *a, const struct sym_cache_key *b)
{
    return a->build_id_length == b->build_id_length &&
           memcmp(a->build_id, b->build_id, a->build_id_length) == 0;
}

/* Answers depend on the files that are there, not on those that were once.  */
static bool serves(const struct sym_cache_key *file, const struct sym_cache_key *wanted)
{
    return same_build(file, wanted) && file->quality == wanted->quality &&
           file->inputs == wanted->inputs;
}

/* Whether a file that does not serve is to be kept: what it was made from may come back.  */
static bool is_better(const struct sym_cache_key *file, const struct sym_cache_key *wanted)
{
    return same_build(file, wanted) && file->quality > wanted->quality;
}

/* ---- The directory ---- */

/* Interns text, which is taken, into *field.  */
static enum sym_status report_text(struct sym_module *module, const char **field, char *text)
{
    const char *interned = text ? sym_strings_intern(&module->strings, text, strlen(text)) : NULL;

    base_free(text);
    if (interned)
        *field = interned;
    return interned ? SYM_OK : SYM_NO_MEMORY;
}

/* SYM_OK, whether it is there or not, or SYM_NO_MEMORY.  */
static enum sym_status open_cache_dir(struct sym_session *session)
{
    struct sym_error error = { .status = SYM_OK };
    enum sym_status status = SYM_OK;

    (void)pthread_mutex_lock(&session->lock);
    if (!session->cache_dir.path && !session->cache_failed[0]) {
        status = sym_cache_dir_open(&session->cache_dir, session->cache_path,
                                    session->cache_limit_bytes, &error);
        if (status != SYM_NO_MEMORY)
            memcpy(session->cache_failed, error.message, sizeof session->cache_failed);
    }
    (void)pthread_mutex_unlock(&session->lock);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* The session's directory; *out becomes NULL where there is none to use.  */
static enum sym_status cache_dir(struct sym_module *module, struct sym_cache_dir **out)
{
    struct sym_session *session = module->session;

    *out = NULL;
    if (session->no_cache)
        return SYM_OK;
    enum sym_status status = open_cache_dir(session);
    if (status)
        return status;
    if (session->cache_dir.path)
        *out = session->cache_dir.limit ? &session->cache_dir : NULL;
    else
        status = report_text(module, &module->report.cache_problem,
                             sym_format("symbol cache: %s", session->cache_failed));
    return status;
}

/* ---- Using ---- */

/* The file is there and sound, as far as one can tell now, but may be about something else; NULL:
 * none.  */
static enum sym_status open_file(struct sym_module *module, const struct sym_cache_dir *dir,
                                 const struct sym_cache_key *key, struct sym_cache **out)
{
    uint64_t size;
    int fd = sym_cache_dir_find(dir, key, &size);

    *out = NULL;
    if (fd < 0)
        return SYM_OK;
    enum sym_status status = sym_cache_open(fd, size, &module->strings, out);
    if (status != SYM_MALFORMED)
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    sym_cache_dir_drop(dir, key);
    char *path = sym_cache_dir_path(dir, key);
    char *text = path ? sym_format("%s: damaged, dropped", path) : NULL;
    base_free(path);
    return report_text(module, &module->report.cache_problem, text);
}

enum sym_status sym_module_open_cache(struct sym_module *module, bool *wanted)
{
    struct sym_cache_dir *dir;
    struct sym_cache_key key;
    struct sym_cache *cache = NULL;
    enum sym_status status = cache_dir(module, &dir);

    *wanted = false;
    if (status || !dir || !make_key(module, &key))
        return status;
    status = open_file(module, dir, &key, &cache);
    if (status)
        return status;
    if (!cache || !serves(sym_cache_key(cache), &key)) {
        bool better = cache && is_better(sym_cache_key(cache), &key);
        module->cache_tried |= better;
        *wanted = !better && (cache || module->report.cache_problem[0] ||
                              sym_cache_dir_note(dir, &key).visited);
        sym_cache_close(cache);
        return SYM_OK;
    }
    if (module->seat->loaded && module->seat->loaded != module)
        sym_module_unload(module->seat->loaded);
    module->seat->loaded = module;
    module->cache = cache;
    return report_text(module, &module->report.cache_path, sym_cache_dir_path(dir, &key));
}

void sym_module_note_visit(struct sym_module *module)
{
    struct sym_cache_dir *dir;
    struct sym_cache_key key;

    if (!module->cache_tried && cache_dir(module, &dir) == SYM_OK && dir &&
        make_key(module, &key) && !sym_cache_dir_note(dir, &key).visited)
        sym_cache_dir_note_visit(dir, &key);
}

/* ---- Making ---- */

/* Whether a .dwo file or a supplement is missed, which may be there the next time.  */
static bool lacks_companions(const struct sym_module *module)
{
    const struct sym_dwarf *dwarf = &module->loaded.dwarf;

    return module->loaded.has_dwarf && (dwarf->missing_splits || dwarf->missing_alt[0]);
}

/* Whether the answers are what the files say, so that they are the same whenever they are read: not
 * where debug information could not be read, in part or at all.  */
static bool is_sound(const struct sym_module *module)
{
    const struct sym_object *debug = module->debug, *symbols = module->symbols;

    if (lacks_companions(module) || module->strings.is_full)
        return false;
    if (debug && (module->report.problem[0] || module->loaded.dwarf.decoder.damaged))
        return false;
    return !(debug && sym_object_changed(debug, true)) &&
           !(module->breakpad && sym_object_changed(module->breakpad, true)) &&
           !(symbols && sym_object_changed(symbols, true));
}

static enum sym_status write_file(struct sym_module *module, const struct sym_cache_key *key,
                                  int fd, uint64_t *size)
{
    struct sym_cache_writer *writer = sym_cache_writer_new();
    enum sym_status status = SYM_NO_MEMORY;

    if (writer)
        status = sym_module_walk(module, sym_cache_writer_add, writer);
    if (!status && !is_sound(module))
        status = SYM_MALFORMED;
    if (!status)
        status = sym_cache_writer_finish(writer, key, fd, size);
    sym_cache_writer_free(writer);
    return status;
}

/* Writes the file of a loaded module; false: there is none.  */
static bool make_file(struct sym_module *module, const struct sym_cache_dir *dir,
                      const struct sym_cache_key *key)
{
    struct sym_cache_note note = sym_cache_dir_note(dir, key);
    struct sym_cache_draft draft;
    uint64_t size = 0;

    if (!is_sound(module) || (note.refused && note.inputs == key->inputs) ||
        !sym_cache_dir_draft(dir, key, &draft))
        return false;
    enum sym_status status = write_file(module, key, draft.fd, &size);
    if (!status && sym_cache_dir_publish(dir, key, &draft, size))
        return true;
    sym_cache_dir_discard(dir, &draft);
    /* Does it end the same way the next time?  */
    if ((status == SYM_MALFORMED || !status) && !lacks_companions(module))
        sym_cache_dir_note_refusal(dir, key);
    return false;
}

enum sym_status sym_module_build_cache(struct sym_module *module)
{
    struct sym_cache_dir *dir;
    struct sym_cache_key key;
    bool wanted;
    enum sym_status status = cache_dir(module, &dir);

    if (status || !dir || module->cache_tried || !make_key(module, &key))
        return status;
    module->cache_tried = true;
    if (!make_file(module, dir, &key)) {
        (void)sym_module_exceeded(module); /* look-ups may take less than all answers do */
        return SYM_OK;
    }
    sym_module_unload(module);
    status = sym_module_open_cache(module, &wanted);
    if (status || module->cache)
        return status;
    return sym_module_load(module);
}

enum sym_status sym_module_replace_cache(struct sym_module *module)
{
    struct sym_session *session = module->session;
    const struct sym_cache_key *key = sym_cache_key(module->cache);
    char *path = sym_cache_dir_path(&session->cache_dir, key);
    char *text = path ? sym_format("%s: damaged, dropped", path) : NULL;

    base_free(path);
    sym_cache_dir_drop(&session->cache_dir, key);
    module->report.cache_path = "";
    enum sym_status status = report_text(module, &module->report.cache_problem, text);
    sym_module_unload(module);
    if (!status)
        status = sym_module_load(module);
    return status ? status : sym_module_build_cache(module);
}
