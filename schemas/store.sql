-- The store: one SQLite file with the samples, heap events and timelines of captures.
--
-- This file is the schema and its documentation.  `fxtq schema` prints it, and docs/store.md is generated from
-- it.
--
-- Times (ts) are nanoseconds on the capture's clock, durations (dur) nanoseconds.  Unsigned 64-bit
-- numbers of a trace (addresses, koids, uint64 arguments) are stored as the signed number with the
-- same 64 bits; printf('%x') and printf('%u') show the unsigned value.  Texts are UTF-8; bytes of a trace that
-- are not UTF-8 become U+FFFD.
--
-- Names are those of PerfettoSQL if the meaning agrees: utid and upid are the store's own ids of threads and
-- processes, tid and pid those of the system.  If PerfettoSQL has texts where a table has ids, the table is called
-- NAME_data, and the view NAME has the texts.
--
-- You may add tables, views and indexes of your own.  The ones below must not be changed: a file may come from
-- an untrusted source, and it is rejected if one of these differs.
--
-- Ids count from 1 without gaps unless noted otherwise.  Rows of a capture are written when it is imported and
-- never change, except symbols, which `fxtq symbolize` improves.
--
-- A row of capture may be deleted.  The trigger capture_deleted then removes the rows of the capture from all
-- tables, which leaves gaps in the ids of processes, threads, tracks and their rows.  The foreign keys describe the
-- same; SQLite only checks them after PRAGMA foreign_keys = ON, and slowly, because most have no index.  Frames,
-- call sites, modules, names and strings belong to all captures and are kept.
--
-- Views have a capture_id, except those of data that belong to all captures (frames, call sites, modules,
-- arguments).

PRAGMA application_id = 1180193873; -- "FXTQ" in bytes 68 to 71 of the file
PRAGMA user_version = 4;

---- Captures ----

-- One imported trace or profile.
CREATE TABLE capture (
    id              INTEGER PRIMARY KEY,
    hash            BLOB NOT NULL UNIQUE, -- 128-bit hash of the uncompressed bytes: the identity of the capture
    name            TEXT NOT NULL,    -- name of the file, without folders
    format          TEXT NOT NULL,    -- 'fxt', 'pprof', 'folded' or 'markup'
    size_bytes      INTEGER NOT NULL, -- uncompressed
    record_count    INTEGER NOT NULL,
    start_ts        INTEGER,          -- earliest time; NULL: the capture has no times
    end_ts          INTEGER,          -- latest time
    period_ns       INTEGER,          -- CPU time between samples; NULL: unknown
    max_frames      INTEGER,          -- longer stacks were truncated to this number of frames; NULL: unknown
    realtime_ns     INTEGER,          -- Unix time at ts = monotonic_ns; NULL: unknown
    monotonic_ns    INTEGER,
    command         TEXT,             -- command line of the captured program; NULL: unknown
    arch            TEXT,             -- 'x86_64', 'aarch64', ...; NULL: unknown
    first_sample_id INTEGER NOT NULL, -- its cpu_sample rows have sample_count ids from this one
    sample_count    INTEGER NOT NULL,
    samples_ordered INTEGER NOT NULL, -- 1: samples are in order of time; 0: nearly
    first_slice_id  INTEGER NOT NULL, -- the same for slice_data
    slice_count     INTEGER NOT NULL,
    first_sched_id  INTEGER NOT NULL, -- the same for sched_slice
    sched_count     INTEGER NOT NULL
) STRICT;

-- Other facts about a capture or, with capture_id 0, about the store.
-- Keys of traces: kernel, cpu_model, heap_interval_bytes (mean number of bytes per sampled allocation).
-- Keys of pprof profiles: time_ns, duration_ns, period, period_type, period_unit, default_sample_type,
-- drop_frames, keep_frames, doc_url, comment.0, comment.1, ...; a value that is not UTF-8 is a blob.
-- Labels that users give to captures (fxtq import --label): label.NAME, such as label.commit.
-- Keys of the store: cache_program, cache_inode, cache_trace, cache_capture and cache_damaged mark a file
-- that `fxtq --cache` created and may replace.  libdwarf.N: how much of the debug information of module N only
-- libdwarf could read, as a sentence of the last lookup that needed it.  unread.N: how many damaged units of
-- that debug information could not be read completely, as a sentence of the last lookup that found such units.
CREATE TABLE meta (
    capture_id INTEGER NOT NULL, -- 0: the store
    key        TEXT NOT NULL,
    value      ANY,
    PRIMARY KEY (capture_id, key)
) STRICT, WITHOUT ROWID;

