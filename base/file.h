/* file.h - whole reads and writes, temporary files, parts of paths.  Failures are errno values.  */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Where temporary files go: directory if it is neither NULL nor empty, else $TMPDIR, else /tmp.  */
const char *base_temporary_dir(const char *directory);

/* Open a file without a name in directory, for reading and writing; its space is released with the
 * descriptor.  Returns the descriptor, or -1 and sets errno.  */
int base_temporary_file(const char *directory);

/* Write all bytes at the descriptor's position.  Returns 0 or an errno value.  */
int base_write_all(int fd, const void *bytes, size_t size);

/* Read exactly size bytes at offset.  Returns 0 or an errno value; EIO: the file is shorter.  */
int base_read_at(int fd, void *bytes, size_t size, uint64_t offset);

/* Close *fd, unless it is -1, and make it -1.  */
void base_close(int *fd);

/* The part of a path after its last slash: the whole path if there is none.  */
const char *base_name(const char *path);

#endif /* BASE_FILE_H */
