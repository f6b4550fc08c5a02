-- Values and how they show; the arguments of a slice's end are the slice's.
SELECT key, value_type, int_value, real_value, display_value FROM args
WHERE arg_set_id = (SELECT arg_set_id FROM slice WHERE name = 'handle') ORDER BY key;
