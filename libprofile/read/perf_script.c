/* perf_script.c - the text that perf script prints by default: a line for each sample, followed by
 * its stack from the leaf on and an empty line.
 *
 *     my program  4711 [003] 1234.567890:     250000 cycles:u:
 *     	    55d0c8a1e1a9 work+0x19 (/usr/bin/prog)
 *     	    7f6c2a029d90 [unknown] (/usr/lib/libc.so.6)
 *
 * Without stacks the frame follows in the same line.  perf prints addresses of callers minus 1 and
 * names them so; offsets are of no use without the mappings, so frames go by their names.  */
#include "libprofile/read/formats.h"

/* A sample's first line, taken apart.  */
struct head {
    struct text comm, event, frame;
    uint64_t pid, tid; /* pid 0: not printed */
    bool has_pid, has_cpu, has_period;
    uint64_t cpu, time_ns, period;
};

/* "1234.567890:" as nanoseconds.  */
static bool take_time(struct text *line, uint64_t *out)
{
    struct text at = *line, digits;
    uint64_t seconds, fraction;

    if (!text_take_number(&at, &seconds) || !text_take(&at, "."))
        return false;
    digits = at;
    if (!text_take_number(&at, &fraction) || !text_take(&at, ":") ||
        seconds > INT64_MAX / 1000000000 - 1)
        return false;
    size_t count = digits.length - at.length - 1;
    for (; count < 9; count++)
        fraction *= 10;
    if (count > 9)
        return false;
    *line = at;
    *out = seconds * 1000000000 + fraction;
    return true;
}

/* What follows the name: "4711 [003] 1234.567890:", "4711/4712 1234.567890:".  */
static bool take_place(struct text *line, struct head *head)
{
    struct text at = *line;

    *head = (struct head){ .comm = { .at = "" } };
    if (!text_take_number(&at, &head->tid))
        return false;
    if (text_take(&at, "/")) {
        head->pid = head->tid;
        head->has_pid = true;
        if (!text_take_number(&at, &head->tid))
            return false;
    }
    text_skip_blanks(&at);
    if (text_take(&at, "[")) {
        head->has_cpu = text_take_number(&at, &head->cpu) && text_take(&at, "]");
        text_skip_blanks(&at);
    }
    if (!take_time(&at, &head->time_ns))
        return false;
    *line = at;
    return true;
}

/* Names have blanks and digits: the first place where the rest of the form follows ends them.  */
static bool take_head(struct text line, struct head *head)
{
    struct text whole = line, token;

    while (line.length > 0) {
        struct text rest = line;

        if (line.at > whole.at && take_place(&rest, head)) {
            head->comm = text_trim(text_of(whole.at, (size_t)(line.at - whole.at)));
            line = rest;
            break;
        }
        (void)text_take_token(&line);
        text_skip_blanks(&line);
    }
    if (line.length == 0)
        return false;
    text_skip_blanks(&line);
    token = line;
    head->has_period = text_take_number(&token, &head->period) && token.length > 0 &&
                       (*token.at == ' ' || *token.at == '\t');
    if (head->has_period)
        line = token;
    text_skip_blanks(&line);
    head->event = text_take_token(&line);
    if (head->event.length < 2 || head->event.at[head->event.length - 1] != ':')
        return false;
    while (head->event.length > 0 && head->event.at[head->event.length - 1] == ':')
        head->event.length--;
    head->frame = text_trim(line);
    return head->event.length > 0;
}

/* The first line that is no comment.  */
bool perf_script_is(struct text start)
{
    struct text line;
    struct head head;

    do
        line = read_next_line(&start);
    while (start.length > 0 && text_is_comment(line));
    return take_head(line, &head);
}

/* ---- Samples ---- */

struct script {
    struct gather *gather;
    bool has_sample;
    bool has_times;
    uint64_t first_ns, last_ns;
    struct base_pairs mappings; /* name of the file: numbers are those of the mappings */
};

static void end_sample(struct script *script)
{
    if (script->has_sample)
        gather_end(script->gather);
    script->has_sample = false;
}

/* "cycles:u" counts cycles; the clocks count nanoseconds.  */
static size_t type_of(struct script *script, struct text event)
{
    const char *colon = memchr(event.at, ':', event.length);
    struct text base = colon ? text_of(event.at, (size_t)(colon - event.at)) : event;

    if (text_equals(base, "cpu-clock") || text_equals(base, "task-clock"))
        return gather_type(script->gather, "cpu", 3, "nanoseconds");
    /* A tracepoint is "group:name".  What follows in other names are letters for the kernel.  */
    for (const char *c = colon; c && c < event.at + event.length; c++)
        if (!strchr(":ukhGHpPSDIWe", *c))
            base = event;
    return gather_type(script->gather, base.at, base.length, "count");
}

static void note_time(struct script *script, uint64_t time_ns)
{
    if (!script->has_times || time_ns < script->first_ns)
        script->first_ns = time_ns;
    if (!script->has_times || time_ns > script->last_ns)
        script->last_ns = time_ns;
    script->has_times = true;
}

