/* commit_order.c - commits by their labels, and their order.  */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/visible.h"
#include "cmd/history/history.h"

const char *const history_orders[] = { "auto", "git", "name", "given", NULL };

uint32_t commits_add(struct commits *commits, const char *label)
{
    for (size_t i = commits->count; i-- > 0;) /* runs of a commit stand beside each other */
        if (strcmp(commits->items[i].label, label) == 0)
            return (uint32_t)i;
    commits->items = cli_grow(commits->items, &commits->capacity, commits->count + 1,
                              sizeof *commits->items);
    commits->items[commits->count] = (struct commit){ .label = cli_join(label, "") };
    return (uint32_t)commits->count++;
}

static void release(struct commit *commit)
{
    free(commit->label);
    free(commit->hash);
    free(commit->subject);
}

void commits_release(struct commits *commits)
{
    for (size_t i = 0; i < commits->count; i++)
        release(&commits->items[i]);
    free(commits->items);
}

void commits_keep(struct commits *commits, const size_t *runs, uint32_t *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < commits->count; i++) {
        to[i] = (uint32_t)kept;
        if (runs[i] == 0)
            release(&commits->items[i]);
        else
            commits->items[kept++] = commits->items[i];
    }
    commits->count = kept;
}

/* ---- Order ---- */

struct sorting {
    const struct commits *commits;
    const uint64_t *ranks; /* of git; NULL: by name */
};

static int by_order(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const uint64_t *ranks = sorting->ranks;
    int order;

    if (ranks)
        order = (ranks[left] > ranks[right]) - (ranks[left] < ranks[right]);
    else
        order = strverscmp(sorting->commits->items[left].label,
                           sorting->commits->items[right].label);
    return order ? order : (left > right) - (left < right);
}

static bool is_same(const struct commit *a, const struct commit *b)
{
    return a->hash && b->hash && strcmp(a->hash, b->hash) == 0;
}

/* Two labels of one commit become one.  */
static void apply(struct commits *commits, const uint32_t *order, uint32_t *to)
{
    struct commit *items = cli_allocate(commits->count, sizeof *items);
    size_t kept = 0;

    for (size_t i = 0; i < commits->count; i++) {
        struct commit *commit = &commits->items[order[i]];

        if (kept > 0 && is_same(&items[kept - 1], commit))
            release(commit);
        else
            items[kept++] = *commit;
        to[order[i]] = (uint32_t)(kept - 1);
    }
    free(commits->items);
    commits->items = items;
    commits->count = commits->capacity = kept;
}

static void sort_by(struct commits *commits, const uint64_t *ranks, uint32_t *to)
{
    struct sorting sorting = { commits, ranks };
    uint32_t *order = cli_allocate(commits->count, sizeof *order);

    for (size_t i = 0; i < commits->count; i++)
        order[i] = (uint32_t)i;
    if (commits->count > 1)
        qsort_r(order, commits->count, sizeof *order, by_order, &sorting);
    apply(commits, order, to);
    free(order);
}

/* Nobody meant git, without these.  */
static bool is_surprising(const char *why)
{
    return strcmp(why, HISTORY_NO_REPOSITORY) != 0 && strcmp(why, HISTORY_NO_COMMITS) != 0;
}

enum cli_exit commits_sort(struct commits *commits, enum history_order order,
                           const char *repository, uint32_t **to)
{
    bool by_git = order == HISTORY_GIT || (order == HISTORY_AUTO && *repository);
    uint64_t *ranks = NULL;
    const char *why = NULL;

    *to = cli_allocate(commits->count, sizeof **to);
    commits->note = NULL;
    if (by_git && commits_ask_git(commits, repository, &ranks, &why)) {
        commits->order = "in the order of git rev-list";
        sort_by(commits, ranks, *to);
    } else if (order == HISTORY_GIT) {
        cli_error("%s: %s", *repository ? repository : ".", why);
        return CLI_USAGE;
    } else if (order == HISTORY_GIVEN) {
        commits->order = "in the order given";
        for (size_t i = 0; i < commits->count; i++)
            (*to)[i] = (uint32_t)i;
    } else {
        commits->order = "in the order of their names";
        commits->note = why && is_surprising(why) ? why : NULL;
        sort_by(commits, NULL, *to);
    }
    free(ranks);
    return CLI_OK;
}

/* ---- Names ---- */

static bool is_hash(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");

    return text[length] == '\0' && (length == 40 || length == 64);
}

struct history_label history_label(const struct commit *commit)
{
    struct history_label out = { "" };
    struct base_text text = { .limit = sizeof out.text - 1 };
    size_t length = strlen(commit->label), size;

    if (is_hash(commit->label))
        length = 12;
    /* A label that is too long is cut to the room that is left.  */
    for (size_t i = 0; i < length && !text.failed; i += size) {
        (void)base_shown_as_is(commit->label + i, length - i, &size);
        base_text_add_visible(&text, commit->label + i, size);
    }
    if (text.bytes)
        (void)snprintf(out.text, sizeof out.text, "%s", text.bytes);
    base_text_release(&text);
    return out;
}

const char *history_name(const struct history_view *view,
                         const struct compare_history_series *series)
{
    return series->function == COMPARE_WHOLE_RUN
               ? "total"
               : view->history->set->functions[series->function].name;
}
