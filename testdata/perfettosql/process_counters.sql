-- Counters with their process.
SELECT process.name, pct.name, MAX(value) FROM counter JOIN process_counter_track pct ON counter.track_id = pct.id
JOIN process USING (upid) GROUP BY pct.id ORDER BY 2;
