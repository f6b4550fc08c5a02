/* sym_session.c - sessions and the modules they hand out. */
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* ---- Session ---- */

static enum sym_status copy_cache_options(struct sym_session *session,
                                          const struct sym_options *options)
{
    session->no_cache = options->no_cache || options->details || options->relative_files;
    session->cache_limit_bytes = options->cache_limit_bytes;
    if (!options->cache_dir)
        return SYM_OK;
    session->cache_path = sym_format("%s", options->cache_dir);
    return session->cache_path ? SYM_OK : SYM_NO_MEMORY;
}

static enum sym_status copy_options(struct sym_session *session, const struct sym_options *options)
{
    const char *root = options->debug_root ? options->debug_root : "/usr/lib/debug";
    const char *cache = options->debuginfod_cache;
    enum sym_status status;

    session->no_inlines = options->no_inlines;
    session->bounds = options->bounds;
    session->details = options->details;
    session->relative_files = options->relative_files;
    session->symbol_files = options->symbol_files;
    session->keep_tags = options->keep_tags;
    session->seat.jobs = options->jobs;
    session->debug_root = sym_format("%s", root);
    session->debuginfod_cache = cache ? sym_format("%s", cache) : sym_debuginfod_default_cache();
    if (!session->debug_root || !session->debuginfod_cache)
        return SYM_NO_MEMORY;
    status = sym_sources_new(options->symbol_paths, options->symbol_path_count, &session->sources);
    session->source_count = options->symbol_path_count;
    if (!status && options->debuginfod)
        status = sym_debuginfod_new(options, &session->debuginfod);
    return status ? status : copy_cache_options(session, options);
}

static bool options_are_valid(const struct sym_options *options)
{
    if (options->size != sizeof *options || (options->symbol_path_count && !options->symbol_paths))
        return false;
    for (size_t i = 0; i < options->symbol_path_count; i++)
        if (!options->symbol_paths[i])
            return false;
    return true;
}

enum sym_status sym_session_open(const struct sym_options *options, struct sym_session **out,
                                 struct sym_error *error)
{
    static const struct sym_options defaults = { .size = sizeof defaults };

    if (!options)
        options = &defaults;
    if (!out || !options_are_valid(options))
        return sym_fail(error, SYM_INVALID, "options of another size, or a path is NULL");
    struct sym_session *session = calloc(1, sizeof *session);
    if (!session)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    session->has_lock = pthread_mutex_init(&session->lock, NULL) == 0;
    session->no_limit = options->no_limit;
    sym_session_set_limit(session);
    enum sym_status status = session->has_lock ? copy_options(session, options) : SYM_NO_MEMORY;
    if (status) {
        sym_session_close(session);
        return sym_fail(error, status, "out of memory");
    }
    if (!session->no_cache && !session->cache_limit_bytes)
        status = sym_cache_dir_limit(&session->cache_limit_bytes, error);
    if (status) {
        sym_session_close(session);
        return status;
    }
    *out = session;
    return SYM_OK;
}

enum sym_status sym_session_kallsyms(struct sym_session *session, const char *text, size_t size,
                                     struct sym_error *error)
{
    struct sym_bytes bytes = { (const uint8_t *)text, size };

    if (!session || !text || session->kallsyms)
        return sym_fail(error, SYM_INVALID, "no text, or there is one already");
    if (!sym_kallsyms_detect(bytes))
        return sym_fail(error, SYM_MALFORMED, "not lines as in /proc/kallsyms");
    session->kallsyms = malloc(size);
    if (!session->kallsyms)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    memcpy(session->kallsyms, text, size);
    session->kallsyms_size = size;
    return SYM_OK;
}

/* ---- Modules ---- */

