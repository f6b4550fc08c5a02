/* cli.h - what the programs share: options, messages, exit statuses, input, output, progress.
 *
 * Programs are single-threaded and print one message for one problem; results go to stdout,
 * everything else to stderr (docs/architecture.md, conventions).  */
#ifndef CLI_H
#define CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Exit status ---- */

enum cli_exit {
    CLI_OK = 0,
    CLI_DIFFERENT = 1,    /* a difference was found, a gate failed */
    CLI_USAGE = 2,        /* the command line is wrong */
    CLI_DAMAGED = 3,      /* the input is damaged; everything readable was still written */
    CLI_ENVIRONMENT = 4,  /* files, permissions, memory, disk */
    CLI_INCONCLUSIVE = 5, /* not enough data to say */
    CLI_POLICY = 6,       /* a required policy is not met */
};

/* The worse of two: 4 > 3 > 6 > 5 > 1 > 0, and 2 above all.  */
enum cli_exit cli_worse(enum cli_exit a, enum cli_exit b);

/* ---- Options ---- */

/* What an option's argument or an operand is, and so what completion offers for it.  */
enum cli_value {
    CLI_TEXT = 0, /* one of the choices; without any, a text or number that nobody can know */
    CLI_HINT,     /* one of the choices, or something else */
    CLI_LIST,     /* some of the choices, with commas between */
    CLI_FILE,
    CLI_FOLDER,
    CLI_TRACE,   /* a trace, or a folder of regions */
    CLI_STORE,   /* a store, or a trace */
    CLI_RUN,     /* a trace, profile, store or capture of one, STORE#ID */
    CLI_PROCESS, /* the pid of a process that runs */
    CLI_COMMAND, /* a program, and its arguments */
    CLI_WORD,    /* of operands: one of the command's words */
    /* What the store on the command line has; several with commas between.  */
    CLI_CAPTURE,
    CLI_PID,
    CLI_TID,
    CLI_COMM,
    CLI_CPU,
};

/* One option.  The same table parses the command line, prints the help and completes: rows end
 * where they have nothing more to say.  */
struct cli_option {
    int key;              /* what cli_next() returns; from 1 */
    char letter;          /* 'o' for -o; 0: none */
    const char *name;     /* "output" for --output */
    const char *argument; /* "FILE"; NULL: takes none */
    const char *help;     /* a phrase; it is broken into lines where it is printed */
    enum cli_value value;
    const char *const *choices; /* NULL at the end.  CLI_TEXT: others are refused */
    bool optional; /* the argument may be missing: it stands behind "=", never in the next word */
};

/* Tables that several commands have begin their keys here, far from those of any command.  */
enum {
    CLI_READING_KEYS = 10000,  /* cli_trace.h */
    CLI_SELECT_KEYS = 10100,   /* select.h */
    CLI_SYMBOLS_KEYS = 10200,  /* symbol_options.h */
    CLI_PROFILES_KEYS = 10300, /* profile_options.h */
    CLI_BOUNDS_KEYS = 10400,   /* cli_bounds.h */
};

struct cli_command {
    const char *name;                 /* "fxtdump", "sampler-capture cpu" */
    const char *usage;                /* what follows the name: "[OPTION]... FILE..." */
    const char *summary;              /* one sentence, or paragraphs with an empty line between */
    const struct cli_option *options; /* ends with key 0; may be NULL */
    /* Tables that several commands have, behind the own one; NULL at the end; may be NULL.  A
     * letter is the first row's that has it.  */
    const struct cli_option *const *groups;
    const char *const *examples; /* pairs: what it does, the command line; ends with NULL */
    /* For --version, which alone calls it: optional libraries that serve; may be NULL.  */
    const char *(*libraries)(void);
    bool stop_at_operand; /* the first operand ends the options, as for "-- COMMAND" */

    /* What the first operand can be: word i with a phrase on it, NULL behind the last.  NULL:
     * anything.  --help lists them if there is a title.  */
    const char *(*word)(size_t i, const char **brief);
    const char *word_title; /* "Reports" */
    enum cli_value first;   /* what the first operand is, unless it is a word or a command */
    enum cli_value rest;    /* what all others are */

