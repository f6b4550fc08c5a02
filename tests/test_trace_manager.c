/* The manager of trace providers where a clock or many programs decide: providers that do not
 * register, start or stop in time, and more of them than are recorded.  The clock is the test's
 * own.  */
#include "sampler-capture/record_stream.h"
#include "sampler-capture/trace/channel.h"
#include "sampler-capture/trace/manager.h"

#include <fxt/fidl_provider.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static char folder[32];
static struct recording_options options;
static struct manager manager;
static FILE *trace, *messages;
static int standard_error;
static uint64_t clock_ns;

static uint64_t read_clock(void)
{
    return clock_ns;
}

static void setup(void)
{
    char path[64];

    (void)snprintf(folder, sizeof folder, "/tmp/trace-manager.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    ck_assert_int_eq(setenv("FXT_TRACE_SOCKET", path, 1), 0);
    options = (struct recording_options){ .mode = TRACE_ONESHOT,
                                          .buffer_bytes = 4096,
                                          .wait_ns = 60 * SECOND };
    clock_ns = 1000 * SECOND;
    ck_assert(manager_open(&manager, &options));
    manager.now_ns = read_clock;
    trace = tmpfile();
    messages = tmpfile();
    ck_assert(trace && messages);
    manager.stream = stream_open(fileno(trace), false);
    ck_assert(manager.stream && stream_magic(manager.stream));
    manager.phase = PHASE_STARTED;
    standard_error = dup(STDERR_FILENO);
    (void)dup2(fileno(messages), STDERR_FILENO);
}

static void teardown(void)
{
    char path[80];

    (void)dup2(standard_error, STDERR_FILENO);
    (void)close(standard_error);
    manager_close(&manager);
    stream_close(manager.stream);
    (void)fclose(trace);
    (void)fclose(messages);
    (void)snprintf(path, sizeof path, "%s/socket.lock", folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/socket.bell", folder);
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* How often the manager has said it.  */
static unsigned said(const char *text)
{
    static char all[4096];
    ssize_t length = pread(fileno(messages), all, sizeof all - 1, 0);
    unsigned count = 0;

    all[length > 0 ? length : 0] = '\0';
    for (const char *at = all; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

static void rounds(void)
{
    for (unsigned i = 0; i < 3; i++)
        manager_round(&manager, -1, 0);
}

/* ---- A program ---- */

struct program {
    int registry, channel, fifo, buffer; /* -1: none */
};

static struct program connect_program(void)
{
    struct program program = { socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), -1, -1, -1 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, manager.registry.path, sizeof manager.registry.path);
    ck_assert_int_eq(connect(program.registry, (const struct sockaddr *)&address, sizeof address),
                     0);
    rounds();
    return program;
}

static void send_registration(struct program *program)
{
    const struct fidl_provider_message message = { .method = FIDL_REGISTRY_REGISTER,
                                                   .pid = 77,
                                                   .name = { "program", 7 } };
    uint8_t bytes[256];
    size_t length;
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ck_assert_int_eq(fidl_provider_encode(&message, NULL, 0, bytes, sizeof bytes, &length),
                     FIDL_OK);
    ck_assert(channel_send(program->registry, bytes, length, &ends[1], 1));
    (void)close(ends[1]);
    program->channel = ends[0];
    rounds();
}

/* The method of the next message; 0: none.  */
static enum fidl_provider_method next_message(struct program *program)
{
    struct fidl_provider_message message;
    uint8_t bytes[1024];
    int fds[CHANNEL_MOST_FDS];
    ssize_t length = channel_receive(program->channel, bytes, sizeof bytes, fds);

    if (length <= 0)
        return 0;
    if (fds[0] >= 0)
        program->buffer = fds[0];
    if (fds[1] >= 0)
        program->fifo = fds[1];
    ck_assert_int_eq(fidl_provider_decode(bytes, (size_t)length, false, &message), FIDL_OK);
    return message.method;
}

static struct program begin_program(void)
{
    struct program program = connect_program();

    send_registration(&program);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_INITIALIZE);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_START);
    return program;
}

static void send_packet(struct program *program, uint16_t request)
{
    const struct trace_packet packet = {
        .request = request,
        .data32 = request == TRACE_PACKET_STARTED ? TRACE_PROTOCOL_VERSION : 0,
    };

    ck_assert(channel_send(program->fifo, &packet, sizeof packet, NULL, 0));
    rounds();
}

/* An empty oneshot buffer that can be read.  */
static void write_header(const struct program *program)
{
    const uint64_t words[] = { TRACE_BUFFER_MAGIC, 0, 4096, 0, 4096 - TRACE_HEADER_BYTES };

    ck_assert_int_eq(pwrite(program->buffer, words, sizeof words, 0), sizeof words);
}

/* Whether the manager has closed its end of the connection.  */
static bool is_let_go(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void end_program(struct program *program)
{
    int *fds[] = { &program->registry, &program->channel, &program->fifo, &program->buffer };

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            (void)close(*fds[i]);
        *fds[i] = -1;
    }
    rounds();
}

/* ---- Messages ---- */

START_TEST(blames_the_categories_when_their_names_are_too_long)
{
    static char name[90];
    static const char *names[1000];
    struct program program;

    memset(name, 'c', sizeof name - 1);
    for (unsigned i = 0; i < 1000; i++)
        names[i] = name;
    options.categories.items = names;
    options.categories.count = 1000;
    program = connect_program();
    send_registration(&program);
    ck_assert_uint_eq(said("program (77): ended, because the names of its categories take more "
                           "than 64 KiB"),
                      1);
    options.categories.count = 0;
    end_program(&program);
}
END_TEST

/* ---- Times ---- */

START_TEST(names_a_provider_that_has_not_started_after_five_seconds)
{
    struct program program = begin_program();

    clock_ns += 5 * SECOND;
    rounds();
    ck_assert_uint_eq(said("has not started within 5 seconds"), 0);
    clock_ns++;
    rounds();
    ck_assert_uint_eq(said("program (77): has not started within 5 seconds; the session continues"),
                      1);
    clock_ns += 100 * SECOND;
    rounds();
    ck_assert_uint_eq(said("has not started"), 1);

    /* It is recorded all the same.  */
    write_header(&program);
    send_packet(&program, TRACE_PACKET_STARTED);
    manager_stop(&manager);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_STOP);
    send_packet(&program, TRACE_PACKET_STOPPED);
    end_program(&program);
    ck_assert(manager_is_over(&manager));
    ck_assert(manager_provider(&manager, 0)->was_started);
    ck_assert(!manager_provider(&manager, 0)->unreadable);
}
END_TEST

START_TEST(says_nothing_of_a_provider_that_starts_in_time)
{
    struct program program = begin_program();

    clock_ns += 4 * SECOND;
    send_packet(&program, TRACE_PACKET_STARTED);
    clock_ns += 100 * SECOND;
    rounds();
    ck_assert_uint_eq(said("program"), 0);
    end_program(&program);
}
END_TEST

START_TEST(lets_go_of_a_connection_that_does_not_register)
{
    struct program program = connect_program();

    clock_ns += 5 * SECOND;
    rounds();
    ck_assert(!is_let_go(program.registry));
    clock_ns++;
    rounds();
    ck_assert(is_let_go(program.registry));
    ck_assert_uint_eq(manager.count, 0);
    end_program(&program);
}
END_TEST

/* What providers do when the session stops, and what is said of them after a minute.  */
static const struct {
    const char *name, *sentence;
    bool starts;
} slow[] = {
    { "one that has not started",
      "program (77): has not begun to record; the trace has none of its events", false },
    { "one that does not stop",
      "program (77): did not stop in time; the trace has the events that it wrote until now",
      true },
};

START_TEST(waits_for_providers_to_stop_as_long_as_it_is_told)
{
    struct program program = begin_program();

    write_header(&program);
    if (slow[_i].starts)
        send_packet(&program, TRACE_PACKET_STARTED);
    clock_ns += SECOND;
    manager_stop(&manager);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_STOP);
    clock_ns += 5 * SECOND;
    rounds();
    ck_assert_uint_eq(said("program"), 0);
    clock_ns += 55 * SECOND;
    rounds();
    rounds();
    ck_assert_uint_eq(said("program (77): has not stopped within 5 seconds; it is waited for, see "
                           "--stop-timeout"),
                      1);
    ck_assert(!manager_is_over(&manager));
    clock_ns++;
    rounds();
    ck_assert_msg(said(slow[_i].sentence) == 1, "%s", slow[_i].name);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_TERMINATE);
    ck_assert(manager_is_over(&manager)); /* it is not waited for once more */
    ck_assert(is_let_go(program.channel));
    end_program(&program);
}
END_TEST

