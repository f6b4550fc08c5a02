/* baseline.h - what reading and writing baselines share.  */
#ifndef COMPARE_BASELINE_H
#define COMPARE_BASELINE_H

/* What the first line begins with; the version follows.  */
#define BASELINE_MAGIC "fxt-baseline "

/* Shares are written in millionths.  */
#define BASELINE_SCALE 1e6

#endif /* COMPARE_BASELINE_H */
