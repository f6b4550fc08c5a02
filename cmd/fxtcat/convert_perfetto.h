/* convert_perfetto.h - samples for Perfetto, behind the trace that they are of.  */
#ifndef FXTCAT_CONVERT_PERFETTO_H
#define FXTCAT_CONVERT_PERFETTO_H

#include "base/map.h"
#include "cmd/cli/symbol_options.h"
#include "cmd/fxtcat/fxtcat.h"

/* Copy the job's only trace to its output and add its CPU samples, in blobs that Perfetto reads.  A
 * failure ends in the job.  */
void perfetto_convert(struct job *job, struct cli_symbols *symbols);

#endif /* FXTCAT_CONVERT_PERFETTO_H */
