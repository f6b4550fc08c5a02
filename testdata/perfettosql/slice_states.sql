-- Common Queries: the states a slice's thread was in.
SELECT s.name, t.state, SUM(MIN(s.ts + s.dur, t.ts + t.dur) - MAX(s.ts, t.ts)) AS dur
FROM thread_slice s JOIN thread_state t ON t.utid = s.utid AND t.ts < s.ts + s.dur AND t.ts + t.dur > s.ts
WHERE s.dur > 0 AND t.dur != -1 AND s.depth = 0 GROUP BY s.id, t.state ORDER BY s.ts, t.state;
