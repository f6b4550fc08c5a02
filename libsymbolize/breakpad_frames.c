/* breakpad_frames.c - frames from Breakpad symbol files. */
#include "base/bisect.h"
#include "libsymbolize/symbolize_internal.h"
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_MAX = 64,       /* inlined ones of an address */
    LAST_NAME_BYTES = 4096 /* of code that the last PUBLIC record may stand for */
};

/* The address that is looked up, and the addresses around it with the same answer, as the file has
 * them.  */
struct lookup {
    struct sym_module *module;
    struct sym_breakpad *breakpad;
    uint64_t address;
    struct sym_span span;
};

static void cut(struct lookup *lookup, uint64_t start, uint64_t limit)
{
    if (start > lookup->span.start)
        lookup->span.start = start;
    if (limit < lookup->span.limit)
        lookup->span.limit = limit;
}

/* ---- Searching ---- */

/* The function at the address; SIZE_MAX: none.  */
static size_t find_function(struct lookup *lookup)
{
    const struct sym_breakpad *breakpad = lookup->breakpad;
    const struct sym_breakpad_function *items = breakpad->functions;
    size_t low = 0, high = breakpad->function_count;

    /* The first that starts after the address.  */
    BASE_BISECT(low, high, i, items[i].start <= lookup->address);
    uint64_t next = low < breakpad->function_count ? items[low].start : UINT64_MAX;
    uint64_t limit = low ? items[low - 1].limit : 0;
    if (low && !limit) { /* a PUBLIC record has no size */
        bool last = low == breakpad->function_count;
        if (!last || __builtin_add_overflow(items[low - 1].start, LAST_NAME_BYTES, &limit))
            limit = UINT64_MAX;
    }
    if (limit > next)
        limit = next;
    if (low && lookup->address < limit) {
        cut(lookup, items[low - 1].start, limit);
        return low - 1;
    }
    cut(lookup, limit, next);
    return SIZE_MAX;
}

/* The last piece of that level which starts at or before the address, if it has the address.  */
static const struct sym_breakpad_piece *find_piece(struct lookup *lookup, uint32_t level)
{
    const struct sym_breakpad_piece *items = lookup->breakpad->pieces, *found = NULL;
    size_t count = lookup->breakpad->piece_count, low = 0, high = count;

    BASE_BISECT(low, high, i,
                items[i].level < level ||
                    (items[i].level == level && items[i].start <= lookup->address));
    uint64_t next = low < count && items[low].level == level ? items[low].start : UINT64_MAX;
    if (low && items[low - 1].level == level)
        found = &items[low - 1];
    if (found && lookup->address < found->limit) {
        cut(lookup, found->start, found->limit < next ? found->limit : next);
        return found;
    }
    cut(lookup, found ? found->limit : 0, next);
    return NULL;
}

/* ---- Names ---- */

static enum sym_status intern(struct lookup *lookup, struct sym_bytes text, const char **out)
{
    *out = sym_strings_intern(&lookup->module->strings, (const char *)text.data,
                              strnlen((const char *)text.data, text.size));
    return *out ? SYM_OK : SYM_NO_MEMORY;
}

/* A name, and its readable form: tools leave some mangled.  */
static enum sym_status read_name(struct lookup *lookup, struct sym_bytes text, const char **name,
                                 const char **linkage_name)
{
    static const char omitted[] = "<name omitted>";
    char *readable = NULL;

    *name = *linkage_name = "";
    if (text.size == 0 ||
        (text.size == strlen(omitted) && memcmp(text.data, omitted, text.size) == 0))
        return SYM_OK;
    enum sym_status status = intern(lookup, text, name);
    if (status || (*name)[0] != '_')
        return status;
    status = sym_demangle_name(*name, &readable);
    if (status)
        return status == SYM_NO_MEMORY ? status : SYM_OK;
    *linkage_name = *name;
    *name = sym_strings_intern(&lookup->module->strings, readable, strlen(readable));
    base_free(readable);
    return *name ? SYM_OK : SYM_NO_MEMORY;
}

/* ---- Frames ---- */

