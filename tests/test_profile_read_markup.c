/* Reading backtraces from logs with symbolizer markup.  */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_markup.h>
#include "tests/support/allocation.h"
#include "tests/support/describe.h"
#include "tests/support/pprof_text.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* ---- What was read, as text ---- */

static void add(struct pprof_bytes *text, const char *line)
{
    (void)pprof_bytes_write(text, line, strlen(line));
}

static void add_owner(struct pprof_bytes *text, const char *what,
                      const struct profile_markup_owner *owner)
{
    char line[100];

    if (owner->known)
        (void)snprintf(line, sizeof line, "%s %" PRIu64 "/%" PRIu64, what, owner->process_koid,
                       owner->thread_koid);
    else
        (void)snprintf(line, sizeof line, "%s", what);
    add(text, line);
}

static enum profile_status say_mapping(void *context, const struct profile_markup_mapping *mapping)
{
    char line[200];

    add_owner(context, "map", &mapping->owner);
    (void)snprintf(line, sizeof line, ": %s 0x%" PRIx64 "+0x%" PRIx64 " 0x%" PRIx64 " %u\n",
                   mapping->module->name, mapping->start, mapping->size_bytes, mapping->vaddr,
                   mapping->flags);
    add(context, line);
    return PROFILE_OK;
}

static enum profile_status say_backtrace(void *context,
                                         const struct profile_markup_backtrace *backtrace)
{
    static const char *const places[] = { "", " none", " unknown", " missing" };
    char line[200];

    add_owner(context, "bt", &backtrace->owner);
    add(context, ":");
    for (size_t i = 0; i < backtrace->frame_count; i++) {
        const struct profile_markup_frame *frame = &backtrace->frames[i];

        if (frame->module)
            (void)snprintf(line, sizeof line, " %s+0x%" PRIx64, frame->module->name, frame->vaddr);
        add(context, frame->module ? line : places[frame->place]);
    }
    add(context, backtrace->is_cut ? " cut\n" : "\n");
    return PROFILE_OK;
}

static const struct profile_markup_sink say = { .size = sizeof say,
                                                .mapping = say_mapping,
                                                .backtrace = say_backtrace };

static enum profile_status read_log(const char *log, size_t length, size_t step,
                                    const struct profile_read_options *options,
                                    struct pprof_bytes *text,
                                    struct profile_markup_notices *notices,
                                    struct profile_error *error)
{
    struct source source = { .bytes = (const uint8_t *)log, .left = length, .step = step };
    const struct fxt_input_options from = {
        .size = sizeof from, .read = read_source, .context = &source, .as_stream = true
    };
    struct profile_markup_sink sink = say;
    struct fxt_input *input = NULL;
    enum profile_status status = PROFILE_NO_MEMORY;

    sink.context = text;
    if (fxt_input_open(&from, &input, NULL) == FXT_OK)
        status = profile_read_markup(input, &sink, options, notices, error);
    fxt_input_close(input);
    return status;
}

static const char *text_of(const struct pprof_bytes *text)
{
    return text->items ? (const char *)text->items : "";
}

/* ---- What logs say ---- */

#define MODULES                                   \
    "{{{module:0:a:elf:0123}}}\n"                 \
    "{{{module:1:b:elf:}}}\n"                     \
    "{{{mmap:0x1000:0x1000:load:0:r:0x0}}}\n"     \
    "{{{mmap:0x2000:0x1000:load:0:rx:0x5000}}}\n" \
    "{{{mmap:0x8000:0x1000:load:1:RWX:0x0}}}\n"
#define MAPS                          \
    "map: a 0x1000+0x1000 0x0 4\n"    \
    "map: a 0x2000+0x1000 0x5000 5\n" \
    "map: b 0x8000+0x1000 0x0 7\n"

