/* baseline.h - what reading and writing baselines share.  */
#ifndef COMPARE_BASELINE_H
#define COMPARE_BASELINE_H

/* What the first line begins with; the version follows.  */
#define BASELINE_MAGIC "fxt-baseline "

/* Version 2 has lines of roots.  Runs without such roots are written as version 1, which older
 * programs read as well.  */
#define BASELINE_VERSION "2"

/* Shares are written in millionths.  */
#define BASELINE_SCALE 1e6

#endif /* COMPARE_BASELINE_H */