/* frame at the line of a piece, which may be NULL: unknown.  */
static enum sym_status add_frame(struct lookup *lookup, struct sym_frame frame,
                                 const struct sym_breakpad_piece *place, struct sym_frames *frames)
{
    struct sym_breakpad *breakpad = lookup->breakpad;
    struct sym_bytes file = { NULL, 0 };
    enum sym_status status = SYM_OK;

    frame.file = "";
    frame.source = SYM_QUALITY_SYMTAB;
    if (place) {
        file = sym_breakpad_text(breakpad, &breakpad->files, place->file);
        frame.line = place->line;
    }
    if (file.size)
        status = intern(lookup, file, &frame.file);
    return status ? status : sym_frames_add(frames, frame);
}

static enum sym_status add_inlined(struct lookup *lookup, const struct sym_breakpad_piece *call,
                                   const struct sym_breakpad_piece *place,
                                   struct sym_frames *frames)
{
    struct sym_breakpad *breakpad = lookup->breakpad;
    struct sym_frame frame = { .inlined = true };
    enum sym_status status = read_name(
        lookup, sym_breakpad_text(breakpad, &breakpad->origins, call->origin), &frame.function,
        &frame.linkage_name);

    return status ? status : add_frame(lookup, frame, place, frames);
}

static enum sym_status read_function(struct lookup *lookup, size_t function)
{
    struct sym_breakpad *breakpad = lookup->breakpad;

    if (breakpad->current == function)
        return SYM_OK;
    enum sym_status status = sym_breakpad_read_pieces(breakpad, function);
    if (!status)
        status = read_name(lookup, sym_breakpad_name(breakpad, function), &breakpad->name,
                           &breakpad->linkage_name);
    if (status)
        breakpad->current = SIZE_MAX;
    return status;
}

/* The frames of a function with lines.  */
static enum sym_status add_frames(struct lookup *lookup, struct sym_frames *frames)
{
    const struct sym_breakpad_piece *calls[FRAMES_MAX], *place = find_piece(lookup, 0);
    enum sym_status status = SYM_OK;
    uint32_t depth = 0;

    while (depth < FRAMES_MAX && (calls[depth] = find_piece(lookup, depth + 1)))
        depth++;
    for (; depth && !status; depth--) {
        status = add_inlined(lookup, calls[depth - 1], place, frames);
        place = calls[depth - 1];
    }
    if (status)
        return status;
    return add_frame(lookup,
                     (struct sym_frame){ .function = lookup->breakpad->name,
                                         .linkage_name = lookup->breakpad->linkage_name },
                     place, frames);
}

/* Puts the span of the lookup into that of the frames.  */
static void cut_frames(const struct lookup *lookup, struct sym_frames *frames)
{
    uint64_t base = lookup->breakpad->load_vaddr;
    uint64_t start = lookup->span.start + base, limit; /* start is at most the address */

    if (__builtin_add_overflow(lookup->span.limit, base, &limit))
        limit = UINT64_MAX;
    if (start > frames->span.start)
        frames->span.start = start;
    if (limit < frames->span.limit)
        frames->span.limit = limit;
}

enum sym_status sym_breakpad_frames(struct sym_module *module, uint64_t vaddr, bool public_names,
                                    struct sym_frames *frames)
{
    struct sym_breakpad *breakpad = &module->loaded.breakpad;
    struct lookup lookup = { .module = module,
                             .breakpad = breakpad,
                             .address = vaddr - breakpad->load_vaddr,
                             .span = { .limit = UINT64_MAX } };
    enum sym_status status = SYM_OK;

    if (vaddr < breakpad->load_vaddr) {
        if (breakpad->load_vaddr < frames->span.limit)
            frames->span.limit = breakpad->load_vaddr;
        return SYM_OK;
    }
    size_t function = find_function(&lookup);
    bool is_public = function != SIZE_MAX && !breakpad->functions[function].limit;
    if (function != SIZE_MAX && is_public == public_names) {
        status = read_function(&lookup, function);
        if (!status)
            status = add_frames(&lookup, frames);
    }
    cut_frames(&lookup, frames);
    return status;
}
