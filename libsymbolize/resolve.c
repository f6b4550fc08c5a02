/* resolve.c - frames for an address, from debug information and symbols. */
#include "libsymbolize/symbolize_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "libsymbolize/fallback.h"

enum {
    SEGMENTS_OF_SYMBOL = 64, /* that are looked at for its start */
};

/* ---- Loading ---- */

static enum sym_status find_dwo(void *context, const struct sym_unit *skeleton, sym_fits_fn fits,
                                void *fits_context, struct sym_object **out,
                                struct sym_error *error)
{
    struct sym_module *module = context;

    (void)pthread_mutex_lock(&module->session->lock);
    enum sym_status status = sym_find_dwo(module, skeleton->comp_dir, skeleton->dwo_name, fits,
                                          fits_context, out, error);
    (void)pthread_mutex_unlock(&module->session->lock);
    return status;
}

static enum sym_status find_dwp(void *context, sym_fits_fn fits, void *fits_context,
                                struct sym_object **out, struct sym_error *error)
{
    struct sym_module *module = context;

    (void)pthread_mutex_lock(&module->session->lock);
    enum sym_status status = sym_find_dwp(module, fits, fits_context, out, error);
    (void)pthread_mutex_unlock(&module->session->lock);
    return status;
}

static enum sym_status find_alt(void *context, struct sym_object **out, struct sym_error *error)
{
    struct sym_module *module = context;

    (void)pthread_mutex_lock(&module->session->lock);
    enum sym_status status = sym_find_alt(module, out, error);
    (void)pthread_mutex_unlock(&module->session->lock);
    return status;
}

static enum sym_status load_dwarf(struct sym_module *module)
{
    struct sym_finder finder = {
        .dwo = find_dwo, .dwp = find_dwp, .alt = find_alt, .context = module
    };
    struct sym_loaded *loaded = &module->loaded;
    struct sym_error error = { .status = SYM_OK };

    if (!module->debug)
        return SYM_OK;
    loaded->dwarf.details = module->session->details;
    loaded->dwarf.relative = module->session->relative_files;
    enum sym_status status = sym_object_reopen(module->debug, &error);
    if (!status)
        status = sym_dwarf_open(&loaded->dwarf, module->debug, &finder, &module->strings, &error);
    loaded->has_dwarf = !status;
    if (!status)
        return status;
    sym_dwarf_close(&loaded->dwarf);
    if (status == SYM_NO_MEMORY && sym_module_exceeded(module))
        return sym_module_report_limit(module, "debug information takes");
    if (status == SYM_NO_MEMORY)
        return status;
    if (error.system_errno == EFBIG)
        return sym_module_downgrade(module, error.message,
                                    "if the file is neither damaged nor hostile, --no-limit reads "
                                    "it");
    if (error.system_errno == ENOTSUP)
        return sym_module_downgrade(module, error.message,
                                    "look the linked program up instead, whose relocations are "
                                    "applied");
    return sym_module_downgrade(module, error.message,
                                "fetch or build that file again; if it is sound, unpack its debug "
                                "sections (objcopy --decompress-debug-sections IN OUT)");
}

static enum sym_status report_full(struct sym_module *module)
{
    uint64_t limit = module->strings.limit ? module->strings.limit : sym_strings_limit(0);
    char *problem = sym_format("its names take more than %llu MiB, the limit for a file of that "
                               "size: the others are left out",
                               (unsigned long long)(limit >> 20));
    enum sym_status status = problem ? sym_module_downgrade(module, problem,
                                                            "if the file is neither damaged nor "
                                                            "hostile, --no-limit reads them")
                                     : SYM_NO_MEMORY;

    base_free(problem);
    return status;
}

/* What is missed, for the report: functions of split units, then names in a supplement.  */
enum sym_status sym_module_check_companions(struct sym_module *module)
{
    const struct sym_dwarf *dwarf = &module->loaded.dwarf;
    const char *remedy = "keep the .dwo files where they were built, or put them or a package "
                         "(dwp -e PROGRAM) beside the program";
    char *problem;

    if (module->strings.is_full)
        return report_full(module);
    if (!module->loaded.has_dwarf || (!dwarf->missing_splits && !dwarf->missing_alt[0]))
        return SYM_OK;
    if (dwarf->missing_splits) {
        problem = sym_format("functions of %zu unit%s are only known by symbols: %s",
                             dwarf->missing_splits, dwarf->missing_splits == 1 ? "" : "s",
                             dwarf->missing);
    } else {
        problem = sym_format("names of inlined functions are missing: %s", dwarf->missing_alt);
        remedy = "install the package that holds that file (-debuginfo-common, -dbgsym)";
    }
    enum sym_status status = problem ? sym_module_downgrade(module, problem, remedy)
                                     : SYM_NO_MEMORY;
    base_free(problem);
    return status;
}

