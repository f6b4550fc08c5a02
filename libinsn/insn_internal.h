/* insn_internal.h - what the files of libinsn share.  */
#ifndef INSN_INTERNAL_H
#define INSN_INTERNAL_H

#include <fxt/insn.h>

#include <intel-pt.h>

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
    /* The first PSB packet found tracing enabled, at first_ip: the piece before may have run on to
     * there and beyond.  */
    bool continues;
    uint64_t first_ip;
    bool alive;  /* it ended in order, with tracing enabled: its last blocks may run past its end */
    bool failed; /* memory was short */
    uint64_t decoded; /* bytes that were; the others are in gaps */
};

/* Decode a piece.  */
void insn_piece_decode(struct insn_piece *piece, const struct insn_config *config,
                       const struct insn_space *space, struct pt_image *image,
                       struct insn_opcode_cache *cache);

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
