#include "cmd/cli/perf_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cli/cli_input.h"
#include "cmd/cli/perf_code.h"
#include "cmd/cli/perf_unwind.h"
#include "libperf/perf_trace.h"

struct cli_perf {
    struct cli_perf_source source;
    struct perf_trace *trace;    /* NULL: no perf.data file */
    struct sym_session *session; /* opened when the first object is looked for */
    bool has_session;
    struct cli_perf_unwind *unwind; /* opened for the first copy of a stack */
    char *kernel;                   /* symbols of the running one; NULL: not read */
    struct cli_perf_code code;
    int copy; /* an input that cannot be read twice; -1: none */

    /* Bytes that were taken to see what the input is.  */
    uint8_t start[PERF_DATA_FORM_BYTES];
    size_t length, next;
};

/* A file of the system, whose size is not known before it is read; at most limit bytes.  */
static size_t read_system_file(const char *path, size_t limit, char **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ptrdiff_t got = 1;

    *out = cli_allocate(limit, 1);
    while (fd >= 0 && got > 0 && used < limit) {
        got = read(fd, *out + used, limit - used);
        used += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return used;
}

/* ---- Where code is in its object ---- */

static struct sym_session *session_of(struct cli_perf *perf)
{
    static const struct cli_symbols none = { .debuginfod = false };

    if (!perf->has_session)
        perf->session = cli_symbols_of_thread(perf->source.symbols ? perf->source.symbols : &none);
    perf->has_session = true;
    return perf->session;
}

static bool find_vaddr(void *context, const struct perf_trace_object *object, uint64_t file_offset,
                       uint64_t size, uint64_t *vaddr)
{
    struct sym_session *session = session_of(context);
    const struct sym_module_key key = { .build_id = object->build_id,
                                        .build_id_length = object->build_id_length,
                                        .path = object->name };
    struct sym_module *module;

    return session && sym_session_module(session, &key, &module, NULL) == SYM_OK &&
           sym_module_mapping_vaddr(module, file_offset, size, vaddr) == SYM_OK;
}

static size_t unwind_stack(void *context, const struct perf_trace_copy *copy, uint64_t *addresses,
                           size_t capacity, bool *is_whole)
{
    struct cli_perf *perf = context;

    if (!perf->unwind)
        perf->unwind = cli_perf_unwind_open(session_of(perf));
    return perf->unwind ? cli_perf_unwind_stack(perf->unwind, copy, addresses, capacity, is_whole)
                        : 0;
}

/* ---- The kernel ---- */

/* Whether the kernel that runs has this build ID: a note of /sys/kernel/notes, whose name has four
 * bytes, and so has each of its numbers.  */
static bool is_running(const uint8_t *build_id, size_t length)
{
    enum { BUILD_ID = 3 };
    char *notes;
    size_t size = read_system_file("/sys/kernel/notes", (size_t)1 << 16, &notes);
    bool found = false;

    for (size_t at = 0; at + 12 <= size && !found;) {
        uint32_t header[3];
        size_t name, description;

        memcpy(header, notes + at, sizeof header);
        name = ((size_t)header[0] + 3) & ~(size_t)3;
        description = ((size_t)header[1] + 3) & ~(size_t)3;
        at += sizeof header;
        if (name > size - at || description > size - at - name)
            break;
        found = header[2] == BUILD_ID && header[0] == 4 && memcmp(notes + at, "GNU", 4) == 0 &&
                header[1] == length && memcmp(notes + at + name, build_id, length) == 0;
        at += name + description;
    }
    free(notes);
    return found;
}

/* The form of pipes has no build ID of the kernel, but the names of machine and release.  */
static bool is_of_this_machine(const struct cli_perf *perf)
{
    const struct perf_data_facts *facts = perf_data_facts(perf_trace_data(perf->trace));
    struct utsname own;

    return facts->host && facts->kernel && uname(&own) == 0 &&
           strcmp(own.nodename, facts->host) == 0 && strcmp(own.release, facts->kernel) == 0;
}

/* The functions among the lines of /proc/kallsyms; 0 where the system hides their addresses.  */
static size_t keep_functions(char *text, size_t size)
{
    size_t kept = 0;
    bool is_shown = false;

    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - (text + at)) + 1 : size - at;
        const char *blank = memchr(text + at, ' ', length);

        if (blank && blank + 2 < text + at + length && strchr("tTwW", blank[1])) {
            is_shown |= strspn(text + at, "0") < (size_t)(blank - (text + at));
            memmove(text + kept, text + at, length);
            kept += length;
        }
        at += length;
    }
    return is_shown ? kept : 0;
}

