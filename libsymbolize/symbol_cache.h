/* symbol_cache.h - the symbol cache: everything an object says about its addresses, in one file
 * that is opened in microseconds. schemas/symbol-cache.md describes the file.
 *
 * range_walk.c tells what there is to know, cache_write.c packs it, cache_read.c answers from it,
 * cache_dir.c keeps the files, cache_use.c decides when one is used or made.  */
#ifndef SYMBOLIZE_SYMBOL_CACHE_H
#define SYMBOLIZE_SYMBOL_CACHE_H

#include "libsymbolize/sym_session.h"

/* ---- Everything a module knows (range_walk.c) ---- */

/* Addresses [start, limit) that share their frames.  */
struct sym_walk_range {
    uint64_t start, limit;
    bool apart; /* others may come later that lie between this range and the one before */
};

/* The frames of all addresses in range, as sym_module_frames() gives them; at least one.  frames is
 * valid during the call only.  Any status but SYM_OK ends the walk.  */
typedef enum sym_status (*sym_walk_fn)(void *context, const struct sym_walk_range *range,
                                       const struct sym_frames *frames);

/* Tells every address of a loaded module that has frames, once, in disjoint ranges: those of one
 * unit after the other, ascending inside a piece of a unit, then what symbols alone cover.  Units
 * are decoded ahead by the session's jobs and let go when they were used.  SYM_OK, SYM_NO_MEMORY or
 * what visit returned.  */
enum sym_status sym_module_walk(struct sym_module *module, sym_walk_fn visit, void *context);

/* ---- The file ---- */

enum {
    SYM_CACHE_VERSION = 2,      /* of the format, and of what the answers mean */
    SYM_CACHE_BLOCK = 64 << 10, /* bytes of the image that are checked and unpacked together */
    SYM_CACHE_HEADER = 256,     /* bytes */
    SYM_CACHE_ENTRY = 16,       /* bytes of the directory for a block */
    SYM_CACHE_GROUP = 64,       /* rows or nodes that are packed together */
    SYM_CACHE_COLUMNS = 5,      /* of a group */
    SYM_CACHE_GROUP_HEADER = 12,
    SYM_CACHE_FUNCTION = 20, /* bytes of an entry */
    SYM_CACHE_SLACK = 8,     /* bytes behind packed groups, so that a number is one load */
    SYM_CACHE_DEPTH = 1024,  /* frames of an address */
    SYM_CACHE_RATIO = 64,    /* how much larger than the file its image may be */
};

enum sym_cache_section {
    SYM_CACHE_STARTS,     /* address of each group of rows, ascending, 8 bytes each */
    SYM_CACHE_PLACES,     /* its offset in ROWS and the bytes of code it covers, 4 bytes each */
    SYM_CACHE_ROWS,       /* groups: address, node, file, line, column */
    SYM_CACHE_NODE_PLACE, /* offset in NODES of each group of nodes, 4 bytes each */
    SYM_CACHE_NODES,      /* groups: parent, function, and where it was called */
    SYM_CACHE_FUNCTIONS,
    SYM_CACHE_FILES,   /* offset in STRINGS, 4 bytes each */
    SYM_CACHE_STRINGS, /* NUL-terminated */
    SYM_CACHE_SECTIONS,
};

/* What a cache file was made from.  It answers for a module only when all of it agrees.  */
struct sym_cache_key {
    uint8_t build_id[SYM_BUILD_ID_MAX];
    size_t build_id_length;
    enum sym_quality quality;
    uint64_t inputs; /* a digest of the sizes and times of the files that were read */
};

/* Not a cryptographic digest: it finds damage, not intent.  */
uint64_t sym_cache_digest(const void *data, size_t size, uint64_t seed);
uint64_t sym_cache_release(void); /* of the version of this library */

/* ---- Writing (cache_write.c) ---- */

struct sym_cache_writer;

struct sym_cache_writer *sym_cache_writer_new(void);         /* NULL: no memory */
void sym_cache_writer_free(struct sym_cache_writer *writer); /* accepts NULL */

/* Adds a range; writer is what sym_module_walk() calls its context.  SYM_OK, SYM_NO_MEMORY, or
 * SYM_MALFORMED: more than the format can hold.  */
enum sym_status sym_cache_writer_add(void *writer, const struct sym_walk_range *range,
                                     const struct sym_frames *frames);

/* Writes the file to fd, which is empty.  *size, which may be NULL, becomes its bytes.  SYM_OK,
 * SYM_NO_MEMORY, SYM_IO or SYM_MALFORMED (more than the format can hold, ranges overlap).  */
enum sym_status sym_cache_writer_finish(struct sym_cache_writer *writer,
                                        const struct sym_cache_key *key, int fd, uint64_t *size);

/* ---- Reading (cache_read.c) ---- */

struct sym_cache;

/* Opens a cache file, of which the header and the directory are checked here and everything else
 * when it is touched.  What the answers hold is copied or interned into strings, which must outlive
 * it; the file may change, shrink or go away at any time and costs only itself.
 *
 * sym_cache_open_bytes() borrows data until sym_cache_close(); sym_cache_open() takes fd, also when
 * it fails.  SYM_OK, SYM_NO_MEMORY, SYM_NOT_FOUND (another version), SYM_IO or SYM_MALFORMED.  */
