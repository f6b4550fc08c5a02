/* entities.c - processes, threads and their names.
 *
 * A thread is (process koid, thread koid): small invented thread numbers repeat from process to
 * process in traces of other producers.  */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "libprofile/ingest/entities.h"

/* Filters compare the low 32 bits: the high ones count incarnations of a pid in our captures.  */
static bool is_chosen(const uint64_t *ids, size_t count, uint64_t koid)
{
    size_t low = 0, high = count;

    BASE_BISECT(low, high, i, ids[i] < (uint32_t)koid);
    return count == 0 || (low < count && ids[low] == (uint32_t)koid);
}

static struct fxt_string name_of(const struct profile_ingest *ingest, profile_id name)
{
    size_t length;
    const char *bytes = profile_stacks_text(ingest->stacks, name, &length);

    return (struct fxt_string){ .bytes = bytes, .length = (uint32_t)length };
}

/* ---- Processes ---- */

static enum profile_status announce_process(const struct profile_ingest *ingest,
                                            const struct ingest_process *process,
                                            struct profile_error *error)
{
    struct profile_process call = {
        .id = (uint32_t)(process - ingest->processes) + 1,
        .koid = process->koid,
        .name = name_of(ingest, process->name),
    };

    if (!ingest->sink.process || !process->chosen)
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.process(ingest->sink.context, &call), error);
}

/* The process, made if need be but then not announced (*is_new).  */
static enum profile_status find_process(struct profile_ingest *ingest, uint64_t koid, uint32_t *out,
                                        bool *is_new, struct profile_error *error)
{
    uint64_t hash = base_hash(koid, 0);
    enum profile_status status;
    size_t probe;

    *is_new = false;
    for (*out = base_index_first(&ingest->process_index, hash, &probe); *out;
         *out = base_index_next(&ingest->process_index, hash, &probe))
        if (ingest->processes[*out - 1].koid == koid)
            return PROFILE_OK;

    status = ingest_reserve(&ingest->processes, &ingest->process_capacity, ingest->process_count,
                            sizeof *ingest->processes, &ingest->process_index, error);
    if (status != PROFILE_OK)
        return status;
    ingest->processes[ingest->process_count++] = (struct ingest_process){
        .koid = koid,
        .chosen = is_chosen(ingest->pids, ingest->options.pid_count, koid),
    };
    *out = (uint32_t)ingest->process_count;
    base_index_add(&ingest->process_index, hash, *out);
    *is_new = true;
    return PROFILE_OK;
}

enum profile_status ingest_process(struct profile_ingest *ingest, uint64_t koid, uint32_t *out,
                                   struct profile_error *error)
{
    bool is_new;
    enum profile_status status = find_process(ingest, koid, out, &is_new, error);

    if (status != PROFILE_OK || !is_new)
        return status;
    return announce_process(ingest, &ingest->processes[*out - 1], error);
}

static enum profile_status name_process(struct profile_ingest *ingest, uint64_t koid,
                                        profile_id name, struct profile_error *error)
{
    uint32_t id;
    bool is_new;
    enum profile_status status = find_process(ingest, koid, &id, &is_new, error);
    struct ingest_process *process;

    if (status != PROFILE_OK)
        return status;
    process = &ingest->processes[id - 1];
    if (!is_new && (name == 0 || process->name == name))
        return PROFILE_OK;
    process->name = name;
    return announce_process(ingest, process, error);
}

enum profile_status ingest_process_name(struct profile_ingest *ingest, uint64_t koid,
                                        const char *bytes, size_t length,
                                        struct profile_error *error)
{
    profile_id name;
    enum profile_status status = profile_stacks_string(ingest->stacks, bytes, length, &name, error);

    return status == PROFILE_OK ? name_process(ingest, koid, name, error) : status;
}

/* ---- Threads ---- */

static profile_id thread_name(const struct profile_ingest *ingest,
                              const struct ingest_thread *thread)
{
    return thread->own_name ? thread->name : ingest->koids[thread->koids - 1].name;
}

static enum profile_status announce_thread(const struct profile_ingest *ingest,
                                           const struct ingest_thread *thread,
                                           struct profile_error *error)
{
    struct profile_thread call = {
        .id = (uint32_t)(thread - ingest->threads) + 1,
        .process_id = thread->process_id,
        .koid = thread->koid,
        .process_koid = thread->process_koid,
        .name = name_of(ingest, thread_name(ingest, thread)),
    };

    if (!ingest->sink.thread || !thread->chosen)
        return PROFILE_OK;
    return ingest_sink_status(ingest->sink.thread(ingest->sink.context, &call), error);
}

enum profile_status ingest_koid(struct profile_ingest *ingest, uint64_t koid, uint32_t *out,
                                struct profile_error *error)
{
    uint64_t hash = base_hash(koid, 0);
    enum profile_status status;
    size_t probe;

    for (*out = base_index_first(&ingest->koid_index, hash, &probe); *out;
         *out = base_index_next(&ingest->koid_index, hash, &probe))
        if (ingest->koids[*out - 1].koid == koid)
            return PROFILE_OK;

    status = ingest_reserve(&ingest->koids, &ingest->koid_capacity, ingest->koid_count,
                            sizeof *ingest->koids, &ingest->koid_index, error);
    if (status != PROFILE_OK)
        return status;
    ingest->koids[ingest->koid_count++] = (struct ingest_koid){ .koid = koid };
    *out = (uint32_t)ingest->koid_count;
    base_index_add(&ingest->koid_index, hash, *out);
    return PROFILE_OK;
}

