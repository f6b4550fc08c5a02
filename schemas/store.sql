-- The store: one SQLite file that holds captures, with their samples, heap and timeline.
--
-- This file is the schema, and its comments are the manual: `fxtq schema` prints it, docs/store.md is
-- made from it.
--
-- Times (ts) are nanoseconds on the capture's clock, durations (dur) nanoseconds.  Unsigned 64-bit
-- numbers of a trace (addresses, koids, uint64 arguments) are stored as the signed number of the
-- same 64 bits, which printf('%x') and printf('%u') show rightly.  Texts are UTF-8; what is not, in
-- a trace, becomes U+FFFD.
--
-- Names are those of PerfettoSQL where the meaning agrees: utid and upid are the store's own ids of
-- threads and processes, tid and pid the system's.  A table whose rows hold ids where PerfettoSQL has
-- texts is called NAME_data; the view NAME puts the texts in.
--
-- Tables, views and indexes of your own may stand beside these.  These must be as they are here: a
-- file may come from anybody, and one whose tables are others is refused.
--
-- Ids count from 1 without gaps unless a table says otherwise.  Rows of a capture are written when it
-- is imported and never change, but for symbols, which `fxtq symbolize` improves.
--
-- A row of capture may be deleted: the trigger capture_deleted removes its rows from all tables first, which
-- leaves gaps in the ids of processes, threads, tracks and what belongs to them.  The foreign keys say the
-- same; SQLite checks them only after PRAGMA foreign_keys = ON, and slowly, since most have no index.  Frames,
-- call sites, modules, names and strings belong to all captures and stay.
--
-- Views have capture_id, but for those of what belongs to all captures (frames, call sites, modules, arguments).

PRAGMA application_id = 1180193873; -- "FXTQ" in bytes 68 to 71 of the file
PRAGMA user_version = 3;

---- What was imported ----

-- One trace, or profile, that was imported.
CREATE TABLE capture (
    id              INTEGER PRIMARY KEY,
    hash            BLOB NOT NULL UNIQUE, -- 128 bits over its uncompressed bytes: its identity
    name            TEXT NOT NULL,    -- the file's name as given, without folders
    format          TEXT NOT NULL,    -- 'fxt', 'pprof', 'folded' or 'markup'
    size_bytes      INTEGER NOT NULL, -- uncompressed
    record_count    INTEGER NOT NULL,
    start_ts        INTEGER,          -- earliest time in it; NULL: it has none
    end_ts          INTEGER,          -- latest time in it
    period_ns       INTEGER,          -- CPU time between samples; NULL: unknown
    max_frames      INTEGER,          -- stacks of that many frames were cut; NULL: unknown
    realtime_ns     INTEGER,          -- Unix time at ts = monotonic_ns; NULL: unknown
    monotonic_ns    INTEGER,
    command         TEXT,             -- what was captured; NULL: unknown
    arch            TEXT,             -- 'x86_64', 'aarch64', ...; NULL: unknown
    first_sample_id INTEGER NOT NULL, -- its cpu_sample rows are sample_count from here on
    sample_count    INTEGER NOT NULL,
    samples_ordered INTEGER NOT NULL, -- 1: they are in the order of their times; 0: nearly
    first_slice_id  INTEGER NOT NULL, -- likewise its rows of slice_data
    slice_count     INTEGER NOT NULL,
    first_sched_id  INTEGER NOT NULL, -- likewise its rows of sched_slice
    sched_count     INTEGER NOT NULL
) STRICT;

-- Facts about a capture or, with capture_id 0, about the store: what no other table has a place for.
-- Of a trace: kernel, cpu_model; heap_interval_bytes, in which one allocation was sampled.
-- Of pprof: time_ns, duration_ns, period, period_type, period_unit,
-- default_sample_type, drop_frames, keep_frames, doc_url, comment.0, comment.1, ...; what is no UTF-8 is a
-- blob.
-- Of the store: cache_program, cache_inode, cache_trace, cache_capture and cache_damaged are the mark of a
-- file that `fxtq --cache` made, and may replace.
CREATE TABLE meta (
    capture_id INTEGER NOT NULL, -- 0: the store
    key        TEXT NOT NULL,
    value      ANY,
    PRIMARY KEY (capture_id, key)
) STRICT, WITHOUT ROWID;

