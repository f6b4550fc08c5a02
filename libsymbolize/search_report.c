/* search_report.c - what to tell people about the files of a module, and the trail of the
 * search.  */
#include "libsymbolize/fallback.h"
#include "libsymbolize/sym_session.h"
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum sym_quality sym_symbols_quality(const struct sym_object *object)
{
    if (!object)
        return SYM_QUALITY_NONE;
    if (object->has_symtab || object->has_go || object->breakpad)
        return SYM_QUALITY_SYMTAB;
    if (object->has_debugdata)
        return SYM_QUALITY_DEBUGDATA;
    return object->has_dynsym ? SYM_QUALITY_DYNSYM : SYM_QUALITY_NONE;
}

/* ---- Trail ---- */

static const char *intern(struct sym_module *module, const char *text)
{
    return text ? sym_strings_keep(&module->strings, text, strlen(text)) : NULL;
}

enum sym_status sym_trail_add(struct sym_module *module, enum sym_trail_place place,
                              enum sym_outcome outcome, enum sym_quality quality, const char *path,
                              const char *reason)
{
    struct sym_trail_step step = { .place = place,
                                   .outcome = outcome,
                                   .quality = quality,
                                   .path = intern(module, path),
                                   .reason = intern(module, reason) };

    if (!step.path || !step.reason ||
        !base_make_room(&module->steps, &module->step_capacity, module->step_count + 1,
                        sizeof *module->steps))
        return SYM_NO_MEMORY;
    module->steps[module->step_count++] = step;
    return SYM_OK;
}

const struct sym_trail_step *sym_module_trail(const struct sym_module *module, size_t *count)
{
    *count = module->step_count;
    return module->steps;
}

/* ---- Sentences ---- */

/* Interns text, which is taken, into *field.  */
static enum sym_status report_text(struct sym_module *module, const char **field, char *text)
{
    const char *interned = intern(module, text);

    base_free(text);
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

enum sym_path_kind sym_path_kind(const char *path)
{
    static const char *const kernels[] = { "[kernel]", "[kernel.kallsyms]",
                                           "[guest.kernel.kallsyms]" };
    static const char *const memory[] = { "[vdso]", "[vvar", "[vsyscall]", "[heap]",
                                          "[stack", "[anon", "[uprobes]" };

    if (!path || path[0] != '[')
        return SYM_PATH_FILE;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(path, kernels[i]) == 0)
            return SYM_PATH_KERNEL;
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (strncmp(path, memory[i], strlen(memory[i])) == 0)
            return SYM_PATH_MEMORY;
    return SYM_PATH_KERNEL_MODULE;
}

/* The first file that agrees and says why its debug information cannot be used.  */
static const struct sym_object *unusable(const struct sym_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->found[i]->debug_problem)
            return findings->found[i];
    return NULL;
}

/* "[vdso]" and its like: no package has them.  */
static bool is_brought_along(const char *path)
{
    return path && (strncmp(path, "[vdso", 5) == 0 || strncmp(path, "[vsyscall", 9) == 0 ||
                    strncmp(path, "[uprobes", 8) == 0);
}

static char *missing_text(const struct sym_module *module, const struct sym_findings *findings,
                          const char *hex)
{
    const char *path = module->path;

    if (findings->refusal)
        return sym_format("%s", findings->refusal);
    if (is_brought_along(path))
        return sym_format("code provided by the kernel, not in a file");
    if (findings->build_id_length == 0 && sym_path_kind(path) == SYM_PATH_MEMORY)
        return sym_format("%s is memory without a file, and no build ID is known", path);
    if (findings->build_id_length == 0 && sym_path_kind(path) != SYM_PATH_FILE)
        return sym_format("no symbols found, and no build ID is known");
    if (findings->build_id_length == 0)
        return sym_format("no file %s, and no build ID is known", path);
    if (path)
        return sym_format("no file %s, and none with build ID %s", path, hex);
    return sym_format("no file with build ID %s", hex);
}

/* None of the files that agree has code: libraries of data, of locales or icons.  No package has
 * functions of them.  */
static bool has_no_code(const struct sym_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct sym_object *object = findings->found[i];

        if (object->kallsyms || object->breakpad || object->section_prefix || object->code_count)
            return false;
    }
    return findings->count > 0;
}

