-- Scheduling latency: how long threads waited for a CPU.
SELECT ts, dur, thread.name FROM thread_state JOIN thread USING (utid) WHERE state IN ('R', 'W') ORDER BY dur DESC, ts;
