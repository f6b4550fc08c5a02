/* heap_command.h - the program "sampler-capture heap".  */
#ifndef HEAP_COMMAND_H
#define HEAP_COMMAND_H

/* Run it with argv behind the word "heap".  Returns the exit status.  */
int heap_main(char **argv);

#endif /* HEAP_COMMAND_H */
