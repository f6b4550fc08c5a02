/* scalar.c - functions of one row: folded, in_stack, leaf, depth, demangle, hex, extract_arg.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include <fxt/symbolize.h>
#include "libstore/functions/functions.h"
#include "libstore/functions/pattern_match.h"

/* The call site that the first argument names; 0 for NULL and for what is none: then the result is
 * NULL, or an error was handed over.  */
static uint32_t callsite_argument(sqlite3_context *context, sqlite3_value *value,
                                  struct functions **out)
{
    struct functions *functions = sqlite3_user_data(context);
    sqlite3_int64 id = sqlite3_value_int64(value);
    char *error;
    int code;

    *out = functions;
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return 0;
    code = functions_refresh(functions, &error);
    if (code != SQLITE_OK) {
        functions_fail(context, code, error);
        return 0;
    }
    return id >= 1 && id <= functions->stacks->callsite_count ? (uint32_t)id : 0;
}

/* ---- folded, leaf, depth ---- */

#define FOLDED_MOST ((size_t)64 << 20) /* bytes of a stack as a text */

struct folded {
    char *bytes;
    size_t length, capacity;
    size_t most; /* what SQLite takes as a text */
};

/* "name;" with what would end a frame or a line replaced, as in folded files.  */
static int add_folded(struct folded *folded, const char *name)
{
    size_t length = strlen(name);

    if (folded->length + length + 16 > folded->most)
        return SQLITE_TOOBIG;
    if (!stacks_grow(&folded->bytes, &folded->capacity, folded->length + length + 16, 1))
        return SQLITE_NOMEM;
    memcpy(folded->bytes + folded->length, name, length);
    length = profile_folded_name(folded->bytes + folded->length, length);
    if (length == 0) {
        memcpy(folded->bytes + folded->length, "[unknown]", 9);
        length = 9;
    }
    folded->length += length;
    folded->bytes[folded->length++] = ';';
    return SQLITE_OK;
}

static int fold(const struct stacks *stacks, uint32_t callsite, struct folded *folded)
{
    uint32_t depth = stacks->depths[callsite] + 1;
    uint32_t *way = sqlite3_malloc64((size_t)depth * sizeof *way); /* root first */
    int code = way ? SQLITE_OK : SQLITE_NOMEM;

    for (uint32_t i = depth; way && i-- > 0; callsite = stacks->parents[callsite])
        way[i] = stacks->frames[callsite];
    for (uint32_t i = 0; code == SQLITE_OK && i < depth; i++)
        for (uint32_t k = stacks_function_count(stacks, way[i]); code == SQLITE_OK && k-- > 0;)
            code = add_folded(folded, stacks_function(stacks, way[i], k));
    sqlite3_free(way);
    return code;
}

static void folded_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct functions *functions;
    uint32_t callsite = callsite_argument(context, arguments[0], &functions);
    struct folded folded = { .bytes = NULL };
    int code;

    (void)count;
    if (callsite == 0)
        return;
    folded.most = (size_t)sqlite3_limit(functions->db, SQLITE_LIMIT_LENGTH, -1);
    if (folded.most > FOLDED_MOST)
        folded.most = FOLDED_MOST;
    code = fold(functions->stacks, callsite, &folded);
    if (code != SQLITE_OK) {
        sqlite3_free(folded.bytes);
        functions_fail(context, code, NULL);
        return;
    }
    sqlite3_result_text64(context, folded.bytes, folded.length - 1, sqlite3_free, SQLITE_UTF8);
}

static void leaf_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct functions *functions;
    uint32_t callsite = callsite_argument(context, arguments[0], &functions);

    (void)count;
    if (callsite != 0)
        sqlite3_result_text(
            context, stacks_function(functions->stacks, functions->stacks->frames[callsite], 0), -1,
            SQLITE_TRANSIENT);
}

/* ---- leaf of what hide and show_from leave ---- */

