/* profile_internal.h - what all files of libprofile share: errors, and the containers of base/.  */
#ifndef PROFILE_INTERNAL_H
#define PROFILE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <fxt/profile.h>
#include "base/arena.h"
#include "base/grow.h"
#include "base/index.h"

/* ---- Errors ---- */

/* Fill *error, which may be NULL, and return status.  */
enum profile_status profile_fail(struct profile_error *error, enum profile_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with PROFILE_IO and the phrase of system_errno.  */
enum profile_status profile_fail_errno(struct profile_error *error, int system_errno,
                                       const char *what);

/* The same for a failure of base/, an errno value: PROFILE_NO_MEMORY for ENOMEM.  */
enum profile_status profile_fail_base(struct profile_error *error, int failure, const char *what);

/* The same for a failure of the temporary file in directory.  */
enum profile_status profile_fail_temporary(struct profile_error *error, int failure,
                                           const char *directory);

static inline enum profile_status profile_no_memory(struct profile_error *error)
{
    (void)profile_fail(error, PROFILE_NO_MEMORY, "out of memory");
    return PROFILE_NO_MEMORY; /* seen to be a failure by those who read one file at a time */
}

/* ---- Tallies: counters with names and sentences ---- */

struct profile_tally {
    const char *name, *description; /* description: of losses */
    const char *one, *many;         /* phrases to print after the count */
    size_t offset;                  /* of the uint64_t in the structure that counts */
};

/* The count, and the phrase for it.  */
static inline uint64_t profile_tally_read(const struct profile_tally *tally, const void *counted,
                                          const char **phrase)
{
    uint64_t count;

    memcpy(&count, (const char *)counted + tally->offset, sizeof count);
    *phrase = count == 1 ? tally->one : tally->many;
    return count;
}

/* The counter of the cause that profile_loss_at() has at that index.  */
uint64_t *profile_loss_counter(struct profile_loss *loss, size_t index);
void profile_loss_add(struct profile_loss *sum, const struct profile_loss *more);

/* ---- Small things ---- */

/* Sums of counts from hostile files stop at the top instead of wrapping.  */
static inline uint64_t profile_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

profile_id profile_stacks_string_count(const struct profile_stacks *stacks);

/* A named frame of one line that knows a function only.  */
enum profile_status profile_stacks_function_frame(struct profile_stacks *stacks, const char *name,
                                                  size_t length, profile_id *out,
                                                  struct profile_error *error);

/* Names of frames that stand for what is not known; no function is called so.  */
#define PROFILE_TRUNCATED "[truncated]"
#define PROFILE_ANONYMOUS "[anon]"
#define PROFILE_UNKNOWN   "[unknown]"

#endif /* PROFILE_INTERNAL_H */
