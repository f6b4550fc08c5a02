-- All slices, moments among them (Trace Processor: "slice").
SELECT ts, dur, track_id IS NOT NULL AS has_track, category, name, depth FROM slice ORDER BY ts, depth;
