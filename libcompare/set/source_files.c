/* source_files.c - which source files of both builds are the same.  */
#include "libcompare/set/source_files.h"

#include <string.h>

#include "base/numbering.h"
#include "libcompare/compare_internal.h"

#define LEAST_PARTS 2
/* Paths that so many parts do not distinguish are compared whole.  */
#define MOST_PARTS 8

#define PENDING (SOURCE_FILES_NONE - 1) /* more parts are needed */

/* Paths that end alike, in one number of parts: of each tail and side the path that was met first,
 * and whether there is another.  */
struct tails {
    struct base_texts texts;
    struct tail {
        const char *paths[COMPARE_SIDES];
        bool ambiguous;
    } * items; /* of each text */
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

static bool note_tail(struct tails *tails, size_t side, const char *path, const char *tail)
{
    bool is_new;
    uint32_t number = base_texts_add(&tails->texts, tail, strlen(tail), &is_new);
    struct tail *item;

    if (number == 0 ||
        !base_make_room(&tails->items, &tails->capacity, number, sizeof *tails->items))
        return false;
    item = &tails->items[number - 1];
    if (is_new)
        *item = (struct tail){ .ambiguous = false };
    if (!item->paths[side])
        item->paths[side] = path;
    else if (strcmp(item->paths[side], path) != 0)
        item->ambiguous = true;
    return true;
}

static const char *path_of(const struct compare_set *set, size_t i)
{
    return set->functions[i / COMPARE_SIDES].places[i % COMPARE_SIDES].file;
}

static bool note_tails(const struct compare_set *set, unsigned parts, const uint32_t *files,
                       struct tails *tails)
{
    for (size_t i = 0; i < COMPARE_SIDES * set->function_count; i++) {
        const char *path = files[i] == PENDING ? path_of(set, i) : NULL;

        if (path && !note_tail(tails, i % COMPARE_SIDES, path, tail_of(path, parts)))
            return false;
    }
    return true;
}

/* Number the files that so many parts distinguish; *done: none is left.  */
static bool number_by_tails(const struct compare_set *set, unsigned parts, struct base_texts *known,
                            uint32_t *files, bool *done)
{
    struct tails tails = { .items = NULL };
    bool ok = note_tails(set, parts, files, &tails);

    *done = true;
    for (size_t i = 0; ok && i < COMPARE_SIDES * set->function_count; i++) {
        const char *path = path_of(set, i), *tail;

        if (files[i] != PENDING)
            continue;
        tail = tail_of(path, parts);
        if (tail != path &&
            tails.items[base_texts_find(&tails.texts, tail, strlen(tail)) - 1].ambiguous) {
            *done = false;
            continue;
        }
        files[i] = base_texts_add(known, tail, strlen(tail), NULL) - 1;
        ok = files[i] != UINT32_MAX;
    }
    free(tails.items);
    base_texts_release(&tails.texts);
    return ok;
}

uint32_t *source_files_number(const struct compare_set *set)
{
    struct base_texts known = { .items = NULL };
    uint32_t *files = compare_array(set->function_count, COMPARE_SIDES * sizeof *files);
    unsigned parts = LEAST_PARTS;
    bool done = false, ok = files != NULL;

    for (size_t i = 0; ok && i < COMPARE_SIDES * set->function_count; i++) {
        const struct compare_place *place =
            &set->functions[i / COMPARE_SIDES].places[i % COMPARE_SIDES];

        files[i] = place->name && place->file && *place->file ? PENDING : SOURCE_FILES_NONE;
    }
    while (ok && !done)
        ok = number_by_tails(set, parts++, &known, files, &done);
    base_texts_release(&known);
    if (ok)
        return files;
    free(files);
    return NULL;
}
