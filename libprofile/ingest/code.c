/* code.c - names of code that is in no file: what runtimes that compile while they run say of it.
 *
 * Captures take them over from the map and dump files of perf (docs/capture.md): large blobs
 * fxt.capture/code_symbols of a process, lines "START SIZE NAME" with hexadecimal numbers.  A later
 * line replaces what an earlier one says of the same addresses.
 *
 * Of files that only the recorded device has, its recorder may know the functions: file_symbols are
 * the same lines, for addresses where such a file is mapped.  */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "libprofile/ingest/code.h"
#include "libprofile/ingest/entities.h"

#define MAX_SYMBOLS (1U << 22)
#define MAX_NAME    4096U /* bytes; what is longer is cut */
#define MAX_STEPS   64    /* back from the symbol that begins closest */

struct code_symbol {
    uint32_t process_id;
    uint32_t order; /* of the line */
    uint64_t start, last;
    profile_id name;
    bool is_file;
};

static int digit_of(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* A number of 1 to 16 digits and the blank that ends it.  */
static bool take_number(struct fxt_bytes *line, uint64_t *out)
{
    uint64_t count = 0;

    for (*out = 0; count < line->length && digit_of(line->bytes[count]) >= 0; count++)
        *out = *out << 4 | (uint64_t)digit_of(line->bytes[count]);
    if (count == 0 || count > 16 || count == line->length || line->bytes[count] != ' ')
        return false;
    line->bytes += count + 1;
    line->length -= count + 1;
    return true;
}

static enum profile_status add_line(struct profile_ingest *ingest, uint32_t process, bool is_file,
                                    struct fxt_bytes line, struct profile_error *error)
{
    struct ingest_code *code = ingest->code;
    struct code_symbol symbol = { .process_id = process,
                                  .order = (uint32_t)code->count,
                                  .is_file = is_file };
    enum profile_status status;
    uint64_t size;

    if (!take_number(&line, &symbol.start) || !take_number(&line, &size) || size == 0 ||
        line.length == 0 || __builtin_add_overflow(symbol.start, size - 1, &symbol.last) ||
        code->count == MAX_SYMBOLS) {
        ingest->notices.odd_code_symbols++;
        return PROFILE_OK;
    }
    if (line.length > MAX_NAME)
        line.length = MAX_NAME;
    status = profile_stacks_string(ingest->stacks, (const char *)line.bytes, (size_t)line.length,
                                   &symbol.name, error);
    if (status != PROFILE_OK)
        return status;
    if (!base_make_room(&code->items, &code->capacity, code->count + 1, sizeof *code->items))
        return profile_no_memory(error);
    code->items[code->count++] = symbol;
    code->has_files |= is_file;
    return PROFILE_OK;
}

enum profile_status ingest_code_symbols(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error)
{
    struct fxt_bytes rest = record->value.large_blob.payload;
    bool is_file = ingest_string_is(&record->name, "file_symbols");
    uint32_t process;
    enum profile_status status = ingest_process(ingest, record->thread.process, &process, error);

    if (status != PROFILE_OK || !ingest->processes[process - 1].chosen)
        return status;
    while (rest.length > 0 && status == PROFILE_OK) {
        const uint8_t *end = memchr(rest.bytes, '\n', (size_t)rest.length);
        struct fxt_bytes line = { .bytes = rest.bytes,
                                  .length = end ? (uint64_t)(end - rest.bytes) : rest.length };

        status = add_line(ingest, process, is_file, line, error);
        rest.bytes += line.length + (end != NULL);
        rest.length -= line.length + (end != NULL);
    }
    return status;
}

static int compare(const void *left, const void *right)
{
    const struct code_symbol *a = left, *b = right;

    if (a->process_id != b->process_id)
        return a->process_id < b->process_id ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

void ingest_code_sort(struct profile_ingest *ingest)
{
    if (ingest->code->count > 1)
        qsort(ingest->code->items, ingest->code->count, sizeof *ingest->code->items, compare);
}

profile_id ingest_code_find(const struct profile_ingest *ingest, uint32_t process, uint64_t address,
                            bool is_file)
{
    const struct code_symbol wanted = { .process_id = process,
                                        .start = address,
                                        .order = UINT32_MAX };
    const struct code_symbol *items = ingest->code->items, *best = NULL;
    size_t low = 0, high = ingest->code->count;

    BASE_BISECT(low, high, i, compare(&items[i], &wanted) <= 0);
    for (int steps = 0; low > 0 && steps < MAX_STEPS; low--, steps++) {
        const struct code_symbol *symbol = &items[low - 1];

        if (symbol->process_id != process)
            break;
        if (symbol->is_file == is_file && symbol->last >= address &&
            (!best || symbol->order > best->order))
            best = symbol;
    }
    return best ? best->name : 0;
}

void ingest_code_release(struct profile_ingest *ingest)
{
    free(ingest->code->items);
}
