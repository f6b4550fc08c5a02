/* --kind spans: nested slices, out of order.  */
#include <stdlib.h>

#include "bench/generate/generate.h"

struct slice {
    uint32_t node;
    bool complete; /* one record at its end, instead of two */
    uint64_t start;
    uint64_t in_children; /* ns */
};

/* A thread at work.  All its times differ, so that their order alone says how slices nest.  */
struct lane {
    uint64_t now;
    uint32_t depth;
    struct slice *open; /* outermost first */
};

static struct lane *lanes;
static uint64_t *totals; /* ns of self time */

struct span_event {
    unsigned type;
    uint32_t thread;
    uint32_t site;
    uint64_t ticks;
    uint64_t end;
};

#define WINDOW 1024u /* events that are shuffled together */

static struct span_event window[WINDOW];
static uint32_t window_used;

/* Write the window in any order: readers have to sort.  */
static void flush_window(void)
{
    for (; window_used; window_used--) {
        uint32_t i = below(window_used);
        struct span_event event = window[i];
        char name[NAME_SIZE];
        window[i] = window[window_used - 1];
        put((struct fxt_record){
            .kind = FXT_RECORD_EVENT,
            .ticks = event.ticks,
            .thread = indexed_thread(event.thread),
            .category = { .bytes = "category", .length = 8, .index = 1 },
            .name = indexed_name(event.site, name),
            .value.event = { .type = event.type, .end_ticks = event.end },
        });
    }
}

static void emit(struct span_event event)
{
    if (window_used == WINDOW)
        flush_window();
    window[window_used++] = event;
}

static void open_slice(uint32_t thread, uint32_t parent)
{
    struct lane *lane = &lanes[thread];
    const struct node *node = &nodes[parent];
    struct slice slice = {
        .node = child_list[node->first_child + below(node->children)],
        .complete = below(2),
        .start = lane->now,
    };

    lane->open[lane->depth++] = slice;
    if (!slice.complete)
        emit((struct span_event){ .type = FXT_EVENT_DURATION_BEGIN,
                                  .thread = thread,
                                  .site = nodes[slice.node].site,
                                  .ticks = slice.start });
}

static void close_slice(uint32_t thread)
{
    struct lane *lane = &lanes[thread];
    struct slice slice = lane->open[--lane->depth];
    uint64_t duration = lane->now - slice.start;

    emit((struct span_event){ .type = slice.complete ? FXT_EVENT_DURATION_COMPLETE
                                                     : FXT_EVENT_DURATION_END,
                              .thread = thread,
                              .site = nodes[slice.node].site,
                              .ticks = slice.complete ? slice.start : lane->now,
                              .end = lane->now });
    totals[total_index(thread / wanted.threads, slice.node)] += duration - slice.in_children;
    if (lane->depth)
        lane->open[lane->depth - 1].in_children += duration;
}

/* Call something or return.  True if a slice was opened.  */
static bool step(uint32_t thread)
{
    struct lane *lane = &lanes[thread];
    uint32_t node = lane->depth ? lane->open[lane->depth - 1].node : 0;

    lane->now += 1 + below(2000);
    if (lane->depth && (nodes[node].children == 0 || below(16) < 7)) {
        close_slice(thread);
        return false;
    }
    open_slice(thread, node);
    return true;
}

void make_spans(void)
{
    uint64_t done = 0;

    put_magic();
    put_provider(1, "fxtgen");
    put_all_names();
    put_tables();
    totals = new_totals();
    lanes = cli_allocate(thread_total(), sizeof *lanes);
    for (uint32_t i = 0; i < thread_total(); i++) {
        lanes[i].now = FIRST_NS + i;
        lanes[i].open = cli_allocate(wanted.depth, sizeof *lanes[i].open);
    }
    while (!is_done(done))
        done += step(below(thread_total()));
    for (uint32_t i = 0; i < thread_total(); i++) {
        while (lanes[i].depth) {
            lanes[i].now += 1 + below(2000);
            close_slice(i);
        }
        free(lanes[i].open);
    }
    flush_window();
    free(lanes);
}

void truth_spans(void)
{
    truth_stacks(FRAME_NAME, false, &totals, 1);
    free(totals);
}