/* A cache file is made only where nothing was missed.  */
enum sym_status sym_module_seek_companions(struct sym_module *module, struct sym_error *error)
{
    enum sym_status status = module->cache ? SYM_OK : sym_module_load(module);
    struct sym_dwarf *dwarf = &module->loaded.dwarf;

    if (!status && !module->cache && module->loaded.has_dwarf) {
        for (size_t i = 0; i < dwarf->unit_count && !status; i++) {
            status = sym_unit_open_split(dwarf, &dwarf->units[i]);
            sym_unit_close_split(dwarf, &dwarf->units[i]);
        }
        if (!status)
            status = sym_module_check_companions(module);
    }
    return status ? sym_fail(error, status, "out of memory") : SYM_OK;
}

static enum sym_status read_units(struct sym_module *module)
{
    struct sym_dwarf *dwarf = &module->loaded.dwarf;
    enum sym_status status = sym_ahead_start(dwarf, NULL, module->seat->jobs);
    struct sym_unit *unit;

    for (size_t i = 0; i < dwarf->segments.count && !status; i++) {
        status = sym_dwarf_unit(dwarf, dwarf->segments.items[i].start, NULL, &unit);
        if (status || !unit)
            continue;
        status = sym_functions_decode(&dwarf->decoder, unit);
        sym_fallback_check_calls(dwarf, unit);
    }
    sym_ahead_end(dwarf);
    return status ? status : sym_module_check_fallback(module);
}

enum sym_status sym_module_seek_damage(struct sym_module *module, struct sym_error *error)
{
    enum sym_status status = module->cache ? SYM_OK : sym_module_load(module);

    if (!status && !module->cache && module->loaded.has_dwarf) {
        struct base_account *before = base_account_enter(&module->account);
        status = read_units(module);
        (void)(status && sym_module_shed(module, &status)); /* look-ups may take less */
        (void)base_account_enter(before);
    }
    return status ? sym_fail(error, status, "out of memory") : SYM_OK;
}

/* Its addresses count from the first segment, where that is known.  */
static enum sym_status load_breakpad(struct sym_module *module)
{
    struct sym_object *object = module->breakpad;
    const struct sym_object *code = module->code;

    if (!object || module->loaded.has_dwarf)
        return SYM_OK;
    enum sym_status status = sym_object_reopen(object, NULL);
    if (!status)
        status = sym_breakpad_open(&module->loaded.breakpad, object->image,
                                   code && code->load_count ? code->loads[0].vaddr : 0);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

static enum sym_status open_symbols(struct sym_module *module)
{
    struct sym_object *objects[] = { module->symbols, module->code };
    enum sym_status status = SYM_OK;

    for (size_t i = 0; i < 2; i++) {
        if (objects[i])
            status = sym_object_reopen(objects[i], NULL);
        if (status == SYM_NO_MEMORY)
            return status;
        if (status)
            objects[i] = NULL;
        status = SYM_OK;
    }
    status = load_breakpad(module);
    if (status)
        return status;
    if (objects[1] && objects[1]->has_go && !module->loaded.has_dwarf &&
        !module->loaded.breakpad.ready)
        sym_go_open(&module->loaded.go, objects[1]);
    if (objects[0] || objects[1])
        status = sym_symbols_read(&module->loaded.symbols, objects[0], objects[1], NULL);
    return status == SYM_NO_MEMORY ? status : SYM_OK;
}

/* Symbols that cannot be read are no worse than none.  */
static enum sym_status load_symbols(struct sym_module *module)
{
    enum sym_status status = open_symbols(module);

    if (status == SYM_NO_MEMORY && sym_module_exceeded(module))
        return sym_module_shed_symbols(module);
    return status;
}

static uint64_t file_bytes(const struct sym_module *module)
{
    const struct sym_object *objects[] = { module->debug, module->symbols, module->code };
    uint64_t bytes = 0;

    for (size_t i = 0; i < 3; i++)
        if (objects[i] && objects[i]->file_bytes > bytes)
            bytes = objects[i]->file_bytes;
    return bytes;
}

static enum sym_status load(struct sym_module *module)
{
    module->strings.limit = module->session->no_limit ? UINT64_MAX
                                                      : sym_strings_limit(file_bytes(module));
    enum sym_status status = load_dwarf(module);
    return status ? status : load_symbols(module);
}

/* One module's debug information is in memory at a time: that of a process with its libraries would
 * take gigabytes, and callers look each module up once.  */
enum sym_status sym_module_load(struct sym_module *module)
{
    struct sym_seat *seat = module->seat;

