#include "sampler-capture/trace/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fxt/fxt.h>

#define WINDOW      (512u << 10)
#define MOST_RECORD (256u << 10) /* a large record; others are smaller */
#define STRINGS     0x8000u

/* ---- The header ---- */

/* As much as there is of size bytes; what is missing becomes zeros.  */
static bool read_at(int fd, uint64_t offset, uint8_t *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, bytes + done, size - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    memset(bytes + done, 0, size - done);
    return done > 0;
}

static bool sizes_are_right(const struct transfer *transfer, const struct transfer_header *header)
{
    uint64_t durable = header->durable_size, rolling = header->rolling_size;
    uint64_t room = transfer->size - TRACE_HEADER_BYTES;

    if (durable % 8 || rolling % 8)
        return false;
    if (transfer->mode == TRACE_ONESHOT)
        return durable == 0 && rolling == room;
    return rolling < transfer->size / 2 && durable < rolling && durable >= 16 &&
           durable + 2 * rolling == room;
}

static bool ends_are_right(const struct transfer_header *header)
{
    return header->durable_end % 8 == 0 && header->rolling_end[0] % 8 == 0 &&
           header->rolling_end[1] % 8 == 0 && header->durable_end <= header->durable_size &&
           header->rolling_end[0] <= header->rolling_size &&
           header->rolling_end[1] <= header->rolling_size;
}

enum transfer_status transfer_read_header(const struct transfer *transfer,
                                          struct transfer_header *header)
{
    uint8_t bytes[TRACE_HEADER_BYTES];
    uint64_t word;

    if (transfer->size < TRACE_MIN_BYTES || !read_at(transfer->fd, 0, bytes, sizeof bytes) ||
        fxt_load_u64(bytes) != TRACE_BUFFER_MAGIC)
        return TRANSFER_BAD_BUFFER;
    word = fxt_load_u64(bytes + 8);
    *header = (struct transfer_header){
        .wrapped_count = (uint32_t)(word >> 32),
        .durable_size = fxt_load_u64(bytes + 24),
        .rolling_size = fxt_load_u64(bytes + 32),
        .durable_end = fxt_load_u64(bytes + 40),
        .rolling_end = { fxt_load_u64(bytes + 48), fxt_load_u64(bytes + 56) },
        .dropped = fxt_load_u64(bytes + 64),
    };
    if ((word & 0xffff) != 0 || (word >> 16 & 0xff) != (uint64_t)transfer->mode ||
        fxt_load_u64(bytes + 16) != transfer->size || !sizes_are_right(transfer, header) ||
        !ends_are_right(header))
        return TRANSFER_BAD_BUFFER;
    return TRANSFER_OK;
}

/* ---- Categories that were asked for ---- */

static uint64_t match(const struct transfer_wanted *wanted, const char *text, size_t length)
{
    uint64_t found = 0;

    for (size_t i = 0; i < wanted->count && i < 64; i++) {
        const char *pattern = wanted->patterns[i];
        size_t size = strlen(pattern);
        bool prefix = size > 0 && pattern[size - 1] == '*';

        if (prefix ? length >= size - 1 && memcmp(pattern, text, size - 1) == 0
                   : length == size && memcmp(pattern, text, size) == 0)
            found |= UINT64_C(1) << i;
    }
    return found;
}

/* A string record: which patterns its index stands for.  */
static void note_string(struct transfer *transfer, const uint8_t *record, size_t size)
{
    uint64_t header = fxt_load_u64(record);
    uint64_t index = header >> 16 & 0x7fff, length = header >> 32 & 0x7fff;

    if (length <= size - 8)
        transfer->masks[index] = match(transfer->wanted, (const char *)record + 8, (size_t)length);
}

/* The category of an event, by index or in the record at offset at.  */
static void note_category(struct transfer *transfer, const uint8_t *record, size_t size,
                          uint64_t reference, size_t at)
{
    uint64_t length = reference & 0x7fff;

    if (!(reference & 0x8000))
        transfer->wanted->found |= transfer->masks[reference];
    else if (at <= size && length <= size - at)
        transfer->wanted->found |= match(transfer->wanted, (const char *)record + at,
                                         (size_t)length);
}

static void note(struct transfer *transfer, const uint8_t *record, size_t size)
{
    uint64_t header = fxt_load_u64(record);

    if (!transfer->wanted)
        return;
    if ((header & 15) == 2)
        note_string(transfer, record, size);
    else if ((header & 15) == 4)
        note_category(transfer, record, size, header >> 32 & 0xffff,
                      (header >> 24 & 0xff) == 0 ? 32 : 16);
    else if ((header & 15) == 15 && size >= 16)
        note_category(transfer, record, size, fxt_load_u64(record + 8) & 0xffff, 16);
}

/* ---- Records ---- */

static uint64_t size_of(uint64_t header)
{
    return 8 * ((header & 15) == 15 ? header >> 4 & 0xffffffff : header >> 4 & 0xfff);
}

static bool give(struct transfer *transfer, const uint8_t *records, size_t size)
{
    transfer->given += size;
    return size == 0 || transfer->put(transfer->context, records, size);
}

/* The records that the window begins with.  *used: bytes that need not be looked at again; *over:
 * no more can be found.  */