static bool same_pattern(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static char *copy_pattern(const char *pattern, int *code)
{
    char *copy = pattern ? sqlite3_mprintf("%s", pattern) : NULL;

    if (pattern && !copy)
        *code = SQLITE_NOMEM;
    return copy;
}

static int new_shape(struct functions *functions, const char *hide, const char *show_from,
                     struct kept_shape *kept, char **error)
{
    struct kept_shape made = { .version = functions->stacks->version };
    int code = shape_open(&made.shape, functions->stacks, hide, show_from, error);

    if (code != SQLITE_OK)
        return code;
    made.hide = copy_pattern(hide, &code);
    made.show_from = copy_pattern(show_from, &code);
    functions_release_shape(code == SQLITE_OK ? kept : &made);
    if (code == SQLITE_OK)
        *kept = made;
    return code;
}

/* Made once as long as it is among the last that were asked for.  */
static int find_shape(struct functions *functions, const char *hide, const char *show_from,
                      const struct shape **out, char **error)
{
    struct kept_shape *kept = &functions->shapes[functions->next_shape];
    int code;

    for (unsigned i = 0; i < SHAPES_KEPT; i++) {
        const struct kept_shape *other = &functions->shapes[i];

        *out = &other->shape;
        if (other->shape.frames && other->version == functions->stacks->version &&
            same_pattern(other->hide, hide) && same_pattern(other->show_from, show_from))
            return SQLITE_OK;
    }
    code = new_shape(functions, hide, show_from, kept, error);
    if (code == SQLITE_OK)
        functions->next_shape = (functions->next_shape + 1) % SHAPES_KEPT;
    *out = &kept->shape;
    return code;
}

/* What a function is called; NULL: no name for it, or (*is_known false) for what it is asked.  */
static const char *name_of(const struct stacks *stacks, uint32_t frame, uint32_t index,
                           const char *per, bool *is_known)
{
    const char *name = NULL;

    *is_known = true;
    if (strcmp(per, "function") == 0)
        name = stacks_function(stacks, frame, index);
    else if (strcmp(per, "file") == 0)
        name = stacks_file(stacks, frame, index);
    else if (strcmp(per, "module") == 0)
        name = stacks_module(stacks, frame);
    else
        *is_known = false;
    return name && *name ? name : NULL;
}

/* leaf(callsite, hide, show_from [, per])  */
static void shown_leaf_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct functions *functions;
    uint32_t callsite = callsite_argument(context, arguments[0], &functions);
    const char *hide = (const char *)sqlite3_value_text(arguments[1]);
    const char *show_from = (const char *)sqlite3_value_text(arguments[2]);
    const char *per = count > 3 ? (const char *)sqlite3_value_text(arguments[3]) : NULL;
    const struct shape *shape;
    const char *name;
    char *error = NULL;
    bool is_known;
    int code;

    if (callsite == 0)
        return;
    code = find_shape(functions, hide, show_from, &shape, &error);
    if (code != SQLITE_OK) {
        functions_fail(context, code, error);
        return;
    }
    if (shape->frames[callsite] == 0)
        return;
    name = name_of(functions->stacks, shape->frames[callsite], shape->functions[callsite],
                   per ? per : "function", &is_known);
    if (!is_known)
        functions_fail(context, SQLITE_ERROR,
                       sqlite3_mprintf("per: '%s' is not one of function, file, module", per));
    else if (name)
        sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
}

static void depth_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct functions *functions;
    uint32_t callsite = callsite_argument(context, arguments[0], &functions);

    (void)count;
    if (callsite != 0)
        sqlite3_result_int64(context, functions->stacks->depths[callsite]);
}

/* ---- in_stack ---- */

