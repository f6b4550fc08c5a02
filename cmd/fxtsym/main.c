/* fxtsym: names for addresses, as addr2line and llvm-symbolizer give them, and for logs with
 * symbolizer markup.  */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtsym/fxtsym.h"

enum {
    OPTION_EXE = 1,
    OPTION_BUILD_ID,
    OPTION_FUNCTIONS,
    OPTION_INLINES,
    OPTION_DEMANGLE,
    OPTION_ADDRESSES,
    OPTION_PRETTY,
    OPTION_BASENAMES,
    OPTION_STYLE,
    OPTION_JSON,
    OPTION_NO_INLINES,
    OPTION_NO_DEMANGLE,
    OPTION_STRIP_PREFIX,
    OPTION_JOBS,
    OPTION_MARKUP,
    OPTION_EXPLAIN,
};

enum {
    PLAIN_LINE_ROOM = 2 + 16 + 1, /* bytes of the longest line that is an address alone */
};

static const char *const styles[] = { "addr2line", "llvm", NULL }; /* as enum style */

static const struct cli_option option_table[] = {
    { OPTION_EXE, 'e', "exe", "FILE", "the object the addresses are in (default: a.out)",
      CLI_FILE },
    { OPTION_BUILD_ID, 0, "build-id", "ID", "find the object by its build ID" },
    { OPTION_FUNCTIONS, 'f', "functions", NULL, "print function names" },
    { OPTION_INLINES, 'i', "inlines", NULL, "print inlined frames too, innermost first" },
    { OPTION_DEMANGLE, 'C', "demangle", NULL, "print readable C++ and Rust names" },
    { OPTION_ADDRESSES, 'a', "addresses", NULL, "print each address before its answer" },
    { OPTION_PRETTY, 'p', "pretty-print", NULL, "print one line a frame" },
    { OPTION_BASENAMES, 's', "basenames", NULL, "print files without their directories" },
    { OPTION_STRIP_PREFIX, 0, "strip-prefix", "DIR",
      "take DIR off the front of files; may be repeated", CLI_FOLDER },
    { OPTION_STYLE, 0, "style", "STYLE",
      "addr2line (default), or llvm: output as llvm-symbolizer prints it, lines "
      "\"FILE 0xADDR\" as input without -e",
      .choices = styles },
    { OPTION_JSON, 'j', "json", NULL, "one JSON object an address, with all that is known" },
    { OPTION_NO_INLINES, 0, "no-inlines", NULL, "one frame an address, whatever was inlined" },
    { OPTION_NO_DEMANGLE, 0, "no-demangle", NULL, "names as the linker knows them" },
    { OPTION_JOBS, 0, "jobs", "N", "read debug information with N threads (default: one a CPU)" },
    { OPTION_MARKUP, 0, "markup", NULL, "make the symbolizer markup in a log readable" },
    { OPTION_EXPLAIN, 0, "explain", "ID|FILE",
      "tell where an object was looked for, what was found, and why no more", CLI_FILE },
    { 0 },
};

static const struct cli_option *const groups[] = { cli_symbols_options, NULL };

static const char *const examples[] = {
    "What addr2line would say, only sooner",
    "fxtsym -e ./server -ifC 0x4a2f10 0x4a3000",
    "A million addresses from a pipe",
    "fxtsym -e vmlinux -if < addresses > names",
    "By build ID, with debug files that lie elsewhere",
    "fxtsym --symbols ./symbols --build-id 9a3f2c4d -ifC 0x1139",
    "In llvm-symbolizer's place: one request a line",
    "echo './server 0x4a2f10' | fxtsym --style llvm",
    "A log of Fuchsia's, while it is being written",
    "tail -f device.log | fxtsym --markup --symbols ~/.build-id",
    "Why there are no names",
    "fxtsym --explain ./server",
    NULL,
};

static int run(char **argv);

