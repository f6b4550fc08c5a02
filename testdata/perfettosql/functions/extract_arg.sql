-- PerfettoSQL functions: EXTRACT_ARG, of begins.
SELECT name, ts, EXTRACT_ARG(arg_set_id, 'layers') AS layers FROM slice WHERE name = 'draw' ORDER BY ts;
