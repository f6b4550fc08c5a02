/* writer_output.c - output buffer, growing text, UTF-8, names of frames.  */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "libprofile/write/writer_output.h"

/* ---- Buffered output ---- */

enum profile_status codec_output_finish(struct base_output *output, struct profile_error *error)
{
    int failure = base_output_flush(output);

    return failure ? profile_fail_errno(error, failure, "writing") : PROFILE_OK;
}

/* ---- Growing text ---- */

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
        ok = base_text_append(text, bytes, good) && base_text_append(text, "\xef\xbf\xbd", 3);
        bytes += good + 1;
        length -= good + 1;
        good = 0;
    }
    return ok && base_text_append(text, bytes, good);
}

/* ---- Names ---- */

bool codec_text_add_build_id(struct base_text *text, const struct profile_module *module)
{
    char hex[2 * sizeof module->build_id];

    return base_text_append(text, hex, base_hex(hex, module->build_id, module->build_id_length));
}

bool codec_text_add_module(struct base_text *text, const struct profile *profile, profile_id id)
{
    struct profile_module module = profile_stacks_get_module(profile->stacks, id);
    const char *base = base_name(profile_stacks_text(profile->stacks, module.name, NULL));

    if (!*base && module.build_id_length > 0)
        return base_text_append(text, "[", 1) && codec_text_add_build_id(text, &module) &&
               base_text_append(text, "]", 1);
    if (!*base)
        return base_text_append(text, PROFILE_UNKNOWN, strlen(PROFILE_UNKNOWN));
    if (base[0] == '[') /* "[vdso]" has its brackets already */
        return codec_text_add_utf8(text, base, strlen(base));
    return base_text_append(text, "[", 1) && codec_text_add_utf8(text, base, strlen(base)) &&
           base_text_append(text, "]", 1);
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
