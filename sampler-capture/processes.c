#include "sampler-capture/processes.h"

#include "base/grow.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MODULE_IDS 65536 /* the id is a 16-bit field */

/* ---- Tasks ---- */

static void set_name(char name[TASK_NAME_SIZE], bool *written, const char *text)
{
    if (strncmp(name, text, TASK_NAME_SIZE - 1) == 0)
        return;
    (void)snprintf(name, TASK_NAME_SIZE, "%s", text);
    *written = false;
}

/* What is in the trace under the present name stays so.  False when there is no memory.  */
static bool rename_thread(struct process_table *table, struct thread *thread, const char *text)
{
    struct thread_name next = { .written = false };

    if (!thread->name.sampled || strncmp(thread->name.text, text, TASK_NAME_SIZE - 1) == 0) {
        set_name(thread->name.text, &thread->name.written, text);
        return true;
    }
    for (size_t i = 0; i < thread->name_count; i++) {
        if (strncmp(thread->names[i].text, text, TASK_NAME_SIZE - 1) == 0) {
            next = thread->names[i];
            thread->names[i] = thread->name;
            thread->name = next;
            return true;
        }
    }
    if (thread->name_count == THREAD_MAX_NAMES) {
        set_name(thread->name.text, &thread->name.written, text);
        return true;
    }
    if (!base_make_room(&thread->names, &thread->name_capacity, thread->name_count + 1,
                        sizeof *thread->names) ||
        !id_table_begin(&table->threads, thread->tid, thread, &next.koid))
        return false;
    thread->names[thread->name_count++] = thread->name;
    set_name(next.text, &next.written, text);
    thread->name = next;
    return true;
}

static void free_thread(struct thread *thread)
{
    free(thread->names);
    free(thread);
}

static struct thread *add_thread(struct process_table *table, struct process *process, uint32_t tid,
                                 const char *name)
{
    struct thread *thread = calloc(1, sizeof *thread);

    if (!thread || !id_table_begin(&table->threads, tid, thread, &thread->name.koid)) {
        free(thread);
        return NULL;
    }
    thread->tid = tid;
    thread->process = process;
    thread->next = process->threads;
    process->threads = thread;
    set_name(thread->name.text, &thread->name.written, name);
    return thread;
}

static void end_threads(struct process_table *table, struct process *process)
{
    for (struct thread *thread = process->threads, *next; thread; thread = next) {
        next = thread->next;
        if (id_table_find(&table->threads, thread->tid) == thread)
            id_table_end(&table->threads, thread->tid);
        free_thread(thread);
    }
    process->threads = NULL;
}

static struct process *begin_process(struct process_table *table, uint32_t pid, const char *name)
{
    struct process *process = calloc(1, sizeof *process);

    if (!process || !id_table_begin(&table->processes, pid, process, &process->koid)) {
        free(process);
        return NULL;
    }
    process->pid = pid;
    set_name(process->name, &process->name_written, name);
    return process;
}

void process_release(struct process *process)
{
    address_map_release(&process->map);
    free(process->known);
}

static void end_process(struct process_table *table, struct process *process)
{
    end_threads(table, process);
    id_table_end(&table->processes, process->pid);
    process_release(process);
    free(process);
}

/* A pid that is still here was not seen to end: the record of its end was lost.  */
static void end_pid(struct process_table *table, uint32_t pid)
{
    struct process *process = id_table_find(&table->processes, pid);

    if (process)
        end_process(table, process);
}

static void end_thread(struct process_table *table, struct thread *thread)
{
    struct process *process = thread->process;
    struct thread **link = &process->threads;

    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    id_table_end(&table->threads, thread->tid);
    free_thread(thread);
    if (!process->threads)
        end_process(table, process);
}

/* A tid that is still another process's was not seen to end.  */
static struct thread *begin_thread(struct process_table *table, struct process *process,
                                   uint32_t tid, const char *name)
{
    struct thread *old = id_table_find(&table->threads, tid);

    if (old && old->process != process)
        end_thread(table, old);
    return add_thread(table, process, tid, name);
}

/* ---- Side-band records ---- */

static bool apply_fork(struct process_table *table, const struct perf_record *record)
{
    struct thread *parent = id_table_find(&table->threads, record->value.fork.parent_tid);
    const char *name = parent ? parent->name.text : "";
    struct process *process = id_table_find(&table->processes, record->pid);
    struct thread *known = id_table_find(&table->threads, record->tid);

    /* Told before: by /proc, or by two targets that overlap.  */
    if (known && known->process == process && record->pid == record->value.fork.parent_pid)
        return true;
    if (record->pid != record->value.fork.parent_pid) {
        struct process *parent_process = id_table_find(&table->processes,
                                                       record->value.fork.parent_pid);

        end_pid(table, record->pid);
        process = begin_process(table, record->pid, name);
        if (!process || (parent_process &&
                         !address_map_fork(&parent_process->map, record->time_ns, &process->map)))
            return false;
    } else if (!process) {
        process = begin_process(table, record->pid, name);
        if (!process)
            return false;
    }
    return begin_thread(table, process, record->tid, name) != NULL;
}

/* The exec leaves one thread, and that has the pid as its tid whichever it was before.  */
static bool apply_exec(struct process_table *table, const struct perf_record *record)
{
    struct process *process;

    end_pid(table, record->pid);
    process = begin_process(table, record->pid, record->value.name.text);
    return process && begin_thread(table, process, record->pid, record->value.name.text);
}