static void unload(struct sym_module *module)
{
    struct sym_loaded *loaded = &module->loaded;

    sym_dwarf_close(&loaded->dwarf);
    sym_symbols_release(&loaded->symbols);
    sym_breakpad_close(&loaded->breakpad);
    if (module->breakpad)
        sym_object_close(module->breakpad);
    if (module->debug)
        sym_object_close(module->debug);
    if (module->symbols)
        sym_object_close(module->symbols);
    if (module->code)
        sym_object_close(module->code);
    *loaded = (struct sym_loaded){ 0 };
    sym_cache_close(module->cache);
    module->cache = NULL;
}

void sym_module_unload(struct sym_module *module)
{
    struct base_account *before = base_account_enter(&module->account);

    unload(module);
    (void)base_account_enter(before);
}

static void module_free(struct sym_module *module)
{
    sym_module_unload(module);
    if (module->debug != module->code)
        sym_object_free(module->debug);
    if (module->symbols != module->code && module->symbols != module->debug)
        sym_object_free(module->symbols);
    sym_object_free(module->code);
    sym_object_free(module->breakpad);
    sym_symbols_release(&module->data);
    sym_bounds_release(&module->bounds);
    free(module->name);
    free(module->by_name);
    free(module->by_vaddr);
    sym_symbols_release(&module->functions);
    free(module->code_pages);
    sym_strings_release(&module->strings);
    free(module->steps);
    free(module->build_id);
    free(module->path);
    free(module);
}

void sym_session_close(struct sym_session *session)
{
    if (!session)
        return;
    for (size_t i = 0; i < session->module_count; i++)
        module_free(session->modules[i]);
    free(session->modules);
    base_index_release(&session->by_key);
    sym_sources_free(session->sources, session->source_count);
    sym_debuginfod_free(session->debuginfod);
    free(session->debuginfod_cache);
    free(session->debug_root);
    free(session->kallsyms);
    free(session->cache_path);
    sym_cache_dir_close(&session->cache_dir);
    sym_scratch_release(&session->seat.scratch);
    if (session->has_lock)
        (void)pthread_mutex_destroy(&session->lock);
    free(session);
}

static bool same_key(const struct sym_module *module, const struct sym_module_key *key)
{
    if (module->build_id_length != key->build_id_length || !module->path != !key->path)
        return false;
    if (key->build_id_length && memcmp(module->build_id, key->build_id, key->build_id_length) != 0)
        return false;
    return !key->path || strcmp(module->path, key->path) == 0;
}

static uint64_t hash_key(const struct sym_module_key *key)
{
    uint64_t of_id = base_hash_bytes(key->build_id, key->build_id_length);

    return key->path ? base_hash(of_id, base_hash_bytes(key->path, strlen(key->path))) : of_id;
}

static struct sym_module *known_module(const struct sym_session *session,
                                       const struct sym_module_key *key, uint64_t hash)
{
    size_t probe;

    for (uint32_t id = base_index_first(&session->by_key, hash, &probe); id;
         id = base_index_next(&session->by_key, hash, &probe))
        if (same_key(session->modules[id - 1], key))
            return session->modules[id - 1];
    return NULL;
}

static char *copy_text(const char *text)
{
    return text ? sym_format("%s", text) : NULL;
}

static enum sym_status module_new(struct sym_session *session, const struct sym_module_key *key,
                                  struct sym_module **out)
{
    struct sym_module *module = base_calloc(1, sizeof *module);

    if (!module)
        return SYM_NO_MEMORY;
    *out = module;
    module->session = session;
    sym_module_set_limit(module);
    module->seat = &session->seat;
    module->report = (struct sym_report){ .code_path = "",
                                          .debug_path = "",
                                          .problem = "",
                                          .remedy = "",
                                          .cache_path = "",
                                          .cache_problem = "",
                                          .fallback = "",
                                          .unread = "" };
    module->build_id = base_malloc(key->build_id_length + 1);
    module->path = copy_text(key->path);
    module->name = copy_text(key->name);
    if (!module->build_id || (key->path && !module->path) || (key->name && !module->name))
        return SYM_NO_MEMORY;
    if (key->build_id_length)
        memcpy(module->build_id, key->build_id, key->build_id_length);
    module->build_id_length = key->build_id_length;
    if (!base_make_room(&session->modules, &session->module_capacity, session->module_count + 1,
                        sizeof(struct sym_module *)) ||
        !base_index_reserve(&session->by_key))
        return SYM_NO_MEMORY;
    return SYM_OK;
}

