/* The command line: fxtsym's own, and that of the programs whose place it takes.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cmd/cli/cli_bounds.h"
#include "cmd/fxtsym/fxtsym.h"

enum {
    OPTION_EXE = 1,
    OPTION_BUILD_ID,
    OPTION_FUNCTIONS,
    OPTION_INLINES,
    OPTION_INLINING,
    OPTION_DEMANGLE,
    OPTION_RECURSE_LIMIT,
    OPTION_NO_RECURSE_LIMIT,
    OPTION_ADDRESSES,
    OPTION_PRETTY,
    OPTION_BASENAMES,
    OPTION_SECTION,
    OPTION_TARGET,
    OPTION_ADJUST_VMA,
    OPTION_STYLE,
    OPTION_OUTPUT_STYLE,
    OPTION_VERBOSE,
    OPTION_CONTEXT,
    OPTION_DEFAULT_ARCH,
    OPTION_DEBUG_PATH,
    OPTION_DEBUG_ROOT,
    OPTION_NO_DEBUGINFOD,
    OPTION_RELATIVE,
    OPTION_UNTAG,
    OPTION_NO_UNTAG,
    OPTION_RELATIVE_ADDRESS,
    OPTION_JSON,
    OPTION_NO_INLINES,
    OPTION_NO_DEMANGLE,
    OPTION_STRIP_PREFIX,
    OPTION_JOBS,
    OPTION_MARKUP,
    OPTION_EXPLAIN,
    OPTION_VERIFY,
};

enum {
    ARGUMENTS_MAX = 1 << 16,  /* words from files and the environment */
    FILE_BYTES_MAX = 1 << 20, /* of a file with words */
    FILES_MAX = 100,          /* of them; they may name each other */
    CONTEXT_MAX = 1000,       /* lines */
    ADDRESSES_MAX = 1 << 30,  /* that are verified */
};

static const char *const styles[] = { "addr2line", "llvm", NULL };          /* as enum style */
static const char *const output_styles[] = { "GNU", "LLVM", "JSON", NULL }; /* the same */
static const char *const function_kinds[] = { "linkage", "short", "none", NULL };
static const char *const truths[] = { "true", "false", NULL };
static const char *const demanglers[] = { "auto", "gnu-v3", "rust", "none", "false", "true", NULL };

