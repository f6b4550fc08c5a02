-- Trace Processor: sched.
SELECT ts, dur, cpu, end_state, priority, tid FROM sched LEFT JOIN thread USING (utid) ORDER BY ts, cpu;