static enum sym_status find_files(struct sym_module *module, struct sym_error *error)
{
    struct base_account *before = base_account_enter(&module->account);
    enum sym_status status = sym_module_find(module, error);

    (void)base_account_enter(before);
    return status;
}

/* A module and room for it in the session's tables.  */
static enum sym_status make_module(struct sym_session *session, const struct sym_module_key *key,
                                   struct sym_module **out, struct sym_error *error)
{
    struct base_account *before = base_account_enter(&session->account);
    enum sym_status status = module_new(session, key, out);

    if (!status)
        status = find_files(*out, error);
    if (!status)
        status = sym_session_count(session, *out);
    (void)base_account_enter(before);
    return status;
}

enum sym_status sym_session_module(struct sym_session *session, const struct sym_module_key *key,
                                   struct sym_module **out, struct sym_error *error)
{
    struct sym_module *module = NULL;

    if (!session || !key || !out || (key->build_id_length && !key->build_id) ||
        (key->build_id_length == 0 && (!key->path || !key->path[0])))
        return sym_fail(error, SYM_INVALID, "neither a build ID nor a path");
    uint64_t hash = hash_key(key);
    *out = known_module(session, key, hash);
    if (*out)
        return SYM_OK;
    enum sym_status status = make_module(session, key, &module, error);
    if (status) {
        if (module)
            module_free(module);
        return sym_session_fail(session, status, error);
    }
    session->modules[session->module_count++] = module;
    base_index_add(&session->by_key, hash, (uint32_t)session->module_count);
    *out = module;
    return SYM_OK;
}

const struct sym_report *sym_module_report(const struct sym_module *module)
{
    return &module->report;
}

enum sym_status sym_module_file_offset(const struct sym_module *module, uint64_t vaddr,
                                       uint64_t *file_offset)
{
    const struct sym_object *code = module->code;

    for (size_t i = 0; code && i < code->load_count; i++) {
        const struct sym_load *load = &code->loads[i];
        if (vaddr >= load->vaddr && vaddr - load->vaddr < load->file_size) {
            *file_offset = load->file_offset + (vaddr - load->vaddr);
            return SYM_OK;
        }
    }
    return SYM_NOT_FOUND;
}

enum sym_status sym_module_vaddr(const struct sym_module *module, uint64_t file_offset,
                                 uint64_t *vaddr)
{
    const struct sym_object *code = module->code;

    for (size_t i = 0; code && i < code->load_count; i++) {
        const struct sym_load *load = &code->loads[i];
        if (file_offset >= load->file_offset && file_offset - load->file_offset < load->file_size) {
            *vaddr = load->vaddr + (file_offset - load->file_offset);
            return SYM_OK;
        }
    }
    return SYM_NOT_FOUND;
}

enum sym_status sym_module_mapping_vaddr(const struct sym_module *module, uint64_t file_offset,
                                         uint64_t size, uint64_t *vaddr)
{
    const struct sym_object *code = module->code;

    for (size_t i = 0; code && i < code->load_count; i++) {
        const struct sym_load *load = &code->loads[i];
        bool begins_before = load->file_offset >= file_offset
                                 ? load->file_offset - file_offset < size
                                 : file_offset - load->file_offset < load->file_size;
        if (load->executable && load->file_size > 0 && begins_before) {
            *vaddr = load->vaddr + (file_offset - load->file_offset);
            return SYM_OK;
        }
    }
    return sym_module_vaddr(module, file_offset, vaddr);
}