-- Removes the rows of a capture from all tables before the capture is deleted.
CREATE TRIGGER capture_deleted BEFORE DELETE ON capture
BEGIN
    DELETE FROM arg WHERE arg_set_id IN (
        SELECT e.end_arg_set_id FROM slice_data AS s JOIN arg_set_end AS e ON e.arg_set_id = s.arg_set_id
        WHERE s.id >= OLD.first_slice_id AND s.id < OLD.first_slice_id + OLD.slice_count);
    DELETE FROM arg_set_end WHERE arg_set_id IN (
        SELECT arg_set_id FROM slice_data
        WHERE id >= OLD.first_slice_id AND id < OLD.first_slice_id + OLD.slice_count);
    DELETE FROM arg WHERE arg_set_id IN (
        SELECT arg_set_id FROM slice_data
        WHERE id >= OLD.first_slice_id AND id < OLD.first_slice_id + OLD.slice_count
        UNION ALL
        SELECT arg_set_id FROM flow WHERE coalesce(slice_out, slice_in) >= OLD.first_slice_id
        AND coalesce(slice_out, slice_in) < OLD.first_slice_id + OLD.slice_count
        UNION ALL SELECT arg_set_id FROM object WHERE capture_id = OLD.id
        UNION ALL SELECT arg_set_id FROM profile_sample WHERE capture_id = OLD.id);
    DELETE FROM profile_label WHERE arg_set_id IN (
        SELECT arg_set_id FROM profile_sample WHERE capture_id = OLD.id);
    DELETE FROM flow WHERE coalesce(slice_out, slice_in) >= OLD.first_slice_id
    AND coalesce(slice_out, slice_in) < OLD.first_slice_id + OLD.slice_count;
    DELETE FROM slice_data WHERE id >= OLD.first_slice_id AND id < OLD.first_slice_id + OLD.slice_count;
    DELETE FROM counter WHERE track_id IN (SELECT id FROM track WHERE capture_id = OLD.id);
    DELETE FROM track WHERE capture_id = OLD.id;
    DELETE FROM sched_slice WHERE id >= OLD.first_sched_id AND id < OLD.first_sched_id + OLD.sched_count;
    DELETE FROM thread_wait WHERE utid IN (
        SELECT t.id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE p.capture_id = OLD.id);
    DELETE FROM log WHERE utid IN (
        SELECT t.id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE p.capture_id = OLD.id);
    DELETE FROM cpu_sample WHERE id >= OLD.first_sample_id AND id < OLD.first_sample_id + OLD.sample_count;
    DELETE FROM heap_event WHERE upid IN (SELECT id FROM process WHERE capture_id = OLD.id);
    DELETE FROM object WHERE capture_id = OLD.id;
    DELETE FROM profile_value WHERE profile_sample_id IN (
        SELECT id FROM profile_sample WHERE capture_id = OLD.id);
    DELETE FROM profile_sample WHERE capture_id = OLD.id;
    DELETE FROM profile_location WHERE capture_id = OLD.id;
    DELETE FROM profile_mapping WHERE capture_id = OLD.id;
    DELETE FROM profile_type WHERE capture_id = OLD.id;
    DELETE FROM sample_event WHERE capture_id = OLD.id;
    DELETE FROM callsite_sum WHERE capture_id = OLD.id;
    DELETE FROM mapping WHERE upid IN (SELECT id FROM process WHERE capture_id = OLD.id);
    DELETE FROM thread WHERE upid IN (SELECT id FROM process WHERE capture_id = OLD.id);
    DELETE FROM process WHERE capture_id = OLD.id;
    DELETE FROM provider WHERE capture_id = OLD.id;
    DELETE FROM loss WHERE capture_id = OLD.id;
    DELETE FROM damage WHERE capture_id = OLD.id;
    DELETE FROM meta WHERE capture_id = OLD.id;
END;

-- A provider of trace records.
CREATE TABLE provider (
    id          INTEGER PRIMARY KEY,
    capture_id  INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    provider_id INTEGER NOT NULL, -- provider id in the trace
    name        TEXT NOT NULL,
    lost        INTEGER NOT NULL  -- number of times it reported a full buffer
) STRICT;

-- What the capture lost, by cause.  The view stats says what each count is of.
CREATE TABLE loss (
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,    -- the cause: 'ring', 'sideband', 'region_full', 'stopped', 'unreadable', 'exited', 'throttled', 'provider_events', 'trace_records', 'heap_allocations', 'heap_frees', 'heap_infos', 'heap_rejected', 'heap_no_memory', 'heap_forgotten'
    count      INTEGER NOT NULL, -- of samples, records, CPUs, ..., as the cause is; not 0
    PRIMARY KEY (capture_id, name)
) STRICT, WITHOUT ROWID;

