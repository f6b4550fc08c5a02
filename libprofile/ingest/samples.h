/* samples.h - stacks of addresses, stored once as they are, resolved at the end.
 * Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_SAMPLES_H
#define PROFILE_INGEST_SAMPLES_H

#include "libprofile/ingest/ingest.h"
#include "libprofile/ingest/seen.h"

/* A process in one epoch.  */
struct sample_space {
    uint32_t process_id;
    uint32_t epoch;
};

/* A sampled address, before modules are known.  Frame 1 stands for what lies above a cut stack.  */
struct raw_frame {
    uint64_t address; /* lookup address */
    uint32_t space;   /* 0 for frame 1 */
    profile_id final; /* 0: its module was not known when it was first met */
};

struct raw_callsite {
    uint32_t parent; /* 0: root */
    uint32_t frame;
    uint64_t hits;    /* samples that ended there; counted at the end */
    profile_id final; /* 0: its frame or one of its callers' was not known */
};

#define RAW_TRUNCATED 1u

struct ingest_samples {
    uint32_t kernel; /* entity id of process 0; 0: not met yet */
    struct sample_space *spaces;
    size_t space_count, space_capacity;
    struct raw_frame *frames;
    size_t frame_count, frame_capacity;
    struct base_index frame_index;
    struct raw_callsite *callsites;
    size_t callsite_count, callsite_capacity;
    struct base_index callsite_index;
    struct seen_stacks seen; /* from whole stacks to their call sites */
    /* A ring of stacks that are looked up later; NULL before the first.  */
    struct sample_waiting *waiting;
    size_t waiting_first, waiting_count;
    int64_t first_ns, last_ns; /* of samples that are not reported yet */
    bool has_times;
};

/* ---- Functions ---- */

enum profile_status ingest_sample_stack(struct profile_ingest *ingest,
                                        const struct fxt_record *record, struct fxt_words pcs,
                                        bool kernel_sampler, struct profile_error *error);
/* A large blob fxt.capture/sample: a stack, with the arguments event and amount.  */
enum profile_status ingest_sample_event(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
/* Whose sample it is, and when: what is kept of a record whose stack is found later.  */
struct sample_place {
    int64_t ts_ns;
    uint64_t process_koid, thread_koid;
    uint64_t weight_ns;
    uint32_t thread_id;
    uint32_t space; /* of the process, in its present epoch */
    int32_t cpu;
};
/* False in *wanted: the sample is not asked for.  */
enum profile_status ingest_sample_place(struct profile_ingest *ingest,
                                        const struct fxt_record *record, struct sample_place *out,
                                        bool *wanted, struct profile_error *error);
/* A sample whose stack was found at the end of the trace: the first entry is exact, the others are
 * return addresses.  cut: it has more than there was room for.  */
enum profile_status ingest_sample_unwound(struct profile_ingest *ingest,
                                          const struct sample_place *place, struct fxt_words pcs,
                                          bool cut, struct profile_error *error);
/* The provisional call site of a stack of return addresses, all of them; 0 when it is empty.  cut:
 * it reached the capture's depth.  */
enum profile_status ingest_return_stack(struct profile_ingest *ingest, uint64_t process,
                                        struct fxt_words pcs, bool cut, uint32_t *out,
                                        struct profile_error *error);
/* Tell how often each stack was sampled since the last time: before the period changes, and at the
 * end.  */
enum profile_status ingest_sample_tell(struct profile_ingest *ingest, struct profile_error *error);
/* Look up what waits: before a map changes, for it belongs to the map as it was.  */
enum profile_status ingest_sample_settle(struct profile_ingest *ingest,
                                         struct profile_error *error);
enum profile_status ingest_sample_finish(struct profile_ingest *ingest,
                                         struct profile_error *error);
void ingest_sample_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_SAMPLES_H */
