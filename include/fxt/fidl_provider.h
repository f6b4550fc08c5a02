/* fidl_provider.h - the messages of fuchsia.tracing.provider, to bytes and back.
 *
 * Freestanding, as fidl_sampler.h is: libfxttrace, which is linked into other people's programs,
 * uses it too.  Format: docs/formats/trace-provider.md; statuses are those of fidl_sampler.h.
 * Handles are not part of the bytes: they travel beside them, in the order of the members.
 *
 * A message is decoded in place and checked whole, so that walking its lists cannot fail.  */
#ifndef FXT_FIDL_PROVIDER_H
#define FXT_FIDL_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fxt/fidl_sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bounds of the protocol.  */
#define FIDL_MAX_CATEGORIES  5000u
#define FIDL_MAX_CATEGORY    100u
#define FIDL_MAX_DESCRIPTION 400u

enum fidl_provider_method {
    FIDL_PROVIDER_INITIALIZE = 1, /* handles: buffer, packets */
    FIDL_PROVIDER_START = 2,
    FIDL_PROVIDER_STOP = 3,
    FIDL_PROVIDER_TERMINATE = 4,
    FIDL_PROVIDER_GET_CATEGORIES = 5, /* two-way */
    FIDL_PROVIDER_CATEGORIES = 6,     /* its answer */
    FIDL_REGISTRY_REGISTER = 7,       /* handle: the provider's channel */
    FIDL_REGISTRY_REGISTER_SYNC = 8,  /* two-way; the same handle */
    FIDL_REGISTRY_REGISTERED = 9,     /* its answer */
};

/* A list of strings, or of pairs of strings, in a message; walk a copy to walk again.  */
struct fidl_strings {
    const uint8_t *header;
    const uint8_t *bytes;
    uint64_t left;
};

struct fidl_string {
    const char *text; /* UTF-8 without NUL */
    uint32_t length;
};

struct fidl_provider_message {
    enum fidl_provider_method method;
    uint32_t txid;
    uint8_t mode;             /* Initialize: 1 oneshot, 2 circular, 3 streaming; others refused */
    uint8_t disposition;      /* Start: 1 clear all, 2 clear all but durable, 3 retain */
    struct fidl_strings list; /* categories; of FIDL_PROVIDER_CATEGORIES pairs with descriptions */
    uint64_t pid;             /* Register */
    struct fidl_string name;
    int32_t status; /* Registered */
    bool started;
};

/* Returns FIDL_OK, or as fidl_decode() does.  An answer cannot be distinguished from its request by
 * its header: answers says which of them is expected.  */
FIDL_API enum fidl_status fidl_provider_decode(const uint8_t *bytes, size_t length, bool answers,
                                               struct fidl_provider_message *out);

/* The next string of a list, or pair of a list of pairs; false at the end.  */
FIDL_API bool fidl_strings_next(struct fidl_strings *list, struct fidl_string *out);
FIDL_API bool fidl_strings_next_pair(struct fidl_strings *list, struct fidl_string *first,
                                     struct fidl_string *second);

/* Put a message into the buffer.  list, for the methods that have one, is item_count texts, of
 * FIDL_PROVIDER_CATEGORIES twice as many, name and description in turn; message->list is not
 * looked at.  Returns FIDL_OK, FIDL_OVER_BOUND, FIDL_BAD_UTF8 or FIDL_NO_ROOM.  */
FIDL_API enum fidl_status fidl_provider_encode(const struct fidl_provider_message *message,
                                               const char *const *items, size_t item_count,
                                               uint8_t *buffer, size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif

#endif /* FXT_FIDL_PROVIDER_H */
