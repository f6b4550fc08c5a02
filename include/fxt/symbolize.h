/* symbolize.h - names for addresses: (build ID, virtual address) to functions, files, lines and
 * inlined frames.
 *
 * This header is the manual of libsymbolize; docs/symbolization.md tells users the same story.
 * "section N" means docs/formats/symbolizer.md.
 *
 * A struct sym_session knows where to look for debug files.  A struct sym_module is one ELF object
 * that the session found by build ID (or by path, when there is none).  Addresses are looked up in
 * bulk:
 *
 *     struct sym_session *session;
 *     struct sym_module *module;
 *     struct sym_module_key key = {
 *         .build_id = id, .build_id_length = 20, .path = "/usr/bin/true"
 *     };
 *
 *     sym_session_open(NULL, &session, &error);
 *     sym_session_module(session, &key, &module, &error);
 *     sym_module_resolve(module, vaddrs, count, print_frames, context, &error);
 *     sym_session_close(session);
 *
 * All addresses are ELF virtual addresses of the object (vaddr), never process addresses or file
 * offsets.  They are looked up as they are: whoever holds a return address subtracts 1 first
 * (section 2), and does it once.
 *
 * A file is used only when its build ID is the one asked for; a wrong file is refused and named in
 * the module's report, never used as a guess.  Object files are hostile input: a broken one costs
 * its names, not the process.
 *
 * Nothing here prints or exits, or touches the network unless debuginfod servers are allowed.  One
 * session belongs to one thread at a time.
 *
 * Files are mapped, not read.  So that one that is cut meanwhile does not end the process, the
 * first mapping installs a SIGBUS handler.  It mends faults in the library's own mappings and
 * passes every other to the handler it found; it is async-signal-safe and serves all threads.  A
 * program with a SIGBUS handler of its own installs it before it opens a session, or passes on what
 * it does not know to the handler it replaced.  A module whose file changed says so in its report.
 */
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

/* Values are part of the interface and never reused.  */
enum sym_status {
    SYM_OK = 0,        /* done */
    SYM_NOT_FOUND = 1, /* no such object, or no name for this address; not a failure */
    SYM_NO_MEMORY = 2, /* an allocation failed */
    SYM_IO = 3,        /* a file could not be read; error->system_errno says why */
    SYM_MALFORMED = 4, /* a file is not the ELF object or debug information it claims to be */
    SYM_INVALID = 5,   /* an argument breaks the contract */
    SYM_STOPPED = 6,   /* the caller's callback asked to stop */
};

/* What went wrong, for people.  Belongs to the caller, needs no clean-up, may be NULL wherever it
 * is asked for; written on every status but SYM_OK.  */
struct sym_error {
    enum sym_status status;
    int system_errno;  /* errno of the failing call, or 0 */
    char message[240]; /* a phrase: no newline, no final dot */
};

/* ---- Session ---- */

struct sym_session;

/* A transfer from a debuginfod server, told several times a second.  */
struct sym_progress {
    const char *name;     /* what is fetched: a path, or a build ID */
    uint64_t bytes;       /* that have arrived */
    uint64_t total_bytes; /* 0: unknown */
};

/* progress is valid during the call.  Return false to stop this transfer; the search goes on
 * without it.  */
typedef bool (*sym_progress_fn)(void *context, const struct sym_progress *progress);

struct sym_options {
    size_t size; /* sizeof(struct sym_options) */

    /* Where to look before anything else, in this order.  What each is shows when it is looked at:
     *
     * - a file: an ELF object, also one of split units (.dwo, .dwp), or text as in /proc/kallsyms
     *   (see sym_session_kallsyms())
     * - a directory with a .build-id/ tree below it, or with the tree's xx/ directories in it
     * - a directory of files named after their build IDs, with or without ".debug"
     * - any other directory: the ELF files in it and below are indexed by build ID, once a session,
     *   when the first module needs it.  Symbolic links to directories are not followed, and beside
     *   a .build-id/ tree nothing is indexed.
     *
     * The array and its strings are copied.  */
    const char *const *symbol_paths;
    size_t symbol_path_count;

    const char *debug_root; /* NULL: /usr/lib/debug.  "" looks at none */

    /* debuginfod's cache is read whether or not servers may be asked.  NULL: where the environment
     * says (DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, HOME).  "" looks at none.  */
    const char *debuginfod_cache;

