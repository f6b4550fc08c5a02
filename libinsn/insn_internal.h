/* insn_internal.h - what the files of libinsn share.  */
#ifndef INSN_INTERNAL_H
#define INSN_INTERNAL_H

#include <fxt/insn.h>

#include <intel-pt.h>

#include "base/index.h"

/* ---- Errors (insn_error.c) ---- */

/* Fill *error, which may be NULL, and return status.  */
enum insn_status insn_fail(struct insn_error *error, enum insn_status status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));
/* The same with INSN_IO and the phrase of errno.  */
enum insn_status insn_fail_errno(struct insn_error *error, const char *what);

/* ---- Packets ---- */

#define PSB_SIZE 16
#define PSB_SEEN (PSB_SIZE + 2) /* bytes that show where a PSB packet ends */

/* The offset of the first PSB packet in bytes[from, size) of which two bytes more are there, or
 * size.  */
size_t insn_find_psb(const uint8_t *bytes, size_t size, size_t from);

/* Whether the processor may claim after an overflow that tracing is enabled though it is not
 * (erratum APL12), which only the packets that follow show: those of the next piece, too.  */
bool insn_config_looks_on(const struct insn_config *config);

/* ---- Code (insn_code_map.c) ---- */

#define MAX_THREADS 8                 /* that decode at once */
#define MAX_IMAGES  (MAX_THREADS + 1) /* and one for the thread that delivers */

/* An image for libipt of what the space has now.  NULL when memory is short.  It borrows the space.
 * Images of one thread (below MAX_IMAGES) share tables that libipt 2.0.5 changes without a lock
 * that would hold: only one of them may be in use at a time.  */
struct pt_image *insn_space_image(const struct insn_space *space, unsigned thread);

/* Counts the changes of a space: an image is good as long as it stays the same.  */
uint64_t insn_space_version(const struct insn_space *space);

/* ---- Blocks of code (block_cache.c) ---- */

/* Instructions that are executed one after the other, up to a branch.  */
struct insn_block {
    uint64_t ip, last_ip;
    uint64_t target;           /* of a direct branch, if it is taken */
    uint32_t at_target, after; /* numbers of the next blocks; 0: not looked up */
    uint16_t count;
    uint8_t branch, length; /* as in struct insn_step */
    bool calls_next;
    bool is_known;      /* false: it cannot be decoded, or not up to a branch */
    bool changes_space; /* it may switch to another address space */
};

/* The blocks of a space that were used so far.  All zero is an empty cache.  */
struct insn_blocks {
    const struct insn_space *space; /* borrowed */
    struct insn_learner *learner;   /* owned; NULL before the first use */
    struct insn_block *items;       /* owned; number 1 first */
    size_t count, capacity;
    struct base_index index;
    unsigned unusual, to_skip; /* pieces: how often in a row, and how many are not tried */
};

/* Call this before each piece.  space and image are borrowed, and are the same until the cache is
 * released.  False: memory is short.  */
bool insn_blocks_prepare(struct insn_blocks *blocks, const struct insn_space *space,
                         struct pt_image *image);

/* The number of the block that begins at ip; 0: there is no room.  Pointers to blocks become
 * invalid.  */
uint32_t insn_blocks_at(struct insn_blocks *blocks, uint64_t ip);

/* The instructions from ip up to the one at until, which ends no branch.  False: they do not lead
 * there.  */
bool insn_blocks_part(struct insn_blocks *blocks, uint64_t ip, uint64_t until,
                      struct insn_block *block);
void insn_blocks_release(struct insn_blocks *blocks);

/* Packets that enable tracing at an address.  */
#define INSN_ENTRY_SIZE (PSB_SIZE + 2 + 2 + 9)
void insn_write_entry(uint8_t packets[static INSN_ENTRY_SIZE], uint64_t start);

/* ---- From block to block (block_walk.c) ---- */

/* Like libipt's block decoder: statuses are flags as of libipt, -pte_eos, or INSN_WALK_UNUSUAL,
 * after which the walk is of no use.  */
struct insn_walk;
#define INSN_WALK_UNUSUAL (-0x10000)

/* For packets that begin with a PSB packet.  blocks is borrowed.  NULL: memory is short.  */
struct insn_walk *insn_walk_open(const struct pt_config *config, struct insn_blocks *blocks);
int insn_walk_begin(struct insn_walk *walk);
int insn_walk_event(struct insn_walk *walk, struct pt_event *event);

/* The next blocks: as many as there is room for, up to the next event or the end of the packets.
 * There may be none before an event.  */
int insn_walk_next(struct insn_walk *walk, struct insn_step *steps, size_t room, size_t *count);

/* The time that was read last.  False: none.  */
bool insn_walk_time(struct insn_walk *walk, uint64_t *ticks);
uint64_t insn_walk_offset(const struct insn_walk *walk); /* of the packets that were read */
void insn_walk_close(struct insn_walk *walk);            /* accepts NULL */

/* ---- Pieces (piece.c) ---- */

struct insn_steps {
    struct insn_step *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Direct-mapped memory of the last instructions of blocks.  */
#define OPCODE_CACHE 4096
struct insn_opcode_cache {
    uint64_t ips[OPCODE_CACHE]; /* 0: free */
    struct insn_opcode opcodes[OPCODE_CACHE];
    uint64_t version; /* of the space */
};

/* A run of packets that begins with a PSB packet, and what became of it.  */
struct insn_piece {
    const uint8_t *bytes;
    size_t size;
    uint64_t offset; /* of bytes in the stream */
    bool followed;   /* a PSB packet comes after it: decode on without packets, to where it is */
    struct insn_steps steps;
    /* The first PSB packet found tracing enabled, at first_ip, when it was first_ticks: the piece
     * before may have run on to there and beyond.  */
    bool continues, has_first_ticks;
    uint64_t first_ip, first_ticks;
    bool alive;  /* it ended in order, with tracing enabled: its last blocks may run past its end */
    bool failed; /* memory was short */
    uint64_t decoded; /* bytes that were; the others are in gaps */
};

/* Decode a piece, over blocks that were decoded before where nothing unusual happens.  blocks NULL:
 * with libipt's block decoder alone.  */
void insn_piece_decode(struct insn_piece *piece, const struct insn_config *config,
                       const struct insn_space *space, struct pt_image *image,
                       struct insn_opcode_cache *cache, struct insn_blocks *blocks);

/* Take away from the end of steps what lies at ip and after: the next piece begins there.  False
 * when no block leads there without a packet.  */
bool insn_steps_cut(struct insn_steps *steps, uint64_t ip, const struct insn_config *config,
                    struct pt_image *image);

/* ---- Times of steps (timing.c) ---- */

/* Take one step, which lasted from begin to end.  */
typedef enum insn_status (*insn_timed_fn)(void *context, const struct insn_step *step,
                                          uint64_t begin, uint64_t end);

/* All zero but for take and context is the beginning of a trace.  */
struct insn_timing_state {
    insn_timed_fn take;
    void *context;
    struct insn_step *waiting; /* owned; for a later time */
    size_t count, capacity;
    size_t group;  /* the first one of the last time that was read */
    uint64_t time; /* that time */
    uint64_t now;  /* when the first one begins */
    bool has_time; /* one was read */
};

/* Both return what take returned, or INSN_NO_MEMORY.  */
enum insn_status insn_timing_add(struct insn_timing_state *timing, const struct insn_step *step);
enum insn_status insn_timing_finish(struct insn_timing_state *timing);
void insn_timing_release(struct insn_timing_state *timing);

#endif /* INSN_INTERNAL_H */
