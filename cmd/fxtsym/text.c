/* Answers as addr2line and llvm-symbolizer print them.  A million of them have to cost little, so
 * nothing here goes through printf().  */
#include <string.h>

#include "cmd/fxtsym/fxtsym.h"

enum {
    SOON = 8, /* answers */
};

/* ---- Pieces ---- */

static bool is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* What is not mangled may be "f.part.0", a part of the function "f".  llvm-symbolizer prints the
 * first; addr2line the second where debug information has it, else the first, too.  */
const char *frame_name(const struct settings *settings, const struct sym_frame *frame)
{
    bool mangled = is_mangled(frame->linkage_name);
    const char *name = frame->function;

    bool as_linked = settings->style == STYLE_LLVM || frame->source != SYM_QUALITY_DWARF;

    if (mangled ? !settings->demangle : as_linked && frame->linkage_name[0])
        name = frame->linkage_name;
    return name[0] ? name : "??";
}

static const char *without_prefix(const struct settings *settings, const char *file)
{
    for (size_t i = 0; i < settings->strip_prefixes.count; i++) {
        const char *prefix = settings->strip_prefixes.items[i];
        size_t length = strlen(prefix);

        while (length && prefix[length - 1] == '/')
            length--;
        if (strncmp(file, prefix, length) == 0 && file[length] == '/') {
            file += length;
            while (file[0] == '/' && file[1])
                file++;
            return file;
        }
    }
    return file;
}

const char *frame_file(const struct settings *settings, const struct sym_frame *frame)
{
    const char *file = frame->file, *slash;

    if (!file[0])
        return "??";
    if (settings->basenames)
        return (slash = strrchr(file, '/')) ? slash + 1 : file;
    return settings->strip_prefixes.count ? without_prefix(settings, file) : file;
}

static void add_text(struct buffer *out, const char *text)
{
    buffer_add(out, text, strlen(text));
}

static void add_number(struct buffer *out, uint32_t number)
{
    char digits[10];
    size_t start = sizeof digits;

    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    buffer_add(out, digits + start, sizeof digits - start);
}

/* ---- addr2line ---- */

/* "??:0" where nothing is known, "FILE:?" and "??:?" where only the line is not.  */
static void add_addr2line_position(const struct settings *settings, struct buffer *out,
                                   const struct sym_frame *frame)
{
    add_text(out, frame_file(settings, frame));
    add_text(out, ":");
    if (frame->line)
        add_number(out, frame->line);
    else
        add_text(out, "?");
    add_text(out, "\n");
}

static void add_addr2line(const struct settings *settings, struct buffer *out,
                          const struct sym_frame *frames, size_t count)
{
    const char *between = settings->pretty ? " at " : "\n";

    if (count == 0) {
        if (settings->functions)
            add_text(out, settings->pretty ? "?? " : "??\n");
        add_text(out, "??:0\n");
    }
    for (size_t i = 0; i < count && (i == 0 || settings->inlines); i++) {
        if (i && settings->pretty)
            add_text(out, " (inlined by) ");
        if (settings->functions) {
            add_text(out, frame_name(settings, &frames[i]));
            add_text(out, between);
        }
        add_addr2line_position(settings, out, &frames[i]);
    }
}

/* ---- llvm-symbolizer ---- */

static void add_llvm_frame(const struct settings *settings, struct buffer *out, const char *name,
                           const struct sym_frame *position)
{
    add_text(out, name);
    add_text(out, settings->pretty ? " at " : "\n");
    add_text(out, frame_file(settings, position));
    add_text(out, ":");
    add_number(out, position->line);
    add_text(out, ":");
    add_number(out, position->column);
    add_text(out, "\n");
}

static void add_llvm(const struct settings *settings, struct buffer *out,
                     const struct sym_frame *frames, size_t count)
{
    static const struct sym_frame unknown = { .function = "", .linkage_name = "", .file = "" };

    if (count == 0) {
        frames = &unknown;
        count = 1;
    }
    if (settings->no_inlines) { /* the real function, and where in it or what it inlined */
        add_llvm_frame(settings, out, frame_name(settings, &frames[count - 1]), &frames[0]);
    } else {
        for (size_t i = 0; i < count; i++) {
            if (i && settings->pretty)
                add_text(out, " (inlined by) ");
            add_llvm_frame(settings, out, frame_name(settings, &frames[i]), &frames[i]);
        }
    }
    add_text(out, "\n");
}

