/* find.c - which files belong to a module, and what to tell people about them (section 3). */
#include "libsymbolize/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEX_MAX = 2 * SYM_BUILD_ID_MAX + 1,
};

/* A search in progress.  */
struct search {
    struct sym_module *module;
    const uint8_t *build_id; /* what is looked for; length 0: unknown */
    size_t build_id_length;
    struct sym_object **found; /* owned; those that agree, in search order */
    size_t count, capacity;
    bool unverified;
    char *refusal; /* owned: the first file that was there and is not used, and why */
    bool mismatch; /* that one belongs to another build */
    bool done;     /* nothing better can come */
};

static void format_hex(char out[HEX_MAX], const uint8_t *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";

    if (length > SYM_BUILD_ID_MAX)
        length = SYM_BUILD_ID_MAX;
    for (size_t i = 0; i < length; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * length] = '\0';
}

/* ---- Candidates ---- */

/* Takes refusal, which may be NULL when memory ran out.  */
static enum sym_status refuse(struct search *search, char *refusal, bool mismatch)
{
    if (!refusal)
        return SYM_NO_MEMORY;
    if (search->refusal) {
        free(refusal);
        return SYM_OK;
    }
    search->refusal = refusal;
    search->mismatch = mismatch;
    return SYM_OK;
}

static bool agrees(const struct search *search, const struct sym_object *object)
{
    return object->build_id_length == search->build_id_length &&
           memcmp(object->build_id, search->build_id, search->build_id_length) == 0;
}

static enum sym_status refuse_other_build(struct search *search, const struct sym_object *object)
{
    char wanted[HEX_MAX], has[HEX_MAX];

    format_hex(wanted, search->build_id, search->build_id_length);
    format_hex(has, object->build_id, object->build_id_length);
    if (object->build_id_length == 0)
        return refuse(
            search, sym_format("%s: the file has no build ID, %s is wanted", object->path, wanted),
            true);
    return refuse(search,
                  sym_format("%s: the file has build ID %s, not %s", object->path, has, wanted),
                  true);
}

/* Takes object.  */
static enum sym_status accept(struct search *search, struct sym_object *object)
{
    struct sym_object **found = sym_grow(search->found, &search->capacity, search->count,
                                         sizeof(struct sym_object *));
    bool code = false, dwarf = false, symtab = false;

    if (!found) {
        sym_object_free(object);
        return SYM_NO_MEMORY;
    }
    search->found = found;
    found[search->count++] = object;
    sym_object_close(object); /* the facts are enough for now, and descriptors are few */
    for (size_t i = 0; i < search->count; i++) {
        code |= found[i]->has_contents;
        dwarf |= found[i]->has_dwarf;
        symtab |= found[i]->has_symtab;
    }
    search->done = code && dwarf && symtab;
    return SYM_OK;
}

/* Looks at the file at path.  Below .build-id/ a file must prove its build ID; the path of the
 * recording is also taken when it has none to show.  */
static enum sym_status consider(struct search *search, const char *path, bool by_path)
{
    struct sym_object *object;
    struct sym_error error = { .status = SYM_OK };

    if (search->done)
        return SYM_OK;
    enum sym_status status = sym_object_open(path, SYM_OBJECT_MAIN, &object, &error);
    if (status == SYM_NO_MEMORY)
        return status;
    if (status == SYM_NOT_FOUND)
        return SYM_OK;
    if (status)
        return refuse(search, sym_format("%s", error.message), false);

    bool blind = search->build_id_length == 0 || (by_path && object->build_id_length == 0);
    if (!blind && !agrees(search, object)) {
        status = refuse_other_build(search, object);
        sym_object_free(object);
        return status;
    }
    search->unverified |= blind;
    return accept(search, object);
}

/* root/.build-id/xx/yyyy.debug, then the object itself under the same name.  */
static enum sym_status consider_tree(struct search *search, const char *root, const char *subtree)
{
    static const char *const suffixes[] = { ".debug", "" };
    char hex[HEX_MAX];
    enum sym_status status = SYM_OK;