static const struct {
    const char *name, *log, *text, *damage;
} logs[] = {
    { "a return address is looked up one before, a pc as it is",
      MODULES "{{{bt:0:0x2010:pc}}}\n{{{bt:1:0x2020:ra}}}\n{{{bt:2:0x8030}}}\n",
      MAPS "bt: a+0x5010 a+0x501f b+0x2f\n", "" },
    { "the byte before a return address decides where it is",
      MODULES "{{{bt:0:0x2000:pc}}}\n{{{bt:1:0x2000:ra}}}\n{{{bt:2:0x3000:ra}}}\n{{{bt:3:0x3000:pc}"
              "}}\n",
      MAPS "bt: a+0x5000 a+0xfff a+0x5fff none\n", "" },
    { "each frame 0 begins another backtrace",
      MODULES "{{{bt:0:0x2010:pc}}}\n{{{bt:0:0x2011:pc}}}\n{{{bt:1:0x2020}}}\n",
      MAPS "bt: a+0x5010\nbt: a+0x5011 a+0x501f\n", "" },
    { "other lines, elements and text around do not end it",
      MODULES "> {{{bt:0:0x2010:pc}}} sp 0x10\nrax: 1 rbx: 2\n{{{pc:0x2222}}} {{{data:0x3333}}}\n\n"
              "see {{{bt:1:0x2020}}} and {{{bt:2:0x2030:ra:sp 0x20}}}\r\n",
      MAPS "bt: a+0x5010 a+0x501f a+0x502f\n", "" },
    { "a reset ends a backtrace and forgets modules",
      MODULES "{{{bt:0:0x2010:pc}}}\n{{{reset}}}\n{{{bt:1:0x2020:pc}}}\n{{{module:0:c:elf:}}}"
              "{{{mmap:0x2000:0x10:load:0:x:0x0}}}\n{{{bt:0:0x2001:pc}}}",
      MAPS "bt: a+0x5010\nmap: c 0x2000+0x10 0x0 1\nbt: missing unknown\nbt: c+0x1\n",
      "1 backtrace without some of its frames, the first at offset 201" },
    { "without mappings every address is unknown", "{{{bt:0:0x10:pc}}}\n{{{bt:1:0x0}}}\n",
      "bt: unknown unknown\n", "" },
    { "mappings nobody samples are not told", MODULES, "", "" },
    { "mappings are told once", MODULES MODULES "{{{bt:0:0x2010:pc}}}\n{{{bt:0:0x2010:pc}}}\n",
      MAPS "bt: a+0x5010\nbt: a+0x5010\n", "" },
    /* Frames that are missing.  */
    { "a hole is a frame of its own",
      "{{{bt:0:0x1:pc}}}\n{{{bt:1:0x2}}}\n{{{bt:5:0x3}}}\n{{{bt:6:0x3}}}\n{{{bt:9:0x3}}}\n",
      "bt: unknown unknown missing unknown unknown missing unknown\n",
      "1 backtrace without some of its frames, the first at offset 33" },
    { "a backtrace that begins too late lacks its leaf", "{{{bt:3:0x1}}}\n{{{bt:4:0x2}}}\n",
      "bt: missing unknown unknown\n",
      "1 backtrace without some of its frames, the first at offset 0" },
    { "numbers that go back begin another",
      "{{{bt:0:0x1:pc}}}\n{{{bt:1:0x2}}}\n{{{bt:1:0x3}}}\n{{{bt:2:0x3}}}\n{{{bt:0:0x3}}}\n",
      "bt: unknown unknown\nbt: missing unknown unknown\nbt: unknown\n",
      "1 backtrace without some of its frames, the first at offset 33" },
    { "the highest number does not wrap",
      "{{{bt:18446744073709551615:0x1}}}\n{{{bt:18446744073709551615:0x1}}}\n{{{bt:0:0x1}}}\n",
      "bt: missing unknown unknown\nbt: unknown\n",
      "1 backtrace without some of its frames, the first at offset 0" },
    { "a frame that is malformed is one that is missing",
      "{{{bt:0:0x1:pc}}}\n{{{bt:1:2}}}\n{{{bt:2:0x3}}}\n", "bt: unknown missing unknown\n",
      "1 malformed element, the first at offset 18; 1 backtrace without some of its frames, the "
      "first at offset 31" },
    /* Whose it is.  */
    { "the logger says process and thread",
      "[00012.345][10][11][tag] INFO: {{{module:0:a:elf:01}}}\n"
      "[00012.345][10][11][tag] INFO: {{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
      "[00012.346][10][11][tag] INFO: {{{bt:0:0x1010:pc}}}\n"
      "[00012.346][10][12] INFO: {{{bt:0:0x1020:pc}}}\n"
      "[00012.346][10][11] INFO: {{{bt:1:0x1030:pc}}}\n"
      "[00012.346][20][12] INFO: {{{bt:0:0x1020:pc}}}\n"
      "[00012.346][10][12] INFO: {{{bt:1:0x1040:pc}}}\n",
      "map 10/0: a 0x1000+0x1000 0x0 5\nbt 10/11: a+0x10 a+0x30\nbt 20/12: unknown\n"
      "bt 10/12: a+0x20 a+0x40\n",
      "" },
    { "so does the kernel's log",
      "[00012.345] 01042:01044> {{{module:0:a:elf:01}}}{{{mmap:0x0:0x10:load:0:x:0x0}}}\n"
      "[00012.345] 01042:01044> {{{bt:0:0x1:pc}}}\n"
      "dev: [00012.345] 01042:01044> {{{reset}}}\n"
      "[00012.345] 01042:01044> {{{bt:0:0x1:pc}}}\n",
      "map 1042/0: a 0x0+0x10 0x0 1\nbt 1042/1044: a+0x1\nbt 1042/1044: unknown\n", "" },
    { "and the profiler's text form",
      "{{{reset}}}\n" MODULES "1\n2\n{{{bt:0:0x2010:pc}}}\n{{{bt:1:0x2020:ra}}}\n1\n3\n"
      "{{{bt:0:0x2010:pc}}}\n{{{reset}}}\n4\n5\n{{{bt:0:0x1:pc}}}\n",
      "map 1/0: a 0x1000+0x1000 0x0 4\nmap 1/0: a 0x2000+0x1000 0x5000 5\n"
      "map 1/0: b 0x8000+0x1000 0x0 7\nbt 1/2: a+0x5010 a+0x501f\nbt 1/3: a+0x5010\n"
      "bt 4/5: unknown\n",
      "" },
    { "one number alone, or two and other text, say nothing",
      "7\n{{{bt:0:0x1}}}\n1\n2\ntext\n{{{bt:0:0x1}}}\n1\n\n2\n{{{bt:0:0x1}}}\n1\n2x\n{{{bt:0:0x1}}}"
      "\n"
      "9223372036854775808\n2\n{{{bt:0:0x1}}}\n",
      "bt: unknown\nbt: unknown\nbt 1/2: unknown\nbt: unknown\nbt: unknown\n", "" },
    { "what only looks like a prefix is none",
      "[12][1][2] {{{bt:0:0x1}}}\n[1.][1][2] {{{bt:0:0x1}}}\n[.1][1][2] {{{bt:0:0x1}}}\n"
      "[1.1][1][x] {{{bt:0:0x1}}}\n[1.1] 1:2 {{{bt:0:0x1}}}\n[1.1][1 {{{bt:0:0x1}}}\n"
      "[1.1 {{{bt:0:0x1}}}\n[1.1][99999999999999999999][1] {{{bt:0:0x1}}}\n[[1.1][3][4] "
      "{{{bt:0:0x1}"
      "}}\n{{{bt:0:0x1}}} [1.1][3][4]\n",
      "bt: unknown\nbt: unknown\nbt: unknown\nbt: unknown\nbt: unknown\nbt: unknown\nbt: unknown\n"
      "bt: unknown\nbt 3/4: unknown\nbt: unknown\n",
      "" },
    /* Damage.  */
    { "elements that are wrong are counted",
      "{{{mmap:0x1000:0x1000:load:7:rx:0x0}}}\n{{{module:7:a:elf:01}}}\n{{{module:7:b:elf:01}}}\n"
      "{{{mmap:0x1000:0x0:load:7:rx:0x0}}}\n{{{mmap:0x1000:0x1000:load:7:rx:0x0}}}\n"
      "{{{mmap:0x1800:0x1000:load:7:rx:0x100}}}\n{{{bt:0:0x1900:pc}}}\n{{{bt:one:0x1}}}\n",
      "map: a 0x1000+0x1000 0x0 5\nmap: a 0x1800+0x1000 0x100 5\nbt: a+0x200\n",
      "1 malformed element, the first at offset 224; 1 module with the number of another, the "
      "first "
      "at offset 63; 1 mapping of an unknown module, the first at offset 0; 1 mapping that is no "
      "range, the first at offset 87" },
    { "modules that are not ELF have no build ID",
      "{{{module:7:a:pe:01}}}\n{{{mmap:0x0:0x1000:load:7:rx:0x0}}}\n{{{bt:0:0x1:pc}}}\n",
      "map: a 0x0+0x1000 0x0 5\nbt: a+0x1\n", "" },
    { "nothing at all", "", "", "" },
};

