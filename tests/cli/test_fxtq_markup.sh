#!/bin/sh
# fxtq reads logs with symbolizer markup: every backtrace is a sample, with the names that fxtsym --markup puts into the same log.
set -eu
. "$ROOT/tests/cli/common.sh"

sql() {
    sqlite3 "$@"
}

cd "$WORK"
HOME=$WORK
export HOME
unset XDG_CACHE_HOME DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
# A position-independent program with frame pointers logs backtraces of two threads; of those that say whose they are the lines are mixed.
gcc -g -O1 -pthread -Wl,--build-id=sha1 -o backtraces "$ROOT/testdata/markup/backtraces.c"

# Every stack as "THREAD: leaf caller ...", in the order in which they stand when their lines are put together: from fxtsym's text,
cat >stacks.awk <<'EOT'
function flush(thread) {
    if (stack[thread] != "")
        print thread ":" stack[thread]
    stack[thread] = ""
}
BEGIN { thread = "0" }
/^[0-9]+$/ { thread = $0 }
match($0, /#[0-9]+(\.[0-9]+)? +0x[0-9a-f]+ in /) {
    frame = substr($0, RSTART + 1)
    split(substr($0, RSTART + RLENGTH), words, " ")
    if (match($0, /(\]\[|:0)42(43|44)[]>]/))
        thread = substr($0, RSTART + 2, 4)
    if (frame ~ /^0/ && last[thread] !~ /^0/)
        flush(thread)
    last[thread] = frame
    stack[thread] = stack[thread] " " words[1]
}
END {
    for (thread in stack)
        flush(thread)
}
EOT
# and from the store.
cat >stacks.sql <<'EOT'
WITH RECURSIVE up(sample, n, callsite) AS (
    SELECT id, 0, callsite_id FROM profile_sample
    UNION ALL SELECT sample, n + 1, c.parent_id FROM up JOIN callsite AS c ON c.id = callsite WHERE c.parent_id IS NOT NULL)
SELECT coalesce(tid, 0) || ': ' || group_concat(name, ' ') FROM (
    SELECT sample, t.tid, coalesce(n.text, '<' || m.name || '>+0x' || printf('%x', f.vaddr + 1)) AS name
    FROM up JOIN callsite AS c ON c.id = callsite JOIN frame AS f ON f.id = c.frame_id JOIN module AS m ON m.id = f.module_id
    JOIN profile_sample AS p ON p.id = sample LEFT JOIN thread AS t ON t.id = p.utid
    LEFT JOIN symbol AS s ON s.frame_id = f.id AND s.quality > 0 LEFT JOIN string AS n ON n.id = s.function
    ORDER BY sample, n, s.inline_depth)
GROUP BY sample;
EOT

