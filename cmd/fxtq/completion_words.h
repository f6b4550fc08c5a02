/* completion_words.h - what can stand in a statement: completion.  */
#ifndef FXTQ_COMPLETION_WORDS_H
#define FXTQ_COMPLETION_WORDS_H

#include <sqlite3.h>
#include <stddef.h>

/* All zero: none.  */
struct words {
    char **items; /* sorted, each once */
    size_t count;
    size_t capacity;
};

/* Keywords, tables, columns, functions and table-valued functions of the connection.  */
void words_load(struct words *words, sqlite3 *db);

/* The index-th word that begins with text, letters of either case; NULL after the last one.  */
const char *words_match(const struct words *words, const char *text, size_t index);

void words_release(struct words *words);

#endif /* FXTQ_COMPLETION_WORDS_H */
