/* policies.c - what looks at a comparison before it is written.  */
#include "cmd/fxtdiff/fxtdiff.h"

const struct diff_policy diff_policies[] = {
    { 0 },
};
