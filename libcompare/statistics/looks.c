/* looks.c - comparing again and again while runs are added (section 5).
 *
 * Every look could fail the gate by chance, so the looks share q: the union bound, which holds
 * whatever the tests have in common.  */
#include <fxt/compare.h>

/* Each look has half as many runs again as the one before: a few looks reach any number.  */
size_t compare_next_look(size_t runs, size_t most)
{
    size_t next = runs + (runs + 1) / 2;

    if (runs >= most)
        return 0;
    if (next < COMPARE_FIRST_LOOK)
        next = COMPARE_FIRST_LOOK;
    return next < most ? next : most;
}

double compare_look_level(double q, size_t done, size_t most, bool last)
{
    size_t count = 0;

    for (size_t runs = 0; (runs = compare_next_look(runs, most)) != 0;)
        count++;
    if (done >= count)
        return 0;
    return q * (last ? (double)(count - done) : 1) / (double)count;
}

bool compare_look_decides(enum compare_verdict verdict, enum compare_verdict suspicion)
{
    return verdict == COMPARE_FAIL || (verdict == COMPARE_PASS && suspicion != COMPARE_FAIL);
}
