/* fidl_sampler.h - the messages of fuchsia.memory.sampler, to bytes and back.
 *
 * Freestanding: no libc beyond memcpy, no allocation, no global state, async-signal-safe.  That is
 * what lets the allocator shim, which lives inside other people's processes, link this and nothing
 * else of ours.  Format: docs/formats/memory-sampler.md; "section N" means a section of it.
 *
 * Two payload generations share their ordinals (section 1): the structs of 2023 and today's tables.
 * The decoder takes both and tells them apart by the body; the encoder writes the one it is asked
 * for.
 *
 * A message is decoded in place: nothing is copied; arrays are walked with fidl_word(),
 * fidl_module_next() and fidl_segment_next().  fidl_decode() checks the message whole - every
 * count, padding byte, envelope and string - so walking cannot fail.  */
#ifndef FIDL_SAMPLER_H
#define FIDL_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* libfxt exports these functions.  What compiles the files of libfxt/fidl into itself, as a shim in
 * another process does, defines this empty and keeps them hidden.  */
#ifndef FIDL_API
#define FIDL_API __attribute__((visibility("default")))
#endif

/* Largest message of a channel (section 3, "Sizes").  */
#define FIDL_MAX_MESSAGE 65536u
/* Bounds of the protocol (section 1).  */
#define FIDL_MAX_BUILD_ID 20u
#define FIDL_MAX_NAME     32u

/* Values are part of the interface and never reused.  */
enum fidl_status {
    FIDL_OK = 0,
    FIDL_TRUNCATED = 1,       /* the message ends before its own structure does */
    FIDL_BAD_MAGIC = 2,       /* byte 7 is not 1 */
    FIDL_BAD_WIRE_FORMAT = 3, /* the bit for wire format 2 is missing */
    FIDL_UNKNOWN_METHOD = 4,  /* an ordinal this protocol does not have */
    FIDL_BAD_PADDING = 5,     /* a padding byte is not 0 */
    FIDL_BAD_PRESENCE = 6,    /* a presence word is not all ones; no member here may be absent so */
    FIDL_BAD_ENVELOPE = 7,    /* byte count, flags or handles of an envelope are wrong */
    FIDL_OVER_BOUND = 8,      /* a count over its bound or over the bytes that are there */
    FIDL_BAD_UTF8 = 9,        /* a string is not UTF-8 */
    FIDL_TRAILING_BYTES = 10, /* bytes behind the end of the message */
    FIDL_NO_ROOM = 11,        /* encoding: the buffer is too small; nothing useful was written */
};

/* A phrase for people: "byte 7, the magic, is not 1", ...  Never NULL.  */
FIDL_API const char *fidl_status_phrase(enum fidl_status status);

enum fidl_method {
    FIDL_RECORD_ALLOCATION = 1,
    FIDL_RECORD_DEALLOCATION = 2,
    FIDL_SET_PROCESS_INFO = 3,
};

/* Ordinals (section 2); the same in both generations.  */
#define FIDL_ORDINAL_RECORD_ALLOCATION   UINT64_C(0x6b0add9f7769824d)
#define FIDL_ORDINAL_RECORD_DEALLOCATION UINT64_C(0x503bff5ec34dbeeb)
#define FIDL_ORDINAL_SET_PROCESS_INFO    UINT64_C(0x68a0557106e51783)

enum fidl_generation {
    FIDL_GENERATION_1 = 1, /* 2023: structs, dynamic flags 0x00 */
    FIDL_GENERATION_2 = 2, /* tables, dynamic flags 0x80 */
};

/* Little-endian 64-bit words inside a message.  */
struct fidl_words {
    const uint8_t *bytes;
    uint64_t count;
};

/* A position in a vector of tables; start one from a message or a module, never by hand.  */
struct fidl_cursor {
    const uint8_t *header; /* of the next element */
    const uint8_t *object; /* its first out-of-line object */
    uint64_t left;         /* elements not yet visited */
};

/* One executable segment of a module.  A member that the message leaves out is 0 and its flag
 * false.  */
struct fidl_segment {
    uint64_t start_address;
    uint64_t size;
    uint64_t relative_address; /* p_vaddr, rounded down to a page: not a file offset */
    bool has_start_address;
    bool has_size;
    bool has_relative_address;
};