static const struct cli_option option_table[] = {
    { OPTION_EXE, 'e', "exe", "FILE", "object that contains the addresses (default: a.out)",
      CLI_FILE },
    { OPTION_EXE, 0, "obj", "FILE", "the same", CLI_FILE },
    { OPTION_BUILD_ID, 0, "build-id", "ID", "find the object by build ID" },
    { OPTION_SECTION, 'j', "section", "NAME",
      "addresses are relative to the start of this section" },
    { OPTION_ADJUST_VMA, 0, "adjust-vma", "OFFSET", "subtract OFFSET from each address" },
    { OPTION_FUNCTIONS, 'f', "functions", "KIND",
      "print function names: linkage (full names, the default), short (without scopes and "
      "parameters) or, with --style llvm, none",
      .choices = function_kinds, .optional = true },
    { OPTION_INLINES, 'i', "inlines", NULL, "print inlined frames too, innermost first" },
    { OPTION_INLINING, 0, "inlining", "BOOL", "same as -i: true (the default) or false",
      .choices = truths, .optional = true },
    { OPTION_DEMANGLE, 'C', "demangle", "STYLE",
      "demangle names: auto or true (C++ and Rust, the default), gnu-v3 (C++), rust, none or false",
      .choices = demanglers, .optional = true },
    { OPTION_RECURSE_LIMIT, 'R', "recurse-limit", NULL,
      "accepted for compatibility: demangling always has a recursion limit" },
    { OPTION_NO_RECURSE_LIMIT, 'r', "no-recurse-limit", NULL,
      "accepted for compatibility: the limit is kept" },
    { OPTION_ADDRESSES, 'a', "addresses", NULL, "print each address before its frames" },
    { OPTION_ADDRESSES, 0, "print-address", NULL, "the same" },
    { OPTION_PRETTY, 'p', "pretty-print", NULL, "print one line per frame" },
    { OPTION_BASENAMES, 's', "basenames", NULL, "print file names without directories" },
    { OPTION_RELATIVE, 0, "relativenames", NULL,
      "print file names without the directory that the compiler ran in; the symbol cache is not "
      "used" },
    { OPTION_STRIP_PREFIX, 0, "strip-prefix", "DIR",
      "remove DIR from the start of file names; may be repeated", CLI_FOLDER },
    { OPTION_STYLE, 0, "style", "STYLE",
      "addr2line (default), or llvm: read requests and print output as llvm-symbolizer does",
      .choices = styles },
    { OPTION_OUTPUT_STYLE, 0, "output-style", "STYLE",
      "format of the output only: GNU, LLVM, or JSON as llvm-symbolizer prints it",
      .choices = output_styles },
    { OPTION_VERBOSE, 0, "verbose", NULL,
      "print file, start of the function, line, column and discriminator on lines of their own; "
      "the symbol cache, which does not hold all of them, is not used" },
    { OPTION_CONTEXT, 0, "print-source-context-lines", "N",
      "print N source lines around each line" },
    { OPTION_JSON, 0, "json", NULL, "print one JSON object per address, with every field" },
    { OPTION_NO_INLINES, 0, "no-inlines", NULL,
      "print one frame per address, without inlined frames" },
    { OPTION_NO_DEMANGLE, 0, "no-demangle", NULL, "do not demangle names" },
    { OPTION_UNTAG, 0, "untag-addresses", NULL,
      "remove memory tags from the addresses of data (the default)" },
    { OPTION_NO_UNTAG, 0, "no-untag-addresses", NULL, "keep memory tags" },
    { OPTION_RELATIVE_ADDRESS, 0, "relative-address", NULL,
      "accepted for compatibility: the base of an ELF object is 0" },
    { OPTION_TARGET, 'b', "target", "NAME", "object format: default, or elf..." },
    { OPTION_DEFAULT_ARCH, 0, "default-arch", "NAME",
      "accepted for compatibility: an ELF object is for one architecture" },
    { OPTION_DEBUG_PATH, 0, "debug-file-directory", "DIR", "same as --symbols", CLI_FOLDER },
    { OPTION_DEBUG_ROOT, 0, "fallback-debug-path", "DIR",
      "search here instead of /usr/lib/debug, by the paths of programs and by build ID",
      CLI_FOLDER },
    { OPTION_DEBUG_PATH, 0, "dwp", "FILE", "same as --symbols: a package of split units",
      CLI_FILE },
    { OPTION_NO_DEBUGINFOD, 0, "no-debuginfod", NULL, "do not contact servers (the default)" },
    { OPTION_JOBS, 0, "jobs", "N", "read debug information with N threads (default: one per CPU)" },
    { OPTION_MARKUP, 0, "markup", NULL, "replace the symbolizer markup in a log by names" },
    { OPTION_MARKUP, 0, "filter-markup", NULL, "the same" },
    { OPTION_EXPLAIN, 0, "explain", "ID|FILE",
      "list the places searched for an object, the result of each, and the reason if names are "
      "missing",
      CLI_FILE },
    { OPTION_VERIFY, 0, "verify", "N",
      "the operands are objects: read their debug information a second time, with libdwarf, and "
      "list each address whose functions, inlined frames or lines differ, at all boundaries or at "
      "N "
      "addresses; exit status 1 if there is a difference",
      .optional = true },
    { 0 },
};

static const struct cli_option *const groups[] = { cli_symbols_options, cli_bounds_options, NULL };

static const char *const examples[] = {
    "Symbolize as addr2line does, but faster",
    "fxtsym -e ./server -ifC 0x4a2f10 0x4a3000",
    "Symbolize a million addresses from a pipe",
    "fxtsym -e vmlinux -if < addresses > names",
    "Find the object by build ID, in a folder of debug files",
    "fxtsym --symbols ./symbols --build-id 9a3f2c4d -ifC 0x1139",
    "Replace llvm-symbolizer: one request per line",
    "echo './server 0x4a2f10' | fxtsym --style llvm",
    "Follow a Fuchsia log while it is written",
    "tail -f device.log | fxtsym --markup --symbols ~/.build-id",
    "Find out why names are missing",
    "fxtsym --explain ./server",
    "Check the answers for a program against libdwarf",
    "fxtsym --verify ./server",
    NULL,
};

