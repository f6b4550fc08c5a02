#include "base/fail.h"
#include "libfxt/fxt_internal.h"

enum fxt_status fxt_fail(struct fxt_error *error, enum fxt_status status, int system_errno,
                         uint64_t offset, const char *format, ...)
{
    if (!error)
        return status;
    error->status = status;
    error->system_errno = system_errno;
    error->offset = offset;
    BASE_FORMAT(error->message, format);
    return status;
}
