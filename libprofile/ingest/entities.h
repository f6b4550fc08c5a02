/* entities.h - processes, threads and their names.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_ENTITIES_H
#define PROFILE_INGEST_ENTITIES_H

#include "libprofile/ingest/ingest.h"

/* A process.  Entity ids count from 1 in order of meeting.  */
struct ingest_process {
    uint64_t koid;
    profile_id name;
    bool chosen;  /* passes the pid filter */
    bool sampled; /* has samples */
    uint32_t epoch;
    uint32_t space;               /* (process, epoch) for samples; 0: none in this epoch yet */
    struct map_segment *segments; /* all there ever were, in the ingest's arena */
    void *map;                    /* tsearch() tree of those that hold now; they do not overlap */
};

struct ingest_thread {
    uint64_t process_koid;
    uint32_t process_id;
    uint64_t koid;
    profile_id name;
    bool own_name;               /* its kernel object named the process too */
    bool chosen;                 /* passes both filters */
    uint32_t koids;              /* entry for its koid */
    uint32_t track;              /* of its slices; 0: not reported yet */
    struct span_stack *stack;    /* open slices; NULL before the first */
    struct sched_thread *waking; /* what it does on CPUs; NULL before the first record */
};

/* A thread koid.  Names often come without the process: they hold for every thread of that koid
 * that has no name of its own.  */
struct ingest_koid {
    uint64_t koid;
    profile_id name;
    uint32_t thread_id; /* the first with a process, else the first; 0: none */
    bool renamed;       /* since it has threads: they are reported at the end */
    bool scheduled;     /* scheduling records name it */
};

/* ---- Functions ---- */

/* Ids are found or made; a new entity is announced to the sink.  */
enum profile_status ingest_process(struct profile_ingest *ingest, uint64_t koid, uint32_t *out,
                                   struct profile_error *error);
enum profile_status ingest_thread(struct profile_ingest *ingest, const struct fxt_thread *thread,
                                  uint32_t *out, struct profile_error *error);
/* The kernel object of a process or thread.  */
enum profile_status ingest_object(struct profile_ingest *ingest, const struct fxt_record *record,
                                  struct profile_error *error);
/* A thread of which only the koid is known: an entry of koids.  */
enum profile_status ingest_koid(struct profile_ingest *ingest, uint64_t koid, uint32_t *out,
                                struct profile_error *error);

enum profile_status ingest_process_name(struct profile_ingest *ingest, uint64_t koid,
                                        const char *bytes, size_t length,
                                        struct profile_error *error);

/* Tell names that came after their threads.  */
enum profile_status ingest_entities_finish(struct profile_ingest *ingest,
                                           struct profile_error *error);

#endif /* PROFILE_INGEST_ENTITIES_H */
