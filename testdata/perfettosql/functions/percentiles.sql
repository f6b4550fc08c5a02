-- Cookbook, "Finding slices": percentiles of durations.
SELECT COUNT(dur) AS count_slice, PERCENTILE(dur, 50) AS p50_dur, PERCENTILE(dur, 100) AS p100_dur FROM slice
WHERE name IN ('frame', 'draw', 'raster');
