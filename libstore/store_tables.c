/* Columns as in schemas/store.sql; tests/test_store_tables.c compares them.  */
#include "libstore/store_tables.h"

const struct store_table_info store_tables[STORE_TABLES] = {
    [STORE_CAPTURE] = { "capture",
                        "id, hash, name, format, size_bytes, record_count, start_ts, end_ts, "
                        "period_ns, max_frames, realtime_ns, monotonic_ns, command, arch, "
                        "first_sample_id, sample_count, samples_ordered, first_slice_id, "
                        "slice_count, first_sched_id, sched_count",
                        21, true },
    [STORE_PROVIDER] = { "provider", "id, capture_id, provider_id, name, lost", 5, true },
    [STORE_LOSS] = { "loss", "capture_id, name, count", 3, false },
    [STORE_DAMAGE] = { "damage",
                       "capture_id, kind, count, first_offset, bytes, is_loss, description", 7,
                       false },
    [STORE_META] = { "meta", "capture_id, key, value", 3, false },
    [STORE_PROCESS] = { "process", "id, capture_id, koid, name", 4, true },
    [STORE_THREAD] = { "thread", "id, upid, koid, name", 4, true },
    [STORE_MODULE] = { "module", "id, name, build_id", 3, true },
    [STORE_MAPPING] = { "mapping", "id, upid, module_id, ts, address, size, vaddr, flags", 8,
                        true },
    [STORE_FRAME] = { "frame", "id, module_id, vaddr, file_offset", 4, true },
    [STORE_STRING] = { "string", "id, text", 2, true },
    [STORE_STRING_BYTES] = { "string_bytes", "string_id, bytes", 2, false },
    [STORE_SYMBOL] = { "symbol",
                       "frame_id, inline_depth, function, system_name, file, line, \"column\", "
                       "start_line, quality",
                       9, false },
    [STORE_CALLSITE] = { "callsite", "id, parent_id, frame_id, depth", 4, true },
    [STORE_CPU_SAMPLE] = { "cpu_sample", "id, ts, cpu, utid, callsite_id, weight", 6, true },
    [STORE_HEAP_EVENT] = { "heap_event",
                           "id, ts, freed, free_ts, upid, address, size, objects, bytes, "
                           "callsite_id, free_callsite_id",
                           11, true },
    [STORE_CALLSITE_SUM] = { "callsite_sum",
                             "capture_id, sample_type_id, upid, callsite_id, n, value", 6, false },
    [STORE_PROFILE_TYPE] = { "profile_type",
                             "capture_id, ordinal, type, unit, sample_type_id, is_default, "
                             "counted_by",
                             7, false },
    [STORE_PROFILE_SAMPLE] = { "profile_sample",
                               "id, capture_id, upid, utid, callsite_id, arg_set_id, locations", 7,
                               true },
    [STORE_PROFILE_VALUE] = { "profile_value", "profile_sample_id, ordinal, sample_type_id, value",
                              4, false },
    [STORE_PROFILE_LABEL] = { "profile_label", "arg_set_id, ordinal, number, unit", 4, false },
    [STORE_PROFILE_MAPPING] = { "profile_mapping",
                                "capture_id, ordinal, number, module_id, address, size, "
                                "file_offset, filename, build_id, has",
                                10, false },
    [STORE_PROFILE_LOCATION] = { "profile_location",
                                 "capture_id, ordinal, number, mapping, address, is_folded, "
                                 "frame_id",
                                 7, false },
    [STORE_SAMPLE_TYPE] = { "sample_type", "id, type, unit", 3, true },
    [STORE_EVENT_NAME] = { "event_name", "id, category, name", 3, true },
    [STORE_TRACK] = { "track", "id, capture_id, type, name, category, upid, utid, cookie", 8,
                      true },
    [STORE_SLICE] = { "slice_data",
                      "id, ts, dur, track_id, name_id, depth, parent_id, arg_set_id, instant, "
                      "async_id, scope",
                      11, true },
    [STORE_COUNTER] = { "counter", "id, ts, track_id, value", 4, true },
    [STORE_FLOW] = { "flow",
                     "id, slice_out, slice_in, trace_id, name_id, out_ts, in_ts, arg_set_id", 8,
                     true },
    [STORE_SCHED_SLICE] = { "sched_slice", "id, ts, dur, cpu, utid, end_state, priority", 7, true },
    [STORE_THREAD_WAIT] = { "thread_wait", "id, ts, dur, utid, state, waker_utid", 6, true },
    [STORE_LOG] = { "log", "id, ts, utid, message", 4, true },
    [STORE_OBJECT] = { "object", "id, capture_id, kind, type, koid, upid, name, arg_set_id", 8,
                       true },
    [STORE_ARG] = { "arg", "arg_set_id, ordinal, key_id, type, value", 5, false },
    [STORE_ARG_SET_END] = { "arg_set_end", "arg_set_id, end_arg_set_id", 2, false },
};
