#!/bin/sh
# fxtq import of files that are no profiles: it says what a file is, then what it reads, and leaves neither a store nor a capture.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"
PATH=$O/bin:$PATH
reads='fxtq import reads FXT traces, perf.data files, pprof profiles, folded stacks, logs with symbolizer markup, the text of perf script and of Austin, and profiles of gperftools, Go and Java'

"$O/bench/fxtgen" --count 100 >good.fxt
fxtq import -q good.fxt -o one.fxtq

printf 'Lorem ipsum dolor sit amet, consectetur\nadipiscing\n' >text
cp "$O/bin/fxtq" elf
printf '%%PDF-1.7 \342\343\317\323 and more of it\n' >pdf
printf 'PK\003\004 and the rest of an archive' >zip
head -c 4096 /dev/zero | tr '\000' '\377' >ones
cp one.fxtq database
gzip -c text >packed-text
: >empty
printf 'hello\n' >short
gzip -c good.fxt | head -c 12 >cut.gz
printf '\000\026\124\170\106\004\000\020 and so on, and so on' >big-endian
printf '\375\067\172\130\132\000\000\004 and so on' >packed.xz

# The file, a sentence about it, and whether the formats are named.
while IFS='|' read -r file sentence named; do
    for way in file pipe; do
        case $way in
        file) name=$file operand=$file ;;
        pipe) name='standard input' operand=- ;;
        esac
        cp one.fxtq kept.fxtq
        for store in none.fxtq kept.fxtq; do
            status=0
            fxtq import -o "$store" "$operand" <"$file" >out 2>err || status=$?
            [ $status -eq 3 ] || fail "$file, $way, $store: status $status: $(cat err)"
            [ "$(sed -n 1p err)" = "fxtq import: $name: $sentence" ] || fail "$file, $way, $store: $(cat err)"
            if [ "$named" = yes ]; then
                [ "$(sed -n '2,$p' err)" = "$reads" ] || fail "$file, $way: the formats: $(cat err)"
            else
                [ "$(wc -l <err)" -eq 1 ] || fail "$file, $way: more than one sentence: $(cat err)"
            fi
        done
        [ ! -e none.fxtq ] || fail "$file, $way: a store of nothing"
        [ "$(fxtq --format csv --no-header kept.fxtq 'SELECT count(*) FROM capture')" = 1 ] || fail "$file, $way: a capture of nothing"
    done
done <<'END'
text|text, not an FXT trace|yes
elf|an ELF file, not an FXT trace|yes
pdf|not an FXT trace: no magic number, and the first record does not fit|yes
zip|a zip archive, not an FXT trace|yes
ones|not an FXT trace: no magic number, and the first record does not fit|yes
database|an SQLite database, not an FXT trace; if it is a store, 'fxtq export' writes its captures as traces and profiles|yes
packed-text|text, not an FXT trace|yes
empty|empty, not an FXT trace|no
short|shorter than any record, not an FXT trace|no
cut.gz|compressed, and cut off before its first record|no
big-endian|a big-endian FXT trace; only little-endian ones can be read|yes
packed.xz|xz data; unpack it first: xz -d|yes
END
