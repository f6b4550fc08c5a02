-- Standard library, slices.with_context.
SELECT ts, dur, name, process_name, pid FROM process_slice ORDER BY ts;
