/* fxtgen - make traces of any size whose exact meaning is known.
 *
 * A trace is drawn from a model: a tree of stacks, processes that hold the modules, threads.  The
 * same seed gives the same bytes everywhere.  --truth writes what a reader must find, counted by
 * the generator itself, so that readers are not checked against their own mistakes.
 *
 * Memory follows the model (processes x stacks counters), not the length of the trace.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "libfxt/fxt.h"

#define MODULES       6u
#define MAX_FRAMES    250u /* a profiler record counts them in 8 bits */
#define ZIRCON_FRAMES 64u  /* what the kernel sampler walks */
#define PAGE          4096u
#define PERIOD_NS     1000000u
#define FIRST_NS      UINT64_C(5000000000) /* of the first sample: not 0, which might go unseen */
#define MAX_INDEX     32000u               /* strings by index; further ones are written inline */
#define WINDOW        1024u                /* events that are shuffled together */
#define NAME_SIZE     9u                   /* "n0000012": one word, and NUL */

/* ---- What is wanted ---- */

enum kind { SAMPLER, PROFILER, REGION, SPANS, EVENTS };

static const char *const kind_names[] = {
    "sampler", "profiler", "region", "spans", "events", NULL
};

static struct {
    enum kind kind;
    uint64_t seed;
    uint64_t size;  /* bytes; 0: count decides */
    uint64_t count; /* samples, slices or events */
    uint32_t cpus;
    uint32_t processes;
    uint32_t threads; /* of each process */
    uint32_t stacks;
    uint32_t depth;
    const char *truth; /* path or NULL */
} wanted = {
    .seed = 1, .count = 10000, .cpus = 4, .processes = 3, .threads = 4, .stacks = 1000, .depth = 20
};

/* ---- Chance ---- */

static uint64_t random_state;

