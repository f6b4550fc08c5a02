-- "Trace Boundaries": dur = -1 where the end is not in the trace.
SELECT name, ts, IIF(dur = -1, (SELECT end_ts FROM trace_bounds) - ts, dur) AS bounded_dur FROM slice WHERE dur = -1;
