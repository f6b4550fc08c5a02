#!/usr/bin/env python3
"""What --help says, held against the man pages and against itself: help.py MAN-FOLDER

Prints what is wrong; status 1 if anything is.
"""

import os
import re
import shlex
import subprocess
import sys

PROGRAMS = "fxtdump fxtcat fxt2pprof fxtsym fxtq fxtdiff sampler-capture".split()
COLUMNS = 80
wrong = 0


def complain(text):
    global wrong
    wrong += 1
    print(text)


def output_of(argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def section(text, title):
    found = re.search(rf"^{title}[^\n]*:\n(.*?)(\n\n|\Z)", text, re.S | re.M)
    return found.group(1) if found else ""


def commands_of(program):
    text = output_of([program, "--help"]).stdout
    return [[program]] + [[program, name] for name in re.findall(r"^  ([a-z]\S*)", section(text, "Commands"), re.M)]


def options_of(text):
    """{"--output": all that its entry says}"""
    entries = re.split(r"^(?=  (?:-.|  ))(?!    {5})", section(text, "Options"), flags=re.M)
    found = {}
    for entry in entries:
        name = re.search(r"(--[a-z0-9-]+)", entry)
        if name:
            found[name.group(1)] = " ".join(entry.split())
    return found


def check_width(command, text):
    for line in text.splitlines():
        if len(line) > COLUMNS:
            complain(f"{' '.join(command)} --help: {len(line)} columns: {line}")
        if line != line.rstrip():
            complain(f"{' '.join(command)} --help: blanks at the end: {line!r}")


def check_shape(command, text):
    """One voice: sentences begin with a capital letter, phrases of options with a small one or as the word is written."""
    summary = text.split("\n\n")[1]
    if not summary[0].isupper() or not re.search(r"[.:]$", summary.strip()):
        complain(f"{' '.join(command)} --help: summary: {summary}")
    for what in re.findall(r"^  (\S.*)", section(text, "Examples"), re.M):
        if what[0].islower() and not what.startswith("pprof "):
            complain(f"{' '.join(command)} --help: an example begins with a small letter: {what}")


def check_choices(command, options):
    """What is refused otherwise is named where the option is explained; "?" is refused."""
    for name, entry in options.items():
        if name == "--completion" or not re.search(name + "=", entry):
            continue
        said = re.search(rf"{name}: '\?' is not one of (.*)", output_of(command + [f"{name}=?", "--help"]).stderr)
        for word in said.group(1).split(", ") if said else []:
            if name != "--type" and not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", entry):
                complain(f"{' '.join(command)} --help: {name} does not name {word}")


def check_examples(command, text):
    """Every option in them is one: with --help behind it, a command line is parsed and nothing is done."""
    lines = section(text, "Examples").replace("|\n", "| ").splitlines()
    for line in (line.strip() for line in lines if line.startswith("      ")):
        words = shlex.split(line.replace("<", " < ").replace(">", " > ").replace(";", " ; "), comments=False)
        for piece in " \0".join(words).replace("&&", "|").replace(";", "|").split("|"):
            argv = [word for word in piece.split(" \0") if word]
            if not argv or argv[0] not in PROGRAMS:
                continue
            argv = argv[: next((i for i, word in enumerate(argv) if word in ("<", ">")), len(argv))]
            stop = argv.index("--") if "--" in argv else len(argv)
            done = output_of(argv[:stop] + ["--help"] + argv[stop:])
            if done.returncode != 0 or not done.stdout.startswith("Usage: "):
                complain(f"{' '.join(command)} --help: example {line!r}: {done.stderr.strip()}")


def check_man(program, options, folder):
    with open(os.path.join(folder, program + ".1"), encoding="utf-8") as file:
        page = file.read()
    told = {"--" + name for name in re.findall(r"Fl -([a-z0-9][a-z0-9-]*)", page)}
    items = set()
    for line in re.findall(r"^\.It (.*)", page, re.M):
        items |= {"--" + name for name in re.findall(r"Fl -([a-z0-9][a-z0-9-]*)", line)}
    for name in sorted(options - told):
        complain(f"{program}.1: nothing on {name}")
    for name in sorted(items - options):
        complain(f"{program}.1: there is no {name}")


def main():
    for program in PROGRAMS:
        everything = set()
        for command in commands_of(program):
            text = output_of(command + ["--help"]).stdout
            options = options_of(text)
            everything |= set(options)
            check_width(command, text)
            check_shape(command, text)
            check_choices(command, options)
            check_examples(command, text)
        check_man(program, everything, sys.argv[1])
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
