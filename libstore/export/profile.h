/* profile.h - a capture that was a profile, as that profile again.  Private to libstore.  */
#ifndef STORE_EXPORT_PROFILE_H
#define STORE_EXPORT_PROFILE_H

#include "libprofile/codec/files.h"
#include "libstore/internal.h"

/* Write what the rows of a capture of format pprof say, as it was told when it was imported: in
 * that order, with functions numbered as locations come to need them, and with the names that
 * store_symbolize() has found since.  Functions of no location are gone.
 *
 * The caller is in a transaction, and finishes the writer.  *samples becomes how many were written.
 * Returns STORE_OK, STORE_CORRUPT, STORE_STOPPED, STORE_LIMIT, STORE_NO_MEMORY, or STORE_IO, also
 * where the writer failed to write.  */
enum store_status profile_tell(struct store *store, int64_t capture,
                               struct profile_pprof_writer *writer, uint64_t *samples,
                               struct store_error *error);

#endif /* STORE_EXPORT_PROFILE_H */
