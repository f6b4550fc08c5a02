/* The buffer of libtrace under every order of events, up to a bound: the real code of writers and
 * of who closes a half runs one shared access at a time, and after each the buffer must be a row of
 * whole records.
 *
 * Threads are coroutines.  Each has a store buffer, as x86 processors have one: a store may be held
 * back while later loads are done, until the thread or a barrier drains it.  An execution is
 * given by its choices: who goes on at each access, and whether a store is held.  All executions
 * are tried in which the threads are interrupted, or stores held, at most BUDGET times; going on
 * where one is, and yielding when one waits, costs nothing.  */
#include <check.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define TRACE_SHARED_MODEL
#define TRACE_WORDS 7u /* a row of two chunks is a large placeholder */
#include <stdbool.h>
#include <stdint.h>

static uint64_t shared_load(const uint64_t *word);
static uint64_t shared_own(const uint64_t *word);
static void shared_store(uint64_t *word, uint64_t value);
static bool shared_swap(uint64_t *word, uint64_t *expected, uint64_t value);
static uint64_t shared_add(uint64_t *word, uint64_t value);
static uint64_t shared_clear_bits(uint64_t *word, uint64_t bits);
static void shared_announce(uint64_t *word, uint64_t value, bool has_membarrier);
static void shared_barrier(bool *has_membarrier);
static bool shared_wait(const uint64_t *word, unsigned *rounds);

#include "libtrace/buffer.c" /* NOLINT(bugprone-suspicious-include): its static functions */

enum {
    MOST_THREADS = 3,
    MOST_STORES = 64,
    MOST_STEPS = 4000,
    MOST_WORDS = 128,
    STACK = 64 << 10,
};

struct held {
    uint64_t *word;
    uint64_t value;
};

struct thread {
    jmp_buf at;
    bool started, finished;
    const uint64_t *waits_for; /* to become 0; NULL: it can run */
    struct held held[MOST_STORES];
    size_t held_count;
    void (*body)(unsigned self);
};

/* Check's assertions write to a file each time, so they are left for what fails.  */
#define EXPECT(condition, ...)         \
    do {                               \
        if (!(condition))              \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)

/* One choice of an execution: which of how many.  */
struct choice {
    unsigned taken, count;
};

static struct {
    struct thread threads[MOST_THREADS];
    size_t count;
    unsigned current; /* the thread that runs */
    bool inside;      /* a thread runs: accesses are choices */
    jmp_buf scheduler;
    struct choice choices[MOST_STEPS];
    size_t length, step;
    unsigned budget; /* left in this execution */
    bool membarrier_fails;
    uint64_t executions;
} model;

static unsigned char stacks[MOST_THREADS][STACK];
static _Alignas(4096) uint64_t memory[MOST_WORDS];
static struct trace_chunk table[32];
static struct trace_buffer buffer;
static struct trace_writer writers[TRACE_SLAB_WRITERS];

/* ---- Choices ---- */

/* The next choice among count; 0 is what costs nothing.  */
static unsigned choose(unsigned count)
{
    struct choice *choice = &model.choices[model.step];

    EXPECT(model.step < MOST_STEPS, "an execution without end");
    if (model.step == model.length) {
        *choice = (struct choice){ 0, model.budget > 0 ? count : 1 };
        model.length++;
    }
    model.step++;
    if (choice->taken > 0)
        model.budget--;
    return choice->taken;
}

/* The choices of the next execution.  False: all were tried.  */
static bool next_execution(void)
{
    while (model.length > 0) {
        struct choice *last = &model.choices[model.length - 1];

        if (++last->taken < last->count)
            return true;
        model.length--;
    }
    return false;
}

/* ---- Memory ---- */

static void check_memory(void);

static void drain_one(struct thread *thread)
{
    *thread->held[0].word = thread->held[0].value;
    thread->held_count--;
    memmove(thread->held, thread->held + 1, thread->held_count * sizeof *thread->held);
}

static void drain(struct thread *thread)
{
    while (thread->held_count > 0) { /* one after another: others see each */
        drain_one(thread);
        check_memory();
    }
}

/* Let the scheduler choose who makes the next access.  */
static void yield(void)
{
    if (!model.inside)
        return;
    if (_setjmp(model.threads[model.current].at) == 0)
        _longjmp(model.scheduler, 1);
}