static void begin_sample(struct script *script, const struct head *head)
{
    struct gather *gather = script->gather;
    size_t type = head->has_period ? type_of(script, head->event) : SIZE_MAX;

    gather_begin(gather);
    gather->values[0] = 1;
    if (head->has_period && type == SIZE_MAX)
        gather->notices.more_events++;
    else if (type != SIZE_MAX)
        gather->values[type] = head->period > INT64_MAX ? INT64_MAX : (int64_t)head->period;
    if (head->has_pid)
        gather_label(gather, "pid", 0, (int64_t)(uint32_t)head->pid, "");
    gather_label(gather, "tid", 0, (int64_t)(uint32_t)head->tid, "");
    gather_label(gather, "thread", gather_string(gather, head->comm.at, head->comm.length), 0, "");
    if (head->has_cpu)
        gather_label(gather, "cpu", 0, (int64_t)(uint32_t)head->cpu, "");
    gather_label(gather, "timestamp", 0, (int64_t)head->time_ns, "nanoseconds");
    note_time(script, head->time_ns);
    script->has_sample = true;
}

/* ---- Frames ---- */

/* "(/usr/bin/prog)" at the end: the file, and the text before it.  */
static struct text take_file(struct text *line)
{
    struct text file = { .at = "" };
    size_t depth = 0;

    if (line->length < 2 || line->at[line->length - 1] != ')')
        return file;
    for (size_t i = line->length; i > 0; i--) {
        depth += line->at[i - 1] == ')';
        depth -= line->at[i - 1] == '(';
        if (depth == 0) {
            file = text_of(line->at + i, line->length - i - 1);
            *line = text_trim(text_of(line->at, i - 1));
            break;
        }
    }
    return file;
}

static uint32_t mapping_of(struct script *script, struct text file)
{
    struct gather *gather = script->gather;
    struct profile_pprof_mapping mapping = {
        .filename = gather_string(gather, file.at, file.length), .has_functions = true
    };
    bool is_new = false;
    uint32_t number;

    if (file.length == 0 || text_equals(file, "[unknown]") || text_equals(file, "inlined"))
        return 0;
    number = base_pairs_add(&script->mappings, mapping.filename, 0, &is_new);
    if (is_new && number)
        (void)gather_mapping(gather, &mapping);
    return number;
}

/* The function, or "[libc.so.6]" where perf knows none.  */
static uint32_t function_of(struct gather *gather, struct text name, struct text file)
{
    char label[256];
    size_t base = 0, length;

    for (size_t i = name.length; i > 3; i--) /* "+0x1c" */
        if (memcmp(name.at + i - 3, "+0x", 3) == 0) {
            name.length = i - 3;
            break;
        }
    if (!text_equals(name, "[unknown]") && name.length > 0)
        return gather_function(gather, gather_string(gather, name.at, name.length), 0);
    for (size_t i = 0; i < file.length; i++)
        if (file.at[i] == '/')
            base = i + 1;
    length = file.length - base;
    if (length == 0 || length > sizeof label - 2 || file.at[base] == '[')
        return gather_function(gather,
                               length ? gather_string(gather, file.at + base, length)
                                      : gather_word(gather, PROFILE_UNKNOWN),
                               0);
    label[0] = '[';
    memcpy(label + 1, file.at + base, length);
    label[length + 1] = ']';
    return gather_function(gather, gather_string(gather, label, length + 2), 0);
}

static bool take_frame(struct script *script, struct text line)
{
    struct text file;
    uint64_t address;
    uint32_t mapping;

    if (!text_take_hex(&line, &address) || (line.length > 0 && *line.at != ' '))
        return false;
    line = text_trim(line);
    file = take_file(&line);
    mapping = mapping_of(script, file);
    gather_push(script->gather, gather_place(script->gather, mapping, address,
                                             function_of(script->gather, line, file), 0));
    return true;
}

/* perf prints source lines under frames on request.  */
static bool is_source_line(struct text line)
{
    return line.length > 1 && memchr(line.at, ':', line.length) &&
           line.at[line.length - 1] >= '0' && line.at[line.length - 1] <= '9';
}

static void take_line(struct script *script, struct text line)
{
    struct head head;

    if (line.length == 0) {
        end_sample(script);
    } else if (script->has_sample && take_frame(script, line)) {
        return;
    } else if (take_head(line, &head)) {
        end_sample(script);
        begin_sample(script, &head);
        if (head.frame.length > 0 && !take_frame(script, head.frame) &&
            !memchr(head.event.at, ':', head.event.length)) /* what a tracepoint prints */
            gather_bad_line(script->gather);
    } else if (!(script->has_sample && is_source_line(line)) && *line.at != '#') {
        gather_bad_line(script->gather);
    }
}

bool perf_script_read(struct gather *gather)
{
    struct script script = { .gather = gather };
    const char *at;
    size_t length;

    (void)gather_type(gather, "samples", 7, "count");
    while (gather_line(gather, &at, &length))
        take_line(&script, text_of(at, length));
    end_sample(&script);
    if (gather->type_count > 1) /* the first event: the last may be a rare one */
        gather->header.default_sample_type = gather->types[1].type;
    if (script.has_times)
        gather->header.duration_ns = (int64_t)(script.last_ns - script.first_ns);
    base_pairs_release(&script.mappings);
    return gather->spool.count > 0;
}
