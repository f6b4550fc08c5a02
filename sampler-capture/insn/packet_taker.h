/* packet_taker.h - from the buffers of a controller to packets of threads in the trace.
 *
 * In mode THREAD, a buffer is a thread's.  In mode CPU, the packets of a CPU are divided by its
 * context switches.  Circular buffers are read when somebody asks for it, all others as they fill
 * up.  */
#ifndef INSN_PACKET_TAKER_H
#define INSN_PACKET_TAKER_H

#include "sampler-capture/insn/controller.h"
#include "sampler-capture/insn/insn_record.h"

/* A CPU runs owners[owner] from a time on.  */
struct taker_switch {
    uint64_t ticks, owner;
};

struct taker_owner {
    struct insn_owner owner;
    bool is_cut; /* packets before the next ones are missing */
};

struct taker_buffer {
    struct taker_owner *owners; /* owned; mode THREAD: one */
    size_t owner_count, owner_capacity;
    /* Mode CPU only: */
    struct insn_splitter *splitter; /* owned */
    uint64_t current;               /* the owner of what it gets next */
    struct taker_switch *switches;  /* owned; of packets that were not read yet */
    size_t switch_count, switch_capacity;
};

struct reading;

struct packet_taker {
    struct insn_controller *controller; /* borrowed */
    struct insn_recorder *recorder;     /* borrowed */
    enum insn_mode mode;
    bool is_circular;
    struct taker_buffer *buffers; /* owned; by descriptor */
    struct reading *readings;     /* owned; by descriptor */
    size_t count;
    uint64_t ticks; /* the caller's: now, for the times of records, on the recorder's clock */
    int failed;     /* errno: the trace cannot go on */
};

/* For count descriptors.  False: no memory.  */
bool taker_init(struct packet_taker *taker, struct insn_controller *controller,
                struct insn_recorder *recorder, enum insn_mode mode, bool is_circular,
                size_t count);
void taker_release(struct packet_taker *taker);

/* The following functions return false when the trace cannot go on: taker->failed.  */

/* A buffer is a thread's from now on.  */
bool taker_assign(struct packet_taker *taker, uint32_t descriptor, struct insn_owner owner);

/* A CPU runs another thread from ticks on.  The packets up to now are in the buffer.  */
bool taker_switch(struct packet_taker *taker, uint32_t cpu, uint64_t ticks,
                  struct insn_owner owner);

/* Read a buffer, up to ticks.  */
bool taker_take(struct packet_taker *taker, uint32_t descriptor, uint64_t ticks);

/* The same, and write all packets of the thread that runs now: its code is about to change.  */
bool taker_settle(struct packet_taker *taker, uint32_t descriptor, uint64_t ticks);

/* Forget what is in a circular buffer.  */
bool taker_forget(struct packet_taker *taker, uint32_t descriptor);

/* Nothing more comes: write what is left of the packets that were read.  */
bool taker_finish(struct packet_taker *taker);

#endif /* INSN_PACKET_TAKER_H */