/* ---- Both ---- */

void text_append(const struct settings *settings, struct buffer *out,
                 const struct sym_frame *frames, size_t count)
{
    if (settings->style == STYLE_LLVM)
        add_llvm(settings, out, frames, count);
    else
        add_addr2line(settings, out, frames, count);
}

static const char hex_digits[] = "0123456789abcdef";

/* "0x", at least width digits, and what follows.  */
static void print_address(struct cli_output *output, uint64_t address, size_t width,
                          const char *after)
{
    char text[2 + 16];
    size_t start = sizeof text;

    do {
        text[--start] = hex_digits[address & 15];
        address >>= 4;
    } while (address || sizeof text - start < width);
    text[--start] = 'x';
    text[--start] = '0';
    (void)cli_output_write(output, text + start, sizeof text - start);
    (void)cli_output_write(output, after, strlen(after));
}

static void print_request_address(struct cli_output *output, const struct batch *batch,
                                  size_t request)
{
    const struct settings *settings = batch->settings;
    uint32_t object = batch->objects_of[request];
    size_t width = 1;

    if (settings->style == STYLE_ADDR2LINE)
        width = object < batch->objects->count && batch->objects->items[object]->narrow ? 8 : 16;
    print_address(output, batch->vaddrs[request], width, settings->pretty ? ": " : "\n");
}

/* The answers of random addresses are spread over all memory.  */
static void fetch_soon(const struct batch *batch, size_t request)
{
    for (unsigned step = 0; step < 4; step++) {
        size_t soon = request + (size_t)SOON * (4 - step);

        if (soon >= batch->count || batch->objects_of[soon] == OBJECT_ECHO)
            continue;
        uint32_t answer = batch->answers[soon];
        if (step == 0)
            __builtin_prefetch(&batch->places[answer + 1]);
        else if (answer >= batch->text_count)
            chains_fetch(&batch->chains, (uint32_t)batch->places[answer + 1], step - 1);
    }
}

static void print_each(struct cli_output *output, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        bool echo = batch->objects_of[i] == OBJECT_ECHO;
        size_t length;

        fetch_soon(batch, i);
        const char *answer = batch_answer(batch, i, &length);

        if (batch->settings->addresses && !echo)
            print_request_address(output, batch, i);
        (void)cli_output_write(output, answer, length);
        if (echo)
            (void)cli_output_write(output, "\n", 1);
    }
}

/* In pieces that need no call; up to TEXT_SLACK bytes more are read and written.  */
static inline void copy_text(unsigned char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i += TEXT_SLACK)
        memcpy(to + i, from + i, TEXT_SLACK);
}

/* Answers alone.  They are spread over more memory than the nearest caches hold, so what comes soon
 * is fetched now.  */
static void print_answers(struct cli_output *output, const struct batch *batch)
{
    const uint32_t *answers = batch->answers;
    const size_t *places = batch->places, limit = batch->count;

    for (size_t i = 0; i < limit; i++) {
        const char *answer = batch->text.bytes + places[answers[i]];
        size_t length = places[answers[i] + 1] - places[answers[i]];
        size_t soon = i + SOON, later = soon + SOON;

        if (later < limit) {
            __builtin_prefetch(&places[answers[later]]);
            __builtin_prefetch(batch->text.bytes + places[answers[soon]]);
        }
        /* The buffer is full, or the answer large.  */
        if (length + TEXT_SLACK > CLI_OUTPUT_BYTES - output->used) {
            (void)cli_output_write(output, answer, length);
            continue;
        }
        copy_text(output->buffer + output->used, answer, length);
        output->used += length;
    }
}

void text_print(void *output, struct batch *batch)
{
    bool all_text = batch->text_count == batch->answer_count;

    if (batch->settings->addresses || batch->has_echoes || !all_text)
        print_each(output, batch);
    else
        print_answers(output, batch);
}
