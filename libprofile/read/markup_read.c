/* markup_read.c - backtraces in logs (docs/formats/symbolizer.md section 1).  */
#include <fxt/profile_markup.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "libprofile/read/byte_source.h"

enum {
    CONTEXTS_MAX = 1024, /* processes whose modules are remembered: the one used last goes last */
    OPEN_MAX = 64,       /* backtraces that may go on */
    /* What a module without its name, and a mapping, are taken to need: they are kept in arrays
     * that grow by half or double, a mapping may split another one.  */
    MODULE_BYTES = 256,
    MAPPING_BYTES = 256,
};

/* A mapping after which no backtrace was read.  */
struct waiting {
    const struct sym_markup_module *module;
    uint64_t start, size_bytes, vaddr;
    unsigned flags;
};

/* A process, or all lines that do not say theirs.  */
struct context {
    bool known; /* they say it: */
    uint64_t process;
    struct sym_markup_context *markup; /* NULL: nothing was told, or all is forgotten */
    bool has_mappings;
    struct waiting *waiting;
    size_t waiting_count, waiting_capacity;
    size_t bytes;  /* that it is taken to need */
    uint64_t used; /* number of the line that used it last */
};

/* A backtrace that may go on.  */
struct trace {
    struct context *context; /* NULL: free */
    uint64_t thread;         /* that its lines say; 0 without */
    struct profile_markup_owner owner;
    uint64_t next; /* number of the frame that is expected */
    struct profile_markup_frame *frames;
    size_t count, capacity;
    bool is_cut;
    bool has_gap;
    uint64_t used;
};

struct reader {
    struct source source;
    struct profile_read_options options;
    struct profile_markup_notices notices;
    const struct profile_markup_sink *sink;
    struct profile_error *error;
    uint64_t number; /* of the line */
    uint64_t offset; /* of its first byte */
    struct context *contexts[CONTEXTS_MAX];
    size_t context_count;
    size_t bytes; /* of all contexts */
    struct trace open[OPEN_MAX];
    uint64_t alone[2]; /* the numbers that stood alone on the last two lines that were not blank */
    unsigned alone_count;
};

/* ---- Notices ---- */

static const struct {
    const char *name;
    const char *phrase;
    const char *one, *many; /* what there are so many of */
} kinds[PROFILE_MARKUP_KINDS] = {
    [PROFILE_MARKUP_CUT] = { "truncated_tail", "the compressed data end early", "cut short", NULL },
    [PROFILE_MARKUP_CORRUPT] = { "corrupt_input", "compressed data that cannot be unpacked",
                                 "compressed data that cannot be unpacked", NULL },
    [PROFILE_MARKUP_MALFORMED] = { "malformed_elements",
                                   "elements that are not as symbolizer markup has them",
                                   "malformed element", "malformed elements" },
    [PROFILE_MARKUP_CONFLICT] = { "module_conflicts",
                                  "modules whose number another one has: the first one stays",
                                  "module with the number of another",
                                  "modules with the numbers of others" },
    [PROFILE_MARKUP_NO_MODULE] = { "unknown_modules", "mappings of a module that is not in the log",
                                   "mapping of an unknown module", "mappings of unknown modules" },
    [PROFILE_MARKUP_BAD_RANGE] = { "bad_mappings", "mappings that are empty or wrap around",
                                   "mapping that is no range", "mappings that are no ranges" },
    [PROFILE_MARKUP_LEFT_OUT] = { "modules_left_out",
                                  "modules and mappings left out because too many were there",
                                  "module or mapping too many", "modules and mappings too many" },
    [PROFILE_MARKUP_LONG_LINE] = { "long_lines", "lines that are too long to be read",
                                   "line too long", "lines too long" },
    [PROFILE_MARKUP_GAP] = { "incomplete_backtraces", "backtraces that lack frames",
                             "backtrace without some of its frames",
                             "backtraces without some of their frames" },
    [PROFILE_MARKUP_DEEP] = { "deep_backtraces", "backtraces cut because they are too deep",
                              "backtrace too deep", "backtraces too deep" },
    [PROFILE_MARKUP_OVERLAP] = { "overlapping_mappings",
                                 "mappings over earlier ones, in whose place they count",
                                 "mapping over another", "mappings over others" },
    [PROFILE_MARKUP_ANONYMOUS] = { "anonymous_frames", "frames of code in no module",
                                   "frame in no module", "frames in no module" },
};

