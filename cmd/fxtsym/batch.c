/* Requests in, answers out, in the order they came: the library wants all addresses of an object at
 * once, in any order.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtsym/fxtsym.h"

/* ---- Buffers ---- */

char *buffer_room(struct buffer *buffer, size_t size)
{
    /* Both are sizes of things in memory.  */
    buffer->bytes = cli_grow(buffer->bytes, &buffer->capacity, buffer->length + size, 1);
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
    free(batch->formatted.bytes);
    chains_release(&batch->chains);
    free(batch->gathered.vaddrs);
    free(batch->gathered.requests);
    free(batch->gathered.numbers);
    free(batch->gathered.answers);
}

void batch_forget(struct batch *batch)
{
    batch->text.length = batch->text_count = batch->answer_count = 0;
    chains_clear(&batch->chains);
    batch->kept_object = OBJECT_NONE;
}

void batch_add_echo(struct batch *batch, const char *text, size_t length)
{
    batch->answers[batch->count] = (uint32_t)length;
    batch_add(batch, batch->echoes.length, OBJECT_ECHO);
    batch->has_echoes = true;
    buffer_add(&batch->echoes, text, length);
}

/* ---- Answers ---- */

static void add_answer(struct batch *batch, const struct sym_frame *frames, size_t count)
{
    bool as_text = batch->text_count == batch->answer_count &&
                   batch->text.length <= ANSWER_BYTES_MAX;

    batch->answer_count++;
    if (as_text) {
        batch->append(batch->settings, &batch->text, frames, count);
        batch->text_count++;
        batch->places[batch->answer_count] = batch->text.length;
    } else {
        batch->places[batch->answer_count] = chains_add(&batch->chains, frames, count);
    }
}

const char *batch_format(struct batch *batch, uint32_t answer, size_t *length)
{
    size_t count;
    const struct sym_frame *frames = chains_frames(&batch->chains,
                                                   (uint32_t)batch->places[answer + 1], &count);

    batch->formatted.length = 0;
    (void)buffer_room(&batch->formatted, TEXT_SLACK); /* also where there is nothing to append */
    batch->append(batch->settings, &batch->formatted, frames, count);
    *length = batch->formatted.length;
    return batch->formatted.bytes;
}

/* Each answer comes once, with the next number.  */
static bool keep_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)index;
    add_answer(context, frames, count);
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

/* The requests that are to be looked up; how many there are.  The others get answer 0.  */
static size_t gather(struct batch *batch)
{
    struct gathered *gathered = &batch->gathered;
    size_t count = 0;

    if (!gathered->vaddrs) {
        gathered->vaddrs = cli_allocate(REQUESTS_MAX, sizeof *gathered->vaddrs);
        gathered->requests = cli_allocate(REQUESTS_MAX, sizeof *gathered->requests);
        gathered->numbers = cli_allocate(REQUESTS_MAX, sizeof *gathered->numbers);
        gathered->answers = cli_allocate(REQUESTS_MAX, sizeof *gathered->answers);
    }
    for (size_t i = 0; i < batch->count; i++) {
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
    struct batch *batch;
    struct group *items;
    struct sym_query *queries;
    size_t count;
};

static struct groups group_requests(struct batch *batch, size_t count)
{
    const struct gathered *gathered = &batch->gathered;
    struct groups groups = { .batch = batch };

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
    const struct groups *groups = context;
    struct batch *batch = groups->batch;

    add_answer(batch, frames, count);
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

static void resolve_mixed(struct batch *batch)
{
    struct groups groups = group_requests(batch, gather(batch));
    struct sym_error error;

    batch_forget(batch);
    add_answer(batch, NULL, 0); /* number 0: what is not looked up */
    if (sym_session_resolve(batch->objects->session, groups.queries, groups.count,
                            keep_group_answer, &groups, &error) != SYM_OK)
        fail(&error);
    for (size_t i = 0; i < groups.count; i++)
        spread_answers(batch, &groups.items[i]);
    free(groups.items);
    free(groups.queries);
}

/* All of them are about one object, whose answers are kept from one call to the next.  */
static void resolve_same(struct batch *batch, uint32_t object)
{
    struct sym_error error;

    if (batch->kept_object != object || batch->text.length > ANSWER_BYTES_KEPT ||
        batch->answer_count > ANSWERS_KEPT)
        batch_forget(batch);
    uint32_t next = batch->answer_count;
    if (sym_module_resolve_next(batch->objects->items[object]->module, batch->vaddrs, batch->count,
                                batch->answers, &next, keep_answer, batch, &error) != SYM_OK)
        fail(&error);
    batch->kept_object = object;
    objects_report(batch->objects, object);
}

void batch_run(struct batch *batch)
{
    if (batch->count) {
        if (!batch->mixed && has_module(batch, 0))
            resolve_same(batch, batch->objects_of[0]);
        else
            resolve_mixed(batch);
        (void)buffer_room(&batch->text, TEXT_SLACK);
        batch->print(batch->context, batch);
    }
    batch->count = 0;
    batch->mixed = batch->has_echoes = false;
    batch->echoes.length = 0;
}
