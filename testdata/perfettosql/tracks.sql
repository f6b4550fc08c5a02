-- Trace Processor: tracks by kind.
SELECT COUNT(*), COUNT(DISTINCT upid) FROM track
UNION ALL SELECT COUNT(*), COUNT(DISTINCT utid) FROM thread_track
UNION ALL SELECT COUNT(*), COUNT(DISTINCT upid) FROM process_track
UNION ALL SELECT COUNT(*), COUNT(DISTINCT name) FROM counter_track;
