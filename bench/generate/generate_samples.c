/* Samples of stacks, as three programs record them.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/generate/generate.h"

struct sample {
    uint64_t ticks;
    uint32_t process;
    uint32_t thread;
    uint32_t node;
    uint8_t pcs[MAX_FRAMES * 8]; /* leaf first, little-endian */
};

static void store_word(uint8_t *bytes, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t *totals; /* samples */

/* Draw one and count it.  Callers are seen through the return address behind their call.  */
static void draw_sample(struct sample *sample, uint64_t ticks)
{
    uint32_t entry = 0;

    if (!totals)
        totals = new_totals();
    sample->ticks = ticks;
    sample->process = below(wanted.processes);
    sample->thread = below(wanted.threads);
    sample->node = choose_stack();
    for (uint32_t i = sample->node; i; i = nodes[i].parent, entry++)
        store_word(sample->pcs + (size_t)8 * entry,
                   site_address(sample->process, nodes[i].site) + (entry ? 1 : 0));
    totals[total_index(sample->process, sample->node)]++;
}

static uint32_t frames_of(const struct sample *sample)
{
    return nodes[sample->node].depth;
}

static struct fxt_thread thread_of(const struct sample *sample)
{
    return (struct fxt_thread){
        .process = pid_of(sample->process),
        .thread = tid_of(sample->process, sample->thread),
    };
}

/* As the Zircon kernel sampler writes it.  */
static void put_sampler_stack(const struct sample *sample)
{
    put((struct fxt_record){
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = sample->ticks,
        .thread = thread_of(sample),
        .value.large_blob.payload = { sample->pcs, (uint64_t)8 * frames_of(sample) },
    });
}

/* ---- --kind sampler: the archive of our capture tool ---- */

#define CAPTURE_PROVIDER 0xffff0000u

static struct fxt_arg unsigned_arg(const char *name, uint64_t value)
{
    return (
        struct fxt_arg){ .type = FXT_ARG_UINT64, .name = fxt_inline(name), .value.uint64 = value };
}

static struct fxt_arg text_arg(const char *name, const char *value)
{
    return (struct fxt_arg){ .type = FXT_ARG_STRING,
                             .name = fxt_inline(name),
                             .value.string = fxt_inline(value) };
}

static void put_session(void)
{
    struct fxt_arg args[] = {
        unsigned_arg("period_ns", PERIOD_NS),
        text_arg("clock", "task-clock"),
        unsigned_arg("max_frames", wanted.depth + 1), /* no stack was cut */
        text_arg("layout", "sampler"),
        text_arg("arch", "x86_64"),
        unsigned_arg("realtime_ns", UINT64_C(1700000000000000000)),
        unsigned_arg("monotonic_ns", FIRST_NS),
        text_arg("kernel", "6.1.0"),
        text_arg("cpu_model", "generated"),
        text_arg("command", "fxtgen"),
        text_arg("tool_version", FXT_TOOLCHAIN_VERSION),
    };

    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = FIRST_NS,
        .category = fxt_inline("fxt.capture"),
        .name = fxt_inline("session"),
        .args = args,
        .arg_count = sizeof args / sizeof args[0],
        .value.event = { .type = FXT_EVENT_INSTANT, .has_scope = true, .scope = FXT_SCOPE_GLOBAL },
    });
}

static void put_lost(uint32_t cpu, uint64_t ticks)
{
    struct fxt_arg args[] = {
        unsigned_arg("ring", 0),       unsigned_arg("throttled", 0), unsigned_arg("region_full", 0),
        unsigned_arg("unreadable", 0), unsigned_arg("exited", 0),
    };

    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .category = fxt_inline("fxt.capture"),
        .name = fxt_inline("lost"),
        .args = args,
        .arg_count = sizeof args / sizeof args[0],
        .value.event = { .type = FXT_EVENT_COUNTER, .id = cpu },
    });
}

static void put_section(uint32_t provider)
{
    put((struct fxt_record){ .kind = FXT_RECORD_PROVIDER_SECTION, .value.provider.id = provider });
}

