-- Cookbook, "Finding slices".
SELECT ts, dur, name FROM slice WHERE name GLOB '*a*e*' ORDER BY ts LIMIT 10;
