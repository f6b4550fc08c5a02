/* history_inputs.c - from folders and files to commits and their runs.  */
#include "cmd/fxtdiff/history_inputs.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <fxt/store_content.h>
#include "base/file.h"
#include "cmd/fxtdiff/readers.h"

enum { SHORTEST_HASH = 7 };

/* ---- Names ---- */

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t tail = strlen(end);

    return length > tail && memcmp(text + length - tail, end, tail) == 0;
}

/* The length of a file's name without what says what kind of file it is.  */
static size_t without_extensions(const char *name)
{
    static const char *const extensions[] = { ".zst",   ".gz",       ".fxt", ".pb",
                                              ".pprof", ".folded",   ".txt", ".perf",
                                              ".prof",  ".baseline", ".fxtq" };
    size_t length = strlen(name), before;

    do {
        before = length;
        for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
            if (ends_with(name, length, extensions[i]))
                length -= strlen(extensions[i]);
    } while (length < before);
    return length;
}

/* "4f2a91c-3" is run 3 of commit 4f2a91c.  Other names that end with a number may be dates and
 * versions.  */
static size_t without_number(const char *name, size_t length)
{
    size_t hash = strspn(name, "0123456789abcdef"), at = hash + 1;

    if (hash < SHORTEST_HASH || hash + 1 >= length || name[hash] != '-')
        return length;
    while (at < length && isdigit((unsigned char)name[at]))
        at++;
    return at == length ? hash : length;
}

static char *commit_of_file(const char *path)
{
    char *name = cli_join(base_name(path), "");

    name[without_number(name, without_extensions(name))] = '\0';
    return name;
}

/* ---- Files ---- */

enum what { NOTHING, FILE_THERE, FOLDER };

static enum what what_is(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return NOTHING;
    return S_ISREG(info.st_mode) ? FILE_THERE : S_ISDIR(info.st_mode) ? FOLDER : NOTHING;
}

/* path becomes the inputs'.  */
static void add_path(struct history_inputs *inputs, uint32_t commit, char *path)
{
    bool is_new;
    uint32_t number = base_texts_add(&inputs->numbers, path, strlen(path), &is_new);

    if (number == 0)
        cli_out_of_memory();
    if (!is_new) {
        free(path);
        return;
    }
    cli_texts_add(&inputs->paths, path);
    inputs->commits = cli_grow(inputs->commits, &inputs->capacity, number, sizeof *inputs->commits);
    inputs->commits[number - 1] = commit;
}

static void add_file(struct history_inputs *inputs, struct commits *commits, char *path)
{
    char *name = commit_of_file(path);

    /* The captures of a store say theirs.  */
    add_path(inputs,
             store_is_database(path) || diff_is_capture(path) ? COMPARE_NO_COMMIT
                                                              : commits_add(commits, name),
             path);
    free(name);
}

typedef void (*entry_fn)(struct history_inputs *inputs, struct commits *commits, char *path,
                         uint32_t commit);

static int by_number(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void each_entry(struct history_inputs *inputs, struct commits *commits, const char *dir,
                       entry_fn take, uint32_t commit)
{
    struct dirent **entries = NULL;
    int count = scandir(dir, &entries, is_shown, by_number);
    char *folder = cli_join(dir, dir[0] && dir[strlen(dir) - 1] == '/' ? "" : "/");

    for (int i = 0; i < count; i++) {
        take(inputs, commits, cli_join(folder, entries[i]->d_name), commit);
        free(entries[i]);
    }
    free(entries);
    free(folder);
}

static void add_run(struct history_inputs *inputs, struct commits *commits, char *path,
                    uint32_t commit)
{
    (void)commits;
    if (what_is(path) == FILE_THERE)
        add_path(inputs, commit, path);
    else
        free(path);
}

static void add_entry(struct history_inputs *inputs, struct commits *commits, char *path,
                      uint32_t commit)
{
    enum what what = what_is(path);

    (void)commit;
    if (what == FILE_THERE) {
        add_file(inputs, commits, path);
        return;
    }
    if (what == FOLDER)
        each_entry(inputs, commits, path, add_run, commits_add(commits, base_name(path)));
    free(path);
}

void history_inputs_add(struct history_inputs *inputs, struct commits *commits, const char *operand)
{
    if (what_is(operand) == FOLDER)
        each_entry(inputs, commits, operand, add_entry, COMPARE_NO_COMMIT);
    else
        add_file(inputs, commits, cli_join(operand, ""));
}

void history_inputs_release(struct history_inputs *inputs)
{
    for (size_t i = 0; i < inputs->paths.count; i++)
        free((char *)inputs->paths.items[i]);
    free(inputs->paths.items);
    free(inputs->commits);
    base_texts_release(&inputs->numbers);
}

/* ---- Runs ---- */

/* Runs of files that have several are called "PATH run 2" and "PATH#2".  */
static uint32_t commit_of_label(const struct history_inputs *inputs, const char *label)
{
    size_t length = strlen(label);
    uint32_t number = base_texts_find(&inputs->numbers, label, length);

    while (!number && length > 0) {
        length--;
        if (label[length] == ' ' || label[length] == '#')
            number = base_texts_find(&inputs->numbers, label, length);
    }
    return number ? inputs->commits[number - 1] : COMPARE_NO_COMMIT;
}

uint32_t *history_inputs_commits(const struct history_inputs *inputs, struct commits *commits,
                                 const struct compare_set *set)
{
    uint32_t *out = cli_allocate(set->run_count, sizeof *out);

    for (size_t r = 0; r < set->run_count; r++) {
        const struct compare_run *run = &set->runs[r];

        out[r] = run->environment.commit ? commits_add(commits, run->environment.commit)
                                         : commit_of_label(inputs, run->label);
    }
    return out;
}