START_TEST(reads_logs)
{
    for (size_t step = 0; step < 4; step++) {
        struct pprof_bytes text = { .count = 0 };
        struct profile_markup_notices notices;
        char damage[400];

        ck_assert_int_eq(
            read_log(logs[_i].log, strlen(logs[_i].log), step, NULL, &text, &notices, NULL),
            PROFILE_OK);
        ck_assert_int_eq(profile_markup_describe(&notices, damage, sizeof damage),
                         logs[_i].damage[0] != '\0');
        add(&text, "");
        ck_assert_msg(strcmp(text_of(&text), logs[_i].text) == 0, "%s:\n%s", logs[_i].name,
                      text_of(&text));
        ck_assert_msg(strcmp(damage, logs[_i].damage) == 0, "%s: %s", logs[_i].name, damage);
        free(text.items);
    }
}
END_TEST

START_TEST(refuses_text_without_markup)
{
    static const char log[] = "a log\nof nothing {{{unknown:1}}}\n";
    struct pprof_bytes text = { .count = 0 };
    struct profile_markup_notices notices;
    struct profile_error error;

    ck_assert_int_eq(read_log(log, sizeof log - 1, 0, NULL, &text, &notices, &error),
                     PROFILE_MALFORMED);
    ck_assert_str_eq(error.message, "no symbolizer markup in it");
    ck_assert_uint_eq(notices.backtraces, 0);
    ck_assert_ptr_null(text.items);
}
END_TEST