    /* Does the work.  argv is what stands behind the command's name; the result is the exit
     * status.  A program with commands may have none: it needs one of them.  */
    int (*run)(char **argv);
    /* The commands of a program, NULL at the end; each one's name begins with the program's.  */
    const struct cli_command *const *commands;
    const char *brief; /* of such a command: a phrase for the program's --help */
};

/* The main() of a program: runs the command that argv[1] names, or the program itself.  */
int cli_main(const struct cli_command *program, char **argv);

/* Row i of the command's tables together; NULL behind the last one.  */
const struct cli_option *cli_command_option(const struct cli_command *command, size_t i);

/* Whether the row's letter is its own: no row above has it.  */
bool cli_option_has_letter(const struct cli_command *command, const struct cli_option *option);

/* Whether the word behind it is its argument.  */
bool cli_option_takes_word(const struct cli_option *option);

/* "cut" for "fxtcat cut".  */
const char *cli_command_word(const struct cli_command *command);

enum {
    CLI_END = 0,      /* no more arguments */
    CLI_OPERAND = -1, /* parser.value is not an option */
};

struct cli_parser {
    const struct cli_command *command;
    char **argv; /* the next argument; the operands' rest after CLI_END with stop_at_operand */
    const char *value;   /* the argument of the option, or the operand */
    size_t choice;       /* CLI_TEXT: which of the option's choices it is */
    const char *letters; /* rest of a group of letters; for the parser only */
    bool only_operands;  /* "--" was seen; for the parser only */
};

/* Start with argv behind the program's (or subcommand's) name.  Also names the program in
 * messages.  */
void cli_start(struct cli_parser *parser, const struct cli_command *command, char **argv);

/* The key of the next option, CLI_OPERAND or CLI_END.  --help, --version and, of a program,
 * --completion are answered here and end the program with status 0; an unknown or incomplete option
 * and an argument that is not one of the choices end it with CLI_USAGE.  */
int cli_next(struct cli_parser *parser);

/* Print "NAME: message", a pointer to --help, and end the program with CLI_USAGE.  */
_Noreturn void cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whole texts to numbers; end the program with CLI_USAGE and a sentence that names the option when
 * they are not.  Sizes take the suffixes k, M and G (powers of 1024), with or without iB.  */
uint64_t cli_number(const char *option, const char *text, uint64_t minimum, uint64_t maximum);
uint64_t cli_size(const char *option, const char *text, uint64_t minimum, uint64_t maximum);

/* "1.5", "300ms", "2m", a plain number in seconds: from a millisecond to three years, in
 * nanoseconds.  */
uint64_t cli_duration(const char *option, const char *text);

/* "5%", "0.3pp", "0.05": a part of 1, from 0 to limit.  */
double cli_part(const char *option, const char *text, double limit);

/* As cli_number(); 0x takes hexadecimal digits: ids, addresses, offsets.  */
uint64_t cli_id(const char *option, const char *text, uint64_t minimum, uint64_t maximum);

/* The index of text in names (NULL at the end), or end the program with CLI_USAGE, listing
 * them.  */
size_t cli_choice(const char *option, const char *text, const char *const *names);

/* A growing list of pointers or numbers taken from repeated options.  */
struct cli_texts {
    const char **items;
    size_t count, capacity;
};
struct cli_numbers {
    uint64_t *items;
    size_t count, capacity;
};
void cli_texts_add(struct cli_texts *texts, const char *text);
void cli_numbers_add(struct cli_numbers *numbers, uint64_t number);

/* ---- Messages ---- */

/* "NAME: message" on stderr.  Control bytes of what came from a file print as '?'.  */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Without the name: summaries.  */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What was printed to stdout with stdio is out: CLI_OK; or CLI_ENVIRONMENT, and a message has said
 * why not.  */
int cli_flush_stdout(void);

/* Memory or the end of the program: "out of memory", CLI_ENVIRONMENT.  */
void *cli_allocate(size_t count, size_t size);
/* Likewise base_grow(): room for count items, made from items, whose place may change.  */
void *cli_grow(void *items, size_t *capacity, size_t count, size_t size);
_Noreturn void cli_out_of_memory(void);

/* base_map_set() (base/map.h); ends the program if memory is short.  */
struct base_map;
void cli_map_set(struct base_map *map, uint64_t key, uint64_t value);
/* memory, which is not NULL; else the same.  */
void *cli_checked(void *memory);

