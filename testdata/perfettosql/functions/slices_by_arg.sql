-- Slices grouped by an argument.
SELECT EXTRACT_ARG(arg_set_id, 'kind') AS kind, COUNT(*), SUM(dur) FROM slice WHERE name = 'frame' GROUP BY kind ORDER BY kind;
