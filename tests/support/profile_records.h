/* profile_records.h - records made by hand, and a profile to put them into.  */
#ifndef TESTS_PROFILE_RECORDS_H
#define TESTS_PROFILE_RECORDS_H

#include <fxt/profile.h>

/* All pointers given to these must live as long as the record is used: literals, static arrays.  */
struct fxt_string text_of(const char *text);
struct fxt_record module_record(uint64_t process, uint16_t id, const char *name,
                                const char *build_id);
struct fxt_record mapping_record(uint64_t process, uint16_t id, uint64_t start, uint64_t length,
                                 uint64_t vaddr);
/* count addresses, leaf first.  */
struct fxt_record backtrace_record(int64_t ts_ns, uint64_t process, uint64_t thread,
                                   const uint64_t *pcs, size_t count);
struct fxt_record sampler_record(int64_t ts_ns, uint64_t process, uint64_t thread,
                                 const uint64_t *pcs, size_t count);
struct fxt_record begin_record(int64_t ts_ns, uint64_t process, uint64_t thread, const char *name);
struct fxt_record end_record(int64_t ts_ns, uint64_t process, uint64_t thread, const char *name);
struct fxt_record complete_record(int64_t ts_ns, int64_t end_ns, uint64_t process, uint64_t thread,
                                  const char *name);
struct fxt_record process_record(uint64_t koid, const char *name);
/* args: room for one argument, or NULL for a record without a process.  */
struct fxt_record thread_record(uint64_t koid, const char *name, struct fxt_arg *args,
                                uint64_t process);
/* An event of any type with arguments.  */
struct fxt_record event_record(enum fxt_event_type type, const char *category, const char *name,
                               const struct fxt_arg *args, size_t count);
struct fxt_arg u64_arg(const char *name, uint64_t value);
struct fxt_arg string_arg(const char *name, const char *value);

/* What came out of a codec.  */
struct bytes {
    char *bytes; /* NUL-terminated; from malloc() */
    size_t length;
};
int collect_bytes(void *context, const void *bytes, size_t size); /* context: struct bytes */

/* A profile, and the ingest of one trace.  */
struct taken {
    struct profile *profile;
    struct profile_ingest *ingest;
};

/* Take the records in, the end included.  Returns the first status that is not PROFILE_OK; *out is
 * to be released in any case.  options may be NULL.  */
enum profile_status take_records(const struct fxt_record *records, size_t count,
                                 const struct profile_ingest_options *options, struct taken *out);
/* One more trace into the same profile.  */
enum profile_status take_more(struct taken *taken, const struct fxt_record *records, size_t count,
                              const struct profile_ingest_options *options);
void taken_release(struct taken *taken);

/* The folded text, which the caller frees; NULL when that failed.  */
char *folded_of(const struct taken *taken, enum profile_kind kind, enum profile_root root,
                int value);
/* The same from records to text, with the last value and no root; asserts that all goes well.  */
char *folded_from(const struct fxt_record *records, size_t count, enum profile_kind kind);

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

#endif /* TESTS_PROFILE_RECORDS_H */
