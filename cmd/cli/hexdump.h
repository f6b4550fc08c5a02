/* hexdump.h - bytes as `hexdump -C` shows them.  */
#ifndef CLI_HEXDUMP_H
#define CLI_HEXDUMP_H

#include "cmd/cli/cli.h"

/* Lines of two words: the offset (hexadecimal) of their first byte, the bytes in file order, and
 * those that are printable ASCII.  Lines that repeat the one above are one "*".  bytes may be NULL:
 * all are 0.  */
void cli_hexdump(struct cli_output *output, uint64_t offset, const uint8_t *bytes, uint64_t length);

#endif /* CLI_HEXDUMP_H */
