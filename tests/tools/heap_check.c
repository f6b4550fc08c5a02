/* heap_check - what a test wants to know about a trace of sampler-capture heap.
 *
 *   heap_check TRACE [MODULE]
 *
 * Prints NAME=NUMBER lines of the whole trace and, with MODULE, the end of a module's name, a line
 *
 *   site PROCESS VADDR ALLOCATIONS OBJECTS BYTES LIVE LIVE_OBJECTS LIVE_BYTES
 *
 * for each process and each call in that module which is the innermost of a stack: how many
 * allocations were sampled, and what they stand for (docs/formats/memory-sampler.md section 6).
 *
 *   processes    with messages
 *   allocations  RecordAllocation
 *   frees        RecordDeallocation
 *   infos        SetProcessInfo
 *   live         blocks in use at the end
 *   early_frees  of addresses that are not in use
 *   doubled      allocations at addresses that are in use
 *   bad          payloads that are no message, or lack a member
 *   first        processes whose first message is not SetProcessInfo with a name
 *   own_frames   frames in libfxtheap.so
 *   unplaced     innermost frames in no module that was told before
 *   nameless     innermost frames in no mapping with a file's name
 *   empty        stacks without frames
 *   deepest      most frames of a stack
 *   largest      bytes of the largest message
 *   backwards    messages that are older than the one before of their process
 *   lost         messages, sum of the last fxt.capture/heap_lost of every process
 *   lost_of_nobody  those of them that no process is known for
 *   no_memory, forgotten  the other causes there
 *   objects, bytes, live_objects, live_bytes   what the samples stand for, rounded  */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "cmd/cli/cli.h"
#include "cmd/cli/cli_trace.h"

#define BUCKETS 65536

struct block {
    struct block *next;
    uint64_t process, address, site;
    double objects, bytes;
};

struct site {
    struct site *next;
    uint64_t process, vaddr;
    uint64_t allocations, live;
    double objects, bytes, live_objects, live_bytes;
};

struct range {
    struct range *next;
    uint64_t process, start, limit, vaddr;
    bool named;       /* by a mapping record */
    bool wanted, own; /* of a module with such a name */
};

struct module {
    struct module *next;
    uint64_t process;
    uint16_t id;
    bool wanted, own;
};

struct owner {
    struct owner *next;
    uint64_t koid;
    int64_t last_ns;
    uint64_t lost, no_memory, forgotten;
    bool sent; /* a message */
};

static struct {
    const char *wanted;
    struct block *blocks[BUCKETS];
    struct site *sites[BUCKETS];
    struct range *ranges[BUCKETS]; /* by process; the newest first */
    struct module *modules[BUCKETS];
    struct owner *owners[BUCKETS];
    uint64_t processes, allocations, frees, infos, live, early_frees, doubled, bad, first;
    uint64_t own_frames, unplaced, nameless, empty, deepest, largest, backwards;
    double objects, bytes, live_objects, live_bytes;
} state;

static void *zeroed(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory)
        exit(CLI_ENVIRONMENT);
    return memory;
}

