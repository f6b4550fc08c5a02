/* copies.c - registers and copies of stacks, unwound at the end of the trace.
 *
 * Fuchsia's profiler writes the registers of a thread and pieces of its memory, which begin with
 * the size of the registers (docs/formats/unwind.md section 3).  Modules come last, so the copies
 * wait in a temporary file.  */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/unwind.h>
#include "base/file.h"
#include "libprofile/ingest/copies.h"
#include "libprofile/ingest/maps.h"
#include "libprofile/ingest/samples.h"

enum {
    MAX_FRAMES = 512,
    MAX_COPY = 1 << 20, /* bytes of one copy: Fuchsia writes up to 33 KiB */
};
#define MAX_TABLE_BYTES ((size_t)1 << 30) /* of all modules; further ones have no table */

/* What precedes each copy in the temporary file.  */
struct copy_head {
    struct sample_place place;
    uint64_t size; /* of the copy */
};

struct module_table {
    bool is_known;
    struct sym_module *symbols; /* NULL: not found */
    struct unwind_table *table; /* NULL: none */
    uint64_t cuts;              /* stacks that ended early in it */
};

struct ingest_copies {
    int file; /* -1: nothing was written */
    uint64_t end;
    struct unwind_walker *walker;
    struct module_table *tables; /* by module - 1 */
    uint64_t nowhere;            /* stacks that ended early in no module */
    size_t table_count;
    size_t table_bytes;
    struct map_replay *replays; /* by process - 1 */
    size_t replay_count;
};

/* One copy while it is unwound.  */
struct copy {
    struct unwind_registers registers;
    size_t registers_size; /* as Zircon has them */
    struct unwind_piece pieces[FXT_STACK_PIECES];
    size_t count;
    bool is_damaged; /* further pieces cannot be read */
};

/* ---- The bytes of a copy ---- */

/* False: it has no registers of a known machine; *status says why.  */
static bool read_copy(struct fxt_bytes payload, struct copy *out, enum unwind_status *status)
{
    struct fxt_stack_sample sample;

    fxt_stack_sample_read(payload, &sample);
    out->is_damaged = sample.is_damaged;
    out->registers_size = (size_t)sample.registers.length;
    out->count = sample.piece_count;
    for (size_t i = 0; i < out->count; i++)
        out->pieces[i] = (struct unwind_piece){ .address = sample.pieces[i].address,
                                                .bytes = sample.pieces[i].bytes.bytes,
                                                .size = (size_t)sample.pieces[i].bytes.length };
    *status = unwind_registers_from_zircon(sample.registers.bytes, out->registers_size,
                                           &out->registers);
    return *status == UNWIND_OK;
}

/* ---- Keeping copies ---- */

static struct ingest_copies *copies_of(struct profile_ingest *ingest)
{
    if (ingest->copies)
        return ingest->copies;
    ingest->copies = calloc(1, sizeof *ingest->copies);
    if (ingest->copies)
        ingest->copies->file = -1;
    return ingest->copies;
}

static enum profile_status keep(struct profile_ingest *ingest, const struct copy_head *head,
                                const uint8_t *bytes, struct profile_error *error)
{
    struct ingest_copies *copies = copies_of(ingest);
    int failure;

    if (!copies)
        return profile_no_memory(error);
    if (copies->file < 0)
        copies->file = base_temporary_file(ingest->temporary_dir);
    if (copies->file < 0)
        return profile_fail_base(error, errno, "a temporary file");
    failure = base_write_all(copies->file, head, sizeof *head);
    if (failure == 0)
        failure = base_write_all(copies->file, bytes, (size_t)head->size);
    if (failure)
        return profile_fail_base(error, failure, "a temporary file");
    copies->end += sizeof *head + head->size;
    return PROFILE_OK;
}

enum profile_status ingest_copy_take(struct profile_ingest *ingest, const struct fxt_record *record,
                                     struct profile_error *error)
{
    struct fxt_bytes payload = record->value.large_blob.payload;
    struct copy_head head = { .size = payload.length };
    struct copy copy;
    enum unwind_status readable;
    enum profile_status status;
    bool wanted;

