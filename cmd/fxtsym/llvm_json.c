/* Answers as llvm-symbolizer --output-style=JSON prints them: an object a line, or, for requests of
 * the command line, one array.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtsym/fxtsym.h"

/* ---- Pieces ---- */

void llvm_json_begin(struct llvm_json *json, struct cli_output *output, bool list)
{
    *json = (struct llvm_json){ .json = { .output = output }, .list = list };
    if (list)
        json_open(&json->json, NULL, '[');
}

void llvm_json_end(struct llvm_json *json)
{
    if (json->list) {
        json_close(&json->json, ']');
        json_end_line(&json->json);
    }
}

void llvm_json_open(struct llvm_json *json, const uint64_t *address)
{
    json_open(&json->json, NULL, '{');
    if (address)
        json_address(&json->json, "Address", *address);
}

void llvm_json_error(struct llvm_json *json, const char *problem)
{
    json_open(&json->json, "Error", '{');
    json_text(&json->json, "Message", problem);
    json_close(&json->json, '}');
}

/* The end of an object whose list of inlined frames, if it has one, comes last.  */
static void close_object(struct llvm_json *json)
{
    json_close(&json->json, '}');
    if (!json->list)
        json_end_line(&json->json);
}

static void add_module(struct llvm_json *json, const struct object *object)
{
    json_text(&json->json, "ModuleName", object ? object_asked(object) : "");
}

void llvm_json_close(struct llvm_json *json, const struct object *object, const char *symbol,
                     size_t symbol_length)
{
    add_module(json, object);
    if (symbol)
        json_string(&json->json, "SymName", symbol, symbol_length);
    close_object(json);
}

/* ---- Answers ---- */

static void add_source(struct json *json, const struct settings *settings,
                       const struct sym_frame *frame)
{
    struct buffer source = { .bytes = NULL };

    source_append(settings, &source, frame);
    if (source.length)
        json_string(json, "Source", source.bytes, source.length);
    free(source.bytes);
}

static void add_path(struct json *json, const char *key, const struct settings *settings,
                     const char *path)
{
    json_text(json, key, path && path[0] ? path_to_show(settings, path) : "");
}

static void add_frame(struct json *json, const struct settings *settings,
                      const struct sym_frame *frame)
{
    size_t length = 0;
    const char *name = settings->functions ? name_to_show(settings, frame, &length) : "";
    bool known = frame->function[0] || frame->linkage_name[0];

    json_open(json, NULL, '{');
    json_unsigned(json, "Column", frame->column);
    json_unsigned(json, "Discriminator", frame->discriminator);
    add_path(json, "FileName", settings, frame->file);
    json_string(json, "FunctionName", name, known ? length : 0);
    json_unsigned(json, "Line", frame->line);
    add_source(json, settings, frame);
    if (frame->has_start)
        json_address(json, "StartAddress", frame->start_vaddr);
    else
        json_text(json, "StartAddress", "");
    add_path(json, "StartFileName", settings, frame->start_file);
    json_unsigned(json, "StartLine", frame->start_line);
    json_close(json, '}');
}

void llvm_json_frame(struct llvm_json *json, const struct settings *settings,
                     const struct sym_frame *frames, size_t count)
{
    struct sym_frame frame = frame_without_inlined(settings, frames, count);

    add_frame(&json->json, settings, &frame);
}

static void add_frames(struct llvm_json *json, const struct settings *settings,
                       const struct sym_frame *frames, size_t count)
{
    json_open(&json->json, "Symbol", '[');
    if (count == 0 || !settings->inlines)
        llvm_json_frame(json, settings, frames, count);
    for (size_t i = 0; i < count && settings->inlines; i++)
        add_frame(&json->json, settings, &frames[i]);
    json_close(&json->json, ']');
}

void llvm_json_unknown(struct llvm_json *json, const struct settings *settings)
{
    llvm_json_open(json, NULL);
    add_module(json, NULL);
    add_frames(json, settings, NULL, 0);
    close_object(json);
}

void llvm_json_lacking(struct cli_output *output, const struct object *object)
{
    const uint64_t address = 0; /* of none, as llvm-symbolizer has it */
    struct llvm_json json;

    llvm_json_begin(&json, output, false);
    llvm_json_open(&json, &address);
    llvm_json_error(&json, object_problem(object));
    add_module(&json, object);
    close_object(&json);
}

void llvm_json_datum(struct llvm_json *json, const struct llvm_datum *datum)
{
    json_open(&json->json, "Data", '{');
    json_text(&json->json, "Name", datum->name);
    json_address(&json->json, "Size", datum->size);
    json_address(&json->json, "Start", datum->start);
    json_close(&json->json, '}');
}

/* A number in hexadecimal, "" where there is none.  */
static void add_hex(struct json *json, const char *key, bool known, uint64_t number)
{
    if (known)
        json_address(json, key, number);
    else
        json_text(json, key, "");
}

void llvm_json_local(struct llvm_json *json, const struct settings *settings,
                     const struct sym_local *local)
{
    json_open(&json->json, NULL, '{');
    add_path(&json->json, "DeclFile", settings, local->file);
    json_unsigned(&json->json, "DeclLine", local->line);
    if (local->has_frame_offset)
        json_number(&json->json, "FrameOffset", local->frame_offset);
    json_text(&json->json, "FunctionName", local->function);
    json_text(&json->json, "Name", local->name);
    add_hex(&json->json, "Size", local->has_size, local->size);
    add_hex(&json->json, "TagOffset", local->has_tag_offset, local->tag_offset);
    json_close(&json->json, '}');
}

static void print_answer(struct llvm_json *json, struct batch *batch, size_t request)
{
    const struct object *object = batch->objects->items[batch->objects_of[request]];
    uint64_t address = batch->vaddrs[request] - batch->settings->bias;
    const char *problem = object_problem(object);
    size_t length;
    const char *answer = batch_answer(batch, request, &length);

    llvm_json_open(json, &address);
    if (problem)
        llvm_json_error(json, problem);
    add_module(json, object);
    if (!problem)
        add_frames(json, batch->settings, (const void *)answer, length / sizeof(struct sym_frame));
    close_object(json);
}

void llvm_json_print(void *json, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        print_answer(json, batch, i);
}
