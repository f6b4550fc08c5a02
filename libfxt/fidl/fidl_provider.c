/* The messages of fuchsia.tracing.provider: fixed structs, lists of strings.  */
#include <string.h>

#include <fxt/fidl_provider.h>

#include "base/utf8.h"
#include "libfxt/fidl/wire.h"

struct method {
    uint64_t ordinal;
    enum fidl_provider_method method;
    bool is_answer;
    uint8_t body; /* bytes of the struct, without what is out of line */
};

static const struct method methods[] = {
    { UINT64_C(0x09e31667d7b180f7), FIDL_PROVIDER_INITIALIZE, false, 32 },
    { UINT64_C(0x5bae2b60be66a815), FIDL_PROVIDER_START, false, 24 },
    { UINT64_C(0x133df8ebb1897df0), FIDL_PROVIDER_STOP, false, 0 },
    { UINT64_C(0x6b5564032f2726b1), FIDL_PROVIDER_TERMINATE, false, 0 },
    { UINT64_C(0x5f5b0ad77af3f886), FIDL_PROVIDER_GET_CATEGORIES, false, 0 },
    { UINT64_C(0x5f5b0ad77af3f886), FIDL_PROVIDER_CATEGORIES, true, 16 },
    { UINT64_C(0x75bcae3dfa08479c), FIDL_REGISTRY_REGISTER, false, 32 },
    { UINT64_C(0x4835ed419a808f16), FIDL_REGISTRY_REGISTER_SYNC, false, 32 },
    { UINT64_C(0x4835ed419a808f16), FIDL_REGISTRY_REGISTERED, true, 8 },
};

static const struct method *find_method(uint64_t ordinal, bool answers)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].ordinal == ordinal && methods[i].is_answer == answers)
            return &methods[i];
    return NULL;
}

static const struct method *method_of(enum fidl_provider_method method)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].method == method)
            return &methods[i];
    return NULL;
}

/* ---- Reading ---- */

/* What is not yet read of a message.  */
struct rest {
    const uint8_t *bytes;
    size_t left;
};

static bool is_zero(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static bool is_utf8(const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        size_t step = base_utf8_character(bytes, length);

        if (step == 0)
            return false;
        bytes += step;
        length -= step;
    }
    return true;
}

/* The bytes of a string whose header has been read.  */
static enum fidl_status take_string(struct rest *rest, const uint8_t *header, uint32_t bound)
{
    uint64_t length = fidl_load(header, 8), padded;

    if (fidl_load(header + 8, 8) != FIDL_PRESENT)
        return FIDL_BAD_PRESENCE;
    if (length > bound)
        return FIDL_OVER_BOUND;
    padded = (length + 7) & ~UINT64_C(7);
    if (padded > rest->left)
        return FIDL_TRUNCATED;
    if (!is_zero(rest->bytes + length, padded - length))
        return FIDL_BAD_PADDING;
    if (!is_utf8(rest->bytes, length))
        return FIDL_BAD_UTF8;
    rest->bytes += padded;
    rest->left -= padded;
    return FIDL_OK;
}

/* A list whose header has been read: of strings, or of pairs.  */
static enum fidl_status take_list(struct rest *rest, const uint8_t *header, bool pairs,
                                  struct fidl_strings *out)
{
    uint64_t count = fidl_load(header, 8);
    unsigned each = pairs ? 2 : 1;
    enum fidl_status status = FIDL_OK;
    const uint8_t *headers = rest->bytes;

    if (fidl_load(header + 8, 8) != FIDL_PRESENT)
        return FIDL_BAD_PRESENCE;
    if (count > FIDL_MAX_CATEGORIES)
        return FIDL_OVER_BOUND;
    if (count * each * 16 > rest->left)
        return FIDL_TRUNCATED;
    rest->bytes += count * each * 16;
    rest->left -= count * each * 16;
    *out = (struct fidl_strings){ headers, rest->bytes, count };
    for (uint64_t i = 0; i < count * each && status == FIDL_OK; i++)
        status = take_string(rest, headers + 16 * i,
                             i % each == 1 ? FIDL_MAX_DESCRIPTION : FIDL_MAX_CATEGORY);
    return status;
}

static bool handle_is_present(const uint8_t *bytes)
{
    return fidl_load(bytes, 4) == UINT32_MAX;
}

