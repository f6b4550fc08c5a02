#include "tests/support/unwind_elf.h"

#include "base/grow.h"
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *room(struct elf_bytes *to, size_t size)
{
    uint8_t *bytes = base_grow(to->bytes, &to->capacity, to->size + size + 1, 1);

    if (!bytes)
        abort();
    to->bytes = bytes;
    to->size += size;
    return bytes + to->size - size;
}

void elf_put(struct elf_bytes *to, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(room(to, size), bytes, size);
}

void elf_put_number(struct elf_bytes *to, uint64_t number, size_t size)
{
    elf_put(to, &number, size);
}

static void end_entry(struct elf_bytes *to, size_t start)
{
    uint32_t length;

    while (to->size % 8 != 0)
        elf_put_number(to, 0, 1); /* nop */
    length = (uint32_t)(to->size - start - 4);
    memcpy(to->bytes + start, &length, sizeof length);
}

size_t elf_put_cie(struct elf_bytes *to, int is_eh_frame, uint8_t return_column,
                   const uint8_t *instructions, size_t size)
{
    size_t start = to->size;

    elf_put_number(to, 0, 4);
    elf_put_number(to, is_eh_frame ? 0 : UINT32_MAX, 4);
    elf_put_number(to, is_eh_frame ? 1 : 3, 1);
    elf_put(to, is_eh_frame ? "zR" : "", is_eh_frame ? 3 : 1);
    elf_put_number(to, 1, 1);    /* code factor */
    elf_put_number(to, 0x78, 1); /* data factor -8 */
    elf_put_number(to, return_column, 1);
    if (is_eh_frame)
        elf_put(to, (const uint8_t[]){ 1, 0x1b }, 2);
    elf_put(to, instructions, size);
    end_entry(to, start);
    return start;
}

size_t elf_put_fde(struct elf_bytes *to, int is_eh_frame, uint64_t vaddr, size_t cie,
                   uint64_t start, uint32_t length, const uint8_t *instructions, size_t size)
{
    size_t place = to->size;

    elf_put_number(to, 0, 4);
    elf_put_number(to, is_eh_frame ? to->size - cie : cie, 4);
    elf_put_number(to, is_eh_frame ? start - (vaddr + to->size) : start, is_eh_frame ? 4 : 8);
    elf_put_number(to, length, is_eh_frame ? 4 : 8);
    if (is_eh_frame)
        elf_put_number(to, 0, 1); /* no augmentation data */
    elf_put(to, instructions, size);
    end_entry(to, place);
    return place;
}

static void add_section(struct elf_bytes *to, const struct elf_section *from, Elf64_Shdr *header)
{
    static uint32_t name;
    bool is_symbols = strcmp(from->name, ".symtab") == 0;

    if (header->sh_offset == 1) /* the first */
        name = 1;
    *header = (Elf64_Shdr){ .sh_name = name,
                            .sh_type = is_symbols ? SHT_SYMTAB : SHT_PROGBITS,
                            .sh_flags = from->flags,
                            .sh_addr = from->vaddr,
                            .sh_offset = to->size,
                            .sh_size = from->size ? from->size : from->bytes->size,
                            .sh_entsize = is_symbols ? sizeof(Elf64_Sym) : 0 };
    elf_put(to, from->bytes->bytes, from->bytes->size);
    name += (uint32_t)strlen(from->name) + 1;
}

struct elf_bytes elf_make(uint16_t machine, const struct elf_section *sections, size_t count)
{
    Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                       EV_CURRENT },
                          .e_type = ET_DYN,
                          .e_machine = machine,
                          .e_version = EV_CURRENT,
                          .e_ehsize = sizeof header,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shnum = (uint16_t)(count + 2),
                          .e_shstrndx = (uint16_t)(count + 1) };
    Elf64_Shdr *headers = calloc(count + 2, sizeof *headers);
    struct elf_bytes out = { .bytes = NULL };

    if (!headers)
        abort();
    elf_put(&out, &header, sizeof header);
    headers[1].sh_offset = 1;
    for (size_t i = 0; i < count; i++)
        add_section(&out, &sections[i], &headers[i + 1]);
    headers[count + 1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = out.size };
    elf_put_number(&out, 0, 1);
    for (size_t i = 0; i < count; i++)
        elf_put(&out, sections[i].name, strlen(sections[i].name) + 1);
    headers[count + 1].sh_size = out.size - headers[count + 1].sh_offset;
    while (out.size % 8 != 0)
        elf_put_number(&out, 0, 1);
    header.e_shoff = out.size;
    elf_put(&out, headers, (count + 2) * sizeof *headers);
    memcpy(out.bytes, &header, sizeof header);
    free(headers);
    return out;
}
