#include "libinsn/insn_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

enum insn_status insn_fail(struct insn_error *error, enum insn_status status, const char *format,
                           ...)
{
    BASE_FAIL(error, status, format);
    return status;
}

enum insn_status insn_fail_errno(struct insn_error *error, const char *what)
{
    int cause = errno;

    (void)insn_fail(error, INSN_IO, "%s: %s", what, strerror(cause));
    if (error)
        error->system_errno = cause;
    return INSN_IO;
}

static const char *const gap_reasons[INSN_GAP_REASONS] = {
    [INSN_GAP_NONE] = "none",
    [INSN_GAP_NO_SYNC] = "no_sync",
    [INSN_GAP_BAD_PACKET] = "bad_packet",
    [INSN_GAP_NO_CODE] = "no_code",
    [INSN_GAP_MISMATCH] = "mismatch",
    [INSN_GAP_ENDLESS] = "endless",
    [INSN_GAP_DISCONTINUED] = "discontinued",
    [INSN_GAP_TOO_LONG] = "too_long",
};

const char *insn_gap_reason_name(enum insn_gap_reason reason)
{
    return (unsigned)reason < INSN_GAP_REASONS ? gap_reasons[reason] : "unknown";
}

const char *insn_decoder_name(void)
{
    static char name[64];
    struct pt_version version = pt_library_version();

    (void)snprintf(name, sizeof name, "libipt %u.%u", version.major, version.minor);
    return name;
}
