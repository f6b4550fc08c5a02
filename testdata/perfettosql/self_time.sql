-- Time in a slice and in none of its children.
SELECT p.name, p.ts, p.dur - COALESCE((SELECT SUM(c.dur) FROM slice c WHERE c.parent_id = p.id), 0) AS self_dur
FROM slice p JOIN thread_track t ON p.track_id = t.id WHERE p.dur > 0 ORDER BY self_dur DESC, p.ts;