static const char *kernel_symbols(void *context, const uint8_t *build_id, size_t build_id_length,
                                  size_t *size)
{
    struct cli_perf *perf = context;

    if (build_id_length ? !is_running(build_id, build_id_length) : !is_of_this_machine(perf))
        return NULL;
    *size = read_system_file("/proc/kallsyms", (size_t)1 << 26, &perf->kernel);
    *size = keep_functions(perf->kernel, *size);
    return *size > 0 ? perf->kernel : NULL;
}

/* ---- Code that programs made ---- */

static const char *code_names(void *context, uint32_t pid, const uint64_t *addresses, size_t count,
                              size_t *size)
{
    struct cli_perf *perf = context;

    return cli_perf_code_names(&perf->code, is_of_this_machine(perf), pid, addresses, count, size);
}

/* ---- The input ---- */

static ptrdiff_t read_source(const struct cli_perf *perf, void *buffer, size_t size)
{
    if (perf->source.read)
        return perf->source.read(perf->source.read_context, buffer, size);
    return read(perf->source.fd, buffer, size);
}

static ssize_t read_all_again(void *context, void *buffer, size_t size)
{
    struct cli_perf *perf = context;
    size_t left = perf->length - perf->next;

    if (left == 0)
        return read_source(perf, buffer, size);
    size = size < left ? size : left;
    memcpy(buffer, perf->start + perf->next, size);
    perf->next += size;
    return (ssize_t)size;
}

ptrdiff_t cli_perf_read(void *context, void *buffer, size_t size)
{
    struct cli_perf *perf = context;

    return perf->trace ? perf_trace_read(perf->trace, buffer, size)
                       : read_all_again(perf, buffer, size);
}

bool cli_perf_is(const struct cli_perf *perf)
{
    return perf && perf->trace;
}

bool cli_perf_begins(const char *path)
{
    uint8_t start[PERF_DATA_SNIFF_BYTES];

    return perf_data_is(start, cli_input_peek(path, start, sizeof start));
}

