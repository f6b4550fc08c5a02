/* Requests: addresses and symbols as addr2line takes them, from the command line or from lines.  */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fxtsym/requests.h"

enum {
    PLAIN_LINE_ROOM = 2 + 16 + 1, /* bytes of the longest line that is an address alone */
};

/* ---- Numbers ---- */

/* All digits of base at text to *value; how many there were; 0 when they are too many.  */
size_t parse_digits(const char *text, size_t length, int base, uint64_t *value)
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

void skip_blanks(const char **text, size_t *length)
{
    while (*length && is_blank(**text)) {
        ++*text;
        --*length;
    }
}

/* As addr2line reads them: blanks, 0x if you like, hex digits; the rest is not looked at.  */
static bool parse_address(const char *text, size_t length, uint64_t *vaddr)
{
    skip_blanks(&text, &length);
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
bool parse_offset(const char *text, size_t length, uint64_t *vaddr)
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

/* ---- Answers that are known ---- */

void server_complain(struct server *server, const char *text, size_t length, const char *reason)
{
    bool quiet = server->settings->linked && !server->settings->llvm_requests; /* as addr2line */

    bool each = server->objects->llvm_messages;

    if (!quiet && (server->bad++ == 0 || each))
        cli_error("%s'%.*s': %s", each ? "error: " : "", length > 200 ? 200 : (int)length, text,
                  reason);
    server->objects->status = cli_worse(server->objects->status, CLI_DAMAGED);
}

/* An answer that is known, in the place of one to be looked up.  */
void server_add_answer(struct server *server, const struct sym_frame *frames, size_t count)
{
    text_append(server->settings, &server->text, frames, count);
}

void server_end_answer(struct server *server)
{
    size_t length = server->text.length;

    if (length && server->text.bytes[length - 1] == '\n') /* an echo gets one */
        length--;
    batch_add_echo(&server->batch, server->text.bytes, length);
    server->text.length = 0;
}

/* ---- addr2line's requests ---- */

static void add_vaddr(struct server *server, uint64_t vaddr, bool inside)
{
    bool narrow = server->objects->items[server->object]->narrow;

    batch_add(&server->batch, narrow ? (uint32_t)vaddr : vaddr,
              inside ? server->object : OBJECT_NONE);
}

/* The vaddr of the index-th symbol of a name; its size to *size.  */
bool server_find_symbol(struct server *server, uint32_t object, const char *name, size_t length,
                        size_t index, struct sym_symbol_place *place)
{
    struct sym_module *module = server->objects->items[object]->module;
    char *text = strndup(name, length);

    if (!text)
        cli_out_of_memory();
    bool found = module && sym_module_symbol(module, text, index, place, NULL) == SYM_OK;
    free(text);
    return found;
}

/* SYMBOL, SYMBOL+OFFSET, the offset decimal unless it begins with 0x; what follows is not looked
 * at.  */
static bool add_symbol(struct server *server, const char *text, size_t length)
{
    struct sym_symbol_place place;
    uint64_t offset = 0;
    size_t end = 0;

    skip_blanks(&text, &length);
    while (end < length && !is_blank(text[end]) && text[end] != '+')
        end++;
    if (!end || !server_find_symbol(server, server->object, text, end, 0, &place))
        return false;
    size_t next = end;
    while (next < length && (is_blank(text[next]) || text[next] == '+'))
        next++;
    bool hexadecimal = length - next > 2 && text[next] == '0' && (text[next + 1] | 32) == 'x';
    if (memchr(text + end, '+', next - end))
        (void)parse_digits(text + next + (hexadecimal ? 2 : 0),
                           length - next - (hexadecimal ? 2 : 0), hexadecimal ? 16 : 10, &offset);
    add_vaddr(server, place.vaddr + offset, true);
    return true;
}

/* Whether a request begins as a symbol does: not with digits alone.  */
static bool names_symbol(const char *text, size_t length)
{
    size_t digits = 0;

    skip_blanks(&text, &length);
    if (!length || *text == '+' || (*text >= '0' && *text <= '9'))
        return false;
    while (digits < length && digit_of(text[digits]) < 16)
        digits++;
    return digits < length && !is_blank(text[digits]);
}

static void add_plain(struct server *server, const char *line, size_t length)
{
    uint64_t vaddr;
    bool symbol = names_symbol(line, length);

    if (symbol && add_symbol(server, line, length))
        return;
    if (!symbol && parse_address(line, length, &vaddr)) {
        add_vaddr(server, vaddr + server->bias, vaddr < server->limit);
        return;
    }
    server_complain(server, line, length, "neither an address nor a symbol of the object");
    if (server->settings->json)
        batch_add_echo(&server->batch, line, length);
    else
        batch_add(&server->batch, server->bias, OBJECT_NONE);
}

/* ---- Lines ---- */

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
        batch_add(batch, (vaddr + server->bias) & mask,
                  vaddr < server->limit ? server->object : OBJECT_NONE);
        at += line;
    }
    return at;
}

