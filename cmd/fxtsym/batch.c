/* Requests in, answers out, in the order they came: the library wants all addresses of an object at
 * once, in any order.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtsym/fxtsym.h"

/* ---- Buffers ---- */

char *buffer_room(struct buffer *buffer, size_t size)
{
    if (!buffer->bytes || size > buffer->capacity - buffer->length) {
        size_t needed = buffer->length + size; /* both are sizes of things in memory */
        size_t capacity = buffer->capacity ? 2 * buffer->capacity : 4096;
        char *bytes = realloc(buffer->bytes, capacity > needed ? capacity : needed);

        if (!bytes) {
            cli_error("out of memory");
            exit(CLI_ENVIRONMENT);
        }
        buffer->bytes = bytes;
        buffer->capacity = capacity > needed ? capacity : needed;
    }
    return buffer->bytes + buffer->length;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t size)
{
    memcpy(buffer_room(buffer, size), bytes, size);
    buffer->length += size;
}

/* ---- Batches ---- */

void batch_open(struct batch *batch, const struct settings *settings, struct objects *objects,
                append_fn append, print_fn print, void *context)
{
    *batch = (struct batch){ .settings = settings,
                             .objects = objects,
                             .append = append,
                             .print = print,
                             .context = context,
                             .kept_object = OBJECT_NONE };
    /* Untouched pages cost nothing: a reader that asks for one address needs one of each.  */
    batch->vaddrs = cli_allocate(REQUESTS_MAX, sizeof *batch->vaddrs);
    batch->objects_of = cli_allocate(REQUESTS_MAX, sizeof *batch->objects_of);
    batch->answers = cli_allocate(REQUESTS_MAX, sizeof *batch->answers);
    batch->places = cli_allocate(ANSWERS_MAX + 1, sizeof *batch->places);
}

void batch_close(struct batch *batch)
{
    free(batch->vaddrs);
    free(batch->objects_of);
    free(batch->answers);
    free(batch->places);
    free(batch->echoes.bytes);
    free(batch->text.bytes);
    free(batch->gathered.vaddrs);
    free(batch->gathered.requests);
    free(batch->gathered.numbers);
    free(batch->gathered.answers);
}

void batch_forget(struct batch *batch)
{
    batch->text.length = batch->answer_count = 0;
    batch->kept_object = OBJECT_NONE;
}

void batch_add_echo(struct batch *batch, const char *text, size_t length)
{
    batch->answers[batch->count] = (uint32_t)length;
    batch_add(batch, batch->echoes.length, OBJECT_ECHO);
    batch->has_echoes = true;
    buffer_add(&batch->echoes, text, length);
}

/* ---- Answers of one object ---- */

struct filling {
    struct batch *batch;
    bool overflow; /* the answers take too much room together */
    bool only_one; /* and there is no smaller batch */
};

static void add_answer(struct batch *batch, const struct sym_frame *frames, size_t count)
{
    batch->append(batch->settings, &batch->text, frames, count);
    batch->places[++batch->answer_count] = batch->text.length;
}

/* Each answer comes once, with the next number.  */
static bool keep_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct filling *filling = context;

    (void)index;
    if (filling->batch->text.length > ANSWER_BYTES_MAX && !filling->only_one) {
        filling->overflow = true;
        return false;
    }
    add_answer(filling->batch, frames, count);
    return true;
}

static _Noreturn void fail(const struct sym_error *error)
{
    cli_error("%s", error->message);
    exit(CLI_ENVIRONMENT);
}

static bool has_module(const struct batch *batch, size_t request)
{
    uint32_t object = batch->objects_of[request];

    return object < batch->objects->count && batch->objects->items[object]->module != NULL;
}

/* ---- All objects ---- */

/* A number of the module of a request, which has one.  */
static uint32_t module_of(const struct batch *batch, uint32_t request)
{
    return batch->objects->items[batch->objects_of[request]]->first;
}

static int compare_modules(const void *a, const void *b, void *context)
{
    const struct batch *batch = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    uint32_t left_module = module_of(batch, left), right_module = module_of(batch, right);

    if (left_module != right_module)
        return left_module < right_module ? -1 : 1;
    return (left > right) - (left < right);
}

/* The requests [first, limit) that are to be looked up; how many there are.  The others get answer
 * 0.  */
static size_t gather(struct batch *batch, size_t first, size_t limit)
{
    struct gathered *gathered = &batch->gathered;
    size_t count = 0;

    if (!gathered->vaddrs) {
        gathered->vaddrs = cli_allocate(REQUESTS_MAX, sizeof *gathered->vaddrs);
        gathered->requests = cli_allocate(REQUESTS_MAX, sizeof *gathered->requests);
        gathered->numbers = cli_allocate(REQUESTS_MAX, sizeof *gathered->numbers);
        gathered->answers = cli_allocate(REQUESTS_MAX, sizeof *gathered->answers);
    }
    for (size_t i = first; i < limit; i++) {
        if (has_module(batch, i))
            gathered->requests[count++] = (uint32_t)i;
        else if (batch->objects_of[i] != OBJECT_ECHO)
            batch->answers[i] = 0;
    }
    qsort_r(gathered->requests, count, sizeof *gathered->requests, compare_modules, batch);
    for (size_t i = 0; i < count; i++)
        gathered->vaddrs[i] = batch->vaddrs[gathered->requests[i]];
    return count;
}

