#!/bin/sh
# Libraries export what their public headers declare, under their own prefix, and nothing else: no piece of base/, whose names
# several libraries have.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
status=0
complain() {
    echo "$1"
    status=1
}
exported() { # exported FILE: names of the dynamic table, or of an archive
    case $1 in
    *.a) nm -g --defined-only "$1" ;;
    *) nm -D --defined-only "$1" ;;
    esac 2>/dev/null | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | grep -vE '^_*(asan|ubsan|sanitizer|odr_asan)_' | sort -u
}

cat "$root"/include/fxt/*.h | grep -oE '[a-z_0-9]+' | sort -u >"$WORK/declared"
for library in fxt:fxt_,fidl_ fxtsymbolize:sym_ fxtunwind:unwind_ fxtinsn:insn_ fxtprofile:profile_ fxtcompare:compare_ fxtstore:store_ \
    fxttrace:trace_; do
    name=${library%%:*} prefixes=$(echo "${library#*:}" | tr , '|')
    [ -e "$O/lib/lib$name.a" ] || [ "$name" = fxtinsn ] || complain "no lib$name.a"
    for file in "$O/lib/lib$name.so.0" "$O/lib/lib$name.a"; do
        [ -e "$file" ] || continue
        exported "$file" >"$WORK/names"
        [ -s "$WORK/names" ] || complain "$file exports nothing"
        foreign=$(grep -vE "^($prefixes)" "$WORK/names")
        [ -z "$foreign" ] || complain "$file exports names of others: $foreign"
        private=$(comm -23 "$WORK/names" "$WORK/declared")
        [ -z "$private" ] || complain "$file exports what no public header declares: $private"
    done
done
# SQLite finds one function in its extension; two extensions must not share others.
extension=$(exported "$O/lib/libfxtsql.so")
[ "$extension" = sqlite3_fxtsql_init ] || complain "libfxtsql.so exports: $extension"
exit $status