    if (module->loaded.done)
        return SYM_OK;
    if (seat->loaded)
        sym_module_unload(seat->loaded);
    seat->loaded = module;
    struct base_account *before = base_account_enter(&module->account);
    enum sym_status status = load(module);
    (void)base_account_enter(before);
    if (status) {
        sym_module_unload(module);
        seat->loaded = NULL;
        return status;
    }
    module->loaded.done = true;
    return SYM_OK;
}

/* ---- Frames ---- */

enum sym_status sym_frames_add(struct sym_frames *frames, struct sym_frame frame)
{
    if (!base_make_room(&frames->items, &frames->capacity, frames->count + 1,
                        sizeof *frames->items))
        return SYM_NO_MEMORY;
    frames->items[frames->count++] = frame;
    return SYM_OK;
}

/* How much of a plain name is the function's own: the rest tells a part or copy that the compiler
 * made of it, "main.cold", "work.part.0".  */
static size_t length_without_clone(const char *name)
{
    static const char *const marks[] = { ".cold", ".part.", ".constprop.", ".isra.", ".lto_priv." };
    const char *first = NULL;

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *found = strstr(name, marks[i]);
        size_t length = strlen(marks[i]);
        if (!found || found == name || (first && found > first))
            continue;
        char next = found[length]; /* of ".cold": the end, or a number */
        bool numbered = marks[i][length - 1] == '.' ? next >= '0' && next <= '9'
                                                    : next == '\0' || next == '.';
        if (numbered)
            first = found;
    }
    return first ? (size_t)(first - name) : strlen(name);
}

/* Names of the symbol around vaddr into loaded->last_*; *found is false in a gap.  Cuts span to
 * where the answer holds.  */
static enum sym_status find_symbol(struct sym_module *module, uint64_t vaddr, struct sym_span *span,
                                   bool *found)
{
    struct sym_loaded *loaded = &module->loaded;
    const struct sym_segments *segments = &loaded->symbols.segments;
    char *readable = NULL;

    loaded->symbol_at = sym_segments_narrow(segments->items, segments->count, vaddr,
                                            loaded->symbol_at, span);
    const struct sym_symbol *symbol = sym_symbols_at(&loaded->symbols, loaded->symbol_at);
    *found = symbol != NULL;
    if (!symbol || symbol == loaded->last_symbol)
        return SYM_OK;
    loaded->last_symbol = NULL;
    const char *linkage_name = sym_strings_intern(&module->strings, symbol->name,
                                                  sym_symbol_length(symbol));
    if (!linkage_name)
        return SYM_NO_MEMORY;
    enum sym_status status = sym_demangle_name(linkage_name, &readable);
    if (status == SYM_NO_MEMORY)
        return status;
    loaded->last_linkage_name = linkage_name;
    loaded->last_is_mangled = readable != NULL;
    if (readable)
        loaded->last_function = sym_strings_intern(&module->strings, readable, strlen(readable));
    else
        loaded->last_function = sym_strings_intern(&module->strings, linkage_name,
                                                   length_without_clone(linkage_name));
    base_free(readable);
    if (!loaded->last_function)
        return SYM_NO_MEMORY;
    loaded->last_symbol = symbol;
    return SYM_OK;
}

/* What struct sym_frame has with sym_options.details.  */
static enum sym_status add_details(struct sym_loaded *loaded, struct sym_unit *unit, uint32_t scope,
                                   struct sym_frame *frame)
{
    const struct sym_scope_detail *details = unit->scopes.details;

    if (!details)
        return SYM_OK;
    frame->has_start = details[scope].start != UINT64_MAX;
    frame->start_vaddr = frame->has_start ? details[scope].start : 0;
    return sym_name_file(&loaded->dwarf, unit, unit->scopes.items[scope].name, &frame->start_file);
}

/* The frames that debug information gives, up to the real function.  */
static enum sym_status scope_frames(struct sym_loaded *loaded, struct sym_unit *unit,
                                    uint64_t vaddr, struct sym_frames *frames)
{
    struct sym_dwarf *dwarf = &loaded->dwarf;
    struct sym_place *place = &loaded->place;
    struct sym_frame frame = { .file = "", .source = SYM_QUALITY_DWARF };
    enum sym_status status = sym_unit_place(&dwarf->decoder, unit, vaddr, place);

    sym_fallback_check_calls(dwarf, unit);
    if (place->span.start > frames->span.start)
        frames->span.start = place->span.start;
    if (place->span.limit < frames->span.limit)
        frames->span.limit = place->span.limit;
    if (!status && place->row) {
        frame.line = place->row->line;
        frame.column = place->row->column;
        frame.discriminator = place->row->discriminator;
        status = sym_unit_file(dwarf, unit, place->row->file, &frame.file);
    }
    uint32_t index = place->scope;
    while (!status && index != SYM_NO_VALUE) {
        struct sym_scope *scope = &unit->scopes.items[index];
        status = sym_scope_name(dwarf, scope);
        if (status)
            break;
        frame.function = scope->name->function;
        frame.linkage_name = scope->name->linkage_name;
        frame.start_line = scope->name->start_line;
        frame.inlined = scope->parent != SYM_NO_VALUE;
        status = add_details(loaded, unit, index, &frame);
        if (!status)
            status = sym_frames_add(frames, frame);
        frame.discriminator = unit->scopes.details ? unit->scopes.details[index].call_discriminator
                                                   : 0;
        index = scope->parent; /* always an earlier scope */
        frame.line = scope->call_line;
        frame.column = scope->call_column;
        if (!status && index != SYM_NO_VALUE)
            status = sym_unit_call_file(dwarf, unit, scope->call_file, &frame.file);
    }
    if (status || frames->count)
        return status;
    frame.function = frame.linkage_name = ""; /* but perhaps a line: what a symbol may complete */
    return sym_frames_add(frames, frame);
}

