/* profile_markup.h - logs with symbolizer markup as profiles: every backtrace is a sample.
 *
 * "section 1" refers to docs/formats/symbolizer.md.  A backtrace is a run of {{{bt:0:...}}},
 * {{{bt:1:...}}}, ..., alone on their lines or not; other lines may come between them.  Addresses
 * are looked up in the modules and mappings that precede them, up to a reset.  Elements of other
 * kinds, and all other text, are ignored.
 *
 * The owner of a backtrace is found in these forms:
 *
 *   [00012.345][1234][5678][tags] INFO: {{{bt:0:...}}}    log_listener: process and thread
 *   [00012.345] 01234:05678> {{{bt:0:...}}}               the kernel's log
 *   1234, then 5678, alone on two lines before it         the CPU profiler's text form (section 1)
 *
 * Lines that begin like the first two have modules and mappings of their own for each process, and
 * backtraces for each thread, so the lines of several may be interleaved in any way.  All other
 * lines together are one stream.
 *
 *     fxt_input_open(&from, &input, NULL); as stream
 *     status = profile_read_markup(input, &sink, NULL, &notices, &error);
 *
 * Logs are hostile and may be endless: the stored state is bounded, text that is not an element is
 * skipped, and damage is counted and is never a status.  */
#ifndef PROFILE_CODEC_MARKUP_H
#define PROFILE_CODEC_MARKUP_H

#include <fxt/markup.h>
#include <fxt/profile_files.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the first bytes of a file, uncompressed, are text that contains an element of a profile:
 * a reset, module, mmap or bt.  With more bytes than PROFILE_SNIFF_BYTES, elements that come later
 * are found as well.  */
PROFILE_API bool profile_is_markup(const void *start, size_t length);

/* ---- Notices ---- */

enum profile_markup_kind {
    PROFILE_MARKUP_CUT = 0,       /* compressed data that end early */
    PROFILE_MARKUP_CORRUPT = 1,   /* compressed data that cannot be unpacked */
    PROFILE_MARKUP_MALFORMED = 2, /* elements that do not follow section 1 */
    PROFILE_MARKUP_CONFLICT = 3,  /* modules whose number is in use: the first one is kept */
    PROFILE_MARKUP_NO_MODULE = 4, /* mappings of unknown modules: left out */
    PROFILE_MARKUP_BAD_RANGE = 5, /* mappings that are empty or pass the end: left out */
    PROFILE_MARKUP_LEFT_OUT = 6,  /* modules and mappings over the limit: left out */
    PROFILE_MARKUP_LONG_LINE = 7, /* lines over options->entry_bytes: skipped */
    PROFILE_MARKUP_GAP = 8,       /* backtraces without some frames, at the front or in between */
    PROFILE_MARKUP_DEEP = 9,      /* backtraces cut at PROFILE_MARKUP_FRAMES frames */
    /* Not damage.  */
    PROFILE_MARKUP_OVERLAP = 10,   /* mappings that overlap earlier ones: the later one is used */
    PROFILE_MARKUP_ANONYMOUS = 11, /* frames in no mapping */
    PROFILE_MARKUP_KINDS = 12,
};

enum { PROFILE_MARKUP_FRAMES = 4096 };

/* Filled in on every status.  */
struct profile_markup_notices {
    struct {
        uint64_t count;
        uint64_t first_offset; /* uncompressed bytes before the line of the first; 0 if there is
                                * none */
    } kinds[PROFILE_MARKUP_KINDS];
    uint64_t backtraces; /* delivered */
    uint64_t elements;   /* of all kinds but text */
};

/* "malformed_elements"; and "elements that are not as symbolizer markup has them", a phrase.  */
PROFILE_API const char *profile_markup_name(enum profile_markup_kind kind);
PROFILE_API const char *profile_markup_phrase(enum profile_markup_kind kind);
PROFILE_API bool profile_markup_is_damage(enum profile_markup_kind kind);

/* Describe the damage as a phrase, NUL-terminated.  Without damage the text is "" and the function
 * returns false.  */
PROFILE_API bool profile_markup_describe(const struct profile_markup_notices *notices, char *text,
                                         size_t size);

/* ---- Reading ---- */

struct profile_markup_owner {
    bool known; /* the log names the owner; otherwise both are 0 */
    uint64_t process_koid;
    uint64_t thread_koid;
};

/* A module's address range in a process, if backtraces of that process follow; reported before the
 * first of them.  It is reported likewise for a log that names no process.  */
struct profile_markup_mapping {
    struct profile_markup_owner owner; /* thread 0 */
    const struct sym_markup_module *module;
    uint64_t start;      /* process address */
    uint64_t size_bytes; /* not 0; start + size_bytes - 1 is an address */
    uint64_t vaddr;      /* module-relative address of start */
    unsigned flags;      /* as in ELF: 4 readable, 2 writable, 1 executable */
};

enum profile_markup_place {
    PROFILE_MARKUP_IN_MODULE = 0,
    PROFILE_MARKUP_IN_NONE = 1,  /* mappings are known, but the address is in none of them */
    PROFILE_MARKUP_UNKNOWN = 2,  /* no mapping is known */
    PROFILE_MARKUP_NO_FRAME = 3, /* represents frames whose numbers are missing */
};

struct profile_markup_frame {
    enum profile_markup_place place;
    const struct sym_markup_module *module; /* PROFILE_MARKUP_IN_MODULE; else NULL */
    uint64_t vaddr;   /* of the module, for lookup: for return addresses one less */
    uint64_t address; /* as in the log */
};

struct profile_markup_backtrace {
    struct profile_markup_owner owner;
    const struct profile_markup_frame *frames; /* leaf first; at least one */
    size_t frame_count;
    bool is_cut; /* it had more than PROFILE_MARKUP_FRAMES */
};

struct profile_markup_sink {
    size_t size; /* sizeof(struct profile_markup_sink) */
    void *context;
    enum profile_status (*mapping)(void *context, const struct profile_markup_mapping *mapping);
    enum profile_status (*backtrace)(void *context,
                                     const struct profile_markup_backtrace *backtrace);
};

/* Read lines to the end of the input.  Backtraces are reported in the order in which they end.  A
 * backtrace ends when the next one of its thread begins, at a reset, at the end of the input, or
 * when 64 others were begun since.
 *
 * Returns PROFILE_OK, a status of the sink, PROFILE_NO_MEMORY, PROFILE_IO or PROFILE_MALFORMED:
 * there are lines, but no element in any of them.  options->entry_bytes limits the length of lines
 * [1 MiB], options->table_bytes the memory for modules and mappings [64 MiB].  */
PROFILE_API enum profile_status profile_read_markup(struct fxt_input *input,
                                                    const struct profile_markup_sink *sink,
                                                    const struct profile_read_options *options,
                                                    struct profile_markup_notices *notices,
                                                    struct profile_error *error);

#ifdef __cplusplus
}
#endif

#endif /* PROFILE_CODEC_MARKUP_H */
