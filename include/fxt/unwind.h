/* unwind.h - find the callers of interrupted programs from their registers and a copy of their
 * stacks.
 *
 * This header documents libunwind for programmers, docs/unwinding.md for users.
 *
 * A sampler keeps the registers of a thread and some bytes of its stack.  Most programs of a
 * distribution have no frame pointers, so the callers are found by call frame information: tables
 * in .eh_frame or .debug_frame that describe, for each program counter, where the registers of the
 * caller are saved.  The tables of one ELF object are a struct unwind_table.  A callback maps
 * addresses to tables, and a struct unwind_walker steps from frame to frame:
 *
 *     struct unwind_table *table;
 *     struct unwind_walker *walker;
 *     uint64_t addresses[512];
 *     uint8_t found[512];
 *     struct unwind_stack stack = { .addresses = addresses, .found = found, .capacity = 512 };
 *
 *     unwind_table_open(&(struct unwind_object){ .fd = fd, .debug_fd = -1 }, &table, &error);
 *     unwind_walker_open(&walker, &error);
 *     unwind_registers_from_perf(UNWIND_X86_64, mask, words, count, &registers);
 *     unwind_walk(walker, &registers, &memory, &map, &stack);
 *     ...
 *     unwind_walker_close(walker);
 *     unwind_table_close(table);
 *
 * Machines: x86-64, arm64 and riscv64, little-endian.  Objects of others are rejected with
 * UNWIND_UNSUPPORTED.  Objects, stacks and registers are untrusted input: if a table is damaged,
 * only the frames that need it are missing, and each walk terminates.
 *
 * Nothing here prints, exits or touches the network.  After opening, a table does not change,
 * except for a cache of lookups.  A table or walker must be used by one thread at a time.  */
#ifndef FXT_UNWIND_H
#define FXT_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNWIND_API __attribute__((visibility("default")))

/* ---- Status and errors ---- */

/* Values are part of the interface and never reused.  */
enum unwind_status {
    UNWIND_OK = 0,          /* success */
    UNWIND_NOT_FOUND = 1,   /* no row covers the address; not a failure */
    UNWIND_NO_MEMORY = 2,   /* an allocation failed */
    UNWIND_IO = 3,          /* a file could not be read; error->system_errno has the reason */
    UNWIND_MALFORMED = 4,   /* not an ELF object, or a damaged one */
    UNWIND_INVALID = 5,     /* an argument violates the contract */
    UNWIND_UNSUPPORTED = 6, /* an ELF object of another machine, 32-bit or big-endian */
};

/* A description of a failure.  The caller owns it, and it needs no clean-up.  Each parameter of
 * this type may be NULL.  It is written on every status except UNWIND_OK.  */
struct unwind_error {
    enum unwind_status status;
    int system_errno;  /* errno of the failing call, or 0 */
    char message[160]; /* a phrase: no newline, no final dot */
};

/* ---- Registers ---- */

enum unwind_machine {
    UNWIND_NO_MACHINE = 0,
    UNWIND_X86_64 = 1,
    UNWIND_ARM64 = 2,
    UNWIND_RISCV64 = 3,
};

/* "x86-64", "arm64", "riscv64", or "unknown".  */
UNWIND_API const char *unwind_machine_name(enum unwind_machine machine);

/* Register numbers are those of DWARF for each machine: x86-64 rax 0, rdx 1, rcx 2, rbx 3, rsi 4,
 * rdi 5, rbp 6, rsp 7, r8 to r15; arm64 x0 to x30 and sp (31); riscv64 x0 to x31.  */
#define UNWIND_REGISTER_COUNT 32

struct unwind_registers {
    enum unwind_machine machine;
    uint32_t known; /* bit n: values[n] is known */
    uint64_t pc;
    uint64_t values[UNWIND_REGISTER_COUNT];
};

/* Convert the registers of a sample of perf_event_open(2).  mask is sample_regs_user, and words are
 * the registers in the order of the bits of mask, in the byte order of this machine.  Returns
 * UNWIND_OK, or UNWIND_INVALID if mask lacks the program counter or the stack pointer, or count is
 * not the number of its bits.  */
UNWIND_API enum unwind_status unwind_registers_from_perf(enum unwind_machine machine, uint64_t mask,
                                                         const uint64_t *words, size_t count,
                                                         struct unwind_registers *out);

