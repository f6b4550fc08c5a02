/* breakpad.h - Breakpad symbol files: text with the functions, lines and inlined calls of an
 * object.  "section N" means docs/formats/symbolizer.md.
 *
 * The whole file is read once, for the places of its functions; the lines of a function are read
 * when one of its addresses is looked up.  Addresses in the file count from the load address of the
 * object: the vaddr of its first segment.  */
#ifndef SYMBOLIZE_BREAKPAD_H
#define SYMBOLIZE_BREAKPAD_H

#include "libsymbolize/elf_object.h"

/* ---- The first records ---- */

enum {
    SYM_BREAKPAD_ID = 16, /* bytes of the id in a MODULE record */
};

/* Fills what a MODULE record, and an INFO CODE_ID record near it, say about an object: the build
 * ID, or its first 16 bytes with object->partial_id, and object->module_name.  SYM_OK,
 * SYM_NOT_FOUND (the image is no symbol file of an ELF object) or SYM_NO_MEMORY.  */
enum sym_status sym_breakpad_read_facts(struct sym_object *object);

/* The form in which a MODULE record has a build ID: its first 16 bytes, zeros where it is shorter.
 */
void sym_breakpad_shorten(const uint8_t *id, size_t length, uint8_t out[SYM_BREAKPAD_ID]);

/* What stands in for the build ID of an object that has none: the exclusive or of the first page of
 * .text, 16 bytes at a time.  False: it has no .text in the file.  */
bool sym_breakpad_hash_text(const struct sym_object *object, uint8_t out[SYM_BREAKPAD_ID]);

/* ---- The file ---- */

/* A function, by its start; up to limit, or to the start of the next one.  */
struct sym_breakpad_function {
    uint64_t start, limit; /* limit 0: a PUBLIC record, which has no size */
    uint64_t offset;       /* of its record in the file */
};

/* The text of a FILE or INLINE_ORIGIN record, by its number.  */
struct sym_breakpad_text {
    uint32_t number, length;
    uint64_t offset;
};

/* Addresses of a function that share a line (level 0), or an inlined call (level 1 and on: what the
 * function itself inlined is 1).  */
struct sym_breakpad_piece {
    uint64_t start, limit;
    uint32_t level;
    uint32_t line, file; /* of the code, or of the call */
    uint32_t origin;     /* of an inlined call: what was called */
};

struct sym_breakpad_texts {
    struct sym_breakpad_text *items;
    size_t count, capacity;
};

/* All zero: none.  */
struct sym_breakpad {
    bool ready;
    struct sym_bytes image; /* not owned */
    uint64_t load_vaddr;
    struct sym_breakpad_function *functions;
    size_t function_count, function_capacity;
    struct sym_breakpad_texts files, origins;

    size_t current; /* the function whose pieces are there; SIZE_MAX: none */
    struct sym_breakpad_piece *pieces;
    size_t piece_count, piece_capacity;
    const char *name, *linkage_name; /* of that function, interned */
};

/* Reads the places of all functions.  image must stay as long as breakpad is used.  SYM_OK or
 * SYM_NO_MEMORY; records that are damaged are left out.  */
enum sym_status sym_breakpad_open(struct sym_breakpad *breakpad, struct sym_bytes image,
                                  uint64_t load_vaddr);
void sym_breakpad_close(struct sym_breakpad *breakpad); /* accepts all zero */

/* Reads the lines and inlined calls of a function, unless they are there.  SYM_OK or
 * SYM_NO_MEMORY.  */
enum sym_status sym_breakpad_read_pieces(struct sym_breakpad *breakpad, size_t function);

/* The name in the record of a function.  */
struct sym_bytes sym_breakpad_name(const struct sym_breakpad *breakpad, size_t function);

/* The text with that number; size 0: none.  */
struct sym_bytes sym_breakpad_text(const struct sym_breakpad *breakpad,
                                   const struct sym_breakpad_texts *texts, uint32_t number);

#endif /* SYMBOLIZE_BREAKPAD_H */