const char *profile_markup_name(enum profile_markup_kind kind)
{
    return kinds[kind].name;
}

const char *profile_markup_phrase(enum profile_markup_kind kind)
{
    return kinds[kind].phrase;
}

bool profile_markup_is_damage(enum profile_markup_kind kind)
{
    return kind < PROFILE_MARKUP_OVERLAP;
}

bool profile_markup_describe(const struct profile_markup_notices *notices, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < PROFILE_MARKUP_KINDS && length < size; i++) {
        uint64_t count = notices->kinds[i].count;
        const char *between = length > 0 ? "; " : "";

        if (count == 0 || !profile_markup_is_damage((enum profile_markup_kind)i))
            continue;
        if (!kinds[i].many)
            length += (size_t)snprintf(text + length, size - length,
                                       "%s%s in the line at offset %" PRIu64, between, kinds[i].one,
                                       notices->kinds[i].first_offset);
        else
            length += (size_t)snprintf(text + length, size - length,
                                       "%s%" PRIu64 " %s, the first at offset %" PRIu64, between,
                                       count, count == 1 ? kinds[i].one : kinds[i].many,
                                       notices->kinds[i].first_offset);
    }
    return length > 0;
}

static void note(struct reader *reader, enum profile_markup_kind kind)
{
    if (reader->notices.kinds[kind].count++ == 0)
        reader->notices.kinds[kind].first_offset = reader->offset;
}

/* ---- Lines that say whose they are ---- */

/* Passes the digits of a koid; NULL: there are none, or of no koid.  */
static const char *take_number(const char *at, const char *limit, uint64_t *number)
{
    const char *start = at;

    *number = 0;
    for (; at < limit && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, UINT64_C(10), number) ||
            __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
            return NULL;
    return at > start && *number <= INT64_MAX ? at : NULL; /* bit 63 is clear */
}

static const char *take_byte(const char *at, const char *limit, char byte)
{
    return at && at < limit && *at == byte ? at + 1 : NULL;
}

/* Passes "[00012.345]".  */
static const char *take_time(const char *at, const char *limit)
{
    const char *start = at + 1;

    at = start;
    while (at < limit && *at >= '0' && *at <= '9')
        at++;
    if (at == start || !take_byte(at, limit, '.'))
        return NULL;
    start = ++at;
    while (at < limit && *at >= '0' && *at <= '9')
        at++;
    return at > start ? take_byte(at, limit, ']') : NULL;
}

/* "[1234][5678]" or " 01234:05678>".  */
static bool take_owner(const char *at, const char *limit, struct profile_markup_owner *out)
{
    const char *pair = take_byte(at, limit, '[');
    char between = pair ? ']' : ':', end = pair ? ']' : '>';

    if (!pair)
        pair = take_byte(at, limit, ' ');
    if (pair)
        pair = take_number(pair, limit, &out->process_koid);
    pair = take_byte(pair, limit, between);
    if (between == ']')
        pair = take_byte(pair, limit, '[');
    if (pair)
        pair = take_number(pair, limit, &out->thread_koid);
    return take_byte(pair, limit, end) != NULL;
}

/* What the text before the first element says; a harness may have put its own text in front.  */
static struct profile_markup_owner read_owner(const char *line, const char *limit)
{
    struct profile_markup_owner owner = { .known = false };

    for (const char *at = line; at < limit; at++) {
        const char *behind = NULL;

        at = memchr(at, '[', (size_t)(limit - at));
        if (!at)
            break;
        behind = take_time(at, limit);
        if (behind && take_owner(behind, limit, &owner)) {
            owner.known = true;
            return owner;
        }
    }
    return (struct profile_markup_owner){ .known = false };
}

/* A number alone on its line: the CPU profiler's text form has two before a backtrace.  */
static void read_alone(struct reader *reader, const char *line, size_t length)
{
    uint64_t number;
    const char *end = take_number(line, line + length, &number);

    if (end != line + length) {
        reader->alone_count = 0;
        return;
    }
    reader->alone[0] = reader->alone[1];
    reader->alone[1] = number;
    reader->alone_count += reader->alone_count < 2;
}

/* ---- Backtraces that end ---- */

