-- Common Queries, "Computing CPU time for slices", as a join of intervals.
SELECT s.name, s.ts, SUM(MIN(s.ts + s.dur, c.ts + c.dur) - MAX(s.ts, c.ts)) AS cpu_time
FROM thread_slice s JOIN sched c ON c.utid = s.utid AND c.ts < s.ts + s.dur AND c.ts + c.dur > s.ts
WHERE s.dur > 0 GROUP BY s.id ORDER BY s.ts, s.depth;
