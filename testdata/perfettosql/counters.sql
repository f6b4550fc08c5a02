-- PerfettoSQL Getting Started: values of a counter.
SELECT ts, value FROM counter JOIN process_counter_track ON counter.track_id = process_counter_track.id
WHERE process_counter_track.name = 'memory:used:0' ORDER BY ts;