static bool apply_name(struct process_table *table, const struct perf_record *record)
{
    struct thread *thread = processes_thread(table, record->pid, record->tid);

    if (!thread || !rename_thread(table, thread, record->value.name.text))
        return false;
    if (record->tid == record->pid)
        set_name(thread->process->name, &thread->process->name_written, record->value.name.text);
    return true;
}

static void apply_exit(struct process_table *table, const struct perf_record *record)
{
    struct thread *thread = id_table_find(&table->threads, record->tid);

    if (thread && thread->process->pid == record->pid)
        end_thread(table, thread);
}

static unsigned elf_flags(uint32_t protection)
{
    return (protection & PROT_EXEC ? 1U : 0) | (protection & PROT_WRITE ? 2U : 0) |
           (protection & PROT_READ ? 4U : 0);
}

/* Whether a file is mapped there already.  /proc tells no build IDs, so it may be another module by
 * that, and neighbours may be one mapping.  */
static bool is_known(const struct address_map *map, const struct mapping *mapping)
{
    const struct mapping *there = address_map_find(map, mapping->start);

    return there && there->start == mapping->start && there->module &&
           strcmp(there->module->name, mapping->module->name) == 0;
}

static bool apply_map(struct process_table *table, const struct perf_record *record)
{
    const struct perf_map *map = &record->value.map;
    struct thread *thread = processes_thread(table, record->pid, record->tid);
    struct mapping mapping = { .start = map->start,
                               .time_ns = record->time_ns,
                               .flags = elf_flags(map->protection) };

    if (!thread)
        return false;
    if (map->length == 0 || __builtin_add_overflow(map->start, map->length, &mapping.limit))
        return true;
    if (!perf_map_is_anonymous(map)) {
        mapping.module = modules_find(&table->modules, map, record->pid);
        if (!mapping.module)
            return false;
        if (!modules_vaddr(mapping.module, map->file_offset, &mapping.vaddr) &&
            !is_known(&thread->process->map, &mapping)) /* mappings may be read again */
            table->modules.unplaced++;
    }
    if (address_map_add(&thread->process->map, &mapping))
        return true;
    table->mappings_dropped++;
    return thread->process->map.count + 2 > MAPS_MAX_MAPPINGS; /* else there is no memory */
}

bool processes_apply(struct process_table *table, const struct perf_record *record)
{
    switch (record->kind) {
    case PERF_KIND_FORK:
        return apply_fork(table, record);
    case PERF_KIND_NAME:
        return record->value.name.exec ? apply_exec(table, record) : apply_name(table, record);
    case PERF_KIND_EXIT:
        apply_exit(table, record);
        return true;
    case PERF_KIND_MAP:
        return apply_map(table, record);
    default:
        return true;
    }
}

/* ---- What a sample needs ---- */

/* What it is called while it lives; "" otherwise.  */
static void name_now(uint32_t pid, uint32_t tid, char name[TASK_NAME_SIZE])
{
    char path[64];
    FILE *file;

    name[0] = '\0';
    (void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
    file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(name, TASK_NAME_SIZE, file))
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    (void)fclose(file);
}

struct thread *processes_thread(struct process_table *table, uint32_t pid, uint32_t tid)
{
    struct thread *thread = id_table_find(&table->threads, tid);
    struct process *process;
    char name[TASK_NAME_SIZE];

    if (thread && thread->process->pid == pid)
        return thread;
    if (thread) /* the tid went to another process unseen */
        end_thread(table, thread);
    process = id_table_find(&table->processes, pid);
    if (!process) {
        name_now(pid, pid, name);
        process = begin_process(table, pid, name);
    }
    if (!process)
        return NULL;
    name_now(pid, tid, name);
    return begin_thread(table, process, tid, name);
}

void processes_forget_written(struct process_table *table)
{
    for (size_t i = 0; i < table->processes.count; i++) {
        struct process *process = table->processes.slots[i].object;

        if (!process)
            continue;
        process->name_written = process->sampled = false;
        process->known_count = 0;
        process->next_local_id = 0;
        address_map_forget_written(&process->map);
        for (struct thread *thread = process->threads; thread; thread = thread->next) {
            thread->sampled = thread->name.written = thread->name.sampled = false;
            for (size_t k = 0; k < thread->name_count; k++)
                thread->names[k].written = thread->names[k].sampled = false;
        }
    }
}

static bool is_taken(const struct process *process, uint32_t id)
{
    for (size_t i = 0; i < process->known_count; i++)
        if (process->known[i].id == id)
            return true;
    return false;
}

bool process_module_id(struct process *process, const struct module *module, uint16_t *id,
                       bool *is_new)
{
    uint32_t candidate = module->serial;

    for (size_t i = 0; i < process->known_count; i++) {
        if (process->known[i].module == module) {
            *id = process->known[i].id;
            *is_new = false;
            return true;
        }
    }
    if (process->known_count == MODULE_IDS)
        return false;
    while (candidate >= MODULE_IDS || is_taken(process, candidate))
        candidate = process->next_local_id++ % MODULE_IDS;
    if (!base_make_room(&process->known, &process->known_capacity, process->known_count + 1,
                        sizeof *process->known))
        return false;
    *id = (uint16_t)candidate;
    *is_new = true;
    process->known[process->known_count++] = (struct known_module){ module, *id };
    return true;
}

void processes_release(struct process_table *table)
{
    for (size_t i = 0; i < table->processes.count; i++)
        if (table->processes.slots[i].object)
            end_process(table, table->processes.slots[i].object);
    id_table_release(&table->processes);
    id_table_release(&table->threads);
    modules_release(&table->modules);
}