enum sym_status sym_cache_open_bytes(const uint8_t *data, size_t size, struct sym_strings *strings,
                                     struct sym_cache **out);
enum sym_status sym_cache_open(int fd, uint64_t size, struct sym_strings *strings,
                               struct sym_cache **out);
void sym_cache_close(struct sym_cache *cache); /* accepts NULL */

const struct sym_cache_key *sym_cache_key(const struct sym_cache *cache);

/* Where a look-up ended: addresses in [start, limit) have the same answer.  All zero, it is before
 * the first look-up.  Ascending addresses are found fastest from the place of the one before.  */
struct sym_cache_place {
    uint64_t start, limit;
    size_t group, row;
    bool known;
};

/* Moves *place to vaddr.  SYM_OK also where no frames are; SYM_NO_MEMORY; SYM_MALFORMED: the file
 * is damaged, and *place says nothing.  */
enum sym_status sym_cache_seek(struct sym_cache *cache, uint64_t vaddr,
                               struct sym_cache_place *place);

/* The frames at *place.  SYM_OK, SYM_NO_MEMORY or SYM_MALFORMED.  */
enum sym_status sym_cache_frames(struct sym_cache *cache, const struct sym_cache_place *place,
                                 struct sym_frames *frames);

/* Where to note the number of the answer at *place, 0 before it is noted; NULL: no memory.  */
uint32_t *sym_cache_note(struct sym_cache *cache, const struct sym_cache_place *place);
void sym_cache_forget_notes(struct sym_cache *cache);

/* ---- The directory (cache_dir.c) ---- */

enum { SYM_CACHE_NAME_MAX = 2 * SYM_BUILD_ID_MAX + 48 };

/* The file that is being written.  */
struct sym_cache_draft {
    int fd; /* -1: none */
    char name[SYM_CACHE_NAME_MAX];
};

/* What was noted about a module without a cache file.  */
struct sym_cache_note {
    bool visited;    /* it was looked at before */
    bool refused;    /* a file cannot be made of it, */
    uint64_t inputs; /* as long as it is made from these */
};

/* What $FXT_SYMBOL_CACHE_BYTES says, or 2 GiB.  SYM_OK or SYM_INVALID (no number).  */
enum sym_status sym_cache_dir_limit(uint64_t *limit, struct sym_error *error);

/* Opens the directory at path, NULL: the user's, and makes it when it is missing.  It must belong
 * to the user and nobody else may write there.  SYM_OK, SYM_NOT_FOUND (no home), SYM_NO_MEMORY or
 * SYM_IO.  */
enum sym_status sym_cache_dir_open(struct sym_cache_dir *dir, const char *path, uint64_t limit,
                                   struct sym_error *error);
void sym_cache_dir_close(struct sym_cache_dir *dir);

/* The file for a build ID, marked as used now; its size.  -1: none, or not the user's.  */
int sym_cache_dir_find(const struct sym_cache_dir *dir, const struct sym_cache_key *key,
                       uint64_t *size);

/* Its path in memory from malloc(); NULL: no memory.  */
char *sym_cache_dir_path(const struct sym_cache_dir *dir, const struct sym_cache_key *key);
void sym_cache_dir_drop(const struct sym_cache_dir *dir, const struct sym_cache_key *key);

struct sym_cache_note sym_cache_dir_note(const struct sym_cache_dir *dir,
                                         const struct sym_cache_key *key);
void sym_cache_dir_note_visit(const struct sym_cache_dir *dir, const struct sym_cache_key *key);
void sym_cache_dir_note_refusal(const struct sym_cache_dir *dir, const struct sym_cache_key *key);

/* Starts a file for key; false: the directory cannot be written.  */
bool sym_cache_dir_draft(const struct sym_cache_dir *dir, const struct sym_cache_key *key,
                         struct sym_cache_draft *draft);

/* Ends it.  Publishing puts it in the place of the one before, then deletes the files that were not
 * used for longest until all fit into the limit; false: it has no place.  */
bool sym_cache_dir_publish(const struct sym_cache_dir *dir, const struct sym_cache_key *key,
                           struct sym_cache_draft *draft, uint64_t size);
void sym_cache_dir_discard(const struct sym_cache_dir *dir, struct sym_cache_draft *draft);

/* ---- Use (cache_use.c) ---- */

/* Opens the module's cache file when there is one to use: module->cache is set then, and the
 * module is the one in memory.  *wanted says whether one should be made although the module has
 * been looked at for a few addresses only.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_open_cache(struct sym_module *module, bool *wanted);

/* Makes the cache file of a loaded module and changes over to it.  Where that is not possible the
 * module stays, or is again, loaded.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_module_build_cache(struct sym_module *module);

/* Remembers that a module was looked at, for the next time.  */
void sym_module_note_visit(struct sym_module *module);

/* The cache file turned out to be damaged: drops it, loads the module, and makes a new one.  SYM_OK
 * or SYM_NO_MEMORY.  */
enum sym_status sym_module_replace_cache(struct sym_module *module);

#endif /* SYMBOLIZE_SYMBOL_CACHE_H */
