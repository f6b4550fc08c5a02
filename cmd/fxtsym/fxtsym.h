/* fxtsym.h - what the parts of fxtsym share.
 *
 * fxtsym_options.c reads the command line.  Addresses come in lines (input_lines.c), are parsed
 * (requests.c, requests_llvm.c) and collected into a batch (batch.c), which looks up each object
 * once.  Results are printed in the order of the input (answer_text.c, answer_json.c, llvm_json.c).
 * Logs with symbolizer markup use the same batches (filter.c).  explain.c lists the places searched
 * for an object, verify_objects.c what libdwarf reads otherwise.  */
#ifndef FXTSYM_H
#define FXTSYM_H

#include <fxt/symbolize.h>
#include "base/index.h"
#include "base/map.h"
#include "cmd/cli/cli_json.h"
#include "cmd/cli/symbol_options.h"

/* ---- Options ---- */

enum style {
    STYLE_ADDR2LINE,
    STYLE_LLVM,
    STYLE_JSON, /* only as an option */
};

/* Which names are made readable.  */
enum demangler {
    DEMANGLE_ALL,
    DEMANGLE_CPP,
    DEMANGLE_RUST,
};

struct settings {
    enum style style;      /* of the output */
    bool llvm_requests;    /* requests as llvm-symbolizer takes them */
    bool hexadecimal;      /* addresses in them have no need of 0x: llvm-addr2line */
    bool linked;           /* in the place of another program, whose exit statuses it has */
    const char *link_name; /* of that program */
    bool json;             /* our own */
    bool llvm_json;        /* as llvm-symbolizer prints it */
    bool verbose;          /* a line for each thing that is known */
    bool functions, inlines, demangle; /* as addr2line -f, -i, -C; llvm-symbolizer has them all */
    bool no_functions, no_inlines, no_demangle;
    bool short_names; /* without scopes and parameters */
    bool addresses, pretty, basenames;
    enum demangler demangler;
    uint64_t context_lines;
    uint64_t bias; /* from the addresses of requests to those of the object */
    struct cli_texts strip_prefixes;
};

/* What the command line asks for besides how it is to look.  */
struct task {
    const char *object, *build_id;
    const char *section; /* that addresses count from, or NULL */
    int output_style;    /* enum style, STYLE_JSON, or -1: that of the requests */
    bool markup;
    struct cli_symbols symbols;
    struct cli_texts explain;
    struct cli_texts addresses;
    bool verify;           /* the addresses are objects */
    uint64_t verify_count; /* of addresses; 0: all boundaries */
};

extern const struct cli_command fxtsym_command;
int fxtsym_run(char **argv);

/* Sets what the name tells that the program was started by.  */
void fxtsym_take_place(struct settings *settings, const char *path);

/* argv with the words of files (@FILE) and of the environment, the caller's.  */
char **fxtsym_arguments(const struct settings *settings, char **argv);
void fxtsym_free_arguments(char **argv);

/* Reads the command line; a wrong one ends the program.  Both point into argv then.  */
void fxtsym_parse(struct settings *settings, struct task *task, char **argv);

/* ---- Lines ---- */

enum {
    LINE_BYTES_MAX = 1 << 20, /* the buffer; a longer line comes in parts */
};

/* Lines of a file descriptor, in memory that does not grow.  */
struct lines {
    int fd;
    char *buffer; /* LINE_BYTES_MAX bytes */
    bool held;    /* the caller's: lines stay in place */
    size_t start, end;
    size_t searched; /* no line end is between start and here */
    bool ended;
    int failed; /* errno of a read that failed; the input ended there */
};

enum line_kind {
    LINE_WHOLE, /* with its '\n', but for the last one of the input */
    LINE_PART,  /* the start, or a middle piece, of a line longer than the buffer */
    LINE_NONE,  /* none is there yet; only without wait */
    LINE_END,
};

/* Lines that are there and have an end, from the next one on, without taking them: *length bytes,
 * which stay in place as a line does.  lines_skip() takes whole ones of them.  */
const char *lines_waiting(const struct lines *lines, size_t *length);
void lines_skip(struct lines *lines, size_t length);

