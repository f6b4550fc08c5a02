#include "shapes.h"

#include <algorithm>
#include <numeric>

namespace geometry
{

Shape::~Shape() = default;

std::string Shape::name() const
{
    return "shape of " + std::to_string(area());
}

namespace
{
struct Sum {
    double value = 0;
    void add(double x)
    {
        value += square(x) > 1e9 ? 0 : x;
    }
};
} // namespace

double total(const std::vector<Shape *> &shapes)
{
    Sum sum;
    for (const Shape *shape : shapes)
        sum.add(shape->area());
    return sum.value;
}

} // namespace geometry
