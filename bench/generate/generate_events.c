/* --kind events: records of 72 bytes, in the two shapes that producers choose between; or, with
 * --args, of one shape with so many arguments.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/generate/generate.h"

/* All by index, and a text as argument.  */
static void put_indexed_event(uint64_t ticks, uint32_t thread, uint32_t site)
{
    char name[NAME_SIZE];
    char text[41]; /* 5 words */
    struct fxt_arg arg = { .type = FXT_ARG_STRING, .name = { .index = 1 } };

    (void)snprintf(text, sizeof text, "text %035" PRIu64, ticks);
    arg.value.string = fxt_inline(text);
    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .thread = indexed_thread(thread),
        .category = { .index = 1 },
        .name = indexed_name(site, name),
        .args = &arg,
        .arg_count = 1,
        .value.event = { .type = FXT_EVENT_DURATION_COMPLETE, .end_ticks = ticks + 500 },
    });
}

/* All inline, and a number as argument.  */
static void put_inline_event(uint64_t ticks, uint32_t thread, uint32_t site)
{
    char name[NAME_SIZE];
    struct fxt_arg arg = { .type = FXT_ARG_UINT64,
                           .name = { .index = 1 },
                           .value.uint64 = ticks * 3 };
    struct fxt_thread koids = indexed_thread(thread);

    koids.index = 0;
    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .thread = koids,
        .category = fxt_inline("category"),
        .name = fxt_inline(site_name(site, name)),
        .args = &arg,
        .arg_count = 1,
        .value.event = { .type = FXT_EVENT_DURATION_COMPLETE, .end_ticks = ticks + 500 },
    });
}

/* All by index, and numbers as arguments.  */
static void put_plain_event(uint64_t ticks, uint32_t thread, uint32_t site)
{
    char name[NAME_SIZE];
    struct fxt_arg args[FXT_MAX_ARGS];

    for (uint32_t i = 0; i < wanted.arg_count; i++) {
        args[i] = (struct fxt_arg){ .type = i % 2 ? FXT_ARG_INT32 : FXT_ARG_UINT64,
                                    .name = { .index = (uint16_t)(1 + i) } };
        if (i % 2)
            args[i].value.int32 = (int32_t)below(100000);
        else
            args[i].value.uint64 = ticks * 3;
    }
    put((struct fxt_record){
        .kind = FXT_RECORD_EVENT,
        .ticks = ticks,
        .thread = indexed_thread(thread),
        .category = { .index = 1 },
        .name = indexed_name(site, name),
        .args = args,
        .arg_count = wanted.arg_count,
        .value.event = { .type = FXT_EVENT_DURATION_COMPLETE, .end_ticks = ticks + 500 },
    });
}

static uint64_t *totals; /* events */

void put_event(uint64_t ticks)
{
    uint32_t thread = below(thread_total());
    uint32_t node = choose_stack();
    uint32_t site = nodes[node].site;

    if (!totals)
        totals = new_totals();
    totals[total_index(thread / wanted.threads, node)]++;
    if (wanted.plain)
        put_plain_event(ticks, thread, site);
    else if (has_index(site) && thread < 255 && below(2))
        put_indexed_event(ticks, thread, site);
    else
        put_inline_event(ticks, thread, site);
}

void make_events(void)
{
    uint64_t ticks = FIRST_NS;

    put_magic();
    put_provider(1, "fxtgen");
    put_all_names();
    put_tables();
    for (uint64_t done = 0; !is_done(done); done++) {
        put_event(ticks);
        ticks += 1 + below(1000);
    }
}

/* An event has no stack, only its name.  */
void truth_events(void)
{
    if (totals)
        truth_stacks(FRAME_NAME, true, &totals, 1);
    free(totals);
}
