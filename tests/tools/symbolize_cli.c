/* symbolize_cli.c - prints what libsymbolize finds, as llvm-symbolizer does, for tests.
 *
 *   symbolize_cli [-l] [-n] [-r] [-d DIR]... OBJECT [ADDRESS...]
 *
 * Addresses come from standard input, one a line, when none is given.  -l prints linkage names, -n
 * leaves inlined frames out, -r prints the report and nothing else, -d adds a symbol directory.  */
#include "libsymbolize/symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIRS_MAX = 16 };

struct addresses {
    uint64_t *items;
    size_t count;
};

struct answers {
    bool linkage_names;
    char **texts; /* one for each address, owned */
};

static bool keep_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    const struct answers *answers = context;
    size_t size;
    FILE *text = open_memstream(&answers->texts[index], &size);

    if (!text)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct sym_frame *frame = &frames[i];
        const char *name = frame->function;
        if (answers->linkage_names && frame->linkage_name[0])
            name = frame->linkage_name;
        (void)fprintf(text, "%s\n%s:%" PRIu32 ":%" PRIu32 "\n", name[0] ? name : "??",
                      frame->file[0] ? frame->file : "??", frame->line, frame->column);
    }
    if (count == 0)
        (void)fputs("??\n??:0:0\n", text);
    return fclose(text) == 0;
}

static bool add_address(struct addresses *addresses, const char *text)
{
    uint64_t *items = realloc(addresses->items, (addresses->count + 1) * sizeof *items);

    if (!items)
        return false;
    addresses->items = items;
    items[addresses->count++] = strtoull(text, NULL, 16);
    return true;
}

static bool read_addresses(struct addresses *addresses, char **arguments)
{
    char line[64];

    for (char **argument = arguments; *argument; argument++)
        if (!add_address(addresses, *argument))
            return false;
    if (*arguments)
        return true;
    while (fgets(line, sizeof line, stdin))
        if (!add_address(addresses, line))
            return false;
    return true;
}

static void print_report(const struct sym_module *module)
{
    const struct sym_report *report = sym_module_report(module);

    printf("quality %d\ncode %s\ndebug %s\nunverified %d\nproblem %s\nremedy %s\n",
           (int)report->quality, report->code_path, report->debug_path, (int)report->unverified,
           report->problem, report->remedy);
}

static enum sym_status print_frames(struct sym_module *module, const struct addresses *addresses,
                                    bool linkage_names, struct sym_error *error)
{
    struct answers answers = { .linkage_names = linkage_names };

    answers.texts = calloc(addresses->count + 1, sizeof(char *));
    if (!answers.texts)
        return SYM_NO_MEMORY;
    enum sym_status status = sym_module_resolve(module, addresses->items, addresses->count,
                                                keep_answer, &answers, error);
    for (size_t i = 0; i < addresses->count; i++) {
        if (!status)
            puts(answers.texts[i]);
        free(answers.texts[i]);
    }
    free(answers.texts);
    return status;
}

int main(int argc, char **argv)
{
    const char *dirs[DIRS_MAX];
    struct sym_options options = { .size = sizeof options, .symbol_paths = dirs };
    struct addresses addresses = { 0 };
    struct sym_session *session = NULL;
    struct sym_module *module = NULL;
    struct sym_error error = { .status = SYM_OK };
    bool report = false, linkage_names = false;
    int option;

    while ((option = getopt(argc, argv, "lnrd:")) != -1) {
        if (option == 'l')
            linkage_names = true;
        else if (option == 'n')
            options.no_inlines = true;
        else if (option == 'r')
            report = true;
        else if (option == 'd' && options.symbol_path_count < DIRS_MAX)
            dirs[options.symbol_path_count++] = optarg;
        else
            return 2;
    }
    if (optind >= argc)
        return 2;
    struct sym_module_key key = { .path = argv[optind] };
    enum sym_status status = sym_session_open(&options, &session, &error);
    if (!status)
        status = sym_session_module(session, &key, &module, &error);
    if (!status && report)
        print_report(module);
    else if (!status && read_addresses(&addresses, argv + optind + 1))
        status = print_frames(module, &addresses, linkage_names, &error);
    if (status)
        (void)fprintf(stderr, "symbolize_cli: %s\n", error.message);
    free(addresses.items);
    sym_session_close(session);
    return status != SYM_OK;
}
