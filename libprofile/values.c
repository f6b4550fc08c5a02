/* values.c - the values of a profile, one by one.  */
#include "libprofile/aggregate.h"

size_t profile_sample_types(const struct profile *profile, enum profile_kind kind,
                            struct profile_sample_type types[PROFILE_MAX_TYPES])
{
    size_t count;
    const struct profile_known_type *known = profile_types(profile, kind, &count);

    for (size_t i = 0; i < count; i++)
        types[i] = (struct profile_sample_type){ known[i].type, known[i].unit };
    return count;
}

size_t profile_value_count(const struct profile *profile, enum profile_kind kind)
{
    return profile->values[kind].count;
}

struct profile_stack_value profile_get_value(const struct profile *profile, enum profile_kind kind,
                                             size_t index)
{
    const struct profile_value *value = profile_value_at(&profile->values[kind], index);
    const struct profile_owner *thread = &profile->threads[value->thread_id - 1];
    size_t count;
    const struct profile_known_type *types = profile_types(profile, kind, &count);
    struct profile_stack_value out = { .callsite = value->callsite,
                                       .process_koid = thread->process_koid,
                                       .thread_koid = thread->koid,
                                       .has_age = thread->age > 0,
                                       .age_ns = profile_age_ns(thread->age) };

    for (size_t i = 0; i < count; i++)
        out.values[i] = profile_from_units(value->amounts[i], types[i].units);
    return out;
}
