#include "sampler-capture/heap/heap_mappings.h"

#include "base/bisect.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One stack, of all pieces that are left of what it mapped.  */
struct mapping_stack {
    size_t users, count;
    uint64_t frames[];
};

/* ---- Packets ---- */

bool mappings_read(const uint8_t *bytes, size_t length, struct heap_mapping *call,
                   uint64_t frames[HEAP_MAX_FRAMES])
{
    static const size_t fixed = HEAP_MAPPING_WORDS * sizeof(uint64_t);
    uint64_t end;

    if (length < fixed)
        return false;
    memcpy(call, bytes, fixed);
    if (call->header != HEAP_MAPPING_HEADER || call->ordinal != HEAP_MAPPING_ORDINAL ||
        call->kind < HEAP_MAPPED || call->kind > HEAP_OPENED ||
        call->frame_count > HEAP_MAX_FRAMES ||
        length - fixed != call->frame_count * sizeof(uint64_t) ||
        __builtin_add_overflow(call->address, call->size, &end) || end > UINT64_MAX / 2 ||
        __builtin_add_overflow(call->old_address, call->old_size, &end) || end > UINT64_MAX / 2)
        return false;
    memcpy(frames, bytes + fixed, length - fixed);
    return true;
}

/* ---- Stacks ---- */

static struct mapping_stack *make_stack(const uint64_t *frames, size_t count)
{
    struct mapping_stack *stack = malloc(sizeof *stack + count * sizeof *frames);

    if (!stack)
        return NULL;
    stack->users = 1;
    stack->count = count;
    memcpy(stack->frames, frames, count * sizeof *frames);
    return stack;
}

static void leave_stack(struct mapping_stack *stack)
{
    if (stack && --stack->users == 0)
        free(stack);
}

/* ---- Pieces ---- */

struct change {
    struct mappings *mappings;
    const struct heap_mapping *call;
    const uint64_t *frames;
    mapping_fn *hear;
    void *context;
    enum mappings_status status;
};

/* The first piece that ends after address.  */
static size_t find_piece(const struct mappings *mappings, uint64_t address)
{
    size_t low = 0, high = mappings->count;

    BASE_BISECT(low, high, i, mappings->pieces[i].limit <= address);
    return low;
}

static bool insert(struct change *change, size_t at, const struct mapping_piece *piece)
{
    struct mappings *mappings = change->mappings;

    if (mappings->count >= MAPPINGS_MAX) {
        change->status = MAPPINGS_TOO_MANY;
        return false;
    }
    if (!base_make_room(&mappings->pieces, &mappings->capacity, mappings->count + 1,
                        sizeof *mappings->pieces)) {
        change->status = MAPPINGS_NO_MEMORY;
        return false;
    }
    memmove(mappings->pieces + at + 1, mappings->pieces + at,
            (mappings->count - at) * sizeof *mappings->pieces);
    mappings->pieces[at] = *piece;
    mappings->count++;
    if (piece->stack)
        piece->stack->users++;
    return true;
}

/* The caller has the piece, and with it the stack.  */
static void erase(struct mappings *mappings, size_t at)
{
    mappings->count--;
    memmove(mappings->pieces + at, mappings->pieces + at + 1,
            (mappings->count - at) * sizeof *mappings->pieces);
}

static void tell(struct change *change, bool is_release, uint64_t start, uint64_t limit,
                 const uint64_t *frames, size_t count)
{
    if (change->status == MAPPINGS_OK &&
        !change->hear(change->context, is_release, start, limit - start, frames, count))
        change->status = MAPPINGS_STOPPED;
}

/* What is left of a piece.  */
static void keep(struct change *change, size_t at, const struct mapping_piece *piece,
                 uint64_t start, uint64_t limit)
{
    struct mapping_piece rest = *piece;

    rest.start = start;
    rest.limit = limit;
    if (start < limit && insert(change, at, &rest) && rest.stack)
        tell(change, false, start, limit, rest.stack->frames, rest.stack->count);
}

/* Take [start, limit) out of the piece at that index.  Returns the index of what comes after the
 * range.  */
