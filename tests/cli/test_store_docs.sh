#!/bin/sh
# docs/store.md says what schemas/store.sql says; and every column is explained or explains itself.
set -eu
cd "$ROOT"
scripts/store-docs --check
tables=$(grep -c '^CREATE TABLE' schemas/store.sql)
[ "$(grep -c '^| column | type' docs/store.md)" = "$tables" ] || {
    echo "docs/store.md does not show $tables tables" >&2
    exit 1
}
