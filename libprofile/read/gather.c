/* gather.c - tables and samples, and the calls of a sink.  */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "libprofile/read/gather.h"

#define INDEX_BYTES 16 /* of an index, for each of its keys */

void gather_open(struct gather *gather, struct fxt_input *input,
                 const struct profile_read_options *options, struct profile_error *error)
{
    *gather = (struct gather){ .options = read_options(options), .error = error };
    source_open(&gather->source, input, &gather->options, error);
    spool_open(&gather->spool, gather->options.temporary_dir, gather->options.sample_bytes);
    gather->bytes_left = gather->options.table_bytes;
    (void)gather_string(gather, "", 0);
}

void gather_release(struct gather *gather)
{
    source_release(&gather->source);
    spool_release(&gather->spool);
    base_texts_release(&gather->strings);
    base_pairs_release(&gather->functions);
    base_pairs_release(&gather->places);
    base_pairs_release(&gather->location_keys);
    free(gather->mappings);
    free(gather->locations);
    free(gather->lines);
    free(gather->stack);
    free(gather->labels);
}

static void fail(struct gather *gather, enum profile_status status)
{
    if (gather->status == PROFILE_OK)
        gather->status = status;
}

/* A failure that came before keeps its message.  */
static void fail_memory(struct gather *gather)
{
    if (gather->status == PROFILE_OK)
        gather->status = profile_no_memory(gather->error);
}

/* Count bytes that the tables take.  False: they are too many, or there was a failure before.  */
static bool charge(struct gather *gather, size_t bytes)
{
    if (gather->status != PROFILE_OK)
        return false;
    if (bytes > gather->bytes_left) {
        gather->status = fail_tables(gather->error, gather->options.table_bytes);
        return false;
    }
    gather->bytes_left -= bytes;
    return true;
}

/* Room for count items, within the limit of the tables.  */
static void *grow(struct gather *gather, void *items, size_t *capacity, size_t count, size_t size)
{
    size_t before = *capacity;
    void *bigger;

    if (gather->status != PROFILE_OK)
        return NULL;
    bigger = base_grow(items, capacity, count, size);
    if (!bigger)
        fail_memory(gather);
    else
        (void)charge(gather, (*capacity - before) * size);
    return bigger;
}

/* ---- Lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool gather_line(struct gather *gather, const char **line, size_t *length)
{
    while (gather->status == PROFILE_OK) {
        gather->line_offset = gather->source.offset;
        if (!source_line(&gather->source, gather->options.entry_bytes, line, length)) {
            fail(gather, gather->source.status);
            return false;
        }
        if (*line)
            break;
        gather_long_line(gather);
    }
    if (gather->status != PROFILE_OK)
        return false;
    while (*length > 0 && is_blank((*line)[*length - 1]))
        --*length;
    while (*length > 0 && is_blank(**line)) {
        ++*line;
        --*length;
    }
    return true;
}

void gather_bad_line(struct gather *gather)
{
    note_damage(&gather->notices, gather->line_offset);
    gather->notices.bad_entries++;
}

void gather_long_line(struct gather *gather)
{
    note_damage(&gather->notices, gather->line_offset);
    gather->notices.long_entries++;
}

/* ---- Tables ---- */

uint32_t gather_string(struct gather *gather, const char *bytes, size_t length)
{
    bool is_new = false;
    uint32_t number = gather->status == PROFILE_OK
                          ? base_texts_add(&gather->strings, bytes, length, &is_new)
                          : 0;

    if (number == 0)
        fail_memory(gather);
    else if (is_new)
        (void)charge(gather, length + 1 + sizeof *gather->strings.items + INDEX_BYTES);
    return number ? number - 1 : 0;
}

uint32_t gather_word(struct gather *gather, const char *word)
{
    return gather_string(gather, word, strlen(word));
}