const struct cli_command fxtsym_command = {
    .name = "fxtsym",
    .usage = "[OPTION]... [ADDRESS]...",
    .summary =
        "Print the functions, files and lines of addresses in programs and libraries.  Addresses "
        "are hexadecimal virtual addresses of the object, or SYMBOL+OFFSET; without any, they are "
        "read from standard input, one per line, and each is answered as soon as no further input "
        "is waiting.  @FILE is replaced by the words in FILE.  If it is called addr2line, "
        "llvm-symbolizer or llvm-addr2line, fxtsym behaves like that program.",
    .options = option_table,
    .groups = groups,
    .libraries = sym_libraries,
    .examples = examples,
    .run = fxtsym_run,
};

/* ---- Options ---- */

static void set_flag(struct settings *settings, struct task *task, int key)
{
    switch (key) {
    case OPTION_INLINES:
        settings->inlines = true;
        break;
    case OPTION_ADDRESSES:
        settings->addresses = true;
        break;
    case OPTION_PRETTY:
        settings->pretty = true;
        break;
    case OPTION_BASENAMES: /* the last of the two counts */
    case OPTION_RELATIVE:
        settings->basenames = key == OPTION_BASENAMES;
        task->symbols.relative_files = key == OPTION_RELATIVE;
        break;
    case OPTION_UNTAG:
    case OPTION_NO_UNTAG:
        task->symbols.keep_tags = key == OPTION_NO_UNTAG;
        break;
    case OPTION_JSON:
        settings->json = true;
        break;
    case OPTION_VERBOSE:
        settings->verbose = true;
        break;
    case OPTION_NO_INLINES:
        settings->no_inlines = true;
        break;
    case OPTION_NO_DEMANGLE:
        settings->no_demangle = true;
        break;
    case OPTION_NO_DEBUGINFOD:
        task->symbols.debuginfod = false;
        break;
    case OPTION_RECURSE_LIMIT: /* libsymbolize's, always */
    case OPTION_NO_RECURSE_LIMIT:
    case OPTION_RELATIVE_ADDRESS:
        break;
    default: /* OPTION_MARKUP */
        task->markup = true;
        break;
    }
}

/* addr2line's names of the formats of ELF files; each file tells its own.  */
static void check_target(const char *name)
{
    if (strcmp(name, "default") != 0 && strncmp(name, "elf", 3) != 0)
        cli_usage_error("--target: '%s' is not the name of an ELF format; fxtsym reads ELF only",
                        name);
}

static void set_demangler(struct settings *settings, const char *style)
{
    static const struct {
        bool demangle;
        enum demangler kind;
    } meanings[] = { { true, DEMANGLE_ALL },  { true, DEMANGLE_CPP },  { true, DEMANGLE_RUST },
                     { false, DEMANGLE_ALL }, { false, DEMANGLE_ALL }, { true, DEMANGLE_ALL } };
    size_t i = style ? cli_choice("--demangle", style, demanglers) : 0;

    settings->demangle = meanings[i].demangle;
    settings->no_demangle = !settings->demangle;
    settings->demangler = meanings[i].kind;
}

/* llvm-symbolizer takes "-e=FILE" too.  */
static const char *path_of(const struct settings *settings, const char *value)
{
    return settings->linked && settings->llvm_requests && value[0] == '=' ? value + 1 : value;
}

/* How answers look.  */
static void set_style(struct settings *settings, struct task *task, int key,
                      const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case OPTION_FUNCTIONS:
        settings->functions = !value || parser->choice != 2;
        settings->no_functions = !settings->functions;
        settings->short_names = value && parser->choice == 1;
        break;
    case OPTION_INLINING:
        settings->inlines = !value || parser->choice == 0;
        settings->no_inlines = !settings->inlines;
        break;
    case OPTION_DEMANGLE:
        set_demangler(settings, value);
        break;
    case OPTION_STRIP_PREFIX:
        cli_texts_add(&settings->strip_prefixes, value);
        break;
    case OPTION_STYLE:
        settings->style = (enum style)parser->choice;
        settings->llvm_requests = settings->style == STYLE_LLVM;
        break;
    case OPTION_OUTPUT_STYLE:
        task->output_style = (int)parser->choice;
        break;
    case OPTION_CONTEXT:
        settings->context_lines = cli_number("--print-source-context-lines", value, 0, CONTEXT_MAX);
        break;
    default:
        if (!cli_symbols_take(&task->symbols, key, parser) && !cli_bounds_take(key))
            set_flag(settings, task, key);
        break;
    }
}

