/* How far a long job is, for people who watch.  */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

#define FIRST_NS 1000000000 /* silence for a second: most jobs are done by then */
#define NEXT_NS  100000000

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A terminal that cannot clear a line, as editors and the consoles of pipelines have them.  */
static bool is_dumb(void)
{
    const char *terminal = getenv("TERM");

    return terminal && strcmp(terminal, "dumb") == 0;
}

void cli_progress_start(struct cli_progress *progress, const char *what, uint64_t total)
{
    *progress = (struct cli_progress){ .what = what, .total = total };
    if (isatty(STDERR_FILENO) && !is_dumb())
        progress->started_ns = now_ns();
}

void cli_progress_show(struct cli_progress *progress, uint64_t done)
{
    int64_t now;

    if (!progress->started_ns)
        return;
    now = now_ns();
    if (now - progress->started_ns < FIRST_NS || now - progress->shown_ns < NEXT_NS)
        return;
    progress->shown_ns = now;
    progress->visible = true;
    if (progress->total && done <= progress->total)
        (void)fprintf(stderr, "\r\033[K%s: %3u %%", progress->what,
                      (unsigned)((double)done * 100 / (double)progress->total));
    else
        (void)fprintf(stderr, "\r\033[K%s: %s MiB", progress->what, cli_grouped(done >> 20));
    (void)fflush(stderr);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->visible)
        (void)fputs("\r\033[K", stderr);
    progress->visible = false;
}
