/* timing.c - when each step happened.
 *
 * A time is read together with the packet that decides where branches go.  Steps of one time are a
 * group.  With fine times (CYC packets) a group is what one packet decided: one indirect branch, or
 * up to six conditional ones and the indirect one that made the processor write them.  The time is
 * that of the last of these.  A group of more branches has packets without times among its own; its
 * time is taken for that of the first branch.  */
#include "libinsn/insn_internal.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WAITING    65536 /* steps between two times; then they are taken without one */
#define TNT_OF_PACKETS 6     /* branches of one short TNT packet */

static bool needs_packet(const struct insn_step *step)
{
    if (step->kind != INSN_STEP_BLOCK)
        return step->kind == INSN_STEP_STOPPED || step->kind == INSN_STEP_BRANCH;
    return step->branch != INSN_CLASS_OTHER && step->branch != INSN_CLASS_JUMP &&
           step->branch != INSN_CLASS_CALL;
}

/* With an indirect branch and with the end of tracing, libipt has read on: what it tells then is
 * the time of what comes next.  They belong to what came before.  */
static bool has_own_time(const struct insn_step *step)
{
    bool reads_on = step->kind == INSN_STEP_DISABLED || step->kind == INSN_STEP_STOPPED ||
                    (step->kind == INSN_STEP_BLOCK && (step->branch == INSN_CLASS_JUMP_INDIRECT ||
                                                       step->branch == INSN_CLASS_CALL_INDIRECT));

    return step->has_ticks && !reads_on;
}

/* Tracing was off before it, or packets were lost: the time since then is of no instruction.  */
static bool begins_anew(const struct insn_step *step)
{
    return step->kind == INSN_STEP_ENABLED || step->kind == INSN_STEP_OVERFLOW ||
           step->kind == INSN_STEP_GAP;
}

/* The steps [0, count) took from now to end, in equal parts for each instruction.  */
static enum insn_status spread(struct insn_timing_state *timing, size_t count, uint64_t end)
{
    uint64_t start = timing->now, length = end > start ? end - start : 0, total = 0, done = 0;
    enum insn_status status = INSN_OK;
    uint64_t begin = start;

    if (count == 0) {
        timing->now = start + length;
        return INSN_OK;
    }
    for (size_t i = 0; i < count; i++)
        total += timing->waiting[i].count;
    for (size_t i = 0; i < count && status == INSN_OK; i++) {
        const struct insn_step *step = &timing->waiting[i];
        uint64_t until = begin;

        done += step->count;
        if (total > 0)
            until = start + length / total * done + length % total * done / total;
        status = timing->take(timing->context, step, begin, until);
        begin = until;
    }
    timing->now = start + length;
    timing->count -= count;
    memmove(timing->waiting, timing->waiting + count, timing->count * sizeof *timing->waiting);
    timing->group = timing->group > count ? timing->group - count : 0;
    return status;
}

/* How many of the waiting steps had happened when the group's time was read.  */
static size_t before_time(const struct insn_timing_state *timing)
{
    size_t branches = 0, first = timing->group, last = first;

    if (timing->waiting[timing->group].kind != INSN_STEP_BLOCK)
        return timing->group + 1;
    for (size_t i = timing->group; i < timing->count; i++) {
        if (!needs_packet(&timing->waiting[i]))
            continue;
        if (branches == 0)
            first = i;
        if (branches++ < TNT_OF_PACKETS)
            last = i;
    }
    return (branches > TNT_OF_PACKETS + 1 ? first : last) + 1;
}

/* No more steps of this time come.  */
static enum insn_status close_group(struct insn_timing_state *timing)
{
    enum insn_status status = INSN_OK;

    if (timing->group == timing->count || !timing->has_time)
        return INSN_OK;
    if (begins_anew(&timing->waiting[timing->group])) {
        status = spread(timing, timing->group, timing->now);
        if (timing->time > timing->now)
            timing->now = timing->time;
    }
    return status == INSN_OK ? spread(timing, before_time(timing), timing->time) : status;
}

enum insn_status insn_timing_add(struct insn_timing_state *timing, const struct insn_step *step)
{
    enum insn_status status = INSN_OK;

    if (has_own_time(step) && (!timing->has_time || step->ticks != timing->time)) {
        status = close_group(timing);
        if (!timing->has_time)
            timing->now = step->ticks;
        timing->group = timing->count;
        timing->has_time = true;
        timing->time = step->ticks;
    }
    if (status == INSN_OK && timing->count == MAX_WAITING)
        status = spread(timing, timing->count, timing->now);
    if (status != INSN_OK)
        return status;
    if (!base_make_room(&timing->waiting, &timing->capacity, timing->count + 1,
                        sizeof *timing->waiting))
        return INSN_NO_MEMORY;
    timing->waiting[timing->count++] = *step;
    return INSN_OK;
}

enum insn_status insn_timing_finish(struct insn_timing_state *timing)
{
    enum insn_status status = close_group(timing);

    if (status == INSN_OK)
        status = spread(timing, timing->count, timing->now);
    timing->has_time = false;
    return status;
}

void insn_timing_release(struct insn_timing_state *timing)
{
    free(timing->waiting);
}
