/* register.c - the SQL functions into a connection.  */
#include <string.h>

#include "libstore/functions/functions.h"
#include "libstore/functions/sample_counters.h"

struct functions *functions_hold(struct functions *functions)
{
    functions->references++;
    return functions;
}

void functions_release_shape(struct kept_shape *kept)
{
    shape_release(&kept->shape);
    sqlite3_free(kept->hide);
    sqlite3_free(kept->show_from);
    *kept = (struct kept_shape){ .hide = NULL };
}

void functions_drop(void *context)
{
    struct functions *functions = context;

    if (--functions->references > 0)
        return;
    for (unsigned i = 0; i < PATTERNS_KEPT; i++) {
        sqlite3_free(functions->patterns[i].text);
        sqlite3_free(functions->patterns[i].bits);
    }
    for (unsigned i = 0; i < SHAPES_KEPT; i++)
        functions_release_shape(&functions->shapes[i]);
    stacks_drop(functions->stacks);
    sqlite3_free(functions);
}

int functions_declare(sqlite3 *db, char *declaration)
{
    int code = declaration ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;

    sqlite3_free(declaration);
    return code;
}

int functions_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

int functions_plan(sqlite3_vtab *base, sqlite3_index_info *info,
                   int (*argument_of)(const sqlite3_vtab *base, int column))
{
    char *plan = sqlite3_malloc(info->nConstraint + 1);
    unsigned used = 0;
    int count = 0;

    if (!plan)
        return SQLITE_NOMEM;
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = argument_of(base, info->aConstraint[i].iColumn);

        if (argument < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!info->aConstraint[i].usable) { /* it needs a table that comes later */
            sqlite3_free(plan);
            return SQLITE_CONSTRAINT;
        }
        if (used & 1u << argument)
            continue;
        used |= 1u << argument;
        plan[count++] = (char)('A' + argument);
        info->aConstraintUsage[i].argvIndex = count;
        info->aConstraintUsage[i].omit = 1;
    }
    plan[count] = '\0';
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    return SQLITE_OK;
}

int functions_take_arguments(sqlite3_value **arguments, const char *plan, int count,
                             sqlite3_value **values)
{
    for (int i = 0; i < count; i++) {
        arguments[plan[i] - 'A'] = sqlite3_value_dup(values[i]);
        if (!arguments[plan[i] - 'A'])
            return SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

void *functions_zeroed(int size)
{
    void *memory = sqlite3_malloc(size);

    return memory ? memset(memory, 0, (size_t)size) : NULL;
}

int functions_refresh(struct functions *functions, char **error)
{
    int code = stacks_refresh(functions->db, &functions->stacks, error);

    return code == SQLITE_OK ? stacks_load_names(functions->db, functions->stacks, error) : code;
}

void functions_fail(sqlite3_context *context, int code, char *error)
{
    if (error)
        sqlite3_result_error(context, error, -1);
    if (code == SQLITE_NOMEM)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error_code(context, code); /* keeps a text that is there */
    sqlite3_free(error);
}

int functions_register(sqlite3 *db, const struct columns_scanner *scanner)
{
    struct functions *functions = sqlite3_malloc(sizeof *functions);
    int code;

    if (!functions)
        return SQLITE_NOMEM;
    memset(functions, 0, sizeof *functions);
    functions->references = 1;
    functions->db = db;
    if (scanner)
        functions->scanner = *scanner;
    code = scalar_register(db, functions);
    if (code == SQLITE_OK)
        code = percentile_register(db);
    if (code == SQLITE_OK)
        code = counters_register(db);
    if (code == SQLITE_OK)
        code = tables_register(db, functions);
    if (code == SQLITE_OK)
        code = timeline_register(db, functions);
    functions_drop(functions);
    return code;
}
