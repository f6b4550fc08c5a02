-- How many slices, and how long, in each thread.
SELECT thread_name, COUNT(*) AS slices, SUM(MAX(dur, 0)) AS total FROM thread_slice GROUP BY utid ORDER BY total DESC;
