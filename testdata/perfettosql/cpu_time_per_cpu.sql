-- Trace Processor: CPU time of each CPU, idle left out.
SELECT cpu, SUM(dur) AS total_dur FROM sched WHERE utid != 0 AND dur != -1 GROUP BY cpu ORDER BY cpu;