static enum fidl_status take_initialize(struct rest *rest, const uint8_t *body,
                                        struct fidl_provider_message *out)
{
    out->mode = body[0];
    if (!is_zero(body + 1, 3) || !is_zero(body + 12, 4))
        return FIDL_BAD_PADDING;
    if (!handle_is_present(body + 4) || !handle_is_present(body + 8))
        return FIDL_BAD_PRESENCE;
    if (out->mode < 1 || out->mode > 3)
        return FIDL_OVER_BOUND;
    return take_list(rest, body + 16, false, &out->list);
}

static enum fidl_status take_start(struct rest *rest, const uint8_t *body,
                                   struct fidl_provider_message *out)
{
    out->disposition = body[0];
    if (!is_zero(body + 1, 7))
        return FIDL_BAD_PADDING;
    if (out->disposition < 1 || out->disposition > 3)
        return FIDL_OVER_BOUND;
    return take_list(rest, body + 8, false, &out->list);
}

static enum fidl_status take_register(struct rest *rest, const uint8_t *body,
                                      struct fidl_provider_message *out)
{
    if (!is_zero(body + 4, 4))
        return FIDL_BAD_PADDING;
    if (!handle_is_present(body))
        return FIDL_BAD_PRESENCE;
    out->pid = fidl_load(body + 8, 8);
    out->name.text = (const char *)rest->bytes;
    out->name.length = (uint32_t)fidl_load(body + 16, 8);
    return take_string(rest, body + 16, FIDL_MAX_CATEGORY);
}

static enum fidl_status take_registered(const uint8_t *body, struct fidl_provider_message *out)
{
    out->status = (int32_t)fidl_load(body, 4);
    out->started = body[4] != 0;
    if (body[4] > 1 || !is_zero(body + 5, 3))
        return FIDL_BAD_PADDING;
    return FIDL_OK;
}

static enum fidl_status take_body(struct rest *rest, const uint8_t *body,
                                  struct fidl_provider_message *out)
{
    switch (out->method) {
    case FIDL_PROVIDER_INITIALIZE:
        return take_initialize(rest, body, out);
    case FIDL_PROVIDER_START:
        return take_start(rest, body, out);
    case FIDL_PROVIDER_CATEGORIES:
        return take_list(rest, body, true, &out->list);
    case FIDL_REGISTRY_REGISTER:
    case FIDL_REGISTRY_REGISTER_SYNC:
        return take_register(rest, body, out);
    case FIDL_REGISTRY_REGISTERED:
        return take_registered(body, out);
    default:
        return FIDL_OK;
    }
}

enum fidl_status fidl_provider_decode(const uint8_t *bytes, size_t length, bool answers,
                                      struct fidl_provider_message *out)
{
    const struct method *method;
    enum fidl_status status;
    struct rest rest;

    memset(out, 0, sizeof *out);
    if (length < FIDL_HEADER_SIZE)
        return FIDL_TRUNCATED;
    if (bytes[7] != FIDL_MAGIC)
        return FIDL_BAD_MAGIC;
    if (!(bytes[4] & FIDL_WIRE_V2))
        return FIDL_BAD_WIRE_FORMAT;
    method = find_method(fidl_load(bytes + 8, 8), answers);
    if (!method)
        return FIDL_UNKNOWN_METHOD;
    if (method->body > length - FIDL_HEADER_SIZE)
        return FIDL_TRUNCATED;
    out->method = method->method;
    out->txid = (uint32_t)fidl_load(bytes, 4);
    rest.bytes = bytes + FIDL_HEADER_SIZE + method->body;
    rest.left = length - FIDL_HEADER_SIZE - method->body;
    status = take_body(&rest, bytes + FIDL_HEADER_SIZE, out);
    if (status == FIDL_OK && rest.left > 0)
        status = FIDL_TRAILING_BYTES;
    return status;
}

bool fidl_strings_next(struct fidl_strings *list, struct fidl_string *out)
{
    if (list->left == 0)
        return false;
    out->text = (const char *)list->bytes;
    out->length = (uint32_t)fidl_load(list->header, 8);
    list->bytes += (out->length + 7) & ~7u;
    list->header += 16;
    list->left--;
    return true;
}

bool fidl_strings_next_pair(struct fidl_strings *list, struct fidl_string *first,
                            struct fidl_string *second)
{
    if (!fidl_strings_next(list, first))
        return false;
    list->left++; /* the count is of pairs */
    return fidl_strings_next(list, second);
}

