/* Combined rows: the answers of the plain tables, in steps that grow with the groups and not with
 * the rows.  */
#include <check.h>

#include "tests/support/stores.h"

/* Slices in five groups of blocks: names in runs and one by one, two of them the same text in
 * different categories; durations of both signs; parents that are NULL in runs.  Counters with
 * reals, one of which is equal to an integer.  Sampled threads.  */
static const char fill[] =
    "BEGIN;" MADE_CAPTURE
    "INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'b'), (2, 'c', 'a'), "
    "(3, 'd', 'b');"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " MADE_SLICES ") "
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, parent_id, instant, async_id, "
    "scope) SELECT i, 1000 * i - 1999 * (i % 7), i * 7919 % 20011 - 5000, 1 + i % 3 / 2, 1 + i % "
    "3, "
    "i / 1000 % 4, nullif(i / 500 * 2, 10), 0, iif(i < 3, 9223372036854775807, i), "
    "iif(i % 2, 9223372036854775807, -9223372036854775807) FROM n;"
    "INSERT INTO counter (id, ts, track_id, value) SELECT id, ts, 3, iif(id % 5, id % 700, id / "
    "2.0) FROM slice_data;"
    "INSERT INTO sched_slice (id, ts, dur, cpu, utid, end_state, priority) SELECT id, ts, "
    "abs(dur), "
    "id % 2, id % 3, iif(id % 4, 'S', 'R'), nullif(id / 900, 5) FROM slice_data;"
    "INSERT INTO thread_wait (id, ts, dur, utid, state, waker_utid) SELECT id, ts + 5, 7, 1 + id % "
    "2, iif(id % 4, 'S', 'R'), NULL FROM slice_data WHERE id < 9000;"
    "COMMIT";

