/* Logs with symbolizer markup made readable (docs/formats/symbolizer.md section 1).
 *
 * Lines are taken in as many at a time as are there.  A first pass over them applies modules and
 * mappings and collects the addresses, which are looked up together; a second pass writes.  A reset
 * begins a new batch, so that in the second pass the modules are still those of the first.  */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/markup.h>
#include "base/hex.h"
#include "cmd/cli/cli_bounds.h"
#include "cmd/fxtsym/fxtsym.h"

enum {
    ADDRESSES_MAX = 4096, /* of a batch: their frames are all in memory */
    OBJECTS_KEPT = 1024,  /* beyond which a reset forgets what was found: logs may be endless */
    WARNINGS_MAX = 20,
    OPEN_LINE_MAX = 1 << 20, /* beyond which further mappings of a module begin a line */
};

/* A line of the batch.  */
struct held_line {
    const char *bytes;
    size_t length;
    bool raw; /* a piece of one that is longer than the buffer: no markup is read in it */
};

/* What the first pass found out about an element, for the second: one for each element but text, in
 * order.  */
struct outcome {
    enum sym_markup_effect effect; /* of modules and mappings */
    bool found;                    /* the address is in a mapping */
    struct sym_markup_place place; /* of the address as written, not as looked up */
    size_t first_frame, frame_count;
};

struct filter {
    const struct settings *settings;
    struct objects *objects;
    struct sym_markup_context *context;
    struct cli_output *output;
    struct batch batch;
    uint64_t line_number;
    uint64_t warnings;
    enum cli_exit status;

    struct held_line *lines;
    size_t line_count, line_capacity;
    struct outcome *outcomes;
    size_t outcome_count, outcome_capacity;
    size_t next_outcome;  /* of the second pass */
    size_t next_answered; /* the first outcome whose answer may still come */
    struct buffer frames; /* struct sym_frame */

    /* What became of a line with an address in it: before and after, twice if need be.  */
    struct buffer before, after;

    /* The line about a module waits for its mappings.  */
    bool module_open;
    uint64_t open_id;
    uint64_t open_limit; /* where its last mapping ended */
    struct buffer open_line, open_after;
};

static void add_text(struct buffer *out, const char *text)
{
    buffer_add(out, text, strlen(text));
}