void lines_open(struct lines *lines, int fd);
void lines_close(struct lines *lines);

/* The next line.  It stays in place until a call with wait, or, unless held is set, until the next
 * call.  LINE_NONE is also what is returned when lines that are held leave no room.  */
enum line_kind lines_next(struct lines *lines, bool wait, const char **line, size_t *length);

/* ---- Objects ---- */

/* The objects that were asked about, by the name they were asked by.  */
struct object {
    char *name; /* a path, a build ID as hex digits, or both, for messages and JSON */
    struct sym_module *module;
    uint32_t index;
    uint32_t first; /* index of the first object that has this module */
    bool narrow;    /* 32-bit: addresses have 8 digits and wrap there */
    bool has_path;  /* not only a build ID */
    bool reported;  /* its problem was said */
    char *problem;  /* why it cannot be looked at: "No such file or directory"; NULL: it can */
};

struct objects {
    struct cli_symbols *symbols; /* the caller's */
    struct sym_session *session;
    struct base_index by_name; /* ids: index plus 1 */
    struct base_map by_module; /* from its address to the index of the first object that has it */
    struct object **items;
    size_t count, capacity;
    struct object *last;  /* the one asked for last: often the next one too */
    bool llvm_messages;   /* "error: 'NAME': ...": scripts look for them */
    bool lacks_file;      /* one that was named does not exist */
    enum cli_exit status; /* the worst that was said about any */
};

/* A session that cannot be opened ends the program.  */
void objects_open(struct objects *objects, struct cli_symbols *symbols);
void objects_close(struct objects *objects);
void objects_reopen(struct objects *objects); /* forget all of them */

/* The index of the object at path, with build_id (hex digits) where it is not NULL; path may be
 * NULL then.  */
uint32_t objects_find(struct objects *objects, const char *path, const char *build_id);

extern const uint8_t digit_values[256]; /* of hex digits; 16: it is none */

static inline int digit_of(char c)
{
    return digit_values[(unsigned char)c];
}

/* Hex digits, an even number of them and at most 2 * capacity, to bytes.  False: something
 * else.  */
bool parse_build_id(const char *text, size_t text_length, uint8_t *id, size_t capacity,
                    size_t *length);

/* What it was asked by, for JSON: a path or a build ID alone.  */
const char *object_asked(const struct object *object);

/* Why nothing is known about it; NULL: something is.  */
const char *object_problem(const struct object *object);

/* Say once on stderr why the names of an object are not better.  */
void objects_report(struct objects *objects, uint32_t index);

/* ---- Batches ---- */

/* Bytes that grow.  */
struct buffer {
    char *bytes;
    size_t length, capacity;
};

/* Room for size more bytes at the end; the caller adds to length what it wrote.  */
char *buffer_room(struct buffer *buffer, size_t size);
void buffer_add(struct buffer *buffer, const void *bytes, size_t size);

/* Frames of many answers.  What a frame was inlined into is stored once for neighbours that share
 * it, so an answer is the number of its innermost frame.  All zero is empty.  */
struct chain {
    uint32_t outer; /* the frame it was inlined into, or CHAIN_END */
    uint32_t name, line, column;
};

struct chains {
    struct chain *items;
    size_t count, capacity;
    struct sym_frame *names; /* function and file; their lines and columns mean nothing */
    size_t name_count, name_capacity;
    struct base_index by_name; /* ids: numbers of names, plus 1 */
    uint32_t *path;            /* of the last answer, outermost first */
    size_t path_length, path_capacity;
    struct sym_frame *frames; /* room for those of one answer */
    size_t frame_capacity;
};

enum {
    CHAIN_END = UINT32_MAX - 1, /* no frame */
};

/* The number for count frames, innermost first, whose strings stay.  */
uint32_t chains_add(struct chains *chains, const struct sym_frame *frames, size_t count);
/* The frames of a number, valid until the next call.  */
const struct sym_frame *chains_frames(struct chains *chains, uint32_t number, size_t *count);
/* Fetches into the processor's caches what chains_frames() will read, in three steps.  */
void chains_fetch(const struct chains *chains, uint32_t number, unsigned step);
void chains_clear(struct chains *chains); /* room stays */
void chains_release(struct chains *chains);

