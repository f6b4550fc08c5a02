#include "cmd/cli/cuts.h"

#include <string.h>

#define WORST (sizeof((struct cli_cuts *)NULL)->worst / sizeof(struct cli_cut))

void cli_cuts_add(struct cli_cuts *cuts, const struct cli_cut *cut)
{
    size_t at = cuts->count;

    if (cut->stacks == 0)
        return;
    while (at > 0 && cuts->worst[at - 1].stacks < cut->stacks)
        at--;
    if (cuts->count < WORST)
        cuts->count++;
    else
        cuts->others++;
    if (at == WORST)
        return;
    memmove(cuts->worst + at + 1, cuts->worst + at, (cuts->count - at - 1) * sizeof *cuts->worst);
    cuts->worst[at] = *cut;
}

void cli_cuts_add_profile(struct cli_cuts *cuts, const struct profile_cut *cut)
{
    const struct cli_cut added = { .module = cut->module,
                                   .stacks = cut->stacks,
                                   .has_file = cut->has_file,
                                   .problem = cut->problem };

    cli_cuts_add(cuts, &added);
}
