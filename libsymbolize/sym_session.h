/* sym_session.h - sessions and modules, and which files belong to one.  "section N" means
 * docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_SYM_SESSION_H
#define SYMBOLIZE_SYM_SESSION_H

#include "base/index.h"
#include "libsymbolize/address_order.h"
#include "libsymbolize/breakpad.h"
#include "libsymbolize/dwarf.h"
#include "libsymbolize/function_bounds.h"
#include "libsymbolize/gopclntab.h"
#include "libsymbolize/symtab.h"
#include <pthread.h>

/* ---- Modules ---- */

/* The module's debug information and symbols, as far as they are in memory.  */
struct sym_loaded {
    bool done;
    struct sym_dwarf dwarf;
    bool has_dwarf;
    struct sym_symbols symbols;
    struct sym_go go;                              /* of the code, where there is no DWARF */
    struct sym_breakpad breakpad;                  /* likewise, and instead of go */
    struct sym_place place;                        /* the last one that was looked up */
    ptrdiff_t symbol_at;                           /* where to look first for the next one */
    const struct sym_symbol *last_symbol;          /* the last one that was made readable, */
    const char *last_linkage_name, *last_function; /* and what came out; */
    bool last_is_mangled;                          /* the one is the other made readable */
};

struct sym_module {
    struct sym_session *session;
    uint8_t *build_id;
    size_t build_id_length;
    char *path; /* may be NULL */

    struct sym_report report;
    struct sym_object *code;     /* the object itself, or NULL */
    struct sym_object *debug;    /* where debug information comes from, or NULL; may be code */
    struct sym_object *symbols;  /* where symbols come from, or NULL; may be either */
    struct sym_object *breakpad; /* a Breakpad symbol file, used where debug cannot be; or NULL */
    struct base_account account; /* of the memory that its files take, see module_memory.c */
    struct sym_strings strings;
    struct sym_loaded loaded;
    struct sym_trail_step *steps; /* the trail; strings interned */
    size_t step_count, step_capacity;
    struct sym_symbols data; /* names interned: they do not need the file any more */
    bool data_read;
    char *name;               /* what to call it; NULL: by its path, or its build ID */
    struct sym_bounds bounds; /* read where bounds_read */
    bool bounds_read;
    struct sym_named *by_name, *by_vaddr; /* owned; the same symbols, for symbols.c alone */
    size_t named_count;
    struct sym_symbols functions; /* likewise, of functions */
    bool functions_read;
    struct sym_code_pages *code_pages; /* owned by object_code.c; NULL: none were read yet */
    struct sym_seat *seat;   /* where it is read; the session's but in sym_session_resolve() */
    struct sym_cache *cache; /* answers instead of loaded, or NULL; see symbol_cache.h */
    bool cache_tried;        /* no file of it is to be made (again) in this session */
};

/* The directory of the symbol cache, see symbol_cache.h.  All zero: not opened.  */
struct sym_cache_dir {
    char *path; /* NULL: not open */
    int fd;
    uint64_t limit; /* bytes of all files */
};

/* A thread that reads modules, one after the other.  */
struct sym_seat {
    struct sym_module *loaded;  /* at most one module's debug information is in memory */
    struct sym_scratch scratch; /* for sorting addresses */
    unsigned jobs;              /* threads that read its units */
};

struct sym_session {
    pthread_mutex_t lock; /* of what modules share, while several are read at once: sources,
                                 * debuginfod, cache_dir, cache_failed */
    bool has_lock;
    struct sym_source *sources; /* symbol_paths */
    size_t source_count;
    char *debug_root;                  /* "": none */
    char *debuginfod_cache;            /* "": none */
    struct sym_debuginfod *debuginfod; /* NULL: servers are not to be asked */
    char *kallsyms;                    /* text, or NULL */
    size_t kallsyms_size;
    bool no_inlines, bounds, details, relative_files, symbol_files, keep_tags; /* options */
    bool no_limit;                                                             /* another */
    struct sym_module **modules;                                               /* owned */
    size_t module_count, module_capacity;
    struct base_index by_key;    /* positions in modules, plus 1 */
    struct base_account account; /* of modules as such: what their files take has their own */
    struct sym_seat seat;

    bool no_cache;
    char *cache_path; /* NULL: the user's */
    uint64_t cache_limit_bytes;
    struct sym_cache_dir cache_dir;
    char cache_failed[240]; /* why it cannot be used, "" when nothing is known against it */
};

/* ---- Finding (find.c, sources.c, companions.c, debuginfod.c, search_report.c) ---- */

/* A build ID as hexadecimal digits.  */
struct sym_hex {
    char text[2 * SYM_BUILD_ID_MAX + 1];
};
struct sym_hex sym_hex_of(const uint8_t *id, size_t length);

