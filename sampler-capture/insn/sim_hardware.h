/* sim_hardware.h - a simulated processor with Intel PT: encoders that write real packets into the
 * buffers of a controller.  It has one CPU.  */
#ifndef INSN_SIM_HARDWARE_H
#define INSN_SIM_HARDWARE_H

#include "sampler-capture/insn/hardware.h"

#include <fxt/insn.h>

#define INSN_SIM_MAX_BUFFERS 4096 /* INSN_MAX_TRACES */
#define INSN_SIM_MTC_FREQ    3    /* insn_encoder_config() */

struct sim_buffer;

struct sim_hardware {
    struct insn_hardware hardware; /* for a controller */
    /* A buffer that is not circular is full: if it is not read in this call, tracing into it ends,
     * until the next start.  May be NULL.  */
    void (*full)(void *context, uint32_t descriptor);
    void *full_context;

    struct sim_buffer *buffers; /* owned; INSN_SIM_MAX_BUFFERS */
    bool is_started;
};

/* False: there is no memory.  sim must stay where it is.  */
bool sim_hardware_init(struct sim_hardware *sim);
void sim_hardware_release(struct sim_hardware *sim); /* after its controller */

/* The encoder of a buffer that is allocated, and in mode THREAD assigned.  NULL: tracing is not
 * started.  */
struct insn_encoder *sim_hardware_encoder(const struct sim_hardware *sim, uint32_t descriptor);

#endif /* INSN_SIM_HARDWARE_H */