/* splitmix64: short, and the same everywhere.  */
static uint64_t random_word(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0..limit - 1; the bias is far below what any test sees.  */
static uint32_t below(uint32_t limit)
{
    return (uint32_t)((random_word() >> 32) * limit >> 32);
}

/* ---- The tree of stacks ---- */

/* A stack is a node: its leaf.  Node 0 is the empty stack.  */
struct node {
    uint32_t parent;
    uint32_t site;  /* what stands there: an address or a name, used by other stacks too */
    uint32_t depth; /* frames */
    uint32_t children;
    uint32_t first_child; /* position in child_list */
    uint32_t rank;        /* among its siblings, from 0 */
};

static struct node *nodes;
static uint32_t *child_list;
static uint64_t *totals; /* [process][node]: samples, or nanoseconds of self time */

static uint64_t *total_of(uint32_t process, uint32_t node)
{
    return &totals[(uint64_t)process * (wanted.stacks + 1) + node];
}

/* Long chains that branch anywhere: shapes as in real programs, up to the full depth.  */
static uint32_t choose_parent(uint32_t node)
{
    uint32_t parent = node - 1;

    if (nodes[parent].depth == wanted.depth || below(2 * wanted.depth) == 0)
        parent = below(node);
    return nodes[parent].depth == wanted.depth ? nodes[parent].parent : parent;
}

/* Events have a name each.  Stacks share sites, but siblings differ, so that every node is a stack
 * of its own; roots stand on the last site.  */
static uint32_t choose_site(uint32_t node)
{
    uint64_t step = (uint64_t)37 * (nodes[node].depth - 1) + nodes[node].rank;

    return wanted.kind == EVENTS ? node - 1 : (uint32_t)(wanted.stacks - 1 - step % wanted.stacks);
}

static void make_nodes(void)
{
    uint32_t limit = wanted.stacks + 1;
    uint32_t position = 0;

    nodes = cli_allocate(limit, sizeof *nodes);
    child_list = cli_allocate(limit, sizeof *child_list);
    totals = cli_allocate((size_t)wanted.processes * limit, sizeof *totals);
    for (uint32_t i = 1; i < limit; i++) {
        struct node *node = &nodes[i];
        struct node *parent;
        node->parent = choose_parent(i);
        parent = &nodes[node->parent];
        node->depth = parent->depth + 1;
        node->rank = parent->children++;
        node->site = choose_site(i);
    }
    for (uint32_t i = 0; i < limit; i++) {
        nodes[i].first_child = position;
        position += nodes[i].children;
    }
    for (uint32_t i = 1; i < limit; i++)
        child_list[nodes[nodes[i].parent].first_child + nodes[i].rank] = i;
}

/* Some stacks are much hotter than others.  */
static uint32_t choose_stack(void)
{
    uint32_t a = below(wanted.stacks);
    uint32_t b = below(wanted.stacks);

    return 1 + (a < b ? a : b);
}

/* ---- Processes and modules ---- */

static uint64_t pid_of(uint32_t process)
{
    return 1000 + (uint64_t)process * (wanted.threads + 1);
}

/* As on Linux, the first thread has the process's number.  */
static uint64_t tid_of(uint32_t process, uint32_t thread)
{
    return pid_of(process) + thread;
}

static uint32_t thread_total(void)
{
    return wanted.processes * wanted.threads;
}

/* Sites go round the modules, 16 bytes apart.  The last one of a module stands on its last byte, so
 * that the return address of a call there, as of every root, lies behind the module.  */
static uint64_t module_length(void)
{
    return (uint64_t)16 * ((wanted.stacks - 1) / MODULES) + 1;
}

static uint64_t module_vaddr(uint32_t module)
{
    return 0x1000 * ((uint64_t)module + 1) + 0x120;
}

/* Modules lie side by side, and elsewhere in each process.  */
static uint64_t module_start(uint32_t process, uint32_t module)
{
    return 0x550000000340 + (uint64_t)process * 0x100000000 + module * module_length();
}

static uint64_t site_offset(uint32_t site)
{
    return (uint64_t)16 * (site / MODULES);
}

static uint64_t site_address(uint32_t process, uint32_t site)
{
    return module_start(process, site % MODULES) + site_offset(site);
}

/* The first byte falls as the module's number rises, so that the order of build IDs, in which the
 * CPU profiler writes modules, is the reverse of that of addresses.  */
static void module_build_id(uint32_t module, uint8_t build_id[20])
{
    build_id[0] = (uint8_t)((MODULES - module) * 16);
    for (unsigned i = 1; i < 20; i++)
        build_id[i] = (uint8_t)(i * UINT64_C(7) + wanted.seed);
}

/* ---- Writing ---- */

static struct cli_output output;
static struct fxt_writer *writer;

static void put(struct fxt_record record)
{
    struct fxt_error error;

    if (fxt_writer_record(writer, &record, &error) == FXT_OK)
        return;
    cli_error("%s", error.message);
    cli_output_abort(&output);
    exit(CLI_ENVIRONMENT);
}

static bool is_done(uint64_t done)
{
    return wanted.size ? fxt_writer_bytes(writer) >= wanted.size : done >= wanted.count;
}

static void put_magic(void)
{
    put((struct fxt_record){ .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 });
}

static void put_init(void)
{
    put((struct fxt_record){ .kind = FXT_RECORD_INIT,
                             .value.init.ticks_per_second = UINT64_C(1000000000) });
}

static void put_provider(uint32_t id, const char *name)
{
    put((struct fxt_record){
        .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline(name), .value.provider.id = id });
    put_init();
}

static void put_process_name(uint32_t process)
{
    char name[32];

    (void)snprintf(name, sizeof name, "process-%u", process);
    put((struct fxt_record){
        .kind = FXT_RECORD_KERNEL_OBJECT,
        .name = fxt_inline(name),
        .value.object = { .type = FXT_OBJECT_PROCESS, .koid = pid_of(process) },
    });
}

static void put_thread_name(uint32_t process, uint32_t thread, bool with_process)
{
    struct fxt_arg owner = {
        .type = FXT_ARG_KOID,
        .name = fxt_inline("process"),
        .value.uint64 = pid_of(process),
    };
    char name[32];

    (void)snprintf(name, sizeof name, "thread-%u", thread);
    put((struct fxt_record){
        .kind = FXT_RECORD_KERNEL_OBJECT,
        .name = fxt_inline(name),
        .args = with_process ? &owner : NULL,
        .arg_count = with_process ? 1 : 0,
        .value.object = { .type = FXT_OBJECT_THREAD, .koid = tid_of(process, thread) },
    });
}

static void put_all_names(void)
{
    for (uint32_t process = 0; process < wanted.processes; process++) {
        put_process_name(process);
        for (uint32_t thread = 0; thread < wanted.threads; thread++)
            put_thread_name(process, thread, true);
    }
}

/* A module of a process and where it lies.  Module ids count up over the whole file.  */
static void put_module(uint32_t process, uint32_t module, uint64_t ticks)
{
    static uint16_t next_id;
    struct fxt_thread owner = { .process = pid_of(process) };
    uint16_t id = next_id++;
    uint8_t build_id[20];
    char name[32];

    module_build_id(module, build_id);
    (void)snprintf(name, sizeof name, "libgen%u.so", module);
    put((struct fxt_record){
        .kind = FXT_RECORD_MODULE,
        .ticks = ticks,
        .thread = owner,
        .name = fxt_inline(name),
        .value.module = { .id = id, .build_id = { build_id, sizeof build_id } },
    });
    put((struct fxt_record){
        .kind = FXT_RECORD_MAPPING,
        .ticks = ticks,
        .thread = owner,
        .value.mapping = { .module_id = id,
                           .flags = 5,
                           .start = module_start(process, module),
                           .length = module_length(),
                           .vaddr = module_vaddr(module) },
    });
}

/* ---- Samples ---- */

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

/* Draw one and count it.  Callers are seen through the return address behind their call.  */
static void draw_sample(struct sample *sample, uint64_t ticks)
{
    uint32_t entry = 0;

    sample->ticks = ticks;
    sample->process = below(wanted.processes);
    sample->thread = below(wanted.threads);
    sample->node = choose_stack();
    for (uint32_t i = sample->node; i; i = nodes[i].parent, entry++)
        store_word(sample->pcs + (size_t)8 * entry,
                   site_address(sample->process, nodes[i].site) + (entry ? 1 : 0));
    ++*total_of(sample->process, sample->node);
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

static void make_sampler(void)
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

static void put_zeros(uint64_t count)
{
    static const uint8_t zeros[PAGE];

    while (count) {
        size_t part = count < PAGE ? (size_t)count : PAGE;
        (void)cli_output_write(&output, zeros, part); /* a failure is kept for the commit */
        count -= part;
    }
}

/* One region of room bytes (0: as many pages as count samples need).  The CPU stops when a record
 * of the deepest stack would not fit.  */
static void put_region(uint64_t room, uint64_t count)
{
    uint64_t start = fxt_writer_bytes(writer);
    uint64_t ticks = FIRST_NS;
    uint64_t largest = (uint64_t)8 * (6 + wanted.depth);
    struct sample sample;
    uint64_t used;

    for (uint64_t i = 0; room ? fxt_writer_bytes(writer) - start + largest <= room : i < count;
         i++) {
        draw_sample(&sample, ticks);
        put_sampler_stack(&sample);
        ticks += PERIOD_NS + below(1000);
    }
    used = fxt_writer_bytes(writer) - start;
    put_zeros(room ? room - used : -used & (PAGE - 1));
}

static void make_region(void)
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

static void make_profiler(void)
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

/* ---- Strings and threads by index ---- */

static uint16_t *site_index; /* [site]; 0: inline */

static const char *site_name(uint32_t site, char name[NAME_SIZE])
{
    (void)snprintf(name, NAME_SIZE, "n%07u", site % 10000000);
    return name;
}

/* Index 1 is the category; the sites that are used follow while there is room.  */
static void put_tables(void)
{
    uint16_t index = 1;

    site_index = cli_allocate(wanted.stacks, sizeof *site_index);
    put((struct fxt_record){
        .kind = FXT_RECORD_STRING, .name = fxt_inline("category"), .value.table.index = index });
    for (uint32_t i = 1; i <= wanted.stacks && index < MAX_INDEX; i++) {
        uint32_t site = nodes[i].site;
        char name[NAME_SIZE];
        if (site_index[site])
            continue;
        site_index[site] = ++index;
        put((struct fxt_record){ .kind = FXT_RECORD_STRING,
                                 .name = fxt_inline(site_name(site, name)),
                                 .value.table.index = index });
    }
    for (uint32_t i = 0; i < thread_total() && i < 255; i++)
        put((struct fxt_record){
            .kind = FXT_RECORD_THREAD,
            .thread = { .process = pid_of(i / wanted.threads),
                        .thread = tid_of(i / wanted.threads, i % wanted.threads) },
            .value.table.index = (uint16_t)(i + 1),
        });
}

static struct fxt_thread indexed_thread(uint32_t i)
{
    return (struct fxt_thread){
        .process = pid_of(i / wanted.threads),
        .thread = tid_of(i / wanted.threads, i % wanted.threads),
        .index = i < 255 ? (uint8_t)(i + 1) : 0,
    };
}

/* By index if the site has one; name must live until the record is written.  */
static struct fxt_string indexed_name(uint32_t site, char name[NAME_SIZE])
{
    struct fxt_string string = fxt_inline(site_name(site, name));

    string.index = site_index[site];
    return string;
}

/* ---- --kind spans ---- */

struct slice {
    uint32_t node;
    bool complete; /* one record at its end, instead of two */
    uint64_t start;
    uint64_t in_children; /* ns */
};

/* A thread at work.  All its times differ, so that their order alone says how slices nest.  */
struct lane {
    uint64_t now;
    uint32_t depth;
    struct slice *open; /* outermost first */
};

static struct lane *lanes;

struct span_event {
    unsigned type;
    uint32_t thread;
    uint32_t site;
    uint64_t ticks;
    uint64_t end;
};

static struct span_event window[WINDOW];
static uint32_t window_used;

/* Write the window in any order: readers have to sort.  */
static void flush_window(void)
{
    for (; window_used; window_used--) {
        uint32_t i = below(window_used);
        struct span_event event = window[i];
        char name[NAME_SIZE];
        window[i] = window[window_used - 1];
        put((struct fxt_record){
            .kind = FXT_RECORD_EVENT,
            .ticks = event.ticks,
            .thread = indexed_thread(event.thread),
            .category = { .bytes = "category", .length = 8, .index = 1 },
            .name = indexed_name(event.site, name),
            .value.event = { .type = event.type, .end_ticks = event.end },
        });
    }
}

static void emit(struct span_event event)
{
    if (window_used == WINDOW)
        flush_window();
    window[window_used++] = event;
}

static void open_slice(uint32_t thread, uint32_t parent)
{
    struct lane *lane = &lanes[thread];
    const struct node *node = &nodes[parent];
    struct slice slice = {
        .node = child_list[node->first_child + below(node->children)],
        .complete = below(2),
        .start = lane->now,
    };

    lane->open[lane->depth++] = slice;
    if (!slice.complete)
        emit((struct span_event){ .type = FXT_EVENT_DURATION_BEGIN,
                                  .thread = thread,
                                  .site = nodes[slice.node].site,
                                  .ticks = slice.start });
}

static void close_slice(uint32_t thread)
{
    struct lane *lane = &lanes[thread];
    struct slice slice = lane->open[--lane->depth];
    uint64_t duration = lane->now - slice.start;

    emit((struct span_event){ .type = slice.complete ? FXT_EVENT_DURATION_COMPLETE
                                                     : FXT_EVENT_DURATION_END,
                              .thread = thread,
                              .site = nodes[slice.node].site,
                              .ticks = slice.complete ? slice.start : lane->now,
                              .end = lane->now });
    *total_of(thread / wanted.threads, slice.node) += duration - slice.in_children;
    if (lane->depth)
        lane->open[lane->depth - 1].in_children += duration;
}

/* Call something or return.  True if a slice was opened.  */
static bool step(uint32_t thread)
{
    struct lane *lane = &lanes[thread];
    uint32_t node = lane->depth ? lane->open[lane->depth - 1].node : 0;

    lane->now += 1 + below(2000);
    if (lane->depth && (nodes[node].children == 0 || below(16) < 7)) {
        close_slice(thread);
        return false;
    }
    open_slice(thread, node);
    return true;
}

static void make_spans(void)
{
    uint64_t done = 0;

    put_magic();
    put_provider(1, "fxtgen");
    put_all_names();
    put_tables();
    lanes = cli_allocate(thread_total(), sizeof *lanes);
    for (uint32_t i = 0; i < thread_total(); i++) {
        lanes[i].now = FIRST_NS + i;
        lanes[i].open = cli_allocate(wanted.depth, sizeof *lanes[i].open);
    }
    while (!is_done(done))
        done += step(below(thread_total()));
    for (uint32_t i = 0; i < thread_total(); i++) {
        while (lanes[i].depth) {
            lanes[i].now += 1 + below(2000);
            close_slice(i);
        }
        free(lanes[i].open);
    }
    flush_window();
    free(lanes);
}

/* ---- --kind events: records of 72 bytes, in the two shapes that producers choose between ---- */

/* All by index, and a text as argument.  */
static void put_indexed_event(uint64_t ticks, uint32_t thread, uint32_t site)
{
    char name[NAME_SIZE];
    char text[41]; /* 5 words */
    struct fxt_arg arg = { .type = FXT_ARG_STRING, .name = { .index = 1 } };

    (void)snprintf(text, sizeof text, "text %035" PRIu64, ticks);
    arg.value.string = fxt_inline(text);
    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .thread = indexed_thread(thread),
        .category = { .index = 1 },
        .name = indexed_name(site, name),
        .args = &arg,
        .arg_count = 1,
        .value.event = { .type = FXT_EVENT_DURATION_COMPLETE, .end_ticks = ticks + 500 },
    });
}

