#include "shapes.h"

#include <algorithm>
#include <cstdio>
#include <map>

using geometry::Shape;

static int local_class(int value)
{
    struct Counter {
        int count = 0;
        __attribute__((noinline)) int step(int by)
        {
            for (int i = 0; i < by; i++)
                count += i ^ by;
            return count;
        }
    };
    Counter counter;
    return counter.step(value) + counter.step(value + 1);
}

template <typename F> static __attribute__((noinline)) int apply(F function, int value)
{
    return function(value) + 1;
}

int main(int argc, char **argv)
{
    std::vector<Shape *> shapes;
    std::map<std::string, int> names;
    geometry::Rectangle<int> box(argc, argc + 1);
    geometry::Rectangle<double> sheet(argc * .5, argc);

    shapes.push_back(&box);
    shapes.push_back(&sheet);
    shapes.push_back(new geometry::Circle(argc));
    std::sort(shapes.begin(), shapes.end(),
              [](const Shape *a, const Shape *b) { return a->area() < b->area(); });
    for (const Shape *shape : shapes)
        names[shape->name()]++;
    int bias = argc;
    int sum = apply([&](int x) { return x * bias + local_class(x); }, argc) +
              apply([=](int x) { return x - bias; }, argc);
    try {
        if (argc > 100)
            throw std::string(argv[1]);
        sum += box.scaled(2.5f) + static_cast<int>(sheet.scaled(3));
    } catch (const std::string &text) {
        sum += static_cast<int>(text.size());
    }
    std::printf("%d %f %zu\n", sum, geometry::total(shapes), names.size());
    return 0;
}
