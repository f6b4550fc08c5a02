/* resolve_modules.c - several modules at once.
 *
 * A large module keeps all jobs busy by its units (dwarf_ahead.c), so those are read one after the
 * other. Of the others each job takes one, reads it alone, and lets it go. */
#include "libsymbolize/symbolize_internal.h"
#include "libsymbolize/threads.h"

/* Of the file with the debug information: from there on a module is a large one, which mostly has
 * many units.  */
static const uint64_t LARGE_BYTES = (uint64_t)64 << 20;

struct many {
    const struct sym_query *queries;
    size_t count;
    sym_query_fn answer;
    void *context;

    pthread_mutex_t lock; /* of what follows, and of answers */
    size_t next;          /* query to take */
    enum sym_status status;
    struct sym_error error; /* that goes with it */
};

/* One query and where it belongs.  */
struct turn {
    struct many *many;
    size_t query;
};

static bool answer_in_turn(void *context, size_t index, const struct sym_frame *frames,
                           size_t count)
{
    const struct turn *turn = context;
    struct many *many = turn->many;

    (void)pthread_mutex_lock(&many->lock);
    bool more = !many->status && many->answer(many->context, turn->query, index, frames, count);
    if (!more && !many->status)
        many->status = sym_fail(&many->error, SYM_STOPPED, "stopped by the caller");
    (void)pthread_mutex_unlock(&many->lock);
    return more;
}

static void run_query(struct many *many, size_t number)
{
    const struct sym_query *query = &many->queries[number];
    struct turn turn = { .many = many, .query = number };
    struct sym_error error = { .status = SYM_OK };
    enum sym_status status = sym_module_resolve_batch(query->module, query->vaddrs, query->count,
                                                      query->ids, answer_in_turn, &turn, &error);

    (void)pthread_mutex_lock(&many->lock);
    if (status && !many->status) {
        many->status = status;
        many->error = error;
    }
    (void)pthread_mutex_unlock(&many->lock);
}

static bool is_large(const struct sym_query *query)
{
    const struct sym_object *debug = query->module->debug;

    return debug && debug->file_bytes >= LARGE_BYTES;
}

/* The next small one; many->count: there is none, or a query failed.  */
static size_t take_query(struct many *many)
{
    size_t number = many->count;

    (void)pthread_mutex_lock(&many->lock);
    while (!many->status && many->next < many->count && is_large(&many->queries[many->next]))
        many->next++;
    if (!many->status && many->next < many->count)
        number = many->next++;
    (void)pthread_mutex_unlock(&many->lock);
    return number;
}

static void *run_small(void *context)
{
    struct sym_seat seat = { .jobs = 1 };
    struct many *many = context;
    size_t number;

    while ((number = take_query(many)) < many->count) {
        struct sym_module *module = many->queries[number].module;
        module->seat = &seat;
        run_query(many, number);
        if (seat.loaded)
            sym_module_unload(seat.loaded);
        seat.loaded = NULL;
        module->seat = &module->session->seat;
    }
    sym_scratch_release(&seat.scratch);
    return NULL;
}

static void run_all(struct many *many, struct sym_session *session)
{
    pthread_t threads[SYM_JOBS_MAX];
    unsigned jobs = sym_job_count(session->seat.jobs), started = 0;
    size_t small = 0;

    for (size_t i = 0; i < many->count; i++)
        small += !is_large(&many->queries[i]);
    if (small > 1 && jobs > 1) {
        if (session->seat.loaded) /* another thread may want it */
            sym_module_unload(session->seat.loaded);
        session->seat.loaded = NULL;
        started = sym_threads_start(threads, (small < jobs ? (unsigned)small : jobs) - 1, run_small,
                                    many);
        (void)run_small(many);
        sym_threads_join(threads, started);
    }
    for (size_t i = 0; i < many->count && !many->status; i++)
        if (is_large(&many->queries[i]) || small <= 1 || jobs <= 1)
            run_query(many, i);
}

static bool queries_are_valid(const struct sym_session *session, const struct sym_query *queries,
                              size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!queries[i].module || queries[i].module->session != session || !queries[i].ids ||
            queries[i].count >= UINT32_MAX)
            return false;
    return true;
}

enum sym_status sym_session_resolve(struct sym_session *session, const struct sym_query *queries,
                                    size_t count, sym_query_fn answer, void *context,
                                    struct sym_error *error)
{
    struct many many = { .queries = queries, .count = count, .answer = answer, .context = context };

    if (!session || (count && !queries) || !queries_are_valid(session, queries, count))
        return sym_fail(error, SYM_INVALID, "a module of another session, or too many addresses");
    if (pthread_mutex_init(&many.lock, NULL) != 0)
        return sym_fail(error, SYM_NO_MEMORY, "out of memory");
    run_all(&many, session);
    (void)pthread_mutex_destroy(&many.lock);
    if (many.status && error)
        *error = many.error;
    return many.status;
}
