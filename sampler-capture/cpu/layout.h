/* layout.h - between cpu_trace.c and the forms in which a trace can be written.  */
#ifndef CPU_LAYOUT_H
#define CPU_LAYOUT_H

#include "sampler-capture/cpu/cpu_trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;
struct region_file;

/* How one layout writes.  Each returns false on failure, with trace->failed set.  */
struct layout {
    bool (*session)(struct trace *trace, const struct trace_session *session);
    bool (*process)(struct trace *trace, const struct process *process);
    bool (*thread)(struct trace *trace, const struct thread *thread);
    bool (*module)(struct trace *trace, const struct process *process, const struct module *module,
                   uint16_t id, uint64_t ticks);
    bool (*mapping)(struct trace *trace, const struct process *process,
                    const struct mapping *mapping, uint16_t id);
    bool (*sample)(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                   const struct thread *thread);
    /* A piece of the kernel's symbols; NULL: there is no place for it.  */
    bool (*symbols)(struct trace *trace, const char *text, size_t size);
    /* A piece of the functions of code of no file; NULL: there is no place for it.  */
    bool (*code)(struct trace *trace, uint64_t ticks, uint64_t process_koid, const char *lines,
                 size_t size);
    /* lost says whether the numbers grew.  */
    bool (*loss)(struct trace *trace, unsigned cpu, uint64_t ticks, const struct loss *loss,
                 bool lost);
    /* NULL: there is no place for it.  */
    bool (*stacks)(struct trace *trace, uint64_t ticks, const struct unwinding_counts *counts);
    bool (*flush)(struct trace *trace, bool last);
    void (*close)(struct trace *trace);
};

extern const struct layout layout_sampler;  /* layouts.c */
extern const struct layout layout_profiler; /* layouts.c */
extern const struct layout layout_regions;  /* regions.c */

struct trace {
    const struct layout *layout;
    struct trace_options options;
    int fd;
    int failed; /* errno */
    struct trace_totals totals;
    struct archive *archive;     /* owned by its layout, or NULL */
    struct region_file *regions; /* likewise; by CPU */
    size_t cpu_limit;
    struct loss losses[]; /* as written, by CPU */
};

/* Open what the layout needs besides; false when there is no memory or, with trace->failed, a file
 * cannot be made.  */
bool archive_open(struct trace *trace);
bool regions_open(struct trace *trace);

#endif /* CPU_LAYOUT_H */
