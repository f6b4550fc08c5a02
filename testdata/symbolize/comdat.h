/* Inline functions that two units have copies of, of which the linker keeps the first.  The lines
 * of SECOND's copies differ, its code does not: an answer shows which unit it came from.  */
#ifndef COMDAT_H
#define COMDAT_H

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

#ifdef SECOND
#line 1000
#endif

inline int step(int value)
{
    return value * 3 + 1;
}

template <typename T> KEPT T climb(T value, int count)
{
    T sum = value;

    for (int i = 0; i < count; i++)
        sum += (T)step((int)sum) ^ (T)i;
    return sum;
}

struct walker {
    int at = 0;

    KEPT void go(int count)
    {
        for (int i = 0; i < count; i++)
            at = step(at) + climb<short>((short)i, count);
    }
    KEPT int where() const
    {
        return step(at) / 2;
    }
};

#endif /* COMDAT_H */
