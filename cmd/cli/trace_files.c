/* Which files of a command line make one trace.  */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cli/cli_input.h"
#include "cmd/cli/cli_trace.h"
#include "libperf/perf_data.h"

#define MOST_CPUS 65536u

/* What a file may be part of.  */
enum kind {
    ALONE,  /* a trace by itself, or nothing that can be opened */
    REGION, /* begins with a sample */
    UNSURE, /* empty, zeros, or no trace: perhaps a region without samples, or a damaged one */
};

struct file {
    char *path;
    const char *operand; /* the directory it was found in; NULL: it was named */
    enum kind kind;
};

struct files {
    struct file *items;
    size_t count, capacity;
};

static char *copy(const char *text)
{
    return cli_join(text, "");
}

static void add_file(struct files *files, char *path, const char *operand)
{
    files->items = cli_grow(files->items, &files->capacity, files->count + 1, sizeof *files->items);
    files->items[files->count++] = (struct file){ .path = path, .operand = operand };
}

/* ---- Directories ---- */

/* Pipes among them would wait for somebody who writes.  */
static int is_file_of(const char *dir, const char *name)
{
    char *folder = cli_join(dir, "/");
    char *path = cli_join(folder, name);
    struct stat info;
    bool is_file = name[0] != '.' && stat(path, &info) == 0 && S_ISREG(info.st_mode);

    free(folder);
    free(path);
    return is_file;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* The files in it, or it alone where there are none: opening it will say what is wrong.  */
static void add_directory(struct files *files, const char *dir)
{
    struct dirent **entries = NULL;
    size_t before = files->count;
    int count = scandir(dir, &entries, NULL, by_number);
    char *folder = cli_join(dir, dir[0] && dir[strlen(dir) - 1] == '/' ? "" : "/");

    for (int i = 0; i < count; i++) {
        if (is_file_of(dir, entries[i]->d_name))
            add_file(files, cli_join(folder, entries[i]->d_name), dir);
        free(entries[i]);
    }
    free(entries);
    free(folder);
    if (files->count == before)
        add_file(files, copy(dir), NULL);
}

/* ---- What a file is ---- */

static enum kind kind_of_input(struct fxt_input *input)
{
    static const uint8_t magic[8] = { 0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00 };
    uint8_t start[sizeof magic];
    enum fxt_format format;
    size_t got = 0, length;

    if (fxt_input_format(input, &format, NULL) != FXT_OK)
        return UNSURE;
    if (format != FXT_FORMAT_STREAM)
        return format == FXT_FORMAT_REGION ? REGION : ALONE;
    while (got < sizeof start &&
           fxt_input_read(input, start + got, sizeof start - got, &length, NULL) == FXT_OK)
        got += length;
    return got == sizeof start && memcmp(start, magic, sizeof magic) == 0 ? ALONE : UNSURE;
}

static bool is_perf(int fd)
{
    uint8_t start[PERF_DATA_SNIFF_BYTES];

    return base_read_at(fd, start, sizeof start, 0) == 0 && perf_data_is(start, sizeof start);
}

/* Only files can be looked into and read again.  */
static enum kind kind_of_file(const char *path)
{
    struct fxt_input *input;
    enum kind kind = ALONE;
    struct stat info;
    int fd;

    if (strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return ALONE;
    fd = cli_input_open(path);
    if (fd < 0)
        return UNSURE;
    if (!is_perf(fd) && fxt_input_open_fd(fd, &input, NULL) == FXT_OK) {
        kind = kind_of_input(input);
        fxt_input_close(input);
    }
    cli_input_close(path, fd);
    return kind;
}

/* Whether two names are the same but for the values of their numbers.  */
static bool alike(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* Whether b, behind a, belongs to the same session, if one of them is a region.  */
static bool go_together(const struct file *a, const struct file *b)
{
    if (a->kind == ALONE || b->kind == ALONE)
        return false;
    return (a->kind == REGION && b->kind == REGION) || alike(a->path, b->path);
}

/* ---- CPUs ---- */

/* The digits in a name that say which CPU it is of, or NULL.  */
static const char *cpu_digits(const char *name)
{
    const char *last = NULL;
    const char *cpu = strcasestr(name, "cpu");

    if (cpu) {
        cpu += 3;
        cpu += strspn(cpu, "-_.#");
        if (isdigit((unsigned char)*cpu))
            return cpu;
    }
    for (; *name; name++) {
        if (isdigit((unsigned char)*name)) {
            last = name;
            name += strspn(name, "0123456789") - 1;
        }
    }
    return last;
}

static bool cpu_of_name(const char *name, uint32_t *cpu)
{
    const char *digits = cpu_digits(name);
    unsigned long number;

    if (!digits || strspn(digits, "0123456789") > 9)
        return false;
    number = strtoul(digits, NULL, 10);
    *cpu = (uint32_t)number;
    return number < MOST_CPUS;
}

/* The numbers in the names if they tell the CPUs apart, or 0, 1, ...  */
static void find_cpus(struct cli_trace_files *files)
{
    bool *taken = cli_allocate(MOST_CPUS, sizeof *taken);
    bool good = true;

    for (size_t i = 0; i < files->count && good; i++) {
        good = cpu_of_name(base_name(files->paths[i]), &files->cpus[i]) && !taken[files->cpus[i]];
        if (good)
            taken[files->cpus[i]] = true;
    }
    for (size_t i = 0; i < files->count && !good; i++)
        files->cpus[i] = (uint32_t)i;
    free(taken);
}

/* ---- Traces ---- */

/* "regions" for all files of that directory, "cpu-0.bin and 3 more" for some.  */
static char *label_of(const struct files *all, size_t first, size_t count)
{
    const char *operand = all->items[first].operand;
    bool starts = first == 0 || all->items[first - 1].operand != operand;
    bool ends = first + count == all->count || all->items[first + count].operand != operand;
    char more[48];

    if (count == 1)
        return copy(all->items[first].path);
    if (operand && all->items[first + count - 1].operand == operand && starts && ends)
        return copy(operand);
    (void)snprintf(more, sizeof more, " and %zu more", count - 1);
    return cli_join(all->items[first].path, more);
}

/* Take the files of modules out of all and put them into modules, in their order.  */
static void take_modules(struct files *all, struct files *modules)
{
    size_t kept = 0;
    uint64_t process;

    for (size_t i = 0; i < all->count; i++)
        if (cli_modules_is(all->items[i].path, &process))
            add_file(modules, all->items[i].path, all->items[i].operand);
        else
            all->items[kept++] = all->items[i];
    all->count = kept;
}

/* Those beside the regions in their directory, and those that were named.  */
static void attach_modules(struct cli_trace_files *files, const struct file *first,
                           const struct files *modules)
{
    files->modules = cli_allocate(modules->count + 1, sizeof *files->modules);
    for (size_t i = 0; i < modules->count; i++)
        if (!modules->items[i].operand || modules->items[i].operand == first->operand)
            files->modules[files->module_count++] = copy(modules->items[i].path);
}

static void add_trace(struct cli_traces *traces, struct files *all, size_t first, size_t count,
                      const struct files *modules, bool regions)
{
    struct cli_trace_files *files = &traces->items[traces->count++];

    *files = (struct cli_trace_files){ .label = label_of(all, first, count),
                                       .paths = cli_allocate(count, sizeof *files->paths),
                                       .count = count,
                                       .regions = regions };
    for (size_t i = 0; i < count; i++) {
        files->paths[i] = all->items[first + i].path; /* now its own */
        all->items[first + i].path = NULL;
    }
    if (!regions)
        return;
    files->cpus = cli_allocate(count, sizeof *files->cpus);
    find_cpus(files);
    attach_modules(files, &all->items[first], modules);
}

/* The files from first on up to the first that does not go with the one before it; a session if
 * one of them is a region, and else each a trace.  Returns how many.  */
static size_t add_run(struct cli_traces *traces, struct files *all, size_t first,
                      const struct files *modules)
{
    size_t count = 1;
    bool regions = all->items[first].kind == REGION;

    while (first + count < all->count &&
           go_together(&all->items[first + count - 1], &all->items[first + count])) {
        regions = regions || all->items[first + count].kind == REGION;
        count++;
    }
    if (regions)
        add_trace(traces, all, first, count, modules, true);
    else
        for (size_t i = 0; i < count; i++)
            add_trace(traces, all, first + i, 1, modules, false);
    return count;
}

void cli_traces_find(struct cli_traces *traces, const struct cli_texts *operands,
                     const struct cli_trace_options *options)
{
    bool streams = options &&
                   (options->follow || (options->reader && options->reader->trust_start));
    struct files all = { .count = 0 }, modules = { .count = 0 };
    struct stat info;

    for (size_t i = 0; i < operands->count; i++) {
        const char *operand = operands->items[i];

        if (strcmp(operand, "-") != 0 && stat(operand, &info) == 0 && S_ISDIR(info.st_mode) &&
            !(options && options->follow))
            add_directory(&all, operand);
        else
            add_file(&all, copy(operand), NULL);
    }
    if (!streams)
        take_modules(&all, &modules);
    for (size_t i = 0; options && options->modules && i < options->modules->count; i++)
        add_file(&modules, copy(options->modules->items[i]), NULL);
    *traces = (struct cli_traces){ .items = cli_allocate(all.count + 1, sizeof *traces->items) };
    for (size_t i = 0; i < all.count; i++)
        all.items[i].kind = streams ? ALONE : kind_of_file(all.items[i].path);
    for (size_t i = 0; i < all.count;)
        i += add_run(traces, &all, i, &modules);
    for (size_t i = 0; i < modules.count; i++)
        free(modules.items[i].path);
    free(modules.items);
    free(all.items);
}

void cli_traces_release(struct cli_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        struct cli_trace_files *files = &traces->items[i];

        for (size_t k = 0; k < files->count; k++)
            free(files->paths[k]);
        free(files->paths);
        for (size_t k = 0; k < files->module_count; k++)
            free(files->modules[k]);
        free(files->modules);
        free(files->cpus);
        free(files->label);
    }
    free(traces->items);
    *traces = (struct cli_traces){ .count = 0 };
}
