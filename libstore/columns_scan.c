/* Rows without SQL.  */
#include "libstore/columns_read.h"

/* Whether the columns have what is wanted.  */
static bool can_scan(const struct store_columns *columns, const struct columns_scan *scan)
{
    const struct columns_source *source = &columns->sources[scan->table];

    if (!columns_can_read(columns, scan->table))
        return false;
    for (unsigned i = 0; i < scan->count; i++)
        if ((scan->wanted >> i & 1) && source->ranges[scan->columns[i]].has_reals)
            return false;
    return true;
}

/* Whether a row of the group may be within all bounds.  NULL is in none that is one.  */
static bool may_pass(const struct columns_group *group, const struct columns_scan *scan)
{
    for (unsigned i = 0; i < scan->count; i++) {
        const struct block_shape *shape = &group->shapes[scan->columns[i]];
        const struct columns_bound *bound = &scan->bounds[i];

        if (!(scan->wanted >> i & 1) || (bound->low == INT64_MIN && bound->high == INT64_MAX))
            continue;
        if ((shape->flags & BLOCK_ALL_NULL) || shape->maximum < bound->low ||
            shape->minimum > bound->high)
            return false;
    }
    return true;
}

/* The rows of the group whose ids are asked for.  */
static void cut(const struct columns_group *group, const struct columns_scan *scan,
                struct columns_rows *rows)
{
    int64_t last = group->first_id + ((int64_t)group->count - 1);

    rows->from = scan->first_id > group->first_id ? (unsigned)(scan->first_id - group->first_id)
                                                  : 0;
    rows->to = scan->limit_id > last ? group->count : (unsigned)(scan->limit_id - group->first_id);
}

static int scan_groups(struct store_columns *columns, const struct columns_scan *scan,
                       columns_rows_fn *each, void *context)
{
    const struct columns_directory *directory = &columns->sources[scan->table].directory;
    struct block blocks[SCAN_MOST] = { { .bytes = NULL } };
    struct columns_rows rows = { .blocks = blocks };
    size_t group = columns_first_group(directory, scan->first_id);
    int code = SQLITE_OK;

    for (; group < directory->count && directory->groups[group].first_id < scan->limit_id;
         group++) {
        if (!may_pass(&directory->groups[group], scan))
            continue;
        columns_make_room(columns);
        for (unsigned i = 0; i < scan->count && code == SQLITE_OK; i++)
            if (scan->wanted >> i & 1) {
                const struct block *block;

                code = columns_view(columns, scan->table, group, scan->columns[i], &block);
                blocks[i] = *block;
            }
        if (code != SQLITE_OK)
            return code;
        cut(&directory->groups[group], scan, &rows);
        each(context, &rows);
    }
    return SQLITE_OK;
}

int columns_scan(struct store *store, const struct columns_scan *scan, columns_rows_fn *each,
                 void *context, bool *answered)
{
    struct store_columns *columns = store->serving;
    int code;

    *answered = false;
    if (!columns)
        return SQLITE_OK;
    code = columns_hold(columns);
    if (code != SQLITE_OK)
        return code;
    *answered = can_scan(columns, scan);
    if (*answered && scan->first_id < scan->limit_id)
        code = scan_groups(columns, scan, each, context);
    columns_let_go(columns);
    return code;
}
