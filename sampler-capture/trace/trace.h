/* trace.h - the program "sampler-capture trace".  */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

/* Run it with argv behind the word "trace".  Returns the exit status.  */
int trace_main(char **argv);

#endif /* TRACE_TRACE_H */