    if (!ingest->options.session) {
        ingest->notices.stack_captures++;
        return PROFILE_OK;
    }
    if (payload.length > MAX_COPY) {
        ingest->notices.bad_copies++;
        return PROFILE_OK;
    }
    if (!read_copy(payload, &copy, &readable)) {
        *(readable == UNWIND_UNSUPPORTED ? &ingest->notices.copies_of_32_bit
                                         : &ingest->notices.bad_copies) += 1;
        return PROFILE_OK;
    }
    ingest->notices.cut_copies += copy.is_damaged;
    status = ingest_sample_place(ingest, record, &head.place, &wanted, error);
    if (status != PROFILE_OK || !wanted)
        return status;
    return keep(ingest, &head, payload.bytes, error);
}

/* ---- Code ---- */

static void find_files(struct profile_ingest *ingest, profile_id id, struct module_table *out)
{
    struct ingest_copies *copies = ingest->copies;
    struct profile_module module = profile_stacks_get_module(ingest->stacks, id);
    const struct sym_module_key key = { .build_id = module.build_id,
                                        .build_id_length = module.build_id_length,
                                        .path = profile_stacks_text(ingest->stacks, module.name,
                                                                    NULL) };
    const struct sym_report *report;

    out->is_known = true;
    if ((key.build_id_length == 0 && !key.path[0]) ||
        sym_session_module(ingest->options.session, &key, &out->symbols, NULL) != SYM_OK ||
        copies->table_bytes > MAX_TABLE_BYTES)
        return;
    report = sym_module_report(out->symbols);
    if (unwind_table_open_path(report->code_path, report->debug_path, &out->table, NULL) ==
        UNWIND_OK)
        copies->table_bytes += unwind_table_report(out->table)->memory_bytes;
}

/* The code around addresses of one copy.  */
struct finder {
    struct profile_ingest *ingest;
    const struct map_replay *map;
};

/* 0: no module.  */
static profile_id module_at(const struct finder *finder, uint64_t address,
                            const struct map_segment **segment)
{
    profile_id id = 0;

    *segment = map_replay_find(finder->map, address);
    if (*segment)
        id = ingest_map_module_of(finder->ingest, *segment);
    return id <= finder->ingest->copies->table_count ? id : 0;
}

/* The module around an address, its files looked for once; NULL: none.  */
static const struct module_table *files_at(const struct finder *finder, uint64_t address,
                                           const struct map_segment **segment)
{
    profile_id id = module_at(finder, address, segment);
    struct module_table *module;

    if (id == 0)
        return NULL;
    module = &finder->ingest->copies->tables[id - 1];
    if (!module->is_known)
        find_files(finder->ingest, id, module);
    return module;
}

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    const struct map_segment *segment;
    const struct module_table *module = files_at(context, address, &segment);

    if (!module)
        return;
    *out = (struct unwind_place){ .kind = UNWIND_PLACE_OBJECT,
                                  .table = module->table,
                                  .start = segment->start,
                                  .limit = segment->last + (segment->last < UINT64_MAX),
                                  .bias = segment->start - segment->vaddr };
}

/* From the file of the module.  */
static size_t read_code(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct map_segment *segment;
    const struct module_table *module = files_at(context, address, &segment);
    uint64_t after;
    size_t count = 0;

    if (!module || !module->symbols)
        return 0;
    after = segment->last - address;
    if (after < size)
        size = (size_t)after + 1;
    (void)sym_module_code(module->symbols, segment->vaddr + (address - segment->start), bytes, size,
                          &count, NULL);
    return count;
}

/* ---- Stacks ---- */

struct found_stack {
    uint64_t addresses[MAX_FRAMES], pointers[MAX_FRAMES];
    uint8_t found[MAX_FRAMES];
    size_t count;
    enum unwind_end end;
    uint64_t last;                 /* the lookup address of the outermost frame */
    uint8_t words[8 * MAX_FRAMES]; /* little-endian, as the words of a record */
};

/* Append the frames of registers.  Exact addresses of callers have 1 added, for a sample takes 1
 * from all but the first.  */