START_TEST(stops_a_provider_that_starts_while_the_session_stops)
{
    struct program program = begin_program();

    manager_stop(&manager);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_STOP);
    write_header(&program);
    send_packet(&program, TRACE_PACKET_STARTED);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_STOP);
    send_packet(&program, TRACE_PACKET_STOPPED);
    ck_assert_int_eq(next_message(&program), FIDL_PROVIDER_TERMINATE);
    end_program(&program);
    ck_assert(manager_is_over(&manager));
    ck_assert_uint_eq(said("program"), 0);
}
END_TEST

/* ---- Limits ---- */

START_TEST(takes_no_more_programs_at_once_than_its_limit)
{
    struct program programs[4];

    manager.most_at_once = 2;
    for (unsigned i = 0; i < 4; i++)
        programs[i] = connect_program();
    ck_assert(!is_let_go(programs[0].registry) && !is_let_go(programs[1].registry));
    ck_assert(is_let_go(programs[2].registry) && is_let_go(programs[3].registry));
    ck_assert_uint_eq(
        said("more than 2 programs at once, or 100000 in all, or out of memory: others"), 1);
    ck_assert_uint_eq(manager.rejected, 2);

    /* There is room again when one has ended.  */
    end_program(&programs[0]);
    end_program(&programs[2]);
    programs[2] = connect_program();
    ck_assert(!is_let_go(programs[2].registry));
    for (unsigned i = 1; i < 4; i++)
        end_program(&programs[i]);
}
END_TEST

