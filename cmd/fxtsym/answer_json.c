/* Answers as JSON, one object a line.  */
#include "cmd/cli/cli_json.h"

#include <string.h>

#include "cmd/fxtsym/fxtsym.h"

/* Nothing else is in out, so frames are aligned there as the buffer is.  */
void frames_append(const struct settings *settings, struct buffer *out,
                   const struct sym_frame *frames, size_t count)
{
    (void)settings;
    if (count)
        buffer_add(out, frames, count * sizeof *frames);
}

const char *quality_name(enum sym_quality quality)
{
    static const char *const names[] = {
        [SYM_QUALITY_NONE] = "none",           [SYM_QUALITY_DYNSYM] = "dynsym",
        [SYM_QUALITY_DEBUGDATA] = "debugdata", [SYM_QUALITY_SYMTAB] = "symtab",
        [SYM_QUALITY_DWARF] = "dwarf",
    };

    return (size_t)quality < sizeof names / sizeof names[0] ? names[quality] : "none";
}

static void print_frame(struct json *json, const struct settings *settings,
                        const struct sym_frame *frame)
{
    json_open(json, NULL, '{');
    json_text(json, "function", frame->function);
    json_text(json, "linkage_name", frame->linkage_name);
    json_text(json, "file", frame->file[0] ? frame_file(settings, frame) : "");
    json_unsigned(json, "line", frame->line);
    json_unsigned(json, "column", frame->column);
    json_unsigned(json, "start_line", frame->start_line);
    json_bool(json, "inlined", frame->inlined);
    json_text(json, "source", quality_name(frame->source));
    json_close(json, '}');
}

static void print_frames(struct json *json, const struct settings *settings,
                         const struct sym_frame *frames, size_t count)
{
    if (count > 1 && settings->no_inlines) { /* the real function, and where in it or inlined */
        struct sym_frame real = frames[count - 1];

        real.file = frames[0].file;
        real.line = frames[0].line;
        real.column = frames[0].column;
        print_frame(json, settings, &real);
        return;
    }
    for (size_t i = 0; i < count; i++)
        print_frame(json, settings, &frames[i]);
}

static void print_answer(struct cli_output *output, struct batch *batch, size_t request)
{
    struct json json = { .output = output };
    size_t length;
    const char *answer = batch_answer(batch, request, &length);

    json_open(&json, NULL, '{');
    if (batch->objects_of[request] == OBJECT_ECHO) {
        json_null(&json, "address");
        json_string(&json, "input", answer, length);
        length = 0;
    } else {
        json_address(&json, "address", batch->vaddrs[request] - batch->settings->bias);
        json_text(&json, "object", batch->objects->items[batch->objects_of[request]]->name);
    }
    json_open(&json, "frames", '[');
    print_frames(&json, batch->settings, (const void *)answer, length / sizeof(struct sym_frame));
    json_close(&json, ']');
    json_close(&json, '}');
    json_end_line(&json);
}

void json_print(void *output, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        print_answer(output, batch, i);
}