static enum profile_status walk(struct finder *finder, const struct unwind_registers *registers,
                                const struct copy *copy, struct found_stack *out,
                                struct profile_error *error)
{
    const struct unwind_memory memory = { copy->pieces, copy->count };
    const struct unwind_map map = { .find = find, .context = finder, .read_code = read_code };
    size_t first = out->count;
    struct unwind_stack stack = { .addresses = out->addresses + first,
                                  .pointers = out->pointers + first,
                                  .found = out->found + first,
                                  .capacity = MAX_FRAMES - first };

    if (stack.capacity == 0)
        return PROFILE_OK;
    if (unwind_walk(finder->ingest->copies->walker, registers, &memory, &map, &stack) ==
        UNWIND_NO_MEMORY)
        return profile_no_memory(error);
    if (stack.count > 0)
        out->last = unwind_lookup_address(&stack, stack.count - 1);
    for (size_t i = 0; i < stack.count; i++)
        if (first + i > 0 && unwind_is_exact(&stack, i))
            stack.addresses[i]++;
    out->count += stack.count;
    out->end = stack.end;
    return PROFILE_OK;
}

static bool is_within(const struct unwind_piece *piece, uint64_t address)
{
    return address - piece->address < piece->size;
}

/* A thread that runs guest code in restricted mode has the registers of the guest in a piece, and
 * the guest's stack in the next.  While the thread is in normal mode, it works for the guest, which
 * has called it: guest frames are its callers.  False: the registers are the guest's own, or unwind
 * tables have led to its stack, or there is no guest.  */
static bool find_guest(const struct copy *copy, const struct found_stack *stack,
                       struct unwind_registers *out)
{
    const struct unwind_piece *guest = NULL;

    for (size_t i = 1; i + 1 < copy->count && !guest; i++)
        if (copy->pieces[i].size == copy->registers_size &&
            unwind_registers_from_restricted(copy->pieces[i].bytes, copy->pieces[i].size, out) ==
                UNWIND_OK &&
            unwind_stack_pointer(out) == copy->pieces[i + 1].address)
            guest = &copy->pieces[i + 1];
    if (!guest || out->pc == 0)
        return false;
    for (size_t i = 0; i < stack->count; i++)
        if (is_within(guest, stack->pointers[i]))
            return false;
    return true;
}

/* A stack that ended early at this address.  */
static void count_cut(const struct finder *finder, uint64_t address)
{
    struct ingest_copies *copies = finder->ingest->copies;
    const struct map_segment *segment;
    profile_id id = module_at(finder, address, &segment);

    *(id ? &copies->tables[id - 1].cuts : &copies->nowhere) += 1;
}

static void count_end(const struct finder *finder, const struct found_stack *stack)
{
    struct profile_notices *notices = &finder->ingest->notices;

    switch (stack->end) {
    case UNWIND_END_COMPLETE:
    case UNWIND_END_NO_ROOM: /* a truncated stack */
        return;
    case UNWIND_END_NO_STACK:
        notices->short_copies++;
        return;
    case UNWIND_END_NO_TABLE:
        notices->untabled_copies++;
        break;
    case UNWIND_END_NOT_CODE:
        notices->stray_copies++;
        break;
    default:
        notices->refused_copies++;
        break;
    }
    count_cut(finder, stack->last);
}

static enum profile_status unwind_copy(struct profile_ingest *ingest,
                                       const struct sample_place *place, const uint8_t *bytes,
                                       size_t size, struct found_stack *stack,
                                       struct profile_error *error)
{
    const struct sample_space *space = &ingest->samples->spaces[place->space - 1];
    struct map_replay *replay = &ingest->copies->replays[space->process_id - 1];
    struct finder finder = { .ingest = ingest, .map = replay };
    struct unwind_registers guest;
    struct copy copy;
    enum unwind_status readable;
    enum profile_status status = PROFILE_OK;

