/* Debug information read by libsymbolize and by libdwarf, and what they disagree about.
 *
 * libdwarf believes much of what it reads, so each object is verified in a child process, whose
 * memory and time are bounded.  */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cli/cli_bounds.h"
#include "cmd/cli/cli_json.h"
#include "cmd/fxtsym/fxtsym.h"

enum {
    SECONDS_LEAST = 300,        /* of CPU time, */
    BYTES_PER_SECOND = 1 << 17, /* and one more for so many bytes of the files */
    TEXT_BYTES = 2048,
    FAULTS_MAX = 16,
};

struct verifying {
    const char *what;
    struct cli_output *output;
    struct json json; /* used where as_json */
    bool as_json, verbose;
    uint64_t count;                /* of addresses; 0: all boundaries */
    uint64_t by_fault[FAULTS_MAX]; /* differences, by the index of the known fault */
};

static void put(struct cli_output *output, const char *label, const char *text)
{
    char left[32];

    (void)snprintf(left, sizeof left, "  %-12s", label);
    (void)cli_output_write(output, left, strlen(left));
    (void)cli_output_write(output, text, strlen(text));
    (void)cli_output_write(output, "\n", 1);
}

/* ---- Differences ---- */

static void print_difference_json(struct verifying *verifying,
                                  const struct sym_difference *difference)
{
    struct json *json = &verifying->json;

    json_open(json, NULL, '{');
    json_text(json, "object", verifying->what);
    json_address(json, "address", difference->vaddr);
    json_text(json, "what", difference->what);
    json_text(json, "ours", difference->ours);
    json_text(json, "libdwarf", difference->theirs);
    json_text(json, "known_fault", difference->fault);
    json_close(json, '}');
    json_end_line(json);
}

static void count_fault(struct verifying *verifying, const char *name)
{
    const struct sym_known_fault *fault;

    for (size_t i = 0; i < FAULTS_MAX && (fault = sym_known_fault(i)); i++)
        verifying->by_fault[i] += strcmp(fault->name, name) == 0;
}

/* Known faults can be many: with --verbose each is listed, otherwise only their number.  */
static bool print_difference(void *context, const struct sym_difference *difference)
{
    struct verifying *verifying = context;
    char text[TEXT_BYTES];

    if (difference->fault[0])
        count_fault(verifying, difference->fault);
    if (difference->fault[0] && !verifying->verbose)
        return true;
    if (verifying->as_json) {
        print_difference_json(verifying, difference);
        return !verifying->output->failed;
    }
    (void)snprintf(text, sizeof text, "0x%llx: %s: %s; libdwarf: %s%s%s",
                   (unsigned long long)difference->vaddr, difference->what, difference->ours,
                   difference->theirs, difference->fault[0] ? "; known fault " : "",
                   difference->fault);
    put(verifying->output, difference->fault[0] ? "known" : "difference", text);
    return !verifying->output->failed;
}

/* ---- Sums ---- */

static void print_known(struct verifying *verifying)
{
    const struct sym_known_fault *fault;
    char text[TEXT_BYTES];

    for (size_t i = 0; i < FAULTS_MAX && (fault = sym_known_fault(i)); i++) {
        if (!verifying->by_fault[i])
            continue;
        (void)snprintf(text, sizeof text, "%s: %s%s%s%s: %s",
                       cli_counted(verifying->by_fault[i], "address", "addresses"), fault->name,
                       fault->fixed[0] ? " (before " : "", fault->fixed, fault->fixed[0] ? ")" : "",
                       fault->text);
        put(verifying->output, "known fault", text);
    }
}

static void print_known_json(struct verifying *verifying)
{
    const struct sym_known_fault *fault;

    json_open(&verifying->json, "known_faults", '{');
    for (size_t i = 0; i < FAULTS_MAX && (fault = sym_known_fault(i)); i++)
        json_unsigned(&verifying->json, fault->name, verifying->by_fault[i]);
    json_close(&verifying->json, '}');
}

static void print_sum_json(struct verifying *verifying, const struct sym_verification *sum)
{
    struct json *json = &verifying->json;

    json_open(json, NULL, '{');
    json_text(json, "object", verifying->what);
    json_text(json, "libdwarf_version", sum->version);
    json_unsigned(json, "units", sum->units);
    json_unsigned(json, "addresses", sum->addresses);
    json_unsigned(json, "differences", sum->differences);
    print_known_json(verifying);
    json_unsigned(json, "skipped_units", sum->skipped);
    json_text(json, "skipped_reason", sum->reason);
    json_text(json, "damage", sum->damage);
    json_close(json, '}');
    json_end_line(json);
}

