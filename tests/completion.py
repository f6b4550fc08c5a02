#!/usr/bin/env python3
"""What shells complete, held against what --help says: completion.py SHELL FOLDER

FOLDER has the completions of all programs, as --completion prints them.  The shells are real ones, in terminals of their own: each
is asked for everything that can follow a command line.  Prints what is wrong; status 1 if anything is.
"""

import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time

PROGRAMS = "fxtdump fxtcat fxt2pprof fxtsym fxtq fxtdiff sampler-capture".split()
END = "\x07"  # what a shell writes behind an answer
CURSOR = "|"  # in a line: what follows stands behind it


class Terminal:
    """A shell in a terminal, which writes answers to a file."""

    def __init__(self, argv, start):
        self.answer = os.path.join(os.environ["WORK"], "answer")
        open(self.answer, "w").close()
        environment = dict(os.environ, TERM="dumb", ANSWER=self.answer, COLUMNS="10000", LC_ALL="C.UTF-8", HISTFILE="")
        pid, self.fd = pty.fork()
        if pid == 0:
            os.execvpe(argv[0], argv, environment)
        for line in start.splitlines():
            self.type(line + "\r")
        self.wait("READY")

    def type(self, text):
        os.write(self.fd, text.encode())

    def drain(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                if not os.read(self.fd, 65536):
                    return
            except OSError:
                return

    def wait(self, wanted=None):
        limit = time.time() + 400
        while time.time() < limit:
            self.drain()
            with open(self.answer, encoding="utf-8") as file:
                text = file.read()
            if text.endswith(END) and (wanted is None or wanted in text):
                return text[: -len(END)]
            time.sleep(0.002)
        sys.exit(f"the shell does not answer: {text!r}")

    def ask(self, line, behind, keys):
        """What stands behind the cursor is typed, too, before the cursor goes back."""
        open(self.answer, "w").close()
        self.type(line + behind + "\x02" * len(behind) + keys)
        return self.wait()


class Bash:
    """Readline inserts all completions on M-*; C-g shows the line then."""

    def __init__(self, folder):
        start = "PS1='' PS2='' HISTFILE=\nset +o history\nstty -echo\n"
        # Without the package too: the completions stand alone.
        library = os.environ.get("BASH_COMPLETION", "")
        start += f". {library}\n" if library else ""
        start += "".join(f". {folder}/{program}\n" for program in PROGRAMS)
        start += "bind 'set bell-style none'\n"
        start += """bind -x '"\\C-g": printf "%s\\a" "$READLINE_LINE" >"$ANSWER"'\n"""
        start += """printf 'READY\\a' >"$ANSWER"\n"""
        self.terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], start)

    def ask(self, line):
        line, _, behind = line.partition(CURSOR)
        text = self.terminal.ask(line, behind, "\x1b*\x07\x05\x15")
        if text == line + behind:
            return []
        assert text.endswith(behind), (line, text)
        text = text[: len(text) - len(behind)]
        before = line.rindex(" ") + 1
        option = re.match("--[^=]*=", line[before:])
        before += option.end() if option else 0
        assert text.startswith(line[:before]), (line, text)
        return shlex.split(text[before:])


class Zsh:
    """compadd is what all of zsh's completion ends in."""

    def __init__(self, folder):
        start = "unsetopt zle\nPS1='' PS2=''\nstty -echo\n"
        start += f"fpath=({folder} $fpath)\nautoload -U compinit\ncompinit -u -D\n"
        start += """compadd() {
if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
local -a hits; builtin compadd -A hits "$@"
(( ! $#hits )) || print -rl -- ${(Q)hits} >>$ANSWER
builtin compadd "$@" }
finish() { print -n "\\a" >>$ANSWER; BUFFER= }
zle -N finish
ask() { _main_complete; compstate[insert]=; compstate[list]= }
zle -C ask complete-word ask
bindkey '^Xa' ask
bindkey '^Xb' finish
setopt zle
printf 'READY\\a' >$ANSWER
"""
        self.terminal = Terminal(["zsh", "-f", "-i"], start)

    def ask(self, line):
        line, _, behind = line.partition(CURSOR)
        return self.terminal.ask(line, behind, "\x18a\x18b").split("\n")[:-1]


class Fish:
    def __init__(self, folder):
        self.folder = folder

    def ask(self, line):
        return self.ask_all([line])[0]

    def ask_all(self, lines):
        script = "".join(f"source {self.folder}/{program}.fish\n" for program in PROGRAMS)
        script += "for line in $argv\ncomplete -C $line\nprintf '\\a\\n'\nend\n"
        out = subprocess.run(["fish", "--no-config", "-c", script] + lines, capture_output=True, text=True, check=False)
        if out.stderr:
            sys.exit(out.stderr)
        answers = out.stdout.split("\a\n")[:-1]
        return [[self.value(line.split("\t")[0]) for line in answer.splitlines()] for answer in answers]

    @staticmethod
    def value(word):
        """fish has --output=FILE for a FILE."""
        word = word.split("=", 1)[1] if re.match("--.*=.", word) else word
        return word.replace("\\", "")