/* Look at the first bytes: of a file and of standard input they stay where they are.  */
static bool look(struct cli_perf *perf)
{
    struct stat info;
    ptrdiff_t got = 1;

    if (!perf->source.read && strcmp(perf->source.path, "-") == 0)
        return cli_perf_begins("-");
    if (!perf->source.read && fstat(perf->source.fd, &info) == 0 && S_ISREG(info.st_mode)) {
        uint8_t start[PERF_DATA_SNIFF_BYTES];

        return base_read_at(perf->source.fd, start, sizeof start, 0) == 0 &&
               perf_data_is(start, sizeof start);
    }
    while (perf->length < sizeof perf->start && got > 0) {
        got = read_source(perf, perf->start + perf->length, sizeof perf->start - perf->length);
        if (got > 0)
            perf->length += (size_t)got;
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    return perf_data_is(perf->start, perf->length);
}

/* Whether the input can be read once, from where it is: the form of pipes, or a file.  */
static bool can_stream(const struct cli_perf *perf)
{
    uint8_t start[PERF_DATA_FORM_BYTES];

    if (perf->length > 0)
        return false;
    return lseek(perf->source.fd, 0, SEEK_CUR) >= 0 ||
           perf_data_is_pipe(start, cli_input_peek(perf->source.path, start, sizeof start));
}

static enum cli_exit open_trace(struct cli_perf *perf)
{
    const struct perf_trace_options options = { .size = sizeof options,
                                                .find_vaddr = find_vaddr,
                                                .unwind = unwind_stack,
                                                .kernel_symbols = kernel_symbols,
                                                .code_names = code_names,
                                                .demangle = sym_demangle,
                                                .context = perf };
    struct perf_data_error error = { .message = "" };
    enum perf_data_status status = PERF_DATA_NEEDS_FILE;

    if (can_stream(perf))
        status = perf_trace_open(perf->source.fd, &options, &perf->trace, &error);
    if (status == PERF_DATA_NEEDS_FILE) {
        perf->copy = cli_input_copy(perf->source.label, read_all_again, perf);
        if (perf->copy < 0)
            return CLI_ENVIRONMENT;
        status = perf_trace_open(perf->copy, &options, &perf->trace, &error);
    }
    if (status == PERF_DATA_OK)
        return CLI_OK;
    cli_error("%s: %s", perf->source.label, error.message);
    return status == PERF_DATA_MALFORMED || status == PERF_DATA_FOREIGN ? CLI_DAMAGED
                                                                        : CLI_ENVIRONMENT;
}

enum cli_exit cli_perf_open(const struct cli_perf_source *source, struct cli_perf **out)
{
    struct cli_perf *perf = cli_allocate(1, sizeof *perf);
    enum cli_exit status = CLI_OK;

    *perf = (struct cli_perf){ .source = *source, .code.path = source->path, .copy = -1 };
    *out = perf;
    if (look(perf))
        status = open_trace(perf);
    if (status != CLI_OK || (!perf->trace && perf->length == 0)) {
        cli_perf_close(perf);
        *out = NULL;
    }
    return status;
}

void cli_perf_close(struct cli_perf *perf)
{
    if (!perf)
        return;
    perf_trace_close(perf->trace);
    cli_perf_unwind_close(perf->unwind);
    cli_perf_code_release(&perf->code);
    sym_session_close(perf->session);
    if (perf->copy >= 0)
        (void)close(perf->copy);
    free(perf->kernel);
    free(perf);
}

/* ---- What was wrong ---- */

/* Whether stacks ended with their copies, which could have been larger.  */
static bool can_copy_more(const struct cli_perf *perf)
{
    enum { MOST_STACK = 65528 }; /* of a record of 64 KiB */
    const struct perf_data *data = perf_trace_data(perf->trace);
    bool is_small = false;

    for (size_t i = 0; i < perf_data_event_count(data) && !is_small; i++) {
        uint32_t bytes = perf_data_event(data, i)->stack_bytes;

        is_small = bytes > 0 && bytes < MOST_STACK;
    }
    return is_small && cli_perf_unwind_ended_with_copies(perf->unwind);
}

static void report_early_ends(const struct cli_perf *perf)
{
    char text[400], more[80] = "";
    uint64_t continued = perf_trace_counts(perf->trace)->continued_stacks;
    struct cli_cuts cuts;

    if (!cli_perf_unwind_describe(perf->unwind, text, sizeof text))
        return;
    if (continued)
        (void)snprintf(more, sizeof more, "; %" PRIu64 " continued with callchains", continued);
    cli_note("%s: stacks that end early: %s%s%s", perf->source.label, text, more,
             can_copy_more(perf) ? "; perf record --call-graph dwarf,65528 copies more of a stack"
                                 : "");
    cuts = cli_perf_unwind_cuts(perf->unwind);
    cli_cuts_print(&cuts, "  ", CLI_CUTS_REMEDY);
}

/* Bytes of hardware that are not in the result.  */
static void report_packets(const struct cli_perf *perf, const struct perf_trace_counts *counts)
{
    if (counts->truncated)
        cli_note("%s: packets were lost %s because a buffer was full; record with larger ones "
                 "(perf record -m ,64M)",
                 perf->source.label, cli_counted(counts->truncated, "time", "times"));
    if (counts->spool_failure)
        cli_error("%s: packets are kept in a temporary file in %s (TMPDIR names another folder): "
                  "%s",
                  perf->source.label, base_temporary_dir(NULL), strerror(counts->spool_failure));
    if (counts->far_bytes)
        cli_note("%s: %s of packets left out: their CPUs have numbers above 65,535",
                 perf->source.label, cli_counted(counts->far_bytes, "byte", "bytes"));
    if (counts->unowned_bytes)
        cli_note("%s: %s of packets left out: %s", perf->source.label,
                 cli_counted(counts->unowned_bytes, "byte", "bytes"),
                 counts->has_no_packet_clock
                     ? "the file does not relate their clock to that of its records"
                     : "no record shows which thread they belong to (perf record --switch-events)");
}

bool cli_perf_says_failure(const struct cli_perf *perf)
{
    return cli_perf_is(perf) && perf_trace_counts(perf->trace)->spool_failure;
}

enum cli_exit cli_perf_report(const struct cli_perf *perf)
{
    const struct perf_trace_counts *counts;
    char text[800];

    if (!cli_perf_is(perf))
        return CLI_OK;
    counts = perf_trace_counts(perf->trace);
    if (perf_trace_describe_unused(perf->trace, text, sizeof text))
        cli_note("%s: not used: %s", perf->source.label, text);
    report_early_ends(perf);
    cli_perf_code_report(&perf->code, perf->source.label);
    if (counts->waiting_stacks)
        cli_note("%s: %s without user part, which is not in the file or follows too late",
                 perf->source.label, cli_counted(counts->waiting_stacks, "stack", "stacks"));
    if (counts->unplaced_modules)
        cli_note("%s: %s of files that were not found: file offsets are used in place of their "
                 "addresses, so names that are found later may be wrong",
                 perf->source.label, cli_counted(counts->unplaced_modules, "mapping", "mappings"));
    report_packets(perf, counts);
    if (!perf_data_describe(perf_data_notices_of(perf_trace_data(perf->trace)), text, sizeof text))
        return CLI_OK;
    cli_error("%s: damaged: %s", perf->source.label, text);
    return CLI_DAMAGED;
}