    if (search->build_id_length < 2 || search->build_id_length > SYM_BUILD_ID_MAX)
        return SYM_OK;
    format_hex(hex, search->build_id, search->build_id_length);
    for (size_t i = 0; i < 2 && !status; i++) {
        char *path = sym_format("%s/%s%.2s/%s%s", root, subtree, hex, hex + 2, suffixes[i]);
        if (!path)
            return SYM_NO_MEMORY;
        status = consider(search, path, false);
        free(path);
    }
    return status;
}

/* A module without a known build ID is looked for under that of the file at its path.  */
static enum sym_status learn_build_id(struct search *search)
{
    enum sym_status status = consider(search, search->module->path, true);

    if (!status && search->count) {
        search->build_id = search->found[0]->build_id;
        search->build_id_length = search->found[0]->build_id_length;
    }
    return status;
}

static enum sym_status look_everywhere(struct search *search)
{
    const struct sym_session *session = search->module->session;
    const char *path = search->module->path;
    enum sym_status status = SYM_OK;
    bool by_path_alone = search->build_id_length == 0;

    if (by_path_alone)
        status = learn_build_id(search);
    for (size_t i = 0; i < session->symbol_dir_count && !status; i++)
        status = consider_tree(search, session->symbol_dirs[i], ".build-id/");
    if (!status && path && !by_path_alone)
        status = consider(search, path, true);
    if (!status && session->debug_root[0])
        status = consider_tree(search, session->debug_root, ".build-id/");
    return status;
}

/* ---- Choice ---- */

/* Of the symbol tables of object, which may be NULL.  */
static enum sym_quality quality_of(const struct sym_object *object)
{
    if (!object)
        return SYM_QUALITY_NONE;
    if (object->has_symtab)
        return SYM_QUALITY_SYMTAB;
    if (object->has_debugdata)
        return SYM_QUALITY_DEBUGDATA;
    return object->has_dynsym ? SYM_QUALITY_DYNSYM : SYM_QUALITY_NONE;
}

static void choose(struct search *search)
{
    struct sym_module *module = search->module;

    for (size_t i = 0; i < search->count; i++) {
        struct sym_object *object = search->found[i];
        if (!module->code && object->has_contents)
            module->code = object;
        if (!module->debug && object->has_dwarf)
            module->debug = object;
        if (quality_of(object) > quality_of(module->symbols))
            module->symbols = object;
    }
}

/* The first file that agrees and says why its debug information cannot be used.  */
static const struct sym_object *unusable(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->found[i]->debug_problem)
            return search->found[i];
    return NULL;
}

/* ---- Report ---- */

/* Interns text, which is taken, into *field.  */
static enum sym_status report_text(struct sym_module *module, const char **field, char *text)
{
    const char *interned = text ? sym_strings_intern(&module->strings, text, strlen(text)) : NULL;

    free(text);
    if (interned)
        *field = interned;
    return interned ? SYM_OK : SYM_NO_MEMORY;
}

/* Takes text, which may start with the path of a file and ": ".  Who asks for a module's report
 * knows the module's own path.  */
static enum sym_status report_problem(struct sym_module *module, char *text)
{
    size_t length = module->path ? strlen(module->path) : 0;

    if (text && length && strncmp(text, module->path, length) == 0 &&
        strncmp(text + length, ": ", 2) == 0)
        memmove(text, text + length + 2, strlen(text + length + 2) + 1);
    return report_text(module, &module->report.problem, text);
}

static char *missing_text(const struct search *search, const char *hex)
{
    const char *path = search->module->path;

    if (search->refusal)
        return sym_format("%s", search->refusal);
    if (search->build_id_length == 0)
        return sym_format("no file %s, and no build ID is known", path);
    if (path)
        return sym_format("no file %s, and none with build ID %s", path, hex);
    return sym_format("no file with build ID %s", hex);
}

static char *problem_text(const struct search *search, const char *hex)
{
    const struct sym_object *packed = unusable(search);
    static const char *const lacks[] = {
        [SYM_QUALITY_NONE] = "no symbols",
        [SYM_QUALITY_DYNSYM] = "stripped, only exported functions have names",
        [SYM_QUALITY_DEBUGDATA] = "stripped, only functions have names",
        [SYM_QUALITY_SYMTAB] = "no debug information",
    };

    if (search->count == 0)
        return missing_text(search, hex);
    if (packed)
        return sym_format("%s: %s", packed->path, packed->debug_problem);
    return sym_format("%s: %s%s%s", search->found[0]->path, lacks[search->module->report.quality],
                      search->refusal ? "; " : "", search->refusal ? search->refusal : "");
}

