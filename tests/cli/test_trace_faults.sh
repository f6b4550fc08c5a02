#!/bin/sh
# The model of libfxttrace's buffer (tests/test_trace_model.c) finds what it is for: with each of these faults planted, it fails.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

cat >plant.py <<'END_OF_PYTHON'
import os, shutil, sys

# What is planted: file, what stands there once, what stands there then.
FAULTS = {
    "no wait at a stop": ("libtrace/buffer.c", "        while (shared_load(&writer->busy) && ", "        while (false && shared_load(&writer->busy) && "),
    "late announcement": (
        "libtrace/buffer.h",
        "    shared_announce(&writer->busy, 1, has_membarrier);\n"
        "    if (trace_writer_has_room(buffer, writer, words))\n        return trace_writer_place(buffer, writer);",
        "    if (trace_writer_has_room(buffer, writer, words)) {\n"
        "        shared_announce(&writer->busy, 1, has_membarrier);\n        return trace_writer_place(buffer, writer);\n    }\n"
        "    shared_announce(&writer->busy, 1, has_membarrier);",
    ),
    "late announcement of a call site": (
        "libtrace/buffer.h",
        "    shared_announce(&writer->busy, 1, true);\n"
        "    if (trace_writer_has_room(buffer, writer, words))\n        return true;\n"
        "    shared_store(&writer->busy, 0);\n    return false;",
        "    if (!trace_writer_has_room(buffer, writer, words))\n        return false;\n"
        "    shared_announce(&writer->busy, 1, true);\n    return true;",
    ),
    "no barrier": ("libtrace/buffer.c", "    shared_barrier(&buffer->has_membarrier);\n", ""),
    "header before the placeholder behind it": (
        "libtrace/buffer.h",
        "    if (next < writer->end)\n        shared_store(&record[words], trace_filler(writer->end - next));\n    shared_store(&record[0], header);\n",
        "    shared_store(&record[0], header);\n    if (next < writer->end)\n        shared_store(&record[words], trace_filler(writer->end - next));\n",
    ),
    "a busy writer's chunk is taken": ("libtrace/buffer.c", "            is_pinned(buffer, i, owner, writer) ||\n", ""),
    "a row that reaches into the chunk is cut": ("libtrace/buffer.c", "row < first || row > i || ", ""),
    "the count of turns comes late": (
        "libtrace/buffer.c",
        "    raise_wrapped(buffer, wrap);\n    end = hide_rows(buffer, first, first + count, turn);\n",
        "    end = hide_rows(buffer, first, first + count, turn);\n",
    ),
    "a chunk is not marked with its turn": ("libtrace/buffer.c", "        shared_store(&buffer->words[start], trace_row(1, turn));\n", "        shared_store(&buffer->words[start], trace_filler(1));\n"),
    "a writer that was overtaken takes the chunk": ("libtrace/buffer.c", "owner >> TRACE_CHUNK_BITS >= wrap ||", ""),
    "the row is opened before its rest": (
        "libtrace/buffer.c",
        "        shared_store(&buffer->words[start], trace_row(words, turn));\n",
        "        shared_store(&buffer->words[start], trace_row(1, turn));\n",
    ),
}
root, folder, name = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
for part in ("libtrace", "libfxt"):
    os.makedirs(os.path.join(folder, part))
for file in [f for f in os.listdir(os.path.join(root, "libtrace")) if f.endswith((".c", ".h"))]:
    shutil.copy(os.path.join(root, "libtrace", file), os.path.join(folder, "libtrace", file))
shutil.copy(os.path.join(root, "libfxt/trace_format.h"), os.path.join(folder, "libfxt/trace_format.h"))
path, before, after = FAULTS[name]
path = os.path.join(folder, path)
text = open(path).read()
if text.count(before) != 1:
    sys.exit("%s: it cannot be planted: the text is there %d times" % (name, text.count(before)))
open(path, "w").write(text.replace(before, after))
END_OF_PYTHON

plant() { # plant NAME: into ./fault
    python3 -B plant.py "$ROOT" fault "$1" || exit 1
}

# shellcheck disable=SC2046 # several options
model() { # model NAME SCENE: the model with that fault fails in that scene
    plant "$1"
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -O1 -w -Ifault -I"$ROOT" -I"$ROOT/include" "$ROOT/tests/test_trace_model.c" $(pkg-config --cflags --libs check) -o model || exit 1
    run 1 env CK_RUN_CASE="$2" ./model
}
model "no wait at a stop" "a stop, circular"
model "late announcement" "a stop, circular, no membarrier"
model "late announcement of a call site" "a stop, circular"
model "no barrier" "a stop, circular"
model "header before the placeholder behind it" "two writers, circular"
model "a busy writer's chunk is taken" "two writers, two chunks, circular"
model "a row that reaches into the chunk is cut" "rows and events, circular"
model "the count of turns comes late" "two writers, circular"
model "a chunk is not marked with its turn" "two writers, two chunks, circular"
model "the row is opened before its rest" "two writers, circular"
model "a writer that was overtaken takes the chunk" "rows and events, circular"
finish