for form in none logger kernel profiler; do
    ./backtraces $form 25 >$form.log
    fxtsym --markup --demangle <$form.log 2>/dev/null | awk -f stacks.awk | LC_ALL=C sort >expected
    [ "$(wc -l <expected)" -eq 200 ] || fail "$form: fxtsym shows $(wc -l <expected) backtraces, not 200"

    rm -f run.fxtq
    run 0 fxtq import $form.log -o run.fxtq
    says '  200 samples, '
    run 0 fxtq symbolize run.fxtq
    sql run.fxtq <stacks.sql | LC_ALL=C sort >stored
    cmp -s expected stored || fail "$form: other stacks than in fxtsym's text: $(diff expected stored | head -n 6)"
    [ "$(sql run.fxtq 'SELECT format, record_count FROM capture')" = 'markup|200' ] || fail "$form: $(sql run.fxtq 'SELECT * FROM capture')"
    [ "$(sql run.fxtq 'SELECT count(*) FROM damage')" = 0 ] || fail "$form: damage: $(sql run.fxtq 'SELECT * FROM damage')"
    [ "$(sql run.fxtq 'SELECT type, unit, sum(n), sum(s.value), (SELECT sum(value) FROM profile_value) FROM callsite_sum AS s JOIN sample_type AS t ON t.id = sample_type_id')" = 'samples|count|200|200|200' ] ||
        fail "$form: callsite_sum is not the sum of the samples"

    # The program knows how often it went which way.
    run 0 fxtq --format csv --no-header run.fxtq "SELECT sum(in_stack(callsite_id, '^inlined$')), sum(in_stack(callsite_id, '^recursive$')), sum(in_stack(callsite_id, '^direct$')) FROM profile_sample"
    [ "$(tail -n 1 out)" = '100,50,100' ] || fail "$form: inlined, recursive, direct $(cat out)"
    case $form in
    none) [ "$(sql run.fxtq 'SELECT (SELECT group_concat(koid) FROM process), (SELECT count(*) FROM thread)')" = '0|0' ] || fail 'none: processes or threads' ;;
    *)
        [ "$(sql run.fxtq 'SELECT pid, tid, count(*) FROM profile_sample AS s JOIN process AS p ON p.id = s.upid JOIN thread AS t ON t.id = s.utid GROUP BY 1, 2 ORDER BY 2' | tr '\n' ' ')" = '4242|4243|100 4242|4244|100 ' ] ||
            fail "$form: whose samples: $(sql run.fxtq 'SELECT * FROM thread')"
        ;;
    esac
    # Mappings as they were told.
    sed -n 's/.*{{{mmap:\(0x[0-9a-f]*\):\(0x[0-9a-f]*\):load:\([0-9]*\):[rwx]*:\([0-9a-fx]*\)}}}.*/\1 \2 \4/p' $form.log | sed 's/ 0$/ 0x0/' >told
    sql run.fxtq "SELECT printf('0x%x 0x%x 0x%x', address, size, vaddr) FROM mapping ORDER BY id" | cmp -s - told || fail "$form: mappings are not those of the log"
done

# A log is as good as a store: names of this machine, the same numbers.
run 0 fxtq report top logger.log
mv out top
run 0 fxtq import logger.log -o named.fxtq
run 0 fxtq symbolize named.fxtq
run 0 fxtq report top named.fxtq
cmp -s out top || fail "another report on the log than on the store: $(diff top out)"
grep -q '^ *0 *0.00% *100 *50.00% *inlined ' out || fail "the report has no line of inlined: $(cat out)"
run 0 fxtq flamegraph logger.log -o flame.html
python3 "$ROOT/tests/tools/flame_folded.py" flame.html 0 >folded
[ "$(sed -n 's/.*;around;inlined;leaf //p' folded | awk '{ n += $1 } END { print n }')" = 100 ] || fail "the flame graph has other stacks: $(cat folded)"

