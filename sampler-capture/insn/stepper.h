/* stepper.h - a processor made of ptrace(2): runs the threads of a command one after another,
 * instruction by instruction, and has an encoder write what a processor would have written.
 *
 * User mode only, as "perf record -e intel_pt//u" does it: a system call, a fault and a signal end
 * tracing, and it goes on where user code does.  One thread runs at a time, as on a machine with
 * one processor: a switch to another ends tracing in the same way.  */
#ifndef INSN_STEPPER_H
#define INSN_STEPPER_H

#include "sampler-capture/command.h"
#include "sampler-capture/insn/insn_filter.h"
#include "sampler-capture/insn/insn_options.h"
#include "sampler-capture/insn/packet_taker.h"
#include "sampler-capture/insn/sim_hardware.h"

#include <stdio.h>

struct task;

struct stepper {
    const struct insn_options *options; /* borrowed */
    struct insn_recorder *recorder;     /* borrowed */
    struct command *command;            /* borrowed */
    const struct filter *filter;        /* borrowed */
    struct sim_hardware *sim;           /* borrowed, as are: */
    struct insn_controller *controller;
    struct packet_taker *taker;
    struct insn_buffer_config buffer; /* of a thread */
    FILE *steps;                      /* NULL: not wanted */

    struct task *tasks; /* owned list */
    pid_t on_cpu;       /* mode CPU: the thread whose packets are written; 0: none */
    uint64_t ticks;
    uint64_t random;
    uint64_t until_loss; /* instructions until packets are lost, or found again */

    uint64_t instructions;
    uint64_t threads;
    uint64_t overflows;
    uint64_t snapshots;
    uint64_t refused; /* threads without a buffer: not traced */
    uint64_t foreign; /* programs of 32 bits: not traced from there on */
    int failed;       /* errno: the trace cannot go on */
};

/* Take a child that waits for its exec.  Before command_exec().  False with errno.  */
bool stepper_attach(struct stepper *stepper);

/* Step until the command has ended, a signal asks to end, or the trace cannot go on.  Whatever
 * still runs then runs on by itself.  False when the trace cannot go on.  */
bool stepper_run(struct stepper *stepper);

#endif /* INSN_STEPPER_H */
