#include "sampler-capture/heap/heap_command.h"

#include "cmd/cli/cli.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/command.h"
#include "sampler-capture/heap/heap_losses.h"
#include "sampler-capture/heap/heap_options.h"
#include "sampler-capture/heap/heap_server.h"
#include "sampler-capture/heap/target.h"
#include "sampler-capture/host.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The trace is written at least that often.  */
#define ROUND_MS 100
/* After a round with few messages the senders are left alone for a moment, so that not each of
 * their messages wakes us up, at their cost; a socket holds some hundred.  */
#define FEW      64
#define PAUSE_MS 20

struct run {
    struct heap_options options;
    struct host host;
    struct trace_session about;
    struct output output;
    struct command command;
    struct stream *stream;
    struct recorder recorder;
    struct server server;
    struct keeper *keeper; /* with --keep-modules */
};

/* ---- Starting ---- */

static int prepare_target(struct run *run)
{
    char gate[SERVER_PEER_SIZE], losses[SERVER_PEER_SIZE], key[SERVER_KEY_SIZE];
    const struct target_settings settings = { .folder = run->server.folder,
                                              .gate = gate,
                                              .losses = losses,
                                              .key = key,
                                              .interval_bytes = run->options.interval_bytes,
                                              .frame_pointers = run->options.frame_pointers,
                                              .mappings = run->options.mappings };
    char shim[PATH_MAX], message[TARGET_MESSAGE_SIZE];

    if (!target_check(run->options.command[0], message) || !target_find_shim(shim, message)) {
        cli_error("%s", message);
        return COMMAND_NOT_STARTED;
    }
    server_peer(run->server.gate_peer_fd, gate);
    server_peer(run->server.losses_peer_fd, losses);
    server_key(&run->server, key);
    return target_prepare(shim, &settings) ? 0 : command_fail("cannot set the environment");
}

/* False with errno.  */
static bool start_trace(struct run *run)
{
    run->stream = stream_open(run->output.fd, run->options.compress);
    if (!run->stream)
        return false;
    host_describe(&run->host, run->options.command, &run->about);
    run->about.max_frames = HEAP_MAX_FRAMES;
    run->recorder.stream = run->stream;
    run->recorder.interval_bytes = run->options.interval_bytes;
    errno = ENOMEM;
    return recorder_begin(&run->recorder, &run->about, run->options.frame_pointers) &&
           stream_publish(run->stream, &run->output);
}

/* Up to the exec.  0, or the exit status after a message.  */
static int start(struct run *run)
{
    int status;

    if (!command_watch(&run->command))
        return command_fail("cannot watch signals");
    if (!output_open(&run->output, run->options.output))
        return command_fail(run->options.output);
    if (run->options.kept && !(run->keeper = keeper_open(run->options.kept)))
        return command_fail(run->options.kept);
    run->recorder.modules.keeper = run->keeper;
    if (!server_open(&run->server, &run->recorder))
        return command_fail("cannot listen in $TMPDIR, or /tmp");
    status = prepare_target(run);
    if (status == 0 && !start_trace(run))
        status = command_fail(run->output.name);
    if (status == 0 && !command_start(&run->command, run->options.command, run->output.is_stdout))
        status = command_fail("cannot start a process");
    if (status == 0)
        status = command_exec(&run->command, run->options.command[0]);
    server_let_go(&run->server);
    if (status == 0)
        output_keep(&run->output);
    return status;
}

/* ---- Running ---- */

/* Until the command has ended.  False when the trace cannot go on.  */
static bool work(struct run *run)
{
    struct pollfd polled[] = {
        { .fd = run->command.signal_fd, .events = POLLIN },
        { .fd = server_fd(&run->server), .events = POLLIN },
    };
    /* The end of the command, and processes that wait for an answer.  */
    struct pollfd urgent[] = {
        { .fd = run->command.signal_fd, .events = POLLIN },
        { .fd = server_doors_fd(&run->server), .events = POLLIN },
    };
    uint64_t flushed_ns = run->about.monotonic_ns;

    for (;;) {
        uint64_t before = run->server.packets;

        (void)poll(polled, 2, ROUND_MS);
        if ((polled[0].revents && command_take_signals(&run->command)) || run->command.ended)
            return true;
        if (run->command.dump) {
            run->command.dump = false;
            cli_warning("SIGUSR2 is ignored by heap captures");
        }
        if (!server_round(&run->server, false))
            return false;
        if (host_clock_ns(CLOCK_MONOTONIC) - flushed_ns >= ROUND_MS * UINT64_C(1000000)) {
            flushed_ns = host_clock_ns(CLOCK_MONOTONIC);
            if (!stream_flush(run->stream, false))
                return false;
        }
        if (polled[1].revents && run->server.packets - before < FEW)
            (void)poll(urgent, 2, PAUSE_MS);
    }
}

/* Programs that captured ones started, and in which the library was not, or did nothing.  */
static void summarize_started(const struct server *server)
{
    static const char *const kinds[PROGRAM_KINDS] = {
        [PROGRAM_STATIC] = "statically linked",
        [PROGRAM_LOADER] = "of another C library",
        [PROGRAM_MACHINE] = "of another architecture",
        [PROGRAM_PRIVILEGED] = "with rights that they get when they start",
        [PROGRAM_SANITIZED] = "with AddressSanitizer",
        [PROGRAM_BARE] = "with an environment that does not name the capture's library",
        [PROGRAM_APART] = "where the capture's library cannot be read",
        [PROGRAM_HIDDEN] = "in a folder that only their start opens",
    };
    char list[512] = "";
    uint64_t all = 0;
    size_t used = 0;

    for (size_t i = 0; i < PROGRAM_KINDS; i++) {
        uint64_t count = server->started[i] + (i == PROGRAM_LOADER ? server->foreign : 0);

        if (count == 0 || !kinds[i])
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64 " %s",
                                 all ? ", " : "", count, kinds[i]);
        all += count;
    }
    if (all)
        cli_note("programs that were started but are not captured: %s", list);
}