static void add_format(struct buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For numbers: at most 100 bytes.  */
static void add_format(struct buffer *out, const char *format, ...)
{
    char text[100];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_text(out, text);
}

/* ---- First pass ---- */

static void warn(struct filter *filter, const struct sym_markup_node *node, const char *what)
{
    filter->status = cli_worse(filter->status, CLI_DAMAGED);
    if (filter->warnings++ < WARNINGS_MAX)
        cli_warning("line %" PRIu64 ": %.*s: %s", filter->line_number,
                    node->text.length > 200 ? 200 : (int)node->text.length, node->text.bytes, what);
}

static struct outcome *add_outcome(struct filter *filter)
{
    filter->outcomes = cli_grow(filter->outcomes, &filter->outcome_capacity,
                                filter->outcome_count + 1, sizeof *filter->outcomes);
    struct outcome *outcome = &filter->outcomes[filter->outcome_count++];
    *outcome = (struct outcome){ .found = false };
    return outcome;
}

static void apply(struct filter *filter, const struct sym_markup_node *node)
{
    static const char *const problems[] = {
        [SYM_MARKUP_CONFLICT] = "another module has this number; it stays until the next reset",
        [SYM_MARKUP_OVERLAP] = "lies over an earlier mapping, in whose place it counts",
        [SYM_MARKUP_NO_MODULE] = "no module has this number",
        [SYM_MARKUP_BAD_RANGE] = "not a range of addresses",
        [SYM_MARKUP_TOO_MANY] = "more than 65,536 modules or mappings",
        [SYM_MARKUP_NO_MEMORY] = "out of memory",
        [SYM_MARKUP_TOO_LARGE] = ("modules and mappings take more than 256 MiB: if the log is "
                                  "neither damaged nor hostile, --no-limit takes them"),
    };
    struct outcome *outcome = add_outcome(filter);

    outcome->effect = sym_markup_apply(filter->context, node);
    if (problems[outcome->effect])
        warn(filter, node, problems[outcome->effect]);
    if (outcome->effect == SYM_MARKUP_NO_MEMORY || outcome->effect == SYM_MARKUP_TOO_LARGE)
        filter->status = CLI_ENVIRONMENT;
}

/* The object of a module: by build ID, and by its name where that is a path.  */
static uint32_t object_of(struct filter *filter, const struct sym_markup_module *module)
{
    char hex[2 * sizeof module->build_id + 1] = "";

    if (!module->is_elf || module->build_id_length == 0)
        return OBJECT_NONE;
    hex[base_hex(hex, module->build_id, module->build_id_length)] = '\0';
    return objects_find(filter->objects, module->name[0] == '/' ? module->name : NULL, hex);
}

static void ask(struct filter *filter, const struct sym_markup_node *node)
{
    struct outcome *outcome = add_outcome(filter);
    uint64_t back = node->is_return && node->address;

    outcome->found = sym_markup_find(filter->context, node->address - back, &outcome->place);
    if (!outcome->found)
        return;
    batch_add(&filter->batch, outcome->place.vaddr, object_of(filter, outcome->place.module));
    outcome->place.vaddr += back;
}

static void take_node(struct filter *filter, const struct sym_markup_node *node)
{
    switch (node->kind) {
    case SYM_MARKUP_RESET:
    case SYM_MARKUP_MODULE:
    case SYM_MARKUP_MMAP:
        apply(filter, node);
        break;
    case SYM_MARKUP_BT:
    case SYM_MARKUP_PC:
    case SYM_MARKUP_DATA:
        ask(filter, node);
        break;
    case SYM_MARKUP_MALFORMED:
        warn(filter, node, "not as symbolizer markup has it");
        break;
    default:
        break;
    }
}

static void take_line(struct filter *filter, struct held_line line)
{
    struct sym_markup_cursor cursor = { line.bytes, line.length };
    struct sym_markup_node node;

    filter->lines = cli_grow(filter->lines, &filter->line_capacity, filter->line_count + 1,
                             sizeof line);
    filter->lines[filter->line_count++] = line;
    while (!line.raw && sym_markup_next(&cursor, &node))
        take_node(filter, &node);
}

static bool has_reset(const char *line, size_t length)
{
    struct sym_markup_cursor cursor = { line, length };
    struct sym_markup_node node;

    if (!memmem(line, length, "{{{reset", 8))
        return false;
    while (sym_markup_next(&cursor, &node))
        if (node.kind == SYM_MARKUP_RESET)
            return true;
    return false;
}

/* ---- Answers ---- */

/* For batch_run(): requests come back in the order of the outcomes that made them.  */
static void keep_frames(void *context, struct batch *batch)
{
    struct filter *filter = context;
    struct outcome *outcome;

    for (size_t i = 0; i < batch->count; i++) {
        size_t length;
        const char *answer = batch_answer(batch, i, &length);

        do
            outcome = &filter->outcomes[filter->next_answered++];
        while (!outcome->found);
        outcome->first_frame = filter->frames.length / sizeof(struct sym_frame);
        outcome->frame_count = length / sizeof(struct sym_frame);
        buffer_add(&filter->frames, answer, length);
    }
}

/* ---- Elements with an address ---- */

/* "<libc.so>+0x1139" */
static void add_place(struct buffer *out, const struct sym_markup_place *place)
{
    add_text(out, "<");
    if (place->module->name[0])
        add_text(out, place->module->name);
    else
        add_format(out, "#%" PRIu64, place->module->id);
    add_format(out, ">+0x%" PRIx64, place->vaddr);
}

static const struct sym_frame *frames_of(const struct filter *filter, const struct outcome *outcome)
{
    const struct sym_frame *frames = (const void *)filter->frames.bytes;

    return outcome->frame_count ? frames + outcome->first_frame : NULL;
}

/* "   #1.2  0x0000000000001139 in f() src/f.c:12 <libc.so>+0x1139 sp 0x7ff0": frame index of those
 * of an element; the real function has no ".2".  */
static void add_backtrace_frame(struct filter *filter, struct buffer *out,
                                const struct sym_markup_node *node, const struct outcome *outcome,
                                size_t index)
{
    const struct sym_frame *frames = frames_of(filter, outcome);
    size_t start = out->length;

    add_format(out, "   #%" PRIu64, node->frame);
    if (index + 1 < outcome->frame_count)
        add_format(out, ".%zu", outcome->frame_count - 1 - index);
    while (out->length - start < 9)
        add_text(out, " ");
    add_format(out, "0x%016" PRIx64, node->address);
    add_text(out, outcome->found ? " in " : " is not covered by any module");
    if (frames) {
        add_text(out, frame_name(filter->settings, &frames[index]));
        add_text(out, " ");
        if (frames[index].file[0]) {
            add_text(out, frame_file(filter->settings, &frames[index]));
            add_format(out, ":%" PRIu32 " ", frames[index].line);
        }
    }
    if (outcome->found)
        add_place(out, &outcome->place);
    if (node->message.length) {
        add_text(out, " ");
        buffer_add(out, node->message.bytes, node->message.length);
    }
}

/* "f()[src/f.c:12]", or where it is.  */
static void add_code(struct filter *filter, struct buffer *out, const struct sym_markup_node *node,
                     const struct outcome *outcome)
{
    const struct sym_frame *frames = frames_of(filter, outcome);

    if (!outcome->found) {
        buffer_add(out, node->text.bytes, node->text.length);
    } else if (!frames) {
        add_place(out, &outcome->place);
    } else {
        add_text(out, frame_name(filter->settings, &frames[0]));
        if (frames[0].file[0]) {
            add_text(out, "[");
            add_text(out, frame_file(filter->settings, &frames[0]));
            add_format(out, ":%" PRIu32 "]", frames[0].line);
        }
    }
}

/* The name of the variable that lies there; false: none does.  */
static bool add_variable(struct filter *filter, struct buffer *out,
                         const struct sym_markup_place *place)
{
    uint32_t index = object_of(filter, place->module);
    struct sym_module *module = index < filter->objects->count
                                    ? filter->objects->items[index]->module
                                    : NULL;
    struct sym_datum datum;

    if (!module || sym_module_data(module, place->vaddr, &datum, NULL) != SYM_OK)
        return false;
    add_text(out, filter->settings->demangle ? datum.name : datum.linkage_name);
    return true;
}

/* The name of what lies there, data or code, or where it is.  */
static void add_data(struct filter *filter, struct buffer *out, const struct sym_markup_node *node,
                     const struct outcome *outcome)
{
    const struct sym_frame *frames = frames_of(filter, outcome);

    if (!outcome->found)
        buffer_add(out, node->text.bytes, node->text.length);
    else if (add_variable(filter, out, &outcome->place))
        return;
    else if (frames)
        add_text(out, frame_name(filter->settings, &frames[outcome->frame_count - 1]));
    else
        add_place(out, &outcome->place);
}

static void add_symbol(struct filter *filter, struct buffer *out,
                       const struct sym_markup_node *node)
{
    char *mangled = strndup(node->name.bytes, node->name.length);
    char *readable = mangled && filter->settings->demangle ? sym_demangle(mangled) : NULL;

    if (readable)
        add_text(out, readable);
    else
        buffer_add(out, node->name.bytes, node->name.length);
    free(mangled);
    free(readable);
}

/* ---- Lines about modules ---- */

static void close_module(struct filter *filter)
{
    if (!filter->module_open)
        return;
    add_text(&filter->open_line, "]]]");
    buffer_add(&filter->open_line, filter->open_after.bytes, filter->open_after.length);
    (void)cli_output_write(filter->output, filter->open_line.bytes, filter->open_line.length);
    filter->module_open = false;
}

/* Begin "BEFORE[[[ELF module #0x1 "libc.so"".  */
static void open_module(struct filter *filter, uint64_t id, const char *before, size_t length)
{
    const struct sym_markup_module *module = sym_markup_module(filter->context, id);

    close_module(filter);
    filter->module_open = true;
    filter->open_id = id;
    filter->open_limit = 0;
    filter->open_line.length = 0;
    buffer_add(&filter->open_line, before, length);
    add_text(&filter->open_line, module->is_elf ? "[[[ELF module" : "[[[module");
    add_format(&filter->open_line, " #0x%" PRIx64 " \"", id);
    add_text(&filter->open_line, module->name);
    add_text(&filter->open_line, "\"");
}

static void show_module(struct filter *filter, const struct sym_markup_node *node,
                        const char *before, size_t length)
{
    open_module(filter, node->id, before, length);
    if (node->build_id_length)
        add_text(&filter->open_line, " BuildID=");
    for (size_t i = 0; i < node->build_id_length; i++)
        add_format(&filter->open_line, "%02x", node->build_id[i]);
}

/* " 0x1000(r)-0x2000", and behind one that ends where it begins only "(r)-0x3000".  */
static void show_mapping(struct filter *filter, const struct sym_markup_node *node,
                         const char *before, size_t length)
{
    uint64_t limit = node->address + node->size_bytes; /* 0 for the end of all */

    if (!filter->module_open || filter->open_id != node->id ||
        filter->open_line.length > OPEN_LINE_MAX) {
        open_module(filter, node->id, before, length);
        add_text(&filter->open_line, " adds");
    }
    if (!filter->open_limit || filter->open_limit != node->address)
        add_format(&filter->open_line, " 0x%" PRIx64, node->address);
    add_text(&filter->open_line, "(");
    buffer_add(&filter->open_line, node->access.bytes, node->access.length);
    add_format(&filter->open_line, ")-0x%" PRIx64, limit);
    filter->open_limit = limit;
}

/* Whether the line is about modules and nothing else, and all of that was taken in.  */
static bool is_about_modules(const struct filter *filter, const struct held_line *line)
{
    struct sym_markup_cursor cursor = { line->bytes, line->length };
    size_t outcome = filter->next_outcome;
    struct sym_markup_node node;
    bool any = false;

    while (sym_markup_next(&cursor, &node)) {
        if (node.kind == SYM_MARKUP_TEXT || node.kind == SYM_MARKUP_SGR)
            continue;
        if ((node.kind != SYM_MARKUP_MODULE && node.kind != SYM_MARKUP_MMAP) ||
            (filter->outcomes[outcome].effect > SYM_MARKUP_REPEATED &&
             filter->outcomes[outcome].effect != SYM_MARKUP_OVERLAP))
            return false;
        outcome++;
        any = true;
    }
    return any;
}

static void show_modules(struct filter *filter, const struct held_line *line)
{
    struct sym_markup_cursor cursor = { line->bytes, line->length };
    struct sym_markup_node node;

    while (sym_markup_next(&cursor, &node)) {
        size_t before = (size_t)(node.text.bytes - line->bytes);

        if (node.kind != SYM_MARKUP_MODULE && node.kind != SYM_MARKUP_MMAP)
            continue;
        if (filter->outcomes[filter->next_outcome++].effect == SYM_MARKUP_REPEATED)
            continue;
        if (node.kind == SYM_MARKUP_MODULE)
            show_module(filter, &node, line->bytes, before);
        else
            show_mapping(filter, &node, line->bytes, before);
        filter->open_after.length = 0;
        buffer_add(&filter->open_after, cursor.next, cursor.left);
    }
}

/* ---- Second pass ---- */

static void show_node(struct filter *filter, struct buffer *out, const struct sym_markup_node *node)
{
    const struct outcome *outcome;

    switch (node->kind) {
    case SYM_MARKUP_BT: /* a second one on its line: the real function alone */
        outcome = &filter->outcomes[filter->next_outcome++];
        add_backtrace_frame(filter, out, node, outcome,
                            outcome->frame_count ? outcome->frame_count - 1 : 0);
        break;
    case SYM_MARKUP_PC:
        add_code(filter, out, node, &filter->outcomes[filter->next_outcome++]);
        break;
    case SYM_MARKUP_DATA:
        add_data(filter, out, node, &filter->outcomes[filter->next_outcome++]);
        break;
    case SYM_MARKUP_SYMBOL:
        add_symbol(filter, out, node);
        break;
    case SYM_MARKUP_RESET:
    case SYM_MARKUP_MODULE:
    case SYM_MARKUP_MMAP:
        filter->next_outcome++;
        buffer_add(out, node->text.bytes, node->text.length);
        break;
    default:
        buffer_add(out, node->text.bytes, node->text.length);
        break;
    }
}

/* The first backtrace element of a line makes it as many lines as there are frames, each with the
 * text around it.  */
static void show_backtrace(struct filter *filter, const struct sym_markup_node *node,
                           const struct outcome *outcome)
{
    struct buffer *before = &filter->before, *after = &filter->after;
    size_t count = outcome->frame_count ? outcome->frame_count : 1, length = before->length;

    for (size_t i = 0; i < count; i++) {
        before->length = length;
        add_backtrace_frame(filter, before, node, outcome, i);
        (void)cli_output_write(filter->output, before->bytes, before->length);
        (void)cli_output_write(filter->output, after->bytes, after->length);
        if (i + 1 < count && (!after->length || after->bytes[after->length - 1] != '\n'))
            (void)cli_output_write(filter->output, "\n", 1);
    }
}

static void show_text(struct filter *filter, const struct held_line *line)
{
    struct sym_markup_cursor cursor = { line->bytes, line->length };
    struct sym_markup_node node, backtrace = { .kind = SYM_MARKUP_TEXT };
    const struct outcome *outcome = NULL;

    filter->before.length = filter->after.length = 0;
    while (sym_markup_next(&cursor, &node)) {
        if (node.kind == SYM_MARKUP_BT && !outcome) {
            backtrace = node;
            outcome = &filter->outcomes[filter->next_outcome++];
        } else {
            show_node(filter, outcome ? &filter->after : &filter->before, &node);
        }
    }
    if (outcome)
        show_backtrace(filter, &backtrace, outcome);
    else
        (void)cli_output_write(filter->output, filter->before.bytes, filter->before.length);
}

static void show_line(struct filter *filter, const struct held_line *line)
{
    if (!line->raw && is_about_modules(filter, line)) {
        show_modules(filter, line);
        return;
    }
    close_module(filter);
    if (line->raw || !memmem(line->bytes, line->length, "{{{", 3))
        (void)cli_output_write(filter->output, line->bytes, line->length);
    else
        show_text(filter, line);
}

/* ---- Filter ---- */

static void run(struct filter *filter)
{
    filter->next_answered = filter->next_outcome = 0;
    filter->frames.length = 0;
    batch_run(&filter->batch);
    for (size_t i = 0; i < filter->line_count; i++)
        show_line(filter, &filter->lines[i]);
    filter->line_count = filter->outcome_count = 0;
}

static void forget_objects(struct filter *filter)
{
    if (filter->objects->count <= OBJECTS_KEPT)
        return;
    batch_forget(&filter->batch);
    objects_reopen(filter->objects);
}

static void copy_lines(struct filter *filter, struct lines *lines)
{
    enum line_kind kind;
    struct held_line line;
    bool in_long_line = false;

    while (filter->output->failed == 0 &&
           (kind = lines_next(lines, filter->line_count == 0, &line.bytes, &line.length)) !=
               LINE_END) {
        if (kind == LINE_NONE) {
            run(filter);
            (void)cli_output_flush(filter->output);
            continue;
        }
        line.raw = in_long_line || kind == LINE_PART;
        filter->line_number += !in_long_line;
        in_long_line = kind == LINE_PART;
        if (!line.raw && has_reset(line.bytes, line.length)) {
            run(filter);
            forget_objects(filter);
        }
        take_line(filter, line);
        if (line.raw || filter->batch.count >= ADDRESSES_MAX)
            run(filter);
    }
    run(filter);
    close_module(filter);
}

enum cli_exit filter_markup(const struct settings *settings, struct objects *objects,
                            struct cli_output *output)
{
    struct filter filter = { .settings = settings, .objects = objects, .output = output };
    struct lines lines;

    filter.context = sym_markup_context_new();
    if (!filter.context) {
        cli_error("out of memory");
        return CLI_ENVIRONMENT;
    }
    if (cli_bounds_are_lifted())
        sym_markup_context_lift(filter.context);
    batch_open(&filter.batch, settings, objects, frames_append, keep_frames, &filter);
    lines_open(&lines, STDIN_FILENO);
    lines.held = true;
    copy_lines(&filter, &lines);
    if (filter.warnings > WARNINGS_MAX)
        cli_warning("%s more warnings of this kind", cli_grouped(filter.warnings - WARNINGS_MAX));
    if (lines.failed) {
        cli_error("standard input: %s", strerror(lines.failed));
        filter.status = CLI_ENVIRONMENT;
    }
    lines_close(&lines);
    batch_close(&filter.batch);
    sym_markup_context_free(filter.context);
    free(filter.lines);
    free(filter.outcomes);
    free(filter.frames.bytes);
    free(filter.before.bytes);
    free(filter.after.bytes);
    free(filter.open_line.bytes);
    free(filter.open_after.bytes);
    return filter.status;
}
