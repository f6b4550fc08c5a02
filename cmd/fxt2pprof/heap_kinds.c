/* Heap profiles: of when they tell, and in how many parts.  */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/fxt2pprof/convert.h"

/* ---- Options ---- */

void take_at(struct settings *settings, const char *value)
{
    settings->heap_only = true;
    settings->at_option = "--at";
    if (strcmp(value, "end") == 0)
        settings->at = PROFILE_HEAP_AT_END;
    else if (strcmp(value, "peak") == 0)
        settings->at = PROFILE_HEAP_AT_PEAK;
    else if (strcmp(value, "process-peak") == 0)
        settings->at = PROFILE_HEAP_AT_PROCESS_PEAK;
    else {
        settings->at = PROFILE_HEAP_AT_TIME;
        settings->at_time = cli_time("--at", value);
    }
}

void take_every(struct settings *settings, const char *value)
{
    struct cli_time every = cli_time("--every", value);

    if (every.relative || every.ns <= 0)
        cli_usage_error("--every: '%s' is no duration; 10s is one", value);
    settings->every_ns = (uint64_t)every.ns;
    settings->heap_only = true;
    settings->at_option = "--every";
}

void check_heap_options(const struct settings *settings)
{
    if (settings->heap_only && settings->profiles.kind >= 0 &&
        settings->profiles.kind != PROFILE_HEAP && settings->profiles.kind != PROFILE_HEAP_FREE)
        cli_usage_error("--at, --every, --ages and --heap-types need --profile heap");
    if (settings->heap_types == PROFILE_HEAP_TYPES_FUCHSIA &&
        settings->profiles.kind == PROFILE_HEAP_FREE)
        cli_usage_error(
            "--heap-types fuchsia has releases in the heap profile; use --profile heap");
    if (settings->ages &&
        (!settings->format || settings->format->timed || !settings->format->for_programs))
        cli_usage_error("--ages needs --format pprof");
    if (settings->ages && (settings->every_ns || settings->at > PROFILE_HEAP_AT_TIME))
        cli_usage_error(
            "--ages cannot be combined with --every or a peak; use --at end or --at TIME");
    if (!settings->every_ns)
        return;
    if (settings->at != PROFILE_HEAP_AT_END)
        cli_usage_error("--every and --at cannot be combined");
    if (settings->inputs.count > 1)
        cli_usage_error("--every takes one trace at a time");
    if (!settings->output || strcmp(settings->output, "-") == 0)
        cli_usage_error("--every writes several files: give -o FILE");
}

enum cli_exit configure_heap(const struct settings *settings, struct profile *profile)
{
    struct profile_heap_options options = { .size = sizeof options,
                                            .at = settings->at,
                                            .types = settings->heap_types,
                                            .ages = settings->ages,
                                            .every_ns = settings->every_ns };
    struct profile_error error;

    if (profile_heap_configure(profile, &options, &error) != PROFILE_OK) {
        cli_error("%s", error.message);
        return CLI_ENVIRONMENT;
    }
    if (settings->at == PROFILE_HEAP_AT_TIME && !settings->at_time.relative)
        profile_heap_until(profile, settings->at_time.ns);
    return CLI_OK;
}

/* ---- Partial profiles ---- */

/* Where the name ends and its extension begins: the format's, or any other.  */
static size_t stem_length(const char *path, const char *suffix)
{
    const char *name = base_name(path);
    const char *dot = strrchr(name, '.');
    size_t length = strlen(path);

    if (*suffix && length > strlen(suffix) && strcmp(path + length - strlen(suffix), suffix) == 0)
        return length - strlen(suffix);
    return dot && dot != name ? (size_t)(dot - path) : length;
}

char *partial_path(const char *path, const char *suffix, size_t index, size_t count)
{
    size_t stem = stem_length(path, suffix);
    size_t room = strlen(path) + 32;
    char *out = cli_allocate(room, 1);

    if (index + 1 == count)
        (void)snprintf(out, room, "%s", path);
    else
        (void)snprintf(out, room, "%.*s.partial-%04zu%s", (int)stem, path, index + 1, path + stem);
    return out;
}

/* ---- Summary ---- */

