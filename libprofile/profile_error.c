/* profile_error.c - filling struct profile_error.  */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "libprofile/profile_internal.h"

enum profile_status profile_fail(struct profile_error *error, enum profile_status status,
                                 const char *format, ...)
{
    BASE_FAIL(error, status, format);
    return status;
}

enum profile_status profile_fail_errno(struct profile_error *error, int system_errno,
                                       const char *what)
{
    char phrase[128];

    profile_fail(error, PROFILE_IO, "%s: %s", what,
                 strerror_r(system_errno, phrase, sizeof phrase));
    if (error)
        error->system_errno = system_errno;
    return PROFILE_IO;
}

enum profile_status profile_fail_base(struct profile_error *error, int failure, const char *what)
{
    return failure == ENOMEM ? profile_no_memory(error) : profile_fail_errno(error, failure, what);
}

enum profile_status profile_fail_temporary(struct profile_error *error, int failure,
                                           const char *directory)
{
    char what[200];

    (void)snprintf(what, sizeof what, "temporary file in %s (TMPDIR names another folder)",
                   directory);
    return profile_fail_base(error, failure, what);
}
