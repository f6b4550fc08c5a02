/* insn_stacks.c - from branches to the stack of functions, and what was done with it.  */
#include "libinsn/insn_internal.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BITS      15 /* lines of the cache of charges: 2 MiB */
#define LINE_BYTES      64
#define MOST_CHARGE     (UINT32_MAX >> 1) /* instructions or calls in one of them */
#define MAX_LEFT        64                /* stacks that were left and may go on */
#define MAX_LEFT_FRAMES 65536             /* of all of them together */
#define SEARCHED        65536             /* frames that are looked through for a return address */
#define MAX_UNDECIDED   65536             /* steps of a transaction */

struct frame {
    struct insn_function function;
    uint64_t address;        /* where it was entered or first seen */
    uint64_t site;           /* that led here */
    uint64_t return_address; /* meaningless for INSN_ENTRY_OPEN */
    uint64_t begin;
    uint64_t order;
    uint32_t callers; /* number of their stack */
    uint8_t entry;    /* enum insn_entry */
};

/* Frames that were left without returning to their caller, outermost first.  */
struct left {
    struct frame *frames; /* owned */
    size_t count;
    bool whole; /* there was no caller below */
};

/* What was charged to a stack since it was last delivered.  Half of a line of the processor's
 * cache: most of the time goes into waiting for these lines.  */
struct charged {
    uint64_t address;
    uint64_t ticks;
    uint32_t callers;
    uint32_t stack;
    uint32_t instructions;
    uint32_t calls : 31;
    uint32_t used : 1;
};

struct charged_line {
    struct charged slots[2]; /* the newer one first */
};
static_assert(sizeof(struct charged_line) == LINE_BYTES, "one line");

/* What the last step leads to.  */
enum leads {
    LEADS_NOWHERE, /* to what is not known */
    LEADS_ON,
    LEADS_JUMP,
    LEADS_JUMP_INDIRECT,
    LEADS_CALL,
    LEADS_RETURN,
};

struct timed {
    struct insn_step step;
    uint64_t begin, end;
};

struct insn_stacks {
    struct insn_receiver receiver;
    struct insn_timing_state timing;
    enum insn_status status;

    struct frame *frames; /* owned; outermost first */
    size_t count, capacity;
    uint64_t last_order, first_order; /* that were given */
    uint64_t known_since;             /* when the outermost frame was first seen */
    struct left lefts[MAX_LEFT];      /* oldest first */
    size_t left_count, left_frames;

    enum leads leads;
    uint64_t from, next; /* the last instruction, and the one after it in memory */
    uint64_t resume;     /* tracing is off: where it should go on */
    uint64_t off_since;
    bool off;
    bool begins; /* with an empty stack, by an event: not where packets were lost */
    uint64_t now;

    struct timed *undecided; /* owned; of a transaction */
    size_t undecided_count, undecided_capacity;
    bool in_transaction;

    char *memory; /* owned; of the cache, which begins at a whole line in it */
    struct charged_line *cache;
};

/* ---- Charges ---- */

static enum insn_status flush_slot(struct insn_stacks *stacks, struct charged *slot)
{
    const struct insn_charge charge = { .instructions = slot->instructions,
                                        .ticks = slot->ticks,
                                        .calls = slot->calls };
    enum insn_status status = INSN_OK;

    if (slot->used && stacks->receiver.charge &&
        (charge.instructions | charge.ticks | charge.calls) != 0)
        status = stacks->receiver.charge(stacks->receiver.context, slot->stack, &charge);
    slot->ticks = 0;
    slot->instructions = slot->calls = 0;
    return status;
}

static bool is_of(const struct charged *slot, uint32_t callers, uint64_t address)
{
    return slot->address == address && slot->callers == callers && slot->used;
}

