/* requests.h - who answers requests, for requests.c and requests_llvm.c alone.  */
#ifndef FXTSYM_REQUESTS_H
#define FXTSYM_REQUESTS_H

#include "cmd/fxtsym/fxtsym.h"

/* Where requests come from and go to.  */
struct server {
    const struct settings *settings;
    struct objects *objects;
    struct batch batch;
    bool has_object;
    uint32_t object;        /* of requests that do not name one */
    uint64_t bias;          /* added to addresses */
    uint64_t limit;         /* addresses are below; those that count from a section */
    struct buffer text;     /* of one answer */
    struct llvm_json *json; /* answers as llvm-symbolizer's JSON, or NULL */
    uint64_t bad;           /* requests that are no addresses */
};

/* Says what is wrong with a request.  */
void server_complain(struct server *server, const char *text, size_t length, const char *reason);

/* An answer that is known, in the place of one to be looked up: pieces, then the end.  */
void server_add_answer(struct server *server, const struct sym_frame *frames, size_t count);
void server_end_answer(struct server *server);

/* The place of the index-th symbol of a name.  */
bool server_find_symbol(struct server *server, uint32_t object, const char *name, size_t length,
                        size_t index, struct sym_symbol_place *place);

/* Answers a request as llvm-symbolizer takes them.  */
void server_add_llvm(struct server *server, const char *line, size_t length);

/* ---- Numbers ---- */

static inline bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void skip_blanks(const char **text, size_t *length);

/* All digits of base at text to *value; how many there were; 0 when they are too many.  */
size_t parse_digits(const char *text, size_t length, int base, uint64_t *value);

/* As llvm-symbolizer reads them: the prefix tells the base.  */
bool parse_offset(const char *text, size_t length, uint64_t *vaddr);

#endif /* FXTSYM_REQUESTS_H */