static const struct cli_command command = {
    .name = "fxtsym",
    .usage = "[OPTION]... [ADDRESS]...",
    .summary =
        "Name the functions, files and lines of addresses in programs and libraries.  Addresses "
        "are hexadecimal virtual addresses of the object; without any they are read from standard "
        "input, one a line, and answered at once when no more are waiting.",
    .options = option_table,
    .groups = groups,
    .libraries = sym_libraries,
    .examples = examples,
    .run = run,
};

/* What the command line asks for besides how it is to look.  */
struct task {
    const char *object, *build_id;
    bool markup;
    struct cli_symbols symbols;
    struct cli_texts explain;
    struct cli_texts addresses;
};

/* ---- Options ---- */

static void set_flag(struct settings *settings, struct task *task, int key)
{
    switch (key) {
    case OPTION_FUNCTIONS:
        settings->functions = true;
        break;
    case OPTION_INLINES:
        settings->inlines = true;
        break;
    case OPTION_DEMANGLE:
        settings->demangle = true;
        break;
    case OPTION_ADDRESSES:
        settings->addresses = true;
        break;
    case OPTION_PRETTY:
        settings->pretty = true;
        break;
    case OPTION_BASENAMES:
        settings->basenames = true;
        break;
    case OPTION_JSON:
        settings->json = true;
        break;
    case OPTION_NO_INLINES:
        settings->no_inlines = true;
        break;
    case OPTION_NO_DEMANGLE:
        settings->no_demangle = true;
        break;
    default: /* OPTION_MARKUP */
        task->markup = true;
        break;
    }
}

static void set_option(struct settings *settings, struct task *task, int key,
                       const struct cli_parser *parser)
{
    const char *value = parser->value;

    switch (key) {
    case CLI_OPERAND:
        cli_texts_add(&task->addresses, value);
        break;
    case OPTION_EXE:
        task->object = value;
        break;
    case OPTION_BUILD_ID:
        task->build_id = value;
        break;
    case OPTION_STRIP_PREFIX:
        cli_texts_add(&settings->strip_prefixes, value);
        break;
    case OPTION_STYLE:
        settings->style = (enum style)parser->choice;
        break;
    case OPTION_JOBS:
        task->symbols.jobs = (unsigned)cli_number("--jobs", value, 1, 1024);
        break;
    case OPTION_EXPLAIN:
        cli_texts_add(&task->explain, value);
        break;
    default:
        if (!cli_symbols_take(&task->symbols, key, parser))
            set_flag(settings, task, key);
        break;
    }
}

static void parse(struct settings *settings, struct task *task, char **argv)
{
    struct cli_parser parser;
    int key;

    cli_start(&parser, &command, argv);
    while ((key = cli_next(&parser)) != CLI_END)
        set_option(settings, task, key, &parser);
    if (settings->style == STYLE_LLVM || task->markup)
        settings->demangle = true;
    if (settings->no_demangle)
        settings->demangle = false;
    if (settings->no_inlines)
        settings->inlines = false;
    if (task->markup && task->explain.count)
        cli_usage_error("--markup and --explain do not go together");
    if (task->markup && (task->object || task->build_id || settings->json))
        cli_usage_error("--markup names its objects itself and has no --json");
    if ((task->markup || task->explain.count) && task->addresses.count)
        cli_usage_error("'%s': no address is wanted with %s", task->addresses.items[0],
                        task->markup ? "--markup" : "--explain");
}

/* ---- Requests ---- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* All digits of base at text to *value; how many there were; 0 when they are too many.  */
static size_t parse_digits(const char *text, size_t length, int base, uint64_t *value)
{
    size_t count = 0;

    *value = 0;
    for (; count < length && digit_of(text[count]) < base; count++)
        if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
            __builtin_add_overflow(*value, (uint64_t)digit_of(text[count]), value))
            return 0;
    return count;
}

