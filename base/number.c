#include "base/number.h"

const char *base_grouped(uint64_t number, char text[BASE_GROUPED_BYTES])
{
    char *end = &text[BASE_GROUPED_BYTES - 1];
    unsigned digits = 0;

    *end = '\0';
    do {
        if (digits && digits % 3 == 0)
            *--end = ',';
        *--end = (char)('0' + number % 10);
        number /= 10;
        digits++;
    } while (number);
    return end;
}
