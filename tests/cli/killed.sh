# Taken in by tests that kill captures, with fail.sh before, by
#
#   . "$ROOT/tests/cli/killed.sh"
#
# shellcheck shell=sh
# What a capture left that was killed: damage but a cut tail is a failure.
readable() { # readable TRACE
    status=0
    fxtdump --stats --json "$1" >stats 2>err || status=$?
    python3 - "$status" <<'EOF'
import json, sys
stats = json.load(open("stats"))
damage = {kind for kind, entry in stats["damage"].items() if (entry["count"] if isinstance(entry, dict) else entry)}
damage -= {"provider_loss"}
assert damage <= {"truncated_tail"}, stats
assert sys.argv[1] == ("3" if damage else "0"), (sys.argv[1], stats)
EOF
}
