/* entries.c - the entries of .eh_frame and .debug_frame, through libdwarf.
 *
 * libdwarf is handed one section, which was read through libelf, and knows all forms of entries:
 * both versions of augmentations, all encodings of pointers, both sizes of offsets.  It believes
 * what it reads, so lengths are walked once before, and what it costs is bounded: it looks for the
 * CIE of each FDE one after another.  */
#include "libunwind/unwind_internal.h"

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES  UINT64_C(1000000)   /* libdwarf and we take some 400 bytes of each */
#define MAX_SEARCHES UINT64_C(400000000) /* CIEs times FDEs */

struct input {
    const uint8_t *bytes;
    size_t size;
    uint64_t vaddr;
    bool is_eh_frame;
};

/* ---- What libdwarf takes for a file ---- */

static int get_section_info(void *context, Dwarf_Half index, Dwarf_Obj_Access_Section *out,
                            int *error)
{
    const struct input *input = context;

    (void)error;
    *out = (Dwarf_Obj_Access_Section){ .name = "" };
    if (index == 1) {
        out->addr = input->vaddr;
        out->size = input->size;
        out->name = input->is_eh_frame ? ".eh_frame" : ".debug_frame";
        out->type = 1; /* SHT_PROGBITS */
    }
    return index <= 1 ? DW_DLV_OK : DW_DLV_NO_ENTRY;
}

static Dwarf_Endianness get_byte_order(void *context)
{
    (void)context;
    return DW_OBJECT_LSB;
}

static Dwarf_Small get_size(void *context)
{
    (void)context;
    return 8;
}

static Dwarf_Unsigned get_section_count(void *context)
{
    (void)context;
    return 2;
}

