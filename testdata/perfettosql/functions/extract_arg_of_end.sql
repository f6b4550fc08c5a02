-- EXTRACT_ARG, of the arguments of a slice's end, and of one that is not there.
SELECT EXTRACT_ARG(arg_set_id, 'bytes'), EXTRACT_ARG(arg_set_id, 'ratio'), EXTRACT_ARG(arg_set_id, 'none') IS NULL
FROM slice WHERE name = 'handle';