/* All inline, and a number as argument.  */
static void put_inline_event(uint64_t ticks, uint32_t thread, uint32_t site)
{
    char name[NAME_SIZE];
    struct fxt_arg arg = { .type = FXT_ARG_UINT64,
                           .name = { .index = 1 },
                           .value.uint64 = ticks * 3 };
    struct fxt_thread koids = indexed_thread(thread);

    koids.index = 0;
    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .thread = koids,
        .category = fxt_inline("category"),
        .name = fxt_inline(site_name(site, name)),
        .args = &arg,
        .arg_count = 1,
        .value.event = { .type = FXT_EVENT_DURATION_COMPLETE, .end_ticks = ticks + 500 },
    });
}

static void make_events(void)
{
    uint64_t ticks = FIRST_NS;

    put_magic();
    put_provider(1, "fxtgen");
    put_all_names();
    put_tables();
    for (uint64_t done = 0; !is_done(done); done++) {
        uint32_t thread = below(thread_total());
        uint32_t node = choose_stack();
        uint32_t site = nodes[node].site;
        ++*total_of(thread / wanted.threads, node);
        if (site_index[site] && thread < 255 && below(2))
            put_indexed_event(ticks, thread, site);
        else
            put_inline_event(ticks, thread, site);
        ticks += 1 + below(1000);
    }
}

