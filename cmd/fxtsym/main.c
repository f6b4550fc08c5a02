/* fxtsym: names for addresses, as addr2line and llvm-symbolizer give them, and for logs with
 * symbolizer markup.  */
#include <errno.h>
#include <stdlib.h>

#include "cmd/cli/cli_bounds.h"
#include "cmd/fxtsym/fxtsym.h"

static struct settings settings; /* begun by the name that the program was started by */

/* Those of the program whose place is taken: 1 where the object on the command line cannot be
 * opened, or, for addr2line, is none.  */
static int exit_status(const struct task *task, const struct objects *objects)
{
    if (!settings.linked)
        return (int)objects->status;
    if (settings.llvm_requests)
        return objects->lacks_file && (task->object || task->build_id);
    return objects->status == CLI_ENVIRONMENT;
}

/* Objects are counted when they are found (objects.c).  Memory does not follow requests, which are
 * read in batches, but follows the modules of a log.  */
static void hold_bounds(const struct task *task)
{
    const char *standard_input = "-";
    const struct cli_texts input = { .items = &standard_input, .count = 1 };
    const struct cli_texts none = { .items = NULL };

    if (!task->markup && !task->verify && task->addresses.count == 0)
        cli_bounds_count_output(&input);
    cli_bounds_begin(task->markup ? &input : &none);
}

int fxtsym_run(char **argv)
{
    char **arguments = fxtsym_arguments(&settings, argv);
    struct task task = { .output_style = -1 };
    struct cli_output output;
    struct objects objects;

    fxtsym_parse(&settings, &task, arguments);
    hold_bounds(&task);
    if (cli_output_open(&output, "-") != CLI_OK)
        return CLI_ENVIRONMENT;
    if (!task.markup) /* a log may have colours of its own */
        cli_output_visible(&output);
    objects_open(&objects, &task.symbols);
    objects.llvm_messages = settings.linked && settings.llvm_requests;
    for (size_t i = 0; i < task.explain.count; i++)
        objects.status = cli_worse(
            objects.status, explain(&objects, task.explain.items[i], settings.json, &output));
    for (size_t i = 0; task.verify && i < task.addresses.count; i++)
        objects.status = cli_worse(
            objects.status,
            verify(&objects, &settings, task.addresses.items[i], task.verify_count, &output));
    if (task.markup) /* a log names many objects that are not here */
        objects.status = filter_markup(&settings, &objects, &output);
    else if (!task.explain.count && !task.verify)
        answer_requests(&settings, &task, &objects, &output);
    int status = exit_status(&task, &objects);
    objects_close(&objects);
    cli_symbols_release(&task.symbols);
    free(task.addresses.items);
    free(task.explain.items);
    free(settings.strip_prefixes.items);
    fxtsym_free_arguments(arguments);
    if (output.failed == EPIPE) {
        cli_output_abort(&output);
        return status; /* the reader has seen enough */
    }
    return (int)cli_worse((enum cli_exit)status, cli_output_commit(&output));
}

int main(int argc, char **argv)
{
    (void)argc;
    fxtsym_take_place(&settings, argv[0]);
    return cli_main(&fxtsym_command, argv);
}