static size_t bucket_of(uint64_t a, uint64_t b)
{
    return (size_t)((a * 31 + b) * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

/* ---- Modules ---- */

static bool is_text(const struct fxt_string *name, const char *text)
{
    return name->length == strlen(text) && memcmp(name->bytes, text, name->length) == 0;
}

static bool ends_with(const struct fxt_string *name, const char *end)
{
    size_t length = strlen(end);

    return name->length >= length && memcmp(name->bytes + name->length - length, end, length) == 0;
}

static void visit_module(const struct fxt_record *record)
{
    struct module *module = zeroed(sizeof *module);
    size_t bucket = bucket_of(record->thread.process, 2);

    module->process = record->thread.process;
    module->id = record->value.module.id;
    module->wanted = state.wanted && ends_with(&record->name, state.wanted);
    module->own = ends_with(&record->name, "/libfxtheap.so");
    module->next = state.modules[bucket];
    state.modules[bucket] = module;
}

static const struct module *find_module(uint64_t process, uint16_t id)
{
    for (const struct module *module = state.modules[bucket_of(process, 2)]; module;
         module = module->next)
        if (module->process == process && module->id == id)
            return module;
    return NULL;
}

static void add_range(const struct range *range)
{
    size_t bucket = bucket_of(range->process, 0);
    struct range *copy = zeroed(sizeof *copy);

    *copy = *range;
    copy->next = state.ranges[bucket];
    state.ranges[bucket] = copy;
}

static void visit_mapping(const struct fxt_record *record)
{
    const struct module *module = find_module(record->thread.process,
                                              record->value.mapping.module_id);

    add_range(&(struct range){
        .process = record->thread.process,
        .start = record->value.mapping.start,
        .limit = record->value.mapping.start + record->value.mapping.length,
        .vaddr = record->value.mapping.vaddr,
        .named = true,
        .wanted = module && module->wanted,
        .own = module && module->own,
    });
}

static const struct range *find_range(uint64_t process, uint64_t pc, bool named)
{
    for (const struct range *range = state.ranges[bucket_of(process, 0)]; range;
         range = range->next)
        if (range->process == process && range->start <= pc && pc < range->limit &&
            range->named == named)
            return range;
    return NULL;
}

static void take_info(uint64_t process, const struct fidl_message *message)
{
    struct fidl_cursor modules = message->modules;
    struct fidl_module module;
    struct fidl_segment segment;

    state.infos++;
    while (message->has_modules && fidl_module_next(&modules, &module))
        while (fidl_segment_next(&module.segments, &segment))
            add_range(&(struct range){ .process = process,
                                       .start = segment.start_address,
                                       .limit = segment.start_address + segment.size,
                                       .vaddr = segment.relative_address });
}

/* ---- Stacks ---- */

static struct site *site_of(uint64_t process, uint64_t vaddr)
{
    struct site **head = &state.sites[bucket_of(process, vaddr)];
    struct site *site;

    for (site = *head; site; site = site->next)
        if (site->process == process && site->vaddr == vaddr)
            return site;
    site = zeroed(sizeof *site);
    site->process = process;
    site->vaddr = vaddr;
    site->next = *head;
    *head = site;
    return site;
}

/* Checks a stack.  Returns the ELF address of its innermost call if that is in the wanted module,
 * or 0.  */
static uint64_t take_stack(uint64_t process, struct fidl_words stack)
{
    const struct range *range;
    uint64_t pc;

    state.empty += stack.count == 0;
    if (stack.count > state.deepest)
        state.deepest = stack.count;
    if (stack.count == 0)
        return 0;
    for (uint64_t i = 0; i < stack.count; i++) {
        range = find_range(process, fidl_word(stack, i) - 1, true);
        state.own_frames += range && range->own;
    }
    pc = fidl_word(stack, 0) - 1;
    state.unplaced += !find_range(process, pc, false);
    range = find_range(process, pc, true);
    state.nameless += !range;
    return range && range->wanted ? pc - range->start + range->vaddr : 0;
}

/* ---- Blocks ---- */

static struct block **link_of(uint64_t process, uint64_t address)
{
    struct block **link = &state.blocks[bucket_of(process, address)];

    while (*link && ((*link)->process != process || (*link)->address != address))
        link = &(*link)->next;
    return link;
}

static void count(const struct block *block, int sign)
{
    struct site *site = block->site ? site_of(block->process, block->site) : NULL;

    state.live += (uint64_t)sign;
    state.live_objects += sign * block->objects;
    state.live_bytes += sign * block->bytes;
    if (!site)
        return;
    site->live += (uint64_t)sign;
    site->live_objects += sign * block->objects;
    site->live_bytes += sign * block->bytes;
}

static void end_block(struct block **link)
{
    struct block *block = *link;

    count(block, -1);
    *link = block->next;
    free(block);
}

static void take_allocation(uint64_t process, const struct fidl_message *message, double interval)
{
    double size = (double)message->size;
    double weight = message->size ? -1 / expm1(-size / interval) : 1;
    struct block *block = zeroed(sizeof *block);
    struct block **link = link_of(process, message->address);
    struct site *site;

    if (*link) {
        state.doubled++;
        end_block(link);
    }
    *block = (struct block){ .process = process,
                             .address = message->address,
                             .site = take_stack(process, message->stack),
                             .objects = weight,
                             .bytes = weight * size };
    link = link_of(process, message->address);
    *link = block;
    count(block, 1);
    state.allocations++;
    state.objects += block->objects;
    state.bytes += block->bytes;
    if (!block->site)
        return;
    site = site_of(process, block->site);
    site->allocations++;
    site->objects += block->objects;
    site->bytes += block->bytes;
}

static void take_free(uint64_t process, const struct fidl_message *message)
{
    struct block **link = link_of(process, message->address);

    state.frees++;
    (void)take_stack(process, message->stack);
    if (*link)
        end_block(link);
    else
        state.early_frees++;
}

/* ---- Records ---- */

static struct owner *owner_of(uint64_t koid)
{
    struct owner **head = &state.owners[bucket_of(koid, 1)];
    struct owner *owner;

    for (owner = *head; owner; owner = owner->next)
        if (owner->koid == koid)
            return owner;
    owner = zeroed(sizeof *owner);
    owner->koid = koid;
    owner->next = *head;
    *head = owner;
    return owner;
}

static bool is_complete(const struct fidl_message *message)
{
    return message->method == FIDL_SET_PROCESS_INFO ||
           (message->has_address && message->has_stack &&
            (message->has_size || message->method == FIDL_RECORD_DEALLOCATION));
}

static void visit_blob(const struct fxt_record *record)
{
    const struct fxt_arg *interval = fxt_record_arg(record, "sampling_interval_bytes");
    struct fxt_bytes payload = record->value.large_blob.payload;
    uint64_t process = record->thread.process;
    struct fidl_message message;
    struct owner *owner;
    bool is_new;

    if (!interval || fidl_decode(payload.bytes, payload.length, &message) != FIDL_OK ||
        !is_complete(&message)) {
        state.bad++;
        return;
    }
    if (payload.length > state.largest)
        state.largest = payload.length;
    owner = owner_of(process);
    is_new = !owner->sent;
    owner->sent = true;
    state.processes += is_new;
    state.first += is_new && (message.method != FIDL_SET_PROCESS_INFO || !message.has_name);
    state.backwards += record->ts_ns < owner->last_ns;
    owner->last_ns = record->ts_ns;
    if (message.method == FIDL_SET_PROCESS_INFO)
        take_info(process, &message);
    else if (message.method == FIDL_RECORD_ALLOCATION)
        take_allocation(process, &message, (double)interval->value.uint64);
    else
        take_free(process, &message);
}

static uint64_t number_of(const struct fxt_record *record, const char *name)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);

    return arg ? arg->value.uint64 : 0;
}

