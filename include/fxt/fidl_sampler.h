/* fidl_sampler.h - encode and decode the messages of fuchsia.memory.sampler.
 *
 * The code is freestanding: no libc beyond memcpy, no allocation, no global state,
 * async-signal-safe.  The allocator shim, which runs inside other processes, can therefore link
 * this code and no other part of the project.  Format: docs/formats/memory-sampler.md; "section N"
 * refers to a section of that document.
 *
 * Two payload generations share their ordinals (section 1): the structs of 2023 and the current
 * tables.  The decoder accepts both and distinguishes them by the body; the encoder writes the
 * requested one.
 *
 * A message is decoded in place, without copying.  Arrays are walked with fidl_word(),
 * fidl_module_next() and fidl_segment_next().  fidl_decode() checks the whole message - every
 * count, padding byte, envelope and string - so walking cannot fail.  */
#ifndef FIDL_SAMPLER_H
#define FIDL_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* libfxt exports these functions.  A program that compiles the files of libfxt/fidl into itself,
 * such as a shim in another process, should define this macro as empty to keep them hidden.  */
#ifndef FIDL_API
#define FIDL_API __attribute__((visibility("default")))
#endif

/* Largest message of a channel (section 3, "Sizes").  */
#define FIDL_MAX_MESSAGE 65536u
/* Bounds of the protocol (section 1).  */
#define FIDL_MAX_BUILD_ID 20u
#define FIDL_MAX_NAME     32u

/* Values are part of the interface and are never reused.  */
enum fidl_status {
    FIDL_OK = 0,
    FIDL_TRUNCATED = 1,       /* the message ends before its own structure does */
    FIDL_BAD_MAGIC = 2,       /* byte 7 is not 1 */
    FIDL_BAD_WIRE_FORMAT = 3, /* the bit for wire format 2 is missing */
    FIDL_UNKNOWN_METHOD = 4,  /* an ordinal this protocol does not have */
    FIDL_BAD_PADDING = 5,     /* a padding byte is not 0 */
    FIDL_BAD_PRESENCE = 6,    /* a presence word is not all ones, the only value allowed here */
    FIDL_BAD_ENVELOPE = 7,    /* byte count, flags or handles of an envelope are wrong */
    FIDL_OVER_BOUND = 8,      /* a count exceeds its bound or the available bytes */
    FIDL_BAD_UTF8 = 9,        /* a string is not UTF-8 */
    FIDL_TRAILING_BYTES = 10, /* bytes after the end of the message */
    FIDL_NO_ROOM = 11,        /* encoding: the buffer is too small; its contents are unspecified */
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

/* A position in a vector of tables.  It must be started from a message or a module, never by
 * hand.  */
struct fidl_cursor {
    const uint8_t *header; /* of the next element */
    const uint8_t *object; /* its first out-of-line object */
    uint64_t left;         /* elements not yet visited */
};

/* One executable segment of a module.  If the message omits a member, it is 0 and its flag is
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
    const uint8_t *build_id;     /* borrowed from the message; NULL if omitted */
    uint32_t build_id_length;    /* at most FIDL_MAX_BUILD_ID */
    struct fidl_cursor segments; /* for fidl_segment_next() */
};

/* A decoded message.  It borrows from the bytes it was decoded from.  */
struct fidl_message {
    enum fidl_method method;
    /* Determined by the body; for FIDL_SET_PROCESS_INFO, which is the same in both, by the
     * flags.  */
    enum fidl_generation generation;
    uint32_t txid; /* 0 for one-way messages; not enforced */

    /* The members of the Record methods.  In generation 2 each may be missing; servers reject such
     * a message (section 4).  */
    bool has_address;
    bool has_stack;          /* the stack is present, possibly without frames */
    bool has_size;           /* never for a deallocation */
    uint64_t address;        /* of the block */
    uint64_t size;           /* requested bytes */
    struct fidl_words stack; /* program counters, innermost first; fidl_word() reads them */

    /* The members of SetProcessInfo.  */
    bool has_name;
    bool has_modules;
    const char *name; /* name_length bytes of UTF-8, no NUL */
    uint32_t name_length;
    struct fidl_cursor modules; /* for fidl_module_next() */
};

/* Word i of words.  The caller must ensure that i < words.count.  */
FIDL_API uint64_t fidl_word(struct fidl_words words, uint64_t i);

/* Decode and check one whole message of exactly length bytes (section 3, with all its rejections).
 * The message may be longer than a channel would carry.  A table member with an ordinal that the
 * protocol does not define is skipped.  On any status but FIDL_OK, *out is unspecified.  Returns
 * any status but FIDL_NO_ROOM.  */
FIDL_API enum fidl_status fidl_decode(const uint8_t *bytes, size_t length,
                                      struct fidl_message *out);

/* Step to the next module or segment.  Returns false at the end.  To walk again, walk a copy of the
 * cursor.  */
FIDL_API bool fidl_module_next(struct fidl_cursor *cursor, struct fidl_module *out);
FIDL_API bool fidl_segment_next(struct fidl_cursor *cursor, struct fidl_segment *out);

/* Find the length of the message that starts at bytes from its own structure, for recorded streams
 * of consecutive messages.  Returns FIDL_OK with *message_length, or the status of fidl_decode()
 * (except for trailing bytes).  */
FIDL_API enum fidl_status fidl_message_length(const uint8_t *bytes, size_t length,
                                              size_t *message_length);

/* ---- Encoding ---- */

/* The functions below write one whole message to the caller's buffer and its size to *length.  They
 * never make a message larger than FIDL_MAX_MESSAGE, whatever the capacity is.  They return
 * FIDL_OK, FIDL_OVER_BOUND or FIDL_NO_ROOM; *length is set on FIDL_OK only.  */

FIDL_API enum fidl_status fidl_encode_allocation(enum fidl_generation generation, uint64_t address,
                                                 const uint64_t *stack, size_t stack_count,
                                                 uint64_t size, uint8_t *buffer, size_t capacity,
                                                 size_t *length);

FIDL_API enum fidl_status fidl_encode_deallocation(enum fidl_generation generation,
                                                   uint64_t address, const uint64_t *stack,
                                                   size_t stack_count, uint8_t *buffer,
                                                   size_t capacity, size_t *length);

/* A module to encode.  Either pointer may be NULL; the member is then omitted.  */
struct fidl_module_source {
    const uint8_t *build_id;
    uint32_t build_id_length;            /* at most FIDL_MAX_BUILD_ID */
    const struct fidl_segment *segments; /* the has_ flags choose the members */
    size_t segment_count;
};

/* name and modules may be NULL; they are then omitted.  name is cut to 31 bytes on a character
 * boundary (section 1).  Bytes that are not UTF-8 become '?', because receivers would otherwise
 * reject the message.  On FIDL_NO_ROOM, pass fewer modules and send the rest in another message
 * (section 3, "Sizes").  */
FIDL_API enum fidl_status fidl_encode_process_info(enum fidl_generation generation,
                                                   const char *name,
                                                   const struct fidl_module_source *modules,
                                                   size_t module_count, uint8_t *buffer,
                                                   size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif

#endif /* FIDL_SAMPLER_H */
