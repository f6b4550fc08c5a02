-- Trace Processor: slices of processes lie on process tracks.
SELECT slice.ts, slice.dur, slice.name, process.name AS process_name
FROM slice JOIN process_track ON slice.track_id = process_track.id JOIN process USING (upid) ORDER BY slice.ts;
