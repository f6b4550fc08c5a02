-- The same by process.
SELECT upid, process.name, SUM(dur) AS cpu_time FROM sched JOIN thread USING (utid) JOIN process USING (upid) WHERE dur != -1
GROUP BY upid ORDER BY cpu_time DESC;
