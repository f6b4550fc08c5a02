#include "libstore/sql_subquery.h"

#include "libstore/sql_text.h"

#include <string.h>
#include <strings.h>

#define NESTED_MOST 32 /* parentheses */

struct reader {
    const char *at, *end;
    struct subquery open[NESTED_MOST];
    unsigned depth;
    struct sql_word last; /* length 0: no word */
    bool after_comma;
    struct subquery found[SUBQUERIES];
    unsigned found_count;
    bool is_wrong;
};

static bool is_one_of(const struct sql_word *word, const char *const *words)
{
    for (; *words; words++)
        if (sql_is_word(word, *words))
            return true;
    return false;
}

/* A word of a subquery itself, not of what is in parentheses in it.  */
static void take_word(struct subquery *in, const struct sql_word *word, const struct sql_word *last)
{
    static const char *const others[] = { "limit",  "order",   "union",    "intersect",    "except",
                                          "window", "collate", "distinct", "materialized", NULL };

    in->words++;
    if (in->words == 1) {
        in->is_select = sql_is_word(word, "select");
        in->items[0] = word->at + word->length;
        in->item_count = 1;
    }
    in->is_wrong |= is_one_of(word, others);
    in->has_from |= sql_is_word(word, "from");
    if (sql_is_word(word, "by") && sql_is_word(last, "group"))
        in->key = word->at + word->length;
    if (in->key && !in->key_end && sql_is_word(word, "having"))
        in->key_end = word->at;
}

static void read_word(struct reader *reader)
{
    static const char *const others[] = { "with", "rowid", "oid", "_rowid_", NULL };
    struct sql_word word = { .at = reader->at };

    while (reader->at < reader->end && sql_is_letter(*reader->at))
        reader->at++;
    word.length = (size_t)(reader->at - word.at);
    reader->is_wrong |= is_one_of(&word, others) ||
                        strncasecmp(word.at, DERIVED_NAME, sizeof DERIVED_NAME - 1) == 0;
    if (reader->depth > 0)
        take_word(&reader->open[reader->depth - 1], &word, &reader->last);
    reader->last = word;
    reader->after_comma = false;
}

static void close_subquery(struct reader *reader)
{
    struct subquery *is = &reader->open[--reader->depth];

    is->end = reader->at;
    if (is->key && !is->key_end)
        is->key_end = reader->at;
    if (is->is_table && is->is_select && is->has_from && is->key && !is->is_wrong &&
        reader->found_count < SUBQUERIES)
        reader->found[reader->found_count++] = *is;
    if (reader->depth > 0) /* what is quoted in it, too */
        reader->open[reader->depth - 1].is_wrong |= is->is_wrong;
}

/* Returns false if parentheses do not match, or too many are open.  */
static bool read_parenthesis(struct reader *reader)
{
    if (*reader->at == '(') {
        if (reader->depth == NESTED_MOST)
            return false;
        reader->open[reader->depth++] = (struct subquery){
            .start = reader->at + 1,
            .is_table = reader->after_comma || sql_is_word(&reader->last, "from") ||
                        sql_is_word(&reader->last, "join"),
        };
    } else {
        if (reader->depth == 0)
            return false;
        close_subquery(reader);
    }
    return true;
}

static void read_comma(struct reader *reader)
{
    struct subquery *in = reader->depth > 0 ? &reader->open[reader->depth - 1] : NULL;

    if (!in || in->has_from || in->item_count == 0) {
        if (in && in->key)
            in->is_wrong = true; /* several keys */
        return;
    }
    if (in->item_count == SUBQUERY_ITEMS)
        in->is_wrong = true;
    else
        in->items[in->item_count++] = reader->at + 1;
}

/* What is quoted may be the name of the row number, and in a subquery no name at all.  */
static void read_quoted(struct reader *reader, const char *end)
{
    for (const char *at = reader->at; *at != '\'' && at + 3 <= end; at++)
        reader->is_wrong |= strncasecmp(at, "oid", 3) == 0 || strncasecmp(at, "rowid", 5) == 0;
    if (*reader->at == '"' && reader->depth > 0)
        reader->open[reader->depth - 1].is_wrong = true;
}

/* False if parentheses do not match, or too many are open.  */
static bool read_all(struct reader *reader)
{
    while (reader->at < reader->end) {
        const char *quoted = sql_skip_quoted(reader->at, reader->end);

        if ((quoted && sql_is_comment(reader->at)) || strchr(" \t\r\n\f", *reader->at)) {
            reader->at = quoted ? quoted : reader->at + 1;
            continue;
        }
        if (!quoted && sql_is_letter(*reader->at)) {
            read_word(reader);
            continue;
        }
        if (quoted)
            read_quoted(reader, quoted);
        else if ((*reader->at == '(' || *reader->at == ')') && !read_parenthesis(reader))
            return false;
        else if (*reader->at == ',')
            read_comma(reader);
        reader->after_comma = *reader->at == ',';
        reader->at = quoted ? quoted : reader->at + 1;
        reader->last.length = 0;
    }
    return true;
}

unsigned sql_find_subqueries(const char *sql, size_t length, struct subquery found[SUBQUERIES])
{
    struct reader reader = { .at = sql, .end = sql + length };

    if (!read_all(&reader) || reader.is_wrong)
        return 0;
    memcpy(found, reader.found, sizeof reader.found);
    return reader.found_count;
}

static struct sql_word trimmed(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n\f", *at))
        at++;
    while (end > at && strchr(" \t\r\n\f", end[-1]))
        end--;
    return (struct sql_word){ .at = at, .length = (size_t)(end - at) };
}

/* A name of an item does not count: GROUP BY means a column of that name, if there is one.  */
unsigned sql_key_of(const struct subquery *is)
{
    struct sql_word key = trimmed(is->key, is->key_end);

    for (unsigned i = 0; i < is->item_count && key.length > 0; i++) {
        struct sql_word item = trimmed(is->items[i], is->end);

        if (item.length > key.length && strncasecmp(item.at, key.at, key.length) == 0 &&
            strchr(" \t\r\n\f,", item.at[key.length]))
            return i;
    }
    return is->item_count;
}