size_t gather_type(struct gather *gather, const char *type, size_t length, const char *unit)
{
    const struct profile_pprof_type wanted = { gather_string(gather, type, length),
                                               gather_word(gather, unit) };

    for (size_t i = 0; i < gather->type_count; i++)
        if (gather->types[i].type == wanted.type && gather->types[i].unit == wanted.unit)
            return i;
    if (gather->type_count == GATHER_TYPES_MAX)
        return SIZE_MAX;
    gather->types[gather->type_count] = wanted;
    return gather->type_count++;
}

uint32_t gather_mapping(struct gather *gather, const struct profile_pprof_mapping *mapping)
{
    void *items = grow(gather, gather->mappings, &gather->mapping_capacity,
                       gather->mapping_count + 1, sizeof *gather->mappings);

    if (items)
        gather->mappings = items;
    if (!items || gather->status != PROFILE_OK)
        return 0;
    gather->mappings[gather->mapping_count++] = *mapping;
    return (uint32_t)gather->mapping_count;
}

static uint32_t add_pair(struct gather *gather, struct base_pairs *pairs, uint64_t a, uint64_t b,
                         bool *is_new)
{
    bool is_added = false;
    uint32_t number = gather->status == PROFILE_OK ? base_pairs_add(pairs, a, b, &is_added) : 0;

    if (number == 0)
        fail_memory(gather);
    else if (is_added && !charge(gather, sizeof *pairs->items + INDEX_BYTES))
        number = 0;
    if (is_new)
        *is_new = is_added;
    return number;
}

uint32_t gather_function(struct gather *gather, uint32_t name, uint32_t file)
{
    return add_pair(gather, &gather->functions, name, file, NULL);
}

void gather_name(struct gather *gather, uint32_t location, uint32_t function, int64_t line)
{
    struct gather_location *to = location ? &gather->locations[location - 1] : NULL;
    void *items = grow(gather, gather->lines, &gather->line_capacity, gather->line_count + 1,
                       sizeof *gather->lines);

    if (items)
        gather->lines = items;
    if (!items || !to || gather->status != PROFILE_OK)
        return;
    if (to->line_count == 0)
        to->first_line = (uint32_t)gather->line_count;
    if (to->first_line + to->line_count != gather->line_count)
        return; /* it was named before */
    gather->lines[gather->line_count++] = (struct profile_pprof_line){ .function = function,
                                                                       .line = line };
    to->line_count++;
}

/* The location of a key; what is new has an address and a mapping only.  */
static uint32_t add_location(struct gather *gather, uint64_t address, uint32_t mapping,
                             uint32_t place, bool *is_new)
{
    uint64_t where = (uint64_t)mapping << 32 | place;
    uint32_t number;
    void *items;

    *is_new = false;
    number = add_pair(gather, &gather->location_keys, address, where, is_new);
    if (!number || !*is_new)
        return number;
    items = grow(gather, gather->locations, &gather->location_capacity, number,
                 sizeof *gather->locations);
    if (items)
        gather->locations = items;
    if (!items || gather->status != PROFILE_OK)
        return 0;
    gather->locations[number - 1] = (struct gather_location){ .address = address,
                                                              .mapping = mapping };
    gather->location_count = number;
    return number;
}

uint32_t gather_address(struct gather *gather, uint64_t address)
{
    bool is_new;

    return add_location(gather, address, 0, 0, &is_new);
}

uint32_t gather_place(struct gather *gather, uint32_t mapping, uint64_t address, uint32_t function,
                      int64_t line)
{
    uint32_t place = add_pair(gather, &gather->places, function, (uint64_t)line, NULL), location;
    bool is_new;

    location = add_location(gather, address, mapping, place, &is_new);
    if (location && is_new)
        gather_name(gather, location, function, line);
    return location;
}

/* ---- Samples ---- */

void gather_begin(struct gather *gather)
{
    gather->stack_count = gather->label_count = 0;
    memset(gather->values, 0, sizeof gather->values);
}

void gather_push(struct gather *gather, uint32_t location)
{
    if (gather->status == PROFILE_OK && location &&
        base_make_room(&gather->stack, &gather->stack_capacity, gather->stack_count + 1,
                       sizeof *gather->stack))
        gather->stack[gather->stack_count++] = location;
    else
        fail_memory(gather);
}