/* Processes that are in the trace in part, or not.  */
static void summarize_processes(const struct run *run)
{
    const struct server *server = &run->server;

    summarize_started(server);
    if (server->unseen)
        cli_note("%s linked in, which a preloaded library does not see",
                 cli_counted(server->unseen, "process has an allocator of its own",
                             "processes have allocators of their own"));
    if (server->confined)
        cli_note(
            "%s with seccomp, where what sampling does may be forbidden: not captured from then on",
            cli_counted(server->confined, "process confined itself",
                        "processes confined themselves"));
    if (server->unconnected)
        cli_note("%s - no descriptor was free, fewer than 32 are allowed, or it closed the one "
                 "that it inherited and has another root folder or user: not captured from then on",
                 cli_counted(server->unconnected, "process could not connect",
                             "processes could not connect"));
    if (server->running)
        cli_note("%s still running: not captured from here on",
                 cli_counted(server->running, "process is", "processes are"));
}

static void summarize_contents(const struct run *run)
{
    const struct recorder *recorder = &run->recorder;
    double kib = (double)stream_bytes(run->stream) / 1024;

    char mappings[64] = "";

    if (run->options.mappings)
        (void)snprintf(mappings, sizeof mappings, ", and %s",
                       cli_counted(recorder->mappings, "mapping", "mappings"));
    cli_note("%s: %s and %s%s of %s in %.2f s; %.1f %s", run->output.name,
             cli_counted(recorder->allocations, "sampled allocation", "sampled allocations"),
             cli_counted(recorder->frees, "free", "frees"), mappings,
             cli_counted(recorder->processes, "process", "processes"),
             (double)(host_clock_ns(CLOCK_MONOTONIC) - run->about.monotonic_ns) / 1e9,
             kib < 1024 ? kib : kib / 1024, kib < 1024 ? "KiB" : "MiB");
}

/* Whether allocations may be missing for another reason than the interval.  */
static bool may_miss(const struct run *run)
{
    const struct server *server = &run->server;

    return server->lost.allocations || server->lost.no_memory || server->lost.rejected ||
           server->unseen || server->confined || server->unconnected;
}

/* Why it is empty, or what to do with it.  */
static void summarize_next(const struct run *run)
{
    const struct recorder *recorder = &run->recorder;

    if (recorder->processes == 0)
        cli_note("no process connected: nothing was captured");
    else if (recorder->allocations + recorder->mappings == 0 && may_miss(run))
        cli_note("nothing was sampled");
    else if (recorder->allocations + recorder->mappings == 0)
        cli_note("nothing was sampled: what was captured allocated less than %s bytes or so with "
                 "malloc(3) and its like%s; a smaller --interval samples more%s",
                 cli_grouped(run->options.interval_bytes),
                 run->options.mappings ? " and mapped no anonymous memory" : "",
                 run->options.mappings ? "" : ", and --mmap records memory of mmap(2)");
    else if (!run->output.is_stdout)
        cli_note("next: fxt2pprof --profile heap %s%s%s -o heap.pb.gz", run->output.name,
                 run->keeper ? " --symbols " : "", run->keeper ? run->options.kept : "");
}

static void summarize(const struct run *run, bool fine)
{
    if (!run->options.quiet)
        summarize_contents(run);
    heap_losses_print(&run->server.lost, run->server.closed,
                      run->options.quiet ? 0 : run->server.waits);
    summarize_processes(run);
    if (fine && !run->options.quiet)
        summarize_next(run);
}

static int finish(struct run *run)
{
    bool fine;

    host_raise_descriptor_limit(); /* a process takes one */
    fine = stream_flush(run->stream, true) && work(run) && server_round(&run->server, true);
    server_release(&run->server); /* processes that still run find nobody listening */
    fine = fine && stream_flush(run->stream, true);
    if (!fine)
        output_report_early_end(run->output.name, stream_errno(run->stream),
                                "; the command runs on");
    fine = output_finish(&run->output, fine);
    summarize(run, fine);
    if (run->keeper) {
        const struct keep_result kept = keeper_finish(run->keeper);

        keep_summarize(&kept, run->options.kept, run->options.quiet);
        fine &= kept.failed == 0;
    }
    return command_finish(&run->command, &run->output, fine, run->options.quiet);
}

int heap_main(char **argv)
{
    static struct run run = {
        .command = { .pid = -1, .signal_fd = -1, .go_fd = -1, .report_fd = -1 },
        .output = { .fd = -1 },
        .server = { .folder_fd = -1,
                    .listen_fd = -1,
                    .gate_fd = -1,
                    .gate_peer_fd = -1,
                    .losses_listen_fd = -1,
                    .losses_peer_fd = -1,
                    .doors_fd = -1,
                    .epoll_fd = -1,
                    .names_fd = -1,
                    .losses_fd = -1 }
    };
    int status;

    heap_options_parse(&run.options, argv);
    status = start(&run);
    if (status == 0)
        status = finish(&run);
    else
        server_release(&run.server);
    command_close(&run.command);
    stream_close(run.stream);
    recorder_release(&run.recorder);
    keeper_close(run.keeper);
    output_abandon(&run.output);
    return status;
}
