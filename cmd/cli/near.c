#include "cmd/cli/near.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 64, SHORTEST_PART = 4 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t near_distance(const char *a, const char *b)
{
    size_t cost[3][LONGEST + 1]; /* rows i - 2, i - 1 and i of the usual table */
    size_t rows = strlen(a), columns = strlen(b);

    if (rows > LONGEST || columns > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t *now = cost[i % 3], *before = cost[(i - 1) % 3], *two_before = cost[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            now[j] = least(least(before[j], now[j - 1]) + 1,
                           before[j - 1] + !same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], two_before[j - 2] + 1);
        }
    }
    return cost[rows % 3][columns];
}

bool near_is_meant(const char *typed, const char *known)
{
    size_t length = strlen(typed), known_length = strlen(known);
    char part[LONGEST + 1];

    if (length == 0 || length > LONGEST || known_length > LONGEST)
        return false;
    if (near_distance(typed, known) <= least(length, known_length) / 3)
        return true;
    length -= length > 1 && typed[length - 1] == 's';
    memcpy(part, typed, length);
    part[length] = '\0';
    return (length >= SHORTEST_PART && strcasestr(known, part)) ||
           (known_length >= SHORTEST_PART && strcasestr(typed, known));
}
