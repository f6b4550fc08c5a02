/* Decoding: one pass checks a message against the shapes of its types, and only then are members
 * looked up, by functions that cannot fail.  */
#include <fxt/fidl_sampler.h>
#include "base/utf8.h"
#include "libfxt/fidl/wire.h"

const char *fidl_status_phrase(enum fidl_status status)
{
    switch (status) {
    case FIDL_OK:
        return "no error";
    case FIDL_TRUNCATED:
        return "the message ends before its own structure does";
    case FIDL_BAD_MAGIC:
        return "byte 7, the magic, is not 1";
    case FIDL_BAD_WIRE_FORMAT:
        return "byte 4 lacks the bit for wire format 2";
    case FIDL_UNKNOWN_METHOD:
        return "the ordinal is none of this protocol's";
    case FIDL_BAD_PADDING:
        return "a padding byte is not 0";
    case FIDL_BAD_PRESENCE:
        return "a presence word does not say that its object is there";
    case FIDL_BAD_ENVELOPE:
        return "the byte count, flags or handles of an envelope are wrong";
    case FIDL_OVER_BOUND:
        return "a count is over its bound, or over the bytes that are there";
    case FIDL_BAD_UTF8:
        return "a string is not UTF-8";
    case FIDL_TRAILING_BYTES:
        return "bytes follow the end of the message";
    case FIDL_NO_ROOM:
        return "the buffer is too small";
    }
    return "unknown status";
}

/* ---- The types of the protocol (section 1) ---- */

enum form {
    NUMBER, /* uint64 */
    BYTES,  /* vector<uint8> */
    TEXT,   /* string */
    WORDS,  /* vector<uint64> */
    TABLE,
    TABLES, /* vector of tables */
};

struct shape {
    enum form form;
    uint32_t bound;              /* of BYTES and TEXT */
    const struct shape *members; /* of TABLE and TABLES: those of ordinals 1, 2, ... */
    uint32_t member_count;
};

static const struct shape stack_members[] = { { WORDS, 0, NULL, 0 } };
static const struct shape stack_trace = { TABLE, 0, stack_members, 1 };
static const struct shape segment_members[] = { { NUMBER, 0, NULL, 0 },
                                                { NUMBER, 0, NULL, 0 },
                                                { NUMBER, 0, NULL, 0 } };
static const struct shape module_members[] = {
    { BYTES, FIDL_MAX_BUILD_ID, NULL, 0 },
    { TABLES, 0, segment_members, 3 },
};
/* The second generation's payloads are tables.  */
static const struct shape record_members[] = { { NUMBER, 0, NULL, 0 },
                                               { TABLE, 0, stack_members, 1 },
                                               { NUMBER, 0, NULL, 0 } };
static const struct shape allocation = { TABLE, 0, record_members, 3 };
static const struct shape deallocation = { TABLE, 0, record_members, 2 };
static const struct shape info_members[] = {
    { TEXT, FIDL_MAX_NAME, NULL, 0 },
    { TABLES, 0, module_members, 2 },
};
static const struct shape process_info = { TABLE, 0, info_members, 2 };

/* ---- Checking (section 3) ---- */

/* Objects follow each other without gaps, so one position is all the state there is.  */
struct scan {
    const uint8_t *next;
    size_t left;
    enum fidl_status status; /* the first thing that was wrong */
};

static bool wrong(struct scan *scan, enum fidl_status status)
{
    if (scan->status == FIDL_OK)
        scan->status = status;
    return false;
}

/* Move over an object and its padding; NULL if it is not all there or the padding is not 0.  */
static const uint8_t *take(struct scan *scan, uint64_t size)
{
    const uint8_t *object = scan->next;
    size_t padding = (size_t)(-size & 7);

    if (size > scan->left || padding > scan->left - size) {
        wrong(scan, FIDL_TRUNCATED);
        return NULL;
    }
    for (size_t i = 0; i < padding; i++)
        if (object[size + i] != 0) {
            wrong(scan, FIDL_BAD_PADDING);
            return NULL;
        }
    scan->next += size + padding;
    scan->left -= (size_t)size + padding;
    return object;
}

