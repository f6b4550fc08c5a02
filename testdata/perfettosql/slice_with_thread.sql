-- PerfettoSQL Getting Started: slices with the thread and process they ran in.
SELECT slice.ts, slice.dur, slice.name, thread.name AS thread_name, thread.tid, process.name AS process_name, process.pid
FROM slice
JOIN thread_track ON slice.track_id = thread_track.id
JOIN thread USING (utid)
LEFT JOIN process USING (upid)
ORDER BY slice.ts;
