#include "tests/support/run_builder.h"

#include <check.h>
#include <string.h>

struct compare_builder *run_builder;

void run_builder_open(void)
{
    ck_assert_int_eq(compare_builder_open(NULL, &run_builder, NULL), COMPARE_OK);
}

void run_builder_close(void)
{
    compare_builder_close(run_builder);
}

const struct compare_set *run_builder_finish(void)
{
    const struct compare_set *set = NULL;
    struct compare_error error = { .message = "" };

    ck_assert_msg(compare_builder_finish(run_builder, &set, &error) == COMPARE_OK, "%s",
                  error.message);
    return set;
}

profile_id run_builder_call(profile_id parent, const char *function, size_t length,
                            struct profile_line line)
{
    struct profile_stacks *stacks = profile_stacks_of(compare_builder_profile(run_builder));
    profile_id frame, callsite;

    ck_assert_int_eq(profile_stacks_string(stacks, function, length, &line.function, NULL),
                     PROFILE_OK);
    ck_assert_int_eq(profile_stacks_named_frame(stacks, &line, 1, &frame, NULL), PROFILE_OK);
    ck_assert_int_eq(profile_stacks_callsite(stacks, parent, frame, &callsite, NULL), PROFILE_OK);
    return callsite;
}

void run_builder_stack(const char *folded, double value)
{
    profile_id callsite = 0;

    while (*folded) {
        size_t length = strcspn(folded, ";");

        callsite = run_builder_call(callsite, folded, length, (struct profile_line){ .line = 0 });
        folded += length + (folded[length] == ';');
    }
    compare_builder_add_stack(run_builder, callsite, value);
}
