-- Trace Processor's view of counters with their names.
SELECT name, value, ts FROM counters WHERE ts = 5000 ORDER BY name;
