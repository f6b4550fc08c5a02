-- Slices that no other encloses.
SELECT id, name FROM slice WHERE parent_id IS NULL AND depth = 0 ORDER BY id;
