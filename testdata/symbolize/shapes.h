#ifndef SHAPES_H
#define SHAPES_H

#include <string>
#include <vector>

namespace geometry
{

class Shape
{
  public:
    virtual ~Shape();
    virtual double area() const = 0;
    virtual std::string name() const;
};

namespace
{
inline double square(double x)
{
    return x * x;
}
} // namespace

template <typename T> class Rectangle : public Shape
{
  public:
    Rectangle(T width, T height) : width_(width), height_(height)
    {
    }
    double area() const override
    {
        return static_cast<double>(width_) * static_cast<double>(height_);
    }
    template <typename U> T scaled(U factor) const
    {
        return static_cast<T>(width_ * factor) + static_cast<T>(height_ * factor);
    }

  private:
    T width_, height_;
};

class Circle : public Shape
{
  public:
    explicit Circle(double radius) : radius_(radius)
    {
    }
    double area() const override
    {
        return 3.14159 * square(radius_);
    }

  private:
    double radius_;
};

double total(const std::vector<Shape *> &shapes);

} // namespace geometry

#endif
