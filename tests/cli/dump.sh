# The contents of stores as SQL, to compare them: without columns, which say how often their file was written to.
# shellcheck shell=sh
dump() { # dump STORE [SQL]...
    dumped=$1
    shift
    sqlite3 "$dumped" .dump "$@" | grep -v column_data
}
