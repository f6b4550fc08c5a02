/* symbolize.h - names for addresses: (build ID, virtual address) to functions, files, lines and
 * inlined frames.
 *
 * This header is the manual of libsymbolize; docs/symbolization.md explains the same for users.
 * "section N" refers to a section of docs/formats/symbolizer.md.
 *
 * A struct sym_session holds the places to search for debug files.  A struct sym_module is one ELF
 * object that the session found by build ID, or by path if there is no build ID.  Addresses are
 * looked up in bulk:
 *
 *     struct sym_session *session;
 *     struct sym_module *module;
 *     struct sym_module_key key = {
 *         .build_id = id, .build_id_length = 20, .path = "/usr/bin/true"
 *     };
 *
 * All addresses are ELF virtual addresses of the object (vaddr), never process addresses or file
 * offsets.  They are looked up unchanged: a caller that has a return address must subtract 1 first
 * (section 2), and only once.
 *
 * A file is used only if its build ID is the requested one.  A file with another build ID is
 * rejected and named in the module's report; it is never used as a guess.  Object files are hostile
 * input: a broken file loses its names, but does not end the process.
 *
 * The library does not print or exit, and uses the network only if debuginfod servers are allowed.
 * A session must be used by one thread at a time.
 *
 * Files are mapped, not read.  The first mapping installs a SIGBUS handler, so that a file that is
 * truncated while it is mapped does not end the process.  The handler repairs faults in the
 * library's own mappings and passes all others to the previous handler; it is async-signal-safe and
 * serves all threads.  A program with a SIGBUS handler of its own should install it before it opens
 * a session, or should pass unknown faults to the handler it replaced.  The report of a module
 * whose file changed states the change.  */
#ifndef SYMBOLIZE_H
#define SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYM_API __attribute__((visibility("default")))

/* ---- Status and errors ---- */

/* Values are part of the interface and are never reused.  */
enum sym_status {
    SYM_OK = 0,        /* success */
    SYM_NOT_FOUND = 1, /* no such object, or no name for this address; not a failure */
    SYM_NO_MEMORY = 2, /* an allocation failed */
    SYM_IO = 3,        /* a file could not be read; error->system_errno has the cause */
    SYM_MALFORMED = 4, /* a file is not the ELF object or debug information it claims to be */
    SYM_INVALID = 5,   /* an argument violates the contract */
    SYM_STOPPED = 6,   /* the caller's callback requested a stop */
};

/* An error, described for people.  The caller owns the struct, which needs no clean-up; a function
 * that takes one accepts NULL.  It is written on every status but SYM_OK.  */
struct sym_error {
    enum sym_status status;
    int system_errno;  /* errno of the failing call, or 0 */
    char message[240]; /* a phrase: no newline, no final dot */
};

/* ---- Session ---- */

struct sym_session;

/* A transfer from a debuginfod server, reported several times a second.  */
struct sym_progress {
    const char *name;     /* the path or build ID that is fetched */
    uint64_t bytes;       /* received so far */
    uint64_t total_bytes; /* 0: unknown */
};

/* progress is valid during the call.  Return false to stop this transfer; the search continues
 * without it.  */
typedef bool (*sym_progress_fn)(void *context, const struct sym_progress *progress);

struct sym_options {
    size_t size; /* sizeof(struct sym_options) */

    /* Places to search first, in this order.  The type of each is detected when it is searched:
     *
     * - a file: an ELF object, also one of split units (.dwo, .dwp), a Breakpad symbol file (used
     *   where there is no debug information), or text as in /proc/kallsyms (see
     *   sym_session_kallsyms())
     * - a directory with a .build-id/ tree below it, or with the tree's xx/ directories in it
     * - a directory of files named after their build IDs, with or without ".debug"
     * - any other directory: the ELF and Breakpad symbol files in it and below it, such as those of
     *   a symbol server (NAME/ID/NAME.sym), are indexed by build ID, once in a session, when the
     *   first module needs them.  Symbolic links to directories are not followed, and nothing is
     *   indexed beside a .build-id/ tree.
     *
     * The array and its strings are copied.  */
    const char *const *symbol_paths;
    size_t symbol_path_count;

    const char *debug_root; /* NULL: /usr/lib/debug; "": none */

