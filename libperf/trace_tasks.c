/* trace_tasks.c - processes, threads and what they have mapped.
 *
 * Only what has samples is written, and before them.  So a process keeps its mappings until it has
 * a sample; a child begins with those of its parent.  A process that runs another program, or whose
 * pid is given to another one, is a new process of the trace if the old one has samples.  */
#include "libperf/trace_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define MOST_MAPPINGS 65536U /* of a process: vm.max_map_count is less */
#define FEW_MAPPINGS  256U
#define MOST_MODULES  8192U /* of a process */

/* ---- Numbers ---- */

/* The entry of a pid or tid; NULL: none.  */
static struct trace_latest *find_latest(const struct trace_numbers *numbers, uint32_t number)
{
    uint64_t hash = base_hash(number, 0);
    size_t probe;

    for (uint32_t id = base_index_first(&numbers->index, hash, &probe); id;
         id = base_index_next(&numbers->index, hash, &probe))
        if (numbers->items[id - 1].number == number)
            return &numbers->items[id - 1];
    return NULL;
}

/* The same, made if need be; NULL: no memory.  */
static struct trace_latest *latest_of(struct trace_numbers *numbers, uint32_t number)
{
    struct trace_latest *found = find_latest(numbers, number);

    if (found)
        return found;
    if (!base_make_room(&numbers->items, &numbers->capacity, numbers->count + 1,
                        sizeof *numbers->items) ||
        !base_index_reserve(&numbers->index))
        return NULL;
    numbers->items[numbers->count++] = (struct trace_latest){ .number = number };
    base_index_add(&numbers->index, base_hash(number, 0), (uint32_t)numbers->count);
    return &numbers->items[numbers->count - 1];
}

/* A koid has the number in its lower half, and in the upper one how many had it before.  The idle
 * threads have number 0, which is the kernel as a koid.  */
static uint64_t koid_of(const struct trace_latest *latest)
{
    return latest->number | (uint64_t)(latest->earlier + (latest->number == 0)) << 32;
}

/* ---- Processes ---- */

/* A process after the one that has this pid, if any.  */
static struct trace_process *new_process(struct perf_trace *trace, uint32_t pid)
{
    struct trace_latest *latest = latest_of(&trace->pids, pid);
    struct trace_process *process;

    if (!latest || !base_make_room(&trace->processes, &trace->process_capacity,
                                   trace->process_count + 1, sizeof *trace->processes))
        return NULL;
    latest->earlier += latest->item != 0;
    memset(trace->recent, 0, sizeof trace->recent);
    process = &trace->processes[trace->process_count++];
    *process = (struct trace_process){ .pid = pid, .compact_at = FEW_MAPPINGS };
    latest->item = (uint32_t)trace->process_count;
    if (pid != TRACE_KERNEL_PID)
        process->koid = koid_of(latest);
    if (pid == 0)
        memcpy(process->name, "swapper", sizeof "swapper");
    return process;
}

struct trace_process *trace_process_of(struct perf_trace *trace, uint32_t pid)
{
    const struct trace_latest *latest = latest_of(&trace->pids, pid);

    if (!latest)
        return NULL;
    return latest->item ? &trace->processes[latest->item - 1] : new_process(trace, pid);
}

static void forget_mappings(struct trace_process *process)
{
    free(process->mappings);
    free(process->modules);
    process->mappings = NULL;
    process->modules = NULL;
    process->mapping_count = process->mapping_capacity = process->written = 0;
    process->module_count = process->module_capacity = 0;
    process->compact_at = FEW_MAPPINGS;
    process->makes_code = false;
    jit_seen_release(&process->seen);
}

/* A process of that pid without mappings: the old one, or a new one if the trace has the old one.
 */
static struct trace_process *begin_anew(struct perf_trace *trace, uint32_t pid)
{
    struct trace_process *process = trace_process_of(trace, pid);

    if (process && process->name_written)
        return new_process(trace, pid);
    if (process)
        forget_mappings(process);
    return process;
}

/* ---- Threads ---- */

static struct trace_thread *find_thread(struct perf_trace *trace, uint32_t pid, uint32_t tid)
{
    struct trace_process *process = trace_process_of(trace, pid);
    struct trace_latest *latest = process ? latest_of(&trace->tids, tid) : NULL;
    struct trace_thread *thread;
    uint32_t owner;

