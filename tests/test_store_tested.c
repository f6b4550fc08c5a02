/* Rows that are tested before SQLite sees them: the answers of the plain tables, in fewer steps
 * than there are rows.  */
#include <check.h>

#include "tests/support/stores.h"

/* Slices in five groups of blocks.  Parents: a slice before or after, none, or an id that no slice
 * has.  Some values are so large that what is computed of them is not an integer.  */
static const char fill[] =
    "BEGIN;" MADE_CAPTURE
    "INSERT INTO event_name (id, category, name) VALUES (1, 'c', 'b'), (2, 'c', 'a');"
    "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " MADE_SLICES ") "
    "INSERT INTO slice_data (id, ts, dur, track_id, name_id, depth, parent_id, instant, async_id, "
    "scope) SELECT i, 1000 * i, iif(i % 5000, i * 7919 % 20011 - 100, 9223372036854775807 - i), "
    "1 + i % 3 / 2, 1 + i % 2, i / 1000 % 4, "
    "iif(i % 3, iif(i % 13, max(i - i % 97, 1), i * 2), NULL), 0, "
    "iif(i % 5, i, NULL), iif(i % 2, 1, -1) * 4611686018427387904 FROM n;"
    "INSERT INTO counter (id, ts, track_id, value) SELECT id, ts, 3, iif(id % 5, id % 700, id / "
    "2.0) FROM slice_data;"
    "INSERT INTO sched_slice (id, ts, dur, cpu, utid, end_state, priority) SELECT id, ts, "
    "abs(dur), id % 2, id % 3, iif(id % 4, 'S', 'R'), nullif(id / 900, 5) FROM slice_data;"
    "COMMIT";