/* A scan takes more steps than there are rows.  */
static const struct {
    const char *sql;
    int most; /* steps; 0: rows are given one by one */
} questions[] = {
    { "SELECT count(*) FROM slice", 100 },
    { "SELECT sum(dur) FROM slice", 100 },
    { "SELECT count(*), sum(dur), sum(ts) FROM slices", 100 },
    { "SELECT sum(parent_id), count(*), min(parent_id), max(parent_id) FROM slice", 0 },
    { "SELECT count(*), sum(dur), max(dur) FROM slice WHERE ts > 5000000 AND ts < 9e6", 10000 },
    { "SELECT count(*), sum(dur) FROM slice WHERE dur > 0 AND depth = 2", 100 },
    { "SELECT count(*) FROM slice WHERE dur > 1e9", 100 },
    { "SELECT name, count(*), sum(dur) FROM slice GROUP BY name ORDER BY name", 300 },
    { "SELECT name, count(*), sum(dur) FROM slice GROUP BY name ORDER BY name DESC", 300 },
    { "SELECT category, count(*) FROM slice GROUP BY category", 300 },
    { "SELECT depth, min(ts), max(dur) FROM slice GROUP BY depth", 300 },
    { "SELECT depth, count(*), sum(dur), min(dur), max(dur), sum(id) FROM slice WHERE dur < 9000 "
      "GROUP BY depth ORDER BY depth DESC",
      60000 },
    { "SELECT parent_id, count(*), max(id) FROM slice GROUP BY parent_id ORDER BY parent_id DESC",
      2000 },
    { "SELECT parent_id, count(*), min(async_id), max(async_id) FROM slice WHERE id > 77 GROUP BY "
      "parent_id ORDER BY parent_id",
      4000 },
    { "SELECT category, name, count(*) FROM slice GROUP BY category, name", 400 },
    { "SELECT t.id, (SELECT sum(dur) FROM slice WHERE track_id = t.id), (SELECT count(*) FROM "
      "slice WHERE track_id = t.id) FROM track AS t ORDER BY 1 DESC",
      0 },
    { "SELECT v.column1, (SELECT sum(id) FROM slice WHERE parent_id = v.column1), (SELECT count(*) "
      "FROM slice WHERE parent_id = v.column1) FROM (VALUES (4), (4.0), ('4'), (NULL), (-1), "
      "(4.5), ('x'), (0), (2), (80), (99), (9223372036854775807), (1e300)) AS v",
      10000 },
    { "SELECT parent_id, count(*), sum(dur) FROM slice GROUP BY parent_id LIMIT 9", 400 },
    { "SELECT depth, count(*) FROM slice GROUP BY depth HAVING count(*) > 5000", 300 },
    { "SELECT name, count(*) FROM slice WHERE name = 'b' GROUP BY name", 200 },
    { "SELECT count(*) FROM slice WHERE name IN ('b', 'x') AND depth > 1", 0 },
    { "SELECT utid, count(*), sum(s.dur) FROM slice AS s JOIN thread_track AS t ON t.id = "
      "s.track_id GROUP BY t.utid ORDER BY 1",
      400 },
    { "SELECT t.name, count(*), min(c.value), max(c.value) FROM counter AS c JOIN counter_track AS "
      "t ON t.id = c.track_id GROUP BY t.name ORDER BY t.name",
      300 },
    { "SELECT min(value), max(value), count(*) FROM counter", 100 },
    { "SELECT state, count(*), sum(dur) FROM thread_state GROUP BY state ORDER BY state", 400 },
    { "SELECT count(*), sum(dur), min(cpu), max(cpu) FROM thread_state WHERE utid = 2", 100 },
    { "SELECT state, count(*), min(ts), max(utid), sum(cpu) FROM thread_state WHERE ts > "
      "100000 GROUP BY state ORDER BY state DESC",
      500 },
    { "SELECT count(*), sum(dur) FROM thread_state WHERE state = 'Running' AND utid = 1", 100 },
    { "SELECT count(*), sum(utid), sum(cpu) FROM thread_state WHERE state = 'S'", 100 },
    { "SELECT count(*), sum(dur) FROM thread_state WHERE state = 'x'", 100 },
    { "SELECT cpu, count(*), min(utid) FROM thread_state WHERE state = 'R' GROUP BY cpu", 0 },
    { "SELECT state, count(*), sum(id) FROM thread_state GROUP BY state", 0 },
    { "SELECT (SELECT count(*) FROM thread_state AS s WHERE s.utid = t.id), t.id FROM thread AS t",
      200 },
    { "SELECT cpu, count(*), sum(dur) FROM sched_slice GROUP BY cpu", 300 },
    { "SELECT priority, count(*), max(dur) FROM sched_slice GROUP BY priority LIMIT 8", 600 },
    { "SELECT end_state, count(*) FROM sched GROUP BY end_state ORDER BY end_state DESC", 300 },
    { "SELECT name, id, count(*) FROM slice GROUP BY name", 0 },
    { "SELECT count(*) FROM (SELECT name, count(*) AS n FROM slice GROUP BY name) WHERE n > 1",
      300 },
    { "SELECT name, n, count(*) OVER (ORDER BY name), count(*) OVER (ORDER BY n ROWS 1 PRECEDING) "
      "FROM (SELECT name, count(*) AS n FROM slice GROUP BY name) ORDER BY name",
      1000 },
    { "SELECT name, count(*), (SELECT count(*) FROM sched_slice WHERE cpu = depth) FROM slice "
      "GROUP "
      "BY name",
      0 },
    { "SELECT count(*), (SELECT sum(dur) FROM sched_slice), (SELECT max(id) FROM thread_wait) FROM "
      "slice UNION ALL SELECT count(*), 2, 3 FROM thread_wait",
      300 },
    { "SELECT ts, count(*), max(id), sum(dur) FROM slice GROUP BY ts LIMIT 9 OFFSET 15000", 0 },
    /* Sums of values of both signs that may be too large, and one that is.  */
    { "SELECT count(*), sum(scope) FROM slice_data", 0 },
    { "SELECT sum(async_id) FROM slice_data", 200 },
    { "SELECT sum(async_id) FROM slice_data WHERE id > 1", 200 },
    /* These want more than sums and extremes, or not of integers.  */
    { "SELECT count(name) FROM slice", 0 },
    { "SELECT avg(dur), total(dur) FROM slice", 0 },
    { "SELECT sum(dur + 1) FROM slice", 0 },
    { "SELECT sum(value) FROM counter", 0 },
    { "SELECT sum(1), count(*) FROM slice", 0 },
    { "SELECT count(DISTINCT depth), sum(DISTINCT depth) FROM slice", 0 },
    { "SELECT count(*) FILTER (WHERE depth = 1), sum(dur) FROM slice", 400 },
    { "SELECT count(*) FILTER (WHERE dur > 0), sum(dur) FROM slice", 0 },
    { "SELECT id, dur, max(ts) FROM slice GROUP BY name", 0 },
    { "SELECT dur, count(*), sum(dur) FROM slice GROUP BY dur LIMIT 3", 300 },
    { "SELECT depth, count(*), sum(depth) FROM slice GROUP BY depth", 0 },
    { "SELECT min(name), max(name), count(*) FROM slice", 0 },
    { "SELECT count(*) FROM slice WHERE dur % 2 = 0", 0 },
    { "SELECT sum(s.dur), sum(t.utid) FROM slice AS s JOIN track AS t ON t.id = s.track_id", 0 },
    { "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM slice GROUP BY depth)", 300 },
};

