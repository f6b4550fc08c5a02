/* cpu_command.h - the program "sampler-capture cpu".  */
#ifndef CPU_COMMAND_H
#define CPU_COMMAND_H

/* Run it with argv behind the word "cpu".  Returns the exit status.  */
int cpu_main(char **argv);

#endif /* CPU_COMMAND_H */