/* Where the last symbol that was found begins.  Its segments lie near each other: others are nested
 * in it.  */
static uint64_t start_of_symbol(const struct sym_loaded *loaded)
{
    const struct sym_segment *segments = loaded->symbols.segments.items;
    ptrdiff_t at = loaded->symbol_at, first = at > SEGMENTS_OF_SYMBOL ? at - SEGMENTS_OF_SYMBOL : 0;
    uint64_t start = segments[at].start;

    for (ptrdiff_t i = first; i < at; i++)
        if (segments[i].value == segments[at].value)
            return segments[i].start;
    return start;
}

/* Completes frames with what a symbol alone knows: where a function in several pieces begins.  */
static enum sym_status complete_start(struct sym_module *module, uint64_t vaddr,
                                      struct sym_frames *frames)
{
    struct sym_frame *outermost = frames->count ? &frames->items[frames->count - 1] : NULL;
    bool found;

    if (!module->session->details || !outermost || outermost->has_start)
        return SYM_OK;
    enum sym_status status = find_symbol(module, vaddr, &frames->span, &found);
    if (!status && found) {
        outermost->has_start = true;
        outermost->start_vaddr = start_of_symbol(&module->loaded);
    }
    return status;
}

/* The real function also has a symbol, which knows its linkage name where debug information does
 * not (C), and names code that debug information does not cover (assembler).  */
static enum sym_status complete_with_symbol(struct sym_module *module, uint64_t vaddr,
                                            struct sym_frames *frames)
{
    struct sym_loaded *loaded = &module->loaded;
    struct sym_frame *outermost;
    bool found;

    if (frames->count && frames->items[frames->count - 1].linkage_name[0])
        return SYM_OK;
    enum sym_status status = find_symbol(module, vaddr, &frames->span, &found);
    if (status)
        return status;
    /* Padding between functions may have a line, but is in none of them.  */
    if (!found && frames->count == 1 && !frames->items[0].function[0] && !frames->items[0].line)
        frames->count = 0;
    if (!found)
        return SYM_OK;
    if (frames->count == 0) {
        status = sym_frames_add(frames, (struct sym_frame){ .function = "", .file = "" });
        if (status)
            return status;
    }
    outermost = &frames->items[frames->count - 1];
    outermost->linkage_name = loaded->last_linkage_name;
    /* A mangled symbol says more than the plain name of a local class's function.  */
    if (!outermost->function[0] || loaded->last_is_mangled) {
        outermost->function = loaded->last_function;
        outermost->source = (enum sym_quality)loaded->last_symbol->source;
    }
    return SYM_OK;
}

static enum sym_status find_frames(struct sym_module *module, uint64_t vaddr,
                                   struct sym_frames *frames)
{
    struct sym_loaded *loaded = &module->loaded;
    struct sym_unit *unit = NULL;
    enum sym_status status = SYM_OK;

    if (loaded->has_dwarf)
        status = sym_dwarf_unit(&loaded->dwarf, vaddr, &frames->span, &unit);
    if (!status && unit)
        status = scope_frames(loaded, unit, vaddr, frames);
    if (!status && loaded->go.ready)
        status = sym_go_frames(module, vaddr, frames);
    if (!status && loaded->breakpad.ready)
        status = sym_breakpad_frames(module, vaddr, false, frames);
    if (!status)
        status = complete_with_symbol(module, vaddr, frames);
    if (!status && loaded->breakpad.ready && !frames->count)
        status = sym_breakpad_frames(module, vaddr, true, frames);
    return status ? status : complete_start(module, vaddr, frames);
}

enum sym_status sym_module_frames(struct sym_module *module, uint64_t vaddr,
                                  struct sym_frames *frames)
{
    if (vaddr >= frames->span.start && vaddr < frames->span.limit)
        return SYM_OK;
    frames->count = 0;
    frames->span = (struct sym_span){ .limit = UINT64_MAX };
    enum sym_status status = find_frames(module, vaddr, frames);
    if (status)
        frames->span = (struct sym_span){ 0 };
    return status;
}