/* The slot of a stack that has none takes the place of the older one.  */
static struct charged *new_slot(struct insn_stacks *stacks, struct charged_line *line,
                                uint32_t callers, uint64_t address)
{
    struct charged slot = { .address = address, .callers = callers, .used = 1 };

    stacks->status = flush_slot(stacks, &line->slots[1]);
    line->slots[1] = line->slots[0];
    line->slots[0] = (struct charged){ .used = 0 };
    if (stacks->status == INSN_OK && stacks->receiver.stack)
        stacks->status = stacks->receiver.stack(stacks->receiver.context, callers, address,
                                                &slot.stack);
    if (stacks->status != INSN_OK)
        return NULL;
    line->slots[0] = slot;
    return &line->slots[0];
}

static struct charged_line *line_of(const struct insn_stacks *stacks, uint32_t callers,
                                    uint64_t address)
{
    uint64_t hash = (address ^ (uint64_t)callers << 40) * UINT64_C(0x9e3779b97f4a7c15);

    return &stacks->cache[hash >> (64 - CACHE_BITS)];
}

/* The stack of callers and address.  NULL: a receiver failed.  */
static struct charged *slot_of(struct insn_stacks *stacks, uint32_t callers, uint64_t address)
{
    struct charged_line *line = line_of(stacks, callers, address);

    if (is_of(&line->slots[0], callers, address))
        return &line->slots[0];
    if (is_of(&line->slots[1], callers, address))
        return &line->slots[1];
    return new_slot(stacks, line, callers, address);
}

static void charge_call(struct insn_stacks *stacks, struct charged *slot)
{
    if (slot->calls == MOST_CHARGE)
        stacks->status = flush_slot(stacks, slot);
    slot->calls++;
}

static void charge_block(struct insn_stacks *stacks, struct charged *slot, uint32_t instructions,
                         uint64_t ticks)
{
    if (slot->instructions > MOST_CHARGE)
        stacks->status = flush_slot(stacks, slot);
    slot->instructions += instructions;
    slot->ticks += ticks;
}

static void flush_charges(struct insn_stacks *stacks)
{
    for (size_t i = 0; i < 2U << CACHE_BITS && stacks->status == INSN_OK; i++) {
        struct charged *slot = &stacks->cache[i / 2].slots[i % 2];

        stacks->status = flush_slot(stacks, slot);
        slot->used = 0;
    }
}

/* ---- Functions ---- */

static bool contains(const struct insn_function *function, uint64_t address)
{
    return address >= function->start && address < function->end;
}

static bool is_same(const struct insn_function *a, const struct insn_function *b)
{
    return a->id == b->id;
}

static struct insn_function function_at(const struct insn_stacks *stacks, uint64_t address)
{
    struct insn_function function = { .start = address, .end = address };

    stacks->receiver.function(stacks->receiver.context, address, &function);
    return function;
}

/* ---- Frames ---- */

static struct frame *top_of(struct insn_stacks *stacks)
{
    return stacks->count > 0 ? &stacks->frames[stacks->count - 1] : NULL;
}

static void tell_span(struct insn_stacks *stacks, const struct frame *frame, bool cut)
{
    const struct insn_span span = { .address = frame->address,
                                    .site = frame->site,
                                    .begin_ticks = frame->begin,
                                    .end_ticks = stacks->now,
                                    .order = frame->order,
                                    .entry = frame->entry,
                                    .cut = cut };

    if (stacks->receiver.span && stacks->status == INSN_OK)
        stacks->status = stacks->receiver.span(stacks->receiver.context, &span);
}

static void push(struct insn_stacks *stacks, const struct frame *frame)
{
    struct charged *slot;

    if (stacks->count == INSN_MAX_DEPTH || stacks->status != INSN_OK)
        return;
    if (!base_make_room(&stacks->frames, &stacks->capacity, stacks->count + 1,
                        sizeof *stacks->frames)) {
        stacks->status = INSN_NO_MEMORY;
        return;
    }
    if (stacks->count == 0)
        stacks->known_since = frame->begin;
    stacks->frames[stacks->count] = *frame;
    stacks->frames[stacks->count++].order = ++stacks->last_order;
    if (frame->entry == INSN_ENTRY_OPEN || frame->entry == INSN_ENTRY_RESUMED)
        return;
    slot = slot_of(stacks, frame->callers, frame->address);
    if (slot)
        charge_call(stacks, slot);
}

