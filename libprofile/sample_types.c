/* sample_types.c - the table of <fxt/profile_types.h>.  The SQL extension links this file alone. */
#include <fxt/profile_types.h>

#include <string.h>

enum { RANK_CPU, RANK_IN_USE, RANK_ALLOCATED, RANK_RELEASED, RANK_WALL, RANK_OTHER };

#define COUNT(type, kind, units)                            \
    {                                                       \
        type, "count", kind, true, false, units, RANK_OTHER \
    }
#define TIME(type, kind, rank)                           \
    {                                                    \
        type, "nanoseconds", kind, false, false, 1, rank \
    }
#define BYTES(type, kind, rank)                                     \
    {                                                               \
        type, "bytes", kind, false, false, PROFILE_BYTE_UNITS, rank \
    }

static const struct profile_known_type known_types[] = {
    COUNT("samples", PROFILE_CPU, 1),
    TIME("cpu", PROFILE_CPU, RANK_CPU),

    COUNT("alloc_objects", PROFILE_HEAP, PROFILE_OBJECT_UNITS),
    BYTES("alloc_space", PROFILE_HEAP, RANK_ALLOCATED),
    { "inuse_objects", "count", PROFILE_HEAP, true, true, PROFILE_OBJECT_UNITS, RANK_OTHER },
    { "inuse_space", "bytes", PROFILE_HEAP, false, true, PROFILE_BYTE_UNITS, RANK_IN_USE },

    COUNT("free_objects", PROFILE_HEAP_FREE, PROFILE_OBJECT_UNITS),
    BYTES("free_space", PROFILE_HEAP_FREE, RANK_RELEASED),

    COUNT("instructions", PROFILE_INSN, 1),
    COUNT("calls", PROFILE_INSN, 1),
    TIME("cpu", PROFILE_INSN, RANK_CPU),

    COUNT("spans", PROFILE_SPAN, 1),
    TIME("wall", PROFILE_SPAN, RANK_WALL),

    COUNT("waits", PROFILE_OFF_CPU, 1),
    TIME("offcpu", PROFILE_OFF_CPU, RANK_OTHER),

    /* The heap's by the names that Fuchsia's memory sampler has for them.  */
    { "residual_allocated_objects", "count", PROFILE_KINDS, true, true, PROFILE_OBJECT_UNITS,
      RANK_OTHER },
    { "residual_allocated_space", "bytes", PROFILE_KINDS, false, true, PROFILE_BYTE_UNITS,
      RANK_OTHER },
    COUNT("allocated_objects", PROFILE_KINDS, PROFILE_OBJECT_UNITS),
    BYTES("allocated_space", PROFILE_KINDS, RANK_OTHER),
    COUNT("deallocated_objects", PROFILE_KINDS, PROFILE_OBJECT_UNITS),
    BYTES("deallocated_space", PROFILE_KINDS, RANK_OTHER),

    /* Go's mutex and block profiles.  */
    COUNT("contentions", PROFILE_KINDS, 1),
    TIME("delay", PROFILE_KINDS, RANK_OTHER),
};

#define KNOWN (sizeof known_types / sizeof *known_types)

const struct profile_known_type *profile_known_type_at(size_t index)
{
    return index < KNOWN ? &known_types[index] : NULL;
}

const struct profile_known_type *profile_known_types(enum profile_kind kind, size_t *count)
{
    const struct profile_known_type *first = NULL;

    *count = 0;
    for (size_t i = 0; i < KNOWN && kind != PROFILE_KINDS; i++) {
        if (known_types[i].kind == kind) {
            if (!first)
                first = &known_types[i];
            ++*count;
        } else if (first) {
            break; /* those of a kind are neighbours; asked for each value */
        }
    }
    return first;
}

const struct profile_known_type *profile_known_type_find(const char *type, const char *unit)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(known_types[i].type, type) == 0 &&
            (!unit || strcmp(known_types[i].unit, unit) == 0))
            return &known_types[i];
    return NULL;
}

const struct profile_known_type *profile_known_counter(const char *type)
{
    const struct profile_known_type *known = profile_known_type_find(type, NULL);

    /* No first row of the table is a sum.  */
    if (known && !known->counts && known[-1].counts)
        return known - 1;
    return known_types;
}