/* ---- Truth ---- */

#define LINE_SIZE 16384u /* MAX_FRAMES frames of up to 40 bytes, and the ends */

/* The frame as the truth names it.  */
static size_t print_frame(char *at, size_t room, uint32_t process, uint32_t site)
{
    char name[NAME_SIZE];
    int length;

    if (wanted.kind == SPANS || wanted.kind == EVENTS)
        length = snprintf(at, room, ";%s", site_name(site, name));
    else if (wanted.kind == REGION) /* there is nothing that names a module */
        length = snprintf(at, room, ";0x%" PRIx64, site_address(process, site));
    else
        length = snprintf(at, room, ";libgen%u.so+0x%" PRIx64, site % MODULES,
                          module_vaddr(site % MODULES) + site_offset(site));
    return (size_t)length;
}

/* "process;root;...;leaf"; an event has no stack, only its name.  */
static char *stack_line(uint32_t process, uint32_t node, char line[LINE_SIZE])
{
    uint32_t path[MAX_FRAMES];
    uint32_t depth = 0;
    size_t used;

    for (uint32_t i = node; i && (wanted.kind != EVENTS || depth == 0); i = nodes[i].parent)
        path[depth++] = nodes[i].site;
    used = (size_t)(wanted.kind == REGION
                        ? snprintf(line, LINE_SIZE, "pid-%" PRIu64, pid_of(process))
                        : snprintf(line, LINE_SIZE, "process-%u", process));
    while (depth)
        used += print_frame(line + used, LINE_SIZE - used, process, path[--depth]);
    return line + used;
}