static void visit_event(const struct fxt_record *record)
{
    static const char *const causes[] = { "allocations", "frees", "infos", "rejected" };
    struct owner *owner;

    if (!is_text(&record->name, "heap_lost"))
        return;
    owner = owner_of(record->value.event.id);
    owner->lost = 0;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        owner->lost += number_of(record, causes[i]);
    owner->no_memory = number_of(record, "no_memory");
    owner->forgotten = number_of(record, "forgotten");
}

static void visit(const struct fxt_record *record)
{
    switch (record->kind) {
    case FXT_RECORD_MODULE:
        visit_module(record);
        break;
    case FXT_RECORD_MAPPING:
        visit_mapping(record);
        break;
    case FXT_RECORD_EVENT:
        visit_event(record);
        break;
    case FXT_RECORD_LARGE_BLOB:
        if (is_text(&record->name, "fuchsia.memory.sampler"))
            visit_blob(record);
        break;
    default:
        break;
    }
}

static void print(const char *name, uint64_t number)
{
    printf("%s=%llu\n", name, (unsigned long long)number);
}

static void print_losses(void)
{
    uint64_t lost = 0, no_memory = 0, forgotten = 0;

    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct owner *owner = state.owners[i]; owner; owner = owner->next) {
            lost += owner->lost;
            no_memory += owner->no_memory;
            forgotten += owner->forgotten;
        }
    }
    print("lost", lost);
    print("lost_of_nobody", owner_of(0)->lost);
    print("no_memory", no_memory);
    print("forgotten", forgotten);
}

static void print_sites(void)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct site *site = state.sites[i]; site; site = site->next)
            printf("site %llu %llx %llu %.9g %.9g %llu %.9g %.9g\n",
                   (unsigned long long)site->process, (unsigned long long)site->vaddr,
                   (unsigned long long)site->allocations, site->objects, site->bytes,
                   (unsigned long long)site->live, site->live_objects, site->live_bytes);
}

int main(int argc, char **argv)
{
    struct cli_trace trace;
    const struct fxt_record *record;
    enum cli_exit status;

    if (argc != 2 && argc != 3)
        return CLI_USAGE;
    state.wanted = argc == 3 ? argv[2] : NULL;
    status = cli_trace_open(&trace, argv[1], NULL);
    if (status != CLI_OK)
        return (int)status;
    while (cli_trace_next(&trace, &record))
        visit(record);
    print("processes", state.processes);
    print("allocations", state.allocations);
    print("frees", state.frees);
    print("infos", state.infos);
    print("live", state.live);
    print("early_frees", state.early_frees);
    print("doubled", state.doubled);
    print("bad", state.bad);
    print("first", state.first);
    print("own_frames", state.own_frames);
    print("unplaced", state.unplaced);
    print("nameless", state.nameless);
    print("empty", state.empty);
    print("deepest", state.deepest);
    print("largest", state.largest);
    print("backwards", state.backwards);
    print_losses();
    print("objects", (uint64_t)llround(state.objects));
    print("bytes", (uint64_t)llround(state.bytes));
    print("live_objects", (uint64_t)llround(fabs(state.live_objects)));
    print("live_bytes", (uint64_t)llround(fabs(state.live_bytes)));
    print_sites();
    return (int)cli_trace_close(&trace, false);
}