static char *lack_text(const struct sym_module *module, const struct sym_findings *findings,
                       const char *hex)
{
    const struct sym_object *packed = unusable(findings);
    static const char *const lacks[] = {
        [SYM_QUALITY_NONE] = "no symbols",
        [SYM_QUALITY_DYNSYM] = "stripped, only exported functions have names",
        [SYM_QUALITY_DEBUGDATA] = "stripped, functions have names but no lines",
        [SYM_QUALITY_SYMTAB] = "no debug information",
    };

    if (findings->count == 0)
        return missing_text(module, findings, hex);
    if (packed)
        return sym_format("%s: %s", packed->path, packed->debug_problem);
    if (has_no_code(findings))
        return sym_format("%s: it has no code, only data, so it has no functions",
                          findings->found[0]->path);
    if (findings->found[0]->kallsyms)
        return sym_format("%s: names of functions, but no lines", findings->found[0]->path);
    return sym_format("%s: %s%s%s", findings->found[0]->path, lacks[module->report.quality],
                      findings->refusal ? "; " : "", findings->refusal ? findings->refusal : "");
}

static char *problem_text(const struct sym_module *module, const struct sym_findings *findings,
                          const char *hex)
{
    char *lack = lack_text(module, findings, hex);

    if (!lack || !findings->servers)
        return lack;
    char *text = sym_format("%s; debuginfod: %s", lack, findings->servers);
    base_free(lack);
    return text;
}

/* Whether there are servers that were not asked because nobody allowed it.  */
static bool may_ask(const struct sym_module *module, const struct sym_findings *findings)
{
    const char *urls = getenv("DEBUGINFOD_URLS");

    return !module->session->debuginfod && findings->build_id_length >= 2 && urls && urls[0];
}

/* Where a debug file would be found, as a phrase for people.  */
static char *place_text(const char *hex)
{
    if (strlen(hex) < 4)
        return sym_format("or build it with -g and --build-id");
    return sym_format("or put its debug file into a symbol directory as .build-id/%.2s/%s.debug",
                      hex, hex + 2);
}

/* For what has no file of its own, and no build ID.  */
static char *bracketed_remedy(enum sym_path_kind kind, const struct sym_findings *findings)
{
    const char *whole = kind == SYM_PATH_KERNEL ? "" : " while the module is loaded";

    if (kind == SYM_PATH_MEMORY)
        return sym_format("%s", "");
    if (findings->count)
        return sym_format(
            "lines are in the kernel's debug package (linux-image-...-dbg, kernel-debuginfo), "
            "whose files are found by build ID: record the kernel's build ID, too");
    if (findings->refusal)
        return sym_format("copy /proc/kallsyms as root%s", whole);
    return sym_format("pass /proc/kallsyms, or a copy made by root%s, as symbol path", whole);
}

static char *remedy_text(const struct sym_module *module, const struct sym_findings *findings,
                         const char *hex)
{
    const struct sym_object *packed = unusable(findings);
    enum sym_path_kind kind = sym_path_kind(module->path);
    const char *start = "install the package with its debug information (-dbgsym or -debuginfo)";
    char *text, *place;

    if (packed)
        return sym_format("%s", packed->debug_remedy);
    if (has_no_code(findings) || (findings->count == 0 && is_brought_along(module->path)))
        return sym_format("%s", "");
    if (kind != SYM_PATH_FILE && findings->build_id_length == 0)
        return bracketed_remedy(kind, findings);
    if (findings->refusal && findings->count == 0 && findings->build_id_length == 0 &&
        findings->refusal_kind == SYM_REFUSAL_ACCESS)
        return sym_format("make that file readable");
    if (kind == SYM_PATH_KERNEL || kind == SYM_PATH_KERNEL_MODULE)
        start = "install the kernel's debug package (linux-image-...-dbg, kernel-debuginfo)";
    if (findings->refusal && findings->refusal_kind == SYM_REFUSAL_OTHER_BUILD)
        start = "that file was rebuilt after the recording: install the recorded version";
    else if (findings->refusal && findings->count == 0)
        start = findings->refusal_kind == SYM_REFUSAL_ACCESS ? "make that file readable"
                                                             : "name the recorded program";
    place = place_text(hex);
    const char *ask = may_ask(module, findings) ? "ask the servers of DEBUGINFOD_URLS "
                                                  "(--debuginfod), or "
                                                : "";
    text = place ? sym_format("%s%s, %s", ask, start, place) : NULL;
    base_free(place);
    return text;
}