static void print_sum(struct verifying *verifying, const struct sym_verification *sum)
{
    char text[TEXT_BYTES];

    if (verifying->as_json) {
        print_sum_json(verifying, sum);
        return;
    }
    (void)snprintf(text, sizeof text, "%s in %s, with libdwarf %s",
                   cli_counted(sum->addresses, "address", "addresses"),
                   cli_counted(sum->units, "unit", "units"), sum->version);
    put(verifying->output, "compared", text);
    put(verifying->output, "result", cli_counted(sum->differences, "difference", "differences"));
    print_known(verifying);
    if (sum->skipped) {
        (void)snprintf(text, sizeof text, "%s: %s", cli_counted(sum->skipped, "unit", "units"),
                       sum->reason);
        put(verifying->output, "left out", text);
    }
    if (sum->damage[0])
        put(verifying->output, "damage", sum->damage);
}

/* A unit that libdwarf cannot read is neither right nor wrong.  */
static enum cli_exit status_of(const struct sym_verification *sum)
{
    enum cli_exit status = CLI_OK;

    if (sum->differences)
        status = CLI_DIFFERENT;
    else if (sum->skipped || !sum->addresses)
        status = CLI_INCONCLUSIVE;
    return sum->damage[0] ? cli_worse(status, CLI_DAMAGED) : status;
}

/* ---- The child ---- */

static uint64_t size_of(const char *path)
{
    struct stat info;

    return path[0] && stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static void bound_time(const struct sym_report *report)
{
    uint64_t bytes = size_of(report->code_path) + size_of(report->debug_path);
    rlim_t seconds = SECONDS_LEAST + (rlim_t)(bytes / BYTES_PER_SECOND);
    const struct rlimit limit = { .rlim_cur = seconds, .rlim_max = seconds };
    const struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };

    if (!cli_bounds_are_lifted())
        (void)setrlimit(RLIMIT_CPU, &limit);
    (void)setrlimit(RLIMIT_CORE, &none);
}

/* What the child does; its exit status.  */
static enum cli_exit verify_here(struct objects *objects, struct verifying *verifying)
{
    uint32_t index = objects_find(objects, verifying->what, NULL);
    const struct object *object = objects->items[index];
    struct sym_verification sum;
    struct sym_error error;

    if (!object->module)
        return objects->status; /* said already */
    bound_time(sym_module_report(object->module));
    if (!verifying->as_json) {
        (void)cli_output_write(verifying->output, verifying->what, strlen(verifying->what));
        (void)cli_output_write(verifying->output, "\n", 1);
    }
    enum sym_status status = sym_module_verify(object->module, verifying->count, print_difference,
                                               verifying, &sum, &error);
    if (status == SYM_STOPPED)
        return CLI_OK; /* the output failed */
    if (status) {
        cli_error("%s: %s", verifying->what, error.message);
        return status == SYM_MALFORMED ? CLI_DAMAGED : CLI_ENVIRONMENT;
    }
    print_sum(verifying, &sum);
    return status_of(&sum);
}

/* What became of the child.  */
static enum cli_exit judge(const char *what, int result)
{
    if (WIFEXITED(result))
        return (enum cli_exit)WEXITSTATUS(result);
    if (WTERMSIG(result) == SIGXCPU || WTERMSIG(result) == SIGKILL)
        cli_error("%s: verification exceeded the time limit for such an object; use --no-limit if "
                  "the object is neither damaged nor hostile",
                  what);
    else
        cli_error("%s: libdwarf failed while it read the object (signal %d)", what,
                  WTERMSIG(result));
    return CLI_INCONCLUSIVE;
}

enum cli_exit verify(struct objects *objects, const struct settings *settings, const char *what,
                     uint64_t count, struct cli_output *output)
{
    struct verifying verifying = { .what = what,
                                   .output = output,
                                   .json = { .output = output },
                                   .as_json = settings->json,
                                   .verbose = settings->verbose,
                                   .count = count };
    int result = 0;

    if (cli_output_flush(output) != 0)
        return CLI_ENVIRONMENT;
    pid_t child = fork();
    if (child < 0) {
        cli_error("cannot start a process: %s", strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (child == 0) {
        enum cli_exit status = verify_here(objects, &verifying);
        int failed = cli_output_flush(output);

        if (failed && failed != EPIPE) {
            cli_error("standard output: %s", strerror(failed));
            status = CLI_ENVIRONMENT;
        }
        _exit((int)status);
    }
    while (waitpid(child, &result, 0) < 0 && errno == EINTR)
        continue;
    return judge(what, result);
}
