/* eh_frame.c - finds an entry of .eh_frame by the table in .eh_frame_hdr (LSB "Exception Frames"),
 * in the forms that compilers and linkers use on x86-64.  */
#include "libunwind/cfi/cfi.h"

#define PCREL_SDATA4   0x1b
#define DATAREL_SDATA4 0x3b
#define UDATA4         0x03

#define HEADER_SIZE 12 /* version, three encodings, address of .eh_frame, count */
#define ENTRY_SIZE  8  /* of the table: two offsets from the header */

static uint64_t number_of(const uint8_t *address)
{
    return (uint64_t)(uintptr_t)address;
}

/* The bytes from address on, or none.  */
static struct cfi_bytes bytes_at(const struct cfi_section *section, uint64_t address)
{
    uint64_t offset = address - number_of(section->start);

    if (offset > (uint64_t)(section->limit - section->start))
        return (struct cfi_bytes){ .next = section->limit, .end = section->limit };
    return (struct cfi_bytes){ .next = section->start + offset, .end = section->limit };
}

/* The contents of the entry at address, CIE or FDE, without its length; none if it ends outside of
 * the section or has the 64-bit form.  */
static struct cfi_bytes entry_at(const struct cfi_section *section, uint64_t address)
{
    struct cfi_bytes bytes = bytes_at(section, address);
    uint64_t length = cfi_take(&bytes, 4);

    if (bytes.bad || length > (uint64_t)(bytes.end - bytes.next))
        return (struct cfi_bytes){ .next = bytes.next, .end = bytes.next };
    bytes.end = bytes.next + length;
    return bytes;
}

bool cfi_has_table(const struct cfi_section *section, uint32_t *count)
{
    struct cfi_bytes bytes = bytes_at(section, number_of(section->header));
    uint64_t form = cfi_take(&bytes, 4);

    (void)cfi_take(&bytes, 4); /* address of .eh_frame */
    *count = (uint32_t)cfi_take(&bytes, 4);
    return !bytes.bad && *count <= (uint64_t)(bytes.end - bytes.next) / ENTRY_SIZE &&
           form == (1 | PCREL_SDATA4 << 8 | UDATA4 << 16 | (uint64_t)DATAREL_SDATA4 << 24);
}

/* The first address of the index-th entry and where its FDE is, as offsets from the header.  */
static void read_table(const struct cfi_section *section, uint32_t index, int32_t row[2])
{
    memcpy(row, section->header + HEADER_SIZE + (size_t)index * ENTRY_SIZE, ENTRY_SIZE);
}

/* ---- Entries ---- */

static bool read_augmentation(const char *letters, struct cfi_bytes bytes,
                              struct cfi_program *program)
{
    bool pcrel = false;

    for (; *letters && !bytes.bad; letters++) {
        switch (*letters) {
        case 'R':
            pcrel = cfi_take(&bytes, 1) == PCREL_SDATA4;
            break;
        case 'P': /* address of a personality routine, 4 bytes or 8 */
            cfi_skip(&bytes, (cfi_take(&bytes, 1) & 7) == 3 ? 4 : 8);
            break;
        case 'L':
            cfi_skip(&bytes, 1);
            break;
        case 'S':
            program->is_signal = true;
            break;
        default:
            return false;
        }
    }
    return pcrel && !bytes.bad;
}

static bool read_common(struct cfi_bytes bytes, struct cfi_program *program)
{
    struct cfi_bytes augmentation;
    const char *letters;
    uint64_t version;

    if (cfi_take(&bytes, 4) != 0) /* its id */
        return false;
    version = cfi_take(&bytes, 1);
    letters = (const char *)bytes.next;
    if ((version != 1 && version != 3) || cfi_take(&bytes, 1) != 'z')
        return false;
    while (!bytes.bad && cfi_take(&bytes, 1) != 0)
        ;
    program->code_factor = cfi_take_uleb(&bytes);
    program->data_factor = cfi_take_sleb(&bytes);
    program->return_column = version == 1 ? cfi_take(&bytes, 1) : cfi_take_uleb(&bytes);
    augmentation = bytes;
    cfi_skip(&bytes, cfi_take_uleb(&bytes));
    (void)cfi_take_uleb(&augmentation);
    if (bytes.bad || augmentation.bad || program->return_column != CFI_X86_RA ||
        !read_augmentation(letters + 1, augmentation, program))
        return false;
    program->initial = bytes.next;
    program->initial_size = (size_t)(bytes.end - bytes.next);
    return true;
}

static bool read_entry(const struct cfi_section *section, uint64_t address,
                       struct cfi_program *program)
{
    struct cfi_bytes bytes = entry_at(section, address);
    uint64_t place = number_of(bytes.next), back = cfi_take(&bytes, 4);

    *program = (struct cfi_program){ .start = 0 };
    if (bytes.bad || back == 0 || !read_common(entry_at(section, place - back), program))
        return false;
    program->start = number_of(bytes.next);
    program->start += (uint64_t)(int64_t)(int32_t)cfi_take(&bytes, 4);
    program->limit = program->start + cfi_take(&bytes, 4);
    cfi_skip(&bytes, cfi_take_uleb(&bytes));
    program->instructions = bytes.next;
    program->instructions_size = (size_t)(bytes.end - bytes.next);
    return !bytes.bad;
}

/* Where an entry begins is in the table and in the entry.  If they differ, the table is not that of
 * this section.  */
bool cfi_entry(const struct cfi_section *section, uint32_t index, struct cfi_program *out)
{
    uint64_t header = number_of(section->header);
    int32_t row[2];

    read_table(section, index, row);
    return read_entry(section, header + (uint64_t)(int64_t)row[1], out) &&
           out->start == header + (uint64_t)(int64_t)row[0];
}

bool cfi_is_sorted(const struct cfi_section *section, uint32_t count)
{
    int32_t before[2], row[2];

    if (count > 0)
        read_table(section, 0, before);
    for (uint32_t i = 1; i < count; i++) {
        read_table(section, i, row);
        if (row[0] < before[0])
            return false;
        before[0] = row[0];
    }
    return true;
}

/* ---- Looking up ---- */

/* How many entries begin at or before an offset from the header.  */
static uint32_t count_before(const struct cfi_section *section, uint32_t count, int64_t wanted)
{
    uint32_t low = 0;
    int32_t row[2];

    for (uint32_t high = count; low < high;) {
        uint32_t middle = low + (high - low) / 2;

        read_table(section, middle, row);
        if (row[0] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum cfi_found cfi_search(const struct cfi_section *section, uint64_t pc,
                          struct cfi_program *program)
{
    uint32_t count;

    if (!cfi_has_table(section, &count))
        return CFI_ODD;
    count = count_before(section, count, (int64_t)(pc - number_of(section->header)));
    if (count == 0)
        return CFI_NOTHING;
    if (!cfi_entry(section, count - 1, program))
        return CFI_ODD;
    return pc - program->start < program->limit - program->start ? CFI_FOUND : CFI_NOTHING;
}

bool cfi_row_at(const struct cfi_program *program, uint64_t pc, struct cfi_row *row)
{
    struct cfi_machine machine;

    (void)cfi_begin(&machine, program);
    while (cfi_next(&machine)) {
        if (pc < machine.now.limit) {
            *row = machine.now;
            return true;
        }
    }
    return false;
}

enum cfi_found cfi_find(const struct cfi_section *section, uint64_t pc, struct cfi_row *row)
{
    struct cfi_program program;
    enum cfi_found found = cfi_search(section, pc, &program);

    return found == CFI_FOUND && !cfi_row_at(&program, pc, row) ? CFI_ODD : found;
}