/* A function is entered at address.  Its caller is the top of the stack.  */
static void enter(struct insn_stacks *stacks, uint64_t address, enum insn_entry entry,
                  uint64_t return_address)
{
    const struct frame *caller = top_of(stacks);
    struct frame frame = { .function = function_at(stacks, address),
                           .address = address,
                           .return_address = return_address,
                           .begin = stacks->now,
                           .entry = (uint8_t)entry };
    struct charged *slot;

    if (caller) {
        frame.site = stacks->from;
        slot = slot_of(stacks, caller->callers, stacks->from);
        if (!slot)
            return;
        frame.callers = slot->stack;
    }
    push(stacks, &frame);
}

/* The innermost frames end, down to count of them.  */
static void leave_to(struct insn_stacks *stacks, size_t count, bool cut)
{
    while (stacks->count > count) {
        tell_span(stacks, top_of(stacks), cut);
        stacks->count--;
    }
}

/* The function on top is another one from now on; it returns to where the old one would.  */
static void replace(struct insn_stacks *stacks, uint64_t address, uint64_t site)
{
    struct frame frame = *top_of(stacks);
    bool was_open = frame.entry == INSN_ENTRY_OPEN;

    leave_to(stacks, stacks->count - 1, false);
    frame.function = function_at(stacks, address);
    frame.address = address;
    frame.site = site;
    frame.begin = stacks->now;
    frame.entry = was_open ? INSN_ENTRY_OPEN : INSN_ENTRY_JUMP;
    push(stacks, &frame);
}

static void begin_unknown(struct insn_stacks *stacks, uint64_t address)
{
    struct frame frame = { .function = function_at(stacks, address),
                           .address = address,
                           .begin = stacks->now,
                           .entry = INSN_ENTRY_OPEN };

    push(stacks, &frame);
}

/* ---- Stacks that were left ---- */

static void forget_left(struct insn_stacks *stacks, size_t i)
{
    stacks->left_frames -= stacks->lefts[i].count;
    free(stacks->lefts[i].frames);
    stacks->left_count--;
    memmove(&stacks->lefts[i], &stacks->lefts[i + 1],
            (stacks->left_count - i) * sizeof *stacks->lefts);
}

/* The innermost frames, down to count of them, end here, and may go on later.  */
static void leave_for_later(struct insn_stacks *stacks, size_t count)
{
    size_t frames = stacks->count - count;
    struct left left = { .count = frames, .whole = count == 0 };

    if (frames > 1 && frames <= MAX_LEFT_FRAMES) {
        while (stacks->left_count == MAX_LEFT || stacks->left_frames + frames > MAX_LEFT_FRAMES)
            forget_left(stacks, 0);
        left.frames = calloc(frames, sizeof *left.frames);
        if (!left.frames) {
            stacks->status = INSN_NO_MEMORY;
            return;
        }
        memcpy(left.frames, &stacks->frames[count], frames * sizeof *left.frames);
        stacks->lefts[stacks->left_count++] = left;
        stacks->left_frames += frames;
    }
    leave_to(stacks, count, false);
}

/* The innermost frame that returns to address; frames outside of it are counted.  False: none.  */
static bool returns_to(const struct frame *frames, size_t count, uint64_t address, size_t *outside)
{
    for (size_t i = count; i > 0 && count - i < SEARCHED; i--) {
        if (frames[i - 1].entry == INSN_ENTRY_OPEN || frames[i - 1].return_address != address)
            continue;
        *outside = i - 1;
        return true;
    }
    return false;
}