static enum profile_status tell_mappings(struct reader *reader, struct context *context,
                                         const struct profile_markup_owner *owner)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < context->waiting_count && status == PROFILE_OK; i++) {
        const struct waiting *waiting = &context->waiting[i];
        const struct profile_markup_mapping mapping = {
            .owner = { .known = owner->known, .process_koid = owner->process_koid },
            .module = waiting->module,
            .start = waiting->start,
            .size_bytes = waiting->size_bytes,
            .vaddr = waiting->vaddr,
            .flags = waiting->flags,
        };

        if (reader->sink->mapping)
            status = reader->sink->mapping(reader->sink->context, &mapping);
    }
    context->waiting_count = 0;
    return status;
}

static enum profile_status end_trace(struct reader *reader, struct trace *trace)
{
    const struct profile_markup_backtrace backtrace = {
        .owner = trace->owner,
        .frames = trace->frames,
        .frame_count = trace->count,
        .is_cut = trace->is_cut,
    };
    enum profile_status status = tell_mappings(reader, trace->context, &trace->owner);

    trace->context = NULL;
    if (status != PROFILE_OK || trace->count == 0)
        return status;
    reader->notices.backtraces++;
    if (reader->sink->backtrace)
        status = reader->sink->backtrace(reader->sink->context, &backtrace);
    return status;
}

/* Those of context, or all for NULL, in the order in which they were used last.  */
static enum profile_status end_traces(struct reader *reader, const struct context *context)
{
    enum profile_status status = PROFILE_OK;
    struct trace *oldest;

    do {
        oldest = NULL;
        for (size_t i = 0; i < OPEN_MAX; i++) {
            struct trace *trace = &reader->open[i];

            if (trace->context && (!context || trace->context == context) &&
                (!oldest || trace->used < oldest->used))
                oldest = trace;
        }
        if (oldest)
            status = end_trace(reader, oldest);
    } while (oldest && status == PROFILE_OK);
    return status;
}

/* ---- Contexts ---- */

/* Forget modules and mappings.  A new one is made when there are others: what the old one has grown
 * to is given back.  */
static enum profile_status forget(struct reader *reader, struct context *context)
{
    enum profile_status status = end_traces(reader, context);

    sym_markup_context_free(context->markup);
    free(context->waiting);
    context->markup = NULL;
    context->waiting = NULL;
    context->waiting_count = context->waiting_capacity = 0;
    context->has_mappings = false;
    reader->bytes -= context->bytes;
    context->bytes = 0;
    return status;
}

/* The one not used for the longest time but for keep; its number, or context_count.  */
static size_t find_oldest(const struct reader *reader, const struct context *keep)
{
    size_t oldest = reader->context_count;

    for (size_t i = 0; i < reader->context_count; i++)
        if (reader->contexts[i] != keep &&
            (oldest == reader->context_count ||
             reader->contexts[i]->used < reader->contexts[oldest]->used))
            oldest = i;
    return oldest;
}

static enum profile_status drop_context(struct reader *reader, size_t index)
{
    struct context *context = reader->contexts[index];
    enum profile_status status = forget(reader, context);

    reader->contexts[index] = reader->contexts[--reader->context_count];
    free(context);
    return status;
}

static enum profile_status add_context(struct reader *reader,
                                       const struct profile_markup_owner *owner,
                                       struct context **out)
{
    enum profile_status status = PROFILE_OK;

    if (reader->context_count == CONTEXTS_MAX)
        status = drop_context(reader, find_oldest(reader, NULL));
    if (status != PROFILE_OK)
        return status;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return profile_no_memory(reader->error);
    (*out)->known = owner->known;
    (*out)->process = owner->process_koid;
    reader->contexts[reader->context_count++] = *out;
    return PROFILE_OK;
}

static enum profile_status find_context(struct reader *reader,
                                        const struct profile_markup_owner *owner,
                                        struct context **out)
{
    enum profile_status status = PROFILE_OK;

    *out = NULL;
    for (size_t i = 0; i < reader->context_count && !*out; i++)
        if (reader->contexts[i]->known == owner->known &&
            reader->contexts[i]->process == owner->process_koid)
            *out = reader->contexts[i];
    if (!*out)
        status = add_context(reader, owner, out);
    if (status == PROFILE_OK)
        (*out)->used = reader->number;
    return status;
}

/* ---- Modules and mappings ---- */

static unsigned flags_of(struct sym_markup_text access)
{
    unsigned flags = 0;

    for (size_t i = 0; i < access.length; i++) {
        char letter = (char)(access.bytes[i] | 32);

        flags |= letter == 'x' ? 1U : letter == 'w' ? 2U : 4U;
    }
    return flags;
}

