/* symbolize_cli.c - prints what libsymbolize finds, as llvm-symbolizer does, for tests.
 *
 *   symbolize_cli [OPTION]... OBJECT [ADDRESS...]
 *
 * OBJECT is the path that was recorded; "" for none.  Addresses come from standard input, one a
 * line, when none is given; with -r or -t there may be none.
 *
 *   -l       linkage names           -d PATH   adds a symbol path
 *   -n       no inlined frames       -i HEX    the build ID that is asked for
 *   -r       the report              -R ROOT   instead of /usr/lib/debug
 *   -t       the trail               -D        may ask debuginfod servers, -b BYTES for so much
 */
#include <fxt/symbolize.h>

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

static void print_trail(const struct sym_module *module)
{
    static const char *const places[] = {
        "symbol-path",       "recorded", "debuglink", "debug-root", "debuginfod-cache",
        "debuginfod-server", "kallsyms", "alt",       "split"
    };
    static const char *const outcomes[] = { "absent", "refused", "spare", "used", "skipped" };
    size_t count;
    const struct sym_trail_step *steps = sym_module_trail(module, &count);

    for (size_t i = 0; i < count; i++)
        printf("%s %s %d %s: %s\n", places[steps[i].place], outcomes[steps[i].outcome],
               (int)steps[i].quality, steps[i].path, steps[i].reason);
}

static size_t parse_build_id(const char *text, uint8_t *id, size_t capacity)
{
    size_t count = 0;
    unsigned byte;

    while (count < capacity && sscanf(text + 2 * count, "%2x", &byte) == 1)
        id[count++] = (uint8_t)byte;
    return count;
}

struct request {
    struct sym_options options;
    const char *dirs[DIRS_MAX];
    uint8_t id[64];
    struct sym_module_key key;
    bool report, trail, linkage_names;
};

static bool show_progress(void *context, const struct sym_progress *progress)
{
    uint64_t *shown = context;

    if (progress->bytes > *shown)
        *shown = progress->bytes;
    return true;
}

static bool apply(struct request *request, int option, const char *argument)
{
    struct sym_options *options = &request->options;

    switch (option) {
    case 'l':
        request->linkage_names = true;
        return true;
    case 'n':
        options->no_inlines = true;
        return true;
    case 'r':
        request->report = true;
        return true;
    case 't':
        request->trail = true;
        return true;
    case 'd':
        if (options->symbol_path_count == DIRS_MAX)
            return false;
        request->dirs[options->symbol_path_count++] = argument;
        return true;
    case 'i':
        request->key.build_id = request->id;
        request->key.build_id_length = parse_build_id(argument, request->id, sizeof request->id);
        return true;
    case 'R':
        options->debug_root = argument;
        return true;
    case 'D':
        options->debuginfod = true;
        return true;
    case 'b':
        options->debuginfod_bytes = strtoull(argument, NULL, 10);
        return true;
    default:
        return false;
    }
}

static enum sym_status answer(const struct request *request, struct sym_session *session,
                              char **arguments, struct sym_error *error)
{
    struct addresses addresses = { 0 };
    struct sym_module *module;
    enum sym_status status = sym_session_module(session, &request->key, &module, error);

    if (status)
        return status;
    if ((*arguments || (!request->report && !request->trail)) &&
        read_addresses(&addresses, arguments))
        status = print_frames(module, &addresses, request->linkage_names, error);
    if (request->report)
        print_report(module);
    if (request->trail)
        print_trail(module);
    free(addresses.items);
    return status;
}

int main(int argc, char **argv)
{
    uint64_t transferred = 0;
    struct request request = { .options = { .size = sizeof request.options,
                                            .progress = show_progress,
                                            .progress_context = &transferred } };
    struct sym_session *session = NULL;
    struct sym_error error = { .status = SYM_OK };
    int option;

    request.options.symbol_paths = request.dirs;
    while ((option = getopt(argc, argv, "lnrtd:i:R:Db:")) != -1)
        if (!apply(&request, option, optarg))
            return 2;
    if (optind >= argc)
        return 2;
    request.key.path = argv[optind][0] ? argv[optind] : NULL;
    enum sym_status status = sym_session_open(&request.options, &session, &error);
    if (!status)
        status = answer(&request, session, argv + optind + 1, &error);
    if (status)
        (void)fprintf(stderr, "symbolize_cli: %s\n", error.message);
    if (transferred)
        (void)fprintf(stderr, "symbolize_cli: %" PRIu64 " bytes were fetched\n", transferred);
    sym_session_close(session);
    return status != SYM_OK;
}