/* ---- Writing ---- */

struct sheet {
    uint8_t *bytes;
    size_t capacity, used;
    enum fidl_status status;
};

/* Zeroed room; NULL and a status when there is none.  */
static uint8_t *reserve(struct sheet *sheet, size_t size)
{
    size_t padded = (size + 7) & ~(size_t)7, at = sheet->used;

    if (sheet->status != FIDL_OK)
        return NULL;
    if (padded > sheet->capacity - at) {
        sheet->status = FIDL_NO_ROOM;
        return NULL;
    }
    memset(sheet->bytes + at, 0, padded);
    sheet->used += padded;
    return sheet->bytes + at;
}

static void put_count(uint8_t *header, uint64_t count)
{
    fidl_store(header, count, 8);
    fidl_store(header + 8, FIDL_PRESENT, 8);
}

static void put_text(struct sheet *sheet, uint8_t *header, const char *text, size_t length,
                     uint32_t bound)
{
    uint8_t *bytes;

    if (length > bound)
        sheet->status = FIDL_OVER_BOUND;
    else if (!is_utf8((const uint8_t *)text, length))
        sheet->status = FIDL_BAD_UTF8;
    bytes = reserve(sheet, length);
    if (!bytes)
        return;
    if (length > 0)
        memcpy(bytes, text, length);
    put_count(header, length);
}

/* Up to where it is over any bound.  */
static size_t text_length(const char *text)
{
    size_t length = 0;

    while (length <= FIDL_MAX_DESCRIPTION && text[length])
        length++;
    return length;
}

static void put_list(struct sheet *sheet, uint8_t *header, const char *const *items, size_t count,
                     bool pairs)
{
    uint8_t *headers = reserve(sheet, 16 * count);

    if (!headers)
        return;
    put_count(header, pairs ? count / 2 : count);
    for (size_t i = 0; i < count && sheet->status == FIDL_OK; i++)
        put_text(sheet, headers + 16 * i, items[i], text_length(items[i]),
                 pairs && i % 2 == 1 ? FIDL_MAX_DESCRIPTION : FIDL_MAX_CATEGORY);
}

static void put_body(struct sheet *sheet, uint8_t *body,
                     const struct fidl_provider_message *message, const char *const *items,
                     size_t count)
{
    switch (message->method) {
    case FIDL_PROVIDER_INITIALIZE:
        body[0] = message->mode;
        fidl_store(body + 4, UINT32_MAX, 4);
        fidl_store(body + 8, UINT32_MAX, 4);
        put_list(sheet, body + 16, items, count, false);
        break;
    case FIDL_PROVIDER_START:
        body[0] = message->disposition;
        put_list(sheet, body + 8, items, count, false);
        break;
    case FIDL_PROVIDER_CATEGORIES:
        put_list(sheet, body, items, count, true);
        break;
    case FIDL_REGISTRY_REGISTER:
    case FIDL_REGISTRY_REGISTER_SYNC:
        fidl_store(body, UINT32_MAX, 4);
        fidl_store(body + 8, message->pid, 8);
        put_text(sheet, body + 16, message->name.text, message->name.length, FIDL_MAX_CATEGORY);
        break;
    case FIDL_REGISTRY_REGISTERED:
        fidl_store(body, (uint32_t)message->status, 4);
        body[4] = message->started;
        break;
    default:
        break;
    }
}

enum fidl_status fidl_provider_encode(const struct fidl_provider_message *message,
                                      const char *const *items, size_t item_count, uint8_t *buffer,
                                      size_t capacity, size_t *length)
{
    const struct method *method = method_of(message->method);
    struct sheet sheet = { .bytes = buffer, .capacity = capacity };
    uint8_t *header;

    if (!method)
        return FIDL_UNKNOWN_METHOD;
    if (capacity > FIDL_MAX_MESSAGE)
        sheet.capacity = FIDL_MAX_MESSAGE;
    header = reserve(&sheet, FIDL_HEADER_SIZE + (size_t)method->body);
    if (!header)
        return sheet.status;
    fidl_store(header, message->txid, 4);
    header[4] = FIDL_WIRE_V2;
    header[7] = FIDL_MAGIC;
    fidl_store(header + 8, method->ordinal, 8);
    put_body(&sheet, header + FIDL_HEADER_SIZE, message, items, item_count);
    if (sheet.status == FIDL_OK)
        *length = sheet.used;
    return sheet.status;
}
