#include "libstore/functions/pattern_match.h"

#include <string.h>

int match_compile(regex_t *regex, const char *pattern, char **error)
{
    int code = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);
    char reason[128];

    if (code == 0)
        return SQLITE_OK;
    if (code == REG_ESPACE)
        return SQLITE_NOMEM;
    (void)regerror(code, regex, reason, sizeof reason);
    *error = sqlite3_mprintf("'%s' is not a regular expression: %s", pattern, reason);
    return SQLITE_ERROR;
}

int match_open(struct match *match, const struct stacks *stacks, const char *pattern, char **error)
{
    int code = match_compile(&match->regex, pattern, error);

    if (code != SQLITE_OK)
        return code;
    match->stacks = stacks;
    match->strings = sqlite3_malloc64((sqlite3_uint64)stacks->string_count + 1);
    match->modules = sqlite3_malloc64((sqlite3_uint64)stacks->module_count + 1);
    if (!match->strings || !match->modules) {
        match_release(match);
        return SQLITE_NOMEM;
    }
    memset(match->strings, 0, (size_t)stacks->string_count + 1);
    memset(match->modules, 0, (size_t)stacks->module_count + 1);
    return SQLITE_OK;
}

void match_release(struct match *match)
{
    regfree(&match->regex);
    sqlite3_free(match->strings);
    sqlite3_free(match->modules);
}

/* Each distinct text is looked at once.  */
static bool known(struct match *match, uint8_t *verdict, const char *text)
{
    if (*verdict == 0)
        *verdict = regexec(&match->regex, text, 0, NULL, 0) == 0 ? 2 : 1;
    return *verdict == 2;
}

static bool match_module(struct match *match, uint32_t frame)
{
    const struct stacks *stacks = match->stacks;
    uint32_t module = stacks->modules[frame];

    return module != 0 &&
           known(match, &match->modules[module], stacks->pool + stacks->module_names[module]);
}

bool match_function(struct match *match, uint32_t frame, uint32_t index)
{
    const struct stacks *stacks = match->stacks;
    uint32_t first = stacks->first_lines[frame];
    const struct stack_line *line;

    if (match_module(match, frame))
        return true;
    if (index >= stacks->first_lines[frame + 1] - first)
        return regexec(&match->regex, stacks_function(stacks, frame, index), 0, NULL, 0) == 0;
    line = &stacks->lines[first + index];
    return (line->function &&
            known(match, &match->strings[line->function], stacks_text(stacks, line->function))) ||
           (line->file &&
            known(match, &match->strings[line->file], stacks_text(stacks, line->file)));
}

bool match_frame(struct match *match, uint32_t frame)
{
    uint32_t count = stacks_function_count(match->stacks, frame);

    for (uint32_t i = 0; i < count; i++)
        if (match_function(match, frame, i))
            return true;
    return false;
}

uint8_t *match_callsites(struct match *match)
{
    const struct stacks *stacks = match->stacks;
    size_t size = (size_t)stacks->callsite_count / 8 + 1;
    size_t frames_size = (size_t)stacks->frame_count / 8 + 1;
    uint8_t *bits = sqlite3_malloc64(size);
    uint8_t *frames = sqlite3_malloc64(frames_size);

    if (!bits || !frames) {
        sqlite3_free(bits);
        sqlite3_free(frames);
        return NULL;
    }
    memset(bits, 0, size);
    memset(frames, 0, frames_size);
    for (uint32_t i = 1; i <= stacks->frame_count; i++)
        if (match_frame(match, i))
            frames[i >> 3] |= (uint8_t)(1u << (i & 7));
    for (uint32_t i = 1; i <= stacks->callsite_count; i++) {
        uint32_t frame = stacks->frames[i], parent = stacks->parents[i];

        if ((frames[frame >> 3] >> (frame & 7) & 1) || (bits[parent >> 3] >> (parent & 7) & 1))
            bits[i >> 3] |= (uint8_t)(1u << (i & 7));
    }
    sqlite3_free(frames);
    return bits;
}

bool match_list(const char *list, const char *text)
{
    size_t length = strlen(text);

    for (const char *item = list;; item++) {
        size_t size = strcspn(item, ",");

        if (size == length && memcmp(item, text, size) == 0)
            return true;
        item += size;
        if (*item == '\0')
            return false;
    }
}
