/* austin.c - the text of Austin, which samples Python programs: a stack a line, root first, with
 * process and thread in front, and what was measured behind it.
 *
 *     # austin: 3.6.0
 *     # mode: wall
 *     P4711;T0:4712;/app/main.py:<module>:12;/app/main.py:work:7 1250
 *
 * In mode full there are three numbers: "1250,0,-64", microseconds, whether idle, kilobytes.  */
#include <stdlib.h>

#include "libprofile/read/formats.h"

enum mode { WALL, CPU, MEMORY, FULL };

struct austin {
    struct gather *gather;
    enum mode mode;
    bool has_types;
    uint32_t *frames; /* locations, root first */
    size_t capacity;
};

/* "P4711;T0:4712;": version 3 has the interpreter before the thread.  */
static bool take_owner(struct text *line, uint64_t *pid, uint64_t *tid)
{
    struct text at = *line;
    bool is_hex;

    if (!text_take(&at, "P") || !text_take_number(&at, pid) || !text_take(&at, ";T"))
        return false;
    is_hex = text_begins(at, "0x");
    if (!(is_hex ? text_take_hex(&at, tid) : text_take_number(&at, tid)))
        return false;
    if (text_take(&at, ":") &&
        !(text_begins(at, "0x") ? text_take_hex(&at, tid) : text_take_number(&at, tid)))
        return false;
    if (at.length > 0 && *at.at != ';' && *at.at != ' ')
        return false;
    *line = at;
    return true;
}

/* Comments of Austin, or a stack of its form.  */
bool austin_is(struct text start)
{
    struct text line = read_first_line(start);
    uint64_t pid, tid;

    if (text_begins(line, "# austin:"))
        return true;
    return take_owner(&line, &pid, &tid);
}

static void take_comment(struct austin *austin, struct text line)
{
    struct text value = line;

    (void)text_take(&value, "#");
    value = text_trim(value);
    if (!text_take(&value, "mode:"))
        return;
    value = text_trim(value);
    austin->mode = text_equals(value, "cpu")      ? CPU
                   : text_equals(value, "memory") ? MEMORY
                   : text_equals(value, "full")   ? FULL
                                                  : WALL;
}

static void add_types(struct austin *austin)
{
    struct gather *gather = austin->gather;

    if (austin->has_types)
        return;
    austin->has_types = true;
    (void)gather_type(gather, "samples", 7, "count");
    if (austin->mode == MEMORY || austin->mode == FULL)
        (void)gather_type(gather, "memory", 6, "bytes");
    if (austin->mode == WALL || austin->mode == FULL)
        (void)gather_type(gather, "wall", 4, "nanoseconds");
    if (austin->mode == CPU || austin->mode == FULL)
        (void)gather_type(gather, "cpu", 3, "nanoseconds");
}

static int64_t times(int64_t number, int64_t factor)
{
    int64_t product;

    return __builtin_mul_overflow(number, factor, &product) ? (number < 0 ? INT64_MIN : INT64_MAX)
                                                            : product;
}

/* "1250" or "1250,0,-64" into the values; the types are those of add_types().  */
static bool take_metric(struct austin *austin, struct text metric)
{
    int64_t *values = austin->gather->values, number, idle = 0, memory = 0;

    values[0] = 1;
    if (!text_take_signed(&metric, &number))
        return false;
    if (austin->mode == FULL && (!text_take(&metric, ",") || !text_take_signed(&metric, &idle) ||
                                 !text_take(&metric, ",") || !text_take_signed(&metric, &memory)))
        return false;
    if (austin->mode == MEMORY) {
        values[1] = times(number, 1024);
    } else if (austin->mode == FULL) {
        values[1] = times(memory, 1024);
        values[2] = times(number, 1000);
        values[3] = idle ? 0 : values[2];
    } else {
        values[1] = times(number, 1000);
    }
    return metric.length == 0;
}

/* "/app/main.py:work:7"; what is no place, such as ":GC:", is a name.  */
static uint32_t location_of(struct gather *gather, struct text frame)
{
    struct text name = frame, file = { .at = "" };
    int64_t line = 0;
    size_t end = frame.length, middle;

    while (end > 0 && frame.at[end - 1] >= '0' && frame.at[end - 1] <= '9')
        end--;
    middle = end > 0 ? end - 1 : 0;
    while (middle > 0 && frame.at[middle - 1] != ':')
        middle--;
    if (end > 1 && end < frame.length && frame.at[end - 1] == ':' && middle > 1) {
        struct text digits = text_of(frame.at + end, frame.length - end);
        uint64_t number;

        if (text_take_number(&digits, &number) && number <= INT32_MAX)
            line = (int64_t)number;
        file = text_of(frame.at, middle - 1);
        name = text_of(frame.at + middle, end - 1 - middle);
    }
    return gather_place(gather, 0, 0,
                        gather_function(gather, gather_string(gather, name.at, name.length),
                                        gather_string(gather, file.at, file.length)),
                        line);
}

static void push_frames(struct austin *austin, struct text stack)
{
    size_t count = 0;

    while (stack.length > 0 && austin->gather->status == PROFILE_OK) {
        const char *end = memchr(stack.at, ';', stack.length);
        size_t length = end ? (size_t)(end - stack.at) : stack.length;

        if (!base_make_room(&austin->frames, &austin->capacity, count + 1,
                            sizeof *austin->frames)) {
            austin->gather->status = profile_no_memory(austin->gather->error);
            return;
        }
        if (length > 0)
            austin->frames[count++] = location_of(austin->gather, text_of(stack.at, length));
        stack = text_of(stack.at + length + (end != NULL), stack.length - length - (end != NULL));
    }
    while (count > 0)
        gather_push(austin->gather, austin->frames[--count]);
}

static bool take_sample(struct austin *austin, struct text line)
{
    struct gather *gather = austin->gather;
    struct text stack;
    uint64_t pid, tid;
    size_t end;

    add_types(austin);
    gather_begin(gather);
    if (!take_owner(&line, &pid, &tid))
        return false;
    end = line.length;
    while (end > 0 && line.at[end - 1] != ' ')
        end--;
    if (end == 0 || !take_metric(austin, text_of(line.at + end, line.length - end)))
        return false;
    stack = text_trim(text_of(line.at, end));
    (void)text_take(&stack, ";");
    push_frames(austin, stack);
    gather_label(gather, "pid", 0, (int64_t)(uint32_t)pid, "");
    gather_label(gather, "tid", 0, (int64_t)(uint32_t)tid, "");
    gather_end(gather);
    return true;
}

bool austin_read(struct gather *gather)
{
    struct austin austin = { .gather = gather };
    const char *at;
    size_t length;

    while (gather_line(gather, &at, &length)) {
        struct text line = text_of(at, length);

        if (text_begins(line, "#"))
            take_comment(&austin, line);
        else if (length > 0 && !take_sample(&austin, line))
            gather_bad_line(gather);
    }
    free(austin.frames);
    return gather->spool.count > 0;
}