/* ---- Which files are such logs ---- */

static const struct {
    const char *bytes;
    size_t length;
    bool is_markup;
} starts[] = {
    { "{{{reset}}}\n", 12, true },
    { "a\n[1.0] boot\n{{{module:0:a:elf:}}}", 35, true },
    { "\033[1mred\033[0m {{{bt:0:0x10}}}", 31, true },
    { "0123456789abcdef\1\2 {{{bt:0:0x10}}}", 34, true },
    { "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}", 38, true },
    { "", 0, false },
    { "text", 4, false },
    { "{{{pc:0x10}}} {{{data:0x10}}} {{{symbol:f}}}", 44, false },
    { "{{{bt:0:0x10}}", 14, false },
    { "\1\2{{{reset}}}", 13, false },
    { "main;f 12\nmain;g 13\n", 20, false },
    { "0123456789abcdef\0 {{{bt:0:0x10}}}", 33, false },
};

START_TEST(tells_logs_from_other_files)
{
    ck_assert_int_eq(profile_is_markup(starts[_i].bytes, starts[_i].length), starts[_i].is_markup);
}
END_TEST

/* ---- Bounds ---- */

/* Each of count times, with its number in the place of %d.  */
static char *repeat(const char *before, const char *format, int count, size_t *length)
{
    size_t room = strlen(before) + (size_t)count * (strlen(format) + 40) + 1;
    char *log = malloc(room);

    ck_assert_ptr_nonnull(log);
    *length = (size_t)snprintf(log, room, "%s", before);
    for (int i = 0; i < count; i++) {
        const char *next = format, *mark;

        for (; (mark = strstr(next, "%d")); next = mark + 2)
            *length += (size_t)snprintf(log + *length, room - *length, "%.*s%d", (int)(mark - next),
                                        next, i);
        *length += (size_t)snprintf(log + *length, room - *length, "%s", next);
    }
    return log;
}

static enum profile_status count_frames(void *context,
                                        const struct profile_markup_backtrace *backtrace)
{
    size_t *count = context;

    *count += backtrace->frame_count;
    ck_assert_int_eq(backtrace->is_cut, backtrace->frame_count == PROFILE_MARKUP_FRAMES);
    return PROFILE_OK;
}

static enum profile_status read_counting(const char *log, size_t length, size_t *count,
                                         const struct profile_read_options *options,
                                         struct profile_markup_notices *notices)
{
    const struct profile_markup_sink sink = { .size = sizeof sink,
                                              .context = count,
                                              .backtrace = count_frames };
    struct source source;
    struct fxt_input *input = open_bytes(&source, log, length, 0);
    enum profile_status status;

    *count = 0;
    status = profile_read_markup(input, &sink, options, notices, NULL);
    fxt_input_close(input);
    return status;
}