enum {
    REQUESTS_MAX = 1 << 20,       /* of a batch: units are read once for all of them */
    ANSWER_BYTES_MAX = 32 << 20,  /* of text; later answers are kept as frames */
    ANSWERS_KEPT = 1 << 18,       /* from a batch to the next, */
    ANSWER_BYTES_KEPT = 16 << 20, /* or so much text of them */
    ANSWERS_MAX = ANSWERS_KEPT + REQUESTS_MAX + 1, /* that one is no request's */
    TEXT_SLACK = 32,                               /* bytes that can be read behind the answers */
    OBJECT_NONE = INT32_MAX,                       /* not to be looked up: unknown */
    OBJECT_ECHO = INT32_MAX - 1, /* not to be looked up: the answer is the text that was given */
};

struct batch;

/* Appends the answer for an address to out, in a form that print_fn knows.  */
typedef void (*append_fn)(const struct settings *settings, struct buffer *out,
                          const struct sym_frame *frames, size_t count);
/* Called with all requests of a batch, of which there is at least one.  */
typedef void (*print_fn)(void *context, struct batch *batch);

/* Those of several objects, with the requests of one module side by side.  */
struct gathered {
    uint64_t *vaddrs;
    uint32_t *requests; /* the number of each one's request */
    uint32_t *numbers;  /* what the library counts their answers as, for each module from 0, */
    uint32_t *answers;  /* and which answer of the batch each number of a module is */
};

struct batch {
    const struct settings *settings;
    struct objects *objects;
    append_fn append;
    print_fn print;
    void *context;

    /* Requests, REQUESTS_MAX of each.  */
    uint64_t *vaddrs;     /* of OBJECT_ECHO: offsets in echoes */
    uint32_t *objects_of; /* indexes in objects, or one of the above */
    uint32_t *answers;    /* their numbers; of OBJECT_ECHO: bytes in echoes */
    size_t count;
    bool mixed;      /* they are not all about one object */
    bool has_echoes; /* there are some of OBJECT_ECHO */
    struct buffer echoes;

    /* Answers.  Those about one object stay for the next batch, if that is about it too.  */
    struct buffer text;      /* of the first ones, one after the other; equal ones are there once */
    uint32_t text_count;     /* how many these are */
    struct chains chains;    /* the others, */
    struct buffer formatted; /* and the text of one of them */
    size_t *places;          /* ANSWERS_MAX + 1: where the text of each begins, and where the last
                              * one ends; then for each of the others its number in chains */
    uint32_t answer_count;
    uint32_t kept_object;     /* OBJECT_NONE: none stay */
    struct gathered gathered; /* made by the first batch that is mixed */
};

void batch_open(struct batch *batch, const struct settings *settings, struct objects *objects,
                append_fn append, print_fn print, void *context);
void batch_close(struct batch *batch);
void batch_forget(struct batch *batch); /* what was kept; before the objects are reopened */
void batch_add_echo(struct batch *batch, const char *text, size_t length);

static inline void batch_add(struct batch *batch, uint64_t vaddr, uint32_t object)
{
    size_t i = batch->count++;

    batch->vaddrs[i] = vaddr;
    batch->objects_of[i] = object;
    batch->mixed |= object != batch->objects_of[0];
}

static inline bool batch_is_full(const struct batch *batch)
{
    return batch->count == REQUESTS_MAX;
}

/* The text of an answer that is kept as frames; valid until the next call.  */
const char *batch_format(struct batch *batch, uint32_t answer, size_t *length);

/* What was appended for a request, or its own text; valid until the next call.  */
static inline const char *batch_answer(struct batch *batch, size_t request, size_t *length)
{
    uint32_t answer = batch->answers[request];

    if (batch->objects_of[request] == OBJECT_ECHO) {
        *length = answer;
        return batch->echoes.bytes + batch->vaddrs[request];
    }
    if (answer >= batch->text_count)
        return batch_format(batch, answer, length);
    *length = batch->places[answer + 1] - batch->places[answer];
    return batch->text.bytes + batch->places[answer];
}

