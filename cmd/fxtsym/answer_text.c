/* Answers as addr2line and llvm-symbolizer print them.  A million of them have to cost little, so
 * nothing here goes through printf().  */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/fxtsym/fxtsym.h"

enum {
    SOON = 8,                    /* answers */
    SOURCE_BYTES_MAX = 64 << 20, /* of a file with source */
};

/* ---- Pieces ---- */

static bool is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* Rust's older names look like those of C++ but for a hash of 16 digits in front of their E.  */
static bool is_rust(const char *name)
{
    size_t length = strlen(name);

    if (name[1] == 'R')
        return true;
    return length > 24 && name[length - 1] == 'E' && strncmp(name + length - 20, "17h", 3) == 0 &&
           strspn(name + length - 17, "0123456789abcdef") == 16;
}

static bool is_wanted(enum demangler demangler, const char *name)
{
    return demangler == DEMANGLE_ALL || !is_mangled(name) ||
           is_rust(name) == (demangler == DEMANGLE_RUST);
}

/* What is not mangled may be "f.part.0", a part of the function "f".  llvm-symbolizer prints the
 * first; addr2line the second where debug information has it, else the first, too.  */
const char *frame_name(const struct settings *settings, const struct sym_frame *frame)
{
    bool mangled = is_mangled(frame->linkage_name);
    bool demangle = settings->demangle && is_wanted(settings->demangler, frame->linkage_name);
    const char *name = frame->function;

    bool as_linked = settings->style == STYLE_LLVM || settings->llvm_requests ||
                     frame->source != SYM_QUALITY_DWARF;

    if (mangled ? !demangle : as_linked && frame->linkage_name[0])
        name = frame->linkage_name;
    return name[0] ? name : "??";
}

/* The part of a readable name that its declaration has: "f" of "a::(anonymous namespace)::f(int)",
 * "f<int>" of "void f<int>(int)".  */
static const char *short_name(const char *name, size_t *length)
{
    const char *start = name, *end = NULL;
    unsigned depth = 0;

    for (const char *at = name; *at && !end; at++) {
        if (depth == 0 && strncmp(at, "operator", 8) == 0 && (at == start || at[-1] == ' ')) {
            start = at;
            at += 8;
            at += strspn(at, "<>=!+-*/%^&|~,");
            at += strncmp(at, "()", 2) == 0 || strncmp(at, "[]", 2) == 0 ? 2 : 0;
            end = strchr(at, '(');
            break;
        }
        if (depth == 0 && *at == '(' && at > start)
            end = at;
        else if (*at == '<' || *at == '(' || *at == '{')
            depth++;
        else if (*at == '>' || *at == ')' || *at == '}')
            depth -= depth > 0;
        else if (depth == 0 && at[0] == ':' && at[1] == ':')
            start = at + 2;
        else if (depth == 0 && *at == ' ')
            start = at + 1;
    }
    *length = end ? (size_t)(end - start) : strlen(start);
    return start;
}

const char *name_to_show(const struct settings *settings, const struct sym_frame *frame,
                         size_t *length)
{
    const char *name = frame_name(settings, frame);

    if (settings->short_names && frame->function[0])
        return short_name(frame->function, length);
    *length = strlen(name);
    return name;
}

