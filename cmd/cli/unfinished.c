/* Files under temporary names, which a signal must not leave behind.  */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

enum { MOST = 16 }; /* what is beyond stays, as it would without this */

static const char *volatile unfinished[MOST];

/* The signal has its default action again, and comes once more when this returns.  */
static void remove_all(int number)
{
    for (size_t i = 0; i < MOST; i++)
        if (unfinished[i])
            (void)unlink(unfinished[i]);
    (void)raise(number);
}

/* Whoever handles a signal, or ignores it, goes on doing so.  */
static void catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = remove_all, .sa_flags = (int)SA_RESETHAND };
    struct sigaction old;

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(numbers[i], &action, NULL);
}

void cli_unfinished_add(const char *path)
{
    size_t i = 0;

    while (i < MOST && unfinished[i])
        i++;
    if (i == MOST)
        return;
    unfinished[i] = path;
    catch_signals();
}

void cli_unfinished_remove(const char *path)
{
    for (size_t i = 0; path && i < MOST; i++)
        if (unfinished[i] == path)
            unfinished[i] = NULL;
}