START_TEST(cuts_backtraces_that_are_too_deep)
{
    struct profile_markup_notices notices;
    size_t length, count;
    char *log = repeat("", "{{{bt:%d:0x10}}}\n", 5000, &length);

    ck_assert_int_eq(read_counting(log, length, &count, NULL, &notices), PROFILE_OK);
    ck_assert_uint_eq(count, 4096);
    ck_assert_uint_eq(notices.kinds[PROFILE_MARKUP_DEEP].count, 1);
    ck_assert_uint_eq(notices.backtraces, 1);
    free(log);
}
END_TEST

/* What 64 others were begun after is over, and what follows of it lacks its front.  */
START_TEST(ends_backtraces_when_many_are_open)
{
    struct profile_markup_notices notices;
    size_t length, count;
    char *log = repeat("[1.0][1][9999] {{{bt:0:0x10}}}\n", "[1.0][1][%d] {{{bt:0:0x10}}}\n", 64,
                       &length);

    ck_assert_int_eq(read_counting(log, length, &count, NULL, &notices), PROFILE_OK);
    ck_assert_uint_eq(notices.backtraces, 65);
    ck_assert_uint_eq(count, 65);
    free(log);
    log = repeat("", "[1.0][1][%d] {{{bt:0:0x10}}}\n", 3000, &length);
    ck_assert_int_eq(read_counting(log, length, &count, NULL, &notices), PROFILE_OK);
    ck_assert_uint_eq(notices.backtraces, 3000);
    free(log);
}
END_TEST

/* Processes come and go: those that said nothing for the longest time are forgotten.  */
START_TEST(forgets_processes_that_are_gone)
{
    static const char each[] = "[1.0][%d][1] {{{module:0:a:elf:01}}}"
                               "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}{{{bt:0:0x1010:pc}}}\n";
    struct profile_markup_notices notices;
    size_t length, count;
    char *log = repeat("", each, 3000, &length);

    ck_assert_int_eq(read_counting(log, length, &count, NULL, &notices), PROFILE_OK);
    ck_assert_uint_eq(notices.backtraces, 3000);
    ck_assert_uint_eq(notices.kinds[PROFILE_MARKUP_ANONYMOUS].count, 0);
    free(log);
}
END_TEST

START_TEST(remembers_no_more_than_it_may)
{
    const struct profile_read_options options = { .size = sizeof options, .table_bytes = 4096 };
    struct profile_markup_notices notices;
    size_t length, count;
    char *log = repeat("", "{{{module:%d:a:elf:01}}}\n", 100, &length);

    ck_assert_int_eq(read_counting(log, length, &count, &options, &notices), PROFILE_OK);
    ck_assert_uint_eq(notices.kinds[PROFILE_MARKUP_LEFT_OUT].count, 100 - 15);
    free(log);
    /* Others give way.  */
    log = repeat("", "[1.0][%d][1] {{{module:0:a:elf:01}}}\n", 100, &length);
    ck_assert_int_eq(read_counting(log, length, &count, &options, &notices), PROFILE_OK);
    ck_assert_uint_eq(notices.kinds[PROFILE_MARKUP_LEFT_OUT].count, 0);
    free(log);
}
END_TEST

START_TEST(passes_by_long_lines)
{
    static const char log[] = "1\n2\nA line that is longer than it may be, and {{{bt:0:0x10}}}\n"
                              "{{{bt:0:0x20:pc}}}\n";
    const struct profile_read_options options = { .size = sizeof options, .entry_bytes = 20 };

    for (size_t step = 0; step < 4; step++) {
        struct pprof_bytes text = { .count = 0 };
        struct profile_markup_notices notices;

        ck_assert_int_eq(read_log(log, sizeof log - 1, step, &options, &text, &notices, NULL),
                         PROFILE_OK);
        ck_assert_uint_eq(notices.kinds[PROFILE_MARKUP_LONG_LINE].count, 1);
        ck_assert_uint_eq(notices.kinds[PROFILE_MARKUP_LONG_LINE].first_offset, 4);
        add(&text, "");
        ck_assert_str_eq(text_of(&text), "bt: unknown\n");
        free(text.items);
    }
}
END_TEST

