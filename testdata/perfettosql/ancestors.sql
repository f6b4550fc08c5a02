-- What ancestor_slice() gives, in plain SQL.
WITH RECURSIVE ancestor(id, parent_id, name, depth) AS (
  SELECT id, parent_id, name, depth FROM slice WHERE name = 'measure'
  UNION ALL
  SELECT s.id, s.parent_id, s.name, s.depth FROM slice s JOIN ancestor a ON s.id = a.parent_id)
SELECT name, depth FROM ancestor ORDER BY depth;
