-- Standard library, slices.with_context.
SELECT ts, dur, category, name, thread_name, tid, process_name, pid, depth FROM thread_slice ORDER BY ts, depth LIMIT 6;