/* Where a koid alone is given, a thread whose process is known is the likelier one.  */
static void adopt(const struct profile_ingest *ingest, struct ingest_koid *koid, uint32_t thread)
{
    if (koid->thread_id == 0 || (ingest->threads[koid->thread_id - 1].process_koid == 0 &&
                                 ingest->threads[thread - 1].process_koid != 0))
        koid->thread_id = thread;
}

static enum profile_status add_thread(struct profile_ingest *ingest, uint64_t process_koid,
                                      uint64_t koid, uint64_t hash, uint32_t *out,
                                      struct profile_error *error)
{
    uint32_t process, koids;
    enum profile_status status = ingest_process(ingest, process_koid, &process, error);

    if (status == PROFILE_OK)
        status = ingest_koid(ingest, koid, &koids, error);
    if (status != PROFILE_OK)
        return status;
    status = ingest_reserve(&ingest->threads, &ingest->thread_capacity, ingest->thread_count,
                            sizeof *ingest->threads, &ingest->thread_index, error);
    if (status != PROFILE_OK)
        return status;
    ingest->threads[ingest->thread_count++] = (struct ingest_thread){
        .process_koid = process_koid,
        .process_id = process,
        .koid = koid,
        .chosen = ingest->processes[process - 1].chosen &&
                  is_chosen(ingest->tids, ingest->options.tid_count, koid),
        .koids = koids,
    };
    *out = (uint32_t)ingest->thread_count;
    adopt(ingest, &ingest->koids[koids - 1], *out);
    base_index_add(&ingest->thread_index, hash, *out);
    return PROFILE_OK;
}

/* The thread, made if need be but then not announced (*is_new).  */
static enum profile_status find_thread(struct profile_ingest *ingest, uint64_t process,
                                       uint64_t koid, uint32_t *out, bool *is_new,
                                       struct profile_error *error)
{
    uint64_t hash = base_hash(process, koid);
    size_t probe;

    *is_new = false;
    for (*out = base_index_first(&ingest->thread_index, hash, &probe); *out;
         *out = base_index_next(&ingest->thread_index, hash, &probe)) {
        const struct ingest_thread *thread = &ingest->threads[*out - 1];

        if (thread->process_koid == process && thread->koid == koid)
            return PROFILE_OK;
    }
    *is_new = true;
    return add_thread(ingest, process, koid, hash, out, error);
}

enum profile_status ingest_thread(struct profile_ingest *ingest, const struct fxt_thread *thread,
                                  uint32_t *out, struct profile_error *error)
{
    bool is_new;
    enum profile_status status = find_thread(ingest, thread->process, thread->thread, out, &is_new,
                                             error);

    if (status != PROFILE_OK || !is_new)
        return status;
    return announce_thread(ingest, &ingest->threads[*out - 1], error);
}

/* A thread's name came with its process.  */
static enum profile_status name_thread(struct profile_ingest *ingest, uint64_t process,
                                       uint64_t koid, profile_id name, struct profile_error *error)
{
    uint32_t id;
    bool is_new;
    enum profile_status status = find_thread(ingest, process, koid, &id, &is_new, error);
    struct ingest_thread *thread;
    profile_id before;

    if (status != PROFILE_OK)
        return status;
    thread = &ingest->threads[id - 1];
    before = thread_name(ingest, thread);
    if (name != 0) {
        thread->name = name;
        thread->own_name = true;
    }
    if (!is_new && thread_name(ingest, thread) == before)
        return PROFILE_OK;
    return announce_thread(ingest, thread, error);
}

/* A thread's name came without its process: it holds for every thread of that koid.  Those that
 * were met already are reported at the end: a trace that names one koid again and again, with many
 * threads of it, would else cost the product of both.  */
static enum profile_status name_koid(struct profile_ingest *ingest, uint64_t koid, profile_id name,
                                     struct profile_error *error)
{
    uint32_t id;
    enum profile_status status = ingest_koid(ingest, koid, &id, error);

    if (status != PROFILE_OK || name == 0 || ingest->koids[id - 1].name == name)
        return status;
    ingest->koids[id - 1].name = name;
    ingest->koids[id - 1].renamed |= ingest->koids[id - 1].thread_id != 0;
    return PROFILE_OK;
}

enum profile_status ingest_entities_finish(struct profile_ingest *ingest,
                                           struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < ingest->thread_count && status == PROFILE_OK; i++) {
        const struct ingest_thread *thread = &ingest->threads[i];

        if (!thread->own_name && ingest->koids[thread->koids - 1].renamed)
            status = announce_thread(ingest, thread, error);
    }
    return status;
}

/* ---- Kernel objects: the only source of names (docs/formats/fxt.md section 2.10) ---- */

enum profile_status ingest_object(struct profile_ingest *ingest, const struct fxt_record *record,
                                  struct profile_error *error)
{
    const struct fxt_arg *owner = fxt_record_arg(record, "process");
    uint64_t koid = record->value.object.koid;
    enum profile_status status;
    profile_id name;

    status = profile_stacks_string(ingest->stacks, record->name.bytes, record->name.length, &name,
                                   error);
    if (status != PROFILE_OK)
        return status;
    if (record->value.object.type == FXT_OBJECT_PROCESS)
        return name_process(ingest, koid, name, error);
    if (owner && owner->type == FXT_ARG_KOID)
        return name_thread(ingest, owner->value.uint64, koid, name, error);
    return name_koid(ingest, koid, name, error);
}
