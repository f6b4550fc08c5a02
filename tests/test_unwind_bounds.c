/* Tables that are made to be expensive, sections that are damaged beside good ones, and what is
 * known of a frame that a frame pointer led to.  */
#include "libunwind/unwind_internal.h"
#include "tests/support/unwind_elf.h"

#include <check.h>
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_AT 0x100000
#define CODE_AT  0x1000

/* CFA = rsp + 8, the return address at CFA - 8.  */
static const uint8_t begin_x86[] = { 0x0c, 7, 8, 0x90, 1 };
#define ADVANCE 0x41

static struct elf_bytes frames, header, object;
static struct unwind_table *table;

static void teardown(void)
{
    unwind_table_close(table);
    table = NULL;
    free(frames.bytes);
    free(header.bytes);
    free(object.bytes);
    frames = header = object = (struct elf_bytes){ .bytes = NULL };
}

static const struct unwind_report *open_made(uint16_t machine, const struct elf_section *sections,
                                             size_t count)
{
    object = elf_make(machine, sections, count);
    ck_assert_int_eq(unwind_table_open(
                         &(struct unwind_object){
                             .fd = -1, .debug_fd = -1, .bytes = object.bytes, .size = object.size },
                         &table, NULL),
                     UNWIND_OK);
    return unwind_table_report(table);
}

/* .eh_frame_hdr of one entry, in front of .eh_frame.  */
static void put_header(uint64_t start, size_t fde)
{
    elf_put(&header, (const uint8_t[]){ 1, 0x1b, 0x03, 0x3b }, 4);
    elf_put_number(&header, 12, 4);
    elf_put_number(&header, 1, 4);
    elf_put_number(&header, start - (TABLE_AT - 24), 4);
    elf_put_number(&header, 24 + fde, 4);
    elf_put_number(&header, 0, 4);
}

static struct unwind_row row;

static enum unwind_status row_at(uint64_t vaddr)
{
    return unwind_table_row(table, vaddr, &row);
}

/* ---- What is executed ---- */

START_TEST(refuses_an_entry_of_too_many_instructions)
{
    uint8_t *many = calloc(1, CFI_MAX_INSTRUCTIONS + 8);
    size_t cie = elf_put_cie(&frames, 1, 16, begin_x86, sizeof begin_x86);

    ck_assert_ptr_nonnull(many);
    memset(many, 0x40, CFI_MAX_INSTRUCTIONS + 8); /* advance by nothing */
    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, 16, many, CFI_MAX_INSTRUCTIONS + 8);
    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT + 16, 16, NULL, 0);
    free(many);
    ck_assert_uint_eq(
        open_made(ELF_X86_64, &(struct elf_section){ ".eh_frame", &frames, TABLE_AT, 0, 2 }, 1)
            ->refused,
        1);
    ck_assert_int_eq(row_at(CODE_AT), UNWIND_NOT_FOUND);
    ck_assert_int_eq(row_at(CODE_AT + 16), UNWIND_OK);
}
END_TEST

/* Each of the entries would execute the CIE once more.  */
START_TEST(refuses_a_cie_of_too_many_instructions)
{
    uint8_t *many = calloc(1, CFI_MAX_INITIAL + 8);
    size_t cie = elf_put_cie(&frames, 1, 16, many, CFI_MAX_INITIAL + 8);

    ck_assert_ptr_nonnull(many);
    free(many);
    for (uint64_t i = 0; i < 100; i++)
        elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT + 16 * i, 16, NULL, 0);
    ck_assert_uint_eq(
        open_made(ELF_X86_64, &(struct elf_section){ ".eh_frame", &frames, TABLE_AT, 0, 2 }, 1)
            ->refused,
        100);
}
END_TEST

