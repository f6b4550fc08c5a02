/* Prints "on" and "off" whenever recording begins and ends, until its input ends.  */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <fxt/trace.h>

int main(int argc, char **argv)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    bool was_on = false;

    trace_provider_add_known_category("watch", "what this program does");
    (void)trace_provider_create_with_name(argc > 1 ? argv[1] : "watch");
    while (poll(&input, 1, 1) == 0) {
        bool is_on = TRACE_ENABLED();

        if (is_on != was_on) {
            (void)printf("%s\n", is_on ? "on" : "off");
            (void)fflush(stdout);
        }
        was_on = is_on;
        TRACE_INSTANT("watch", "tick", TRACE_SCOPE_THREAD);
        TRACE_ALERT("watch", "ticked");
    }
    return 0;
}
