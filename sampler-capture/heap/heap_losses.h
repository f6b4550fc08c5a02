/* heap_losses.h - what a heap capture says about what is not in its trace.  */
#ifndef HEAP_LOSSES_H
#define HEAP_LOSSES_H

#include "sampler-capture/heap/heap_record.h"

/* A sentence for each cause.  closed: how often a program closed its connection; waits: how often a
 * thread waited for the capture.  */
void heap_losses_print(const struct record_loss *lost, uint64_t closed, uint64_t waits);

#endif /* HEAP_LOSSES_H */
