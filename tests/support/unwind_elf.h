/* unwind_elf.h - ELF objects with unwind tables, made byte by byte.  */
#ifndef TESTS_UNWIND_ELF_H
#define TESTS_UNWIND_ELF_H

#include <stddef.h>
#include <stdint.h>

enum { ELF_X86_64 = 62, ELF_ARM64 = 183 };

/* Bytes that grow; all zero is empty.  */
struct elf_bytes {
    uint8_t *bytes; /* owned: free() it */
    size_t size, capacity;
};

void elf_put(struct elf_bytes *to, const void *bytes, size_t size);
void elf_put_number(struct elf_bytes *to, uint64_t number, size_t size); /* little-endian */

/* A CIE of .eh_frame, "zR" with pcrel sdata4 pointers, or of .debug_frame; returns its offset.  */
size_t elf_put_cie(struct elf_bytes *to, int is_eh_frame, uint8_t return_column,
                   const uint8_t *instructions, size_t size);

/* An FDE of [start, start + length), in a section at vaddr; returns its offset.  */
size_t elf_put_fde(struct elf_bytes *to, int is_eh_frame, uint64_t vaddr, size_t cie,
                   uint64_t start, uint32_t length, const uint8_t *instructions, size_t size);

/* Its type is SHT_PROGBITS; that of .symtab, SHT_SYMTAB.  */
struct elf_section {
    const char *name;
    const struct elf_bytes *bytes;
    uint64_t vaddr;
    uint64_t size; /* as its header says; 0: that of the bytes */
    uint64_t flags;
};

/* The object; the caller frees its bytes.  */
struct elf_bytes elf_make(uint16_t machine, const struct elf_section *sections, size_t count);

#endif /* TESTS_UNWIND_ELF_H */