struct truth_line {
    char *text;
    uint64_t total;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct truth_line *)a)->text, ((const struct truth_line *)b)->text);
}

/* The distinct lines of what occurred, in *count.  Owned by the caller, texts too.  */
static struct truth_line *collect_truth(size_t *count)
{
    size_t limit = (size_t)wanted.processes * (wanted.stacks + 1);
    struct truth_line *lines = cli_allocate(limit, sizeof *lines);
    char line[LINE_SIZE];
    size_t used = 0;

    for (size_t i = 0; i < limit; i++) {
        if (!totals[i])
            continue;
        (void)stack_line((uint32_t)(i / (wanted.stacks + 1)), (uint32_t)(i % (wanted.stacks + 1)),
                         line);
        lines[used].text = strdup(line);
        if (!lines[used].text) {
            cli_error("out of memory");
            exit(CLI_ENVIRONMENT);
        }
        lines[used++].total = totals[i];
    }
    *count = used;
    return lines;
}

static enum cli_exit write_truth(void)
{
    struct cli_output truth;
    size_t count;
    struct truth_line *lines = collect_truth(&count);
    enum cli_exit status = cli_output_open(&truth, wanted.truth);

    if (status != CLI_OK)
        return status;
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        char number[32];
        int length = snprintf(number, sizeof number, " %" PRIu64 "\n", lines[i].total);
        /* A failure is kept for the commit.  */
        (void)cli_output_write(&truth, lines[i].text, strlen(lines[i].text));
        (void)cli_output_write(&truth, number, (size_t)length);
        free(lines[i].text);
    }
    free(lines);
    return cli_output_commit(&truth);
}