    if (!latest)
        return NULL;
    owner = (uint32_t)(process - trace->processes) + 1;
    if (latest->item && trace->threads[latest->item - 1].process == owner)
        return &trace->threads[latest->item - 1];
    if (!base_make_room(&trace->threads, &trace->thread_capacity, trace->thread_count + 1,
                        sizeof *trace->threads))
        return NULL;
    latest->earlier += latest->item != 0;
    thread = &trace->threads[trace->thread_count++];
    *thread = (struct trace_thread){ .tid = tid, .process = owner, .koid = koid_of(latest) };
    latest->item = (uint32_t)trace->thread_count;
    memset(trace->recent, 0, sizeof trace->recent);
    return thread;
}

struct trace_thread *trace_thread_of(struct perf_trace *trace, uint32_t pid, uint32_t tid)
{
    enum { RECENT = sizeof trace->recent / sizeof *trace->recent };
    struct trace_recent *recent = &trace->recent[tid % RECENT];
    struct trace_thread *thread;

    if (recent->thread && recent->tid == tid && recent->pid == pid)
        return &trace->threads[recent->thread - 1];
    thread = find_thread(trace, pid, tid);
    if (thread)
        *recent = (struct trace_recent){ pid, tid, (uint32_t)(thread - trace->threads) + 1 };
    return thread;
}

uint32_t trace_pid_of(const struct perf_trace *trace, uint32_t tid)
{
    const struct trace_latest *latest = find_latest(&trace->tids, tid);

    if (!latest || !latest->item)
        return UINT32_MAX;
    return trace->processes[trace->threads[latest->item - 1].process - 1].pid;
}

static void set_name(char *to, size_t size, const char *name)
{
    (void)snprintf(to, size, "%s", name);
}

bool trace_take_comm(struct perf_trace *trace, const struct perf_data_record *record)
{
    struct trace_process *process = record->comm.is_exec ? begin_anew(trace, record->pid)
                                                         : trace_process_of(trace, record->pid);
    struct trace_thread *thread;

    if (!process)
        return false;
    if (record->pid == record->tid) {
        process->name_written = process->name_written &&
                                strcmp(process->name, record->comm.name) == 0;
        set_name(process->name, sizeof process->name, record->comm.name);
    }
    thread = trace_thread_of(trace, record->pid, record->tid);
    if (!thread)
        return false;
    thread->written = thread->written && strcmp(thread->name, record->comm.name) == 0;
    set_name(thread->name, sizeof thread->name, record->comm.name);
    thread->named = true;
    return true;
}

/* A thread has the name of the one that made it, and so has a process.  */
bool trace_take_fork(struct perf_trace *trace, const struct perf_data_record *record)
{
    struct trace_process *child, *parent;
    struct trace_thread *thread;
    char name[sizeof thread->name];
    bool named;

    thread = trace_thread_of(trace, record->task.parent_pid, record->task.parent_tid);
    if (!thread)
        return false;
    memcpy(name, thread->name, sizeof name);
    named = thread->named;
    if (record->pid != record->task.parent_pid) {
        size_t count;

        child = begin_anew(trace, record->pid);
        parent = child ? trace_process_of(trace, record->task.parent_pid) : NULL;
        if (!parent)
            return false;
        child = trace_process_of(trace, record->pid);
        count = parent->mapping_count;
        if (count > 0 && !base_make_room(&child->mappings, &child->mapping_capacity, count,
                                         sizeof *child->mappings))
            return false;
        if (count > 0)
            memcpy(child->mappings, parent->mappings, count * sizeof *child->mappings);
        for (size_t i = 0; i < count; i++)
            child->mappings[i].written = false;
        child->mapping_count = count;
        child->compact_at = parent->compact_at;
        child->makes_code = parent->makes_code;
        set_name(child->name, sizeof child->name, named ? name : parent->name);
    }
    thread = trace_thread_of(trace, record->pid, record->tid);
    if (!thread)
        return false;
    memcpy(thread->name, name, sizeof name);
    thread->named = named;
    return true;
}

