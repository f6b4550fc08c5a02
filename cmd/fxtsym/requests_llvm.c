/* Requests as llvm-symbolizer takes them: for code, data and frames, at addresses and symbols.  */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fxtsym/requests.h"

enum {
    BUILD_ID_MAX = 64, /* bytes */
};

/* ---- Words ---- */

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

/* What a request asks for.  */
enum command {
    COMMAND_CODE,
    COMMAND_DATA,
    COMMAND_FRAME,
};

static enum command take_command(const char **line, size_t *left)
{
    static const char *const names[] = { "CODE ", "DATA ", "FRAME " };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);

        if (*left >= length && memcmp(*line, names[i], length) == 0) {
            *line += length;
            *left -= length;
            return (enum command)i;
        }
    }
    return COMMAND_CODE;
}

enum prefix {
    PREFIX_NONE,
    PREFIX_FILE,
    PREFIX_BUILD_ID,
};

static enum prefix take_prefix(const char **line, size_t *left)
{
    static const char *const names[] = { "", "FILE:", "BUILDID:" };

    skip_blanks(line, left);
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);

        if (*left >= length && memcmp(*line, names[i], length) == 0) {
            *line += length;
            *left -= length;
            return (enum prefix)i;
        }
    }
    return PREFIX_NONE;
}

/* An object that a request names by path or build ID.  */
static uint32_t named_object(struct server *server, const char *name, size_t length, bool by_id)
{
    char *text = strndup(name, length);
    uint32_t object;

    if (!text)
        cli_out_of_memory();
    object = objects_find(server->objects, by_id ? NULL : text, by_id ? text : NULL);
    free(text);
    return object;
}

/* The object of a request: the one that it names, or the one of all.  A phrase says what is wrong
 * with it; NULL: nothing.  */
static const char *take_object(struct server *server, const char **line, size_t *left,
                               uint32_t *object)
{
    static const char *const missing[] = { "no input filename has been specified",
                                           "must be followed by an input file",
                                           "must be followed by a hash" }; /* as enum prefix */
    enum prefix prefix = take_prefix(line, left);
    const char *name;
    size_t length, id_length;
    uint8_t id[BUILD_ID_MAX];

    *object = server->object;
    if (prefix != PREFIX_NONE && take_prefix(line, left) != PREFIX_NONE)
        return "duplicate input file specification prefix";
    if (prefix == PREFIX_NONE && server->has_object)
        return NULL;
    if (server->has_object)
        return "input file has already been specified";
    skip_blanks(line, left);
    if (!*left)
        return missing[prefix];
    if (!next_word(line, left, &name, &length))
        return "unbalanced quotes in input file name";
    if (prefix == PREFIX_BUILD_ID && !parse_build_id(name, length, id, sizeof id, &id_length))
        return "wrong format of build-id";
    skip_blanks(line, left);
    if (!*left)
        return "no module offset has been specified";
    *object = named_object(server, name, length, prefix == PREFIX_BUILD_ID);
    return NULL;
}

/* What is asked about.  */
struct request {
    enum command command;
    uint32_t object;
    const char *symbol; /* of symbol_length bytes, or NULL: vaddr alone */
    size_t symbol_length;
    uint64_t vaddr; /* or the offset from symbol */
};

static struct sym_module *module_of(const struct server *server, const struct request *request)
{
    return server->objects->items[request->object]->module;
}

