/* markup.h - symbolizer markup: text that describes the addresses of a process, to be symbolized
 * where the symbols are.
 *
 * "section 1" refers to docs/formats/symbolizer.md, which has the grammar.  An element is
 * {{{tag:field:...}}} and lies on one line.  The header has two parts, each usable alone:
 *
 *     struct sym_markup_cursor cursor = { .next = line, .left = length };
 *     struct sym_markup_node node;
 *
 * The first parses a line and keeps no state.  The second stores modules and mappings.  Logs are
 * hostile input: text that is not an element is delivered as text, and the stored state is
 * bounded.  */
#ifndef SYMBOLIZE_MARKUP_H
#define SYMBOLIZE_MARKUP_H

#include <fxt/symbolize.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Lines ---- */

enum sym_markup_kind {
    SYM_MARKUP_TEXT = 0,      /* anything else, whatever it looks like */
    SYM_MARKUP_SGR = 1,       /* ESC [ n m: n is 0, 1 or 30 to 37 */
    SYM_MARKUP_RESET = 2,     /* {{{reset}}}, {{{reset:begin}}}: forget modules and mappings */
    SYM_MARKUP_RESET_END = 3, /* {{{reset:end}}}: no effect */
    SYM_MARKUP_MODULE = 4,    /* {{{module:ID:NAME:elf:BUILDID}}}, or of another type */
    SYM_MARKUP_MMAP = 5,      /* {{{mmap:START:SIZE:load:ID:FLAGS:VADDR}}} */
    SYM_MARKUP_BT = 6,        /* {{{bt:N:ADDRESS}}} with or without :ra or :pc, and :sp 0x... */
    SYM_MARKUP_PC = 7,        /* {{{pc:ADDRESS}}} with or without :ra or :pc */
    SYM_MARKUP_DATA = 8,      /* {{{data:ADDRESS}}} */
    SYM_MARKUP_SYMBOL = 9,    /* {{{symbol:MANGLED}}} */
    SYM_MARKUP_DUMPFILE = 10, /* {{{dumpfile:TYPE:NAME}}} */
    SYM_MARKUP_MALFORMED = 11 /* an element with one of the tags above whose fields are invalid */
};

/* Text that is not NUL-terminated, borrowed from the line.  */
struct sym_markup_text {
    const char *bytes;
    size_t length;
};

/* A part of a line.  The nodes of a line, concatenated, are the line.  */
struct sym_markup_node {
    enum sym_markup_kind kind;
    struct sym_markup_text text; /* all of it, braces included */

    uint64_t id;                    /* MODULE, MMAP: the module's */
    struct sym_markup_text name;    /* MODULE: its name, may be empty; SYMBOL: the mangled name;
                                     * DUMPFILE: the dump's name */
    struct sym_markup_text type;    /* MODULE: "elf" or another; DUMPFILE: its contents */
    uint8_t build_id[64];           /* MODULE of type elf */
    size_t build_id_length;         /* bytes; 0: none */
    uint64_t address, size_bytes;   /* MMAP: its range in the process; BT, PC, DATA: address, as in
                                     * the line */
    uint64_t vaddr;                 /* MMAP: of its first byte */
    struct sym_markup_text access;  /* MMAP: the accesses of "rwx" that it allows */
    uint64_t frame;                 /* BT: its number, 0 innermost */
    struct sym_markup_text message; /* BT: "sp 0x3f540e65ef0", or none */
    bool is_return; /* BT, PC: a return address (:ra, or neither): one less must be looked up
                     * (section 2) */
};

struct sym_markup_cursor {
    const char *next; /* part of one line, with or without its end; not NUL-terminated */
    size_t left;
};

/* Read the next node.  Returns false at the end of the line.  Everything in *out borrows from the
 * line.  The run time is linear in the line's length.  */
SYM_API bool sym_markup_next(struct sym_markup_cursor *cursor, struct sym_markup_node *out);

/* ---- Modules and mappings ---- */

struct sym_markup_context;

struct sym_markup_module {
    uint64_t id;
    char *name;
    bool is_elf; /* if false, it has no symbols */
    uint8_t build_id[64];
    size_t build_id_length;
};

/* The effect of an element on the context.  */
enum sym_markup_effect {
    SYM_MARKUP_DONE = 0,
    SYM_MARKUP_REPEATED = 1,  /* the same module or mapping was added before: no effect */
    SYM_MARKUP_CONFLICT = 2,  /* a module with that ID exists and differs: the first one is kept */
    SYM_MARKUP_OVERLAP = 3,   /* it overlaps an earlier mapping: the later one is used */
    SYM_MARKUP_NO_MODULE = 4, /* a mapping of an unknown module: left out */
    SYM_MARKUP_BAD_RANGE = 5, /* an empty mapping, or one that passes the end: left out */
    SYM_MARKUP_TOO_MANY = 6,  /* 65,536 modules, or that many mappings, exist: left out */
    SYM_MARKUP_NO_MEMORY = 7, /* left out */
    SYM_MARKUP_TOO_LARGE = 8, /* modules and mappings take 256 MiB: left out */
};

/* Returns NULL if there is no memory.  */
SYM_API struct sym_markup_context *sym_markup_context_new(void);
SYM_API void sym_markup_context_free(struct sym_markup_context *context); /* accepts NULL */

/* Lift the limit of 256 MiB on the memory of the context.  */
SYM_API void sym_markup_context_lift(struct sym_markup_context *context);

/* Apply node to the context if its kind is RESET, MODULE or MMAP; other kinds have no effect.  */
SYM_API enum sym_markup_effect sym_markup_apply(struct sym_markup_context *context,
                                                const struct sym_markup_node *node);

/* The place of an address of the process.  */
struct sym_markup_place {
    const struct sym_markup_module *module; /* valid until the next reset */
    uint64_t vaddr;                         /* in the module */
};

/* Returns false if no mapping covers the address.  */
SYM_API bool sym_markup_find(const struct sym_markup_context *context, uint64_t address,
                             struct sym_markup_place *out);

/* Returns the module with that ID, or NULL.  Valid until the next reset.  */
SYM_API const struct sym_markup_module *sym_markup_module(const struct sym_markup_context *context,
                                                          uint64_t id);

#ifdef __cplusplus
}
#endif

#endif /* SYMBOLIZE_MARKUP_H */
