// virtual - virtual functions, templates, and calls through std::function.
#include <functional>
#include <memory>
#include <vector>

struct shape {
    virtual ~shape() = default;
    virtual int area() const = 0;
};
struct square : shape {
    int side;
    explicit square(int n) : side(n)
    {
    }
    int area() const override
    {
        return side * side;
    }
};
struct line : shape {
    int area() const override
    {
        return 0;
    }
};

int main()
{
    std::vector<std::unique_ptr<shape>> shapes;
    std::function<int(int)> twice = [](int n) { return 2 * n; };
    int sum = 0;
    for (int i = 0; i < 20; i++) {
        if (i % 3)
            shapes.push_back(std::make_unique<square>(i));
        else
            shapes.push_back(std::make_unique<line>());
    }
    for (const auto &one : shapes)
        sum += twice(one->area());
    return sum == 1;
}