/* A table whose look-ups execute a megabyte each is read once, and then no more.  */
START_TEST(makes_rows_that_are_dear_to_find)
{
    struct elf_section sections[] = { { ".eh_frame_hdr", &header, TABLE_AT - 24, 0, 2 },
                                      { ".eh_frame", &frames, TABLE_AT, 0, 2 } };
    uint8_t *many = malloc(CFI_MAX_INSTRUCTIONS - 64);
    size_t cie = elf_put_cie(&frames, 1, 16, begin_x86, sizeof begin_x86);
    size_t fde;

    ck_assert_ptr_nonnull(many);
    memset(many, ADVANCE, CFI_MAX_INSTRUCTIONS - 64);
    fde = elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, CFI_MAX_INSTRUCTIONS, many,
                      CFI_MAX_INSTRUCTIONS - 64);
    free(many);
    put_header(CODE_AT, fde);
    ck_assert(open_made(ELF_X86_64, sections, 2)->is_searched);
    for (uint64_t i = 0; i < 40; i++) {
        ck_assert_int_eq(row_at(CODE_AT + 1000 * i), UNWIND_OK);
        ck_assert_uint_le(table->executed, 20U << 20);
    }
    ck_assert(!unwind_table_report(table)->is_searched);
    ck_assert_int_eq(row_at(CODE_AT - 1), UNWIND_NOT_FOUND);
}
END_TEST

/* ---- What is kept ---- */

/* No two rows are alike, so that each is a rule of its own.  */
START_TEST(bounds_the_memory_of_a_table)
{
    size_t cie = elf_put_cie(&frames, 1, 16, begin_x86, sizeof begin_x86), used = 0;
    uint8_t *many = malloc(CFI_MAX_INSTRUCTIONS);
    uint64_t offset = 0x200000;
    const struct unwind_report *report;

    ck_assert_ptr_nonnull(many);
    for (int fde = 0; fde < 20; fde++) {
        for (used = 0; used + 6 < CFI_MAX_INSTRUCTIONS; offset++) {
            many[used++] = 0x0e; /* def_cfa_offset */
            many[used++] = (uint8_t)((offset & 0x7f) | 0x80);
            many[used++] = (uint8_t)((offset >> 7 & 0x7f) | 0x80);
            many[used++] = (uint8_t)((offset >> 14 & 0x7f) | 0x80);
            many[used++] = (uint8_t)(offset >> 21);
            many[used++] = ADVANCE;
        }
        elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT + UINT64_C(0x80000) * (uint64_t)fde, 0x80000,
                    many, used);
    }
    free(many);
    report = open_made(ELF_X86_64, &(struct elf_section){ ".eh_frame", &frames, TABLE_AT, 0, 2 },
                       1);
    ck_assert_uint_gt(report->rows, 1000000);
    ck_assert_uint_le(report->memory_bytes, UNWIND_TABLE_MAX_BYTES);
    ck_assert_uint_le(pool_memory(&table->rules), (size_t)64 << 20);
    ck_assert_int_eq(row_at(CODE_AT), UNWIND_OK);
    ck_assert_int_eq(row_at(CODE_AT + UINT64_C(0x80000) * 19), UNWIND_MALFORMED);
}
END_TEST

/* ---- One bad section beside a good one ---- */

static const struct {
    const char *name, *other; /* section */
    uint64_t size;            /* that its header claims */
    bool is_searched;
} damaged[] = {
    { "a .debug_frame that ends outside of the file", ".debug_frame", 1 << 24, true },
    { "a .debug_frame of impossible size", ".debug_frame", UINT64_C(1) << 40, true },
    { "an .eh_frame_hdr that ends outside of the file", ".eh_frame_hdr", 1 << 19, false },
    { "an .eh_frame_hdr of impossible size", ".eh_frame_hdr", UINT64_C(1) << 40, false },
};

START_TEST(keeps_the_good_table)
{
    static const struct elf_bytes none = { .bytes = NULL };
    bool is_header = strcmp(damaged[_i].other, ".eh_frame_hdr") == 0;
    size_t cie = elf_put_cie(&frames, 1, 16, begin_x86, sizeof begin_x86);
    size_t fde = elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, 16, NULL, 0);
    struct elf_section sections[] = {
        { ".eh_frame_hdr", &header, TABLE_AT - 24, is_header ? damaged[_i].size : 0, 2 },
        { ".eh_frame", &frames, TABLE_AT, 0, 2 },
        { ".debug_frame", is_header ? &frames : &none, 0, is_header ? 0 : damaged[_i].size, 0 },
    };

    put_header(CODE_AT, fde);
    ck_assert_msg(open_made(ELF_X86_64, sections, 3)->is_searched == damaged[_i].is_searched, "%s",
                  damaged[_i].name);
    ck_assert_int_eq(unwind_table_report(table)->source, UNWIND_SOURCE_EH_FRAME);
    ck_assert_int_eq(row_at(CODE_AT), UNWIND_OK);
    ck_assert_int_eq(row.cfa_offset, 8);
}
END_TEST