-- Damage and notices of a capture, by kind.
CREATE TABLE damage (
    capture_id   INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    kind         TEXT NOT NULL,    -- as in fxtdump: 'truncated_tail', 'stray_ends', ...
    count        INTEGER NOT NULL, -- not 0
    first_offset INTEGER,          -- uncompressed offset of the first; NULL: not recorded
    bytes        INTEGER,          -- bytes outside of records; NULL: not applicable
    is_loss      INTEGER NOT NULL, -- 1: damage, bytes were lost; 0: a notice
    description  TEXT NOT NULL,    -- a phrase for display
    PRIMARY KEY (capture_id, kind)
) STRICT, WITHOUT ROWID;

---- Processes, threads and mappings ----

-- A process of one capture.
CREATE TABLE process (
    id         INTEGER PRIMARY KEY,
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    koid       INTEGER NOT NULL, -- kernel object id; in our captures pid | incarnation << 32
    name       TEXT,             -- NULL: unknown
    upid       INTEGER GENERATED ALWAYS AS (id) VIRTUAL,
    pid        INTEGER GENERATED ALWAYS AS (koid & 4294967295) VIRTUAL
) STRICT;

-- A thread of one capture.
CREATE TABLE thread (
    id   INTEGER PRIMARY KEY,
    upid INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
    koid INTEGER NOT NULL,
    name TEXT,             -- NULL: unknown
    utid INTEGER GENERATED ALWAYS AS (id) VIRTUAL,
    tid  INTEGER GENERATED ALWAYS AS (koid & 4294967295) VIRTUAL
) STRICT;

-- An ELF object, the same in every process and capture.
CREATE TABLE module (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL, -- path, or '[vdso]', ...
    build_id TEXT,          -- hexadecimal; NULL: unknown
    -- Name of its frames without symbols: '[libc.so.6]', or '[build ID]' for a module without a name;
    -- NULL: neither.  Stored, because views read it once per sample.
    label    TEXT GENERATED ALWAYS AS (
        '[' || nullif(iif(name = '', build_id, trim(replace(name, rtrim(name, replace(name, '/', '')), ''), '[]')), '')
            || ']') STORED
) STRICT;

-- A module mapped by a process at [address, address + size).
CREATE TABLE mapping (
    id        INTEGER PRIMARY KEY,
    upid      INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
    module_id INTEGER NOT NULL REFERENCES module (id),
    ts        INTEGER,          -- start of the mapping; NULL: unknown
    address   INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    vaddr     INTEGER NOT NULL, -- module-relative address of its first byte
    flags     INTEGER NOT NULL  -- flags of ELF, as far as recorded: 4 readable, 2 writable, 1 executable
) STRICT;

---- Stacks ----

-- A code location: (module, vaddr); in imported profiles, (module, file_offset) with the names of the profile;
-- or, without an address, its names.  Shared by all captures.
CREATE TABLE frame (
    id          INTEGER PRIMARY KEY,
    module_id   INTEGER REFERENCES module (id), -- NULL: in no module
    vaddr       INTEGER, -- lookup address, relative to the module; NULL: not known
    file_offset INTEGER  -- pprof frames: offset of the code in the file of the module, or, without a
                         -- module, its address.  NULL: not a pprof frame
) STRICT;