/* What is looked up, and where.  */
static void set_option(struct settings *settings, struct task *task, int key,
                       const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case CLI_OPERAND:
        cli_texts_add(&task->addresses, value);
        break;
    case OPTION_EXE:
        task->object = path_of(settings, value);
        break;
    case OPTION_BUILD_ID:
        task->build_id = value;
        break;
    case OPTION_SECTION:
        task->section = value;
        break;
    case OPTION_ADJUST_VMA:
        settings->bias = 0 - cli_id("--adjust-vma", value, 0, UINT64_MAX);
        break;
    case OPTION_TARGET:
        check_target(value);
        break;
    case OPTION_DEFAULT_ARCH:
        break;
    case OPTION_DEBUG_PATH:
        cli_texts_add(&task->symbols.paths, value);
        break;
    case OPTION_DEBUG_ROOT:
        task->symbols.debug_root = value;
        break;
    case OPTION_JOBS:
        task->symbols.jobs = (unsigned)cli_number("--jobs", value, 1, 1024);
        break;
    case OPTION_EXPLAIN:
        cli_texts_add(&task->explain, value);
        break;
    case OPTION_VERIFY:
        task->verify = true;
        task->verify_count = value ? cli_number("--verify", value, 1, ADDRESSES_MAX) : 0;
        task->symbols.no_cache = true;
        break;
    default:
        set_style(settings, task, key, parser);
        break;
    }
}

static void check_task(const struct settings *settings, const struct task *task)
{
    if (settings->linked && settings->llvm_requests && task->object && task->build_id)
        cli_usage_error("error: cannot specify both --build-id and --obj");
    if (task->markup && task->explain.count)
        cli_usage_error("--markup and --explain cannot be combined");
    if (task->markup && (task->object || task->build_id || settings->json))
        cli_usage_error("--markup cannot be combined with --exe, --build-id or --json");
    if (task->verify && (task->markup || task->explain.count || task->object || task->build_id))
        cli_usage_error(
            "--verify takes objects as operands and cannot be combined with --markup or --explain");
    if (task->verify && !task->addresses.count)
        cli_usage_error("--verify: no object given");
    if ((task->markup || task->explain.count) && task->addresses.count)
        cli_usage_error("unexpected operand '%s': no addresses are read with %s",
                        task->addresses.items[0], task->markup ? "--markup" : "--explain");
    if (task->section && settings->llvm_requests)
        cli_usage_error("--section is for addr2line's requests");
    if (settings->json && settings->llvm_json)
        cli_usage_error("--json and --output-style JSON cannot be combined");
    if (settings->json && settings->context_lines)
        cli_usage_error("--print-source-context-lines is for text, not for --json");
}

/* What is printed, and what has to be known for it.  addr2line prints discriminators, always.  */
static void set_output(struct settings *settings, struct task *task)
{
    settings->llvm_json = task->output_style == STYLE_JSON;
    if (settings->llvm_json) /* its own frames for the requests of either program */
        settings->style = STYLE_LLVM;
    else if (task->output_style >= 0)
        settings->style = (enum style)task->output_style;
    task->symbols.details = settings->verbose || settings->llvm_json ||
                            (settings->linked && settings->style == STYLE_ADDR2LINE);
}

/* The command, by the name that it was started by: messages begin with that.  */
static struct cli_command called;

void fxtsym_parse(struct settings *settings, struct task *task, char **argv)
{
    struct cli_parser parser;
    int key;

    called = fxtsym_command;
    if (settings->link_name)
        called.name = settings->link_name;
    task->symbols.symbol_files = settings->linked;
    task->symbols.keep_tags = settings->hexadecimal; /* llvm-addr2line's default */
    cli_start(&parser, &called, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        set_option(settings, task, key, &parser);
    if (settings->style == STYLE_LLVM) {
        settings->functions = !settings->no_functions;
        settings->inlines = true;
    }
    if (settings->style == STYLE_LLVM || task->markup)
        settings->demangle = true;
    if (settings->no_demangle)
        settings->demangle = false;
    if (settings->no_inlines)
        settings->inlines = false;
    set_output(settings, task);
    check_task(settings, task);
}

/* ---- In the place of another program ---- */

/* The part of a path behind its last slash, without a version: "llvm-symbolizer-19".  */
static size_t own_name(const char *path, const char **name)
{
    size_t length;

    *name = base_name(path);
    length = strlen(*name);
    while (length && strchr("0123456789.", (*name)[length - 1]))
        length--;
    return length && (*name)[length - 1] == '-' ? length - 1 : strlen(*name);
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);

    return length >= size && memcmp(text + length - size, end, size) == 0 &&
           (length == size || text[length - size - 1] == '-');
}