/* A table that says that an entry begins where it does not is another section's.  */
START_TEST(does_not_believe_a_table_that_contradicts_its_entries)
{
    struct elf_section sections[] = { { ".eh_frame_hdr", &header, TABLE_AT - 24, 0, 2 },
                                      { ".eh_frame", &frames, TABLE_AT, 0, 2 } };
    size_t cie = elf_put_cie(&frames, 1, 16, begin_x86, sizeof begin_x86);
    size_t fde = elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, 64, NULL, 0);

    put_header(CODE_AT - 32, fde);
    ck_assert(open_made(ELF_X86_64, sections, 2)->is_searched);
    ck_assert_int_eq(row_at(CODE_AT + 40), UNWIND_OK);
    ck_assert_uint_eq(row.start, CODE_AT);
    ck_assert_uint_eq(row.limit, CODE_AT + 64);
}
END_TEST

/* An .eh_frame that is not in the file leaves .debug_frame.  */
START_TEST(takes_the_debug_frame_instead)
{
    struct elf_bytes debug = { .bytes = NULL };
    struct elf_section sections[] = { { ".eh_frame", &frames, TABLE_AT, 1 << 24, 2 },
                                      { ".debug_frame", &debug, 0, 0, 0 } };

    elf_put_fde(&debug, 0, 0, elf_put_cie(&debug, 0, 16, begin_x86, sizeof begin_x86), CODE_AT, 16,
                NULL, 0);
    elf_put(&frames, "....", 4);
    ck_assert_int_eq(open_made(ELF_X86_64, sections, 2)->source, UNWIND_SOURCE_DEBUG_FRAME);
    ck_assert_int_eq(row_at(CODE_AT), UNWIND_OK);
    free(debug.bytes);
}
END_TEST

/* ---- Behind a step by frame pointer on arm64 ---- */

#define STACK_AT 0x7000
#define JIT_AT   0x900000

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context;
    if (address >= JIT_AT)
        *out = (struct unwind_place){ UNWIND_PLACE_OTHER, NULL, JIT_AT, UINT64_MAX, 0 };
    else
        *out = (struct unwind_place){ UNWIND_PLACE_OBJECT, table, 0, JIT_AT, 0 };
}

/* Code without a table was called by code whose frame is so many bytes above its stack pointer,
 * with the frame pointer at its bottom or somewhere else.  */
static const struct {
    const char *name;
    uint8_t instructions[12];
    size_t size;
    enum unwind_end end;
    size_t count;
} callers[] = {
    /* CFA = sp + 48; x29 at CFA - 48, x30 at CFA - 40 */
    { "a frame record", { 0x0c, 31, 48, 0x9d, 6, 0x9e, 5 }, 7, UNWIND_END_COMPLETE, 3 },
    /* CFA = sp + 48; x30 at CFA - 40 */
    { "no frame record", { 0x0c, 31, 48, 0x9e, 5 }, 5, UNWIND_END_NO_REGISTER, 2 },
    /* CFA = x29 + 48 */
    { "by the frame pointer", { 0x0c, 29, 48, 0x9d, 6, 0x9e, 5 }, 7, UNWIND_END_COMPLETE, 3 },
};

