/* stores.h - stores for tests, and what is in them.  The running test fails where something does
 * not succeed.  */
#ifndef TESTS_STORES_H
#define TESTS_STORES_H

#include <stdlib.h>

#include <fxt/store.h>

/* A folder for one test, which is in it then (a new process runs each); nothing but a store called
 * s may be left there.  */
void enter_folder(void);
void leave_folder(void);

/* What store_create() and store_open() give.  */
struct store *new_store(const char *path);
struct store *reopen_store(const char *path, enum store_mode mode);

/* Make a store at path with one capture, which holds the records.  */
void make_store(const char *path, const char *name, const struct fxt_record *records, size_t count);

/* Import a profile, called "bytes".  Fails no test.  */
enum store_status import_bytes(struct store *store, enum store_profile_format format,
                               const void *bytes, size_t length,
                               struct store_profile_result *result, struct store_error *error);

/* Let import, which has no assertions inside, meet one failing allocation after the other until
 * there is none left to fail.  Each time it says STORE_NO_MEMORY, and capture and table have the
 * one row that they had.  Returns how often.  */
typedef enum store_status (*import_fn)(struct store *store, const void *context,
                                       struct store_error *error);
unsigned long fail_every_allocation(struct store *store, const char *table, import_fn import,
                                    const void *context);

/* Make the store "s" by SQL, with the columns of its rows; open it so that SQL reads these.  */
void make_store_by_sql(const char *sql);
struct store *open_served_store(void);

/* Write all rows, each value with its type, and the error at the end as text.  Returns the steps
 * that SQLite took.  */
#define ANSWER_BYTES 8192
struct sqlite3_stmt;
int answer_of(struct sqlite3_stmt *statement, char text[ANSWER_BYTES]);
/* The same of a query, which store_prepare() prepares.  */
int answer_to(struct store *store, const char *sql, char text[ANSWER_BYTES]);
/* What store_prepare_once() gives.  */
struct sqlite3_stmt *prepare_once(struct store *store, const char *sql);
/* Change the store "s", which may be open for reading.  */
void write_to_store(const char *sql);

/* SQL for make_store_by_sql(): a capture of that many slices, two threads with a track each, and
 * the track of a counter.  */
#define MADE_SLICES "20000"
#define MADE_CAPTURE                                                                            \
    "INSERT INTO capture (id, hash, name, format, size_bytes, record_count, first_sample_id, "  \
    "sample_count, samples_ordered, first_slice_id, slice_count, first_sched_id, sched_count) " \
    "VALUES (1, x'00', 'made', 'fxt', 0, 0, 1, 0, 1, 1, " MADE_SLICES ", 1, 0);"                \
    "INSERT INTO process (id, capture_id, koid) VALUES (1, 1, 1);"                              \
    "INSERT INTO thread (id, upid, koid) VALUES (1, 1, 1), (2, 1, 2);"                          \
    "INSERT INTO track (id, capture_id, type, name, utid) VALUES (1, 1, 'thread', 'x', 1), "    \
    "(2, 1, 'thread', 'y', 2), (3, 1, 'counter', 'z', NULL);"

/* The first column of the first row.  */
int64_t row_number(struct store *store, const char *sql);

/* The first column of all rows, each with a ';' behind it.  From malloc().  */
char *row_texts(struct store *store, const char *sql);

#define ck_assert_rows(store, sql, expected)     \
    do {                                         \
        char *rows_ = row_texts((store), (sql)); \
        ck_assert_str_eq(rows_, (expected));     \
        free(rows_);                             \
    } while (0)

#endif /* TESTS_STORES_H */