static const struct {
    const char *sql;
    int most; /* steps; 0: any */
} questions[] = {
    { "SELECT count(*), sum(c.id) FROM slice AS c JOIN slice AS p ON p.id = c.parent_id WHERE "
      "c.dur * 2 > p.dur + 100000",
      2000 },
    { "SELECT c.id, p.id FROM slice AS c JOIN slice AS p ON c.parent_id = p.id WHERE p.ts - c.ts > "
      "c.dur AND c.dur > p.dur * 3",
      4000 },
    { "SELECT count(*) FROM slice AS c, slice AS p WHERE p.id = c.parent_id AND p.dur < c.dur - "
      "19000",
      4000 },
    { "SELECT id FROM slice WHERE dur + ts > 19000000", 25000 },
    { "SELECT id FROM slice WHERE 3 * id - 2 = 1000", 200 },
    { "SELECT id, ts FROM slice WHERE ts + dur < 20000 AND ts - dur > 10000", 300 },
    { "SELECT id FROM slice WHERE ts + dur < 20000 ORDER BY id DESC", 1200 },
    { "SELECT id FROM slice WHERE ts + dur < 20000 ORDER BY dur DESC, id", 1200 },
    { "SELECT id FROM slice_data WHERE async_id IS NULL AND id + 0 > 19900", 700 },
    { "SELECT id FROM slice_data WHERE async_id IS NOT NULL AND async_id - id + 1 = 0", 200 },
    { "SELECT id FROM slice_data WHERE async_id + 5 > 20000", 300 },
    { "SELECT count(*) FROM slice_data WHERE scope + scope < 0", 0 },
    { "SELECT count(*) FROM slice_data WHERE scope * 3 > 1 AND scope - id > 7", 0 },
    { "SELECT id FROM slice WHERE dur * 1000000 > 1 AND dur * dur < 100", 300 },
    { "SELECT id FROM slice WHERE dur + 0.5 = 1", 0 },
    { "SELECT id, dur FROM slice WHERE dur - 0 < 1 AND dur + 0 >= 0", 400 },
    { "SELECT count(*) FROM slice WHERE ts = dur + id", 200 },
    { "SELECT count(*) FROM slice WHERE ts <> id * 1000", 200 },
    { "SELECT count(*) FROM slice WHERE id <= parent_id", 9000 },
    { "SELECT count(*) FROM slice WHERE NOT (id > parent_id)", 9000 },
    { "SELECT count(*) FROM slice WHERE id IS parent_id", 0 },
    { "SELECT count(*) FROM slice WHERE id IS NOT parent_id", 0 },
    { "SELECT count(*) FROM slice WHERE id + 1 = '5'", 0 },
    { "SELECT count(*) FROM slice WHERE id + 1 > 'x'", 0 },
    { "SELECT count(*) FROM slice WHERE dur + 1 > depth OR id + 0 = 7", 0 },
    { "SELECT count(*) FROM slice WHERE ts + dur BETWEEN 1000000 AND 1050000", 1500 },
    { "SELECT count(*) FROM slice WHERE id + 0 IN (1, 2, 30000)", 0 },
    { "SELECT count(*) FROM slice WHERE id / 2 = 100 AND id - 1 > 100", 0 },
    { "SELECT c.id FROM slice AS c LEFT JOIN slice AS p ON p.id = c.parent_id AND p.dur * 2 > "
      "c.dur WHERE c.id + 0 < 30 AND p.id IS NULL",
      1000 },
    { "SELECT c.id FROM slice AS c LEFT JOIN slice AS p ON p.id = c.parent_id WHERE c.id * 2 > "
      "p.id "
      "* 2 + 190",
      0 },
    { "SELECT v.column1, p.id FROM (VALUES (1), (2)) AS v LEFT JOIN slice AS p ON p.parent_id + 0 "
      "> "
      "5 WHERE p.parent_id IS NULL",
      0 },
    { "SELECT v.column1, p.id FROM (VALUES (1), (2)) AS v LEFT JOIN slice AS p ON p.id + 0 > 19000 "
      "WHERE p.depth * 2 IS NULL",
      0 },
    { "SELECT c.id, p.id FROM slice AS c LEFT JOIN slice AS p ON p.ts = c.ts + 1000 WHERE c.id < "
      "60 "
      "AND p.parent_id IS NULL",
      0 },
    { "SELECT t.id, count(s.id) FROM track AS t LEFT JOIN slice AS s ON s.track_id = t.id AND "
      "s.dur * "
      "2 > s.ts WHERE s.parent_id IS NULL GROUP BY 1 ORDER BY 1",
      0 },
    { "SELECT g.id FROM slice AS c JOIN slice AS p ON p.id = c.parent_id JOIN slice AS g ON g.id = "
      "p.parent_id WHERE c.ts - p.ts > 90000 AND g.dur + 0 > 19000",
      0 },
    { "SELECT c.id FROM slice_data AS c JOIN sched_slice AS s ON s.id = c.async_id WHERE s.dur + 7 "
      "< c.dur",
      0 },
    { "SELECT s.id FROM sched_slice AS s JOIN slice AS c ON c.id = s.id * 2 WHERE c.dur - s.dur > "
      "20000",
      0 },
    { "SELECT count(*) FROM counter WHERE value * 2 = 700", 0 },
    { "SELECT count(*) FROM counter WHERE ts + 1 = 700001", 200 },
    { "SELECT (SELECT count(*) FROM slice WHERE ts + dur < 1000000 + t.id * 1000) FROM track AS t",
      0 },
    { "SELECT t.id, (SELECT max(ts) FROM slice WHERE dur - 5 > 0 AND track_id = t.id) FROM track "
      "AS t",
      0 },
    { "SELECT EXISTS (SELECT 1 FROM slice WHERE ts - dur = 424242)", 200 },
    { "SELECT id FROM slice WHERE ts + dur > 500000 LIMIT 3", 300 },
    { "SELECT id FROM slice WHERE ts + dur > 500000 AND id + 0 > 700 LIMIT 3 OFFSET 2", 300 },
    { "SELECT name, count(*), sum(dur) FROM slice WHERE ts + id < 300000 GROUP BY name", 6000 },
    { "SELECT id, lead(id) OVER (ORDER BY id) FROM slice WHERE ts + dur < 20000", 3000 },
    { "SELECT DISTINCT depth FROM slice WHERE dur * 2 > 39000", 5000 },
    { "SELECT id FROM slice WHERE id + 0 = 4 UNION SELECT id FROM slice WHERE id - 3 = 4", 0 },
    { "WITH RECURSIVE up (id) AS (VALUES (19999) UNION SELECT s.parent_id FROM slice AS s JOIN "
      "up ON s.id = up.id WHERE s.parent_id + 0 > 5) SELECT * FROM up",
      0 },
    { "SELECT count(*) FROM slice AS a JOIN slice AS b ON b.ts = a.ts + 1000 WHERE a.id + 0 < 9 "
      "AND "
      "b.dur * 2 > a.dur",
      0 },
};

static void ask(struct store *plain, struct store *served, const char *sql, int most)
{
    char expected[ANSWER_BYTES], text[ANSWER_BYTES];
    int steps;

    (void)answer_to(plain, sql, expected);
    steps = answer_to(served, sql, text);
    ck_assert_msg(strcmp(text, expected) == 0, "%s: %s, not %s", sql, text, expected);
    ck_assert_msg(most == 0 || steps < most, "%d steps: %s", steps, sql);
}