    /* debuginfod's cache, which is read even if requests to servers are not allowed.  NULL: the
     * place that the environment sets (DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, HOME); "": none.  */
    const char *debuginfod_cache;

    /* Allow requests to the servers in DEBUGINFOD_URLS for files that were not found, through
     * libdebuginfod.so.1, which is opened at run time.  The library uses the network for nothing
     * else.  */
    bool debuginfod;
    uint64_t debuginfod_bytes; /* limit of bytes to fetch in a session; 0: 1 GiB */
    sym_progress_fn progress;  /* called during transfers; may be NULL */
    void *progress_context;

    unsigned jobs;   /* number of threads that read debug information; 0: one for each online CPU,
                      * 1: only the caller's.  The answers do not depend on it */
    bool no_inlines; /* return only the real function, at its own line: the line that calls the code
                      * that was copied into it */
    bool details;    /* fill the last fields of struct sym_frame, and return line 0 where the
                      * compiler named no line, not the line before.  The symbol cache does not hold
                      * these, so it is neither read nor written */

    /* Name code that nothing names after its function's bounds in .eh_frame or .debug_frame:
     * "[libcrypto.so.3+0x1a2b40]" is the function that begins at this vaddr, the same in every run.
     * Its only frame has no file, no line, and SYM_QUALITY_NONE as its source.  */
    bool bounds;

    bool relative_files; /* file names as the compiler was given them, without the directory that it
                          * ran in; without the symbol cache, which has both in one */
    bool symbol_files;   /* where a function of the symbol table has no file, the name of the source
                          * file that the table gives for functions and data that are not global:
                          * "crtstuff.c", without a directory */
    bool keep_tags;      /* addresses of symbols may have memory tags in their highest byte: leave
                          * them there.  By default sym_module_symbol() and the functions below it
                          * take them off */

    /* Lift the limits on hostile files.  All memory that is taken to read the files of a module
     * may be 384 MiB plus 64 times their size; of this, the sections of a file may unpack to 256
     * MiB plus 32 times its size, and names take 192 MiB plus 16 times the size of the largest
     * file.  Beyond that, the module loses its debug information, then its symbols, or further
     * names, and its report has the reason.  The modules of a session, without what their files
     * take, may take 512 MiB.  Limits that no sound file reaches remain.  */
    bool no_limit;

    /* The symbol cache keeps the symbols that were read, by build ID, in a directory of files that
     * can be opened in microseconds.  It never makes an answer worse; a problem with it only costs
     * time.  */
    bool no_cache;              /* neither read nor write the cache */
    const char *cache_dir;      /* NULL: $XDG_CACHE_HOME/fxt/symbols, or ~/.cache/fxt/symbols */
    uint64_t cache_limit_bytes; /* limit for all files in it; 0: $FXT_SYMBOL_CACHE_BYTES, or 2
                                 * GiB */
};

/* options may be NULL.  Returns SYM_OK, SYM_INVALID (also if $FXT_SYMBOL_CACHE_BYTES is used and is
 * not a number) or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_session_open(const struct sym_options *options,
                                         struct sym_session **out, struct sym_error *error);

/* What was left out while the directories of symbol_paths were indexed.  */
struct sym_unread {
    size_t count;     /* of files and directories that could not be read */
    const char *path; /* the first of them, until sym_session_close(); NULL: none, or no memory */
    int system_errno; /* of the first; ENAMETOOLONG: more than 32 directories deep */
    bool stopped;     /* after 1048576 entries of a directory of symbol_paths */
};
SYM_API void sym_session_unread(const struct sym_session *session, struct sym_unread *out);

/* Close the session and its modules; all pointers that they returned become invalid.  Accepts
 * NULL.  */
SYM_API void sym_session_close(struct sym_session *session);

/* Add the symbols of a kernel, the running one or an earlier one, from the text of /proc/kallsyms,
 * which is copied.  They name modules that have no file but a name in brackets as their path: all
 * lines belong to "[kernel]", "[kernel.kallsyms]" and "[guest.kernel.kallsyms]", and the lines of a
 * kernel module NAME belong to "[NAME]".  The vaddrs of such a module are the addresses in the
 * text, which are those of the running kernel.  A kallsyms file among symbol_paths has the same
 * effect.  The text holds no build ID, so modules named by it are reported as unverified.  Returns
 * SYM_OK, SYM_MALFORMED (not such a text), SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_session_kallsyms(struct sym_session *session, const char *text,
                                             size_t size, struct sym_error *error);

/* ---- Modules ---- */

