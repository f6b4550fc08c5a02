/* unwind.h - callers of interrupted programs, from their registers and a copy of their stacks.
 *
 * This header is the manual of libunwind; docs/unwinding.md tells users the same story.
 *
 * A sampler keeps the registers of a thread and some bytes of its stack.  Most programs of a
 * distribution have no frame pointers, so the callers are found by call frame information: tables
 * in .eh_frame or .debug_frame that say, of each program counter, where the caller's registers
 * are.  The tables of one ELF object are a struct unwind_table; which table belongs to an address
 * says a callback of the caller; a struct unwind_walker goes from frame to frame:
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
 * Machines: x86-64, arm64 and riscv64, little-endian.  Others are refused by name.  Objects, stacks
 * and registers are hostile input: a broken table costs the frames that need it, and each walk
 * ends.
 *
 * Nothing here prints, exits or touches the network.  Tables are immutable once opened but for a
 * cache of what was looked up in them; tables and walkers belong to one thread at a time.  */
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
    UNWIND_OK = 0,          /* done */
    UNWIND_NOT_FOUND = 1,   /* nothing is known of this address; not a failure */
    UNWIND_NO_MEMORY = 2,   /* an allocation failed */
    UNWIND_IO = 3,          /* a file could not be read; error->system_errno says why */
    UNWIND_MALFORMED = 4,   /* it is no ELF object, or a damaged one */
    UNWIND_INVALID = 5,     /* an argument breaks the contract */
    UNWIND_UNSUPPORTED = 6, /* an ELF object of another machine, of 32 bits or big-endian */
};

/* What went wrong, for people.  Belongs to the caller, needs no clean-up, may be NULL wherever it
 * is asked for; written on every status but UNWIND_OK.  */
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

/* As the DWARF standard of each machine numbers them: x86-64 rax 0, rdx 1, rcx 2, rbx 3, rsi 4,
 * rdi 5, rbp 6, rsp 7, r8 to r15; arm64 x0 to x30 and sp (31); riscv64 x0 to x31.  */
#define UNWIND_REGISTER_COUNT 32

struct unwind_registers {
    enum unwind_machine machine;
    uint32_t known; /* bit n: values[n] is known */
    uint64_t pc;
    uint64_t values[UNWIND_REGISTER_COUNT];
};

/* Of a sample of perf_event_open(2): mask is sample_regs_user, words are its registers in the order
 * of the mask's bits, in this machine's byte order.  UNWIND_INVALID when the mask lacks the program
 * counter or the stack pointer, or count is not the number of its bits.  */
UNWIND_API enum unwind_status unwind_registers_from_perf(enum unwind_machine machine, uint64_t mask,
                                                         const uint64_t *words, size_t count,
                                                         struct unwind_registers *out);

/* Of a zx_thread_state_general_regs_t of Zircon.  Its size tells the machine: 160 bytes are x86-64,
 * 280 arm64, 256 riscv64.  A 32-bit thread on arm64 is UNWIND_UNSUPPORTED, any other size
 * UNWIND_INVALID.  */
UNWIND_API enum unwind_status unwind_registers_from_zircon(const uint8_t *bytes, size_t size,
                                                           struct unwind_registers *out);

UNWIND_API uint64_t unwind_stack_pointer(const struct unwind_registers *registers);

/* ---- Tables of an object ---- */

struct unwind_table;

/* Where an ELF object is.  */
struct unwind_object {
    int fd;       /* the object, readable; -1: it is in memory.  Borrowed during the call */
    int debug_fd; /* its separate debug file, whose .debug_frame is read where the object has no
                   * table, or -1.  Borrowed during the call */
    const void *bytes; /* an object in memory, such as the vDSO.  Borrowed during the call */
    size_t size;       /* of bytes */
};

/* Read the tables of an object: .eh_frame, or else .debug_frame, also compressed, or else that of
 * the debug file.  What a table needs of the file is copied, so the file may change or go.
 *
 * Where .eh_frame_hdr has a table to search (x86-64), rows are read when they are asked for; else
 * all are made at once.  An object without any table gives a table that has no rows: its report
 * says so.
 *
 * Memory: the bytes of .eh_frame and its header, or 8 bytes a row, and 16 to 100 bytes for each
 * rule that differs from all others; at most UNWIND_TABLE_MAX_BYTES in all.  Rows beyond 2^25 are
 * left out, and so are entries of more than 1 MiB, tables of more than a million entries that
 * cannot be searched, and what comes after 256 MiB of instructions; the report counts entries.
 *
 * A section that is damaged costs its own rows: the next one is tried.
 *
 * Returns UNWIND_OK, UNWIND_NO_MEMORY, UNWIND_IO, UNWIND_MALFORMED, UNWIND_UNSUPPORTED or
 * UNWIND_INVALID.  */
