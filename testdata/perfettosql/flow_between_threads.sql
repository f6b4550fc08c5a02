-- Standard library, directly_connected_flow: with the threads at both ends.
SELECT o.name, ot.name AS out_thread, i.name, it.name AS in_thread, i.ts - o.ts AS delay FROM flow
JOIN slice o ON flow.slice_out = o.id JOIN thread_track ott ON o.track_id = ott.id JOIN thread ot ON ot.utid = ott.utid
JOIN slice i ON flow.slice_in = i.id JOIN thread_track itt ON i.track_id = itt.id JOIN thread it ON it.utid = itt.utid
ORDER BY flow.id;