struct sym_module;

/* Identifies an object.  */
struct sym_module_key {
    const uint8_t *build_id; /* build_id_length bytes; may be NULL if that is 0 */
    size_t build_id_length;  /* 0: the build ID is unknown; path is then used without a check and
                              * reported as unverified */
    const char *path;        /* path of the object when it was recorded, or NULL.  Used only if its
                              * build ID matches, or if it has none (then unverified).  A name in
                              * brackets ("[kernel]", "[vdso]") is never opened */
    const char *name;        /* name of the module in the names of functions that have none
                              * (sym_options.bounds), its first call counts; NULL: the last part of
                              * path, or the build ID */
};

/* Quality of the names of a module, in ascending order, so that values can be compared.  */
enum sym_quality {
    SYM_QUALITY_NONE = 0,      /* no file was found, or it holds no names */
    SYM_QUALITY_DYNSYM = 1,    /* exported functions only */
    SYM_QUALITY_DEBUGDATA = 2, /* those of .gnu_debugdata too (MiniDebugInfo) */
    SYM_QUALITY_SYMTAB = 3,    /* function names, no lines */
    SYM_QUALITY_DWARF = 4,     /* functions, lines and inlined frames */
};

/* The files that the session found for a module, for coverage reports.  All strings are valid as
 * long as the session; none is NULL.
 *
 * If debug information turns out to be unreadable during a lookup, the quality in the report is
 * lowered: read the report after sym_module_resolve().  */
struct sym_report {
    enum sym_quality quality;
    const char *code_path;  /* the object itself, "" if it was not found */
    const char *debug_path; /* the file that provides the names (may be code_path), "": none */
    bool unverified;        /* no build ID on one side: matched by path alone */
    const char *problem;    /* the reason why the names are not better, a phrase to print after the
                             * module's name: "no debug information", "the file has build ID
                             * ab12..., not ...", "/syms/x.debug: permission denied" if it concerns
                             * another file.  With SYM_QUALITY_DWARF it names the missing part:
                             * "functions of 3 units are only known by symbols: no file a.dwo";
                             * mostly "" */
    const char *remedy;     /* a step that the user can take: "install the package with its debug
                             * information ...", ... "" if there is none */
    const char *cache_path; /* the file of the symbol cache that is used, "": none */
    bool go_table;          /* SYM_QUALITY_SYMTAB, but with files, lines and inlined frames from the
                             * table that Go programs keep when they are stripped */
    bool breakpad;          /* the same, from a Breakpad symbol file */
    const char *cache_problem; /* a problem with the symbol cache, a phrase: why its directory
                                * cannot be used, or which file was damaged.  "" if there is none */
    bool is_32_bit;            /* an ELF object for a machine with addresses of 32 bits */
    size_t fallback_units;     /* units of the debug information that libdwarf read, because the
                                * library's own decoder could not.  Their functions and lines are
                                * used like all others */
    const char *fallback; /* the same as a phrase: "2 units read by libdwarf, because ours could
                                * not: damaged unit at 0x1c of .debug_info"; "" if there are none */
    size_t unread_units;  /* damaged units of the debug information of which neither the library nor
                           * libdwarf could read all.  The unread functions are looked up in the
                           * symbols, and unread lines and inlined calls are missing */
    const char *unread;   /* the same as a phrase, with the reason for the first: "1 unit of the
                           * debug information was not read completely: damaged unit at 0x1c of
                           * .debug_info; libdwarf cannot read its functions either"; "" if there
                           * are none */
};

/* Return the module for key.  The first call searches for it; later calls with an equal key return
 * the same handle.  Search order: symbol_paths, path, the files named by the .gnu_debuglink
 * sections of those, debug_root, debuginfod's cache, its servers.  Among the matching files, the
 * one with the best debug information is used (enum sym_quality), and the first among equals.  The
 * session owns the handle.
 *
 * A module that was not found is a module, too: its quality is SYM_QUALITY_NONE, and the report has
 * the reason.  Returns SYM_OK, SYM_INVALID (neither build ID nor path) or SYM_NO_MEMORY (also if
 * the modules of the session take more than sym_options.no_limit describes).  */
