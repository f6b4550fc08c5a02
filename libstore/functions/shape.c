#include "libstore/functions/shape.h"

#include <string.h>

bool shape_hides(struct match *hide, uint32_t frame, uint32_t index)
{
    return hide && match_function(hide, frame, index);
}

bool shape_begins(struct match *hide, struct match *show_from, uint32_t frame, uint32_t index)
{
    return !show_from ||
           (match_function(show_from, frame, index) && !shape_hides(hide, frame, index));
}

/* ---- All call sites ---- */

/* What is known of a function: functions stand at many call sites.  */
enum { KNOWN = 1, HIDDEN = 2, BEGINS = 4 };

struct work {
    const struct stacks *stacks;
    struct match hide_match, show_from_match;
    struct match *hide, *show_from; /* NULL: no such pattern */
    uint8_t *verdicts;              /* [line], and behind them [frame] of those without lines */
    uint8_t *begun;                 /* [callsite]: it, or one above it, begins what is shown */
};

static unsigned verdict_of(struct work *work, uint32_t frame, uint32_t index)
{
    const struct stacks *stacks = work->stacks;
    uint32_t first = stacks->first_lines[frame];
    bool has_line = index < stacks->first_lines[frame + 1] - first;
    uint8_t *verdict = &work->verdicts[has_line ? first + index : stacks->line_count + frame];

    if (*verdict == 0) {
        *verdict = KNOWN;
        if (shape_hides(work->hide, frame, index))
            *verdict |= HIDDEN;
        else if (shape_begins(NULL, work->show_from, frame, index))
            *verdict |= BEGINS;
    }
    return *verdict;
}

static void look_at(struct work *work, uint32_t callsite, struct shape *shape)
{
    uint32_t frame = work->stacks->frames[callsite], parent = work->stacks->parents[callsite];
    bool begun = work->begun[parent];

    shape->frames[callsite] = shape->frames[parent];
    shape->functions[callsite] = shape->functions[parent];
    for (uint32_t i = stacks_function_count(work->stacks, frame); i-- > 0;) {
        unsigned verdict = verdict_of(work, frame, i);

        begun = begun || (verdict & BEGINS);
        if (!begun || (verdict & HIDDEN))
            continue;
        shape->frames[callsite] = frame;
        shape->functions[callsite] = i;
    }
    work->begun[callsite] = begun;
}

static int open_patterns(struct work *work, const char *hide, const char *show_from, char **error)
{
    int code = SQLITE_OK;

    if (hide) {
        code = match_open(&work->hide_match, work->stacks, hide, error);
        work->hide = code == SQLITE_OK ? &work->hide_match : NULL;
    }
    if (code == SQLITE_OK && show_from) {
        code = match_open(&work->show_from_match, work->stacks, show_from, error);
        work->show_from = code == SQLITE_OK ? &work->show_from_match : NULL;
    }
    return code;
}

static void *zeros(size_t count, size_t size)
{
    void *items = sqlite3_malloc64(count * size); /* callers count ids of 32 bits */

    return items ? memset(items, 0, count * size) : NULL;
}

static int fill(struct work *work, struct shape *shape)
{
    const struct stacks *stacks = work->stacks;
    size_t callsites = (size_t)stacks->callsite_count + 1;

    work->verdicts = zeros((size_t)stacks->line_count + stacks->frame_count + 1, 1);
    work->begun = zeros(callsites, 1);
    shape->frames = zeros(callsites, sizeof(uint32_t));
    shape->functions = zeros(callsites, sizeof(uint32_t));
    if (!work->verdicts || !work->begun || !shape->frames || !shape->functions)
        return SQLITE_NOMEM;
    work->begun[0] = !work->show_from;
    for (uint32_t i = 1; i <= stacks->callsite_count; i++) /* parents are smaller */
        look_at(work, i, shape);
    return SQLITE_OK;
}

int shape_open(struct shape *shape, const struct stacks *stacks, const char *hide,
               const char *show_from, char **error)
{
    struct work work = { .stacks = stacks };
    int code = open_patterns(&work, hide, show_from, error);

    *shape = (struct shape){ .frames = NULL };
    if (code == SQLITE_OK)
        code = fill(&work, shape);
    if (work.hide)
        match_release(work.hide);
    if (work.show_from)
        match_release(work.show_from);
    sqlite3_free(work.verdicts);
    sqlite3_free(work.begun);
    if (code != SQLITE_OK)
        shape_release(shape);
    return code;
}

void shape_release(struct shape *shape)
{
    sqlite3_free(shape->frames);
    sqlite3_free(shape->functions);
    *shape = (struct shape){ .frames = NULL };
}

/* ---- Which stacks count ---- */

static int keep_matching(const struct stacks *stacks, const char *pattern, bool wanted,
                         uint8_t *keep, char **error)
{
    size_t size = (size_t)stacks->callsite_count / 8 + 1;
    struct match match;
    uint8_t *bits;
    int code = pattern ? match_open(&match, stacks, pattern, error) : SQLITE_OK;

    if (!pattern || code != SQLITE_OK)
        return code;
    bits = match_callsites(&match);
    match_release(&match);
    if (!bits)
        return SQLITE_NOMEM;
    for (size_t i = 0; i < size; i++)
        keep[i] &= wanted ? bits[i] : (uint8_t)~bits[i];
    sqlite3_free(bits);
    return SQLITE_OK;
}

static int keep_shown(const struct stacks *stacks, const struct shape_patterns *patterns,
                      uint8_t *keep, char **error)
{
    struct shape shape;
    int code;

    if (!patterns->hide && !patterns->show_from)
        return SQLITE_OK;
    code = shape_open(&shape, stacks, patterns->hide, patterns->show_from, error);
    if (code != SQLITE_OK)
        return code;
    for (size_t i = 0; i <= stacks->callsite_count; i++)
        if (shape.frames[i] == 0)
            keep[i >> 3] &= (uint8_t) ~(1u << (i & 7));
    shape_release(&shape);
    return SQLITE_OK;
}

int shape_callsites(const struct stacks *stacks, const struct shape_patterns *patterns,
                    uint8_t **out, char **error)
{
    size_t size = (size_t)stacks->callsite_count / 8 + 1;
    uint8_t *keep;
    int code;

    *out = NULL;
    if (!patterns->focus && !patterns->ignore && !patterns->hide && !patterns->show_from)
        return SQLITE_OK;
    keep = sqlite3_malloc64(size);
    if (!keep)
        return SQLITE_NOMEM;
    memset(keep, 0xff, size);
    keep[0] &= 0xfe;
    code = keep_matching(stacks, patterns->focus, true, keep, error);
    if (code == SQLITE_OK)
        code = keep_matching(stacks, patterns->ignore, false, keep, error);
    if (code == SQLITE_OK)
        code = keep_shown(stacks, patterns, keep, error);
    if (code == SQLITE_OK)
        *out = keep;
    else
        sqlite3_free(keep);
    return code;
}
