-- Standard library, counters.intervals: each value with how long it held.
SELECT name, ts, LEAD(ts) OVER (PARTITION BY track_id ORDER BY ts) - ts AS dur, value,
       LEAD(value) OVER (PARTITION BY track_id ORDER BY ts) - value AS delta_value
FROM counter JOIN counter_track ON track_id = counter_track.id ORDER BY name, ts;