START_TEST(knows_no_stack_pointer_behind_a_frame_pointer)
{
    uint64_t addresses[8];
    uint8_t found[8];
    struct unwind_stack stack = { .addresses = addresses, .found = found, .capacity = 8 };
    uint64_t words[16] = { 0 };
    const struct unwind_piece piece = { STACK_AT, (const uint8_t *)words, sizeof words };
    const struct unwind_memory memory = { &piece, 1 };
    const struct unwind_map map = { .find = find };
    struct unwind_registers registers = { .machine = UNWIND_ARM64,
                                          .known = UINT32_MAX,
                                          .pc = JIT_AT + 4,
                                          .values = { [29] = STACK_AT, [31] = STACK_AT } };
    struct unwind_walker *walker;
    size_t cie = elf_put_cie(&frames, 1, 30, (const uint8_t[]){ 0x0c, 31, 0 }, 3);

    /* The frame of the first lies at the stack pointer; its caller's, 32 bytes above, has two words
     * between its stack pointer and its frame record.  */
    words[0] = STACK_AT + 48;
    words[1] = CODE_AT + 8;
    words[6] = 0;
    words[7] = CODE_AT + 0x100 + 8;
    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, 16, callers[_i].instructions, callers[_i].size);
    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT + 0x100, 16, (const uint8_t[]){ 0x07, 30 }, 2);
    (void)open_made(ELF_ARM64, &(struct elf_section){ ".eh_frame", &frames, TABLE_AT, 0, 2 }, 1);
    ck_assert_int_eq(unwind_walker_open(&walker, NULL), UNWIND_OK);
    ck_assert_int_eq(unwind_walk(walker, &registers, &memory, &map, &stack), UNWIND_OK);
    unwind_walker_close(walker);
    ck_assert_msg(stack.end == callers[_i].end, "%s: %s", callers[_i].name,
                  unwind_end_name(stack.end));
    ck_assert_uint_eq(stack.count, callers[_i].count);
    ck_assert_uint_eq(addresses[1], CODE_AT + 8);
    if (callers[_i].count > 2)
        ck_assert_uint_eq(addresses[2], CODE_AT + 0x108);
}
END_TEST

START_TEST(tells_outermost_functions)
{
    size_t cie = elf_put_cie(&frames, 1, 16, begin_x86, sizeof begin_x86);

    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, 16, NULL, 0);
    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT + 16, 16, (const uint8_t[]){ 0x07, 16 }, 2);
    (void)open_made(ELF_X86_64, &(struct elf_section){ ".eh_frame", &frames, TABLE_AT, 0, 2 }, 1);
    ck_assert(!unwind_table_is_outermost(table, CODE_AT));
    ck_assert(unwind_table_is_outermost(table, CODE_AT + 20));
    ck_assert(!unwind_table_is_outermost(table, CODE_AT + 40));
}
END_TEST

/* ---- Code at the entry point, without rows ---- */

static void put_symbol(struct elf_bytes *symbols, unsigned char type, uint64_t value, uint64_t size)
{
    const Elf64_Sym symbol = {
        .st_info = ELF64_ST_INFO(STB_LOCAL, type), .st_shndx = 1, .st_value = value, .st_size = size
    };

    elf_put(symbols, &symbol, sizeof symbol);
}

#define ENTRY_AT (CODE_AT + 0x400)

static const struct {
    const char *name;
    struct {
        unsigned char type;
        uint64_t value, size;
    } symbols[2];
    uint64_t row;  /* where rows begin */
    uint64_t size; /* of the code that counts as outermost */
} entries[] = {
    { "the size of its function", { { STT_FUNC, 0, 24 }, { STT_FUNC, 32, 16 } }, 0, 24 },
    { "a large function", { { STT_FUNC, 0, 300 } }, 0, 300 },
    { "the function that follows", { { STT_NOTYPE, 0, 0 }, { STT_FUNC, 20, 16 } }, 0, 20 },
    { "a label within", { { STT_NOTYPE, 0, 0 }, { STT_NOTYPE, 8, 0 } }, 0, ENTRY_UNNAMED },
    { "no symbol", { { STT_OBJECT, 8, 8 } }, 0, ENTRY_UNNAMED },
    { "rows that follow", { { STT_OBJECT, 8, 8 } }, 40, 40 },
    { "an impossible size", { { STT_FUNC, 0, UINT64_MAX } }, 0, ENTRY_NAMED },
};