/* Up to 16 hex digits cannot be too large.  */
static size_t parse_hex(const char *text, size_t length, uint64_t *value)
{
    size_t most = length < 16 ? length : 16, count = 0;
    uint64_t number = 0;

    for (int digit; count < most && (digit = digit_of(text[count])) < 16; count++)
        number = number << 4 | (unsigned)digit;
    if (count == 16 && length > 16) /* leading zeros, or too large: the slow way */
        return parse_digits(text, length, 16, value);
    *value = number;
    return count;
}

/* As addr2line reads them: blanks, 0x if you like, hex digits; the rest is not looked at.  */
static bool parse_address(const char *text, size_t length, uint64_t *vaddr)
{
    while (length && is_blank(*text)) {
        text++;
        length--;
    }
    if (length && *text == '+') {
        text++;
        length--;
    }
    if (length > 2 && text[0] == '0' && (text[1] | 32) == 'x' && digit_of(text[2]) < 16) {
        text += 2;
        length -= 2;
    }
    return parse_hex(text, length, vaddr) > 0;
}

/* All that is 0x80 in the bytes of word that are not hex digits, 0 in those that are.  No sum below
 * carries from one byte to the next.  */
static uint64_t mark_others(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), low = 0x7f * ones;
    uint64_t figure = word ^ '0' * ones;                  /* 0 to 9 */
    uint64_t letter = (word | 0x20 * ones) ^ 0x60 * ones; /* 1 to 6 */
    uint64_t no_figure = ((figure & low) + (0x80 - 10) * ones) | figure;
    uint64_t no_letter = ((letter & low) + (0x80 - 7) * ones) | letter;

    no_letter |= ~((letter & low) + low); /* 0 */
    return no_figure & no_letter & 0x80 * ones;
}

/* The hex digits that the 8 bytes at text begin with, to *value; how many there are.  */
static unsigned parse_word(const char *text, uint64_t *value)
{
    const uint64_t nibbles = UINT64_C(0x0f0f0f0f0f0f0f0f), ones = UINT64_C(0x0101010101010101);
    uint64_t word;

    memcpy(&word, text, sizeof word);
    word = le64toh(word); /* the first digit is in the lowest byte */
    uint64_t others = mark_others(word);
    unsigned count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    if (count == 0)
        return 0;
    word = __builtin_bswap64(word << (64 - 8 * count)); /* now the last one is */
    word = (word & nibbles) + 9 * (word >> 6 & ones);
    word = (word | word >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word | word >> 8) & UINT64_C(0x0000ffff0000ffff);
    *value = (word | word >> 16) & UINT64_C(0xffffffff);
    return count;
}

/* A line of nothing but 1 to 15 or 16 hex digits, with or without 0x, to *vaddr; its length, or 0:
 * it is something else.  PLAIN_LINE_ROOM bytes can be read at text.  */
static size_t parse_plain_line(const char *text, uint64_t *vaddr)
{
    const char *digits = text[0] == '0' && (text[1] | 32) == 'x' ? text + 2 : text;
    unsigned count = parse_word(digits, vaddr), more = 0;
    uint64_t rest;

    if (count == 8) {
        more = parse_word(digits + 8, &rest);
        if (more)
            *vaddr = *vaddr << 4 * more | rest;
    }
    digits += count + more;
    return count && *digits == '\n' ? (size_t)(digits - text) + 1 : 0;
}

/* As llvm-symbolizer reads them: the prefix tells the base.  */
static bool parse_offset(const char *text, size_t length, uint64_t *vaddr)
{
    int base = 10;

    if (length > 1 && text[0] == '0') {
        char letter = (char)(text[1] | 32);
        size_t skip = letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1;

        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        text += skip;
        length -= skip;
    }
    return length && parse_digits(text, length, base, vaddr) == length;
}

/* ---- Answering ---- */