/* Room for bytes more, for which others are forgotten; *ok false: there is none.  */
static enum profile_status make_room(struct reader *reader, const struct context *context,
                                     size_t bytes, bool *ok)
{
    enum profile_status status = PROFILE_OK;
    size_t most = reader->options.table_bytes;
    size_t oldest = 0;

    *ok = bytes <= most;
    while (*ok && reader->bytes > most - bytes && status == PROFILE_OK) {
        oldest = find_oldest(reader, context);
        *ok = oldest < reader->context_count;
        if (*ok)
            status = drop_context(reader, oldest);
    }
    return status;
}

static enum profile_status keep_mapping(struct reader *reader, struct context *context,
                                        const struct sym_markup_node *node)
{
    if (!base_make_room(&context->waiting, &context->waiting_capacity, context->waiting_count + 1,
                        sizeof *context->waiting))
        return profile_no_memory(reader->error);
    context->has_mappings = true;
    context->waiting[context->waiting_count++] = (struct waiting){
        .module = sym_markup_module(context->markup, node->id),
        .start = node->address,
        .size_bytes = node->size_bytes,
        .vaddr = node->vaddr,
        .flags = flags_of(node->access),
    };
    return PROFILE_OK;
}

static void note_effect(struct reader *reader, enum sym_markup_effect effect)
{
    static const struct {
        enum sym_markup_effect effect;
        enum profile_markup_kind kind;
    } problems[] = {
        { SYM_MARKUP_CONFLICT, PROFILE_MARKUP_CONFLICT },
        { SYM_MARKUP_OVERLAP, PROFILE_MARKUP_OVERLAP },
        { SYM_MARKUP_NO_MODULE, PROFILE_MARKUP_NO_MODULE },
        { SYM_MARKUP_BAD_RANGE, PROFILE_MARKUP_BAD_RANGE },
        { SYM_MARKUP_TOO_MANY, PROFILE_MARKUP_LEFT_OUT },
    };

    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (effect == problems[i].effect)
            note(reader, problems[i].kind);
}

/* A module or mapping.  */
static enum profile_status take_fact(struct reader *reader, struct context *context,
                                     const struct sym_markup_node *node)
{
    bool is_mapping = node->kind == SYM_MARKUP_MMAP;
    size_t bytes = is_mapping ? MAPPING_BYTES : MODULE_BYTES + node->name.length;
    enum sym_markup_effect effect;
    enum profile_status status;
    bool ok;

    status = make_room(reader, context, bytes, &ok);
    if (status != PROFILE_OK)
        return status;
    if (!ok) {
        note(reader, PROFILE_MARKUP_LEFT_OUT);
        return PROFILE_OK;
    }
    if (!context->markup) {
        context->markup = sym_markup_context_new();
        if (context->markup) /* make_room() bounds all contexts together */
            sym_markup_context_lift(context->markup);
    }
    effect = context->markup ? sym_markup_apply(context->markup, node) : SYM_MARKUP_NO_MEMORY;
    if (effect == SYM_MARKUP_NO_MEMORY)
        return profile_no_memory(reader->error);
    note_effect(reader, effect);
    if (effect != SYM_MARKUP_DONE && effect != SYM_MARKUP_OVERLAP)
        return PROFILE_OK;
    context->bytes += bytes;
    reader->bytes += bytes;
    return is_mapping ? keep_mapping(reader, context, node) : PROFILE_OK;
}

/* ---- Frames ---- */

static enum profile_status add_frame(struct reader *reader, struct trace *trace,
                                     const struct profile_markup_frame *frame)
{
    if (trace->count == PROFILE_MARKUP_FRAMES) {
        if (!trace->is_cut)
            note(reader, PROFILE_MARKUP_DEEP);
        trace->is_cut = true;
        return PROFILE_OK;
    }
    if (!base_make_room(&trace->frames, &trace->capacity, trace->count + 1, sizeof *trace->frames))
        return profile_no_memory(reader->error);
    trace->frames[trace->count++] = *frame;
    return PROFILE_OK;
}

static struct profile_markup_frame make_frame(struct reader *reader, const struct context *context,
                                              const struct sym_markup_node *node)
{
    struct profile_markup_frame frame = { .place = PROFILE_MARKUP_UNKNOWN,
                                          .address = node->address };
    uint64_t back = node->is_return && node->address; /* section 2 */
    struct sym_markup_place place;

    if (context->has_mappings)
        frame.place = PROFILE_MARKUP_IN_NONE;
    if (context->has_mappings && sym_markup_find(context->markup, node->address - back, &place)) {
        frame.place = PROFILE_MARKUP_IN_MODULE;
        frame.module = place.module;
        frame.vaddr = place.vaddr;
    } else {
        note(reader, PROFILE_MARKUP_ANONYMOUS);
    }
    return frame;
}

