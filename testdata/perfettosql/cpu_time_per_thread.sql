-- "Top CPU consumers".
SELECT utid, tid, thread.name, SUM(dur) AS cpu_time, COUNT(*) AS times FROM sched JOIN thread USING (utid) WHERE dur != -1
GROUP BY utid ORDER BY cpu_time DESC;
