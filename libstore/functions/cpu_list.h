/* cpu_list.h - the CPUs that a filter keeps, sorted.  */
#ifndef STORE_FUNCTIONS_CPU_LIST_H
#define STORE_FUNCTIONS_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline int cpu_list_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static inline void cpu_list_sort(int64_t *cpus, size_t count)
{
    qsort(cpus, count, sizeof *cpus, cpu_list_compare);
}

static inline bool cpu_list_has(const int64_t *cpus, size_t count, int64_t cpu)
{
    return bsearch(&cpu, cpus, count, sizeof cpu, cpu_list_compare) != NULL;
}

#endif /* STORE_FUNCTIONS_CPU_LIST_H */