/* a and b as one text from malloc().  */
char *cli_join(const char *a, const char *b);
/* vprintf() to a text from malloc().  */
char *cli_text(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Whether escapes for colour may be written to stream: a terminal, and NO_COLOR is not set.  */
bool cli_colour(FILE *stream);

/* Columns of the terminal behind stream; 0 when it is none.  */
size_t cli_columns(FILE *stream);

/* Whether the user's locale has all characters, and not only those of ASCII.  */
bool cli_is_utf8(void);

/* 1234567 as "1,234,567" in one of a few static buffers that are used in turn.  */
const char *cli_grouped(uint64_t number);

/* "1 sample", "2,000 samples", likewise.  */
const char *cli_counted(uint64_t number, const char *one, const char *many);

/* The shortest form of a finite double that reads back equal.  text has room for 32 bytes.  */
void cli_shortest_double(char *text, double number);

/* ---- Output ---- */

enum { CLI_OUTPUT_BYTES = 64 << 10 };

/* A result on its way to a file or stdout.  A file is written under a temporary name beside its
 * own and renamed by cli_output_commit(): it appears whole or not at all.  What is no regular
 * file (a device, a FIFO) is written to directly.  */
struct cli_output {
    int fd;
    const char *path;      /* for messages: as given, or "standard output" */
    char *temporary;       /* name to rename; NULL when written directly */
    char *target;          /* the file that path stands for, symbolic links resolved */
    unsigned char *buffer; /* CLI_OUTPUT_BYTES; who has much to write may put it there itself */
    size_t used;
    int failed;           /* errno of the first failure; EFBIG: cli_bounds.h */
    uint64_t written;     /* bytes that left the buffer */
    bool visible;         /* cli_output_visible() */
    char partial[4];      /* the first bytes of a character whose rest is still to come */
    size_t partial_count; /* of them */
    /* Called once, before the first bytes leave, and may give fd another value; NULL: nothing.  */
    void (*opens)(struct cli_output *output, void *context);
    void *opens_context;
};

/* path "-" or NULL: stdout.  On failure a message was printed and the status is
 * CLI_ENVIRONMENT.  */
enum cli_exit cli_output_open(struct cli_output *output, const char *path);

/* End the program with CLI_USAGE if the output would replace one of the inputs; output may be
 * NULL.  */
void cli_output_check(const char *output, const struct cli_texts *inputs);

/* What is written goes behind what the file holds, at once.  */
enum cli_exit cli_output_append(struct cli_output *output, const char *path);

/* Fits the write callbacks of the libraries: 0 or errno.  */
int cli_output_write(void *output, const void *bytes, size_t size);

/* The output is text with names from files, such as CSV or folded stacks: if it goes to a terminal,
 * escape what base/visible.h refuses, lines and tabs aside.  Files and pipes get the bytes as they
 * are.  Call it before anything is written.  */
void cli_output_visible(struct cli_output *output);

/* Write what is buffered.  0 or errno.  */
int cli_output_flush(struct cli_output *output);

/* Flush, close and rename.  CLI_OK, or CLI_ENVIRONMENT with a message; then no file is left.  */
enum cli_exit cli_output_commit(struct cli_output *output);

/* Close and remove.  Harmless after a commit.  */
void cli_output_abort(struct cli_output *output);

/* A file that is no result yet.  SIGINT, SIGTERM and SIGHUP remove it before they end the program,
 * unless somebody else handles them.  path is borrowed until cli_unfinished_remove(), which takes
 * the same pointer, or NULL.  Not from several threads.  */
void cli_unfinished_add(const char *path);
void cli_unfinished_remove(const char *path);

/* ---- Progress ---- */

/* A line on stderr that shows how far a long job is; silent unless stderr is a terminal and the
 * job takes more than a second.  */
struct cli_progress {
    const char *what;
    uint64_t total; /* bytes; 0 unknown */
    int64_t started_ns;
    int64_t shown_ns;
    bool visible;
};
void cli_progress_start(struct cli_progress *progress, const char *what, uint64_t total);
void cli_progress_show(struct cli_progress *progress, uint64_t done);
void cli_progress_end(struct cli_progress *progress); /* removes the line */

#endif /* CLI_H */
