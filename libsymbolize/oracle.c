/* oracle.c - files for libdwarf, and its units one after the other; oracle_unit.c reads what is in
 * them.  */
#include "libsymbolize/oracle_internal.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

enum { SECTIONS_MAX = 4096 }; /* of debug information */

/* ---- Sections ---- */

static enum sym_status add_section(struct sym_oracle *oracle, const char *name,
                                   struct sym_bytes bytes, uint64_t vaddr)
{
    if (oracle->section_count >= SECTIONS_MAX)
        return SYM_OK;
    if (!base_make_room(&oracle->sections, &oracle->section_capacity, oracle->section_count + 1,
                        sizeof *oracle->sections))
        return SYM_NO_MEMORY;
    char *copy = strdup(name);
    if (!copy)
        return SYM_NO_MEMORY;
    oracle->sections[oracle->section_count++] =
        (struct oracle_section){ .name = copy, .bytes = bytes, .vaddr = vaddr };
    return SYM_OK;
}

/* Whether what a packed section claims to hold is within what is allowed.  */
static bool may_unpack(Elf_Scn *section, const GElf_Shdr *header, bool is_gnu)
{
    uint64_t limit = sym_unpacked_limit(header->sh_size);
    GElf_Chdr packed;

    if (!is_gnu)
        return gelf_getchdr(section, &packed) && packed.ch_size <= limit;
    const Elf_Data *data = elf_rawdata(section, NULL);
    uint64_t size;
    if (!data || !data->d_buf || data->d_size < 12)
        return false;
    memcpy(&size, (const char *)data->d_buf + 4, sizeof size); /* big-endian, after "ZLIB" */
    return __builtin_bswap64(size) <= limit;
}

/* One section by libelf.  One that cannot be read is a problem, and left out.  */
static enum sym_status take_section(struct sym_oracle *oracle, Elf_Scn *section,
                                    const GElf_Shdr *header, const char *name)
{
    bool is_gnu = strncmp(name, ".zdebug_", 8) == 0, is_packed = header->sh_flags & SHF_COMPRESSED;
    char plain[64];

    if (header->sh_type == SHT_NOBITS || (!is_gnu && strncmp(name, ".debug_", 7) != 0))
        return SYM_OK;
    (void)snprintf(plain, sizeof plain, ".%s", name + (is_gnu ? 2 : 1));
    if ((is_gnu || is_packed) &&
        (!may_unpack(section, header, is_gnu) ||
         (is_gnu ? elf_compress_gnu(section, 0, 0) : elf_compress(section, 0, 0)) < 0)) {
        sym_oracle_note(oracle, "libelf cannot unpack a section");
        return SYM_OK;
    }
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || (data->d_size && !data->d_buf)) {
        sym_oracle_note(oracle, "libelf cannot read a section");
        return SYM_OK;
    }
    return add_section(oracle, plain, (struct sym_bytes){ data->d_buf, data->d_size },
                       header->sh_addr);
}

static enum sym_status read_sections(struct sym_oracle *oracle, const struct sym_object *object)
{
    enum sym_status status = SYM_OK;
    size_t names;

    if (elf_version(EV_CURRENT) == EV_NONE)
        return SYM_MALFORMED;
    oracle->fd = object->kept >= 0
                     ? fcntl(object->kept, F_DUPFD_CLOEXEC, 0)
                     : open(object->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (oracle->fd >= 0)
        oracle->elf = elf_begin(oracle->fd, ELF_C_READ, NULL); /* unpacking writes to mappings */
    if (!oracle->elf || elf_getshdrstrndx(oracle->elf, &names) != 0)
        return SYM_MALFORMED;
    for (Elf_Scn *at = NULL; !status && (at = elf_nextscn(oracle->elf, at));) {
        GElf_Shdr header;
        const char *name = NULL;

        if (gelf_getshdr(at, &header))
            name = elf_strptr(oracle->elf, names, header.sh_name);
        if (name)
            status = take_section(oracle, at, &header, name);
    }
    return status;
}

/* Of a relocatable object, or one whose sections are in files of their own.  */
static enum sym_status borrow_sections(struct sym_oracle *oracle, struct sym_object *object)
{
    enum sym_status status = SYM_OK;

    for (int which = 0; which <= SYM_SECTION_ADDR && !status; which++) {
        struct sym_bytes bytes;

        status = sym_object_section(object, (enum sym_section)which, &bytes, NULL);
        if (!status && bytes.size)
            status = add_section(oracle, sym_section_name((enum sym_section)which), bytes, 0);
        else if (status == SYM_MALFORMED)
            status = SYM_OK;
    }
    return status;
}

/* libdwarf refuses files with nothing but strings, which supplements may be.  */
static enum sym_status add_frames(struct sym_oracle *oracle)
{
    static const uint8_t nothing[4] = { 0 };