START_TEST(leaves_out_rows_that_fail)
{
    struct store *plain, *served;

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    ask(plain, served, questions[_i].sql, questions[_i].most);
    store_close(plain);
    store_close(served);
}
END_TEST

/* ---- Made conditions ---- */

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

#define CHOOSE(items, seed) (items)[next(seed) % (sizeof(items) / sizeof *(items))]

static void add(char *sql, const char *text)
{
    (void)strncat(sql, text, 900 - strlen(sql));
}

/* A value of one or both tables.  */
static void add_value(char *sql, uint32_t *seed, bool is_joined, unsigned depth)
{
    static const char *const values[] = {
        "c.id",
        "c.ts",
        "c.dur",
        "c.depth",
        "c.parent_id",
        "c.scope",
        "c.async_id",
        "p.id",
        "p.dur",
        "p.scope",
        "p.ts",
        "0",
        "1",
        "-7",
        "1000",
        "20000000",
        "NULL",
        "0.5",
        "'3'",
        "9223372036854775807",
        "-9223372036854775807",
        "p.async_id",
    };
    static const char *const signs[] = { " * ", " + ", " - ", " / ", " % ", " & " };
    const char *value;

    if (depth > 0 && next(seed) % 2) {
        add(sql, "(");
        add_value(sql, seed, is_joined, depth - 1);
        add(sql, next(seed) % 8 ? signs[next(seed) % 3] : CHOOSE(signs, seed));
        add_value(sql, seed, is_joined, depth - 1);
        add(sql, ")");
        return;
    }
    do
        value = CHOOSE(values, seed);
    while (!is_joined && value[0] == 'p');
    add(sql, value);
}

static void add_condition(char *sql, uint32_t *seed, bool is_joined)
{
    static const char *const comparisons[] = { " = ", " <> ", " < ",  " <= ",
                                               " > ", " >= ", " IS ", " IS NOT " };

    if (next(seed) % 6 == 0)
        add(sql, "NOT ");
    add(sql, "(");
    add_value(sql, seed, is_joined, 2);
    if (next(seed) % 10 == 0) {
        add(sql, next(seed) % 2 ? " IS NULL)" : " IS NOT NULL)");
        return;
    }
    add(sql, CHOOSE(comparisons, seed));
    add_value(sql, seed, is_joined, 2);
    add(sql, ")");
}

static void make_question(char *sql, uint32_t *seed)
{
    static const char *const results[] = {
        "SELECT count(*), sum(c.id)",
        "SELECT count(*), min(c.dur), max(c.ts)",
        "SELECT sum(c.id * 31 % 1009)",
        "SELECT c.depth, count(*)",
    };
    static const char *const joins[] = {
        "",
        " JOIN slice_data AS p ON p.id = c.parent_id",
        " JOIN slice_data AS p ON c.parent_id = p.id",
        " LEFT JOIN slice_data AS p ON p.id = c.parent_id",
        " JOIN slice_data AS p ON p.id = c.async_id",
        " LEFT JOIN slice_data AS p ON p.ts + p.scope > 1000 AND c.id < 5",
    };
    const char *result = CHOOSE(results, seed), *join = CHOOSE(joins, seed);
    unsigned conditions = 1 + next(seed) % 3;

    sql[0] = '\0';
    add(sql, result);
    add(sql, " FROM slice_data AS c");
    add(sql, join);
    add(sql, strstr(join, "ts") ? " WHERE c.id < 7 AND (" : " WHERE (");
    for (unsigned i = 0; i < conditions; i++) {
        if (i > 0)
            add(sql, next(seed) % 4 ? " AND " : " OR ");
        add_condition(sql, seed, *join != '\0');
    }
    add(sql, ")");
    if (strstr(result, "depth"))
        add(sql, " GROUP BY c.depth ORDER BY c.depth");
}

enum { QUESTIONS = 120 };

START_TEST(answers_made_conditions_as_the_plain_table_does)
{
    struct store *plain, *served;
    uint32_t seed = (uint32_t)_i;
    char sql[1000];

    make_store_by_sql(fill);
    plain = reopen_store("s", STORE_READ);
    served = open_served_store();
    for (int i = 0; i < QUESTIONS; i++) {
        make_question(sql, &seed);
        ask(plain, served, sql, 0);
    }
    store_close(plain);
    store_close(served);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_tested");
    TCase *tests = tcase_create("tested");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tests, enter_folder, leave_folder);
    tcase_add_loop_test(tests, leaves_out_rows_that_fail, 0, sizeof questions / sizeof *questions);
    tcase_add_loop_test(tests, answers_made_conditions_as_the_plain_table_does, 0, 4);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