/* The count before a presence word that says "there"; bounded by what of this size can follow.  */
static bool check_count(struct scan *scan, const uint8_t *header, uint64_t element_size,
                        uint64_t *count)
{
    *count = fidl_load(header, 8);
    if (fidl_load(header + 8, 8) != FIDL_PRESENT)
        return wrong(scan, FIDL_BAD_PRESENCE);
    if (*count > scan->left / element_size)
        return wrong(scan, FIDL_OVER_BOUND);
    return true;
}

static bool check_value(struct scan *scan, const struct shape *shape);

/* One envelope of a table and what it holds.  shape is NULL for ordinals that are not known.  */
static bool check_envelope(struct scan *scan, const uint8_t *envelope, const struct shape *shape,
                           bool is_last)
{
    uint64_t size = fidl_load(envelope, 4);
    uint64_t handles = fidl_load(envelope + 4, 2);
    uint64_t flags = fidl_load(envelope + 6, 2);
    size_t before = scan->left;

    if (size == 0 && handles == 0 && flags == 0) /* absent; a table does not end with those */
        return is_last ? wrong(scan, FIDL_BAD_ENVELOPE) : true;
    if (handles != 0 || flags > FIDL_INLINE)
        return wrong(scan, FIDL_BAD_ENVELOPE);
    if (flags == FIDL_INLINE) /* all known members are too large for that */
        return shape ? wrong(scan, FIDL_BAD_ENVELOPE) : true;
    if (size == 0 || size % 8 != 0)
        return wrong(scan, FIDL_BAD_ENVELOPE);
    if (!shape)
        return take(scan, size) != NULL;
    if (!check_value(scan, shape))
        return false;
    return before - scan->left == size || wrong(scan, FIDL_BAD_ENVELOPE);
}

/* A table whose header was taken already; its other objects come next.  */
static bool check_table(struct scan *scan, const uint8_t *header, const struct shape *shape)
{
    const uint8_t *envelopes;
    uint64_t count;

    if (!check_count(scan, header, FIDL_ENVELOPE_SIZE, &count))
        return false;
    envelopes = take(scan, count * FIDL_ENVELOPE_SIZE);
    for (uint64_t i = 0; i < count; i++)
        if (!check_envelope(scan, envelopes + i * FIDL_ENVELOPE_SIZE,
                            i < shape->member_count ? &shape->members[i] : NULL, i == count - 1))
            return false;
    return true;
}

static bool check_text(struct scan *scan, const uint8_t *text, size_t length)
{
    size_t step;

    for (size_t i = 0; i < length; i += step) {
        step = base_utf8_character(text + i, length - i);
        if (step == 0)
            return wrong(scan, FIDL_BAD_UTF8);
    }
    return true;
}

/* A string or a vector of numbers.  */
static bool check_array(struct scan *scan, const uint8_t *header, const struct shape *shape)
{
    uint64_t element_size = shape->form == WORDS ? 8 : 1;
    const uint8_t *data;
    uint64_t count;

    if (!check_count(scan, header, element_size, &count))
        return false;
    if (shape->bound && count > shape->bound)
        return wrong(scan, FIDL_OVER_BOUND);
    data = take(scan, count * element_size);
    if (!data)
        return false;
    return shape->form != TEXT || check_text(scan, data, (size_t)count);
}

static bool check_tables(struct scan *scan, const uint8_t *header, const struct shape *shape)
{
    const uint8_t *elements;
    uint64_t count;

    if (!check_count(scan, header, FIDL_COUNT_SIZE, &count))
        return false;
    elements = take(scan, count * FIDL_COUNT_SIZE);
    for (uint64_t i = 0; i < count; i++)
        if (!check_table(scan, elements + i * FIDL_COUNT_SIZE, shape))
            return false;
    return true;
}

/* The recursion is as deep as the types above: four levels.  */
static bool check_value(struct scan *scan, const struct shape *shape)
{
    const uint8_t *inline_part = take(scan, shape->form == NUMBER ? 8 : FIDL_COUNT_SIZE);

    if (!inline_part)
        return false;
    switch (shape->form) {
    case NUMBER:
        return true;
    case TABLE:
        return check_table(scan, inline_part, shape);
    case TABLES:
        return check_tables(scan, inline_part, shape);
    default:
        return check_array(scan, inline_part, shape);
    }
}

