/* controller.h - fuchsia.hardware.cpu.insntrace/Controller for Linux.
 *
 * The names, states, limits and errors are those of Fuchsia's driver.  The states are: open,
 * initialized (controller_initialize), and active (controller_start).
 *
 *     controller_open(&hardware, &controller);
 *     controller_initialize(controller, INSN_MODE_CPU, cpus);
 *     for each CPU: controller_allocate_buffer(controller, &config, &descriptor);
 *     controller_start(controller);
 *     while (working)
 *         controller_take(controller, descriptor, take, context);
 *     controller_stop(controller);
 *     controller_close(controller);
 *
 * Differences, because Linux can do it: buffers can be threads' (INSN_MODE_THREAD, which Fuchsia
 * declares and refuses), of which there may be INSN_MAX_TRACES and not 64; such buffers are freed
 * and read while others are traced.  controller_take() reads packets as they come, so a buffer that
 * is not circular fills up only if it is not read.  controller_stop() without controller_start() is
 * ignored, as Fuchsia's documentation says.  Ranges of addresses are ranges of files on Linux, and
 * are the hardware's (insn_filter.h).
 *
 * Calls come from one thread.  */
#ifndef INSN_CONTROLLER_H
#define INSN_CONTROLLER_H

#include "sampler-capture/insn/hardware.h"

#define INSN_MAX_TRACES 4096

enum insn_mode {
    INSN_MODE_CPU = 0,
    INSN_MODE_THREAD = 1,
};

struct insn_allocation {
    enum insn_mode mode;
    uint16_t num_traces;
};

struct insn_buffer_state {
    /* Circular: the position that is written next; whether the buffer wrapped is not known.  Else:
     * the bytes not taken yet, which begin at position 0 if none were taken.  */
    uint64_t capture_end;
};

struct insn_controller;

/* INSN_ANSWER_ALREADY_BOUND if another controller has the hardware, INSN_ANSWER_NO_MEMORY.  */
enum insn_answer controller_open(struct insn_hardware *hardware, struct insn_controller **out);

/* Stops and terminates.  Accepts NULL.  */
void controller_close(struct insn_controller *controller);

/* ---- The methods.  In the order of checks: ---- */

/* NOT_SUPPORTED: the hardware has no PT, or only one piece of memory.  BAD_STATE: initialized.
 * NOT_SUPPORTED: threads, if the hardware has none.  INVALID_ARGS: another mode, 0 or more than
 * INSN_MAX_TRACES traces, or in mode CPU not as many as CPUs.  */
enum insn_answer controller_initialize(struct insn_controller *controller, unsigned mode,
                                       uint32_t num_traces);

/* BAD_STATE: not initialized, or active.  Frees all buffers.  */
enum insn_answer controller_terminate(struct insn_controller *controller);

/* BAD_STATE: not initialized.  */
enum insn_answer controller_get_allocation(const struct insn_controller *controller,
                                           struct insn_allocation *out);

/* BAD_STATE: not initialized, or active in mode CPU.  INVALID_ARGS: chunks, bits of ctl and their
 * values.  NOT_SUPPORTED: an address space, if the hardware cannot choose one.  NO_RESOURCES: all
 * num_traces are allocated.  Then the hardware's NO_MEMORY, ACCESS_DENIED or IO.  *descriptor is
 * the lowest free one; in mode CPU the number of the CPU.  */
enum insn_answer controller_allocate_buffer(struct insn_controller *controller,
                                            const struct insn_buffer_config *config,
                                            uint32_t *descriptor);

/* The following functions return INVALID_ARGS if the descriptor is not allocated.  */

/* BAD_STATE: not initialized; assigned; active in mode CPU.  */
enum insn_answer controller_free_buffer(struct insn_controller *controller, uint32_t descriptor);

/* Trace a thread into a buffer, from now on or from controller_start() on.  NOT_SUPPORTED: not in
 * mode THREAD.  BAD_STATE: not initialized, or assigned.  INVALID_ARGS: tid is not positive.  Then
 * the hardware's.  */
enum insn_answer controller_assign_thread_buffer(struct insn_controller *controller,
                                                 uint32_t descriptor, pid_t tid);

/* NOT_SUPPORTED: not in mode THREAD.  BAD_STATE: not initialized.  INVALID_ARGS: not assigned to
 * this thread.  */
enum insn_answer controller_release_thread_buffer(struct insn_controller *controller,
                                                  uint32_t descriptor, pid_t tid);

/* BAD_STATE: not initialized.  */
enum insn_answer controller_get_buffer_config(const struct insn_controller *controller,
                                              uint32_t descriptor, struct insn_buffer_config *out);

/* BAD_STATE: not initialized; active in mode CPU.  */
enum insn_answer controller_get_buffer_state(const struct insn_controller *controller,
                                             uint32_t descriptor, struct insn_buffer_state *out);

/* A chunk as it is in memory, which can be read even while it is written.  BAD_STATE: not
 * initialized.  INVALID_ARGS: no such chunk.  */
enum insn_answer controller_get_chunk(const struct insn_controller *controller, uint32_t descriptor,
                                      uint32_t chunk, const uint8_t **bytes, size_t *size);

/* BAD_STATE: not initialized, active, or in mode CPU a CPU without a buffer.  Continues where the
 * last run stopped.  */
enum insn_answer controller_start(struct insn_controller *controller);

/* BAD_STATE: not initialized.  */
enum insn_answer controller_stop(struct insn_controller *controller);

/* ---- What Linux adds ---- */

/* Have a buffer of size bytes, a power of two of at least INSN_PAGE, in chunks as large as
 * possible.  */
void insn_buffer_set_size(struct insn_buffer_config *config, uint64_t size);

/* Take packets, borrowed for the call.  is_cut: packets before them are missing, and they begin
 * with a PSB packet.  False: stop.  */
typedef bool (*controller_take_fn)(void *context, uint32_t descriptor, bool is_cut,
                                   const uint8_t *bytes, size_t size);

/* Pass on what was written to a buffer since the last call, in at most two parts.  Of a circular
 * buffer that wrapped since then, the packets from the first PSB packet on; none, if there is no
 * PSB packet.  BAD_STATE: not initialized.  IO: take returned false.  */
enum insn_answer controller_take(struct insn_controller *controller, uint32_t descriptor,
                                 controller_take_fn take, void *context);

#endif /* INSN_CONTROLLER_H */
