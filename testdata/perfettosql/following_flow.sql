-- What following_flow() gives, in plain SQL.
WITH RECURSIVE follow(slice, hops) AS (
  SELECT id, 0 FROM slice WHERE name = 'draw' AND ts = 3500
  UNION ALL
  SELECT slice_in, hops + 1 FROM flow JOIN follow ON slice_out = slice)
SELECT name, hops FROM follow JOIN slice ON slice.id = follow.slice ORDER BY hops;