/* The backtrace of that thread, or a free place.  When there is none, one that was not used for the
 * longest time ends.  */
static enum profile_status find_trace(struct reader *reader, const struct context *context,
                                      uint64_t thread, struct trace **out)
{
    struct trace *oldest = &reader->open[0], *unused = NULL;

    for (size_t i = 0; i < OPEN_MAX; i++) {
        struct trace *trace = &reader->open[i];

        if (trace->context == context && trace->thread == thread) {
            *out = trace;
            return PROFILE_OK;
        }
        if (!trace->context)
            unused = unused ? unused : trace;
        else if (trace->used < oldest->used)
            oldest = trace;
    }
    *out = unused ? unused : oldest;
    return unused ? PROFILE_OK : end_trace(reader, oldest);
}

static void begin_trace(struct reader *reader, struct trace *trace, struct context *context,
                        const struct profile_markup_owner *owner)
{
    trace->context = context;
    trace->thread = owner->thread_koid;
    trace->owner = *owner;
    if (!owner->known && reader->alone_count == 2)
        trace->owner = (struct profile_markup_owner){ .known = true,
                                                      .process_koid = reader->alone[0],
                                                      .thread_koid = reader->alone[1] };
    trace->next = 0;
    trace->count = 0;
    trace->is_cut = trace->has_gap = false;
}

static enum profile_status take_frame(struct reader *reader, struct context *context,
                                      const struct profile_markup_owner *owner,
                                      const struct sym_markup_node *node)
{
    const struct profile_markup_frame missing = { .place = PROFILE_MARKUP_NO_FRAME };
    struct profile_markup_frame frame = make_frame(reader, context, node);
    struct trace *trace;
    enum profile_status status = find_trace(reader, context, owner->thread_koid, &trace);

    if (status == PROFILE_OK && trace->context && node->frame < trace->next)
        status = end_trace(reader, trace);
    if (status != PROFILE_OK)
        return status;
    if (!trace->context)
        begin_trace(reader, trace, context, owner);
    trace->used = reader->number;
    if (node->frame != trace->next) {
        if (!trace->has_gap)
            note(reader, PROFILE_MARKUP_GAP);
        trace->has_gap = true;
        status = add_frame(reader, trace, &missing);
    }
    trace->next = node->frame == UINT64_MAX ? UINT64_MAX : node->frame + 1;
    return status == PROFILE_OK ? add_frame(reader, trace, &frame) : status;
}

/* ---- Lines ---- */

static enum profile_status take_node(struct reader *reader,
                                     const struct profile_markup_owner *owner,
                                     const struct sym_markup_node *node)
{
    struct context *context;
    enum profile_status status;

    if (node->kind == SYM_MARKUP_TEXT || node->kind == SYM_MARKUP_SGR)
        return PROFILE_OK;
    reader->notices.elements++;
    if (node->kind == SYM_MARKUP_MALFORMED)
        note(reader, PROFILE_MARKUP_MALFORMED);
    if (node->kind != SYM_MARKUP_RESET && node->kind != SYM_MARKUP_MODULE &&
        node->kind != SYM_MARKUP_MMAP && node->kind != SYM_MARKUP_BT)
        return PROFILE_OK;
    status = find_context(reader, owner, &context);
    if (status != PROFILE_OK)
        return status;
    if (node->kind == SYM_MARKUP_RESET)
        return forget(reader, context);
    if (node->kind == SYM_MARKUP_BT)
        return take_frame(reader, context, owner, node);
    return take_fact(reader, context, node);
}

static enum profile_status take_line(struct reader *reader, const char *line, size_t length)
{
    struct sym_markup_cursor cursor = { line, length };
    const char *braces = memmem(line, length, "{{{", 3);
    enum profile_status status = PROFILE_OK;
    struct profile_markup_owner owner;
    struct sym_markup_node node;

    if (!braces) {
        if (length > 0)
            read_alone(reader, line, length);
        return PROFILE_OK;
    }
    owner = read_owner(line, braces);
    while (status == PROFILE_OK && sym_markup_next(&cursor, &node))
        status = take_node(reader, &owner, &node);
    reader->alone_count = 0;
    return status;
}