/* A stack that was left has a frame that returns to address: it goes on there.  */
static bool resume_left(struct insn_stacks *stacks, uint64_t address)
{
    size_t outside = 0, i = stacks->left_count;
    struct left left;

    while (i > 0 && (!returns_to(stacks->lefts[i - 1].frames, stacks->lefts[i - 1].count, address,
                                 &outside) ||
                     outside == 0))
        i--;
    if (i == 0)
        return false;
    left = stacks->lefts[i - 1];
    stacks->lefts[i - 1].frames = NULL;
    forget_left(stacks, i - 1);
    if (left.whole)
        leave_for_later(stacks, 0);
    for (size_t j = 0; j < outside && stacks->status == INSN_OK; j++) {
        struct frame *frame = &left.frames[j];
        const struct frame *caller = top_of(stacks);

        frame->begin = stacks->now;
        if (frame->entry != INSN_ENTRY_OPEN)
            frame->entry = INSN_ENTRY_RESUMED;
        if (j == 0 && caller) {
            const struct charged *slot = slot_of(stacks, caller->callers, stacks->from);

            frame->callers = slot ? slot->stack : 0;
        }
        push(stacks, frame);
    }
    free(left.frames);
    return true;
}

/* ---- Going elsewhere ---- */

/* A frame, or one of a stack that was left, returns to address: its caller goes on.  */
static bool go_back_to_caller(struct insn_stacks *stacks, uint64_t address)
{
    size_t outside = 0;

    if (!returns_to(stacks->frames, stacks->count, address, &outside) || outside == 0)
        return resume_left(stacks, address);
    if (outside + 1 < stacks->count)
        leave_for_later(stacks, outside);
    else
        leave_to(stacks, outside, false);
    return true;
}

/* The function that address is in the middle of goes on: the innermost one on the stack.  */
static bool go_back_to_function(struct insn_stacks *stacks, uint64_t address)
{
    struct insn_function function = function_at(stacks, address);

    if (function.id == 0 || address == function.start)
        return false;
    for (size_t i = stacks->count; i > 0 && stacks->count - i < SEARCHED; i--) {
        if (!is_same(&stacks->frames[i - 1].function, &function))
            continue;
        leave_for_later(stacks, i);
        return true;
    }
    return false;
}

static bool go_back(struct insn_stacks *stacks, uint64_t address)
{
    return go_back_to_caller(stacks, address) || go_back_to_function(stacks, address);
}

static void jump_to(struct insn_stacks *stacks, uint64_t address, bool indirect)
{
    const struct frame *top = top_of(stacks);
    struct insn_function function;

    if (contains(&top->function, address))
        return;
    function = function_at(stacks, address);
    if (is_same(&top->function, &function))
        return;
    if (indirect && address != function.start && go_back(stacks, address))
        return;
    replace(stacks, address, stacks->from);
}

/* A return to what no frame was called from.  */
static void return_to_unknown(struct insn_stacks *stacks, uint64_t address)
{
    const struct frame *top = top_of(stacks);
    struct insn_function function = function_at(stacks, address);
    uint64_t since = stacks->known_since;

    if (top->entry != INSN_ENTRY_OPEN && function.id != 0 && address == function.start) {
        replace(stacks, address, stacks->from); /* a retpoline, or a coroutine that begins */
        return;
    }
    if (top->entry == INSN_ENTRY_OPEN) { /* its caller was on the stack all the time */
        leave_to(stacks, 0, false);
        begin_unknown(stacks, address);
        if (stacks->count > 0) {
            stacks->frames[0].begin = since;
            stacks->frames[0].order = --stacks->first_order;
            stacks->known_since = since;
        }
        return;
    }
    leave_for_later(stacks, 0);
    begin_unknown(stacks, address);
}

static void return_to(struct insn_stacks *stacks, uint64_t address)
{
    const struct frame *top = top_of(stacks);

    if (top->entry != INSN_ENTRY_OPEN && top->return_address == address && stacks->count > 1)
        leave_to(stacks, stacks->count - 1, false);
    else if (!go_back(stacks, address))
        return_to_unknown(stacks, address);
}

