/* unwind_internal.h - what the parts of libunwind share.
 *
 * From the bottom up: cfi/ (bytes to rows, freestanding), rule_pool.c (rules, each once),
 * unwind_object.c (ELF files, through libelf), entries.c (FDEs, through libdwarf), row_table.c
 * (rows of an object), x86_code.c (an instruction), return_path.c (the way to where code
 * returns), frame_walk.c (from frame to frame),
 * registers.c (what is told of a thread).  */
#ifndef UNWIND_INTERNAL_H
#define UNWIND_INTERNAL_H

#include <fxt/unwind.h>
#include "base/index.h"
#include "libunwind/cfi/cfi.h"

/* Fill *error, which may be NULL, and return status.  */
enum unwind_status unwind_fail(struct unwind_error *error, enum unwind_status status,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- Byte strings, each once (rule_pool.c) ---- */

/* At most, so that a pool and its index take up to 64 MiB.  */
#define POOL_BYTES   ((size_t)32 << 20)
#define POOL_STRINGS ((size_t)1 << 20)

/* All zero is empty.  */
struct pool {
    uint8_t *bytes;
    size_t used, capacity;
    struct base_index index; /* ids are offsets; index.used strings */
    bool failed;             /* an allocation has: not the limit */
};

/* Where the one copy of size bytes begins, aligned to 4; 0: no memory, or the limit.  */
uint32_t pool_intern(struct pool *pool, const void *bytes, size_t size);
size_t pool_memory(const struct pool *pool); /* bytes */
void pool_release(struct pool *pool);

/* ---- Rules ---- */

/* A row without its addresses, in words, so that equal ones are stored once.  */
#define RULE_MAX_WORDS    (2 + 2 * CFI_COLUMNS)
#define RULE_SIGNAL       1U
#define RULE_EXPRESSION   2U /* the second word is where its expression is, else an offset */
#define RULE_COUNT(word)  ((word) >> 8 & 0xff)
#define RULE_CFA(word)    ((word) >> 16 & 0xff)
#define RULE_RETURN(word) ((word) >> 24)
/* Each further pair of words: register and kind, then an offset or where an expression is.  */
#define RULE_COLUMN(word) ((word) >> 8)
#define RULE_KIND(word)   ((word)&0xff)

/* Instead of where a rule is.  */
enum {
    RULE_NONE = 0, /* nothing covers the address */
    RULE_REFUSED = 1,
    RULE_PLT = 2,              /* an entry of a procedure linkage table, without a row */
    RULE_PLT_PUSHED = 3,       /* the same, after its push */
    RULE_PLT_FIRST = 4,        /* its first entry */
    RULE_PLT_FIRST_PUSHED = 5, /* the same, after its push */
    RULE_ENTRY = 6, /* the code that the kernel starts, without a row: it has no caller */
    RULE_FIRST = 8, /* offsets of rules are not below */
};

/* ---- ELF objects (unwind_object.c) ---- */

struct section {
    uint8_t *bytes; /* owned; NULL: there is none */
    size_t size;
    uint64_t vaddr;
};

#define MAX_PLTS 4

/* Each entry has 16 bytes.  */
struct plt {
    uint64_t start, limit;
    uint64_t first_size;       /* of its first entry, which calls the loader; 0: there is none */
    uint64_t first_push, push; /* bytes of the first and of each other entry up to the end of the
                                  * instruction that pushes something */
};

/* What is needed of a file.  */
struct object {
    enum unwind_machine machine;
    uint8_t build_id[64];
    size_t build_id_length;
    /* .eh_frame and, where its table can be searched, .eh_frame_hdr before or after it: one piece
     * of memory that begins at vaddr.  */
    struct section frames;
    size_t header_offset;                  /* of .eh_frame_hdr in frames; only if has_header */
    size_t eh_frame_offset, eh_frame_size; /* in frames */
    bool has_header;
    bool is_damaged; /* there is an .eh_frame that is not in the file */
    struct section debug_frame;
    struct plt plts[MAX_PLTS];
    size_t plt_count;
    uint64_t entry, entry_limit; /* vaddrs of the code that the kernel starts; 0: none */
};

/* A section is read only when it is needed, so that damage costs nothing but its own section.  */
enum object_part {
    OBJECT_FRAMES,      /* all but .debug_frame */
    OBJECT_DEBUG_FRAME, /* that of the object */
    OBJECT_DEBUG_FILE,  /* that of the separate debug file */
    OBJECT_ENTRY,       /* where the code at the entry point ends */
};

/* Read a part.  An .eh_frame that cannot be read is left out.
 *
 * The code at the entry point ends with its symbol, or with the function that follows.  Where no
 * symbol says so, as in a stripped file, it has at most ENTRY_UNNAMED bytes.  */
#define ENTRY_UNNAMED 64
#define ENTRY_NAMED   4096
enum unwind_status object_read(const struct unwind_object *from, enum object_part part,
                               struct object *out, struct unwind_error *error);
void object_release(struct object *object);

/* ---- Entries (entries.c) ---- */

/* Called with each FDE of a section.  False stops: no memory.  */
typedef bool (*entry_fn)(void *context, const struct cfi_program *program);

/* Tell all FDEs that libdwarf finds.  UNWIND_OK, UNWIND_NO_MEMORY or UNWIND_MALFORMED, and then
 * *problem is a phrase that says why.  */
enum unwind_status entries_each(enum unwind_machine machine, const uint8_t *bytes, size_t size,
                                uint64_t vaddr, bool is_eh_frame, entry_fn entry, void *context,
                                const char **problem);

/* ---- Tables (row_table.c) ---- */

struct made_rows {
    uint64_t base;    /* vaddr */
    uint32_t *starts; /* from base; sorted */
    uint32_t *rules;  /* where the rule of each row is, or RULE_NONE, RULE_REFUSED */
    size_t count, capacity;
};

struct unwind_table {
    struct unwind_report report;
    struct object object;
    struct cfi_section section; /* when report.is_searched */
    struct made_rows rows;
    bool is_made;                /* rows are there */
    uint64_t executed, searches; /* bytes of instructions, and how often, to find rows */
    struct pool rules, expressions;
    enum unwind_frame_pointers frame_pointers;
    bool is_judged; /* frame_pointers is valid */
};

/* Where the rule of a vaddr is, or one of the numbers below RULE_FIRST.  False: no memory.  */
bool table_rule(struct unwind_table *table, uint64_t vaddr, uint32_t *rule);

/* ---- Code that returns (return_path.c) ---- */

#define RETURN_REGISTERS 16
#define RETURN_LINE      64 /* bytes of code that are read at once, aligned to as many */

enum return_kind {
    RETURN_SAME,    /* what the register of that number holds at the beginning */
    RETURN_VALUE,   /* the base + offset */
    RETURN_SAVED,   /* what is in memory there */
    RETURN_UNKNOWN, /* something else */
};

/* The base is the stack pointer or the frame pointer of the beginning, or what is in memory at an
 * offset from it: code that aligns its stack saves the former stack pointer.  */
struct return_base {
    bool is_frame;  /* the frame pointer */
    bool is_loaded; /* from memory at it + place */
    int64_t place;
};

struct return_value {
    enum return_kind kind;
    uint8_t number;
    struct return_base base;
    int64_t offset;
};

/* What is when the code returns.  */
struct return_path {
    struct return_value back;                   /* where the return address is: RETURN_VALUE */
    struct return_value each[RETURN_REGISTERS]; /* of the caller, by the numbers of DWARF */
    int64_t popped;                             /* bytes beyond the return address */
    bool is_guess; /* by what may be a jump out of the function, or its beginning */
};

/* Code in [start, limit).  read() copies at most size bytes, and returns their number.  accepts()
 * decides whether the stack has a caller where a path leads.  */
struct return_code {
    size_t (*read)(void *context, uint64_t address, uint8_t *bytes, size_t size);
    void *context;
    uint64_t start, limit;
    bool (*accepts)(void *judge, const struct return_path *path);
    void *judge;
};

/* The memory of searches: 350 KiB.  NULL: no memory.  */
struct return_search;
struct return_search *return_search_open(void);
void return_search_close(struct return_search *search); /* accepts NULL */

enum return_result {
    RETURN_FOUND,
    RETURN_NONE,  /* neither a way to a return nor one from the beginning of the function */
    RETURN_HALTS, /* the code cannot return: it ends the thread or the program */
};

/* What code of x86-64 that goes on at address does before it returns: the first way that is
 * accepted.  Calls are taken to come back.  At most 136,000 instructions are looked at, and 32 KiB
 * before the address.  */
enum return_result return_path_find(struct return_search *search, const struct return_code *code,
                                    uint64_t address, struct return_path *out);

/* ---- Machines ---- */

struct machine {
    unsigned stack_pointer, frame_pointer, return_column;
    /* From the frame pointer: where the caller's and the return address are, and the caller's stack
     * pointer.  */
    int64_t saved_pointer, saved_return, caller_stack;
    bool knows_stack; /* that one is exact, else it lies there or above */
    bool has_link;    /* calls leave the return address in a register */
};

extern const struct machine unwind_machines[];

#endif /* UNWIND_INTERNAL_H */