-- Before a capture is deleted: its rows in all tables.
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
    provider_id INTEGER NOT NULL, -- its number in the trace
    name        TEXT NOT NULL,
    lost        INTEGER NOT NULL  -- times it said that a buffer filled up
) STRICT;

-- Records that were lost before the trace was written.
CREATE TABLE loss (
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,    -- 'ring', 'throttled', 'region_full', 'unreadable', 'exited', 'sideband', 'stopped', 'provider_events', 'heap_allocations', ...
    count      INTEGER NOT NULL, -- not 0
    PRIMARY KEY (capture_id, name)
) STRICT, WITHOUT ROWID;

-- What was wrong with the trace, or worth noticing, by kind.
CREATE TABLE damage (
    capture_id   INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    kind         TEXT NOT NULL,    -- as fxtdump names them: 'truncated_tail', 'stray_ends', ...
    count        INTEGER NOT NULL, -- not 0
    first_offset INTEGER,          -- of the first, in uncompressed bytes; NULL: not kept
    bytes        INTEGER,          -- that no record covers; NULL: not a matter of bytes
    is_loss      INTEGER NOT NULL, -- 1: bytes that were not understood; 0: a notice
    description  TEXT NOT NULL,    -- a phrase for people
    PRIMARY KEY (capture_id, kind)
) STRICT, WITHOUT ROWID;

---- Processes, threads and what they have mapped ----

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
    name     TEXT NOT NULL, -- its path, or '[vdso]', ...
    build_id TEXT,          -- hexadecimal; NULL: unknown
    -- What its frames are called that have no other name: '[libc.so.6]', of a module without a name
    -- '[build ID]'; NULL: neither.  Stored, since views ask for it once a sample.
    label    TEXT GENERATED ALWAYS AS (
        '[' || nullif(iif(name = '', build_id, trim(replace(name, rtrim(name, replace(name, '/', '')), ''), '[]')), '')
            || ']') STORED
) STRICT;

-- Where a process has a module: addresses [address, address + size).
CREATE TABLE mapping (
    id        INTEGER PRIMARY KEY,
    upid      INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
    module_id INTEGER NOT NULL REFERENCES module (id),
    ts        INTEGER,          -- since when; NULL: unknown
    address   INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    vaddr     INTEGER NOT NULL, -- module-relative address of its first byte
    flags     INTEGER NOT NULL  -- as ELF has them, as far as producers say: 4 readable, 2 writable, 1 executable
) STRICT;

---- Stacks ----

-- A place in code: (module, vaddr); of imported profiles (module, file_offset) with the names that the
-- profile gives it; or, without an address, its names.  The same in all captures.
CREATE TABLE frame (
    id          INTEGER PRIMARY KEY,
    module_id   INTEGER REFERENCES module (id), -- NULL: in no module
    vaddr       INTEGER, -- lookup address, relative to the module; NULL: not known
    file_offset INTEGER  -- of a pprof's frame: where its code stands in the module's file, which is
                         -- all that pprof tells; without a module its address.  NULL: none
) STRICT;