START_TEST(takes_no_more_programs_in_all_than_its_limit)
{
    struct program last;

    manager.most_in_all = 3;
    for (unsigned i = 0; i < 3; i++) {
        struct program program = begin_program();

        end_program(&program);
    }
    last = connect_program();
    ck_assert(is_let_go(last.registry));
    ck_assert_uint_eq(said("or 3 in all, or out of memory: others are not recorded"), 1);
    ck_assert_uint_eq(manager.over_count, 3);
    end_program(&last);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_manager");
    TCase *tcase = tcase_create("trace_manager");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, names_a_provider_that_has_not_started_after_five_seconds);
    tcase_add_test(tcase, says_nothing_of_a_provider_that_starts_in_time);
    tcase_add_test(tcase, lets_go_of_a_connection_that_does_not_register);
    tcase_add_loop_test(tcase, waits_for_providers_to_stop_as_long_as_it_is_told, 0,
                        (int)(sizeof slow / sizeof *slow));
    tcase_add_test(tcase, stops_a_provider_that_starts_while_the_session_stops);
    tcase_add_test(tcase, blames_the_categories_when_their_names_are_too_long);
    tcase_add_test(tcase, takes_no_more_programs_at_once_than_its_limit);
    tcase_add_test(tcase, takes_no_more_programs_in_all_than_its_limit);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
