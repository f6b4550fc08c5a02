/* writer_output.h - what the writers share: output, text, names of frames.  */
#ifndef PROFILE_WRITE_WRITER_OUTPUT_H
#define PROFILE_WRITE_WRITER_OUTPUT_H

#include "base/output.h"
#include "base/text.h"
#include "libprofile/aggregate.h"

/* ---- Buffered output ---- */

/* Write the remaining bytes, and return how all writing went.  */
enum profile_status codec_output_finish(struct base_output *output, struct profile_error *error);

/* ---- Growing text ---- */

/* As base_text_append(), as UTF-8: every byte that is not part of a character becomes U+FFFD.  */
bool codec_text_add_utf8(struct base_text *text, const char *bytes, size_t length);

/* ---- Names ---- */

/* What stands for a frame, or one of its lines, without a name: "[file]" for a module of that name,
 * "[BUILD-ID]" for one without, "[unknown]" where there is none.  Never an address, so that builds
 * compare.  */
bool codec_text_add_module(struct base_text *text, const struct profile *profile,
                           profile_id module);
/* In lower-case digits, nothing for one that is not known.  */
bool codec_text_add_build_id(struct base_text *text, const struct profile_module *module);
/* The readable name of line index of a frame, or what stands for it; index is 0 for a frame without
 * lines.  */
bool codec_text_add_function(struct base_text *text, const struct profile *profile,
                             const struct profile_frame *frame, uint32_t index);
/* A demangled name without return type, parameters, qualifiers, anonymous namespaces and long
 * template arguments; the whole name where it reads like nothing a demangler writes
 * (short_name.c).  */
bool codec_text_add_short_name(struct base_text *text, const char *name, size_t length);

/* Bytes of template arguments that a short name keeps.  */
#define CODEC_ARGUMENTS_MAX 24
/* The same with another limit in place of CODEC_ARGUMENTS_MAX; 0 leaves no arguments.  */
bool codec_text_add_shorter_name(struct base_text *text, const char *name, size_t length,
                                 size_t arguments_max);

/* profile_fit_name(), added to text (fit_name.c).  */
bool codec_text_add_fit_name(struct base_text *text, const char *name, size_t length,
                             size_t columns);
/* The beginning and the end of a text that is wider than columns, with "…" in place of the middle;
 * else the whole text.  */
bool codec_text_add_cut(struct base_text *text, const char *bytes, size_t length, size_t columns);

#endif /* PROFILE_WRITE_WRITER_OUTPUT_H */
