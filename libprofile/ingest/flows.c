/* flows.c - arrows between slices.
 *
 * A flow is identified by process and id.  A step or end in a process that has no such flow open
 * continues the one that is open elsewhere, unless a second process began the same id while it was
 * open: then the id says nothing about which of the two is meant, also after one of them has ended
 * (docs/formats/fxt.md section 2.5).  Each of a flow's events lies in the slice that is open in its
 * thread then.  */
#include <stdlib.h>

#include "libprofile/ingest/entities.h"
#include "libprofile/ingest/flows.h"
#include "libprofile/ingest/spans.h"
#include "libprofile/ingest/timeline.h"

/* Key of the entry for all flows of an id; no process has this entity id.  */
#define ANY_PROCESS UINT64_MAX

/* The open flow that an event of process belongs to; 0: none.  */
static uint32_t find_flow(const struct ingest_flows *flows, uint32_t process, uint64_t trace_id)
{
    const struct base_pair_entry *own = base_pair_map_find(&flows->table, process, trace_id);
    const struct base_pair_entry *any;

    if (own)
        return own->value;
    any = base_pair_map_find(&flows->table, ANY_PROCESS, trace_id);
    if (!any || any->count != 1 || flows->flows[any->value - 1].ambiguous)
        return 0;
    return any->value;
}

static void forget_flow(struct ingest_flows *flows, uint32_t place)
{
    struct open_flow *flow = &flows->flows[place - 1];
    struct base_pair_entry *any = base_pair_map_find(&flows->table, ANY_PROCESS, flow->trace_id);

    any->value ^= place;
    if (any->count > 1)
        any->count--;
    else
        base_pair_map_remove(&flows->table, any);
    base_pair_map_remove(&flows->table,
                         base_pair_map_find(&flows->table, flow->process_id, flow->trace_id));
    flow->next_free = flows->free_flow;
    flows->free_flow = place;
    flows->open_count--;
}

static enum profile_status make_place(struct ingest_flows *flows, uint32_t *out,
                                      struct profile_error *error)
{
    *out = flows->free_flow;
    if (*out) {
        flows->free_flow = flows->flows[*out - 1].next_free;
        return PROFILE_OK;
    }
    if (!base_make_room(&flows->flows, &flows->flow_capacity, flows->flow_count + 1,
                        sizeof *flows->flows))
        return profile_no_memory(error);
    *out = (uint32_t)++flows->flow_count;
    return PROFILE_OK;
}

static enum profile_status register_flow(struct ingest_flows *flows, uint32_t place,
                                         struct profile_error *error)
{
    struct open_flow *flow = &flows->flows[place - 1];
    struct base_pair_entry *own = base_pair_map_add(&flows->table, flow->process_id,
                                                    flow->trace_id);
    struct base_pair_entry *any;

    if (!own)
        return profile_no_memory(error);
    own->value = place;
    own->count = 1;
    any = base_pair_map_find(&flows->table, ANY_PROCESS, flow->trace_id);
    if (!any)
        any = base_pair_map_add(&flows->table, ANY_PROCESS, flow->trace_id);
    if (!any)
        return profile_no_memory(error);
    flow->ambiguous = any->count > 0;
    if (any->count == 1) /* of several, each is ambiguous already */
        flows->flows[any->value - 1].ambiguous = true;
    any->value ^= place;
    any->count++;
    return PROFILE_OK;
}

/* An id that begins again before it ended is another flow.  */
static enum profile_status begin(struct profile_ingest *ingest, const struct open_flow *flow,
                                 struct profile_error *error)
{
    struct ingest_flows *flows = ingest->flows;
    const struct base_pair_entry *own = base_pair_map_find(&flows->table, flow->process_id,
                                                           flow->trace_id);
    enum profile_status status;
    uint32_t place;

    if (own) {
        ingest->notices.unfinished_flows++;
        forget_flow(flows, own->value);
    }
    if (flows->open_count == MAX_OPEN) {
        ingest->notices.unfinished_flows++;
        return PROFILE_OK;
    }
    status = make_place(flows, &place, error);
    if (status != PROFILE_OK)
        return status;
    flows->flows[place - 1] = *flow;
    flows->open_count++;
    return register_flow(flows, place, error);
}

static enum profile_status tell(struct profile_ingest *ingest, const struct open_flow *out,
                                const struct open_flow *in, bool step, struct profile_error *error)
{
    struct profile_flow call = {
        .id = ++ingest->flows->last_id,
        .trace_id = out->trace_id,
        .out = out->slice,
        .in = in->slice,
        .out_ns = out->ts_ns,
        .in_ns = in->ts_ns,
        .out_thread_id = out->thread_id,
        .in_thread_id = in->thread_id,
        .category = out->category,
        .name = out->name,
        .out_args = out->args,
        .in_args = in->args,
        .step = step,
    };

    ingest->notices.unbound_flows += call.out == 0 || call.in == 0;
    return ingest_sink_status(ingest->sink.flow(ingest->sink.context, &call), error);
}

static enum profile_status go_on(struct profile_ingest *ingest, const struct open_flow *here,
                                 bool step, struct profile_error *error)
{
    struct ingest_flows *flows = ingest->flows;
    uint32_t place = find_flow(flows, here->process_id, here->trace_id);
    struct open_flow *flow;
    enum profile_status status;

    if (place == 0) {
        ingest->notices.stray_flows++;
        return PROFILE_OK;
    }
    flow = &flows->flows[place - 1];
    status = tell(ingest, flow, here, step, error);
    if (!step) {
        forget_flow(flows, place);
        return status;
    }
    flow->slice = here->slice;
    flow->ts_ns = here->ts_ns;
    flow->thread_id = here->thread_id;
    flow->args = here->args;
    return status;
}

enum profile_status ingest_flow_take(struct profile_ingest *ingest,
                                     const struct timeline_event *event,
                                     struct profile_error *error)
{
    const struct span_pair *pair = &ingest->timeline->pairs[event->pair - 1];
    struct open_flow here = {
        .trace_id = event->value,
        .ts_ns = event->key.ts_ns,
        .args = ingest_args_of(event),
        .process_id = ingest->threads[pair->thread_id - 1].process_id,
        .thread_id = pair->thread_id,
        .category = event->category,
        .name = pair->name,
    };
    struct span_place place;
    enum profile_status status = ingest_span_place(ingest, event, &place, error);

    if (status != PROFILE_OK)
        return status;
    here.slice = place.id;
    if (event->type == TIMELINE_FLOW_BEGIN)
        return begin(ingest, &here, error);
    return go_on(ingest, &here, event->type == TIMELINE_FLOW_STEP, error);
}

void ingest_flow_finish(struct profile_ingest *ingest)
{
    ingest->notices.unfinished_flows += ingest->flows->open_count;
}

void ingest_flow_release(struct profile_ingest *ingest)
{
    free(ingest->flows->flows);
    base_pair_map_release(&ingest->flows->table);
}
