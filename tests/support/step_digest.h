/* step_digest.h - whether two sequences of steps are the same.  */
#ifndef TESTS_STEP_DIGEST_H
#define TESTS_STEP_DIGEST_H

#include <fxt/insn.h>

/* Blocks that end in no branch are taken together with the next one: where they are divided means
 * nothing.  All zero is no step.  */
struct step_digest {
    uint64_t hash, count;
    struct insn_step open; /* blocks, if their count is not 0 */
    uint64_t open_count;
};

void step_digest_add(struct step_digest *digest, const struct insn_step *steps, size_t count);
bool step_digest_is_equal(const struct step_digest *a, const struct step_digest *b);

#endif /* TESTS_STEP_DIGEST_H */