static size_t cut(struct change *change, size_t at, uint64_t start, uint64_t limit)
{
    struct mapping_piece piece = change->mappings->pieces[at];

    if (piece.stack)
        tell(change, true, piece.start, piece.limit, change->frames, change->call->frame_count);
    erase(change->mappings, at);
    keep(change, at, &piece, limit, piece.limit);
    keep(change, at, &piece, piece.start, start);
    leave_stack(piece.stack);
    return at + (piece.start < start);
}

enum kinds { NOTHING, RESERVED_ONLY, MEMORY };

/* Take out what was mapped in the range before the call, and return what that was.  */
static enum kinds take_out(struct change *change, uint64_t start, uint64_t limit,
                           bool reserved_only)
{
    struct mappings *mappings = change->mappings;
    enum kinds taken = NOTHING;
    size_t at = find_piece(mappings, start);

    while (change->status == MAPPINGS_OK && at < mappings->count &&
           mappings->pieces[at].start < limit) {
        const struct mapping_piece *piece = &mappings->pieces[at];

        if (piece->ticket > change->call->before || (reserved_only && piece->stack)) {
            at++;
            continue;
        }
        if (piece->stack)
            taken = MEMORY;
        else if (taken == NOTHING)
            taken = RESERVED_ONLY;
        at = cut(change, at, start, limit);
    }
    return taken;
}

/* Put a range in, where nothing is that is newer.  */
static void put_in(struct change *change, uint64_t start, uint64_t limit, bool is_memory)
{
    struct mappings *mappings = change->mappings;
    struct mapping_piece piece = { .ticket = change->call->after };
    size_t at = find_piece(mappings, start);

    if (is_memory && !(piece.stack = make_stack(change->frames, change->call->frame_count))) {
        change->status = MAPPINGS_NO_MEMORY;
        return;
    }
    for (; change->status == MAPPINGS_OK && start < limit; at++) {
        bool is_free = at == mappings->count || mappings->pieces[at].start > start;

        piece.start = start;
        piece.limit = at < mappings->count && mappings->pieces[at].start < limit && is_free
                          ? mappings->pieces[at].start
                          : limit;
        if (is_free && insert(change, at, &piece) && is_memory)
            tell(change, false, start, piece.limit, change->frames, change->call->frame_count);
        start = is_free ? piece.limit : mappings->pieces[at].limit;
    }
    leave_stack(piece.stack);
}

/* mprotect(2): of the range, what is only reserved.  */
static void open_range(struct change *change, uint64_t start, uint64_t limit)
{
    struct mappings *mappings = change->mappings;

    for (size_t at = find_piece(mappings, start);
         change->status == MAPPINGS_OK && at < mappings->count &&
         mappings->pieces[at].start < limit;
         at++) {
        uint64_t from = mappings->pieces[at].start, to = mappings->pieces[at].limit;

        if (mappings->pieces[at].stack || mappings->pieces[at].ticket > change->call->before)
            continue;
        from = from > start ? from : start;
        to = to < limit ? to : limit;
        (void)take_out(change, from, to, true);
        put_in(change, from, to, true);
        at = find_piece(mappings, from);
    }
}

static uint64_t rounded(uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) / page * page;
}

enum mappings_status mappings_apply(struct mappings *mappings, const struct heap_mapping *call,
                                    const uint64_t *frames, mapping_fn *hear, void *context)
{
    struct change change = { mappings, call, frames, hear, context, MAPPINGS_OK };
    uint64_t start = call->address, limit = start + rounded(call->size);
    enum kinds taken = MEMORY;

    if (call->kind == HEAP_OPENED) {
        open_range(&change, start, limit);
        return change.status;
    }
    if (call->kind == HEAP_MOVED)
        taken = take_out(&change, call->old_address, call->old_address + rounded(call->old_size),
                         false);
    (void)take_out(&change, start, limit, false);
    if (change.status == MAPPINGS_OK && call->kind != HEAP_UNMAPPED && taken != NOTHING)
        put_in(&change, start, limit, call->kind != HEAP_RESERVED && taken == MEMORY);
    return change.status;
}

void mappings_release(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->count; i++)
        leave_stack(mappings->pieces[i].stack);
    free(mappings->pieces);
    *mappings = (struct mappings){ .pieces = NULL };
}
