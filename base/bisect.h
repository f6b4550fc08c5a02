/* bisect.h - search in sorted items.  */
#ifndef BASE_BISECT_H
#define BASE_BISECT_H

/* Move low to the first index of [low, high) for which the condition on index i is false, or to
 * high if there is none.  The condition is true for all items before some item and false from
 * there on:
 *
 *     size_t low = 0, high = count;
 *
 *     BASE_BISECT(low, high, i, items[i].start <= address);
 *
 * makes low the first item that starts after the address.  low and high are variables of one type;
 * high is equal to low afterwards.  */
#define BASE_BISECT(low, high, i, condition)                        \
    do {                                                            \
        while ((low) < (high)) {                                    \
            const __typeof__(low) i = (low) + ((high) - (low)) / 2; \
                                                                    \
            if (condition)                                          \
                (low) = i + 1;                                      \
            else                                                    \
                (high) = i;                                         \
        }                                                           \
    } while (0)

#endif /* BASE_BISECT_H */
