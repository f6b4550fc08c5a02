/* insn_ingest.h - instruction traces, for the other parts.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_INSN_INGEST_H
#define PROFILE_INGEST_INSN_INGEST_H

#include "libprofile/ingest/ingest.h"

struct ingest_insn;

#ifdef PROFILE_HAVE_INSN
/* Whether a large blob is of an instruction trace that somebody wants decoded.  */
bool ingest_is_insn(const struct profile_ingest *ingest, const struct fxt_record *record);
enum profile_status ingest_insn_blob(struct profile_ingest *ingest, const struct fxt_record *record,
                                     struct profile_error *error);
/* A mapping comes: before the ingest's map has it.  */
enum profile_status ingest_insn_mapping(struct profile_ingest *ingest, uint32_t process,
                                        const struct profile_mapping *mapping,
                                        struct profile_error *error);
/* The trace is over: before the maps are used up.  */
enum profile_status ingest_insn_finish(struct profile_ingest *ingest, struct profile_error *error);
void ingest_insn_release(struct profile_ingest *ingest);
#endif

#endif /* PROFILE_INGEST_INSN_INGEST_H */