static void add_name(const struct settings *settings, struct buffer *out,
                     const struct sym_frame *frame)
{
    size_t length;
    const char *name = name_to_show(settings, frame, &length);

    buffer_add(out, name, length);
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

const char *path_to_show(const struct settings *settings, const char *path)
{
    if (!path || !path[0])
        return "??";
    if (settings->basenames)
        return base_name(path);
    return settings->strip_prefixes.count ? without_prefix(settings, path) : path;
}

const char *frame_file(const struct settings *settings, const struct sym_frame *frame)
{
    return path_to_show(settings, frame->file);
}

struct sym_frame frame_without_inlined(const struct settings *settings,
                                       const struct sym_frame *frames, size_t count)
{
    static const struct sym_frame unknown = { .function = "", .linkage_name = "", .file = "" };

    if (count < 2 || settings->style != STYLE_LLVM)
        return count ? frames[0] : unknown;
    struct sym_frame frame = frames[0];
    const struct sym_frame *real = &frames[count - 1];
    frame.function = real->function;
    frame.linkage_name = real->linkage_name;
    frame.source = real->source;
    frame.inlined = false;
    frame.has_start = real->has_start;
    frame.start_vaddr = real->start_vaddr;
    return frame;
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

/* ---- Source ---- */

static void add_source_line(struct buffer *out, size_t width, uint64_t number, bool is_it,
                            const char *line, size_t length)
{
    char digits[10];
    size_t start = sizeof digits;
    uint64_t rest = number;

    do {
        digits[--start] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    for (size_t i = sizeof digits - start; i < width; i++)
        add_text(out, " ");
    buffer_add(out, digits + start, sizeof digits - start);
    add_text(out, is_it ? " >: " : "  : ");
    buffer_add(out, line, length);
    add_text(out, "\n");
}

/* The path is the debug information's: it may be that of a FIFO or a device by now.  */
static FILE *open_source(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    FILE *file = NULL;

    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size <= SOURCE_BYTES_MAX)
        file = fdopen(fd, "r");
    if (fd >= 0 && !file)
        (void)close(fd);
    return file;
}

void source_append(const struct settings *settings, struct buffer *out,
                   const struct sym_frame *frame)
{
    uint64_t half = settings->context_lines / 2, number = 0;
    uint64_t first = frame->line > half ? frame->line - half : 1;
    uint64_t limit = first + settings->context_lines;
    char *line = NULL, digits[24];
    size_t capacity = 0;
    ssize_t length;

    if (!settings->context_lines || !frame->line || !frame->file[0])
        return;
    FILE *file = open_source(frame->file);
    if (!file)
        return;
    size_t width = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, limit - 1);
    while (++number < limit && (length = getline(&line, &capacity, file)) > 0) {
        length -= line[length - 1] == '\n';
        if (number >= first)
            add_source_line(out, width, number, number == frame->line, line, (size_t)length);
    }
    free(line);
    (void)fclose(file);
}

/* ---- Verbose ---- */

static void add_field(struct buffer *out, const char *name, uint32_t number)
{
    add_text(out, name);
    add_number(out, number);
    add_text(out, "\n");
}

static void add_verbose(const struct settings *settings, struct buffer *out,
                        const struct sym_frame *frame)
{
    char start[2 + 16 + 1];

    add_text(out, "  Filename: ");
    add_text(out, frame_file(settings, frame));
    add_text(out, "\n");
    if (frame->start_line) {
        add_text(out, "  Function start filename: ");
        add_text(out, path_to_show(settings, frame->start_file));
        add_field(out, "\n  Function start line: ", frame->start_line);
    }
    if (frame->has_start && settings->style == STYLE_LLVM) {
        (void)snprintf(start, sizeof start, "0x%" PRIx64, frame->start_vaddr);
        add_text(out, "  Function start address: ");
        add_text(out, start);
        add_text(out, "\n");
    }
    add_field(out, "  Line: ", frame->line);
    add_field(out, "  Column: ", frame->column);
    if (frame->discriminator)
        add_field(out, "  Discriminator: ", frame->discriminator);
}

/* ---- addr2line ---- */

/* "??:0" where nothing is known, "FILE:?" and "??:?" where only the line is not.  */
static void add_addr2line_position(const struct settings *settings, struct buffer *out,
                                   const struct sym_frame *frame)
{
    add_text(out, frame_file(settings, frame));
    add_text(out, ":");
    if (frame->line || settings->llvm_requests)
        add_number(out, frame->line);
    else
        add_text(out, "?");
    if (frame->discriminator) {
        add_text(out, " (discriminator ");
        add_number(out, frame->discriminator);
        add_text(out, ")");
    }
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
        if (i && settings->pretty && (settings->functions || !settings->llvm_requests))
            add_text(out, " (inlined by) ");
        if (settings->functions) {
            add_name(settings, out, &frames[i]);
            add_text(out, between);
        }
        if (settings->verbose) {
            add_verbose(settings, out, &frames[i]);
            continue;
        }
        add_addr2line_position(settings, out, &frames[i]);
        source_append(settings, out, &frames[i]);
    }
}

/* ---- llvm-symbolizer ---- */

static void add_llvm_frame(const struct settings *settings, struct buffer *out,
                           const struct sym_frame *frame)
{
    if (settings->functions) {
        add_name(settings, out, frame);
        add_text(out, settings->pretty ? " at " : "\n");
    }
    if (settings->verbose) {
        add_verbose(settings, out, frame);
        return;
    }
    add_text(out, frame_file(settings, frame));
    add_text(out, ":");
    add_number(out, frame->line);
    add_text(out, ":");
    add_number(out, frame->column);
    add_text(out, "\n");
    source_append(settings, out, frame);
}

static void add_llvm(const struct settings *settings, struct buffer *out,
                     const struct sym_frame *frames, size_t count)
{
    if (count == 0 || !settings->inlines) {
        struct sym_frame one = frame_without_inlined(settings, frames, count);
        add_llvm_frame(settings, out, &one);
    } else {
        for (size_t i = 0; i < count; i++) {
            if (i && settings->pretty)
                add_text(out, " (inlined by) ");
            add_llvm_frame(settings, out, &frames[i]);
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

    if (settings->style == STYLE_ADDR2LINE && !settings->llvm_requests)
        width = object < batch->objects->count && batch->objects->items[object]->narrow ? 8 : 16;
    print_address(output, batch->vaddrs[request] - settings->bias, width,
                  settings->pretty ? ": " : "\n");
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
