/* symcache: what an object's symbol cache takes: bytes, and times of making, opening and asking.
 *
 *   symcache OBJECT DIRECTORY
 *
 * DIRECTORY is an empty one for the cache.  Prints KEY=NUMBER pairs; times are CPU time.  Addresses
 * are uniformly random in the largest section with code.  */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libsymbolize/symbolize_internal.h"

enum { ADDRESSES = 1000000, RUNS = 5, OPENINGS = 200 };

static uint64_t vaddrs[ADDRESSES], sorted[ADDRESSES];
static uint32_t ids[ADDRESSES];

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "symcache: %s\n", what);
    exit(4);
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct sym_module *open_module(const char *path, const char *directory,
                                      struct sym_session **session)
{
    struct sym_options options = { .size = sizeof options,
                                   .cache_dir = directory,
                                   .no_cache = !directory };
    struct sym_module_key key = { .path = path };
    struct sym_error error;
    struct sym_module *module;

    if (sym_session_open(&options, session, &error) ||
        sym_session_module(*session, &key, &module, &error))
        give_up(error.message);
    return module;
}

/* ---- Making ---- */

static enum sym_status ignore_range(void *context, const struct sym_walk_range *range,
                                    const struct sym_frames *frames)
{
    (void)range;
    *(size_t *)context += frames->count;
    return SYM_OK;
}

static enum sym_status add_without_columns(void *writer, const struct sym_walk_range *range,
                                           const struct sym_frames *frames)
{
    for (size_t i = 0; i < frames->count; i++)
        frames->items[i].column = 0;
    return sym_cache_writer_add(writer, range, frames);
}

/* Walks over everything; with a visitor that writes, into a file that is measured.  Seconds.  */
static double make(const char *path, sym_walk_fn visit, uint64_t *size)
{
    struct sym_session *session;
    struct sym_module *module = open_module(path, NULL, &session);
    struct sym_cache_writer *writer = sym_cache_writer_new();
    const struct sym_cache_key key = { .quality = SYM_QUALITY_DWARF };
    FILE *file = tmpfile();
    size_t frames = 0;
    double start = now();

    if (!writer || !file || sym_module_load(module) ||
        sym_module_walk(module, visit, size ? (void *)writer : &frames) ||
        (size && sym_cache_writer_finish(writer, &key, fileno(file), size)))
        give_up("cannot be walked over");
    double seconds = now() - start;
    (void)fclose(file);
    sym_cache_writer_free(writer);
    sym_session_close(session);
    return seconds;
}

/* ---- Asking ---- */

static bool count_frames(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    (void)index, (void)frames;
    *(size_t *)context += count;
    return true;
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static void make_addresses(const struct sym_module *module)
{
    const struct sym_object *object = module->code ? module->code : module->debug;
    uint64_t start = 0, size = 0, state = 1;

    for (size_t i = 0; object && i < object->code_count; i++) {
        if (object->code[i].limit - object->code[i].start <= size)
            continue;
        start = object->code[i].start;
        size = object->code[i].limit - start;
    }
    if (!size)
        give_up("no code");
    for (size_t i = 0; i < ADDRESSES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        vaddrs[i] = sorted[i] = start + (state >> 33) % size;
    }
    qsort(sorted, ADDRESSES, sizeof *sorted, compare_u64);
}

/* Addresses a second, the best of some runs.  */
static double batch_rate(struct sym_module *module, const uint64_t *addresses)
{
    double best = 1e9;
    size_t frames = 0;

    for (int run = 0; run < RUNS; run++) {
        double start = now();
        if (sym_module_resolve_batch(module, addresses, ADDRESSES, ids, count_frames, &frames,
                                     NULL))
            give_up("cannot be looked up");
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    return ADDRESSES / best;
}

static double single_ns(struct sym_module *module)
{
    enum { SINGLES = 300000 };
    double best = 1e9;
    size_t frames = 0;

    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (size_t i = 0; i < SINGLES; i++)
            (void)sym_module_resolve(module, &vaddrs[i], 1, count_frames, &frames, NULL);
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    return best / SINGLES * 1e9;
}

/* Opening the file, until it can be asked.  */
static double open_us(const char *path)
{
    double start = now();

    for (int i = 0; i < OPENINGS; i++) {
        struct sym_strings strings = { 0 };
        struct sym_cache *cache;
        struct stat info;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &info) != 0 ||
            sym_cache_open(fd, (uint64_t)info.st_size, &strings, &cache))
            give_up("cannot be opened");
        sym_cache_close(cache);
    }
    return (now() - start) / OPENINGS * 1e6;
}

int main(int argc, char **argv)
{
    uint64_t size, plain_size;
    struct sym_session *session;

    if (argc != 3)
        give_up("OBJECT DIRECTORY");
    double walk = make(argv[1], ignore_range, NULL);
    double whole = make(argv[1], sym_cache_writer_add, &size);
    (void)make(argv[1], add_without_columns, &plain_size);
    struct sym_module *module = open_module(argv[1], argv[2], &session);
    make_addresses(module);
    double random = batch_rate(module, vaddrs);
    const char *path = sym_module_report(module)->cache_path;
    if (!path[0])
        give_up("no cache file was made");
    printf("size_bytes=%llu plain_size_bytes=%llu decode_seconds=%.3f make_seconds=%.3f "
           "random_per_second=%.0f sorted_per_second=%.0f single_ns=%.0f open_us=%.1f\n",
           (unsigned long long)size, (unsigned long long)plain_size, walk, whole, random,
           batch_rate(module, sorted), single_ns(module), open_us(path));
    sym_session_close(session);
    return 0;
}