/* A payload of the first generation: address, header of the stack's table, and the size if it is an
 * allocation.  */
static bool check_struct(struct scan *scan, enum fidl_method method)
{
    const uint8_t *body = take(scan, method == FIDL_RECORD_ALLOCATION ? 32 : 24);

    return body && check_table(scan, body + 8, &stack_trace);
}

static bool check_header(struct scan *scan, struct fidl_message *out)
{
    const uint8_t *header = take(scan, FIDL_HEADER_SIZE);

    if (!header)
        return false;
    if (header[7] != FIDL_MAGIC)
        return wrong(scan, FIDL_BAD_MAGIC);
    if (!(header[4] & FIDL_WIRE_V2))
        return wrong(scan, FIDL_BAD_WIRE_FORMAT);
    out->txid = (uint32_t)fidl_load(header, 4);
    out->generation = header[6] & FIDL_FLEXIBLE ? FIDL_GENERATION_2 : FIDL_GENERATION_1;
    switch (fidl_load(header + 8, 8)) {
    case FIDL_ORDINAL_RECORD_ALLOCATION:
        out->method = FIDL_RECORD_ALLOCATION;
        return true;
    case FIDL_ORDINAL_RECORD_DEALLOCATION:
        out->method = FIDL_RECORD_DEALLOCATION;
        return true;
    case FIDL_ORDINAL_SET_PROCESS_INFO:
        out->method = FIDL_SET_PROCESS_INFO;
        return true;
    default:
        return wrong(scan, FIDL_UNKNOWN_METHOD);
    }
}

/* Records are distinguished by the place of a presence word (section 1): relays may change
 * flags.  */
static bool check_record(struct scan *scan, struct fidl_message *out)
{
    if (scan->left < FIDL_COUNT_SIZE) /* as much as an empty table has */
        return wrong(scan, FIDL_TRUNCATED);
    if (fidl_load(scan->next + 8, 8) == FIDL_PRESENT) {
        out->generation = FIDL_GENERATION_2;
        return check_value(scan,
                           out->method == FIDL_RECORD_ALLOCATION ? &allocation : &deallocation);
    }
    out->generation = FIDL_GENERATION_1;
    return check_struct(scan, out->method);
}

/* ---- Looking up, in what was checked ---- */

/* The contents of up to 3 members of a table, NULL where absent; returns where the table ends.  */
static const uint8_t *find_members(const uint8_t *header, const uint8_t *object,
                                   const uint8_t *members[3])
{
    uint64_t count = fidl_load(header, 8);
    const uint8_t *content = object + count * FIDL_ENVELOPE_SIZE;

    members[0] = members[1] = members[2] = NULL;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *envelope = object + i * FIDL_ENVELOPE_SIZE;
        uint64_t size = fidl_load(envelope + 6, 2) == FIDL_INLINE ? 0 : fidl_load(envelope, 4);
        if (i < 3 && size)
            members[i] = content;
        content += size;
    }
    return content;
}

static struct fidl_cursor cursor_of(const uint8_t *vector)
{
    uint64_t count = fidl_load(vector, 8);

    return (struct fidl_cursor){
        .header = vector + FIDL_COUNT_SIZE,
        .object = vector + FIDL_COUNT_SIZE + count * FIDL_COUNT_SIZE,
        .left = count,
    };
}

/* The members of the next table, or false at the end.  */
static bool step(struct fidl_cursor *cursor, const uint8_t *members[3])
{
    if (cursor->left == 0)
        return false;
    cursor->object = find_members(cursor->header, cursor->object, members);
    cursor->header += FIDL_COUNT_SIZE;
    cursor->left--;
    return true;
}

