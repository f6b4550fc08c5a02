/* fxt_export.h - a capture as FXT: what its parts share.  Private to libstore.
 *
 *   fxt_export.c  beginning and end: session, providers, losses
 *   fxt_put.c     one record at a time: strings, threads, arguments
 *   fxt_objects.c objects, counters, logs
 *   fxt_slices.c  slices, asynchronous operations and flows, by time
 *   fxt_sched.c   threads on CPUs and waiting, as switches and wakeups
 *   fxt_maps.c    mappings, and the address that a frame had in a process
 *   fxt_stacks.c  samples, allocations and releases
 *
 * The records are those that libprofile/ingest makes the same rows from.  */
#ifndef STORE_EXPORT_FXT_EXPORT_H
#define STORE_EXPORT_FXT_EXPORT_H

#include "base/grow.h"
#include "base/numbering.h"
#include "base/ranges.h"
#include "libstore/export/export.h"

/* ---- Address maps (fxt_maps.c) ---- */

struct fx_mapping {
    int64_t ts;
    uint64_t address, last, vaddr;
    uint32_t process, module;
    uint32_t next; /* of the same process: index + 1; 0 none */
    unsigned flags;
    bool has_ts;
};

/* The address space of one process.  */
struct fx_space {
    struct base_ranges map; /* that holds now; owner: fx_module.same, place: a vaddr */
    uint32_t next;          /* mapping that was not written yet: index + 1 */
    uint32_t last;          /* mapping of this process read last */
    uint32_t generation;    /* changes with the map */
    bool mapped;            /* it has mappings, written or not */
    bool has_gap;
    uint64_t gap; /* an address that no mapping ever covered */
};

struct fx_module {
    const char *name;     /* owned */
    const char *build_id; /* owned; hexadecimal, NULL unknown */
    uint32_t same;        /* the named module of that build ID */
    bool named;           /* a record named it */
};

struct fx_maps {
    struct fx_mapping *mappings; /* in the order of the store */
    size_t count, capacity;
    struct fx_space *spaces;   /* [process id] */
    struct fx_module *modules; /* [module id] */
    size_t module_count;
    struct base_pairs ids; /* (process, module): it has a record in the file */
    uint16_t *numbers;     /* [key - 1]: its id there */
    size_t number_capacity;
    uint32_t records;            /* of modules, so far */
    uint32_t kernel;             /* id of the process of koid 0; 0 none */
    struct base_pairs addresses; /* (process, frame) */
    struct fx_address {
        uint64_t address;
        uint32_t generation, kernel_generation;
        bool found;
    } * known; /* [key - 1] */
    size_t known_capacity;
};

/* ---- Open slices (fxt_slices.c) ---- */

struct fx_open {
    int64_t id;
    int64_t end;     /* INT64_MAX: never */
    int64_t soonest; /* of its end and those of all below it */
    int64_t name_id;
    int64_t end_args; /* set; 0 none */
    uint64_t async_id;
    bool complete; /* its record says when it ends */
};

struct fx_track {
    enum { FX_NONE, FX_THREAD, FX_ASYNC, FX_COUNTER } type;
    uint32_t process, thread; /* ids; 0 none */
    uint64_t cookie;
    const char *name, *category; /* owned; of counters */
    struct fx_open *open;        /* outermost first */
    size_t count, capacity;
};

/* An end that is due.  */
struct fx_due {
    int64_t end;
    uint64_t order; /* later begun ones first */
    int64_t id;
    uint32_t track;
};

/* ---- The export ---- */

struct fx_provider {
    uint32_t number; /* in the file */
    char *name;
    uint64_t lost;
    int64_t cpu; /* -1: of none */
};

#define FX_NO_PROVIDER SIZE_MAX

/* A category and a name, by export_copy_text().  */
struct fx_name {
    bool was_read;
    const char *category, *name;
};

struct fx {
    struct export *export;
    struct fxt_writer *writer;
    int64_t capture;
    bool has_times;
    int64_t start_ts, end_ts;
    int64_t realtime_ns; /* of time 0, where the initialization record says it; 0 unknown */
    uint64_t base_ticks; /* tick of time 0: more than 0 if there are negative times */

    struct fx_provider *providers;
    size_t provider_count, provider_capacity;
    size_t main;    /* index of the provider of what has none */
    size_t current; /* likewise, whose section it is */

    struct base_pairs strings; /* texts by what they belong to: numbers are indexes */
    struct base_pairs thread_indexes;
    bool *mentioned;         /* [thread id]: a record names it */
    uint32_t *first_threads; /* [process id]: any thread of it; 0 none */

