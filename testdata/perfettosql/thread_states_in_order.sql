-- Trace Processor: what one thread did.
SELECT ts, dur, state, cpu FROM thread_state WHERE utid = (SELECT utid FROM thread WHERE name = 'main') ORDER BY ts;