/* Convert a zx_thread_state_general_regs_t of Zircon.  The machine follows from its size: 160 bytes
 * for x86-64, 280 for arm64, 256 for riscv64.  Returns UNWIND_OK, UNWIND_UNSUPPORTED for a 32-bit
 * thread on arm64, or UNWIND_INVALID if the size is another one.  */
UNWIND_API enum unwind_status unwind_registers_from_zircon(const uint8_t *bytes, size_t size,
                                                           struct unwind_registers *out);

/* Convert a zx_restricted_state_t of Zircon, the registers of the guest code that a thread runs in
 * restricted mode.  It has the size of zx_thread_state_general_regs_t, but not its order.  The
 * statuses are the same.  */
UNWIND_API enum unwind_status unwind_registers_from_restricted(const uint8_t *bytes, size_t size,
                                                               struct unwind_registers *out);

UNWIND_API uint64_t unwind_stack_pointer(const struct unwind_registers *registers);

/* ---- Tables of an object ---- */

struct unwind_table;

/* An ELF object and its separate debug file.  */
struct unwind_object {
    int fd;       /* the object, readable; -1: it is in memory.  Borrowed for the call */
    int debug_fd; /* its separate debug file, or -1.  Its .debug_frame is read if the object has
                   * no table.  Borrowed for the call */
    const void *bytes; /* an object in memory, such as the vDSO.  Borrowed for the call */
    size_t size;       /* of bytes */
};

/* Read the tables of an object: .eh_frame, else .debug_frame (also compressed), else the one of the
 * debug file.  The data that a table needs are copied, so the file may change or be closed.
 *
 * If .eh_frame_hdr has a search table (x86-64), rows are read on demand.  Otherwise all rows are
 * built at once.  For an object without unwind tables, the result is a table without rows, and its
 * report says so in problem.
 *
 * Memory: the bytes of .eh_frame and its header, or 8 bytes a row, and 16 to 100 bytes for each
 * rule that differs from all others; at most UNWIND_TABLE_MAX_BYTES in all.  Rows beyond 2^25 are
 * left out, and so are entries of more than 1 MiB, tables without a search table of more than a
 * million entries, and entries after 256 MiB of instructions.  The report counts the entries.
 *
 * If a section is damaged, its rows are missing, and the next section is read.
 *
 * Returns UNWIND_OK, UNWIND_NO_MEMORY, UNWIND_IO, UNWIND_MALFORMED, UNWIND_UNSUPPORTED or
 * UNWIND_INVALID.  */
#define UNWIND_TABLE_MAX_BYTES ((size_t)1 << 30)
UNWIND_API enum unwind_status unwind_table_open(const struct unwind_object *object,
                                                struct unwind_table **out,
                                                struct unwind_error *error);

/* The same for the files at path and debug_path, which is ignored if it is empty, equal to path, or
 * cannot be opened.  */
UNWIND_API enum unwind_status unwind_table_open_path(const char *path, const char *debug_path,
                                                     struct unwind_table **out,
                                                     struct unwind_error *error);

UNWIND_API void unwind_table_close(struct unwind_table *table); /* accepts NULL */

enum unwind_source {
    UNWIND_SOURCE_NONE = 0,        /* the object has no tables */
    UNWIND_SOURCE_EH_FRAME = 1,    /* .eh_frame */
    UNWIND_SOURCE_DEBUG_FRAME = 2, /* .debug_frame of the object */
    UNWIND_SOURCE_DEBUG_FILE = 3,  /* .debug_frame of the separate debug file */
};

struct unwind_report {
    enum unwind_machine machine;
    enum unwind_source source;
    bool is_searched;       /* rows are read on demand by .eh_frame_hdr */
    uint64_t entries;       /* FDEs */
    uint64_t rows;          /* made so far */
    uint64_t rules;         /* different rules, so far */
    uint64_t refused;       /* entries that could not be read, so far */
    size_t memory_bytes;    /* current memory of the table */
    uint8_t build_id[64];   /* of the object */
    size_t build_id_length; /* 0: it has none */
    const char *problem;    /* why rows are missing: a phrase; "" if none are */
};

/* The report is valid until the next call with this table.  */
UNWIND_API const struct unwind_report *unwind_table_report(struct unwind_table *table);