static struct thread *self(void)
{
    return model.inside ? &model.threads[model.current] : NULL;
}

/* As the calling thread sees it.  */
static uint64_t shared_own(const uint64_t *word)
{
    if (self())
        for (size_t i = self()->held_count; i > 0; i--)
            if (self()->held[i - 1].word == word)
                return self()->held[i - 1].value;
    return *word;
}

static uint64_t shared_load(const uint64_t *word)
{
    yield();
    return shared_own(word);
}

static void shared_store(uint64_t *word, uint64_t value)
{
    struct thread *thread;

    yield();
    thread = self();
    if (!thread) {
        *word = value;
        return;
    }
    if (thread->held_count > 0 || choose(2) == 1) {
        EXPECT(thread->held_count < MOST_STORES, "too many stores are held");
        thread->held[thread->held_count++] = (struct held){ word, value };
    } else {
        *word = value;
        check_memory();
    }
}

/* What locks the bus drains the store buffer.  */
static void begin_locked(void)
{
    yield();
    if (self())
        drain(self());
}

static bool shared_swap(uint64_t *word, uint64_t *expected, uint64_t value)
{
    begin_locked();
    if (*word == *expected) {
        *word = value;
        return true;
    }
    *expected = *word;
    return false;
}

static uint64_t shared_add(uint64_t *word, uint64_t value)
{
    begin_locked();
    *word += value;
    return *word - value;
}

static uint64_t shared_clear_bits(uint64_t *word, uint64_t bits)
{
    begin_locked();
    *word &= ~bits;
    return *word | bits;
}

static void shared_announce(uint64_t *word, uint64_t value, bool has_membarrier)
{
    if (has_membarrier) {
        shared_store(word, value);
    } else {
        begin_locked();
        *word = value;
    }
}

static void shared_barrier(bool *has_membarrier)
{
    begin_locked();
    if (model.membarrier_fails)
        *has_membarrier = false;
    for (size_t i = 0; *has_membarrier && i < model.count; i++)
        drain(&model.threads[i]);
}

static bool shared_wait(const uint64_t *word, unsigned *rounds)
{
    struct thread *thread = self();

    (void)rounds;
    EXPECT(thread, "waiting outside");
    drain(thread);
    thread->waits_for = word;
    yield();
    return true;
}

/* ---- Threads ---- */

/* Where each stack begins, once a thread has run on it.  */
static struct {
    jmp_buf at;
    bool set;
} begins[MOST_THREADS];

static void run_body(void)
{
    unsigned number;

    begins[model.current].set = true;
    (void)_setjmp(begins[model.current].at);
    number = model.current;
    model.threads[number].body(number);
    model.threads[number].finished = true;
    _longjmp(model.scheduler, 1);
}

static void start_thread(struct thread *thread, unsigned number)
{
    static ucontext_t context, back;

    thread->started = true;
    if (begins[number].set) /* without system calls */
        _longjmp(begins[number].at, 1);
    (void)getcontext(&context);
    context.uc_stack.ss_sp = stacks[number];
    context.uc_stack.ss_size = STACK;
    context.uc_link = NULL;
    makecontext(&context, run_body, 0);
    (void)swapcontext(&back, &context);
}

static bool can_run(const struct thread *thread)
{
    if (thread->finished)
        return false;
    return !thread->waits_for || *thread->waits_for == 0;
}

static void resume(unsigned number)
{
    struct thread *thread = &model.threads[number];

    model.current = number;
    thread->waits_for = NULL;
    model.inside = true;
    if (_setjmp(model.scheduler) == 0) {
        if (thread->started)
            _longjmp(thread->at, 1);
        start_thread(thread, number);
    }
    model.inside = false;
}

/* Who could go on: the current one first, then the others; then whose held stores could drain.  */
static size_t find_actors(unsigned actors[2 * MOST_THREADS])
{
    size_t count = 0;

    for (size_t i = 0; i < model.count; i++) {
        unsigned number = (unsigned)((model.current + i) % model.count);

        if (can_run(&model.threads[number]))
            actors[count++] = number;
    }
    for (unsigned i = 0; i < model.count; i++)
        if (model.threads[i].held_count > 0)
            actors[count++] = MOST_THREADS + i;
    return count;
}

