#include "tests/support/run_builder.h"

#include <check.h>

struct diff_builder *run_builder;
static struct diff_reading reading;

void run_builder_open(void)
{
    reading = (struct diff_reading){ .profiles = { .kind = -1,
                                                   .symbols = { .no_symbolize = true } } };
    run_builder = diff_builder_open(&reading);
    ck_assert_int_eq(profile_open(&run_builder->profile, NULL), PROFILE_OK);
}

void run_builder_close(void)
{
    diff_builder_close(run_builder);
}

profile_id run_builder_call(profile_id parent, const char *function, size_t length,
                            struct profile_line line)
{
    struct profile_stacks *stacks = profile_stacks_of(run_builder->profile);
    profile_id frame, callsite;

    ck_assert_int_eq(profile_stacks_string(stacks, function, length, &line.function, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_stacks_named_frame(stacks, &line, 1, &frame, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_callsite(stacks, parent, frame, &callsite, NULL), PROFILE_OK);
    return callsite;
}
