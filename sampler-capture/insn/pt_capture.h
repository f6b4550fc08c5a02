/* pt_capture.h - a capture from the processor: packets from AUX areas, and the kernel's records of
 * mappings, threads and context switches, in order of time.
 *
 * Not tested on hardware yet; "make check-pt" does so.  */
#ifndef INSN_PT_CAPTURE_H
#define INSN_PT_CAPTURE_H

#include "sampler-capture/command.h"
#include "sampler-capture/insn/insn_options.h"
#include "sampler-capture/insn/packet_taker.h"
#include "sampler-capture/insn/pt_hardware.h"

struct side_ring;
struct side_record;

struct pt_capture {
    struct pt_facts facts; /* read before pt_capture_start() */
    const struct insn_options *options;
    struct insn_recorder *recorder;
    struct command *command;
    char *filter; /* owned */
    struct pt_hardware hardware;
    struct insn_controller *controller; /* owned */
    struct packet_taker taker;
    uint32_t buffer_count;

    struct side_ring *rings; /* owned; one per CPU */
    uint32_t ring_count;
    uint8_t *bytes; /* owned; records that wait for earlier ones of other rings */
    size_t used, capacity;
    struct side_record *records; /* owned; in bytes */
    size_t record_count, record_capacity;

    uint64_t truncated; /* times that a buffer was full */
    uint64_t lost;      /* records of the kernel */
    int failed;         /* errno */
};

/* Open the events of a command that waits for its exec.  On failure, message says why; "" if the
 * answer does.  */
enum insn_answer pt_capture_start(struct pt_capture *capture, const struct insn_options *options,
                                  const struct filter *filter, struct insn_recorder *recorder,
                                  struct command *command, char *message, size_t size);

/* Record until the command has ended or a signal asks to end.  False when the trace cannot go
 * on.  */
bool pt_capture_run(struct pt_capture *capture);

void pt_capture_release(struct pt_capture *capture);

#endif /* INSN_PT_CAPTURE_H */
