-- Cookbook, "Finding slices": aggregates, without PERCENTILE.
SELECT name, COUNT(dur) AS count_slice, AVG(dur) / 1000 AS avg_dur_us, CAST(MAX(dur) AS DOUBLE) / 1000 AS max_dur_us,
       CAST(MIN(dur) AS DOUBLE) / 1000 AS min_dur_us
FROM slice WHERE dur > 0 GROUP BY name ORDER BY count_slice DESC, name LIMIT 10;
