/* builds.c - which builds of which modules each run sampled.  */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hex.h"
#include "libcompare/set/builder.h"

/* Modules of which callers count, too; of others only the code that was sampled itself.  */
#define MAX_WHOLE 64

struct build {
    const char *text; /* "BUILDID name" */
    double share;
};

struct builds {
    struct compare_builder *builder;
    const struct profile_stacks *stacks;
    profile_id count; /* of modules, from 1 */
    uint64_t *paths;  /* of each call site: bits of the modules above it and of its own */
    double *costs;    /* of each module, in one run */
    struct build *found;
};

static profile_id module_at(const struct builds *builds, profile_id callsite)
{
    profile_id frame = profile_stacks_get_callsite(builds->stacks, callsite).frame;

    return profile_stacks_get_frame(builds->stacks, frame).module;
}

static uint64_t bit_of(profile_id module)
{
    return module > 0 && module <= MAX_WHOLE ? UINT64_C(1) << (module - 1) : 0;
}

static bool open_builds(struct builds *builds, struct compare_builder *builder)
{
    profile_id callsites;

    *builds = (struct builds){ .builder = builder, .stacks = profile_stacks_of(builder->profile) };
    callsites = profile_stacks_callsite_count(builds->stacks);
    builds->count = profile_stacks_module_count(builds->stacks);
    builds->paths = compare_array((size_t)callsites + 1, sizeof *builds->paths);
    builds->costs = compare_array((size_t)builds->count + 1, sizeof *builds->costs);
    builds->found = compare_array(builds->count, sizeof *builds->found);
    if (!builds->paths || !builds->costs || !builds->found)
        return false;
    for (profile_id id = 1; id <= callsites; id++)
        builds->paths[id] = builds->paths[profile_stacks_get_callsite(builds->stacks, id).parent] |
                            bit_of(module_at(builds, id));
    return true;
}

static void close_builds(struct builds *builds)
{
    free(builds->paths);
    free(builds->costs);
    free(builds->found);
}

static const char *build_text(struct builds *builds, const struct profile_module *module)
{
    const char *name = base_name(profile_stacks_text(builds->stacks, module->name, NULL));
    char text[2 * sizeof module->build_id + 300];
    size_t used = base_hex(text, module->build_id, module->build_id_length);
    int length = snprintf(text + used, sizeof text - used, " %.290s", name);

    return compare_builder_text(builds->builder, text, used + (length > 0 ? (size_t)length : 0));
}

/* The costs of all modules in one run; returns what all stacks cost.  *unidentified: what those of
 * unknown builds cost, each stack once.  */
static double add_costs(struct builds *builds, const struct raw_stacks *raw, double *unidentified)
{
    uint64_t nameless = 0;
    double all = 0;

    memset(builds->costs, 0, ((size_t)builds->count + 1) * sizeof *builds->costs);
    for (profile_id id = 1; id <= builds->count; id++) {
        struct profile_module module = profile_stacks_get_module(builds->stacks, id);
        const char *name = profile_stacks_text(builds->stacks, module.name, NULL);

        if (module.build_id_length == 0 && strncmp(name, "[kernel", 7) != 0)
            nameless |= bit_of(id);
    }
    *unidentified = 0;
    for (size_t i = 0; i < raw->count; i++) {
        const struct raw_value *item = &raw->items[i];
        profile_id own = module_at(builds, item->callsite);

        all += item->value;
        if (own == 0 || (builds->paths[item->callsite] & nameless))
            *unidentified += item->value;
        if (own > MAX_WHOLE)
            builds->costs[own] += item->value;
        for (uint64_t path = builds->paths[item->callsite]; path != 0; path &= path - 1)
            builds->costs[__builtin_ctzll(path) + 1] += item->value;
    }
    return all;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct build *)a)->text, ((const struct build *)b)->text);
}

static bool take_builds(struct builds *builds, const struct raw_stacks *raw,
                        struct compare_environment *environment)
{
    struct compare_builder *builder = builds->builder;
    double unidentified, all = add_costs(builds, raw, &unidentified);
    size_t count = 0;
    double *shares;

    for (profile_id id = 1; id <= builds->count; id++) {
        struct profile_module module = profile_stacks_get_module(builds->stacks, id);

        if (builds->costs[id] > 0 && module.build_id_length > 0)
            builds->found[count++] = (struct build){ build_text(builds, &module),
                                                     builds->costs[id] / all };
    }
    compare_sort(builds->found, count, sizeof *builds->found, by_text);
    environment->builds = base_arena_array(&builder->arena, count + 1, sizeof *environment->builds);
    shares = base_arena_array(&builder->arena, count + 1, sizeof *shares);
    if (!environment->builds || !shares)
        return false;
    for (size_t i = 0; i < count; i++) {
        environment->builds[i] = builds->found[i].text;
        shares[i] = builds->found[i].share;
    }
    environment->build_count = count;
    environment->build_shares = shares;
    environment->unidentified = all > 0 ? unidentified / all : 0;
    return builder_is_ok(builder);
}

bool builds_find(struct compare_builder *builder)
{
    struct builds builds;
    bool ok = open_builds(&builds, builder);

    for (size_t i = 0; ok && i < builder->set.run_count; i++)
        if (builder->raws[i].count > 0)
            ok = take_builds(&builds, &builder->raws[i], &builder->set.runs[i].environment);
    close_builds(&builds);
    return ok || builder_no_memory(builder);
}