/* Where requests come from and go to.  */
struct server {
    const struct settings *settings;
    struct objects *objects;
    struct batch batch;
    bool has_object;
    uint32_t object; /* of requests that do not name one */
    uint64_t bad;    /* requests that are no addresses */
};

static void complain(struct server *server, const char *text, size_t length)
{
    if (server->bad++ == 0)
        cli_error("'%.*s' is not an address", length > 60 ? 60 : (int)length, text);
    server->objects->status = cli_worse(server->objects->status, CLI_DAMAGED);
}

static void add_plain(struct server *server, const char *line, size_t length)
{
    uint64_t vaddr;
    bool narrow = server->objects->items[server->object]->narrow;

    if (parse_address(line, length, &vaddr)) {
        batch_add(&server->batch, narrow ? (uint32_t)vaddr : vaddr, server->object);
        return;
    }
    complain(server, line, length);
    if (server->settings->json)
        batch_add_echo(&server->batch, line, length);
    else
        batch_add(&server->batch, 0, OBJECT_NONE);
}

/* The next word of a request, quoted or not.  False: none, or its quote is not closed.  */
static bool next_word(const char **line, size_t *left, const char **word, size_t *length)
{
    const char *end;
    char quote;

    while (*left && is_blank(**line)) {
        ++*line;
        --*left;
    }
    if (!*left)
        return false;
    quote = **line;
    if (quote == '"' || quote == '\'') {
        *word = *line + 1;
        end = memchr(*word, quote, *left - 1);
        if (!end)
            return false;
        *length = (size_t)(end++ - *word);
    } else {
        *word = end = *line;
        while (end < *line + *left && !is_blank(*end))
            end++;
        *length = (size_t)(end - *word);
    }
    *left -= (size_t)(end - *line);
    *line = end;
    return true;
}

/* An object that a request names by path or as BUILDID:hex.  */
static uint32_t named_object(struct server *server, const char *name, size_t length)
{
    static const char prefix[] = "BUILDID:";
    char *text = strndup(name, length);
    uint32_t object;

    if (!text) {
        cli_error("out of memory");
        exit(CLI_ENVIRONMENT);
    }
    if (strncmp(text, prefix, sizeof prefix - 1) == 0)
        object = objects_find(server->objects, NULL, text + sizeof prefix - 1);
    else
        object = objects_find(server->objects, text, NULL);
    free(text);
    return object;
}

/* [CODE] [FILE] ADDRESS; what is something else is printed as it came.  */
static void add_llvm(struct server *server, const char *line, size_t length)
{
    const char *rest = line, *name, *word;
    size_t left = length, name_length = 0, word_length;
    uint64_t vaddr;

    if (left >= 5 && memcmp(rest, "CODE ", 5) == 0) {
        rest += 5;
        left -= 5;
    }
    if ((server->has_object || next_word(&rest, &left, &name, &name_length)) &&
        next_word(&rest, &left, &word, &word_length) && parse_offset(word, word_length, &vaddr)) {
        batch_add(&server->batch, vaddr,
                  server->has_object ? server->object : named_object(server, name, name_length));
        return;
    }
    complain(server, line, length);
    batch_add_echo(&server->batch, line, length);
}

/* Most of a million requests are addresses alone, of one object: what length bytes of whole lines
 * at text begin with.  How many bytes that was.  */
static size_t add_plain_lines(struct server *server, const char *text, size_t length)
{
    struct batch *batch = &server->batch;
    const struct object *object = server->objects->items[server->object];
    uint64_t mask = object->narrow ? UINT32_MAX : UINT64_MAX, vaddr;
    size_t at = 0, line;

    while (length - at >= PLAIN_LINE_ROOM && !batch_is_full(batch) &&
           (line = parse_plain_line(text + at, &vaddr)) > 0) {
        batch_add(batch, vaddr & mask, server->object);
        at += line;
    }
    return at;
}