void fxtsym_take_place(struct settings *settings, const char *path)
{
    const char *name = "";
    size_t length = path ? own_name(path, &name) : 0;

    if (length && ends_with(name, length, "llvm-symbolizer")) {
        settings->linked = settings->llvm_requests = true;
        settings->style = STYLE_LLVM;
    } else if (length && ends_with(name, length, "llvm-addr2line")) {
        settings->linked = settings->llvm_requests = settings->hexadecimal = true;
    } else if (length && ends_with(name, length, "addr2line")) {
        settings->linked = true;
    }
    if (settings->linked)
        settings->link_name = name;
}

/* ---- Words from files and the environment ---- */

struct words {
    struct cli_texts texts;
    size_t files;
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word at *text, as a shell would take it but for variables, to word; false: none is
 * left.  */
static bool take_word(const char **text, struct base_text *word)
{
    char quote = '\0';
    const char *next = *text;

    while (is_space(*next))
        next++;
    if (!*next)
        return false;
    base_text_clear(word);
    base_text_add(word, "", 0);
    for (; *next && (quote || !is_space(*next)); next++) {
        if (quote ? *next == quote : *next == '"' || *next == '\'') {
            quote = quote ? '\0' : *next;
            continue;
        }
        if (*next == '\\' && next[1] && quote != '\'')
            next++;
        base_text_add(word, next, 1);
    }
    *text = next;
    return true;
}

static void add_argument(struct words *words, const char *argument);

static void add_words(struct words *words, const char *text)
{
    struct base_text word = { .limit = FILE_BYTES_MAX };

    while (take_word(&text, &word))
        add_argument(words, word.bytes ? word.bytes : "");
    base_text_release(&word);
}

/* The text of a file of at most FILE_BYTES_MAX, the caller's; NULL: it cannot be read.  */
static char *read_text(const char *path)
{
    char *text = cli_allocate(1, FILE_BYTES_MAX + 1);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, FILE_BYTES_MAX + 1, file) : 0;
    bool good = file && !ferror(file);

    if (file)
        (void)fclose(file);
    if (good && length > FILE_BYTES_MAX)
        cli_usage_error("@%s: more than %s", path, cli_counted(FILE_BYTES_MAX, "byte", "bytes"));
    if (good) {
        text[length] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* @FILE stands for the words in it, unless it cannot be read.  */
static void add_argument(struct words *words, const char *argument)
{
    char *text = argument[0] == '@' && argument[1] ? read_text(argument + 1) : NULL;

    if (words->texts.count == ARGUMENTS_MAX || (text && ++words->files > FILES_MAX))
        cli_usage_error("too many words in files: %s", argument);
    if (text)
        add_words(words, text);
    else
        cli_texts_add(&words->texts, cli_join(argument, ""));
    free(text);
}

/* llvm-symbolizer takes long options with one dash, too.  */
static char *with_two_dashes(const char *argument)
{
    size_t length = strcspn(argument, "=");
    const struct cli_option *option;

    if (argument[0] == '-' && argument[1] != '-' && length > 2)
        for (size_t i = 0; (option = cli_command_option(&fxtsym_command, i)) != NULL; i++)
            if (strlen(option->name) == length - 1 &&
                strncmp(option->name, argument + 1, length - 1) == 0)
                return cli_join("-", argument);
    return cli_join(argument, "");
}

char **fxtsym_arguments(const struct settings *settings, char **argv)
{
    struct words words = { .files = 0 };
    const char *from_environment = NULL;

    if (settings->linked && settings->llvm_requests)
        from_environment = getenv(settings->hexadecimal ? "LLVM_ADDR2LINE_OPTS"
                                                        : "LLVM_SYMBOLIZER_OPTS");
    if (from_environment)
        add_words(&words, from_environment);
    for (; *argv; argv++)
        add_argument(&words, *argv);
    if (settings->linked && settings->llvm_requests) {
        for (size_t i = 0; i < words.texts.count; i++) {
            char *argument = with_two_dashes(words.texts.items[i]);
            free((char *)words.texts.items[i]);
            words.texts.items[i] = argument;
        }
    }
    cli_texts_add(&words.texts, NULL);
    return (char **)words.texts.items;
}

void fxtsym_free_arguments(char **argv)
{
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    free(argv);
}
