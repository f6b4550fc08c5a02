/* files.h - files of SQL.  */
#ifndef FXTQ_FILES_H
#define FXTQ_FILES_H

/* The whole file ("-": standard input) as text, from malloc(); NULL after a message.  No more than
 * 16 MiB, and no NUL in it: it is a database or a trace that was meant to be one.  */
char *file_read_text(const char *path);

#endif /* FXTQ_FILES_H */
