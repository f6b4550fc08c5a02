/* code.h - functions that are in no file.  Private to libprofile/ingest.  */
#ifndef PROFILE_INGEST_CODE_H
#define PROFILE_INGEST_CODE_H

#include "libprofile/ingest/ingest.h"

struct code_symbol;

struct ingest_code {
    struct code_symbol *items;
    size_t count, capacity;
    bool has_files; /* file_symbols were taken */
};

/* Take a list of functions of a process, code_symbols or file_symbols.  */
enum profile_status ingest_code_symbols(struct profile_ingest *ingest,
                                        const struct fxt_record *record,
                                        struct profile_error *error);
/* All lists are there.  */
void ingest_code_sort(struct profile_ingest *ingest);
/* The name of the function at an address of a process, where a file is mapped or not; 0: none is
 * known.  */
profile_id ingest_code_find(const struct profile_ingest *ingest, uint32_t process, uint64_t address,
                            bool is_file);
void ingest_code_release(struct profile_ingest *ingest);

#endif /* PROFILE_INGEST_CODE_H */
