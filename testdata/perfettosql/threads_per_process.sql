-- How many threads each process has.
SELECT pid, process.name, COUNT(utid) AS threads FROM process LEFT JOIN thread USING (upid) GROUP BY upid ORDER BY pid;
