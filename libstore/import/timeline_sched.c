/* Threads on CPUs, and waiting, as rows.  */
#include <stdio.h>
#include <string.h>

#include "libstore/import/import_timeline.h"

/* The letters that PerfettoSQL has for states, numbers for those that nobody assigned.  */
static bool put_state(struct store_import *import, enum store_table table, struct store_cell *cell,
                      unsigned state)
{
    char number[16];
    const char *text = number;

    switch (state) {
    case PROFILE_THREAD_SUSPENDED:
        text = "T";
        break;
    case PROFILE_THREAD_BLOCKED:
        text = "S";
        break;
    case PROFILE_THREAD_DYING:
        text = "Z";
        break;
    case PROFILE_THREAD_DEAD:
        text = "X";
        break;
    case PROFILE_THREAD_RUNNABLE:
        text = "R";
        break;
    case PROFILE_THREAD_UNKNOWN:
        return true; /* NULL */
    default:
        (void)snprintf(number, sizeof number, "%u", state);
        break;
    }
    return store_writer_text(import->writer, table, cell, text, strlen(text));
}

static enum profile_status take_sched(void *context, const struct profile_sched *sched)
{
    struct store_import *import = context;
    struct store_cell *cells = store_writer_row(import->writer, STORE_SCHED_SLICE, NULL);

    if (!cells)
        return PROFILE_STOPPED;
    store_int(&cells[1], sched->start_ns);
    store_int(&cells[2],
              sched->unfinished ? -1 : store_timeline_dur(sched->start_ns, sched->end_ns));
    store_int(&cells[3], sched->cpu);
    store_int(&cells[4], store_import_utid(import, sched->thread_id)); /* 0: idle */
    if (sched->has_priority)
        store_int(&cells[6], sched->priority);
    import->counts.sched++;
    return store_import_sink_status(
        put_state(import, STORE_SCHED_SLICE, &cells[5], sched->end_state));
}

static enum profile_status take_state(void *context, const struct profile_thread_state *state)
{
    struct store_import *import = context;
    struct store_cell *cells = store_writer_row(import->writer, STORE_THREAD_WAIT, NULL);

    if (!cells)
        return PROFILE_STOPPED;
    store_int(&cells[1], state->start_ns);
    store_int(&cells[2],
              state->unfinished ? -1 : store_timeline_dur(state->start_ns, state->end_ns));
    store_int(&cells[3], store_import_utid(import, state->thread_id));
    store_id(&cells[5], store_import_utid(import, state->waker_id));
    if (state->woken)
        return store_import_sink_status(
            store_writer_text(import->writer, STORE_THREAD_WAIT, &cells[4], "W", 1));
    return store_import_sink_status(put_state(import, STORE_THREAD_WAIT, &cells[4], state->state));
}

void store_timeline_sched_sink(struct profile_sink *sink)
{
    sink->sched = take_sched;
    sink->thread_state = take_state;
}
