#!/usr/bin/env python3
"""column_damage.py STORE ID: flips a bit in the middle of a blob of column_data, in the file."""
import sqlite3
import sys

path, blob_id = sys.argv[1], int(sys.argv[2])
db = sqlite3.connect(path)
row = db.execute("SELECT data FROM column_data WHERE id >= ? ORDER BY id LIMIT 1", (blob_id,)).fetchone()
db.close()
with open(path, "r+b") as file:
    data = file.read()
    piece = row[0][len(row[0]) // 2:][:16]
    at = data.find(piece)
    if not piece or at < 0:
        sys.exit(1)
    file.seek(at)
    file.write(bytes([data[at] ^ 0x10]))