void gather_label(struct gather *gather, const char *key, uint32_t string, int64_t number,
                  const char *unit)
{
    const struct profile_pprof_label label = { .key = gather_word(gather, key),
                                               .str = string,
                                               .num = number,
                                               .num_unit = gather_word(gather, unit) };

    if (gather->status == PROFILE_OK &&
        base_make_room(&gather->labels, &gather->label_capacity, gather->label_count + 1,
                       sizeof *gather->labels))
        gather->labels[gather->label_count++] = label;
    else
        fail_memory(gather);
}

/* A sample in the spool: this, the labels, the values, the locations.  */
struct packed {
    uint32_t location_count, label_count, value_count, unused;
};

void gather_end(struct gather *gather)
{
    const struct packed head = { (uint32_t)gather->stack_count, (uint32_t)gather->label_count,
                                 (uint32_t)gather->type_count, 0 };
    const size_t labels = head.label_count * sizeof *gather->labels;
    const size_t values = head.value_count * sizeof *gather->values;
    const size_t stack = head.location_count * sizeof *gather->stack;
    char *bytes;

    if (gather->status != PROFILE_OK)
        return;
    if (stack > UINT32_MAX / 4 || labels > UINT32_MAX / 4) {
        gather_long_line(gather);
        return;
    }
    bytes = malloc(sizeof head + labels + values + stack);
    if (!bytes) {
        fail_memory(gather);
        return;
    }
    memcpy(bytes, &head, sizeof head);
    if (labels)
        memcpy(bytes + sizeof head, gather->labels, labels);
    memcpy(bytes + sizeof head + labels, gather->values, values);
    if (stack)
        memcpy(bytes + sizeof head + labels + values, gather->stack, stack);
    fail(gather,
         spool_add(&gather->spool, bytes, sizeof head + labels + values + stack, gather->error));
    free(bytes);
}

/* ---- To the sink ---- */

struct range {
    uint64_t start, limit;
    uint32_t mapping;
};

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->mapping > y->mapping) - (x->mapping < y->mapping);
}

/* The mapping of the last range that begins at the address or before it, if it goes so far.  */
static uint32_t find_range(const struct range *ranges, size_t count, uint64_t address)
{
    size_t low = 0, high = count;

    BASE_BISECT(low, high, i, ranges[i].start <= address);
    return low > 0 && address < ranges[low - 1].limit ? ranges[low - 1].mapping : 0;
}

/* The mapping around each address that has none.  */
static enum profile_status find_mappings(struct gather *gather)
{
    size_t count = gather->mapping_count;
    struct range *ranges = calloc(count + 1, sizeof *ranges);

    if (!ranges)
        return profile_no_memory(gather->error);
    for (size_t i = 0; i < count; i++)
        ranges[i] = (struct range){ gather->mappings[i].start, gather->mappings[i].limit,
                                    (uint32_t)i + 1 };
    qsort(ranges, count, sizeof *ranges, compare_ranges);
    for (size_t i = 0; i < gather->location_count; i++)
        if (!gather->locations[i].mapping)
            gather->locations[i].mapping = find_range(ranges, count, gather->locations[i].address);
    free(ranges);
    return PROFILE_OK;
}

static enum profile_status emit_strings(struct gather *gather,
                                        const struct profile_pprof_sink *sink,
                                        struct profile_text **out)
{
    size_t count = gather->strings.count;
    struct profile_text *strings = calloc(count, sizeof *strings);

    *out = strings;
    if (!strings)
        return profile_no_memory(gather->error);
    for (size_t i = 0; i < count; i++)
        strings[i].bytes = base_texts_get(&gather->strings, (uint32_t)i + 1, &strings[i].length);
    return sink->strings ? sink->strings(sink->context, strings, count) : PROFILE_OK;
}

static enum profile_status emit_header(struct gather *gather, const struct profile_pprof_sink *sink)
{
    struct profile_pprof_header *header = &gather->header;

