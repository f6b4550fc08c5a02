#!/bin/sh
# How often fxtdiff is right about real programs: zstd and sqlite3, from Debian's sources, built outside of this tree.
#
#   bench/real_gate.sh FOLDER [COMPARISONS]
#
# Fetches the sources into FOLDER with apt-get source, builds each program in four ways, and compares them COMPARISONS times (20) each with
# fxtdiff run, which must be in PATH: the same build again; the same objects linked in another order; work of the main part +10 % (every
# tenth piece is done twice); an improvement (the second part, decompression or queries, does half).  Prints PASS, FAIL and INCONCLUSIVE of
# each; RUNS (5): of each build; FREQUENCY (2000): samples of a second; PROGRAMS ("zstd sqlite"); VARIANTS ("equal reordered planted
# improved").  Only "planted" should fail, and it should never pass.  The load of the machine is printed, too: on a busy one more comparisons
# are inconclusive.  Needs what "scripts/deps bench" installs.
#
# Each verdict is appended to FOLDER/verdicts-* with its seconds and the load before it; the report of each FAIL is kept as
# FOLDER/fail-PROGRAM-VARIANT-NUMBER.txt.  The same command after an interruption does what
# is missing, and with more COMPARISONS adds to what is there; another fxtdiff, other builds, RUNS or FREQUENCY begin a new file.  A
# comparison that breaks is counted as such, and does not end the others; the status is then 1.
set -eu
[ $# -ge 1 ] || {
    echo "usage: bench/real_gate.sh FOLDER [COMPARISONS]" >&2
    exit 2
}
mkdir -p "$1"
cd "$1"
FOLDER=$PWD
COMPARISONS=${2:-20}
RUNS=${RUNS:-5}
FREQUENCY=${FREQUENCY:-2000}
PROGRAMS=${PROGRAMS:-zstd sqlite}
VARIANTS=${VARIANTS:-equal reordered planted improved}
FLAGS='-O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'

# ---- Sources ----

fetch() { # fetch SOURCE FOLDER: unpacked there
    [ -d "$2" ] && return
    mkdir -p lists/partial
    # shellcheck source=/dev/null
    . /etc/os-release
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $VERSION_CODENAME main" >sources.list
    set -- "$1" "$2" -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::Lists=$PWD/lists"
    source=$1 target=$2
    shift 2
    apt-get "$@" -o APT::Sandbox::User=root -qq update
    apt-get "$@" -o APT::Sandbox::User=root -qq --download-only source "$source"
    rm -rf "$target.part"
    dpkg-source --no-check -x "$source"_*.dsc "$target.part" >/dev/null
    mv "$target.part" "$target" # whole, or not there
}

case " $PROGRAMS " in *' zstd '*) fetch libzstd zstd ;; esac
case " $PROGRAMS " in *' sqlite '*) fetch sqlite3 sqlite ;; esac

# ---- Builds: objects once, and a main() for each variant ----