SYM_API enum sym_status sym_session_module(struct sym_session *session,
                                           const struct sym_module_key *key,
                                           struct sym_module **out, struct sym_error *error);

/* Borrowed until sym_session_close().  */
SYM_API const struct sym_report *sym_module_report(const struct sym_module *module);

/* One step of the search for a module's files, for diagnosis.  */
enum sym_trail_place {
    SYM_PLACE_SYMBOL_PATH = 0,       /* one of symbol_paths */
    SYM_PLACE_RECORDED_PATH = 1,     /* the key's path */
    SYM_PLACE_DEBUGLINK = 2,         /* named by a .gnu_debuglink section */
    SYM_PLACE_DEBUG_ROOT = 3,        /* debug_root's .build-id/ tree */
    SYM_PLACE_DEBUGINFOD_CACHE = 4,  /* debuginfod's cache on this machine */
    SYM_PLACE_DEBUGINFOD_SERVER = 5, /* a server of DEBUGINFOD_URLS */
    SYM_PLACE_KALLSYMS = 6,          /* the text of sym_session_kallsyms() */
    SYM_PLACE_ALT = 7,               /* a supplement: .gnu_debugaltlink, .debug_sup */
    SYM_PLACE_SPLIT = 8,             /* a .dwo or .dwp file */
};

enum sym_outcome {
    SYM_OUTCOME_ABSENT = 0,  /* nothing exists there */
    SYM_OUTCOME_REFUSED = 1, /* a file exists there but is not used */
    SYM_OUTCOME_SPARE = 2,   /* usable, but another is better */
    SYM_OUTCOME_USED = 3,    /* its names or its code are used */
    SYM_OUTCOME_SKIPPED = 4, /* not searched */
};

struct sym_trail_step {
    enum sym_trail_place place;
    enum sym_outcome outcome;
    enum sym_quality quality; /* of the file there, if it belongs to this module */
    const char *path;   /* a file, or the directory that was searched; "": the place has no path */
    const char *reason; /* a phrase: "the file has build ID ab12..., not ...", "for code and
                         * symbols"; may be "" */
};

/* The steps of the search for the module, in order; borrowed until the next call with this module.
 * Supplements and split files are searched for, and so are added to the list, when addresses are
 * looked up.  */
SYM_API const struct sym_trail_step *sym_module_trail(const struct sym_module *module,
                                                      size_t *count);

/* Search for all supplements and split files now, before any lookup, so that report and trail
 * include them.  Returns SYM_OK, whether they exist or not, or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_seek_companions(struct sym_module *module,
                                                   struct sym_error *error);

/* Read all units of the debug information now, before any lookup, so that the report includes those
 * that only libdwarf can read and those that cannot be read.  Nothing is read if the symbol cache
 * has the module: it has no module with damaged debug information.  Returns SYM_OK, whether there
 * is damage or not, or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_seek_damage(struct sym_module *module, struct sym_error *error);

/* Return the offset in the object's file of the byte that is loaded at vaddr, by its program
 * headers.  pprof's file_offset of a mapping is the offset of the mapping's first byte.  Returns
 * SYM_OK, or SYM_NOT_FOUND if the object itself was not found (a debug file does not have the
 * offsets) or no segment has bytes of the file at vaddr.  */
SYM_API enum sym_status sym_module_file_offset(const struct sym_module *module, uint64_t vaddr,
                                               uint64_t *file_offset);

/* The inverse: return the vaddr at which the byte at an offset of the object's file is loaded.  The
 * statuses are the same.  */
SYM_API enum sym_status sym_module_vaddr(const struct sym_module *module, uint64_t file_offset,
                                         uint64_t *vaddr);

/* Return the vaddr of the first byte of a mapping of code: of size bytes of the object's file from
 * file_offset on.  Kernels map whole pages, so a mapping begins before its segment, with bytes that
 * belong to another segment and have another vaddr there: of the segments that the mapping has
 * bytes of, the executable one counts.  The statuses are the same.  */
SYM_API enum sym_status sym_module_mapping_vaddr(const struct sym_module *module,
                                                 uint64_t file_offset, uint64_t size,
                                                 uint64_t *vaddr);

/* ---- Lookup ---- */

/* One frame of an address.  Strings are never NULL and are valid until the session is closed.
 * Equal strings of one module have equal pointers.  */
