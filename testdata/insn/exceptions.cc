// exceptions - thrown through several frames, with destructors on the way, and thrown again.
#include <cstdio>
#include <stdexcept>
#include <string>

static int destroyed;

struct guard {
    ~guard() { destroyed++; }
};

__attribute__((noinline)) static void thrower(int n)
{
    guard mine;
    if (n == 0)
        throw std::runtime_error("at the bottom");
    thrower(n - 1);
    destroyed += 100;
}

__attribute__((noinline)) static int catcher(int n)
{
    try {
        thrower(n);
    } catch (const std::runtime_error &error) {
        if (n == 3)
            throw;
        return static_cast<int>(std::string(error.what()).size());
    }
    return 0;
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        try {
            sum += catcher(i);
        } catch (const std::exception &) {
            sum += 1000;
        }
    }
    std::printf("%d %d\n", sum, destroyed);
    return 0;
}