START_TEST(knows_the_code_at_the_entry_point)
{
    struct elf_bytes symbols = { .bytes = NULL };
    const struct elf_section sections[] = { { ".eh_frame", &frames, TABLE_AT, 0, 2 },
                                            { ".symtab", &symbols, 0, 0, 0 } };
    size_t cie = elf_put_cie(&frames, 1, 16, begin_x86, sizeof begin_x86);
    uint64_t size = entries[_i].size, entry = ENTRY_AT;
    struct unwind_object from = { .fd = -1, .debug_fd = -1 };

    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, 16, NULL, 0);
    if (entries[_i].row)
        elf_put_fde(&frames, 1, TABLE_AT, cie, ENTRY_AT + entries[_i].row, 16, NULL, 0);
    for (size_t i = 0; i < 2; i++)
        put_symbol(&symbols, entries[_i].symbols[i].type, ENTRY_AT + entries[_i].symbols[i].value,
                   entries[_i].symbols[i].size);
    object = elf_make(ELF_X86_64, sections, 2);
    free(symbols.bytes);
    memcpy(object.bytes + offsetof(Elf64_Ehdr, e_entry), &entry, sizeof entry);
    from.bytes = object.bytes;
    from.size = object.size;
    ck_assert_int_eq(unwind_table_open(&from, &table, NULL), UNWIND_OK);
    ck_assert(!unwind_table_is_outermost(table, ENTRY_AT - 1));
    ck_assert(unwind_table_is_outermost(table, ENTRY_AT));
    ck_assert_msg(unwind_table_is_outermost(table, ENTRY_AT + size - 1), "%s", entries[_i].name);
    ck_assert_msg(!unwind_table_is_outermost(table, ENTRY_AT + size), "%s", entries[_i].name);
}
END_TEST

/* ---- Procedure linkage tables without rows ---- */

/* As lld writes them: the offset of each instruction, and the words that lie between the stack
 * pointer and what it was at the call.  */
#define PLT_AT 0x3000

static const uint8_t plain_plt[] = {
    0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0,    0x0f, 0x1f, 0x40, 0, /* push; jmp; nop */
    0xff, 0x25, 0, 0, 0, 0, 0x68, 0,    0, 0, 0, 0xe9, 0,    0,    0,    0, /* jmp; push; jmp */
};
static const uint8_t marked_plt[] = {
    0xff, 0x35, 0,    0,    0,    0, 0xff, 0x25, 0, 0,    0, 0, 0x0f, 0x1f, 0x40, 0,
    0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0,    0,    0, 0xe9, 0, 0, 0,    0,    0x66, 0x90,
};
static const uint8_t second_plt[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0, 0,
                                      0,    0,    0x66, 0x0f, 0x1f, 0x44, 0, 0 };
/* stp x16, x30, [sp, #-16]!; adrp; ldr; add; br; nop; nop; nop; then entries: adrp; ldr; add; br */
static const uint8_t arm_plt[48] = { 0xf0, 0x7b, 0xbf, 0xa9 };
static const uint8_t marked_arm_plt[48] = { 0x5f, 0x24, 0x03, 0xd5, 0xf0, 0x7b, 0xbf, 0xa9 };

#define INSTRUCTIONS(plt, name, machine, ...)        \
    {                                                \
        plt, sizeof(plt), name, machine, __VA_ARGS__ \
    }

static const struct {
    const uint8_t *code;
    size_t size;
    const char *name;
    uint16_t machine;
    struct {
        uint8_t offset, words;
    } each[7];
} plts[] = {
    INSTRUCTIONS(plain_plt, ".plt", ELF_X86_64,
                 { { 0, 1 }, { 6, 2 }, { 16, 0 }, { 22, 0 }, { 27, 1 } }),
    INSTRUCTIONS(marked_plt, ".plt", ELF_X86_64,
                 { { 0, 1 }, { 6, 2 }, { 16, 0 }, { 20, 0 }, { 25, 1 } }),
    INSTRUCTIONS(second_plt, ".plt.sec", ELF_X86_64, { { 0, 0 }, { 4, 0 } }),
    INSTRUCTIONS(arm_plt, ".plt", ELF_ARM64,
                 { { 0, 0 }, { 4, 2 }, { 12, 2 }, { 16, 2 }, { 32, 0 }, { 44, 0 } }),
    INSTRUCTIONS(marked_arm_plt, ".plt", ELF_ARM64,
                 { { 0, 0 }, { 4, 0 }, { 8, 2 }, { 20, 2 }, { 32, 0 }, { 44, 0 } }),
};

