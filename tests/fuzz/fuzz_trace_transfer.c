/* What a hostile provider may leave in its buffer, and hand over: sampler-capture/trace/transfer.c.
 *
 * The first byte chooses the mode, the next four are two halves that are handed over; the rest is
 * the buffer, which is filled up to whole pages.
 *
 * - What goes on is whole records, none of them of metadata, none a placeholder.
 * - No more goes on than the buffer has, for each time that it is looked at.  */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fxt/fidl_provider.h>
#include <fxt/fxt.h>

#include "sampler-capture/trace/transfer.h"
#include "tests/fuzz/support.h"

static uint64_t given;

static bool put(void *context, const void *records, size_t size)
{
    const uint8_t *bytes = records;

    (void)context;
    HOLD(size > 0 && size <= 512 << 10);
    for (size_t at = 0; at < size;) {
        uint64_t header, length;

        HOLD(size - at >= 8);
        header = fxt_load_u64(bytes + at);
        length = 8 * ((header & 15) == 15 ? header >> 4 & 0xffffffff : header >> 4 & 0xfff);
        HOLD((header & 15) != 0 && !trace_is_filler(header));
        HOLD(length > 0 && length <= size - at);
        at += length;
    }
    given += size;
    return true;
}

/* Messages, both ways.  */
static void decode(const uint8_t *data, size_t size)
{
    struct fidl_provider_message message;
    struct fidl_string one, other;

    for (int answers = 0; answers < 2; answers++) {
        if (fidl_provider_decode(data, size, answers, &message) != FIDL_OK)
            continue;
        if (message.method == FIDL_PROVIDER_CATEGORIES)
            while (fidl_strings_next_pair(&message.list, &one, &other))
                HOLD(one.length <= FIDL_MAX_CATEGORY && other.length <= FIDL_MAX_DESCRIPTION);
        else
            while (fidl_strings_next(&message.list, &one))
                HOLD((const uint8_t *)one.text + one.length <= data + size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const patterns[] = { "work", "net*", "*" };
    struct transfer_wanted wanted = { patterns, 3, 0 };
    struct transfer transfer = { .put = put, .wanted = &wanted };

    decode(data, size);
    if (size < 5 || size > 1 << 20)
        return 0;
    transfer.mode = (enum trace_mode)(data[0] % 3);
    transfer.size = (size - 5 + 4095) / 4096 * 4096;
    transfer.fd = memfd_create("fuzz", MFD_CLOEXEC);
    HOLD(transfer.fd >= 0 && ftruncate(transfer.fd, (off_t)transfer.size) == 0);
    HOLD(pwrite(transfer.fd, data + 5, size - 5, 0) == (ssize_t)(size - 5));
    given = 0;
    (void)transfer_half(&transfer, data[1], 8 * (uint64_t)data[2]);
    (void)transfer_half(&transfer, data[3], 8 * (uint64_t)data[4]);
    (void)transfer_rest(&transfer);
    HOLD(given <= 3 * transfer.size);
    transfer_release(&transfer);
    (void)close(transfer.fd);
    return 0;
}