    /* Allows to ask the servers in DEBUGINFOD_URLS for what was not found, through
     * libdebuginfod.so.1, which is opened at run time.  Nothing else here touches the network.  */
    bool debuginfod;
    uint64_t debuginfod_bytes; /* what a session may fetch at most; 0: 1 GiB */
    sym_progress_fn progress;  /* told about transfers; may be NULL */
    void *progress_context;

    unsigned jobs;   /* threads that read debug information at once; 0: as many as CPUs are
                             * online, 1: the caller's alone.  Answers do not depend on it */
    bool no_inlines; /* give the real function only, at its own line: where it calls what
                             * was copied into it */

    /* The symbol cache keeps what was read, by build ID, in a directory of files that are opened in
     * microseconds.  It never makes an answer worse; what goes wrong with it costs time only.  */
    bool no_cache;              /* neither look there nor write there */
    const char *cache_dir;      /* NULL: $XDG_CACHE_HOME/fxt/symbols, or ~/.cache/fxt/symbols */
    uint64_t cache_limit_bytes; /* of all files in it; 0: $FXT_SYMBOL_CACHE_BYTES, or 2 GiB */
};

/* options may be NULL.  Returns SYM_OK, SYM_INVALID (also: $FXT_SYMBOL_CACHE_BYTES, where it
 * counts, is no number) or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_session_open(const struct sym_options *options,
                                         struct sym_session **out, struct sym_error *error);

/* Closes its modules too; everything handed out by them is gone.  Accepts NULL.  */
SYM_API void sym_session_close(struct sym_session *session);

/* Symbols of the kernel that is running, or was: the text of /proc/kallsyms, which is copied.  It
 * names modules that have no file but a name in brackets for path: all lines "[kernel]",
 * "[kernel.kallsyms]" and "[guest.kernel.kallsyms]", the lines of a kernel module NAME "[NAME]".
 * Their vaddrs are the addresses in the text, those of the running kernel.  A kallsyms file among
 * symbol_paths does the same.  It holds no build ID: what it names is reported as unverified.
 * Returns SYM_OK, SYM_MALFORMED (no such text), SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_session_kallsyms(struct sym_session *session, const char *text,
                                             size_t size, struct sym_error *error);

/* ---- Modules ---- */

struct sym_module;

/* Which object is meant.  */
struct sym_module_key {
    const uint8_t *build_id; /* build_id_length bytes; may be NULL when that is 0 */
    size_t build_id_length;  /* 0: no build ID is known, and path is taken as it is and reported as
                              * unverified */
    const char *path;        /* where the object was when it was recorded, or NULL.  Used only if
                              * its build ID agrees, or if it has none (then unverified).  A name in
                              * brackets ("[kernel]", "[vdso]") is never opened */
};

/* How good the names of a module are, best last, so that they compare.  */
enum sym_quality {
    SYM_QUALITY_NONE = 0,      /* no file was found, or it holds no names */
    SYM_QUALITY_DYNSYM = 1,    /* exported functions only */
    SYM_QUALITY_DEBUGDATA = 2, /* those of .gnu_debugdata too (MiniDebugInfo) */
    SYM_QUALITY_SYMTAB = 3,    /* function names, no lines */
    SYM_QUALITY_DWARF = 4,     /* functions, lines and inlined frames */
};

/* What the session found for a module, for coverage reports.  All strings live as long as the
 * session; none is NULL.
 *
 * Debug information that turns out to be unreadable when addresses are looked up lowers the report:
 * look at it after sym_module_resolve().  */
struct sym_report {
    enum sym_quality quality;
    const char *code_path;  /* the object itself, "" when it was not found */
    const char *debug_path; /* the file the names come from (may be code_path), "": none */
    bool unverified;        /* no build ID on one side: taken by path alone */
    const char *problem;    /* why the names are not better, a phrase to stand behind the module's
                             * name: "no debug information", "the file has build ID ab12..., not
                             * ...", "/syms/x.debug: permission denied" when it is about another
                             * file.  With SYM_QUALITY_DWARF what is missing of it: "functions of 3
                             * units are only known by symbols: no file a.dwo"; mostly "" */
    const char *remedy;     /* what the user can do about it: "install the package with its debug
                             * information ...", ...  "" when nothing */
    const char *cache_path; /* the file of the symbol cache that answers, "": none */
    bool go_table;          /* SYM_QUALITY_SYMTAB, but with files, lines and inlined frames: from
                                * the table that Go programs keep when they are stripped */
    const char *cache_problem; /* what is wrong with the symbol cache, a phrase: why its directory
                                * cannot be used, which file was damaged.  "" when nothing */
};

