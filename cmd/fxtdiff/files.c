/* files.c - which source files of both builds are the same.  */
#include "cmd/fxtdiff/files.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/fxtdiff/arena.h"

#define LEAST_PARTS 2
/* What so many parts do not tell apart is told by the whole path.  */
#define MOST_PARTS 8

#define PENDING (DIFF_NO_FILE - 1) /* more parts are needed */

/* Paths that end alike, in one number of parts: of each tail and side the path that was met first,
 * and whether there is another.  */
struct tails {
    struct diff_texts texts;
    const char **paths;
    size_t path_capacity;
    uint8_t *ambiguous;
    size_t capacity;
};

static const char *tail_of(const char *path, unsigned parts)
{
    const char *start = path + strlen(path);
    unsigned slashes = 0;

    if (parts > MOST_PARTS)
        return path;
    while (start > path && slashes < parts)
        slashes += *--start == '/';
    return slashes == parts ? start + 1 : start;
}

static void note_tail(struct tails *tails, size_t side, const char *path, const char *tail)
{
    size_t known = tails->texts.count;
    uint32_t id = diff_texts_add(&tails->texts, tail, strlen(tail));
    size_t paths = DIFF_SIDES * (size_t)id;
    const char **first;

    tails->paths = diff_grow(tails->paths, &tails->path_capacity, paths + DIFF_SIDES,
                             sizeof *tails->paths);
    tails->ambiguous = diff_grow(tails->ambiguous, &tails->capacity, id + (size_t)1, 1);
    if (id == known) {
        tails->paths[paths] = tails->paths[paths + 1] = NULL;
        tails->ambiguous[id] = 0;
    }
    first = &tails->paths[paths + side];
    if (!*first)
        *first = path;
    else if (strcmp(*first, path) != 0)
        tails->ambiguous[id] = 1;
}

static const char *path_of(const struct diff_set *set, size_t i)
{
    return set->functions[i / DIFF_SIDES].places[i % DIFF_SIDES].file;
}

/* Number the files that so many parts tell apart; false: some are left.  */
static bool number_by_tails(const struct diff_set *set, unsigned parts, struct diff_texts *known,
                            uint32_t *files)
{
    struct tails tails = { .texts.arena = diff_arena_open() };
    bool done = true;

    for (size_t i = 0; i < DIFF_SIDES * set->function_count; i++)
        if (files[i] == PENDING)
            note_tail(&tails, i % DIFF_SIDES, path_of(set, i), tail_of(path_of(set, i), parts));
    for (size_t i = 0; i < DIFF_SIDES * set->function_count; i++) {
        const char *tail;

        if (files[i] != PENDING)
            continue;
        tail = tail_of(path_of(set, i), parts);
        if (tail == path_of(set, i) ||
            !tails.ambiguous[diff_texts_find(&tails.texts, tail, strlen(tail))])
            files[i] = diff_texts_add(known, tail, strlen(tail));
        else
            done = false;
    }
    free(tails.paths);
    free(tails.ambiguous);
    diff_texts_release(&tails.texts);
    diff_arena_close(tails.texts.arena);
    return done;
}

uint32_t *diff_number_files(const struct diff_set *set)
{
    struct diff_texts known = { .arena = diff_arena_open() };
    uint32_t *files = cli_allocate(set->function_count, DIFF_SIDES * sizeof *files);
    unsigned parts = LEAST_PARTS;

    for (size_t i = 0; i < DIFF_SIDES * set->function_count; i++) {
        const struct diff_place *place = &set->functions[i / DIFF_SIDES].places[i % DIFF_SIDES];

        files[i] = place->name && place->file && *place->file ? PENDING : DIFF_NO_FILE;
    }
    while (!number_by_tails(set, parts, &known, files))
        parts++;
    diff_texts_release(&known);
    diff_arena_close(known.arena);
    return files;
}