/* Whether the object's functions keep frame pointers.  */
enum unwind_frame_pointers {
    UNWIND_FRAME_POINTERS_UNKNOWN = 0, /* no function to examine, or a machine other than x86-64,
                                        * whose tables do not show it */
    UNWIND_FRAME_POINTERS_NO = 1,
    UNWIND_FRAME_POINTERS_YES = 2, /* at least four of five functions set one up; up to 512
                                    * functions, spread over the object, are examined */
};
UNWIND_API enum unwind_frame_pointers unwind_table_frame_pointers(struct unwind_table *table);

/* The place of a register of the caller.  */
enum unwind_rule_kind {
    UNWIND_RULE_SAME = 0,      /* unchanged */
    UNWIND_RULE_UNDEFINED = 1, /* lost; of the return address: there is no caller */
    UNWIND_RULE_SAVED = 2,     /* in memory at CFA + offset */
    UNWIND_RULE_VALUE = 3,     /* CFA + offset */
    UNWIND_RULE_REGISTER = 4,  /* in the register of number offset */
    UNWIND_RULE_SAVED_AT = 5,  /* in memory at the address computed by an expression */
    UNWIND_RULE_VALUE_OF = 6,  /* the value of an expression */
};

/* One row, for display and for tests.  CFA is the canonical frame address.  */
struct unwind_row {
    uint64_t start, limit; /* the row covers vaddrs [start, limit) */
    bool cfa_is_expression;
    uint32_t cfa_register; /* else CFA = this register + cfa_offset */
    int64_t cfa_offset;
    bool is_signal; /* a signal frame: the caller's program counter is exact */
    uint32_t return_column;
    struct {
        enum unwind_rule_kind kind;
        int64_t offset;
    } rules[UNWIND_REGISTER_COUNT + 1]; /* by register; x86-64's return address is 16 */
};

/* Return whether the code at vaddr is an outermost function, which has no caller: its return
 * address is undefined in the table, or it is the code at the entry point of the object and has no
 * row.  That code ends with its symbol, or with the function that follows.  If the object has
 * neither symbol, it ends at the first row, after at most 64 bytes.  */
UNWIND_API bool unwind_table_is_outermost(struct unwind_table *table, uint64_t vaddr);

/* Find the row of vaddr.  Returns UNWIND_OK, UNWIND_NOT_FOUND (no row covers it), UNWIND_MALFORMED
 * (its entry could not be read) or UNWIND_NO_MEMORY.  */
UNWIND_API enum unwind_status unwind_table_row(struct unwind_table *table, uint64_t vaddr,
                                               struct unwind_row *out);

/* ---- Walking ---- */

/* Bytes of the thread's memory.  */
struct unwind_piece {
    uint64_t address;
    const uint8_t *bytes;
    size_t size;
};

struct unwind_memory {
    const struct unwind_piece *pieces; /* that do not overlap */
    size_t count;
};

enum unwind_place_kind {
    UNWIND_PLACE_NOTHING = 0, /* no executable mapping, so not code */
    UNWIND_PLACE_OBJECT = 1,  /* code of an object */
    UNWIND_PLACE_OTHER = 2,   /* code of no object, generated at run time */
};

/* The mapping around an address.  */
struct unwind_place {
    enum unwind_place_kind kind;
    struct unwind_table *table; /* UNWIND_PLACE_OBJECT; NULL: not available */
    uint64_t start, limit;      /* the answer holds for addresses in [start, limit) */
    uint64_t bias;              /* vaddr = address - bias, modulo 2^64 */
};

/* find() fills in *out if there is code at address; before the call, its kind is
 * UNWIND_PLACE_NOTHING.  The table must live until unwind_walker_forget() is called or the walker
 * is closed.
 *
 * read_code() copies at most size bytes of the code at address, and returns their number; 0: they
 * are not known.  NULL: no code is known.  It is called on x86-64 only, for code that no row covers
 * and for the bytes before return addresses.  */
struct unwind_map {
    void (*find)(void *context, uint64_t address, struct unwind_place *out);
    void *context;
    size_t (*read_code)(void *context, uint64_t address, uint8_t *bytes, size_t size);
};

