/* huge_pages.h - memory that comes in few page faults.  */
#ifndef FXTQ_HUGE_PAGES_H
#define FXTQ_HUGE_PAGES_H

/* Let the first 128 MiB of the heap be in huge pages where Linux has them.  Call it before much
 * memory is allocated.  With a limit on memory, or another allocator than glibc's, the heap stays
 * as it is.  */
void huge_pages_use(void);

#endif /* FXTQ_HUGE_PAGES_H */
