/* insn_command.h - the program "sampler-capture insn".  */
#ifndef CAPTURE_INSN_COMMAND_H
#define CAPTURE_INSN_COMMAND_H

/* Run it with argv after the word "insn".  Returns the exit status.  */
int insn_main(char **argv);

#endif /* CAPTURE_INSN_COMMAND_H */
