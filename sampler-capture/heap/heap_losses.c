#include "sampler-capture/heap/heap_losses.h"

#include "cmd/cli/cli.h"

static void print_unreceived(uint64_t count, const char *one, const char *many, const char *effect)
{
    if (count)
        cli_note("lost: %s, because the capture could not keep up: %s; use a larger --interval",
                 cli_counted(count, one, many), effect);
}

void heap_losses_print(const struct record_loss *lost, uint64_t closed, uint64_t waits)
{
    print_unreceived(lost->allocations, "sampled allocation", "sampled allocations",
                     "too little memory is shown");
    print_unreceived(lost->frees, "release", "releases", "their blocks still appear to be in use");
    print_unreceived(lost->infos, "message about modules", "messages about modules",
                     "code in them has no names");
    if (lost->rejected)
        cli_note("%s, because of an invalid message or one mapping too many: not captured from "
                 "then on",
                 cli_counted(lost->rejected, "connection was closed", "connections were closed"));
    if (lost->no_memory)
        cli_note("lost: %s, because the program had no memory left to record %s: too little is "
                 "shown",
                 cli_counted(lost->no_memory, "sampled allocation", "sampled allocations"),
                 lost->no_memory == 1 ? "it" : "them");
    if (closed)
        cli_note("a program closed the descriptor of the capture %s, and is a new process from "
                 "then on; %s in use remain in use in the earlier one",
                 cli_counted(closed, "time", "times"),
                 cli_counted(lost->forgotten, "block", "blocks"));
    else if (lost->forgotten)
        cli_note("lost: the release of %s, because a program lost its connection to the capture",
                 cli_counted(lost->forgotten, "block", "blocks"));
    if (waits)
        cli_note("a thread waited for the capture %s, at most 200 ms each",
                 cli_counted(waits, "time", "times"));
}