/* What serves without debug information.  */
static const struct sym_object *fallback_names(const struct sym_module *module)
{
    return module->breakpad ? module->breakpad : module->symbols;
}

static enum sym_status report_load_address(struct sym_module *module)
{
    enum sym_status status = report_problem(
        module, sym_format("%s: the object itself was not found, so its load address is assumed to "
                           "be 0, as in position-independent objects",
                           module->breakpad->path));

    return status ? status
                  : report_text(module, &module->report.remedy,
                                sym_format("put the object into a symbol directory, too"));
}

static bool is_32_bit(const struct sym_object *object)
{
    return object && !object->is_64 && !object->kallsyms && !object->breakpad;
}

enum sym_status sym_report_write(struct sym_module *module, const struct sym_findings *findings)
{
    struct sym_report *report = &module->report;
    const struct sym_object *names = module->debug ? module->debug : fallback_names(module);
    struct sym_hex hex = sym_hex_of(findings->build_id, findings->build_id_length);

    report->quality = module->debug ? SYM_QUALITY_DWARF : sym_symbols_quality(names);
    report->unverified = findings->unverified;
    report->code_path = module->code ? module->code->path : "";
    report->debug_path = names ? names->path : "";
    report->go_table = !module->debug && names && names->has_go;
    report->breakpad = !module->debug && module->breakpad;
    report->is_32_bit = is_32_bit(module->code ? module->code : names);
    if (report->breakpad && !module->code)
        return report_load_address(module);
    if (report->quality == SYM_QUALITY_DWARF || report->go_table || report->breakpad)
        return SYM_OK;
    enum sym_status status = report_problem(module, problem_text(module, findings, hex.text));
    return status ? status
                  : report_text(module, &report->remedy, remedy_text(module, findings, hex.text));
}

/* ---- What a look-up brought to light ---- */

enum sym_status sym_module_downgrade(struct sym_module *module, const char *problem,
                                     const char *remedy)
{
    struct sym_report *report = &module->report;

    if (!module->loaded.has_dwarf) {
        const struct sym_object *names = fallback_names(module);
        report->quality = sym_symbols_quality(names);
        report->debug_path = names ? names->path : "";
        report->breakpad = module->breakpad != NULL;
    }
    enum sym_status status = report_problem(module, sym_format("%s", problem));
    return status ? status : report_text(module, &report->remedy, sym_format("%s", remedy));
}

enum sym_status sym_module_check_fallback(struct sym_module *module)
{
    const struct sym_fallback *fallback = &module->loaded.dwarf.fallback;

    struct sym_report *report = &module->report;
    enum sym_status status = SYM_OK;

    /* Debug information that is read again forgets what other addresses brought to light.  */
    if (fallback->unit_count > report->fallback_units) {
        report->fallback_units = fallback->unit_count;
        status = report_text(module, &report->fallback, sym_fallback_sentence(fallback));
    }
    if (!status && fallback->missed_count > report->unread_units) {
        report->unread_units = fallback->missed_count;
        status = report_text(module, &report->unread, sym_fallback_missed(fallback));
    }
    return status;
}

enum sym_status sym_module_check_files(struct sym_module *module, bool ask)
{
    const struct sym_object *files[] = { module->debug, module->breakpad, module->symbols };
    struct sym_report *report = &module->report;

    for (size_t i = 0; i < 3; i++) {
        if (!files[i] || !sym_object_changed(files[i], ask))
            continue;
        char *problem = sym_format("%s: the file was cut or rewritten while it was read",
                                   files[i]->path);
        enum sym_status status = report_problem(module, problem);
        if (status)
            return status;
        report->quality = SYM_QUALITY_NONE; /* any of its names may be wrong */
        if (module->symbols && !sym_object_changed(module->symbols, ask))
            report->quality = sym_symbols_quality(module->symbols);
        return report_text(module, &report->remedy,
                           sym_format("run again when no program writes to that file"));
    }
    return SYM_OK;
}
