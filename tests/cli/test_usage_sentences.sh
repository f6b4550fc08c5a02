#!/bin/sh
# Options that do not go together, or that nothing can be meant by: status 2, and the sentence that is true of them.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
: >t
cat >table <<'END'
sampler-capture cpu|no output file given; use -o OUT.fxt|-- true
sampler-capture cpu -o x|nothing to sample; use -- COMMAND, -p, --tree, -t, -a or --comm|
sampler-capture cpu -o x -p 1|COMMAND cannot be combined with -p, --tree, -t, -a or --comm|-- true
sampler-capture cpu -o x --comm y -p 1|--comm cannot be combined with other targets|
sampler-capture cpu -o x --cpu 0 -p 1|--cpu is for COMMAND; processes that run already stay where they are|
sampler-capture cpu -o x --background|a background session samples running processes; use -p, --tree, -t or -a|-- true
sampler-capture cpu -o x --background -p 1 -d 1|a background session ends with 'sampler-capture stop'; omit -d|
sampler-capture cpu -o x --regions y|-o and --regions cannot be combined|-- true
sampler-capture cpu --regions y --compress|raw regions have no --layout and are not compressed|-- true
sampler-capture cpu -o - --background -p 1|a background session has no standard output; use -o OUT.fxt|
sampler-capture cpu -o - --mode circular|--mode circular writes files; use -o OUT.fxt|-- true
sampler-capture cpu -o - --stats-json -|standard output is used for the trace; use --stats-json FILE|-- true
sampler-capture cpu -o x --background --stats-json - -p 1|a background session has no standard output; use --stats-json FILE|
sampler-capture cpu -o x --unwind fp --stack-size 1k|--stack-size is for --unwind auto and dwarf|-- true
sampler-capture cpu -o - --repeat 2|--repeat writes files; use -o OUT.fxt|-- true
sampler-capture cpu -o x --repeat 2 -p 1|--repeat needs an end for each capture; use -- COMMAND or -d|
sampler-capture cpu -o x --repeat 2 --comm y -d 1|--repeat cannot be combined with --background, --comm or --mode circular|
sampler-capture cpu -o x --repeat 2 --stats-json y|--stats-json cannot be combined with --repeat|-- true
sampler-capture cpu -o x -F 10 --period 1000000|-F and --period set the same rate; give only one of them, once|-- true
fxt2pprof --profile cpu --at peak t|--at, --every, --ages and --heap-types need --profile heap|
fxt2pprof --profile heap --every 1s --at peak -o x t|--every and --at cannot be combined|
fxt2pprof --profile heap --every 1s -o x t t|--every takes one trace at a time|
fxt2pprof --profile heap --every 1s t|--every writes several files: give -o FILE|
fxt2pprof --profile heap --ages -f folded t|--ages needs --format pprof|
fxt2pprof --profile heap --ages --every 1s -o x t|--ages cannot be combined with --every or a peak; use --at end or --at TIME|
fxtsym --markup --explain x|--markup and --explain cannot be combined|
fxtsym --markup -e x|--markup cannot be combined with --exe, --build-id or --json|
fxtsym --markup --json|--markup cannot be combined with --exe, --build-id or --json|
fxtsym --verify --markup x|--verify takes objects as operands and cannot be combined with --markup or --explain|
fxtsym --verify|--verify: no object given|
fxtsym --markup 0x10|unexpected operand '0x10': no addresses are read with --markup|
fxtq export|no format given; 'fxtq export --help' lists them|
fxtq export folded|no store given|
fxtq export csv --root none t|--root is for folded stacks|
fxtq export folded --table cpu t|--table is for csv|
fxtq export folded --csv-safe t|--csv-safe is for csv|
fxtq import -o x|no trace or profile given|
fxtq import t|no store given; use -o STORE|
fxtq report|no report given; 'fxtq report --help' lists them|
fxtcat convert --layout profiler --perfetto t|--layout and --perfetto cannot be combined|
fxtcat compress t t|one file at a time; 'fxtcat merge' makes one of several|
fxtdiff t --|no new runs given; usage: fxtdiff BASE... -- NEW...|
fxtdiff -- t|no base runs given before --|
fxtdiff run --base x|no --new CMD|
fxtdiff run --base x --new y z|unexpected operand 'z'; quote commands: --base 'CMD'|
fxtdiff run --base x --new y -F 10 --period 1000000|-F and --period set the same rate; give only one of them|
fxtdiff run --base x --new y --time-limit 1m|--time-limit is for -n auto|
END
while IFS='|' read -r words text command; do
    # shellcheck disable=SC2086 # words
    run 2 $words $command </dev/null
    says "$text"
    [ "$(wc -l <err)" -eq 2 ] || fail "$words: not a sentence and a hint: $(cat err)"
    [ ! -e x ] || fail "$words left an output"
done <table
finish