/* ---- The program ---- */

enum key {
    KEY_KIND = 1,
    KEY_SEED,
    KEY_SIZE,
    KEY_COUNT,
    KEY_CPUS,
    KEY_PROCESSES,
    KEY_THREADS,
    KEY_STACKS,
    KEY_DEPTH,
    KEY_TRUTH,
};

static const struct cli_option options[] = {
    { KEY_KIND, 0, "kind", "KIND",
      "sampler: archive of sampler-capture (default)\n"
      "profiler: file of Fuchsia's CPU profiler\n"
      "region: raw per-CPU regions of the Zircon kernel sampler\n"
      "spans: nested slices, out of order\n"
      "events: records of 72 bytes with strings, threads and one argument" },
    { KEY_SEED, 0, "seed", "N", "same seed, same bytes (default 1)" },
    { KEY_SIZE, 0, "size", "BYTES", "stop when the trace has this size; suffixes k, M, G" },
    { KEY_COUNT, 0, "count", "N", "stop after N samples, slices or events (default 10000)" },
    { KEY_CPUS, 0, "cpus", "N", "CPUs that samples come from (default 4)" },
    { KEY_PROCESSES, 0, "processes", "N", "processes (default 3)" },
    { KEY_THREADS, 0, "threads", "N", "threads of each process (default 4)" },
    { KEY_STACKS, 0, "stacks", "N", "distinct stacks, or names of events (default 1000)" },
    { KEY_DEPTH, 0, "depth", "N", "frames of the deepest stack (default 20)" },
    { KEY_TRUTH, 0, "truth", "FILE",
      "write what a reader must find: a line 'process;frame;...;leaf N' a stack, sorted by\n"
      "bytes; N counts samples or events, or is a slice's own nanoseconds" },
    { 0 },
};