static int new_pattern(struct functions *functions, const char *text, struct pattern **out,
                       char **error)
{
    struct pattern *pattern = &functions->patterns[functions->next_pattern];
    struct match match;
    int code = match_open(&match, functions->stacks, text, error);

    if (code != SQLITE_OK)
        return code;
    sqlite3_free(pattern->text);
    sqlite3_free(pattern->bits);
    pattern->text = sqlite3_mprintf("%s", text);
    pattern->bits = match_callsites(&match);
    pattern->version = functions->stacks->version;
    match_release(&match);
    if (!pattern->text || !pattern->bits) {
        sqlite3_free(pattern->text);
        sqlite3_free(pattern->bits);
        *pattern = (struct pattern){ .text = NULL };
        return SQLITE_NOMEM;
    }
    functions->next_pattern = (functions->next_pattern + 1) % PATTERNS_KEPT;
    *out = pattern;
    return SQLITE_OK;
}

/* The pattern's bits, made once as long as it is among the last that were asked for.  */
static int find_pattern(struct functions *functions, const char *text, struct pattern **out,
                        char **error)
{
    for (unsigned i = 0; i < PATTERNS_KEPT; i++) {
        struct pattern *pattern = &functions->patterns[i];

        if (pattern->text && pattern->version == functions->stacks->version &&
            strcmp(pattern->text, text) == 0) {
            *out = pattern;
            return SQLITE_OK;
        }
    }
    return new_pattern(functions, text, out, error);
}

static void in_stack_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct functions *functions;
    uint32_t callsite = callsite_argument(context, arguments[0], &functions);
    const char *text = (const char *)sqlite3_value_text(arguments[1]);
    struct pattern *pattern = NULL;
    char *error = NULL;
    int code;

    (void)count;
    if (callsite == 0 || !text)
        return;
    code = find_pattern(functions, text, &pattern, &error);
    if (code != SQLITE_OK)
        functions_fail(context, code, error);
    else
        sqlite3_result_int(context, pattern->bits[callsite >> 3] >> (callsite & 7) & 1);
}

/* ---- demangle, hex ---- */

static void demangle_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    const char *name = (const char *)sqlite3_value_text(arguments[0]);
    char *readable;

    (void)count;
    if (!name)
        return;
    readable = sym_demangle(name);
    if (readable)
        sqlite3_result_text(context, readable, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_value(context, arguments[0]);
    free(readable);
}

/* Of an integer "0x..." with the 64 bits as unsigned, as addresses and ids are written; of anything
 * else the digits of its bytes, as SQLite's own hex() does, whose place this one takes.  */
static void hex_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *bytes;
    size_t size;
    char *text;

    (void)count;
    if (sqlite3_value_type(arguments[0]) == SQLITE_INTEGER) {
        text = sqlite3_mprintf("0x%llx", sqlite3_value_int64(arguments[0]));
        if (text)
            sqlite3_result_text(context, text, -1, sqlite3_free);
        else
            sqlite3_result_error_nomem(context);
        return;
    }
    bytes = sqlite3_value_blob(arguments[0]);
    size = (size_t)sqlite3_value_bytes(arguments[0]);
    text = sqlite3_malloc64(2 * size + 1);
    if (!text) {
        sqlite3_result_error_nomem(context);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    sqlite3_result_text64(context, text, 2 * size, sqlite3_free, SQLITE_UTF8);
}

/* ---- regexp ---- */

static void release_regex(void *regex)
{
    regfree(regex);
    sqlite3_free(regex);
}

/* The compiled pattern, kept by SQLite as long as it is the same constant.  NULL: an error was
 * handed over.  */
static regex_t *compile(sqlite3_context *context, const char *pattern)
{
    regex_t *regex = sqlite3_malloc(sizeof *regex);
    char *error = NULL;
    int code;

    if (!regex) {
        sqlite3_result_error_nomem(context);
        return NULL;
    }
    code = match_compile(regex, pattern, &error);
    if (code == SQLITE_OK)
        return regex;
    sqlite3_free(regex);
    functions_fail(context, code, error);
    return NULL;
}

