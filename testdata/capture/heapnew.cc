// heapnew - every operator new and delete once, and an exception out of one.  With an argument it is
// a plugin that is loaded by a C program: see plugin_allocate().
#include <cstdio>
#include <cstdlib>
#include <new>

struct alignas(256) Aligned {
    char bytes[4096];
};

template <typename T> static T *keep(T *address)
{
    __asm__ volatile("" : "+r"(address) : : "memory");
    return address;
}

extern "C" __attribute__((visibility("default"), noinline)) void *plugin_allocate(std::size_t size)
{
    try {
        (void)keep(::operator new(static_cast<std::size_t>(-1) / 4));
    } catch (const std::bad_alloc &) {
        ::operator delete(keep(::operator new(size + 1)));
    }
    return keep(std::malloc(size));
}

int main()
{
    const std::align_val_t alignment{256};
    const std::size_t size = 100000;
    int thrown = 0;

    ::operator delete(keep(::operator new(size)));
    ::operator delete[](keep(::operator new[](size)));
    ::operator delete(keep(::operator new(size, std::nothrow)), std::nothrow);
    ::operator delete[](keep(::operator new[](size, std::nothrow)), std::nothrow);
    ::operator delete(keep(::operator new(size)), size);
    ::operator delete[](keep(::operator new[](size)), size);
    ::operator delete(keep(::operator new(size, alignment)), alignment);
    ::operator delete[](keep(::operator new[](size, alignment)), alignment);
    ::operator delete(keep(::operator new(size, alignment)), size, alignment);
    ::operator delete[](keep(::operator new[](size, alignment)), size, alignment);
    ::operator delete(keep(::operator new(size, alignment, std::nothrow)), alignment, std::nothrow);
    ::operator delete[](keep(::operator new[](size, alignment, std::nothrow)), alignment,
                        std::nothrow);
    delete keep(new Aligned);
    try {
        (void)keep(::operator new(static_cast<std::size_t>(-1) / 4));
    } catch (const std::bad_alloc &) {
        thrown++;
    }
    if (keep(::operator new(static_cast<std::size_t>(-1) / 4, std::nothrow)) || thrown != 1)
        return 1;
    ::operator delete(keep(::operator new(size))); // counted after an exception too
    std::puts("fine");
    return 0;
}