struct sym_frame {
    const char *function;     /* demangled (C++, Rust), or as in the file; "" unknown */
    const char *linkage_name; /* as in the symbol table; "" if the debug information holds only a
                               * plain name */
    const char *file;         /* absolute if the compilation directory is known; "" unknown */
    uint32_t line;            /* position inside this function, from 1; 0 unknown */
    uint32_t column;          /* from 1; 0 unknown */
    uint32_t start_line;      /* line of the function's declaration; 0 unknown */
    bool inlined;             /* this function's code was copied into the next frame's */
    enum sym_quality source;  /* the table that provided the function name; SYM_QUALITY_NONE: the
                               * name stands for the bounds of a function (sym_options.bounds) */

    /* With sym_options.details only, else 0 and NULL.  */
    uint32_t discriminator; /* tells blocks of code apart that have one line; 0: none */
    bool has_start;         /* start_vaddr is known */
    uint64_t start_vaddr;   /* where this function, or this copy of it, begins, by the debug
                             * information, or, of a function that this has in several pieces or
                             * not at all, by its symbol */
    const char *start_file; /* of the function's declaration; NULL unknown */
};

/* Receives the answer for vaddrs[index]: count frames, innermost first; the last one is the real
 * function.  count is 0 if nothing covers the address.  It is called exactly once for every index
 * unless it returns false; the order of calls is unspecified.  frames is valid during the call
 * only, the strings longer (struct sym_frame).  Return false to stop.  */
typedef bool (*sym_answer_fn)(void *context, size_t index, const struct sym_frame *frames,
                              size_t count);

/* Look up count addresses.  They may be in any order and may repeat.  The function sorts them, so
 * pass all addresses in one call: a session holds the debug information of the module that was used
 * last, and reads it again if modules alternate.
 *
 * An address in a gap between functions has no function: the nearest symbol is not an answer.  If a
 * line table covers the gap (padding), there is one frame with a line and no name, else none.
 * Damage in the debug information costs only the affected addresses their lines or their names.
 * Returns SYM_OK, SYM_STOPPED or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_resolve(struct sym_module *module, const uint64_t *vaddrs,
                                           size_t count, sym_answer_fn answer, void *context,
                                           struct sym_error *error);

/* Like sym_module_resolve(), for callers that print or store the answers: each answer is reported
 * once.  ids[i] is set to the number of the answer for vaddrs[i].  answer is called once for each
 * number, first for 0, then for 1, and so on, with the number as its index.  Addresses with the
 * same number have equal answers.  Most addresses with equal answers, at least those of one line,
 * have the same number.
 *
 * ids must have room for count numbers and is complete if the function returns SYM_OK.  count must
 * be below UINT32_MAX.  Returns SYM_OK, SYM_STOPPED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_resolve_batch(struct sym_module *module, const uint64_t *vaddrs,
                                                 size_t count, uint32_t *ids, sym_answer_fn answer,
                                                 void *context, struct sym_error *error);

/* Like sym_module_resolve_batch(), for callers that keep the answers of several calls.  Numbers
 * continue from *next, which is set to one more than the last number.  Answers that were reported
 * before keep their numbers and are mostly (those from the symbol cache) not reported again.  *next
 * must be 0 at first.  Set it to 0 again when the answers are no longer kept, and after any status
 * but SYM_OK; all answers are then forgotten.  Numbers stay below UINT32_MAX: SYM_INVALID if count
 * more of them would not.  */
SYM_API enum sym_status sym_module_resolve_next(struct sym_module *module, const uint64_t *vaddrs,
                                                size_t count, uint32_t *ids, uint32_t *next,
                                                sym_answer_fn answer, void *context,
                                                struct sym_error *error);

/* Addresses of one module in a lookup of several modules.  */
struct sym_query {
    struct sym_module *module; /* each module only once */
    const uint64_t *vaddrs;
    size_t count;  /* must be below UINT32_MAX */
    uint32_t *ids; /* room for count numbers */
};

/* Like sym_answer_fn, for number index of queries[query].  It is never called twice at once, but
 * may be called from threads of the library.  */
typedef bool (*sym_query_fn)(void *context, size_t query, size_t index,
                             const struct sym_frame *frames, size_t count);