/* Where a debug file would be found, as a phrase for people.  */
static char *place_text(const char *hex)
{
    if (strlen(hex) < 4)
        return sym_format("or build it with -g and --build-id");
    return sym_format("or put its debug file into a symbol directory as .build-id/%.2s/%s.debug",
                      hex, hex + 2);
}

static char *remedy_text(const struct search *search, const char *hex)
{
    const struct sym_object *packed = unusable(search);
    const char *start = "install the package with its debug information (-dbgsym or -debuginfo)";
    char *text, *place;

    if (packed)
        return sym_format("%s", packed->debug_remedy);
    if (search->mismatch)
        start = "that file was built anew: install the version that was recorded";
    else if (search->refusal && search->count == 0)
        start = "make that file readable";
    place = place_text(hex);
    text = place ? sym_format("%s, %s", start, place) : NULL;
    free(place);
    return text;
}

static enum sym_status write_report(struct search *search)
{
    struct sym_module *module = search->module;
    struct sym_report *report = &module->report;
    const struct sym_object *names = module->debug ? module->debug : module->symbols;
    char hex[HEX_MAX];
    enum sym_status status = SYM_OK;

    format_hex(hex, search->build_id, search->build_id_length);
    report->quality = module->debug ? SYM_QUALITY_DWARF : quality_of(module->symbols);
    report->unverified = search->unverified;
    report->code_path = module->code ? module->code->path : "";
    report->debug_path = names ? names->path : "";
    if (report->quality == SYM_QUALITY_DWARF)
        return SYM_OK;
    status = report_problem(module, problem_text(search, hex));
    return status ? status : report_text(module, &report->remedy, remedy_text(search, hex));
}

enum sym_status sym_module_downgrade(struct sym_module *module, const char *problem,
                                     const char *remedy)
{
    struct sym_report *report = &module->report;

    report->quality = quality_of(module->symbols);
    if (!module->loaded.has_dwarf)
        report->debug_path = module->symbols ? module->symbols->path : "";
    enum sym_status status = report_problem(module, sym_format("%s", problem));
    return status ? status : report_text(module, &report->remedy, sym_format("%s", remedy));
}

enum sym_status sym_module_check_files(struct sym_module *module, bool ask)
{
    const struct sym_object *files[] = { module->debug, module->symbols };
    struct sym_report *report = &module->report;

    for (size_t i = 0; i < 2; i++) {
        if (!files[i] || !sym_object_changed(files[i], ask))
            continue;
        char *problem = sym_format("%s: the file was cut or rewritten while it was read",
                                   files[i]->path);
        enum sym_status status = report_problem(module, problem);
        if (status)
            return status;
        report->quality = SYM_QUALITY_NONE; /* any of its names may be wrong */
        if (module->symbols && !sym_object_changed(module->symbols, ask))
            report->quality = quality_of(module->symbols);
        return report_text(module, &report->remedy,
                           sym_format("look again when nothing writes to that file"));
    }
    return SYM_OK;
}

/* Frees what was found and is not of use.  */
static void search_release(struct search *search)
{
    const struct sym_module *module = search->module;

    for (size_t i = 0; i < search->count; i++) {
        struct sym_object *object = search->found[i];
        if (object != module->code && object != module->debug && object != module->symbols)
            sym_object_free(object);
    }
    free(search->found);
    free(search->refusal);
}

enum sym_status sym_module_find(struct sym_module *module, struct sym_error *error)
{
    struct search search = { .module = module,
                             .build_id = module->build_id,
                             .build_id_length = module->build_id_length };
    enum sym_status status = look_everywhere(&search);

    if (!status) {
        choose(&search);
        status = write_report(&search);
    }
    search_release(&search);
    return status ? sym_fail(error, status, "out of memory") : SYM_OK;
}
