/* sched.h - threads on CPUs, and waiting.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_SCHED_H
#define PROFILE_INGEST_SCHED_H

#include "libprofile/ingest/ingest.h"

struct timeline_event;

struct sched_cpu {
    bool running; /* since_ns, thread and priority are known */
    bool has_priority;
    int64_t since_ns;
    uint32_t thread_id; /* 0 idle */
    int32_t priority;
};

/* What a thread does since since_ns.  */
struct sched_thread {
    int64_t since_ns;
    bool known; /* its state is known */
    bool woken;
    unsigned state; /* enum profile_thread_state_kind */
    uint32_t waker_id;
    uint32_t cpu;        /* it runs there, or was woken from there */
    profile_id callsite; /* of a wait, for the off-CPU profile; 0: not wanted */
};

struct ingest_sched {
    struct sched_cpu *cpus;
    size_t cpu_count, cpu_capacity;
};

enum profile_status ingest_sched_record(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
/* Find or make the threads that scheduling records name.  */
enum profile_status ingest_sched_threads(struct profile_ingest *ingest,
                                         struct profile_error *error);
enum profile_status ingest_sched_take(struct profile_ingest *ingest,
                                      const struct timeline_event *event,
                                      struct profile_error *error);
enum profile_status ingest_sched_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_sched_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_SCHED_H */