/* sym_module_resolve_batch() for several modules of a session.  The library reads as many of them
 * in parallel as there are jobs (struct sym_options), so answers of different modules are
 * interleaved.  Returns SYM_OK, SYM_STOPPED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_session_resolve(struct sym_session *session,
                                            const struct sym_query *queries, size_t count,
                                            sym_query_fn answer, void *context,
                                            struct sym_error *error);

/* The name in the symbol table of the variable or constant at vaddr.  The name applies to its whole
 * extent; a gap has no name.  Strings as in struct sym_frame.  */
struct sym_datum {
    const char *name;         /* demangled, or as in the file */
    const char *linkage_name; /* as in the symbol table */
};

/* Returns SYM_OK, SYM_NOT_FOUND (no symbol with a size covers vaddr; *out is unchanged) or
 * SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_data(struct sym_module *module, uint64_t vaddr,
                                        struct sym_datum *out, struct sym_error *error);

/* ---- Variables ---- */

/* A parameter or variable of a function, as debug information describes it.  Strings as in struct
 * sym_frame, "" unknown.  */
struct sym_local {
    const char *function; /* that it belongs to, without scopes: "area" */
    const char *name;
    const char *file; /* of its declaration */
    uint32_t line;    /* 0: unknown */
    bool has_frame_offset, has_size, has_tag_offset;
    int64_t frame_offset; /* in bytes, from the base that debug information names for the frame:
                           * where it is for at least a part of the function */
    uint64_t size;        /* of its type, in bytes */
    uint64_t tag_offset;  /* of its tag in the tags of the frame (HWAddressSanitizer) */
};

/* local is valid during the call.  Return false to stop.  */
typedef bool (*sym_local_fn)(void *context, const struct sym_local *local);

/* Report the parameters and variables of the function at vaddr, in the order of their declaration.
 * If vaddr is in a copy of an inlined function, they are those of the copy, and in each case also
 * those of what was inlined into it.  Without debug information there are none.  Returns SYM_OK,
 * SYM_STOPPED or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_locals(struct sym_module *module, uint64_t vaddr,
                                          sym_local_fn visit, void *context,
                                          struct sym_error *error);

/* Return file and line of the declaration of the static variable at vaddr; *file as in struct
 * sym_frame.  The first call reads all debug information of the module.  Returns SYM_OK,
 * SYM_NOT_FOUND (the outputs are unchanged) or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_declaration(struct sym_module *module, uint64_t vaddr,
                                               const char **file, uint32_t *line,
                                               struct sym_error *error);

/* ---- Places by name ---- */

/* A function, variable or label of the symbol table.  Strings as in struct sym_frame.  */
struct sym_symbol_place {
    const char *name;         /* demangled, or as in the file */
    const char *linkage_name; /* as in the symbol table, without "@VERSION" */
    uint64_t vaddr;
    uint64_t size;    /* 0: unknown */
    const char *file; /* as sym_options.symbol_files has it, "" unknown */
};

/* Return the index-th symbol (from 0, in the order of addresses) whose linkage name is name.
 * Returns SYM_OK, SYM_NOT_FOUND (so many do not exist; *out is unchanged) or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_symbol(struct sym_module *module, const char *name, size_t index,
                                          struct sym_symbol_place *out, struct sym_error *error);

/* Return the symbol of any kind that begins at vaddr, or last before it, if vaddr is within its
 * size, or its size is unknown.  Returns as sym_module_symbol().  */
SYM_API enum sym_status sym_module_symbol_at(struct sym_module *module, uint64_t vaddr,
                                             struct sym_symbol_place *out, struct sym_error *error);

/* Return where the section of that name is in memory: its vaddr and its size in bytes.  Returns
 * SYM_OK, or SYM_NOT_FOUND (no such section, or one that is not loaded; the outputs are unchanged)
 * or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_section(struct sym_module *module, const char *name,
                                           uint64_t *vaddr, uint64_t *size,
                                           struct sym_error *error);

/* ---- Code ---- */

/* The function of the symbol tables that covers an address, for readers of code.  */
struct sym_code_function {
    uint64_t start, limit; /* addresses [start, limit) for which the answer is the same */
    uint32_t id;           /* of the function, in this module; never 0 */
    const char *name;      /* readable, as struct sym_frame's */
};