static int load_section(void *context, Dwarf_Half index, Dwarf_Small **bytes, int *error)
{
    const struct input *input = context;

    (void)error;
    if (index != 1)
        return DW_DLV_NO_ENTRY;
    *bytes = (Dwarf_Small *)(uintptr_t)input->bytes; // NOLINT: it is only read
    return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods methods = {
    .get_section_info = get_section_info,
    .get_byte_order = get_byte_order,
    .get_length_size = get_size,
    .get_pointer_size = get_size,
    .get_section_count = get_section_count,
    .load_section = load_section,
};

/* ---- Before ---- */

/* Walk the lengths.  False when entries do not follow each other to the end, or there are too many.
 * What follows a terminator is left out.  */
static bool check_lengths(struct input *input, const char **problem)
{
    struct cfi_bytes bytes = { .next = input->bytes, .end = input->bytes + input->size };
    uint64_t commons = 0, entries = 0;

    while (bytes.next < bytes.end) {
        const uint8_t *start = bytes.next;
        uint64_t length = cfi_take(&bytes, 4), id;
        bool is_long = length == UINT32_MAX;
        struct cfi_bytes inside;

        if (is_long)
            length = cfi_take(&bytes, 8);
        if (!bytes.bad && length == 0 && input->is_eh_frame) {
            input->size = (size_t)(start - input->bytes);
            break;
        }
        inside = bytes;
        id = cfi_take(&inside, is_long ? 8 : 4);
        cfi_skip(&bytes, length);
        if (bytes.bad || inside.bad || length < 4) {
            *problem = "an entry that ends outside of its section";
            return false;
        }
        if (id == (input->is_eh_frame ? 0 : is_long ? UINT64_MAX : UINT32_MAX))
            commons++;
        else
            entries++;
    }
    if (entries > MAX_ENTRIES || commons * entries > MAX_SEARCHES) {
        *problem = "more entries than any program has";
        return false;
    }
    return true;
}

/* ---- Telling ---- */

/* The CIE that was seen last: most FDEs have the same.  */
struct common {
    Dwarf_Cie cie;
    struct cfi_program program;
};

static bool read_common(Dwarf_Cie cie, bool is_arm64, struct common *out)
{
    Dwarf_Unsigned size, code_factor, instructions_size;
    Dwarf_Small version;
    char *letters;
    Dwarf_Signed data_factor;
    Dwarf_Half return_column, offset_size;
    Dwarf_Ptr instructions;

    if (out->cie == cie)
        return true;
    if (dwarf_get_cie_info_b(cie, &size, &version, &letters, &code_factor, &data_factor,
                             &return_column, &instructions, &instructions_size, &offset_size,
                             NULL) != DW_DLV_OK)
        return false;
    out->cie = cie;
    out->program = (struct cfi_program){
        .initial = instructions,
        .initial_size = instructions_size,
        .code_factor = code_factor,
        .data_factor = data_factor,
        .return_column = return_column,
        .is_signal = letters && letters[0] == 'z' && strchr(letters, 'S') != NULL,
        .is_arm64 = is_arm64,
    };
    return true;
}

/* Whether libdwarf's answer lies where it must.  */
static bool is_inside(const struct input *input, const uint8_t *bytes, size_t size)
{
    return size == 0 || (bytes >= input->bytes && bytes <= input->bytes + input->size &&
                         size <= (size_t)(input->bytes + input->size - bytes));
}

/* False: it cannot be read.  */
static bool read_entry(const struct input *input, Dwarf_Fde fde, bool is_arm64,
                       struct common *common, struct cfi_program *out)
{
    Dwarf_Addr start;
    Dwarf_Unsigned length, size, instructions_size;
    Dwarf_Ptr bytes, instructions;
    Dwarf_Off cie_offset, offset;
    Dwarf_Signed cie_index;
    Dwarf_Cie cie;

    if (dwarf_get_cie_of_fde(fde, &cie, NULL) != DW_DLV_OK || !read_common(cie, is_arm64, common) ||
        dwarf_get_fde_range(fde, &start, &length, &bytes, &size, &cie_offset, &cie_index, &offset,
                            NULL) != DW_DLV_OK ||
        dwarf_get_fde_instr_bytes(fde, &instructions, &instructions_size, NULL) != DW_DLV_OK)
        return false;
    *out = common->program;
    out->instructions = instructions;
    out->instructions_size = instructions_size;
    out->start = start;
    return !__builtin_add_overflow(start, length, &out->limit) &&
           is_inside(input, out->initial, out->initial_size) &&
           is_inside(input, out->instructions, out->instructions_size);
}

/* An entry that cannot be read is told as one that covers nothing.  */
static bool tell_all(const struct input *input, const Dwarf_Fde *fdes, Dwarf_Signed count,
                     bool is_arm64, entry_fn entry, void *context)
{
    struct common common = { .cie = NULL };

    for (Dwarf_Signed i = 0; i < count; i++) {
        struct cfi_program program;

        if (!read_entry(input, fdes[i], is_arm64, &common, &program))
            program = (struct cfi_program){ .start = 0 };
        if (!entry(context, &program))
            return false;
    }
    return true;
}

/* Without a handler libdwarf ends the process where no error is asked for.  */
static void ignore(Dwarf_Error error, Dwarf_Ptr context)
{
    (void)error, (void)context;
}

enum unwind_status entries_each(enum unwind_machine machine, const uint8_t *bytes, size_t size,
                                uint64_t vaddr, bool is_eh_frame, entry_fn entry, void *context,
                                const char **problem)
{
    struct input input = { bytes, size, vaddr, is_eh_frame };
    Dwarf_Obj_Access_Interface file = { .object = &input, .methods = &methods };
    enum unwind_status status = UNWIND_OK;
    Dwarf_Debug debug = NULL;
    Dwarf_Cie *cies = NULL;
    Dwarf_Fde *fdes = NULL;
    Dwarf_Signed cie_count = 0, fde_count = 0;

    if (!check_lengths(&input, problem))
        return UNWIND_MALFORMED;
    *problem = "libdwarf cannot read its entries";
    if (dwarf_object_init_b(&file, ignore, NULL, DW_GROUPNUMBER_ANY, &debug, NULL) != DW_DLV_OK)
        return UNWIND_MALFORMED;
    if ((is_eh_frame
             ? dwarf_get_fde_list_eh(debug, &cies, &cie_count, &fdes, &fde_count, NULL)
             : dwarf_get_fde_list(debug, &cies, &cie_count, &fdes, &fde_count, NULL)) != DW_DLV_OK)
        status = UNWIND_MALFORMED;
    else if (!tell_all(&input, fdes, fde_count, machine == UNWIND_ARM64, entry, context))
        status = UNWIND_NO_MEMORY;
    if (fdes)
        dwarf_fde_cie_list_dealloc(debug, cies, cie_count, fdes, fde_count);
    (void)dwarf_object_finish(debug, NULL);
    if (status == UNWIND_OK)
        *problem = "";
    return status;
}
