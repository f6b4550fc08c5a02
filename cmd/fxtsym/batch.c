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

/* The numbers of the answers for count addresses: from *next on, which goes on with them, or, with
 * next NULL, from 0 on.  False: the answers do not fit.  */
static bool resolve_object(struct batch *batch, uint32_t object, const uint64_t *vaddrs,
                           size_t count, uint32_t *numbers, uint32_t *next)
{
    struct filling filling = { .batch = batch, .only_one = count == 1 };
    struct sym_module *module = batch->objects->items[object]->module;
    struct sym_error error;
    enum sym_status status;

    status = next ? sym_module_resolve_next(module, vaddrs, count, numbers, next, keep_answer,
                                            &filling, &error)
                  : sym_module_resolve_batch(module, vaddrs, count, numbers, keep_answer, &filling,
                                             &error);
    if (filling.overflow)
        return false;
    if (status != SYM_OK) {
        cli_error("%s: %s", batch->objects->items[object]->name, error.message);
        exit(CLI_ENVIRONMENT);
    }
    objects_report(batch->objects, object);
    return true;
}

static bool has_module(const struct batch *batch, size_t request)
{
    uint32_t object = batch->objects_of[request];

    return object < batch->objects->count && batch->objects->items[object]->module != NULL;
}

/* ---- All objects ---- */

static int compare_objects(const void *a, const void *b, void *context)
{
    const struct batch *batch = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    if (batch->objects_of[left] != batch->objects_of[right])
        return batch->objects_of[left] < batch->objects_of[right] ? -1 : 1;
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
    }
    for (size_t i = first; i < limit; i++) {
        if (has_module(batch, i))
            gathered->requests[count++] = (uint32_t)i;
        else if (batch->objects_of[i] != OBJECT_ECHO)
            batch->answers[i] = 0;
    }
    qsort_r(gathered->requests, count, sizeof *gathered->requests, compare_objects, batch);
    for (size_t i = 0; i < count; i++)
        gathered->vaddrs[i] = batch->vaddrs[gathered->requests[i]];
    return count;
}

/* False: the answers of [first, limit) do not fit.  */
static bool resolve_mixed(struct batch *batch, size_t first, size_t limit)
{
    struct gathered *gathered = &batch->gathered;
    size_t count = gather(batch, first, limit), next;

    batch_forget(batch);
    add_answer(batch, NULL, 0); /* number 0: what is not looked up */
    for (size_t group = 0; group < count; group = next) {
        uint32_t object = batch->objects_of[gathered->requests[group]];
        uint32_t before = batch->answer_count;

        next = group + 1;
        while (next < count && batch->objects_of[gathered->requests[next]] == object)
            next++;
        if (!resolve_object(batch, object, gathered->vaddrs + group, next - group,
                            gathered->numbers + group, NULL))
            return false;
        for (size_t i = group; i < next; i++)
            batch->answers[gathered->requests[i]] = before + gathered->numbers[i];
    }
    return true;
}

/* All of them are about one object.  What was told about it before need not be told again.  */
static bool resolve_same(struct batch *batch, uint32_t object, size_t first, size_t limit)
{
    if (batch->kept_object != object || batch->text.length > ANSWER_BYTES_KEPT ||
        batch->answer_count > ANSWERS_KEPT)
        batch_forget(batch);
    bool kept = batch->answer_count > 0;
    uint32_t next = batch->answer_count;
    if (resolve_object(batch, object, batch->vaddrs + first, limit - first, batch->answers + first,
                       &next)) {
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
