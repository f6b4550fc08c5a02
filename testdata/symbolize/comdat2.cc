#define SECOND
#include "comdat.h"

int second(int count)
{
    walker walker;

    walker.go(count + 1);
    return walker.where() + climb(9, count) + climb(10L, count);
}
