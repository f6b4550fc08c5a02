/* profile_heap.h - between profile_heap.c and heap_partials.c.  Private to libprofile.  */
#ifndef PROFILE_HEAP_H
#define PROFILE_HEAP_H

#include "libprofile/aggregate.h"

/* Add the amounts of a heap table's value to the kinds that show them, at a final call site.  */
typedef enum profile_status heap_add_fn(struct profile *profile, profile_id callsite,
                                        uint32_t thread, const uint64_t *amounts);
heap_add_fn profile_heap_add_block, profile_heap_add_release;

/* The stack of messages without any.  */
enum profile_status profile_heap_unknown(struct profile *profile, profile_id *out);

/* An event of that time comes: partial profiles that end before it are put away.  Also keeps when
 * the trace's heap began and ended.  */
enum profile_status profile_heap_advance(struct profile *profile, bool has_time, int64_t ts_ns);
/* Put away the last one, and show it.  */
enum profile_status profile_heap_end_partials(struct profile *profile, const profile_id *final,
                                              uint32_t count);
void profile_heap_forget_partials(struct profile_heap *heap);

#endif /* PROFILE_HEAP_H */
