#include "comdat.h"

int second(int count);

int first(int count)
{
    walker walker;

    walker.go(count);
    return walker.where() + climb(7, count);
}

int main()
{
    return first(3) + second(4);
}