/* The module for key: found on the first call, the same handle on later ones with an equal key.
 * Search order: symbol_paths, path, what the .gnu_debuglink sections of those name, debug_root,
 * debuginfod's cache, its servers; the best debug information among what agrees wins (enum
 * sym_quality), the first of equals.  The handle belongs to the session.
 *
 * A module that was not found is a module all the same: its quality is SYM_QUALITY_NONE, and the
 * report says why.  Returns SYM_OK, SYM_INVALID (neither build ID nor path) or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_session_module(struct sym_session *session,
                                           const struct sym_module_key *key,
                                           struct sym_module **out, struct sym_error *error);

/* Borrowed until sym_session_close().  */
SYM_API const struct sym_report *sym_module_report(const struct sym_module *module);

/* One step of the search for a module's files, for people who wonder.  */
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
    SYM_OUTCOME_ABSENT = 0,  /* nothing is there */
    SYM_OUTCOME_REFUSED = 1, /* something is there and not used */
    SYM_OUTCOME_SPARE = 2,   /* it would do, but another is better */
    SYM_OUTCOME_USED = 3,    /* its names or its code are used */
    SYM_OUTCOME_SKIPPED = 4, /* not looked at */
};

struct sym_trail_step {
    enum sym_trail_place place;
    enum sym_outcome outcome;
    enum sym_quality quality; /* of what is there, when it is of this module */
    const char *path;   /* a file, or the directory that was searched; "": no place of its own */
    const char *reason; /* a phrase: "the file has build ID ab12..., not ...", "for code and
                               * symbols"; may be "" */
};

/* Where the module was looked for, in order; borrowed until the next call about this module.
 * Supplements and split files are looked for, and so join the list, when addresses are.  */
SYM_API const struct sym_trail_step *sym_module_trail(const struct sym_module *module,
                                                      size_t *count);

/* Looks for all supplements and split files now, whatever is looked up: report and trail then tell
 * of each.  Returns SYM_OK, whether they are there or not, or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_seek_companions(struct sym_module *module,
                                                   struct sym_error *error);

/* The offset in the object's file of the byte that is loaded at vaddr, by its program headers: what
 * pprof calls a mapping's file_offset is that of the mapping's first byte.  Returns SYM_OK, or
 * SYM_NOT_FOUND when the object itself was not found (a debug file does not know) or no segment
 * has bytes of the file at vaddr.  */
SYM_API enum sym_status sym_module_file_offset(const struct sym_module *module, uint64_t vaddr,
                                               uint64_t *file_offset);

/* The other way: where the byte at an offset of the object's file is loaded.  Likewise.  */
SYM_API enum sym_status sym_module_vaddr(const struct sym_module *module, uint64_t file_offset,
                                         uint64_t *vaddr);

/* ---- Looking up ---- */

/* One frame of an address.  Strings live until the session is closed, are never NULL, and equal
 * strings of one module have equal pointers.  */
struct sym_frame {
    const char *function;     /* demangled (C++, Rust), or as written; "" unknown */
    const char *linkage_name; /* as in the symbol table; "" when the debug information holds only a
                               * plain name */
    const char *file;         /* absolute where the compilation directory is known; "" unknown */
    uint32_t line;            /* position inside this function, from 1; 0 unknown */
    uint32_t column;          /* from 1; 0 unknown */
    uint32_t start_line;      /* where the function is declared; 0 unknown */
    bool inlined;             /* this function's code was copied into the next frame's */
    enum sym_quality source;  /* which table the function name came from */
};

/* The answer for vaddrs[index]: count frames, innermost first, the last one the real function;
 * count 0 when nothing covers the address.  Called exactly once for every index unless it returns
 * false; the order is the library's choice.  frames is valid during the call only, the strings
 * longer (struct sym_frame).  Return false to stop.  */
typedef bool (*sym_answer_fn)(void *context, size_t index, const struct sym_frame *frames,
                              size_t count);