mkdir -p objects
if [ -d zstd ] && [ ! -e objects/zstd.done ]; then
    for file in zstd/lib/common/*.c zstd/lib/compress/*.c zstd/lib/decompress/*.c; do
        # shellcheck disable=SC2086 # flags
        gcc $FLAGS -DZSTD_DISABLE_ASM -c -o "objects/zstd-$(basename "$file" .c).o" "$file"
    done
    touch objects/zstd.done
fi
if [ -d sqlite ] && [ ! -e objects/sqlite.done ]; then
    # The parts one by one, so that there is an order to link them in.
    (cd sqlite && { [ -e tsrc/vdbe.c ] || { ./configure -q --disable-tcl >/dev/null 2>&1 && make -s .target_source >/dev/null 2>&1; }; })
    for file in sqlite/tsrc/*.c; do
        case $(basename "$file") in
        shell.c | tclsqlite.c | fts* | rtree.c | geopoly.c | icu.c | userauth.c | sqlite3session.c | sqlite3rbu.c | dbstat.c | dbpage.c | stmt.c) continue ;;
        esac
        # shellcheck disable=SC2086
        gcc $FLAGS -w -DSQLITE_CORE -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -Isqlite/tsrc -Isqlite -c \
            -o "objects/sqlite-$(basename "$file" .c).o" "$file"
    done
    touch objects/sqlite.done
fi

cat >zstd.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
enum { PIECE = 200000, PIECES = 300 };
int main(void)
{
    static char input[PIECE], packed[PIECE * 2], output[PIECE];
    size_t all = 0;
    for (int piece = 0; piece < PIECES; piece++) {
        size_t length = 0, size;
        srand((unsigned)piece);
        for (size_t i = 0; i < PIECE; i++)
            input[i] = "the quick brown fox jumps"[rand() % (2 + i / 9000 % 23)];
        for (int again = 0; again <= (EXTRA && piece % 10 == 0); again++)
            length = ZSTD_compress(packed, sizeof packed, input, PIECE - (size_t)rand() % 5000, 3);
        for (int again = 0; again < (LESS ? 4 : 8); again++) {
            size = ZSTD_decompress(output, sizeof output, packed, length);
            all += size;
        }
    }
    return all == 0;
}
END
cat >sqlite.c <<'END'
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        exit(1);
}
int main(void)
{
    sqlite3 *db;
    char sql[300];
    srand(1);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 1;
    run(db, "create table t (a integer primary key, b integer, c text); create index i on t (b)");
    for (int i = 0; i < 30000; i++) {
        for (int again = 0; again <= (EXTRA && i % 10 == 0); again++) {
            snprintf(sql, sizeof sql, "insert into t (b, c) values (%d, 'row %d of many')", rand() % 1000, i);
            run(db, sql);
        }
        if (i % (LESS ? 200 : 100) == 0) {
            snprintf(sql, sizeof sql, "select count(*), max(c) from t where b between %d and %d", rand() % 500, 500 + rand() % 100);
            run(db, sql);
        }
    }
    return 0;
}
END

build() { # build PROGRAM VARIANT EXTRA LESS ORDER
    mkdir -p "$2"
    # shellcheck disable=SC2086,SC2012,SC2046 # flags; names without blanks
    gcc $FLAGS -DEXTRA="$3" -DLESS="$4" -Izstd/lib -Isqlite/tsrc -Isqlite -o "$2/$1" "$1.c" $(ls objects/"$1"-*.o | sort $5) -lm -lpthread -ldl
}

for program in $PROGRAMS; do
    build "$program" base 0 0 ''
    build "$program" equal 0 0 ''
    build "$program" reordered 0 0 -r
    build "$program" planted 1 0 ''
    build "$program" improved 0 1 ''
done

# ---- Comparisons ----

# Verdicts are only added up if they are of the same programs and the same fxtdiff.
for program in $PROGRAMS; do
    cat base/"$program" equal/"$program" reordered/"$program" planted/"$program" improved/"$program" "$(command -v fxtdiff)" |
        cksum | cut -d ' ' -f 1 >"$program.sum"
    touch "verdicts-$program-$RUNS-$FREQUENCY-$(cat "$program.sum").txt"
done

verdicts_of() { # verdicts_of PROGRAM: the file of "VARIANT NUMBER VERDICT SECONDS LOAD"
    echo "verdicts-$1-$RUNS-$FREQUENCY-$(cat "$1.sum").txt"
}

compare() { # compare PROGRAM VARIANT NUMBER
    begin=$(date +%s)
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    status=0
    fxtdiff run --same-build -n "$RUNS" -F "$FREQUENCY" --base "$FOLDER/base/$1" --new "$FOLDER/$2/$1" >last.txt 2>&1 || status=$?
    case $status in
    0) verdict=PASS ;;
    1)
        verdict=FAIL
        cp last.txt "fail-$1-$2-$3.txt" # which functions
        ;;
    5) verdict=INCONCLUSIVE ;;
    129 | 130 | 143) exit $status ;; # interrupted: to be done again
    *)
        verdict=broken
        tail -3 last.txt >&2
        ;;
    esac
    echo "$2 $3 $verdict $(($(date +%s) - begin)) $load" >>"$(verdicts_of "$1")"
}

# Number by number, so that an interrupted series has as many of each.
for number in $(seq "$COMPARISONS"); do
    for program in $PROGRAMS; do
        for variant in $VARIANTS; do
            grep -q "^$variant $number " "$(verdicts_of "$program")" || compare "$program" "$variant" "$number"
        done
    done
done

printf '%-8s %-10s %6s %6s %14s %8s %10s %8s\n' program build PASS FAIL INCONCLUSIVE broken seconds load
for program in $PROGRAMS; do
    for variant in $VARIANTS; do
        awk -v program="$program" -v variant="$variant" '
            $1 == variant { verdicts[$3]++; seconds += $4; if ($5 > load) load = $5 }
            END { printf "%-8s %-10s %6d %6d %14d %8d %10d %8.2f\n", program, variant, verdicts["PASS"], verdicts["FAIL"],
                         verdicts["INCONCLUSIVE"], verdicts["broken"], seconds, load }' "$(verdicts_of "$program")"
    done
done
for program in $PROGRAMS; do
    ! grep -q ' broken ' "$(verdicts_of "$program")" || exit 1
done
