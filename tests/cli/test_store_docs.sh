#!/bin/sh
# docs/store.md says what schemas/store.sql says, of every table and column, and of nothing else.
set -eu
cd "$ROOT"
scripts/store-docs --check
sqlite3 "$WORK/schema" <schemas/store.sql
sqlite3 "$WORK/schema" "SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
    WHERE t.type = 'table' AND t.name NOT GLOB 'sqlite_*'" | sort >"$WORK/wanted"
awk '/^### / { table = $2; rows = 0; next }
    /^\| column \| type/ { rows = 1; next }
    /^$/ { rows = 0 }
    rows && !/^\| ---/ { column = $2; gsub(/`/, "", column); print table "." column }' docs/store.md | sort >"$WORK/shown"
diff "$WORK/wanted" "$WORK/shown" >&2 || {
    echo "docs/store.md shows other columns than the schema has" >&2
    exit 1
}
