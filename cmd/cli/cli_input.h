/* cli_input.h - every input file is opened once, however many parts of a program look at it.
 *
 * One part finds out which files make a trace, another what a file is, and the last one reads it.
 * Each opens the file here and closes it here: the descriptor is then kept for the next part, which
 * gets it at the first byte of the file.  All of them therefore see the same file, also if another
 * one is put in its place meanwhile.
 *
 * Regular files are kept, because they can be read again, and pipes that were only looked into
 * (cli_input_peek()).  A kept descriptor is not closed before the program ends: if the file is a
 * store that SQLite has open, closing any descriptor of it would drop SQLite's locks.  To be called
 * by the main thread.  */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Open a path for reading, close-on-exec.  Returns the descriptor, or -1 and sets errno.  */
int cli_input_open(const char *path);

/* Close a descriptor from cli_input_open(), or keep it.  path is the one that was opened.  */
void cli_input_close(const char *path, int fd);

/* Read the first size bytes of a regular file.  Returns how many there are, 0 for anything else.
 * Nothing is opened that could not be read again: a pipe would lose its writer.  */
size_t cli_input_start(const char *path, void *bytes, size_t size);

/* The same; also for a named pipe, and for "-", which is standard input, a pipe or a file.  The
 * bytes stay there.  Waits for the first bytes of a pipe; it may have fewer than size yet.  */
size_t cli_input_peek(const char *path, void *bytes, size_t size);

/* Copy an input that cannot be read twice to a temporary file without a name.  read returns like
 * read(2).  Returns the descriptor, at the first byte; or -1, with a message about label.  */
int cli_input_copy(const char *label, ssize_t (*read)(void *context, void *buffer, size_t size),
                   void *context);

/* The same of what a descriptor has from where it is.  */
int cli_input_copy_fd(const char *label, int fd);

#endif /* CLI_INPUT_H */