    if (!replay->ingest)
        status = map_replay_open(ingest, space->process_id, replay, error);
    if (status == PROFILE_OK)
        status = map_replay_advance(replay, space->epoch, error);
    if (status != PROFILE_OK || !read_copy((struct fxt_bytes){ bytes, size }, &copy, &readable))
        return status; /* they could be read when the copy was taken */
    stack->count = 0;
    status = walk(&finder, &copy.registers, &copy, stack, error);
    if (status != PROFILE_OK)
        return status;
    count_end(&finder, stack);
    if (find_guest(&copy, stack, &guest)) {
        status = walk(&finder, &guest, &copy, stack, error);
        count_end(&finder, stack);
    }
    for (size_t i = 0; i < stack->count; i++) {
        uint64_t word = htole64(stack->addresses[i]);

        memcpy(stack->words + 8 * i, &word, sizeof word);
    }
    if (status == PROFILE_OK && stack->count > 0)
        status = ingest_sample_unwound(ingest, place,
                                       (struct fxt_words){ stack->words, stack->count },
                                       stack->end == UNWIND_END_NO_ROOM, error);
    return status;
}

/* ---- The end ---- */

static enum profile_status unwind_all(struct profile_ingest *ingest, uint8_t *bytes,
                                      struct found_stack *stack, struct profile_error *error)
{
    enum profile_status status = PROFILE_OK;
    struct copy_head head;
    int failure = 0;

    for (uint64_t at = 0; at < ingest->copies->end && status == PROFILE_OK && failure == 0;
         at += sizeof head + head.size) {
        failure = base_read_at(ingest->copies->file, &head, sizeof head, at);
        if (failure == 0)
            failure = base_read_at(ingest->copies->file, bytes, (size_t)head.size,
                                   at + sizeof head);
        if (failure == 0)
            status = unwind_copy(ingest, &head.place, bytes, (size_t)head.size, stack, error);
    }
    if (failure)
        return profile_fail_base(error, failure, "a temporary file");
    return status;
}

enum profile_status ingest_copies_finish(struct profile_ingest *ingest, struct profile_error *error)
{
    struct ingest_copies *copies = ingest->copies;
    struct found_stack *stack;
    enum profile_status status;
    uint8_t *bytes;

    if (!copies)
        return PROFILE_OK;
    copies->table_count = profile_stacks_module_count(ingest->stacks);
    copies->replay_count = ingest->process_count;
    copies->tables = calloc(copies->table_count + 1, sizeof *copies->tables);
    copies->replays = calloc(copies->replay_count + 1, sizeof *copies->replays);
    stack = calloc(1, sizeof *stack);
    bytes = malloc(MAX_COPY);
    if (copies->tables && copies->replays && stack && bytes &&
        unwind_walker_open(&copies->walker, NULL) == UNWIND_OK)
        status = unwind_all(ingest, bytes, stack, error);
    else
        status = profile_no_memory(error);
    free(stack);
    free(bytes);
    return status;
}

bool profile_ingest_cut_at(const struct profile_ingest *ingest, size_t index,
                           struct profile_cut *out)
{
    const struct ingest_copies *copies = ingest->copies;
    const struct module_table *module;

    if (!copies || !copies->tables || index > copies->table_count)
        return false;
    if (index == copies->table_count) {
        *out = (struct profile_cut){ .stacks = copies->nowhere, .problem = "" };
        return true;
    }
    module = &copies->tables[index];
    *out = (struct profile_cut){
        .module = profile_stacks_text(
            ingest->stacks, profile_stacks_get_module(ingest->stacks, (profile_id)(index + 1)).name,
            NULL),
        .stacks = module->cuts,
        .has_file = module->table != NULL,
        .problem = module->table ? unwind_table_report(module->table)->problem : ""
    };
    return true;
}

void ingest_copies_release(struct profile_ingest *ingest)
{
    struct ingest_copies *copies = ingest->copies;

    if (!copies)
        return;
    unwind_walker_close(copies->walker);
    for (size_t i = 0; copies->tables && i < copies->table_count; i++)
        unwind_table_close(copies->tables[i].table);
    for (size_t i = 0; copies->replays && i < copies->replay_count; i++)
        map_replay_close(&copies->replays[i]);
    if (copies->file >= 0)
        (void)close(copies->file);
    free(copies->tables);
    free(copies->replays);
    free(copies);
    ingest->copies = NULL;
}
