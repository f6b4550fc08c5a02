/* format.h - numbers as all outputs print them.  text has room for 32 bytes and is returned.  */
#ifndef FXTDIFF_FORMAT_H
#define FXTDIFF_FORMAT_H

#include "cmd/fxtdiff/fxtdiff.h"

/* "+12.3%"; "new" where there was nothing before.  */
const char *diff_relative(double value, char text[32]);
/* "<0.001", "0.042".  */
const char *diff_probability(double value, char text[32]);

#endif /* FXTDIFF_FORMAT_H */
