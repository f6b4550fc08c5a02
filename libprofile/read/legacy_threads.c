/* legacy_threads.c - the threads of a program and their stacks, as text of gperftools.
 *
 *     --- threadz 1 ---
 *
 *     --- Thread 7f794ab90940 (name: main/14748) stack: ---
 *       PC:  0x00bc8f1c: helper(arg*)
 *       0x0040be31: main
 *     --- Thread 7f794964e700 (name: thread1/14751) stack: ---
 *       PC: 0xbc8f1c 0xbcbd00
 *         creator: 0xa45b96
 *     --- Memory map: ---  */
#include "libprofile/read/formats.h"

static bool is_thread(struct text line)
{
    return text_begins(line, "--- Thread ") && text_contains(line, "stack: ---");
}

bool legacy_threads_is(struct text start)
{
    struct text line;

    do
        line = read_next_line(&start);
    while (start.length > 0 && text_is_comment(line));
    return text_begins(line, "--- threadz ") || is_thread(line);
}

struct threads {
    struct gather *gather;
    bool in_thread;
    bool is_same;   /* as the thread before it */
    uint64_t again; /* threads that have the stack of the last sample */
    bool has_sample;
};

/* The sample that waits: it is known at the next one how many threads have its stack.  */
static void end_sample(struct threads *threads)
{
    if (threads->has_sample) {
        threads->gather->values[0] = (int64_t)(1 + threads->again);
        gather_end(threads->gather);
    }
    threads->has_sample = false;
    threads->again = 0;
}

/* A thread without a stack is as the one before it.  */
static void end_thread(struct threads *threads)
{
    if (threads->in_thread && threads->is_same)
        threads->again++;
    threads->in_thread = threads->is_same = false;
}

static void take_stack_line(struct threads *threads, struct text line)
{
    struct gather *gather = threads->gather;

    if (threads->is_same) { /* the first line of this thread's own stack */
        if (!text_contains(line, "0x"))
            return;
        end_sample(threads);
        gather_begin(gather);
        threads->has_sample = true;
        threads->is_same = false;
    }
    if (!text_push_addresses(gather, line, 1))
        gather_bad_line(gather);
}

/* False at the end of the threads.  */
static bool take_line(struct threads *threads, struct text line)
{
    if (is_thread(line)) {
        end_thread(threads);
        threads->in_thread = threads->is_same = true;
    } else if (text_begins(line, "---- no stack trace for")) {
        return false;
    } else if (text_begins(line, "--- threadz ")) {
        return true;
    } else if (text_begins(line, "---")) {
        gather_bad_line(threads->gather);
        end_thread(threads);
    } else if (threads->in_thread && !text_contains(line, "same as previous thread")) {
        take_stack_line(threads, line);
    }
    return true;
}

bool legacy_threads_read(struct gather *gather)
{
    struct threads threads = { .gather = gather };
    const char *at;
    size_t length;
    bool is_map = false;

    (void)gather_type(gather, "thread", 6, "count");
    gather->header.period = 1;
    gather->header.has_period_type = true;
    gather->header.period_type = gather->types[0];
    while (!is_map && gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        is_map = text_is_map_start(line);
        if (!is_map && !text_is_comment(line) && !take_line(&threads, line))
            break;
    }
    end_thread(&threads);
    end_sample(&threads);
    text_read_maps(gather, is_map);
    return true;
}
