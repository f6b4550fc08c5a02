/* trace_command.h - the program "sampler-capture trace".  */
#ifndef TRACE_COMMAND_H
#define TRACE_COMMAND_H

/* Run it with argv after the word "trace".  Returns the exit status.  */
int trace_main(char **argv);

#endif /* TRACE_COMMAND_H */
