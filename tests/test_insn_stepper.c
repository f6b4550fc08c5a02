/* The end of a simulated trace: every process and thread runs on by itself, whatever it was at.  */
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler-capture/insn/controller.h"
#include "sampler-capture/insn/stepper.h"

#define STATUS 7 /* of a command that did what it was to do */

static const struct insn_options options = { .simulate = true, .mode = INSN_MODE_THREAD };

static struct sim_hardware sim;
static struct insn_controller *controller;
static struct insn_recorder recorder;
static struct filter filter;
static struct packet_taker taker;
static struct command command;
static struct stepper stepper;

static void setup(void)
{
    recorder = (struct insn_recorder){ .time_mult = 1 };
    command = (struct command){ .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 };
    ck_assert(sim_hardware_init(&sim));
    ck_assert_int_eq(controller_open(&sim.hardware, &controller), INSN_ANSWER_OK);
    ck_assert_int_eq(controller_initialize(controller, INSN_MODE_THREAD, 1), INSN_ANSWER_OK);
    ck_assert(taker_init(&taker, controller, &recorder, INSN_MODE_THREAD, false, 1));
    stepper = (struct stepper){ .options = &options,
                                .recorder = &recorder,
                                .command = &command,
                                .filter = &filter,
                                .sim = &sim,
                                .controller = controller,
                                .taker = &taker };
}

static void teardown(void)
{
    taker_release(&taker);
    controller_close(controller);
    sim_hardware_release(&sim);
    insn_recorder_release(&recorder);
}

/* ---- The command ---- */

static int end_process(void *unused)
{
    (void)unused;
    _exit(STATUS);
}

/* Wait for a byte, then have a child or a thread by clone(2), whose status is the command's.  */
static _Noreturn void run_command(int go_fd, int flags)
{
    static _Alignas(16) char stack[65536];
    char byte;
    int status;
    pid_t child;

    if (read(go_fd, &byte, 1) != 1)
        _exit(1);
    child = clone(end_process, stack + sizeof stack, flags, NULL);
    if (child > 0 && (flags & CLONE_THREAD))
        for (;;)
            (void)pause();
    if (child < 0 || waitpid(child, &status, __WALL) != child || !WIFEXITED(status))
        _exit(1);
    _exit(WEXITSTATUS(status));
}

/* Start it under the stepper.  Returns what it waits for a byte from.  */
static int attach(int flags)
{
    int go[2];

    ck_assert_int_eq(pipe(go), 0);
    command.pid = fork();
    if (command.pid == 0) {
        (void)close(go[1]);
        run_command(go[0], flags);
    }
    ck_assert_int_gt(command.pid, 0);
    ck_assert_int_eq(close(go[0]), 0);
    ck_assert(stepper_attach(&stepper));
    return go[1];
}

/* Wait until there is a report about it, which stays for the stepper.  */
static siginfo_t await_report(void)
{
    siginfo_t info = { .si_pid = 0 };

    ck_assert_int_eq(waitid(P_PID, (id_t)command.pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL),
                     0);
    return info;
}

/* The trace cannot go on: all are left at once.  */
static void end_trace(void)
{
    stepper.failed = ENOSPC;
    ck_assert(!stepper_run(&stepper));
    ck_assert_ptr_null(stepper.tasks);
}

/* ---- Births ---- */

static const struct {
    int flags; /* of clone(2) */
    int event;
} births[] = {
    { SIGCHLD, PTRACE_EVENT_FORK },
    { SIGCHLD | CLONE_VM | CLONE_VFORK, PTRACE_EVENT_VFORK },
    { CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, PTRACE_EVENT_CLONE },
    { 0, PTRACE_EVENT_CLONE }, /* a process whose end sends no signal */
};

START_TEST(what_is_born_at_the_end_runs_on)
{
    int go = attach(births[_i].flags), status;
    unsigned long born = 0;

    ck_assert_int_eq(write(go, "", 1), 1);
    ck_assert_int_eq(await_report().si_status, SIGTRAP | births[_i].event << 8);
    ck_assert_int_eq(ptrace(PTRACE_GETEVENTMSG, command.pid, NULL, &born), 0);
    end_trace();
    ck_assert(!command.ended);
    errno = 0;
    ck_assert_int_eq(waitpid((pid_t)born, NULL, WNOHANG | __WALL), -1);
    ck_assert_int_eq(errno, ECHILD); /* it is not ours any more */
    ck_assert_int_eq(waitpid(command.pid, &status, 0), command.pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), STATUS);
    ck_assert_int_eq(close(go), 0);
}
END_TEST

/* ---- Ends ---- */

START_TEST(a_command_that_waits_runs_on)
{
    int go = attach(SIGCHLD), status;

    end_trace();
    ck_assert(!command.ended);
    ck_assert_int_eq(write(go, "", 1), 1);
    ck_assert_int_eq(waitpid(command.pid, &status, 0), command.pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), STATUS);
    ck_assert_int_eq(close(go), 0);
}
END_TEST

START_TEST(a_command_that_has_ended_has_its_status)
{
    ck_assert_int_eq(close(attach(SIGCHLD)), 0);
    ck_assert_int_eq(await_report().si_code, CLD_EXITED);
    end_trace();
    ck_assert(command.ended);
    ck_assert(WIFEXITED(command.wait_status));
    ck_assert_int_eq(WEXITSTATUS(command.wait_status), 1);
}
END_TEST

START_TEST(a_command_that_is_gone_has_not_ended_well)
{
    ck_assert_int_eq(close(attach(SIGCHLD)), 0);
    ck_assert_int_eq(waitpid(command.pid, NULL, 0), command.pid);
    end_trace();
    ck_assert(!command.ended);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn stepper");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, what_is_born_at_the_end_runs_on, 0, sizeof births / sizeof *births);
    tcase_add_test(all, a_command_that_waits_runs_on);
    tcase_add_test(all, a_command_that_has_ended_has_its_status);
    tcase_add_test(all, a_command_that_is_gone_has_not_ended_well);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