/* Look up what was added, print it, and start again.  */
void batch_run(struct batch *batch);

/* ---- Requests ---- */

/* Answers what the task asks for, or else the lines of standard input.  */
void answer_requests(const struct settings *settings, const struct task *task,
                     struct objects *objects, struct cli_output *output);

/* ---- Formats ---- */

const char *quality_name(enum sym_quality quality); /* "dwarf" */

/* The name to show, never "".  The second is the short one, if that is wanted.  */
const char *frame_name(const struct settings *settings, const struct sym_frame *frame);
const char *name_to_show(const struct settings *settings, const struct sym_frame *frame,
                         size_t *length);
/* Its file without what --strip-prefix and --basenames take off; never "".  The same of a path;
 * NULL: unknown.  */
const char *frame_file(const struct settings *settings, const struct sym_frame *frame);
const char *path_to_show(const struct settings *settings, const char *path);

/* One frame for an answer of any number of them: with STYLE_LLVM the real function, and where in it
 * or in what was inlined into it.  */
struct sym_frame frame_without_inlined(const struct settings *settings,
                                       const struct sym_frame *frames, size_t count);

/* Appends the lines of the source around the frame's, if they are wanted and the file is here.  */
void source_append(const struct settings *settings, struct buffer *out,
                   const struct sym_frame *frame);

/* addr2line's and llvm-symbolizer's; the context of text_print is a struct cli_output.  */
void text_append(const struct settings *settings, struct buffer *out,
                 const struct sym_frame *frames, size_t count);
void text_print(void *output, struct batch *batch);

/* Frames as they are, aligned, to be formatted when printed.  */
void frames_append(const struct settings *settings, struct buffer *out,
                   const struct sym_frame *frames, size_t count);
void json_print(void *output, struct batch *batch);

/* ---- llvm-symbolizer's JSON ---- */

struct llvm_json {
    struct json json;
    bool list; /* all answers in one array */
};

void llvm_json_begin(struct llvm_json *json, struct cli_output *output, bool list);
void llvm_json_end(struct llvm_json *json);
void llvm_json_print(void *json, struct batch *batch); /* a print_fn */

/* An answer that no batch has: open, one of the next four or a list of frames or locals, close.  */
struct llvm_datum {
    const char *name, *file; /* "" unknown; file and line of the declaration */
    uint32_t line;
    uint64_t start, size;
};
void llvm_json_open(struct llvm_json *json, const uint64_t *address); /* NULL: none was given */
void llvm_json_error(struct llvm_json *json, const char *problem);
void llvm_json_datum(struct llvm_json *json, const struct llvm_datum *datum);
void llvm_json_local(struct llvm_json *json, const struct settings *settings,
                     const struct sym_local *local);
void llvm_json_frame(struct llvm_json *json, const struct settings *settings,
                     const struct sym_frame *frames, size_t count);
void llvm_json_close(struct llvm_json *json, const struct object *object, const char *symbol,
                     size_t symbol_length); /* symbol may be NULL */

/* The whole output where the object of all requests is lacking.  */
void llvm_json_lacking(struct cli_output *output, const struct object *object);

/* The whole answer to what is no request.  */
void llvm_json_unknown(struct llvm_json *json, const struct settings *settings);

/* ---- Markup ---- */

/* Copy standard input to output with its markup made readable.  */
enum cli_exit filter_markup(const struct settings *settings, struct objects *objects,
                            struct cli_output *output);

/* ---- Explaining ---- */

/* Print where the object (a path, or a build ID) was looked for and what was found.
 * CLI_ENVIRONMENT when nothing was.  */
enum cli_exit explain(struct objects *objects, const char *what, bool as_json,
                      struct cli_output *output);

/* ---- Verifying ---- */

/* Read the debug information of the object at a path a second time, with libdwarf, and print where
 * the two differ; count as in sym_module_verify().  CLI_DIFFERENT when they do, CLI_DAMAGED when
 * something could not be read, CLI_INCONCLUSIVE when nothing was compared.  */
enum cli_exit verify(struct objects *objects, const struct settings *settings, const char *what,
                     uint64_t count, struct cli_output *output);

#endif /* FXTSYM_H */