START_TEST(says_every_kind)
{
    struct profile_markup_notices notices = { .backtraces = 0 };
    char text[1000];

    for (int i = 0; i < PROFILE_MARKUP_KINDS; i++) {
        ck_assert_int_gt((int)strlen(profile_markup_name((enum profile_markup_kind)i)), 5);
        ck_assert_int_gt((int)strlen(profile_markup_phrase((enum profile_markup_kind)i)), 5);
        notices.kinds[i].count = 2;
    }
    ck_assert(profile_markup_describe(&notices, text, sizeof text));
    ck_assert_ptr_nonnull(strstr(text, "2 backtraces too deep, the first at offset 0"));
    ck_assert_ptr_null(strstr(text, "mappings over others"));
    for (size_t size = 1; size < sizeof text; size++) {
        ck_assert(profile_markup_describe(&notices, text, size));
        ck_assert_uint_lt(strlen(text), size);
    }
}
END_TEST

/* ---- Failures ---- */

static enum profile_status stop(void *context, const struct profile_markup_backtrace *backtrace)
{
    (void)context;
    (void)backtrace;
    return PROFILE_STOPPED;
}

START_TEST(ends_when_the_sink_does)
{
    static const char *const endings[] = { "", "{{{reset}}}\n", "{{{bt:0:0x10}}}\n",
                                           "[1.0][1][1] {{{module:0:a:elf:01}}}\n" };
    const struct profile_markup_sink sink = { .size = sizeof sink, .backtrace = stop };
    char log[200];
    struct source source;
    struct fxt_input *input;

    (void)snprintf(log, sizeof log, "%s{{{bt:0:0x10}}}\n%s", _i > 2 ? "[2.0][2][2] " : "",
                   endings[_i]);
    input = open_bytes(&source, log, strlen(log), 0);
    ck_assert_int_eq(profile_read_markup(input, &sink, NULL, NULL, NULL), PROFILE_STOPPED);
    fxt_input_close(input);
}
END_TEST

START_TEST(survives_every_failing_allocation)
{
    static const char log[] = MODULES "{{{bt:0:0x2010:pc}}}\n{{{bt:1:0x2020:ra}}}\n{{{reset}}}\n"
                                      "[1.0][1][2] {{{module:0:c:elf:0123}}}\n"
                                      "[1.0][1][2] {{{bt:0:0x2010:pc}}}\n" MODULES
                                      "{{{bt:0:0x2010:pc}}}\n";
    enum profile_status status = PROFILE_NO_MEMORY;
    unsigned long n;

    for (n = 1; status != PROFILE_OK; n++) {
        const struct profile_markup_sink sink = { .size = sizeof sink };
        struct source source = { .bytes = (const uint8_t *)log, .left = sizeof log - 1 };
        const struct fxt_input_options from = {
            .size = sizeof from, .read = read_source, .context = &source, .as_stream = true
        };
        struct profile_markup_notices notices = { .elements = 1 };
        struct fxt_input *input = NULL;

        allocation_fail_at(n);
        status = PROFILE_NO_MEMORY;
        if (fxt_input_open(&from, &input, NULL) == FXT_OK)
            status = profile_read_markup(input, &sink, NULL, &notices, NULL);
        fxt_input_close(input);
        allocation_fail_at(0);
        ck_assert(status == PROFILE_NO_MEMORY || (status == PROFILE_OK && notices.backtraces == 3));
    }
    ck_assert_uint_gt(n, 15);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reading symbolizer markup");
    TCase *reading = tcase_create("logs"), *bounds = tcase_create("bounds");

    tcase_add_loop_test(reading, reads_logs, 0, ROWS(logs));
    tcase_add_test(reading, refuses_text_without_markup);
    tcase_add_loop_test(reading, tells_logs_from_other_files, 0, ROWS(starts));
    suite_add_tcase(suite, reading);
    tcase_add_test(bounds, cuts_backtraces_that_are_too_deep);
    tcase_add_test(bounds, ends_backtraces_when_many_are_open);
    tcase_add_test(bounds, forgets_processes_that_are_gone);
    tcase_add_test(bounds, remembers_no_more_than_it_may);
    tcase_add_test(bounds, passes_by_long_lines);
    tcase_add_test(bounds, says_every_kind);
    tcase_add_loop_test(bounds, ends_when_the_sink_does, 0, 4);
    tcase_add_test(bounds, survives_every_failing_allocation);
    suite_add_tcase(suite, bounds);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
