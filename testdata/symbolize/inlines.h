extern volatile int sink;

static inline int in_header(int value)
{
    int result = value;
    while (result > 100)
        result -= sink + 1;
    return result;
}