/* Its samples may still come: what is kept goes when the pid is used again.  */
bool trace_take_exit(struct perf_trace *trace, const struct perf_data_record *record)
{
    (void)trace, (void)record;
    return true;
}

/* ---- Mappings ---- */

/* Memory without a file, whose code only its program knows.  */
static bool is_code_of_no_file(const char *name)
{
    static const char *const starts[] = { "//anon",     "[heap]",   "[stack",  "[anon",
                                          "/dev/zero",  "/SYSV",    "/memfd:", "anon_inode:",
                                          "/anon_huge", "/dev/shm/" };

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return name[0] == '\0';
}

/* The build ID of a file that was mapped: of the record, else of the file's own list.  */
static void find_build_id(const struct perf_trace *trace, const struct perf_data_mapping *mapping,
                          const char *name, struct trace_module *out)
{
    if (mapping->build_id_length) {
        memcpy(out->build_id, mapping->build_id, sizeof out->build_id);
        out->build_id_length = mapping->build_id_length;
        return;
    }
    for (size_t i = 0; i < perf_data_build_id_count(trace->data); i++) {
        const struct perf_data_build_id *known = perf_data_build_id(trace->data, i);

        if (strcmp(known->name, name) != 0)
            continue;
        memcpy(out->build_id, known->bytes, sizeof out->build_id);
        out->build_id_length = known->length;
        return;
    }
}

/* The module of that name and build ID.  0: no memory.  */
static uint32_t module_of(struct perf_trace *trace, const struct trace_module *key)
{
    uint64_t hash = base_hash(base_hash_bytes(key->name, strlen(key->name)),
                              base_hash_bytes(key->build_id, key->build_id_length));
    struct trace_module *module;
    size_t probe;

    for (uint32_t id = base_index_first(&trace->module_index, hash, &probe); id;
         id = base_index_next(&trace->module_index, hash, &probe)) {
        module = &trace->modules[id - 1];
        if (strcmp(module->name, key->name) == 0 &&
            module->build_id_length == key->build_id_length &&
            memcmp(module->build_id, key->build_id, key->build_id_length) == 0)
            return id;
    }
    if (!base_make_room(&trace->modules, &trace->module_capacity, trace->module_count + 1,
                        sizeof *trace->modules) ||
        !base_index_reserve(&trace->module_index))
        return 0;
    module = &trace->modules[trace->module_count];
    *module = *key;
    module->name = strdup(key->name);
    if (!module->name)
        return 0;
    trace->module_count++;
    base_index_add(&trace->module_index, hash, (uint32_t)trace->module_count);
    return (uint32_t)trace->module_count;
}

