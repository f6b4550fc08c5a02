/* generate.h - between the files of fxtgen.
 *
 * A trace is drawn from a model: a tree of stacks, processes that hold the modules, threads.  The
 * same seed gives the same bytes everywhere.  --truth writes what a reader must find, counted by
 * the generator itself, so that readers are not checked against their own mistakes.
 *
 * Memory follows the model (processes x stacks counters), not the length of the trace.  */
#ifndef GENERATE_H
#define GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/fxt.h>
#include "cmd/cli/cli.h"

#define MODULES       6u
#define MAX_FRAMES    250u /* a profiler record counts them in 8 bits */
#define ZIRCON_FRAMES 64u  /* what the kernel sampler walks */
#define PAGE          4096u
#define PERIOD_NS     1000000u
#define FIRST_NS      UINT64_C(5000000000) /* of the first sample: not 0, which might go unseen */
#define MAX_INDEX     32000u               /* sites by index; further ones are written inline */
#define NAME_SIZE     9u                   /* "n0000012": one word, and NUL */
#define BUILD_ID_SIZE 20u

/* ---- What is wanted ---- */

enum kind { SAMPLER, PROFILER, REGION, SPANS, EVENTS, SCHED, HEAP, MIX };

/* What a mix can hold.  */
enum subject { MIX_EVENTS, MIX_SCHED, MIX_STACKS, MIX_HEAP, MIX_COUNTERS, SUBJECTS };

struct wanted {
    enum kind kind;
    uint32_t mix[SUBJECTS]; /* parts of the records */
    uint64_t rate;          /* ticks a second */
    uint64_t seed;
    uint64_t size;  /* bytes; 0: count decides */
    uint64_t count; /* samples, slices, events, ... */
    uint32_t cpus;
    uint32_t processes;
    uint32_t threads; /* of each process */
    uint32_t stacks;
    uint32_t depth;
    bool plain; /* events: all by index, with so many arguments */
    uint32_t arg_count;
    const char *truth; /* path or NULL */
};

extern struct wanted wanted;

/* ---- Chance (model.c) ---- */

void seed_chance(uint64_t seed);
uint64_t random_word(void);
uint32_t below(uint32_t limit); /* 0..limit - 1 */

/* ---- The tree of stacks (model.c) ---- */

/* A stack is a node: its leaf.  Node 0 is the empty stack.  */
struct node {
    uint32_t parent;
    uint32_t site;  /* what stands there: an address or a name, used by other stacks too */
    uint32_t depth; /* frames */
    uint32_t children;
    uint32_t first_child; /* position in child_list */
    uint32_t rank;        /* among its siblings, from 0 */
};

extern struct node *nodes; /* wanted.stacks + 1 */
extern uint32_t *child_list;

void make_nodes(void);
void free_nodes(void);
uint32_t choose_stack(void);

/* A counter for every stack of every process, [process][node].  Owned by the caller.  */
uint64_t *new_totals(void);
size_t total_index(uint32_t process, uint32_t node);

/* ---- Processes and modules (model.c) ---- */

uint64_t pid_of(uint32_t process);
uint64_t tid_of(uint32_t process, uint32_t thread);
uint32_t thread_total(void);
uint64_t module_length(void);
uint64_t module_vaddr(uint32_t module);
uint64_t module_start(uint32_t process, uint32_t module);
uint64_t site_offset(uint32_t site);
uint64_t site_address(uint32_t process, uint32_t site);
void module_build_id(uint32_t module, uint8_t build_id[BUILD_ID_SIZE]);

/* ---- Writing (write.c) ---- */

extern struct cli_output output;

void open_writer(void);
void close_writer(void);
uint64_t written(void);
bool is_done(uint64_t done); /* as much as was wanted */

void put(struct fxt_record record);
void put_magic(void);
void put_init(void);
void put_provider(uint32_t id, const char *name);
void put_process_name(uint32_t process);
void put_thread_name(uint32_t process, uint32_t thread, bool with_process);
void put_all_names(void);
void put_module(uint32_t process, uint32_t module, uint64_t ticks);
void put_zeros(uint64_t count);

/* Strings and threads by index: "category" as 1, then the sites' names while there is room.  */
void put_tables(void);
uint16_t put_string(const char *text); /* one more; its index */
bool has_index(uint32_t site);
struct fxt_thread indexed_thread(uint32_t i); /* of all processes' threads */
/* The texts that name a site; name must live until the record is written.  */
const char *site_name(uint32_t site, char name[NAME_SIZE]);
struct fxt_string indexed_name(uint32_t site, char name[NAME_SIZE]);

/* ---- What a trace can hold ----
 *
 * make_: a whole trace of the kind.  start_, put_: what stands first, and one step at that time, of
 * which a mix is made.  truth_: add what was written to the truth.  */

void make_sampler(void);
void make_profiler(void);
void make_region(void);
void put_sample(uint64_t ticks);
void truth_samples(void);

void make_spans(void);
void truth_spans(void);

void make_events(void);
void put_event(uint64_t ticks);
void truth_events(void);

void make_sched(void);
void start_sched(uint64_t ticks);
void put_sched(uint64_t ticks);
void truth_sched(void);

void start_counters(void);
void put_counter(uint64_t ticks);
void truth_counters(void);

void make_heap(void);
void start_heap(uint64_t ticks);
void put_heap(uint64_t ticks);
void truth_heap(void);

void make_mix(void);
void truth_mix(void);

/* ---- Truth (truth.c) ---- */

/* How a frame is named: by the site's name, by its address in the process, or by its module - its
 * name or its build ID - and the address there.  */
enum frame_form { FRAME_NAME, FRAME_ADDRESS, FRAME_MODULE, FRAME_BUILD_ID };

/* All that follows begins with "text;"; NULL: with nothing.  */
void truth_begin(const char *text);

/* A line for each stack that has a total other than 0 in one of the columns.  alone: of the leaf
 * only.  */
void truth_stacks(enum frame_form form, bool alone, uint64_t *const *columns, size_t count);

/* "process-P;text", and a number.  */
void truth_text(uint32_t process, const char *text, uint64_t total);

enum cli_exit write_truth(void);

#endif /* GENERATE_H */
