/* format.h - numbers as all outputs print them, beside those of <fxt/compare_report.h>.  */
#ifndef FXTDIFF_FORMAT_H
#define FXTDIFF_FORMAT_H

#include "cmd/fxtdiff/fxtdiff.h"

/* "+12.3%"; "new" where there was nothing before; ">+999900%".  */
const char *diff_relative(double value, char text[32]);

/* Half the width of an interval of shares, in points: "0.12", "<0.01"; "" if it has none.  */
const char *diff_spread(const double interval[2], char text[32]);

#endif /* FXTDIFF_FORMAT_H */