/* Samples of all CPUs in the order of time, as drain rounds leave them.  */
static uint64_t put_archive_samples(void)
{
    uint64_t ticks = FIRST_NS;
    uint32_t current = wanted.cpus; /* none of them */
    struct sample sample;

    for (uint64_t done = 0; !is_done(done); done++) {
        uint32_t cpu = below(wanted.cpus);
        if (cpu != current)
            put_section(cpu + 1);
        current = cpu;
        draw_sample(&sample, ticks);
        put_sampler_stack(&sample);
        ticks += 1 + below(2 * PERIOD_NS / wanted.cpus);
    }
    return ticks;
}

void make_sampler(void)
{
    uint64_t ticks;

    put_magic();
    put_provider(CAPTURE_PROVIDER, "sampler-capture");
    put_session();
    put_all_names();
    for (uint32_t process = 0; process < wanted.processes; process++)
        for (uint32_t module = 0; module < MODULES; module++)
            put_module(process, module, FIRST_NS);
    for (uint32_t cpu = 0; cpu < wanted.cpus; cpu++) {
        char name[32];
        (void)snprintf(name, sizeof name, "cpu-%u", cpu);
        put_provider(cpu + 1, name);
    }
    ticks = put_archive_samples();
    put_section(CAPTURE_PROVIDER);
    for (uint32_t cpu = 0; cpu < wanted.cpus; cpu++)
        put_lost(cpu, ticks);
}

/* ---- --kind region: what the kernel sampler leaves in its per-CPU regions ---- */

/* One region of room bytes (0: as many pages as count samples need).  The CPU stops when a record
 * of the deepest stack would not fit.  */
static void put_region(uint64_t room, uint64_t count)
{
    uint64_t start = written();
    uint64_t ticks = FIRST_NS;
    uint64_t largest = (uint64_t)8 * (6 + wanted.depth);
    struct sample sample;
    uint64_t used;

    for (uint64_t i = 0; room ? written() - start + largest <= room : i < count; i++) {
        draw_sample(&sample, ticks);
        put_sampler_stack(&sample);
        ticks += PERIOD_NS + below(1000);
    }
    used = written() - start;
    put_zeros(room ? room - used : -used & (PAGE - 1));
}

void make_region(void)
{
    uint64_t room = (wanted.size / wanted.cpus + PAGE - 1) / PAGE * PAGE;

    for (uint32_t cpu = 0; cpu < wanted.cpus; cpu++)
        put_region(room, wanted.count / wanted.cpus + (cpu < wanted.count % wanted.cpus));
}

/* ---- --kind profiler: the file of Fuchsia's CPU profiler (fxt.md section 4.2) ---- */

/* Names come right before what they first matter for.  */
static void put_names_once(const struct sample *sample, bool *process_known, bool *thread_known)
{
    uint32_t thread = sample->process * wanted.threads + sample->thread;

    if (!process_known[sample->process])
        put_process_name(sample->process);
    if (!thread_known[thread])
        put_thread_name(sample->process, sample->thread, false);
    process_known[sample->process] = true;
    thread_known[thread] = true;
}

void make_profiler(void)
{
    bool *process_known = cli_allocate(wanted.processes, sizeof *process_known);
    bool *thread_known = cli_allocate(thread_total(), sizeof *thread_known);
    uint64_t ticks = FIRST_NS;
    struct sample sample;

    put_magic();
    put_init();
    for (uint64_t done = 0; !is_done(done); done++) {
        draw_sample(&sample, ticks);
        put_names_once(&sample, process_known, thread_known);
        put((struct fxt_record){
            .kind = FXT_RECORD_BACKTRACE,
            .ticks = sample.ticks,
            .thread = thread_of(&sample),
            .value.backtrace.frames = { sample.pcs, frames_of(&sample) },
        });
        ticks += PERIOD_NS / wanted.cpus + below(1000);
    }
    for (uint32_t process = 0; process < wanted.processes; process++)
        for (uint32_t module = MODULES; process_known[process] && module-- > 0;)
            put_module(process, module, FIRST_NS);
    free(process_known);
    free(thread_known);
}

/* ---- In a mix, and the truth ---- */

void put_sample(uint64_t ticks)
{
    struct sample sample;

    draw_sample(&sample, ticks);
    put_sampler_stack(&sample);
}

/* In a region there is nothing that names a module.  */
void truth_samples(void)
{
    if (totals)
        truth_stacks(wanted.kind == REGION ? FRAME_ADDRESS : FRAME_MODULE, false, &totals, 1);
    free(totals);
}
