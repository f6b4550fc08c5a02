/* The server of heap captures against processes that do not behave: what they inherit, and how long
 * one can keep it busy (protocol.h).  */
#include "sampler-capture/heap/heap_server.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct recorder recorder;
static struct server server;

static void set_up(void)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);

    recorder = (struct recorder){ .stream = stream_open(fd, false), .names_fd = -1 };
    ck_assert_ptr_nonnull(recorder.stream);
    ck_assert(server_open(&server, &recorder));
}

static void tear_down(void)
{
    server_release(&server);
    stream_close(recorder.stream);
    recorder_release(&recorder);
}

static void send_packet(const char *bytes, size_t length)
{
    ck_assert_int_eq(send(server.gate_peer_fd, bytes, length, MSG_DONTWAIT), (ssize_t)length);
}

/* Who could cut the file would end all that have mapped it, by SIGBUS.  */
START_TEST(gives_losses_that_nobody_can_cut)
{
    ck_assert_int_ge(server.losses_peer_fd, 0);
    ck_assert_int_eq(ftruncate(server.losses_peer_fd, 0), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(server.losses_peer_fd, 1 << 24), -1);
    ck_assert_int_eq(fcntl(server.losses_peer_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    ck_assert_int_ne(fcntl(server.losses_peer_fd, F_GET_SEALS) & F_SEAL_SEAL, 0);
}
END_TEST

/* Requests without a descriptor are refused, which counts them.  */
START_TEST(takes_a_burst_from_the_gate_at_a_time)
{
    for (unsigned i = 0; i < SERVER_BURST + 5; i++)
        send_packet("c", 1);
    ck_assert(server_round(&server, false));
    ck_assert_uint_eq(server.refused, SERVER_BURST);
    ck_assert(server_round(&server, false));
    ck_assert_uint_eq(server.refused, SERVER_BURST + 5);
}
END_TEST

START_TEST(takes_all_that_waits_at_the_end)
{
    for (unsigned i = 0; i < SERVER_BURST + 5; i++)
        send_packet("c", 1);
    ck_assert(server_round(&server, true));
    ck_assert_uint_eq(server.refused, SERVER_BURST + 5);
}
END_TEST

static const struct {
    const char *packet;
    size_t length; /* 0: as long as the text */
    const char *names;
} name_packets[] = {
    { "n0123 /lib/a.so\n", 0, "0123 /lib/a.so\n" },
    { "n0123 /lib/a.so\n4567 /lib/b.so\n", 0, "0123 /lib/a.so\n4567 /lib/b.so\n" },
    { "n0123 /lib/a.so", 0, "" }, /* half a line would spoil the next one */
    { "n", 1, "" },
    { "n0123 /lib/a.so\n", 1 + HEAP_GATE_MAX_NAMES + 1, "" },
    { "x0123 /lib/a.so\n", 0, "" },
};

START_TEST(keeps_names_that_come_through_the_gate)
{
    char packet[HEAP_GATE_MAX_NAMES + 16] = "", text[100] = "";
    size_t length = name_packets[_i].length;

    memset(packet, '\n', sizeof packet);
    memcpy(packet, name_packets[_i].packet, strlen(name_packets[_i].packet));
    send_packet(packet, length ? length : strlen(name_packets[_i].packet));
    ck_assert(server_round(&server, false));
    ck_assert_int_ge(pread(server.names_fd, text, sizeof text - 1, 0), 0);
    ck_assert_str_eq(text, name_packets[_i].names);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap_server");
    TCase *tcase = tcase_create("heap_server");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, gives_losses_that_nobody_can_cut);
    tcase_add_test(tcase, takes_a_burst_from_the_gate_at_a_time);
    tcase_add_test(tcase, takes_all_that_waits_at_the_end);
    tcase_add_loop_test(tcase, keeps_names_that_come_through_the_gate, 0,
                        (int)(sizeof name_packets / sizeof *name_packets));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
