/* trace_types.h - the sample types of a profile of traces.  Private to libstore/export.  */
#ifndef STORE_EXPORT_TRACE_TYPES_H
#define STORE_EXPORT_TRACE_TYPES_H

#include <fxt/profile_types.h>
#include "libstore/export/export.h"

/* As fxt2pprof has them: the count first; CPU time before events, which are in the order of their
 * traces, as far as there is room.  */
struct trace_types {
    struct profile_known_type items[PROFILE_MAX_TYPES];
    int64_t ids[PROFILE_MAX_TYPES];           /* sample_type.id of CPU samples; 0: others */
    const char *texts[2 * PROFILE_MAX_TYPES]; /* of events, owned */
    size_t count, text_count;
};

/* The types of the captures that are exported, which are of a kind.  To be released on any status.
 */
enum store_status trace_types_load(struct export *export, enum store_samples kind,
                                   struct trace_types *out);
void trace_types_release(struct trace_types *types);

/* The place of what CPU samples of sample_type.id weigh; 0: they only count.  */
size_t trace_types_place(const struct trace_types *types, int64_t id);

/* The type that is shown first: the one that is wanted, else time, amounts, or the first event.  */
size_t trace_types_default(const struct trace_types *types, const char *wanted);

#endif /* STORE_EXPORT_TRACE_TYPES_H */
