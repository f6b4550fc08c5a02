# damage.sh - what fxtq says of damaged debug information.  Sourced, after common.sh.
# shellcheck shell=sh

# keeps_note KEY WORD MODULE SENTENCE: a store of trace.fxt has the sentence on the module, as KEY in JSON, since its names were looked
# up; without that, coverage has no WORD.
keeps_note() {
    run 0 fxtq import -q trace.fxt -o run.fxtq
    run 0 fxtq coverage run.fxtq
    ! grep -q "$2" out || fail "nothing was looked up: $(cat out)"
    run 0 fxtq symbolize run.fxtq
    says "$3: $4"
    run 0 fxtq coverage run.fxtq
    prints "$3: $4"
    run 0 fxtq coverage --json run.fxtq
    prints "\"$1\":\"$4\""
    # The note does not make a cached store one of the user's.
    for _ in 1 2; do
        run 0 fxtq coverage --cache trace.fxt
        prints "$3: $4"
        touch -d '+1 minute' trace.fxt
        [ ! -s err ] || fail "the cached store is not replaced: $(cat err)"
    done
}