/* regexp(pattern, text), which is what "text REGEXP pattern" calls.  */
static void regexp_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    const char *pattern = (const char *)sqlite3_value_text(arguments[0]);
    const char *text = (const char *)sqlite3_value_text(arguments[1]);
    regex_t *regex = sqlite3_get_auxdata(context, 0);
    bool kept = regex != NULL;

    (void)count;
    if (!pattern || !text)
        return;
    if (!kept)
        regex = compile(context, pattern);
    if (!regex)
        return;
    sqlite3_result_int(context, regexec(regex, text, 0, NULL, 0) == 0);
    if (!kept)
        sqlite3_set_auxdata(context, 0, regex, release_regex); /* frees it if it cannot be kept */
}

/* ---- extract_arg ---- */

static void finalize(void *statement)
{
    (void)sqlite3_finalize(statement);
}

/* The statement, kept by SQLite with the constant key until the outer one ends.  *own: it was not
 * kept, so it is the caller's.  */
static int arg_statement(sqlite3_context *context, sqlite3_stmt **out, char **error)
{
    static const char sql[] =
        "SELECT a.value FROM main.arg AS a JOIN main.string AS k ON k.id = a.key_id "
        "WHERE a.arg_set_id IN (?1, (SELECT end_arg_set_id FROM main.arg_set_end "
        "WHERE arg_set_id = ?1)) AND k.text = ?2 ORDER BY a.arg_set_id <> ?1, a.ordinal LIMIT 1";
    struct functions *functions = sqlite3_user_data(context);
    int code;

    *out = sqlite3_get_auxdata(context, 1);
    if (*out)
        return SQLITE_OK;
    code = stacks_check_tables(functions->db, error);
    return code == SQLITE_OK ? sqlite3_prepare_v2(functions->db, sql, -1, out, NULL) : code;
}

static void extract_arg_function(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    struct functions *functions = sqlite3_user_data(context);
    bool kept = sqlite3_get_auxdata(context, 1) != NULL;
    sqlite3_stmt *statement;
    char *error = NULL;
    int code = arg_statement(context, &statement, &error);

    (void)count;
    if (code == SQLITE_OK)
        code = sqlite3_bind_value(statement, 1, arguments[0]);
    if (code == SQLITE_OK)
        code = sqlite3_bind_value(statement, 2, arguments[1]);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        sqlite3_result_value(context, sqlite3_column_value(statement, 0));
    else if (code != SQLITE_DONE)
        functions_fail(context, code,
                       error ? error : sqlite3_mprintf("%s", sqlite3_errmsg(functions->db)));
    (void)sqlite3_reset(statement);
    if (!kept && statement)
        sqlite3_set_auxdata(context, 1, statement, finalize); /* frees it if it cannot be kept */
}

/* ---- Registering ---- */

int scalar_register(sqlite3 *db, struct functions *functions)
{
    static const struct {
        const char *name;
        int arguments;
        int flags;
        void (*function)(sqlite3_context *context, int count, sqlite3_value **arguments);
    } table[] = {
        { "folded", 1, 0, folded_function },
        { "leaf", 1, 0, leaf_function },
        { "leaf", 3, 0, shown_leaf_function },
        { "leaf", 4, 0, shown_leaf_function },
        { "depth", 1, 0, depth_function },
        { "in_stack", 2, 0, in_stack_function },
        { "regexp", 2, SQLITE_DETERMINISTIC, regexp_function },
        { "extract_arg", 2, 0, extract_arg_function },
        { "demangle", 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, demangle_function },
        /* The store's own views call hex(), so it must be allowed there.  */
        { "hex", 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, hex_function },
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        /* SQLite calls functions_drop() also when it fails.  */
        int code = sqlite3_create_function_v2(
            db, table[i].name, table[i].arguments, SQLITE_UTF8 | table[i].flags,
            functions_hold(functions), table[i].function, NULL, NULL, functions_drop);

        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}