    header->types = gather->types;
    header->type_count = gather->type_count;
    header->mapping_count = gather->mapping_count;
    header->function_count = gather->functions.count;
    header->location_count = gather->location_count;
    header->sample_count = gather->spool.count;
    return sink->header ? sink->header(sink->context, header) : PROFILE_OK;
}

static enum profile_status emit_mappings(struct gather *gather,
                                         const struct profile_pprof_sink *sink)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < gather->mapping_count && status == PROFILE_OK && sink->mapping; i++) {
        gather->mappings[i].id = i + 1;
        status = sink->mapping(sink->context, &gather->mappings[i]);
    }
    return status;
}

static enum profile_status emit_functions(struct gather *gather,
                                          const struct profile_pprof_sink *sink)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < gather->functions.count && status == PROFILE_OK && sink->function; i++) {
        const struct base_pair *pair = &gather->functions.items[i];
        const struct profile_pprof_function function = { .id = i + 1,
                                                         .name = (uint32_t)pair->a,
                                                         .system_name = (uint32_t)pair->a,
                                                         .filename = (uint32_t)pair->b };

        status = sink->function(sink->context, &function);
    }
    return status;
}

static enum profile_status emit_locations(struct gather *gather,
                                          const struct profile_pprof_sink *sink)
{
    enum profile_status status = PROFILE_OK;

    for (size_t i = 0; i < gather->location_count && status == PROFILE_OK && sink->location; i++) {
        const struct gather_location *from = &gather->locations[i];
        const struct profile_pprof_location location = {
            .id = i + 1,
            .mapping = from->mapping,
            .address = from->address,
            .lines = gather->lines ? gather->lines + from->first_line : NULL,
            .line_count = from->line_count,
        };

        status = sink->location(sink->context, &location);
    }
    return status;
}

/* bytes is what gather_end() packed.  Types that came later are 0.  */
static enum profile_status emit_sample(struct gather *gather, const uint8_t *bytes,
                                       const struct profile_pprof_sink *sink)
{
    struct packed head;
    struct profile_pprof_sample sample = { .values = gather->values,
                                           .value_count = gather->type_count };

    memcpy(&head, bytes, sizeof head);
    bytes += sizeof head;
    gather_begin(gather);
    if (head.label_count)
        memcpy(gather->labels, bytes, head.label_count * sizeof *gather->labels);
    bytes += head.label_count * sizeof *gather->labels;
    memcpy(gather->values, bytes, head.value_count * sizeof *gather->values);
    bytes += head.value_count * sizeof *gather->values;
    if (head.location_count)
        memcpy(gather->stack, bytes, head.location_count * sizeof *gather->stack);
    sample.labels = gather->labels;
    sample.label_count = head.label_count;
    sample.locations = gather->stack;
    sample.location_count = head.location_count;
    if (gather->adjust)
        gather->adjust(gather, &sample, gather->stack);
    return sink->sample ? sink->sample(sink->context, &sample) : PROFILE_OK;
}

static enum profile_status emit_samples(struct gather *gather,
                                        const struct profile_pprof_sink *sink)
{
    enum profile_status status = PROFILE_OK;
    const uint8_t *bytes;
    size_t length;

    while (status == PROFILE_OK &&
           (status = spool_next(&gather->spool, &bytes, &length, gather->error)) == PROFILE_OK &&
           bytes)
        status = emit_sample(gather, bytes, sink);
    return status;
}

enum profile_status gather_emit(struct gather *gather, const struct profile_pprof_sink *sink)
{
    struct profile_text *strings = NULL;
    enum profile_status status = gather->status;

    if (status == PROFILE_OK)
        status = find_mappings(gather);
    if (status == PROFILE_OK)
        status = emit_strings(gather, sink, &strings);
    if (status == PROFILE_OK)
        status = emit_header(gather, sink);
    if (status == PROFILE_OK)
        status = emit_mappings(gather, sink);
    if (status == PROFILE_OK)
        status = emit_functions(gather, sink);
    if (status == PROFILE_OK)
        status = emit_locations(gather, sink);
    if (status == PROFILE_OK)
        status = emit_samples(gather, sink);
    free(strings);
    return status;
}