/* The requests of one module, side by side from the first-th that were gathered.  */
struct group {
    size_t first, count;
};

struct groups {
    struct filling filling;
    struct group *items;
    struct sym_query *queries;
    size_t count;
};

static struct groups group_requests(struct batch *batch, size_t count)
{
    const struct gathered *gathered = &batch->gathered;
    struct groups groups = { .filling = { .batch = batch } };

    groups.items = cli_allocate(batch->objects->count + 1, sizeof *groups.items);
    groups.queries = cli_allocate(batch->objects->count + 1, sizeof *groups.queries);
    for (size_t first = 0, next; first < count; first = next) {
        uint32_t module = module_of(batch, gathered->requests[first]);

        next = first + 1;
        while (next < count && module_of(batch, gathered->requests[next]) == module)
            next++;
        groups.items[groups.count] = (struct group){ .first = first, .count = next - first };
        groups.queries[groups.count++] =
            (struct sym_query){ .module = batch->objects->items[module]->module,
                                .vaddrs = gathered->vaddrs + first,
                                .count = next - first,
                                .ids = gathered->numbers + first };
    }
    return groups;
}

static bool keep_group_answer(void *context, size_t query, size_t index,
                              const struct sym_frame *frames, size_t count)
{
    struct groups *groups = context;
    struct batch *batch = groups->filling.batch;

    if (!keep_answer(&groups->filling, index, frames, count))
        return false;
    batch->gathered.answers[groups->items[query].first + index] = batch->answer_count - 1;
    return true;
}

/* The answers of a group to its requests; says what is wrong with its objects.  */
static void spread_answers(struct batch *batch, const struct group *group)
{
    const struct gathered *gathered = &batch->gathered;
    uint32_t reported = OBJECT_NONE;

    for (size_t i = group->first; i < group->first + group->count; i++) {
        uint32_t request = gathered->requests[i], object = batch->objects_of[request];

        batch->answers[request] = gathered->answers[group->first + gathered->numbers[i]];
        if (object != reported)
            objects_report(batch->objects, object);
        reported = object;
    }
}

/* False: the answers do not fit.  */
static bool resolve_groups(struct batch *batch, struct groups *groups)
{
    struct sym_error error;
    enum sym_status status = sym_session_resolve(batch->objects->session, groups->queries,
                                                 groups->count, keep_group_answer, groups, &error);

    if (groups->filling.overflow)
        return false;
    if (status != SYM_OK)
        fail(&error);
    for (size_t i = 0; i < groups->count; i++)
        spread_answers(batch, &groups->items[i]);
    return true;
}

/* False: the answers of [first, limit) do not fit.  */
static bool resolve_mixed(struct batch *batch, size_t first, size_t limit)
{
    struct groups groups = group_requests(batch, gather(batch, first, limit));

    groups.filling.only_one = limit - first == 1;
    batch_forget(batch);
    add_answer(batch, NULL, 0); /* number 0: what is not looked up */
    bool complete = resolve_groups(batch, &groups);
    free(groups.items);
    free(groups.queries);
    return complete;
}

/* False: as above.  */
static bool resolve_object(struct batch *batch, uint32_t object, size_t first, size_t limit)
{
    struct filling filling = { .batch = batch, .only_one = limit - first == 1 };
    struct sym_module *module = batch->objects->items[object]->module;
    uint32_t next = batch->answer_count;
    struct sym_error error;

    enum sym_status status = sym_module_resolve_next(module, batch->vaddrs + first, limit - first,
                                                     batch->answers + first, &next, keep_answer,
                                                     &filling, &error);
    if (filling.overflow)
        return false;
    if (status != SYM_OK)
        fail(&error);
    objects_report(batch->objects, object);
    return true;
}

/* All of them are about one object.  What was told about it before need not be told again.  */
static bool resolve_same(struct batch *batch, uint32_t object, size_t first, size_t limit)
{
    if (batch->kept_object != object || batch->text.length > ANSWER_BYTES_KEPT ||
        batch->answer_count > ANSWERS_KEPT)
        batch_forget(batch);
    bool kept = batch->answer_count > 0;
    if (resolve_object(batch, object, first, limit)) {
        batch->kept_object = object;
        return true;
    }
    batch_forget(batch);
    return kept && resolve_same(batch, object, first, limit);
}

static bool resolve(struct batch *batch, size_t first, size_t limit)
{
    if (!batch->mixed && has_module(batch, first))
        return resolve_same(batch, batch->objects_of[first], first, limit);
    return resolve_mixed(batch, first, limit);
}

static void run_range(struct batch *batch, size_t first, size_t limit)
{
    if (resolve(batch, first, limit)) {
        (void)buffer_room(&batch->text, TEXT_SLACK);
        batch->print(batch->context, batch, first, limit);
        return;
    }
    size_t middle = first + (limit - first) / 2;
    run_range(batch, first, middle);
    run_range(batch, middle, limit);
}

void batch_run(struct batch *batch)
{
    if (batch->count)
        run_range(batch, 0, batch->count);
    batch->count = 0;
    batch->mixed = batch->has_echoes = false;
    batch->echoes.length = 0;
}