/* Looks for the module's files and writes its report.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_find(struct sym_module *module, struct sym_error *error);

/* Adds a step to the trail.  path and reason are copied; NULL: memory ran out while they were made.
 * SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_trail_add(struct sym_module *module, enum sym_trail_place place,
                              enum sym_outcome outcome, enum sym_quality quality, const char *path,
                              const char *reason);

/* Returns NULL if object, open, is the one that is looked for, else a phrase that says why not.  */
typedef const char *(*sym_fits_fn)(void *context, struct sym_object *object);

/* The file with the split part of a unit: a file of that name among symbol_paths or in a directory
 * of them, or dwo_name below comp_dir, or beside the module's own files.  The first that fits,
 * open, the caller's.  SYM_OK, SYM_NOT_FOUND with a phrase that says where it was looked for or why
 * it does not fit, or SYM_NO_MEMORY.  */
enum sym_status sym_find_dwo(struct sym_module *module, const char *comp_dir, const char *dwo_name,
                             sym_fits_fn fits, void *context, struct sym_object **out,
                             struct sym_error *error);

/* The package of split units (.dwp): among symbol_paths, whatever its name, in a directory of them,
 * or beside the module's own files.  The first that fits, open, the caller's.  SYM_OK,
 * SYM_NOT_FOUND or SYM_NO_MEMORY.  */
enum sym_status sym_find_dwp(struct sym_module *module, sym_fits_fn fits, void *context,
                             struct sym_object **out, struct sym_error *error);

/* The supplement that module->debug, open, names in .gnu_debugaltlink or .debug_sup, verified by
 * build ID or checksum.  Open, the caller's.  SYM_OK, SYM_NOT_FOUND (it names none, or with a
 * phrase that says why it is missed) or SYM_NO_MEMORY.  */
enum sym_status sym_find_alt(struct sym_module *module, struct sym_object **out,
                             struct sym_error *error);

/* ---- Symbol paths ---- */

struct sym_source;

/* Sources for count paths, which are copied; on SYM_NO_MEMORY what there is must be freed too.  */
enum sym_status sym_sources_new(const char *const *paths, size_t count, struct sym_source **out);
void sym_sources_free(struct sym_source *sources, size_t count); /* accepts NULL */

const char *sym_source_path(const struct sym_session *session, size_t source);

/* What lies at a source's path, looked at on first use.  */
enum sym_source_kind {
    SYM_SOURCE_UNSEEN,
    SYM_SOURCE_MISSING,
    SYM_SOURCE_FILE,
    SYM_SOURCE_DIRECTORY,
};
enum sym_source_kind sym_source_kind(const struct sym_session *session, size_t source);

/* Calls visit with the path of each file in a directory that may have the build ID, best first.
 * Stops at a status other than SYM_OK and returns it.  */
typedef enum sym_status (*sym_visit_fn)(void *context, const char *path);
enum sym_status sym_source_visit(struct sym_session *session, size_t source, const uint8_t *id,
                                 size_t id_length, sym_visit_fn visit, void *context);

/* root/.build-id/xx/yyyy.debug, then without suffix; only files that are there.  */
enum sym_status sym_visit_tree(const char *root, const uint8_t *id, size_t id_length,
                               sym_visit_fn visit, void *context);

/* ---- debuginfod ---- */

/* Where the environment says that the cache is; NULL: no memory.  "": nowhere.  */
char *sym_debuginfod_default_cache(void);

enum sym_status sym_debuginfod_new(const struct sym_options *options, struct sym_debuginfod **out);
void sym_debuginfod_free(struct sym_debuginfod *debuginfod); /* accepts NULL */

/* Asks the servers for a file with that build ID: its debug information, or a section of it.
 * *path, the caller's, is where it lies in the cache.  name is for progress.  SYM_OK, SYM_NOT_FOUND
 * with a phrase, and ENOENT where the servers answered that they do not have it; or SYM_NO_MEMORY.
 * What was missed once is not asked for again, and after a time-out nothing is.  */
enum sym_status sym_debuginfod_fetch(struct sym_debuginfod *debuginfod, const struct sym_hex *id,
                                     const char *section, const char *name, char **path,
                                     struct sym_error *error);

/* Whether that phrase was not the last one that was asked about: people are told once.  */
bool sym_debuginfod_is_news(struct sym_debuginfod *debuginfod, const char *phrase);

/* Whether single sections can be asked for.  */
bool sym_debuginfod_has_sections(struct sym_debuginfod *debuginfod);

/* ---- Report ---- */

/* What a module's path stands for.  */
enum sym_path_kind {
    SYM_PATH_FILE,          /* a file, or NULL */
    SYM_PATH_KERNEL,        /* "[kernel]", with or without its modules */
    SYM_PATH_KERNEL_MODULE, /* "[NAME]" */
    SYM_PATH_MEMORY,        /* "[vdso]", "[heap]": what processes have without a file */
};
enum sym_path_kind sym_path_kind(const char *path);

