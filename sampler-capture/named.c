#include "sampler-capture/named.h"

#include <stdlib.h>
#include <string.h>

#define ALL_NS   UINT64_C(1000000000)
#define YOUNG_NS UINT64_C(2000000000)

/* The one with that pid, at or behind *at, where the next one of a higher pid is looked for.  */
static const struct named_process *find(const struct named *named, size_t *at, pid_t pid)
{
    while (*at < named->count && named->known[*at].pid < pid)
        ++*at;
    return *at < named->count && named->known[*at].pid == pid ? &named->known[*at] : NULL;
}

bool named_look(struct named *named, uint64_t now_ns, struct proc_ids *found)
{
    struct proc_ids all = { .ids = NULL };
    struct named_process *known = NULL;
    bool fine = proc_processes(&all), looks_at_all = now_ns - named->all_ns >= ALL_NS;
    bool is_first = !named->known; /* what is there already is not about to exec */
    size_t at = 0;

    if (fine)
        known = calloc(all.count + 1, sizeof *known);
    fine = known != NULL;
    for (size_t i = 0; fine && i < all.count; i++) {
        const struct named_process *before = find(named, &at, all.ids[i]);
        bool is_young;

        known[i] = before ? *before
                          : (struct named_process){ .pid = all.ids[i],
                                                    .since_ns = is_first ? 0 : now_ns };
        is_young = now_ns - known[i].since_ns < YOUNG_NS;
        if (known[i].is_found || !(is_young || looks_at_all) ||
            !proc_has_name(all.ids[i], named->name))
            continue;
        known[i].is_found = true;
        fine = proc_add_id(found, all.ids[i]);
    }
    if (fine) {
        free(named->known);
        named->known = known;
        named->count = all.count;
        named->all_ns = looks_at_all ? now_ns : named->all_ns;
    } else {
        free(known);
    }
    free(all.ids);
    return fine;
}

bool named_lives(const struct named *named)
{
    for (size_t i = 0; i < named->count; i++)
        if (named->known[i].is_found && proc_process_of(named->known[i].pid) != 0)
            return true;
    return false;
}

void named_release(struct named *named)
{
    free(named->known);
    *named = (struct named){ .name = named->name };
}
