#!/usr/bin/env python3
"""column_damage.py STORE WHAT: flips a bit in the middle of blobs of column_data.

WHAT is the id of a blob (the next one if there is none), "blocks" (every block), "half" (half of them, of each column) or "directories".
SQLite's count of changes stays as it was, so that the columns are damaged and not out of date.
"""
import sqlite3
import sys

CHANGES, VALID_FOR = 24, 92  # places of the count in the file
FIRST_BLOCK = 16


def chosen(db, what):
    ids = [row[0] for row in db.execute("SELECT id FROM column_data WHERE length(data) > 0 ORDER BY id")]
    blocks = [i for i in ids if i >= FIRST_BLOCK]
    if what == "blocks":
        return blocks
    if what == "half":
        return [block for n, block in enumerate(blocks) if n * 40503 >> 7 & 1]
    if what == "directories":
        return [i for i in ids if 0 < i < FIRST_BLOCK]
    return [i for i in ids if i >= int(what)][:1]


def main():
    path, what = sys.argv[1:]
    with open(path, "rb") as file:
        header = file.read(100)
    db = sqlite3.connect(path)
    ids = chosen(db, what)
    for i in ids:
        data = bytearray(db.execute("SELECT data FROM column_data WHERE id = ?", (i,)).fetchone()[0])
        data[len(data) // 2] ^= 0x10
        db.execute("UPDATE column_data SET data = ? WHERE id = ?", (bytes(data), i))
    db.commit()
    db.close()
    with open(path, "r+b") as file:
        for place in (CHANGES, VALID_FOR):
            file.seek(place)
            file.write(header[place:place + 4])
    return 0 if ids else 1


sys.exit(main())