#define UNWIND_TABLE_MAX_BYTES ((size_t)1 << 30)
UNWIND_API enum unwind_status unwind_table_open(const struct unwind_object *object,
                                                struct unwind_table **out,
                                                struct unwind_error *error);

UNWIND_API void unwind_table_close(struct unwind_table *table); /* accepts NULL */

enum unwind_source {
    UNWIND_SOURCE_NONE = 0,        /* it has no tables */
    UNWIND_SOURCE_EH_FRAME = 1,    /* .eh_frame */
    UNWIND_SOURCE_DEBUG_FRAME = 2, /* .debug_frame of the object */
    UNWIND_SOURCE_DEBUG_FILE = 3,  /* .debug_frame of the separate debug file */
};

struct unwind_report {
    enum unwind_machine machine;
    enum unwind_source source;
    bool is_searched;       /* .eh_frame_hdr is searched: rows are not made beforehand */
    uint64_t entries;       /* FDEs */
    uint64_t rows;          /* made so far */
    uint64_t rules;         /* that differ, so far */
    uint64_t refused;       /* entries that could not be read, so far */
    size_t memory_bytes;    /* the table takes, now */
    uint8_t build_id[64];   /* of the object */
    size_t build_id_length; /* 0: it has none */
    const char *problem;    /* why there are no rows, or not all: a phrase; "" when nothing */
};

/* Borrowed until the next call about this table.  */
UNWIND_API const struct unwind_report *unwind_table_report(struct unwind_table *table);

/* Whether the object's functions keep frame pointers.  */
enum unwind_frame_pointers {
    UNWIND_FRAME_POINTERS_UNKNOWN = 0, /* no function to judge by, or another machine than x86-64,
                                        * whose tables say nothing of it */
    UNWIND_FRAME_POINTERS_NO = 1,
    UNWIND_FRAME_POINTERS_YES = 2, /* at least four of five functions set one up, by up to 512 of
                                    * them that lie all over the object */
};
UNWIND_API enum unwind_frame_pointers unwind_table_frame_pointers(struct unwind_table *table);

/* Where a caller's register is.  */
enum unwind_rule_kind {
    UNWIND_RULE_SAME = 0,      /* unchanged */
    UNWIND_RULE_UNDEFINED = 1, /* lost; of the return address: there is no caller */
    UNWIND_RULE_SAVED = 2,     /* in memory at CFA + offset */
    UNWIND_RULE_VALUE = 3,     /* CFA + offset */
    UNWIND_RULE_REGISTER = 4,  /* in the register of number offset */
    UNWIND_RULE_SAVED_AT = 5,  /* in memory where an expression says */
    UNWIND_RULE_VALUE_OF = 6,  /* the value of an expression */
};

/* One row, for people and for checks.  CFA is the canonical frame address.  */
struct unwind_row {
    uint64_t start, limit; /* vaddrs [start, limit) have it */
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

/* Whether the code at a vaddr is an outermost function, which has no caller: the table says that
 * its return address is undefined, or it is the entry point of the object and has no row.  */
UNWIND_API bool unwind_table_is_outermost(struct unwind_table *table, uint64_t vaddr);

/* The row of a vaddr.  UNWIND_OK, UNWIND_NOT_FOUND (nothing covers it), UNWIND_MALFORMED (what
 * covers it could not be read) or UNWIND_NO_MEMORY.  */
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
    UNWIND_PLACE_NOTHING = 0, /* no executable mapping: an address here is none of code */
    UNWIND_PLACE_OBJECT = 1,  /* code of an object */
    UNWIND_PLACE_OTHER = 2,   /* code of no object, made at run time */
};

/* What lies around an address.  */
struct unwind_place {
    enum unwind_place_kind kind;
    struct unwind_table *table; /* UNWIND_PLACE_OBJECT; NULL: it could not be had */
    uint64_t start, limit;      /* the answer holds for addresses in [start, limit) */
    uint64_t bias;              /* vaddr = address - bias, modulo 2^64 */
};

