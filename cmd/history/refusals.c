/* refusals.c - what libcompare refuses, in words.  */
#include "cmd/history/refusals.h"

enum cli_exit runs_exit_of(enum compare_status status)
{
    return status == COMPARE_NO_MEMORY ? CLI_ENVIRONMENT : CLI_USAGE;
}

enum cli_exit runs_fail(const struct compare_error *error)
{
    cli_error("%s", error->message);
    return runs_exit_of(error->status);
}

enum cli_exit runs_fail_type(const struct compare_error *error)
{
    if (error->status != COMPARE_UNLIKE)
        return runs_fail(error);
    cli_error("%s; select one type with --sample-type", error->message);
    return CLI_USAGE;
}