static void add_request(struct server *server, const char *line, size_t length)
{
    while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    if (server->settings->llvm_requests)
        server_add_llvm(server, line, length);
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
        if (!long_line && !server->settings->llvm_requests)
            add_waiting_lines(server, &lines);
    }
    batch_run(&server->batch);
    if (lines.failed) {
        cli_error("standard input: %s", strerror(lines.failed));
        server->objects->status = cli_worse(server->objects->status, CLI_ENVIRONMENT);
    }
    lines_close(&lines);
}

/* Where addresses count from.  */
static bool find_section(struct server *server, const char *name)
{
    const struct object *object = server->objects->items[server->object];
    uint64_t start, size;

    if (object->module && sym_module_section(object->module, name, &start, &size, NULL) == SYM_OK) {
        server->bias += start;
        server->limit = size;
        return true;
    }
    if (object->module) {
        cli_error("%s: no section %s that is loaded", object->name, name);
        server->objects->status = cli_worse(server->objects->status, CLI_ENVIRONMENT);
    }
    return false;
}

static void open_batch(struct server *server, const struct settings *settings,
                       struct cli_output *output)
{
    if (settings->llvm_json)
        batch_open(&server->batch, settings, server->objects, frames_append, llvm_json_print,
                   server->json);
    else if (settings->json)
        batch_open(&server->batch, settings, server->objects, frames_append, json_print, output);
    else
        batch_open(&server->batch, settings, server->objects, text_append, text_print, output);
}

void answer_requests(const struct settings *settings, const struct task *task,
                     struct objects *objects, struct cli_output *output)
{
    struct settings biased = *settings;
    struct server server = {
        .settings = &biased, .objects = objects, .bias = settings->bias, .limit = UINT64_MAX
    };
    struct llvm_json json;

    server.has_object = task->object || task->build_id || !settings->llvm_requests;
    if (server.has_object)
        server.object = objects_find(objects,
                                     task->object     ? task->object
                                     : task->build_id ? NULL
                                                      : "a.out",
                                     task->build_id);
    if (settings->linked && server.has_object && objects->lacks_file) { /* as they do */
        if (settings->llvm_json)
            llvm_json_lacking(output, objects->items[server.object]);
        return;
    }
    if (task->section && !find_section(&server, task->section))
        return;
    biased.bias = server.bias;
    if (settings->llvm_json) {
        server.json = &json;
        llvm_json_begin(&json, output, task->addresses.count > 0);
    }
    open_batch(&server, &biased, output);
    for (size_t i = 0; i < task->addresses.count && output->failed == 0; i++)
        add_request(&server, task->addresses.items[i], strlen(task->addresses.items[i]));
    if (task->addresses.count)
        batch_run(&server.batch);
    else
        answer_lines(&server, output);
    if (server.bad > 1 && !objects->llvm_messages)
        cli_error("%s %s are not addresses", cli_grouped(server.bad),
                  task->addresses.count ? "words" : "lines");
    if (server.json)
        llvm_json_end(server.json);
    batch_close(&server.batch);
    free(server.text.bytes);
}
