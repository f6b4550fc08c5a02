-- Trace Processor: slices that a flow connects.
SELECT trace_id, o.name AS slice_out, i.name AS slice_in FROM flow JOIN slice o ON flow.slice_out = o.id
JOIN slice i ON flow.slice_in = i.id ORDER BY flow.id;