static const char *const examples[] = {
    "a capture of 100 MB, and what is in it",
    "fxtgen --size 100M --truth expected.folded > big.fxt",
    "deep stacks as Fuchsia's profiler records them",
    "fxtgen --kind profiler --depth 200 --count 5000 > deep.fxt",
    "a million events to time a reader with",
    "fxtgen --kind events --count 1000000 > events.fxt",
    NULL,
};

static const struct cli_command command = {
    .name = "fxtgen",
    .usage = "[OPTION]...",
    .summary = "Write a generated FXT trace to standard output.",
    .options = options,
    .examples = examples,
};

static void take_option(int key, const char *value)
{
    switch (key) {
    case KEY_KIND:
        wanted.kind = (enum kind)cli_choice("--kind", value, kind_names);
        break;
    case KEY_SEED:
        wanted.seed = cli_number("--seed", value, 0, UINT64_MAX);
        break;
    case KEY_SIZE:
        wanted.size = cli_size("--size", value, 1, UINT64_C(1) << 50);
        break;
    case KEY_COUNT:
        wanted.count = cli_number("--count", value, 0, UINT64_C(1) << 50);
        wanted.size = 0;
        break;
    case KEY_CPUS:
        wanted.cpus = (uint32_t)cli_number("--cpus", value, 1, 4096);
        break;
    case KEY_PROCESSES:
        wanted.processes = (uint32_t)cli_number("--processes", value, 1, 10000);
        break;
    case KEY_THREADS:
        wanted.threads = (uint32_t)cli_number("--threads", value, 1, 10000);
        break;
    case KEY_STACKS:
        wanted.stacks = (uint32_t)cli_number("--stacks", value, 1, 1 << 23);
        break;
    case KEY_DEPTH:
        wanted.depth = (uint32_t)cli_number("--depth", value, 1, MAX_FRAMES);
        break;
    case KEY_TRUTH:
        wanted.truth = value;
        break;
    default:
        cli_usage_error("'%s' is not an option", value);
    }
}

static void make_trace(void)
{
    static void (*const makers[])(void) = {
        [SAMPLER] = make_sampler, [PROFILER] = make_profiler, [REGION] = make_region,
        [SPANS] = make_spans,     [EVENTS] = make_events,
    };
    struct fxt_error error;

    if (fxt_writer_open(cli_output_write, &output, &writer, &error) != FXT_OK) {
        cli_error("%s", error.message);
        exit(CLI_ENVIRONMENT);
    }
    random_state = wanted.seed;
    make_nodes();
    makers[wanted.kind]();
    fxt_writer_close(writer);
    free(site_index);
}

int main(int argc, char **argv)
{
    struct cli_parser parser;
    enum cli_exit status;
    int key;

    (void)argc;
    cli_start(&parser, &command, argv + 1);
    while ((key = cli_next(&parser)) != CLI_END)
        take_option(key, parser.value);
    if (wanted.kind == REGION && wanted.depth > ZIRCON_FRAMES)
        cli_usage_error("--depth: the kernel sampler records at most %u frames", ZIRCON_FRAMES);

    status = cli_output_open(&output, NULL);
    if (status != CLI_OK)
        return (int)status;
    make_trace();
    status = cli_output_commit(&output);
    if (status == CLI_OK && wanted.truth)
        status = write_truth();
    free(nodes);
    free(child_list);
    free(totals);
    return (int)status;
}