static void format_bytes(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double amount = (double)bytes;
    size_t unit = 0;

    for (; amount >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        amount /= 1024;
    (void)snprintf(text, size, unit ? "%.2f %s" : "%.0f %s", amount, units[unit]);
}

/* In percent.  Blocks that are not written to are not resident.  */
static double explained(const struct profile_heap_peak *peak)
{
    return peak->bytes < peak->resident_bytes
               ? 100 * (double)peak->bytes / (double)peak->resident_bytes
               : 100;
}

/* When, as --at takes it.  */
static void print_peak(const struct profile_heap_peak *peak, const char *whose,
                       const struct totals *totals)
{
    uint64_t since_ns = (uint64_t)peak->ts_ns - (uint64_t)totals->start_ns;
    char bytes[32], resident[32], time[48] = "";

    format_bytes(peak->bytes, bytes, sizeof bytes);
    format_bytes(peak->resident_bytes, resident, sizeof resident);
    if (peak->has_time && totals->has_start && peak->ts_ns >= totals->start_ns)
        (void)snprintf(time, sizeof time, " at +%" PRIu64 ".%09" PRIu64 "s", since_ns / 1000000000,
                       since_ns % 1000000000);
    else if (peak->has_time)
        (void)snprintf(time, sizeof time, " at %" PRId64, peak->ts_ns);
    if (peak->resident_bytes > 0)
        cli_note(
            "  peak%s: %s in use%s; the largest resident set was %s, of which the heap is %.0f %%",
            whose, bytes, time, resident, explained(peak));
    else
        cli_note("  peak%s: %s in use%s", whose, bytes, time);
}

/* The peaks of as many processes as are worth a line each.  */
#define SHOWN_PEAKS 5

/* Less is what the code of any program takes.  */
#define MUCH_BYTES (16U << 20)

static void note_other_memory(const struct profile_heap_peak *peaks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (peaks[i].resident_bytes >= MUCH_BYTES && explained(&peaks[i]) < 50) {
            cli_note("  the rest was not allocated by malloc(3) and related functions: code, "
                     "stacks, files, and memory of mmap(2), such as the arenas of interpreters, "
                     "unless the capture was made with --mmap, which records it");
            return;
        }
}

/* In descending order of what they had, one way or the other.  */
static int by_size(const void *left, const void *right)
{
    const struct profile_heap_peak *a = *(const struct profile_heap_peak *const *)left;
    const struct profile_heap_peak *b = *(const struct profile_heap_peak *const *)right;
    uint64_t as = a->bytes > a->resident_bytes ? a->bytes : a->resident_bytes;
    uint64_t bs = b->bytes > b->resident_bytes ? b->bytes : b->resident_bytes;

    if (as != bs)
        return as < bs ? 1 : -1;
    return (a > b) - (a < b);
}

/* Those with most, if there are more than are worth a line each.  */
static void print_processes(const struct profile_heap_peak *peaks, size_t count,
                            const struct totals *totals)
{
    const struct profile_heap_peak **order = calloc(count, sizeof(struct profile_heap_peak *));

    for (size_t i = 0; order && i < count; i++)
        order[i] = &peaks[i];
    if (order && count > SHOWN_PEAKS)
        qsort(order, count, sizeof(struct profile_heap_peak *), by_size);
    for (size_t i = 0; order && i < count && i < SHOWN_PEAKS; i++) {
        char whose[48];

        (void)snprintf(whose, sizeof whose, " of process %" PRIu32,
                       (uint32_t)order[i]->process_koid);
        print_peak(order[i], whose, totals);
    }
    free(order);
}

void print_heap(const struct settings *settings, const struct profile *profile,
                const struct totals *totals)
{
    size_t count;
    const struct profile_heap_peak *peaks = profile_heap_peaks(profile, &count);

    if (count > 0)
        print_peak(&peaks[0], "", totals);
    if (count > 2)
        print_processes(peaks + 1, count - 1, totals);
    note_other_memory(peaks, count);
    if (count > SHOWN_PEAKS + 1)
        cli_note("  ... and %s",
                 cli_counted(count - SHOWN_PEAKS - 1, "more process", "more processes"));
    if (settings->every_ns && profile_heap_partials(profile) > 1)
        cli_note("  blocks in use are in each of the %zu profiles; do not add up their values",
                 profile_heap_partials(profile));
}
