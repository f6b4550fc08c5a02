-- Trace Processor's tests: funcgraph, by the older name of the table.
SELECT ts, dur, tid, s.name, depth FROM slices s JOIN thread_track tt ON (s.track_id = tt.id) JOIN thread USING (utid)
WHERE tid = 2000 ORDER BY ts;