/* Fills *out, whose kind is UNWIND_PLACE_NOTHING, if there is code at address.  The table must live
 * until the walker forgets it (unwind_walker_forget()) or is closed.  */
struct unwind_map {
    void (*find)(void *context, uint64_t address, struct unwind_place *out);
    void *context;
};

/* How a frame was found, from the one that it called.  */
enum unwind_found {
    UNWIND_FOUND_REGISTERS = 0, /* the first: the program counter itself */
    UNWIND_FOUND_TABLE = 1,     /* by call frame information */
    UNWIND_FOUND_SIGNAL = 2,    /* likewise, and a signal interrupted it: the address is exact */
    UNWIND_FOUND_LINK_REGISTER = 3, /* the return address was still in its register */
    UNWIND_FOUND_PLT = 4,           /* by what procedure linkage tables look like */
    UNWIND_FOUND_FRAME_POINTER = 5, /* by frame pointer, where no table covers the code */
};

enum unwind_end {
    UNWIND_END_COMPLETE = 0,    /* the outermost function: it has no caller */
    UNWIND_END_NO_STACK = 1,    /* the next address lies outside of the pieces of memory */
    UNWIND_END_NO_TABLE = 2,    /* no table covers the code, and no frame pointer leads on */
    UNWIND_END_REFUSED = 3,     /* a table says something unknown or impossible, such as a caller
                              * whose frame does not lie above */
    UNWIND_END_LOOP = 4,        /* neither program counter nor stack pointer would be another one */
    UNWIND_END_NOT_CODE = 5,    /* the return address lies in no executable mapping */
    UNWIND_END_NO_ROOM = 6,     /* capacity frames were found */
    UNWIND_END_NO_REGISTER = 7, /* a register that the table needs is not known */
    UNWIND_END_COUNT = 8,
};

/* A phrase for people: "complete", "the copy of the stack ended", ...  */
UNWIND_API const char *unwind_end_name(enum unwind_end end);
UNWIND_API const char *unwind_found_name(enum unwind_found found);

struct unwind_stack {
    uint64_t *addresses; /* the caller's; innermost first.  The first is the program counter; of the
                          * others each is a return address, or exact behind a signal frame */
    uint8_t *found;      /* the caller's, enum unwind_found of each */
    uint64_t *pointers;  /* the caller's, the stack pointer of each; or NULL */
    size_t capacity;     /* of each array; at least 1 */
    size_t count;
    enum unwind_end end;
    uint64_t end_address; /* the program counter of the frame whose caller was not found */
    uint64_t missing; /* UNWIND_END_NO_STACK: the first address that was not there.  It may be on
                           * another stack, such as the one that a signal handler interrupted */
    uint64_t depth_bytes; /* how far above the first stack pointer memory was read */
};

/* The address that is looked up for frame i of a stack, in tables and for names: it lies within
 * the call, which is 1 byte before a return address.  */
static inline uint64_t unwind_lookup_address(const struct unwind_stack *stack, size_t i)
{
    return stack->addresses[i] - (i > 0 && stack->found[i] != UNWIND_FOUND_SIGNAL);
}

struct unwind_walker;

/* A walker remembers the rows of program counters: 384 KiB.  UNWIND_OK or UNWIND_NO_MEMORY.  */
UNWIND_API enum unwind_status unwind_walker_open(struct unwind_walker **out,
                                                 struct unwind_error *error);

/* Forget what was remembered: before a table is closed that the walker has met.  */
UNWIND_API void unwind_walker_forget(struct unwind_walker *walker);

UNWIND_API void unwind_walker_close(struct unwind_walker *walker); /* accepts NULL */

/* Find the callers; stack->end says why there are no more.  UNWIND_OK, also for a stack that ends
 * early; UNWIND_INVALID (no such machine, no stack pointer known, no room for one frame) or
 * UNWIND_NO_MEMORY, and then stack holds what was found before.  */
UNWIND_API enum unwind_status unwind_walk(struct unwind_walker *walker,
                                          const struct unwind_registers *registers,
                                          const struct unwind_memory *memory,
                                          const struct unwind_map *map, struct unwind_stack *stack);

#ifdef __cplusplus
}
#endif

#endif /* FXT_UNWIND_H */
