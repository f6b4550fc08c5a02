/* sql_text.h - the text of an SQL statement, word by word.  Private to libstore.  */
#ifndef STORE_SQL_TEXT_H
#define STORE_SQL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A name, a keyword or a number, in the text.  */
struct sql_word {
    const char *at;
    size_t length;
};

/* Whether a character is one of a word, which may be in any language.  */
bool sql_is_letter(char c);

/* Whether a word is that one, whatever its case.  */
bool sql_is_word(const struct sql_word *word, const char *text);

/* The end of a comment or of what is quoted, if one begins here; else NULL.  */
const char *sql_skip_quoted(const char *at, const char *end);

/* Whether a comment begins here, if sql_skip_quoted() skips something.  */
bool sql_is_comment(const char *at);

#endif /* STORE_SQL_TEXT_H */