/* Tracing began at the start of a function: it was called.  */
static void count_entry(struct insn_stacks *stacks, uint64_t address)
{
    const struct frame *top = top_of(stacks);
    struct charged *slot = NULL;

    if (stacks->begins && top && top->function.id != 0 && top->function.start == address)
        slot = slot_of(stacks, top->callers, address);
    if (slot)
        charge_call(stacks, slot);
    stacks->begins = false;
}

/* Execution is at address now.  */
static void arrive(struct insn_stacks *stacks, uint64_t address)
{
    enum leads leads = stacks->leads;

    stacks->leads = LEADS_ON;
    if (stacks->count == 0) {
        begin_unknown(stacks, address);
        count_entry(stacks, address);
        return;
    }
    switch (leads) {
    case LEADS_ON:
        return;
    case LEADS_CALL:
        enter(stacks, address, INSN_ENTRY_CALL, stacks->next);
        return;
    case LEADS_RETURN:
        return_to(stacks, address);
        break;
    case LEADS_NOWHERE:
    case LEADS_JUMP:
    case LEADS_JUMP_INDIRECT:
        jump_to(stacks, address, leads != LEADS_JUMP);
        break;
    }
    /* Whatever was found, this function is the one that runs.  */
    if (stacks->status == INSN_OK && stacks->count > 0)
        jump_to(stacks, address, false);
}

/* ---- Steps ---- */

static enum leads leads_of(const struct insn_step *step)
{
    switch (step->branch) {
    case INSN_CLASS_CONDITIONAL:
    case INSN_CLASS_JUMP:
        return LEADS_JUMP;
    case INSN_CLASS_JUMP_INDIRECT:
        return LEADS_JUMP_INDIRECT;
    case INSN_CLASS_CALL:
        return step->calls_next ? LEADS_JUMP : LEADS_CALL;
    case INSN_CLASS_CALL_INDIRECT:
        return LEADS_CALL;
    case INSN_CLASS_RETURN:
        return LEADS_RETURN;
    default:
        return LEADS_ON;
    }
}

static void take_block(struct insn_stacks *stacks, const struct insn_step *step, uint64_t begin,
                       uint64_t end)
{
    struct charged *slot;

    arrive(stacks, step->ip);
    if (stacks->status != INSN_OK || stacks->count == 0)
        return;
    slot = slot_of(stacks, top_of(stacks)->callers, step->ip);
    if (!slot)
        return;
    charge_block(stacks, slot, step->count, end - begin);
    stacks->leads = leads_of(step);
    stacks->from = step->last_ip;
    stacks->next = step->last_ip + step->length;
}

static void switch_off(struct insn_stacks *stacks, uint64_t resume)
{
    if (stacks->off)
        return;
    stacks->off = true;
    stacks->off_since = stacks->now;
    stacks->resume = resume;
}

/* A far transfer, which comes back to the next instruction; or a branch out of the traced
 * addresses, of which only a call comes back.  */
static void leave_traced(struct insn_stacks *stacks)
{
    uint64_t resume = stacks->next;

    switch (stacks->leads) {
    case LEADS_RETURN:
    case LEADS_JUMP:
    case LEADS_JUMP_INDIRECT:
        if (stacks->count > 0)
            leave_to(stacks, stacks->count - 1, false);
        stacks->leads = LEADS_NOWHERE;
        resume = 0;
        break;
    case LEADS_CALL:
        stacks->leads = LEADS_ON;
        break;
    case LEADS_NOWHERE:
    case LEADS_ON:
        break;
    }
    switch_off(stacks, resume);
}

