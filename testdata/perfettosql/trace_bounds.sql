-- Where the trace begins and ends.
SELECT start_ts, end_ts, end_ts - start_ts AS dur FROM trace_bounds;
