/* Messages of fuchsia.memory.sampler: docs/formats/memory-sampler.md section 3, libfxt/fidl.
 *
 * - What decodes, encodes again (where it fits a channel), and decodes to the same members.
 * - A message that decodes is as long as fidl_message_length() says, and no shorter one decodes.
 * - Walking modules and segments stays inside the message and ends.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/fidl_sampler.h>
#include "tests/fuzz/support.h"

/* No module or segment takes less than a table's header.  */
#define MOST_TABLES(size) ((size) / 16 + 1)

struct sources {
    struct fidl_module_source *modules;
    struct fidl_segment *segments; /* of all modules */
    size_t module_count;
    size_t segment_count;
};

/* The modules and segments, as the encoder wants them.  */
static struct sources walk(const struct fidl_message *message, size_t size)
{
    struct sources sources = {
        .modules = fuzz_allocate(MOST_TABLES(size) * sizeof *sources.modules),
        .segments = fuzz_allocate(MOST_TABLES(size) * sizeof *sources.segments),
    };
    struct fidl_cursor modules = message->modules;
    struct fidl_module module;

    while (fidl_module_next(&modules, &module)) {
        struct fidl_module_source *source = &sources.modules[sources.module_count++];
        struct fidl_cursor segments = module.segments;

        HOLD(sources.module_count <= MOST_TABLES(size));
        HOLD(module.build_id_length <= FIDL_MAX_BUILD_ID);
        *source = (struct fidl_module_source){ .build_id = module.build_id,
                                               .build_id_length = module.build_id_length };
        if (segments.header)
            source->segments = sources.segments + sources.segment_count;
        while (fidl_segment_next(&segments, &sources.segments[sources.segment_count])) {
            sources.segment_count++;
            source->segment_count++;
            HOLD(sources.segment_count < MOST_TABLES(size));
        }
    }
    return sources;
}

static void sources_release(struct sources *sources)
{
    free(sources->modules);
    free(sources->segments);
}

static bool same_segment(const struct fidl_segment *one, const struct fidl_segment *other)
{
    return one->has_start_address == other->has_start_address && one->has_size == other->has_size &&
           one->has_relative_address == other->has_relative_address &&
           one->start_address == other->start_address && one->size == other->size &&
           one->relative_address == other->relative_address;
}

static bool same_build_id(const struct fidl_module_source *one,
                          const struct fidl_module_source *other)
{
    if (!one->build_id || !other->build_id)
        return one->build_id == other->build_id;
    return one->build_id_length == other->build_id_length &&
           memcmp(one->build_id, other->build_id, one->build_id_length) == 0;
}

static bool same_module(const struct fidl_module_source *one,
                        const struct fidl_module_source *other)
{
    if (!same_build_id(one, other) || one->segment_count != other->segment_count)
        return false;
    if (!one->segments || !other->segments)
        return one->segments == other->segments;
    for (size_t i = 0; i < one->segment_count; i++) {
        if (!same_segment(&one->segments[i], &other->segments[i]))
            return false;
    }
    return true;
}

/* The encoder cuts names to 31 bytes and ends them at a NUL.  */
static void check_name(const struct fidl_message *one, const struct fidl_message *other)
{
    HOLD(other->has_name == one->has_name);
    if (!one->has_name)
        return;
    HOLD(other->name_length <= one->name_length && other->name_length < FIDL_MAX_NAME);
    HOLD(memcmp(one->name, other->name, other->name_length) == 0);
    HOLD(other->name_length + 4 > one->name_length || one->name[other->name_length] == '\0');
}

static void check_process_info(const struct fidl_message *message, size_t size, uint8_t *buffer)
{
    struct sources sources = walk(message, size);
    struct sources again;
    struct fidl_message copy;
    char name[FIDL_MAX_NAME + 1] = { 0 };
    size_t length;

    if (message->has_name)
        memcpy(name, message->name, message->name_length);
    if (fidl_encode_process_info(message->generation, message->has_name ? name : NULL,
                                 message->has_modules ? sources.modules : NULL,
                                 sources.module_count, buffer, FIDL_MAX_MESSAGE,
                                 &length) == FIDL_OK) {
        HOLD(fidl_decode(buffer, length, &copy) == FIDL_OK);
        HOLD(copy.method == FIDL_SET_PROCESS_INFO && copy.generation == message->generation);
        HOLD(copy.has_modules == message->has_modules);
        check_name(message, &copy);
        again = walk(&copy, length);
        HOLD(again.module_count == sources.module_count);
        for (size_t i = 0; i < again.module_count; i++)
            HOLD(same_module(&sources.modules[i], &again.modules[i]));
        sources_release(&again);
    } else {
        HOLD(size > FIDL_MAX_MESSAGE / 2); /* nothing else keeps it from being encoded */
    }
    sources_release(&sources);
}

static void check_record(const struct fidl_message *message, uint8_t *buffer)
{
    uint64_t count = message->stack.count;
    uint64_t *stack = fuzz_allocate(8 * count);
    enum fidl_status status;
    struct fidl_message copy;
    size_t length;

    for (uint64_t i = 0; i < count; i++)
        stack[i] = fidl_word(message->stack, i);
    status = message->method == FIDL_RECORD_ALLOCATION
                 ? fidl_encode_allocation(message->generation, message->address, stack, count,
                                          message->size, buffer, FIDL_MAX_MESSAGE, &length)
                 : fidl_encode_deallocation(message->generation, message->address, stack, count,
                                            buffer, FIDL_MAX_MESSAGE, &length);
    free(stack);
    HOLD(status == (count > 8000 && status != FIDL_OK ? FIDL_NO_ROOM : FIDL_OK));
    if (status != FIDL_OK)
        return;
    HOLD(fidl_decode(buffer, length, &copy) == FIDL_OK);
    HOLD(copy.method == message->method && copy.generation == message->generation);
    HOLD(copy.has_address && copy.has_stack);
    HOLD(copy.has_size == (message->method == FIDL_RECORD_ALLOCATION));
    HOLD(copy.address == message->address && copy.size == message->size);
    HOLD(copy.stack.count == count);
    HOLD(count == 0 || memcmp(copy.stack.bytes, message->stack.bytes, 8 * count) == 0);
}

static void check_length(const uint8_t *data, size_t size, enum fidl_status decoded)
{
    struct fidl_message message;
    size_t length = 0;
    enum fidl_status status = fidl_message_length(data, size, &length);

    if (status == FIDL_OK)
        HOLD(length <= size && fidl_decode(data, length, &message) == FIDL_OK);
    if (status == FIDL_OK && length < size)
        HOLD(decoded == FIDL_TRAILING_BYTES);
    if (decoded == FIDL_OK) {
        HOLD(status == FIDL_OK && length == size);
        HOLD(fidl_decode(data, size - 1, &message) != FIDL_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t buffer[FIDL_MAX_MESSAGE];
    struct fidl_message message;
    enum fidl_status status = fidl_decode(data, size, &message);

    HOLD(status != FIDL_NO_ROOM && fidl_status_phrase(status) != NULL);
    check_length(data, size, status);
    if (status != FIDL_OK)
        return 0;
    if (message.method == FIDL_SET_PROCESS_INFO)
        check_process_info(&message, size, buffer);
    else
        check_record(&message, buffer);
    return 0;
}