/* A function that has a word of its own called through the table; its caller is the outermost.  */
static void walk_from_plt(uint16_t machine, uint64_t offset, uint64_t pushed)
{
    uint64_t addresses[8], words[8] = { 0 };
    uint8_t found[8];
    struct unwind_stack stack = { .addresses = addresses, .found = found, .capacity = 8 };
    const struct unwind_piece piece = { STACK_AT, (const uint8_t *)words, sizeof words };
    const struct unwind_memory memory = { &piece, 1 };
    const struct unwind_map map = { .find = find };
    bool is_arm = machine == ELF_ARM64;
    struct unwind_registers registers = { .machine = is_arm ? UNWIND_ARM64 : UNWIND_X86_64,
                                          .known = UINT32_MAX,
                                          .pc = PLT_AT + offset };
    struct unwind_walker *walker;

    registers.values[is_arm ? 31 : 7] = STACK_AT;
    registers.values[30] = CODE_AT + 8;
    if (!is_arm)
        words[pushed++] = CODE_AT + 8;
    words[pushed + 1] = CODE_AT + 0x108;
    ck_assert_int_eq(unwind_walker_open(&walker, NULL), UNWIND_OK);
    ck_assert_int_eq(unwind_walk(walker, &registers, &memory, &map, &stack), UNWIND_OK);
    unwind_walker_close(walker);
    ck_assert_msg(stack.end == UNWIND_END_COMPLETE && stack.count == 3, "at %lu: %s after %zu",
                  (unsigned long)offset, unwind_end_name(stack.end), stack.count);
    ck_assert_uint_eq(addresses[1], CODE_AT + 8);
    ck_assert_uint_eq(addresses[2], CODE_AT + 0x108);
    ck_assert_int_eq(found[1], UNWIND_FOUND_PLT);
}

START_TEST(finds_callers_of_linkage_tables)
{
    bool is_arm = plts[_i].machine == ELF_ARM64;
    struct elf_bytes code = { .bytes = NULL };
    const struct elf_section sections[] = { { ".eh_frame", &frames, TABLE_AT, 0, 2 },
                                            { plts[_i].name, &code, PLT_AT, 0, 2 | 4 } };
    size_t cie = is_arm ? elf_put_cie(&frames, 1, 30, (const uint8_t[]){ 0x0c, 31, 16, 0x9e, 1 }, 5)
                        : elf_put_cie(&frames, 1, 16, (const uint8_t[]){ 0x0c, 7, 16, 0x90, 1 }, 5);

    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT, 16, NULL, 0);
    elf_put_fde(&frames, 1, TABLE_AT, cie, CODE_AT + 0x100, 16,
                (const uint8_t[]){ 0x07, is_arm ? 30 : 16 }, 2);
    elf_put(&code, plts[_i].code, plts[_i].size);
    (void)open_made(plts[_i].machine, sections, 2);
    free(code.bytes);
    for (size_t i = 0; i == 0 || (i < 7 && plts[_i].each[i].offset > 0); i++)
        walk_from_plt(plts[_i].machine, plts[_i].each[i].offset, plts[_i].each[i].words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unwind_bounds");
    TCase *test_case = tcase_create("bounds");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(test_case, NULL, teardown);
    tcase_set_timeout(test_case, 0);
    tcase_add_test(test_case, refuses_an_entry_of_too_many_instructions);
    tcase_add_test(test_case, refuses_a_cie_of_too_many_instructions);
    tcase_add_test(test_case, makes_rows_that_are_dear_to_find);
    tcase_add_test(test_case, bounds_the_memory_of_a_table);
    tcase_add_loop_test(test_case, keeps_the_good_table, 0, sizeof damaged / sizeof *damaged);
    tcase_add_test(test_case, does_not_believe_a_table_that_contradicts_its_entries);
    tcase_add_test(test_case, takes_the_debug_frame_instead);
    tcase_add_loop_test(test_case, knows_no_stack_pointer_behind_a_frame_pointer, 0,
                        sizeof callers / sizeof *callers);
    tcase_add_test(test_case, tells_outermost_functions);
    tcase_add_loop_test(test_case, finds_callers_of_linkage_tables, 0, sizeof plts / sizeof *plts);
    tcase_add_loop_test(test_case, knows_the_code_at_the_entry_point, 0,
                        sizeof entries / sizeof *entries);
    suite_add_tcase(suite, test_case);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