-- Texts, referenced by id.  Two ids may have equal texts.
CREATE TABLE string (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

-- The original bytes of a text of an imported profile that is not UTF-8, contains a NUL, or is longer than the
-- limit of texts in a store.
CREATE TABLE string_bytes (
    string_id INTEGER PRIMARY KEY REFERENCES string (id),
    bytes     BLOB NOT NULL
) STRICT;

-- Symbols of a frame.  inline_depth 0 is the innermost inlined function; the highest inline_depth is the
-- function that contains the code.  A frame without rows has no symbols.
CREATE TABLE symbol (
    frame_id     INTEGER NOT NULL REFERENCES frame (id),
    inline_depth INTEGER NOT NULL,
    function     INTEGER NOT NULL REFERENCES string (id), -- readable name
    system_name  INTEGER REFERENCES string (id), -- linkage name; NULL: the same, or unknown
    file         INTEGER REFERENCES string (id),
    line         INTEGER,
    "column"     INTEGER,
    start_line   INTEGER,          -- of the function
    quality      INTEGER NOT NULL, -- 0 bounds of a function without a name, 1 exported names, 2 .gnu_debugdata, 3 symbol table, 4 DWARF, 5 recorded in the capture
    PRIMARY KEY (frame_id, inline_depth)
) STRICT, WITHOUT ROWID;

-- A stack is one integer: the call site of its leaf.  Each (parent, frame) is stored once, a parent before its
-- children.  Shared by all captures.
CREATE TABLE callsite (
    id        INTEGER PRIMARY KEY,
    parent_id INTEGER REFERENCES callsite (id), -- call site of the caller; NULL for a root
    frame_id  INTEGER NOT NULL REFERENCES frame (id),
    depth     INTEGER NOT NULL  -- 0 for a root
) STRICT;
-- For walks from callers to callees, as in call_tree().
CREATE INDEX callsite_by_parent ON callsite (parent_id, frame_id);

-- Frames with display names: the innermost function; without symbols '[module]', or '[build ID]' for a module
-- without a name.
CREATE VIEW frame_name AS
SELECT f.id, f.module_id, m.name AS module, f.vaddr,
       CAST(coalesce(fn.text, m.label, '[unknown]') AS TEXT) AS name,
       file.text AS file, s.line
FROM frame AS f
LEFT JOIN module AS m ON m.id = f.module_id
LEFT JOIN symbol AS s ON s.frame_id = f.id AND s.inline_depth = 0
LEFT JOIN string AS fn ON fn.id = s.function
LEFT JOIN string AS file ON file.id = s.file;

---- Samples ----

-- One CPU sample.  Samples of a capture have consecutive ids (capture.first_sample_id).  If
-- capture.samples_ordered is 1, they are in order of time, and a range of times is a range of ids.  There is no
-- index, because samples are read in ranges.
CREATE TABLE cpu_sample (
    id             INTEGER PRIMARY KEY,
    ts             INTEGER NOT NULL,
    cpu            INTEGER,          -- NULL: unknown
    utid           INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    callsite_id    INTEGER NOT NULL REFERENCES callsite (id),
    weight         INTEGER,          -- nanoseconds of CPU time or amount of the event; NULL: unknown
    sample_type_id INTEGER NOT NULL DEFAULT 1 REFERENCES sample_type (id) -- 1: CPU time; else an event (sample_event)
) STRICT;

-- The events that samples of a trace were taken by, apart from CPU time, in its order: cycles, page-faults, ...
CREATE TABLE sample_event (
    capture_id     INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL, -- from 0
    sample_type_id INTEGER NOT NULL REFERENCES sample_type (id), -- its name and its unit
    PRIMARY KEY (capture_id, ordinal)
) STRICT, WITHOUT ROWID;

-- One sampled allocation with its release, in the order in which allocations were recorded.  The protocol has
-- no threads.
CREATE TABLE heap_event (
    id               INTEGER PRIMARY KEY,
    ts               INTEGER,          -- of the allocation; NULL: the capture has no times
    freed            INTEGER NOT NULL, -- 0: in use at the end; 1: released; 2: no release recorded, but its address was allocated again
    free_ts          INTEGER,          -- of the release; NULL: none, or no times
    upid             INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
    address          INTEGER NOT NULL,
    size             INTEGER NOT NULL, -- bytes of this allocation
    objects          REAL NOT NULL,    -- estimated number of allocations that it represents
    bytes            REAL NOT NULL,    -- estimated number of bytes that it represents
    callsite_id      INTEGER REFERENCES callsite (id), -- of the allocation; NULL: no stack
    free_callsite_id INTEGER REFERENCES callsite (id) -- of the release; NULL: no stack
) STRICT;

-- Types and units of values, as in pprof.
CREATE TABLE sample_type (
    id   INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    unit TEXT NOT NULL,
    UNIQUE (type, unit)
) STRICT;
-- Types of traces: CPU time; all allocations, allocations in use at the end, and released allocations.  Events
-- (sample_event) and types of profiles come after them.
INSERT INTO sample_type (id, type, unit) VALUES
(1, 'cpu', 'nanoseconds'), (2, 'alloc_space', 'bytes'), (3, 'inuse_space', 'bytes'), (4, 'free_space', 'bytes');

-- Sums of samples per call site, for reports and flame graphs without filters.
CREATE TABLE callsite_sum (
    capture_id     INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    sample_type_id INTEGER NOT NULL REFERENCES sample_type (id),
    upid           INTEGER NOT NULL, -- process.id; 0: unknown
    callsite_id    INTEGER NOT NULL, -- callsite.id of the leaf (the values are self values); 0: an empty stack
    n              ANY NOT NULL,     -- number of samples or allocations; real if estimated
    value          ANY,              -- sum of values; NULL: unknown (samples of a capture without a period)
    PRIMARY KEY (capture_id, sample_type_id, upid, callsite_id)
) STRICT, WITHOUT ROWID;

-- The sample types of an imported profile, in its order.
CREATE TABLE profile_type (
    capture_id     INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL, -- from 0
    type           INTEGER NOT NULL REFERENCES string (id),
    unit           INTEGER NOT NULL REFERENCES string (id),
    sample_type_id INTEGER NOT NULL REFERENCES sample_type (id), -- the type with these two texts
    is_default     INTEGER NOT NULL, -- 1: the default of the profile or, if it has none, the last type
    counted_by     INTEGER,          -- ordinal of the type that counts this one, such as samples for cpu and
                                     -- inuse_objects for inuse_space; NULL: each sample counts 1
    PRIMARY KEY (capture_id, ordinal)
) STRICT, WITHOUT ROWID;

-- One sample of an imported profile (pprof, folded stacks, backtraces of a log), without a time.
CREATE TABLE profile_sample (
    id          INTEGER PRIMARY KEY,
    capture_id  INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    upid        INTEGER REFERENCES process (id) ON DELETE CASCADE, -- from the labels; without such a label, a process without a pid
    utid        INTEGER REFERENCES thread (id) ON DELETE CASCADE, -- from the labels; NULL: no such label
    callsite_id INTEGER REFERENCES callsite (id), -- NULL: an empty stack
    arg_set_id  INTEGER,          -- labels; NULL: none
    locations   BLOB              -- profile_location.ordinal of each frame, leaf first, 4 bytes each, little-endian,
                                  -- if they do not follow from the frames; else NULL
) STRICT;

-- The values of a profile sample, in the order of the sample types of the profile.
CREATE TABLE profile_value (
    profile_sample_id INTEGER NOT NULL REFERENCES profile_sample (id) ON DELETE CASCADE,
    ordinal           INTEGER NOT NULL, -- profile_type.ordinal
    sample_type_id    INTEGER NOT NULL REFERENCES sample_type (id),
    value             ANY NOT NULL,     -- integer; real for folded stacks with a fraction
    PRIMARY KEY (profile_sample_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Parts of a label that its arg (type 6, string, or 3, int64) has no place for.
CREATE TABLE profile_label (
    arg_set_id INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL, -- arg.ordinal
    number     INTEGER,          -- number of a label that has a text, too
    unit       INTEGER REFERENCES string (id), -- unit of the number; NULL: none
    PRIMARY KEY (arg_set_id, ordinal)
) STRICT, WITHOUT ROWID;

-- A mapping of a pprof profile: the place of a module when the profile was recorded.
CREATE TABLE profile_mapping (
    capture_id  INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL, -- its place in the profile, from 1
    number      INTEGER NOT NULL, -- its id there
    module_id   INTEGER NOT NULL REFERENCES module (id),
    address     INTEGER NOT NULL, -- addresses [address, address + size)
    size        INTEGER NOT NULL,
    file_offset INTEGER NOT NULL, -- of the first byte
    filename    INTEGER REFERENCES string (id), -- NULL: none
    build_id    INTEGER REFERENCES string (id), -- as it was written; NULL: none
    has         INTEGER NOT NULL, -- flags: 1 functions, 2 file names, 4 line numbers, 8 inlined functions
    PRIMARY KEY (capture_id, ordinal)
) STRICT, WITHOUT ROWID;

-- A location of a pprof profile.  Several locations may have the same frame.  A frame of a stack is the first of
-- them unless profile_sample.locations has another one.
CREATE TABLE profile_location (
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL, -- its place in the profile, from 1
    number     INTEGER NOT NULL, -- its id there
    mapping    INTEGER,          -- profile_mapping.ordinal; NULL: none
    address    INTEGER NOT NULL,
    is_folded  INTEGER NOT NULL, -- 1: it represents several locations with equal names
    frame_id   INTEGER NOT NULL REFERENCES frame (id),
    PRIMARY KEY (capture_id, ordinal)
) STRICT, WITHOUT ROWID;

---- Timeline ----

-- Category and name of slices, instants, counters, flows.  Two ids may have equal texts.
CREATE TABLE event_name (
    id       INTEGER PRIMARY KEY,
    category TEXT NOT NULL,
    name     TEXT NOT NULL
) STRICT;

-- The tracks of events: threads, asynchronous operations and counters.
CREATE TABLE track (
    id         INTEGER PRIMARY KEY,
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    type       TEXT NOT NULL, -- 'thread', 'async' or 'counter'
    name       TEXT,          -- name of a counter ('counter:argument:id') or an asynchronous operation
    category   TEXT,          -- likewise
    upid       INTEGER REFERENCES process (id) ON DELETE CASCADE,
    utid       INTEGER REFERENCES thread (id) ON DELETE CASCADE, -- NULL: not a track of a thread
    cookie     INTEGER        -- counter id in the trace
) STRICT;

-- A duration or an instant of a thread or of an asynchronous operation, nested by time within its track.
-- Asynchronous operations that overlap are on different tracks of the same name, each on one that was free when
-- it began.  A child may end after its parent, if it was recorded so.
CREATE TABLE slice_data (
    id         INTEGER PRIMARY KEY, -- within a capture in order of ts, parents before children
    ts         INTEGER NOT NULL,
    dur        INTEGER NOT NULL,    -- -1: its end is not in the trace
    track_id   INTEGER NOT NULL REFERENCES track (id) ON DELETE CASCADE,
    name_id    INTEGER NOT NULL REFERENCES event_name (id),
    depth      INTEGER NOT NULL,    -- 0: top level
    parent_id  INTEGER,             -- slice_data.id
    arg_set_id INTEGER,
    instant    INTEGER NOT NULL,    -- 1: an instant; dur is 0
    async_id   INTEGER,             -- correlation id of an asynchronous operation
    scope      INTEGER              -- of an instant: 1 process, 2 global, or another number of the trace;
                                    -- NULL: thread
) STRICT;

-- The value of a counter from ts on.
CREATE TABLE counter (
    id         INTEGER PRIMARY KEY,
    ts         INTEGER NOT NULL,
    track_id   INTEGER NOT NULL REFERENCES track (id) ON DELETE CASCADE,
    value      ANY               -- integer or real
) STRICT;

-- One hop of a flow between slices.
CREATE TABLE flow (
    id         INTEGER PRIMARY KEY,
    slice_out  INTEGER,          -- slice_data.id of its start; NULL: no slice was open
    slice_in   INTEGER,          -- slice_data.id of its end; NULL: no slice was open
    trace_id   INTEGER NOT NULL, -- flow id in the trace
    name_id    INTEGER NOT NULL REFERENCES event_name (id),
    out_ts     INTEGER,
    in_ts      INTEGER,
    arg_set_id INTEGER           -- arguments of the step or end event
) STRICT;

-- A period in which a thread ran on a CPU.
CREATE TABLE sched_slice (
    id        INTEGER PRIMARY KEY,
    ts        INTEGER NOT NULL,
    dur       INTEGER NOT NULL, -- -1: still running at the end
    cpu       INTEGER NOT NULL,
    utid      INTEGER NOT NULL, -- thread.id; 0: the CPU was idle (therefore no foreign key)
    end_state TEXT,             -- 'R' runnable, 'S' blocked, 'T' suspended, 'Z' dying, 'X' dead; NULL: unknown
    priority  INTEGER           -- or weight of the fair scheduler; NULL: not recorded
) STRICT;

-- A period in which a thread was not on a CPU.
CREATE TABLE thread_wait (
    id         INTEGER PRIMARY KEY,
    ts         INTEGER NOT NULL,
    dur        INTEGER NOT NULL, -- -1: until the end
    utid       INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,    -- as sched_slice.end_state; 'W': runnable since a wakeup
    waker_utid INTEGER REFERENCES thread (id) ON DELETE SET NULL -- of 'W': the waking thread; NULL: not recorded, as for timers
) STRICT;

-- A log message.
CREATE TABLE log (
    id      INTEGER PRIMARY KEY,
    ts      INTEGER NOT NULL,
    utid    INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    message TEXT NOT NULL
) STRICT;

-- A named object of the trace, including processes and threads.  The newest row of a koid is valid.
CREATE TABLE object (
    id         INTEGER PRIMARY KEY,
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,    -- 'kernel' or 'user'
    type       INTEGER,          -- kernel object type, zx_obj_type_t
    koid       INTEGER NOT NULL, -- of a user object: its address
    upid       INTEGER REFERENCES process (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    arg_set_id INTEGER
) STRICT;

-- Arguments of events and labels of samples.  A set may belong to many rows.  Set ids have gaps.
CREATE TABLE arg (
    arg_set_id INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL, -- position in the set, from 0
    key_id     INTEGER NOT NULL REFERENCES string (id),
    type       INTEGER NOT NULL, -- type in FXT: 0 null, 1 int32, 2 uint32, 3 int64, 4 uint64, 5 double, 6 string,
                                 -- 7 pointer, 8 koid, 9 bool, 10 blob, 11 unknown
    value      ANY,
    PRIMARY KEY (arg_set_id, ordinal)
) STRICT, WITHOUT ROWID;

-- If both the begin and the end of a slice have arguments, the slice has the set of the begin, and this table
-- has the set of the end.  The view args joins both.
CREATE TABLE arg_set_end (
    arg_set_id     INTEGER PRIMARY KEY,
    end_arg_set_id INTEGER NOT NULL
) STRICT;

---- Views with the names of PerfettoSQL ----

-- Durations and instants (dur 0) of threads and asynchronous operations.
CREATE VIEW slice AS
SELECT s.id, s.ts, s.dur, s.track_id, n.category, n.name, s.depth, s.parent_id, s.arg_set_id,
       CAST('internal_slice' AS TEXT) AS type, s.id AS slice_id, n.category AS cat, s.async_id,
       (SELECT t.capture_id FROM track AS t WHERE t.id = s.track_id) AS capture_id
FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id;

-- The same as slice.
CREATE VIEW slices AS SELECT * FROM slice;

-- Instants of threads and asynchronous operations.
CREATE VIEW instant AS
SELECT s.id, s.ts, s.track_id, n.category, n.name, s.depth, s.parent_id, s.arg_set_id, s.scope,
       (SELECT t.capture_id FROM track AS t WHERE t.id = s.track_id) AS capture_id
FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id
WHERE s.instant;

-- Slices of threads, with their threads and processes.
CREATE VIEW thread_slice AS
SELECT s.id, s.ts, s.dur, n.category, n.name, s.depth, s.parent_id, s.arg_set_id, s.track_id,
       t.utid, th.tid, th.name AS thread_name, CAST(th.tid = p.pid AS INTEGER) AS is_main_thread,
       t.upid, p.pid, p.name AS process_name, t.capture_id
FROM slice_data AS s
JOIN event_name AS n ON n.id = s.name_id
JOIN track AS t ON t.id = s.track_id AND t.type = 'thread'
JOIN thread AS th ON th.id = t.utid
LEFT JOIN process AS p ON p.id = t.upid;

-- Slices of asynchronous operations.
CREATE VIEW async_slice AS
SELECT s.id, s.ts, s.dur, n.category, n.name, s.depth, s.parent_id, s.arg_set_id, s.track_id,
       s.async_id, t.upid, p.pid, p.name AS process_name, t.capture_id
FROM slice_data AS s
JOIN event_name AS n ON n.id = s.name_id
JOIN track AS t ON t.id = s.track_id AND t.type = 'async'
LEFT JOIN process AS p ON p.id = t.upid;

-- The same as async_slice.
CREATE VIEW process_slice AS SELECT * FROM async_slice;

-- Tracks of threads.
CREATE VIEW thread_track AS
SELECT id, name, type, utid, capture_id FROM track WHERE type = 'thread';

-- Tracks of asynchronous operations.
CREATE VIEW process_track AS
SELECT id, name, type, upid, capture_id FROM track WHERE type = 'async';

-- Tracks of counters.
CREATE VIEW counter_track AS
SELECT id, name, type, upid, cookie, capture_id FROM track WHERE type = 'counter';

-- Tracks of counters that belong to a process.
CREATE VIEW process_counter_track AS
SELECT id, name, type, upid, capture_id FROM track WHERE type = 'counter' AND upid IS NOT NULL;

-- Values of counters with the name of their track.
CREATE VIEW counters AS
SELECT c.id, c.ts, c.value, c.track_id, t.name, t.capture_id
FROM counter AS c JOIN track AS t ON t.id = c.track_id;

-- Periods in which threads ran on CPUs.
CREATE VIEW sched AS
SELECT id, ts, dur, cpu, utid, end_state, priority,
       (SELECT c.id FROM capture AS c
        WHERE s.id >= c.first_sched_id AND s.id < c.first_sched_id + c.sched_count) AS capture_id
FROM sched_slice AS s;

-- Running and waiting threads; idle CPUs are left out.  As in PerfettoSQL, a thread without a recorded waker is
-- its own waker.
CREATE VIEW thread_state AS
SELECT CAST(2 * id AS INTEGER) AS id, ts, dur, cpu, utid, CAST('Running' AS TEXT) AS state,
       CAST(NULL AS INTEGER) AS waker_utid,
       (SELECT p.capture_id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE t.id = s.utid) AS capture_id
FROM sched_slice AS s WHERE utid <> 0
UNION ALL
SELECT CAST(2 * id + 1 AS INTEGER), ts, dur, CAST(NULL AS INTEGER), utid, state,
       CAST(iif(state = 'W', coalesce(waker_utid, utid), NULL) AS INTEGER),
       (SELECT p.capture_id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE t.id = w.utid)
FROM thread_wait AS w;

-- Arguments, one column per type.
CREATE VIEW args AS
SELECT a.arg_set_id, k.text AS key, k.text AS flat_key,
       CAST(CASE WHEN a.type IN (1, 2, 3, 4, 7, 8, 9) THEN a.value END AS INTEGER) AS int_value,
       CAST(CASE WHEN a.type = 6 THEN a.value END AS TEXT) AS string_value,
       CAST(CASE WHEN a.type = 5 THEN a.value END AS REAL) AS real_value,
       CAST(CASE a.type WHEN 1 THEN 'int' WHEN 2 THEN 'uint' WHEN 3 THEN 'int' WHEN 4 THEN 'uint'
                   WHEN 5 THEN 'real' WHEN 6 THEN 'string' WHEN 7 THEN 'pointer' WHEN 8 THEN 'uint'
                   WHEN 9 THEN 'bool' WHEN 10 THEN 'blob' ELSE 'null' END AS TEXT) AS value_type,
       CAST(CASE WHEN a.type = 7 THEN printf('0x%x', a.value)
            WHEN a.type = 9 THEN iif(a.value, 'true', 'false')
            WHEN a.type IN (2, 4, 8) THEN printf('%u', a.value)
            WHEN a.type = 10 THEN hex(a.value)
            ELSE a.value END AS TEXT) AS display_value
FROM (SELECT arg_set_id, key_id, type, value FROM arg
      UNION ALL
      SELECT e.arg_set_id, a.key_id, a.type, a.value
      FROM arg_set_end AS e JOIN arg AS a ON a.arg_set_id = e.end_arg_set_id) AS a
JOIN string AS k ON k.id = a.key_id;

-- CPU samples, those of events included.
CREATE VIEW perf_sample AS
SELECT id, ts, utid, cpu, callsite_id,
       (SELECT p.capture_id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE t.id = s.utid) AS capture_id,
       weight, sample_type_id
FROM cpu_sample AS s;

-- Samples of CPU time.
CREATE VIEW cpu_profile_stack_sample AS
SELECT id, ts, callsite_id, utid,
       (SELECT p.capture_id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE t.id = s.utid) AS capture_id
FROM cpu_sample AS s WHERE sample_type_id = 1;

-- Call sites.
CREATE VIEW stack_profile_callsite AS
SELECT id, depth, parent_id, frame_id FROM callsite;

-- Frames with display names.
CREATE VIEW stack_profile_frame AS
SELECT id, name, module_id AS mapping, vaddr AS rel_pc, id AS symbol_set_id FROM frame_name;

-- Modules.  The mappings of PerfettoSQL have no process, either.
CREATE VIEW stack_profile_mapping AS
SELECT id, build_id, name FROM module;

-- Functions of a frame, inlined ones included.
CREATE VIEW stack_profile_symbol AS
SELECT s.frame_id AS symbol_set_id, fn.text AS name, file.text AS source_file,
       s.line AS line_number,
       CAST(s.inline_depth < (SELECT max(inline_depth) FROM symbol WHERE frame_id = s.frame_id) AS INTEGER)
           AS inlined
FROM symbol AS s
JOIN string AS fn ON fn.id = s.function
LEFT JOIN string AS file ON file.id = s.file;

-- Allocations are positive, releases negative.
CREATE VIEW heap_profile_allocation AS
SELECT ts, upid, CAST('malloc' AS TEXT) AS heap_name, callsite_id, objects AS count, bytes AS size,
       (SELECT p.capture_id FROM process AS p WHERE p.id = e.upid) AS capture_id
FROM heap_event AS e
UNION ALL
SELECT free_ts, upid, CAST('malloc' AS TEXT), callsite_id, CAST(-objects AS REAL), CAST(-bytes AS REAL),
       (SELECT p.capture_id FROM process AS p WHERE p.id = e.upid)
FROM heap_event AS e WHERE freed <> 0;

-- First and last time of each capture with times.  Clocks of several captures may differ.
CREATE VIEW trace_bounds AS
SELECT start_ts, end_ts, id AS capture_id FROM capture WHERE start_ts IS NOT NULL;

-- Damage, notices and losses of captures.
CREATE VIEW stats AS
SELECT kind AS name, CAST(iif(is_loss, 'data_loss', 'info') AS TEXT) AS severity,
       CAST('trace' AS TEXT) AS source, count AS value, description, capture_id
FROM damage
UNION ALL
SELECT name, CAST('data_loss' AS TEXT), CAST('trace' AS TEXT), count,
       CAST(CASE name
         WHEN 'ring' THEN 'records, mostly samples, that did not fit into the kernel''s buffers'
         WHEN 'sideband' THEN 'names and mappings that did not fit into the kernel''s buffers'
         WHEN 'region_full' THEN 'samples that did not fit into the region of their CPU'
         WHEN 'stopped' THEN 'CPUs that stopped sampling when their region was full'
         WHEN 'unreadable' THEN 'samples whose stack could not be read'
         WHEN 'exited' THEN 'samples of threads that were just ending'
         WHEN 'throttled' THEN 'times that the kernel throttled sampling'
         WHEN 'provider_events' THEN 'marks of providers that lost records'
         WHEN 'trace_records' THEN 'records that did not fit into the trace buffer of their program'
         WHEN 'heap_allocations' THEN 'sampled allocations that the capture did not receive'
         WHEN 'heap_frees' THEN 'releases that the capture did not receive: their blocks still appear to be in use'
         WHEN 'heap_infos' THEN 'messages about modules that the capture did not receive'
         WHEN 'heap_rejected' THEN 'messages of captured processes that were refused: invalid, or one mapping too many'
         WHEN 'heap_no_memory' THEN 'sampled allocations that a process had no memory left to record'
         WHEN 'heap_forgotten' THEN 'blocks whose release a process could not report'
         ELSE 'lost by the capture' END AS TEXT), capture_id
FROM loss;

-- The table meta, one column per type.
CREATE VIEW metadata AS
SELECT key AS name, CAST(CASE WHEN typeof(value) = 'integer' THEN value END AS INTEGER) AS int_value,
       CASE WHEN typeof(value) <> 'integer' THEN value END AS str_value, capture_id
FROM meta;
