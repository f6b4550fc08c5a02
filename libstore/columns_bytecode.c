/* What SQLite's program of a statement does (EXPLAIN), as far as it is used.  */
#include "libstore/columns_bytecode.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static const struct {
    const char *name;
    enum operation operation;
} operations[] = {
    { "VFilter", FILTER },
    { "VNext", NEXT },
    { "VColumn", VALUE },
    { "AggStep", STEP },
    { "CollSeq", COLLATION },
    { "Compare", COMPARE },
    { "Copy", COPY },
    { "Move", MOVE },
    { "SCopy", COPY_ONE },
    { "Gosub", CALL },
    { "IfPos", CALL_IF },
    { "Jump", THREE_JUMPS },
    { "Eq", JUMP },
    { "Ne", JUMP },
    { "Lt", JUMP },
    { "Le", JUMP },
    { "Gt", JUMP },
    { "Ge", JUMP },
    { "If", JUMP },
    { "IfNot", JUMP },
    { "IsNull", JUMP },
    { "NotNull", JUMP },
    { "Integer", CONSTANT },
    { "Int64", CONSTANT },
    { "Column", OTHER_VALUE },
    { "Rowid", OTHER_VALUE },
    { "Real", CONSTANT },
    { "String8", CONSTANT },
    { "Null", CONSTANT },
    { "Noop", CONSTANT },
    { "Add", ARITHMETIC },
    { "Subtract", ARITHMETIC },
    { "Multiply", ARITHMETIC },
    { "Init", CONTROL },
    { "Goto", CONTROL },
    { "Transaction", CONTROL },
    { "VOpen", CONTROL },
    { "ResultRow", CONTROL },
    { "DecrJumpZero", CONTROL },
    { "Yield", CONTROL },
    { "Halt", CONTROL },
    { "AddImm", OTHER },
    { "Affinity", OTHER },
    { "MakeRecord", OTHER },
    { "OpenAutoindex", OTHER },
    { "Rewind", OTHER },
    { "SeekGE", OTHER },
    { "Insert", OTHER },
    { "NewRowid", OTHER },
    { "Once", OTHER },
    { "InitCoroutine", OTHER },
    { "BeginSubrtn", OTHER },
    { "Return", OTHER },
    { "Next", OTHER },
    { "OpenDup", OTHER },
    { "Prev", OTHER },
    { "SorterNext", OTHER },
    { "AggValue", OTHER },
    { "Function", OTHER },
    { "NullRow", OTHER },
    { "SeekRowid", OTHER },
};

static void identify(const char *name, struct instruction *out)
{
    out->operation = OTHER;
    out->name = "";
    for (size_t i = 0; name && i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].name, name) == 0) {
            out->operation = operations[i].operation;
            out->name = operations[i].name;
        }
}

static int add(struct bytecode *program, sqlite3_stmt *row)
{
    const char *detail = (const char *)sqlite3_column_text(row, 5);
    struct instruction *item;

    if (!base_make_room(&program->items, &program->capacity, program->count + 1,
                        sizeof *program->items))
        return SQLITE_NOMEM;
    item = &program->items[program->count++];
    *item = (struct instruction){
        .p1 = sqlite3_column_int(row, 2),
        .p2 = sqlite3_column_int(row, 3),
        .p3 = sqlite3_column_int(row, 4),
        .flags = (unsigned)sqlite3_column_int(row, 6),
        .detail = strdup(detail ? detail : ""),
    };
    identify((const char *)sqlite3_column_text(row, 1), item);
    return item->detail ? SQLITE_OK : SQLITE_NOMEM;
}

void bytecode_release(struct bytecode *program)
{
    for (size_t i = 0; i < program->count; i++)
        free(program->items[i].detail);
    free(program->items);
}

int bytecode_read(sqlite3 *db, const char *sql, int length, struct bytecode *program)
{
    char *text = sqlite3_mprintf("EXPLAIN %.*s", length, sql);
    sqlite3_stmt *rows = NULL;
    int code = text ? sqlite3_prepare_v2(db, text, -1, &rows, NULL) : SQLITE_NOMEM;

    while (code == SQLITE_OK && (code = sqlite3_step(rows)) == SQLITE_ROW)
        code = add(program, rows);
    (void)sqlite3_finalize(rows);
    sqlite3_free(text);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

size_t bytecode_loop_end(const struct bytecode *program, size_t filter)
{
    size_t end = filter + 1;

    while (end < program->count && !(program->items[end].operation == NEXT &&
                                     program->items[end].p1 == program->items[filter].p1))
        end++;
    return end < program->count && program->items[end].p2 == (int)filter + 1 ? end : program->count;
}

bool bytecode_is_named(const struct bytecode *program, size_t at, const char *name)
{
    return at < program->count && strcmp(program->items[at].name, name) == 0;
}

bool bytecode_is_in_loop(const struct bytecode *program, size_t first, size_t last)
{
    for (size_t i = last + 1; i < program->count; i++) {
        bool is_loop = program->items[i].operation == NEXT ||
                       bytecode_is_named(program, i, "Next") ||
                       bytecode_is_named(program, i, "Prev") ||
                       bytecode_is_named(program, i, "SorterNext") ||
                       (bytecode_is_named(program, i, "Goto") && program->items[i].p2 > 1);

        if (is_loop && program->items[i].p2 > 0 && (size_t)program->items[i].p2 <= first)
            return true;
    }
    return false;
}

bool bytecode_are_alike(sqlite3_stmt *a, sqlite3_stmt *b)
{
    int count = sqlite3_column_count(a);

    if (count != sqlite3_column_count(b))
        return false;
    for (int i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(a, i), *other = sqlite3_column_name(b, i);

        if (!name || !other || strcmp(name, other) != 0)
            return false;
    }
    return true;
}
