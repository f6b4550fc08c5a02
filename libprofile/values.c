/* values.c - the values of a profile, one by one.  */
#include "libprofile/aggregate.h"

size_t profile_sample_types(const struct profile *profile, enum profile_kind kind,
                            struct profile_sample_type types[PROFILE_MAX_TYPES])
{
    struct profile_type names[PROFILE_MAX_TYPES];
    size_t count = profile_types(profile, kind, names);

    for (size_t i = 0; i < count; i++)
        types[i] = (struct profile_sample_type){ names[i].type, names[i].unit };
    return count;
}

size_t profile_value_count(const struct profile *profile, enum profile_kind kind)
{
    return profile->values[kind].count;
}

struct profile_stack_value profile_get_value(const struct profile *profile, enum profile_kind kind,
                                             size_t index)
{
    const struct profile_value *value = &profile->values[kind].items[index];
    const struct profile_owner *thread = &profile->threads[value->thread - 1];

    return (struct profile_stack_value){ .callsite = value->callsite,
                                         .process = thread->process,
                                         .thread = thread->koid,
                                         .values = { value->count, value->ns } };
}
