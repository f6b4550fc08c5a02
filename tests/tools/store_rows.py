#!/usr/bin/env python3
"""The rows of a store without what differs from import to import: ids, hash, size, name, record counts, damage.

    store_rows.py STORE

Prints a line a row, sorted: the table, then its values, with what ids stand for in place of them.  Two stores with equal
lines hold the same."""
import hashlib
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
db.text_factory = lambda b: b.decode('utf-8', 'surrogateescape')


def rows(sql, *values):
    return db.execute(sql, values).fetchall()


modules = {i: (name, build_id) for i, name, build_id in rows('SELECT id, name, build_id FROM module')}
names = {}
for frame, *line in rows('SELECT s.frame_id, s.inline_depth, f.text, s.quality FROM symbol AS s JOIN string AS f ON f.id = s.function ORDER BY 1, 2'):
    names.setdefault(frame, []).append(tuple(line))
frames = {}
for i, module, vaddr in rows('SELECT id, module_id, vaddr FROM frame'):
    frames[i] = (modules.get(module), vaddr, tuple(names.get(i, ())) if vaddr is None else ())
texts = {None: ''}
for i, parent, frame in rows('SELECT id, parent_id, frame_id FROM callsite ORDER BY id'):
    texts[i] = hashlib.sha1(repr((texts[parent], frames[frame])).encode('utf-8', 'surrogateescape')).hexdigest()[:20]
processes = {i: koid for i, koid in rows('SELECT id, koid FROM process')}
processes[None] = None
threads = {i: (processes.get(p), koid) for i, p, koid in rows('SELECT id, upid, koid FROM thread')}
threads[None], threads[0] = None, 'idle'
event_names = {i: (c, n) for i, c, n in rows('SELECT id, category, name FROM event_name')}
sets = {None: ()}
for s, key, kind, value in rows('SELECT a.arg_set_id, k.text, a.type, a.value FROM arg AS a JOIN string AS k ON k.id = a.key_id ORDER BY 1, a.ordinal'):
    sets[s] = sets.get(s, ()) + ((key, kind, value),)
ends = dict(rows('SELECT arg_set_id, end_arg_set_id FROM arg_set_end'))
tracks = {i: (t, n, c, processes.get(p), threads.get(th), cookie) for i, t, n, c, p, th, cookie in
          rows('SELECT id, type, name, category, upid, utid, cookie FROM track')}

out = []


def put(table, *values):
    out.append(table + ' ' + repr(values))


for row in rows('SELECT format, start_ts, end_ts, period_ns, max_frames, realtime_ns, monotonic_ns, command, arch, sample_count, samples_ordered, slice_count FROM capture'):
    put('capture', *row)
for row in rows('SELECT key, value FROM meta'):
    put('meta', *row)
for row in rows('SELECT provider_id, name, lost FROM provider'):
    put('provider', *row)
for row in rows('SELECT name, count FROM loss'):
    put('loss', *row)
for row in rows('SELECT koid, name FROM process'):
    put('process', *row)
for i, name in rows('SELECT id, name FROM thread'):
    put('thread', threads[i], name)
for row in modules.values():
    put('module', *row)
for p, m, *row in rows('SELECT upid, module_id, ts, address, size, vaddr, flags FROM mapping'):
    put('mapping', processes[p], modules[m], *row)
for row in frames.values():
    put('frame', *row)
for i, _ in rows('SELECT id, parent_id FROM callsite'):
    put('callsite', texts[i])
for ts, cpu, utid, callsite, weight in rows('SELECT ts, cpu, utid, callsite_id, weight FROM cpu_sample'):
    put('cpu_sample', ts, cpu, threads[utid], texts[callsite], weight)
for ts, freed, free_ts, p, address, size, objects, count, c, f in rows('SELECT ts, freed, free_ts, upid, address, size, objects, bytes, callsite_id, free_callsite_id FROM heap_event'):
    put('heap_event', ts, freed, free_ts, processes[p], address, size, objects, count, texts[c], texts[f])
for t, p, c, n, value in rows('SELECT sample_type_id, upid, callsite_id, n, value FROM callsite_sum'):
    put('callsite_sum', t, processes.get(p), texts.get(c), round(n, 6), None if value is None else round(value, 3))
slices = {}
for i, ts, dur, track, name, depth, parent, arg_set, instant, async_id, scope in rows(
        'SELECT id, ts, dur, track_id, name_id, depth, parent_id, arg_set_id, instant, async_id, scope FROM slice_data ORDER BY id'):
    slices[i] = (ts, dur, tracks[track], event_names[name], depth, instant, async_id, slices.get(parent, (None,))[0])
    put('slice', *slices[i], scope, sets.get(arg_set), sets.get(ends.get(arg_set)) if arg_set else None)
for track in tracks.values():
    put('track', *track)
for ts, track, value in rows('SELECT ts, track_id, value FROM counter'):
    put('counter', ts, tracks[track], value)
for o, i, trace, name, out_ts, in_ts, arg_set in rows('SELECT slice_out, slice_in, trace_id, name_id, out_ts, in_ts, arg_set_id FROM flow'):
    put('flow', slices.get(o, (None,))[:4], slices.get(i, (None,))[:4], trace, event_names[name], out_ts, in_ts, sets.get(arg_set))
for ts, dur, cpu, utid, *row in rows('SELECT ts, dur, cpu, utid, end_state, priority FROM sched_slice'):
    put('sched_slice', ts, dur, cpu, threads[utid], *row)
for ts, dur, utid, state, waker in rows('SELECT ts, dur, utid, state, waker_utid FROM thread_wait'):
    put('thread_wait', ts, dur, threads[utid], state, threads[waker])
for ts, utid, message in rows('SELECT ts, utid, message FROM log'):
    put('log', ts, threads[utid], message)
for kind, t, koid, p, name, arg_set in rows('SELECT kind, type, koid, upid, name, arg_set_id FROM object'):
    put('object', kind, t, koid, processes[p], name, sets.get(arg_set))
sys.stdout.write('\n'.join(sorted(out)) + '\n')