/* Returns SYM_OK, SYM_NOT_FOUND (no symbol covers vaddr; start and limit are those of the gap, the
 * rest is 0) or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_function(struct sym_module *module, uint64_t vaddr,
                                            struct sym_code_function *out, struct sym_error *error);

/* Copy up to size bytes that the object's file has at vaddr; *count is how many, 0 if the object
 * itself was not found or has none there.  If buffer is NULL, they are only counted.  Returns
 * SYM_OK or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_code(struct sym_module *module, uint64_t vaddr, void *buffer,
                                        size_t size, size_t *count, struct sym_error *error);

/* ---- Verifying ---- */

/* An address for which the library and libdwarf read different things from the debug information.
 * The strings are valid during the call and never NULL.  */
struct sym_difference {
    uint64_t vaddr;
    const char *what;   /* "unit", "function", "inlined calls", "call site", "line" or "file" */
    const char *ours;   /* for people: "12:3", "no line", "_ZN1a1bEv" */
    const char *theirs; /* what libdwarf reads */
    const char *fault;  /* name of the known fault of this version of libdwarf that explains it; ""
                         * none: one of the two is wrong */
};

/* Return false to stop.  */
typedef bool (*sym_difference_fn)(void *context, const struct sym_difference *difference);

struct sym_verification {
    const char *version;   /* of libdwarf, never NULL */
    uint64_t units;        /* that were compared */
    uint64_t addresses;    /* that were compared */
    uint64_t differences;  /* without a known fault */
    uint64_t known_faults; /* differences with one */
    uint64_t skipped;      /* units that were not compared, */
    char reason[200];      /* and why, for the first of them */
    char damage[200];      /* the first thing that the library could not read; "" nothing */
};

/* A fault of libdwarf that verification knows.  */
struct sym_known_fault {
    const char *name, *text;
    const char *fixed; /* the first version without it; "" none is known */
};

/* The known faults of the installed libdwarf, from index 0 on; NULL after the last one.  */
SYM_API const struct sym_known_fault *sym_known_fault(size_t index);

/* Read the debug information of the module a second time, through libelf and libdwarf, and report
 * each address for which functions, inlined calls or lines are not the same.  count is the number
 * of addresses, spread evenly over the code; 0: those on both sides of each boundary of a row of
 * the line tables, and of each function and inlined copy.  Code that belongs to several units is
 * compared in the unit that the library uses.
 *
 * libdwarf may crash, or not end, on hostile files: call this in a process of its own, with limits.
 * Returns SYM_OK, SYM_NOT_FOUND (no debug information), SYM_MALFORMED (libdwarf cannot read it),
 * SYM_STOPPED or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_verify(struct sym_module *module, uint64_t count,
                                          sym_difference_fn visit, void *context,
                                          struct sym_verification *out, struct sym_error *error);

/* ---- Functions for use elsewhere ---- */

/* The optional libraries that are available here, for people: "liblzma; libdebuginfod".  */
SYM_API const char *sym_libraries(void);

/* Read the build ID of the ELF file at path.  At most capacity bytes are stored in id, and its
 * whole length in *length.  Notes are searched in program headers, then in sections (section 3).  A
 * note of more than 64 bytes is not a build ID.  A Go program without one has 15 bytes of Go's own
 * (docs/symbolization.md, "Go").  Returns SYM_OK, SYM_NOT_FOUND (an ELF object
 * without build ID), SYM_IO, SYM_MALFORMED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_build_id(const char *path, uint8_t *id, size_t capacity, size_t *length,
                                     struct sym_error *error);

/* Read the compilers of the ELF file at path, as compilers and linkers record them in .comment:
 * their texts, each once, in the file's order, separated by "; ".  A text that does not fit into
 * size bytes with its NUL is left out as a whole.  Returns SYM_OK, SYM_NOT_FOUND (no such file, or
 * it has no such text; text is ""), SYM_IO, SYM_MALFORMED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_compiler(const char *path, char *text, size_t size,
                                     struct sym_error *error);

/* Return the readable form of a C++ (Itanium) or Rust (legacy and v0) name, in memory from malloc()
 * that the caller must free.  Returns NULL if the name is not a mangled one or is too complex to
 * demangle (more than 64 KiB, or nested deeper than the demangler's limit, which is always on).  */
SYM_API char *sym_demangle(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* SYMBOLIZE_H */
