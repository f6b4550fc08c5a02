/* What testdata/trace/work wrote, against its own log.
 *
 *   trace_check all|latest LOG TRACE...
 *
 * all: each event that the log counts is there, once, and at most one more of each thread, the
 * one in flight when it was killed.  latest: the same of the latest ones, without a gap between
 * them; of a thread that has written none while others filled the buffer, none need be left.  At
 * least LEAST events a process are there.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fcntl.h>

#include <fxt/fxt.h>

struct event {
    uint64_t pid;
    uint32_t thread, seq;
};

static struct event *events;
static size_t count, capacity;
enum { LEAST = 50 };

static int compare(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void add(uint64_t pid, uint32_t thread, uint32_t seq)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 4096;
        events = realloc(events, capacity * sizeof *events);
        if (!events)
            abort();
    }
    events[count++] = (struct event){ pid, thread, seq };
}

static void take(const struct fxt_record *record)
{
    const struct fxt_arg *args = record->args;

    if (record->kind != FXT_RECORD_EVENT || record->arg_count != 2 ||
        record->category.length != 4 || memcmp(record->category.bytes, "work", 4) != 0)
        return;
    add(record->thread.process, args[0].value.uint32, args[1].value.uint32);
}

static void read_trace(const char *path)
{
    const struct fxt_record *record;
    struct fxt_reader *reader = NULL;
    struct fxt_input *input = NULL;
    struct fxt_error error = { .message = "" };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum fxt_status status = fxt_input_open_fd(fd, &input, &error);

    if (status == FXT_OK)
        status = fxt_reader_open(input, NULL, &reader, &error);
    while (status == FXT_OK && (status = fxt_reader_next(reader, &record, &error)) == FXT_OK)
        take(record);
    if (status != FXT_END) {
        printf("%s: %s\n", path, error.message);
        exit(1);
    }
    fxt_reader_close(reader);
    fxt_input_close(input);
    (void)close(fd);
}

/* The events of one thread, sorted.  */
static bool check(const struct event *first, size_t length, uint32_t logged, bool latest)
{
    for (size_t i = 1; i < length; i++)
        if (first[i].seq != first[i - 1].seq + 1) {
            printf("process %" PRIu64 ", thread %" PRIu32 ": event %" PRIu32 " follows %" PRIu32
                   "\n",
                   first->pid, first->thread, first[i].seq, first[i - 1].seq);
            return false;
        }
    if (length == 0)
        return logged == 0 || latest;
    return (latest || first[0].seq == 0) &&
           (first[length - 1].seq + 1 == logged || first[length - 1].seq == logged);
}

int main(int argc, char **argv)
{
    bool latest = argc > 1 && strcmp(argv[1], "latest") == 0, fine = true;
    uint64_t total = 0;
    unsigned pid, thread, logged;
    FILE *log = argc > 3 ? fopen(argv[2], "r") : NULL;
    size_t checked = 0, processes = 0;

    if (!log)
        return 2;
    for (int i = 3; i < argc; i++)
        read_trace(argv[i]);
    qsort(events, count, sizeof *events, compare);
    while (fscanf(log, "%u %u %u", &pid, &thread, &logged) == 3) {
        const struct event key = { pid, thread, 0 };
        size_t low = 0, high = count, end;

        while (low < high) {
            size_t middle = (low + high) / 2;

            if (compare(&events[middle], &key) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        for (end = low; end < count && events[end].pid == pid && events[end].thread == thread;
             end++)
            continue;
        if (!check(events + low, end - low, logged, latest)) {
            printf("process %u, thread %u: %zu events, the log has %u\n", pid, thread, end - low,
                   logged);
            fine = false;
        }
        checked += end - low;
        total += logged;
        processes += thread == 0 && logged >= 1000;
    }
    if (checked != count) {
        printf("%zu events of nobody in the log\n", count - checked);
        fine = false;
    }
    if (latest && count < LEAST * processes) {
        printf("%zu events of %zu processes\n", count, processes);
        fine = false;
    }
    printf("%zu of %" PRIu64 " events\n", count, total);
    return fine ? 0 : 1;
}