# llvm-symbolizer's filter, from version 15 on, has the same functions for the program's own frames.
if llvm-symbolizer --help | grep -q filter-markup; then
    mkdir -p ids/.build-id
    id=$(readelf -n backtraces | sed -n 's/.*Build ID: //p')
    mkdir -p "ids/.build-id/${id%"${id#??}"}"
    cp backtraces "ids/.build-id/${id%"${id#??}"}/${id#??}.debug"
    llvm-symbolizer --filter-markup --debug-file-directory ids <none.log 2>/dev/null | sed -n 's/.*#[0-9.]* *0x[0-9a-f]* \([a-z]*\) .*backtraces.c.*/\1/p' >llvm
    fxtsym --markup <none.log 2>/dev/null | sed -n 's/.*#[0-9.]* *0x[0-9a-f]* in \([a-z]*\) .*backtraces.c.*/\1/p' | cmp -s - llvm || fail 'llvm-symbolizer finds other functions'
fi

# ---- The same log again ----

gzip -c logger.log >logger.log.gz
run 0 fxtq import logger.log.gz -o named.fxtq
says ', as capture 1'
fxtq import -q - -o piped.fxtq <logger.log
[ "$(sql piped.fxtq 'SELECT count(*) FROM profile_sample')" = 200 ] || fail 'from a pipe'
run 0 fxtq import kernel.log -o named.fxtq
[ "$(sql named.fxtq 'SELECT count(*), count(DISTINCT module_id || "." || vaddr) FROM frame')" = "$(sql piped.fxtq 'SELECT count(*) FROM frame' | sed 's/.*/&|&/')" ] ||
    fail 'the frames of another run are others, though only addresses differ'

# ---- Damage ----

# What is no log of such is refused in one sentence; the store is not made.
printf 'nothing\nof the kind\n' >text
run 3 fxtq import text -o none.fxtq
[ "$(wc -l <err)" -eq 2 ] || fail "text: $(cat err)"
grep -q 'text, not an FXT trace' err || fail "text: $(cat err)"
grep -q 'logs with symbolizer markup' err || fail "text: $(cat err)"
[ ! -e none.fxtq ] || fail 'a store is made of nothing'

# A cut file, frames that are missing, elements that are wrong: what can be read is there, and what could not is said.
head -c 1500 logger.log.gz >cut.gz
run 3 fxtq import cut.gz -o cut.fxtq
says 'cut.gz: cut short in the line at offset'
[ "$(sql cut.fxtq 'SELECT count(*) > 10 FROM profile_sample')" = 1 ] || fail 'nothing of a cut log is imported'
[ "$(sql cut.fxtq 'SELECT kind, is_loss FROM damage WHERE kind <> "incomplete_backtraces"')" = 'truncated_tail|1' ] || fail "cut: $(sql cut.fxtq 'SELECT * FROM damage')"
python3 - logger.log.gz corrupt.gz <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-8] ^= 1  # of the checksum
open(sys.argv[2], "wb").write(data)
END
run 3 fxtq import corrupt.gz -o corrupt.fxtq
says 'corrupt.gz: compressed data that cannot be unpacked in the line at offset'
[ "$(sql corrupt.fxtq 'SELECT group_concat(kind) FROM damage WHERE is_loss')" = corrupt_input ] || fail "corrupt: $(sql corrupt.fxtq 'SELECT * FROM damage')"
sed -e '/{{{bt:2:/d' -e 's/{{{mmap:.*/{{{mmap:nowhere}}}/' none.log >holes.log
run 3 fxtq import holes.log -o holes.fxtq
says 'malformed elements, the first at offset'
says '200 backtraces without some of their frames'
[ "$(sql holes.fxtq 'SELECT kind FROM damage ORDER BY kind' | tr '\n' ' ')" = 'anonymous_frames incomplete_backtraces malformed_elements ' ] || fail "holes: $(sql holes.fxtq 'SELECT * FROM damage')"
[ "$(sql holes.fxtq "SELECT count(*) FROM frame_name WHERE name IN ('[missing]', '[unknown]')")" = 2 ] || fail 'holes have no frames'
run 3 fxtq report damage holes.log
grep -q incomplete_backtraces out || fail "report damage: $(cat out)"
# Notices are no damage, unless told.
printf '{{{bt:0:0x10:pc}}}\n' >notice.log
run 0 fxtq import notice.log -o notice.fxtq
run 3 fxtq import --strict notice.log -o strict.fxtq

# ---- Sizes ----

# Markup may come late, behind what a machine says when it starts; and a log may be long: memory follows what is different.
{
    head -c 500000 /dev/zero | tr '\0' x | fold -w 100
    cat none.log
} >late.log
run 0 fxtq import late.log -o late.fxtq
says '  200 samples, '
{
    sed -n '/module\|mmap/p' none.log
    grep -v 'module\|mmap' none.log >rest
    for _ in 1 2 3 4 5; do cat rest rest rest rest; done
} >once
cat once once once once once >long.log
run 0 prlimit --as=600000000 fxtq import long.log -o long.fxtq
says '  20,000 samples, '
finish