static void tell_untraced(struct insn_stacks *stacks)
{
    const struct frame untraced = { .address = stacks->from,
                                    .begin = stacks->off_since,
                                    .order = ++stacks->last_order,
                                    .entry = INSN_ENTRY_UNTRACED };

    if (stacks->off && stacks->count > 0)
        tell_span(stacks, &untraced, false);
    stacks->off = false;
}

/* Something that is no instruction led from from, which will be executed later, to address.  */
static void interrupt(struct insn_stacks *stacks, uint64_t from, uint64_t address)
{
    arrive(stacks, from);
    if (stacks->status != INSN_OK)
        return;
    stacks->from = from;
    enter(stacks, address, INSN_ENTRY_SIGNAL, from);
    stacks->leads = LEADS_ON;
}

/* Tracing goes on: where it left off, in a signal's handler, or after one.  */
static void switch_on(struct insn_stacks *stacks, uint64_t address)
{
    struct insn_function function;

    tell_untraced(stacks);
    if (stacks->count == 0 || stacks->status != INSN_OK || address == stacks->resume) {
        if (stacks->count == 0)
            stacks->leads = LEADS_NOWHERE;
        stacks->begins = stacks->count == 0;
        return;
    }
    stacks->leads = LEADS_ON;
    if (go_back_to_caller(stacks, address)) /* the end of a handler */
        return;
    function = function_at(stacks, address);
    if (address == function.start && function.id != 0)
        interrupt(stacks, stacks->resume, address);
    else if (!go_back_to_function(stacks, address))
        stacks->leads = LEADS_NOWHERE;
}

static void take_mark(struct insn_stacks *stacks, const struct insn_step *step)
{
    const struct insn_mark mark = { .kind = step->kind,
                                    .reason = step->reason,
                                    .ticks = stacks->now,
                                    .ip = step->ip,
                                    .value = step->last_ip };

    if (stacks->receiver.mark && stacks->status == INSN_OK)
        stacks->status = stacks->receiver.mark(stacks->receiver.context, &mark);
}

/* What is on the stack is not known any more.  */
static void lose(struct insn_stacks *stacks)
{
    leave_to(stacks, 0, true);
    while (stacks->left_count > 0)
        forget_left(stacks, stacks->left_count - 1);
    stacks->off = false;
    stacks->leads = LEADS_NOWHERE;
}

static enum insn_status apply(struct insn_stacks *stacks, const struct insn_step *step,
                              uint64_t begin, uint64_t end)
{
    stacks->now = begin;
    switch (step->kind) {
    case INSN_STEP_BLOCK:
        take_block(stacks, step, begin, end);
        break;
    case INSN_STEP_ENABLED:
        switch_on(stacks, step->ip);
        break;
    case INSN_STEP_DISABLED:
        leave_traced(stacks);
        break;
    case INSN_STEP_STOPPED:
        if (step->ip && !stacks->off)
            arrive(stacks, step->ip); /* though nothing was executed there yet: a page fault */
        switch_off(stacks, step->ip);
        break;
    case INSN_STEP_BRANCH:
        interrupt(stacks, step->ip, step->last_ip);
        break;
    case INSN_STEP_OVERFLOW:
    case INSN_STEP_GAP:
        lose(stacks);
        take_mark(stacks, step);
        break;
    case INSN_STEP_PTWRITE:
        take_mark(stacks, step);
        break;
    default:
        break;
    }
    stacks->now = end;
    return stacks->status;
}

/* ---- Transactions ---- */

static enum insn_status decide(struct insn_stacks *stacks, bool happened)
{
    stacks->in_transaction = false;
    for (size_t i = 0; happened && i < stacks->undecided_count; i++) {
        const struct timed *timed = &stacks->undecided[i];

        if (apply(stacks, &timed->step, timed->begin, timed->end) != INSN_OK)
            break;
    }
    stacks->undecided_count = 0;
    if (!happened && stacks->leads != LEADS_NOWHERE)
        stacks->leads = LEADS_JUMP; /* to where an abort goes on */
    return stacks->status;
}

