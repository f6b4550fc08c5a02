/* pattern_match.h - which functions a pattern means.
 *
 * A pattern is a POSIX extended regular expression that is searched for in the names of a frame's
 * functions, in their files and in the path of its module, as pprof's --focus does.  */
#ifndef STORE_FUNCTIONS_PATTERN_MATCH_H
#define STORE_FUNCTIONS_PATTERN_MATCH_H

#include <regex.h>

#include "libstore/functions/stored_stacks.h"

struct match {
    regex_t regex;
    const struct stacks *stacks; /* borrowed; named */
    uint8_t *strings;            /* [string]: 0 unknown, 1 no, 2 yes */
    uint8_t *modules;
};

/* Compile a pattern.  Returns SQLITE_OK; SQLITE_ERROR with *error (sqlite3_malloc()) if it is no
 * expression; or SQLITE_NOMEM.  After any but SQLITE_OK there is nothing to release.  */
int match_compile(regex_t *regex, const char *pattern, char **error);

/* Returns the same.  */
int match_open(struct match *match, const struct stacks *stacks, const char *pattern, char **error);
void match_release(struct match *match);

/* One function of a frame; any of them.  */
bool match_function(struct match *match, uint32_t frame, uint32_t index);
bool match_frame(struct match *match, uint32_t frame);

/* Bits, [callsite >> 3] >> (callsite & 7): those whose stack holds a match.  From sqlite3_malloc();
 * NULL when there is no memory.  */
uint8_t *match_callsites(struct match *match);

/* Whether text is one of a list that commas separate.  */
bool match_list(const char *list, const char *text);

#endif /* STORE_FUNCTIONS_PATTERN_MATCH_H */