    int64_t least_ts, most_ts; /* of what was written; */
    bool timed;                /* anything was */

    sqlite3_stmt *args;
    struct fxt_arg arguments[FXT_MAX_ARGS];
    size_t argument_count;
    struct base_text argument_bytes;

    struct fx_maps maps;
    struct fx_track *tracks; /* [track id - first_track] */
    int64_t first_track;
    size_t track_count;
    uint32_t *thread_tracks; /* [thread id]: index + 1 */
    struct fx_due *due;      /* a heap: the soonest first */
    size_t due_count, due_capacity;
    uint64_t order;
    sqlite3_stmt *names;   /* of event_name */
    struct fx_name *kept;  /* [event_name.id]: FX_KEPT_NAMES of them; NULL: none yet */
    size_t kept_bytes;     /* of their texts */
    struct fx_name passed; /* one that is not kept */

    /* The session that was written last.  */
    int64_t period_ns;
    uint32_t max_frames; /* 0: none was said */
    bool arm64;
};

/* Names that are kept, and bytes of their texts.  */
#define FX_KEPT_NAMES ((size_t)1 << 16)
#define FX_KEPT_BYTES ((size_t)16 << 20)

/* What text a string is of.  */
enum fx_text { FX_CATEGORY, FX_NAME, FX_KEY };

/* ---- fxt_put.c ---- */

enum store_status fx_put(struct fx *fx, struct fxt_record *record);
/* The same of records with a time.  */
enum store_status fx_put_at(struct fx *fx, struct fxt_record *record, int64_t ts);
/* A text that repeats, told by what it is of and its id there: a reference to the string table
 * while there is room.  */
enum store_status fx_string(struct fx *fx, enum fx_text of, int64_t id, const char *text,
                            struct fxt_string *out);
struct fxt_string fx_inline(const char *text); /* "" for NULL */
/* A reference to a thread by its id in the store.  */
enum store_status fx_thread(struct fx *fx, uint32_t thread, struct fxt_thread *out);
/* The arguments of a set (0: none) for record.  */
enum store_status fx_load_args(struct fx *fx, int64_t set, struct fxt_record *record);
/* Category and name by event_name.id; texts live until the next call.  */
enum store_status fx_event_name(struct fx *fx, int64_t id, struct fxt_record *record);
void fx_release_names(struct fx *fx);
/* From here on records are of that provider.  */
enum store_status fx_switch(struct fx *fx, size_t provider);
/* An event without arguments, which mentions a thread and a time and gives no row.  */
enum store_status fx_mention(struct fx *fx, uint32_t thread, int64_t ts);
/* A message of the memory sampler.  */
enum store_status fx_message(struct fx *fx, uint64_t process, int64_t ts, const uint8_t *bytes,
                             size_t length, const uint64_t *interval_bytes);
bool fx_keeps_process(const struct fx *fx, uint32_t process);
bool fx_keeps_time(const struct fx *fx, int64_t ts);

/* ---- fxt_export.c ---- */

/* The session, with that period.  */
enum store_status fx_session(struct fx *fx, int64_t period_ns);

/* ---- The others ---- */

enum store_status fx_objects(struct fx *fx);
enum store_status fx_counters(struct fx *fx);
enum store_status fx_logs(struct fx *fx);
enum store_status fx_load_tracks(struct fx *fx);
void fx_release_tracks(struct fx *fx);
enum store_status fx_slices(struct fx *fx);
enum store_status fx_sched(struct fx *fx);
enum store_status fx_stacks(struct fx *fx);

enum store_status fx_load_maps(struct fx *fx);
void fx_release_maps(struct fx *fx);
/* Write the mappings that nothing else has to come before.  */
enum store_status fx_first_maps(struct fx *fx);
/* Write those of a process, and of the kernel, up to that time; and all that is left.  */
enum store_status fx_maps_until(struct fx *fx, uint32_t process, bool has_ts, int64_t ts);
enum store_status fx_last_maps(struct fx *fx);
/* A record that mentions a process and a time and gives no row.  */
enum store_status fx_mention_process(struct fx *fx, uint32_t process, int64_t ts);
/* The address that a frame has in a process now; writes mappings that it needs.  *found false: it
 * has none, and *out stands for it as well as can be.  */
enum store_status fx_address(struct fx *fx, uint32_t process, uint32_t frame, uint64_t *out,
                             bool *found);

#endif /* STORE_EXPORT_FXT_EXPORT_H */