static void add_request(struct server *server, const char *line, size_t length)
{
    while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    if (server->settings->style == STYLE_LLVM)
        add_llvm(server, line, length);
    else
        add_plain(server, line, length);
    if (batch_is_full(&server->batch))
        batch_run(&server->batch);
}

static void add_waiting_lines(struct server *server, struct lines *lines)
{
    size_t length;
    const char *text = lines_waiting(lines, &length);

    lines_skip(lines, add_plain_lines(server, text, length));
    if (batch_is_full(&server->batch))
        batch_run(&server->batch);
}

/* What is there is answered together; when no more is there, somebody may wait for the answer.  */
static void answer_lines(struct server *server, struct cli_output *output)
{
    struct lines lines;
    bool long_line = false;
    enum line_kind kind;
    const char *line;
    size_t length;

    lines_open(&lines, STDIN_FILENO);
    while (output->failed == 0 &&
           (kind = lines_next(&lines, server->batch.count == 0, &line, &length)) != LINE_END) {
        if (kind == LINE_NONE) {
            batch_run(&server->batch);
            (void)cli_output_flush(output);
            continue;
        }
        if (!long_line) /* one answer for a line, however long */
            add_request(server, line, length);
        long_line = kind == LINE_PART;
        if (!long_line && server->settings->style == STYLE_ADDR2LINE)
            add_waiting_lines(server, &lines);
    }
    batch_run(&server->batch);
    if (lines.failed) {
        cli_error("standard input: %s", strerror(lines.failed));
        server->objects->status = cli_worse(server->objects->status, CLI_ENVIRONMENT);
    }
    lines_close(&lines);
}

static void answer(const struct settings *settings, const struct task *task,
                   struct objects *objects, struct cli_output *output)
{
    struct server server = { .settings = settings, .objects = objects };

    server.has_object = task->object || task->build_id || settings->style != STYLE_LLVM;
    if (server.has_object)
        server.object = objects_find(objects,
                                     task->object     ? task->object
                                     : task->build_id ? NULL
                                                      : "a.out",
                                     task->build_id);
    batch_open(&server.batch, settings, objects, settings->json ? frames_append : text_append,
               settings->json ? json_print : text_print, output);
    for (size_t i = 0; i < task->addresses.count && output->failed == 0; i++)
        add_request(&server, task->addresses.items[i], strlen(task->addresses.items[i]));
    if (task->addresses.count)
        batch_run(&server.batch);
    else
        answer_lines(&server, output);
    if (server.bad > 1)
        cli_error("%s lines are not addresses", cli_grouped(server.bad));
    batch_close(&server.batch);
}

static int run(char **argv)
{
    struct settings settings = { .style = STYLE_ADDR2LINE };
    struct task task = { .object = NULL };
    struct cli_output output;
    struct objects objects;

    parse(&settings, &task, argv);
    if (cli_output_open(&output, "-") != CLI_OK)
        return CLI_ENVIRONMENT;
    if (!task.markup) /* a log may have colours of its own */
        cli_output_visible(&output);
    objects_open(&objects, &task.symbols);
    for (size_t i = 0; i < task.explain.count; i++)
        objects.status = cli_worse(
            objects.status, explain(&objects, task.explain.items[i], settings.json, &output));
    if (task.markup) /* a log names many objects that are not here */
        objects.status = filter_markup(&settings, &objects, &output);
    else if (!task.explain.count)
        answer(&settings, &task, &objects, &output);
    enum cli_exit status = objects.status;
    objects_close(&objects);
    cli_symbols_release(&task.symbols);
    free(task.addresses.items);
    free(task.explain.items);
    free(settings.strip_prefixes.items);
    if (output.failed == EPIPE) {
        cli_output_abort(&output);
        return (int)status; /* the reader has seen enough */
    }
    return (int)cli_worse(status, cli_output_commit(&output));
}

int main(int argc, char **argv)
{
    (void)argc;
    return cli_main(&command, argv);
}