START_TEST(takes_few_steps_for_sums_and_extremes)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    struct store *plain, *served;
    int steps;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    (void)answer_to(plain, questions[_i].sql, expected);
    steps = answer_to(served, questions[_i].sql, text);
    ck_assert_str_eq(text, expected);
    if (questions[_i].most > 0)
        ck_assert_msg(steps < questions[_i].most, "%d steps: %s", steps, questions[_i].sql);
    store_close(plain);
    store_close(served);
}
END_TEST

/* Thread states whose parts have something about them.  */
#define STATES                                                                                  \
    "INSERT INTO capture (id, hash, name, format, size_bytes, record_count, first_sample_id, "  \
    "sample_count, samples_ordered, first_slice_id, slice_count, first_sched_id, sched_count) " \
    "VALUES (1, x'00', 'made', 'fxt', 0, 0, 1, 0, 1, 1, 0, 1, 4);"                              \
    "INSERT INTO process (id, capture_id, koid) VALUES (1, 1, 1);"                              \
    "INSERT INTO thread (id, upid, koid) VALUES (1, 1, 1), (2, 1, 2);"                          \
    "INSERT INTO sched_slice VALUES (1, 0, 4611686018427387904, 0, 1, 'S', 0), "                \
    "(2, 1, 4611686018427387903, 0, 1, 'R', 0), (3, 2, 1, 0, 0, NULL, 0), "                     \
    "(4, 3, 1, 0, 2, NULL, 0);"                                                                 \
    "INSERT INTO thread_wait VALUES (1, 0, 7, 1, 'S', NULL), (2, 1, -20, 1, 'R', NULL), "       \
    "(3, 2, 5, 2, 'S', NULL);"

static const char *const odd_states[] = {
    STATES, /* the sum of the first rows is too large */
    STATES "UPDATE sched_slice SET utid = -utid;",
    STATES "UPDATE sched_slice SET utid = 0;",
    STATES "DELETE FROM thread_wait;",
    STATES "DELETE FROM sched_slice;",
    STATES "UPDATE thread_wait SET state = 'Ru' WHERE id = 3;",
    STATES "UPDATE thread_wait SET state = 'Runnin' WHERE id = 1;",
};

static const char *const states_questions[] = {
    "SELECT count(*), sum(dur) FROM thread_state",
    "SELECT count(*), sum(dur) FROM thread_state WHERE state = 'S'",
    "SELECT state, count(*), sum(dur) FROM thread_state GROUP BY state ORDER BY state",
    "SELECT state, count(*), max(ts) FROM thread_state GROUP BY state ORDER BY state DESC",
    "SELECT utid, count(*), min(cpu) FROM thread_state GROUP BY utid ORDER BY utid",
    "SELECT id, state, utid FROM thread_state ORDER BY id",
    "SELECT id, state FROM thread_state WHERE id = 2 OR id = 6 OR id = 8",
};

START_TEST(adds_up_states_as_their_view_does)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    struct store *plain, *served;

    make_store_by_sql(odd_states[_i]);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    for (size_t i = 0; i < sizeof states_questions / sizeof *states_questions; i++) {
        (void)answer_to(plain, states_questions[i], expected);
        (void)answer_to(served, states_questions[i], text);
        ck_assert_msg(strcmp(text, expected) == 0, "%s: %s, not %s", states_questions[i], text,
                      expected);
    }
    store_close(plain);
    store_close(served);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_combined");
    TCase *combined = tcase_create("combined");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(combined, enter_folder, leave_folder);
    tcase_add_loop_test(combined, takes_few_steps_for_sums_and_extremes, 0,
                        (int)(sizeof questions / sizeof *questions));
    tcase_add_loop_test(combined, adds_up_states_as_their_view_does, 0,
                        (int)(sizeof odd_states / sizeof *odd_states));
    suite_add_tcase(suite, combined);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
