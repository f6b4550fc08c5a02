/* cfi.h - call frame information: from the bytes of .eh_frame and .debug_frame to rows.
 *
 * A row says, of a range of program counters, how the registers of the caller are found.  Part of
 * libunwind, and freestanding: no libc but memcpy and memcmp, no allocation, little stack.  The
 * library that heap captures preload compiles it once more, for itself.
 *
 * Sources: DWARF 5 section 6.4, LSB "Exception Frames", and the psABI of each machine.  Bytes are
 * hostile: nothing outside of the given bounds is read, and each loop consumes input.  */
#ifndef CFI_CFI_H
#define CFI_CFI_H

#include "libunwind/cfi/bytes.h"

/* Registers that a row has rules for.  x86-64 has 16 and the return address (16); arm64 has x0 to
 * x30 and sp (31); riscv64 has x0 to x31.  */
#ifndef CFI_COLUMNS
#define CFI_COLUMNS 33
#endif

/* Bytes of instructions that are executed at most: of a CIE, and of an FDE.  Compilers need some
 * ten, and a hundred KiB for the largest functions.  */
#define CFI_MAX_INITIAL      4096
#define CFI_MAX_INSTRUCTIONS (1U << 20)

/* How deep remember_state nests.  Compilers need one.  */
#ifndef CFI_MAX_REMEMBERED
#define CFI_MAX_REMEMBERED 8
#endif

enum { CFI_X86_RBX = 3, CFI_X86_RBP = 6, CFI_X86_RSP = 7, CFI_X86_RA = 16 };

/* Where the value that a register had in the caller is found.  An expression is a length in LEB128
 * and that many bytes, and lies within the bounds of its section.  */
enum cfi_kind {
    CFI_SAME, /* still in the register; also where the table says nothing */
    CFI_UNDEFINED,
    CFI_SAVED,    /* in memory, at an offset from the canonical frame address */
    CFI_VALUE,    /* it is that address plus an offset */
    CFI_REGISTER, /* in the register whose number the offset is */
    CFI_SAVED_AT, /* in memory, at the address that an expression gives */
    CFI_VALUE_OF, /* it is the value of an expression */
};

struct cfi_row {
    uint64_t start, limit;         /* the row holds for program counters in [start, limit) */
    const uint8_t *cfa_expression; /* gives the canonical frame address; NULL: the next two do */
    uint64_t cfa_register;
    int64_t cfa_offset;
    union {
        int64_t offset;
        const uint8_t *expression;
    } values[CFI_COLUMNS];
    uint8_t kinds[CFI_COLUMNS]; /* enum cfi_kind */
    uint8_t return_column;      /* which register is the return address */
    bool is_signal;             /* the caller was interrupted where it is: it called nothing */
};

/* ---- Instructions to rows (machine.c) ---- */

/* What a CIE and an FDE say together.  */
struct cfi_program {
    const uint8_t *initial; /* instructions of the CIE */
    size_t initial_size;
    const uint8_t *instructions; /* of the FDE */
    size_t instructions_size;
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t start, limit; /* program counters that the FDE covers */
    uint64_t return_column;
    bool is_signal;
    bool is_arm64; /* it has instructions of its own, about signed return addresses */
};

struct cfi_machine {
    struct cfi_row now, initial;
    struct cfi_row remembered[CFI_MAX_REMEMBERED];
    unsigned depth;
    uint64_t code_factor;
    int64_t data_factor;
    struct cfi_bytes rest;
    uint64_t location, limit;
    bool is_arm64;
    bool odd; /* an instruction that we do not know, or bytes that end early */
};

/* Execute the CIE.  False: machine->odd, also if there are too many instructions.  */
bool cfi_begin(struct cfi_machine *machine, const struct cfi_program *program);

/* The next row is in machine->now.  False after the last, or when machine->odd.  */
bool cfi_next(struct cfi_machine *machine);

/* ---- .eh_frame of x86-64 by its table (eh_frame.c) ---- */

/* Bytes as they are in memory: differences of addresses in them are those of the program.  */
struct cfi_section {
    const uint8_t *start, *limit; /* what may be read */
    const uint8_t *header;        /* .eh_frame_hdr, in there */
};

enum cfi_found {
    CFI_NOTHING, /* no entry covers the address */
    CFI_ODD,     /* an entry, or a table, that this reader does not know */
    CFI_FOUND,
};

/* Find the row of pc, an address that is to section->start as the program counter is to where the
 * section is loaded; addresses in *row are likewise.  */
enum cfi_found cfi_find(const struct cfi_section *section, uint64_t pc, struct cfi_row *row);

/* The program of the entry that covers pc, likewise.  */
enum cfi_found cfi_search(const struct cfi_section *section, uint64_t pc,
                          struct cfi_program *program);

/* The row of pc, which the program covers.  False: odd.  */
bool cfi_row_at(const struct cfi_program *program, uint64_t pc, struct cfi_row *row);

/* Whether the entries of a table that cfi_has_table() are in order, so that it can be searched.  */
bool cfi_is_sorted(const struct cfi_section *section, uint32_t count);

/* Whether the table is of the form that linkers make; *count is the number of its entries.  */
bool cfi_has_table(const struct cfi_section *section, uint32_t *count);

/* The program of the index-th entry of the table; index is below the count.  False: odd.  */
bool cfi_entry(const struct cfi_section *section, uint32_t index, struct cfi_program *out);

/* ---- Expressions (expression.c, DWARF 5 section 2.5) ---- */

struct cfi_frame {
    const uint64_t *registers; /* CFI_COLUMNS of them */
    uint64_t known;            /* bit n: registers[n] has a meaning */
    /* Read size bytes, at most 8, as a little-endian number.  False: there is no such memory.  */
    bool (*read)(void *context, uint64_t address, unsigned size, uint64_t *value);
    void *context;
};

/* The value of an expression; *first, if there is one, lies on the stack of values before it
 * begins.  False: it does something that we do not know, or reads what is not there.  */
bool cfi_evaluate(const uint8_t *expression, const struct cfi_frame *frame, const uint64_t *first,
                  uint64_t *result);

#endif /* CFI_CFI_H */