static void add_format(struct server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_format(struct server *server, const char *format, ...)
{
    char text[128]; /* numbers and what is between them */
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buffer_add(&server->text, text, strlen(text));
}

static void add_text(struct server *server, const char *text)
{
    buffer_add(&server->text, text[0] ? text : "??", strlen(text[0] ? text : "??"));
}

/* The address in front of an answer that is made here.  */
static void begin_answer(struct server *server, const struct request *request)
{
    if (server->settings->addresses && !request->symbol)
        add_format(server, "0x%" PRIx64 "%s", request->vaddr,
                   server->settings->pretty ? ": " : "\n");
}

/* The empty line that all answers end in, but for those in addr2line's style.  */
static void end_answer(struct server *server)
{
    if (server->settings->style == STYLE_LLVM)
        buffer_add(&server->text, "\n", 1);
    server_end_answer(server);
}

/* The address of a request for data or a frame.  False: it names a symbol that is not there.  */
static bool find_vaddr(struct server *server, const struct request *request, uint64_t *vaddr)
{
    struct sym_symbol_place place;

    *vaddr = request->vaddr + server->bias;
    if (!request->symbol)
        return true;
    if (!server_find_symbol(server, request->object, request->symbol, request->symbol_length, 0,
                            &place))
        return false;
    *vaddr = place.vaddr + request->vaddr;
    return true;
}

/* ---- Symbols ---- */

static bool append_location(void *context, size_t index, const struct sym_frame *frames,
                            size_t count)
{
    struct server *server = context;
    struct settings one = *server->settings;

    (void)index;
    one.inlines = false;
    if (server->json) {
        llvm_json_frame(server->json, &one, frames, count);
        return true;
    }
    text_append(&one, &server->text, frames, count);
    if (one.style == STYLE_LLVM && server->text.length) /* the empty line is for all of them */
        server->text.length--;
    return true;
}

/* SYMBOL or SYMBOL+OFFSET: each place of that name.  How many there are.  */
static size_t append_places(struct server *server, const struct request *request)
{
    struct sym_symbol_place place;
    struct sym_error error;
    size_t found = 0;

    for (; server_find_symbol(server, request->object, request->symbol, request->symbol_length,
                              found, &place);
         found++) {
        uint64_t offset = request->vaddr < place.size ? request->vaddr : 0;
        uint64_t vaddr = place.vaddr + offset;

        if (sym_module_resolve(module_of(server, request), &vaddr, 1, append_location, server,
                               &error) != SYM_OK)
            cli_out_of_memory();
    }
    objects_report(server->objects, request->object);
    return found;
}

static void answer_symbol(struct server *server, const struct request *request)
{
    if (append_places(server, request) == 0)
        server_add_answer(server, NULL, 0);
    else if (server->settings->style == STYLE_LLVM)
        buffer_add(&server->text, "\n", 1);
    server_end_answer(server);
}

/* ---- Data ---- */

/* The variable, constant or function of a request, and where it was declared.  */
static void find_data(struct server *server, const struct request *request,
                      struct llvm_datum *datum)
{
    struct sym_module *module = module_of(server, request);
    struct sym_symbol_place place = { .name = "", .linkage_name = "" };
    uint64_t vaddr;

    *datum = (struct llvm_datum){ .file = "" };
    if (module && find_vaddr(server, request, &vaddr)) {
        (void)sym_module_symbol_at(module, vaddr, &place, NULL);
        (void)sym_module_declaration(module, vaddr, &datum->file, &datum->line, NULL);
        objects_report(server->objects, request->object);
    }
    datum->name = server->settings->demangle ? place.name : place.linkage_name;
    if (!datum->line && place.file)
        datum->file = place.file;
    datum->start = place.vaddr;
    datum->size = place.size;
}

static void answer_data(struct server *server, const struct request *request)
{
    struct llvm_datum datum;

    find_data(server, request, &datum);
    begin_answer(server, request);
    add_text(server, datum.name);
    add_format(server, "\n%" PRIu64 " %" PRIu64 "\n", datum.start, datum.size);
    if (datum.file[0]) {
        add_text(server, path_to_show(server->settings, datum.file));
        add_format(server, ":%" PRIu32 "\n", datum.line);
    } else {
        add_format(server, "??:?\n");
    }
    end_answer(server);
}

/* ---- Frames ---- */

static void add_number(struct server *server, bool known, uint64_t number)
{
    if (known)
        add_format(server, "%" PRIu64, number);
    else
        add_text(server, "");
}

static bool append_local(void *context, const struct sym_local *local)
{
    struct server *server = context;

    if (server->json) {
        llvm_json_local(server->json, server->settings, local);
        return true;
    }
    add_text(server, local->function);
    buffer_add(&server->text, "\n", 1);
    add_text(server, local->name);
    buffer_add(&server->text, "\n", 1);
    add_text(server, path_to_show(server->settings, local->file));
    add_format(server, ":%" PRIu32 "\n", local->line);
    if (local->has_frame_offset)
        add_format(server, "%" PRId64, local->frame_offset);
    else
        add_text(server, "");
    buffer_add(&server->text, " ", 1);
    add_number(server, local->has_size, local->size);
    buffer_add(&server->text, " ", 1);
    add_number(server, local->has_tag_offset, local->tag_offset);
    buffer_add(&server->text, "\n", 1);
    return true;
}

static void append_locals(struct server *server, const struct request *request)
{
    struct sym_module *module = module_of(server, request);
    struct sym_error error;
    uint64_t vaddr;

    if (!module || !find_vaddr(server, request, &vaddr))
        return;
    if (sym_module_locals(module, vaddr, append_local, server, &error) != SYM_OK)
        cli_out_of_memory();
    objects_report(server->objects, request->object);
}

static void answer_frame(struct server *server, const struct request *request)
{
    begin_answer(server, request);
    size_t before = server->text.length;
    append_locals(server, request);
    if (server->text.length == before)
        add_format(server, "??\n");
    end_answer(server);
}

/* ---- JSON ---- */

/* What is not looked up in a batch is printed behind it.  */
static void answer_json(struct server *server, const struct request *request)
{
    const struct object *object = server->objects->items[request->object];
    struct llvm_json *json = server->json;
    struct llvm_datum datum;

    batch_run(&server->batch);
    llvm_json_open(json, request->symbol ? NULL : &request->vaddr);
    const char *problem = object_problem(object);
    if (problem) {
        llvm_json_error(json, problem);
    } else if (request->command == COMMAND_DATA) {
        find_data(server, request, &datum);
        llvm_json_datum(json, &datum);
    } else if (request->command == COMMAND_FRAME) {
        json_open(&json->json, "Frame", '[');
        append_locals(server, request);
        json_close(&json->json, ']');
    } else {
        json_open(&json->json, "Loc", '[');
        (void)append_places(server, request);
        json_close(&json->json, ']');
    }
    llvm_json_close(json, object, request->symbol, request->symbol_length);
}

/* ---- All of them ---- */

static void answer(struct server *server, const struct request *request)
{
    if (request->command == COMMAND_CODE && !request->symbol)
        batch_add(&server->batch, request->vaddr + server->bias, request->object);
    else if (server->json)
        answer_json(server, request);
    else if (request->command == COMMAND_DATA)
        answer_data(server, request);
    else if (request->command == COMMAND_FRAME)
        answer_frame(server, request);
    else
        answer_symbol(server, request);
}

static bool parse_llvm_address(const struct settings *settings, const char *word, size_t length,
                               uint64_t *vaddr)
{
    bool prefixed = length > 2 && word[0] == '0' && (word[1] | 32) == 'x';

    if (!settings->hexadecimal)
        return parse_offset(word, length, vaddr);
    if (prefixed) {
        word += 2;
        length -= 2;
    }
    return length && parse_digits(word, length, 16, vaddr) == length;
}

/* ADDRESS, SYMBOL or SYMBOL+OFFSET.  A phrase says what is wrong with it; NULL: nothing.  */
static const char *take_place(const struct settings *settings, const char *line, size_t length,
                              struct request *request)
{
    size_t end = 0;

    skip_blanks(&line, &length);
    while (end < length && !is_blank(line[end]))
        end++;
    if (end == 0)
        return "no module offset has been specified";
    if (parse_llvm_address(settings, line, end, &request->vaddr))
        return NULL;
    if (line[0] >= '0' && line[0] <= '9')
        return "expected a number as module offset";
    const char *plus = memrchr(line, '+', end);
    request->symbol = line;
    request->symbol_length = end;
    request->vaddr = 0;
    if (plus && plus > line &&
        parse_offset(plus + 1, end - (size_t)(plus + 1 - line), &request->vaddr))
        request->symbol_length = (size_t)(plus - line);
    return NULL;
}

/* [CODE|DATA|FRAME] [FILE:|BUILDID:] [FILE] ADDRESS, where SYMBOL+OFFSET may stand for the address.
 * A phrase says what is wrong with it; NULL: nothing.  */
static const char *add_request(struct server *server, const char *line, size_t length)
{
    struct request request = { .command = take_command(&line, &length) };
    const char *problem = take_object(server, &line, &length, &request.object);

    if (!problem)
        problem = take_place(server->settings, line, length, &request);
    if (!problem && server->settings->json && (request.command != COMMAND_CODE || request.symbol))
        problem = "--json answers requests for code at an address";
    if (!problem)
        answer(server, &request);
    return problem;
}

void server_add_llvm(struct server *server, const char *line, size_t length)
{
    const char *problem = add_request(server, line, length);

    if (!problem)
        return;
    if (length || !server->settings->linked)
        server_complain(server, line, length, problem);
    if (server->json) {
        batch_run(&server->batch);
        llvm_json_unknown(server->json, server->settings);
    } else if (server->settings->json) {
        batch_add_echo(&server->batch, line, length);
    } else {
        server_add_answer(server, NULL, 0);
        server_end_answer(server);
    }
}