static bool put_records(struct transfer *transfer, const uint8_t *window, size_t size, size_t *used,
                        bool *over)
{
    size_t begin = 0, at = 0; /* what is to be put, what is next */

    *over = false;
    while (size - at >= 8) {
        uint64_t header = fxt_load_u64(window + at), bytes = size_of(header);
        bool skip;

        if (trace_is_row(header))
            transfer->is_old = transfer->mode == TRACE_CIRCULAR &&
                               trace_row_turn(header) != transfer->turn;
        skip = transfer->is_old || trace_is_filler(header) || (header & 15) == 0;
        *over = bytes == 0 || bytes > MOST_RECORD;
        if (*over || bytes > size - at)
            break;
        if (skip) {
            transfer->refused += (header & 15) == 0 && !transfer->is_old;
            if (!give(transfer, window + begin, at - begin))
                return false;
            begin = at + bytes;
        } else {
            note(transfer, window + at, (size_t)bytes);
        }
        at += bytes;
    }
    *used = at;
    return give(transfer, window + begin, at - begin);
}

/* Where records are walked, a zero word is the end of what was written; where an end is known,
 * records must reach it.  */
static enum transfer_status put_region(struct transfer *transfer, uint64_t offset, uint64_t size,
                                       bool walk)
{
    uint8_t *window = malloc(WINDOW);
    size_t held = 0;
    enum transfer_status status = window ? TRANSFER_OK : TRANSFER_NO_OUTPUT;

    transfer->is_old = false;
    while (status == TRANSFER_OK && (size > 0 || held > 0)) {
        size_t more = size < WINDOW - held ? (size_t)size : WINDOW - held, used = 0;
        bool over = false;

        if (more > 0 && !read_at(transfer->fd, offset, window + held, more))
            break;
        offset += more;
        size -= more;
        held += more;
        if (!put_records(transfer, window, held, &used, &over)) {
            status = TRANSFER_NO_OUTPUT;
        } else if (over || (used == 0 && size == 0)) {
            if (!walk || fxt_load_u64(window + used) != 0)
                transfer->broken += held - used + size;
            break;
        }
        held -= used;
        memmove(window, window + used, held);
    }
    free(window);
    return status;
}

static bool prepare(struct transfer *transfer)
{
    if (transfer->wanted && !transfer->masks)
        transfer->masks = calloc(STRINGS, sizeof *transfer->masks);
    return !transfer->wanted || transfer->masks;
}

/* Durable records that the archive does not have.  */
static enum transfer_status put_durable(struct transfer *transfer, uint64_t end, bool walk)
{
    enum transfer_status status;

    if (end <= transfer->durable_done)
        return TRANSFER_OK;
    status = put_region(transfer, TRACE_HEADER_BYTES + transfer->durable_done,
                        end - transfer->durable_done, walk);
    transfer->durable_done = end;
    return status;
}

static enum transfer_status put_half(struct transfer *transfer,
                                     const struct transfer_header *header, unsigned half)
{
    uint64_t end = header->rolling_end[half], before = transfer->given;
    enum transfer_status status;

    transfer->turn = trace_half_turn(header->wrapped_count, half);
    status = put_region(transfer,
                        TRACE_HEADER_BYTES + header->durable_size + half * header->rolling_size,
                        end ? end : header->rolling_size, end == 0 || transfer->mode == 0);

    transfer->bytes += transfer->given - before;
    return status;
}

enum transfer_status transfer_half(struct transfer *transfer, uint32_t wrapped_count,
                                   uint64_t durable_end)
{
    struct transfer_header header;
    enum transfer_status status = transfer_read_header(transfer, &header);
    uint32_t next = transfer->any_saved ? transfer->saved + 1 : 0;

    if (status != TRANSFER_OK)
        return status;
    if (transfer->mode != TRACE_STREAMING || wrapped_count != next || durable_end % 8 ||
        durable_end < 16 || durable_end < transfer->durable_done ||
        durable_end > header.durable_size)
        return TRANSFER_BAD_PACKET;
    if (!prepare(transfer))
        return TRANSFER_NO_OUTPUT;
    status = put_durable(transfer, durable_end, false);
    if (status == TRANSFER_OK && header.rolling_end[wrapped_count & 1] > 0)
        status = put_half(transfer, &header, wrapped_count & 1);
    transfer->any_saved = true;
    transfer->saved = wrapped_count;
    return status;
}

/* Section 5: durable, older, newer.  A provider that is gone has not written ends down.  */
enum transfer_status transfer_rest(struct transfer *transfer)
{
    struct transfer_header header;
    enum transfer_status status = transfer_read_header(transfer, &header);
    unsigned newer;
    bool gone, older_is_saved, newer_is_saved;

    if (status != TRANSFER_OK)
        return status;
    if (!prepare(transfer))
        return TRANSFER_NO_OUTPUT;
    if (transfer->mode == TRACE_ONESHOT)
        return put_half(transfer, &header, 0);
    newer = header.wrapped_count & 1;
    gone = header.durable_end == 0;
    older_is_saved = transfer->any_saved && transfer->saved + 1 == header.wrapped_count;
    /* It was killed before it wrote to the next half.  */
    newer_is_saved = transfer->any_saved && transfer->saved == header.wrapped_count;
    status = put_durable(transfer, gone ? header.durable_size : header.durable_end, gone);
    if (status == TRANSFER_OK && header.wrapped_count > 0 && !older_is_saved && !newer_is_saved)
        status = put_half(transfer, &header, 1 - newer);
    if (status == TRANSFER_OK && !newer_is_saved && (gone || header.rolling_end[newer] > 0))
        status = put_half(transfer, &header, newer);
    return status;
}

void transfer_release(struct transfer *transfer)
{
    free(transfer->masks);
    transfer->masks = NULL;
}
