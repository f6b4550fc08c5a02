/* copies.h - registers and copies of stacks, unwound at the end of the trace.
 * Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_COPIES_H
#define PROFILE_INGEST_COPIES_H

#include "libprofile/ingest/ingest.h"

/* A large blob cpu_profiler/stack_sample.  */
enum profile_status ingest_copy_take(struct profile_ingest *ingest, const struct fxt_record *record,
                                     struct profile_error *error);
/* Unwind all copies, now that every module is known, and report their samples.  */
enum profile_status ingest_copies_finish(struct profile_ingest *ingest,
                                         struct profile_error *error);
void ingest_copies_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_COPIES_H */