    for (size_t i = 0; i < oracle->section_count; i++)
        if (strcmp(oracle->sections[i].name, ".debug_str") != 0)
            return SYM_OK;
    return oracle->section_count ? add_section(oracle, ".debug_frame",
                                               (struct sym_bytes){ nothing, sizeof nothing }, 0)
                                 : SYM_OK;
}

/* ---- What libdwarf takes for a file ---- */

static int get_section_info(void *context, Dwarf_Half index, Dwarf_Obj_Access_Section *out,
                            int *error)
{
    const struct sym_oracle *oracle = context;

    (void)error;
    *out = (Dwarf_Obj_Access_Section){ .name = "" };
    if (index == 0)
        return DW_DLV_OK;
    if (index > oracle->section_count)
        return DW_DLV_NO_ENTRY;
    const struct oracle_section *section = &oracle->sections[index - 1];
    *out = (Dwarf_Obj_Access_Section){ .addr = section->vaddr,
                                       .type = SHT_PROGBITS,
                                       .size = section->bytes.size,
                                       .name = section->name };
    return DW_DLV_OK;
}

static Dwarf_Endianness get_byte_order(void *context)
{
    const struct sym_oracle *oracle = context;

    return oracle->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small get_size(void *context)
{
    const struct sym_oracle *oracle = context;

    return oracle->is_64 ? 8 : 4;
}

static Dwarf_Unsigned get_section_count(void *context)
{
    const struct sym_oracle *oracle = context;

    return oracle->section_count + 1;
}

static int load_section(void *context, Dwarf_Half index, Dwarf_Small **bytes, int *error)
{
    const struct sym_oracle *oracle = context;

    (void)error;
    if (index == 0 || index > oracle->section_count)
        return DW_DLV_NO_ENTRY;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it is only read
    *bytes = (Dwarf_Small *)(uintptr_t)oracle->sections[index - 1].bytes.data;
    return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods access_methods = {
    .get_section_info = get_section_info,
    .get_byte_order = get_byte_order,
    .get_length_size = get_size,
    .get_pointer_size = get_size,
    .get_section_count = get_section_count,
    .load_section = load_section,
};

/* ---- Files ---- */

void sym_oracle_note(struct sym_oracle *oracle, const char *phrase)
{
    if (!oracle->problem[0])
        (void)snprintf(oracle->problem, sizeof oracle->problem, "%s", phrase);
}

/* Without a handler libdwarf ends the process where no error is asked for.  */
static void take_error(Dwarf_Error error, Dwarf_Ptr context)
{
    struct sym_oracle *oracle = context;

    (void)snprintf(oracle->error, sizeof oracle->error, "%s", dwarf_errmsg(error));
    if (oracle->dbg)
        dwarf_dealloc_error(oracle->dbg, error);
}

bool sym_oracle_works(struct sym_oracle *oracle, int result)
{
    if (result == DW_DLV_ERROR) {
        sym_oracle_note(oracle, dwarf_errmsg(oracle->last));
        dwarf_dealloc_error(oracle->dbg, oracle->last);
    }
    return result == DW_DLV_OK;
}

const char *sym_oracle_problem(struct sym_oracle *oracle)
{
    memcpy(oracle->told, oracle->problem, sizeof oracle->told);
    oracle->problem[0] = '\0';
    return oracle->told;
}

const char *sym_oracle_version(void)
{
    return dwarf_package_version();
}

/* Whether libelf can read the file as it is.  */
static bool is_plain(const struct sym_object *object)
{
    return !object->relocatable && object->image.size && !object->unpacked && !object->lent.size;
}

/* Starts libdwarf on the sections that were found with status.  */
static enum sym_status start(struct sym_oracle *oracle, enum sym_status status)
{
    if (!status)
        status = add_frames(oracle);
    if (!status && dwarf_object_init_b(&oracle->access, take_error, oracle, DW_GROUPNUMBER_ANY,
                                       &oracle->dbg, NULL) != DW_DLV_OK)
        status = SYM_MALFORMED;
    return status;
}

static enum sym_status open_oracle(struct sym_object *object, bool by_libelf,
                                   struct sym_oracle **out, struct sym_error *error)
{
    struct sym_oracle *oracle = calloc(1, sizeof *oracle);

    *out = NULL;
    if (!oracle)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    oracle->fd = -1;
    oracle->is_64 = object->is_64;
    oracle->big_endian = object->big_endian;
    oracle->access = (Dwarf_Obj_Access_Interface){ .object = oracle, .methods = &access_methods };
    enum sym_status status = start(oracle, by_libelf ? read_sections(oracle, object)
                                                     : borrow_sections(oracle, object));
    if (status) {
        (void)sym_fail(error, status, "libdwarf cannot read it: %s",
                       oracle->error[0]     ? oracle->error
                       : oracle->problem[0] ? oracle->problem
                                            : "no debug information");
        sym_oracle_close(oracle);
        return status;
    }
    *out = oracle;
    return SYM_OK;
}

enum sym_status sym_oracle_open(struct sym_object *object, struct sym_oracle **out,
                                struct sym_error *error)
{
    return open_oracle(object, is_plain(object), out, error);
}

enum sym_status sym_oracle_open_shared(struct sym_object *object, struct sym_oracle **out,
                                       struct sym_error *error)
{
    return open_oracle(object, false, out, error);
}

void sym_oracle_close(struct sym_oracle *oracle)
{
    if (!oracle)
        return;
    if (oracle->dbg)
        (void)dwarf_object_finish(oracle->dbg, NULL);
    (void)elf_end(oracle->elf);
    if (oracle->fd >= 0)
        (void)close(oracle->fd);
    for (size_t i = 0; i < oracle->section_count; i++)
        free(oracle->sections[i].name);
    free(oracle->sections);
    free(oracle);
}

void sym_oracle_tie(struct sym_oracle *split, struct sym_oracle *main)
{
    (void)dwarf_set_tied_dbg(split->dbg, main->dbg, NULL);
}

void sym_oracle_supplement(struct sym_oracle *oracle, struct sym_oracle *alt)
{
    oracle->alt = alt;
    (void)dwarf_set_tied_dbg(oracle->dbg, alt->dbg, NULL);
}

/* ---- Units ---- */

bool sym_oracle_next(struct sym_oracle *oracle, uint64_t *die, uint8_t *type)
{
    Dwarf_Unsigned next = 0, type_offset = 0, length = 0;
    Dwarf_Half version = 0, address_size = 0, length_size = 0, extension_size = 0, kind = 0;
    Dwarf_Off abbrevs = 0, offset = 0;
    Dwarf_Sig8 signature;
    Dwarf_Die first;

    if (!sym_oracle_works(oracle, dwarf_next_cu_header_d(oracle->dbg, true, &length, &version,
                                                         &abbrevs, &address_size, &length_size,
                                                         &extension_size, &signature, &type_offset,
                                                         &next, &kind, &oracle->last)))
        return false;
    *type = (uint8_t)kind;
    *die = UINT64_MAX;
    if (!sym_oracle_works(oracle,
                          dwarf_siblingof_b(oracle->dbg, NULL, true, &first, &oracle->last)))
        return true;
    if (sym_oracle_works(oracle, dwarf_dieoffset(first, &offset, &oracle->last)))
        *die = offset;
    dwarf_dealloc_die(first);
    return true;
}

/* The id in the header of DWARF 5, or in the GNU attribute before it.  */
static bool has_dwo_id(struct sym_oracle *oracle, uint64_t die_offset, uint64_t wanted)
{
    Dwarf_Attribute attribute;
    Dwarf_Sig8 *signature = NULL;
    Dwarf_Half half[4];
    Dwarf_Bool flags[2];
    Dwarf_Off start;
    Dwarf_Unsigned id = 0, total;
    Dwarf_Die die;

    if (dwarf_offdie_b(oracle->dbg, die_offset, true, &die, NULL) != DW_DLV_OK)
        return false;
    if (dwarf_attr(die, DW_AT_GNU_dwo_id, &attribute, NULL) == DW_DLV_OK) {
        (void)dwarf_formudata(attribute, &id, NULL);
        dwarf_dealloc_attribute(attribute);
    } else if (dwarf_cu_header_basics(die, &half[0], &flags[0], &flags[1], &half[1], &half[2],
                                      &half[3], &signature, &start, &total, NULL) == DW_DLV_OK &&
               signature) {
        id = sym_load((const uint8_t *)signature->signature, sizeof *signature, oracle->big_endian);
    }
    dwarf_dealloc_die(die);
    return id == wanted;
}

uint64_t sym_oracle_find_split(struct sym_oracle *oracle, uint64_t dwo_id)
{
    uint64_t die, found = UINT64_MAX;
    uint8_t type;

    while (sym_oracle_next(oracle, &die, &type)) /* to the end: the next search begins there */
        if (die != UINT64_MAX && found == UINT64_MAX && has_dwo_id(oracle, die, dwo_id))
            found = die;
    return found;
}
