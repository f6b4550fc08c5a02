/* writer_output.c - output buffer, growing text, UTF-8, names of frames.  */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "libprofile/write/writer_output.h"

/* ---- Buffered output ---- */

void codec_output_init(struct codec_output *output, profile_write_fn write, void *context)
{
    output->write = write;
    output->context = context;
    output->system_errno = 0;
    output->used = 0;
}

static void flush(struct codec_output *output)
{
    if (output->used > 0 && output->system_errno == 0)
        output->system_errno = output->write(output->context, output->buffer, output->used);
    output->used = 0;
}

void codec_put(struct codec_output *output, const void *bytes, size_t size)
{
    const unsigned char *next = bytes;

    while (size > 0) {
        size_t room = sizeof output->buffer - output->used;
        size_t part = size < room ? size : room;

        memcpy(output->buffer + output->used, next, part);
        output->used += part;
        next += part;
        size -= part;
        if (output->used == sizeof output->buffer)
            flush(output);
    }
}

enum profile_status codec_output_finish(struct codec_output *output, struct profile_error *error)
{
    flush(output);
    if (output->system_errno != 0)
        return profile_fail_errno(error, output->system_errno, "writing");
    return PROFILE_OK;
}

/* ---- Growing text ---- */

bool codec_text_add(struct base_text *text, const char *bytes, size_t length)
{
    bool failed;

    base_text_add(text, bytes, length);
    failed = text->failed;
    text->failed = false;
    return !failed;
}

bool codec_text_add_utf8(struct base_text *text, const char *bytes, size_t length)
{
    bool ok = true;
    size_t good = 0; /* bytes that are fine and not added yet */

    while (good < length && ok) {
        size_t size = base_utf8_character(bytes + good, length - good);

        if (size > 0) {
            good += size;
            continue;
        }
        ok = codec_text_add(text, bytes, good) && codec_text_add(text, "\xef\xbf\xbd", 3);
        bytes += good + 1;
        length -= good + 1;
        good = 0;
    }
    return ok && codec_text_add(text, bytes, good);
}

/* ---- Names ---- */

bool codec_text_add_build_id(struct base_text *text, const struct profile_module *module)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * sizeof module->build_id];
    size_t length = 0;

    for (size_t i = 0; i < module->build_id_length; i++) {
        hex[length++] = digits[module->build_id[i] >> 4];
        hex[length++] = digits[module->build_id[i] & 15];
    }
    return codec_text_add(text, hex, length);
}

bool codec_text_add_module(struct base_text *text, const struct profile *profile, profile_id id)
{
    struct profile_module module = profile_stacks_get_module(profile->stacks, id);
    const char *base = base_name(profile_stacks_text(profile->stacks, module.name, NULL));

    if (!*base && module.build_id_length > 0)
        return codec_text_add(text, "[", 1) && codec_text_add_build_id(text, &module) &&
               codec_text_add(text, "]", 1);
    if (!*base)
        return codec_text_add(text, PROFILE_UNKNOWN, strlen(PROFILE_UNKNOWN));
    if (base[0] == '[') /* "[vdso]" has its brackets already */
        return codec_text_add_utf8(text, base, strlen(base));
    return codec_text_add(text, "[", 1) && codec_text_add_utf8(text, base, strlen(base)) &&
           codec_text_add(text, "]", 1);
}

bool codec_text_add_function(struct base_text *text, const struct profile *profile,
                             const struct profile_frame *frame, uint32_t index)
{
    profile_id function = index < frame->line_count ? frame->lines[index].function : 0;
    size_t length;
    const char *name = profile_stacks_text(profile->stacks, function, &length);

    if (length == 0)
        return codec_text_add_module(text, profile, frame->module);
    return codec_text_add_utf8(text, name, length);
}