bool fidl_module_next(struct fidl_cursor *cursor, struct fidl_module *out)
{
    const uint8_t *members[3];

    if (!step(cursor, members))
        return false;
    *out = (struct fidl_module){ 0 };
    if (members[0]) {
        out->build_id = members[0] + FIDL_COUNT_SIZE;
        out->build_id_length = (uint32_t)fidl_load(members[0], 8);
    }
    if (members[1])
        out->segments = cursor_of(members[1]);
    return true;
}

static bool number_of(const uint8_t *member, uint64_t *out)
{
    *out = member ? fidl_load(member, 8) : 0;
    return member != NULL;
}

bool fidl_segment_next(struct fidl_cursor *cursor, struct fidl_segment *out)
{
    const uint8_t *members[3];

    if (!step(cursor, members))
        return false;
    out->has_start_address = number_of(members[0], &out->start_address);
    out->has_size = number_of(members[1], &out->size);
    out->has_relative_address = number_of(members[2], &out->relative_address);
    return true;
}

uint64_t fidl_word(struct fidl_words words, uint64_t i)
{
    return fidl_load(words.bytes + 8 * i, 8);
}

static void get_stack(const uint8_t *header, const uint8_t *object, struct fidl_message *out)
{
    const uint8_t *members[3];

    (void)find_members(header, object, members);
    out->has_stack = members[0] != NULL;
    if (members[0])
        out->stack = (struct fidl_words){ members[0] + FIDL_COUNT_SIZE, fidl_load(members[0], 8) };
}

static void get_struct(const uint8_t *body, struct fidl_message *out)
{
    bool has_size = out->method == FIDL_RECORD_ALLOCATION;

    out->has_address = number_of(body, &out->address);
    out->has_size = number_of(has_size ? body + 24 : NULL, &out->size);
    get_stack(body + 8, body + (has_size ? 32 : 24), out);
}

static void get_table(const uint8_t *body, struct fidl_message *out)
{
    const uint8_t *members[3];

    (void)find_members(body, body + FIDL_COUNT_SIZE, members);
    if (out->method == FIDL_RECORD_DEALLOCATION)
        members[2] = NULL; /* an ordinal that deallocations do not have */
    out->has_address = number_of(members[0], &out->address);
    out->has_size = number_of(members[2], &out->size);
    if (members[1])
        get_stack(members[1], members[1] + FIDL_COUNT_SIZE, out);
}

static void get_process_info(const uint8_t *body, struct fidl_message *out)
{
    const uint8_t *members[3];

    (void)find_members(body, body + FIDL_COUNT_SIZE, members);
    out->has_name = members[0] != NULL;
    if (members[0]) {
        out->name = (const char *)members[0] + FIDL_COUNT_SIZE;
        out->name_length = (uint32_t)fidl_load(members[0], 8);
    }
    out->has_modules = members[1] != NULL;
    if (members[1])
        out->modules = cursor_of(members[1]);
}

/* ---- Whole messages ---- */

static enum fidl_status check_message(struct scan *scan, struct fidl_message *out)
{
    *out = (struct fidl_message){ 0 };
    if (!check_header(scan, out))
        return scan->status;
    if (out->method == FIDL_SET_PROCESS_INFO)
        (void)check_value(scan, &process_info);
    else
        (void)check_record(scan, out);
    return scan->status;
}

enum fidl_status fidl_decode(const uint8_t *bytes, size_t length, struct fidl_message *out)
{
    struct scan scan = { .next = bytes, .left = length };
    const uint8_t *body = bytes + FIDL_HEADER_SIZE;
    enum fidl_status status = check_message(&scan, out);

    if (status != FIDL_OK)
        return status;
    if (scan.left != 0)
        return FIDL_TRAILING_BYTES;
    if (out->method == FIDL_SET_PROCESS_INFO)
        get_process_info(body, out);
    else if (out->generation == FIDL_GENERATION_1)
        get_struct(body, out);
    else
        get_table(body, out);
    return FIDL_OK;
}

enum fidl_status fidl_message_length(const uint8_t *bytes, size_t length, size_t *message_length)
{
    struct scan scan = { .next = bytes, .left = length };
    struct fidl_message message;
    enum fidl_status status = check_message(&scan, &message);

    if (status == FIDL_OK)
        *message_length = length - scan.left;
    return status;
}