static bool hold(struct insn_stacks *stacks, const struct insn_step *step, uint64_t begin,
                 uint64_t end)
{
    if (!base_make_room(&stacks->undecided, &stacks->undecided_capacity,
                        stacks->undecided_count + 1, sizeof *stacks->undecided))
        return false;
    stacks->undecided[stacks->undecided_count++] =
        (struct timed){ .step = *step, .begin = begin, .end = end };
    return true;
}

/* Instructions of a transaction happened once it is committed.  */
static enum insn_status take_timed(void *context, const struct insn_step *step, uint64_t begin,
                                   uint64_t end)
{
    struct insn_stacks *stacks = context;

    switch (step->kind) {
    case INSN_STEP_SPECULATIVE:
        stacks->in_transaction = true;
        return INSN_OK;
    case INSN_STEP_COMMITTED:
        return decide(stacks, true);
    case INSN_STEP_ABORTED:
        return decide(stacks, false);
    case INSN_STEP_OVERFLOW:
    case INSN_STEP_GAP:
        if (stacks->in_transaction)
            (void)decide(stacks, true);
        break;
    default:
        break;
    }
    if (!stacks->in_transaction)
        return apply(stacks, step, begin, end);
    if (stacks->undecided_count == MAX_UNDECIDED && decide(stacks, true) == INSN_OK)
        return apply(stacks, step, begin, end);
    if (stacks->status == INSN_OK && !hold(stacks, step, begin, end))
        stacks->status = INSN_NO_MEMORY;
    return stacks->status;
}

/* ---- The interface ---- */

/* Of zeros that take no memory before they are used.  */
static bool open_cache(struct insn_stacks *stacks)
{
    stacks->memory = calloc((1U << CACHE_BITS) + 1, LINE_BYTES);
    if (!stacks->memory)
        return false;
    stacks->cache = (void *)(stacks->memory + (-(uintptr_t)stacks->memory & (LINE_BYTES - 1)));
    return true;
}

enum insn_status insn_stacks_open(const struct insn_receiver *receiver, struct insn_stacks **out,
                                  struct insn_error *error)
{
    struct insn_stacks *stacks;

    if (!receiver->function)
        return insn_fail(error, INSN_INVALID, "nobody tells functions");
    stacks = calloc(1, sizeof *stacks);
    if (!stacks || !open_cache(stacks)) {
        free(stacks);
        return insn_fail(error, INSN_NO_MEMORY, "out of memory");
    }
    stacks->receiver = *receiver;
    stacks->timing.take = take_timed;
    stacks->timing.context = stacks;
    stacks->leads = LEADS_NOWHERE;
    stacks->first_order = stacks->last_order = UINT64_C(1) << 43;
    *out = stacks;
    return INSN_OK;
}

enum insn_status insn_stacks_take(void *context, const struct insn_step *steps, size_t count)
{
    struct insn_stacks *stacks = context;

    for (size_t i = 0; i < count && stacks->status == INSN_OK; i++)
        stacks->status = insn_timing_add(&stacks->timing, &steps[i]);
    return stacks->status;
}

enum insn_status insn_stacks_finish(struct insn_stacks *stacks)
{
    if (stacks->status == INSN_OK)
        stacks->status = insn_timing_finish(&stacks->timing);
    if (stacks->status == INSN_OK && stacks->in_transaction)
        (void)decide(stacks, true);
    lose(stacks);
    if (stacks->status == INSN_OK)
        flush_charges(stacks);
    return stacks->status;
}

enum insn_status insn_stacks_status(const struct insn_stacks *stacks)
{
    return stacks->status;
}

void insn_stacks_close(struct insn_stacks *stacks)
{
    if (!stacks)
        return;
    while (stacks->left_count > 0)
        forget_left(stacks, stacks->left_count - 1);
    insn_timing_release(&stacks->timing);
    free(stacks->undecided);
    free(stacks->frames);
    free(stacks->memory);
    free(stacks);
}
