/* internal.h - between the files of cmd/cli only.  */
#ifndef CLI_INTERNAL_H
#define CLI_INTERNAL_H

/* The program's name in messages; set by cli_start().  */
extern const char *cli_name;

_Noreturn void cli_out_of_memory(void);

#endif /* CLI_INTERNAL_H */