static size_t trim(const char *line, size_t length)
{
    while (length > 0 && (line[length - 1] == '\r' || line[length - 1] == ' '))
        length--;
    return length;
}

static enum profile_status read_lines(struct reader *reader)
{
    enum profile_status status = PROFILE_OK;
    const char *line;
    size_t length;

    for (;;) {
        reader->offset = reader->source.offset;
        if (status != PROFILE_OK ||
            !source_line(&reader->source, reader->options.entry_bytes, &line, &length))
            return status;
        reader->number++;
        if (line) {
            status = take_line(reader, line, trim(line, length));
        } else {
            note(reader, PROFILE_MARKUP_LONG_LINE);
            reader->alone_count = 0;
        }
    }
}

static enum profile_status read_all(struct reader *reader)
{
    enum profile_status status = read_lines(reader);

    if (status == PROFILE_OK)
        status = reader->source.status;
    if (status == PROFILE_OK)
        status = end_traces(reader, NULL);
    if (status == PROFILE_OK && reader->number > 0 && reader->notices.elements == 0)
        status = profile_fail(reader->error, PROFILE_MALFORMED,
                              reader->notices.kinds[PROFILE_MARKUP_LONG_LINE].count > 0
                                  ? "no symbolizer markup in the lines that can be read"
                                  : "no symbolizer markup in it");
    return status;
}

static void release(struct reader *reader)
{
    for (size_t i = 0; i < OPEN_MAX; i++)
        free(reader->open[i].frames);
    for (size_t i = 0; i < reader->context_count; i++) {
        sym_markup_context_free(reader->contexts[i]->markup);
        free(reader->contexts[i]->waiting);
        free(reader->contexts[i]);
    }
    source_release(&reader->source);
    free(reader);
}

/* Bounds of their own for those that the caller left to us: logs have short lines, and few
 * modules.  */
static struct profile_read_options bounds(const struct profile_read_options *options)
{
    struct profile_read_options chosen = { .size = sizeof chosen };

    if (options)
        memcpy(&chosen, options, options->size < sizeof chosen ? options->size : sizeof chosen);
    if (chosen.entry_bytes == 0)
        chosen.entry_bytes = (size_t)1 << 20;
    if (chosen.table_bytes == 0)
        chosen.table_bytes = (size_t)64 << 20;
    return read_options(&chosen);
}

enum profile_status profile_read_markup(struct fxt_input *input,
                                        const struct profile_markup_sink *sink,
                                        const struct profile_read_options *options,
                                        struct profile_markup_notices *notices,
                                        struct profile_error *error)
{
    struct profile_markup_sink chosen = { .size = 0 };
    struct reader *reader = calloc(1, sizeof *reader);
    enum profile_status status;

    if (notices)
        *notices = (struct profile_markup_notices){ .backtraces = 0 };
    if (!reader)
        return profile_no_memory(error);
    memcpy(&chosen, sink, sink->size < sizeof chosen ? sink->size : sizeof chosen);
    reader->sink = &chosen;
    reader->error = error;
    reader->options = bounds(options);
    source_open(&reader->source, input, &reader->options, error);
    status = read_all(reader);
    if (reader->source.corrupt)
        note(reader, PROFILE_MARKUP_CORRUPT);
    else if (fxt_input_is_cut(input))
        note(reader, PROFILE_MARKUP_CUT);
    if (notices)
        *notices = reader->notices;
    release(reader);
    return status;
}

/* ---- Which format ---- */

/* Bytes that no text has, but terminals and serial lines put into logs.  */
static bool is_control(char byte)
{
    return byte == '\0' || ((unsigned char)byte < ' ' && !strchr("\t\r\n\b\033", byte));
}

bool profile_is_markup(const void *start, size_t length)
{
    enum { FIRST_BYTES = 16 }; /* binary formats have a control character in so many */
    struct sym_markup_cursor cursor = { start, length };
    struct sym_markup_node node;

    for (size_t i = 0; i < length && i < FIRST_BYTES; i++)
        if (is_control(((const char *)start)[i]))
            return false;
    while (sym_markup_next(&cursor, &node)) {
        if (node.kind == SYM_MARKUP_RESET || node.kind == SYM_MARKUP_MODULE ||
            node.kind == SYM_MARKUP_MMAP || node.kind == SYM_MARKUP_BT)
            return true;
        if (memchr(node.text.bytes, '\0', node.text.length))
            return false;
    }
    return false;
}