static void execute(void)
{
    unsigned actors[2 * MOST_THREADS];
    size_t count;

    while ((count = find_actors(actors)) > 0) {
        unsigned actor = actors[choose((unsigned)count)];

        if (actor >= MOST_THREADS)
            drain_one(&model.threads[actor - MOST_THREADS]);
        else
            resume(actor);
        check_memory();
    }
    for (size_t i = 0; i < model.count; i++)
        EXPECT(model.threads[i].finished, "thread %zu waits for ever", i);
}

/* ---- Events: two words, which say the same ---- */

static uint64_t event_header(uint64_t number)
{
    return 4 | 2 << 4 | number << 32;
}

static unsigned seen[64]; /* how often each event is in what was looked at */

enum { ANY_TURN = TRACE_NO_TURN + 1 };

/* Look at rows of records; every one must be whole.  How many are events of the turn.  */
static unsigned look(const uint64_t *words, uint64_t count, uint32_t turn)
{
    unsigned events = 0;
    bool is_old = false;

    for (uint64_t at = 0; at < count;) {
        uint64_t header = words[at];
        uint64_t size = (header & 15) == 15 ? header >> 4 & 0xffffffff : header >> 4 & 0xfff;

        EXPECT(size > 0 && size <= count - at, "execution %llu: record of %llu of %llu words",
               (unsigned long long)model.executions, (unsigned long long)size,
               (unsigned long long)(count - at));
        if ((header & 15) == 4) {
            EXPECT(words[at + 1] == header >> 32, "a record without its contents");
            seen[header >> 32] += !is_old;
            events += !is_old;
        } else if (trace_is_row(header)) {
            is_old = turn != ANY_TURN && trace_row_turn(header) != turn;
        } else {
            EXPECT(trace_is_filler(header), "a record of another kind");
        }
        at += size;
    }
    return events;
}

static unsigned events_each; /* of each writer */

/* What is lost of a writer's events is older than all that is there.  */
static void check_gaps(void)
{
    for (size_t i = 0; i < model.count; i++) {
        const unsigned *of_writer = &seen[1 + i * events_each];
        unsigned runs = 0;

        for (unsigned j = 0; j < events_each; j++)
            runs += of_writer[j] > 0 && (j == 0 || of_writer[j - 1] == 0);
        EXPECT(runs <= 1, "execution %llu: events of writer %zu are missing between others",
               (unsigned long long)model.executions, i);
    }
}

/* Who reads the buffer of a killed program looks at the second half if the header says that there
 * was a switch.  */
static void look_at_memory(void)
{
    uint64_t wrapped = ((struct trace_header *)memory)->mode_and_wrapped >> 32;
    unsigned events;

    memset(seen, 0, sizeof seen);
    (void)look(memory + buffer.durable_first, buffer.durable_words, ANY_TURN);
    for (unsigned i = 0; i < halves(&buffer); i++) {
        uint32_t turn = buffer.mode == TRACE_CIRCULAR ? trace_half_turn(wrapped, i) : ANY_TURN;

        events = look(memory + buffer.half_words[i], half_words(buffer.size, buffer.mode), turn);
        EXPECT(i == 0 || events == 0 || wrapped > 0, "events in a half that nobody looks at");
    }
    if (buffer.mode == TRACE_CIRCULAR)
        check_gaps();
}

/* What was looked at last.  */
static struct {
    uint64_t words[MOST_WORDS], durable_first, durable_words;
} looked_at;

/* An execution begins with choices of the one before it, and so with the memory that was looked at
 * then.  After an access that changes nothing, there is nothing new either.  */
static void check_memory(void)
{
    if (model.step < model.length)
        return;
    if (looked_at.durable_first == buffer.durable_first &&
        looked_at.durable_words == buffer.durable_words &&
        memcmp(looked_at.words, memory, sizeof memory) == 0)
        return;
    look_at_memory();
    memcpy(looked_at.words, memory, sizeof memory);
    looked_at.durable_first = buffer.durable_first;
    looked_at.durable_words = buffer.durable_words;
}

static uint64_t written[64]; /* events that begin() gave room for */
static uint64_t refused;

