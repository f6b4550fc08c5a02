-- Cookbook: the slowest first.
SELECT name, dur / 1000.0 AS dur_us FROM thread_slice WHERE dur <> -1 ORDER BY dur DESC, ts LIMIT 5;
