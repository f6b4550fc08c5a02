/* Call frame information, registers and stacks: libunwind.
 *
 * The first byte chooses machine and section; then come 512 bytes of registers and stack, and the
 * rest is the section, or a whole object.
 *
 * - A row covers the address that it was asked for; of rows that were all made at once it is also
 *   what its first address has.
 * - A walk ends, with at least one frame, and reads nothing but the stack.  */
#include "libunwind/unwind_internal.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/support.h"

#define STACK_SIZE 256
#define FIXED      (1 + 256 + STACK_SIZE)
#define STACK_AT   0x7000

static struct unwind_table *table;

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context;
    *out = (struct unwind_place){ address & 0x10000 ? UNWIND_PLACE_OTHER : UNWIND_PLACE_OBJECT,
                                  table, address & ~UINT64_C(0xffff), (address | 0xffff), 0 };
}

/* Code that was made at run time: part of the registers.  */
static size_t read_code(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
    memcpy(bytes, *(const uint8_t **)context + address % 128, size);
    return size;
}

static void walk(enum unwind_machine machine, const uint8_t *data)
{
    const uint8_t *context = data;
    uint64_t addresses[32];
    uint8_t found[32], *bytes = fuzz_allocate(STACK_SIZE);
    struct unwind_stack stack = { .addresses = addresses, .found = found, .capacity = 32 };
    struct unwind_piece piece = { STACK_AT, bytes, STACK_SIZE };
    struct unwind_memory memory = { &piece, 1 };
    struct unwind_map map = { find, &context, read_code };
    struct unwind_registers registers = { .machine = machine, .known = UINT32_MAX };
    struct unwind_walker *walker;

    memcpy(bytes, data + 256, STACK_SIZE);
    memcpy(registers.values, data, sizeof registers.values);
    memcpy(&registers.pc, data + 248, sizeof registers.pc);
    HOLD(unwind_walker_open(&walker, NULL) == UNWIND_OK);
    HOLD(unwind_walk(walker, &registers, &memory, &map, &stack) == UNWIND_OK);
    HOLD(stack.count >= 1 && stack.count <= 32 && stack.end < UNWIND_END_COUNT);
    unwind_walker_close(walker);
    free(bytes);
}

static void look_up(const uint8_t *data)
{
    for (size_t i = 0; i < 32; i++) {
        struct unwind_row row, again;
        uint64_t vaddr;

        memcpy(&vaddr, data + 8 * i, sizeof vaddr);
        if (unwind_table_row(table, vaddr, &row) != UNWIND_OK)
            continue;
        HOLD(row.start <= vaddr && vaddr < row.limit);
        if (unwind_table_report(table)->is_searched)
            continue; /* the table that is searched may contradict itself */
        HOLD(unwind_table_row(table, row.start, &again) == UNWIND_OK);
        HOLD(again.cfa_register == row.cfa_register && again.cfa_offset == row.cfa_offset);
    }
    (void)unwind_table_frame_pointers(table);
    HOLD(unwind_table_report(table)->memory_bytes <= UNWIND_TABLE_MAX_BYTES);
}

/* An object that has one section: what an ELF file would hold of it.  */
static uint8_t *wrap(uint8_t choice, const uint8_t *bytes, size_t size, size_t *total)
{
    static const uint16_t machines[] = { 62, 183, 243, 62 };
    static const char names[] = "\0.eh_frame\0.debug_frame\0.eh_frame_hdr\0.plt";
    struct {
        uint8_t ident[16];
        uint16_t type, machine;
        uint32_t version;
        uint64_t entry, phoff, shoff;
        uint32_t flags;
        uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
    } header = { { 0x7f, 'E', 'L', 'F', 2, 1, 1 },
                 3,
                 machines[choice & 3],
                 1,
                 0,
                 0,
                 64,
                 0,
                 64,
                 56,
                 0,
                 64,
                 4,
                 1 };
    struct {
        uint32_t name, type;
        uint64_t flags, address, offset, size;
        uint32_t link, info;
        uint64_t align, entsize;
    } sections[4] = { { 0 } };
    uint64_t start = sizeof header + sizeof sections;
    size_t cut = choice & 8 && size > 24 ? size / 2 : 0; /* of a table to search */
    uint8_t *object = fuzz_allocate(start + sizeof names + size);

    sections[1].type = 3;
    sections[1].offset = start;
    sections[1].size = sizeof names;
    sections[2].name = choice & 4 ? 11 : 1;
    sections[2].type = 1;
    sections[2].offset = sections[2].address = start + sizeof names + cut;
    sections[2].size = size - cut;
    sections[3].name = cut ? 24 : 38;
    sections[3].type = 1;
    sections[3].flags = 4;
    sections[3].offset = sections[3].address = start + sizeof names;
    sections[3].size = cut ? cut : 64;
    memcpy(object, &header, sizeof header);
    memcpy(object + sizeof header, sections, sizeof sections);
    memcpy(object + start, names, sizeof names);
    memcpy(object + start + sizeof names, bytes, size);
    *total = start + sizeof names + size;
    return object;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unwind_object object = { .fd = -1, .debug_fd = -1 };
    uint8_t *bytes;

    if (size < FIXED)
        return 0;
    if (data[0] & 16) {
        object.size = size - FIXED;
        bytes = fuzz_allocate(object.size + 1);
        memcpy(bytes, data + FIXED, object.size);
    } else {
        bytes = wrap(data[0], data + FIXED, size - FIXED, &object.size);
    }
    object.bytes = bytes;
    if (unwind_table_open(&object, &table, NULL) == UNWIND_OK) {
        look_up(data + 1);
        walk(unwind_table_report(table)->machine, data + 1);
        unwind_table_close(table);
    }
    free(bytes);
    return 0;
}