-- A text that rows elsewhere stand for by its id.  Two ids may have equal texts.
CREATE TABLE string (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

-- The bytes of a text of an imported profile that is no UTF-8, has a NUL in it, or is longer than
-- texts of the store.
CREATE TABLE string_bytes (
    string_id INTEGER PRIMARY KEY REFERENCES string (id),
    bytes     BLOB NOT NULL
) STRICT;

-- What a frame is called: its function at inline_depth 0 is the innermost inlined one, the one with
-- the highest inline_depth the real function.  No row: nothing is known.
CREATE TABLE symbol (
    frame_id     INTEGER NOT NULL REFERENCES frame (id),
    inline_depth INTEGER NOT NULL,
    function     INTEGER NOT NULL REFERENCES string (id), -- readable name
    system_name  INTEGER REFERENCES string (id), -- linkage name; NULL: the same, or unknown
    file         INTEGER REFERENCES string (id),
    line         INTEGER,
    "column"     INTEGER,
    start_line   INTEGER,          -- of the function
    quality      INTEGER NOT NULL, -- 0 bounds of a function without a name, 1 exported names, 2 .gnu_debugdata, 3 symbol table, 4 DWARF, 5 said by the capture
    PRIMARY KEY (frame_id, inline_depth)
) STRICT, WITHOUT ROWID;

-- A stack is one integer: the call site of its leaf.  Each (parent, frame) is there once, a parent
-- before its children.  The same in all captures.
CREATE TABLE callsite (
    id        INTEGER PRIMARY KEY,
    parent_id INTEGER REFERENCES callsite (id), -- of the caller; NULL for a root
    frame_id  INTEGER NOT NULL REFERENCES frame (id),
    depth     INTEGER NOT NULL  -- 0 for a root
) STRICT;
-- Serves walks from callers to callees: ... FROM callsite WHERE parent_id = ?, as call_tree() does.
CREATE INDEX callsite_by_parent ON callsite (parent_id, frame_id);

-- Frames with the names people read: of the innermost function, or '[module]' where there is none, or
-- '[build ID]' of a module without a name.
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

-- One CPU sample.  Those of a capture follow each other (capture.first_sample_id), nearly always in the
-- order of their times (capture.samples_ordered): a range of times is a range of ids then.  There is no
-- index: samples are read in ranges.
CREATE TABLE cpu_sample (
    id          INTEGER PRIMARY KEY,
    ts          INTEGER NOT NULL,
    cpu         INTEGER,          -- NULL: unknown
    utid        INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    callsite_id INTEGER NOT NULL REFERENCES callsite (id),
    weight      INTEGER           -- nanoseconds of CPU time; NULL: unknown
) STRICT;

-- One sampled allocation, and its release, in the order in which allocations were told.  The protocol
-- has no threads.
CREATE TABLE heap_event (
    id               INTEGER PRIMARY KEY,
    ts               INTEGER,          -- of the allocation; NULL: the capture has no times
    freed            INTEGER NOT NULL, -- 0: in use at the end; 1: released; 2: its address was given out again
    free_ts          INTEGER,          -- of the release; NULL: none, or no times
    upid             INTEGER NOT NULL REFERENCES process (id) ON DELETE CASCADE,
    address          INTEGER NOT NULL,
    size             INTEGER NOT NULL, -- bytes of this allocation
    objects          REAL NOT NULL,    -- allocations that it stands for
    bytes            REAL NOT NULL,    -- bytes that it stands for
    callsite_id      INTEGER REFERENCES callsite (id), -- of the allocation; NULL: no stack
    free_callsite_id INTEGER REFERENCES callsite (id) -- of the release; NULL: no stack
) STRICT;

-- What a value measures, as pprof has it.
CREATE TABLE sample_type (
    id   INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    unit TEXT NOT NULL,
    UNIQUE (type, unit)
) STRICT;
-- Those of traces: the CPU samples; all allocations, those still in use at the end, and those released.
INSERT INTO sample_type (id, type, unit) VALUES
(1, 'cpu', 'nanoseconds'), (2, 'alloc_space', 'bytes'), (3, 'inuse_space', 'bytes'), (4, 'free_space', 'bytes');

-- Samples added up: what unfiltered reports and flame graphs are made from.
CREATE TABLE callsite_sum (
    capture_id     INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    sample_type_id INTEGER NOT NULL REFERENCES sample_type (id),
    upid           INTEGER NOT NULL, -- process.id; 0: unknown
    callsite_id    INTEGER NOT NULL, -- callsite.id of the leaf: values are self values; 0: an empty stack
    n              ANY NOT NULL,     -- how many: samples, allocations; real where it is estimated
    value          ANY,              -- likewise; NULL: unknown (samples of a capture without a period)
    PRIMARY KEY (capture_id, sample_type_id, upid, callsite_id)
) STRICT, WITHOUT ROWID;

-- The sample types of an imported profile, in its order.
CREATE TABLE profile_type (
    capture_id     INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL, -- from 0
    type           INTEGER NOT NULL REFERENCES string (id),
    unit           INTEGER NOT NULL REFERENCES string (id),
    sample_type_id INTEGER NOT NULL REFERENCES sample_type (id), -- of these two texts
    is_default     INTEGER NOT NULL, -- 1: the profile says that it is to be shown first, or it is the last
    counted_by     INTEGER,          -- ordinal of the type that says how many a value stands for, as samples
                                     -- of cpu, inuse_objects of inuse_space; NULL: each is one
    PRIMARY KEY (capture_id, ordinal)
) STRICT, WITHOUT ROWID;

-- A sample of an imported profile (pprof, folded stacks, backtraces of a log), which has no time.
CREATE TABLE profile_sample (
    id          INTEGER PRIMARY KEY,
    capture_id  INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    upid        INTEGER REFERENCES process (id) ON DELETE CASCADE, -- where no label says which, one without a pid
    utid        INTEGER REFERENCES thread (id) ON DELETE CASCADE, -- thread.id, if a label says so
    callsite_id INTEGER REFERENCES callsite (id), -- NULL: an empty stack
    arg_set_id  INTEGER,          -- its labels; NULL: none
    locations   BLOB              -- where frames do not tell: profile_location.ordinal of all of the
                                  -- stack, leaf first, 4 bytes each, little-endian; else NULL
) STRICT;

-- The values of such a sample, in the order of the profile's sample types.
CREATE TABLE profile_value (
    profile_sample_id INTEGER NOT NULL REFERENCES profile_sample (id) ON DELETE CASCADE,
    ordinal           INTEGER NOT NULL, -- of the sample type in the profile, from 0
    sample_type_id    INTEGER NOT NULL REFERENCES sample_type (id),
    value             ANY NOT NULL,     -- integer; real where folded stacks have a fraction
    PRIMARY KEY (profile_sample_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What a label has beside its arg (of type 6, string, or 3, int64).
CREATE TABLE profile_label (
    arg_set_id INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL, -- of the arg
    number     INTEGER,          -- of a label that has a text and a number
    unit       INTEGER REFERENCES string (id), -- what the number counts; NULL: not said
    PRIMARY KEY (arg_set_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What pprof calls a mapping: where a module lay when the profile was made.
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
    has         INTEGER NOT NULL, -- 1 functions, 2 file names, 4 line numbers, 8 inlined functions
    PRIMARY KEY (capture_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What pprof calls a location.  Several may be one frame: of a stack's frame the first is meant, unless
-- profile_sample.locations says otherwise.
CREATE TABLE profile_location (
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL, -- its place in the profile, from 1
    number     INTEGER NOT NULL, -- its id there
    mapping    INTEGER,          -- profile_mapping.ordinal; NULL: none
    address    INTEGER NOT NULL,
    is_folded  INTEGER NOT NULL, -- 1: it stands for several of equal names
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

-- What events stand on: a thread, an asynchronous operation, a counter.
CREATE TABLE track (
    id         INTEGER PRIMARY KEY,
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    type       TEXT NOT NULL, -- 'thread', 'async' or 'counter'
    name       TEXT,          -- of counters ('counter:argument:id') and asynchronous operations
    category   TEXT,          -- likewise
    upid       INTEGER REFERENCES process (id) ON DELETE CASCADE,
    utid       INTEGER REFERENCES thread (id) ON DELETE CASCADE, -- NULL: not a thread's
    cookie     INTEGER        -- id of the counter in the trace
) STRICT;

-- A duration, or a moment, of a thread or of an asynchronous operation; nested by time within its
-- track.  Asynchronous operations that overlap lie on tracks of the same name, each on one that was
-- free when it began.  A child may end after its parent: that is what was recorded.
CREATE TABLE slice_data (
    id         INTEGER PRIMARY KEY, -- within a capture in the order of ts, parents before children
    ts         INTEGER NOT NULL,
    dur        INTEGER NOT NULL,    -- -1: its end is not in the trace
    track_id   INTEGER NOT NULL REFERENCES track (id) ON DELETE CASCADE,
    name_id    INTEGER NOT NULL REFERENCES event_name (id),
    depth      INTEGER NOT NULL,    -- 0: in no other
    parent_id  INTEGER,             -- slice_data.id
    arg_set_id INTEGER,
    instant    INTEGER NOT NULL,    -- 1: a moment; dur is 0
    async_id   INTEGER,             -- of an asynchronous operation: its correlation id in the trace
    scope      INTEGER              -- of a moment: 1 its process's, 2 everybody's, or another number as
                                    -- the trace has it; NULL: its thread's
) STRICT;

-- A counter's value from ts on.
CREATE TABLE counter (
    id         INTEGER PRIMARY KEY,
    ts         INTEGER NOT NULL,
    track_id   INTEGER NOT NULL REFERENCES track (id) ON DELETE CASCADE,
    value      ANY               -- integer or real
) STRICT;

-- One hop of a flow between slices.
CREATE TABLE flow (
    id         INTEGER PRIMARY KEY,
    slice_out  INTEGER,          -- slice_data.id that it leaves; NULL: there was none
    slice_in   INTEGER,          -- slice_data.id that it enters; NULL: there was none
    trace_id   INTEGER NOT NULL, -- the flow's id in the trace
    name_id    INTEGER NOT NULL REFERENCES event_name (id),
    out_ts     INTEGER,
    in_ts      INTEGER,
    arg_set_id INTEGER           -- of the event that it enters with
) STRICT;

-- A thread had a CPU.
CREATE TABLE sched_slice (
    id        INTEGER PRIMARY KEY,
    ts        INTEGER NOT NULL,
    dur       INTEGER NOT NULL, -- -1: still running at the end
    cpu       INTEGER NOT NULL,
    utid      INTEGER NOT NULL, -- thread.id; 0: the CPU was idle (no foreign key for that reason)
    end_state TEXT,             -- 'R' runnable, 'S' blocked, 'T' suspended, 'Z' dying, 'X' dead; NULL: unknown
    priority  INTEGER           -- or weight of the fair scheduler; NULL: not said
) STRICT;

-- A thread had no CPU.
CREATE TABLE thread_wait (
    id         INTEGER PRIMARY KEY,
    ts         INTEGER NOT NULL,
    dur        INTEGER NOT NULL, -- -1: to the end
    utid       INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,    -- as sched_slice.end_state; 'W': waits for a CPU since a wakeup
    waker_utid INTEGER REFERENCES thread (id) ON DELETE SET NULL -- of 'W': the thread that woke it; NULL: not recorded, as of timers
) STRICT;

-- A log message.
CREATE TABLE log (
    id      INTEGER PRIMARY KEY,
    ts      INTEGER NOT NULL,
    utid    INTEGER NOT NULL REFERENCES thread (id) ON DELETE CASCADE,
    message TEXT NOT NULL
) STRICT;

-- An object that the trace names, processes and threads among them.  The newest row of a koid holds.
CREATE TABLE object (
    id         INTEGER PRIMARY KEY,
    capture_id INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,    -- 'kernel' or 'user'
    type       INTEGER,          -- kernel object type, zx_obj_type_t
    koid       INTEGER NOT NULL, -- of a user object: its pointer
    upid       INTEGER REFERENCES process (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    arg_set_id INTEGER
) STRICT;

-- Arguments of events, labels of samples.  A set may belong to many rows.  Sets have gaps.
CREATE TABLE arg (
    arg_set_id INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL, -- place in the set, from 0
    key_id     INTEGER NOT NULL REFERENCES string (id),
    type       INTEGER NOT NULL, -- of FXT: 0 null, 1 int32, 2 uint32, 3 int64, 4 uint64, 5 double, 6 string,
                                 -- 7 pointer, 8 koid, 9 bool, 10 blob, 11 unknown
    value      ANY,
    PRIMARY KEY (arg_set_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Where both the begin and the end of a slice have arguments: the slice has the set of the begin, to
-- which those of the end belong as well (view args).
CREATE TABLE arg_set_end (
    arg_set_id     INTEGER PRIMARY KEY,
    end_arg_set_id INTEGER NOT NULL
) STRICT;

---- PerfettoSQL's names ----

-- Durations and moments (dur 0), of threads and of asynchronous operations.
CREATE VIEW slice AS
SELECT s.id, s.ts, s.dur, s.track_id, n.category, n.name, s.depth, s.parent_id, s.arg_set_id,
       CAST('internal_slice' AS TEXT) AS type, s.id AS slice_id, n.category AS cat, s.async_id,
       (SELECT t.capture_id FROM track AS t WHERE t.id = s.track_id) AS capture_id
FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id;

CREATE VIEW slices AS SELECT * FROM slice;

CREATE VIEW instant AS
SELECT s.id, s.ts, s.track_id, n.category, n.name, s.depth, s.parent_id, s.arg_set_id, s.scope,
       (SELECT t.capture_id FROM track AS t WHERE t.id = s.track_id) AS capture_id
FROM slice_data AS s JOIN event_name AS n ON n.id = s.name_id
WHERE s.instant;

-- Slices of threads, with who ran them.
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

CREATE VIEW process_slice AS SELECT * FROM async_slice;

CREATE VIEW thread_track AS
SELECT id, name, type, utid, capture_id FROM track WHERE type = 'thread';

CREATE VIEW process_track AS
SELECT id, name, type, upid, capture_id FROM track WHERE type = 'async';

CREATE VIEW counter_track AS
SELECT id, name, type, upid, cookie, capture_id FROM track WHERE type = 'counter';

CREATE VIEW process_counter_track AS
SELECT id, name, type, upid, capture_id FROM track WHERE type = 'counter' AND upid IS NOT NULL;

CREATE VIEW counters AS
SELECT c.id, c.ts, c.value, c.track_id, t.name, t.capture_id
FROM counter AS c JOIN track AS t ON t.id = c.track_id;

CREATE VIEW sched AS
SELECT id, ts, dur, cpu, utid, end_state, priority,
       (SELECT c.id FROM capture AS c
        WHERE s.id >= c.first_sched_id AND s.id < c.first_sched_id + c.sched_count) AS capture_id
FROM sched_slice AS s;

-- Idle CPUs are no thread's.  As in PerfettoSQL, a thread without a recorded waker woke itself.
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

CREATE VIEW perf_sample AS
SELECT id, ts, utid, cpu, callsite_id,
       (SELECT p.capture_id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE t.id = s.utid) AS capture_id
FROM cpu_sample AS s;

CREATE VIEW cpu_profile_stack_sample AS
SELECT id, ts, callsite_id, utid,
       (SELECT p.capture_id FROM thread AS t JOIN process AS p ON p.id = t.upid WHERE t.id = s.utid) AS capture_id
FROM cpu_sample AS s;

CREATE VIEW stack_profile_callsite AS
SELECT id, depth, parent_id, frame_id FROM callsite;

CREATE VIEW stack_profile_frame AS
SELECT id, name, module_id AS mapping, vaddr AS rel_pc, id AS symbol_set_id FROM frame_name;

-- Modules: PerfettoSQL's mappings have no process either.
CREATE VIEW stack_profile_mapping AS
SELECT id, build_id, name FROM module;

CREATE VIEW stack_profile_symbol AS
SELECT s.frame_id AS symbol_set_id, fn.text AS name, file.text AS source_file,
       s.line AS line_number,
       CAST(s.inline_depth < (SELECT max(inline_depth) FROM symbol WHERE frame_id = s.frame_id) AS INTEGER)
           AS inlined
FROM symbol AS s
JOIN string AS fn ON fn.id = s.function
LEFT JOIN string AS file ON file.id = s.file;

-- Allocations count up, releases down.
CREATE VIEW heap_profile_allocation AS
SELECT ts, upid, CAST('malloc' AS TEXT) AS heap_name, callsite_id, objects AS count, bytes AS size,
       (SELECT p.capture_id FROM process AS p WHERE p.id = e.upid) AS capture_id
FROM heap_event AS e
UNION ALL
SELECT free_ts, upid, CAST('malloc' AS TEXT), callsite_id, CAST(-objects AS REAL), CAST(-bytes AS REAL),
       (SELECT p.capture_id FROM process AS p WHERE p.id = e.upid)
FROM heap_event AS e WHERE freed <> 0;

-- The times of each capture that has any.  Clocks of several captures need not agree.
CREATE VIEW trace_bounds AS
SELECT start_ts, end_ts, id AS capture_id FROM capture WHERE start_ts IS NOT NULL;

CREATE VIEW stats AS
SELECT kind AS name, CAST(iif(is_loss, 'data_loss', 'info') AS TEXT) AS severity,
       CAST('trace' AS TEXT) AS source, count AS value, description, capture_id
FROM damage
UNION ALL
SELECT name, CAST('data_loss' AS TEXT), CAST('trace' AS TEXT), count,
       CAST('records lost before the trace was written' AS TEXT), capture_id
FROM loss;

CREATE VIEW metadata AS
SELECT key AS name, CAST(CASE WHEN typeof(value) = 'integer' THEN value END AS INTEGER) AS int_value,
       CASE WHEN typeof(value) <> 'integer' THEN value END AS str_value, capture_id
FROM meta;
