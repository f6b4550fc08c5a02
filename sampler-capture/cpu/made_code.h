/* made_code.h - instructions that a process made while it ran, read from its memory.
 *
 * What was read before stays known when the process has ended, but is read again as long as there
 * is one: code may be replaced.  */
#ifndef CPU_MADE_CODE_H
#define CPU_MADE_CODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct made_code;

struct made_code *made_code_open(void);       /* NULL: no memory */
void made_code_close(struct made_code *made); /* accepts NULL */

/* From now on all is read again where that is possible.  */
void made_code_renew(struct made_code *made);

/* At most size bytes of a process at an address.  Returns their number; 0: they cannot be read.  */
size_t made_code_read(struct made_code *made, pid_t pid, uint64_t address, uint8_t *bytes,
                      size_t size);

#endif /* CPU_MADE_CODE_H */
