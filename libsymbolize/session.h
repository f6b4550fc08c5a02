/* session.h - sessions and modules, and which files belong to one.  "section N" means
 * docs/formats/symbolizer.md.  */
#ifndef SYMBOLIZE_SESSION_H
#define SYMBOLIZE_SESSION_H

#include "libsymbolize/dwarf.h"
#include "libsymbolize/symtab.h"

/* ---- Modules ---- */

/* The module's debug information and symbols, as far as they are in memory.  */
struct sym_loaded {
    bool done;
    struct sym_dwarf dwarf;
    bool has_dwarf;
    struct sym_symbols symbols;
    const struct sym_symbol *last_symbol;          /* the last one that was made readable, */
    const char *last_linkage_name, *last_function; /* and what came out */
};

struct sym_module {
    struct sym_module *next;
    struct sym_session *session;
    uint8_t *build_id;
    size_t build_id_length;
    char *path; /* may be NULL */

    struct sym_report report;
    struct sym_object *code;    /* the object itself, or NULL */
    struct sym_object *debug;   /* where debug information comes from, or NULL; may be code */
    struct sym_object *symbols; /* where symbols come from, or NULL; may be either */
    struct sym_strings strings;
    struct sym_loaded loaded;
};

struct sym_session {
    char **symbol_dirs;
    size_t symbol_dir_count;
    char *debug_root; /* "": none */
    bool no_inlines;
    struct sym_module *modules;
    struct sym_module *loaded; /* at most one module's debug information is in memory */
};

/* Looks for the module's files and writes its report.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_find(struct sym_module *module, struct sym_error *error);

/* Writes into the report that debug information turned out to be of little use, or unreadable (then
 * loaded.has_dwarf is false).  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_downgrade(struct sym_module *module, const char *problem,
                                     const char *remedy);

/* After a look-up: writes into the report that a file was cut or rewritten meanwhile, if so; ask as
 * in sym_map_changed().  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_check_files(struct sym_module *module, bool ask);

/* Forget what was read for looking up; strings stay.  */
void sym_module_unload(struct sym_module *module);

/* ---- Looking up (resolve.c one address, bulk.c many) ---- */

/* The frames of one address; room is kept from one to the next.  All zero is empty.  */
struct sym_frames {
    struct sym_frame *items;
    size_t count, capacity;
};

/* Makes module the one whose debug information is in memory.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_load(struct sym_module *module);

/* The frames for vaddr in a loaded module, all of them whatever the session leaves out.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_module_frames(struct sym_module *module, uint64_t vaddr,
                                  struct sym_frames *frames);

#endif /* SYMBOLIZE_SESSION_H */