static void write_event(unsigned writer, uint64_t number)
{
    bool quick = trace_writer_try(&buffer, &writers[writer], 2); /* as call sites do */
    uint64_t *record = quick ? trace_writer_place(&buffer, &writers[writer])
                             : trace_writer_begin(&buffer, &writers[writer], 2);

    if (!record) {
        refused++;
        return;
    }
    shared_store(&record[1], number);
    trace_writer_commit(&buffer, &writers[writer], 2, event_header(number));
    written[number] = 1;
}

/* ---- The programs of threads ---- */

static bool is_stopped;
static uint64_t at_stop[MOST_WORDS]; /* what the receiver of a stopped buffer gets */

static void body_writer(unsigned number)
{
    for (unsigned i = 0; i < events_each; i++)
        write_event(number, 1 + number * events_each + i);
}

/* A row of chunks at once.  */
static void body_rows(unsigned number)
{
    for (unsigned i = 0; i < 3; i++) {
        uint64_t words = 5 + i;
        uint64_t *record = trace_writer_begin(&buffer, &writers[number], words);

        if (!record)
            continue;
        for (uint64_t j = 1; j < words; j++)
            shared_store(&record[j], 0); /* what is no record */
        trace_writer_commit(&buffer, &writers[number], words, trace_filler(words));
    }
}

static void body_stop(unsigned number)
{
    (void)number;
    trace_buffer_close(&buffer);
    EXPECT(trace_buffer_wait(&buffer), "a writer is still inside");
    trace_buffer_finish(&buffer);
    is_stopped = true;
    drain(self());
    memcpy(at_stop, memory, sizeof memory);
}

static unsigned saved[64];

/* What a receiver sees of a half that is given out.  */
static void body_service(unsigned number)
{
    (void)number;
    for (unsigned round = 0; round < 2; round++) {
        struct trace_filled filled;
        uint64_t half;

        if (!trace_buffer_take_filled(&buffer, &filled))
            continue;
        yield();
        half = filled.wrapped_count & 1;
        for (size_t i = 0; i < model.count; i++) /* the channel orders what was stored before */
            if (&model.threads[i] == self())
                drain(&model.threads[i]);
        memset(seen, 0, sizeof seen);
        (void)look(memory + buffer.half_words[half],
                   ((struct trace_header *)memory)->rolling_end[half] / 8, ANY_TURN);
        for (size_t i = 0; i < 64; i++)
            saved[i] += seen[i];
        EXPECT(trace_buffer_saved(&buffer, filled.wrapped_count), "not what was given out");
    }
}

/* ---- Cases ---- */

struct scene {
    const char *name;
    enum trace_mode mode;
    uint64_t size;
    uint32_t chunk_words;
    enum { NONE, HERE, FAILS } membarrier;
    unsigned events, budget;
    void (*bodies[MOST_THREADS])(unsigned);
};

static const struct scene scenes[] = {
    /* Room for 4 chunks of two events in a half.  */
    { "two writers, circular", TRACE_CIRCULAR, 480, 5, HERE, 9, 2, { body_writer, body_writer } },
    { "two writers, circular, no membarrier",
      TRACE_CIRCULAR,
      480,
      5,
      NONE,
      9,
      2,
      { body_writer, body_writer } },
    { "two writers, circular, membarrier fails",
      TRACE_CIRCULAR,
      480,
      5,
      FAILS,
      9,
      2,
      { body_writer, body_writer } },
    { "two writers, two chunks, circular, membarrier fails",
      TRACE_CIRCULAR,
      304,
      5,
      FAILS,
      12,
      2,
      { body_writer, body_writer } },
    /* A record that is interrupted while others go around twice.  */
    { "two writers, two chunks, circular",
      TRACE_CIRCULAR,
      304,
      5,
      HERE,
      12,
      2,
      { body_writer, body_writer } },
    { "rows and events, circular", TRACE_CIRCULAR, 480, 5, HERE, 9, 2, { body_rows, body_writer } },
    { "rows and rows, circular", TRACE_CIRCULAR, 480, 5, HERE, 0, 2, { body_rows, body_rows } },
    { "a stop, circular",
      TRACE_CIRCULAR,
      480,
      5,
      HERE,
      4,
      2,
      { body_writer, body_stop, body_writer } },
    { "a stop, circular, no membarrier",
      TRACE_CIRCULAR,
      480,
      5,
      NONE,
      4,
      2,
      { body_writer, body_stop, body_writer } },
    { "two writers, oneshot", TRACE_ONESHOT, 304, 5, HERE, 5, 2, { body_writer, body_writer } },
    { "a stop, oneshot",
      TRACE_ONESHOT,
      480,
      5,
      HERE,
      3,
      2,
      { body_writer, body_stop, body_writer } },
    { "streaming",
      TRACE_STREAMING,
      304,
      5,
      HERE,
      6,
      2,
      { body_writer, body_service, body_writer } },
    { "streaming, no membarrier",
      TRACE_STREAMING,
      304,
      5,
      NONE,
      6,
      2,
      { body_writer, body_service, body_writer } },
};

