/* elf_image.h - of an ELF file, what ties a mapping to it: where its code lies and its build ID.
 *
 * Reads file header, program headers and notes; section headers may be missing or wrong.  The bytes
 * are hostile: every offset is checked by the source, every count is bounded.  */
#ifndef CAPTURE_ELF_IMAGE_H
#define CAPTURE_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_IMAGE_MAX_SEGMENTS 16 /* executable ones; linkers make one or two */
#define ELF_IMAGE_MAX_BUILD_ID 64

struct elf_image {
    struct {
        uint64_t file_offset;
        uint64_t file_size;
        uint64_t vaddr;
    } segments[ELF_IMAGE_MAX_SEGMENTS]; /* executable PT_LOAD, in the order of the file */
    size_t segment_count;
    uint8_t build_id[ELF_IMAGE_MAX_BUILD_ID];
    size_t build_id_size; /* 0: the file has none */
};

/* Read an image from a file descriptor, or from memory.  False when the bytes are not an ELF file
 * of this machine's byte order.  */
bool elf_image_read_fd(int fd, struct elf_image *out);
bool elf_image_read_memory(const void *bytes, size_t size, struct elf_image *out);

/* The ELF virtual address of the byte at file_offset, where a mapping of executable code starts.
 * False when no executable segment, taken in whole pages, holds it.  */
bool elf_image_vaddr(const struct elf_image *image, uint64_t file_offset, uint64_t *vaddr);

#endif /* CAPTURE_ELF_IMAGE_H */