/* Why a file that was there is not used.  */
enum sym_refusal {
    SYM_REFUSAL_FORMAT, /* it is nothing that could be used */
    SYM_REFUSAL_ACCESS, /* it may not be read */
    SYM_REFUSAL_OTHER_BUILD,
};

/* What a search knows about its end.  */
struct sym_findings {
    const uint8_t *build_id;
    size_t build_id_length;
    bool partial_id;           /* it is the part of one that a Breakpad symbol file tells */
    struct sym_object **found; /* those that agree */
    size_t count;
    bool unverified;
    const char *refusal; /* the first file that was there and is not used, and why; NULL: none */
    enum sym_refusal refusal_kind;
    const char *servers; /* why debuginfod servers were of no use, where that is news; NULL: no */
};

/* Of the symbol tables of object, which may be NULL.  */
enum sym_quality sym_symbols_quality(const struct sym_object *object);

/* Fills the report of a module whose files are chosen.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_report_write(struct sym_module *module, const struct sym_findings *findings);

/* Writes into the report that debug information turned out to lack a part, or to be unreadable
 * (then loaded.has_dwarf is false, and the quality that of the symbols).  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_module_downgrade(struct sym_module *module, const char *problem,
                                     const char *remedy);

/* After a look-up: writes into the report how many units libdwarf read, and of how
 * many nobody read all.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_check_fallback(struct sym_module *module);

/* After a look-up: writes into the report that a file was cut or rewritten meanwhile, if so; ask as
 * in sym_map_changed().  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_check_files(struct sym_module *module, bool ask);

/* Forget what was read for looking up; strings stay.  */
void sym_module_unload(struct sym_module *module);

/* ---- Memory (module_memory.c) ---- */

/* Sets the limit of a new session's account.  */
void sym_session_set_limit(struct sym_session *session);

/* Counts what the search for a module's files has left in memory.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_session_count(struct sym_session *session, const struct sym_module *module);

/* Fills *error for a function that ended with status, not SYM_OK, while it added a module.  */
enum sym_status sym_session_fail(struct sym_session *session, enum sym_status status,
                                 struct sym_error *error);

/* Sets the limit of a new module's account.  */
void sym_module_set_limit(struct sym_module *module);

/* Whether the account refused memory since it was last asked.  */
bool sym_module_exceeded(struct sym_module *module);

/* Fills *error for a function of the library that ended with status, not SYM_OK.  */
enum sym_status sym_module_fail(struct sym_module *module, enum sym_status status,
                                struct sym_error *error);

/* The status of opening the file at path: where the account refused memory, the file cannot be
 * used, but all others can.  */
enum sym_status sym_module_opened(struct sym_module *module, enum sym_status status,
                                  const char *path, struct sym_error *error);

/* Writes into the report that debug information, or symbols, take too much.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_module_report_limit(struct sym_module *module, const char *what);

/* Lets go of all symbols, whose memory the account refused, and writes that into the report.
 * SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_shed_symbols(struct sym_module *module);

/* After a function failed: where the account refused memory, what takes most goes, debug
 * information first, then symbols, and the report says so.  Whether it is to be tried again.  */
bool sym_module_shed(struct sym_module *module, enum sym_status *status);

/* ---- Looking up (resolve.c one address, bulk.c many) ---- */

/* The frames of one address; room is kept from one to the next.  All zero is empty.  */
struct sym_frames {
    struct sym_frame *items;
    size_t count, capacity;
    struct sym_span span; /* all of its addresses have them */
};

/* SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_frames_add(struct sym_frames *frames, struct sym_frame frame);

/* Adds the frames of Go's own table for vaddr, if it covers it, and cuts the span.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_go_frames(struct sym_module *module, uint64_t vaddr, struct sym_frames *frames);

/* Adds the frames of a Breakpad symbol file for vaddr: those of FUNC records, or, with
 * public_names, the one of a PUBLIC record.  Cuts the span.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_breakpad_frames(struct sym_module *module, uint64_t vaddr, bool public_names,
                                    struct sym_frames *frames);

/* Makes module the one whose debug information is in memory.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_load(struct sym_module *module);

/* After a look-up: writes into the report what split units and supplements were missed.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_module_check_companions(struct sym_module *module);

/* The file that the symbol table gives for vaddr, interned, "" none, and cuts the span to where
 * that holds.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_symbol_file(struct sym_module *module, uint64_t vaddr, struct sym_span *span,
                                const char **file);

/* The frames for vaddr in a loaded module, all of them whatever the session leaves out.  Nothing is
 * done where frames has them, by its span.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_frames(struct sym_module *module, uint64_t vaddr,
                                  struct sym_frames *frames);

#endif /* SYMBOLIZE_SYM_SESSION_H */
