-- What ran at one time.
SELECT name, depth FROM slice WHERE ts <= 5500 AND (dur = -1 OR ts + dur > 5500) ORDER BY ts;