# ---- What is expected ----


def help_of(command):
    return subprocess.run(command.split() + ["--help"], capture_output=True, text=True, check=True).stdout


def section(text, title):
    """Lines of a section of a help text that begin an entry."""
    found = re.search(rf"^{title}[^\n]*:\n(.*?)(\n\n|\Z)", text, re.S | re.M)
    return re.findall(r"^  ?( *\S.*)", found.group(1), re.M) if found else []


def options_of(text):
    return {m.group(1) for m in re.finditer(r"^  (?:-.,| {3}) (--[a-z0-9-]+)", text, re.M)}


def words_of(text, title):
    return {line.split()[0] for line in section(text, title) if not line.startswith("  ")}


def stored(store, column, table):
    """Values of a store's table."""
    out = subprocess.run(["fxtq", "--format=tsv", "--no-header", store, f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"],
                         capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    names = subprocess.run(["fxtq", "--format=tsv", "--no-header", store, "SELECT DISTINCT name FROM process WHERE name IS NOT NULL"],
                           capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    assert len(out) > 1, (store, column)
    return set(out) | (set(names) if column == "name" else set())


ODD_NAMES = {"a b", "$(touch made)", "`touch made`;x", "it's", 'say "x"', "-x --y", "~root", "k/0:1=2", "naïve*?[a]"}

wrong = 0


def check(line, got, wanted):
    global wrong
    got = [word.rstrip("=") for word in got]
    if sys.argv[1] == "zsh":
        # It asks several times, and shows options where there is nothing else.
        got = list(set(got)) if wanted else [word for word in got if not word.startswith("-")]
    if sorted(got) != sorted(wanted):
        wrong += 1
        print(f"{sys.argv[1]}: {line!r}: missing {sorted(set(wanted) - set(got))}, too much {sorted(set(got) - set(wanted))}"
              + (f", twice: {got}" if len(got) != len(set(got)) else ""))


def cases():
    """(line, what completes it): all that --help tells, and then by hand what it does not."""
    for program in PROGRAMS:
        text = help_of(program)
        commands = words_of(text, "Commands")
        yield f"{program} --", options_of(text)
        if program in ("fxtcat", "sampler-capture"):
            yield f"{program} ", commands
        for command in sorted(commands):
            yield f"{program} {command} --", options_of(help_of(f"{program} {command}"))
        for command in sorted(commands):
            yield f"{program} {command[:2]}", {c for c in commands if c.startswith(command[:2])}
    yield "fxtq report ", words_of(help_of("fxtq report"), "Reports")
    yield "fxtq report --by function ", words_of(help_of("fxtq report"), "Reports")
    yield "fxtq export ", words_of(help_of("fxtq export"), "Formats")
    yield "fxtq help ", words_of(help_of("fxtq help"), "Topics") | words_of(help_of("fxtq"), "Commands")
    yield "fxtdiff baseline ", {"create", "accept", "show"}
    yield "fxtq schema cpu_s", {"cpu_sample"}
    yield "fxtq schema cpu_sample calls", {"callsite", "callsite_sum"}
    # Choices, however they are typed.
    formats = {"table", "box", "csv", "tsv", "json", "jsonl", "markdown", "html"}
    yield "fxtq --format ", formats
    yield "fxtq -f ", formats
    yield "fxtq --format=", formats
    yield "fxtq --format=j", {"json", "jsonl"}
    yield "fxtq --format j", {"json", "jsonl"}
    yield "fxt2pprof --format ", {"pprof", "speedscope", "firefox", "perfetto", "folded", "top"}
    yield "fxt2pprof -q --profile=heap", {"heap", "heap-free"}
    yield "fxt2pprof --at pro", {"process-peak"}
    yield "fxt2pprof --arch ", {"x86_64", "arm64"}
    yield "fxtcat convert --layout ", {"capture", "profiler"}
    yield "fxtsym --style ", {"addr2line", "llvm"}
    yield "fxtdiff --metric ", {"both", "self", "total"}
    yield "sampler-capture cpu --mode ", {"streaming", "oneshot", "circular"}
    yield "sampler-capture heap --unwind ", {"cfi", "fp"}
    yield "fxtdump --completion ", {"bash", "zsh", "fish"}
    yield "fxtdump --type large", {"large_blob"}
    yield "fxtq report top --by mo", {"module"}
    yield "fxtq flamegraph --sample-type inuse", {"inuse_space", "inuse_objects"}
    yield "fxtdiff --sample-type inuse_s", {"inuse_space"}
    # Nothing is known of these.
    for line in ("fxtq --timeout ", "fxtdump --offset=", "fxtq store.fxtq ", "fxtcat compress -l ", "fxtsym "):
        yield line, set()
    # Files: the folder has one.fxt two.fxt.zst s.fxtq p.pb.gz notes.txt and the folder sub.
    traces = {"one.fxt", "two.fxt.zst", "sub/"}
    yield "fxtdump ", traces
    yield "fxtdump --json ", traces
    yield "fxtdump --type log --pid 7 ", traces
    yield "fxtdump -xt log ", traces
    yield "fxtdump o", {"one.fxt"}
    yield "fxtdump -- o", {"one.fxt"}
    yield "fxtdump no", {"notes.txt"}
    yield "fxtcat merge one.fxt ", traces
    yield "fxtcat compress one.fxt ", set()
    yield "fxtq report top ", traces | {"s.fxtq"}
    yield "fxtq import -o ", traces | {"s.fxtq"}
    yield "fxtdiff one.fxt -- ", traces | {"s.fxtq", "p.pb.gz"}
    yield "fxtdiff s.fxtq#", {"s.fxtq#1", "s.fxtq#2"}
    yield "fxt2pprof -o no", {"notes.txt"}
    yield "fxt2pprof --output=no", {"notes.txt"}
    yield "sampler-capture cpu --regions ", {"sub/"}
    # What a store has: captures, processes, threads, names, CPUs; of the one that stands among the words.
    for option, column, table in (("--pid", "pid", "process"), ("-p", "pid", "process"), ("--tid", "tid", "thread"), ("-t", "tid", "thread"),
                                  ("--comm", "name", "thread"), ("--capture", "id", "capture"), ("--cpu", "cpu", "cpu_sample")):
        for command in ("report top", "flamegraph", "export folded"):
            yield f"fxtq {command} s.fxtq {option} ", stored("s.fxtq", column, table)
    yield "fxtq report top s.fxtq --capture=", {"1", "2"}
    yield "fxtq flamegraph s.fxtq --diff sub/odd.fxtq --capture ", {"1", "2"}
    yield "fxtq report callers x -n 3 'sub/a store' --pid ", {"7"}
    yield "fxtq report callers x -n 3 sub/a\\ store --pid ", {"7"}
    yield "fxtq report top sub/odd.fxtq --comm ", ODD_NAMES
    yield "fxtq report top sub/odd.fxtq --comm a", {"a b"}
    yield "fxtq report top sub/odd.fxtq --comm k/0", {"k/0:1=2"}
    yield "fxtq report top sub/odd.fxtq --comm na", {"naïve*?[a]"}
    yield "fxtq report top sub/odd.fxtq --tid 10", {str(100 + i) for i in range(1, 10)}
    if sys.argv[1] != "zsh":  # which shows the last of the list alone
        yield "fxtq report top sub/odd.fxtq --tid 101,11", {f"101,{100 + i}" for i in range(10, 15)}
        yield "fxtq report top sub/odd.fxtq --tid=101,11", {f"101,{100 + i}" for i in range(10, 15)}
    else:
        yield "fxtq report top sub/odd.fxtq --tid 101,11", {str(100 + i) for i in range(10, 15)}
    if sys.argv[1] != "fish":  # which can be asked at the end of a line alone
        yield "fxtq report top --capture | s.fxtq", {"1", "2"}
        yield "fxtq report top --capture | -n 3 'sub/a store'", {"1"}
    for line in ("fxtq report top --pid ", "fxtq report top one.fxt --pid ", "fxtq report top sub/no.fxtq --comm ", "fxtq report top nowhere.fxtq --cpu "):
        yield line, set()
    # Names that shells read as something else.
    yield "fxt2pprof -o a", {"a b.txt"}
    yield "fxt2pprof --output=a", {"a b.txt"}
    if sys.argv[1] != "fish":  # which takes what stands behind : or = for a name, too
        yield "fxt2pprof -o x:", {"x:y.txt"}
        yield "fxt2pprof --output=x:y", {"x:y.txt"}
        yield "fxt2pprof -o p=", {"p=q.txt"}
    # Another program's command line.
    yield "sampler-capture cpu -o x -- fxtdum", {"fxtdump"}
    yield "sampler-capture heap --interval 64k fxtdum", {"fxtdump"}
    yield "sampler-capture cpu -o x -- fxtdump no", {"notes.txt"}
    if sys.argv[1] != "bash" or os.environ.get("BASH_COMPLETION"):  # which has what bash itself has not
        yield "sampler-capture cpu --output=x -F 9 -- fxtdump --jso", {"--json"}
        yield "sampler-capture heap --output=x:y fxtdump --type=log --hex --sta", {"--stats"}


def main():
    shells = {"bash": Bash, "zsh": Zsh, "fish": Fish}
    shell = shells[sys.argv[1]](os.path.abspath(sys.argv[2]))
    all_cases = list(cases())
    if isinstance(shell, Fish):
        answers = shell.ask_all([line for line, wanted in all_cases])
    else:
        answers = [shell.ask(line) for line, wanted in all_cases]
    for (line, wanted), got in zip(all_cases, answers):
        folders = sys.argv[1] != "fish"  # which alone shows the slash
        check(line, got, {word.rstrip("/") if folders else word for word in wanted})
    print(f"{sys.argv[1]}: {len(all_cases)} command lines, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
