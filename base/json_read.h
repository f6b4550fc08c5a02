/* json_read.h - JSON (RFC 8259), one token at a time, in constant memory.  */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BASE_JSON_DEPTH 256u  /* objects and arrays inside each other */
#define BASE_JSON_TEXT  1024u /* bytes of a string or number that are kept */

enum base_json_token {
    BASE_JSON_END, /* the document is over */
    BASE_JSON_BAD, /* see problem; every further call returns it again */
    BASE_JSON_OBJECT,
    BASE_JSON_OBJECT_END,
    BASE_JSON_ARRAY,
    BASE_JSON_ARRAY_END,
    BASE_JSON_KEY,
    BASE_JSON_STRING,
    BASE_JSON_NUMBER,
    BASE_JSON_TRUE,
    BASE_JSON_FALSE,
    BASE_JSON_NULL,
};

/* As read(2).  */
typedef ssize_t (*base_json_fill_fn)(void *context, void *bytes, size_t size);

struct base_json_reader {
    /* Of the last token.  */
    char text[BASE_JSON_TEXT + 1]; /* of a key, string or number, with a NUL behind */
    size_t length;                 /* bytes of it */
    bool is_cut;                   /* it is longer */
    unsigned depth;                /* of open objects and arrays */
    uint64_t offset;               /* bytes that were read */
    const char *problem;           /* of BASE_JSON_BAD: a phrase */

    /* Private.  */
    base_json_fill_fn fill;
    void *context;
    uint8_t state;
    uint8_t is_object[BASE_JSON_DEPTH / 8];
    size_t at, end;
    unsigned char bytes[16384];
};

void base_json_init(struct base_json_reader *reader, base_json_fill_fn fill, void *context);

enum base_json_token base_json_next(struct base_json_reader *reader);

/* After BASE_JSON_OBJECT or BASE_JSON_ARRAY: go on behind its end.  Other tokens are skipped by
 * themselves.  False: BASE_JSON_BAD.  */
bool base_json_skip(struct base_json_reader *reader, enum base_json_token token);

#endif /* BASE_JSON_READ_H */
