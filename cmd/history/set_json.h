/* set_json.h - texts of a set in JSON: as they are in the inputs, not as they are shown.  */
#ifndef HISTORY_SET_JSON_H
#define HISTORY_SET_JSON_H

#include <fxt/compare_set.h>
#include "cmd/cli/cli_json.h"

static inline void set_json_text(struct json *json, const char *key, const struct compare_set *set,
                                 const char *text)
{
    size_t length;
    const char *bytes = compare_raw_text(set, text, &length);

    json_string(json, key, bytes, length);
}

/* null for no text or an empty one.  */
static inline void set_json_text_or_null(struct json *json, const char *key,
                                         const struct compare_set *set, const char *text)
{
    if (text && *text)
        set_json_text(json, key, set, text);
    else
        json_null(json, key);
}

#endif /* HISTORY_SET_JSON_H */
