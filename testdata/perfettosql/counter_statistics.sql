-- Least, greatest and average value of each counter.
SELECT t.name, COUNT(*) AS n, MIN(c.value), MAX(c.value), AVG(c.value) FROM counter c JOIN counter_track t ON c.track_id = t.id
GROUP BY t.name ORDER BY t.name;