static int by_place(const void *left, const void *right)
{
    const struct trace_mapping *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static int by_order(const void *left, const void *right)
{
    const struct trace_mapping *a = left, *b = right;

    return a->order < b->order ? -1 : 1;
}

/* Forget mappings that another one at the same place replaced; the others keep their order.  */
static void compact(struct perf_trace *trace, struct trace_process *process)
{
    struct trace_mapping *mappings = process->mappings;
    size_t kept = 0;

    qsort(mappings, process->mapping_count, sizeof *mappings, by_place);
    for (size_t i = 0; i < process->mapping_count; i++) {
        bool is_replaced = i + 1 < process->mapping_count &&
                           mappings[i + 1].start == mappings[i].start &&
                           mappings[i + 1].length >= mappings[i].length;

        if (!is_replaced)
            mappings[kept++] = mappings[i];
    }
    qsort(mappings, kept, sizeof *mappings, by_order);
    if (kept > MOST_MAPPINGS) { /* the oldest go */
        trace->counts.mappings_left += kept - MOST_MAPPINGS / 2;
        memmove(mappings, mappings + (kept - MOST_MAPPINGS / 2),
                MOST_MAPPINGS / 2 * sizeof *mappings);
        kept = MOST_MAPPINGS / 2;
    }
    process->mapping_count = kept;
    process->written = 0;
    process->compact_at = 2 * kept < FEW_MAPPINGS ? FEW_MAPPINGS : 2 * kept;
}

/* Whether code of a file is or was at some of the addresses.  */
static bool replaces_file(const struct perf_trace *trace, const struct trace_process *process,
                          uint64_t start, uint64_t length)
{
    for (size_t i = 0; i < process->mapping_count; i++) {
        const struct trace_mapping *mapping = &process->mappings[i];

        if (!trace->modules[mapping->module - 1].is_code &&
            start < mapping->start + mapping->length && mapping->start < start + length)
            return true;
    }
    return false;
}

bool trace_replaces_code(const struct perf_trace *trace, const struct perf_data_record *record)
{
    const struct perf_data_mapping *from = &record->mapping;
    const struct trace_latest *latest = find_latest(&trace->pids, record->pid);
    const struct trace_process *process;

    if (!latest || !latest->item || from->is_data || from->start > UINT64_MAX - from->length)
        return false;
    process = &trace->processes[latest->item - 1];
    for (size_t i = 0; i < process->mapping_count; i++) {
        const struct trace_mapping *mapping = &process->mappings[i];

        if (from->start < mapping->start + mapping->length &&
            mapping->start < from->start + from->length)
            return true;
    }
    return false;
}

/* "[kernel.kallsyms]_text" names the symbol that its offset is the address of.  */
static void kernel_name(const char *name, char *out, size_t size)
{
    const char *end = strchr(name, ']');

    (void)snprintf(out, size, "%.*s", end ? (int)(end + 1 - name) : (int)strlen(name), name);
}

bool trace_take_mapping(struct perf_trace *trace, const struct perf_data_record *record)
{
    const struct perf_data_mapping *from = &record->mapping;
    bool is_kernel = (record->misc & 7) == 1 || record->pid == TRACE_KERNEL_PID;
    struct trace_process *process = trace_process_of(trace,
                                                     is_kernel ? TRACE_KERNEL_PID : record->pid);
    struct trace_module key = { .is_code = !is_kernel && is_code_of_no_file(from->name) };
    struct trace_mapping mapping = { .start = from->start,
                                     .length = from->length,
                                     .file_offset = from->file_offset,
                                     .time_ns = record->has_time ? record->time_ns : 0,
                                     .order = trace->order++ };
    char name[4096];

    if (!process)
        return false;
    if (from->is_data || from->length == 0 || from->start > UINT64_MAX - from->length ||
        (record->misc & 7) > 3) /* a guest's */
        return true;
    process->makes_code |= key.is_code;
    if (key.is_code && !replaces_file(trace, process, from->start, from->length))
        return true;
    (void)snprintf(name, sizeof name, "%s", key.is_code ? "[anon]" : from->name);
    if (is_kernel && name[0] == '[')
        kernel_name(from->name, name, sizeof name);
    key.name = name;
    if (!key.is_code)
        find_build_id(trace, from, name, &key);
    mapping.module = module_of(trace, &key);
    if (mapping.module == 0 ||
        !base_make_room(&process->mappings, &process->mapping_capacity, process->mapping_count + 1,
                        sizeof *process->mappings))
        return false;
    process->mappings[process->mapping_count++] = mapping;
    if (process->mapping_count >= process->compact_at)
        compact(trace, process);
    return true;
}

/* ---- Writing ---- */

/* The id of a module in a process, written if it is new.  0 when all ids are used.  */
static bool write_module(struct perf_trace *trace, struct trace_process *process, uint32_t module,
                         uint64_t time_ns, uint16_t *id)
{
    *id = 0;
    for (size_t i = 0; i < process->module_count; i++)
        if (process->modules[i] == module) {
            *id = (uint16_t)(i + 1);
            return true;
        }
    if (process->module_count == MOST_MODULES)
        return true;
    if (!base_make_room(&process->modules, &process->module_capacity, process->module_count + 1,
                        sizeof *process->modules))
        return false;
    process->modules[process->module_count++] = module;
    *id = (uint16_t)process->module_count;
    return trace_put_module(trace, process->koid, &trace->modules[module - 1], *id, time_ns);
}

/* Where the kernel's own code is, its addresses name it, as in /proc/kallsyms.  *file: what the
 * recorder knew of an object that is not found; NULL: nothing.  */
static uint64_t vaddr_of(struct perf_trace *trace, const struct trace_process *process,
                         const struct trace_mapping *mapping, const struct perf_data_file **file)
{
    const struct trace_module *module = &trace->modules[mapping->module - 1];
    const struct perf_trace_object object = { module->name, module->build_id,
                                              module->build_id_length };
    uint64_t vaddr;

    *file = NULL;
    if (process->pid == TRACE_KERNEL_PID && module->name[0] == '[')
        return mapping->start;
    if (module->is_code)
        return 0;
    if (trace->options.find_vaddr &&
        trace->options.find_vaddr(trace->options.context, &object, mapping->file_offset,
                                  mapping->length, &vaddr))
        return vaddr;
    *file = perf_data_find_file(trace->data, module->name);
    if (*file)
        return perf_data_file_vaddr(*file, mapping->start, mapping->file_offset);
    trace->counts.unplaced_modules += module->name[0] != '[';
    return mapping->file_offset;
}

static bool write_maps(struct perf_trace *trace, struct trace_process *process)
{
    for (; process->written < process->mapping_count; process->written++) {
        struct trace_mapping *mapping = &process->mappings[process->written];
        const struct perf_data_file *file;
        uint64_t vaddr;
        uint16_t id;

        if (mapping->written)
            continue;
        if (!write_module(trace, process, mapping->module, mapping->time_ns, &id))
            return false;
        vaddr = vaddr_of(trace, process, mapping, &file);
        if (id != 0 && !trace_put_mapping(trace, process->koid, mapping, vaddr, id))
            return false;
        if (file && !trace_name_functions(trace, process, file, mapping, vaddr))
            return false;
        mapping->written = true;
    }
    return true;
}

/* What the recorder knew of the kernel.  */
static bool name_kernel_as_recorded(struct perf_trace *trace, const struct trace_process *kernel,
                                    const struct trace_mapping *mapping)
{
    const struct perf_data_file *file = perf_data_find_file(trace->data, "[kernel.kallsyms]");

    return !file || trace_name_functions(trace, kernel, file, mapping, mapping->start);
}

/* The symbols of the kernel that was recorded, before its first sample.  */
static bool name_kernel(struct perf_trace *trace, const struct trace_process *kernel)
{
    if (trace->kernel_named)
        return true;
    trace->kernel_named = true;
    for (size_t i = 0; i < kernel->mapping_count; i++) {
        const struct trace_module *module = &trace->modules[kernel->mappings[i].module - 1];
        size_t size;
        const char *text = NULL;

        if (strcmp(module->name, "[kernel.kallsyms]") != 0)
            continue;
        if (trace->options.kernel_symbols)
            text = trace->options.kernel_symbols(trace->options.context, module->build_id,
                                                 module->build_id_length, &size);
        return text ? trace_put_kernel_symbols(trace, text, size)
                    : name_kernel_as_recorded(trace, kernel, &kernel->mappings[i]);
    }
    return true;
}

struct trace_thread *trace_write_tasks(struct perf_trace *trace, uint32_t pid, uint32_t tid,
                                       bool kernel)
{
    struct trace_thread *thread = trace_thread_of(trace, pid, tid);
    struct trace_process *process;

    if (!thread)
        return NULL;
    process = &trace->processes[thread->process - 1];
    if (!process->name_written && !trace_put_process(trace, process))
        return NULL;
    process->name_written = true;
    if (!thread->written && !trace_put_thread(trace, thread))
        return NULL;
    thread->written = true;
    if (!write_maps(trace, process))
        return NULL;
    if (!kernel)
        return thread;
    process = trace_process_of(trace, TRACE_KERNEL_PID);
    return process && write_maps(trace, process) && name_kernel(trace, process) ? thread : NULL;
}

void trace_release_tasks(struct perf_trace *trace)
{
    for (size_t i = 0; i < trace->process_count; i++)
        forget_mappings(&trace->processes[i]);
    for (size_t i = 0; i < trace->module_count; i++)
        free(trace->modules[i].name);
    free(trace->processes);
    free(trace->threads);
    free(trace->modules);
    free(trace->pids.items);
    free(trace->tids.items);
    base_index_release(&trace->pids.index);
    base_index_release(&trace->tids.index);
    base_index_release(&trace->module_index);
}
