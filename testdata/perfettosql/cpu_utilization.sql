-- How busy each CPU was while the trace ran.
SELECT cpu, ROUND(100.0 * SUM(IIF(utid != 0, dur, 0)) / (SELECT end_ts - start_ts FROM trace_bounds), 1) AS percent
FROM sched WHERE dur != -1 GROUP BY cpu ORDER BY cpu;
