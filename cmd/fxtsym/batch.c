/* Requests in, answers out, in the order they came: the library wants all addresses of an object at
 * once, in any order.  */
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtsym/fxtsym.h"

struct answer_place {
    size_t offset, length; /* in answers */
};

/* ---- Buffers ---- */

char *buffer_room(struct buffer *buffer, size_t size)
{
    if (size > buffer->capacity - buffer->length) {
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
                             .context = context };
    /* Untouched pages cost nothing: a reader that asks for one address needs one of each.  */
    batch->requests = cli_allocate(REQUESTS_MAX, sizeof *batch->requests);
    batch->places = cli_allocate(REQUESTS_MAX + 1, sizeof *batch->places);
    batch->vaddrs = cli_allocate(REQUESTS_MAX, sizeof *batch->vaddrs);
    batch->indexes = cli_allocate(REQUESTS_MAX, sizeof *batch->indexes);
    batch->numbers = cli_allocate(REQUESTS_MAX, sizeof *batch->numbers);
}

void batch_close(struct batch *batch)
{
    free(batch->requests);
    free(batch->places);
    free(batch->vaddrs);
    free(batch->indexes);
    free(batch->numbers);
    free(batch->echoes.bytes);
    free(batch->answers.bytes);
}

void batch_add(struct batch *batch, uint64_t vaddr, uint32_t object)
{
    batch->requests[batch->count++] = (struct request){ .vaddr = vaddr, .object = object };
}

void batch_add_echo(struct batch *batch, const char *text, size_t length)
{
    batch->requests[batch->count++] = (struct request){ .vaddr = batch->echoes.length,
                                                        .object = OBJECT_ECHO,
                                                        .length = (uint32_t)length };
    buffer_add(&batch->echoes, text, length);
}

/* ---- Answers of one object ---- */

struct filling {
    struct batch *batch;
    bool overflow; /* the answers take too much room together */
    bool only_one; /* and there is no smaller batch */
};

static uint32_t add_answer(struct batch *batch, const struct sym_frame *frames, size_t count)
{
    size_t offset = batch->answers.length;

    batch->append(batch->settings, &batch->answers, frames, count);
    batch->places[batch->place_count] =
        (struct answer_place){ .offset = offset, .length = batch->answers.length - offset };
    return batch->place_count++;
}

/* Each answer comes once, with the next number.  */
static bool keep_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct filling *filling = context;

    (void)index;
    if (filling->batch->answers.length > ANSWER_BYTES_MAX && !filling->only_one) {
        filling->overflow = true;
        return false;
    }
    (void)add_answer(filling->batch, frames, count);
    return true;
}

/* The addresses [first, limit) of those that were gathered.  False: the answers do not fit.  */
static bool resolve_object(struct batch *batch, uint32_t object, size_t first, size_t limit,
                           bool only_one)
{
    struct filling filling = { .batch = batch, .only_one = only_one };
    struct sym_module *module = batch->objects->items[object]->module;
    uint32_t base = batch->place_count;
    struct sym_error error;
    enum sym_status status;

    status = sym_module_resolve_batch(module, batch->vaddrs + first, limit - first,
                                      batch->numbers + first, keep_answer, &filling, &error);
    if (filling.overflow)
        return false;
    if (status != SYM_OK) {
        cli_error("%s: %s", batch->objects->items[object]->name, error.message);
        exit(CLI_ENVIRONMENT);
    }
    for (size_t i = first; i < limit; i++)
        batch->requests[batch->indexes[i]].answer = base + batch->numbers[i];
    objects_report(batch->objects, object);
    return true;
}

/* ---- All objects ---- */

static bool has_module(const struct batch *batch, const struct request *request)
{
    return request->object < batch->objects->count &&
           batch->objects->items[request->object]->module != NULL;
}

static int compare_objects(const void *a, const void *b, void *context)
{
    const struct batch *batch = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    uint32_t left_object = batch->requests[left].object;
    uint32_t right_object = batch->requests[right].object;

    if (left_object != right_object)
        return left_object < right_object ? -1 : 1;
    return (left > right) - (left < right);
}

/* The requests [first, limit) that are to be looked up to batch->indexes, those of one object
 * together, and their addresses beside them; how many there are.  */
static size_t gather(struct batch *batch, size_t first, size_t limit)
{
    size_t count = 0;
    bool sorted = true; /* nearly always: there is one object */

    for (size_t i = first; i < limit; i++) {
        if (!has_module(batch, &batch->requests[i]))
            continue;
        if (count && batch->requests[i].object < batch->requests[batch->indexes[count - 1]].object)
            sorted = false;
        batch->indexes[count++] = (uint32_t)i;
    }
    if (!sorted)
        qsort_r(batch->indexes, count, sizeof *batch->indexes, compare_objects, batch);
    for (size_t i = 0; i < count; i++)
        batch->vaddrs[i] = batch->requests[batch->indexes[i]].vaddr;
    return count;
}

/* False: the answers of [first, limit) do not fit.  */
static bool resolve(struct batch *batch, size_t first, size_t limit)
{
    size_t count = gather(batch, first, limit), group = 0;

    batch->answers.length = batch->place_count = 0;
    (void)add_answer(batch, NULL, 0); /* number 0: what is not looked up */
    while (group < count) {
        uint32_t object = batch->requests[batch->indexes[group]].object;
        size_t end = group;

        while (end < count && batch->requests[batch->indexes[end]].object == object)
            end++;
        if (!resolve_object(batch, object, group, end, limit - first == 1))
            return false;
        group = end;
    }
    return true;
}

static void run_range(struct batch *batch, size_t first, size_t limit)
{
    if (!resolve(batch, first, limit)) {
        size_t middle = first + (limit - first) / 2;

        run_range(batch, first, middle);
        run_range(batch, middle, limit);
        return;
    }
    for (size_t i = first; i < limit; i++) {
        const struct request *request = &batch->requests[i];
        const struct answer_place *place;

        if (request->object == OBJECT_ECHO) {
            batch->print(batch->context, batch, request, batch->echoes.bytes + request->vaddr,
                         request->length);
            continue;
        }
        place = &batch->places[request->answer];
        batch->print(batch->context, batch, request, batch->answers.bytes + place->offset,
                     place->length);
    }
}

void batch_run(struct batch *batch)
{
    if (batch->count)
        run_range(batch, 0, batch->count);
    batch->count = 0;
    batch->echoes.length = 0;
}
