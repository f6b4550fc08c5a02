/* heap_records.h - messages of the memory sampler made by hand, in records.  */
#ifndef TESTS_HEAP_RECORDS_H
#define TESTS_HEAP_RECORDS_H

#include <fxt/fidl_sampler.h>
#include <fxt/profile.h>

/* A record and what it points to; it must stay where it is.  */
struct heap_record {
    struct fxt_record record;
    struct fxt_arg interval;
    uint8_t message[8192];
};

/* Frames of a stack, leaf first, as an argument: HEAP_STACK(1, 2, 3).  */
struct heap_stack {
    const uint64_t *pcs;
    size_t count;
};
#define HEAP_STACK(...)                                      \
    ((struct heap_stack){ (const uint64_t[]){ __VA_ARGS__ }, \
                          sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t) })

/* How messages are made: which payload, and what else the records say.  */
struct heap_maker {
    enum fidl_generation generation; /* 0: the second */
    uint64_t interval_bytes;         /* 0: records do not say */
    uint64_t thread;
    bool recorded_stream; /* neither time nor process */
};

void heap_allocation(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                     uint64_t process, uint64_t address, uint64_t size, struct heap_stack stack);
void heap_release(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                  uint64_t process, uint64_t address, struct heap_stack stack);
/* name and modules may be NULL.  */
void heap_process_info(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                       uint64_t process, const char *name, const struct fidl_module_source *modules,
                       size_t count);
/* Any bytes as a message.  */
void heap_message(struct heap_record *out, const struct heap_maker *maker, int64_t ts_ns,
                  uint64_t process, const void *bytes, size_t size);

#endif /* TESTS_HEAP_RECORDS_H */