/* One module of a decoded message.  */
struct fidl_module {
    const uint8_t *build_id;     /* borrowed from the message; NULL when left out */
    uint32_t build_id_length;    /* at most FIDL_MAX_BUILD_ID */
    struct fidl_cursor segments; /* for fidl_segment_next() */
};

/* A decoded message.  It borrows from the bytes it was decoded from.  */
struct fidl_message {
    enum fidl_method method;
    /* By the body; for FIDL_SET_PROCESS_INFO, which is the same in both, by the flags.  */
    enum fidl_generation generation;
    uint32_t txid; /* 0 for one-way messages, not enforced */

    /* The members of the Record methods.  In generation 2 each may be missing; servers refuse such
     * a message (section 4).  */
    bool has_address;
    bool has_stack;          /* the frames of the stack are there, be it none */
    bool has_size;           /* never for a deallocation */
    uint64_t address;        /* of the block */
    uint64_t size;           /* bytes asked for */
    struct fidl_words stack; /* program counters, innermost first; fidl_word() reads them */

    /* The members of SetProcessInfo.  */
    bool has_name;
    bool has_modules;
    const char *name; /* name_length bytes of UTF-8, no NUL */
    uint32_t name_length;
    struct fidl_cursor modules; /* for fidl_module_next() */
};

/* Word i of words; i < words.count is the caller's duty.  */
FIDL_API uint64_t fidl_word(struct fidl_words words, uint64_t i);

/* Decode and check one whole message of exactly length bytes (section 3, all its rejections); it
 * may be longer than a channel would carry.  A table member with an ordinal that the protocol does
 * not know is skipped.  On anything but FIDL_OK *out is unspecified.  Returns any status but
 * FIDL_NO_ROOM.  */
FIDL_API enum fidl_status fidl_decode(const uint8_t *bytes, size_t length,
                                      struct fidl_message *out);

/* Step to the next module or segment.  False at the end.  Walk a copy of the cursor to be able to
 * walk again.  */
FIDL_API bool fidl_module_next(struct fidl_cursor *cursor, struct fidl_module *out);
FIDL_API bool fidl_segment_next(struct fidl_cursor *cursor, struct fidl_segment *out);

/* The length of the message that starts at bytes, found from its own structure, for recorded
 * streams of messages one after another.  Returns FIDL_OK with *message_length, or what
 * fidl_decode() would say (trailing bytes apart).  */
FIDL_API enum fidl_status fidl_message_length(const uint8_t *bytes, size_t length,
                                              size_t *message_length);

/* ---- Encoding ---- */

/* The functions below put one whole message into the caller's buffer and its size into *length.
 * They make no message larger than FIDL_MAX_MESSAGE, whatever the capacity.  Return FIDL_OK,
 * FIDL_OVER_BOUND or FIDL_NO_ROOM; *length is set with FIDL_OK alone.  */

FIDL_API enum fidl_status fidl_encode_allocation(enum fidl_generation generation, uint64_t address,
                                                 const uint64_t *stack, size_t stack_count,
                                                 uint64_t size, uint8_t *buffer, size_t capacity,
                                                 size_t *length);

FIDL_API enum fidl_status fidl_encode_deallocation(enum fidl_generation generation,
                                                   uint64_t address, const uint64_t *stack,
                                                   size_t stack_count, uint8_t *buffer,
                                                   size_t capacity, size_t *length);

/* A module to encode.  Either pointer may be NULL: then the member is left out.  */
struct fidl_module_source {
    const uint8_t *build_id;
    uint32_t build_id_length;            /* at most FIDL_MAX_BUILD_ID */
    const struct fidl_segment *segments; /* the has_ flags choose the members */
    size_t segment_count;
};

/* name and modules may be NULL: then they are left out.  name is cut to 31 bytes on a character
 * boundary (section 1), and bytes that are not UTF-8 become '?', since receivers refuse the message
 * otherwise.  FIDL_NO_ROOM: give fewer modules and send the rest in another message (section 3,
 * "Sizes").  */
FIDL_API enum fidl_status fidl_encode_process_info(enum fidl_generation generation,
                                                   const char *name,
                                                   const struct fidl_module_source *modules,
                                                   size_t module_count, uint8_t *buffer,
                                                   size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif

#endif /* FIDL_SAMPLER_H */