static void begin_scene(const struct scene *scene)
{
    memset(memory, 0, sizeof memory);
    memset(writers, 0, sizeof writers);
    memset(model.threads, 0, sizeof model.threads);
    memset(written, 0, sizeof written);
    memset(saved, 0, sizeof saved);
    refused = 0;
    is_stopped = false;
    events_each = scene->events;
    buffer = (struct trace_buffer){ .has_membarrier = scene->membarrier != NONE };
    trace_buffer_init(&buffer, memory, scene->size, scene->mode, scene->chunk_words, table);
    trace_buffer_clear(&buffer, true);
    trace_buffer_start(&buffer);
    model.count = 0;
    for (; model.count < MOST_THREADS && scene->bodies[model.count]; model.count++) {
        model.threads[model.count].body = scene->bodies[model.count];
        writers[model.count].number = (uint32_t)model.count + 1;
    }
    buffer.slabs[0] = writers;
    buffer.writer_count = model.count;
    model.current = 0;
    model.step = 0;
    model.budget = scene->budget;
    model.membarrier_fails = scene->membarrier == FAILS;
}

/* Of what a writer wrote, the latest is there, or nothing: then others have filled the buffer.  */
static void check_latest(void)
{
    for (size_t i = 0; i < model.count; i++) {
        unsigned last = 0;
        bool any = false;

        for (unsigned j = 1 + (unsigned)i * events_each; j <= (i + 1) * events_each; j++) {
            last = written[j] ? j : last;
            any = any || seen[j] > 0;
        }
        EXPECT(!any || seen[last] > 0,
               "execution %llu: events of writer %zu are left, but not its latest",
               (unsigned long long)model.executions, i);
    }
}

/* What must be true when all threads are done.  */
static void check_end(const struct scene *scene)
{
    uint64_t dropped = ((struct trace_header *)memory)->dropped;

    look_at_memory();
    if (!is_stopped)
        EXPECT(dropped == refused, "%d records dropped, %d counted", (int)refused, (int)dropped);
    else
        EXPECT(memcmp(at_stop, memory, sizeof memory) == 0, "a record is written after the stop");
    if (scene->mode == TRACE_CIRCULAR)
        check_latest();
    for (unsigned i = 1; i < 64; i++) {
        EXPECT(seen[i] + saved[i] <= written[i], "event %u is there twice", i);
        EXPECT(scene->mode == TRACE_CIRCULAR || seen[i] + saved[i] == written[i],
               "event %u is lost", i);
    }
}

/* Under a sanitizer, which clears a megabyte of its shadow at each longjmp(), the first ones are
 * enough: it looks for other errors than the model.  */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define MOST_EXECUTIONS 1200u
#else
#define MOST_EXECUTIONS UINT64_MAX
#endif

START_TEST(is_readable_after_every_access)
{
    const struct scene *scene = &scenes[_i];

    model.length = 0;
    model.executions = 0;
    do {
        begin_scene(scene);
        execute();
        check_end(scene);
        model.executions++;
    } while (model.executions < MOST_EXECUTIONS && next_execution());
    if (getenv("FXT_TEST_VERBOSE"))
        printf("%s: %llu executions\n", scene->name, (unsigned long long)model.executions);
    ck_assert_uint_gt(model.executions, 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_model");
    SRunner *runner;
    int failed;

    for (int i = 0; i < (int)(sizeof scenes / sizeof *scenes); i++) { /* CK_RUN_CASE chooses one */
        TCase *tcase = tcase_create(scenes[i].name);

        tcase_set_timeout(tcase, 0);
        tcase_add_loop_test(tcase, is_readable_after_every_access, i, i + 1);
        suite_add_tcase(suite, tcase);
    }
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