/* Look up count addresses.  They may come in any order and repeat; sorted inside, so give all at
 * once: a session holds the debug information of the module that was looked at last, and reads it
 * again when modules take turns.
 *
 * An address in a gap between functions has no function: the nearest symbol is not an answer.
 * Where a line table covers the gap (padding) there is one frame with a line and no name, else
 * none.
 * Damage in the debug information costs the addresses concerned their lines, or their names, never
 * the others.  Returns SYM_OK, SYM_STOPPED or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_resolve(struct sym_module *module, const uint64_t *vaddrs,
                                           size_t count, sym_answer_fn answer, void *context,
                                           struct sym_error *error);

/* The same for callers that print or store what they get: each answer is told once.  ids[i] becomes
 * the number of the answer for vaddrs[i]; answer is called once for each number, 0 first, then 1,
 * and so on, with the number as its index.  Addresses with one number have equal answers; most
 * addresses with equal answers, those of one line at least, have one number.
 *
 * ids has room for count numbers and is complete when the function returns SYM_OK.  count is below
 * UINT32_MAX.  Returns SYM_OK, SYM_STOPPED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_resolve_batch(struct sym_module *module, const uint64_t *vaddrs,
                                                 size_t count, uint32_t *ids, sym_answer_fn answer,
                                                 void *context, struct sym_error *error);

/* The same for callers that keep what they were told: numbers go on from *next, which becomes the
 * number behind the last one, and answers that were told before are mostly (those from the symbol
 * cache) not told again but keep their numbers.  Begin with *next 0, and begin again, to forget all
 * of it, whenever the answers are not kept any longer and after any status but SYM_OK.  Numbers
 * stay below UINT32_MAX: SYM_INVALID when count more of them do not.  */
SYM_API enum sym_status sym_module_resolve_next(struct sym_module *module, const uint64_t *vaddrs,
                                                size_t count, uint32_t *ids, uint32_t *next,
                                                sym_answer_fn answer, void *context,
                                                struct sym_error *error);

/* Addresses of one module among several.  */
struct sym_query {
    struct sym_module *module; /* each but once */
    const uint64_t *vaddrs;
    size_t count;  /* below UINT32_MAX */
    uint32_t *ids; /* room for count numbers */
};

/* As sym_answer_fn, for number index of queries[query].  Never called twice at once, but perhaps
 * from threads of the library.  */
typedef bool (*sym_query_fn)(void *context, size_t query, size_t index,
                             const struct sym_frame *frames, size_t count);

/* sym_module_resolve_batch() for several modules of a session, of which as many are read at once as
 * there are jobs (struct sym_options): answers of different modules come mixed.  Returns SYM_OK,
 * SYM_STOPPED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_session_resolve(struct sym_session *session,
                                            const struct sym_query *queries, size_t count,
                                            sym_query_fn answer, void *context,
                                            struct sym_error *error);

/* What the symbol table calls the variable or constant at vaddr: its whole extent has the name, a
 * gap has none.  Strings as in struct sym_frame.  */
struct sym_datum {
    const char *name;         /* demangled, or as written */
    const char *linkage_name; /* as in the symbol table */
};

/* Returns SYM_OK, SYM_NOT_FOUND (no symbol with a size covers vaddr; *out is unchanged) or
 * SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_module_data(struct sym_module *module, uint64_t vaddr,
                                        struct sym_datum *out, struct sym_error *error);

/* ---- Pieces of use elsewhere ---- */

/* Which optional libraries serve here, for people: "liblzma; libdebuginfod".  */
SYM_API const char *sym_libraries(void);

/* Read the build ID of the ELF file at path: at most capacity bytes to id, its whole length to
 * *length.  Notes are searched in program headers, then in sections (section 3).  A note of more
 * than 64 bytes is no build ID.  Returns SYM_OK, SYM_NOT_FOUND (an ELF object without build ID),
 * SYM_IO, SYM_MALFORMED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_build_id(const char *path, uint8_t *id, size_t capacity, size_t *length,
                                     struct sym_error *error);

/* What the ELF file at path was compiled with, as compilers and linkers note it in .comment: their
 * texts, each once, in the file's order, separated by "; ".  What does not fit into size bytes with
 * its NUL is left out as a whole.  Returns SYM_OK, SYM_NOT_FOUND (no such file, or it says nothing;
 * text is ""), SYM_IO, SYM_MALFORMED, SYM_INVALID or SYM_NO_MEMORY.  */
SYM_API enum sym_status sym_compiler(const char *path, char *text, size_t size,
                                     struct sym_error *error);

/* The readable form of a C++ (Itanium) or Rust (legacy and v0) name in memory from malloc(), which
 * the caller frees; NULL when the name is not a mangled one or is too complex to take apart (more
 * than 64 KiB, or nested deeper than the demangler's limit, which is always on).  */
SYM_API char *sym_demangle(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* SYMBOLIZE_H */