/* The method by which a frame was found from its callee.  */
enum unwind_found {
    UNWIND_FOUND_REGISTERS = 0,     /* the first: the program counter itself */
    UNWIND_FOUND_TABLE = 1,         /* by call frame information */
    UNWIND_FOUND_SIGNAL = 2,        /* the same, interrupted by a signal: the address is exact */
    UNWIND_FOUND_LINK_REGISTER = 3, /* the return address was still in its register */
    UNWIND_FOUND_PLT = 4,           /* by the form of procedure linkage tables */
    UNWIND_FOUND_FRAME_POINTER = 5, /* by frame pointer, because no table covers the code */
    UNWIND_FOUND_RETURN_PATH = 6,   /* by the instructions of code that no table covers, up to its
                                     * return or from the beginning of its function */
    UNWIND_FOUND_TRAMPOLINE = 7,    /* by a table; a signal handler returns to this address, but
                                     * no call precedes it: the address is exact */
};

enum unwind_end {
    UNWIND_END_COMPLETE = 0,    /* the outermost function: it has no caller */
    UNWIND_END_NO_STACK = 1,    /* the next address is outside the pieces of memory */
    UNWIND_END_NO_TABLE = 2,    /* no table covers the code, and neither its instructions nor a
                                 * frame pointer lead on */
    UNWIND_END_REFUSED = 3,     /* a table has an unknown or impossible rule, such as a caller
                                 * whose frame is not above */
    UNWIND_END_LOOP = 4,        /* neither program counter nor stack pointer would change */
    UNWIND_END_NOT_CODE = 5,    /* the return address is in no executable mapping */
    UNWIND_END_NO_ROOM = 6,     /* capacity frames were found */
    UNWIND_END_NO_REGISTER = 7, /* a register that the table needs is not known */
    UNWIND_END_COUNT = 8,
};

/* A phrase for display: "complete", "the copy of the stack ended", ...  */
UNWIND_API const char *unwind_end_name(enum unwind_end end);
UNWIND_API const char *unwind_found_name(enum unwind_found found);

struct unwind_stack {
    uint64_t *addresses; /* the caller's array; innermost first.  The first is the program
                          * counter; the others are return addresses, but for a signal frame and
                          * its caller (unwind_is_exact()) */
    uint8_t *found;      /* the caller's array: enum unwind_found of each */
    uint64_t *pointers;  /* the caller's array: the stack pointer of each; or NULL */
    size_t capacity;     /* of each array; at least 1 */
    size_t count;
    enum unwind_end end;
    uint64_t end_address; /* the program counter of the frame whose caller was not found */
    uint64_t missing;     /* UNWIND_END_NO_STACK: the first missing address.  It may be on another
                       * stack, such as the one interrupted by a signal handler */
    uint64_t depth_bytes; /* how far above the first stack pointer memory was read */
};

/* Whether the address of frame i is that of an instruction, and not a return address.  */
static inline bool unwind_is_exact(const struct unwind_stack *stack, size_t i)
{
    return i == 0 || stack->found[i] == UNWIND_FOUND_SIGNAL ||
           stack->found[i] == UNWIND_FOUND_TRAMPOLINE;
}

/* The lookup address of frame i of a stack, for symbols.  It lies within the call instruction: a
 * return address minus 1.  */
static inline uint64_t unwind_lookup_address(const struct unwind_stack *stack, size_t i)
{
    return stack->addresses[i] - !unwind_is_exact(stack, i);
}

struct unwind_walker;

/* Open a walker.  It caches the rows of program counters, in 384 KiB, and what it reads of code
 * without rows, in 1.6 MiB if there is any.  Returns UNWIND_OK or UNWIND_NO_MEMORY.  */
UNWIND_API enum unwind_status unwind_walker_open(struct unwind_walker **out,
                                                 struct unwind_error *error);

/* Clear the cache.  Must be called before a table that the walker has used is closed.  */
UNWIND_API void unwind_walker_forget(struct unwind_walker *walker);

UNWIND_API void unwind_walker_close(struct unwind_walker *walker); /* accepts NULL */

/* Find the callers.  stack->end is the reason for the end of the stack.  Returns UNWIND_OK, even if
 * the stack ends early; UNWIND_INVALID (unknown machine, unknown stack pointer, or no room for one
 * frame); or UNWIND_NO_MEMORY.  On failure, stack has the frames found so far.  */
UNWIND_API enum unwind_status unwind_walk(struct unwind_walker *walker,
                                          const struct unwind_registers *registers,
                                          const struct unwind_memory *memory,
                                          const struct unwind_map *map, struct unwind_stack *stack);

#ifdef __cplusplus
}
#endif

#endif /* FXT_UNWIND_H */
