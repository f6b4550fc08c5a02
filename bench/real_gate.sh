#!/bin/sh
# How often fxtdiff is right about real programs: zstd and sqlite3, from Debian's sources, built outside of this tree.
#
#   bench/real_gate.sh FOLDER [COMPARISONS]
#
# Fetches the sources into FOLDER with apt-get source, builds each program in four ways, and compares them COMPARISONS times (20) each with
# fxtdiff run, which must be in PATH: the same build again; the same objects linked in another order; work of the main part +10 % (every
# tenth piece is done twice); an improvement (the second part, decompression or queries, does half).  Prints PASS, FAIL and INCONCLUSIVE of
# each; RUNS (5): of each build.  Only "planted" should fail, and it should never pass.  The load of the machine is printed, too: on a busy
# one more comparisons are inconclusive.  Needs what "scripts/deps bench" installs.
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
    apt-get "$@" -qq update
    apt-get "$@" -qq --download-only source "$source"
    dpkg-source --no-check -x "$source"_*.dsc "$target" >/dev/null
}

fetch libzstd zstd
fetch sqlite3 sqlite

# ---- Builds: objects once, and a main() for each variant ----

mkdir -p objects
if [ ! -e objects/zstd.done ]; then
    for file in zstd/lib/common/*.c zstd/lib/compress/*.c zstd/lib/decompress/*.c; do
        # shellcheck disable=SC2086 # flags
        gcc $FLAGS -DZSTD_DISABLE_ASM -c -o "objects/zstd-$(basename "$file" .c).o" "$file"
    done
    touch objects/zstd.done
fi
if [ ! -e objects/sqlite.done ]; then
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

for program in zstd sqlite; do
    build $program base 0 0 ''
    build $program equal 0 0 ''
    build $program reordered 0 0 -r
    build $program planted 1 0 ''
    build $program improved 0 1 ''
done

# ---- Comparisons ----

printf 'load before: %s\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
printf '%-8s %-10s %6s %6s %14s\n' program build PASS FAIL INCONCLUSIVE
for program in zstd sqlite; do
    for variant in equal reordered planted improved; do
        pass=0 fail=0 open=0
        for _ in $(seq "$COMPARISONS"); do
            status=0
            fxtdiff run -q --same-build -n "$RUNS" -F 2000 --base "$FOLDER/base/$program" --new "$FOLDER/$variant/$program" || status=$?
            case $status in
            0) pass=$((pass + 1)) ;;
            1) fail=$((fail + 1)) ;;
            5) open=$((open + 1)) ;;
            *) exit $status ;;
            esac
        done
        printf '%-8s %-10s %6d %6d %14d\n' $program $variant $pass $fail $open
    done
done
printf 'load after: %s\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
