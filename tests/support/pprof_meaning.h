/* pprof_meaning.h - what a pprof profile means, as text: nothing is referred to by number but
 * mappings and locations, by their places.  */
#ifndef TESTS_PPROF_MEANING_H
#define TESTS_PPROF_MEANING_H

#include "tests/support/pprof_text.h"

/* Read a profile, compressed or not.  *text (from malloc(), NUL-terminated) is what it means.
 * Functions stand in the lines that have them; references to nothing, which are damage, are left
 * out.  No assertions inside.  */
enum profile_status pprof_meaning(const void *bytes, size_t length, char **text,
                                  struct profile_read_notices *notices,
                                  struct profile_error *error);

#endif /* TESTS_PPROF_MEANING_H */
