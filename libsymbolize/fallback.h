/* fallback.h - units that the decoder refuses, read a second time by libdwarf.
 *
 * libdwarf may crash, loop or take any amount of memory on hostile files, so it runs in a child
 * process: fallback_process.c starts and bounds it, fallback_write.c is what it does, and
 * fallback_read.c checks its answer, which is not trusted either.  fallback.c decides when a child
 * is started and whether its answer is better.  A sound object never has one.  */
#ifndef SYMBOLIZE_FALLBACK_H
#define SYMBOLIZE_FALLBACK_H

#include "libsymbolize/dwarf.h"

/* ---- The child ---- */

struct sym_fallback_limits {
    unsigned cpu_seconds;  /* of the child */
    int wall_ms;           /* until the child is killed, whatever it does */
    uint64_t memory_bytes; /* of addresses that the child may add to those that it inherits */
    size_t answer_bytes;
};

/* Why libdwarf does not help with a unit.  */
enum sym_fallback_end {
    SYM_FALLBACK_HELPS = 0,    /* it does help */
    SYM_FALLBACK_REFUSED = 1,  /* it cannot read the part to the end */
    SYM_FALLBACK_EMPTY = 2,    /* it finds no functions, or no lines */
    SYM_FALLBACK_DIFFERS = 3,  /* it lacks functions, or lines, that the decoder has */
    SYM_FALLBACK_UNUSABLE = 4, /* the answer is not one */
    SYM_FALLBACK_TOO_LONG = 5, /* the answer has too many bytes */
    SYM_FALLBACK_CRASHED = 6,
    SYM_FALLBACK_TIMED_OUT = 7,
    SYM_FALLBACK_NO_PROCESS = 8, /* no child could be started */
    SYM_FALLBACK_NO_BUDGET = 9,  /* other units of the object have spent it */
    SYM_FALLBACK_OFF = 10,
    SYM_FALLBACK_ENDS
};

struct sym_fallback_answer {
    uint8_t *bytes; /* the caller's, from base_realloc() */
    size_t size, capacity;
    uint64_t cost_ms; /* CPU time, or, if the system does not report it, the time that passed */
    enum sym_fallback_end end; /* why there is no answer, if the status is SYM_NOT_FOUND */
};

/* Runs task(context, fd) in a child process and takes what it writes to fd.  The child has the
 * standard streams closed, default actions for signals, no core file, and ends with its parent.
 * Any thread, with any locks held that task does not take.  SYM_OK; SYM_NOT_FOUND: the child died,
 * was killed, or could not be started; or SYM_NO_MEMORY.  *out is to be freed in each case.  */
enum sym_status sym_fallback_run(sym_fallback_fn task, void *context,
                                 const struct sym_fallback_limits *limits,
                                 struct sym_fallback_answer *out);

/* ---- What it does ---- */

struct sym_fallback_job {
    struct sym_dwarf *dwarf;
    struct sym_unit *unit;
    unsigned parts; /* enum sym_unit_part */
};

/* Reads the parts with libdwarf and writes what it found to fd; context is a sym_fallback_job.  */
void sym_fallback_write(void *context, int fd);

/* ---- Its answer ---- */

/* Starts an answer, and separates its parts.  */
enum { SYM_FALLBACK_MARK = 0x46585444 };

/* What an answer holds.  */
struct sym_fallback_parts {
    unsigned parts;       /* that are complete */
    const char *comp_dir; /* with SYM_PART_LINES; interned */
    struct sym_scopes scopes;
    struct sym_lines lines;
};

/* Where the .debug_info of dies begins in that of the package that it lies in; 0: in none.
 * libdwarf counts from the package's, keys of DIEs from that of the unit.  */
uint64_t sym_fallback_start(const struct sym_dwarf *dwarf, const struct sym_unit *dies);

/* Checks an answer for unit and fills *out, which is to be released in each case.  SYM_OK,
 * SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_fallback_read(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                  struct sym_bytes answer, struct sym_fallback_parts *out);
void sym_fallback_release(struct sym_fallback_parts *parts);

/* ---- Deciding ---- */

enum {
    SYM_FALLBACK_UNITS_MAX = 64,         /* of an object, */
    SYM_FALLBACK_CPU_MS_MAX = 30 * 1000, /* and for all of them */
    SYM_FALLBACK_UNIT_CPU_SECONDS = 10,  /* for one */
};

/* Checks an answer for a decoded unit and takes from it the parts that the decoder refused, if they
 * are better.  *end is set to why a part was not taken, that of the functions first.  SYM_OK,
 * whether a part was taken or not, SYM_MALFORMED or SYM_NO_MEMORY.  */
enum sym_status sym_fallback_use(struct sym_dwarf *dwarf, struct sym_unit *unit,
                                 struct sym_bytes answer, enum sym_fallback_end *end);

/* Reads what the decoder refused of a decoded unit, once, as long as the object's budget lasts, and
 * counts the unit if a part of it is still not read.  Only where answers are given: names are made.
 * SYM_OK, whether that was of use or not, or SYM_NO_MEMORY.  */
enum sym_status sym_fallback_unit(struct sym_dwarf *dwarf, struct sym_unit *unit);

/* Counts a decoded unit if its decoder could not read all that was inlined into a function.
 * libdwarf is not asked: answers for earlier addresses have been given.  */
void sym_fallback_check_calls(struct sym_dwarf *dwarf, struct sym_unit *unit);

/* Counts a unit of which nobody reads all, unless it was counted before; unit is NULL if its header
 * is damaged.  The phrase for the first unit is kept: what is damaged, and why libdwarf does
 * not help.  */
void sym_fallback_miss(struct sym_dwarf *dwarf, struct sym_unit *unit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "2 units read by libdwarf, because ours could not: ...", the caller's; NULL: no memory.  */
char *sym_fallback_sentence(const struct sym_fallback *fallback);

/* "2 units of the debug information were not read completely; the first: ...", likewise.  */
char *sym_fallback_missed(const struct sym_fallback *fallback);

#endif /* SYMBOLIZE_FALLBACK_H */
